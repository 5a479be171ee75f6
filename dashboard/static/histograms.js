// SPDX-License-Identifier: MIT
// Distributions of wait, hold, hand-off and wake-up times on a log axis.

import { Chart, hasUplot } from "./chart.js";
import { h, setAttr, setText, table } from "./dom.js";
import { axisLabels, count, duration, logPercentLabel, percent, si } from "./format.js";
import { drawMarks } from "./labels.js";
import { color, tint } from "./palette.js";
import { changed, state } from "./state.js";

const KINDS = {
  wait: { title: "Wait", what: "call to return of acquire", name: "line-1" },
  hold: { title: "Hold", what: "return of acquire to call of release", name: "line-3" },
  handoff: {
    title: "Hand-off",
    what: "release to the next acquire by another thread",
    name: "line-4",
  },
  wake: { title: "Wake-up", what: "unpark to running again", name: "line-5" },
};
const MARKS = [
  ["p50", []],
  ["p90", [6, 3]],
  ["p99", [3, 3]],
  ["max", [1.5, 3]],
];
const TABLE_ROWS = 14;
const UNITS = ["ns", "µs", "ms", "s"];

/** 10^x ns, a round value, for an axis: "1 µs". */
function tick(x) {
  const third = Math.min(3, Math.max(0, Math.floor(x / 3 + 1e-9)));
  return `${Number((10 ** (x - 3 * third)).toPrecision(1))} ${UNITS[third]}`;
}

/** Edge 10^x of a bin as a time: whole nanoseconds above the first few. */
function bound(x) {
  const ns = 10 ** x;
  return duration(ns < 20 ? ns : Math.round(ns));
}

class Panel {
  constructor(kind) {
    this.kind = kind;
    Object.assign(this, KINDS[kind]);
    this.chart = new Chart({
      id: `hist-${kind}`,
      title: this.title,
      keys:
        "Left and right arrow move from bin to bin, home and end go to the first and the last. " +
        "Escape leaves the cursor.",
    });
    this.chart.readAt = (i) => this.sentence(i);
    this.chart.isStop = (i) => this.bins.count[i] > 0;
    this.chart.onCursor = (i) => {
      this.at = i;
      this.renderReadout();
    };
    this.at = null;
    this.bins = null;
  }

  sentence(i) {
    const { edge, share, count: n } = this.bins;
    if (i === null || edge[i + 1] === undefined) return "";
    return `${bound(edge[i])} to ${bound(edge[i + 1])}: ${percent(share[i])}, ${count(n[i])}`;
  }

  renderReadout() {
    setText(this.chart.readout, this.sentence(this.at));
  }

  options() {
    const log = state.view.logShare;
    return {
      padding: [40, 14, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: () => this.range() },
        y: log
          ? { distr: 3, range: () => [this.floor(), 1] }
          : { range: (u, min, max) => [0, max > 0 ? max * 1.05 : 1] },
      },
      axes: [
        { size: 26, splits: () => this.decades(), values: (u, xs) => xs.map(tick) },
        log
          ? {
              size: 52,
              splits: () => this.shareDecades(),
              filter: (u, ys) => ys,
              values: (u, ys) => ys.map(logPercentLabel),
            }
          : {
              size: 52,
              space: 30,
              values: (u, ys) =>
                axisLabels(
                  ys.map((y) => y * 100),
                  "%",
                ),
            },
      ],
      series: [
        {},
        {
          stroke: color(this.name),
          fill: tint(this.name, 0.22),
          width: 1.25,
          paths: window.uPlot.paths.stepped({ align: 1 }),
          fillTo: log ? (u) => u.scales.y.min : 0,
          points: { show: false },
        },
      ],
      hooks: { draw: [(u) => drawMarks(u, this.markLines())] },
    };
  }

  /** Lower end of the logarithmic axis: a decade below or at the smallest share. */
  floor() {
    const least = Math.min(...this.bins.share.filter((s) => s > 0));
    return 10 ** (Math.ceil(Math.log10(least) - 1e-9) - 1);
  }

  shareDecades() {
    const from = Math.round(Math.log10(this.floor()));
    const step = Math.max(1, Math.ceil(-from / 6));
    const splits = [];
    for (let x = 0; x >= from; x -= step) splits.unshift(10 ** x);
    return splits;
  }

  /** What is drawn: nothing has no logarithm, so an empty bin stands on the axis. */
  columns() {
    const { edge, share } = this.bins;
    if (!state.view.logShare) return [edge, share];
    const floor = this.floor();
    return [edge, share.map((s) => Math.max(s, floor))];
  }

  markLines() {
    const marks = this.histogram.quantiles();
    return MARKS.filter(([key]) => marks[key] > 0).map(([key, dash]) => ({
      x: Math.log10(marks[key]),
      text: `${key} ${duration(marks[key])}`,
      name: "text",
      dash,
    }));
  }

  /** Ends in steps of a fifth of a decade, so that the axis does not tremble as figures come in. */
  range() {
    const { edge } = this.bins;
    const { max } = this.histogram;
    const far = state.view.wholeTail ? max : Math.min(max, 2 * this.histogram.quantile(0.999));
    const end = Math.ceil(5 * Math.log10(Math.max(far, 1)) + 0.05) / 5;
    return [Math.floor(5 * Math.min(edge[0], end - 0.2)) / 5, end];
  }

  decades() {
    const [from, to] = this.range();
    const steps = to - from < 2.5 ? [1, 2, 5] : [1];
    const splits = [];
    for (let x = Math.floor(from); x <= to; x++) {
      splits.push(...steps.map((s) => x + Math.log10(s)).filter((s) => s >= from && s <= to));
    }
    return splits;
  }

  table() {
    const { edge, count: n, share } = this.bins;
    const filled = [...n.keys()].filter((i) => n[i] > 0);
    const step = Math.max(1, Math.ceil(filled.length / TABLE_ROWS));
    const rows = [];
    for (let k = 0; k < filled.length; k += step) {
      const group = filled.slice(k, k + step);
      const sum = (column) => group.reduce((s, i) => s + column[i], 0);
      rows.push([
        `${bound(edge[group[0]])} to ${bound(edge[group.at(-1) + 1])}`,
        count(sum(n)),
        percent(sum(share)),
      ]);
    }
    const marks = this.histogram.quantiles();
    return [
      table(
        `${this.title} times: ${this.what}`,
        [{ title: "Time" }, { title: "Count", number: true }, { title: "Share", number: true }],
        rows,
      ),
      table(
        `${this.title}: percentiles`,
        [{ title: "Percentile" }, { title: "Time", number: true }],
        MARKS.map(([key]) => [key, duration(marks[key])]),
      ),
    ];
  }

  render() {
    const picture = state.shown;
    const histogram = picture.histograms[this.kind];
    // Hand-off and wake-up come with the document alone; why one is missing stands in its table.
    const optional = this.kind === "handoff" || this.kind === "wake";
    setAttr(this.chart.root, "hidden", picture.empty || (optional && !histogram) ? "" : null);
    if (picture.empty) return;
    const has = Boolean(histogram) && histogram.count > 0;
    setText(
      this.chart.caption,
      has
        ? `${this.what}, ns, ${si(histogram.count)} values, ${picture.source}`
        : `${this.what}, ns`,
    );
    if (!has) {
      this.chart.showNote(this.absence(picture));
      this.chart.tableBox.replaceChildren();
      this.chart.toggle.hidden = true;
      return;
    }
    this.chart.showNote(null);
    this.histogram = histogram;
    const { bins, logShare, wholeTail } = state.view;
    const view = `${bins}|${logShare}|${wholeTail}`;
    const version = `${picture.id}|${picture.name}|${picture.version}|${view}`;
    if (this.version !== version) {
      this.version = version;
      this.bins = histogram.bins(bins);
      if (this.at !== null && this.at >= this.bins.edge.length) this.at = null;
    }
    this.chart.draw(version, `${logShare}`, () => this.options(), this.columns());
    this.renderReadout();
    this.chart.showTable(version, () => h("div", { class: "tables" }, this.table()));
  }

  absence(picture) {
    if (picture.document)
      return `Not measured: ${picture.reasons[this.kind] ?? "no reason is given."}`;
    return "No value yet. A run with metrics \u201cevents\u201d records none.";
  }
}

const panels = Object.keys(KINDS).map((kind) => new Panel(kind));
export const roots = panels.map((panel) => panel.chart.root);

// --- settings of all histograms --------------------------------------------------------------

function check(label, key) {
  const input = h("input", {
    type: "checkbox",
    onchange: () => {
      state.view[key] = input.checked;
      changed();
    },
  });
  return { input, root: h("label", { class: "check small" }, input, label) };
}

const logShare = check("log share", "logShare");
const wholeTail = check("whole tail", "wholeTail");
const fine = h(
  "select",
  {
    "aria-label": "Bins an octave",
    onchange: () => {
      state.view.bins = Number(fine.value);
      changed();
    },
  },
  [2, 4, 8].map((n) => h("option", { value: n }, `${n} bins an octave`)),
);
export const bar = h(
  "div",
  { class: "figures-bar" },
  h("p", {}, h("strong", {}, "Times"), " of each acquisition, on a log axis"),
  h("div", { class: "tools" }, logShare.root, wholeTail.root, fine),
);

export function render() {
  const { view, shown } = state;
  setAttr(bar, "hidden", shown.empty ? "" : null);
  logShare.input.checked = view.logShare;
  wholeTail.input.checked = view.wholeTail;
  for (const { root } of [logShare, wholeTail]) root.hidden = !hasUplot();
  fine.value = String(view.bins);
  for (const panel of panels) panel.render();
}
