// SPDX-License-Identifier: MIT
// The form that starts a run, generated from the catalogue of locks and workloads.

import { Problem, startRun } from "./api.js";
import { $, announce, h, setAttr, setText } from "./dom.js";
import { defaultOf, makeField, valueOf } from "./fields.js";
import { refresh } from "./runs.js";
import { changed, state } from "./state.js";

// The defaults are those of locklab.run, but for the seconds: a page is watched.
const FIELDS = [
  { name: "threads", label: "Threads", type: "uint", default: 2, min: 1, max: 1024 },
  {
    name: "seconds",
    label: "Seconds",
    type: "real",
    default: 10,
    min: 0.001,
    max: 86400,
    unit: "s",
  },
  { name: "repeat", label: "Repeat", type: "uint", default: 1, min: 1, max: 1000 },
  { name: "seed", label: "Seed", type: "uint", optional: true, min: 0, help: "empty: the default" },
  {
    name: "place",
    label: "Placement",
    type: "text",
    default: "compact",
    choices: ["compact", "scatter", "interleave:2", "nodes:0", "cpus:0-1"],
  },
  { name: "metrics", label: "Metrics", type: "enum", default: 0, names: ["full", "events"] },
];

const KEY = "locklab.form";
const form = $("form");
const inputs = new Map(); // name (of a parameter: "params.lock.x") -> what makeField made
let parametersFor = null;

const lock = h("select", { id: "f-lock", onchange: onChoice });
const workload = h("select", { id: "f-workload", onchange: onChoice });
const lockNote = h("p", { class: "field-note", id: "f-lock-note" });
const workloadNote = h("p", { class: "field-note", id: "f-workload-note" });
const plain = h("div", { class: "grid-2" });
const parameters = h("div", {});
const problem = h("p", { class: "error form-error", role: "alert" });
const submit = h("button", { type: "submit", class: "primary" }, "Start run");

function field(spec) {
  const made = makeField(spec);
  inputs.set(spec.name, made);
  return made.root;
}

/** The body of the request: names of locklab.run; a parameter only if it is not at its default. */
function body() {
  const out = { lock: lock.value, workload: workload.value };
  const params = {};
  for (const entry of inputs.values()) {
    const value = valueOf(entry);
    if (value === undefined) continue;
    if (!entry.spec.parameter) out[entry.spec.name] = value;
    else if (value !== defaultOf(entry.spec)) params[entry.spec.parameter] = value;
  }
  if (Object.keys(params).length) out.params = params;
  return out;
}

// --- parameters of the chosen lock and workload ----------------------------------------------

function chosen() {
  const { locks, workloads } = state.catalogue;
  return [locks.find((l) => l.id === lock.value), workloads.find((w) => w.id === workload.value)];
}

/** A parameter that names another lock, as a choice among those that will do. */
function lockChoice(p) {
  const fits = state.catalogue.locks.filter((l) => p.kinds.includes(l.kind));
  const names = fits.map((l) => l.id);
  return { ...p, type: "enum", names, default: names.indexOf(p.default) };
}

function buildParameters() {
  for (const name of [...inputs.keys()]) if (name.startsWith("params.")) inputs.delete(name);
  const owners = chosen();
  const groups = ["lock", "workload"].map((kind, k) => {
    const own = owners[k]?.params ?? [];
    const others = owners[1 - k]?.params ?? [];
    if (own.length === 0) return null;
    const specs = own.map((p) => {
      const clash = others.some((other) => other.name === p.name);
      return {
        ...(p.type === "lock" ? lockChoice(p) : p),
        name: `params.${kind}.${p.name}`,
        label: p.name,
        parameter: clash ? `${kind}.${p.name}` : p.name,
      };
    });
    return h(
      "fieldset",
      {},
      h("legend", {}, `Parameters of ${owners[k].id}`),
      h("div", { class: "grid-2" }, specs.map(field)),
    );
  });
  parameters.replaceChildren(...groups.filter(Boolean));
}

function onChoice() {
  state.form.errors = {};
  state.form.problem = null;
  changed();
}

function renderChoice() {
  const [l, w] = chosen();
  const warning = l?.claims.includes("broken") ? "; it does not exclude, on purpose" : "";
  setText(lockNote, l ? l.summary + warning : "");
  setText(workloadNote, w?.summary ?? "");
  const key = `${l?.id}|${w?.id}`;
  if (key !== parametersFor) {
    parametersFor = key;
    buildParameters();
  }
}

// --- the catalogue ---------------------------------------------------------------------------

/** Fill the two lists once the catalogue has come. */
export function fillCatalogue() {
  const { locks, workloads } = state.catalogue;
  const families = [...new Set(locks.map((l) => l.family))];
  lock.replaceChildren(
    ...families.map((family) =>
      h(
        "optgroup",
        { label: family },
        locks
          .filter((l) => l.family === family)
          .map((l) => h("option", { value: l.id, disabled: !l.engines.includes("native") }, l.id)),
      ),
    ),
  );
  workload.replaceChildren(...workloads.map((w) => h("option", { value: w.id }, w.id)));
  const saved = readSaved();
  lock.value = locks.some((l) => l.id === saved.lock)
    ? saved.lock
    : (locks.find((l) => l.id === "spin/mcs") ?? locks[0])?.id;
  workload.value = workloads.some((w) => w.id === saved.workload)
    ? saved.workload
    : "critical-section";
  for (const { name } of FIELDS) {
    if (saved[name] !== undefined) inputs.get(name).input.value = saved[name];
  }
  changed();
}

function readSaved() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {}; // storage is forbidden or was written by something else
  }
}

function save(values) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...values, params: undefined }));
  } catch {
    // the form is then filled with the defaults next time
  }
}

// --- sending ---------------------------------------------------------------------------------

async function send(event) {
  event.preventDefault();
  if (state.form.busy) return;
  state.form = { busy: true, errors: {}, problem: null };
  changed();
  try {
    const values = body();
    const { id } = await startRun(values);
    save(values);
    state.view.follow = true;
    location.hash = `run=${encodeURIComponent(id)}`;
    state.form.busy = false;
    announce(`Run ${id} started`);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status === 409) await refresh(); // the list then knows which run is in the way
    const name = fieldOf(error.field);
    state.form = {
      busy: false,
      errors: name ? { [name]: error.message } : {},
      problem: name ? null : error,
    };
    if (name) target(name).focus();
  }
  changed();
}

/** The control that the server's `field` means: "threads", "section_ns", "lock.spins". */
function fieldOf(name) {
  if (!name) return null;
  if (name === "lock" || name === "workload" || inputs.has(name)) return name;
  const bare = name.replace(/^params\./, "");
  for (const [key, { spec }] of inputs) {
    if (spec.parameter === bare || key === `params.${bare}`) return key;
  }
  return null;
}

const target = (name) => ({ lock, workload })[name] ?? inputs.get(name).input;

function renderErrors() {
  const { errors } = state.form;
  const all = [...inputs].map(([name, { input, error }]) => [name, input, error]);
  all.push(["lock", lock, $("f-lock-error")], ["workload", workload, $("f-workload-error")]);
  for (const [name, input, error] of all) {
    setText(error, errors[name] ?? "");
    setAttr(input, "aria-invalid", errors[name] ? "true" : null);
  }
  const { problem: p } = state.form;
  const key = p ? `${p.status}|${p.message}` : "";
  if (problem.dataset.key === key) return;
  problem.dataset.key = key;
  problem.replaceChildren(
    ...(p
      ? [
          p.title ? `${p.title.replace(/\.$/, "")}. ` : "",
          p.detail && p.detail !== p.title ? p.detail : "",
          ...linkToRunning(p),
        ]
      : []),
  );
}

function linkToRunning(p) {
  if (p.status !== 409) return [];
  const running = state.runs.list.find((run) => run.status === "running")?.id;
  if (running === undefined) return [];
  return [" ", h("a", { href: `#run=${encodeURIComponent(running)}` }, `Show run ${running}`)];
}

function choice(name, label, select, noteNode) {
  select.setAttribute("aria-describedby", `f-${name}-note f-${name}-error`);
  return h(
    "div",
    { class: "field" },
    h("label", { for: `f-${name}` }, label),
    select,
    noteNode,
    h("p", { class: "error", id: `f-${name}-error` }),
  );
}

plain.append(...FIELDS.map(field));
form.append(
  choice("lock", "Lock", lock, lockNote),
  choice("workload", "Workload", workload, workloadNote),
  plain,
  parameters,
  problem,
  h("div", { class: "form-foot" }, submit),
);
form.addEventListener("submit", send);

export function render() {
  renderChoice();
  renderErrors();
  const { problem: missing, locks } = state.catalogue;
  submit.disabled = state.form.busy || locks.length === 0;
  setText(submit, state.form.busy ? "Starting" : "Start run");
  if (missing) setText(lockNote, `The catalogue did not come: ${missing}`);
}
