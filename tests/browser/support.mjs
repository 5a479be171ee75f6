// SPDX-License-Identifier: MIT
// What the tests of the page share: one browser a file, waiting for a condition, a page on a fake
// server whose console must stay clean.

import assert from "node:assert/strict";
import { after, before } from "node:test";

import { launch, openPage } from "./chrome.mjs";
import { startFake } from "./fake_server.mjs";

const PATIENCE_MS = 45000;
let browser = null;

/** To be called once a file. */
export function useBrowser() {
  before(async () => {
    browser = await launch();
  });
  after(() => browser.close());
}

/** Wait until `check` gives something true and return it; `what` names it if it never comes. */
export async function eventually(what, check) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > deadline) assert.fail(`never happened: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/**
 * A test body: `body({fake, page, context})` with a page at `path`. `prepare(fake)` comes first.
 * Complaints of the console fail the test, but for those that match `allow`.
 */
export function onPage(body, { path = "", prepare, fake: options, allow, ...context } = {}) {
  return async () => {
    const fake = await startFake(options);
    prepare?.(fake);
    const opened = await openPage(browser, fake.url + path, context);
    try {
      await opened.page.waitForSelector("#boot", { state: "detached" });
      await body({ fake, page: opened.page });
      const complaints = opened.errors.filter((text) => !allow?.test(text));
      assert.deepEqual(complaints, [], "the console and the network are quiet");
    } catch (error) {
      if (opened.errors.length) error.message += `\nthe page: ${opened.errors.join("\n  ")}`;
      throw error;
    } finally {
      await opened.close();
      await fake.close();
    }
  };
}

export const text = (page, selector) => page.locator(selector).first().innerText();

/** A run of the fake server that has ended after `ticks` readings. */
export function endedRun(fake, config = {}, ticks = 20) {
  const run = fake.start(config);
  for (let k = 0; k < ticks; k++) run.tick(ratesAt(run, k));
  run.finish();
  return run;
}

/** Rates of reading `k`: different by thread, moving in time. */
export const ratesAt = (run, k) =>
  run.config.threads === 1
    ? [1e6]
    : Array.from(
        { length: run.config.threads },
        (_, i) => 1e6 + 2e5 * i + 1e5 * Math.sin(k / 3 + i),
      );

/** Send `n` readings and wait until the page has drawn the last one. */
export async function feed(page, run, n) {
  await eventually("the stream is open", () => run.clients.size > 0);
  for (let k = 0; k < n; k++) run.tick(ratesAt(run, run.seq));
  const total = run.totals.reduce((a, b) => a + b, 0);
  await eventually("the newest figures are shown", async () => (await shownTotal(page)) === total);
}

/** The number of acquisitions in the headline. */
export const shownTotal = (page) =>
  page
    .locator(".tile", { hasText: "Acquisitions" })
    .locator(".tile-value")
    .innerText()
    .then((s) => Number(s.replace(/\D/g, "")));
