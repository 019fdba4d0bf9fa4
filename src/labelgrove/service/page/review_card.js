// One document of the queue: its text beside its labels, each of which can be judged.

import { combobox } from "./combobox.js";
import { bar, el, icon, newId, words } from "./dom.js";
import { suggestions as findLabels } from "./feedback.js";
import { keysAndMeanings } from "./review_keys.js";
import { reviewText } from "./review_text.js";
import { listed, number, percent } from "./wording.js";

const QUESTIONS = {
  missing: ["Missing?", "yes, add it", "no, leave it out"],
  wrong: ["Wrong?", "yes, remove it", "no, keep it"],
  proposed: ["Fits?", "yes, add it", "no, leave it out"],
};

const OUTCOMES = { // of yes and no
  missing: ["added", "left out"], wrong: ["removed", "kept"], proposed: ["added", "left out"],
};

/**
 * Return the card of a document.
 *
 * `tell(sentence)` says what happened, `changed()` is called after every change, and `actions` are
 * buttons that stand below the labels, the main one first.
 */
export function reviewCard(item, judgement, { model, documents, tell, changed, actions }) {
  let current = null; // the label that keys speak of
  let elements = new Map(); // the element of each label
  const text = reviewText({ text: item.text, learned: item.learned, model });
  const labels = el("div", { class: "judging" });
  const chips = el("ul", { class: "chips", "aria-label": "Labels" });
  const others = item.suggestions.length ? "Other labels of the document" : "Labels of the document";
  const none = el("p", { class: "quiet" }, "none");
  const summary = el("p", { class: "outcome quiet" });
  const problem = el("div", { role: "alert" });

  // --- judging --------------------------------------------------------------------------------

  function say(row, yes) {
    judgement.say(row, yes);
    const word = yes === null ? "taken back" : OUTCOMES[row.kind]?.[yes ? 0 : 1]
      ?? (yes ? "belongs to the document" : "removed");
    tell(`${row.name}: ${word}.`);
    refresh();
  }

  /** Answer for the current label by the keyboard, and go to the next one that is open. */
  function answer(yes) {
    const row = judgement.rows.find(({ label }) => label === current);
    if (!row) return tell("No label is chosen: the arrow keys choose one.");
    const suggested = row.kind in QUESTIONS;
    say(row, yes);
    if (suggested) goOn(row);
    else focus();
  }

  function goOn(row) {
    const { suggestions, open } = judgement;
    const behind = suggestions.slice(suggestions.findIndex(({ label }) => label === row.label));
    const next = behind.find((each) => open.includes(each)) ?? open[0];
    choose(next?.label ?? null);
    if (next) focus();
    else actions[0].focus();
  }

  function move(step) {
    const all = judgement.rows.map(({ label }) => label);
    if (!all.length) return;
    const at = all.indexOf(current);
    const from = at < 0 && step < 0 ? all.length : at;
    choose(all[Math.min(Math.max(from + step, 0), all.length - 1)]);
    focus();
  }

  function choose(label) {
    current = label;
    for (const [each, element] of elements) {
      element.classList.toggle("current", each === label);
    }
    const row = judgement.suggestions.find((each) => each.label === label);
    if (row) text.markFor(row);
  }

  function focus() {
    const element = elements.get(current) ?? heading;
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
  }

  /** Begin with the document: its text can be seen, and the keys speak of its first suggestion. */
  function begin() {
    (elements.get(current) ?? heading).focus({ preventScroll: true });
    const { top } = heading.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) view.scrollIntoView({ block: "start" });
  }

  // --- what is shown --------------------------------------------------------------------------

  function suggestion(row) {
    const [question, yes, no] = QUESTIONS[row.kind];
    const buttons = [[true, "right", "Yes", yes], [false, "wrong", "No", no]].map(
      ([value, kind, word, meaning]) => el("button", {
        type: "button", class: `verdict worded ${kind}`, title: meaning,
        "aria-pressed": String(judgement.answer(row) === value),
        "aria-label": `${word}: ${row.name}, ${meaning}`, "aria-keyshortcuts": word[0],
        onclick: () => {
          choose(row.label);
          say(row, judgement.answer(row) === value ? null : value);
          elements.get(row.label).querySelector(`.${kind}`).focus();
        },
      }, icon(kind), word));
    const reasons = newId("reasons");
    const element = el("div", {
      class: "suggestion", role: "group", tabindex: -1, "aria-describedby": reasons,
      "aria-label": `${question} ${row.name}, ${percent(row.score)}`,
      onfocusin: () => choose(row.label),
    },
    el("span", {}, el("span", { class: `kind ${row.kind}` }, question), " ",
      el("small", { class: "share" }, percent(row.score))),
    el("span", { class: "name" }, words(row.name), ids(row)), bar(row.score),
    el("div", { class: "verdicts" }, buttons),
    el("ul", { class: "reasons quiet", id: reasons },
      row.reasons.map((reason) => el("li", { dir: "auto" }, reason))));
    elements.set(row.label, element);
    return el("li", {}, element);
  }

  const ids = ({ label, name, known }) => [
    label !== name && el("small", { class: "id", dir: "auto" }, label),
    !known && el("small", { class: "new" }, "new"),
  ];

  /** A name that another label here has too stands with its id. */
  function nameOf({ label, name }) {
    const shared = judgement.rows.some((row) => row.name === name && row.label !== label);
    return shared ? `${name} (${label})` : name;
  }

  function chip(row) {
    const has = judgement.has(row);
    const element = el("div", {
      class: "chip", role: "group", tabindex: -1, onfocusin: () => choose(row.label),
      "aria-label": `${row.name}, ${has ? "a label of the document" : "removed"}`,
    }, words(row.name), !row.known && el("small", {}, "new"), el("button", {
      type: "button", "aria-label": `${has ? "Remove" : "Restore"} ${row.name}`,
      onclick: () => {
        say(row, !has);
        focus();
      },
    }, icon(has ? "wrong" : "right")));
    elements.set(row.label, element);
    return el("li", { class: has ? row.kind : "removed" }, element);
  }

  function refresh() {
    elements = new Map();
    const asked = judgement.suggestions;
    const rest = judgement.rows.filter(({ kind }) => !(kind in QUESTIONS));
    labels.replaceChildren(...(asked.length ? [
      el("h4", {}, "Suggestions"), el("ol", { class: "suggestions" }, asked.map(suggestion)),
    ] : []));
    chips.replaceChildren(...rest.map(chip));
    none.hidden = rest.length > 0;
    const { labels: kept, rejected } = judgement.outcome();
    const named = (some) => listed(some.map(nameOf), 20);
    summary.replaceChildren(el("b", {}, "To be saved: "), kept.length ? named(kept) : "no label",
      rejected.length ? ` · rejected: ${named(rejected)}` : "");
    if (!elements.has(current)) current = null;
    choose(current);
    problem.replaceChildren(); // what it says is of before
    changed();
  }

  const search = combobox({
    label: "Add a label",
    find: (query) => findLabels(query, model),
    take: ({ label }) => {
      judgement.add({ ...label, known: !label.isNew });
      tell(`${label.name}: added.`);
      refresh();
    },
  });

  const heading = el("h3", { tabindex: -1 }, `Document ${number(item.number)} of ${number(documents)}`,
    item.id !== null && el("small", { class: "id", dir: "auto" }, item.id));
  const view = el("div", { class: "desk reviewing" },
    el("div", {}, heading,
      item.decision && el("p", { class: "saved" }, "✓ Reviewed; change it and save it again."),
      text.view, keysAndMeanings()),
    el("div", {}, labels,
      el("h4", {}, others), chips, none, search, summary, problem,
      el("p", { class: "go" }, actions)));
  refresh();
  choose((judgement.open[0] ?? judgement.rows[0])?.label ?? null);
  return {
    view, problem, search: search.querySelector("input"), answer, move, focus, begin, refresh,
    toggleText: () => text.toggle() || focus(), toggleWords: text.toggleWords,
  };
}
