// SPDX-License-Identifier: MIT
// Rates over time, columnar: `t` in seconds and one column of 1/s (or null) a thread.

export const MAX_POINTS = 3600;
const SLACK = 256; // dropped in blocks: taking one point off the front of every column is slow

export class Series {
  constructor(threads) {
    this.t = [];
    this.y = Array.from({ length: threads }, () => []);
    this.dropped = 0; // points let go at the front
    this.cache = null; // of folded()
    this.folds = 1; // intervals of the document that a point is the mean of
  }

  get threads() {
    return this.y.length;
  }

  /** One reading of all threads; `rates` null: nothing is known for this moment. */
  push(t, rates) {
    this.t.push(t);
    this.y.forEach((column, i) => column.push(rates ? rates[i] : null));
    if (this.t.length < MAX_POINTS) return;
    this.t.splice(0, SLACK);
    for (const column of this.y) column.splice(0, SLACK);
    this.dropped += SLACK;
  }

  /** Break the lines after the newest point. */
  gap() {
    const last = this.t.at(-1);
    if (last !== undefined && this.y[0].at(-1) !== null) this.push(last + 1e-6, null);
  }

  copy() {
    const twin = new Series(0);
    twin.t = this.t.slice();
    twin.y = this.y.map((column) => column.slice());
    twin.dropped = this.dropped;
    twin.folds = this.folds;
    return twin;
  }

  /** What stands in a result document: `rate_per_s[i]` belongs to `t_s[i]`, one entry a thread. */
  static fromDocument(doc) {
    const { t_s: t, rate_per_s: rates } = doc.series;
    const series = new Series(doc.threads.acquisitions.length);
    const ends = repeatEnds(doc);
    const step = Math.ceil(t.length / (MAX_POINTS - 1 - Math.min(ends.length, MAX_POINTS / 2)));
    for (let i = 0; i < t.length; i += step) {
      if (t[i] > ends[0]) {
        series.gap();
        ends.shift();
      }
      const last = Math.min(i + step, t.length) - 1;
      series.push(t[last], step === 1 ? rates[i] : means(rates.slice(i, last + 1)));
    }
    series.folds = step;
    return series;
  }

  /** All threads at point `i`: sum, or lowest, median, highest; nulls if nothing is known. */
  fold(i, how) {
    const row = this.y.map((column) => column[i]).filter((v) => v !== null);
    if (row.length === 0) return how === "total" ? [null] : [null, null, null];
    if (how === "total") return [row.reduce((a, b) => a + b, 0)];
    row.sort((a, b) => a - b);
    return [row[0], row[Math.floor(row.length / 2)], row.at(-1)];
  }

  /** Columns of fold(); only points that are new since the last call are worked out. */
  folded(how) {
    const { length } = this.t;
    const old = this.cache;
    if (old?.how !== how || old.dropped !== this.dropped || old.columns[0].length > length) {
      const columns = how === "total" ? [[]] : [[], [], []];
      this.cache = { how, dropped: this.dropped, columns };
    }
    const { columns } = this.cache;
    for (let i = columns[0].length; i < length; i++) {
      this.fold(i, how).forEach((value, k) => columns[k].push(value));
    }
    return columns;
  }
}

/** Means of the columns of `rows`; what is null counts for nothing. */
function means(rows) {
  return rows[0].map((_, j) => {
    const known = rows.map((row) => row[j]).filter((v) => v !== null);
    return known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  });
}

/** Where lines break: the end of each repetition but the last, and half an interval. */
function repeatEnds(doc) {
  const half = (doc.config.tick_s ?? 0) / 2;
  let sum = 0;
  return (doc.repeats ?? []).slice(0, -1).map((repeat) => (sum += repeat.seconds) + half);
}
