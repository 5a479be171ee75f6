// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { endedRun, eventually, feed, onPage, text, useBrowser } from "./support.mjs";

useBrowser();

const AXE = readFileSync(
  new URL("../../node_modules/axe-core/axe.min.js", import.meta.url),
  "utf8",
);
const running = { prepare: (fake) => fake.start({ threads: 4, seconds: 60 }), path: "#run=1" };
const ended = {
  prepare: (fake) => endedRun(fake, { threads: 4, lock: "spin/none" }),
  path: "#run=1",
};

async function assertAccessible(page) {
  await page.evaluate(AXE);
  const found = await page.evaluate(async () => {
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await window.axe.run({ runOnly: tags });
    return violations.flatMap((v) =>
      v.nodes.map((n) => `${v.id}: ${n.target}: ${n.failureSummary}`),
    );
  });
  assert.deepEqual(found, []);
}

for (const colorScheme of ["light", "dark"]) {
  test(
    `axe finds nothing: ${colorScheme}, no run yet`,
    onPage(
      async ({ page }) => {
        await page.waitForSelector("#f-lock option", { state: "attached" });
        await assertAccessible(page);
      },
      { colorScheme },
    ),
  );

  test(
    `axe finds nothing: ${colorScheme}, while a run goes on, with an error in the form`,
    onPage(
      async ({ fake, page }) => {
        await page.waitForSelector("#f-lock option", { state: "attached" });
        await feed(page, fake.runs.get("1"), 5);
        await page.getByLabel("Threads", { exact: true }).and(page.locator("input")).fill("");
        await page.getByRole("button", { name: "Start run" }).click();
        await eventually("the error", async () => (await text(page, "#f-threads-error")) !== "");
        await assertAccessible(page);
      },
      { ...running, colorScheme },
    ),
  );

  test(
    `axe finds nothing: ${colorScheme}, a result with overlap, tables and settings open`,
    onPage(
      async ({ page }) => {
        await page.locator("section[aria-label=Times]").waitFor();
        for (const button of await page.getByRole("button", { name: /^Table of/ }).all())
          await button.click();
        for (const summary of await page.locator("#result summary").all()) await summary.click();
        await page.locator("#throughput-table table").waitFor();
        await assertAccessible(page);
      },
      {
        ...ended,
        prepare: (fake) => (endedRun(fake, { threads: 4 }).document.overlap = 5),
        colorScheme,
      },
    ),
  );

  test(
    `text in the colours of the lines has a contrast of 4.5 to 1: ${colorScheme}`,
    onPage(
      async ({ page }) => {
        const poor = await page.evaluate(async () => {
          const { color } = await import("/palette.js");
          const luminance = (rgb) => {
            const [r, g, b] = rgb.match(/[\d.]+/g).map((v) => {
              const c = v / 255;
              return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
            });
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const contrast = (a, b) => {
            const [x, y] = [luminance(color(a)), luminance(color(b))].sort((p, q) => q - p);
            return (x + 0.05) / (y + 0.05);
          };
          const lines = Array.from({ length: 8 }, (_, i) => [`line-${i + 1}`, "panel", 4.5]);
          const rest = [
            ["text", "panel", 4.5],
            ["muted", "panel", 4.5],
            ["muted", "inset", 4.5],
            ["bad", "bad-ground", 4.5],
            ["edge", "panel", 3],
            ["accent", "panel", 3],
            ["heat-text-0", "heat-0", 4.5],
            ["heat-text-2", "heat-2", 4.5],
          ];
          return [...lines, ...rest]
            .filter(([a, b, least]) => contrast(a, b) < least)
            .map(([a, b]) => `${a} on ${b}: ${contrast(a, b).toFixed(2)}`);
        });
        assert.deepEqual(poor, []);
      },
      { colorScheme },
    ),
  );
}

test(
  "forty threads differ in the pair of colour and dash",
  onPage(async ({ page }) => {
    const styles = await page.evaluate(async () => {
      const { lineStyle } = await import("/palette.js");
      return Array.from({ length: 40 }, (_, i) => JSON.stringify(lineStyle(i)));
    });
    assert.equal(new Set(styles).size, 40);
  }),
);

test(
  "the theme follows the system until it is chosen, and the choice lasts",
  onPage(
    async ({ page }) => {
      const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const dark = await ground();
      const button = page.getByRole("button", { name: /^Theme/ });
      await button.click();
      await eventually("light", async () => (await button.innerText()) === "Theme: light");
      assert.notEqual(await ground(), dark);
      await page.reload();
      await eventually("still light", async () => (await button.innerText()) === "Theme: light");
      assert.notEqual(await ground(), dark);
    },
    { colorScheme: "dark" },
  ),
);

test(
  "the arrow keys move a cursor over a chart and what it reads is announced",
  onPage(async ({ fake, page }) => {
    await page.waitForSelector("#throughput canvas");
    const { series } = fake.runs.get("1").document;
    const announced = (words) =>
      eventually(String(words), async () =>
        words.test(await page.locator("#announce").textContent()),
      );
    await page.locator("#throughput .plot").focus();
    await page.keyboard.press("End");
    await announced(/^2\.0.s: T0 .*T3/);
    await page.keyboard.press("Home");
    await announced(/^0\.1.s: /);
    await page.keyboard.press("ArrowRight");
    await announced(/^0\.2.s: /);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const rate = (series.rate_per_s[1][1] / 1e6).toFixed(2);
    await announced(new RegExp(`^0\\.2.s: T1 ${rate.replace(".", "\\.")}.M/s$`));
    assert.equal(await text(page, "#throughput .readout"), "at 0.20 s");
    await page.keyboard.press("Escape");
    await eventually(
      "the cursor is gone",
      async () => (await text(page, "#throughput .readout")) === "",
    );
    await page.locator("#hist-wait .plot").focus();
    await page.waitForSelector("#hist-wait canvas");
    await page.keyboard.press("Home");
    await announced(/ns to .*ns: .*%/);
    await page.locator("#matrix canvas").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await announced(/^from cpu 1 to cpu 0: /);
  }, ended),
);

test(
  "every control is reached by Tab and shows the focus",
  onPage(async ({ page }) => {
    await page.locator("section[aria-label=Times]").waitFor();
    const wanted = await page.evaluate(() => {
      const all = "a[href], button, input, select, summary, [tabindex='0']";
      return [...document.querySelectorAll(all)].filter((e) => e.checkVisibility() && !e.disabled)
        .length;
    });
    const seen = new Set();
    const unmarked = [];
    for (let k = 0; k < wanted + 5; k++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const e = document.activeElement;
        if (e === document.body) return null;
        e.dataset.tabbed ??= String(Math.random());
        const style = getComputedStyle(e);
        return {
          key: e.dataset.tabbed,
          marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
          what: e.outerHTML.slice(0, 80),
        };
      });
      if (at === null) continue;
      seen.add(at.key);
      if (!at.marked) unmarked.push(at.what);
    }
    assert.deepEqual(unmarked, []);
    assert.ok(seen.size >= wanted, `${seen.size} of ${wanted} controls reached`);
  }, ended),
);

test(
  "targets are at least 24 pixels high and wide",
  onPage(async ({ page }) => {
    await page.locator("section[aria-label=Times]").waitFor();
    const small = await page.evaluate(() => {
      const targets = [
        ...document.querySelectorAll("a[href], button, select, summary, input, label.check"),
      ];
      return targets
        .filter((e) => e.checkVisibility() && !e.matches(".skip, label.check input"))
        .flatMap((e) => {
          const { width, height } = e.getBoundingClientRect();
          return width >= 24 && height >= 24
            ? []
            : [`${e.outerHTML.slice(0, 70)}: ${width} x ${height}`];
        });
    });
    assert.deepEqual(small, []);
  }, ended),
);

test(
  "each figure has a name and the same data as a table, in the accessibility tree",
  onPage(async ({ page }) => {
    await page.locator("section[aria-label=Times]").waitFor();
    for (const name of ["Throughput", "Wait", "Hold", "Hand-off", "Hand-off matrix"]) {
      const figure = page.getByRole("figure", { name, exact: true });
      assert.equal(await figure.count(), 1, name);
      assert.ok((await figure.getByRole("table").count()) >= 1, `${name} has a table`);
    }
    const rows = await page.locator("#throughput-table tbody tr").count();
    assert.ok(rows > 5 && rows <= 12, `${rows} rows`);
  }, ended),
);

for (const [reducedMotion, period] of [
  ["no-preference", 100],
  ["reduce", 1000],
]) {
  test(
    `arriving figures are drawn at most every ${period} ms with motion ${reducedMotion}`,
    onPage(
      async ({ fake, page }) => {
        const run = fake.runs.get("1");
        await feed(page, run, 1);
        await page.evaluate(() => {
          window.changes = [];
          const value = document.querySelector(".tile-value").closest("dl");
          new MutationObserver(() => window.changes.push(performance.now())).observe(value, {
            subtree: true,
            childList: true,
            characterData: true,
          });
        });
        for (let k = 0; k < 30; k++) {
          run.tick([1e6 + k, 1e6, 1e6, 1e6]);
          await new Promise((resolve) => setTimeout(resolve, 40));
        }
        const changes = await page.evaluate(() => window.changes);
        // Between the first and the last of n drawings lie n - 1 periods; one is let go as slack.
        const elapsed = changes.at(-1) - changes[0];
        assert.ok(changes.length >= 1, "something was drawn");
        assert.ok((changes.length - 2) * period <= elapsed, `${changes.length} in ${elapsed} ms`);
      },
      { ...running, reducedMotion },
    ),
  );
}

test(
  "nothing is cut off at 360 pixels",
  onPage(
    async ({ page }) => {
      await page.locator("section[aria-label=Times]").waitFor();
      const [inner, outer] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        innerWidth,
      ]);
      assert.equal(inner, outer);
      const over = await page.evaluate(() =>
        [...document.querySelectorAll("button, input, select, h2, .tile-value")]
          .filter(
            (e) =>
              e.checkVisibility() &&
              !e.closest(".scroll, .sr-only") &&
              e.getBoundingClientRect().right > innerWidth,
          )
          .map((e) => e.outerHTML.slice(0, 80)),
      );
      assert.deepEqual(over, []);
    },
    { ...ended, viewport: { width: 360, height: 740 } },
  ),
);
