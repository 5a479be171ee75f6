// SPDX-License-Identifier: MIT
// Colours come from theme.css; a canvas needs them as literals of the theme in force.

const dark = matchMedia("(prefers-color-scheme: dark)");
const forced = matchMedia("(forced-colors: active)");
const probe = document.createElement("span");
probe.hidden = true;
probe.style.forcedColorAdjust = "none"; // theme.css says which colours a forced theme has here
let cache = new Map();
let cachedFor = null;

/** Name of the theme in force; a chart drawn under another must be drawn again. */
export function themeName() {
  const chosen = document.documentElement.dataset.theme;
  return (chosen ?? (dark.matches ? "dark" : "light")) + (forced.matches ? "-forced" : "");
}

export function onThemeChange(fn) {
  dark.addEventListener("change", fn);
  forced.addEventListener("change", fn);
}

/** The custom property `--name` of theme.css as a colour that a canvas understands. */
export function color(name) {
  if (cachedFor !== themeName()) {
    cache = new Map();
    cachedFor = themeName();
  }
  if (!cache.has(name)) {
    if (!probe.isConnected) document.body.append(probe);
    probe.style.color = `var(--${name})`;
    cache.set(name, getComputedStyle(probe).color);
  }
  return cache.get(name);
}

/** `color(name)` with an opacity. */
export function tint(name, alpha) {
  const [r, g, b] = color(name).match(/[\d.]+/g);
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

const COLORS = 8;
// 5 and 8 have no common divisor: 40 threads differ in the pair of colour and dash.
const DASHES = [[], [9, 3], [2, 2.5], [9, 3, 2, 3], [16, 4]];

/** How the line of thread `i` looks: `name` for color(), `dash` in CSS pixels. */
export const lineStyle = (i) => ({
  name: `line-${(i % COLORS) + 1}`,
  dash: DASHES[i % DASHES.length],
});

export const FONT =
  '11px Inter, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", ' +
  '"DejaVu Sans Condensed", "DejaVu Sans", sans-serif';
