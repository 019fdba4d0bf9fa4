// What is known of a label: its place in the hierarchy, what it means, what it was learned from.

import { el, words } from "./dom.js";
import { several } from "./wording.js";

/** The path to a label, from the top down. */
const pathTo = ({ path, name }) => el("span", { class: "path" },
  [...path.map((above) => above.name), name].flatMap((each, i) => [i > 0 && " › ", words(each)]));

/** A label among others that were found: its name, and below that what tells it from them. */
export const entry = ({ path, name, label }) => [
  words(name),
  el("small", { class: "place" },
    path.length > 0 && ["in ", path.flatMap((above, i) => [i > 0 && " › ", words(above.name)])],
    path.length > 0 && label !== name && ", ", label !== name && words(label)),
];

export function about(label) {
  const { documents, description, path, learned, children } = label;
  return [
    path.length > 0 && el("p", { class: "quiet" }, pathTo(label)),
    description && el("p", { dir: "auto" }, description),
    el("p", { class: "quiet" }, learned
      ? `Learned from ${several(documents, "document")}.`
      : "Nothing was learned of it: no training document has it.",
    children > 0 && ` ${several(children, "label")} right below it.`),
  ].filter(Boolean);
}
