// Where words are in a text. The service counts code points, JavaScript UTF-16 units.

const FAINTEST = 0.05; // share of the heaviest word's weight from which on a word is marked
const MOST_MARKS = 4000; // a page of more is slow; the faintest words go without

/**
 * Return the text in pieces `{ text, share }`: share is from -1 to 1, 0 where no word spoke.
 *
 * `found` is what the service says, heaviest first: `{ weight, places: [[start, end], ...] }`.
 * Where words overlap, the heaviest is on top.
 */
export function pieces(text, found) {
  const unit = units(text);
  const most = Math.abs(found[0]?.weight ?? 0) || 1;
  const shares = new Float32Array(text.length);
  for (const { weight, places } of loudEnough(found, most).reverse()) {
    for (const [start, end] of places) shares.fill(weight / most, unit(start), unit(end));
  }
  const cut = [];
  for (let start = 0, end = 1; end <= text.length; end++) {
    if (end < text.length && shares[end] === shares[start]) continue;
    cut.push({ text: text.slice(start, end), share: shares[start] });
    start = end;
  }
  return cut;
}

function loudEnough(found, most) {
  let marks = 0;
  return found.filter(({ weight, places }) => {
    marks += places.length;
    return Math.abs(weight) >= FAINTEST * most && marks <= MOST_MARKS;
  });
}

/** Return a function from the number of a code point to where it begins in the string. */
export function units(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (point) => point;
  const begins = new Uint32Array(text.length + 1);
  let points = 0;
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) {
    begins[points++] = at;
  }
  begins.fill(text.length, points);
  return (point) => begins[Math.min(point, text.length)];
}
