// Tables of texts: CSV, TSV and JSON lines, read and written.

import { Problem } from "./problems.js";

const AT_ONCE = 2000; // rows between breaths: the page stays alive while it reads

export const breath = () => new Promise((done) => setTimeout(done));

/**
 * Read a table: `{ columns, rows, unit }`, rows being `{ place, cells }` or `{ place, problem }`.
 *
 * A place is the row as a spreadsheet counts (the header is the first), or the line of JSON.
 */
export async function readTable(text, kind) {
  const found = await (kind === "jsonl" ? readLines(text) : readRows(text, kind));
  if (!found.rows.length) throw new Problem("There are no documents in it.");
  return found;
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

async function readRows(text, kind) {
  const separator = kind === "tsv" ? "\t" : separatorOf(text);
  const rows = [];
  let columns = null;
  let place = 0;
  for (const cells of records(text, separator)) {
    place++;
    if (place % AT_ONCE === 0) await breath();
    if (cells.length === 1 && !cells[0].trim()) continue; // an empty line
    if (!columns) columns = cells.map((name, i) => name.trim() || `column ${i + 1}`);
    else rows.push({ place, cells });
  }
  return { columns: columns ?? [], rows, unit: "row" };
}

/** Spreadsheets of half the world separate by semicolons and still say .csv. */
function separatorOf(text) {
  const heads = [",", ";", "\t"].map((mark) => [mark, records(text, mark).next().value]);
  const withText = heads.find(([, cells]) =>
    cells.some((cell) => cell.trim().toLowerCase() === "text"));
  return (withText ?? heads.find(([, cells]) => cells.length > 1) ?? heads[0])[0];
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
    rows.push({ place, cells });
  }
  return { columns: [...columns.keys()], rows, unit: "line" };
}

/**
 * Return the documents of a table: `{ id, place, text }`, or `{ id, place, problem }`.
 *
 * As `labelgrove tag` does, one without an id gets its number, counted from 1.
 */
export function documentsOf({ columns, rows }, column) {
  const ids = columns.findIndex((name) => name.toLowerCase() === "id");
  return rows.map(({ place, cells, problem }, i) => {
    const given = cells?.[ids] ?? "";
    const id = String(given === "" ? i + 1 : given);
    if (problem) return { id, place, problem };
    const text = cells[column];
    return typeof text === "string" ? { id, place, text }
      : { id, place, problem: `has no text in “${columns[column]}”` };
  });
}

/** Return results as CSV: a row for each document, labels, names and scores in one cell each. */
export function asCsv(results, withTexts) {
  // labelgrove reads labels that are separated by ; or by |
  const taken = results.some(({ labels }) =>
    labels.some(({ label, name }) => (label + name).includes(";")));
  const between = taken ? "|" : ";";
  const cell = (text) => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // a spreadsheet would compute what begins like a formula
  const plain = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  const line = (cells) => `${cells.map(cell).join(",")}\r\n`;
  const head = ["id", ...(withTexts ? ["text"] : []), "labels", "names", "scores"];
  const mark = "\ufeff"; // without it Excel takes UTF-8 for something else
  return [mark, line(head), ...results.map(({ id, text, labels }) => line([
    ...[id, ...(withTexts ? [text] : [])].map(plain),
    ...["label", "name"].map((part) => plain(labels.map((each) => each[part]).join(between))),
    labels.map(({ score }) => score).join(between),
  ]))];
}

export const asJsonLines = (results, withTexts) => results.map(({ id, text, labels }) =>
  `${JSON.stringify({ id, ...(withTexts && { text }), labels })}\n`);
