// What is served: the models, the limits, and the model that is chosen in all parts of the page.

import { call } from "./api.js";
import { byId, el } from "./dom.js";

// `review` is null until the service has said whether there is a queue
export const served = { models: [], limits: {}, examples: [], review: null, chosen: null };

const MENUS = ["model", "labels-model", "review-model"];

const changes = new EventTarget();

/** Call a function whenever another model is chosen. */
export const onModel = (action) => changes.addEventListener("model", action);

export function choose(name) {
  served.chosen = served.models.find((model) => model.name === name) ?? served.models[0];
  for (const select of MENUS.map(byId)) select.value = served.chosen.name;
  changes.dispatchEvent(new Event("model"));
}

/** Ask what is served, and fill the menus of models; these are shown where there are several. */
export async function loadModels() {
  Object.assign(served, await call("v1/models"));
  const names = served.models.map(({ name }) => name);
  for (const select of MENUS.map(byId)) {
    select.replaceChildren(...names.map((name) => el("option", { value: name }, name)));
    select.onchange = () => choose(select.value);
  }
  for (const part of document.querySelectorAll(".several")) part.hidden = names.length < 2;
  choose(served.chosen?.name ?? names[0]);
}
