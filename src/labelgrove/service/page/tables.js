// Tables of texts: CSV, TSV and JSON lines, read row by row. Writing them is in downloads.js.

import { Problem } from "./problems.js";

const AT_ONCE = 2000; // rows between breaths: the page stays alive while it reads
const FIRST = 50; // rows that tell what separates cells
const LONG = 60; // characters of a cell that is no name of a column
const EVEN = 0.9; // the least share of even rows in a table
const BAD = "\ufffd"; // stands for bytes that could not be decoded
export const SEPARATORS = { ",": "commas", ";": "semicolons", "\t": "tabs" };

/** A value as a cell of a table shows it; midnight is a date alone. */
export function asText(value) {
  if (value == null) return "";
  if (value instanceof Date) {
    const when = value.toISOString();
    return when.endsWith("T00:00:00.000Z") ? when.slice(0, 10)
      : when.slice(0, 19).replace("T", " ");
  }
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export const breath = () => new Promise((done) => setTimeout(done));

/**
 * Read a table: `{ kind, columns, head, rows, unit, separator, header }`.
 *
 * Columns without a name have one in `columns`; `head` is what the first row says.
 * A row is `{ place, cells }` (of JSON also `values`), or `{ place, problem }`. A place is the row
 * as a spreadsheet counts (the header is the first), or the line of JSON.
 */
export async function readTable(text, kind, { separator, header, name, damaged = false } = {}) {
  const mark = separator ?? (kind === "tsv" ? "\t" : kind === "jsonl" ? "," : separatorOf(text, name));
  const found = kind === "jsonl" ? await readLines(text)
    : await tableOf(records(text, mark), header, name);
  checkRows(found.rows);
  if (damaged) for (const row of found.rows) markDamage(row);
  return { ...found, kind, separator: mark };
}

/**
 * Lists of cells become a table; null and blank ones are passed over, those of another width bad.
 *
 * Without `header` the first row has the names of the columns if one is “text” or `name`, or if
 * no cell is too long for a name.
 */
export async function tableOf(lists, header, name) {
  const rows = [];
  let [columns, head] = [null, []];
  let named = header;
  let place = 0;
  for (const cells of lists) {
    place++;
    if (place % AT_ONCE === 0) await breath();
    if (!cells || (cells.length === 1 && !asText(cells[0]).trim())) continue; // an empty line
    if (!columns) {
      head = cells;
      named ??= hasName(cells, name) || cells.every((cell) => asText(cell).length <= LONG);
      columns = cells.map((name, i) => (named && asText(name).trim()) || `column ${i + 1}`);
      if (named) continue;
    }
    if (cells.length === columns.length) rows.push({ place, cells });
    else {
      const problem = `has ${cells.length} cells, and the first row has ${columns.length}`;
      rows.push({ place, problem });
    }
  }
  return { columns: columns ?? [], head, rows, unit: "row", header: named ?? true };
}

const hasName = (cells, name = "text") => cells.some((cell) =>
  ["text", name.toLowerCase()].includes(asText(cell).trim().toLowerCase()));

export function checkRows(rows) {
  if (!rows.length) throw new Problem("There are no documents in it.");
}

function markDamage(row) {
  if (!row.cells?.some((cell) => typeof cell === "string" && cell.includes(BAD))) return;
  row.problem = "has bytes of another encoding";
}

/** Return the rows of a CSV text as lists of cells; quoted cells may hold anything. */
function* records(text, separator) {
  const plain = new RegExp(`[^${separator}\\r\\n]*`, "y");
  let [at, row] = [0, 0];
  while (at < text.length) {
    const cells = [];
    row++;
    do {
      if (cells.length) at++; // the separator
      let cell = "";
      if (text[at] === '"') {
        const end = closing(text, at);
        if (end < 0) {
          throw new Problem(`Row ${row} opens a quotation mark (") that is never closed.`);
        }
        cell = text.slice(at + 1, end).replaceAll('""', '"');
        at = end + 1;
      }
      plain.lastIndex = at;
      cell += plain.exec(text)[0];
      at = plain.lastIndex;
      cells.push(cell);
    } while (text[at] === separator);
    at += text.startsWith("\r\n", at) ? 2 : 1;
    yield cells;
  }
}

function closing(text, at) {
  let end = text.indexOf('"', at + 1);
  while (end >= 0 && text[end + 1] === '"') end = text.indexOf('"', end + 2);
  return end;
}

/** Spreadsheets of half the world separate by semicolons and still say .csv. */
function separatorOf(text, name) {
  const heads = Object.keys(SEPARATORS).map((mark) => [mark, beginning(text, mark)]);
  const withText = heads.find(([, [first = []]]) => hasName(first, name));
  if (withText) return withText[0];
  return heads.reduce((best, each) => (evenness(each[1]) > evenness(best[1]) ? each : best))[0];
}

function beginning(text, mark) {
  const rows = [];
  try {
    for (const cells of records(text, mark)) {
      if (rows.push(cells) === FIRST) break;
    }
  } catch { /* a quotation mark is never closed, as is told when all is read */ }
  return rows;
}

/** Tell of a text whether it is a table with tabs between its cells. */
export function hasEvenTabs(text) {
  const rows = beginning(text, "\t").filter((cells) => cells.length > 1 || cells[0].trim());
  return rows.length > 1 && evenness(rows) >= EVEN;
}

/** The share of rows with as many cells as the first; a blank behind a mark is as in a sentence. */
function evenness(rows) {
  const width = rows[0]?.length ?? 0;
  if (width < 2) return 0;
  const even = rows.filter((cells) => cells.length === width).length;
  const spoken = rows.filter((cells) => cells.slice(1).some((cell) => cell.startsWith(" "))).length;
  return (even - spoken / 2) / rows.length;
}

async function readLines(text) {
  const rows = [];
  const columns = new Map();
  let place = 0;
  for (let at = 0, end; at < text.length; at = end + 1) {
    end = text.indexOf("\n", at);
    if (end < 0) end = text.length;
    place++;
    if (place % AT_ONCE === 0) await breath();
    const line = text.slice(at, end).trim();
    if (!line) continue;
    let values = null;
    try {
      values = JSON.parse(line);
    } catch { /* told below, with its place */ }
    if (values === null || typeof values !== "object" || Array.isArray(values)) {
      rows.push({ place, problem: 'is no JSON object such as {"text": "..."}' });
      continue;
    }
    for (const name of Object.keys(values)) if (!columns.has(name)) columns.set(name, columns.size);
    const cells = [];
    for (const [name, value] of Object.entries(values)) cells[columns.get(name)] = value;
    rows.push({ place, cells, values });
  }
  const names = [...columns.keys()];
  return { columns: names, head: names, rows, unit: "line", header: true };
}

/**
 * Return the documents of a table: `{ id, place, text, row }`, or `{ id, place, problem }`.
 *
 * As `labelgrove tag` does, one without an id gets its number, counted from 1, and the texts of
 * several columns become lines of one.
 */
export function documentsOf({ columns, rows }, texts, ids) {
  return rows.map((row, i) => {
    const { place, cells, problem } = row;
    const id = asText(cells?.[ids]) || String(i + 1);
    if (problem) return { id, place, problem };
    // a year in a sheet is a text as any other; in JSON a number is a mistake
    const wrong = texts.find((column) => row.values && typeof cells[column] !== "string");
    if (wrong !== undefined) return { id, place, problem: `has no text in “${columns[wrong]}”` };
    return { id, place, text: texts.map((column) => asText(cells[column])).join("\n"), row };
  });
}
