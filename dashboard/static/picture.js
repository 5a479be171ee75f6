// SPDX-License-Identifier: MIT
// What is known of one run: from its stream, from its result document, or both.

import { Histogram } from "./histogram.js";
import { Series } from "./series.js";

export const SCHEMA = "locklab.run/1";
export const KINDS = ["wait", "hold", "handoff", "wake"];

export class Picture {
  constructor(id = null, name = null) {
    this.id = id; // of this server's run, null for a file
    this.name = name; // of the file
    this.hello = null;
    this.tick = null; // the newest
    this.series = null;
    this.histograms = {}; // kind -> Histogram
    this.reasons = {}; // kind -> why there is none
    this.end = null;
    this.document = null;
    this.lost = false; // its server does not know it any more
    this.version = 0; // grows with every change
  }

  /** The stream (again) begins. Points of the same run stay; what was missed leaves a gap. */
  onHello(hello) {
    const same = (key) => this.hello?.[key] === hello[key];
    const again = ["run", "lock", "workload", "threads"].every(same);
    this.hello = hello;
    if (again) this.series.gap();
    else {
      this.series = new Series(hello.threads);
      this.histograms = {
        wait: new Histogram(hello.bucket_upper_ns),
        hold: new Histogram(hello.bucket_upper_ns),
      };
    }
    this.version += 1;
  }

  onTick(tick) {
    const last = this.tick;
    if (last && tick.elapsed_s <= last.elapsed_s) return; // replayed after a reconnect
    if (last && tick.seq !== last.seq + 1) this.series.gap();
    this.tick = tick;
    this.series.push(tick.elapsed_s, tick.phase === "measure" ? tick.rate_per_s : null);
    this.version += 1;
  }

  onHist({ wait, hold }) {
    if (wait) this.histograms.wait.update(wait);
    if (hold) this.histograms.hold.update(hold);
    this.version += 1;
  }

  onEnd(end) {
    this.end = end;
    this.version += 1;
  }

  /** The result document takes the place of what was pieced together from the stream. */
  onDocument(doc) {
    this.document = doc;
    if (doc.series && doc.series.t_s.length) this.series = Series.fromDocument(doc);
    for (const kind of KINDS) {
      const h = doc[`${kind}_ns`];
      const there = h && h.buckets && h.count > 0;
      if (there) this.histograms[kind] = Histogram.fromDocument(h);
      else {
        delete this.histograms[kind];
        this.reasons[kind] = reasonOf(doc, `${kind}_ns`) ?? (h ? "no value was recorded" : null);
      }
    }
    this.version += 1;
  }

  get empty() {
    return !this.hello && !this.document;
  }

  get running() {
    return Boolean(this.hello) && !this.end && !this.document && !this.lost;
  }

  get threads() {
    return this.document?.threads.acquisitions.length ?? this.hello?.threads ?? 0;
  }

  get cpus() {
    return this.document?.threads.cpu ?? this.hello?.cpus ?? [];
  }

  /** {acquisitions, rate_per_s, wait_max_ns?} by thread, or null before the first tick. */
  get columns() {
    return this.document?.threads ?? this.tick;
  }

  get source() {
    return this.document?.source ?? "native";
  }

  /** A picture that stays as it is while this one goes on. */
  copy() {
    const twin = Object.assign(new Picture(), this);
    twin.series = this.series?.copy() ?? null;
    twin.histograms = Object.fromEntries(
      Object.entries(this.histograms).map(([kind, h]) => [kind, h.copy()]),
    );
    twin.reasons = { ...this.reasons };
    return twin;
  }
}

/** Why `key` of the document is null, or null if the document does not say. */
export function reasonOf(doc, key) {
  return doc[key]?.reason ?? doc.reasons?.[key] ?? null;
}

/** Jain's index: 1 if all are equal, 1/n if one has everything; null if there is nothing yet. */
export function jain(values) {
  let sum = 0,
    squares = 0;
  for (const v of values) {
    sum += v;
    squares += v * v;
  }
  return squares > 0 ? (sum * sum) / (values.length * squares) : null;
}

/** A sentence on what is wrong with `doc` as a result document, or null. */
export function documentProblem(doc) {
  if (doc === null || typeof doc !== "object" || Array.isArray(doc)) {
    return "it is not a JSON object";
  }
  if (doc.schema !== SCHEMA) {
    return `its schema is ${JSON.stringify(doc.schema ?? null)}, this page reads "${SCHEMA}"`;
  }
  for (const key of ["config", "total", "threads"]) {
    if (doc[key] === null || typeof doc[key] !== "object") return `it has no "${key}"`;
  }
  if (!Array.isArray(doc.threads.acquisitions)) return 'it has no "threads.acquisitions"';
  if (doc.series && doc.series.t_s.length !== doc.series.rate_per_s.length) {
    return '"series.t_s" and "series.rate_per_s" differ in length';
  }
  return null;
}
