// Elements are made here, and text is only ever text: nothing on this page is parsed as HTML.

/**
 * Make an element. Attributes named `on...` are listeners; `true` sets an empty attribute, `false`
 * and `null` none. Children are nodes or texts; what is `null` or `false` is left out.
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = {
  right: "M5 12.5l4.5 4.5L19 7.5",
  wrong: "M7 7l10 10M17 7L7 17",
  open: "M9 6l6 6-6 6",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
};

/** A line drawing that says nothing by itself: who uses it gives its button a name. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", `icon icon-${name}`);
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}

/** A text of the user's or of a label, in the direction it is written in. */
export const words = (text, kind = "") => el("span", { dir: "auto", class: kind || null }, text);

/** A share from 0 to 1 as a bar; the number stands beside it, so readers are not told twice. */
export function bar(share) {
  const found = el("span", { class: "bar", "aria-hidden": "true" });
  found.style.setProperty("--share", Math.min(Math.max(share, 0), 1));
  return found;
}

let count = 0;
/** An id that no other element of this page has. */
export const newId = (what) => `${what}-${++count}`;

/** Call a function only after nobody asked for it for a while. */
export function debounced(action, milliseconds = 180) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), milliseconds);
  };
}
