//! Long work without the GIL.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use trncomm_core::engine::{Control, Progress};
use trncomm_core::error::SimulationError;

use crate::errors::of_simulation;

/// How often Python is asked for signals and told of progress: Ctrl-C must work within a second.
const EVERY: Duration = Duration::from_millis(100);

/// Does `work` with the GIL released, passing it a control to call now and then.
///
/// The control takes the GIL back every tenth of a second, no more, to look for signals and to report to `progress`,
/// which is called with the share done and the picoseconds simulated. What a signal handler or `progress` raises ends
/// the work and comes out of here.
pub fn detached<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl Send + FnOnce(&mut dyn FnMut(Progress) -> Control) -> Result<T, SimulationError>,
) -> PyResult<T> {
    let mut raised: Option<PyErr> = None;
    let outcome = py.detach(|| {
        let mut last = Instant::now();
        work(&mut |state| {
            if last.elapsed() < EVERY {
                return Control::Continue;
            }
            last = Instant::now();
            match Python::attach(|py| look_up(py, progress, state)) {
                Ok(()) => Control::Continue,
                Err(error) => {
                    raised = Some(error);
                    Control::Stop
                }
            }
        })
    });
    match raised {
        Some(error) => Err(error),
        None => outcome.map_err(|error| of_simulation(&error)),
    }
}

fn look_up(py: Python<'_>, progress: Option<&Py<PyAny>>, state: Progress) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        #[allow(clippy::cast_precision_loss)] // a share for people
        let share = state.done as f64 / state.total.max(1) as f64;
        progress.call1(py, (share, state.time.picoseconds()))?;
    }
    Ok(())
}
