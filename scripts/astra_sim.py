"""Print docs/validation/astra-sim.md: closed-form cases of ASTRA-sim's analytical network, in its physics and in ours.

ASTRA-sim's analytical network is set up as follows. A message is one packet, and its time on a link and the link's
latency are cut to whole nanoseconds: the link is given the rate at which the case's message takes just that. What a
chip pays a message received is `completion`. Where ASTRA-sim has no congestion, each pair of chips has a cable of its
own, as long as the path. Stages that follow one another, each with messages of one size, are run one by one, and
each collective begins with one delay more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import trncomm as tc

GIB = 2**30

Network: TypeAlias = Literal["aware", "unaware"]
"""Whether messages wait for one another."""


@dataclass(frozen=True)
class Stage:
    """A collective in which every message has one size, done a number of times in a row."""

    kind: str
    chips: int
    gib: int
    latency_ns: int
    collective: str
    algorithm: str
    message: int
    times: int = 1


@dataclass(frozen=True)
class Case:
    """What ASTRA-sim took, and the stages it consists of."""

    name: str
    network: Network
    expected_ns: int
    stages: tuple[Stage, ...]
    phases: int = 1
    repeated: int = 1
    shared: int = 1


def _cables(stage: Stage, *, aware: bool, rate: int) -> tc.Topology:
    chips, latency = stage.chips, stage.latency_ns * 1000
    if stage.kind == "switch" and aware:
        return tc.Topology.switch(chips, bandwidth=rate, latency=latency)
    if stage.kind == "ring" and aware:
        return tc.Topology.ring(chips, bandwidth=rate, latency=latency)

    def hops(source: int, destination: int) -> int:
        if stage.kind == "ring":
            return min((source - destination) % chips, (destination - source) % chips)
        return 2 if stage.kind == "switch" else 1

    pairs = ((a, b) for a in range(chips) for b in range(chips) if a != b)
    return tc.Topology.from_links(chips, [(a, b, rate, latency * hops(a, b)) for a, b in pairs])


def stage_ns(stage: Stage, *, aware: bool, delay_ns: int = 1) -> int:
    """What a stage takes in ASTRA-sim's physics, without the delay at its start."""
    busy_ns = stage.message * 10**9 // (stage.gib * GIB)
    # The least whole rate at which the message takes just these nanoseconds; or a picosecond, which is cut off below.
    rate = -(-stage.message * 10**9 // busy_ns) if busy_ns else stage.message * 10**12
    topology = _cables(stage, aware=aware, rate=rate).with_packets(payload="1TiB", header=0)
    topology = topology.with_endpoint(completion=f"{delay_ns}ns")
    result = tc.simulate(
        topology, stage.collective, stage.message * stage.chips, algorithm=stage.algorithm, verify=False
    )
    return stage.times * (result.time_ps // 1000)


def like_astra_sim_ns(case: Case) -> int:
    """What a case takes in ASTRA-sim's physics."""
    once = sum(stage_ns(stage, aware=case.network == "aware") for stage in case.stages) + case.phases
    return once * case.repeated // case.shared


def ours_ns(case: Case) -> float:
    """What the stages take in the packet model: packets of 4 KiB, exact rates, and links shared as they are."""
    total = 0
    for stage in case.stages:
        rate, latency = stage.gib * GIB, stage.latency_ns * 1000
        make = {"ring": tc.Topology.ring, "switch": tc.Topology.switch, "full": tc.Topology.fully_connected}
        topology = make[stage.kind](stage.chips, bandwidth=rate, latency=latency)
        topology = topology.with_packets(payload=4096, header=0).with_endpoint(completion="1ns")
        size = stage.message * stage.chips
        run = tc.simulate(topology, stage.collective, size, algorithm=stage.algorithm, verify=False)
        total += stage.times * run.time_ps
    return total * case.repeated / 1000


def _one(
    name: str, kind: str, chips: int, gib: int, latency: int, call: tuple[str, str, int], expected: int, **more: bool
) -> Case:
    collective, algorithm, message = call
    stage = Stage(kind, chips, gib, latency, collective, algorithm, message)
    return Case(name, "aware" if more.get("aware") else "unaware", expected, (stage,))


def _halving(
    name: str, kind: str, chips: int, gib: int, latency: int, size: int, expected: int, *, aware: bool
) -> Case:
    """Exchanges of a half, a quarter, and so on, and back: a step is an exchange of two chips."""
    messages = [size >> shift for shift in range(1, chips.bit_length())]
    stages = tuple(Stage(kind, 2, gib, latency, "all_to_all", "direct", m, times=2) for m in messages)
    return Case(name, "aware" if aware else "unaware", expected, stages)


MI = 1 << 20
NETWORKS: tuple[Network, ...] = ("unaware", "aware")
AR, AG, RS, A2A = "all_reduce", "all_gather", "reduce_scatter", "all_to_all"

# Numbers: astra-sim 518bd51 with its analytical backend 599a047, an endpoint delay of 1 ns, memory for nothing.
CASES: tuple[Case, ...] = (
    *(
        Case(
            f"ring8_ar_1MiB_4splits{name}__unaware",
            "unaware",
            ns,
            (Stage("ring", 8, 50, 500, AR, "ring", MI // 32),),
            1,
            4,
            k,
        )
        for name, ns, k in (("", 62220, 1), ("_active2", 31110, 2), ("_active4", 15555, 4))
    ),
    _one("ring8_ag_1MiB__unaware", "ring", 8, 50, 500, (AG, "ring", MI), 140225),
    _one("ring8_rs_1MiB__unaware", "ring", 8, 50, 500, (RS, "ring", MI // 8), 20595),
    *(
        # A block goes from neighbour to neighbour, those for the nearest first: 1 + 2 + … + 7 steps.
        Case(f"ring8_a2a_1MiB_ring__{name}", name, 82377, (Stage("ring", 2, 50, 500, AG, "ring", MI // 8, times=28),))
        for name in NETWORKS
    ),
    _one("ring8_a2a_1MiB_direct__unaware", "ring", 8, 50, 500, (A2A, "direct", MI // 8), 4443),
    _one("fc8_ar_1MiB_direct__unaware", "full", 8, 50, 500, (AR, "direct", MI // 8), 5885),
    _one("fc8_a2a_1MiB_direct__unaware", "full", 8, 50, 500, (A2A, "direct", MI // 8), 2943),
    _halving("fc16_ar_16MiB_halvingDoubling__unaware", "full", 16, 50, 500, 16 * MI, 589945, aware=False),
    _one("sw8_ar_1MiB_ring__unaware", "switch", 8, 50, 500, (AR, "ring", MI // 8), 48189),
    _one("sw8_ag_1MiB_direct__unaware", "switch", 8, 50, 500, (AG, "direct", MI), 20533),
    _halving("sw64_ar_64MiB_hd__unaware", "switch", 64, 100, 250, 64 * MI, 1236479, aware=False),
    _one("sw144_ar_144MiB_ring__unaware", "switch", 144, 100, 250, (AR, "ring", MI), 2936077),
    _one("sw144_a2a_144MiB_direct__unaware", "switch", 144, 100, 250, (A2A, "direct", MI), 10267),
    _one("sw144_ag_1MiBshard_direct__unaware", "switch", 144, 100, 250, (AG, "direct", MI), 10267),
    _one("ring64_ar_64MiB__unaware", "ring", 64, 100, 500, (AR, "ring", MI), 1293517),
    _one("ring8_ar_1MiB__aware", "ring", 8, 50, 500, (AR, "ring", MI // 8), 41189, aware=True),
    _one("ring8_rs_1MiB__aware", "ring", 8, 50, 500, (RS, "ring", MI // 8), 20595, aware=True),
    _one("ring16_ar_64MiB__aware", "ring", 16, 50, 500, (AR, "ring", 4 * MI), 2358781, aware=True),
    _one("fc8_a2a_1MiB_direct__aware", "full", 8, 50, 500, (A2A, "direct", MI // 8), 2943, aware=True),
    _one("fc8_ar_1MiB_ring__aware", "full", 8, 50, 500, (AR, "ring", MI // 8), 41189, aware=True),
    _halving("sw8_ar_1MiB_hd__aware", "switch", 8, 50, 500, MI, 74359, aware=True),
    _one("sw8_ag_1MiB_direct__aware", "switch", 8, 50, 500, (AG, "direct", MI), 157250, aware=True),
    _one("sw8_a2a_1MiB_direct__aware", "switch", 8, 50, 500, (A2A, "direct", MI // 8), 20530, aware=True),
    Case("sw8_a2a_1MiB_direct1__aware", "aware", 41182, (Stage("switch", 2, 50, 500, AG, "ring", MI // 8, times=7),)),
    _one("sw64_ar_64MiB_ring__aware", "switch", 64, 100, 250, (AR, "ring", MI), 2523907, aware=True),
    _one("sw64_a2a_64MiB_direct__aware", "switch", 64, 100, 250, (A2A, "direct", MI), 625462, aware=True),
    _one("sw144_ar_144MiB_ring__aware", "switch", 144, 100, 250, (AR, "ring", MI), 5728867, aware=True),
    _one("sw144_a2a_144MiB_direct__aware", "switch", 144, 100, 250, (A2A, "direct", MI), 1406662, aware=True),
    _one("sw144_ag_1MiBshard_direct__aware", "switch", 144, 100, 250, (AG, "direct", MI), 1406662, aware=True),
    _one("ring144_ar_144MiB__aware", "ring", 144, 100, 500, (AR, "ring", MI), 2936077, aware=True),
    _one("ring64_ar_64B__aware", "ring", 64, 100, 500, (AR, "ring", 1), 63127, aware=True),
    _one("ring144_ar_1MiB_nondivisible__aware", "ring", 144, 100, 500, (AR, "ring", MI // 144), 162449, aware=True),
    # 64 bytes a piece, one a chip: the tool raises smaller pieces to that.
    Case("ring64_ar_1KiB_8splits__unaware", "unaware", 2020064, (Stage("ring", 64, 100, 500, AR, "ring", 1),), 1, 32),
    Case(
        "2d_ring4x4_ar_16MiB_baseline__unaware",
        "unaware",
        943514,
        (Stage("ring", 4, 50, 500, AR, "ring", 4 * MI, 2),),
        2,
    ),
    Case(
        "2d_ring4x4_ag_1MiB__unaware",
        "unaware",
        295976,
        tuple(Stage("ring", 4, 50, 500, AG, "ring", m) for m in (MI, 4 * MI)),
        2,
    ),
    Case(
        "3d_ring4x4x4_ar_64MiB_1split__unaware",
        "unaware",
        1019093,
        (
            Stage("ring", 4, 128, 500, RS, "ring", 16 * MI),
            Stage("ring", 4, 128, 500, RS, "ring", 4 * MI),
            Stage("ring", 4, 64, 1000, AR, "ring", MI),
            Stage("ring", 4, 128, 500, AG, "ring", 4 * MI),
            Stage("ring", 4, 128, 500, AG, "ring", 16 * MI),
        ),
        5,
    ),
    Case(
        "3d_ring4x4x4_a2a_64MiB__unaware",
        "unaware",
        492286,
        (
            Stage("ring", 4, 128, 500, A2A, "direct", 16 * MI, times=2),
            Stage("ring", 4, 64, 1000, A2A, "direct", 16 * MI),
        ),
        3,
    ),
    Case(
        "2d_fc4xfc4_ar_16MiB_direct__unaware",
        "unaware",
        197319,
        (
            Stage("full", 4, 50, 500, RS, "direct", 4 * MI),
            Stage("full", 4, 50, 500, AR, "direct", MI),
            Stage("full", 4, 50, 500, AG, "direct", 4 * MI),
        ),
        3,
    ),
)

PAGE = """\
# ASTRA-sim's analytical network

Made by `scripts/astra_sim.py`. All cases have a closed form; times are in nanoseconds. The third column is what trncomm
takes when it is set up like ASTRA-sim's network: a message is one packet, which switches store and forward whole; its
time on a link and the link's latency are whole nanoseconds, rounded down; `completion` is the endpoint delay; each
collective begins with one delay more; without congestion, each pair of chips has a cable of its own. Collectives over
several dimensions, and exchanges whose sizes differ from step to step, are chains of collectives with messages of one
size. The fourth column is the same chain in the packet model with packets of 4 KiB, exact rates and links that are
shared.

| case | ASTRA-sim | set up alike | packet model | ratio | why |
| --- | ---: | ---: | ---: | ---: | --- |"""


def reason(case: Case, ratio: float) -> str:
    """Why the packet model differs."""
    if abs(ratio - 1) < 0.005:
        return "nanoseconds are rounded down; bytes that don't divide into packets are not cut off here"
    if case.shared > 1:
        return "pieces at once don't share links there"
    if case.network == "aware":
        return "a switch passes on packets, not whole messages, so that bytes are not paid for twice"
    if case.stages[0].algorithm == "direct":
        return "a link or port carries any number of messages at once there"
    return "the switch's second link costs a packet's time more"


def page() -> str:
    """The page, from runs."""
    lines = [PAGE]
    for case in CASES:
        ours = ours_ns(case)
        ratio = ours / case.expected_ns
        figures = f"{case.expected_ns:,} | {like_astra_sim_ns(case):,} | {ours:,.0f} | {ratio:.3f}"
        lines.append(f"| {case.name} | {figures} | {reason(case, ratio)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(page())
