// The page of the service. The address says which part is open; texts are never in it.

import { startBrowsing, visitLabels } from "./browsing.js";
import { showCalls } from "./calls.js";
import { showCards } from "./cards.js";
import { byId, el } from "./dom.js";
import { showProblem } from "./problems.js";
import { startReview, visitReview } from "./review.js";
import { loadModels, served } from "./served.js";
import { startTagging } from "./tagging.js";

const PARTS = ["review", "tag", "labels", "models", "api"];

/** The part that the address names; else the review, where there is something to review. */
function partToShow() {
  const name = location.hash.slice(1);
  const known = PARTS.includes(name) && (name !== "review" || served.review !== false);
  return known ? name : served.review ? "review" : "tag";
}

function show(moved) {
  const part = partToShow();
  for (const each of PARTS) {
    byId(`part-${each}`).hidden = each !== part;
    const link = document.querySelector(`nav a[href="#${each}"]`);
    if (each === part) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const title = byId(`title-${part}`);
  document.title = `${title.textContent} · labelgrove`;
  if (part === "labels") visitLabels();
  if (part === "review") visitReview();
  if (!moved) return;
  if (part === "models") loadModels().then(showCards, () => {}); // it may have been loaded anew
  if (part !== "review") title.focus({ preventScroll: true });
  scrollTo(0, 0);
}

async function load() {
  const trouble = byId("trouble");
  try {
    await loadModels();
    trouble.replaceChildren();
    byId("to-review").hidden = !served.review;
    showCards();
    showCalls();
    show(false);
  } catch (error) {
    showProblem(trouble, error);
    trouble.append(el("p", {}, el("button", { type: "button", onclick: load }, "Try again")));
  }
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address keeps saying which part is open
  byId("main").focus();
});
addEventListener("hashchange", () => show(true));
startTagging();
startBrowsing();
startReview();
show(false);
load();
