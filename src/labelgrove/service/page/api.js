// Calls of the service. Every failure is a `Refused` with a sentence that can be shown.

import { askForKey } from "./key.js";
import { Problem } from "./problems.js";

const KEY = "labelgrove-key";

/** An answer that is no success; `errors` says what is wrong where, `wait` when to come back. */
export class Refused extends Problem {
  constructor(status, detail, { errors = [], wait = 1 } = {}) {
    super(detail);
    Object.assign(this, { status, errors, wait });
  }
}

/** Ask the service: GET with a `query`, POST with a `body`. Asks for a key where one is wanted. */
export async function call(path, { query, body, signal } = {}) {
  for (;;) {
    const key = sessionStorage.getItem(KEY);
    const response = await send(path, { query, body, signal, key });
    if (response.ok) return answered(response);
    const refused = await reasonOf(response);
    if (refused.status !== 401) throw refused;
    if (sessionStorage.getItem(KEY) !== key) continue; // another call was given one meanwhile
    const given = await askForKey(key === null ? "" : refused.message);
    if (given === null) throw refused;
    sessionStorage.setItem(KEY, given);
  }
}

async function send(path, { query, body, signal, key }) {
  const address = new URL(path, document.baseURI);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== "" && value != null) address.searchParams.set(name, value);
  }
  const headers = key === null ? {} : { Authorization: `Bearer ${key}` };
  if (body) headers["Content-Type"] = "application/json";
  try {
    return await fetch(address, {
      method: body ? "POST" : "GET", headers, signal, body: body && JSON.stringify(body),
    });
  } catch (error) {
    throw readable(error);
  }
}

async function answered(response) {
  try {
    return await response.json();
  } catch (error) {
    throw readable(error);
  }
}

function readable(error) {
  if (error.name === "AbortError") return error;
  const where = location.host || "this address";
  return new Refused(0, `The server at ${where} does not answer. What you entered is still here: `
    + "try again when the server is back.");
}

async function reasonOf(response) {
  const problem = await response.json().catch(() => ({}));
  const detail = problem.detail || problem.title
    || `The server answered ${response.status} ${response.statusText}.`;
  const wait = Number(response.headers.get("Retry-After")) || 1;
  return new Refused(response.status, detail, { errors: problem.errors, wait });
}
