// SPDX-License-Identifier: MIT
// One labelled control from a descriptor {name, label, unit, help, type, default, min, max, names}.

import { Problem } from "./api.js";
import { h } from "./dom.js";
import { count, SUPER } from "./format.js";

const idOf = (name) => `f-${name.replace(/[^\w]/g, "-")}`;

/** The default as a JSON value. */
export function defaultOf(spec) {
  if (spec.type === "enum") return spec.names[spec.default];
  return spec.type === "bool" ? Boolean(spec.default) : spec.default;
}

function control(spec, id) {
  const common = { id, "aria-describedby": `${id}-note ${id}-error` };
  const start = defaultOf(spec);
  if (spec.type === "bool") return h("input", { type: "checkbox", ...common, checked: start });
  if (spec.type === "enum") {
    const option = (name) => h("option", { value: name, selected: name === start }, name);
    return h("select", common, spec.names.map(option));
  }
  if (spec.type === "text") {
    const list = `${id}-list`;
    const plain = { autocomplete: "off", spellcheck: "false" };
    return h("input", { type: "text", ...common, ...plain, list, value: start });
  }
  const { min, max, type } = spec;
  const step = type === "real" ? "any" : 1;
  return h("input", { type: "number", ...common, min, max, step, value: start });
}

/** 1000000000 -> "10^9" with a raised exponent; other numbers in full. */
function bound(value) {
  if (!Number.isInteger(value)) return String(value);
  const power = Math.log10(value);
  if (power < 6 || !Number.isInteger(power)) return count(value);
  return `10${[...String(power)].map((d) => SUPER[d]).join("")}`;
}

function note(spec) {
  const isNumber = spec.type === "uint" || spec.type === "real";
  const range = isNumber && spec.max !== undefined;
  const facts = [
    range ? `${bound(spec.min)} to ${bound(spec.max)}` : null,
    spec.parameter && spec.type !== "bool" ? `default ${defaultOf(spec)}` : null,
  ];
  return [spec.help, facts.filter(Boolean).join(", ")].filter(Boolean).join("; ");
}

/** {spec, root, input, error}: what stands in the form for `spec`. */
export function makeField(spec) {
  const id = idOf(spec.name);
  const input = control(spec, id);
  const error = h("p", { class: "error", id: `${id}-error` });
  const unit = spec.unit && spec.unit !== spec.label ? ` ${spec.unit}` : null;
  const choices = spec.choices?.map((value) => h("option", { value }));
  const root = h(
    "div",
    { class: spec.type === "bool" ? "field field-check" : "field" },
    h("label", { for: id }, spec.label, unit ? h("span", { class: "unit" }, unit) : null),
    input,
    choices ? h("datalist", { id: `${id}-list` }, choices) : null,
    h("p", { class: "field-note", id: `${id}-note` }, note(spec)),
    error,
  );
  return { spec, root, input, error };
}

/** What the control says, as a JSON value; undefined if it was left empty on purpose. */
export function valueOf({ spec, input }) {
  if (spec.type === "bool") return input.checked;
  if (spec.type === "enum" || spec.type === "text") return input.value.trim();
  if (spec.optional && input.value === "" && !input.validity.badInput) return undefined;
  const value = Number(input.value);
  if (input.value === "" || !Number.isFinite(value)) {
    throw new Problem({ field: spec.name, detail: `${spec.label}: a number is needed.` });
  }
  return value;
}
