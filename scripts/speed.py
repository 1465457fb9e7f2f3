"""Print what `cargo bench` measured, as the table of `docs/speed.md`.

The least and the median are over all runs that were kept under names of their own (`--save-baseline`), and the last.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

RESULTS = Path(__file__).resolve().parent.parent / "target/criterion"

GROUPS = ["packet, hops", "queue, packet-hops", "loggp, messages", "flow, messages"]
GROUPS += ["build, 100,800 ranks", "proof, messages", "bounds"]


@dataclass(frozen=True)
class Row:
    """One benchmark: times are seconds on the processor."""

    group: str
    name: str
    least: float
    median: float
    elements: int | None

    def __str__(self) -> str:
        """The row of the table."""
        rate = "" if self.elements is None else f"{self.elements / self.least / 1e6:.1f} M/s"
        cells = [self.group, self.name, "" if self.elements is None else f"{self.elements:,}"]
        return "| " + " | ".join([*cells, _duration(self.least), _duration(self.median), rate]) + " |"


def main() -> int:
    """Print the table; the exit code says whether there was anything to print."""
    rows = [_row(folder) for folder in RESULTS.glob("*/*") if any(folder.glob("*/sample.json"))]
    if not rows:
        print("nothing measured yet: see docs/speed.md", file=sys.stderr)
        return 1
    print("| what | run | count | least | median | rate |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for row in sorted(rows, key=lambda row: (GROUPS.index(row.group), row.name)):
        print(row)
    return 0


def _row(folder: Path) -> Row:
    times = []
    for path in folder.glob("*/sample.json"):
        sample = json.loads(path.read_text())
        times += [time / runs * 1e-9 for time, runs in zip(sample["times"], sample["iters"], strict=True)]
    benchmark = json.loads(next(folder.glob("*/benchmark.json")).read_text())
    throughput = benchmark["throughput"]
    return Row(
        group=benchmark["group_id"],
        name=benchmark["function_id"],
        least=min(times),
        median=median(times),
        elements=None if throughput is None else throughput["Elements"],
    )


def _duration(seconds: float) -> str:
    unit, scale = next((unit, scale) for unit, scale in (("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)) if seconds >= scale)
    return f"{seconds / scale:.3g} {unit}" if seconds < 100e-3 else f"{seconds / scale:.0f} {unit}"


if __name__ == "__main__":
    sys.exit(main())
