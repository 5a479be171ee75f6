# SPDX-License-Identifier: MIT
"""Types of the C extension; meaning and units stand in its docstrings and in locklab.h.

The TypedDicts exist for type checkers only: import them under ``if TYPE_CHECKING``.
"""

from types import TracebackType
from typing import (
    Any,
    Final,
    Literal,
    NotRequired,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    final,
    type_check_only,
)

ABI: Final[int]
BUCKETS: Final[int]
MAX_THREADS: Final[int]
HAS_SERVER: Final[bool]  # built with libmicrohttpd

_Settings: TypeAlias = list[tuple[str, str]] | tuple[tuple[str, str], ...]

# --- catalogue and host -------------------------------------------------------------------------

@type_check_only
class Field(TypedDict):
    name: str
    offset: int
    size: int

@type_check_only
class Param(TypedDict):
    name: str
    unit: str
    help: str
    type: Literal["uint", "bool", "enum", "real", "lock"]
    # bool, int (uint; enum: index into names), float (real) or str (lock: an id)
    default: float | str
    min: float
    max: float
    check: float  # value under the model checker
    names: list[str] | None  # enum only
    kinds: list[str] | None  # lock only: what kind it may be

@type_check_only
class Expectation(TypedDict):
    client: str
    verdict: str
    setting: str  # "name=value"

@type_check_only
class LockInfo(TypedDict):
    id: str
    name: str
    family: str
    kind: str
    summary: str
    origin: str
    claims: list[
        Literal[
            "fifo",
            "starvation-free",
            "parks",
            "queues",
            "broken",
            "life-time",
            "read-recursive",
        ]
    ]
    engines: list[Literal["native", "sim", "check"]]
    lock_size: int
    node_size: int
    has_try: bool
    has_until: bool
    lock_fields: list[Field]
    node_fields: list[Field]
    params: list[Param]
    expect: dict[str, str]
    expect_with: list[Expectation]

@type_check_only
class WorkloadInfo(TypedDict):
    id: str
    summary: str
    origin: str
    params: list[Param]

@type_check_only
class ClientInfo(TypedDict):
    id: str
    summary: str
    kind: str
    needs_try: bool
    needs_until: bool
    ends_early: bool

@type_check_only
class EventInfo(TypedDict):
    name: str
    unit: str
    help: str

@type_check_only
class Cpu(TypedDict):
    os_index: int
    core: int
    package: int
    node: int
    l3: int

@type_check_only
class Clock(TypedDict):
    source: str
    ticks_per_s: float
    step_ns: int
    read_cost_ns: float

@type_check_only
class PerfProbe(TypedDict):
    type: int
    config: int
    source: str
    unit: str
    errno: int  # 0, or why it does not count here
    reason: str

def locks() -> list[LockInfo]: ...
def workloads() -> list[WorkloadInfo]: ...
def clients() -> list[ClientInfo]: ...
def events() -> list[EventInfo]: ...
def build_info() -> str: ...
def cpus() -> list[Cpu]: ...
def place(place: str, threads: int) -> list[int]: ...
def clock() -> Clock: ...
def regime(cpu_a: int, cpu_b: int) -> float: ...
def rseq_selftest() -> int: ...
def perf_probe(name: str, /) -> PerfProbe: ...
def bucket_upper() -> Array: ...
def after_fork_child() -> None: ...

# --- values -------------------------------------------------------------------------------------

@final
class Array:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def format(self) -> Literal["Q", "d"]: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def tolist(self) -> list[int] | list[float] | list[list[int]] | list[list[float]]: ...

@final
class Histogram:
    def __new__(cls) -> Self: ...
    def record(self, value: int, /) -> None: ...
    def merge(self, other: Histogram, /) -> None: ...
    def quantile(self, q: float, /) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def sum(self) -> int: ...
    @property
    def max(self) -> int: ...
    @property
    def buckets(self) -> Array: ...

# --- runs ---------------------------------------------------------------------------------------

@type_check_only
class Plan(TypedDict, total=False):
    lock: str
    workload: str
    place: str
    threads: int
    repeat: int
    seconds: float
    warmup_s: float
    seed: int
    metrics: Literal["events", "full"]
    build: Literal["instrumented", "bare", "probed"]
    owner_run: Literal["coop", "heartbeat", "always", "never", "switch-rec", "sample"]
    heartbeat_s: float
    resched: Literal["budget", "tick", "never"]
    resched_budget_ns: int
    hz: int
    watchdog_s: float
    tick_s: float
    overhead: bool
    validate: bool
    settings: _Settings
    perf: list[str] | tuple[str, ...]

@type_check_only
class RunInfo(TypedDict):
    lock: str
    workload: str
    threads: int
    repeat: int
    cpus: list[int]
    seconds: float

@type_check_only
class Snapshot(TypedDict):
    phase: Literal["start", "warmup", "measure", "drain", "overhead", "done"]
    threads: int
    repeat: int
    t_s: float
    elapsed_s: float
    expected_s: float
    acquisitions: list[int]
    overlap: int
    wait: Histogram
    hold: Histogram

@type_check_only
class Failure(TypedDict):
    field: str
    text: str

@type_check_only
class Repeat(TypedDict):
    seconds: float
    acquisitions: int
    regime_ns: list[float | None]  # before, after
    thread_acquisitions: Array

@type_check_only
class PerfValue(TypedDict):
    name: str
    unit: str
    source: str
    counted: bool
    value: int
    running_ratio: float
    err: int  # errno, 0 if counted
    reason: str

@type_check_only
class Waiter(TypedDict):
    thread: int
    cpu: int
    state: str
    object: str
    field: str
    file: str
    line: int
    since_s: float

@type_check_only
class Group(TypedDict):
    name: str
    lock: str
    count: int
    counted: bool
    acquisitions: int
    wait_ns: int
    hold_ns: int
    wait_max_ns: int

@type_check_only
class Validation(TypedDict):
    classes: list[dict[str, str | bool]]
    edges: list[dict[str, Any]]
    reports: list[dict[str, Any]]
    dropped: int
    restamped: int
    chains: int
    most_held: int

@type_check_only
class RunResult(TypedDict):
    status: Literal["complete", "interrupted", "hung", "failed"]
    failure: Failure
    threads: int
    repeats: int
    repeat: list[Repeat]
    seconds: float
    acquisitions: Array
    shared_acquisitions: Array
    cpu: list[int]
    wait_max_ns: Array
    cpu_ns: Array
    voluntary: Array
    involuntary: Array
    wait: Histogram | None
    hold: Histogram | None
    handoff: Histogram | None
    wake: Histogram | None
    backoff_depth: Histogram | None
    restarts: Histogram | None
    age: Histogram | None
    bypass: Histogram | None
    run_length: Histogram | None
    log_pairs: int
    bypass_estimated: int
    bypass_max: int
    wait_reason: str
    hold_reason: str
    handoff_reason: str
    wake_reason: str
    handoff_sampled: float
    log_dropped: int
    n_cpus: int
    matrix_cpus: list[int]
    matrix: list[list[int]]
    overlap_checked: bool
    overlap: int
    events: dict[str, int]
    rseq: bool
    n_perf: int
    perf: list[PerfValue]
    n_series: int
    series_t_s: Array
    series_rate: Array
    n_groups: int
    group: list[Group]
    n_waiters: int
    waiter: list[Waiter]
    validation: Validation | None
    n_blocks: int
    block_bare: Array
    block_instrumented: Array
    drain_s: float
    started_ns: int

@final
class Run:
    def wait(self, timeout: float | None = None) -> bool: ...
    def stop(self) -> None: ...
    def snapshot(self) -> Snapshot: ...
    def info(self) -> RunInfo: ...
    def result(self) -> RunResult: ...

def validate(plan: Plan, /) -> None: ...
def start(plan: Plan, /) -> Run: ...

# --- model checker ------------------------------------------------------------------------------

@type_check_only
class CheckPlan(TypedDict, total=False):
    lock: str  # needed
    client: str
    threads: int
    n: int
    writers: int
    orders: str
    strategy: Literal["auto", "dfs", "pct", "random"]
    memory: Literal["tso", "sc"]
    bound: int
    giveups: int
    starvation: bool
    first: bool
    races: bool
    budget: int
    seconds: float
    seed: int
    settings: _Settings

@type_check_only
class CheckProgress(TypedDict):
    phase: str
    n: int
    writers: int
    executions: int
    faults: int
    elapsed_s: float
    seconds: float

@type_check_only
class CheckStep(TypedDict):
    thread: int
    op: str
    file: str
    function: str
    expression: str
    line: int
    object: str
    field: str
    writes: bool
    old_value: int
    new_value: int
    old_name: str
    new_name: str
    preempts: bool
    text: str

@type_check_only
class CheckFault(TypedDict):
    kind: str
    role: str
    text: str
    threads: int
    n: int
    writers: int
    orders: str
    preemptions: int
    schedule: str
    execution: int
    seconds: float
    trace: list[CheckStep]

@type_check_only
class CheckSite(TypedDict):
    file: str
    function: str
    expression: str
    line: int
    executed: int
    blocked: int
    waits: bool

@type_check_only
class CheckResult(TypedDict):
    verdict: Literal["none-found", "fault", "vacuous", "inconclusive"]
    reason: str
    client: str
    interrupted: bool
    exhaustive: bool
    bound: int
    n: int
    giveups: int
    operations: int
    executions: int
    blocked: int
    redundant: int
    preliminary: int
    waits: int
    memory_bytes: int
    seconds: float
    faults: list[CheckFault]
    notes: list[CheckFault]
    sites: list[CheckSite]

@final
class Check:
    def wait(self, timeout: float | None = None) -> bool: ...
    def stop(self) -> None: ...
    def progress(self) -> CheckProgress: ...
    def settings(self) -> list[tuple[str, str]]: ...
    def result(self) -> CheckResult: ...

def check_start(plan: CheckPlan, /) -> Check: ...
def check_replay(schedule: str, /) -> Check: ...

# --- litmus tests -------------------------------------------------------------------------------

LITMUS_CODES: Final[tuple[str, ...]]
LITMUS_ADDRESS: Final[int]  # what points to location 0; the next is 64 further
LITMUS_MAX_LOCATIONS: Final[int]
LITMUS_MAX_THREADS: Final[int]
LITMUS_NONE: Final[int]

# code, width, dst, src, base, cond, location, target, line, value
_LitmusOp: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int]
_LitmusThread: TypeAlias = tuple[list[tuple[int, int]], list[_LitmusOp]]

@type_check_only
class LitmusResult(TypedDict):
    states: list[tuple[list[int], int]]  # values of what is observed, number of executions
    executions: int
    cut: int
    idle: int
    redundant: int
    wholly: bool
    seconds: float

def litmus(
    threads: list[_LitmusThread],
    locations: list[tuple[int, int]],
    observed: list[tuple[int, int, int]],
    memory: Literal["sc", "tso"],
    turns: int = 4,
    budget: int = 0,
    seconds: float = 60.0,
) -> LitmusResult: ...

# --- one lock -----------------------------------------------------------------------------------

@final
class Lock:
    def __new__(
        cls,
        id: str,
        settings: _Settings = (),
        *,
        validator: _Watcher | Validator | None = None,
        name: str | None = None,
        subclass: int = 0,
    ) -> Self: ...
    def acquire(
        self, shared: bool = False, timeout: float = -1.0, *, outer: Lock | None = None
    ) -> bool: ...
    def release(self, shared: bool = False) -> None: ...
    @property
    def held(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...

# --- validator ----------------------------------------------------------------------------------

@final
class Validator:
    def __new__(cls, max_reports: int = 64) -> Self: ...
    def found(self) -> Validation: ...

@type_check_only
class _Watcher(Protocol):  # locklab.Validator
    @property
    def core(self) -> Validator: ...

# --- server -------------------------------------------------------------------------------------

_Asset: TypeAlias = tuple[str, str, str, bytes, bytes | None]  # path, type, etag, body, gzipped

@type_check_only
class ServerOptions(TypedDict):
    host: str
    port: int
    token: NotRequired[str | None]
    rate_hz: float
    max_clients: int
    assets: NotRequired[list[_Asset] | tuple[_Asset, ...]]

@type_check_only
class ServerStats(TypedDict):
    requests: int
    refused: int
    frames_sent: int
    frames_lost: int
    clients: int
    clients_max: int
    cpu_ns: int

@final
class Server:
    def __new__(cls, options: ServerOptions, /) -> Self: ...
    @property
    def port(self) -> int: ...
    def attach(self, run_id: str, run: Run) -> None: ...
    def next_request(self, timeout: float | None = None) -> tuple[int, str, str, bytes] | None: ...
    def answer(
        self,
        id: int,
        status: int,
        content_type: str,
        body: bytes,
        location: str | None = None,
    ) -> bool: ...
    def stats(self) -> ServerStats: ...
    def stop(self) -> None: ...
