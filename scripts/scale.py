"""Print docs/scale.md: what collectives on more and more chips cost to simulate.

Each case runs in a process of its own, topology and schedule included; times are of the processor.
"""

from __future__ import annotations

import json
import subprocess
import sys

LARGEST = 100_800
PLAIN: dict[str, int] = {}
CASES = (
    # Collective, algorithm, parameters, model, size, whether ranks that are alike are run once, the most chips.
    ("all_reduce", "hierarchical", PLAIN, "flow", "1 GiB a chip", True, 1_008_000),
    ("all_reduce", "hierarchical", PLAIN, "packet", "1 GiB a chip", True, 1_008_000),
    ("all_reduce", "ring", PLAIN, "flow", "1 GiB a chip", True, 1_008_000),
    ("all_to_all", "direct", PLAIN, "flow", "64 KiB a pair", True, 1_008_000),
    ("all_to_all", "hierarchical_all_to_all", PLAIN, "packet", "64 KiB a pair", True, 1_008_000),
    ("all_reduce", "recursive_halving_doubling", PLAIN, "packet", "1 MiB a chip", False, LARGEST),
    ("all_reduce", "double_binary_tree", {"pieces": 64}, "flow", "64 MiB a chip", False, LARGEST),
)
ULTRASERVERS = (1, 8, 70, 700, 7000)
CHIPS_AN_ULTRASERVER = 144

ONE_CASE = """
import json, resource, sys, time
import trncomm as tc
imported = time.process_time()
machine, collective, algorithm, parameters, model, size, fold, leap = json.loads(sys.argv[1])
topology = tc.machines.build(machine[0], overrides=machine[1])
built = time.process_time()
schedule = tc.build(topology, collective, algorithm, parameters=parameters)
amount, unit, _, per = size.split()
size = int(amount) * {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit] * (topology.ranks if per == "pair" else 1)
size = -(-size // schedule.chunks) * schedule.chunks
result = tc.run(topology, schedule, size, model=model, fold=fold, leap=leap)
print(json.dumps({
    "ranks": topology.ranks, "links": topology.links, "run": result.ranks_run, "time_ps": result.time_ps,
    "messages": result.messages, "events": result.events, "topology": built - imported,
    "leapt": result.leapt_ps / max(result.time_ps, 1), "all": time.process_time() - imported,
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
}))
"""

HEADERS = (
    "chips",
    "links",
    "chips run",
    "messages",
    "simulated",
    "leapt",
    "processor time",
    "topology",
    "memory",
)


def main() -> int:
    """Run every case at every size and print the page."""
    print(
        "# Scale\n\n`.venv/bin/python scripts/scale.py > docs/scale.md` prints this page: clusters of Trn3 UltraServers"
    )
    print("of 144 chips. Processor time covers the topology, the schedule, the search for the symmetry, the run and")
    print("the bound; not the proof. A size that isn't a whole number of chunks is rounded up to one. *Leapt* is the")
    print("part of the simulated time that was counted instead of run, *topology* the part of the time for it.")
    for collective, algorithm, parameters, model, size, fold, most in CASES:
        how = "" if fold else ", every chip run"
        print(f"\n## {collective} by {algorithm}, {size}, model {model}{how}\n")
        clusters = (count for count in ULTRASERVERS if count * CHIPS_AN_ULTRASERVER <= most)
        machines = [("trn3-ultracluster", {"ultraservers": count}) for count in clusters]
        _table([(machine, collective, algorithm, parameters, model, size, fold, True) for machine in machines])
    print("\n## Project Rainier: Trainium2 UltraServers, 4x4x4 tori, joined by EFA\n")
    by_hierarchy = ("all_reduce", "hierarchical", PLAIN)
    _table([(("rainier", PLAIN), *by_hierarchy, model, "1 GiB a chip", True, True) for model in ("flow", "packet")])
    print("\n## What a leap saves: all_reduce by ring, 1 GiB, 144 chips of one UltraServer, model packet\n")
    print("With leaps, and without.\n")
    around = (("trn3-ultraserver", PLAIN), "all_reduce", "ring", PLAIN, "packet", "1 GiB a chip", False)
    _table([(*around, leap) for leap in (True, False)])
    return 0


def _table(cases: list[tuple[object, ...]]) -> None:
    """One row a case."""
    print("| " + " | ".join(HEADERS) + " |\n| " + " | ".join("---" for _ in HEADERS) + " |")
    for case in cases:
        run = subprocess.run(
            [sys.executable, "-c", ONE_CASE, json.dumps(case)], check=True, capture_output=True, text=True
        )
        row = json.loads(run.stdout)
        print(
            f"| {row['ranks']:,} | {row['links']:,} | {row['run']:,} | {row['messages']:,} "
            f"| {row['time_ps'] / 1e9:.3f} ms | {row['leapt']:.1%} | {row['all']:.2f} s | {row['topology']:.2f} s "
            f"| {row['memory']:,} MiB |",
            flush=True,
        )


if __name__ == "__main__":
    raise SystemExit(main())
