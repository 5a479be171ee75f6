// SPDX-License-Identifier: MIT
// Pictures of the page for the README, from a real run on this machine:
//     node tests/browser/screenshot.mjs [LOCK] [THREADS]
// writes docs/img/page-light.png and page-dark.png.

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { launch, openPage } from "./chrome.mjs";
import { startServer } from "./locklab.mjs";

const [lock = "spin/ticket", threads = "2"] = process.argv.slice(2);
const SECONDS = 12;
const out = fileURLToPath(new URL("../../docs/img/", import.meta.url));
mkdirSync(out, { recursive: true });

const server = await startServer();
const browser = await launch();
try {
  const pages = [];
  for (const colorScheme of ["light", "dark"]) {
    const viewport = { width: 1440, height: 1080 };
    const { page } = await openPage(browser, server.url, { colorScheme, viewport });
    await page.waitForSelector("#f-lock option", { state: "attached" });
    await page.selectOption("#f-lock", lock);
    await page.fill("#f-threads", threads);
    await page.fill("#f-seconds", String(SECONDS));
    pages.push([colorScheme, page]);
  }
  const [, first] = pages[0];
  await first.getByRole("button", { name: "Start run" }).click();
  await first.waitForURL(/run=/);
  const { hash } = new URL(first.url());
  for (const [, page] of pages) {
    await page.evaluate((run) => {
      location.hash = run;
      document.activeElement.blur();
    }, hash);
    await page.mouse.move(0, 0);
  }
  for (const [name, page] of pages) {
    await page.waitForFunction(
      (least) => Number(document.querySelector("progress")?.value) > least,
      0.8,
      { timeout: 60000 },
    );
    await page.screenshot({ path: `${out}page-${name}.png` });
    console.log(`docs/img/page-${name}.png`);
  }
} finally {
  await browser.close();
  await server.stop();
}
