// What is said of the labels of a document so far: which belong to it and which do not.

/**
 * A judgement begins with the document as the queue has it, or as it was decided before. Each label
 * that was spoken of belongs to the document (`true`) or does not (`false`); all others stay as
 * they are.
 */
export class Judgement {
  constructor({ labels, suggestions, decision }) {
    this.suggestions = suggestions;
    const suggested = new Set(suggestions.map(({ label }) => label));
    this.given = labels.filter(({ label }) => !suggested.has(label));
    this.added = [];
    this.belongs = new Map();
    if (decision) this.#begin(decision);
    this.start = this.#state();
    this.steps = []; // the states before, for undo
  }

  #begin({ labels, rejected }) {
    for (const { label } of rejected) this.belongs.set(label, false);
    const kept = new Set(labels.map(({ label }) => label));
    for (const { label } of this.given) if (!kept.has(label)) this.belongs.set(label, false);
    const known = new Set([...this.suggestions, ...this.given].map(({ label }) => label));
    for (const each of labels) {
      this.belongs.set(each.label, true);
      if (!known.has(each.label)) this.added.push(each);
    }
  }

  /** All labels that the user sees: suggested ones first, then the document's, then added ones. */
  get rows() {
    return [
      ...this.suggestions,
      ...this.given.map((each) => ({ ...each, kind: "given" })),
      ...this.added.map((each) => ({ ...each, kind: "added" })),
    ];
  }

  /** Whether a label is among those that would be saved. */
  has({ label, kind }) {
    return this.belongs.get(label) ?? (kind === "wrong" || kind === "given");
  }

  /** What was said of a suggestion: `true` for yes, it is right; `undefined` for nothing yet. */
  answer({ label, kind }) {
    const belongs = this.belongs.get(label);
    return belongs === undefined ? undefined : belongs !== (kind === "wrong");
  }

  /** Say yes or no to a suggestion; `null` takes that back. Of other labels yes means it belongs. */
  say({ label, kind }, yes) {
    this.#change(() => {
      if (yes === null) this.belongs.delete(label);
      else this.belongs.set(label, yes !== (kind === "wrong"));
      if (kind === "added" && !yes) this.#forget(label);
    });
  }

  /** Add a label that was searched for; one that is on the page already is said to belong. */
  add(label) {
    this.#change(() => {
      this.belongs.set(label.label, true);
      if (!this.rows.some((row) => row.label === label.label)) this.added.push(label);
    });
  }

  undo() {
    const before = this.steps.pop();
    if (before === undefined) return false;
    const [belongs, added] = JSON.parse(before);
    this.belongs = new Map(belongs);
    this.added = added;
    return true;
  }

  #forget(label) {
    this.belongs.delete(label);
    this.added = this.added.filter((each) => each.label !== label);
  }

  #change(action) {
    const before = this.#state();
    action();
    if (before !== this.#state()) this.steps.push(before);
  }

  #state() {
    return JSON.stringify([[...this.belongs].sort(), this.added]);
  }

  get isChanged() {
    return this.#state() !== this.start;
  }

  get open() {
    return this.suggestions.filter((each) => this.answer(each) === undefined);
  }

  /** What feedback holds: all labels that are right, and those that are wrong. */
  outcome() {
    const { rows } = this;
    const labels = rows.filter((row) => this.has(row));
    const rejected = rows.filter(({ label }) => this.belongs.get(label) === false);
    return { labels, rejected };
  }
}
