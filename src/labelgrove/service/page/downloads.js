// Results as files: the rows that were read, with all of their columns, and the labels behind them.

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
 * Return results as a table in the separator of the file that was read.
 *
 * `results` are pairs of a document and its labels; `without` are columns to leave out.
 */
export function asTable(table, results, without) {
  const { columns, head, separator, header } = table;
  const every = results.flatMap(([, labels]) => labels);
  const withIds = every.some(({ label, name }) => label !== name);
  const mark = [";", "|"].find((each) =>
    !every.some(({ label, name }) => label.includes(each) || name.includes(each))) ?? "\n";
  const between = mark === ";" ? "; " : mark;
  const special = new RegExp(`["\\r\\n${separator}]|^\\s|\\s$`);
  const quoted = (text) => (special.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  // a spreadsheet would calculate what begins like a formula; the user's own cells stay as they are
  const guarded = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  const kept = (cells) => cells.filter((_, i) => !without.includes(i));
  const line = (cells) => `${cells.map(quoted).join(separator)}\r\n`;
  const joined = (labels, part) => guarded(labels.map((each) => each[part]).join(between));
  const added = ["suggested_labels", ...(withIds ? ["suggested_label_ids"] : []), "suggested_scores"];
  const first = [...kept(head), ...added.map((name) => freeName(name, columns))];
  return [MARK, ...(header ? [line(first)] : []), ...results.map(([{ row }, labels]) => line([
    ...kept(columns.map((_, i) => asText(row.cells[i]))),
    joined(labels, "name"), ...(withIds ? [joined(labels, "label")] : []),
    labels.map(({ score }) => Number(score.toFixed(DIGITS))).join(between),
  ]))];
}

/** Return results as JSON lines: the objects that were read, or the cells by their columns. */
export function asJsonLines({ columns }, results, without) {
  const name = freeName("suggested_labels", columns);
  const names = columns.reduce((taken, each) => [...taken, freeName(each, taken)], []);
  const ofCells = (cells) => Object.fromEntries(names.map((each, i) => [each, cells[i]]));
  return results.map(([{ row }, labels]) => {
    const values = { ...(row.values ?? ofCells(row.cells)) };
    for (const column of without) delete values[names[column]];
    return `${JSON.stringify({ ...values, [name]: labels })}\n`;
  });
}

const asText = (value) =>
  (value == null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
