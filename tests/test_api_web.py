# SPDX-License-Identifier: MIT
"""The HTTP interface: what each route answers, through the routes and through the socket."""

import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import locklab
from locklab import _core, web
from locklab.routes import Context, answer
from locklab.runbook import KEEP, Runbook
from result_support import fabricated

pytestmark = pytest.mark.native
STATS = dict.fromkeys(
    ("requests", "refused", "frames_sent", "frames_lost", "clients", "clients_max", "cpu_ns"), 7
)


@pytest.fixture
def context() -> Iterator[Context]:
    runs = Runbook()
    yield Context(runs, lambda run_id, handle: None, lambda: STATS)
    runs.stop()


def ask(context: Context, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    reply = answer(context, method, path, raw)
    if not reply.body:
        return reply.status, None
    text = reply.body.decode()
    if "json" not in reply.content_type:
        return reply.status, text
    content = json.loads(text)
    if reply.status >= 400:
        assert reply.content_type == "application/problem+json"
        assert content["status"] == reply.status
        assert content["title"]
        assert content["detail"]
    return reply.status, content


def wait_for_end(context: Context, run_id: str) -> None:
    handle = context.runs.get(run_id)
    assert handle is not None
    handle.wait()


LONG = {"lock": "spin/mcs", "seconds": 600, "warmup_s": 0, "watchdog_s": 30}
SHORT = LONG | {"seconds": 0.03}


def test_lists(context: Context) -> None:
    for part in ("locks", "workloads", "machines"):
        status, content = ask(context, "GET", f"/api/v1/{part}")
        assert status == 200
        assert content["schema"] == "locklab.list/1"
        assert list(content)[1] == part
    assert ask(context, "GET", "/api/v1/runs") == (200, {"runs": []})
    assert ask(context, "HEAD", "/api/v1/runs")[0] == 200
    assert ask(context, "GET", "/api/v1/locks?x=1")[0] == 200


def test_the_life_of_a_run(context: Context) -> None:
    reply = answer(context, "POST", "/api/v1/runs", json.dumps(LONG).encode())
    run_id = json.loads(reply.body)["id"]
    assert (reply.status, reply.location) == (201, f"/api/v1/runs/{run_id}")
    status, content = ask(context, "GET", reply.location)
    assert (status, content["id"], content["status"]) == (200, run_id, "running")
    assert content["config"]["lock"] == "spin/mcs"
    assert {"phase", "acquisitions", "wait_ns"} <= set(content["snapshot"])
    assert ask(context, "GET", "/api/v1/runs")[1]["runs"][0]["status"] == "running"
    status, content = ask(context, "POST", "/api/v1/runs", SHORT)
    assert status == 409
    assert run_id in content["detail"]
    assert ask(context, "DELETE", reply.location) == (202, {"id": run_id, "status": "stopping"})
    wait_for_end(context, run_id)
    status, content = ask(context, "GET", reply.location)
    assert (content["schema"], content["status"]) == ("locklab.run/1", "interrupted")
    assert content.pop("id") == run_id
    locklab.contract.validate(content)  # type: ignore[attr-defined]
    assert ask(context, "DELETE", reply.location) == (204, None)
    assert ask(context, "POST", "/api/v1/runs", SHORT)[0] == 201


def test_a_hung_run_is_answered_with_its_waiters(context: Context) -> None:
    body = LONG | {"params": {"section_ns": 1_000_000_000}, "watchdog_s": 0.05}
    run_id = ask(context, "POST", "/api/v1/runs", body)[1]["id"]
    wait_for_end(context, run_id)
    status, content = ask(context, "GET", f"/api/v1/runs/{run_id}")
    assert status == 200
    assert content["failure"]["kind"] == "hung"
    assert len(content["waiters"]) == 2
    assert ask(context, "GET", "/api/v1/runs")[1]["runs"][0]["status"] == "hung"


BAD_BODIES: list[tuple[Any, int, str | None]] = [
    (b"", 400, None),
    (b"{", 400, None),
    (b"\xff", 400, None),
    (b"[" * 4000, 400, None),
    ([], 400, None),
    ("spin/mcs", 400, None),
    ({}, 422, "lock"),
    ({"lock": "spin/mc"}, 422, "lock"),
    ({"lock": None}, 422, "lock"),
    ({"lock": "spin/mcs", "thread": 2}, 422, "thread"),
    ({"lock": "spin/mcs", "progress": 1}, 422, "progress"),
    ({"lock": "spin/mcs", "threads": "2"}, 422, "threads"),
    ({"lock": "spin/mcs", "threads": 0}, 422, "threads"),
    ({"lock": "spin/mcs", "seconds": -1}, 422, "seconds"),
    ({"lock": "spin/mcs", "params": {"lines": 9999}}, 422, "lines"),
    ({"lock": "spin/mcs", "engine": "sim"}, 422, "engine"),
    (b'{"lock": "spin/mcs", "seconds": NaN}', 422, "seconds"),
]


@pytest.mark.parametrize(("body", "status", "field"), BAD_BODIES, ids=repr)
def test_bad_bodies_are_problems(
    context: Context, body: Any, status: int, field: str | None
) -> None:
    got, content = ask(context, "POST", "/api/v1/runs", body)
    assert got == status
    assert content.get("field") == field
    assert context.runs.all() == []


def test_paths_and_methods(context: Context) -> None:
    assert ask(context, "GET", "/api/v1/nothing")[0] == 404
    assert ask(context, "GET", "/api/v1/runs/9")[0] == 404
    assert ask(context, "DELETE", "/api/v1/runs/9")[0] == 404
    assert ask(context, "GET", "/api/v1/runs/a/b")[0] == 404
    assert ask(context, "POST", "/api/v1/locks", {})[0] == 405
    assert "GET, POST" in ask(context, "DELETE", "/api/v1/runs")[1]["detail"]


def test_the_oldest_runs_are_let_go(context: Context) -> None:
    handle = locklab.start(**SHORT)
    handle.wait()
    ids = [context.runs.add(handle) for _ in range(KEEP + 5)]
    assert [run_id for run_id, _ in context.runs.all()] == ids[5:]


# --- /metrics -----------------------------------------------------------------------------------

SAMPLE = re.compile(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*\})? (\S+)')


def exposed(context: Context) -> dict[str, float]:
    """The samples of the exposition, after checking its form."""
    status, text = ask(context, "GET", "/metrics")
    assert status == 200
    assert text.endswith("# EOF\n")
    families: dict[str, str] = {}
    samples: dict[str, float] = {}
    for line in text.splitlines()[:-1]:
        if line.startswith("# "):
            _, word, family, rest = line.split(" ", 3)
            if word == "TYPE":
                assert family not in families
                families[family] = rest
            elif word == "UNIT":
                assert family.endswith(f"_{rest}")
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        family = next(f for f in reversed(families) if match[1].startswith(f))
        suffixes = {
            "counter": ("_total",),
            "gauge": ("",),
            "info": ("_info",),
            "histogram": ("_bucket", "_sum", "_count"),
        }
        assert match[1] in [family + s for s in suffixes[families[family]]], line
        assert match[1] + (match[2] or "") not in samples
        samples[match[1] + (match[2] or "")] = float(match[3])
    return samples


def test_metrics_without_a_run(context: Context) -> None:
    samples = exposed(context)
    assert samples["locklab_http_requests_total"] == 7
    assert not any(name.startswith("locklab_acq") for name in samples)


def test_metrics_of_a_run_under_way(context: Context) -> None:
    ask(context, "POST", "/api/v1/runs", LONG)
    assert exposed(context)["locklab_run_active"] == 1


def test_metrics_of_a_finished_run(context: Context) -> None:
    run_id = ask(context, "POST", "/api/v1/runs", SHORT)[1]["id"]
    wait_for_end(context, run_id)
    document = ask(context, "GET", f"/api/v1/runs/{run_id}")[1]
    samples = exposed(context)
    assert samples["locklab_run_active"] == 0
    for thread, n in enumerate(document["threads"]["acquisitions"]):
        assert samples[f'locklab_acquisitions_total{{lock="spin/mcs",thread="{thread}"}}'] == n
    wait = document["wait_ns"]
    assert samples['locklab_wait_seconds_count{lock="spin/mcs"}'] == wait["count"]
    assert samples['locklab_wait_seconds_sum{lock="spin/mcs"}'] == pytest.approx(wait["sum"] / 1e9)
    buckets = [v for k, v in samples.items() if k.startswith("locklab_wait_seconds_bucket")]
    assert buckets == sorted(buckets)
    assert buckets[-1] == wait["count"]
    bounds = [float(m) for m in re.findall(r'wait_seconds_bucket{[^}]*le="([^"]+)"', str(samples))]
    assert bounds == sorted(bounds)
    for bound, n in zip(bounds[:-1], buckets, strict=False):
        below = sum(
            c
            for u, c in zip(wait["buckets"]["upper"], wait["buckets"]["count"], strict=True)
            if u <= round(bound * 1e9)
        )
        assert n == below


# --- the page's files ---------------------------------------------------------------------------


def test_files_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html>" + "x" * 2000)
    (tmp_path / "sub" / "a.js").write_text("1")
    monkeypatch.setattr(web, "STATIC", tmp_path)
    files, remarks = web.assets.__wrapped__()
    by_path = {path: rest for path, *rest in files}
    assert set(by_path) == {"/", "/index.html", "/sub/a.js"}
    assert by_path["/"] == by_path["/index.html"]
    kind, etag, body, packed = by_path["/index.html"]
    assert kind.startswith("text/html")
    assert re.fullmatch(r'"[0-9a-f]{32}"', etag)
    assert gzip.decompress(packed) == body
    assert by_path["/sub/a.js"][3] is None
    assert "uPlot" in remarks[0]


def test_a_build_without_the_page_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "STATIC", tmp_path / "absent")
    files, remarks = web.assets.__wrapped__()
    assert [path for path, *_ in files] == ["/"]
    assert b"this build has no page" in files[0][3]
    assert "make build" in remarks[0]


# --- through the socket -------------------------------------------------------------------------


def fetch(url: str, method: str = "GET", body: Any = None, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(url, method=method)
    for name, value in headers.items():
        request.add_header(name, value)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.mark.dashboard
def test_a_run_through_the_socket() -> None:
    with locklab.serve() as page:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", page.url)
        assert fetch(page.url)[0] == 200
        status, body = fetch(f"{page.url}api/v1/runs", "POST", SHORT)
        assert status == 201
        run_id = json.loads(body)["id"]
        assert page.url_of(run_id) == f"{page.url}#run={run_id}"
        while json.loads(fetch(f"{page.url}api/v1/runs/{run_id}")[1])["status"] == "running":
            time.sleep(0.02)
        with urllib.request.urlopen(f"{page.url}api/v1/runs/{run_id}/stream", timeout=30) as s:
            assert s.headers["Content-Type"].startswith("text/event-stream")
            stream = s.read().decode()
        assert "event: hello" in stream
        assert "event: end" in stream
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(page.url, timeout=5)


@pytest.mark.dashboard
def test_nobody_there_is_nobody_to_wait_for() -> None:
    with locklab.serve() as page:
        page.linger()  # returns at once: no connection was ever made


@pytest.mark.dashboard
def test_stopping_the_dashboard_stops_its_runs() -> None:
    page = locklab.serve()
    handle = locklab.start("spin/mcs", seconds=600)
    page.adopt(handle)
    page.stop()
    assert handle.done


@pytest.mark.dashboard
def test_a_token_guards_the_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKLAB_TOKEN", "secret~+/=")
    with web.Dashboard() as page:
        assert page.url.endswith("?token=secret~%2B/%3D")
        base = page.url.partition("?")[0]
        assert fetch(f"{base}api/v1/locks")[0] == 401
        assert fetch(f"{base}api/v1/locks", Authorization="Bearer secret~+/=")[0] == 200


@pytest.mark.dashboard
def test_off_loopback_a_token_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCKLAB_TOKEN", raising=False)
    with web.Dashboard("0.0.0.0") as page:
        assert page.token is not None
        assert len(page.token) >= 24
        assert "token=" in page.url


@pytest.mark.dashboard
@pytest.mark.parametrize("host", ["nowhere.example", "", "127.0.0.1.evil", "300.1.1.1"])
def test_bad_hosts(host: str) -> None:
    with pytest.raises(locklab.ConfigError) as caught:
        web.Dashboard(host)
    assert caught.value.field == "host"


@pytest.mark.dashboard
def test_a_taken_port_is_an_error() -> None:
    with web.Dashboard() as page, pytest.raises(locklab.LocklabError):
        web.Dashboard(port=page.port)


@pytest.mark.dashboard
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_the_command_serves_until_a_signal(number: str) -> None:
    import signal

    process = subprocess.Popen(
        [sys.executable, "-m", "locklab", "serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert fetch(f"{url}healthz")[0] == 200
    assert fetch(f"{url}api/v1/runs", "POST", LONG)[0] == 201
    process.send_signal(getattr(signal, number))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors


def test_a_build_without_the_server_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(_: object) -> None:
        raise locklab.Unsupported("this build has no HTTP server", code="ENOTSUP")

    monkeypatch.setattr(_core, "Server", absent)
    from locklab.cli import main

    assert main(["serve"]) == 2
    assert capsys.readouterr().err == "locklab serve: this build has no HTTP server\n"


def test_fabricated_results_are_what_the_tests_think() -> None:
    assert [r["rate_per_s"] for r in fabricated([1.0, 2.0])["repeats"]] == [1.0, 2.0]
