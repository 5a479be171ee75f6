# SPDX-License-Identifier: MIT
"""What the experiments share: interleaved rounds, figures per round with intervals, the options."""

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import locklab
from locklab.stats import median_interval

Document = dict[str, Any]
Cell = dict[str, Any]  # one result document


def measure(runs: Sequence[dict[str, Any]], rounds: int, **common: Any) -> list[Cell]:
    """Each of `runs` (arguments of `locklab.run`) once a round, every second round backwards.

    A drift of the machine then meets all of them alike, and figures of one round can be compared.
    """
    cells = []
    for number in range(rounds):
        order = runs if number % 2 == 0 else [*reversed(runs)]
        for wanted in order:
            result = locklab.run(**common, **wanted, seed=1 + number, watchdog_s=30)
            cells.append(result.to_dict() | {"round": number})
    return cells


def pick(document: Document, **config: Any) -> list[Cell]:
    """The cells with these members of `config` (or of its `params`), in order of their rounds."""
    found = [
        cell
        for cell in document["cells"]
        if all(
            (cell["config"] | cell["config"]["params"]).get(name) == value
            for name, value in config.items()
        )
    ]
    return sorted(found, key=lambda cell: cell["round"])


Figure = Callable[[Cell], float]


def rate(cell: Cell) -> float:
    """Acquisitions per second."""
    return float(cell["total"]["rate_per_s"])


def events(cell: Cell, *names: str) -> float:
    """The sum of these events."""
    return float(sum(cell["events"][name] or 0 for name in names))


def each(cell: Cell, *names: str) -> float:
    """These events for each acquisition."""
    return events(cell, *names) / int(cell["total"]["acquisitions"])


def figures(cells: Iterable[Cell], figure: Figure) -> list[float]:
    """The figure of each round, but for those in which the run got no CPU at all."""
    return [figure(cell) for cell in cells if cell["total"]["acquisitions"]]


def ratios(a: Iterable[Cell], b: Iterable[Cell], figure: Figure) -> list[float]:
    """b / a, round by round, where both have something."""
    pairs = [(figures([x], figure), figures([y], figure)) for x, y in zip(a, b, strict=True)]
    return [y[0] / x[0] for x, y in pairs if x and y and x[0]]


def told(samples: Sequence[float], digits: int = 3) -> str:
    """Median and interval in words: ``0.71 (95% interval 0.66 .. 0.74)``."""
    if not samples:
        return "not to be had"
    found = median_interval(samples)
    if found:
        sure = f"95% interval {found[0]:.{digits}g} .. {found[1]:.{digits}g}"
    else:
        sure = f"{len(samples)} round{'s' * (len(samples) > 1)}, no interval"
    return f"{median(samples):.{digits}g} ({sure})"


def verdict(samples: Sequence[float], above: str, below: str, same: str) -> str:
    """What a ratio's interval says: wholly above 1, wholly below, or neither."""
    found = median_interval(samples)
    if not found:
        return "undecided, too few rounds"
    return above if found[0] > 1 else below if found[1] < 1 else same


def main(
    name: str,
    doc: str,
    run: Callable[[bool], Document],
    plot: Callable[[Document, Any], None],
    conclude: Callable[[Document], list[str]],
) -> None:
    """Run, save, plot and conclude; `--plot FILE` draws a saved document again."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a look at it in 10 s")
    parser.add_argument("--out", type=Path, default=Path("results"), help="directory (results)")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw a saved document, only that"
    )
    args = parser.parse_args()
    path = args.plot
    if path is None:
        args.out.mkdir(parents=True, exist_ok=True)
        path = args.out / (f"{name}-quick.json" if args.quick else f"{name}.json")
        document = {"schema": f"locklab.{name}/1"} | run(args.quick)
        path.write_text(json.dumps(document) + "\n", encoding="utf-8")
    document = json.loads(path.read_text(encoding="utf-8"))
    print(f"{path}\n{draw(document, plot, path.with_suffix('.svg'))}")
    for sentence in conclude(document):
        print(f"* {sentence}")


def draw(document: Document, plot: Callable[[Document, Any], None], target: Path) -> Path:
    """Two plots side by side, from the document alone."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5), layout="constrained")
    plot(document, figure.subplots(1, 2))
    figure.savefig(target)
    return target


def lines(axes: Any, named: dict[str, dict[float, list[float]]]) -> None:
    """A line of medians for each name, and every sample as a dot."""
    for i, (name, found) in enumerate(named.items()):
        points = {x: samples for x, samples in found.items() if samples}
        style = {"linestyle": ("-", "--", ":", "-.")[i % 4], "marker": "os^vDP*X"[i % 8]}
        at = sorted(points)
        axes.plot(at, [median(points[x]) for x in at], label=name, **style)
        dots = [(x, y) for x in at for y in points[x]]
        if dots:
            axes.scatter(*zip(*dots, strict=True), s=6, alpha=0.4, color=axes.lines[-1].get_color())
    axes.legend(fontsize="small")
