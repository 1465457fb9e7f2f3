"""What several test files use."""

from __future__ import annotations

import pytest

import trncomm as tc

BANDWIDTH = 64_000_000_000
LATENCY_PS = 500_000


@pytest.fixture
def ring() -> tc.Topology:
    """Eight chips in a ring; a message is one packet, so that times round once a message."""
    circle = tc.Topology.ring(8, bandwidth=BANDWIDTH, latency=LATENCY_PS)
    return circle.with_packets(payload="1TiB", header=0)


@pytest.fixture(scope="session")
def ultraserver() -> tc.Topology:
    """The Trn3 UltraServer as published."""
    return tc.machines.trn3_ultraserver()
