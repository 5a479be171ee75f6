// SPDX-License-Identifier: MIT
// Hand-offs from CPU (row) to CPU (column) as a heat map on a canvas.

import { announce, h, scroller, setAttr, setText, table } from "./dom.js";
import { count, percent } from "./format.js";
import { color, FONT, themeName } from "./palette.js";
import { changed, state } from "./state.js";

const MAX_COLUMNS = 16;
const canvas = h("canvas", {
  class: "matrix",
  tabindex: "0",
  role: "application",
  "aria-label": "Hand-off matrix: heat map",
  "aria-describedby": "matrix-keys",
  onkeydown: onKey,
  onpointermove: onPointer,
  onpointerleave: () => select(null),
});
const readout = h("p", { class: "readout" });
const tableBox = h("div", { class: "table-box sr-only", id: "matrix-table" });
const toggle = h(
  "button",
  {
    type: "button",
    class: "small",
    "aria-controls": "matrix-table",
    onclick: () => {
      const { tables } = state.view;
      if (!tables.delete("matrix")) tables.add("matrix");
      changed();
    },
  },
  "Table",
  h("span", { class: "sr-only" }, " of hand-off matrix"),
);
const unit = h("span", { class: "unit" });
export const root = h(
  "figure",
  { class: "panel chart", id: "matrix", role: "figure", "aria-labelledby": "matrix-title" },
  h(
    "figcaption",
    {},
    h("h2", { id: "matrix-title" }, "Hand-off matrix"),
    unit,
    h("div", { class: "tools" }, toggle),
  ),
  canvas,
  readout,
  h(
    "p",
    { class: "sr-only", id: "matrix-keys" },
    "The arrow keys move from cell to cell, escape leaves.",
  ),
  tableBox,
);

let matrix = null; // {cpus, count}
let cell = null; // [row, column]
let total = 0;
let drawn = null;
let frame = null; // where the cells are, in CSS pixels

new ResizeObserver(() => draw()).observe(canvas);

const sentence = ([row, column]) => {
  const n = matrix.count[row][column];
  const [from, to] = [matrix.cpus[row], matrix.cpus[column]];
  return `from cpu ${from} to cpu ${to}: ${count(n)}, ${percent(n / total)}`;
};

function select(next) {
  cell = next;
  setText(readout, cell ? sentence(cell) : `${count(total)} hand-offs`);
  draw();
}

function onKey(event) {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const n = matrix.cpus.length;
  if (event.key in moves) {
    const clamp = (v) => Math.min(n - 1, Math.max(0, v));
    select(cell ? cell.map((v, k) => clamp(v + moves[event.key][k])) : [0, 0]);
    announce(sentence(cell));
  } else if (event.key === "Escape") select(null);
  else return;
  event.preventDefault();
}

function onPointer(event) {
  if (!frame) return;
  const column = Math.floor((event.offsetX - frame.left) / frame.size);
  const row = Math.floor((event.offsetY - frame.top) / frame.size);
  const n = matrix.cpus.length;
  select(row >= 0 && row < n && column >= 0 && column < n ? [row, column] : null);
}

/** Colour of a share 0 to 1 of the fullest cell: three stops, lightness monotone. */
function ramp() {
  const stops = ["heat-0", "heat-1", "heat-2"].map((name) =>
    color(name)
      .match(/[\d.]+/g)
      .map(Number),
  );
  return (share) => {
    const at = Math.min(share, 1) * 2;
    const [a, b] = at < 1 ? [stops[0], stops[1]] : [stops[1], stops[2]];
    const f = at < 1 ? at : at - 1;
    return [0, 1, 2].map((k) => Math.round(a[k] + (b[k] - a[k]) * f));
  };
}

function draw() {
  if (!matrix || !canvas.clientWidth) return;
  const ratio = window.devicePixelRatio || 1;
  const n = matrix.cpus.length;
  const [left, top] = [44, 34];
  const size = Math.max(
    1,
    Math.min((canvas.clientWidth - left - 4) / n, (canvas.clientHeight - top - 4) / n, 72),
  );
  frame = { left, top, size };
  canvas.width = Math.round(canvas.clientWidth * ratio);
  canvas.height = Math.round(canvas.clientHeight * ratio);
  const ctx = canvas.getContext("2d");
  ctx.scale(ratio, ratio);
  const most = Math.max(1, ...matrix.count.flat());
  const shade = ramp();
  const image = new ImageData(n, n);
  matrix.count.forEach((row, i) =>
    row.forEach((value, j) => {
      image.data.set([...shade(value / most), 255], (i * n + j) * 4);
    }),
  );
  const cells = new OffscreenCanvas(n, n);
  cells.getContext("2d").putImageData(image, 0, 0);
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(cells, left, top, size * n, size * n);
  ctx.strokeStyle = color("grid-strong");
  ctx.strokeRect(left - 0.5, top - 0.5, size * n + 1, size * n + 1);
  drawText(ctx, n, most, frame);
  if (cell) {
    ctx.strokeStyle = color("text");
    ctx.lineWidth = 2;
    ctx.strokeRect(left + cell[1] * size + 1, top + cell[0] * size + 1, size - 2, size - 2);
  }
}

function drawText(ctx, n, most, { left, top, size }) {
  ctx.font = FONT;
  ctx.fillStyle = color("muted");
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillText("to cpu", left, 9);
  ctx.fillText("from", 4, top - 10);
  const every = Math.ceil(16 / size);
  matrix.cpus.forEach((cpu, k) => {
    if (k % every) return;
    ctx.textAlign = "center";
    ctx.fillText(String(cpu), left + (k + 0.5) * size, top - 10);
    ctx.textAlign = "right";
    ctx.fillText(String(cpu), left - 8, top + (k + 0.5) * size);
  });
  if (size < 44) return;
  ctx.textAlign = "center";
  matrix.count.forEach((row, i) =>
    row.forEach((value, j) => {
      ctx.fillStyle = color(value / most > 0.5 ? "heat-text-2" : "heat-text-0");
      ctx.fillText(percent(value / total), left + (j + 0.5) * size, top + (i + 0.5) * size);
    }),
  );
}

function makeTable() {
  const { cpus, count: counts } = matrix;
  const columns = [{ title: "From cpu" }];
  const shown = cpus.slice(0, MAX_COLUMNS);
  shown.forEach((cpu) => columns.push({ title: `to ${cpu}`, number: true }));
  const cut =
    cpus.length > MAX_COLUMNS ? `, the first ${MAX_COLUMNS} of ${cpus.length} columns` : "";
  return scroller(
    "Hand-off matrix as a table",
    table(
      `Hand-offs from cpu to cpu, counts${cut}`,
      columns,
      counts.map((row, i) => [String(cpus[i]), ...row.slice(0, MAX_COLUMNS).map((v) => count(v))]),
    ),
  );
}

export function render() {
  const picture = state.shown;
  const next = picture.document?.handoff_matrix ?? null;
  const usable =
    next !== null && next.cpus.length > 0 && next.count.some((row) => row.some((v) => v > 0));
  setAttr(root, "hidden", usable ? null : "");
  if (!usable) {
    matrix = null;
    return;
  }
  const isShown = state.view.tables.has("matrix");
  tableBox.classList.toggle("sr-only", !isShown);
  setAttr(toggle, "aria-pressed", isShown);
  const key = themeName();
  if (next === matrix && key === drawn) return;
  drawn = key;
  if (next !== matrix) {
    matrix = next;
    total = matrix.count.flat().reduce((a, b) => a + b, 0);
    setText(unit, `counts from cpu (row) to cpu (column), ${picture.source}`);
    tableBox.replaceChildren(makeTable());
    cell = null;
  }
  select(cell);
}
