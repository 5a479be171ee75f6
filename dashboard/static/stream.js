// SPDX-License-Identifier: MIT
// One EventSource at a time, for the run on show. A hidden page holds no connection: a browser
// has six an address, and the seventh tab would hang.

import { getRun, runPath } from "./api.js";
import { announce } from "./dom.js";
import { rate } from "./format.js";
import { documentProblem, Picture } from "./picture.js";
import { expectNext, refresh } from "./runs.js";
import { changed, setPicture, state } from "./state.js";

const RETRY_MS = 2000;
let source = null;
let retry = null;

function setLink(phase, text) {
  state.link = { phase, text };
  changed();
}

export function closeStream() {
  clearTimeout(retry);
  source?.close();
  source = null;
}

/** Show run `id` of this server: its stream while it runs, its document once it has ended. */
export async function openRun(id) {
  closeStream();
  const picture = new Picture(id);
  setPicture(picture);
  if (!state.runs.list.some((run) => run.id === id)) refresh();
  if (isOver(id)) await fetchDocument(picture);
  else connect(picture);
}

/** Ended as far as the list of runs knows. */
function isOver(id) {
  const entry = state.runs.list.find((run) => run.id === id);
  return Boolean(entry) && entry.status !== "running";
}

function connect(picture) {
  if (document.hidden) return;
  closeStream();
  setLink("connecting", "connecting");
  const stream = new EventSource(`${runPath(picture.id)}/stream`);
  source = stream;
  const on = (name, handle) =>
    stream.addEventListener(name, (event) => {
      if (stream !== source) return;
      handle(JSON.parse(event.data));
      changed(false);
    });
  on("hello", (hello) => {
    picture.onHello(hello);
    setLink("live", `live, ${hello.rate_hz} Hz`);
  });
  on("tick", (tick) => {
    const before = picture.tick?.phase;
    picture.onTick(tick);
    if (tick.phase !== before) announce(`${picture.hello.lock}: ${tick.phase}`);
  });
  on("hist", (hist) => picture.onHist(hist));
  on("end", (end) => {
    closeStream();
    picture.onEnd(end);
    fetchDocument(picture).then(expectNext);
  });
  stream.onerror = () => {
    if (stream !== source) return;
    if (stream.readyState === EventSource.CONNECTING) {
      setLink("waiting", "connection lost, trying again");
      return;
    }
    // The answer was no stream: the run may have ended, or the server has enough clients.
    closeStream();
    retry = setTimeout(() => resume(picture), RETRY_MS);
    setLink("waiting", "no stream from the server, trying again");
  };
}

async function resume(picture) {
  if (picture !== state.data || document.hidden) return;
  try {
    const doc = await getRun(picture.id);
    if (documentProblem(doc) === null) takeDocument(picture, doc);
    else connect(picture);
  } catch (problem) {
    if (problem.status === 404) {
      picture.lost = true; // another server answers at this address now
      setLink("error", `run ${picture.id} is not known to this server`);
      return;
    }
    setLink("waiting", `${problem.message} Trying again`);
    retry = setTimeout(() => resume(picture), RETRY_MS);
  }
}

async function fetchDocument(picture) {
  setLink("connecting", "fetching the result");
  try {
    const doc = await getRun(picture.id);
    if (picture !== state.data) return;
    const problem = documentProblem(doc);
    if (problem === null) takeDocument(picture, doc);
    else setLink("ended", picture.end?.text || `no result document: ${problem}`);
  } catch (problem) {
    if (picture !== state.data) return;
    setLink(problem.status === 404 ? "error" : "ended", problem.message);
  }
}

function takeDocument(picture, doc) {
  picture.onDocument(doc);
  setLink("ended", `ended: ${doc.status}`);
  announce(`Run ${picture.id} ended: ${doc.status}, ${rate(doc.total.rate_per_s)}`);
}

/** Show a result document that is no run of this server. */
export function showDocument(doc, name) {
  closeStream();
  const picture = new Picture(null, name);
  picture.onDocument(doc);
  setPicture(picture);
  setLink("saved", `saved result ${name}`);
  announce(`Saved result ${name}, ${doc.config.lock}`);
}

document.addEventListener("visibilitychange", () => {
  const picture = state.data;
  if (document.hidden) {
    closeStream();
    return;
  }
  if (picture.id !== null && !picture.end && !picture.document) connect(picture);
});
