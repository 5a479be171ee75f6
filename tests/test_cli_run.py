# SPDX-License-Identifier: MIT
"""The commands at work: what goes to stdout and stderr, what is saved, which code they end with."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import locklab
from locklab import contract
from locklab.cli import main
from result_support import fabricated, result_of

pytestmark = pytest.mark.native
SHORT = ["-s", "0.03", "--warmup", "0", "--watchdog", "30"]
LOCKLAB = [sys.executable, "-m", "locklab"]
Capture = pytest.CaptureFixture[str]


def locklab_process(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LOCKLAB, *words], capture_output=True, text=True, timeout=60, check=False, **options
    )


def test_json_is_the_document(capsys: Capture) -> None:
    assert main(["run", "spin/mcs", *SHORT, "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    contract.validate(document)
    assert document["config"]["lock"] == "spin/mcs"
    assert captured.err == ""


def test_defaults_equal_those_of_python(capsys: Capture) -> None:
    main(["run", "spin/mcs", *SHORT, "--json"])
    ours = json.loads(capsys.readouterr().out)["config"]
    theirs = locklab.run("spin/mcs", seconds=0.03, warmup_s=0, watchdog_s=30)["config"]
    assert ours == theirs


def test_options_reach_the_config(capsys: Capture) -> None:
    words = [
        *("run", "spin/ttas-backoff", "-w", "critical-section", "-t", "1", "-r", "2"),
        *("-p", "lock.wait_max=64", "-p", "workload.lines=2", "-p", "section_ns=50"),
        *("--seed", "7", "--place", "scatter", "--metrics", "events", "--tick", "0.05"),
        *("--resched", "tick", "--resched-budget", "50000", "--hz", "100"),
        *("--owner-run", "never", "--watchdog", "2", "--perf", "context-switches", "--json"),
    ]
    assert main([words[0], *SHORT, *words[1:]]) == 0
    config = json.loads(capsys.readouterr().out)["config"]
    assert config["params"] == {
        "wait_min": 4,
        "wait_max": 64,
        "section_ns": 50,
        "think_ns": 400,
        "lines": 2,
        "shared_pct": 0,
    }
    wanted = {
        "threads": 1,
        "repeat": 2,
        "seed": 7,
        "place": "scatter",
        "metrics": "events",
        "tick_s": 0.05,
        "owner_run": "never",
        "resched": "tick",
        "resched_budget_ns": 50000,
        "hz": 100,
        "watchdog_s": 2.0,
        "perf": ["context-switches"],
        "seconds": 0.03,
    }
    assert {k: config[k] for k in wanted} == wanted


def test_the_table_says_what_was_measured(capsys: Capture) -> None:
    assert main(["run", "spin/mcs", *SHORT, "-r", "2", "--perf", "cycles,task-clock"]) == 0
    text = capsys.readouterr().out
    for word in (
        *("rate", "fairness", "overlap", "wait", "hold", "hand-off", "wake", "p50", "p99", "max"),
        *(
            "thread",
            "share",
            "perf event",
            "cycles",
            "task-clock",
            "perf-sw",
            "median of 2 repeats",
        ),
        *("spin/mcs", "critical-section (section_ns=200", "source native"),
    ):
        assert word in text, word
    assert "\x1b" not in text
    assert text.isascii()


def test_overhead_is_shown_with_its_interval(capsys: Capture) -> None:
    main(["run", "spin/mcs", "-s", "0.2", "--warmup", "0", "--overhead"])
    assert "bare / instrumented" in capsys.readouterr().out


def test_more_threads_than_cpus_are_warned_of(capsys: Capture) -> None:
    main(["run", "host/pthread-mutex", *SHORT, "-t", "2", "--place", "cpus:0"])
    captured = capsys.readouterr()
    assert captured.err.startswith("locklab run: 2 threads share 1 CPU:")
    assert captured.err.count("\n") == 1


def test_a_violated_exclusion_ends_with_1(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """spin/none overlaps and ends with 0; did it claim to exclude, it would be 1."""
    from locklab import explain

    words = ["run", "spin/none", *SHORT, "-p", "section_ns=1000"]
    assert main(words) == 0
    assert "does not exclude, on purpose" in capsys.readouterr().out
    monkeypatch.setattr(explain, "may_overlap", lambda lock: False)
    assert main(words) == 1
    assert "EXCLUSION VIOLATED" in capsys.readouterr().out


def test_a_hung_run_ends_with_3_and_says_who_waits(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "hung.json"
    words = ["-p", "section_ns=1000000000", "--watchdog", "0.05", "-o", str(path)]
    assert main(["run", "spin/mcs", *words]) == 3
    captured = capsys.readouterr()
    assert "no thread of 2 made progress" in captured.err
    assert "who waits where" in captured.out
    assert "spin/mcs.c" in captured.out
    assert locklab.Result.load(path)["failure"]["kind"] == "hung"


def test_saved_documents_can_be_compared(tmp_path: Path, capsys: Capture) -> None:
    a, b = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    assert main(["run", "spin/tas", *SHORT, "-o", a]) == 0
    assert "saved" in capsys.readouterr().err
    assert main(["run", "spin/tas", *SHORT, "-r", "2", "-o", b]) == 0
    capsys.readouterr()
    assert main(["compare", a, b]) == 3
    text = capsys.readouterr().out
    assert "too-few-samples" in text
    assert "config.repeat" in text


@pytest.mark.parametrize(
    ("factor", "verdict", "code"), [(1.5, "faster", 0), (1.0, "same", 0), (0.5, "slower", 1)]
)
def test_compare_ends_with_its_verdict(
    factor: float, verdict: str, code: int, tmp_path: Path, capsys: Capture
) -> None:
    rates = [1000.0 + i for i in range(12)]
    for name, by in (("a", 1.0), ("b", factor)):
        result = fabricated([rate * by for rate in rates]).to_dict()
        total = sum(r["acquisitions"] for r in result["repeats"])
        result["total"] |= {"acquisitions": total, "seconds": 12.0, "rate_per_s": total / 12}
        result["threads"]["acquisitions"] = [total, 0]
        result["wait_ns"] = result["hold_ns"] = None
        result["series"] = {"t_s": [], "rate_per_s": []}
        (tmp_path / f"{name}.json").write_text(json.dumps(result))
    files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    assert main(["compare", *files]) == code
    assert verdict in capsys.readouterr().out
    assert main(["compare", *files, "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == verdict
    assert document["ratio"] == pytest.approx(factor, rel=0.01)


def test_list_is_the_catalogue(capsys: Capture) -> None:
    assert main(["list", "locks", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"schema", "locks"}
    assert document["locks"] == locklab.locks()
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for lock in locklab.locks():
        assert lock["id"] in text
    assert "section_ns" in text


def test_doctor_is_the_capabilities(capsys: Capture) -> None:
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["capabilities"]) == set(locklab.capabilities()["capabilities"])
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for name, entry in document["capabilities"].items():
        assert name in text
        assert "yes" in text or entry["available"] is False


@pytest.mark.dashboard
def test_serve_shows_the_run_while_it_lasts() -> None:
    import urllib.request

    process = subprocess.Popen(
        [*LOCKLAB, "run", "spin/mcs", "-s", "600", "--serve", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("live: http://127.0.0.1:")
    base = line.split()[1].partition("#")[0]
    with urllib.request.urlopen(f"{base}api/v1/runs", timeout=30) as reply:
        assert json.load(reply)["runs"][0]["status"] == "running"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(out)["status"] == "interrupted"


# --- streams ------------------------------------------------------------------------------------


def wait_until_measuring(process: subprocess.Popen[str]) -> None:
    """By the CPU time of the process, which starts to run when its threads do."""
    for _ in range(600):
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") > 0.5:
            return
        time.sleep(0.05)
    raise AssertionError("the run did not start")


@pytest.mark.parametrize("as_json", [True, False])
def test_ctrl_c_keeps_what_was_measured(as_json: bool, tmp_path: Path) -> None:
    path = tmp_path / "partial.json"
    process = subprocess.Popen(
        [*LOCKLAB, "run", "spin/tas", "-s", "600", "--warmup", "0", "-o", str(path)]
        + ["--json"] * as_json,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until_measuring(process)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    saved = locklab.Result.load(path)
    assert saved.status == "interrupted"
    assert saved.acquisitions > 0
    if as_json:
        assert json.loads(out) == saved.to_dict()
    else:
        assert "The run was interrupted" in out


def test_killed_before_its_end_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    result_of("plain").save(path)
    before = path.read_bytes()
    process = subprocess.Popen(
        [*LOCKLAB, "run", "spin/tas", "-s", "600", "-o", str(path)], stdout=subprocess.DEVNULL
    )
    time.sleep(0.3)
    process.kill()
    process.wait()
    assert path.read_bytes() == before


def test_a_reader_that_leaves_early_is_no_error() -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m locklab list --json | head -c 10"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == '{\n  "schema'[:10]
    assert done.stderr == ""


@pytest.mark.parametrize(("closed", "code"), [(">&-", 3), ("2>&-", 0), (">&- 2>&-", 3), ("<&-", 0)])
def test_closed_streams_are_no_traceback(closed: str, code: int) -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m locklab list locks {closed}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == (closed == ">&-")


def test_names_that_the_terminal_cannot_spell(tmp_path: Path) -> None:
    path = tmp_path / "s\u00fc\udcff.json"
    result_of("plain").save(path)
    done = locklab_process(
        "compare", str(path), str(path), env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 3
    assert done.stderr == ""


def test_a_full_disk_is_one_sentence() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*LOCKLAB, "list"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert done.returncode == 3
    assert done.stderr.startswith("locklab list: cannot write the output: No space left")
    assert done.stderr.count("\n") == 1


def on_a_terminal(words: list[str], **environment: str) -> tuple[str, int]:
    """Output (both streams) and exit code of a command that finds a terminal on all of them."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.pop("NO_COLOR", None)
        os.environ.update({"TERM": "xterm-256color", "COLUMNS": "120", **environment})
        os.execv(sys.executable, [sys.executable, "-m", "locklab", *words])
    chunks = []
    while True:
        try:
            chunk = os.read(fd, 65536)
        except OSError:  # EIO: the terminal has closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(fd)
    return b"".join(chunks).decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_terminal_gets_rich_tables_and_progress() -> None:
    text, code = on_a_terminal(["run", "spin/mcs", "-s", "1", "--watchdog", "30"])
    assert code == 0
    assert "\x1b[1m" in text
    assert "repeat 1" in text
    assert "hand-off" in text


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_no_color_is_heeded() -> None:
    text, _ = on_a_terminal(["list", "locks"], NO_COLOR="1")
    colours = [c for c in text.split("\x1b[")[1:] if c.partition("m")[0].startswith(("3", "4"))]
    assert colours == []
    assert "spin/mcs" in text


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_dumb_terminal_gets_plain_text() -> None:
    text, _ = on_a_terminal(["run", "spin/mcs", *SHORT], TERM="dumb")
    assert "\x1b" not in text


def test_python_m_is_the_command() -> None:
    done = locklab_process("--version")
    assert done.returncode == 0
    assert done.stdout == f"locklab {locklab.__version__}\n"
    assert locklab_process("nonsense").returncode == 2
