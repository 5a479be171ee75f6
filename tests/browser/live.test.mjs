// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";

import { samples } from "./fake_figures.mjs";
import {
  endedRun,
  eventually,
  feed,
  onPage,
  ratesAt,
  shownTotal,
  text,
  useBrowser,
} from "./support.mjs";

useBrowser();

const tile = (page, name) => page.locator(".tile", { hasText: name });
const tableCells = (page, id) =>
  page
    .locator(`#${id}-table tbody tr`)
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));

/** Pixels of the throughput chart that are not background, as a digest of what is drawn. */
const picture = (page) =>
  page.evaluate(() => document.querySelector("#throughput canvas")?.toDataURL() ?? null);

const running = { prepare: (fake) => fake.start({ threads: 4, seconds: 60 }), path: "#run=1" };

test(
  "the running run is followed, its lines move and its figures add up",
  onPage(
    async ({ fake, page }) => {
      const run = fake.runs.get("1");
      await feed(page, run, 5);
      const before = await eventually("a chart is drawn", () => picture(page));
      await feed(page, run, 5);
      await eventually("the lines have moved", async () => (await picture(page)) !== before);
      assert.equal(await page.locator("#throughput .legend-item").count(), 4);
      const fairness = await tile(page, "Fairness").locator(".tile-value").innerText();
      const sum = run.totals.reduce((a, b) => a + b, 0);
      const squares = run.totals.reduce((a, b) => a + b * b, 0);
      assert.equal(fairness, (sum ** 2 / (4 * squares)).toFixed(3));
      assert.match(await text(page, ".phase"), /^measuring, 1\.1.s of 60\.1.s$/);
      assert.match(await text(page, "#link"), /^live, 10 Hz$/);
    },
    { prepare: running.prepare },
  ),
);

test(
  "overlap is red and said in words",
  onPage(async ({ fake, page }) => {
    const run = fake.runs.get("1");
    await feed(page, run, 2);
    assert.equal(await tile(page, "Overlap").evaluate((t) => t.classList.contains("bad")), false);
    run.overlap = 1234;
    await feed(page, run, 1);
    await eventually("the tile is red", () =>
      tile(page, "Overlap").evaluate((t) => t.classList.contains("bad")),
    );
    assert.match(
      await tile(page, "Overlap").innerText(),
      /1.234\s+two threads were inside at once/,
    );
  }, running),
);

test(
  "wait and hold times are drawn with their percentiles",
  onPage(async ({ fake, page }) => {
    const run = fake.runs.get("1");
    await feed(page, run, 3);
    const [wait, hold] = [samples(1e6, 900, 1), samples(1e6, 230, 2)];
    run.hist(wait, hold);
    await eventually("the caption counts them", async () =>
      /1\.00.M values/.test(await text(page, "#hist-wait .unit")),
    );
    await page.locator("#hist-wait").scrollIntoViewIfNeeded();
    await page.waitForSelector("#hist-wait canvas");
    await eventually("the hidden table has them", async () => {
      const rows = await tableCells(page, "hist-wait");
      return rows.some(([name, value]) => name === "max" && value.length > 0);
    });
    const counts = (await tableCells(page, "hist-wait")).filter((row) => row.length === 3);
    const total = counts.reduce((sum, [, n]) => sum + Number(n.replace(/\D/g, "")), 0);
    assert.equal(total, wait.count, "the rows of the table add up to the count");
  }, running),
);

test(
  "Pause stops the drawing, not the receiving; Space resumes",
  onPage(async ({ fake, page }) => {
    const run = fake.runs.get("1");
    await feed(page, run, 5);
    await page.getByRole("button", { name: "Pause" }).click();
    await eventually("paused", async () => (await text(page, "#link")).startsWith("paused"));
    const [frozen, total] = [await picture(page), await shownTotal(page)];
    for (let k = 0; k < 10; k++) run.tick(ratesAt(run, run.seq));
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 400)));
    assert.equal(await picture(page), frozen);
    assert.equal(await shownTotal(page), total);
    assert.equal(run.clients.size, 1, "still connected");
    await page.locator("#main").focus();
    await page.keyboard.press("Space");
    await eventually(
      "all ten are there",
      async () => (await shownTotal(page)) === run.totals.reduce((a, b) => a + b, 0),
    );
    await page.keyboard.press("Space");
    await eventually("Space pauses too", async () =>
      (await text(page, "#link")).startsWith("paused"),
    );
  }, running),
);

test(
  "a run that ends while paused is shown after resuming",
  onPage(async ({ fake, page }) => {
    const run = fake.runs.get("1");
    await feed(page, run, 5);
    await page.getByRole("button", { name: "Pause" }).click();
    run.finish();
    await eventually("the end is said", async () => /has ended/.test(await text(page, "#link")));
    assert.equal(await page.locator("section[aria-label=Times]").isVisible(), false);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.locator("section[aria-label=Times]").waitFor();
  }, running),
);

test(
  "a paused page does not leave for a newer run",
  onPage(async ({ fake, page }) => {
    const run = fake.runs.get("1");
    await feed(page, run, 3);
    await page.getByRole("button", { name: "Pause" }).click();
    run.finish();
    const second = fake.start({ lock: "spin/none" });
    await eventually("it is listed", async () => (await page.locator(".runs a").count()) === 2);
    assert.equal(second.clients.size, 0);
    assert.equal(await text(page, ".run-title"), "spin/mcs");
    await page.getByRole("button", { name: "Resume" }).click();
    await eventually("now it is open", () => second.clients.size === 1);
  }, running),
);

test(
  "at the end the result document takes over",
  onPage(async ({ fake, page }) => {
    const run = fake.runs.get("1");
    await feed(page, run, 5);
    run.finish();
    await page.locator("section[aria-label=Times]").waitFor();
    assert.equal(await text(page, "#link"), "ended: complete");
    assert.equal(await text(page, ".phase"), "complete");
    const threads = await page.locator("section[aria-label=Threads] tbody tr").count();
    assert.equal(threads, 4);
    const perf = await page.locator("section[aria-label='perf events']").innerText();
    assert.match(perf, /cycles: not counted, this machine offers no hardware counters/);
    assert.equal(await page.getByRole("button", { name: "Stop run" }).isVisible(), false);
    await eventually("the list has its rate", async () =>
      /M\/s/.test(await text(page, ".runs .run-rate")),
    );
  }, running),
);

test(
  "Stop asks the server and a partial result is shown as such",
  onPage(async ({ fake, page }) => {
    await feed(page, fake.runs.get("1"), 3);
    await page.getByRole("button", { name: "Stop run" }).click();
    await eventually("the end", async () => (await text(page, "#link")) === "ended: interrupted");
    assert.ok(fake.requests.some((r) => r.method === "DELETE" && r.path === "runs/1"));
    assert.equal(await text(page, ".phase"), "ended early: interrupted");
  }, running),
);

test(
  "a lost connection is made again and leaves a gap, and replayed readings are not drawn twice",
  onPage(
    async ({ fake, page }) => {
      const run = fake.runs.get("1");
      await feed(page, run, 4);
      for (const client of run.clients) client.destroy();
      run.clients.clear();
      run.tick(ratesAt(run, 4)); // nobody hears it
      await feed(page, run, 4);
      await page.getByRole("button", { name: "Pause" }).click();
      const { t, y } = await page.evaluate(async () => {
        const { state } = await import("/state.js");
        return { t: state.data.series.t, y: state.data.series.y[0] };
      });
      assert.equal(y.filter((v) => v !== null).length, 8);
      assert.equal(y.filter((v) => v === null).length, 1, "one gap");
      assert.deepEqual(
        [...t].sort((a, b) => a - b),
        t,
        "time only grows",
      );
    },
    { ...running, allow: /ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION/ },
  ),
);

test(
  "a hidden page holds no connection and comes back from a fresh hello",
  onPage(async ({ fake, page }) => {
    const run = fake.runs.get("1");
    await feed(page, run, 3);
    const setHidden = (hidden) =>
      page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, hidden);
    await setHidden(true);
    await eventually("closed", () => run.clients.size === 0);
    await setHidden(false);
    await feed(page, run, 3);
  }, running),
);

test(
  "lines can be hidden, folded and zoomed, and the address keeps the view",
  onPage(async ({ fake, page }) => {
    const run = fake.runs.get("1");
    await feed(page, run, 6);
    await page.locator("#throughput .legend-item", { hasText: "T1" }).click();
    await page.locator("#throughput .legend-item", { hasText: "T3" }).click();
    await eventually("the address", () => new URL(page.url()).hash.includes("hide=1.3"));
    await page.getByLabel("Bins an octave").selectOption("4");
    await page.getByLabel("log share").check();
    await page.getByRole("button", { name: "Table of Throughput" }).click();
    await eventually("the table is seen", () =>
      page.locator("#throughput-table table").isVisible(),
    );
    const before = await picture(page);
    await page.getByRole("button", { name: "Zoom in" }).click();
    await eventually("another section", async () => (await picture(page)) !== before);
    const address = page.url();
    assert.match(address, /bins=4/);
    await page.goto("about:blank");
    await page.goto(address);
    await feed(page, run, 1);
    const pressed = await page
      .locator("#throughput .legend-item")
      .evaluateAll((items) => items.map((item) => item.getAttribute("aria-pressed")));
    assert.deepEqual(pressed, ["true", "false", "true", "false"]);
    assert.equal(await page.getByLabel("log share").isChecked(), true);
    await page.getByLabel("Lines", { exact: true }).selectOption("total");
    await eventually(
      "one line",
      async () => (await page.locator("#throughput .legend-item").count()) === 1,
    );
  }, running),
);

test(
  "a new run is followed, unless an older one was opened on purpose",
  onPage(
    async ({ fake, page }) => {
      const second = fake.start({ lock: "spin/none" });
      await eventually("the new run is open", () => second.clients.size === 1);
      await feed(page, second, 2);
      second.finish();
      await eventually("its end", async () => /ended/.test(await text(page, "#link")));
      await page.locator(".runs a", { hasText: "1: " }).click();
      await eventually(
        "the older one",
        async () => (await text(page, ".run-title")) === "spin/mcs",
      );
      const third = fake.start({});
      await eventually("it is listed", async () => (await page.locator(".runs a").count()) === 3);
      assert.equal(third.clients.size, 0);
      await page.getByLabel("Follow the newest run").check();
      await eventually("now it is open", () => third.clients.size === 1);
    },
    { prepare: (fake) => endedRun(fake), path: "#run=1" },
  ),
);

test(
  "a run that the server does not know is said to be unknown",
  onPage(
    async ({ page }) => {
      await eventually("the words", async () => /not known/.test(await text(page, "#link")));
    },
    { path: "#run=99", allow: /404/ },
  ),
);

test(
  "an hour at ten readings a second keeps 3600 points a thread",
  onPage(async ({ page }) => {
    const kept = await page.evaluate(async () => {
      const { Series, MAX_POINTS } = await import("/series.js");
      const series = new Series(2);
      let most = 0;
      for (let k = 0; k < 36000; k++) {
        series.push(k / 10, [k, 2 * k]);
        most = Math.max(most, series.t.length);
      }
      return {
        most,
        max: MAX_POINTS,
        last: series.y[1].at(-1),
        dropped: series.dropped + series.t.length,
      };
    });
    assert.ok(kept.most <= kept.max && kept.max === 3600);
    assert.equal(kept.last, 71998);
    assert.equal(kept.dropped, 36000);
  }),
);
