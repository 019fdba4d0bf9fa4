// Which encoding a file of texts has, as the command line finds it out.

import { Problem } from "./problems.js";

const MARKS = [
  ["utf-8", [0xef, 0xbb, 0xbf]], ["utf-16le", [0xff, 0xfe]], ["utf-16be", [0xfe, 0xff]],
];
const HEAD = 1 << 18; // bytes that are looked at for UTF-16 without a mark
const USUAL = "windows-1252"; // what spreadsheets write most often beside UTF-8
const ENOUGH = 10_000; // characters beyond ASCII that tell what is not UTF-8
const BAD = "\ufffd";

/** Encodings to choose from, each with what people call it. */
export const ENCODINGS = {
  "utf-8": "UTF-8", "windows-1252": "Windows-1252 (Western Europe)",
  "windows-1250": "Windows-1250 (Central Europe)", "windows-1251": "Windows-1251 (Cyrillic)",
  "windows-1253": "Windows-1253 (Greek)", "windows-1254": "Windows-1254 (Turkish)",
  "windows-1257": "Windows-1257 (Baltic)", "utf-16le": "UTF-16", "utf-16be": "UTF-16 BE",
  shift_jis: "Shift JIS", gb18030: "GB 18030", big5: "Big5", "euc-kr": "EUC-KR",
};

/**
 * Decode a file: `{ text, encoding, note, damaged }`.
 *
 * What is neither `wanted` nor UTF-8 is taken for the `likely` one. The note says what was guessed; a damaged text has `\ufffd` in place of bytes of another encoding.
 */
export async function decoded(file, wanted, likely) {
  const other = Object.hasOwn(ENCODINGS, likely ?? "") ? likely : USUAL;
  const bytes = new Uint8Array(await file.arrayBuffer());
  const encoding = wanted || marked(bytes) || wide(bytes) || "utf-8";
  const sure = strict(bytes, encoding);
  if (sure !== null) return { text: sure, encoding, note: "", damaged: false };
  if (wanted || encoding !== "utf-8") {
    const text = lenient(bytes, encoding);
    if (share(text) > 0.5) throw new Problem(`It is not ${ENCODINGS[encoding]}.`);
    return { text, encoding, note: "", damaged: true };
  }
  const text = lenient(bytes, encoding);
  if (share(text) <= 0.5) return { text, encoding, note: "", damaged: true };
  if (bytes.includes(0)) throw new Problem("It is no text file.");
  const note = `It is not UTF-8; read as ${ENCODINGS[other]}. Look whether ä, é and ž are right, `
    + "or choose another encoding.";
  return { text: lenient(bytes, other), encoding: other, note, damaged: false };
}

const marked = (bytes) =>
  MARKS.find(([, mark]) => mark.every((byte, i) => bytes[i] === byte))?.[0];

/** UTF-16 without a mark: every other byte of line ends and blanks is zero. */
function wide(bytes) {
  const head = bytes.subarray(0, HEAD);
  const zeros = [0, 0];
  head.forEach((byte, i) => { if (byte === 0) zeros[i % 2]++; });
  if (20 * (zeros[0] + zeros[1]) < head.length || !head.length) return null;
  const encoding = zeros[1] > zeros[0] ? "utf-16le" : "utf-16be";
  const text = lenient(head.subarray(0, head.length & ~1), encoding);
  return text.includes("\n") && !text.includes("\0") ? encoding : null;
}

function strict(bytes, encoding) {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) throw new Problem("It is too large for this browser.");
    return null;
  }
}

const lenient = (bytes, encoding) => new TextDecoder(encoding).decode(bytes);

/** How many of the first characters beyond ASCII could not be decoded, as a share. */
function share(text) {
  let [others, bad] = [0, 0];
  for (const [letter] of text.matchAll(/[^\0-\x7f]/gu)) {
    others++;
    if (letter === BAD) bad++;
    if (others === ENOUGH) break;
  }
  return bad / Math.max(others, 1);
}
