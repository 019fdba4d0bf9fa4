// Files that the user chose or dropped: read here, in the browser, and asked about in a card.

import { el, icon, words } from "./dom.js";
import { decoded, ENCODINGS } from "./encodings.js";
import { Problem } from "./problems.js";
import { documentsOf, hasEvenTabs, readTable, SEPARATORS } from "./tables.js";
import { beginning, several, size } from "./wording.js";
import { readWorkbook } from "./workbook.js";

const LARGEST = 200e6; // bytes; what is read must fit into the browser's memory
const KINDS = {
  csv: "csv", tsv: "tsv", tab: "tsv", jsonl: "jsonl", ndjson: "jsonl", xlsx: "xlsx", xlsm: "xlsx",
};

/**
 * Read a file: `{ text }` of a plain one, `{ file, how, note, table }` of one with many documents.
 *
 * `how` may have `encoding`, `separator`, `header` and `sheet`; what is missing is as in `usual`,
 * which a tagger remembers of the files of its training, or is found out.
 */
export async function readFile(file, how = {}, usual = {}) {
  const ending = file.name.split(".").pop().toLowerCase();
  const plain = ending === "txt" || (!KINDS[ending] && file.type.startsWith("text/"));
  if (!plain && !KINDS[ending]) {
    throw new Problem("This page reads .txt, .csv, .tsv, .jsonl and .xlsx. Save it as one of these.");
  }
  if (file.size > LARGEST) {
    throw new Problem(`It has ${size(file.size)}, more than the ${size(LARGEST)} that this page `
      + "reads. Split it, or use the command “labelgrove tag”.");
  }
  const asked = { header: usual.header, sheet: usual.sheet, name: textNames(usual)[0], ...how };
  if (KINDS[ending] === "xlsx") {
    const table = await readWorkbook(file, asked);
    const many = table.sheets.length > 1 && !how.sheet;
    const note = many ? `It has ${table.sheets.length} sheets: “${table.sheet}” is read.` : "";
    return { file, how: { ...how, sheet: table.sheet }, note: both(note, headless(table, asked)),
      table };
  }
  const { text, encoding, note, damaged } = await decoded(file, how.encoding, usual.encoding);
  if (!text.trim()) throw new Problem("It is empty.");
  if (plain && !(ending === "txt" && hasEvenTabs(text))) return { text }; // Excel's “Unicode text”
  const table = await readTable(text, KINDS[ending] ?? "tsv", { ...asked, damaged });
  return { file, how: { ...how, encoding }, note: both(note, headless(table, asked)), table };
}

/** The columns of the texts as the tagger remembers them. */
const textNames = ({ text = "text" }) => [text].flat();

const both = (...notes) => notes.filter(Boolean).join(" ");

/** What to say of a table whose first row was taken for a document by itself. */
const headless = (table, asked) => (table.header || asked.header !== undefined ? ""
  : "The first row looks like a document, not like names of columns, and is read as one.");

/** The numbers of columns by their names, or by their numbers from 1 where there is no header. */
function columnsNamed({ columns, header }, names) {
  const lower = columns.map((column) => column.trim().toLowerCase());
  return names.map((name) => (header ? lower.indexOf(String(name).toLowerCase())
    : columns[Number(name) - 1] === undefined ? -1 : Number(name) - 1));
}

const holdsTexts = (rows, column) => rows.some(({ cells }) => typeof cells?.[column] === "string");

function choice(id, title, options, value, onchange) {
  const menu = el("select", { id, onchange }, Object.entries(options).map(([each, name]) =>
    el("option", { value: each }, name)));
  menu.value = value;
  return el("div", {}, el("label", { for: id }, title), menu);
}

/**
 * Show which file is read and how, and ask for its columns.
 *
 * `chosen(documents, texts, ids)` is called with the documents and the numbers of the columns of
 * texts and ids, or with null while no column of texts is chosen; `again(how)` where the file is to be read in another way; `away()` to put it away.
 * `kept` has the `texts` and `ids` that were chosen before; `usual` is what the tagger remembers.
 */
export function fileCard({ file, how, note, table }, { chosen, again, away, kept, usual = {} }) {
  const { columns, rows, unit, header } = table;
  const named = (name) => columnsNamed({ columns, header: true }, [name])[0];
  const known = columnsNamed(table, textNames(usual));
  const usable = known.every((column) => holdsTexts(rows, column));
  const textMenu = (id, none) => el("select", { id, onchange: choose },
    el("option", { value: "" }, none),
    columns.map((column, i) => holdsTexts(rows, i) && el("option", { value: i }, column)));
  const menu = textMenu("column", "choose one …");
  const most = Math.max(2, usable ? known.length : 0, kept ? kept.texts.length : 0);
  const more = Array.from({ length: most - 1 }, (_, i) =>
    textMenu(i ? `column-${i + 2}` : "second-column", "none"));
  const ids = el("select", { id: "id-column", onchange: choose },
    el("option", { value: -1 }, "none: rows are numbered"),
    columns.map((column, i) => el("option", { value: i }, column)));
  const [id] = usual.id ? columnsNamed(table, [usual.id]) : [-1];
  ids.value = id >= 0 ? id : named("id");
  const found = usable ? known[0] : named("text");
  if (found >= 0) menu.value = found;
  else if (menu.length === 2) menu.selectedIndex = 1;
  if (usable || kept) {
    [menu, ...more].forEach((each, i) => { each.value = (kept?.texts ?? known)[i] ?? ""; });
  }
  if (kept) ids.value = kept.ids;
  const preview = el("blockquote", { dir: "auto" });
  const hint = el("p", { class: "hint" },
    `No column is called “${textNames(header ? usual : {}).join("” and “")}”. `,
    "Choose the one with the texts.",
    unit === "row" && header && " The first row is taken for the names of the columns.");

  function choose(event) {
    const texts = [menu, ...more].map(({ value }) => value).filter((value) => value !== "").map(Number);
    const documents = menu.value === "" ? null : documentsOf(table, texts, Number(ids.value));
    const first = documents?.find(({ text }) => text);
    hint.hidden = documents !== null && Boolean(found >= 0 || kept || event);
    preview.hidden = !first;
    preview.textContent = first ? beginning(first.text, 200) : "";
    chosen(documents, texts, Number(ids.value));
  }

  const bad = rows.filter(({ problem }) => problem).length;
  choose();
  return [
    el("div", { class: "file-name" }, icon("file"),
      el("div", {}, words(file.name), el("small", {},
        `${several(rows.length, unit)}, ${size(file.size)}`,
        bad > 0 && `, ${several(bad, "bad row")}`)),
      el("button", { type: "button", class: "plain", onclick: away }, "Put away")),
    note && el("p", { class: "note" }, note),
    el("label", { for: "column" }, "Column with the texts"), menu, hint, preview,
    ...(menu.length > 2 ? more : []).flatMap((each) =>
      [el("label", { for: each.id }, "And one with more of each text"), each]),
    el("label", { for: "id-column" }, "Column with the ids"), ids,
    reading({ how, note, table }, again),
  ].filter(Boolean);
}

/** What was found out about the file, to be corrected where it is wrong. */
function reading({ how, note, table }, again) {
  const { kind, header, separator, sheets } = table;
  const asked = [];
  if (kind === "csv" || kind === "tsv") {
    asked.push(choice("separator", "Cells are separated by", SEPARATORS, separator,
      (event) => again({ ...how, separator: event.target.value })));
  }
  if (kind !== "xlsx") {
    asked.push(choice("encoding", "Encoding", ENCODINGS, how.encoding,
      (event) => again({ ...how, encoding: event.target.value })));
  } else if (sheets.length > 1) {
    asked.push(choice("sheet", "Sheet", Object.fromEntries(sheets.map((name) => [name, name])),
      how.sheet, (event) => again({ ...how, sheet: event.target.value })));
  }
  if (kind !== "jsonl") {
    const box = el("input", { type: "checkbox", id: "header", checked: header,
      onchange: () => again({ ...how, header: box.checked }) });
    asked.push(el("label", { class: "check" }, box, "The first row has the names of the columns"));
  }
  return el("details", { class: "reading", open: Boolean(note) },
    el("summary", {}, "How the file is read"), asked);
}
