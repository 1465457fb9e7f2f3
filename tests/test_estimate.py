"""What a run will cost is said before, and a run that would cost too much isn't begun."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import trncomm as tc
from trncomm import cli


@pytest.fixture(scope="module")
def cluster() -> tc.Topology:
    return tc.machines.ultracluster(ultraservers=70)


@pytest.mark.parametrize("fold", [True, False])
@pytest.mark.parametrize(("algorithm", "collective"), [("ring", "all_reduce"), ("direct", "all_to_all")])
def test_messages_and_ranks_are_those_of_the_run(collective: str, algorithm: str, *, fold: bool) -> None:
    ring = tc.Topology.ring(25, bandwidth="64GB/s", latency="500ns")
    size = 25 * 4096
    estimate = tc.estimate(ring, collective, size, algorithm=algorithm, fold=fold)
    result = tc.simulate(ring, collective, size, algorithm=algorithm, fold=fold)
    assert (estimate.ranks_run, estimate.links_run) == (result.ranks_run, result.links_run)
    assert estimate.messages == result.messages
    assert estimate.messages_run * 25 == result.messages * result.ranks_run


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_memory_is_right_within_its_stated_factor() -> None:
    # Every rank posts all of its messages at once.
    script = """
from pathlib import Path
import trncomm as tc
def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024
ring = tc.Topology.switch(1000, bandwidth="64GB/s", latency="500ns")
schedule = tc.build(ring, "all_to_all", "direct")
estimate = tc.estimate(ring, "all_to_all", 1000 * 512, algorithm="direct", model="flow", fold=False)
before = peak()
tc.run(ring, schedule, 1000 * 512, model="flow", fold=False)
print(estimate.memory_bytes, peak() - before)
"""
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    estimated, taken = map(int, run.stdout.split())
    assert taken / 3 < estimated < taken * 3


def test_what_does_not_fit_is_refused_with_what_to_do_instead(cluster: tc.Topology) -> None:
    uneven = 10_080 * 64 + 1
    with pytest.raises(
        tc.SimulationError, match=r"101596320 messages .* MiB of memory; .* try 655200 bytes \(pad=True\)"
    ):
        tc.simulate(cluster, "all_to_all", uneven, algorithm="direct", model="flow", verify=False, memory_limit="1GiB")
    folded = tc.simulate(
        cluster, "all_to_all", uneven, algorithm="direct", model="flow", verify=False, memory_limit="1GiB", pad=True
    )
    assert (folded.size_bytes, folded.ranks_run) == (655_200, 1)


@pytest.mark.parametrize(
    ("model", "fold", "advice"),
    [("packet", False, "try fold=True"), ("packet", True, 'try model="flow"'), ("flow", True, "or about")],
)
def test_advice_fits_what_was_asked_for(
    cluster: tc.Topology, model: tc.simulation.Model, advice: str, *, fold: bool
) -> None:
    with pytest.raises(tc.SimulationError, match="more than 1 MiB of memory; ") as refused:
        tc.simulate(
            cluster, "all_to_all", 10_080, algorithm="direct", model=model, verify=False, fold=fold, memory_limit=1
        )
    assert advice in str(refused.value)


def test_a_time_limit_is_for_the_estimate(cluster: tc.Topology) -> None:
    with pytest.raises(tc.SimulationError, match=r"up to .* more than 1 s; "):
        tc.simulate(
            cluster,
            "all_reduce",
            "1MiB",
            algorithm="ring",
            model="flow",
            verify=False,
            memory_limit="1TiB",
            time_limit="1s",
        )


def test_a_limit_that_cannot_be_read_is_named(cluster: tc.Topology) -> None:
    with pytest.raises(tc.ArgumentError, match="time_limit"):
        tc.simulate(cluster, "all_reduce", "1MiB", algorithm="ring", verify=False, time_limit="soon")


def test_the_command_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["estimate", "--collective", "all_to_all", "--algorithm", "direct", "-b", "9M", "--pad"]
    assert cli.main([*arguments, "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    estimate = tc.estimate(tc.machines.trn3_ultraserver(), "all_to_all", "9M", algorithm="direct", pad=True)
    assert figures["memory_bytes"] == estimate.memory_bytes
    assert figures["messages"] == 144 * 143
    assert cli.main(arguments) == 0
    assert "20,592" in capsys.readouterr().out
