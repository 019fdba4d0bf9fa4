// How a program asks this very server.

import { byId, el } from "./dom.js";
import { served } from "./served.js";

/** JSON on one line, with room to read. */
const spaced = (body) => JSON.stringify(body, null, 1)
  .replace(/\n\s*/g, " ").replace(/([[{]) | ([\]}])/g, "$1$2");

export function showCalls() {
  const address = (path) => new URL(path, document.baseURI).href.replace(/#.*$/, "");
  const header = "--header 'Content-Type: application/json'";
  const post = (path, body) =>
    [`curl ${address(path)}`, header, `--data '${spaced(body)}'`].join(" \\\n  ");
  const examples = [
    ["Tag a text", post("v1/tag", { text: "Solar panels on public buildings", k: 3 })],
    ["Tag several, each with what is likely enough",
      post("v1/tag", { texts: ["Solar panels", "Loans for farms"], threshold: "auto" })],
    served.models.length > 1 && ["Ask another model",
      post("v1/tag", { text: "Solar panels", model: served.models[1].name })],
    ["The words that spoke for a label",
      post("v1/explain", { text: "Solar panels", label: "ID OR NAME" })],
    ["Look up labels", `curl '${address("v1/labels")}?q=energy'`],
    served.models.some(({ feedback }) => feedback) &&
      ["Say what is right", post("v1/feedback", { text: "Solar panels", labels: ["ID OR NAME"] })],
    served.review && ["What is to be reviewed next", `curl '${address("v1/review")}?from=1'`],
    ["What is served", `curl ${address("v1/models")}`],
  ];
  byId("calls").replaceChildren(
    el("p", {}, "All that this page does, a program can do. ",
      "The whole description, for people and machines: ",
      el("a", { href: "openapi.json" }, "openapi.json"), ". ",
      el("a", { href: "docs" }, "Try each request in your browser"), "."),
    el("p", { class: "quiet" }, "Where the server wants a key, add ",
      el("code", {}, "--header 'Authorization: Bearer KEY'"), "."),
    ...examples.filter(Boolean).flatMap(([title, command]) => [
      el("h3", {}, title),
      el("pre", { tabindex: 0, role: "group", "aria-label": title }, el("code", {}, command)),
    ]));
}
