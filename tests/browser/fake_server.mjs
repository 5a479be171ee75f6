// SPDX-License-Identifier: MIT
// A stand-in for the server with the same API and made-up figures, for tests of the page that need
// to decide what arrives and when. On its own it plays runs in real time, to look at the page:
//     node tests/browser/fake_server.mjs [--no-uplot]

import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

import { resultDocument, UPPER } from "./fake_figures.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const STATIC = join(ROOT, "dashboard/static");
const UPLOT = join(ROOT, "node_modules/uplot/dist");
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css",
  ".js": "text/javascript",
  ".svg": "image/svg+xml",
};
const param = (name, unit, help, def, min, max) => ({
  name,
  unit,
  help,
  type: "uint",
  default: def,
  min,
  max,
  check: def,
  names: null,
});
const lock = (id, summary, extra = {}) => ({
  id,
  name: id.split("/")[1],
  family: id.split("/")[0],
  kind: "exclusive",
  summary,
  origin: "",
  engines: ["native"],
  claims: [],
  lock_size: 64,
  node_size: 64,
  has_try: true,
  has_until: false,
  lock_fields: [],
  node_fields: [],
  params: [],
  expect: {},
  ...extra,
});
export const LOCKS = [
  lock("host/pthread-mutex", "the C library's default mutex: waiters sleep at once"),
  lock("spin/mcs", "queue of nodes, each waiter spins on its own"),
  lock("spin/none", "does nothing", { claims: ["broken"] }),
  lock("spin/ttas-backoff", "ttas with bounded back-off", {
    params: [
      param("wait_min", "pauses", "first back-off", 4, 1, 65536),
      param("wait_max", "pauses", "longest back-off", 1024, 1, 65536),
    ],
  }),
];
export const WORKLOADS = [
  {
    id: "critical-section",
    summary: "acquire, work, release, think",
    origin: "",
    params: [
      param("section_ns", "ns", "work inside", 200, 0, 1000000),
      param("think_ns", "ns", "work outside", 400, 0, 1000000),
      param("lines", "lines", "shared lines written", 1, 0, 64),
      param("shared_pct", "%", "turns in shared mode", 0, 0, 100),
    ],
  },
];

export async function startFake({ uplot = true, port = 0 } = {}) {
  const fake = new Fake(uplot);
  const server = createServer((request, response) => fake.handle(request, response));
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  fake.url = `http://127.0.0.1:${server.address().port}/`;
  fake.close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return fake;
}

class Fake {
  constructor(uplot) {
    this.uplot = uplot;
    this.runs = new Map();
    this.requests = []; // {method, path, body} of the API, for assertions
    this.refusal = null; // the next POST answers with this problem
    this.onStart = null;
  }

  handle(request, response) {
    const { pathname } = new URL(request.url, this.url);
    response.setHeader("Content-Security-Policy", "default-src 'self'");
    response.setHeader("X-Content-Type-Options", "nosniff");
    if (pathname.startsWith("/api/v1/")) {
      let body = "";
      request.on("data", (chunk) => (body += chunk));
      request.on("end", () => this.api(request.method, pathname.slice(8), body, response));
    } else this.file(pathname === "/" ? "/index.html" : pathname, response);
  }

  file(pathname, response) {
    const name = normalize(pathname);
    let path = join(STATIC, name);
    if (name.startsWith("/uPlot.") && this.uplot) path = join(UPLOT, name);
    if (!existsSync(path))
      problem(response, { status: 404, title: "Not Found", detail: `no ${name}` });
    else {
      response.setHeader("Content-Type", TYPES[extname(path)]);
      response.end(readFileSync(path));
    }
  }

  api(method, path, body, response) {
    this.requests.push({ method, path, body: body ? JSON.parse(body) : null });
    const [kind, id, tail] = path.split("/");
    const run = this.runs.get(id);
    if (path === "locks") json(response, 200, { schema: "locklab.list/1", locks: LOCKS });
    else if (path === "workloads")
      json(response, 200, { schema: "locklab.list/1", workloads: WORKLOADS });
    else if (path === "runs" && method === "GET")
      json(response, 200, { runs: [...this.runs.values()].map(listed) });
    else if (path === "runs") this.post(JSON.parse(body), response);
    else if (kind !== "runs" || !run)
      problem(response, { status: 404, title: "Not Found", detail: `no run ${id}` });
    else if (tail === "stream") this.stream(run, response);
    else if (method === "DELETE") {
      run.finish("interrupted");
      json(response, 202, { id });
    } else json(response, 200, run.document ?? { id, status: run.status });
  }

  post(config, response) {
    const refusal = this.refusal;
    this.refusal = null;
    if (refusal) problem(response, refusal);
    else {
      const run = this.start(config);
      json(response, 201, { id: run.id });
      this.onStart?.(run);
    }
  }

  start(config) {
    const run = new FakeRun(String(this.runs.size + 1), {
      lock: "spin/mcs",
      workload: "critical-section",
      threads: 2,
      seconds: 1,
      repeat: 1,
      ...config,
    });
    this.runs.set(run.id, run);
    return run;
  }

  stream(run, response) {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write("retry: 200\n\n");
    const { lock: id, workload, threads, seconds, repeat } = run.config;
    write(response, "hello", {
      schema: "locklab.stream/1",
      run: run.id,
      lock: id,
      workload,
      threads,
      cpus: Array.from({ length: threads }, (_, i) => i % 8),
      rate_hz: 10,
      seconds,
      repeat,
      units: {},
      bucket_upper_ns: UPPER,
    });
    run.clients.add(response);
    response.on("close", () => run.clients.delete(response));
    if (run.ended) write(response, "end", run.ended);
  }
}

class FakeRun {
  constructor(id, config) {
    Object.assign(this, {
      id,
      config,
      status: "running",
      clients: new Set(),
      seq: 0,
      document: null,
    });
    this.totals = new Array(config.threads).fill(0);
    this.rates = [];
    this.overlap = 0;
  }

  send(name, data) {
    for (const client of this.clients) write(client, name, data);
  }

  /** One reading: rates by thread in 1/s. */
  tick(rates, more = {}) {
    const dt = 0.1;
    this.seq += 1;
    const t = this.seq * dt;
    rates.forEach((r, i) => (this.totals[i] += Math.round(r * dt)));
    this.rates.push(rates);
    this.send("tick", {
      seq: this.seq,
      t_s: t,
      dt_s: dt,
      elapsed_s: t + 0.1,
      expected_s: this.config.seconds * this.config.repeat + 0.1,
      phase: "measure",
      repeat: 0,
      acquisitions: this.totals,
      rate_per_s: rates,
      overlap: this.overlap,
      lost: 0,
      ...more,
    });
  }

  hist(wait, hold) {
    this.send("hist", { seq: this.seq, wait, hold });
  }

  finish(status = "complete") {
    this.status = status;
    this.document = resultDocument(this, status);
    this.ended = {
      status,
      acquisitions: this.totals.reduce((a, b) => a + b, 0),
      seconds: this.rates.length * 0.1,
      text: "",
    };
    this.send("end", this.ended);
    for (const client of this.clients) client.end();
  }
}

const listed = ({ id, status, config, document }) => ({
  id,
  status,
  lock: config.lock,
  workload: config.workload,
  threads: config.threads,
  seconds: config.seconds,
  rate_per_s: document?.total.rate_per_s ?? null,
});

function json(response, status, body, type = "application/json") {
  response.writeHead(status, { "Content-Type": type });
  response.end(JSON.stringify(body));
}

const problem = (response, body) =>
  json(response, body.status, { type: "about:blank", ...body }, "application/problem+json");

const write = (response, name, data) =>
  response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { play } = await import("./fake_figures.mjs");
  const fake = await startFake({ uplot: !process.argv.includes("--no-uplot"), port: 8123 });
  fake.onStart = play;
  console.log(fake.url);
}
