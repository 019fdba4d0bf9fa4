// Results as files: the rows that were read, with all of their columns, and the labels behind them.

import { asText } from "./tables.js";
import { asWorkbook } from "./workbook_writer.js";

const DIGITS = 4; // of a score in a cell
const MARK = "\ufeff"; // without it Excel takes UTF-8 for something else

/** Return a name that no column has, with a number behind it if need be. */
function freeName(name, taken) {
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? name : `${name}_${number}`;
    if (!taken.includes(numbered)) return numbered;
  }
}

/**
 * Return results as rows of cells, behind the names of the columns where the file has a header.
 *
 * `results` are pairs of a document and its labels; `without` are columns to leave out; `guarded`
 * is done to cells of labels.
 */
function rowsOf({ columns, head, header }, results, without, guarded = (text) => text) {
  const every = results.flatMap(([, labels]) => labels);
  const withIds = every.some(({ label, name }) => label !== name);
  const mark = [";", "|"].find((each) =>
    !every.some(({ label, name }) => label.includes(each) || name.includes(each))) ?? "\n";
  const between = mark === ";" ? "; " : mark;
  const kept = columns.map((_, i) => i).filter((i) => !without.includes(i));
  const joined = (labels, part) => guarded(labels.map((each) => each[part]).join(between));
  const added = ["suggested_labels", ...(withIds ? ["suggested_label_ids"] : []),
    "suggested_scores"];
  const first = [...kept.map((i) => head[i]), ...added.map((name) => freeName(name, columns))];
  const rows = results.map(([{ row }, labels]) => [
    ...kept.map((i) => row.cells[i]),
    joined(labels, "name"), ...(withIds ? [joined(labels, "label")] : []),
    labels.map(({ score }) => Number(score.toFixed(DIGITS))).join(between),
  ]);
  return header ? [first, ...rows] : rows;
}

/** Return results as a CSV or TSV in the separator of the file that was read. */
export function asTable(table, results, without) {
  const special = new RegExp(`["\\r\\n${table.separator}]|^\\s|\\s$`);
  const quoted = (text) => (special.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // a spreadsheet would calculate what begins like a formula; the user's own cells stay as they are
  const guarded = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  const line = (cells) =>
    `${cells.map((cell) => quoted(asText(cell))).join(table.separator)}\r\n`;
  return [MARK, ...rowsOf(table, results, without, guarded).map(line)];
}

/** Return results as a workbook. */
export const asExcel = (table, results, without) =>
  asWorkbook(table.sheet, rowsOf(table, results, without), table.header);

/** Return results as JSON lines: the objects that were read, or the cells by their columns. */
export function asJsonLines({ columns }, results, without) {
  const name = freeName("suggested_labels", columns);
  const names = columns.reduce((taken, each) => [...taken, freeName(each, taken)], []);
  const plain = (value) => (value instanceof Date ? asText(value) : value);
  const ofCells = (cells) => Object.fromEntries(names.map((each, i) => [each, plain(cells[i])]));
  return results.map(([{ row }, labels]) => {
    const values = { ...(row.values ?? ofCells(row.cells)) };
    for (const column of without) delete values[names[column]];
    return `${JSON.stringify({ ...values, [name]: labels })}\n`;
  });
}
