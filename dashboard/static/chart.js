// SPDX-License-Identifier: MIT
// A figure: caption, tools, plot, read-out and the same data as a table. uPlot draws the plot; what
// it lacks (name, role, keyboard, table, only drawn when seen) is added here.

import { $, announce, h, setAttr, setText } from "./dom.js";
import { color, FONT, themeName } from "./palette.js";
import { changed, changedLater, state } from "./state.js";

export const hasUplot = () => typeof window.uPlot === "function";
const TABLE_MS = { shown: 1000, hidden: 5000 };

export class Chart {
  /** `keys` says in words what the arrow keys do; `onKey(key, event)` may take further keys. */
  constructor({ id, title, tools = [], keys }) {
    this.id = id;
    this.visible = false;
    this.cursorX = null; // x value under the keyboard's cursor
    this.uplot = null;
    this.key = null;
    this.drawn = null;
    this.tabled = null;
    this.tabledAt = -Infinity;
    this.caption = h("span", { class: "unit" });
    this.plot = h("div", {
      class: "plot",
      tabindex: "0",
      role: "application",
      "aria-label": `${title}: chart`,
      "aria-describedby": `${id}-keys`,
      onkeydown: (event) => this.onKeyDown(event),
      ondblclick: () => this.onReset?.(),
    });
    this.note = h("p", { class: "chart-note", hidden: true });
    this.readout = h("p", { class: "readout" });
    this.foot = h("div", { class: "chart-foot" });
    this.tableBox = h("div", { class: "table-box sr-only", id: `${id}-table` });
    this.toggle = h(
      "button",
      {
        type: "button",
        class: "small",
        "aria-controls": `${id}-table`,
        onclick: () => this.toggleTable(),
      },
      "Table",
      h("span", { class: "sr-only" }, ` of ${title}`),
    );
    this.root = h(
      "figure",
      { class: "panel chart", id, role: "figure", "aria-labelledby": `${id}-title` },
      h(
        "figcaption",
        {},
        h("h2", { id: `${id}-title` }, title),
        this.caption,
        h("div", { class: "tools" }, tools, this.toggle),
      ),
      this.note,
      this.plot,
      this.readout,
      this.foot,
      h("p", { class: "sr-only", id: `${id}-keys` }, keys),
      this.tableBox,
    );
    new IntersectionObserver(
      (entries) => {
        this.visible = entries.at(-1).isIntersecting;
        if (this.visible) changed();
      },
      { rootMargin: "80px" },
    ).observe(this.root);
    new ResizeObserver(() => this.resize()).observe(this.plot);
  }

  toggleTable() {
    const { tables } = state.view;
    if (!tables.delete(this.id)) tables.add(this.id);
    changed();
  }

  /** Nothing to draw: say why in the place of the plot. */
  showNote(text) {
    setText(this.note, text ?? "");
    this.note.hidden = !text;
    this.plot.hidden = Boolean(text) || !hasUplot();
    this.readout.hidden = this.plot.hidden;
  }

  /**
   * Draw `data` if the figure is on screen and `version` is new. `shape` names all that needs
   * another uPlot (series, axes); `options(width, height)` are uPlot's without the common part.
   */
  draw(version, shape, options, data) {
    const key = `${shape}|${themeName()}`;
    if (!hasUplot() || !this.visible || this.plot.hidden) return;
    if (this.drawn === version && this.key === key) return;
    this.drawn = version;
    if (this.key !== key) {
      this.uplot?.destroy();
      this.key = key;
      const { clientWidth: width, clientHeight: height } = this.plot;
      this.uplot = new window.uPlot(this.common(options(), width, height), data, this.plot);
    } else {
      this.uplot.setData(data);
    }
    if (this.cursorX !== null) this.placeCursor();
  }

  common(options, width, height) {
    const axis = {
      stroke: color("muted"),
      font: FONT,
      labelFont: FONT,
      labelSize: 18,
      grid: { stroke: color("grid"), width: 1 },
      ticks: { stroke: color("grid"), width: 1, size: 4 },
    };
    return {
      width,
      height,
      legend: { show: false },
      ...options,
      axes: options.axes.map((own) => ({ ...axis, ...own })),
      hooks: {
        ...options.hooks,
        setCursor: [(u) => this.onCursor?.(u.cursor.left >= 0 ? u.cursor.idx : null)],
      },
    };
  }

  resize() {
    if (!this.uplot) return;
    const { clientWidth: width, clientHeight: height } = this.plot;
    if (width > 0 && (width !== this.uplot.width || height !== this.uplot.height)) {
      this.uplot.setSize({ width, height });
      if (this.cursorX !== null) this.placeCursor();
    }
  }

  /** The table of the figure, made again now and then while data streams in. */
  showTable(version, build) {
    const shown = state.view.tables.has(this.id) || !hasUplot();
    this.tableBox.classList.toggle("sr-only", !shown);
    this.toggle.hidden = !hasUplot();
    setAttr(this.toggle, "aria-pressed", shown);
    const now = performance.now();
    if (this.tabled === version) return;
    const period = shown ? TABLE_MS.shown : TABLE_MS.hidden;
    if (state.shown.running && now - this.tabledAt < period) {
      changedLater(period);
      return;
    }
    this.tabled = version;
    this.tabledAt = now;
    this.tableBox.replaceChildren(build());
  }

  // --- keyboard -------------------------------------------------------------------------------

  onKeyDown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.uplot) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
    if (event.key in steps) this.step(steps[event.key] * (event.shiftKey ? 10 : 1));
    else if (event.key === "Home") this.step(-Infinity);
    else if (event.key === "End") this.step(Infinity);
    else if (event.key === "Escape") this.leave();
    else if (!this.onKey?.(event.key)) return;
    event.preventDefault();
  }

  /** Move the cursor by `by` points that are in view. */
  step(by) {
    const [xs] = this.uplot.data;
    const { min, max } = this.uplot.scales.x;
    const seen = [];
    xs.forEach((x, i) => {
      if (x >= min && x <= max && (this.isStop?.(i) ?? true)) seen.push(i);
    });
    if (seen.length === 0) return;
    let at = this.cursorX === null ? (by < 0 ? seen.length : -1) : nearest(seen, xs, this.cursorX);
    at = Math.min(seen.length - 1, Math.max(0, at + by));
    this.cursorX = xs[seen[at]];
    this.placeCursor();
    announce(this.readAt?.(seen[at]) ?? "");
  }

  placeCursor() {
    const u = this.uplot;
    u.setCursor({ left: u.valToPos(this.cursorX, "x"), top: this.cursorTop?.() ?? -1000 });
  }

  leave() {
    this.cursorX = null;
    this.uplot.setCursor({ left: -10, top: -10 });
  }
}

function nearest(indices, xs, x) {
  let best = 0;
  indices.forEach((i, k) => {
    if (Math.abs(xs[i] - x) < Math.abs(xs[indices[best]] - x)) best = k;
  });
  return best;
}

/** Say once, in words, that uPlot is missing and what brings it. */
export function explainMissingUplot() {
  const note = $("no-charts");
  note.hidden = hasUplot();
  if (hasUplot()) return;
  note.replaceChildren(
    "The charts are missing: this build was made without uPlot (",
    h("code", {}, "/uPlot.iife.min.js"),
    "). Run ",
    h("code", {}, "make build"),
    " with npm and a network, then start the server again. ",
    "Until then the tables below show the same data.",
  );
}
