"""Exact simulation of collective communication on Trainium-class networks.

topology → algorithm → schedule → engine → result: `simulate` goes the whole way; `build`, `verify` and `run` are its
steps. `compare` puts algorithms side by side. `faults` says what is wrong with a network.

Sizes, rates and durations are integers in base units (bytes, bytes a second, picoseconds) or texts such as "64MiB",
"256GB/s" and "500ns".
"""

from trncomm import faults, machines
from trncomm._core import (
    AlgorithmInfo,
    Endpoint,
    Estimate,
    Explanation,
    Fabric,
    Fault,
    Latency,
    PacketFormat,
    ParameterInfo,
    Proof,
    Result,
    Schedule,
    Topology,
    algorithms,
    build,
    run,
    verify,
)
from trncomm.accounting import Account, Item
from trncomm.calibration import Calibration, Measurement, Residual, calibrate
from trncomm.choice import Candidate, Choice
from trncomm.comparison import compare
from trncomm.errors import (
    AlgorithmError,
    ArgumentError,
    NoEffectWarning,
    ScheduleError,
    SimulationError,
    TopologyError,
    TrncommError,
)
from trncomm.faults import late, link_down, link_errors, link_slow, node_down, slow
from trncomm.quantities import sizes
from trncomm.simulation import estimate, simulate
from trncomm.table import Table

__all__ = [
    "Account",
    "AlgorithmError",
    "AlgorithmInfo",
    "ArgumentError",
    "Calibration",
    "Candidate",
    "Choice",
    "Endpoint",
    "Estimate",
    "Explanation",
    "Fabric",
    "Fault",
    "Item",
    "Latency",
    "Measurement",
    "NoEffectWarning",
    "PacketFormat",
    "ParameterInfo",
    "Proof",
    "Residual",
    "Result",
    "Schedule",
    "ScheduleError",
    "SimulationError",
    "Table",
    "Topology",
    "TopologyError",
    "TrncommError",
    "algorithms",
    "build",
    "calibrate",
    "compare",
    "estimate",
    "faults",
    "late",
    "link_down",
    "link_errors",
    "link_slow",
    "machines",
    "node_down",
    "run",
    "simulate",
    "sizes",
    "slow",
    "verify",
]
