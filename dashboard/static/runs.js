// SPDX-License-Identifier: MIT
// The runs of this server: a list to choose from.

import { getRuns } from "./api.js";
import { $, h, setAttr, setText } from "./dom.js";
import { plural, rate } from "./format.js";
import { changed, state } from "./state.js";

const POLL_MS = 2000;
const EAGER_MS = 200;
const EAGER_FOR_MS = 2000;
const box = $("runs");
const follow = h("input", {
  type: "checkbox",
  onchange: () => {
    state.view.follow = follow.checked;
    newestSeen = null;
    followNewest();
    changed();
  },
});
const note = h("p", { class: "field-note" });
const list = h("ul", { class: "runs" });
box.append(h("label", { class: "check" }, follow, "Follow the newest run"), note, list);

let drawn = null;
let newestSeen = null;
let timer = null;
let eagerUntil = 0;

/** Ask for the list again and again, but not while a run is measured: that would disturb it. */
export async function poll() {
  clearTimeout(timer);
  if (state.link.phase !== "live") {
    await refresh();
    followNewest();
  }
  clearTimeout(timer);
  timer = setTimeout(poll, performance.now() < eagerUntil ? EAGER_MS : POLL_MS);
}

/** A run has just ended: where one follows another, the next is not to be missed. */
export function expectNext() {
  eagerUntil = performance.now() + EAGER_FOR_MS;
  poll();
}

export async function refresh() {
  if (document.hidden) return;
  try {
    state.runs.list = await getRuns();
    state.runs.problem = null;
  } catch (problem) {
    state.runs.problem = problem.message;
  }
  state.runs.loaded = true;
  changed(false);
}

/**
 * Open a running run that was not there before, unless an older one was chosen on purpose or
 * the page is paused.
 * `open` false: take note of it only.
 */
export function followNewest(open = true) {
  const { list } = state.runs;
  const running = list.filter((run) => run.status === "running").at(-1);
  // a server that was started anew counts from 1 again
  if (state.data.lost || !list.some((run) => run.id === newestSeen)) newestSeen = null;
  if (!running || !state.view.follow || state.paused || running.id === newestSeen) return;
  newestSeen = running.id;
  if (open && state.view.run !== running.id)
    location.hash = `run=${encodeURIComponent(running.id)}`;
}

const entries = new Map(); // id -> {key, li}

/** The list item of a run: the same element as long as it says the same. */
function entryOf(run, most) {
  const key = JSON.stringify([run, run.rate_per_s ? most : 0, run.id === state.view.run]);
  const old = entries.get(run.id);
  if (old?.key === key) return old.li;
  const li = old?.li ?? h("li", {});
  fill(li, run, most);
  entries.set(run.id, { key, li });
  return li;
}

function fill(li, run, most) {
  const running = run.status === "running";
  const bar = h("span", { class: "run-bar", "aria-hidden": "true" });
  if (most > 0 && run.rate_per_s) bar.style.inlineSize = `${(100 * run.rate_per_s) / most}%`;
  const current = run.id === state.view.run;
  const link = li.firstChild ?? h("a", { href: `#run=${encodeURIComponent(run.id)}` });
  link.onclick = () => (state.view.follow = running); // who opens an older run stays there
  setAttr(link, "aria-current", current ? "true" : null);
  const outcome = run.rate_per_s ? rate(run.rate_per_s) : run.status;
  const status = running || run.status === "complete" ? "" : `, ${run.status}`;
  const what = `${run.id}: ${plural(run.threads, "thread")}, ${run.workload}${status}`;
  link.replaceChildren(
    h("span", { class: "run-lock" }, run.lock),
    h("span", { class: "run-rate" }, outcome),
    h("span", { class: "run-what" }, what),
    bar,
  );
  if (!link.parentNode) li.append(link);
}

export function render() {
  follow.checked = state.view.follow;
  const { list: runs, problem, loaded } = state.runs;
  setText(
    note,
    problem ?? (runs.length ? "Bars compare total rates." : loaded ? "No run yet." : ""),
  );
  const most = Math.max(0, ...runs.map((run) => run.rate_per_s ?? 0));
  const key = JSON.stringify([runs, state.view.run]);
  if (key === drawn) return;
  drawn = key;
  const wanted = runs.toReversed().map((run) => entryOf(run, most));
  // Only what differs is moved: focus, and a click under way, keep their element.
  wanted.forEach((li, k) => {
    if (list.children[k] !== li) list.insertBefore(li, list.children[k] ?? null);
  });
  while (list.children.length > wanted.length) list.lastElementChild.remove();
}
