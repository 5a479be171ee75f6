// SPDX-License-Identifier: MIT
// Rates over time, columnar: `t` in seconds and one column of 1/s (or null) a thread.

export const MAX_POINTS = 3600;
const SLACK = 256; // dropped in blocks: taking one point off the front of every column is slow

export class Series {
  constructor(threads) {
    this.t = [];
    this.y = Array.from({ length: threads }, () => []);
    this.dropped = 0;
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
    return twin;
  }

  /** What stands in a result document: `rate_per_s[i]` belongs to `t_s[i]`, one entry a thread. */
  static fromDocument(doc) {
    const { t_s: t, rate_per_s: rates } = doc.series;
    const series = new Series(doc.threads.acquisitions.length);
    const step = Math.ceil(t.length / MAX_POINTS);
    for (let i = 0; i < t.length; i += step) series.push(t[i], rates[i]);
    series.dropped = t.length - series.t.length;
    return series;
  }

  /** Columns folded over the threads: "total", or "spread" = lowest, median, highest. */
  folded(how) {
    const columns = how === "total" ? [[]] : [[], [], []];
    for (let i = 0; i < this.t.length; i++) {
      const row = this.y.map((column) => column[i]).filter((v) => v !== null);
      if (row.length === 0) columns.forEach((c) => c.push(null));
      else if (how === "total") columns[0].push(row.reduce((a, b) => a + b, 0));
      else {
        row.sort((a, b) => a - b);
        columns[0].push(row[0]);
        columns[1].push(row[Math.floor(row.length / 2)]);
        columns[2].push(row.at(-1));
      }
    }
    return columns;
  }
}
