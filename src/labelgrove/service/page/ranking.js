// The labels of a text, best first. Each opens to show why it was given.

import { bar, el, icon, newId, words } from "./dom.js";
import { percent } from "./wording.js";
import { explain } from "./why.js";

/**
 * Return a ranking as a list.
 *
 * `beside(label)` gives what stands behind a label, such as buttons to judge it; `note(label)` a
 * word below its name.
 */
export function ranking({ text, model, labels, beside = () => null, note = () => null }) {
  if (!labels.length) {
    return el("p", { class: "none" },
      "No label is likely enough. Without a threshold you see what comes next.");
  }
  const list = el("ol", { class: "ranking" });
  let opened = null;

  function row(label) {
    const panel = el("div", { class: "why", id: newId("why"), hidden: true });
    const button = el("button", {
      type: "button", class: "label", "aria-expanded": "false", "aria-controls": panel.id,
      onclick: () => toggle(panel, button, label),
    },
    icon("open"),
    el("span", { class: "name" },
      words(label.name),
      label.name !== label.label && el("small", { class: "id", dir: "auto" }, label.label),
      note(label)),
    el("span", { class: "share" }, percent(label.score)), bar(label.score));
    return el("li", {}, el("div", { class: "row" }, button, beside(label)), panel);
  }

  function toggle(panel, button, label) {
    const opens = panel.hidden;
    opened?.(); // one at a time: the others are closed
    opened = null;
    if (!opens) return;
    button.setAttribute("aria-expanded", "true");
    panel.hidden = false;
    opened = () => {
      button.setAttribute("aria-expanded", "false");
      panel.hidden = true;
    };
    if (!panel.hasChildNodes() || panel.querySelector(".problem")) {
      explain(panel, { text, label: label.label, model });
    }
  }

  list.append(...labels.map(row));
  return list;
}
