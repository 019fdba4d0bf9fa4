// Numbers as people read them.

const NUMBER = new Intl.NumberFormat("en");

export const number = (value) => NUMBER.format(value);

export const several = (n, what, more = `${what}s`) => `${number(n)} ${n === 1 ? what : more}`;

/** A probability: `93%`, with a decimal where that tells something. */
export function percent(share) {
  const value = share * 100;
  if (value > 0 && value < 0.05) return "<0.1%";
  const exact = value < 10 || (value > 99 && value < 100);
  return `${exact && value > 0 ? Math.min(value, 99.9).toFixed(1) : Math.round(value)}%`;
}

/** A weight with its sign, also where it is positive. */
export function signed(weight) {
  const value = Math.abs(weight);
  return `${weight < 0 ? "−" : "+"}${value < 0.01 ? value.toPrecision(1) : value.toFixed(2)}`;
}

export function size(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  return `${value < 10 && power ? value.toFixed(1) : Math.round(value)} ${units[power]}`;
}

export function time(text) {
  const when = new Date(text);
  if (Number.isNaN(when.getTime())) return text;
  return when.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** The beginning of a text, on one line. */
export function beginning(text, most = 160) {
  const letters = [...text.slice(0, 4 * most).replace(/\s+/g, " ").trim()];
  const whole = letters.length <= most && text.length <= 4 * most;
  return whole ? letters.join("") : `${letters.slice(0, most).join("").trimEnd()} …`;
}

/** Names in a row, the first ones of many. */
export function listed(names, most = 6) {
  // each between marks that keep letters of other directions to themselves
  const shown = names.slice(0, most).map((name) => `\u2068${beginning(name, 60)}\u2069`).join(", ");
  return names.length > most ? `${shown} and ${number(names.length - most)} more` : shown;
}
