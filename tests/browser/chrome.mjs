// SPDX-License-Identifier: MIT
// The system's Chromium, driven by playwright-core.

import { accessSync, constants } from "node:fs";
import { join } from "node:path";

import { chromium } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** Path of the first browser on PATH, or null. */
export function findChromium() {
  for (const name of NAMES) {
    for (const dir of (process.env.PATH ?? "").split(":")) {
      const path = join(dir || ".", name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // not here
      }
    }
  }
  return null;
}

export function launch() {
  return chromium.launch({
    executablePath: findChromium(),
    headless: true,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
}

/**
 * A page at `url`; `errors` collects what the console complains about, and requests that leave the
 * origin. `options` go to newContext (colorScheme, viewport, reducedMotion).
 */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, ...options });
  context.setDefaultTimeout(45000);
  const page = await context.newPage();
  const errors = [];
  const { origin } = new URL(url);
  page.on("pageerror", (error) => errors.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      errors.push(`${message.type()}: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) errors.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return { page, errors, close: () => context.close() };
}
