// What the user says of the labels of a text: right, wrong, missing. Kept until it is saved.

import { call } from "./api.js";
import { combobox } from "./combobox.js";
import { el, icon, words } from "./dom.js";
import { entry } from "./label.js";
import { showProblem } from "./problems.js";
import { listed } from "./wording.js";

const judged = new Map(); // what was said of a text before, until the page is closed
const unsaved = (judgement) => judgement.verdicts.size > 0 && !judgement.saved;

addEventListener("beforeunload", (event) => {
  if ([...judged.values()].some(unsaved)) event.preventDefault();
});

/** Return `{ buttons(label), panel, refresh }`: buttons for each label, what adds and saves. */
export function feedback({ model, text, labels }) {
  // what was said so far: a verdict for each label, and whether it is saved
  const key = JSON.stringify([model, text]);
  const judgement = judged.get(key) ?? { verdicts: new Map(), saved: true };
  const { verdicts } = judgement;
  const suggested = new Set(labels.map(({ label }) => label));
  const refreshers = [];
  let saving = false;
  const added = el("ul", { class: "chips", "aria-label": "Labels you added" });
  const state = el("p", { role: "status" });
  const problem = el("div", { role: "alert" });
  const save = el("button", { type: "button", class: "main", onclick: () => send() }, "Save feedback");

  function judge(label, right) {
    const { name, isNew = false } = label;
    if (right === null) verdicts.delete(label.label);
    else verdicts.set(label.label, { name, right, isNew });
    judgement.saved = false;
    judged.set(key, judgement);
    problem.replaceChildren();
    refresh();
  }

  function buttons(label) {
    const made = [true, false].map((right) => el("button", {
      type: "button", class: `verdict ${right ? "right" : "wrong"}`,
      "aria-label": `${right ? "Right" : "Wrong"}: ${label.name}`, title: right ? "Right" : "Wrong",
      onclick: () => judge(label, verdicts.get(label.label)?.right === right ? null : right),
    }, icon(right ? "right" : "wrong")));
    refreshers.push(() => made.forEach((button, i) =>
      button.setAttribute("aria-pressed", String(verdicts.get(label.label)?.right === !i))));
    const named = `Is ${label.name} right?`;
    return el("span", { class: "verdicts", role: "group", "aria-label": named }, made);
  }

  function chip([id, { name, isNew }]) {
    return el("li", {}, words(name), isNew && el("small", {}, "new"), el("button", {
      type: "button", "aria-label": `Take back ${name}`,
      onclick: () => takeBack({ label: id, name }),
    }, icon("wrong")));
  }

  function takeBack(label) {
    judge(label, null);
    panel.querySelector("input").focus(); // the button that had it is gone
  }

  function refresh() {
    const extra = [...verdicts].filter(([id]) => !suggested.has(id));
    added.replaceChildren(...extra.map(chip));
    added.hidden = extra.length === 0;
    save.setAttribute("aria-disabled", String(!unsaved(judgement)));
    state.className = judgement.saved ? "saved" : "quiet";
    const before = judgement.saved ? "✓ Saved" : "Not saved yet";
    state.textContent = verdicts.size ? summary(verdicts, before) : "";
    refreshers.forEach((each) => each());
  }

  async function send(noneFits = false) {
    if (!unsaved(judgement) || saving) return;
    const all = [...verdicts];
    problem.replaceChildren();
    const field = panel.querySelector("input");
    if (field.value.trim()) {
      problem.append(el("p", {}, "“", words(field.value.trim()), "” is still in the field: choose ",
        "it there with the arrow keys and Enter, or empty the field, then save."));
      field.focus();
      return;
    }
    if (!noneFits && !all.some(([, { right }]) => right)) {
      askWhetherNoneFits();
      return;
    }
    saving = true;
    const sent = JSON.stringify(all);
    try {
      const stored = await call("v1/feedback", { body: {
        text, model,
        labels: all.filter(([, { right }]) => right).map(([id]) => id),
        rejected: all.filter(([, { right }]) => !right).map(([id]) => id),
        allow_new: all.some(([, { isNew }]) => isNew),
      } });
      judgement.saved = stored.stored && sent === JSON.stringify([...verdicts]);
      // what was typed as new may be the id of one that is known
      for (const [id, verdict] of all) verdict.isNew &&= stored.new.includes(id);
      refresh();
    } catch (error) {
      showProblem(problem, error, "Not saved; your marks are still here. ");
    } finally {
      saving = false;
    }
  }

  /** Without a label that is right, a text would be learned as one that has none: is that meant? */
  function askWhetherNoneFits() {
    problem.append(
      el("p", {}, "You have marked no label as right. Mark or add those that are, or save that ",
        "none fits."),
      el("button", { type: "button", onclick: () => send(true) }, "None of the labels fits: save"));
  }

  const panel = el("section", { class: "feedback", "aria-label": "Feedback" },
    el("h3", {}, "Is this right?"),
    el("p", { class: "quiet" }, "Mark what fits and what does not, and add what is missing. ",
      "The next training learns for this text what you marked as right or added, and no other."),
    combobox({
      label: "Add a label",
      find: (query) => suggestions(query, model),
      take: (option) => judge(option.label, true),
    }),
    added, problem, el("p", { class: "go" }, save), state);
  return { buttons, panel, refresh };
}

/** The labels that the beginning of a word finds, and the query as a new one. */
export async function suggestions(query, model) {
  const { labels } = await call("v1/labels", { query: { q: query, model, limit: 8 } })
    .catch(() => ({ labels: [] }));
  const same = (text) => text.toLowerCase() === query.toLowerCase();
  const options = labels.map((label) => ({
    label, texts: [...new Set([label.name, label.label])],
    content: entry(label),
  }));
  if (labels.some(({ name, label }) => same(name) || same(label))) return options;
  // never the first thing Enter would take: a new label is a choice of its own
  const name = query.replace(/\s+/g, " ");
  const label = { label: name, name, isNew: true };
  const content = ["Add as new label: ", el("b", { dir: "auto" }, name)];
  return [...options, { label, texts: [], content }];
}

function summary(verdicts, before) {
  const all = [...verdicts.values()];
  const named = (title, some) =>
    some.length > 0 && `${title}: ${listed(some.map(({ name }) => name))}`;
  return [
    before,
    named("right", all.filter(({ right, isNew }) => right && !isNew)),
    named("wrong", all.filter(({ right }) => !right)),
    named("new", all.filter(({ isNew }) => isNew)),
  ].filter(Boolean).join(" · ");
}
