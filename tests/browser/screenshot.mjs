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
    pages.push([
      colorScheme,
      (await openPage(browser, server.url, { colorScheme, viewport })).page,
    ]);
  }
  const body = { lock, threads: Number(threads), seconds: SECONDS };
  const id = await pages[0][1].evaluate(async (wanted) => {
    const headers = { "Content-Type": "application/json" };
    const options = { method: "POST", headers, body: JSON.stringify(wanted) };
    return (await (await fetch("/api/v1/runs", options)).json()).id;
  }, body);
  for (const [, page] of pages) await page.goto(`${server.url}#run=${id}`);
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
