// SPDX-License-Identifier: MIT
// Made-up figures with a fixed seed, in the shape of real ones: they add up as a result must.

const FIRST = 64; // values below have a bucket each, then 32 buckets an octave
export const UPPER = Array.from({ length: 1216 }, (_, i) => {
  if (i < FIRST) return i;
  const octave = Math.floor((i - FIRST) / 32) + 6;
  return 2 ** octave + (((i - FIRST) % 32) + 1) * 2 ** (octave - 5) - 1;
});

export function random(seed) {
  let x = seed >>> 0;
  return () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return x / 2 ** 32;
  };
}

/** Counts by bucket: `n` values about `middle` ns, with a tail of preemptions. */
export function samples(n, middle, seed) {
  const next = random(seed);
  const counts = new Map();
  const normal = () => next() + next() + next() - 1.5;
  let max = 0;
  const draws = 4000;
  for (let k = 0; k < draws; k++) {
    const tail = next() < 0.004 ? 10 ** (1 + 2.5 * next()) : 1;
    const value = Math.round((middle * Math.exp(0.45 * normal()) * tail) / 10) * 10;
    const bucket = UPPER.findIndex((upper) => value <= upper);
    max = Math.max(max, value);
    counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  }
  const i = [...counts.keys()].sort((a, b) => a - b);
  const each = i.map((bucket) => Math.round((counts.get(bucket) * n) / draws));
  return { i, n: each, count: each.reduce((a, b) => a + b, 0), max };
}

function histogram({ i, n, count, max }) {
  const quantile = (q) => {
    let seen = 0;
    return UPPER[i[n.findIndex((c) => (seen += c) >= Math.ceil(q * count))]];
  };
  const sum = i.reduce((s, bucket, k) => s + UPPER[bucket] * n[k], 0);
  return {
    count,
    sum,
    mean: sum / count,
    p50: quantile(0.5),
    p90: quantile(0.9),
    p99: quantile(0.99),
    p999: quantile(0.999),
    max,
    buckets: { upper: i.map((bucket) => UPPER[bucket]), count: n },
  };
}

export function resultDocument(run, status) {
  const { config, totals, rates } = run;
  const seconds = Math.max(0.1, rates.length * 0.1);
  const total = totals.reduce((a, b) => a + b, 0);
  const cpu = totals.map((_, i) => i % 8);
  const cpus = [...new Set(cpu)];
  const wait = samples(total, 900, 7);
  const between = cpus.map((a) =>
    cpus.map((b) => (a === b ? 400 : 1500 + 90 * ((a * 7 + b * 3) % 9))),
  );
  return {
    schema: "locklab.run/1",
    status,
    engine: "native",
    source: "native",
    config: {
      ...config,
      engine: "native",
      place: config.place ?? "compact",
      seed: config.seed ?? 1,
      metrics: config.metrics ?? "full",
      params: { section_ns: 200, think_ns: 400, ...config.params },
    },
    environment: {
      identity: { cpu_model: "made up", kernel: "made up" },
      observed: { load_average: null },
    },
    total: { acquisitions: total, seconds, rate_per_s: total / seconds },
    threads: {
      acquisitions: totals,
      rate_per_s: totals.map((n) => n / seconds),
      cpu,
      wait_max_ns: totals.map((_, i) => 90000 + 7000 * i),
      cpu_ns: totals.map(() => seconds * 1e9),
      involuntary_switches: totals.map((_, i) => 3 + i),
      voluntary_switches: totals.map(() => 0),
    },
    fairness: { jain: 1, cov: 0, max_over_min: 1 },
    wait_ns: histogram(wait),
    hold_ns: histogram(samples(total, 230, 8)),
    handoff_ns: histogram(samples(total * 0.6, 180, 9)),
    wake_ns: null,
    reasons: { wake_ns: "waiters of this lock never sleep" },
    handoff_matrix: { cpus, count: between },
    overlap: run.overlap,
    fields: [
      {
        object: "lock",
        field: "tail",
        offset: 0,
        line: 0,
        site: null,
        reads: null,
        writes: null,
        misses: null,
        miss_cycles: null,
        source: "native",
        reason: "this host has no way to attribute misses",
      },
    ],
    events: { await_blocked: Math.round(total * 0.62), rmw_failed: 0, preempted_while_holding: 12 },
    perf: {
      "context-switches": {
        value: 51,
        per_acquisition: 51 / total,
        unit: "events",
        running_ratio: 1,
        source: "rusage",
      },
      cycles: {
        value: null,
        per_acquisition: null,
        unit: "events",
        running_ratio: null,
        source: "pmu",
        errno: "ENOENT",
        reason: "this machine offers no hardware counters (no PMU)",
      },
    },
    series: { t_s: rates.map((_, i) => (i + 1) * 0.1), rate_per_s: rates },
    repeats: [
      {
        index: 0,
        seconds,
        acquisitions: total,
        rate_per_s: total / seconds,
        regime_ns: [83.2, 84.1],
      },
    ],
  };
}

/** Play a run in real time. */
export function play(run) {
  const next = random(Number(run.id));
  const { threads, seconds, repeat, lock } = run.config;
  const skew = lock.startsWith("host/") ? 0.5 : 0.05;
  const base = Array.from({ length: threads }, () => (1 + skew * (next() - 0.5)) * (6e6 / threads));
  let drift = 1;
  const timer = setInterval(() => {
    drift = Math.min(1.3, Math.max(0.7, drift + 0.06 * (next() - 0.5)));
    if (lock === "spin/none") run.overlap += 12345;
    run.tick(base.map((r) => r * drift * (0.94 + 0.12 * next())));
    const total = run.totals.reduce((a, b) => a + b, 0);
    if (run.seq % 5 === 0) run.hist(samples(total, 900, run.seq), samples(total, 230, run.seq + 1));
    if (run.seq >= seconds * repeat * 10 || run.status !== "running") {
      clearInterval(timer);
      if (run.status === "running") run.finish();
    }
  }, 100);
}
