// Zip archives to write: parts of text, compressed by what the browser has.

const CRC = Uint32Array.from({ length: 256 }, (_, number) => {
  let left = number;
  for (let bit = 0; bit < 8; bit++) left = left & 1 ? 0xedb88320 ^ (left >>> 1) : left >>> 1;
  return left;
});
const [TWO, FOUR] = [2, 4]; // bytes of a number
const DEFLATED = 8;
const DAY = 0x21; // 1980-01-01: equal parts are equal archives
const VERSION = 20;
const UTF8 = 0x800;

/** Return an archive of `[name, pieces of text]` pairs, as pieces for a `Blob`. */
export async function archived(parts) {
  const [content, list] = [[], []];
  let [place, listed] = [0, 0];
  for (const [name, pieces] of parts) {
    const title = new TextEncoder().encode(name);
    const plain = new Uint8Array(await new Blob(pieces).arrayBuffer());
    const stream = new Blob([plain]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const packed = new Uint8Array(await new Response(stream).arrayBuffer());
    const about = [
      [TWO, VERSION], [TWO, UTF8], [TWO, DEFLATED], [TWO, 0], [TWO, DAY], [FOUR, checksum(plain)],
      [FOUR, packed.length], [FOUR, plain.length], [TWO, title.length], [TWO, 0],
    ];
    const entry = numbers([FOUR, 0x02014b50], [TWO, VERSION], ...about,
      [TWO, 0], [TWO, 0], [TWO, 0], [FOUR, 0], [FOUR, place]);
    const head = numbers([FOUR, 0x04034b50], ...about);
    content.push(head, title, packed);
    list.push(entry, title);
    place += head.length + title.length + packed.length;
    listed += entry.length + title.length;
  }
  const end = numbers([FOUR, 0x06054b50], [TWO, 0], [TWO, 0], [TWO, parts.length],
    [TWO, parts.length], [FOUR, listed], [FOUR, place], [TWO, 0]);
  return [...content, ...list, end];
}

function checksum(bytes) {
  let sum = -1;
  for (const byte of bytes) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}

function numbers(...values) {
  const bytes = new Uint8Array(values.reduce((size, [width]) => size + width, 0));
  const view = new DataView(bytes.buffer);
  let place = 0;
  for (const [width, value] of values) {
    if (width === TWO) view.setUint16(place, value, true);
    else view.setUint32(place, value, true);
    place += width;
  }
  return bytes;
}
