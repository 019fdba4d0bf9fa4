// The part of the page that reviews: the documents of a queue, one after the other.

import { call } from "./api.js";
import { byId, el, words } from "./dom.js";
import { Judgement } from "./judgement.js";
import { showProblem } from "./problems.js";
import { reviewCard } from "./review_card.js";
import { startKeys } from "./review_keys.js";
import { onModel, served } from "./served.js";
import { beginning, listed, number, several } from "./wording.js";

const [part, body, said, told, trouble, progress] = ["part-review", "review", "review-said",
  "review-told", "review-problem", "review-progress"].map(byId);
const judgements = new Map(); // what was said of documents and not saved, until the page is closed
let queue = null; // which queue and model the page is at
let item = null; // the document on the page, or null at the end
let card = null;
let judgement = null;
let visited = []; // documents before this one, for the way back
let asked = 0; // calls for a document: what an older one brings comes too late
let busy = false;
let sure = false; // the user was asked whether this is meant

addEventListener("beforeunload", (event) => {
  if ([...judgements.values()].some(({ isChanged }) => isChanged)) event.preventDefault();
});

export function startReview() {
  onModel(() => {
    if (queue !== null && served.chosen.name !== queue.model) {
      said.textContent = ""; // it was about the other feedback
      restart();
    }
  });
  startKeys(part, {
    y: () => card?.answer(true),
    n: () => card?.answer(false),
    u: undo,
    b: back,
    s: skip,
    l: () => card?.search.focus(),
    t: () => card?.toggleText(),
    w: () => card?.toggleWords(),
    up: () => card?.move(-1),
    down: () => card?.move(1),
    enter: () => (card ? save() : body.querySelector("button.main")?.click()),
    escape: () => card?.focus(),
  });
}

/** Show the review; it begins with the first document that nobody has decided. */
export function visitReview() {
  if (!served.review) return;
  if (queue === null) restart();
  else card?.begin();
}

function restart() {
  queue = { model: served.chosen.name };
  visited = [];
  return show({ from: 1 });
}

const ask = (query) => call("v1/review", { query: { ...query, model: queue.model } });

/** Ask for a document and show it; where that fails the page stays as it is. */
async function show(query) {
  const mine = ++asked;
  busy = true;
  trouble.replaceChildren();
  try {
    let found = await ask(query);
    if (mine !== asked) return;
    if (queue.version !== undefined && found.queue !== queue.version) {
      visited = []; // their numbers were those of another queue
      judgements.clear();
      said.textContent = "The review file was replaced: this is the new one.";
      found = await ask({ from: 1 });
    }
    queue = { ...queue, version: found.queue, documents: found.documents };
    showProgress(found);
    if (found.document) showDocument(found);
    else showEnd(found);
  } catch (error) {
    if (mine !== asked) return;
    showProblem(trouble, error);
    trouble.append(el("p", {}, el("button", { type: "button", onclick: () => show(query) },
      "Try again")));
  } finally {
    if (mine === asked) busy = false;
  }
}

function showProgress({ documents, decided }) {
  progress.hidden = false;
  progress.replaceChildren(
    el("progress", { max: documents, value: decided, "aria-label": "Reviewed documents" }),
    el("p", {}, `${number(decided)} of ${number(documents)} reviewed`));
}

function showDocument(found) {
  forgetUnchanged();
  item = found.document;
  judgement = judgements.get(key()) ?? new Judgement(item);
  judgements.set(key(), judgement);
  sure = false;
  const button = (name, key, action, kind = null) => el("button", {
    type: "button", class: kind, onclick: action, "aria-keyshortcuts": key,
  }, name);
  card = reviewCard(item, judgement, {
    model: queue.model,
    documents: found.documents,
    tell: (sentence) => (told.textContent = sentence),
    changed: () => (sure = false),
    actions: [
      button("Save and go on", "Enter", () => save(), "main"),
      button("Skip", "S", skip),
      button("Back", "B", back),
      button("Undo", "U", undo),
    ],
  });
  body.replaceChildren(card.view);
  told.textContent = `Document ${item.number}: ${beginning(item.text, 200)}`;
  if (!part.hidden) card.begin();
}

const key = () => JSON.stringify([queue.model, item.number]);

function forgetUnchanged() {
  if (judgement && !judgement.isChanged) judgements.delete(key());
}

function showEnd({ documents, decided, model, retrain }) {
  forgetUnchanged();
  [item, card, judgement] = [null, null, null];
  const left = documents - decided;
  const title = el("h3", { tabindex: -1 },
    left ? "The end of the queue" : "All documents are reviewed");
  body.replaceChildren(el("div", { class: "finished" }, title,
    left > 0 && el("p", {}, `${several(left, "document")} ${left === 1 ? "is" : "are"} left.`),
    left > 0 && el("p", { class: "go" }, el("button", {
      type: "button", class: "main", onclick: () => show({ from: 1 }),
    }, "Go through what is left")),
    decided > 0 && [
      el("p", {}, "What you decided is kept as feedback. This command lets ", words(model),
        " learn from it, with TRAIN, the documents that it was trained on. Files stand here without their folders:"),
      el("pre", { tabindex: 0, role: "group", "aria-label": "Command" }, el("code", {}, retrain)),
    ],
    el("p", { class: "go" }, el("button", { type: "button", onclick: back }, "Back"))));
  told.textContent = title.textContent;
  if (!part.hidden) title.focus();
}

// --- what the user does -------------------------------------------------------------------------

async function save({ anyway = false } = {}) {
  if (busy || !item) return;
  if (!judgement.isChanged && item.decision) return goOn();
  const question = openQuestion();
  if (question) return makeSure(...question);
  busy = true;
  card.problem.replaceChildren();
  const { labels, rejected } = judgement.outcome();
  const { model } = queue; // another one may be chosen meanwhile
  try {
    if (!anyway && (await isDecidedElsewhere())) return;
    await call("v1/feedback", { body: {
      text: item.text, model, id: item.id ?? "",
      labels: labels.map(({ label }) => label), rejected: rejected.map(({ label }) => label),
      allow_new: [...labels, ...rejected].some(({ known }) => !known),
    } });
    said.textContent = `✓ Document ${number(item.number)} is saved: `
      + `${labels.length ? listed(labels.map(({ name }) => name)) : "no label"}.`;
    judgements.delete(key());
    if (model !== queue.model) return;
  } catch (error) {
    showProblem(card.problem, error, "Not saved; what you decided is still here. ");
    return;
  } finally {
    busy = false;
  }
  goOn();
}

/** What must be made sure before saving: a sentence, and the button that answers it. */
function openQuestion() {
  const typed = card.search.value.trim();
  if (typed) {
    card.search.focus();
    return [`“${typed}” is still in the field: choose it there with the arrow keys and Enter, or `
      + "empty the field, then save."];
  }
  if (sure) return null;
  if (judgement.outcome().labels.length === 0) {
    return ["Save that no label fits this document?", "Yes, no label: save"];
  }
  if (!judgement.isChanged) {
    return ["You have judged no suggestion. Save that the labels are right as they are?",
      "Yes, they are right: save"];
  }
  return null;
}

function makeSure(question, answer) {
  sure = answer !== undefined; // the next Enter says yes
  const button = answer && el("button", { type: "button", onclick: () => save() }, answer);
  card.problem.replaceChildren(el("p", {}, question), button ?? "");
  button?.focus();
}

/** Whether somebody else has decided the document since it was shown: then the user chooses. */
async function isDecidedElsewhere() {
  const now = await ask({ number: item.number }).catch((error) => {
    if (error.status === 404 || error.status === 409) return null; // the queue is another one
    throw error;
  });
  if (now?.queue !== queue.version) return false;
  const { decision } = now.document;
  if (JSON.stringify(decision) === JSON.stringify(item.decision)) return false;
  const labels = decision?.labels.map(({ name }) => name) ?? [];
  const mine = el("button", { type: "button", onclick: () => save({ anyway: true }) }, "Save mine");
  card.problem.replaceChildren(
    el("p", {}, "This document was decided meanwhile, in another window or by somebody else: ",
      labels.length ? listed(labels) : "no label", "."),
    el("p", { class: "go" }, mine, el("button", { type: "button", onclick: () => {
      judgements.delete(key());
      goOn();
    } }, "Keep that")));
  mine.focus();
  return true;
}

function goOn() {
  visited.push(item.number);
  return show({ from: item.number + 1 });
}

function skip() {
  if (busy || !item) return;
  said.textContent = `Document ${number(item.number)} is left for later.`;
  goOn();
}

function back() {
  if (busy) return;
  const last = item ? item.number - 1 : queue?.documents;
  const before = visited.pop() ?? last;
  if (!before) return void (said.textContent = "This is the first document.");
  said.textContent = "";
  show({ number: before });
}

function undo() {
  if (!judgement?.undo()) {
    return void (told.textContent = "Nothing to undo here; B goes back to the document before.");
  }
  told.textContent = "Undone.";
  card.refresh();
  card.focus();
}
