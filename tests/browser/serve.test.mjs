// SPDX-License-Identifier: MIT
// The whole of it: page, server, Python, C core and real threads.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch, openPage } from "./chrome.mjs";
import { startServer } from "./locklab.mjs";
import { eventually, text } from "./support.mjs";

let server, browser;
before(async () => {
  server = await startServer();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const inputOf = (page, label) => page.locator(`#form`).getByLabel(label, { exact: true });

async function start(page, { lock, seconds }) {
  await page.waitForSelector("#f-lock option", { state: "attached" });
  await page.selectOption("#f-lock", lock);
  await inputOf(page, "Threads").fill("2");
  await inputOf(page, "Seconds s").fill(String(seconds));
  await page.getByRole("button", { name: "Start run" }).click();
}

/** The points of the first thread that the page has. */
const points = (page) =>
  page.evaluate(async () => {
    const { state } = await import("/state.js");
    return state.data.series?.y[0].filter((v) => v !== null) ?? [];
  });

test("a run started from the page moves its lines and ends in the tables of its result", async () => {
  const { page, errors, close } = await openPage(browser, server.url);
  await start(page, { lock: "spin/ticket", seconds: 3 });
  await eventually("it is measured", async () => /^measuring/.test(await text(page, ".phase")));
  const drawn = () =>
    page.evaluate(() => document.querySelector("#throughput canvas")?.toDataURL() ?? null);
  const first = await eventually("a chart is drawn", drawn);
  const early = (await points(page)).length;
  await eventually("points arrive", async () => (await points(page)).length > early + 3);
  await eventually("the lines move", async () => (await drawn()) !== first);
  assert.match(await text(page, ".run-title"), /^spin\/ticket$/);
  await eventually("wait times are drawn", async () =>
    /values/.test(await text(page, "#hist-wait .unit")),
  );

  await page.locator("section[aria-label=Times]").waitFor({ timeout: 60000 });
  assert.equal(await text(page, "#link"), "ended: complete");
  assert.ok(
    (await points(page)).every((rate) => rate >= 0),
    "rates are numbers",
  );
  const doc = await page.evaluate(async () => (await fetch("/api/v1/runs/1")).json());
  assert.equal(doc.config.lock, "spin/ticket");
  assert.equal(doc.overlap, 0);
  const shown = await page
    .locator("section[aria-label=Threads] tbody tr")
    .evaluateAll((rows) => rows.map((row) => Number(row.cells[2].textContent.replace(/\D/g, ""))));
  assert.deepEqual(shown, doc.threads.acquisitions);
  assert.ok(shown.every((n) => n > 0));
  assert.deepEqual(errors, []);
  await close();
});

test("a refused parameter is shown at its field, a second run is refused, and Stop stops", async () => {
  const { page, errors, close } = await openPage(browser, server.url);
  await page.waitForSelector("#f-lock option", { state: "attached" });
  await inputOf(page, "section_ns ns").fill("-5");
  await page.getByRole("button", { name: "Start run" }).click();
  const error = page.locator("#f-params-workload-section_ns-error");
  await eventually("the error", async () => /section_ns/.test(await error.innerText()));
  await inputOf(page, "section_ns ns").fill("200");

  await start(page, { lock: "spin/none", seconds: 60 });
  await eventually("overlap is seen", async () =>
    /two threads were inside at once, as expected/.test(await text(page, ".tile.bad")),
  );
  await page.getByRole("button", { name: "Start run" }).click();
  await eventually("it is refused", async () => /under way/.test(await text(page, ".form-error")));
  await page.getByRole("button", { name: "Stop run" }).click();
  await eventually("the end", async () => (await text(page, "#link")) === "ended: interrupted");
  const refusals = errors.filter((line) => !/status of 4(09|22)/.test(line));
  assert.deepEqual(refusals, []);
  await close();
});
