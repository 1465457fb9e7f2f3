//! Every algorithm keeps its promise at every number of ranks, with any root and parameters.

use std::collections::BTreeMap;

use trncomm_core::algorithm::{self, Algorithm, Kind, Value};
use trncomm_core::collective::Collective;
use trncomm_core::engine::Control;
use trncomm_core::error::AlgorithmError;
use trncomm_core::ids::RankId;
use trncomm_core::proof::verify;
use trncomm_core::topology::{LinkSpec, Topology};
use trncomm_core::units::{Bandwidth, Time};

fn switch(ranks: usize) -> Topology {
    let bandwidth = Bandwidth::new(1_000_000_000).expect("above zero");
    let latency = Time::from_picoseconds(1000);
    Topology::switch(ranks, 1, LinkSpec { bandwidth, latency }).expect("a valid shape")
}

/// Proves the schedule over as many ranks; whether the algorithm can serve the number.
fn prove(
    algorithm: &Algorithm,
    collective: Collective,
    ranks: usize,
    root: usize,
    parameter: Option<&(&str, Value)>,
) -> bool {
    let parameters: BTreeMap<String, Value> = parameter
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let case = format!("{} {collective} {ranks} from {root} {parameter:?}", algorithm.name);
    let topology = switch(ranks);
    match algorithm::build(&topology, collective, algorithm.name, RankId::new(root), parameters) {
        Ok(schedule) => {
            let proof = verify(&schedule, &mut |_| Control::Continue)
                .unwrap_or_else(|error| panic!("{case}: {error}\n{schedule}"));
            assert!(proof.ordered, "{case}");
            true
        }
        Err(AlgorithmError::NotApplicable { reason, .. }) => {
            assert!(!algorithm.ranks.starts_with("any"), "{case}: {reason}");
            let fits = algorithm::algorithms(collective)
                .any(|other| reason.contains(other.name) && other.name != algorithm.name);
            assert!(fits, "{case}: {reason}");
            false
        }
        Err(error) => panic!("{case}: {error}"),
    }
}

fn roots(collective: Collective, ranks: usize) -> Vec<usize> {
    let mut roots = if collective.has_root() {
        vec![0, ranks / 3, ranks - 1]
    } else {
        vec![0]
    };
    roots.dedup();
    roots
}

/// Values to try of a parameter that doesn't depend on what is asked for.
fn values(kind: &Kind) -> Vec<Value> {
    match kind {
        Kind::Count { least, most, .. } => {
            let values = [1, 2, 3, 4, 5, 7, 37].into_iter();
            values
                .filter(|value| (least..=most).contains(&value))
                .map(Value::Count)
                .collect()
        }
        Kind::Choice(names) => names.iter().copied().map(Value::from).collect(),
        Kind::Counts | Kind::Algorithm { .. } => Vec::new(),
    }
}

#[test]
fn every_algorithm_is_proved_over_any_number_of_ranks() {
    let mut proved = 0;
    for ranks in 1..=40 {
        for collective in Collective::ALL {
            for algorithm in algorithm::algorithms(collective) {
                for root in roots(collective, ranks) {
                    proved += usize::from(prove(algorithm, collective, ranks, root, None));
                }
            }
        }
    }
    assert!(proved > 2000, "{proved}");
}

#[test]
fn every_algorithm_is_proved_around_144_ranks() {
    for ranks in [96, 143, 144, 145] {
        for collective in Collective::ALL {
            for algorithm in algorithm::algorithms(collective) {
                // Algorithms along levels are proved over shapes in a test of their own.
                if algorithm.parameters.iter().any(|parameter| parameter.name == "levels") {
                    continue;
                }
                let root = if collective.has_root() { 100 % ranks } else { 0 };
                prove(algorithm, collective, ranks, root, None);
            }
        }
    }
}

#[test]
fn every_algorithm_is_proved_with_other_parameters() {
    let mut proved = 0;
    for ranks in [1, 2, 3, 5, 8, 9, 12, 16, 27, 30, 36, 37] {
        for collective in Collective::ALL {
            for algorithm in algorithm::algorithms(collective) {
                let root = if collective.has_root() { ranks / 2 } else { 0 };
                for parameter in algorithm.parameters {
                    for value in values(&parameter.kind) {
                        let set = (parameter.name, value);
                        proved += usize::from(prove(algorithm, collective, ranks, root, Some(&set)));
                    }
                }
            }
        }
    }
    assert!(proved > 200, "{proved}");
}
