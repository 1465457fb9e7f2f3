"""Exact simulation of collective communication on Trainium-class networks.

topology → algorithm → schedule → engine → result: `simulate` goes the whole way; `build`, `verify` and `run` are its
steps. `compare` puts algorithms side by side.

Sizes, rates and durations are integers in base units (bytes, bytes a second, picoseconds) or texts such as "64MiB",
"256GB/s" and "500ns".
"""

from trncomm import machines
from trncomm._core import (
    AlgorithmInfo,
    Proof,
    Result,
    Schedule,
    Topology,
    algorithms,
    build,
    run,
    verify,
)
from trncomm.comparison import compare
from trncomm.errors import AlgorithmError, ArgumentError, ScheduleError, SimulationError, TopologyError, TrncommError
from trncomm.quantities import sizes
from trncomm.simulation import simulate
from trncomm.table import Table

__all__ = [
    "AlgorithmError",
    "AlgorithmInfo",
    "ArgumentError",
    "Proof",
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
    "compare",
    "machines",
    "run",
    "simulate",
    "sizes",
    "verify",
]
