# SPDX-License-Identifier: MIT
"""Many runs, checks, locks, servers and conversions in one process leave nothing behind.

Each test is a program of its own under PYTHONMALLOC=malloc, so that glibc's count of bytes in use
knows Python's objects too and is exact to the byte; pages, descriptors and threads come from /proc.
"""

import json
import os
import subprocess
import sys

import pytest

from locklab import _core

pytestmark = [
    pytest.mark.leak,
    pytest.mark.native,
    pytest.mark.timeout(300),  # a machine that does much besides stretches 1,000 runs
    pytest.mark.skipif("sanitizer=no" not in _core.build_info(), reason="the sanitizer's heap"),
]

PROGRAM = """
import ctypes, gc, json, os, sys, time
from locklab import _core
from locklab.errors import LocklabError

class Mallinfo(ctypes.Structure):
    _fields_ = [(f"unused{i}", ctypes.c_size_t) for i in range(4)] + [
        ("hblkhd", ctypes.c_size_t), ("usmblks", ctypes.c_size_t), ("fsmblks", ctypes.c_size_t),
        ("uordblks", ctypes.c_size_t), ("fordblks", ctypes.c_size_t),
        ("keepcost", ctypes.c_size_t)]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Mallinfo

def sample():
    gc.collect()
    info = libc.mallinfo2()
    with open("/proc/self/statm") as f:
        pages = int(f.read().split()[1])
    return {
        "heap": info.uordblks + info.hblkhd,
        "rss": pages * os.sysconf("SC_PAGE_SIZE"),
        "fds": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
    }

def growth(body, warm_up, times):
    for i in range(warm_up):
        body(i)
    before = sample()
    for i in range(times):
        body(i)
    after = sample()
    return {key: after[key] - before[key] for key in before}

# One CPU: no round trip is timed between two, which takes longer than so short a run.
CPU = _core.cpus()[0]["os_index"]
PLAN = {"lock": "spin/ticket", "threads": 1, "seconds": 0.002, "warmup_s": 0.0,
        "place": f"cpus:{CPU}"}
CHANGES = [
    {},
    {"metrics": "events"},
    {"lock": "host/pthread-mutex", "threads": 2},
    {"perf": ["context-switches", "page-faults"], "settings": [("section_ns", "0")]},
    {"build": "bare"},
    {"lock": "spin/mcs", "repeat": 2},
]
kept, hung = [], []

def one_run(i):
    run = _core.start(PLAN | CHANGES[i % len(CHANGES)])
    if i % 10 == 9:
        run.stop()
    if i % 11 != 10:  # else the drop ends it
        assert run.wait(60)
        result = run.result()
        run.snapshot()
        if result["status"] == "hung":
            hung.append(result["failure"]["text"])
    if KEEP:
        kept.append(run)
    start = time.monotonic()
    del run
    if time.monotonic() - start > 1.9:
        hung.append("the drop of a run took 1.9 s")
"""


def measure(body: str, *, keep: bool = False) -> dict[str, dict[str, int]]:
    """What the program says about its growth, by name."""
    done = subprocess.run(
        [sys.executable, "-c", f"KEEP = {keep}\n{PROGRAM}\n{body}"],
        capture_output=True,
        text=True,
        timeout=280,
        env=os.environ | {"PYTHONMALLOC": "malloc", "PYTHONWARNINGS": "ignore"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, int]] = json.loads(done.stdout)
    return found


def assert_no_growth(found: dict[str, dict[str, int]], times: int) -> None:
    """The smallest leak is 32 bytes a turn; a few KiB come and go with caches."""
    assert found
    for name, by in found.items():
        assert by["heap"] < 8 * times, f"{name}: {by}"
        assert by["rss"] < 2 * 2**20, f"{name}: {by}"
        assert (by["fds"], by["threads"]) == (0, 0), f"{name}: {by}"


# A thread that gets no CPU for 2 s is given up together with its run's memory, on purpose. That is
# a matter of the machine's load, so such a round does not count; a bug would spoil every round.
RUNS = """
for round in range(3):
    hung.clear()
    found = growth(one_run, WARM_UP, TIMES)
    if not hung:
        break
assert not hung, hung
print(json.dumps({"runs": found}))
"""


def test_1000_runs_leak_nothing() -> None:
    assert_no_growth(measure(RUNS.replace("WARM_UP", "60").replace("TIMES", "1000")), 1000)


def test_runs_that_are_kept_do_show() -> None:
    found = measure(RUNS.replace("WARM_UP", "12").replace("TIMES", "24"), keep=True)
    with pytest.raises(AssertionError, match="runs"):
        assert_no_growth(found, 24)


CALLS = """
def fails(call, *args):
    def body(i):
        try:
            call(*args)
        except (LocklabError, TypeError):
            return
        raise AssertionError("it went through")
    return body

def histogram(i):
    h = _core.Histogram()
    h.record(i)
    h.merge(h)
    h.quantile(0.5)
    memoryview(h.buckets)[0]
    h.buckets.tolist()

def lock(i):
    lock = _core.Lock(LOCKS[i % len(LOCKS)], [])
    with lock:
        lock.held
    if i % 2:
        lock.close()

LOCKS = [lock["id"] for lock in _core.locks()]
finished = _core.start(PLAN | {"perf": ["context-switches"]})
assert finished.wait(60)
calls = {
    "catalogue": lambda i: (_core.locks(), _core.workloads(), _core.events()),
    "host": lambda i: (_core.cpus(), _core.place("compact", 3), _core.clock()),
    "array": lambda i: memoryview(_core.bucket_upper()).tolist(),
    "histogram": histogram,
    "lock": lock,
    "result": lambda i: finished.result(),
    "snapshot": lambda i: (finished.snapshot(), finished.info(), finished.wait(0)),
    "validate": lambda i: _core.validate(PLAN | CHANGES[i % len(CHANGES)]),
    "an unknown lock": fails(_core.start, PLAN | {"lock": "spin/nowhere"}),
    "a bad number": fails(_core.start, PLAN | {"threads": 0}),
    "a bad setting": fails(_core.start, PLAN | {"settings": [("section_ns", "x")] * 5}),
    "a bad pair": fails(_core.start, PLAN | {"settings": [("a", "1"), ("b",)]}),
    "a bad type": fails(_core.validate, PLAN | {"perf": ["cycles", 1]}),
    "no such lock": fails(_core.Lock, "spin/nowhere"),
    "no such parameter": fails(_core.Lock, "spin/mcs", [("a", "1")]),
    "a bad placement": fails(_core.place, "nowhere", 2),
    "a bad value": fails(_core.Histogram().record, -1),
}
print(json.dumps({name: growth(body, 100, 2000) for name, body in calls.items()}))
"""


def test_conversions_and_errors_leak_nothing() -> None:
    assert_no_growth(measure(CALLS), 2000)


CHECKS = """
def fails(call, *args):
    def body(i):
        try:
            call(*args)
        except (LocklabError, TypeError):
            return
        raise AssertionError("it went through")
    return body

def whole(check):
    assert check.wait(60)
    check.progress()
    return check.result()

PLANS = [
    {"lock": "spin/mcs", "threads": 2, "n": 1},
    {"lock": "spin/none", "threads": 2, "n": 1},
    {"lock": "rwsem/wakeup-flag-fixed", "threads": 3, "n": 1, "budget": 200,
     "settings": [("mode", "retry")], "seconds": 0.02},
    {"lock": "spin/osq", "threads": 3, "n": 2, "strategy": "random", "budget": 50},
]
LONG = {"lock": "spin/tas", "threads": 8, "n": 8, "seconds": 3600.0}
FAULT = whole(_core.check_start(PLANS[1]))["faults"][0]["schedule"]

def dropped(i):
    check = _core.check_start(LONG)
    if i % 2:
        check.stop()

calls = {
    "check": lambda i: whole(_core.check_start(PLANS[i % len(PLANS)])),
    "replay": lambda i: whole(_core.check_replay(FAULT)),
    "dropped": dropped,
    "no schedule": fails(_core.check_replay, "spin/none:2x1:zzz"),
    "an old schedule": fails(_core.check_replay, "spin/none:2x1:xxxxxx:BB"),
    "bad choices": fails(_core.check_replay, FAULT + "!"),
    "an unknown client": fails(_core.check_start, PLANS[0] | {"client": "nobody"}),
    "a bad setting": fails(_core.check_start, PLANS[2] | {"settings": [("mode", "x")]}),
}
print(json.dumps({name: growth(body, 100, 2000) for name, body in calls.items()}))
"""


def test_checks_and_replays_leak_nothing() -> None:
    assert_no_growth(measure(CHECKS), 2000)


SERVERS = """
import http.client
from http.client import HTTPConnection

def server(i):
    s = _core.Server({"host": "127.0.0.1", "port": 0, "rate_hz": 10.0, "max_clients": 4,
                      "assets": [("/a", "text/plain", '"e"', b"x" * 1000, None)]})
    connection = HTTPConnection("127.0.0.1", s.port, timeout=30)
    connection.request("GET", "/a")
    assert len(connection.getresponse().read()) == 1000
    s.attach("r", finished)
    connection.close()
    if i % 2:
        s.stop()

finished = _core.start(PLAN)
assert finished.wait(60)
print(json.dumps({"server": growth(server, 100, 1000)}))
"""


@pytest.mark.dashboard
def test_1000_servers_leak_nothing() -> None:
    assert_no_growth(measure(SERVERS), 1000)
