"""Print docs/scale.md: what collectives on more and more chips cost to simulate.

Each case runs in a process of its own, topology and schedule included; times are of the processor.
"""

from __future__ import annotations

import json
import subprocess
import sys

CASES = (
    ("all_reduce", "hierarchical", "flow", "1 GiB a chip"),
    ("all_reduce", "hierarchical", "packet", "1 GiB a chip"),
    ("all_to_all", "direct", "flow", "64 KiB a pair"),
    ("all_to_all", "hierarchical_all_to_all", "packet", "64 KiB a pair"),
)
ULTRASERVERS = (1, 8, 70, 700, 7000)

ONE_CASE = """
import json, resource, sys, time
import trncomm as tc
imported = time.process_time()
collective, algorithm, model, ultraservers = sys.argv[1:]
cluster = tc.machines.ultracluster(ultraservers=int(ultraservers))
built = time.process_time()
schedule = tc.build(cluster, collective, algorithm)
size = 65536 * cluster.ranks if collective == "all_to_all" else -(-2**30 // cluster.ranks) * cluster.ranks
result = tc.run(cluster, schedule, size, model=model)
print(json.dumps({
    "ranks": cluster.ranks, "links": cluster.links, "run": result.ranks_run, "time_ps": result.time_ps,
    "messages": result.messages, "topology": built - imported, "all": time.process_time() - imported,
    "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
}))
"""


def main() -> int:
    """Run every case at every size and print the page."""
    print(
        "# Scale\n\n`.venv/bin/python scripts/scale.py > docs/scale.md` prints this page: clusters of Trn3 UltraServers"
    )
    print("of 144 chips. Processor time covers the topology, the schedule, the search for the symmetry, the run and")
    print("the bound; not the proof. A size that isn't a whole number of chunks is rounded up to one.")
    for collective, algorithm, model, size in CASES:
        print(f"\n## {collective} by {algorithm}, {size}, model {model}\n")
        print("| chips | links | chips run | messages | simulated | processor time | of it topology | memory |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for ultraservers in ULTRASERVERS:
            command = [sys.executable, "-c", ONE_CASE, collective, algorithm, model, str(ultraservers)]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            row = json.loads(run.stdout)
            print(
                f"| {row['ranks']:,} | {row['links']:,} | {row['run']:,} | {row['messages']:,} "
                f"| {row['time_ps'] / 1e9:.3f} ms | {row['all']:.2f} s | {row['topology']:.2f} s "
                f"| {row['memory']:,} MiB |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
