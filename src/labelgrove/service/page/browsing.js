// The labels that a model knows: searched by word, or opened level by level.

import { call } from "./api.js";
import { byId, debounced, el, icon, newId, words } from "./dom.js";
import { about, entry } from "./label.js";
import { showProblem } from "./problems.js";
import { onModel, served } from "./served.js";
import { number, several } from "./wording.js";

const LEVEL = 50; // labels that are shown before "more"
const [search, tree, said, problem] = ["search", "tree", "labels-said", "labels-problem"].map(byId);
let asking = null;
let stale = true; // nothing is loaded until somebody looks

export function startBrowsing() {
  search.addEventListener("input", debounced(browse));
  onModel(() => {
    stale = true;
    if (!byId("part-labels").hidden) visitLabels();
  });
}

/** Show the labels, if they are not there already. */
export function visitLabels() {
  if (stale && served.chosen) browse();
}

async function browse() {
  stale = false;
  asking?.abort();
  const mine = (asking = new AbortController());
  const q = search.value.trim();
  const list = el("ul", { class: "tree" });
  problem.replaceChildren();
  try {
    const page = await grow(list, { q, model: served.chosen.name }, mine.signal);
    if (mine !== asking) return;
    tree.replaceChildren(list);
    said.textContent = told(q, page);
  } catch (error) {
    if (mine !== asking) return;
    stale = true;
    showProblem(problem, error);
  }
}

function told(q, { labels, more }) {
  const { name, labels: all, hierarchy } = served.chosen;
  if (!q) {
    const top = hierarchy ? ", from the top" : "";
    return `${several(all, "label")} of ${name}${top}, with the number of documents learned from.`;
  }
  if (!labels.length) return `No label has a word that begins with “${q}”.`;
  const found = several(labels.length, more ? "most frequent label" : "label");
  return `${more ? "The " : ""}${found} with “${q}”:`;
}

/** Append a level, or the next labels of it, to a list; a button asks for what is left. */
async function grow(list, query, signal, offset = 0) {
  const page = await call("v1/labels", { query: { ...query, limit: LEVEL, offset }, signal });
  list.append(...page.labels.map((label) => node(label, query)));
  if (page.more) list.append(moreButton(list, query, offset + LEVEL));
  return page;
}

function moreButton(list, query, offset) {
  const button = el("button", { type: "button", class: "plain", onclick: more }, "More");
  const item = el("li", { class: "more" }, button);
  async function more() {
    const before = list.children.length - 1;
    try {
      await grow(list, query, undefined, offset);
      item.remove();
      list.children[before]?.querySelector("button")?.focus(); // the first new one
    } catch (error) {
      showProblem(problem, error);
    }
  }
  return item;
}

function node(label, { q, model }) {
  const details = el("div", { class: "details", id: newId("details"), hidden: true });
  const below = el("ul", { id: newId("below"), hidden: true });
  let loading = null;
  const name = el("button", {
    type: "button", class: "name", "aria-expanded": "false", "aria-controls": details.id,
    onclick: tell,
  }, q ? entry(label) : words(label.name));
  const opener = label.children > 0 && el("button", {
    type: "button", class: "opener", "aria-expanded": "false", "aria-controls": below.id,
    "aria-label": `Below ${label.name}`, onclick: open,
  }, icon("open"));

  function tell() {
    if (!details.hasChildNodes()) {
      const id = el("p", {}, "Id: ", el("code", { dir: "auto" }, label.label));
      details.append(id, ...about(label));
    }
    flip(name, details);
  }

  async function open() {
    try {
      loading ??= grow(below, { parent: label.label, model }); // once, however often it is pressed
      await loading;
      flip(opener, below);
    } catch (error) {
      loading = null;
      showProblem(problem, error);
    }
  }

  return el("li", {},
    el("div", { class: "row" }, opener || el("span", { class: "leaf" }), name,
      el("small", { class: "count", title: "documents learned from" },
        label.learned && number(label.documents))),
    details, below);
}

function flip(button, panel) {
  panel.hidden = !panel.hidden;
  button.setAttribute("aria-expanded", String(!panel.hidden));
}
