// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";

import { endedRun, eventually, onPage, text, useBrowser } from "./support.mjs";

useBrowser();

const ended = (fake) => endedRun(fake, { threads: 3, lock: "host/pthread-mutex" });
const asFile = (doc, name = "saved.json") => ({
  name,
  mimeType: "application/json",
  buffer: Buffer.from(typeof doc === "string" ? doc : JSON.stringify(doc)),
});
const pick = (page, file) => page.setInputFiles("#file-input", file);

async function assertWholeDocument(page, doc) {
  await page.locator("section[aria-label=Times]").waitFor();
  assert.equal(await text(page, ".run-title"), doc.config.lock);
  const cells = await page
    .locator("section[aria-label=Threads] tbody tr")
    .evaluateAll((rows) => rows.map((row) => row.cells[2].textContent.replace(/\D/g, "")));
  assert.deepEqual(cells.map(Number), doc.threads.acquisitions);
  for (const id of ["throughput", "hist-wait", "hist-hold", "hist-handoff"]) {
    await page.locator(`#${id}`).scrollIntoViewIfNeeded();
    await page.waitForSelector(`#${id} canvas`);
  }
  await page.locator("#matrix canvas").scrollIntoViewIfNeeded();
  const sum = await page
    .locator("#matrix-table td")
    .evaluateAll((tds) =>
      tds.reduce((total, td) => total + Number(td.textContent.replace(/\D/g, "")), 0),
    );
  assert.equal(
    sum,
    doc.handoff_matrix.count.flat().reduce((a, b) => a + b, 0),
  );
  const times = await page.locator("section[aria-label=Times]").innerText();
  assert.match(times, /Wake-up: not measured, waiters of this lock never sleep\./);
}

test(
  "a file from the picker shows all that the document states",
  onPage(
    async ({ fake, page }) => {
      const doc = fake.runs.get("1").document;
      await pick(page, asFile(doc));
      await assertWholeDocument(page, doc);
      assert.equal(await text(page, "#link"), "saved result saved.json");
    },
    { prepare: ended },
  ),
);

test(
  "a file dropped on the page is read",
  onPage(
    async ({ fake, page }) => {
      const doc = fake.runs.get("1").document;
      await page.evaluate((content) => {
        const data = new DataTransfer();
        data.items.add(new File([content], "dropped.json", { type: "application/json" }));
        for (const type of ["dragover", "drop"]) {
          document.dispatchEvent(
            new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }),
          );
        }
      }, JSON.stringify(doc));
      await assertWholeDocument(page, doc);
      assert.equal(await page.evaluate(() => document.body.classList.contains("dropping")), false);
    },
    { prepare: ended },
  ),
);

test(
  "?file= reads a document of this server",
  onPage(
    async ({ fake, page }) => {
      await assertWholeDocument(page, fake.runs.get("1").document);
    },
    { prepare: ended, path: "?file=/api/v1/runs/1" },
  ),
);

for (const path of [
  "//evil.example/x.json",
  "http://evil.example/x.json",
  "/\\evil.example/x",
  "x.json",
]) {
  test(
    `?file=${path} is refused without a request`,
    onPage(
      async ({ page }) => {
        await eventually("the words", async () =>
          /is no path of this server/.test(await text(page, "#file-error")),
        );
      },
      { path: `?file=${encodeURIComponent(path)}` },
    ),
  );
}

for (const [what, file, words] of [
  ["no JSON", asFile("{"), /cannot be read as JSON/],
  ["another schema", asFile({ schema: "locklab.check/1" }), /its schema is "locklab.check\/1"/],
  ["a list", asFile([1]), /not a JSON object/],
  [
    "half a document",
    asFile({ schema: "locklab.run/1", config: {}, total: {} }),
    /it has no "threads"/,
  ],
]) {
  test(
    `${what} is refused with the reason and the page stays as it was`,
    onPage(
      async ({ page }) => {
        await pick(page, file);
        await eventually("the words", async () => words.test(await text(page, "#file-error")));
        assert.equal(await text(page, ".run-title"), "host/pthread-mutex");
      },
      { prepare: ended, path: "#run=1" },
    ),
  );
}

test(
  "a result without times says why in the place of the charts",
  onPage(
    async ({ fake, page }) => {
      const reason = "--metrics events reads no clocks";
      const doc = structuredClone(fake.runs.get("1").document);
      Object.assign(doc, {
        wait_ns: null,
        hold_ns: null,
        handoff_ns: null,
        handoff_matrix: null,
        overlap: null,
      });
      doc.reasons = { wait_ns: reason, hold_ns: reason, handoff_ns: reason, wake_ns: reason };
      doc.series = { t_s: [], rate_per_s: [] };
      doc.threads.wait_max_ns = null;
      await pick(page, asFile(doc));
      await eventually(
        "the reason",
        async () => (await text(page, "#hist-wait .chart-note")) === `Not measured: ${reason}`,
      );
      assert.equal(await text(page, "#throughput .chart-note"), "This result has no series.");
      assert.equal(await page.locator("#matrix").isVisible(), false);
      const overlap = page.locator(".tile", { hasText: "Overlap" });
      assert.match(await overlap.innerText(), /not checked/);
    },
    { prepare: ended },
  ),
);

test(
  "a hung run says so and who waited where",
  onPage(
    async ({ fake, page }) => {
      const doc = structuredClone(fake.runs.get("1").document);
      doc.status = "interrupted";
      doc.failure = { kind: "hung", text: "nobody acquired the lock for 5 s" };
      doc.waiters = [
        {
          thread: 1,
          cpu: 1,
          state: "waiting",
          object: "lock",
          field: "tail",
          file: "clib/locks/spin/mcs.c",
          line: 61,
          since_s: 5.2,
        },
      ];
      await pick(page, asFile(doc));
      await eventually(
        "the failure",
        async () => (await text(page, ".failure")) === doc.failure.text,
      );
      assert.match(
        await page.locator("section[aria-label='Who waited where']").innerText(),
        /T1\s+1\s+waiting\s+lock\.tail\s+clib\/locks\/spin\/mcs\.c:61/,
      );
    },
    { prepare: ended },
  ),
);

test(
  "without uPlot the page says what is missing and shows tables",
  onPage(
    async ({ fake, page }) => {
      const note = await text(page, "#no-charts");
      assert.match(note, /made without uPlot/);
      assert.match(note, /make build/);
      await page.locator("section[aria-label=Times]").waitFor();
      const rows = page.locator("#throughput-table tbody tr");
      await eventually("a table in sight", () => rows.first().isVisible());
      const newest = fake.runs.get("1").document.series.t_s.at(-1).toFixed(2);
      assert.equal(await rows.last().locator("th").innerText(), newest);
      assert.equal(await page.locator("#hist-wait-table table").first().isVisible(), true);
    },
    { prepare: ended, path: "#run=1", fake: { uplot: false }, allow: /uPlot|404/ },
  ),
);
