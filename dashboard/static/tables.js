// SPDX-License-Identifier: MIT
// What a result document states, as one panel a subject; null where there is nothing to state.

import { h, scroller, table } from "./dom.js";
import { count, duration, NOTHING, percent, rate, ratio, seconds, si, small } from "./format.js";
import { KINDS } from "./picture.js";

const NAMES = { wait: "Wait", hold: "Hold", handoff: "Hand-off", wake: "Wake-up" };
const NO_REASON = "no reason is given";

/** Columns from their titles; a title after "#" is that of a number. */
export const columns = (titles) =>
  titles.map((t) => (t.startsWith("#") ? { title: t.slice(1), number: true } : { title: t }));

/** A panel with a heading, a table (none without rows) and sentences below it. */
export function panel(title, note, titles, rows, sentences = []) {
  const head = [h("h2", {}, title), note ? h("span", { class: "unit" }, note) : null];
  return h(
    "section",
    { class: "panel", "aria-label": title },
    h("div", { class: "panel-head" }, head),
    rows.length ? scroller(title, table(title, columns(titles), rows)) : null,
    sentences.map((text) => h("p", { class: "why" }, text)),
  );
}

function times(doc, picture) {
  const has = (kind) => kind in picture.histograms;
  const row = (kind) => {
    const x = doc[`${kind}_ns`];
    const figures = [x.mean, x.p50, x.p90, x.p99, x.p999, x.max];
    return [NAMES[kind], count(x.count), ...figures.map(duration)];
  };
  return panel(
    "Times",
    `ns, ${doc.source}`,
    ["Time", "#Count", "#Mean", "#p50", "#p90", "#p99", "#p99.9", "#Max"],
    KINDS.filter(has).map(row),
    KINDS.filter((kind) => !has(kind)).map(
      (kind) => `${NAMES[kind]}: not measured, ${picture.reasons[kind] ?? NO_REASON}.`,
    ),
  );
}

function repeats({ repeats: list }) {
  if (!list?.length) return null;
  const row = (r) => [
    String(r.index + 1),
    seconds(r.seconds),
    count(r.acquisitions),
    rate(r.rate_per_s),
    r.regime_ns.map(duration).join(" / "),
  ];
  return panel(
    "Repetitions",
    "regime: round trip of a word between two CPUs, before / after",
    ["No.", "#Measured", "#Acquisitions", "#Rate", "#Regime"],
    list.map(row),
  );
}

function perf({ perf: events }) {
  const names = Object.keys(events ?? {});
  if (names.length === 0) return null;
  const isCounted = (name) => events[name].value !== null;
  const row = (name) => {
    const e = events[name];
    const per = small(e.per_acquisition);
    return [name, si(e.value), per, e.unit, percent(e.running_ratio), e.source];
  };
  return panel(
    "perf events",
    "user's spelling; counted for: share of the time",
    ["Event", "#Value", "#Per acquisition", "Unit", "#Counted for", "Source"],
    names.filter(isCounted).map(row),
    names
      .filter((name) => !isCounted(name))
      .map((name) => `${name}: not counted, ${events[name].reason ?? NO_REASON}.`),
  );
}

function events({ events: counts, reasons, total }) {
  const names = Object.keys(counts ?? {});
  const happened = names.filter((name) => counts[name] > 0);
  const unknown = names.filter((name) => counts[name] === null);
  if (happened.length + unknown.length === 0) return null;
  const per = (n) => (total.acquisitions ? small(n / total.acquisitions) : NOTHING);
  return panel(
    "Lock events",
    "those that happened",
    ["Event", "#Count", "#Per acquisition"],
    happened.map((name) => [name, count(counts[name]), per(counts[name])]),
    unknown.map((name) => `${name}: not counted, ${reasons?.[`events.${name}`] ?? NO_REASON}.`),
  );
}

const FIELD_FIGURES = {
  reads: "#Reads",
  writes: "#Writes",
  misses: "#Misses",
  miss_cycles: "#Miss cycles",
};

function fields({ fields: list }) {
  if (!list?.length) return null;
  const keys = Object.keys(FIELD_FIGURES).filter((key) => list.some((f) => f[key] !== null));
  const row = (f) => [
    `${f.object}.${f.field}`,
    String(f.offset),
    String(f.line),
    ...keys.map((key) => si(f[key])),
    f.site ? `${f.source}, ${f.site}` : f.source,
  ];
  const reasons = new Set(list.map((f) => f.reason).filter(Boolean));
  return panel(
    "Fields",
    "words of the lock and of its nodes; offset in bytes, line of 64 bytes",
    ["Field", "#Offset", "#Line", ...keys.map((key) => FIELD_FIGURES[key]), "Source"],
    list.map(row),
    [...reasons].map((text) => `Not measured: ${text}.`),
  );
}

function overhead({ overhead: o }) {
  if (!o) return null;
  return panel(
    "Cost of the instrumentation",
    "bare build against instrumented, in the same run",
    ["Figure", "#Value"],
    [
      ["Bare", rate(o.bare_rate_per_s)],
      ["Instrumented", rate(o.instrumented_rate_per_s)],
      ["Ratio, median", ratio(o.ratio)],
      ["95% interval", o.interval.map((v) => ratio(v)).join(" to ")],
    ],
  );
}

function waiters({ waiters: list }) {
  if (!list?.length) return null;
  const row = (w) => [
    `T${w.thread}`,
    String(w.cpu),
    w.state,
    [w.object, w.field].filter(Boolean).join(".") || NOTHING,
    w.file ? `${w.file}:${w.line}` : NOTHING,
    seconds(w.since_s),
  ];
  return panel(
    "Who waited where",
    "when the watchdog ended the run",
    ["Thread", "#CPU", "State", "Object", "Place", "#Since"],
    list.map(row),
  );
}

export const documentPanels = (doc, picture) =>
  [
    waiters(doc),
    times(doc, picture),
    repeats(doc),
    perf(doc),
    events(doc),
    fields(doc),
    overhead(doc),
  ].filter(Boolean);

/** Nested settings as rows ["a.b", value]. */
function flat(value, prefix = "") {
  return Object.entries(value ?? {}).flatMap(([key, v]) => {
    const name = prefix + key;
    if (v !== null && typeof v === "object" && !Array.isArray(v)) return flat(v, `${name}.`);
    return [[name, typeof v === "string" ? v : JSON.stringify(v)]];
  });
}

/** A part of the document as name and value, folded away. */
export function settings(title, value) {
  const rows = flat(value);
  if (rows.length === 0) return null;
  const body = table(title, columns(["Name", "Value"]), rows, { class: "settings" });
  return h(
    "details",
    { class: "panel" },
    h("summary", {}, h("h2", {}, title)),
    scroller(title, body),
  );
}
