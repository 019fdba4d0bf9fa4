// Many documents, sent in batches that keep to the server's limits.

import { call, Refused } from "./api.js";
import { number } from "./wording.js";

const FIRST = 16; // documents in the first batch
const SECOND = 1000; // milliseconds; while a batch takes less, the next is twice as large
const ROOM = 2000; // bytes for what stands around the texts
const IN_VAIN = 20; // documents refused one by one, and none taken: it is not about them

const encoder = new TextEncoder();

/**
 * Tag documents, and tell what happens as it happens.
 *
 * Yields `{ document, labels }`, `{ document, refused }` with a reason, or `{ waiting }` seconds.
 * What concerns a single document ends nothing; a server that is away does, by an error.
 */
export async function* tagged(documents, { limits, signal, ...asked }) {
  const waiting = []; // batches that are to be sent again, the next one last
  let [next, size, taken, vain] = [0, FIRST, 0, 0];
  while (waiting.length || next < documents.length) {
    let batch = waiting.pop();
    if (!batch) {
      batch = [];
      for (let bytes = ROOM; next < documents.length && batch.length < size; next++) {
        const document = documents[next];
        const [reason, more] = tooLarge(document, limits);
        if (reason) yield { document, refused: reason };
        else if (bytes + more > limits.body && batch.length) break;
        else {
          batch.push(document);
          bytes += more;
        }
      }
      if (!batch.length) continue;
    }
    try {
      const begun = performance.now();
      const body = { ...asked, texts: batch.map(({ text }) => text) };
      const { results } = await call("v1/tag", { signal, body });
      for (const [i, document] of batch.entries()) yield { document, labels: results[i].labels };
      taken += batch.length;
      if (performance.now() - begun < SECOND) size = Math.min(2 * size, limits.texts);
    } catch (error) {
      if (error.status === 429) {
        yield { waiting: error.wait };
        await pause(error.wait, signal);
        waiting.push(batch);
        continue;
      }
      const { refused, rest } = sorted(batch, error);
      for (const each of refused) yield each;
      waiting.push(...rest);
      vain += refused.length;
      if (!taken && vain >= IN_VAIN) throw error;
    }
  }
}

/** Why a document cannot be sent at all, or '' and how many bytes it takes. */
export function tooLarge({ text, problem }, limits) {
  if (problem) return [problem, 0];
  let length = text.length;
  for (const letter of text) length -= letter.length - 1; // in code points, as the server counts
  if (length > limits.length) {
    return [`has ${number(length)} characters; this server takes ${number(limits.length)}`, 0];
  }
  const bytes = encoder.encode(JSON.stringify(text)).length + 1;
  if (bytes + ROOM > limits.body) {
    return [`has ${number(bytes)} bytes; this server takes ${number(limits.body)} at once`, 0];
  }
  return ["", bytes];
}

/** Who of a refused batch is to blame, and what is to be sent again. Other errors are thrown. */
function sorted(batch, error) {
  if (!(error instanceof Refused) || ![400, 408, 413, 422].includes(error.status)) throw error;
  const blamed = new Map();
  for (const { where, message } of error.errors) {
    const place = /texts[[.](\d+)/.exec(where);
    // else it is about the request, and would fail for every document
    if (!(place?.[1] < batch.length)) throw error;
    blamed.set(Number(place[1]), message);
  }
  if (!blamed.size && batch.length > 1) {
    const half = batch.length >> 1;
    return { refused: [], rest: [batch.slice(half), batch.slice(0, half)] };
  }
  if (!blamed.size) blamed.set(0, error.message);
  const rest = batch.filter((_, i) => !blamed.has(i));
  return {
    refused: [...blamed].map(([i, refused]) => ({ document: batch[i], refused })),
    rest: rest.length ? [rest] : [],
  };
}

function pause(seconds, signal) {
  return new Promise((done, stopped) => {
    const timer = setTimeout(done, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      stopped(signal.reason);
    }, { once: true });
  });
}
