// SPDX-License-Identifier: MIT
// The one state of the page. Whoever changes it calls `changed()`; main.js renders.

import { Picture } from "./picture.js";

export const state = {
  catalogue: { locks: [], workloads: [], problem: null },
  runs: { list: [], problem: null, loaded: false },
  form: { busy: false, errors: {}, problem: null },
  link: { phase: "idle", text: "not connected" },
  data: new Picture(), // what is received
  shown: null, // what is drawn: `data`, or a copy of it while paused
  paused: false,
  fileProblem: null,
  view: {
    run: null, // id of the run asked for
    follow: true, // open a newer run when one starts
    fold: "threads", // threads | total | spread
    last: 0, // seconds of the lines' window, 0: all
    range: null, // [from, to] zoomed by hand
    hidden: new Set(), // threads without a line
    logShare: false, // histograms: share on a log axis
    wholeTail: false, // histograms: up to the longest time, not to about p99.9
    bins: 8, // histograms: bins an octave
    tables: new Set(), // figures whose table is shown
    theme: "auto",
  },
};
state.shown = state.data;

const reduced = matchMedia("(prefers-reduced-motion: reduce)");
let render = () => {};
let timer = null;
let dueAt = Infinity;
let lastStart = 0;
let lastCost = 0;

export function onRender(fn) {
  render = fn;
}

/** Least time between two drawings of arriving data: 10 Hz, 1 Hz on request, a third of the CPU. */
const pace = () => Math.max(reduced.matches ? 1000 : 100, 3 * lastCost);

/** The state has changed; `urgent` (what a person did) is drawn in the next frame. */
export function changed(urgent = true) {
  const now = performance.now();
  const at = urgent ? now : Math.max(now, lastStart + pace());
  if (at >= dueAt) return;
  clearTimeout(timer);
  dueAt = at;
  timer = setTimeout(() => requestAnimationFrame(run), at - now);
}

let later = null;

/** Something was left undone for now: render again in `ms`. */
export function changedLater(ms) {
  later ??= setTimeout(() => {
    later = null;
    changed(false);
  }, ms);
}

function run() {
  dueAt = Infinity;
  lastStart = performance.now();
  render(state);
  // uPlot draws in a microtask of its own, queued before this one.
  queueMicrotask(() => (lastCost = performance.now() - lastStart));
}

/** Begin a new picture; the old one is let go. */
export function setPicture(picture) {
  state.data = picture;
  state.shown = picture;
  state.paused = false;
  state.view.range = null;
  state.view.hidden.clear();
  changed();
}

export function setPaused(paused) {
  state.paused = paused;
  state.shown = paused ? state.data.copy() : state.data;
  changed();
}
