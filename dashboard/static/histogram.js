// SPDX-License-Identifier: MIT
// A log-linear histogram of nanoseconds: bucket i holds the values in (upper[i-1], upper[i]].

export class Histogram {
  constructor(upper) {
    this.upper = upper;
    this.n = new Float64Array(upper.length);
    this.count = 0;
    this.max = 0;
    this.marks = null; // {p50, p90, p99, max} as the result document states them
  }

  /** Take over the cumulative non-zero buckets of a `hist` event. */
  update({ i, n, count, max }) {
    i.forEach((bucket, k) => (this.n[bucket] = n[k]));
    this.count = count;
    this.max = max;
  }

  copy() {
    const twin = new Histogram(this.upper);
    twin.n = this.n.slice();
    twin.count = this.count;
    twin.max = this.max;
    twin.marks = this.marks;
    return twin;
  }

  static fromDocument({ count, p50, p90, p99, max, buckets }) {
    const histogram = new Histogram(buckets.upper);
    histogram.n = Float64Array.from(buckets.count);
    histogram.count = count;
    histogram.max = max;
    histogram.marks = { p50, p90, p99, max };
    return histogram;
  }

  /** Largest value of the bucket in which the q-quantile lies, at most the maximum. */
  quantile(q) {
    const rank = Math.max(1, Math.ceil(q * this.count));
    let seen = 0;
    for (let i = 0; i < this.n.length; i++) {
      seen += this.n[i];
      if (seen >= rank) return Math.min(this.upper[i], this.max);
    }
    return this.max;
  }

  quantiles() {
    if (this.marks) return this.marks;
    return {
      p50: this.quantile(0.5),
      p90: this.quantile(0.9),
      p99: this.quantile(0.99),
      max: this.max,
    };
  }

  /**
   * Shares in bins of equal width on a log axis: `edge[k]` (log10 ns) is the lower edge of bin k,
   * the last edge closes the last bin and has share 0. A bucket counts where its middle lies.
   */
  bins(perOctave) {
    const step = Math.log10(2) / perOctave;
    const shares = new Map();
    for (let i = 0; i < this.n.length; i++) {
      if (this.n[i] === 0) continue;
      const upper = this.upper[i];
      // A bucket above 63 ns is up to 1/32 wide; 0 ns has no logarithm and goes below 1 ns.
      const middle = upper === 0 ? 0.5 : upper > 63 ? upper * (1 - 1 / 64) : upper;
      const bin = Math.floor(Math.log10(middle) / step + 1e-9);
      shares.set(bin, (shares.get(bin) ?? 0) + this.n[i]);
    }
    if (shares.size === 0) return { edge: [], share: [], count: [] };
    const first = Math.min(...shares.keys());
    const last = Math.max(...shares.keys());
    const edge = [],
      share = [],
      count = [];
    for (let bin = first; bin <= last + 1; bin++) {
      edge.push(bin * step);
      count.push(shares.get(bin) ?? 0);
      share.push((shares.get(bin) ?? 0) / this.count);
    }
    return { edge, share, count };
  }
}
