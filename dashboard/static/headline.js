// SPDX-License-Identifier: MIT
// The few figures that sum a run up, and how far it is.

import { $, h, setAttr, setText } from "./dom.js";
import { count, NOTHING, plural, rate, ratio, seconds } from "./format.js";
import { jain, reasonOf } from "./picture.js";
import { state } from "./state.js";

const PHASES = {
  start: "starting",
  warmup: "warming up",
  measure: "measuring",
  drain: "draining",
  overhead: "measuring the overhead",
  done: "done",
};
const LOOK_BACK = 10; // ticks: the rate "now" is their mean
const NEVER = "never two threads inside at once";

function tile(name) {
  const value = h("dd", { class: "tile-value" });
  const note = h("dd", { class: "tile-note" });
  return { value, note, root: h("div", { class: "tile" }, h("dt", {}, name), value, note) };
}

const title = h("h2", { class: "run-title" });
const subtitle = h("p", { class: "run-sub" });
const tiles = {
  rate: tile("Total rate"),
  acquisitions: tile("Acquisitions"),
  fairness: tile("Fairness (Jain)"),
  overlap: tile("Overlap"),
  lost: tile("Frames lost"),
};
const bar = h("progress", { max: "1", value: "0", "aria-label": "Progress of the run" });
const phase = h("p", { class: "phase" });
const failure = h("p", { class: "failure", hidden: true });

$("headline").append(
  h(
    "div",
    { class: "run-head" },
    h("div", {}, title, subtitle),
    h("div", { class: "run-progress" }, phase, bar),
  ),
  failure,
  h(
    "dl",
    { class: "tiles" },
    Object.values(tiles).map((t) => t.root),
  ),
);

function show({ value, note, root }, text, detail = "", bad = false) {
  setText(value, text);
  setText(note, detail);
  root.classList.toggle("bad", bad);
}

/** Sum of the newest rates, averaged over a second or so; null between measured phases. */
function rateNow({ series }) {
  const rows = [];
  for (let i = series.t.length - 1; i >= 0 && rows.length < LOOK_BACK; i--) {
    if (series.y[0][i] === null) break;
    rows.push(series.y.reduce((sum, column) => sum + column[i], 0));
  }
  return rows.length ? rows.reduce((a, b) => a + b, 0) / rows.length : null;
}

/** `none` is what a count of 0 means. */
function overlapTile(overlap, expected, none) {
  if (overlap === 0) return ["0", none];
  const why = expected ? ", as expected of this lock" : ": the lock does not exclude";
  return [count(overlap), `two threads were inside at once${why}`, true];
}

/** The lock's descriptor says that it does not exclude. */
function isBroken(lock) {
  const entry = state.catalogue.locks.find((l) => l.id === lock);
  return Boolean(entry?.claims.includes("broken"));
}

function renderLive(picture) {
  const { hello, tick } = picture;
  setText(title, hello.lock);
  setText(
    subtitle,
    `${hello.workload}, ${plural(hello.threads, "thread")}, ` +
      `cpu ${cpuList(hello.cpus)}, run ${picture.id}`,
  );
  const total = tick ? tick.acquisitions.reduce((a, b) => a + b, 0) : 0;
  const measured = tick && tick.t_s > 0;
  const now = rateNow(picture);
  show(
    tiles.rate,
    now === null ? NOTHING : rate(now),
    measured ? `mean ${rate(total / tick.t_s)}` : "native, not yet measured",
  );
  show(
    tiles.acquisitions,
    tick ? count(total) : NOTHING,
    hello.repeat > 1 ? `of repetition ${(tick?.repeat ?? 0) + 1}` : "so far",
  );
  showFairness(measured ? tick.acquisitions : null);
  // Whether this workload checks at all, the result will say.
  show(tiles.overlap, ...overlapTile(tick?.overlap ?? 0, isBroken(hello.lock), "none seen so far"));
  show(
    tiles.lost,
    count(tick?.lost ?? 0),
    tick?.lost ? "this page was too slow" : "all frames arrived",
  );
  setText(phase, tick ? progress(hello, tick) : "waiting for the first figures");
  bar.value = tick ? Math.min(1, tick.elapsed_s / tick.expected_s) : 0;
  failure.hidden = true;
}

/** "measuring, repetition 2 of 3, 3.2 s of 6.0 s" */
function progress(hello, tick) {
  const { elapsed_s: elapsed, expected_s: expected } = tick;
  const repeat = hello.repeat > 1 ? `, repetition ${tick.repeat + 1} of ${hello.repeat}` : "";
  const time =
    elapsed <= expected
      ? `${seconds(elapsed)} of ${seconds(expected)}`
      : `${seconds(elapsed)}, ${seconds(expected)} expected`;
  return `${PHASES[tick.phase] ?? tick.phase}${repeat}, ${time}`;
}

function showFairness(acquisitions) {
  const index = acquisitions ? jain(acquisitions) : null;
  if (index === null) show(tiles.fairness, NOTHING, "1 is fair");
  else {
    const [least, most] = [Math.min(...acquisitions), Math.max(...acquisitions)];
    show(
      tiles.fairness,
      ratio(index),
      acquisitions.length < 2
        ? "one thread"
        : least > 0
          ? `most served / least ${ratio(most / least, 2)}`
          : "a thread got nothing",
    );
  }
}

function renderDocument(picture) {
  const doc = picture.document;
  const { config, total } = doc;
  setText(title, config.lock);
  setText(
    subtitle,
    `${config.workload}, ${plural(picture.threads, "thread")}, ` +
      `cpu ${cpuList(picture.cpus)}, ${picture.id === null ? picture.name : `run ${picture.id}`}`,
  );
  show(tiles.rate, rate(total.rate_per_s), `over ${seconds(total.seconds)}, ${doc.source}`);
  show(
    tiles.acquisitions,
    count(total.acquisitions),
    doc.repeats?.length > 1 ? `in ${doc.repeats.length} repetitions` : "in total",
  );
  showFairness(doc.threads.acquisitions);
  if (doc.overlap === null) show(tiles.overlap, "not checked", reasonOf(doc, "overlap") ?? "");
  else show(tiles.overlap, ...overlapTile(doc.overlap, isBroken(config.lock), NEVER));
  const lost = picture.tick?.lost;
  show(
    tiles.lost,
    lost === undefined ? NOTHING : count(lost),
    lost === undefined ? "not streamed" : lost ? "this page was too slow" : "all frames arrived",
  );
  setText(phase, doc.status === "complete" ? "complete" : `ended early: ${doc.status}`);
  bar.value = 1;
  const text = doc.failure?.text ?? (doc.status === "complete" ? "" : (picture.end?.text ?? ""));
  setText(failure, text);
  failure.hidden = !text;
}

/** [0, 1, 2, 3] -> "0-3" */
function cpuList(cpus) {
  const sorted = [...new Set(cpus)].sort((a, b) => a - b);
  const parts = [];
  for (const cpu of sorted) {
    const last = parts.at(-1);
    if (last && last[1] === cpu - 1) last[1] = cpu;
    else parts.push([cpu, cpu]);
  }
  return parts.map(([a, b]) => (a === b ? a : `${a}\u2013${b}`)).join(", ") || "?";
}

export function render() {
  const picture = state.shown;
  setAttr($("headline"), "hidden", picture.empty ? "" : null);
  if (picture.document) renderDocument(picture);
  else if (picture.hello) renderLive(picture);
  const lock = picture.document?.config.lock ?? picture.hello?.lock;
  document.title = lock ? `${lock} \u2013 locklab` : "locklab";
}
