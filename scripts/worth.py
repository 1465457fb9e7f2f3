"""Print docs/worth.md: what each model assumes, how far it is from measurements and from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import trncomm as tc

if TYPE_CHECKING:
    from trncomm.simulation import Model

ALGORITHMS: Final = ("mesh", "rdh", "kangaring", "ring", "multi_ring")
MODELS: Final[tuple[Model, ...]] = ("loggp", "flow", "packet")

# Collective, bytes, microseconds measured; fp32 over 32 ranks of trn1.32xlarge.
TRN1: Final = (
    ("all_gather", 1 << 10, 6.16, "nccom-test's documentation"),
    ("all_gather", 8 << 10, 6.48, "nccom-test's documentation"),
    ("all_gather", 64 << 10, 8.17, "nccom-test's documentation"),
    ("all_gather", 512 << 10, 23.16, "nccom-test's documentation"),
    ("all_reduce", 1 << 10, 9.1, "third party"),
    ("all_reduce", 64 << 10, 12.5, "third party"),
    ("all_reduce", 1 << 20, 63.9, "third party"),
    ("all_reduce", 32 << 20, 575.0, "third party"),
    ("all_reduce", 1 << 30, 16218.0, "third party"),
)

TEXT: Final = """\
# What the numbers are worth

Made by `scripts/worth.py`; [models.md](models.md) has what each model leaves out, and more comparisons.

| model | assumes | don't use it for |
| --- | --- | --- |
| `loggp` | only a rank's own ports are busy; links between switches never are | all-to-all over tori and tapered \
networks, concurrent jobs, faults |
| `flow` | links are shared like fluids, max-min fair | pipelines of small pieces down trees, queues, buffers |
| `packet` | packets are stored and forwarded, first come first served; buffers without end unless set | congestion \
control, loss; very large messages without symmetry, where it is slow |

**Trn2 and Trn3 presets aren't validated**: no public sweep of sizes exists for them. Their rates are published, their
latencies mostly assumed; what comes out compares designs, and isn't a forecast of a machine.
"""


def times(topology: tc.Topology, collective: str, size: int) -> dict[str, float]:
    """Microseconds of every algorithm of Neuron's in the flow model."""
    runs = {
        name: tc.simulate(topology, collective, size, algorithm=name, dtype="fp32", model="flow", verify=False)
        for name in ALGORITHMS
    }
    return {name: run.time_ps / 1e6 for name, run in runs.items()}


def trn1_rows() -> list[str]:
    """Measured times beside the fastest of Neuron's algorithms here."""
    machine = tc.machines.trn1(ranks_per_chip=2)
    lines = []
    for collective, size, measured, source in TRN1:
        found = times(machine, collective, size)
        best = min(found, key=found.__getitem__)
        error = found[best] / measured - 1
        verdict = "yes" if abs(error) <= 0.15 else "no"
        lines.append(
            f"| {collective} | {size:,} | {measured:,.1f} | {found[best]:,.1f} | {best} | {error:+.0%} | {verdict} | "
            f"{source} |"
        )
    return lines


def trn2_rows() -> list[str]:
    """Times of all algorithms on a Trn2 instance."""
    machine = tc.machines.trn2(ranks_per_chip=4)
    lines = []
    for shift in range(10, 31, 4):
        found = times(machine, "all_reduce", 1 << shift)
        best = min(found, key=found.__getitem__)
        lines.append(f"| {1 << shift:,} | " + " | ".join(f"{found[name]:,.0f}" for name in ALGORITHMS) + f" | {best} |")
    return lines


def model_rows() -> list[str]:
    """The models side by side."""
    torus = tc.Topology.torus((4, 4), bandwidth="128GB/s", latency="200ns")
    switch = tc.Topology.switch(16, bandwidth="128GB/s", latency="200ns")
    lines = []
    for label, topology in (("torus of 4 by 4", torus), ("switch of 16", switch)):
        for collective, algorithm in (("all_reduce", "ring"), ("all_gather", "direct"), ("all_to_all", "direct")):
            found = {
                model: tc.simulate(topology, collective, "16MiB", algorithm=algorithm, model=model).time_ps
                for model in MODELS
            }
            ratios = " | ".join(f"{found[model] / found['packet'] - 1:+.1%}" for model in ("loggp", "flow"))
            lines.append(f"| {label} | {collective} | {algorithm} | {found['packet'] / 1e6:,.1f} | {ratios} |")
    return lines


def page() -> str:
    """The page, from runs."""
    ring = tc.simulate(tc.machines.trn2(), "all_gather", 16, algorithm="multi_ring", model="flow").time_ps / 15 / 1e6
    servers = tc.machines.trn2_ultracluster(instances=2)
    between = tc.simulate(servers, "broadcast", 8, algorithm="linear", model="flow", verify=False).time_ps / 1e6
    return "\n".join(
        [
            TEXT,
            "## Models against packets\n",
            "16 MiB, no costs at the chips:\n",
            "| network | collective | algorithm | packet, µs | loggp | flow |",
            "| --- | --- | --- | ---: | ---: | ---: |",
            *model_rows(),
            "\n## Other simulators\n",
            "All closed forms of ASTRA-sim's analytical network are met to the nanosecond when set up alike, stages",
            "one by one: [validation/astra-sim.md](validation/astra-sim.md) also has what our physics gives, and why.",
            "\n## Trn1 as measured\n",
            "32 ranks, fp32, the fastest of Neuron's algorithms, with the preset as it is. Rows of old software, with",
            "58 to 520 µs of launching in them, are left out. The hardware of the measurements is inferred. Of nine",
            "rows, two are within 15 %. Small all-gathers come out too fast, and large all-reduces too slow.\n",
            "| collective | bytes | measured, µs | here, µs | algorithm | error | within 15 % | source |",
            "| --- | ---: | ---: | ---: | --- | ---: | --- | --- |",
            *trn1_rows(),
            "\n## Trn2 by algorithm\n",
            "64 ranks, all-reduce, µs. Published: mesh is fastest below 1 MB, RDH to 56 MB, KangaRing above.\n",
            "| bytes | " + " | ".join(ALGORITHMS) + " | fastest |",
            "| ---: | " + "---: | " * len(ALGORITHMS) + "--- |",
            *trn2_rows(),
            "\nWhere the fastest isn't the published one, the model misses: RDH and KangaRing are never fastest here,",
            "and mesh hands over to rings instead. Published crossings imply a mesh some 1.9 times slower than evenly",
            "loaded routes make it: one likely reason. Don't take a crossing of algorithms on a Trn2 from here.\n",
            f"A step of a ring takes {ring:.2f} µs (published: 1 to 2), a message between servers {between:.1f} µs",
            "(published: about 15).\n",
            "`tc.calibrate` fits what is assumed to times of your own, and reports the error on those held out.",
        ]
    )


if __name__ == "__main__":
    print(page())
