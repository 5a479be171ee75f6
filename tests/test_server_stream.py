# SPDX-License-Identifier: MIT
"""A run's stream of server-sent events: what comes, in which order, and what slow readers lose."""

import itertools
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from http_client import TIMEOUT_S, Event, Stream, ask, request, serving
from locklab import _core
from locklab.errors import ConfigError

pytestmark = [pytest.mark.dashboard, pytest.mark.native]
BUCKETS = 1216
FRAMES = 24  # of 256 threads fill the buffers of a reader that does not read


def start(seconds: float = 0.5, threads: int = 2) -> _core.Run:
    """A run that keeps one CPU busy, however many threads it has: they sleep in the lock."""
    return _core.start(
        {
            "lock": "host/pthread-mutex",
            "workload": "critical-section",
            "threads": threads,
            "seconds": seconds,
            "warmup_s": 0.05,
            "settings": [("section_ns", "20000"), ("think_ns", "0")],
        }
    )


@pytest.fixture(scope="module")
def server() -> Iterator[_core.Server]:
    """A server at the highest rate."""
    with serving(rate_hz=20.0) as it:
        yield it


def check_hist(event: Event) -> int:
    """The invariants of one hist event; the count of waits."""
    for name in ("wait", "hold"):
        h = event.data[name]
        assert len(h["i"]) == len(h["n"])
        assert h["i"] == sorted(set(h["i"]))
        assert all(0 <= i < BUCKETS for i in h["i"])
        assert all(n > 0 for n in h["n"])
        assert sum(h["n"]) == h["count"]
    return int(event.data["wait"]["count"])


def test_a_run_is_told_from_hello_to_end(server: _core.Server) -> None:
    run = start(seconds=2.5)
    server.attach("whole", run)
    with Stream(server.port, "whole") as stream:
        assert stream.response.getheader("Content-Type") == "text/event-stream"
        assert stream.response.getheader("Cache-Control") == "no-store"
        events = list(stream)
    names = [e.name for e in events]
    assert names[:2] == ["hello", "hist"]
    assert names[-2:] == ["hist", "end"]
    assert names.count("hello") == names.count("end") == 1
    assert 3 <= names.count("hist") <= names.count("tick")

    hello = events[0].data
    info = run.info()
    assert hello["schema"] == "locklab.stream/1"
    assert hello["run"] == "whole"
    for key in ("lock", "workload", "threads", "cpus", "seconds", "repeat"):
        assert hello[key] == info[key]  # type: ignore[literal-required]
    assert hello["rate_hz"] == 20
    uppers = hello["bucket_upper_ns"]
    assert len(uppers) == BUCKETS
    assert uppers[:64] == list(range(64))
    assert all(a < b for a, b in itertools.pairwise(uppers))
    assert hello["units"]["wait"] == "ns"

    ticks = [e for e in events if e.name == "tick"]
    assert [e.id for e in ticks] == [str(e.data["seq"]) for e in ticks]
    assert [e.data["seq"] for e in ticks] == list(range(1, len(ticks) + 1))
    for tick in (e.data for e in ticks):
        assert len(tick["acquisitions"]) == len(tick["rate_per_s"]) == 2
        assert tick["lost"] == 0
        assert tick["phase"] in ("start", "warmup", "measure", "drain", "done")
        assert tick["dt_s"] >= 0
    measured = [e.data for e in ticks if e.data["phase"] == "measure"]
    assert measured
    assert any(sum(filter(None, t["rate_per_s"])) > 0 for t in measured)
    for a, b in itertools.pairwise(measured):
        assert a["t_s"] < b["t_s"]

    counts = [check_hist(e) for e in events if e.name == "hist"]
    assert counts[-2] <= counts[-1]
    result = run.result()
    end = events[-1]
    assert end.id == str(len(ticks) + 1)
    assert end.data["status"] == result["status"] == "complete"
    assert end.data["acquisitions"] == sum(memoryview(result["acquisitions"])) == counts[-1] > 0
    assert end.data["seconds"] == pytest.approx(result["seconds"], rel=1e-8)
    assert end.data["text"] == ""


def test_rates_agree_with_counters(server: _core.Server) -> None:
    server.attach("rates", start(seconds=1.0))
    with Stream(server.port, "rates") as stream:
        ticks = [e.data for e in stream if e.name == "tick" and e.data["phase"] == "measure"]
    assert len(ticks) >= 2
    for a, b in itertools.pairwise(ticks):
        for before, after, rate in zip(
            a["acquisitions"], b["acquisitions"], b["rate_per_s"], strict=True
        ):
            since = before if after >= before else 0  # it began again with the measured phase
            assert rate * b["dt_s"] == pytest.approx(after - since, rel=1e-6)


def test_a_finished_run_still_has_its_end(server: _core.Server) -> None:
    run = start(seconds=0.1)
    server.attach("over", run)
    assert run.wait(30)
    with Stream(server.port, "over") as stream:
        events = list(stream)
    assert [e.name for e in events] == ["hello", "hist", "end"]
    assert check_hist(events[1]) == events[2].data["acquisitions"]
    with Stream(server.port, "over", last_id=events[2].id) as stream:
        assert stream.response.status == 204  # an EventSource stays away then
    with Stream(server.port, "over", last_id="99999") as stream:
        assert [e.name for e in stream] == ["hello", "hist", "end"]


def test_a_stopped_run_ends_as_interrupted(server: _core.Server) -> None:
    run = start(seconds=60)
    server.attach("stopped", run)
    with Stream(server.port, "stopped") as stream:
        events = iter(stream)
        for event in events:
            if event.name == "tick" and event.data["phase"] == "measure":
                break
        run.stop()
        assert list(events)[-1].data["status"] == "interrupted"


def test_a_reader_that_comes_back_gets_what_it_missed(server: _core.Server) -> None:
    run = start(seconds=60)
    server.attach("again", run)
    with Stream(server.port, "again") as other:  # somebody keeps the run ticking
        for event in other:
            if event.id == "3":
                break
        with Stream(server.port, "again", last_id="1") as stream:
            ticks = (e for e in stream if e.name == "tick")
            first = [next(ticks).data for _ in range(4)]
        with Stream(server.port, "again") as stream:
            fresh = next(e for e in stream if e.name == "tick")
        run.stop()
    assert [t["seq"] for t in first] == [2, 3, 4, 5]
    assert {t["lost"] for t in first} == {0}
    assert fresh.data["seq"] > 4


def test_readers_see_the_same_frames(server: _core.Server) -> None:
    run = start(seconds=1.5)
    server.attach("shared", run)
    seen: list[list[Event]] = [[] for _ in range(6)]

    def read(into: list[Event]) -> None:
        with Stream(server.port, "shared") as stream:
            into += stream

    threads = [threading.Thread(target=read, args=(into,)) for into in seen]
    for t in threads:
        t.start()
    for t in threads:
        t.join(TIMEOUT_S)
    by_seq: dict[int, dict[str, object]] = {}
    for events in seen:
        assert events[-1].name == "end"
        for tick in (e.data for e in events if e.name == "tick"):
            assert by_seq.setdefault(tick["seq"], tick) == tick
    assert len(by_seq) >= 3


def test_a_slow_reader_loses_frames_and_is_told(server: _core.Server) -> None:
    run = start(seconds=60, threads=256)  # large frames fill the buffers soon
    server.attach("slow", run)
    with socket.socket() as sock, Stream(server.port, "slow") as quick:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(TIMEOUT_S)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(request(server.port, "GET /api/v1/runs/slow/stream", "Connection: close"))
        seqs = []
        for event in quick:  # meanwhile the other does not read
            if event.name == "tick":
                seqs.append(event.data["seq"])
                assert event.data["lost"] == 0
            if len(seqs) == FRAMES:
                break
        run.stop()
        text = b"".join(iter(lambda: sock.recv(65536), b"")).decode()
    assert seqs == list(range(seqs[0], seqs[0] + FRAMES)), "the quick reader lost nothing"
    lost = [int(part.split("}")[0]) for part in text.split('"lost":')[1:]]
    assert lost[-1] > 0
    assert lost == sorted(lost)
    assert server.stats()["frames_lost"] >= lost[-1]
    assert "event: end" in text


@pytest.mark.slow
def test_a_reader_that_never_reads_is_dropped() -> None:
    with serving(None, rate_hz=20.0) as server, socket.socket() as sock:
        run = start(seconds=60, threads=256)
        server.attach("r", run)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        sock.sendall(request(server.port, "GET /api/v1/runs/r/stream"))
        while server.stats()["frames_sent"] == 0:
            time.sleep(0.01)
        deadline = time.monotonic() + 50
        while server.stats()["clients"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        run.stop()


def test_stop_ends_streams() -> None:
    with serving(None) as server:
        server.attach("r", start(seconds=60))
        with Stream(server.port, "r") as stream:
            events = iter(stream)
            assert next(events).name == "hello"
            stopper = threading.Thread(target=server.stop)
            stopper.start()
            rest = [e.name for e in events]
            stopper.join(TIMEOUT_S)
            assert not stopper.is_alive()
        assert "end" not in rest


def test_head_tells_what_get_would_be(server: _core.Server) -> None:
    server.attach("head", start(seconds=0.1))
    reply = ask(server.port, "HEAD /api/v1/runs/head/stream", "Connection: close")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream")


@pytest.mark.parametrize("run_id", ["", "a/b", "a?b", "ä", "a b", "x" * 64])
def test_ids_are_plain(server: _core.Server, run_id: str) -> None:
    run = start(seconds=0.05)
    with pytest.raises(ConfigError):
        server.attach(run_id, run)


def test_the_newest_64_runs_have_streams() -> None:
    with serving(None) as server:
        run = start(seconds=0.05)
        assert run.wait(30)
        for i in range(65):
            server.attach(f"r{i}", run)
        with pytest.raises(ConfigError):
            server.attach("r64", run)
        assert ask(server.port, "GET /api/v1/runs/r0/stream").status == 404
        for name in ("r1", "r64"):
            with Stream(server.port, name) as stream:
                hello, *_, end = list(stream)
                assert hello.data["run"] == name
                assert end.name == "end"


def test_an_evicted_run_ends_its_streams_properly() -> None:
    with serving(None) as server:
        run, done = start(seconds=60), start(seconds=0.05)
        server.attach("first", run)
        with Stream(server.port, "first") as stream:
            events = iter(stream)
            assert next(events).name == "hello"
            for i in range(64):
                server.attach(f"r{i}", done)
            run.stop()
            assert [e.name for e in events][-1] == "end"


def test_data_is_one_line_of_json(server: _core.Server) -> None:
    run = start(seconds=0.1)
    server.attach("lines", run)
    run.wait(30)
    with Stream(server.port, "lines") as stream:
        lines = stream.response.read().decode().split("\n")
    assert lines[0] == "retry: 1000"
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert len(data) == 3
    for text in data:
        json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
