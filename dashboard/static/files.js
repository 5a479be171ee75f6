// SPDX-License-Identifier: MIT
// Saved results: from the file picker, dropped on the page, or `?file=` of this origin.

import { request } from "./api.js";
import { $, setText } from "./dom.js";
import { documentProblem } from "./picture.js";
import { changed, state } from "./state.js";
import { showDocument } from "./stream.js";

const MAX_BYTES = 256 * 1024 * 1024;

function take(doc, name) {
  const problem = documentProblem(doc);
  if (problem) {
    fail(`${name} is not a result document: ${problem}.`);
    return;
  }
  state.fileProblem = null;
  state.view.run = null;
  state.view.follow = false;
  showDocument(doc, name);
}

function fail(text) {
  state.fileProblem = text;
  $("file-box").open = true;
  changed();
}

async function read(file) {
  if (file.size > MAX_BYTES) {
    fail(`${file.name} has ${file.size} bytes; this page reads up to ${MAX_BYTES}.`);
    return;
  }
  let doc;
  try {
    doc = JSON.parse(await file.text());
  } catch (error) {
    fail(`${file.name} cannot be read as JSON: ${error.message}.`);
    return;
  }
  take(doc, file.name);
}

/** `?file=PATH`, a path of this origin only; true if the address asks for one. */
export async function openFileOfAddress() {
  const path = new URLSearchParams(location.search).get("file");
  if (path === null) return false;
  const url = path.startsWith("/") ? new URL(path, location.origin) : null;
  if (url === null || url.origin !== location.origin) {
    fail(`?file=${path} is no path of this server; it must begin with one slash.`);
    return true;
  }
  try {
    take(await request("GET", url.pathname + url.search), path);
  } catch (problem) {
    fail(`${path}: ${problem.message}`);
  }
  return true;
}

const input = $("file-input");
input.addEventListener("change", () => {
  if (input.files.length) read(input.files[0]);
  input.value = "";
});
document.addEventListener("dragover", (event) => {
  if (!event.dataTransfer.types.includes("Files")) return;
  event.preventDefault();
  document.body.classList.add("dropping");
});
for (const name of ["dragleave", "drop"]) {
  document.addEventListener(name, () => document.body.classList.remove("dropping"));
}
document.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  read(event.dataTransfer.files[0]);
});

export function render() {
  setText($("file-error"), state.fileProblem ?? "");
}
