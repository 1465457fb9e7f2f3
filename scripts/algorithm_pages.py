"""Write docs/algorithms: a page for each algorithm, with a picture of who sends to whom for eight ranks.

What a page says is what `tc.algorithms` says, and the head of the file that the algorithm is written in.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import trncomm as tc

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "rust/trncomm-core/src/algorithm"
PAGES = ROOT / "docs/algorithms"
COLLECTIVES = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "barrier",
    "send_recv",
)
SHAPE = (2, 4)
"""Eight ranks, in two groups of four for algorithms of two levels."""
PIECES = 2
"""Of a pipeline in a picture: more would only repeat."""
COLUMN, ROW, MARGIN = 56, 28, 40
"""Of a picture, in pixels: between steps, between ranks, around."""


def main() -> int:
    """Write the pages that have changed, and remove those of algorithms that are no more."""
    wanted = pages()
    PAGES.mkdir(parents=True, exist_ok=True)
    for path in PAGES.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    print(f"{len(wanted)} files in {PAGES.relative_to(ROOT)}")
    return 0


def pages() -> dict[str, str]:
    """All files of docs/algorithms by name."""
    known: dict[str, tc.AlgorithmInfo] = {}
    serves: dict[str, list[str]] = {}
    for collective in COLLECTIVES:
        for algorithm in tc.algorithms(collective):
            known.setdefault(algorithm.name, algorithm)
            serves.setdefault(algorithm.name, []).append(collective)
    heads = _heads()
    topology = tc.Topology.torus(SHAPE, bandwidth="64GB/s", latency="500ns")
    found = {"README.md": _index(known, serves)}
    for name, algorithm in known.items():
        collective = serves[name][0]
        told = {"pieces": PIECES} if "pieces" in algorithm.parameters else None
        steps = tc.build(topology, collective, name, parameters=told).steps()
        found[f"{name}.svg"] = _picture(steps, topology.ranks)
        found[f"{name}.md"] = _page(algorithm, serves[name], heads[name], collective, steps)
    return found


def _heads() -> dict[str, str]:
    """The text at the head of the file that each algorithm is written in."""
    heads = {}
    for path in sorted(SOURCES.glob("*.rs")):
        source = path.read_text(encoding="utf-8")
        lines = [line[3:].strip() for line in source.splitlines() if line.startswith("//!")]
        text = re.sub(r"\[(`[^`]+`)\]", r"\1", "\n".join(lines))
        for name in re.findall(r'^    name: "(\w+)",$', source, re.MULTILINE):
            heads[name] = text
    return heads


def _page(
    algorithm: tc.AlgorithmInfo,
    collectives: list[str],
    head: str,
    drawn: str,
    steps: list[tuple[int, int, int, int]],
) -> str:
    count = 1 + max((step for step, *_ in steps), default=0)
    lines = [
        f"# {algorithm.name}",
        "",
        f"{algorithm.summary[0].upper()}{algorithm.summary[1:]}.",
        "",
        f"- Collectives: {', '.join(collectives)}",
        f"- Numbers of ranks: {algorithm.ranks}",
        f"- Source: {algorithm.source}",
        "",
        head,
        "",
    ]
    if algorithm.parameters:
        lines += ["| parameter | meaning |", "| --- | --- |"]
        lines += [f"| `{name}` | {parameter} |" for name, parameter in algorithm.parameters.items()]
        lines.append("")
    lines += [
        f"![Messages of {drawn} by {algorithm.name} over eight ranks]({algorithm.name}.svg)",
        "",
        f"{drawn} over eight ranks: {len(steps)} messages, {count} steps. A message starts in the column of the step",
        "by which what it carries has arrived; lines are thicker where it carries more chunks.",
        "",
    ]
    return "\n".join(lines)


def _index(known: dict[str, tc.AlgorithmInfo], serves: dict[str, list[str]]) -> str:
    lines = [
        "# Algorithms",
        "",
        "`scripts/algorithm_pages.py` writes these pages.",
        "",
        "| algorithm | collectives | numbers of ranks | what it does |",
        "| --- | --- | --- | --- |",
    ]
    for name, algorithm in known.items():
        row = f"| [{name}]({name}.md) | {', '.join(serves[name])} | {algorithm.ranks} | {algorithm.summary} |"
        lines.append(row)
    return "\n".join([*lines, ""])


def _picture(steps: list[tuple[int, int, int, int]], ranks: int) -> str:
    """Ranks from top to bottom, steps from left to right, and a line for each message."""
    columns = 1 + max((step for step, *_ in steps), default=0)
    width, height = 2 * MARGIN + columns * COLUMN, 2 * MARGIN + (ranks - 1) * ROW
    svg = Xml.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=f"{width}",
        height=f"{height}",
    )
    Xml.SubElement(svg, "rect", width=f"{width}", height=f"{height}", fill="white")
    text = {"font-family": "sans-serif", "font-size": "11", "fill": "#444"}
    for rank in range(ranks):
        y = MARGIN + rank * ROW
        Xml.SubElement(svg, "text", {"x": "8", "y": f"{y + 4}", **text}).text = f"{rank}"
        ends = {"x1": f"{MARGIN}", "x2": f"{width - MARGIN}", "y1": f"{y}", "y2": f"{y}"}
        Xml.SubElement(svg, "line", {**ends, "stroke": "#ddd"})
    for step in range(columns):
        place = {"x": f"{MARGIN + step * COLUMN}", "y": f"{MARGIN - 16}"}
        Xml.SubElement(svg, "text", {**place, **text}).text = f"step {step}" if step == 0 else f"{step}"
    most = max((chunks for *_, chunks in steps), default=1)
    for step, source, destination, chunks in steps:
        x = MARGIN + step * COLUMN
        ends = {
            "x1": f"{x}",
            "y1": f"{MARGIN + source * ROW}",
            "x2": f"{x + COLUMN - 8}",
            "y2": f"{MARGIN + destination * ROW}",
        }
        share = chunks / max(most, 1)
        look = {"stroke": "#1f5fa8", "stroke-width": f"{0.8 + 1.6 * share:.2f}", "stroke-opacity": "0.75"}
        Xml.SubElement(svg, "line", {**ends, **look})
        Xml.SubElement(svg, "circle", {"cx": ends["x2"], "cy": ends["y2"], "r": "2.2", "fill": "#c0392b"})
    Xml.indent(svg)
    return Xml.tostring(svg, encoding="unicode") + "\n"


if __name__ == "__main__":
    sys.exit(main())
