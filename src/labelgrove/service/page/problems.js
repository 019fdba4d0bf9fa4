// What went wrong, in words that can be shown.

import { el } from "./dom.js";

/** A failure whose message is a sentence for the user. */
export class Problem extends Error {}

/** Show why something failed, where a screen reader says it at once. */
export function showProblem(box, error, before = "") {
  if (error.name === "AbortError") return; // it was us who stopped it
  if (!(error instanceof Problem)) console.error(error);
  const errors = (error.errors ?? []).filter(({ message }) => !error.message.includes(message));
  box.replaceChildren(
    el("div", { class: "problem" },
      el("p", { dir: "auto" }, before, error.status > 0 && "The server says: ", error.message),
      errors.length > 0 && el("ul", {},
        errors.slice(0, 5).map(({ where, message }) => el("li", {}, `${where}: ${message}`)))),
  );
}
