// SPDX-License-Identifier: MIT
// The modules without elements: series, histograms, numbers as text.

import assert from "node:assert/strict";
import { test } from "node:test";

import { samples, UPPER } from "./fake_figures.mjs";
import { onPage, useBrowser } from "./support.mjs";

useBrowser();

test(
  "lines of a result break between repetitions",
  onPage(async ({ page }) => {
    const y = await page.evaluate(async () => {
      const { Series } = await import("/series.js");
      const t_s = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
      const doc = {
        config: { tick_s: 0.1 },
        threads: { acquisitions: [0] },
        repeats: [{ seconds: 0.2 }, { seconds: 0.2 }, { seconds: 0.2 }],
        series: { t_s, rate_per_s: [[1], [2], [3], [4], [5], [6]] },
      };
      return Series.fromDocument(doc).y[0];
    });
    assert.deepEqual(y, [1, 2, null, 3, 4, null, 5, 6]);
  }),
);

test(
  "a long result is drawn as means that keep its total",
  onPage(async ({ page }) => {
    const { points, folds, mean, first } = await page.evaluate(async () => {
      const { Series } = await import("/series.js");
      const n = 20000;
      const t_s = Array.from({ length: n }, (_, i) => (i + 1) / 10);
      const rate_per_s = Array.from({ length: n }, (_, i) => [i, null]);
      const doc = { config: {}, threads: { acquisitions: [0, 0] }, series: { t_s, rate_per_s } };
      const series = Series.fromDocument(doc);
      const [y, none] = series.y;
      if (none.some((v) => v !== null)) throw new Error("null became a number");
      const mean = y.reduce((a, b) => a + b, 0) / y.length;
      return { points: y.length, folds: series.folds, mean, first: y[0] };
    });
    assert.equal(folds, 6);
    assert.equal(points, Math.ceil(20000 / 6));
    assert.equal(first, 2.5);
    assert.ok(Math.abs(mean - 9999.5) < 5);
  }),
);

test(
  "totals and spreads over the threads follow the points, also after old ones are dropped",
  onPage(async ({ page }) => {
    await page.evaluate(async () => {
      const { Series } = await import("/series.js");
      const series = new Series(3);
      for (let k = 0; k < 4000; k++) {
        series.push(k, k % 7 === 6 ? null : [k, 3 * k, 2 * k]);
        if (k % 500 !== 0) continue;
        for (const [how, want] of [
          ["total", (v) => [6 * v]],
          ["spread", (v) => [v, 2 * v, 3 * v]],
        ]) {
          const columns = series.folded(how);
          series.t.forEach((t, i) => {
            const got = columns.map((column) => column[i]);
            const expected = t % 7 === 6 ? got.map(() => null) : want(t);
            if (String(got) !== String(expected)) throw new Error(`${how} at ${t}: ${got}`);
          });
        }
      }
    });
  }),
);

test(
  "bins of a histogram hold every value and percentiles are upper bounds of buckets",
  onPage(async ({ page }) => {
    const data = samples(100000, 900, 3);
    const found = await page.evaluate(
      async ([upper, values]) => {
        const { Histogram } = await import("/histogram.js");
        const histogram = new Histogram(upper);
        histogram.update(values);
        return [2, 4, 8].map((n) => {
          const { edge, share, count } = histogram.bins(n);
          const sum = (column) => column.reduce((a, b) => a + b, 0);
          return { ...histogram.quantiles(), share: sum(share), count: sum(count), steps: edge };
        });
      },
      [UPPER, data],
    );
    const at = (q) => {
      let seen = 0;
      const k = data.n.findIndex((n) => (seen += n) >= Math.ceil(q * data.count));
      return UPPER[data.i[k]];
    };
    for (const { p50, p90, p99, max, share, count, steps } of found) {
      assert.deepEqual([p50, p90, p99, max], [at(0.5), at(0.9), at(0.99), data.max]);
      assert.ok(Math.abs(share - 1) < 1e-9);
      assert.equal(count, data.count);
      assert.ok(steps.every((x, i) => i === 0 || x > steps[i - 1]));
    }
  }),
);

test(
  "numbers are written with three digits, SI prefixes and units",
  onPage(async ({ page }) => {
    const texts = await page.evaluate(async () => {
      const f = await import("/format.js");
      const plain = (text) => text.replaceAll("\u202f", " ");
      return [
        ...[0, 7, 999, 1000, 12345678, 999999, 0.5].map((v) => f.rate(v)),
        ...[0, 212, 999, 1240, 3.1e6, 2e9, 12.5].map((v) => f.duration(v)),
        ...[0, 0.00001, 0.0123, 1].map((v) => f.percent(v)),
        f.rate(null),
        f.duration(undefined),
        f.count(1234567),
        f.axisLabels([0, 250000, 500000]).join(),
        f.axisLabels([0, 0.5e6, 1e6, 1.5e6]).join(),
      ].map(plain);
    });
    assert.deepEqual(texts, [
      ...["0 /s", "7 /s", "999 /s", "1.00 k/s", "12.3 M/s", "1.00 M/s", "0.50 /s"],
      ...["0 ns", "212 ns", "999 ns", "1.24 µs", "3.10 ms", "2.00 s", "12.5 ns"],
      ...["0 %", "1.0e-3 %", "1.23 %", "100 %"],
      "\u2013",
      "\u2013",
      "1 234 567",
      "0,250 k,500 k",
      "0,0.5 M,1.0 M,1.5 M",
    ]);
  }),
);
