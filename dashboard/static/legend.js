// SPDX-License-Identifier: MIT
// The names, looks and values of lines; for lines of threads also the switches that hide them.

import { h, setAttr, setText } from "./dom.js";
import { count, rate } from "./format.js";

const MAX_ITEMS = 64;

const swatch = ({ name, dash }) =>
  h(
    "svg",
    { width: 28, height: 8, "aria-hidden": "true" },
    h("line", { x1: 0, y1: 4, x2: 28, y2: 4, class: name, "stroke-dasharray": dash.join(" ") }),
  );

export class Legend {
  /** `onToggle(i)`: line i is to be shown or hidden. */
  constructor(onToggle) {
    this.onToggle = onToggle;
    this.root = h("div", { class: "legend", role: "group", "aria-label": "Lines shown" });
    this.key = null;
  }

  /** Values of the point `at`; `isHidden` null: lines that cannot be hidden. */
  update(lines, at, isHidden) {
    const key = lines.map((l) => `${l.text}|${l.detail}`).join();
    if (key !== this.key) {
      this.key = key;
      this.root.replaceChildren(...this.build(lines, isHidden !== null));
    }
    if (lines.length > MAX_ITEMS) return;
    lines.forEach((line, k) => {
      const item = this.root.children[k];
      setText(item.lastChild, rate(line.column[at]));
      if (isHidden) setAttr(item, "aria-pressed", !isHidden(line));
    });
  }

  build(lines, canHide) {
    if (lines.length > MAX_ITEMS) {
      const text = `${count(lines.length)} lines are not listed here, but in the table of threads.`;
      return [h("p", {}, text)];
    }
    return lines.map((line) => {
      const parts = [
        swatch(line.style),
        h("span", { class: "legend-name" }, line.text),
        h("span", { class: "legend-detail" }, line.detail),
        h("span", { class: "legend-value" }),
      ];
      if (!canHide) return h("span", { class: "legend-item" }, parts);
      const onclick = () => this.onToggle(line.i);
      return h("button", { type: "button", class: "legend-item", onclick }, parts);
    });
  }
}
