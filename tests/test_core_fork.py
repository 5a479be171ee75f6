# SPDX-License-Identifier: MIT
"""What a forked child finds of its parent's objects: nothing that could disturb the parent.

Each case is a program of its own: the child must not run pytest's exit, and a Python that has
seen threads warns when it forks.
"""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.native

PROGRAM = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # fork beside the run's threads is the point
from locklab import _core
from locklab.errors import RunError

run = _core.start({"lock": "spin/ticket", "threads": 1, "seconds": 3600.0, "warmup_s": 0.0})
lock = _core.Lock("spin/mcs")
held = _core.Lock("spin/mcs")
held.acquire()
done = _core.start({"lock": "spin/ticket", "seconds": 0.02, "warmup_s": 0.0})
assert done.wait(60)
result = done.result()
total = sum(result["acquisitions"].tolist())
while not sum(run.snapshot()["acquisitions"]):
    pass

def dead(*calls):
    for call in calls:
        try:
            call()
        except RunError as e:
            assert e.code == "EPERM" and "parent process" in str(e), e
        else:
            raise AssertionError("a call went through")

def runs_are_dead():
    for r in (run, done):
        dead(r.wait, lambda: r.wait(0), r.stop, r.snapshot, r.info, r.result)

def locks_are_dead():
    for l in (lock, held):
        dead(l.acquire, l.release, l.close, lambda: l.held, l.__enter__,
             lambda: l.__exit__(None, None, None))

def in_child(body):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            body()
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0, "the child failed"

def parent_is_well():
    assert run.wait(0) is False
    before = sum(run.snapshot()["acquisitions"])
    while sum(run.snapshot()["acquisitions"]) == before:
        pass
    with lock:
        pass
    assert held.held
"""

END = """
parent_is_well()
held.release()
run.stop()
assert run.wait(60)
assert run.result()["status"] == "interrupted"
print("ok")
"""

CASES = {
    "without the hook all is dead by the pid": """
def body():
    runs_are_dead()
    locks_are_dead()
in_child(body)
""",
    "with the hook all is dead": """
def body():
    _core.after_fork_child()
    runs_are_dead()
    locks_are_dead()
in_child(body)
""",
    "dropping in the child frees nothing and joins nobody": """
def body():
    global run, done, lock, held, result
    _core.after_fork_child()
    acquisitions = result["acquisitions"]
    del run, done, lock, held, result
    import gc
    gc.collect()
    assert sum(acquisitions.tolist()) == total
in_child(body)
""",
    "the child can work on its own": """
def body():
    _core.after_fork_child()
    with _core.Lock("spin/mcs") as own:
        assert own.held
    mine = _core.start({"lock": "spin/ticket", "seconds": 0.02, "warmup_s": 0.0})
    assert mine.wait(60)
    assert sum(mine.result()["acquisitions"].tolist()) > 0
    assert _core.Histogram().count == 0
in_child(body)
""",
    "a grandchild finds the child's objects dead": """
def body():
    _core.after_fork_child()
    mine = _core.start({"lock": "spin/ticket", "seconds": 0.02, "warmup_s": 0.0})
    assert mine.wait(60)
    def inner():
        dead(mine.result, run.result)
        _core.after_fork_child()
        dead(mine.result, run.result)
    in_child(inner)
    assert mine.result()["status"] == "complete"
in_child(body)
""",
    "the child of a subprocess is none of our business": """
import subprocess
assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout == b"1\\n"
""",
    "a child that exits in the ordinary way leaves the parent alone": """
sys.stdout.flush()
child = os.fork()
if child == 0:
    _core.after_fork_child()
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
""",
}

SERVER = """
server = _core.Server({"host": "127.0.0.1", "port": 0, "token": None, "rate_hz": 10.0,
                       "max_clients": 4, "assets": [("/a", "text/plain", '"e"', b"body", None)]})
port = server.port

def get():
    import http.client
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/a")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body

assert get() == (200, b"body")
server.attach("r1", run)

def server_is_dead():
    dead(server.stats, server.stop, lambda: server.port, lambda: server.next_request(0),
         lambda: server.attach("r2", run), lambda: server.answer(1, 200, "text/plain", b""))

def body():
    server_is_dead()
    if HOOK:
        _core.after_fork_child()
        server_is_dead()
    globals().pop("server")

in_child(body)
assert get() == (200, b"body")
assert server.stats()["requests"] >= 1
server.stop()
"""


def run_program(body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + body + END],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.parametrize("body", CASES.values(), ids=[name.replace(" ", "-") for name in CASES])
def test_after_fork(body: str) -> None:
    run_program(body)


@pytest.mark.dashboard
@pytest.mark.parametrize("hook", [False, True])
def test_a_forked_child_cannot_disturb_the_server(hook: bool) -> None:
    run_program(f"HOOK = {hook}\n{SERVER}")
