//! How fast the core is: `cargo bench`, in a minute or two.
//!
//! Time is that of the processor, so that other work on the machine counts only where it takes caches and shared units;
//! the least of several samples is what the code can do. `docs/speed.md` holds a table of results and says how to renew it.

mod engine;
mod processor;
mod schedule;

use criterion::Criterion;
use processor::ProcessorTime;
use std::time::Duration;

fn main() {
    #[allow(clippy::assertions_on_constants)] // a constant of the build is what it is about
    {
        assert!(
            !cfg!(debug_assertions),
            "benchmarks need a release build: run them by `cargo bench`"
        );
    }
    let mut criterion = Criterion::default()
        .with_measurement(ProcessorTime)
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .without_plots()
        .configure_from_args();
    engine::packet(&mut criterion);
    engine::queues(&mut criterion);
    engine::loggp(&mut criterion);
    engine::flow(&mut criterion);
    schedule::build(&mut criterion);
    schedule::proof(&mut criterion);
    schedule::bounds(&mut criterion);
    criterion.final_summary();
}
