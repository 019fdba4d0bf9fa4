// Thresholds as people choose them: a number, a name, or a promise; and what each would give.

import { byId, el } from "./dom.js";

const ASKS = { // what the field beside the choice asks for
  number: { label: "At least, %", value: "50" },
  precision: { label: "Right, %", value: "90" },
  recall: { label: "Found, %", value: "90" },
};

/** Show the field beside the choice where the choice needs a number. */
export function startThresholds() {
  const choice = byId("threshold");
  choice.addEventListener("change", () => {
    const asked = ASKS[choice.value];
    byId("at-least").hidden = !asked;
    if (!asked) return;
    document.querySelector("label[for=least]").textContent = asked.label;
    byId("least").value = asked.value;
  });
}

/** What is asked of the service: `{ threshold }`, or `{ problem }` where the number makes no sense. */
export function chosenThreshold() {
  const name = byId("threshold").value;
  if (!ASKS[name]) return { threshold: name || null };
  const field = byId("least");
  const least = Number(field.value) / 100;
  if (name === "number") {
    if (field.value && least >= 0 && least <= 1) return { threshold: least };
    return { problem: "At least: a number from 0 to 100." };
  }
  const share = Number(least.toFixed(4)); // 99.9 / 100 is a little more than 0.999
  if (!field.value || !(share >= 0.001 && share <= 0.999)) {
    return { problem: `${ASKS[name].label.split(",")[0]}: a number from 0.1 to 99.9.` };
  }
  return { threshold: `${name}=${share}` };
}

/** A table of what thresholds give on held-out documents, or nothing where there were none. */
export function thresholdTable({ by_threshold: rows }) {
  if (!rows?.length) return null;
  const percent = (value) => `${(100 * value).toFixed(0)}%`;
  const titles = ["Threshold", "Right", "Found", "Labels a text", "Texts with a label"];
  return el("details", {}, el("summary", {}, "What thresholds give"),
    el("p", { class: "quiet" }, "On documents that were held out."),
    el("div", { class: "table", tabindex: 0, role: "group", "aria-label": "What thresholds give" },
      el("table", {},
        el("thead", {}, el("tr", {}, titles.map((title) => el("th", { scope: "col" }, title)))),
        el("tbody", {}, rows.map((row) => el("tr", {},
          el("th", { scope: "row" }, row.threshold.toString()),
          [percent(row.precision), percent(row.recall), row.labels.toFixed(1),
            percent(row.documents)].map((value) => el("td", {}, value))))))));
}
