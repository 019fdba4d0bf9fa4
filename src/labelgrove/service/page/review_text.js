// The text of a document under review: its beginning or all of it, with words marked.

import { call } from "./api.js";
import { debounced, el, words } from "./dom.js";
import { pieces } from "./places.js";
import { mark } from "./why.js";
import { beginning, number, signed } from "./wording.js";

const SHOWN = 2_000; // characters of a long text, unless all of it is wanted
const LONG = 20_000; // characters from which on nobody is asked for words: it takes long
const LOUDEST = 6; // words that are listed
const WHILE = 200; // milliseconds that one stays at a label before its words are asked for

let marking = true; // as the user left it, also for the next document

/**
 * Return `{ view, toggle, toggleWords, markFor }` for a document.
 *
 * A tagger that has learned the document, perhaps with a wrong label, finds words for that label.
 */
export function reviewText({ text, model, learned }) {
  const unmarked = learned ? `${model} has learned this document, so its words are not marked.`
    : text.length > LONG ? "This text is too long to mark words." : "";
  const cut = text.length > SHOWN ? shortened(text) : text;
  const found = new Map(); // the words of a label, once they are known
  let whole = cut === text;
  let label = null; // whose words are marked
  const box = el("div", {
    class: "document", dir: "auto", tabindex: 0, role: "group", "aria-label": "Text",
  });
  const legend = el("p", { class: "legend quiet" });
  const more = el("button", { type: "button", class: "plain", hidden: whole, onclick: toggle });
  const marks = el("button", {
    type: "button", class: "plain", onclick: toggleWords, hidden: unmarked !== "",
  });

  function toggle() {
    if (cut === text) return true;
    whole = !whole;
    show();
    if (whole) box.focus(); // so that keys scroll it
    return whole;
  }

  function toggleWords() {
    if (unmarked) return;
    marking = !marking;
    show();
    ask(label);
  }

  function show() {
    const spoke = (marking && label && found.get(label.label)) || [];
    const shown = whole ? text : cut;
    box.replaceChildren(...pieces(shown, spoke).map(mark), !whole ? " …" : "");
    more.textContent = whole ? "Show less" : `Show all ${number(text.length)} characters`;
    more.hidden = cut === text;
    marks.textContent = marking ? "Hide the marks" : "Mark the words that speak";
    const loud = spoke.filter(({ weight }) => weight > 0).slice(0, LOUDEST);
    legend.replaceChildren(...(loud.length ? [
      "Words for ", el("b", { dir: "auto" }, label.name), ": ",
      ...loud.flatMap((word, i) => [
        i > 0 && ", ", words(beginning(word.text, 40)), ` ${signed(word.weight)}`,
      ]).filter(Boolean),
    ] : [unmarked]));
  }

  /** Mark the words for a label, as soon as the service has told them. */
  function markFor(wanted) {
    if (wanted === label) return;
    label = wanted;
    show();
    ask(wanted);
  }

  const ask = debounced(async (wanted) => {
    const unasked = wanted && wanted === label && !found.has(wanted.label);
    if (!marking || !unasked || !wanted.known || unmarked || !box.isConnected) return;
    const told = await call("v1/explain", { body: { text, label: wanted.label, model } })
      .catch(() => null); // such as a label that was never learned: the text has no marks then
    found.set(wanted.label, told?.words ?? []);
    if (wanted === label) show();
  }, WHILE);

  show();
  const view = el("div", { class: "source" }, box,
    el("p", { class: "beneath" }, more, marks), legend);
  return { view, toggle, toggleWords, markFor };
}

/** The beginning of a text, up to the end of a word and no half a character. */
function shortened(text) {
  const cut = text.slice(0, SHOWN).replace(/[\ud800-\udbff]$/, "");
  const end = cut.search(/\s\S{0,60}$/);
  return end > 0 ? cut.slice(0, end) : cut;
}
