// Asks for the API key when the service wants one.

import { byId } from "./dom.js";

let asking = null; // calls that wait for a key wait for the same one

/** Return the key that was typed, or null where the user would rather not. */
export function askForKey(complaint) {
  asking ??= new Promise((answer) => ask(complaint, answer)).finally(() => (asking = null));
  return asking;
}

function ask(complaint, answer) {
  const [dialog, form, field, why] = ["key-dialog", "key-form", "key", "key-why"].map(byId);
  let given = null;
  field.value = "";
  why.textContent = complaint ? `The key was not taken. The server says: ${complaint}`
    : "This server wants a key. Who runs it can tell you one.";
  form.onsubmit = (event) => {
    event.preventDefault();
    const key = field.value.trim();
    if (!/^[\x21-\x7e]+$/.test(key)) {
      why.textContent = "A key is one word of plain letters, digits and signs.";
      field.focus();
      return;
    }
    given = key;
    dialog.close();
  };
  byId("key-cancel").onclick = () => dialog.close();
  dialog.onclose = () => answer(given); // also by Escape
  dialog.showModal();
}
