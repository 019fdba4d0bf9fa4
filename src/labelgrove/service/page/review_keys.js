// The keys of the review. They work while the focus is in that part of the page, but not in fields.

import { el } from "./dom.js";

const NAMES = { ArrowUp: "up", ArrowDown: "down", Enter: "enter", Escape: "escape" };

const MEANINGS = [
  [["Y"], "yes"], [["N"], "no, or remove"], [["↑", "↓"], "choose a label"],
  [["L"], "add a label"], [["Esc"], "leave the field"], [["Enter"], "save and go on"],
  [["S"], "skip"], [["B"], "back"], [["U"], "undo"], [["T"], "whole text"], [["W"], "mark words"],
];

/** The list of keys that stands on the page. */
export const keysAndMeanings = () => el("ul", { class: "keys meanings", "aria-label": "Keys" },
  MEANINGS.map(([keys, meaning]) =>
    el("li", {}, keys.map((key) => [el("kbd", {}, key), " "]), meaning)));

/** Let keys do things: `actions` by the letter, or `up`, `down`, `enter` and `escape`. */
export function startKeys(part, actions) {
  part.addEventListener("keydown", (event) => {
    const name = nameOf(event);
    const action = actions[name];
    if (!action || event.isComposing) return;
    if (event.repeat && name === "enter") {
      event.preventDefault(); // a key that is held must not go through the queue
      return;
    }
    if (!isMeant(event, name)) return;
    event.preventDefault();
    action();
  });
}

/** A letter as it is on the key, also where the keyboard writes others than Latin ones. */
function nameOf({ key, code }) {
  if (NAMES[key]) return NAMES[key];
  return /^[a-z]$/i.test(key) || !code.startsWith("Key") ? key.toLowerCase()
    : code.slice(3).toLowerCase();
}

function isMeant(event, name) {
  const { target } = event;
  const withControl = event.ctrlKey || event.metaKey;
  if (event.altKey || (withControl && name !== "enter")) return false;
  if (withControl) return true; // saves from anywhere
  if (target.closest("select, summary, a")) return false;
  if (target.closest("input")) return name === "escape";
  if (name === "enter") return !target.closest("button"); // that has been chosen itself
  return !(target.closest(".document, pre") && (name === "up" || name === "down")); // they scroll
}
