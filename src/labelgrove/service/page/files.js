// Files that the user chose or dropped: read here, in the browser.

import { el, icon, words } from "./dom.js";
import { Problem } from "./problems.js";
import { documentsOf, readTable } from "./tables.js";
import { beginning, several, size } from "./wording.js";

const LARGEST = 200e6; // bytes; what is read must fit into the browser's memory
const KINDS = { csv: "csv", tsv: "tsv", tab: "tsv", jsonl: "jsonl", ndjson: "jsonl" };

/** Read a file: `{ text }` of a plain one, `{ name, bytes, table }` of one with many documents. */
export async function readFile(file) {
  const ending = file.name.split(".").pop().toLowerCase();
  const plain = ending === "txt" || (!KINDS[ending] && file.type.startsWith("text/"));
  if (!plain && !KINDS[ending]) {
    throw new Problem("This page reads .txt, .csv, .tsv and .jsonl. Save it as one of these.");
  }
  if (file.size > LARGEST) {
    throw new Problem(`It has ${size(file.size)}, more than the ${size(LARGEST)} that this page `
      + "reads. Split it, or use the command “labelgrove tag”.");
  }
  const text = await decoded(file);
  if (!text.trim()) throw new Problem("It is empty.");
  if (plain) return { text };
  return { name: file.name, bytes: file.size, table: await readTable(text, KINDS[ending]) };
}

async function decoded(file) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = file.stream().getReader();
  const parts = [];
  for (;;) {
    const { done, value } = await reader.read();
    try {
      parts.push(done ? decoder.decode() : decoder.decode(value, { stream: true }));
    } catch {
      throw new Problem("It is not UTF-8. Save it as UTF-8; in a spreadsheet choose “CSV UTF-8”.");
    }
    if (done) return parts.join("");
  }
}

const holdsTexts = (rows, column) => rows.some(({ cells }) => typeof cells?.[column] === "string");

/**
 * Show which file is read, and ask for its column of texts.
 *
 * `chosen(documents)` is called with the documents, or with null while no column is chosen.
 */
export function fileCard({ name, bytes, table }, { chosen, away }) {
  const { columns, rows, unit } = table;
  const menu = el("select", { id: "column", onchange: choose },
    el("option", { value: "" }, "choose one …"),
    columns.map((column, i) => holdsTexts(rows, i) && el("option", { value: i }, column)));
  const found = columns.findIndex((column) => column.toLowerCase() === "text");
  if (found >= 0) menu.value = found;
  else if (menu.length === 2) menu.selectedIndex = 1;
  const preview = el("blockquote", { dir: "auto" });
  const hint = el("p", { class: "hint" },
    "No column is called “text”. Choose the one with the texts.",
    unit === "row" && " The first row is taken for the names of the columns.");

  function choose() {
    const documents = menu.value === "" ? null : documentsOf(table, Number(menu.value));
    const first = documents?.find(({ text }) => text);
    hint.hidden = documents !== null && found >= 0;
    preview.hidden = !first;
    preview.textContent = first ? beginning(first.text, 200) : "";
    chosen(documents);
  }

  choose();
  return [
    el("div", { class: "file-name" }, icon("file"),
      el("div", {}, words(name), el("small", {}, `${several(rows.length, unit)}, ${size(bytes)}`)),
      el("button", { type: "button", class: "plain", onclick: away }, "Put away")),
    el("label", { for: "column" }, "Column with the texts"), menu, hint, preview,
  ];
}
