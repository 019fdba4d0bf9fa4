// Why a label was given: the text with the words that spoke marked, and similar documents.

import { call } from "./api.js";
import { el, words } from "./dom.js";
import { about } from "./label.js";
import { pieces } from "./places.js";
import { showProblem } from "./problems.js";
import { beginning, listed, percent, signed } from "./wording.js";

const WORDS = 8; // of each side that are listed
const NEIGHBOURS = 5;

/** Fill a panel with the reasons for a label of a text. */
export async function explain(panel, { text, label, model }) {
  const problem = el("div", { role: "alert" });
  panel.replaceChildren(el("p", { class: "quiet" }, "Looking at the words …"), problem);
  try {
    const [found, known] = await Promise.all([
      call("v1/explain", { body: { text, label, model } }),
      call("v1/labels", { query: { id: label, model } }).catch(() => ({ labels: [] })),
    ]);
    panel.replaceChildren(
      ...known.labels.slice(0, 1).flatMap((each) => about(each)),
      ...marked(text, found.words),
      ...partsOfScore(found.parts),
      ...similar(found.documents),
    );
  } catch (error) {
    panel.replaceChildren(problem);
    showProblem(problem, error);
  }
}

function marked(text, found) {
  if (!found.length) return [el("p", {}, "No word spoke for it or against it.")];
  const document = el("div", {
    class: "document", dir: "auto", tabindex: 0, role: "group",
    "aria-label": "The text, with the words that spoke marked",
  }, pieces(text, found).map(mark));
  return [document, ...sides(found)];
}

/** A piece of a text, marked where it spoke for a label or against it. */
export function mark({ text, share }) {
  if (!share) return text;
  const element = el("mark", { class: share > 0 ? "for" : "against", title: signed(share) }, text);
  element.style.setProperty("--share", Math.abs(share).toFixed(2));
  return element;
}

/** The heaviest words as text: not everyone sees the colours. */
function sides(found) {
  const both = [["for", "Spoke for it", 1], ["against", "Spoke against it", -1]];
  return both.flatMap(([side, title, sign]) => {
    const loudest = found.filter(({ weight }) => weight * sign > 0).slice(0, WORDS);
    return loudest.length === 0 ? [] : el("div", { class: "side" },
      el("h4", {}, el("mark", { class: side }, title)),
      el("ul", { class: "words" }, loudest.map(({ text, weight }) =>
        el("li", {}, words(beginning(text, 40)), " ", el("small", {}, signed(weight))))));
  });
}

/** The named parts of the score, such as the meaning of the whole text. */
function partsOfScore(parts) {
  if (!parts.length) return [];
  const told = parts.map(({ name, weight }) => `${name} ${signed(weight)}`).join(", ");
  return [el("p", {}, `Parts of the score: ${told}`)];
}

function similar(documents) {
  if (!documents.length) return [];
  const having = documents.filter((each) => each.has_label).length;
  return [
    el("h4", {}, `${having} of the ${documents.length} most similar documents have it`),
    el("ol", { class: "similar" }, documents.slice(0, NEIGHBOURS).map((each) =>
      el("li", {},
        el("p", { dir: "auto" }, beginning(each.text || "(text not kept)", 240)),
        el("small", {}, `${percent(each.similarity)} alike, `,
          el("b", {}, each.has_label ? "has it" : "has it not"), ": ",
          words(listed(each.labels)))))),
  ];
}
