// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";

import { eventually, onPage, text, useBrowser } from "./support.mjs";

useBrowser();

const post = (fake) => fake.requests.find((r) => r.method === "POST")?.body;
const ready = (page) => page.waitForSelector("#f-lock option", { state: "attached" });

test(
  "locks stand in groups by family and what a lock is stands below",
  onPage(async ({ page }) => {
    await ready(page);
    const groups = await page.locator("#f-lock optgroup").evaluateAll((g) => g.map((x) => x.label));
    assert.deepEqual(groups, ["host", "spin"]);
    await page.selectOption("#f-lock", "spin/none");
    await eventually("the warning", async () =>
      (await text(page, "#f-lock-note")).includes("does not exclude, on purpose"),
    );
  }),
);

test(
  "parameters of the chosen lock appear with unit, range and default",
  onPage(async ({ page }) => {
    await ready(page);
    assert.equal(await page.locator("#f-params-lock-wait_min").count(), 0);
    await page.selectOption("#f-lock", "spin/ttas-backoff");
    const input = page.getByLabel("wait_min pauses");
    await input.waitFor();
    assert.equal(await input.inputValue(), "4");
    assert.deepEqual(await input.evaluate((i) => [i.min, i.max, i.step]), ["1", "65536", "1"]);
    const note = await text(page, "#f-params-lock-wait_min-note");
    assert.match(note, /first back-off; 1 to 65.536, default 4/);
  }),
);

test(
  "a run starts with the names of locklab.run and only the parameters that were changed",
  onPage(async ({ fake, page }) => {
    await ready(page);
    await page.selectOption("#f-lock", "spin/ttas-backoff");
    await page.getByLabel("Threads", { exact: true }).and(page.locator("input")).fill("4");
    await page.getByLabel("Seconds").fill("2.5");
    await page.getByLabel("think_ns").fill("0");
    await page.getByLabel("Placement").fill("scatter");
    await page.getByRole("button", { name: "Start run" }).click();
    await eventually("the request", () => post(fake));
    assert.deepEqual(post(fake), {
      lock: "spin/ttas-backoff",
      workload: "critical-section",
      threads: 4,
      seconds: 2.5,
      repeat: 1,
      place: "scatter",
      metrics: "full",
      params: { think_ns: 0 },
    });
    await eventually("the page follows the run", () => fake.runs.get("1").clients.size === 1);
    await eventually("the address", () => new URL(page.url()).hash.includes("run=1"));
  }),
);

test(
  "a seed is sent if it is given",
  onPage(async ({ fake, page }) => {
    await ready(page);
    await page.getByLabel("Seed").fill("7");
    await page.keyboard.press("Enter");
    await eventually("the request", () => post(fake));
    assert.equal(post(fake).seed, 7);
    assert.equal("params" in post(fake), false);
  }),
);

const refused = /status of 4(09|22)/;

test(
  "an error of the server stands at the field that it names, and the field has the focus",
  onPage(
    async ({ fake, page }) => {
      await ready(page);
      fake.refusal = {
        status: 422,
        title: "Cannot run this",
        field: "think_ns",
        detail: "think_ns=-1 asked, 0 to 1000000 allowed",
      };
      await page.getByLabel("think_ns").fill("-1");
      await page.getByRole("button", { name: "Start run" }).click();
      const error = page.locator("#f-params-workload-think_ns-error");
      await eventually(
        "the error",
        async () => (await error.innerText()) === "think_ns=-1 asked, 0 to 1000000 allowed",
      );
      const input = page.getByLabel("think_ns");
      assert.equal(await input.getAttribute("aria-invalid"), "true");
      assert.match(await input.getAttribute("aria-describedby"), /think_ns-error/);
      assert.equal(await input.evaluate((i) => i === document.activeElement), true);
      await page.getByRole("button", { name: "Start run" }).click();
      await eventually(
        "it goes away with the next attempt",
        async () => (await input.getAttribute("aria-invalid")) === null,
      );
    },
    { allow: refused },
  ),
);

test(
  "an error without a field stands at the button",
  onPage(
    async ({ fake, page }) => {
      await ready(page);
      fake.refusal = { status: 422, title: "Cannot run this", detail: "this host has one CPU" };
      await page.getByRole("button", { name: "Start run" }).click();
      await eventually(
        "the error",
        async () => (await text(page, ".form-error")) === "Cannot run this. this host has one CPU",
      );
    },
    { allow: refused },
  ),
);

test(
  "while a run is under way the refusal links to it",
  onPage(
    async ({ fake, page }) => {
      await ready(page);
      await page.getByLabel("Follow the newest run").uncheck();
      fake.start({});
      fake.refusal = { status: 409, title: "Busy", detail: "run 1 is under way" };
      await page.getByRole("button", { name: "Start run" }).click();
      await page.getByRole("link", { name: "Show run 1" }).click();
      await eventually("its stream", () => fake.runs.get("1").clients.size === 1);
    },
    { allow: refused },
  ),
);

test(
  "what is no number is refused before anything is sent",
  onPage(async ({ fake, page }) => {
    await ready(page);
    await page.getByLabel("Threads", { exact: true }).and(page.locator("input")).fill("");
    await page.getByRole("button", { name: "Start run" }).click();
    await eventually(
      "the error",
      async () => (await text(page, "#f-threads-error")) === "Threads: a number is needed.",
    );
    assert.equal(post(fake), undefined);
  }),
);

test(
  "the form comes back as it was last sent",
  onPage(async ({ fake, page }) => {
    await ready(page);
    await page.selectOption("#f-lock", "host/pthread-mutex");
    await page.getByLabel("Threads", { exact: true }).and(page.locator("input")).fill("3");
    await page.getByRole("button", { name: "Start run" }).click();
    await eventually("the request", () => post(fake));
    await eventually("it is kept", () => page.evaluate(() => localStorage["locklab.form"]));
    await page.reload();
    await ready(page);
    await eventually(
      "the values",
      async () =>
        (await page
          .getByLabel("Threads", { exact: true })
          .and(page.locator("input"))
          .inputValue()) === "3" &&
        (await page.locator("#f-lock").inputValue()) === "host/pthread-mutex",
    );
  }),
);
