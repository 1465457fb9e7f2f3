//! Every algorithm keeps its promise at every number of ranks.

use std::collections::BTreeMap;

use trncomm_core::algorithm;
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

#[test]
fn every_algorithm_is_proved_over_any_number_of_ranks() {
    let mut proved = 0;
    for ranks in (1..=40).chain([96, 143, 144, 145]) {
        let topology = switch(ranks);
        for collective in Collective::ALL {
            for algorithm in algorithm::algorithms(collective) {
                // Algorithms along levels are proved over shapes in a test of their own.
                if ranks > 40 && algorithm.parameters.iter().any(|parameter| parameter.name == "levels") {
                    continue;
                }
                let roots = if collective.has_root() {
                    vec![0, ranks - 1, ranks / 3]
                } else {
                    vec![0]
                };
                for root in roots {
                    let root = RankId::new(root);
                    let schedule = match algorithm::build(&topology, collective, algorithm.name, root, BTreeMap::new())
                    {
                        Err(AlgorithmError::NotApplicable { .. }) if !algorithm.ranks.starts_with("any") => continue,
                        built => {
                            built.unwrap_or_else(|error| panic!("{} {collective} {ranks}: {error}", algorithm.name))
                        }
                    };
                    verify(&schedule, &mut |_| Control::Continue)
                        .unwrap_or_else(|error| panic!("{} {collective} {ranks}: {error}\n{schedule}", algorithm.name));
                    proved += 1;
                }
            }
        }
    }
    assert!(proved > 400, "{proved}");
}
