// SPDX-License-Identifier: MIT
// Throughput over time: one line a thread, or folded over the threads.

import { Chart, hasUplot } from "./chart.js";
import { h, setAttr, setText, table } from "./dom.js";
import { axisLabels, rate, seconds, si } from "./format.js";
import { drawEndLabels } from "./labels.js";
import { Legend } from "./legend.js";
import { color, lineStyle } from "./palette.js";
import { changed, state } from "./state.js";

const SPREAD = ["lowest", "median", "highest"];
const FOLDS = { threads: "each thread", total: "total", spread: SPREAD.join(", ") };
const WINDOWS = { 0: "all", 10: "last 10 s", 30: "last 30 s", 60: "last 60 s", 300: "last 5 min" };
const MAX_COLUMNS = 16;
const TABLE_ROWS = 12;
const SMOOTH = 20; // points: order of the labels

function choice(label, key, values) {
  const select = h(
    "select",
    {
      "aria-label": label,
      onchange: () => {
        state.view[key] = typeof state.view[key] === "number" ? Number(select.value) : select.value;
        state.view.range = null;
        changed();
      },
    },
    Object.entries(values).map(([value, text]) => h("option", { value }, text)),
  );
  return select;
}

const fold = choice("Lines", "fold", FOLDS);
const span = choice("Time window", "last", WINDOWS);
const zoomIn = h("button", { type: "button", class: "small", onclick: () => zoom(0.5) }, "Zoom in");
const zoomOut = h("button", { type: "button", class: "small", onclick: () => zoom(2) }, "Zoom out");
const chart = new Chart({
  id: "throughput",
  title: "Throughput",
  tools: [fold, span, zoomIn, zoomOut],
  keys:
    "Left and right arrow move the cursor, with shift by 10 points. Up and down choose a line. " +
    "Plus and minus zoom, 0 shows all. Escape leaves the cursor.",
});
export const root = chart.root;
const legend = new Legend((i) => {
  const { hidden } = state.view;
  if (!hidden.delete(i)) hidden.add(i);
  changed();
});
chart.foot.append(legend.root);

let picture = null;
let lines = []; // {text, style, column, i}
let focused = null; // index into the visible lines, chosen by keyboard
let cursor = null; // index of the point under the cursor

function linesOf({ series, cpus }) {
  const how = state.view.fold;
  if (how === "threads") {
    return series.y.map((column, i) => ({
      i,
      column,
      text: `T${i}`,
      style: lineStyle(i),
      detail: `cpu ${cpus[i] ?? "?"}`,
    }));
  }
  const columns = series.folded(how);
  const texts = how === "total" ? ["total"] : SPREAD;
  return texts.map((text, i) => ({ i, column: columns[i], text, style: lineStyle(i), detail: "" }));
}

const isHidden = (line) => state.view.fold === "threads" && state.view.hidden.has(line.i);

function firstKnown({ t, y }) {
  const first = y[0].findIndex((v) => v !== null);
  return Math.max(0, (t[Math.max(0, first)] ?? 0) - 0.1);
}

function rangeOf() {
  const { series, tick, running } = picture;
  const { range, last } = state.view;
  if (range) return range;
  const end = series.t.at(-1) ?? 1;
  if (last > 0 && end > last) return [end - last, end];
  // A result begins at 0; a stream where this page joined it, or the measuring began.
  const from = picture.document ? 0 : firstKnown(series);
  return [from, running ? Math.max(end, tick?.expected_s ?? 0, from + 1) : end];
}

export function zoom(factor) {
  if (!picture?.series?.t.length) return;
  const [from, to] = rangeOf();
  const middle = chart.cursorX ?? (from + to) / 2;
  const limit = [picture.series.t[0], picture.series.t.at(-1)];
  const half = Math.max(0.2, ((to - from) * factor) / 2);
  const next = [Math.max(0, middle - half), Math.min(Math.max(limit[1], to), middle + half)];
  state.view.range = factor > 1 && next[0] <= limit[0] && next[1] >= limit[1] ? null : next;
  changed();
}

chart.onReset = () => {
  state.view.range = null;
  changed();
};

chart.onKey = (key) => {
  if (key === "+" || key === "=") zoom(0.5);
  else if (key === "-") zoom(2);
  else if (key === "0") chart.onReset();
  else if (key === "ArrowUp" || key === "ArrowDown") focusLine(key === "ArrowUp" ? -1 : 1);
  else return false;
  return true;
};

function focusLine(by) {
  const n = lines.filter((line) => !isHidden(line)).length;
  if (n === 0) return;
  focused = focused === null ? (by > 0 ? 0 : n - 1) : (focused + by + n) % n;
  chart.step(0);
}

/** The focus of uPlot goes to the line nearest to the cursor: put it on the chosen one. */
chart.cursorTop = () => {
  const line = lines.filter((l) => !isHidden(l))[focused];
  const value = line?.column[picture.series.t.indexOf(chart.cursorX)];
  return value === undefined || value === null ? -1000 : chart.uplot.valToPos(value, "y");
};

chart.isStop = (i) => lines.some((line) => line.column[i] !== null);

chart.readAt = (i) => {
  const shown = lines.filter((line) => !isHidden(line));
  const at = `${seconds(picture.series.t[i])}: `;
  if (focused !== null && shown[focused]) {
    return at + `${shown[focused].text} ${rate(shown[focused].column[i])}`;
  }
  const few = shown.slice(0, 8).map((line) => `${line.text} ${rate(line.column[i])}`);
  return at + few.join(", ") + (shown.length > 8 ? `, and ${shown.length - 8} more` : "");
};

chart.onCursor = (i) => {
  cursor = i;
  if (i === null) focused = null;
  renderLegend();
};

function renderLegend() {
  const { t } = picture.series;
  const at = cursor ?? newest(t.length);
  setText(
    chart.readout,
    cursor !== null && cursor < t.length ? `at ${t[cursor].toFixed(2)} s` : "",
  );
  legend.update(lines, at, state.view.fold === "threads" ? isHidden : null);
}

function newest(length) {
  for (let i = length - 1; i >= 0 && i > length - 20; i--) {
    if (lines.some((line) => line.column[i] !== null)) return i;
  }
  return length - 1;
}

// --- drawing ---------------------------------------------------------------------------------

function labelEntries() {
  const { t } = picture.series;
  const [from, to] = rangeOf();
  return lines
    .filter((line) => !isHidden(line))
    .flatMap((line) => {
      let last = t.length - 1;
      while (last >= 0 && (line.column[last] === null || t[last] > to)) last -= 1;
      if (last < 0 || t[last] < from) return [];
      const recent = line.column
        .slice(Math.max(0, last - SMOOTH), last + 1)
        .filter((v) => v !== null);
      const rank = recent.reduce((a, b) => a + b, 0) / recent.length;
      return [
        {
          i: line.i,
          text: line.text,
          name: line.style.name,
          x: t[last],
          y: line.column[last],
          rank,
        },
      ];
    });
}

function onSelect(u) {
  if (u.select.width < 8) return;
  const [from, to] = [u.select.left, u.select.left + u.select.width].map((px) =>
    u.posToVal(px, "x"),
  );
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  state.view.range = [Math.max(0, from), to];
  changed();
}

function options() {
  const shown = lines.filter((line) => !isHidden(line));
  const xTitle = picture.document ? "measured time, s" : "time since the start, s";
  return {
    padding: [10, state.view.fold === "threads" ? 40 : 62, 0, 0],
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      focus: { prox: 16 },
      points: { size: 6 },
    },
    focus: { alpha: 0.25 },
    scales: {
      x: { time: false, range: () => rangeOf() },
      y: { range: (u, min, max) => [0, max > 0 ? max * 1.06 : 1] },
    },
    axes: [
      { size: 24, label: xTitle, space: 60 },
      { size: 58, space: 34, values: (u, splits) => axisLabels(splits) },
    ],
    series: [
      {},
      ...shown.map((line) => ({
        label: line.text,
        stroke: color(line.style.name),
        width: 1.5,
        dash: line.style.dash.length ? line.style.dash : undefined,
        points: { show: (u) => u.data[0].length === 1, size: 6 }, // one point draws no line
      })),
    ],
    hooks: { draw: [(u) => drawEndLabels(u, labelEntries())], setSelect: [onSelect] },
  };
}

function tableOf() {
  const { series } = picture;
  const { t } = series;
  const live = [...t.keys()].filter((i) => lines.some((line) => line.column[i] !== null));
  const step = Math.max(1, Math.ceil(live.length / TABLE_ROWS));
  const picked = live.filter((_, k) => (live.length - 1 - k) % step === 0);
  const wide = lines.length > MAX_COLUMNS;
  const titles = wide ? SPREAD : lines.map((line) => line.text);
  const values = (i) => (wide ? series.fold(i, "spread") : lines.map((line) => line.column[i]));
  const note = wide ? ` (${lines.length} threads: ${SPREAD.join(", ")})` : "";
  return table(
    `Throughput in acquisitions per second, ${picked.length} of ${live.length} points${note}`,
    [{ title: "Time", unit: "s" }, ...titles.map((title) => ({ title, number: true }))],
    picked.map((i) => [t[i].toFixed(2), ...values(i).map((v) => si(v))]),
  );
}

export function render() {
  picture = state.shown;
  setAttr(root, "hidden", picture.empty ? "" : null);
  if (picture.empty) return;
  fold.value = state.view.fold;
  span.value = String(state.view.last);
  if (!picture.series || picture.series.t.length === 0) {
    chart.showNote(
      picture.running ? "Waiting for the first figures." : "This result has no series.",
    );
    if (!picture.series) return;
  } else chart.showNote(null);
  lines = linesOf(picture);
  if (cursor !== null && cursor >= picture.series.t.length) cursor = null;
  const { dropped, folds, t } = picture.series;
  const part = dropped ? `, the last ${t.length} points` : "";
  const mean = folds > 1 ? `, means of ${folds} intervals` : "";
  setText(chart.caption, `acquisitions per second, 1/s, ${picture.source}${part}${mean}`);
  const view = state.view;
  const version =
    `${picture.id}|${picture.name}|${picture.version}|${view.fold}|${view.last}|` +
    `${view.range}|${[...view.hidden]}|${state.paused}`; // paused: the arrays are copies
  const shape =
    `${picture.id}|${picture.name}|${Boolean(picture.document)}|${view.fold}|` +
    `${lines.length}|${[...view.hidden]}`;
  const shown = lines.filter((line) => !isHidden(line));
  chart.draw(version, shape, options, [picture.series.t, ...shown.map((line) => line.column)]);
  renderLegend();
  for (const button of [zoomIn, zoomOut, span]) button.hidden = !hasUplot();
  chart.showTable(version, tableOf);
}
