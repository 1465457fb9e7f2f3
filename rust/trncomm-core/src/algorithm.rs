//! Algorithms: recipes that turn a collective on a topology into a schedule, one file each.
//!
//! To add one: write its file with a `pub(super) const` of type [`Algorithm`], and name it in [`ALL`].

mod bidirectional_ring;
mod binary_tree;
mod bine;
mod binomial;
mod bruck;
mod bruck_all_to_all;
mod chain;
mod circulant;
mod direct;
mod dissemination;
mod double_binary_tree;
mod linear;
mod neighbor_exchange;
mod one_shot;
mod pairwise;
mod pat;
mod pipeline;
mod recursive;
mod recursive_all_reduce;
mod ring;
mod scatter_all_gather;
mod shift;
mod swing;
mod tree;

use std::collections::BTreeMap;

use crate::collective::{Collective, Goal};
use crate::error::{AlgorithmError, hint};
use crate::ids::RankId;
use crate::schedule::{Schedule, Shape};
use crate::topology::Topology;

/// Every algorithm, in the order of the documentation.
pub const ALL: &[&Algorithm] = &[
    &ring::RING,
    &bidirectional_ring::BIDIRECTIONAL_RING,
    &recursive::HALVING_DOUBLING,
    &recursive::HALVING,
    &recursive::DOUBLING,
    &direct::DIRECT,
    &one_shot::ONE_SHOT,
    &pairwise::PAIRWISE,
    &pairwise::PAIRWISE_XOR,
    &binomial::BINOMIAL,
    &bruck::BRUCK,
    &circulant::CIRCULANT,
    &pat::PAT,
    &swing::SWING,
    &bine::BINE,
    &neighbor_exchange::NEIGHBOR_EXCHANGE,
    &linear::LINEAR,
    &chain::CHAIN,
    &binary_tree::BINARY_TREE,
    &double_binary_tree::DOUBLE_BINARY_TREE,
    &scatter_all_gather::SCATTER_ALL_GATHER,
    &dissemination::DISSEMINATION,
    &shift::SHIFT,
];

/// A recipe for schedules.
#[derive(Debug)]
pub struct Algorithm {
    /// The name, in snake case.
    pub name: &'static str,
    /// One line: what it does and what it costs.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// The collectives that it builds.
    pub collectives: &'static [Collective],
    /// Which numbers of ranks work.
    pub ranks: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// The recipe.
    pub(crate) build: fn(&Request<'_>) -> Result<Schedule, AlgorithmError>,
}

/// A whole number that an algorithm can be told.
#[derive(Debug)]
pub struct Parameter {
    /// The name, in snake case.
    pub name: &'static str,
    /// One line: what it sets.
    pub summary: &'static str,
    /// The value where none is given.
    pub default: u64,
    /// The least value.
    pub least: u64,
    /// The greatest value.
    pub most: u64,
}

impl Parameter {
    /// A parameter that is a whole number from `least` to `most`.
    pub const fn count(name: &'static str, summary: &'static str, default: u64, least: u64, most: u64) -> Self {
        Self {
            name,
            summary,
            default,
            least,
            most,
        }
    }
}

/// What an algorithm is asked to build.
#[derive(Debug)]
pub struct Request<'t> {
    topology: &'t Topology,
    collective: Collective,
    root: RankId,
    parameters: BTreeMap<String, u64>,
    algorithm: &'static Algorithm,
}

impl Request<'_> {
    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.topology.ranks()
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        self.topology
    }

    /// The collective, one of those that the algorithm lists.
    pub fn collective(&self) -> Collective {
        self.collective
    }

    /// The root; rank 0 for collectives without one.
    pub fn root(&self) -> RankId {
        self.root
    }

    /// All ranks on one axis.
    pub fn line(&self) -> Result<Shape, AlgorithmError> {
        Ok(Shape::new(&[self.ranks()])?)
    }

    /// The collective within the output buffer.
    pub fn in_place(&self) -> Goal {
        Goal::in_place(self.collective).with_root(self.root)
    }

    /// The collective from the input to the output buffer.
    pub fn out_of_place(&self) -> Goal {
        Goal::out_of_place(self.collective).with_root(self.root)
    }

    /// The value of one of the algorithm's parameters.
    pub fn count(&self, name: &str) -> u64 {
        let parameter = self
            .algorithm
            .parameters
            .iter()
            .find(|parameter| parameter.name == name);
        let default = parameter
            .expect("an algorithm asks for parameters that it lists")
            .default;
        self.parameters.get(name).copied().unwrap_or(default)
    }

    /// The error that the algorithm can't serve the request, because of `reason`.
    fn not_applicable(&self, reason: impl Into<String>) -> AlgorithmError {
        AlgorithmError::NotApplicable {
            algorithm: self.algorithm.name,
            collective: self.collective.name(),
            ranks: self.ranks(),
            reason: reason.into(),
        }
    }
}

/// The algorithms that build `collective`.
pub fn algorithms(collective: Collective) -> impl Iterator<Item = &'static Algorithm> {
    ALL.iter()
        .copied()
        .filter(move |algorithm| algorithm.collectives.contains(&collective))
}

/// The algorithm called `name` that builds `collective`.
fn find(collective: Collective, name: &str) -> Result<&'static Algorithm, AlgorithmError> {
    let wanted = name.to_ascii_lowercase().replace('-', "_");
    algorithms(collective)
        .find(|algorithm| algorithm.name == wanted)
        .ok_or_else(|| AlgorithmError::Unknown {
            kind: "algorithm",
            name: name.to_owned(),
            hint: format!(
                "for {collective}, {}",
                hint(&wanted, algorithms(collective).map(|algorithm| algorithm.name))
            ),
        })
}

/// The schedule of `collective` over all ranks of `topology` by the algorithm called `name`.
///
/// `root` must be a rank; `parameters` are those that the algorithm lists. An error names what isn't known, or says
/// why the algorithm can't serve the request.
pub fn build(
    topology: &Topology,
    collective: Collective,
    name: &str,
    root: RankId,
    parameters: BTreeMap<String, u64>,
) -> Result<Schedule, AlgorithmError> {
    let algorithm = find(collective, name)?;
    if root.index() >= topology.ranks() {
        return Err(AlgorithmError::Parameter {
            parameter: "root".to_owned(),
            expected: format!("a rank from 0 to {}", topology.ranks() - 1),
            value: root.to_string(),
        });
    }
    if !collective.has_root() && root.get() != 0 {
        return Err(AlgorithmError::Parameter {
            parameter: "root".to_owned(),
            expected: format!("left out for {collective}, which has none"),
            value: root.to_string(),
        });
    }
    for (name, &value) in &parameters {
        let known = algorithm.parameters.iter().find(|parameter| parameter.name == name);
        let parameter = known.ok_or_else(|| AlgorithmError::Unknown {
            kind: "parameter",
            name: name.clone(),
            hint: match algorithm.parameters {
                [] => format!("{} has none", algorithm.name),
                parameters => hint(name, parameters.iter().map(|parameter| parameter.name)),
            },
        })?;
        if !(parameter.least..=parameter.most).contains(&value) {
            return Err(AlgorithmError::Parameter {
                parameter: name.clone(),
                expected: format!("from {} to {}", parameter.least, parameter.most),
                value: value.to_string(),
            });
        }
    }
    (algorithm.build)(&Request {
        topology,
        collective,
        root,
        parameters,
        algorithm,
    })
}
