# SPDX-License-Identifier: MIT
"""Array and Histogram of the extension: the buffer protocol, and buckets against exact lists."""

import gc
import importlib.util
import io
import itertools
import math
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from locklab import _core
from locklab.errors import ConfigError

UPPER = _core.bucket_upper().tolist()
IN_RANGE = st.integers(0, UPPER[-1])
ANY = st.integers(0, 2**64 - 1)


def filled(values: list[int]) -> _core.Histogram:
    h = _core.Histogram()
    for value in values:
        h.record(value)
    return h


def exact_quantile(values: list[int], q: float) -> int:
    rank = max(1, math.ceil(round(q * len(values), 9)))
    return sorted(values)[rank - 1]


# --- Array --------------------------------------------------------------------------------------


def test_array_is_seen_by_numpy_without_a_copy() -> None:
    h = _core.Histogram()
    seen = np.asarray(h.buckets)
    assert (seen.dtype, seen.shape, seen.flags.writeable) == (np.uint64, (_core.BUCKETS,), False)
    assert seen.sum() == 0
    h.record(7)
    assert seen[7] == 1


def test_array_keeps_the_memory_of_its_owner() -> None:
    h = filled([1, 1])
    seen = memoryview(h.buckets)
    del h
    gc.collect()
    assert seen[1] == 2
    assert sum(seen) == 2


def test_array_says_what_it_is() -> None:
    a = _core.bucket_upper()
    assert (len(a), a.shape, a.format) == (_core.BUCKETS, (_core.BUCKETS,), "Q")
    view = memoryview(a)
    assert (view.format, view.itemsize, view.ndim, view.shape, view.strides) == (
        "Q",
        8,
        1,
        (_core.BUCKETS,),
        (8,),
    )
    assert view.readonly
    assert view.tolist() == a.tolist()
    assert bytes(a) == view.tobytes()
    assert b"".join([a]) == view.tobytes()  # a consumer that asks for no format and no shape


def test_array_is_read_only() -> None:
    with pytest.raises(TypeError):
        memoryview(_core.bucket_upper())[0] = 1
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"x" * 16).readinto(_core.bucket_upper())
    with pytest.raises(ValueError, match="WRITEABLE"):
        np.asarray(_core.bucket_upper()).setflags(write=True)


def test_array_and_run_cannot_be_made_by_hand() -> None:
    for kind in (_core.Array, _core.Run):
        with pytest.raises(TypeError):
            kind()
        with pytest.raises(TypeError):
            object.__new__(kind)


@pytest.mark.parametrize(
    "kind", [_core.Array, _core.Histogram, _core.Run, _core.Lock, _core.Server]
)
def test_types_are_closed(kind: type) -> None:
    with pytest.raises(TypeError):
        type("Derived", (kind,), {})
    with pytest.raises(TypeError):
        kind.invented = 1
    assert kind.__module__ == "locklab._core"
    assert kind.__doc__


# --- Histogram ----------------------------------------------------------------------------------


def test_buckets_are_exact_at_first_and_at_most_a_32nd_wide() -> None:
    assert len(UPPER) == _core.BUCKETS
    assert UPPER[:64] == list(range(64))
    for low, high in itertools.pairwise(UPPER[63:]):
        assert 1 <= high - low <= (low + 1) / 32


def test_an_empty_histogram_has_zeros() -> None:
    h = _core.Histogram()
    assert (h.count, h.sum, h.max, h.quantile(0.5)) == (0, 0, 0, 0)


@given(st.lists(ANY, max_size=40))
def test_totals_are_exact(values: list[int]) -> None:
    h = filled(values)
    assert h.count == len(values) == sum(h.buckets.tolist())
    assert h.sum == sum(values) % 2**64
    assert h.max == max(values, default=0)


@given(IN_RANGE)
def test_a_value_lands_in_the_bucket_that_spans_it(value: int) -> None:
    index = filled([value]).buckets.tolist().index(1)
    assert value <= UPPER[index]
    assert index == 0 or value > UPPER[index - 1]


@given(st.lists(IN_RANGE, min_size=1, max_size=60), st.floats(0, 1))
def test_a_quantile_is_at_most_a_32nd_above_the_true_one(values: list[int], q: float) -> None:
    true = exact_quantile(values, q)
    found = filled(values).quantile(q)
    assert true <= found <= min(true + true / 32, max(values))


@given(st.lists(ANY, max_size=30), st.floats(0, 1), st.floats(0, 1))
def test_quantiles_ascend(values: list[int], p: float, q: float) -> None:
    h = filled(values)
    assert h.quantile(min(p, q)) <= h.quantile(max(p, q)) <= h.max


@given(st.lists(ANY, max_size=20), st.lists(ANY, max_size=20))
def test_merging_equals_recording_both(a: list[int], b: list[int]) -> None:
    ab, ba, both = filled(a), filled(b), filled(a + b)
    ab.merge(filled(b))
    ba.merge(filled(a))
    for h in (ab, ba):
        assert h.buckets.tolist() == both.buckets.tolist()
        assert (h.count, h.sum, h.max) == (both.count, both.sum, both.max)


def test_merging_with_itself_doubles() -> None:
    h = filled([3, 5])
    h.merge(h)
    assert (h.count, h.sum, h.max) == (4, 16, 5)


@pytest.mark.parametrize(
    "value", [-1, 2**64, -(10**30), 10**30, pytest.param(1 << 20000, id="huge")]
)
def test_a_value_beyond_64_bits_is_refused(value: int) -> None:
    h = _core.Histogram()
    with pytest.raises(ConfigError) as caught:
        h.record(value)
    assert (caught.value.code, caught.value.field) == ("ERANGE", "value")
    assert h.count == 0


@pytest.mark.parametrize("q", [-0.1, 1.1, math.nan, math.inf, pytest.param(10**400, id="huge")])
def test_a_quantile_outside_0_to_1_is_refused(q: float) -> None:
    with pytest.raises(ConfigError) as caught:
        _core.Histogram().quantile(q)
    assert (caught.value.code, caught.value.field) == ("ERANGE", "q")


@pytest.mark.parametrize("value", [None, "1", 1.5, True, b"1", [1]])
def test_a_value_of_the_wrong_type_is_a_type_error(value: object) -> None:
    h = _core.Histogram()
    with pytest.raises(TypeError):
        h.record(value)
    with pytest.raises(TypeError):
        h.merge(value)
    with pytest.raises(TypeError):
        _core.Histogram(value)


def test_numbers_of_numpy_are_numbers() -> None:
    h = _core.Histogram()
    h.record(np.uint64(2**64 - 1))
    assert h.max == 2**64 - 1
    assert h.quantile(np.float64(0.5)) == h.quantile(1)


def test_types_go_when_the_module_goes() -> None:
    """A second instance of the module leaves with everything in it: the state has no leak."""
    spec = importlib.util.spec_from_file_location("locklab._core", _core.__file__)
    assert spec is not None
    assert spec.loader is not None
    second = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(second)
    assert second.Histogram is not _core.Histogram
    gone = [weakref.ref(second.Histogram), weakref.ref(second.Run)]
    with pytest.raises(TypeError):
        second.Histogram().merge(_core.Histogram())
    del second, spec
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
