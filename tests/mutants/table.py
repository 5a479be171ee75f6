# SPDX-License-Identifier: MIT
"""What the checker takes to find the mutants of the locks: ``python tests/mutants/table.py [-v]``.

Prints, by class, how many there are and the median and the worst time, in milliseconds of CPU from
the start of the exploration to the first execution that shows the expected fault; with ``-v`` each
mutant as well. Exit 1: one is not found, or one of ``weak/`` is.
"""

import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import make_clib
from test_mutants import CLASSES, PATCHES, Mutant, Seen, compile_program, judge_mutant, read


def row(name: str, times: list[float]) -> str:
    return f"{name:<14}{len(times):>4}{median(times):>10.2f}{max(times):>9.2f}"


def measure(directory: Path) -> list[tuple[Mutant, dict[str, Seen]]]:
    """Every mutant with what the judge has seen."""
    clib = make_clib("native", "lib")
    judge = compile_program("tests/mutants/judge.c", clib, directory / "judge.o")
    results = []
    for mutant in map(read, PATCHES):
        tree = directory / mutant.path.stem
        tree.mkdir()
        results.append((mutant, judge_mutant(mutant, judge, clib, tree)))
    return results


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as directory:
        results = measure(Path(directory))
    times: dict[str, list[float]] = {name: [] for name in CLASSES}
    wrong = []
    for mutant, found in results:
        seen = found.get(mutant.header["expect"])
        if bool(found) if mutant.weak else seen is None:
            wrong.append(mutant.path.stem)
        if seen is None:
            continue
        times[mutant.header["class"]].append(seen.ms)
        if "-v" in arguments:
            kind = mutant.header["expect"]
            print(f"{mutant.path.stem:<44}{kind:<14}{seen.execution:>8}{seen.ms:>8.2f}")
    print(f"{'class':<14}{'':>4}{'median ms':>10}{'worst':>9}")
    for name, of_class in times.items():
        if of_class:
            print(row(name, of_class))
    print(row("all", [ms for of_class in times.values() for ms in of_class]))
    print(f"weak/, found by nothing: {sum(m.weak for m, _ in results)}")
    if wrong:
        print(f"not as expected: {' '.join(wrong)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
