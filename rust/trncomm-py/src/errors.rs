//! Errors of the core as Python exceptions, one class a stage.

use pyo3::PyErr;
use trncomm_core::error;

pyo3::import_exception!(trncomm.errors, AlgorithmError);
pyo3::import_exception!(trncomm.errors, ArgumentError);
pyo3::import_exception!(trncomm.errors, ScheduleError);
pyo3::import_exception!(trncomm.errors, SimulationError);
pyo3::import_exception!(trncomm.errors, TopologyError);

/// The exception for an error of the topology stage.
pub fn of_topology(error: &error::TopologyError) -> PyErr {
    TopologyError::new_err(error.to_string())
}

/// The exception for an error of the algorithm stage, which may come from the schedule that was built.
pub fn of_algorithm(error: &error::AlgorithmError) -> PyErr {
    use error::AlgorithmError as E;
    // INVARIANT: the match is exhaustive, so that a new variant doesn't compile until it has a class.
    match error {
        E::Unknown { .. } | E::NotApplicable { .. } | E::Parameter { .. } => AlgorithmError::new_err(error.to_string()),
        E::Schedule(_) => ScheduleError::new_err(error.to_string()),
    }
}

/// The exception for an error of a run, which may come from any stage before it.
pub fn of_simulation(error: &error::SimulationError) -> PyErr {
    use error::SimulationError as E;
    // INVARIANT: the match is exhaustive, so that a new variant doesn't compile until it has a class.
    match error {
        E::Unit(_) | E::Option { .. } | E::Ranks { .. } | E::TooLong { .. } => {
            ArgumentError::new_err(error.to_string())
        }
        E::Schedule(_) => ScheduleError::new_err(error.to_string()),
        E::Topology(_) => TopologyError::new_err(error.to_string()),
        E::Deadlock { .. } | E::Interrupted { .. } | E::BelowBound { .. } | E::TooLarge { .. } | E::Unfoldable => {
            SimulationError::new_err(error.to_string())
        }
    }
}
