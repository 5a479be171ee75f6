// SPDX-License-Identifier: MIT
// Elements without a framework. No `style` attributes anywhere: the content policy forbids them.

export const $ = (id) => document.getElementById(id);

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "line"]);

/** An element. A key `onX` adds a listener, false, null and undefined leave an attribute out. */
export function h(tag, attrs = {}, ...children) {
  const node = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attrs)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(
    ...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false),
  );
  return node;
}

/** Set the text only if it differs: screen readers and layout hear of real changes alone. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttr(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

let announced = 0;
let pending = null;

/** Say something to screen readers, at most twice a second; the last text wins. */
export function announce(text) {
  clearTimeout(pending);
  pending = setTimeout(
    () => {
      announced = performance.now();
      setText($("announce"), text);
    },
    Math.max(0, announced + 500 - performance.now()),
  );
}

/**
 * A table. `columns` are {title, unit?, number?}, `rows` arrays of strings (or nodes), the first
 * cell of a row is its header.
 */
export function table(caption, columns, rows, attrs = {}) {
  const heading = (c) =>
    h(
      "th",
      { scope: "col", class: c.number ? "number" : null },
      c.title,
      c.unit ? h("span", { class: "unit" }, ` ${c.unit}`) : null,
    );
  const cell = (value, j) => {
    const attr = { class: columns[j].number ? "number" : null };
    return j === 0 ? h("th", { scope: "row", ...attr }, value) : h("td", attr, value);
  };
  return h(
    "table",
    attrs,
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, columns.map(heading))),
    h(
      "tbody",
      {},
      rows.map((row) => h("tr", {}, row.map(cell))),
    ),
  );
}

/** A box that scrolls by keyboard too. */
export const scroller = (label, node) =>
  h("div", { class: "scroll", role: "group", "aria-label": label, tabindex: "0" }, node);
