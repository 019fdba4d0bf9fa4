// Two models' labels for the same text, side by side.

import { el, words } from "./dom.js";
import { ranking } from "./ranking.js";

/** `first` and `second` are what `ranking` takes. */
export function comparison(first, second) {
  const places = [first, second].map(({ labels }) =>
    new Map(labels.map(({ label }, i) => [label, i + 1])));
  const columns = [first, second].map((each, i) => el("div", {},
    el("h3", {}, words(each.model)),
    ranking({ ...each, note: (label) => elsewhere(places[1 - i].get(label.label)) })));
  const both = first.labels.filter(({ label }) => places[1].has(label));
  return el("div", {},
    el("dl", { class: "facts shared" },
      line("Both", both),
      line(`Only ${first.model}`, first.labels.filter(({ label }) => !places[1].has(label))),
      line(`Only ${second.model}`, second.labels.filter(({ label }) => !places[0].has(label)))),
    el("div", { class: "beside" }, columns));
}

const elsewhere = (place) => place === undefined
  ? el("small", { class: "only" }, "only here")
  : el("small", { class: "also" }, `no. ${place} there`);

const line = (title, labels) => [
  el("dt", { dir: "auto" }, title),
  el("dd", {}, labels.length
    ? labels.flatMap(({ name, label }, i) => [
      i > 0 && ", ", words(name), name !== label && [" ", el("small", { dir: "auto" }, label)],
    ])
    : "none"),
];
