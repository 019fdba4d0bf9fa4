// Excel workbooks (.xlsx): a zip archive of XML, unpacked and read by what the browser has.

import { Problem } from "./problems.js";
import { checkRows, tableOf } from "./tables.js";

const LARGEST = 400e6; // bytes of a part once it is unpacked
const DAMAGED = "It cannot be read as .xlsx. Open it in the spreadsheet program and save it again.";
const DATES = new Set([14, 15, 16, 17, 18, 19, 20, 21, 22, 45, 46, 47]); // Excel's own formats
const DAY = 86_400_000; // milliseconds
const FIRST = 25_569; // the day 1970-01-01 as Excel counts

/**
 * Read a sheet as a table, with `sheet` and `sheets` beside it; cells are texts, numbers or dates.
 *
 * Without a name it is the first that has documents.
 */
export async function readWorkbook(file, { sheet, header, name: text } = {}) {
  try {
    const parts = await partsOf(file);
    const places = await sheetsOf(parts);
    const names = [...places.keys()];
    const [strings, dates] = [await sharedTexts(parts), await dateStyles(parts)];
    let [table, name] = [{ rows: [] }];
    for (name of names.includes(sheet) ? [sheet] : names) {
      table = await tableOf(cellsOf(await parts.xml(places.get(name)), strings, dates), header, text);
      if (table.rows.length) break;
    }
    checkRows(table.rows);
    // where numbers have a comma, Excel takes a semicolon for the separator of a CSV
    const separator = (1.5).toLocaleString().includes(",") ? ";" : ",";
    return { ...table, kind: "xlsx", separator, sheet: name, sheets: names };
  } catch (error) {
    throw error instanceof Problem ? error : new Problem(DAMAGED);
  }
}

/** The parts of an archive, by its list at the end of the file. */
async function partsOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const view = new DataView(bytes.buffer);
  const utf8 = new TextDecoder();
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) {
    throw new Problem(bytes[0] === 0xd0 ? "It has a password, or is an old .xls. Save it as .xlsx, "
      + "without a password." : DAMAGED);
  }
  const found = new Map();
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0; left--) {
    const [nameLength, extra, comment] = [28, 30, 32].map((i) => view.getUint16(at + i, true));
    const name = utf8.decode(bytes.subarray(at + 46, at + 46 + nameLength));
    found.set(name, {
      method: view.getUint16(at + 10, true), packed: view.getUint32(at + 20, true),
      place: view.getUint32(at + 42, true),
    });
    at += 46 + nameLength + extra + comment;
  }

  async function text(name) {
    const { method, packed, place } = found.get(name);
    const begin = place + 30 + view.getUint16(place + 26, true) + view.getUint16(place + 28, true);
    const content = bytes.subarray(begin, begin + packed);
    return method === 0 ? utf8.decode(content) : unpacked(content);
  }

  return {
    has: (name) => found.has(name),
    async xml(name) {
      const parsed = new DOMParser().parseFromString(await text(name), "application/xml");
      if (parsed.querySelector("parsererror")) throw new Problem(DAMAGED);
      return parsed;
    },
  };
}

async function unpacked(content) {
  const stream = new Blob([content]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const decoder = new TextDecoder();
  const pieces = [];
  let size = 0;
  for (const reader = stream.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > LARGEST) {
      await reader.cancel();
      throw new Problem("It is too large for this page. Use the command “labelgrove tag”.");
    }
    pieces.push(decoder.decode(value, { stream: true }));
  }
  return pieces.join("") + decoder.decode();
}

const all = (node, name) => [...node.getElementsByTagNameNS("*", name)];

/** The names of the sheets, each with its part. */
async function sheetsOf(parts) {
  const related = new Map(all(await parts.xml("xl/_rels/workbook.xml.rels"), "Relationship")
    .map((each) => [each.getAttribute("Id"), each.getAttribute("Target")]));
  return new Map(all(await parts.xml("xl/workbook.xml"), "sheet").map((each) => {
    const id = [...each.attributes].find(({ localName, prefix }) => prefix && localName === "id");
    const target = related.get(id.value);
    return [each.getAttribute("name"), target.startsWith("/") ? target.slice(1) : `xl/${target}`];
  }).filter(([, part]) => parts.has(part) && part.includes("worksheets")));
}

/** Texts of a node, without those that say how something is pronounced. */
const textOf = (node) => all(node, "t").filter((each) => each.parentNode.localName !== "rPh")
  .map((each) => each.textContent).join("").replaceAll("_x000D_", "");

const sharedTexts = async (parts) => (parts.has("xl/sharedStrings.xml")
  ? all(await parts.xml("xl/sharedStrings.xml"), "si").map(textOf) : []);

/** Which styles of cells show a number as a date. */
async function dateStyles(parts) {
  if (!parts.has("xl/styles.xml")) return [];
  const styles = await parts.xml("xl/styles.xml");
  const own = all(styles, "numFmt")
    .filter((each) => /[ymdhs]/i.test(each.getAttribute("formatCode").replace(/"[^"]*"|\[[^\]]*\]|\\./g, "")))
    .map((each) => Number(each.getAttribute("numFmtId")));
  const dates = new Set([...DATES, ...own]);
  return all(styles, "cellXfs").flatMap((each) => [...each.children])
    .map((each) => dates.has(Number(each.getAttribute("numFmtId"))));
}

/** The rows of a sheet as lists of values, all as wide as the widest. */
function cellsOf(sheet, strings, dates) {
  const rows = [];
  let width = 0;
  for (const row of all(sheet, "row")) {
    const cells = [];
    for (const cell of row.children) {
      const place = cell.getAttribute("r");
      cells[place ? columnOf(place) : cells.length] = valueOf(cell, strings, dates);
    }
    const number = Number(row.getAttribute("r")) || rows.length + 1;
    if (cells.some((value) => value !== "")) {
      rows[number - 1] = cells;
      width = Math.max(width, cells.length);
    }
  }
  return Array.from(rows, (cells) =>
    cells && Array.from({ length: width }, (_, i) => cells[i] ?? ""));
}

/** The number of a column, counted from 0: `B7` is 1. */
const columnOf = (place) => [...place.match(/^[A-Z]+/)[0]]
  .reduce((number, letter) => 26 * number + letter.charCodeAt(0) - 64, 0) - 1;

function valueOf(cell, strings, dates) {
  const kind = cell.getAttribute("t") ?? "n";
  if (kind === "inlineStr") return textOf(cell);
  const value = all(cell, "v")[0]?.textContent ?? "";
  if (kind === "s") return strings[Number(value)] ?? "";
  if (kind === "b") return value === "1" ? "TRUE" : "FALSE";
  if (kind !== "n" || value === "") return value;
  if (!dates[Number(cell.getAttribute("s") ?? 0)]) return Number(value);
  return new Date(1000 * Math.round((Number(value) - FIRST) * DAY / 1000));
}

/** The days of a date as Excel counts them. */
export const serial = (date) => date.getTime() / DAY + FIRST;
