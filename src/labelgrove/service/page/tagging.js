// The part of the page that tags: a text or a file in, labels out.

import { call } from "./api.js";
import { tooLarge } from "./batches.js";
import { comparison } from "./comparison.js";
import { byId, el } from "./dom.js";
import { feedback } from "./feedback.js";
import { fileCard, readFile } from "./files.js";
import { Problem, showProblem } from "./problems.js";
import { ranking } from "./ranking.js";
import { newRun } from "./run.js";
import { loadModels, onModel, served } from "./served.js";
import { chosenThreshold, startThresholds } from "./thresholds.js";
import { beginning, listed, percent, several } from "./wording.js";

const [form, area, go, second, threshold, clear] =
  ["tag-form", "text", "go", "second", "threshold", "clear"].map(byId);
const [said, problem, result] = ["said", "tag-problem", "result"].map(byId);
let file = null; // what `readFile` gave, with its `documents`, where a file is what is tagged
let files = 0; // how many were read
let run = null; // the last file that was tagged
let asking = null; // the call that is under way
let shown = null; // `{ text, settings }` that the labels on the page are of

export function startTagging() {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("part-tag").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    submit();
  });
  if (/Mac|iP(hone|ad)/.test(navigator.platform)) form.querySelector(".keys kbd").textContent = "⌘";
  startThresholds();
  for (const field of [threshold, second, byId("k"), byId("least")]) {
    field.addEventListener("change", textChanged);
  }
  area.addEventListener("input", textChanged);
  clear.addEventListener("click", () => {
    area.value = "";
    textChanged();
    area.focus();
  });
  takeFiles();
  onModel(() => {
    offerSecond();
    if (shown === null && !run) welcome();
    textChanged();
  });
}

function offerSecond() {
  const others = served.models.filter((model) => model !== served.chosen).map(({ name }) => name);
  const kept = others.includes(second.value) ? second.value : "";
  second.replaceChildren(el("option", { value: "" }, "none"),
    ...others.map((name) => el("option", { value: name }, name)));
  second.value = kept;
}

/** What stands where the labels will be. */
function welcome() {
  const { name, labels, documents } = served.chosen;
  result.replaceChildren(el("div", { class: "welcome" },
    el("div", { class: "grove", "aria-hidden": "true" }, [1, 2, 3, 4, 5].map(() => el("i"))),
    el("h3", {}, "The labels will be here"),
    el("p", { dir: "auto" }, `${name} knows ${several(labels, "label")}, `,
      `learned from ${several(documents, "document")}.`),
    el("ul", {},
      el("li", {}, "Paste a text and press Tag: the labels that fit come in order, ",
        "with how likely each is."),
      el("li", {}, "Open a label to see which words spoke for it."),
      el("li", {}, "Or drop a file with many texts, ",
        "and take it home with the labels, as CSV, JSON lines or, from Excel, a workbook.")),
    served.examples.length > 0 && el("p", {}, "Or try one of these:"),
    served.examples.length > 0 && el("ul", { class: "examples" }, served.examples.map((text) =>
      el("li", {}, el("button", { type: "button", class: "plain", dir: "auto",
        onclick: () => tryExample(text) }, beginning(text, 90)))))));
}

function tryExample(text) {
  if (file) useText();
  area.value = text;
  textChanged();
  submit();
}

function textChanged() {
  clear.hidden = file !== null || !area.value;
  const other = file !== null || area.value !== shown?.text;
  const stale = shown !== null && (other || settings() !== shown.settings);
  const old = run !== null && run.of !== fileSettings();
  result.classList.toggle("stale", stale || old);
  if (old && !run.isBusy()) {
    said.textContent = "The file or what is asked for has changed: these labels are of before.";
  }
  if (stale && !file) {
    said.textContent = other ? "The text has changed: these labels are of the one before."
      : "What is asked for has changed: press Tag to ask again.";
  }
}

/** All that is asked beside the text, to know whether it has changed. */
const settings = () => JSON.stringify(
  [served.chosen?.name, second.value, byId("k").value, threshold.value, byId("least").value]);

/** The same where a file is tagged: which one, how it is read, and its columns. */
const fileSettings = () => JSON.stringify([file?.number, file?.texts, file?.ids, settings()]);

/** What was asked for, or null where it makes no sense; then the field that is wrong says so. */
function options() {
  const k = Number(byId("k").value);
  if (!Number.isInteger(k) || k < 1 || k > 1000) {
    return wrong("k", "How many: a whole number from 1 to 1,000.");
  }
  const { threshold: least, problem: reason } = chosenThreshold();
  return reason ? wrong("least", reason) : { k, threshold: least };
}

function wrong(field, message) {
  showProblem(problem, new Problem(message));
  byId(field).focus();
  return null;
}

function submit() {
  problem.replaceChildren();
  if (!served.chosen) {
    return wrong("go", "The server has not told its models yet: try again above.");
  }
  if (run?.isBusy()) {
    return wrong("go", "A file is being tagged. Cancel that first, or wait for it.");
  }
  const asked = options();
  if (!asked) return;
  if (file) tagFile(asked);
  else tagText(asked);
}

async function tagText(asked) {
  const text = area.value;
  if (!text.trim()) return wrong("text", "There is no text yet: paste or type one first.");
  run = null;
  asking?.abort();
  const mine = (asking = new AbortController());
  go.textContent = "Tagging …";
  const models = [served.chosen.name, second.value].filter(Boolean);
  const askedFor = settings();
  try {
    const found = await Promise.all(models.map((model) =>
      call("v1/tag", { body: { ...asked, text, model }, signal: mine.signal })));
    if (mine === asking) show(text, found, askedFor);
  } catch (error) {
    if (mine !== asking) return;
    said.textContent = "";
    showProblem(problem, error);
    if (error.status === 404) loadModels().catch(() => {}); // another model may be served now
  } finally {
    if (mine === asking) go.textContent = "Tag";
  }
}

function show(text, found, askedFor) {
  const [first, other] = found.map(({ model, results }) =>
    ({ text, model, labels: results[0].labels }));
  const notes = found.flatMap((answer) => answer.notes ?? []);
  const judged = served.models.find(({ name }) => name === first.model)?.feedback;
  const judging = judged ? feedback(first) : null;
  const list = { ...first, ...(judging && { beside: judging.buttons }) };
  shown = { text, settings: askedFor };
  result.replaceChildren(...[
    ...notes.map((note) => el("p", { class: "note" }, note)),
    other ? comparison(list, other) : ranking(list),
    judging?.panel,
  ].filter(Boolean));
  judging?.refresh();
  bringIntoView();
  const [best] = first.labels;
  said.textContent = best
    ? `${several(first.labels.length, "label")} by ${first.model}; `
      + `the best is ${listed([best.name])}, ${percent(best.score)}.`
    : `No label by ${first.model}.`;
  textChanged();
}

/** On a phone the labels are below what one sees. */
function bringIntoView() {
  const { top } = said.getBoundingClientRect();
  if (top > innerHeight - 150) said.scrollIntoView({ block: "start" });
}

function tagFile(asked) {
  if (!file.documents) {
    return wrong("column", "Choose the column with the texts first.");
  }
  shown = null;
  result.classList.remove("stale");
  const { table, texts } = file;
  const columns = `column ${texts.map((column) => `“${table.columns[column]}”`).join(" and ")}`;
  const least = asked.threshold === null ? "no threshold" : `threshold ${asked.threshold}`;
  const how = `${several(asked.k, "label")} at most, ${least}`;
  run = newRun(file.documents, {
    name: file.file.name, table, texts, limits: served.limits,
    title: `${file.file.name}, ${columns}, by ${served.chosen.name}: ${how}.`,
    asked: { ...asked, model: served.chosen.name },
  });
  run.of = fileSettings();
  result.replaceChildren(run.view);
  bringIntoView();
  run.start();
}

function takeFiles() {
  const input = byId("file");
  byId("choose-file").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    take([...input.files]);
    input.value = ""; // so that the same file can be chosen again
  });
  const over = (on) => form.classList.toggle("over", on);
  // anywhere on the page: a browser would leave it to show a file that misses the field
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer.types.includes("Files")) return; // a text: the text area takes it
    event.preventDefault();
    over(true);
  });
  addEventListener("dragleave", (event) => over(event.relatedTarget !== null));
  addEventListener("drop", (event) => {
    over(false);
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    location.hash = "#tag";
    take([...event.dataTransfer.files]);
  });
}

async function take(files) {
  problem.replaceChildren();
  if (files.length === 0) return;
  if (run?.isBusy()) {
    return wrong("go", "A file is being tagged. Cancel that first, or wait for it.");
  }
  if (files.length > 1) return showProblem(problem, new Problem("One file at a time."));
  const [{ name }] = files;
  said.textContent = `Reading ${name} …`;
  try {
    const found = await readFile(files[0], {}, served.chosen?.reading);
    said.textContent = "";
    if (found.text === undefined) return useFile(found);
    const [reason] = tooLarge(found, served.limits);
    if (reason) throw new Problem(`It ${reason}.`);
    area.value = found.text;
    useText();
    const length = several(found.text.length, "character");
    said.textContent = `${name} is in the field, ${length}. Press Tag.`;
  } catch (error) {
    said.textContent = "";
    if (file) useText(); // else the file before would be tagged
    showProblem(problem, error, `${name}: `);
  }
}

function useFile(found, kept) {
  file = found;
  file.number = ++files; // the same file, read in another way, is another one
  const card = fileCard(found, {
    kept,
    usual: served.chosen?.reading,
    away: useText,
    again: readAgain,
    chosen(documents, texts, ids) {
      Object.assign(file, { documents, texts, ids });
      const count = documents?.filter(({ problem: bad }) => !bad).length;
      go.textContent = documents ? `Tag ${several(count, "document")}` : "Tag";
      if (run) textChanged();
    },
  });
  byId("source-file").replaceChildren(...card);
  showSource();
  const { rows, unit } = found.table;
  said.textContent = `${found.file.name} is read: ${several(rows.length, unit)}.`;
  byId("column").focus();
}

/** Read the same file in another way, such as in another encoding; a failure leaves it as it was. */
async function readAgain(how) {
  const before = file;
  problem.replaceChildren();
  try {
    if (run?.isBusy()) throw new Problem("Wait until the file is tagged, or cancel that.");
    const found = await readFile(before.file, how, served.chosen?.reading);
    if (file !== before) return;
    const same = before.documents && found.table.columns.length === before.table.columns.length;
    useFile(found, same && before);
    byId("source-file").querySelector("details").open = true;
  } catch (error) {
    if (file !== before) return;
    useFile(before, before.documents && before);
    showProblem(problem, error, `${before.file.name}: `);
  }
}

function useText() {
  file = null;
  go.textContent = "Tag";
  showSource();
  area.focus();
}

function showSource() {
  byId("source-file").hidden = !file;
  byId("source-text").hidden = Boolean(file);
  second.disabled = Boolean(file);
  textChanged();
}
