// SPDX-License-Identifier: MIT
// Below the figures: the table of threads while a run goes on, then all of its result document.

import { h, setAttr } from "./dom.js";
import { count, duration, NOTHING, percent, rate } from "./format.js";
import { changedLater, state } from "./state.js";
import { documentPanels, panel, settings } from "./tables.js";

const TABLE_MS = 1000;
const THREAD_COLUMNS = [
  ["wait_max_ns", "#Longest wait", duration],
  ["cpu_ns", "#CPU time", duration],
  ["involuntary_switches", "#Preempted", count],
  ["voluntary_switches", "#Slept", count],
];

const threadsBox = h("div", {});
const documentBox = h("div", { class: "tables-grid" });
const settingsBox = h("div", { class: "result" });
export const roots = [threadsBox, documentBox, settingsBox];
let drawn = null;
let drawnAt = 0;

function threads(picture) {
  const { acquisitions, rate_per_s: rates } = picture.columns;
  const doc = picture.document;
  const total = acquisitions.reduce((a, b) => a + b, 0);
  const more = THREAD_COLUMNS.filter(([key]) => doc?.threads[key]);
  const row = (n, i) => [
    `T${i}`,
    String(picture.cpus[i] ?? NOTHING),
    count(n),
    total ? percent(n / total) : NOTHING,
    rate(rates[i]),
    ...more.map(([key, , format]) => format(doc.threads[key][i])),
  ];
  return panel(
    "Threads",
    `${doc ? "whole run" : "the repetition so far"}, ${picture.source}`,
    ["Thread", "#CPU", "#Acquisitions", "#Share", "#Rate", ...more.map(([, title]) => title)],
    acquisitions.map(row),
  );
}

/** Put a new table in the place of the old one, without losing the reader's place in it. */
function replaceThreads(picture) {
  const old = threadsBox.querySelector(".scroll");
  const top = old?.scrollTop ?? 0;
  const hadFocus = old !== null && old === document.activeElement;
  threadsBox.replaceChildren(threads(picture));
  const scroll = threadsBox.querySelector(".scroll");
  scroll.scrollTop = top;
  if (hadFocus) scroll.focus({ preventScroll: true });
}

export function render() {
  const picture = state.shown;
  const ready = !picture.empty && picture.columns !== null;
  const doc = picture.document;
  setAttr(threadsBox, "hidden", ready ? null : "");
  for (const box of [documentBox, settingsBox]) setAttr(box, "hidden", doc ? null : "");
  const run = `${picture.id}|${picture.name}`;
  const version = `${run}|${picture.version}`;
  const now = performance.now();
  if (!ready || drawn === version) return;
  if (picture.running && now - drawnAt < TABLE_MS && drawn?.startsWith(run)) {
    changedLater(TABLE_MS);
    return;
  }
  drawn = version;
  drawnAt = now;
  replaceThreads(picture);
  if (!doc) return;
  documentBox.replaceChildren(...documentPanels(doc, picture));
  const parts = [settings("Configuration", doc.config), settings("Environment", doc.environment)];
  settingsBox.replaceChildren(...parts.filter(Boolean));
}
