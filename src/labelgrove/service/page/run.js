// A file being tagged: progress, what was refused, a table of the first results, downloads.

import { tagged } from "./batches.js";
import { byId, el, words } from "./dom.js";
import { showProblem } from "./problems.js";
import { breath } from "./tables.js";
import { asExcel, asJsonLines, asTable } from "./downloads.js";
import { beginning, number, percent, several } from "./wording.js";

const SHOWN = 200; // rows of the table, and of the list of what was refused
const STEP = 100; // milliseconds between two looks at the progress

/**
 * Return a view of a run and what starts, or goes on with, it.
 *
 * `table` is what was read, `texts` the columns of the texts, `title` what the results are of.
 */
export function newRun(documents, { name, table, texts, title, asked, limits }) {
  const results = new Map(); // document -> labels
  const refused = new Map(); // document -> why
  const said = byId("said");
  const gauge = el("progress", { max: documents.length, value: 0, "aria-label": "Documents done" });
  const counted = el("p", { class: "counted" });
  const button = el("button", { type: "button" }, "Cancel");
  const problem = el("div", { role: "alert" });
  const bad = el("details", { class: "problem", hidden: true, open: true },
    el("summary"), el("ul"));
  const body = el("tbody");
  const withTexts = el("input", { type: "checkbox", checked: true });
  const forms = [
    ...(table.kind === "xlsx" ? [["Excel", "xlsx", asExcel]] : []),
    table.kind === "tsv" ? ["TSV", "tsv", asTable] : ["CSV", "csv", asTable],
    ["JSON lines", "jsonl", asJsonLines],
  ];
  const downloads = el("div", { class: "downloads", hidden: true },
    ...forms.map(([what, ending, write]) =>
      el("button", { type: "button", onclick: () => download(ending, write) },
        `Download ${what}`)),
    el("label", { class: "check" }, withTexts, "with the texts"),
    el("small", { class: "quiet" }, "Your columns, and the labels behind them."));
  const view = el("div", { class: "run" }, el("p", { class: "quiet", dir: "auto" }, title),
    el("div", { class: "going" }, gauge, counted, button), problem, bad, downloads,
    el("div", { class: "table", tabindex: 0, role: "group", "aria-label": "The first results" },
      el("table", {},
        el("thead", {}, el("tr", {},
          ["id", "text", "labels"].map((head) => el("th", { scope: "col" }, head)))), body)));
  let controller = null;
  let busy = false;
  let looked = 0;

  const warn = (event) => event.preventDefault(); // leaving the page would end it

  async function start() {
    busy = true;
    addEventListener("beforeunload", warn);
    controller = new AbortController();
    button.textContent = "Cancel";
    button.onclick = () => controller.abort();
    button.hidden = false;
    problem.replaceChildren();
    said.textContent = `Tagging ${several(documents.length, "document")} …`;
    const left = documents.filter((each) => !results.has(each) && !refused.has(each));
    try {
      const events = tagged(left, { ...asked, limits, signal: controller.signal });
      for await (const event of events) await take(event);
      button.hidden = true;
      const not = refused.size ? `, ${number(refused.size)} refused` : "";
      said.textContent = `Done: ${several(results.size, "document")} tagged${not}.`;
    } catch (error) {
      const cancelled = error.name === "AbortError";
      said.textContent = cancelled ? "Cancelled. What is done can be downloaded." : "";
      if (!cancelled) showProblem(problem, error, "Stopped. What is done can be downloaded. ");
      button.textContent = "Go on";
      button.onclick = start;
    }
    busy = false;
    removeEventListener("beforeunload", warn);
    look();
  }

  async function take({ document, labels, refused: reason, waiting }) {
    if (waiting) {
      look();
      counted.append(` The server is busy: going on in ${number(waiting)} s.`);
      return;
    }
    if (labels) results.set(document, labels);
    else refuse(document, reason);
    if (labels && body.rows.length < SHOWN) body.append(row(document, labels));
    if (performance.now() - looked > STEP) {
      look();
      await breath();
    }
  }

  function look() {
    looked = performance.now();
    gauge.value = results.size + refused.size;
    const rest = body.rows.length < results.size ? ` The first ${SHOWN} are shown.` : "";
    const all = several(documents.length, "document");
    counted.textContent = `${number(gauge.value)} of ${all}.${rest}`;
    downloads.hidden = results.size === 0;
    view.querySelector(".table").hidden = results.size === 0;
  }

  function refuse(document, reason) {
    refused.set(document, reason);
    bad.hidden = false;
    bad.querySelector("summary").textContent = `${several(refused.size, "document")} refused`;
    if (refused.size <= SHOWN) {
      const line = `${table.unit} ${number(document.place)}: ${reason}`;
      bad.querySelector("ul").append(el("li", { dir: "auto" }, line));
    }
  }

  const row = ({ id, text }, labels) => el("tr", {},
    el("td", { dir: "auto" }, id), el("td", { dir: "auto" }, beginning(text)),
    el("td", {}, labels.length ? el("ul", { class: "tags" }, labels.map((label) =>
      el("li", {}, words(label.name), " ", el("small", {}, percent(label.score)))))
      : "none likely enough"));

  async function download(ending, write) {
    const done = documents.filter((each) => results.has(each))
      .map((each) => [each, results.get(each)]);
    let content = null;
    try {
      content = await write(table, done, withTexts.checked ? [] : texts);
    } catch (error) {
      showProblem(problem, error);
      return;
    }
    const link = el("a", {
      href: URL.createObjectURL(new Blob(content, { type: "text/plain" })),
      download: `${name.replace(/\.\w+$/, "")}.tagged.${ending}`,
    });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  look();
  return { view, start, isBusy: () => busy };
}
