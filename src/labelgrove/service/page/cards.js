// The card of each model: what it learned from, how well it did, what it was told.

import { byId, el, words } from "./dom.js";
import { served } from "./served.js";
import { thresholdTable } from "./thresholds.js";
import { number, size, time } from "./wording.js";

// scores that are shown at once
const FIRST = ["P@1", "P@3", "P@5", "nDCG@5", "R@5", "PSP@5", "micro-F1", "macro-F1"];
const MEANINGS = {
  P: "of the first {k} labels are right",
  R: "of a document's labels are among the first {k}",
  nDCG: "right labels near the top, of the best order",
  PSP: "right among the first {k}, rare labels counting more",
  "micro-F1": "balance of precision and recall, all labels together",
  "macro-F1": "the same for each label, then averaged",
  "samples-F1": "the same for each document, then averaged",
};

/** What a metric means in plain words, as far as we have some. */
function meaning(metric) {
  const [name, k] = metric.split("@");
  if (metric === "P@1") return "first label right";
  return MEANINGS[name]?.replace("{k}", k) ?? "";
}

export function showCards() {
  byId("cards").replaceChildren(...served.models.map(card));
}

function card(model) {
  const shown = FIRST.filter((metric) => metric in model.scores);
  const others = Object.entries(model.scores).filter(([metric]) => !shown.includes(metric));
  return el("article", {},
    el("h3", { dir: "auto" }, model.name),
    el("p", {}, el("b", {}, model.model), ": ", words(model.summary),
      model.paper && el("span", { class: "quiet" }, ` (${model.paper})`)),
    shown.length > 0 ? scores(model, shown)
      : el("p", { class: "quiet" }, "No documents were held out, so there are no scores."),
    el("dl", { class: "facts" }, facts(model)),
    thresholdTable(model),
    others.length > 0
      && folded("All scores", others.map(([metric, value]) => [metric, score(value)])),
    folded("Settings", [
      ...Object.entries(model.settings).map(([name, value]) => [name, JSON.stringify(value)]),
      ...Object.entries(model.features).flatMap(([view, { name, settings }]) => [
        [view, name],
        ...Object.entries(settings).map(([key, value]) =>
          [`${view}.${key}`, JSON.stringify(value)]),
      ]),
    ]));
}

const scores = (model, shown) => [
  el("h4", {}, "On documents that were held out"),
  el("ul", { class: "cards" }, shown.map((metric) => el("li", { class: "card" },
    el("b", {}, score(model.scores[metric])), el("span", {}, meaning(metric)),
    el("small", {}, metric)))),
];

const score = (value) => `${(100 * value).toFixed(1)}%`;

function facts(model) {
  const { labels, documents, hierarchy, bytes, created, loaded, labelgrove, feedback } = model;
  const likely = Object.entries(model.thresholds ?? {})
    .map(([name, value]) => `${name === "micro" ? "auto" : name} ${value.toFixed(2)}`).join(", ");
  return [
    ["Learned from", `${number(documents)} documents`],
    ["Labels", `${number(labels)}${hierarchy ? ", in a hierarchy" : ""}`],
    ["Thresholds", likely || "not tuned: no documents were held out"],
    ["On disk", size(bytes)],
    ["Made", `${time(created)}, by labelgrove ${labelgrove}`],
    ["Loaded", time(loaded)],
    ["Feedback", feedback ? "taken" : "not taken"],
  ].flatMap(([title, text]) => [el("dt", {}, title), el("dd", {}, text)]);
}

const folded = (title, pairs) => el("details", {}, el("summary", {}, title),
  el("dl", { class: "facts" }, pairs.map(([name, value]) =>
    [el("dt", {}, name), el("dd", {}, el("code", {}, value))])));
