// SPDX-License-Identifier: MIT
// Figures as text: three significant digits, SI prefixes, units always written.

const PREFIXES = ["", "k", "M", "G", "T", "P"];
export const NOTHING = "\u2013";
const SPACE = "\u202f"; // narrow no-break space: a number and its unit stay together

const isNumber = (v) => typeof v === "number" && Number.isFinite(v);

/** Three significant digits of a value below 1000. */
function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

/** 12300000, "/s" -> "12.3 M/s" */
export function si(value, unit = "") {
  if (!isNumber(value)) return NOTHING;
  let power = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 999.5 && power < PREFIXES.length - 1) {
    scaled /= 1000;
    power += 1;
  }
  const tail = PREFIXES[power] + unit;
  const whole = power === 0 && Number.isInteger(scaled);
  return (whole ? String(scaled) : digits(scaled)) + (tail ? SPACE + tail : "");
}

/** Labels of an axis: one prefix and one number of decimals for all. */
export function axisLabels(splits, unit = "") {
  const most = Math.max(...splits.map(Math.abs));
  const power =
    most > 0 ? Math.min(PREFIXES.length - 1, Math.max(0, Math.floor(Math.log10(most) / 3))) : 0;
  const scaled = splits.map((v) => v / 1000 ** power);
  const step = splits.length > 1 ? Math.abs(scaled[1] - scaled[0]) : 1;
  const places = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const exact = step.toFixed(places) * 1 === Number(step.toPrecision(6)) ? places : places + 1;
  const tail = PREFIXES[power] + unit;
  return scaled.map((v) => (v === 0 ? "0" : v.toFixed(exact) + (tail ? SPACE + tail : "")));
}

export const SUPER = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

/** Label of a logarithmic axis of shares: 0.01 -> "1 %", 1e-6 -> "10^-4 %", exponent raised. */
export function logPercentLabel(share) {
  const power = Math.round(Math.log10(share)) + 2;
  if (power >= -2) return `${10 ** power}${SPACE}%`;
  return `10\u207b${[...String(-power)].map((d) => SUPER[d]).join("")}${SPACE}%`;
}

/** A ratio that may be very small: three significant digits. */
export function small(v) {
  if (!isNumber(v)) return NOTHING;
  if (v === 0 || v >= 0.001) return v === 0 ? "0" : String(Number(v.toPrecision(3)));
  return v.toExponential(1);
}

export const rate = (value) => si(value, "/s");

/** Nanoseconds -> "212 ns", "1.24 µs", "3.1 ms", "2.0 s" */
export function duration(ns) {
  if (!isNumber(ns)) return NOTHING;
  for (const [unit, size] of [
    ["s", 1e9],
    ["ms", 1e6],
    ["µs", 1e3],
  ]) {
    if (ns >= size * 0.9995) return digits(ns / size) + SPACE + unit;
  }
  return (Number.isInteger(ns) ? String(ns) : digits(ns)) + SPACE + "ns";
}

/** 1234567 -> "1 234 567" */
export function count(value) {
  if (!isNumber(value)) return NOTHING;
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, SPACE);
}

export function percent(share) {
  if (!isNumber(share)) return NOTHING;
  const p = share * 100;
  const text = p === 0 ? "0" : p < 0.01 ? p.toExponential(1) : digits(p);
  return text + SPACE + "%";
}

export const seconds = (s) => (isNumber(s) ? (s > 0 && s < 0.095 ? digits(s) : s.toFixed(s < 100 ? 1 : 0)) + SPACE + "s" : NOTHING);

export const ratio = (v, places = 3) => (isNumber(v) ? v.toFixed(places) : NOTHING);

export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
