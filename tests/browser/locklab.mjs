// SPDX-License-Identifier: MIT
// `locklab serve` as a child process. LOCKLAB_PYTHON names the interpreter that has locklab.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const VENV = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));

/** {url, stop}: the server has printed its URL. */
export function startServer() {
  const python = process.env.LOCKLAB_PYTHON ?? (existsSync(VENV) ? VENV : "python3");
  const child = spawn(python, ["-m", "locklab", "serve", "--port", "0"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  let [out, complaints] = ["", ""];
  child.stderr.on("data", (data) => (complaints += data));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    ended.then((code) => reject(new Error(`locklab serve ended with ${code}: ${complaints}`)));
    child.stdout.on("data", (data) => {
      out += data;
      const url = /^(http:\/\/\S+)\n/m.exec(out)?.[1];
      if (!url) return;
      const stop = () => {
        child.kill("SIGTERM");
        return ended;
      };
      resolve({ url, stop });
    });
  });
}
