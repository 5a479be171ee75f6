// SPDX-License-Identifier: MIT
// Tables: threads while a run goes on, and everything else that its result document states.

import { h, scroller, setAttr, table } from "./dom.js";
import { count, duration, NOTHING, percent, rate, ratio, seconds, si, small } from "./format.js";
import { KINDS } from "./picture.js";
import { state } from "./state.js";

const TABLE_MS = 1000;
const NAMES = { wait: "Wait", hold: "Hold", handoff: "Hand-off", wake: "Wake-up" };
const THREAD_COLUMNS = [
  ["wait_max_ns", "Longest wait", duration],
  ["cpu_ns", "CPU time", duration],
  ["involuntary_switches", "Preempted", count],
  ["voluntary_switches", "Slept", count],
];
const N = (title, unit) => ({ title, unit, number: true });

const threadsBox = h("section", { class: "panel", "aria-label": "Threads" });
const documentBox = h("div", { class: "tables-grid" });
const settingsBox = h("div", { class: "result" });
export const roots = [threadsBox, documentBox, settingsBox];
let drawn = null;
let drawnAt = 0;

const panel = (title, note, ...body) =>
  h("section", { class: "panel", "aria-label": title },
    h("div", { class: "panel-head" }, h("h2", {}, title), note ? h("span", { class: "unit" }, note) : null),
    body);

function threads(picture) {
  const { acquisitions, rate_per_s: rates } = picture.columns;
  const total = acquisitions.reduce((a, b) => a + b, 0);
  const columns = [{ title: "Thread" }, N("CPU"), N("Acquisitions"), N("Share"), N("Rate")];
  const more = THREAD_COLUMNS.filter(([key]) => picture.document?.threads[key]);
  columns.push(...more.map(([, title]) => N(title)));
  const rows = acquisitions.map((n, i) => [
    `T${i}`, String(picture.cpus[i] ?? NOTHING), count(n), total ? percent(n / total) : NOTHING,
    rate(rates[i]), ...more.map(([key, , format]) => format(picture.document.threads[key][i]))]);
  const live = picture.document ? "" : " of the repetition so far";
  return [
    h("div", { class: "panel-head" }, h("h2", {}, "Threads"),
      h("span", { class: "unit" }, picture.document ? `whole run, ${picture.source}` : `live, ${picture.source}`)),
    scroller("Threads", table(`Acquisitions by thread${live}`, columns, rows))];
}

function latencies(doc, picture) {
  const rows = [], absent = [];
  for (const kind of KINDS) {
    const x = doc[`${kind}_ns`];
    if (!picture.histograms[kind]) {
      absent.push(`${NAMES[kind]}: not measured, ${picture.reasons[kind] ?? "no reason is given"}.`);
      continue;
    }
    rows.push([NAMES[kind], count(x.count), ...[x.mean, x.p50, x.p90, x.p99, x.p999, x.max].map((v) => duration(v))]);
  }
  return panel("Times", `ns, ${doc.source}`,
    rows.length ? scroller("Times", table("Wait, hold, hand-off and wake-up times",
      [{ title: "Time" }, N("Count"), N("Mean"), N("p50"), N("p90"), N("p99"), N("p99.9"), N("Max")], rows)) : null,
    absent.map((text) => h("p", { class: "why" }, text)));
}

function repeats({ repeats: list }) {
  if (!list || list.length === 0) return null;
  const regime = (r) => (r.regime_ns ?? []).map((v) => duration(v)).join(" / ");
  return panel("Repetitions", "regime: round trip of a word between two CPUs, before / after", scroller("Repetitions", table(
    "Repetitions",
    [{ title: "No." }, N("Measured"), N("Acquisitions"), N("Rate"), N("Regime")],
    list.map((r, i) => [String((r.index ?? i) + 1), seconds(r.seconds), count(r.acquisitions),
      rate(r.rate_per_s), regime(r)]))));
}

function perf({ perf: events }) {
  const names = Object.keys(events ?? {});
  if (names.length === 0) return null;
  const absent = names.filter((name) => events[name].value === null);
  const counted = names.filter((name) => events[name].value !== null);
  return panel("perf events", null,
    counted.length ? scroller("perf events", table("Events counted during the measured phases",
      [{ title: "Event" }, N("Value"), N("Per acquisition"), { title: "Unit" }, N("Counted for"), { title: "Source" }],
      counted.map((name) => {
        const e = events[name];
        return [name, si(e.value), small(e.per_acquisition), e.unit, percent(e.running_ratio), e.source];
      }))) : null,
    absent.map((name) => h("p", { class: "why" }, `${name}: not counted, ${events[name].reason ?? "no reason is given"}.`)));
}

function events({ events: counts, total }) {
  const names = Object.keys(counts ?? {}).filter((name) => counts[name] !== null && counts[name] > 0);
  if (names.length === 0) return null;
  return panel("Lock events", "those that happened", scroller("Lock events", table("Lock events",
    [{ title: "Event" }, N("Count"), N("Per acquisition")],
    names.map((name) => [name, count(counts[name]),
      total.acquisitions ? small(counts[name] / total.acquisitions) : NOTHING]))));
}

function fields({ fields: list }) {
  if (!list || list.length === 0) return null;
  const figures = [["reads", "Reads"], ["writes", "Writes"], ["misses", "Misses"], ["miss_cycles", "Miss cycles"]]
    .filter(([key]) => list.some((f) => f[key] !== null));
  const reasons = [...new Set(list.map((f) => f.reason).filter(Boolean))];
  return panel("Fields", "words of the lock and of its nodes", scroller("Fields", table("Traffic by field",
    [{ title: "Field" }, N("Offset", "B"), N("Line", "64 B"), ...figures.map(([, title]) => N(title)),
      { title: "Source" }],
    list.map((f) => [`${f.object}.${f.field}`, String(f.offset), String(f.line),
      ...figures.map(([key]) => si(f[key])), f.site ? `${f.source}, ${f.site}` : f.source]))),
  reasons.map((text) => h("p", { class: "why" }, `Not measured: ${text}.`)));
}

function overhead({ overhead: o }) {
  if (!o) return null;
  return panel("Cost of the instrumentation", "bare against instrumented, same run",
    table("Overhead", [{ title: "Figure" }, N("Value")], [
      ["Bare", rate(o.bare_rate_per_s)], ["Instrumented", rate(o.instrumented_rate_per_s)],
      ["Ratio", ratio(o.ratio)], ["Interval", (o.interval ?? []).map((v) => ratio(v)).join(" to ")]]));
}

function waiters(doc) {
  const list = doc.waiters;
  if (!list || list.length === 0) return null;
  return panel("Who waited where", "when the watchdog ended the run", scroller("Waiters", table("Waiters",
    [{ title: "Thread" }, N("CPU"), { title: "State" }, { title: "Object" }, { title: "Place" }, N("Since")],
    list.map((w) => [`T${w.thread}`, String(w.cpu), w.state,
      [w.object, w.field].filter(Boolean).join("."), w.file ? `${w.file}:${w.line}` : NOTHING, seconds(w.since_s)]))));
}

/** Nested settings as rows "a.b" - value. */
function flat(value, prefix = "") {
  return Object.entries(value ?? {}).flatMap(([key, v]) => {
    const name = prefix + key;
    if (v !== null && typeof v === "object" && !Array.isArray(v)) return flat(v, `${name}.`);
    return [[name, typeof v === "string" ? v : JSON.stringify(v)]];
  });
}

function settings(title, value) {
  const rows = flat(value);
  if (rows.length === 0) return null;
  return h("details", { class: "panel" }, h("summary", {}, h("h2", {}, title)),
    scroller(title, table(title, [{ title: "Name" }, { title: "Value" }], rows, { class: "settings" })));
}

export function render() {
  const picture = state.shown;
  const ready = !picture.empty && picture.columns;
  setAttr(threadsBox, "hidden", ready ? null : "");
  for (const box of [documentBox, settingsBox]) setAttr(box, "hidden", picture.document ? null : "");
  const version = `${picture.id}|${picture.name}|${picture.version}`;
  const now = performance.now();
  if (!ready || drawn === version) return;
  if (picture.running && now - drawnAt < TABLE_MS && drawn?.startsWith(`${picture.id}|`)) return;
  drawn = version;
  drawnAt = now;
  const scrolled = threadsBox.querySelector(".scroll");
  const [top, hadFocus] = [scrolled?.scrollTop ?? 0, scrolled === document.activeElement];
  threadsBox.replaceChildren(...threads(picture));
  if (top) threadsBox.querySelector(".scroll").scrollTop = top;
  if (hadFocus && scrolled) threadsBox.querySelector(".scroll").focus({ preventScroll: true });
  const doc = picture.document;
  if (!doc) return;
  documentBox.replaceChildren(...[
    waiters(doc), latencies(doc, picture), repeats(doc), perf(doc), events(doc), fields(doc),
    overhead(doc)].filter(Boolean));
  settingsBox.replaceChildren(...[
    settings("Configuration", doc.config), settings("Environment", doc.environment)].filter(Boolean));
}
