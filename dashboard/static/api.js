// SPDX-License-Identifier: MIT
// Requests to this server. Failures are `Problem`s, with the members of RFC 9457.

export class Problem extends Error {
  constructor(members) {
    super(members.detail || members.title || `HTTP status ${members.status}`);
    this.status = members.status ?? 0;
    this.title = members.title ?? "";
    this.detail = members.detail ?? "";
    this.field = members.field ?? null;
  }
}

export async function request(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method,
      cache: "no-store",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Problem({
      title: "the server does not answer",
      detail: "The server does not answer.",
    });
  }
  const type = response.headers.get("Content-Type") ?? "";
  const json = /[/+]json\b/.test(type);
  const answer = json ? await response.json().catch(() => null) : null;
  if (response.ok) {
    if (answer === null && response.status !== 204 && response.status !== 202) {
      throw new Problem({ title: `${path} did not answer with JSON`, status: response.status });
    }
    return answer;
  }
  if (response.status === 401) {
    throw new Problem({
      status: 401,
      title: "A token is needed",
      detail: "This server asks for its token: open the address that it printed, with ?token=...",
    });
  }
  throw new Problem({ title: response.statusText, ...(answer ?? {}), status: response.status });
}

const API = "/api/v1";
const list = (answer, key) => (Array.isArray(answer) ? answer : answer[key]);

export const getLocks = async () => list(await request("GET", `${API}/locks`), "locks");
export const getWorkloads = async () => list(await request("GET", `${API}/workloads`), "workloads");
export const getRuns = async () => list(await request("GET", `${API}/runs`), "runs");
export const runPath = (id) => `${API}/runs/${encodeURIComponent(id)}`;
export const getRun = (id) => request("GET", runPath(id));
export const startRun = (body) => request("POST", `${API}/runs`, body);
export const stopRun = (id) => request("DELETE", runPath(id));
