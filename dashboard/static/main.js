// SPDX-License-Identifier: MIT
// Start of the page: wires the parts together and renders the one state.

import { readAddress, writeAddress } from "./address.js";
import { getLocks, getWorkloads, stopRun } from "./api.js";
import { explainMissingUplot } from "./chart.js";
import { $, announce, h, setAttr, setText } from "./dom.js";
import * as files from "./files.js";
import * as form from "./form.js";
import * as headline from "./headline.js";
import * as histograms from "./histograms.js";
import * as lines from "./lines.js";
import * as matrix from "./matrix.js";
import { onThemeChange } from "./palette.js";
import * as result from "./result.js";
import * as runs from "./runs.js";
import { changed, onRender, setPaused, state } from "./state.js";
import { openRun } from "./stream.js";

const THEMES = ["auto", "light", "dark"];
const NARROW = 900; // CSS pixels; layout.css has the same border

// --- header ----------------------------------------------------------------------------------

state.view.theme = document.documentElement.dataset.theme ?? "auto";

$("theme").addEventListener("click", () => {
  const { view } = state;
  view.theme = THEMES[(THEMES.indexOf(view.theme) + 1) % THEMES.length];
  if (view.theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = view.theme;
  try {
    localStorage.setItem("locklab.theme", view.theme);
  } catch {
    // the choice then lasts as long as the page
  }
  changed();
});
onThemeChange(() => changed());

function togglePause() {
  setPaused(!state.paused);
  announce(state.paused ? "Paused; figures are still received" : "Drawing again");
}
$("pause").addEventListener("click", togglePause);

/** Elements that need the space bar for themselves. */
const TAKES_SPACE = "input, select, textarea, button, summary, a";
document.addEventListener("keydown", (event) => {
  if (event.key !== " " || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.closest?.(TAKES_SPACE) || $("pause").disabled) return;
  event.preventDefault();
  togglePause();
});

$("stop").addEventListener("click", async () => {
  try {
    await stopRun(state.data.id);
  } catch (problem) {
    state.link = { ...state.link, text: `stop: ${problem.message}` };
  }
  changed();
});

function renderHeader() {
  const { link, data, paused } = state;
  $("link").dataset.phase = paused ? "paused" : link.phase;
  const ended =
    data.end || data.document ? "the run has ended; resume to see its result" : "still receiving";
  setText($("link"), paused ? `paused, ${ended}` : link.text);
  const pause = $("pause");
  setText(pause, paused ? "Resume" : "Pause");
  setAttr(pause, "aria-pressed", paused);
  pause.disabled = !paused && !data.running;
  $("stop").hidden = !(data.running && data.id !== null);
  setText($("theme"), `Theme: ${state.view.theme}`);
}

// --- everything ------------------------------------------------------------------------------

const figures = $("figures");
const [wait, hold, handoff, wake] = histograms.roots;
figures.append(lines.root, histograms.bar, wait, hold, handoff, matrix.root, wake);
$("result").append(...result.roots);
const empty = h(
  "p",
  { class: "panel notice", hidden: true },
  "No run is open. Start one with the form, choose one from the list, or open a saved result.",
);
$("main").prepend(empty);

let hasFigures = false;

function renderFigures(now) {
  hasFigures = !now.shown.empty;
  empty.hidden = !now.shown.empty || now.view.run !== null;
  headline.render();
  lines.render();
  histograms.render();
  matrix.render();
  result.render();
}

onRender((now) => {
  renderHeader();
  form.render();
  runs.render();
  files.render();
  // Until the first word of a run that is being opened, the figures of the last one stay, dimmed.
  const isOpening = hasFigures && now.shown.empty && now.link.phase === "connecting";
  $("main").classList.toggle("opening", isOpening);
  if (!isOpening) renderFigures(now);
  writeAddress();
});

function openAddressed() {
  const { run, hidden } = readAddress();
  if (run === state.view.run) {
    changed();
    return;
  }
  state.view.run = run;
  if (run !== null) {
    openRun(run);
    state.view.hidden = new Set(hidden);
    if (innerWidth < NARROW) for (const id of ["start-box", "file-box"]) $(id).open = false;
  }
}

async function loadCatalogue() {
  try {
    [state.catalogue.locks, state.catalogue.workloads] = await Promise.all([
      getLocks(),
      getWorkloads(),
    ]);
    form.fillCatalogue();
  } catch (problem) {
    state.catalogue.problem = problem.message;
    changed();
  }
}

async function start() {
  $("boot").remove();
  explainMissingUplot();
  changed();
  loadCatalogue();
  await runs.refresh();
  window.addEventListener("hashchange", openAddressed);
  const asked = (await files.openFileOfAddress()) || readAddress().run !== null;
  openAddressed();
  runs.followNewest(!asked);
  runs.poll();
}

start();
