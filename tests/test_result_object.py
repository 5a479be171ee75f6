# SPDX-License-Identifier: MIT
"""Result as an object: arrays, files, tables, pictures, pooling."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import locklab
from locklab import store
from result_support import KINDS, document_of, result_of

pytestmark = pytest.mark.native


def at(document: dict[str, Any], path: str) -> Any:
    value: Any = document
    for step in path.split("."):
        value = value[step]
    return value


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_equal_the_document(kind: str) -> None:
    result = result_of(kind)
    assert "threads.acquisitions" in result.arrays
    for path, view in result.arrays.items():
        null = float("nan") if view.format == "d" else 0
        listed = [null if x is None else x for x in at(result.to_dict(), path)]
        np.testing.assert_array_equal(np.asarray(view), np.array(listed).reshape(view.shape))
        assert view.readonly


def test_arrays_have_their_shapes() -> None:
    result = result_of("plain")
    assert result.arrays["threads.acquisitions"].format == "Q"
    assert result.arrays["series.rate_per_s"].format == "d"
    assert result.arrays["series.rate_per_s"].shape == (len(result["series"]["t_s"]), 2)
    n = len(result["handoff_matrix"]["cpus"])
    assert result.arrays["handoff_matrix.count"].shape == (n, n)


def test_numpy_takes_arrays_without_a_copy() -> None:
    view = result_of("plain").arrays["wait_ns.buckets.count"]
    first, second = np.asarray(view), np.asarray(view)
    assert first.dtype == np.uint64
    assert np.shares_memory(first, second)
    assert not first.flags.writeable
    assert not first.flags.owndata
    assert int(first.sum()) == result_of("plain").acquisitions


def test_arrays_outlive_everything_else() -> None:
    view = locklab.run("spin/tas", seconds=0.02, warmup_s=0).arrays["threads.acquisitions"]
    assert sum(view) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_save_and_load_give_the_same_result(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    result_of(kind).save(path)
    loaded = locklab.Result.load(path)
    assert loaded.to_dict() == document_of(kind)
    assert set(loaded.arrays) == set(result_of(kind).arrays)
    for name, view in loaded.arrays.items():
        assert view.format == result_of(kind).arrays[name].format, name
        assert view.tobytes() == result_of(kind).arrays[name].tobytes(), name


def test_to_dict_is_a_copy() -> None:
    result_of("plain").to_dict()["total"]["acquisitions"] = -1
    assert result_of("plain").acquisitions > 0


def test_members_read_like_a_dict() -> None:
    result = result_of("plain")
    assert result["total"]["rate_per_s"] == result.rate_per_s
    assert "wait_ns" in result
    assert "waits" not in result
    with pytest.raises(locklab.UnknownName, match="did you mean wait_ns"):
        result["wait_n"]
    assert "spin/mcs" in repr(result)


# --- files --------------------------------------------------------------------------------------

BAD_FILES = [
    (b"", "is not JSON"),
    (b"{", "is not JSON"),
    (b"[" * 100_000, "is not JSON"),
    (b"\xff\xfe", "no text file"),
    (b"[]", "no member `schema`"),
    (b"{}", "no member `schema`"),
    (b'{"schema": "locklab.run/2"}', "this version reads 'locklab.run/1'"),
    (b'{"schema": "locklab.run/1"}', "breaks its schema"),
    (b'{"schema": NaN}', "NaN is no JSON number"),
    (b'{"schema": 1e999}', "beyond the range"),
]


@pytest.mark.parametrize(("content", "message"), BAD_FILES)
def test_load_says_what_is_wrong(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(locklab.ConfigError, match=r"bad\.json") as caught:
        locklab.Result.load(path)
    assert message in str(caught.value)


def test_load_of_no_file(tmp_path: Path) -> None:
    with pytest.raises(locklab.ConfigError, match="No such file"):
        locklab.Result.load(tmp_path / "absent")
    with pytest.raises(locklab.ConfigError):
        locklab.Result.load(tmp_path)
    with pytest.raises(locklab.ConfigError):
        locklab.Result.load("a\0b")


def test_load_refuses_what_contradicts_itself(tmp_path: Path) -> None:
    document = result_of("plain").to_dict()
    document["total"]["acquisitions"] += 1
    path = tmp_path / "lie.json"
    path.write_text(json.dumps(document))
    with pytest.raises(locklab.ConfigError, match="contradicts itself"):
        locklab.Result.load(path)


def test_unknown_members_are_allowed(tmp_path: Path) -> None:
    document = result_of("plain").to_dict() | {"later": {"x": 1}}
    path = tmp_path / "later.json"
    path.write_text(json.dumps(document))
    assert locklab.Result.load(path)["later"] == {"x": 1}


@pytest.mark.parametrize("where", ["no/such/dir/x.json", "", "x" * 300])
def test_save_says_why_not(where: str, tmp_path: Path) -> None:
    with pytest.raises(locklab.LocklabError, match="cannot write"):
        result_of("plain").save(tmp_path / where)


def test_save_keeps_mode_and_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    result_of("plain").save(link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert json.loads(target.read_text())["schema"] == "locklab.run/1"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "target"]


def test_save_to_a_device_writes_to_it() -> None:
    result_of("plain").save("/dev/null")
    assert not Path("/dev/null").is_file()


WRITER = """
import sys
from locklab import store
text = sys.argv[2] * 4_000_000
print("ready", flush=True)
while True:
    store.write(sys.argv[1], text)
"""


def test_kill_in_the_middle_leaves_the_old_or_the_new_file_whole(tmp_path: Path) -> None:
    """A process that does nothing but replace the file is killed at twelve different moments."""
    path = tmp_path / "file"
    store.write(path, "0" * 4_000_000)
    for turn in range(12):
        letter = chr(ord("a") + turn)
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), letter], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(0.001 * turn)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        content = path.read_text()
        assert len(content) == 4_000_000
        assert len(set(content)) == 1


def test_a_failed_write_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(locklab.RunError, match="No space left"):
        store.write(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


# --- views --------------------------------------------------------------------------------------


def test_pandas_tables() -> None:
    result = result_of("plain")
    assert list(result.to_pandas().index) == [0, 1]
    assert result.to_pandas()["acquisitions"].sum() == result.acquisitions
    assert len(result.to_pandas("repeats")) == 3
    assert result.to_pandas("wait_ns")["count"].sum() == result.acquisitions
    assert result.to_pandas("series").shape == result.arrays["series.rate_per_s"].shape
    with pytest.raises(locklab.UnknownName, match="did you mean repeats"):
        result.to_pandas("repeat")
    with pytest.raises(locklab.Unsupported, match="never sleep"):
        result.to_pandas("wake_ns")


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_can_be_drawn(kind: str, tmp_path: Path) -> None:
    result_of(kind).plot().savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("module", "call", "extra"),
    [
        ("pandas", lambda r: r.to_pandas(), r"locklab\[data\]"),
        ("matplotlib", lambda r: r.plot(), r"locklab\[plot\]"),
    ],
)
def test_missing_extras_are_named(
    module: str, call: Any, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(locklab.Unsupported, match=extra):
        call(result_of("plain"))


@pytest.mark.parametrize("kind", KINDS)
def test_html_needs_no_script_and_no_network(kind: str) -> None:
    from xml.etree import ElementTree

    html = result_of(kind)._repr_html_()
    ElementTree.fromstring(html)  # well-formed
    lowered = html.lower()
    assert "<script" not in lowered
    assert "href" not in lowered
    assert "src=" not in lowered
    assert "<table" in lowered
    assert KINDS[kind]["lock"] in html


@pytest.mark.parametrize("kind", KINDS)
def test_summary_is_plain_text(kind: str) -> None:
    text = result_of(kind).summary()
    assert text.isascii()
    assert "\x1b" not in text
    assert KINDS[kind]["lock"] in text


# --- pooling ------------------------------------------------------------------------------------


def test_merge_pools_everything() -> None:
    parts = [locklab.run("spin/mcs", seconds=0.03, warmup_s=0, seed=i) for i in (1, 2)]
    pooled = locklab.merge(parts)
    assert pooled.invariants() == []
    assert pooled.acquisitions == sum(p.acquisitions for p in parts)
    assert len(pooled["repeats"]) == 2
    assert pooled["wait_ns"]["max"] == max(p["wait_ns"]["max"] for p in parts)
    assert pooled["events"]["queued"] == sum(p["events"]["queued"] for p in parts)
    from locklab import contract

    contract.validate(pooled.to_dict())


def test_pooled_percentiles_are_those_of_the_core() -> None:
    from locklab import _core
    from locklab.document import QUANTILES, histogram
    from locklab.pooling import _histogram

    values = [[0, 1, 5, 5, 70, 3000, 10**6], [2, 2, 90, 10**9, 3 * 10**12], []]
    parts, whole = [], _core.Histogram()
    for some in values:
        part = _core.Histogram()
        for value in some:
            part.record(value)
            whole.record(value)
        parts.append(histogram(part, "x", {}))
    pooled = _histogram(parts)
    assert pooled is not None
    for name, q in QUANTILES.items():
        assert pooled[name] == whole.quantile(q), name
    assert pooled == histogram(whole, "x", {})


def test_merge_of_one_changes_nothing_that_counts() -> None:
    only = result_of("plain")
    pooled = locklab.merge([only]).to_dict()
    for name in ("total", "threads", "repeats", "wait_ns", "events", "fairness", "series"):
        assert pooled[name] == only[name], name


def test_merge_refuses_what_does_not_belong_together() -> None:
    with pytest.raises(locklab.ConfigError, match="different lock"):
        locklab.merge([result_of("plain"), result_of("one-thread")])
    with pytest.raises(locklab.ConfigError, match="no result"):
        locklab.merge([])


def test_merge_across_machines_needs_force() -> None:
    foreign = result_of("plain").to_dict()
    foreign["environment"]["identity"]["cpu_model"] = "Another CPU"
    both = [result_of("plain"), locklab.Result(foreign)]
    with pytest.raises(locklab.ConfigError, match="cpu_model pool only with force"):
        locklab.merge(both)
    assert locklab.merge(both, force=True).acquisitions == 2 * result_of("plain").acquisitions


def test_merge_keeps_what_was_not_measured_null() -> None:
    pooled = locklab.merge([result_of("events"), result_of("events")])
    assert pooled["wait_ns"] is None
    assert pooled["reasons"]["wait_ns"]
    assert pooled["threads"]["wait_max_ns"] is None
    assert pooled.invariants() == []


def test_a_result_can_be_pickled_and_compared() -> None:
    result = locklab.run("spin/tas", threads=1, seconds=0.01, warmup_s=0)
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert again is not result
    assert copy.deepcopy(result) == result
    assert list(again.arrays["threads.acquisitions"]) == result["threads"]["acquisitions"]


def test_a_series_that_shows_more_than_the_total_is_refused() -> None:
    result = locklab.run("spin/tas", threads=1, seconds=0.2, warmup_s=0)
    document = copy.deepcopy(result.to_dict())
    document["series"]["rate_per_s"][0][0] = 1.8e20
    assert any("series" in sentence for sentence in locklab.Result(document).invariants())
