// SPDX-License-Identifier: MIT
// Text drawn into a uPlot canvas: names at the ends of lines, marks across a histogram.

import { color, FONT } from "./palette.js";

const LINE_PX = 13; // CSS pixels a label takes

function canvasFont(ratio) {
  return FONT.replace("11px", `${11 * ratio}px`);
}

/**
 * Name each line at its last point. `entries` are {text, name, x, y, rank}: values of the last
 * point, and the value that orders the labels (smoothed, so that they do not jump about).
 * Labels move apart when they would overlap; when there is no room for all, some are left out.
 */
export function drawEndLabels(u, entries) {
  const { ctx } = u;
  const ratio = window.devicePixelRatio || 1;
  const size = LINE_PX * ratio;
  const top = u.bbox.top + size / 2;
  const bottom = u.bbox.top + u.bbox.height - size / 2;
  const room = Math.max(1, Math.floor((bottom - top) / size) + 1);
  let placed = entries
    .map((e) => ({
      ...e,
      px: u.valToPos(e.x, "x", true),
      want: u.valToPos(e.y, "y", true),
      order: Math.round(u.valToPos(e.rank, "y", true) / (size * 2)),
    }))
    .filter((e) => e.px >= u.bbox.left - 1 && e.px <= u.bbox.left + u.bbox.width + 1)
    .sort((a, b) => a.order - b.order || a.i - b.i);
  if (placed.length <= room) spread(placed, size, top, bottom);
  else placed = thinned(placed, size);
  ctx.save();
  ctx.font = canvasFont(ratio);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const e of placed) {
    const x = e.px + 8 * ratio;
    ctx.strokeStyle = color(e.name);
    ctx.lineWidth = ratio;
    ctx.beginPath();
    ctx.moveTo(e.px + 1 * ratio, e.want);
    ctx.lineTo(x - 1 * ratio, e.at);
    ctx.stroke();
    ctx.fillStyle = color(e.name);
    ctx.fillText(e.text, x, e.at);
  }
  ctx.restore();
}

/** No room for all: those that can stand at their line without touching another. */
function thinned(labels, size) {
  let end = -Infinity;
  return labels
    .sort((a, b) => a.want - b.want)
    .filter((label) => {
      if (label.want < end + size) return false;
      end = label.want;
      label.at = label.want;
      return true;
    });
}

/** Give each label a place `at`, in order, `size` apart, near to where it wants to be. */
function spread(labels, size, top, bottom) {
  const groups = [];
  for (const label of labels) {
    groups.push({ labels: [label], mean: label.want });
    for (let g = groups.length - 1; g > 0; g--) {
      const [above, below] = [groups[g - 1], groups[g]];
      const reach = ((above.labels.length + below.labels.length) * size) / 2;
      if (below.mean - above.mean >= reach) break;
      const n = above.labels.length + below.labels.length;
      above.mean = (above.mean * above.labels.length + below.mean * below.labels.length) / n;
      above.labels.push(...below.labels);
      groups.pop();
    }
  }
  for (const { labels: members, mean } of groups) {
    const half = ((members.length - 1) * size) / 2;
    const middle = Math.min(Math.max(mean, top + half), Math.max(top + half, bottom - half));
    members.forEach((label, k) => (label.at = middle - half + k * size));
  }
}

/** Vertical marks with their texts above the plot, in as many rows as they need (at most three). */
export function drawMarks(u, marks) {
  const { ctx } = u;
  const ratio = window.devicePixelRatio || 1;
  const size = LINE_PX * ratio;
  const ends = [-Infinity, -Infinity, -Infinity];
  ctx.save();
  ctx.font = canvasFont(ratio);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const { x, text, name, dash } of marks) {
    const right = u.bbox.left + u.bbox.width;
    const isBeyond = x > u.scales.x.max;
    const px = isBeyond ? right : Math.round(u.valToPos(x, "x", true)) + 0.5;
    const label = isBeyond ? `${text} \u2192` : text;
    const width = ctx.measureText(label).width;
    // A text that would leave the canvas stands on the left of its mark.
    const flip = px + width + 4 * ratio > right + 8 * ratio;
    const left = flip ? px - width - 4 * ratio : px + 4 * ratio;
    let row = ends.findIndex((end) => end < left - 4 * ratio);
    if (row < 0) row = ends.indexOf(Math.min(...ends));
    ends[row] = left + width;
    const y = u.bbox.top - size * (ends.length - row - 0.5);
    ctx.strokeStyle = color(name);
    ctx.lineWidth = ratio;
    ctx.setLineDash(dash.map((d) => d * ratio));
    ctx.beginPath();
    ctx.moveTo(px, y - size / 2 + 2 * ratio);
    ctx.lineTo(px, u.bbox.top + u.bbox.height);
    if (!isBeyond) ctx.stroke();
    ctx.fillStyle = color(name);
    ctx.fillText(label, left, y);
  }
  ctx.restore();
}
