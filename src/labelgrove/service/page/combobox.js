// A field with suggestions, by the ARIA pattern of a combobox with a list.
// Focus stays in the field; arrows move through the list, Enter takes, Escape closes.

import { debounced, el, newId } from "./dom.js";
import { several } from "./wording.js";

/**
 * Return the field and its list.
 *
 * `find(query)` resolves to options `{ texts, content }`, where `texts` are what the field may hold
 * to mean the option; `take(option)` is called with the one that was chosen.
 */
export function combobox({ label, find, take }) {
  const [field, list] = [newId("field"), newId("list")];
  const box = el("ul", { id: list, role: "listbox", "aria-label": label, hidden: true });
  const told = el("p", { class: "unseen", role: "status" });
  const input = el("input", {
    id: field, type: "text", role: "combobox", dir: "auto", autocomplete: "off",
    spellcheck: "false",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list,
  });
  let options = [];
  let active = -1;
  let asked = 0;

  function activate(number) {
    box.children[active]?.setAttribute("aria-selected", "false");
    active = number;
    const option = box.children[active];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  }

  function close() {
    asked++; // what is still on its way comes too late
    options = [];
    told.textContent = "";
    activate(-1);
    box.hidden = true;
    box.replaceChildren();
    input.setAttribute("aria-expanded", "false");
  }

  function choose(option) {
    input.value = "";
    close();
    take(option);
    input.focus();
  }

  async function suggest() {
    const query = input.value.trim();
    if (!query) return close();
    const mine = ++asked;
    const found = await find(query);
    if (mine !== asked || document.activeElement !== input) return;
    activate(-1);
    options = found;
    box.replaceChildren(...options.map((option) => el("li", {
      id: newId("option"), role: "option", "aria-selected": "false",
      onmousedown: (event) => event.preventDefault(), // the field keeps the focus
      onclick: () => choose(option),
    }, option.content)));
    box.hidden = options.length === 0;
    input.setAttribute("aria-expanded", String(options.length > 0));
    told.textContent = several(options.length, "suggestion");
  }

  function move(step) {
    if (!options.length) return suggest();
    activate((active + step + (active < 0 && step < 0 ? 1 : 0) + options.length) % options.length);
  }

  function enter() {
    const typed = input.value.trim().toLowerCase();
    const exact = options.filter(({ texts }) =>
      texts.some((text) => text.toLowerCase() === typed));
    if (active >= 0) choose(options[active]);
    else if (exact.length === 1) choose(exact[0]);
    else if (options.length === 1) choose(options[0]);
    else if (typed) told.textContent = "Choose one of the suggestions with the arrow keys.";
  }

  const keys = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: enter, Escape: close };
  input.addEventListener("keydown", (event) => {
    if (!keys[event.key] || event.isComposing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
  input.addEventListener("input", debounced(suggest));
  input.addEventListener("blur", close);
  return el("div", { class: "combobox" }, el("label", { for: field }, label), input, box, told);
}
