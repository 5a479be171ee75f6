// SPDX-License-Identifier: MIT
// The view stands in the address after `#`, so that it can be kept and passed on.

import { state } from "./state.js";

const FOLDS = ["threads", "total", "spread"];
const numbers = (text) =>
  text
    .split(".")
    .map(Number)
    .filter((n) => Number.isInteger(n) && n >= 0);

let known = null; // the address as last read or written here; another one is about to be read

/**
 * Links to runs change the address at once. A browser would do it a moment later, and a new address
 * written by writeAddress() in between would undo it.
 */
document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#run="]');
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  location.hash = link.getAttribute("href");
});

/** Take the view from the address; returns the id of the run asked for, or null. */
export function readAddress() {
  known = location.hash;
  const hash = new URLSearchParams(known.slice(1));
  const { view } = state;
  if (FOLDS.includes(hash.get("lines"))) view.fold = hash.get("lines");
  if (hash.has("last")) view.last = Math.max(0, Number(hash.get("last")) || 0);
  if (hash.has("log")) view.logShare = hash.get("log") === "1";
  if (hash.has("tail")) view.wholeTail = hash.get("tail") === "1";
  if ([2, 4, 8].includes(Number(hash.get("bins")))) view.bins = Number(hash.get("bins"));
  if (hash.has("tables")) view.tables = new Set(hash.get("tables").split(".").filter(Boolean));
  if (hash.has("follow")) view.follow = hash.get("follow") === "1";
  const hidden = hash.has("hide") ? numbers(hash.get("hide")) : [];
  return { run: hash.get("run"), hidden };
}

/** Write the view to the address, without a new entry in the history. */
export function writeAddress() {
  if (location.hash !== known) return;
  const { view } = state;
  const hash = new URLSearchParams();
  if (view.run !== null) hash.set("run", view.run);
  if (view.fold !== "threads") hash.set("lines", view.fold);
  if (view.last) hash.set("last", view.last);
  if (view.logShare) hash.set("log", "1");
  if (view.wholeTail) hash.set("tail", "1");
  if (view.bins !== 8) hash.set("bins", view.bins);
  if (view.tables.size) hash.set("tables", [...view.tables].sort().join("."));
  if (view.hidden.size) hash.set("hide", [...view.hidden].sort((a, b) => a - b).join("."));
  if (!view.follow) hash.set("follow", "0");
  const text = hash.toString() ? `#${hash}` : "";
  if (text === known) return;
  history.replaceState(null, "", location.pathname + location.search + text);
  known = location.hash;
}
