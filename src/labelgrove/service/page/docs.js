// Draws the description of the API with Swagger UI, as light or dark as the reader likes it.

const KEY = "labelgrove-key"; // as the page keeps it, see api.js
const dark = matchMedia("(prefers-color-scheme: dark)");

function follow() {
  document.documentElement.classList.toggle("dark-mode", dark.matches);
}

follow();
dark.addEventListener("change", follow);

const page = window.SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null, // nothing is asked of another host
  onComplete() {
    const key = sessionStorage.getItem(KEY);
    if (key !== null) page.preauthorizeApiKey("key", key);
  },
});
