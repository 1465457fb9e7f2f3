//! Algorithms: recipes that turn a collective on a topology into a schedule, one file each.
//!
//! To add one: write its file with a `pub(super) const` of type [`Algorithm`], and name it in [`ALL`].

mod bidirectional_ring;
mod binary_tree;
mod bine;
mod binomial;
mod blueconnect;
mod bruck;
mod bruck_all_to_all;
mod bucket;
mod chain;
mod circulant;
mod direct;
mod dissemination;
mod double_binary_tree;
mod groups;
mod hamiltonian;
mod hierarchical;
mod hierarchical_all_to_all;
mod hierarchical_tree;
mod k_nomial;
mod kangaring;
mod levels;
mod linear;
mod mesh;
mod multi_ring;
mod neighbor_exchange;
mod one_shot;
mod pairwise;
mod parameter;
mod pat;
mod phases;
mod pipeline;
mod rail_aligned;
mod rdh;
mod recursive;
mod recursive_all_reduce;
mod recursive_multiplying;
mod ring;
mod scatter_all_gather;
mod shift;
mod sparbit;
mod swing;
mod swing_torus;
mod tree;

pub use parameter::{Kind, Parameter, Value};

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
    &sparbit::SPARBIT,
    &swing::SWING,
    &bine::BINE,
    &neighbor_exchange::NEIGHBOR_EXCHANGE,
    &linear::LINEAR,
    &chain::CHAIN,
    &binary_tree::BINARY_TREE,
    &double_binary_tree::DOUBLE_BINARY_TREE,
    &scatter_all_gather::SCATTER_ALL_GATHER,
    &hierarchical_tree::HIERARCHICAL_TREE,
    &dissemination::DISSEMINATION,
    &shift::SHIFT,
    &hierarchical::HIERARCHICAL,
    &blueconnect::BLUECONNECT,
    &k_nomial::K_NOMIAL,
    &recursive_multiplying::RECURSIVE_MULTIPLYING,
    &bucket::BUCKET,
    &multi_ring::MULTI_RING,
    &swing_torus::SWING_TORUS,
    &mesh::MESH,
    &kangaring::KANGARING,
    &rdh::RDH,
    &hierarchical_all_to_all::HIERARCHICAL_ALL_TO_ALL,
    &rail_aligned::RAIL_ALIGNED,
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

/// What an algorithm is asked to build.
#[derive(Debug)]
pub struct Request<'t> {
    topology: &'t Topology,
    extents: Vec<usize>,
    collective: Collective,
    root: RankId,
    parameters: BTreeMap<String, Value>,
    algorithm: &'static Algorithm,
}

impl Request<'_> {
    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.extents.iter().product()
    }

    /// The extents of the grid that the ranks are numbered in, last axis fastest.
    pub fn extents(&self) -> &[usize] {
        &self.extents
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

    /// The ranks as the topology's shape numbers them, and the extents, without those of one.
    pub fn grid(&self) -> Result<(Shape, Vec<usize>), AlgorithmError> {
        let extents = levels::not_alone(self.extents.clone());
        Ok((Shape::new(&extents)?, extents))
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
    fn parameter(&self, name: &str) -> Value {
        let parameter = self
            .algorithm
            .parameters
            .iter()
            .find(|parameter| parameter.name == name)
            .expect("an algorithm asks for parameters that it lists");
        self.parameters
            .get(name)
            .cloned()
            .unwrap_or_else(|| parameter.default())
    }

    /// The value of a parameter that is a whole number.
    pub fn count(&self, name: &str) -> u64 {
        match self.parameter(name) {
            Value::Count(value) => value,
            other => unreachable!("{name} is a whole number, got {other}"),
        }
    }

    /// The value of a parameter that is a list of whole numbers.
    pub fn counts(&self, name: &str) -> Vec<u64> {
        match self.parameter(name) {
            Value::Counts(values) => values,
            other => unreachable!("{name} is a list, got {other}"),
        }
    }

    /// The value of a parameter that is a name.
    pub fn choice(&self, name: &str) -> String {
        match self.parameter(name) {
            Value::Choice(choice) => choice,
            other => unreachable!("{name} is a name, got {other}"),
        }
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

    /// The schedule of `collective` by the algorithm called `name` over a line of `ranks` ranks, for use within the
    /// algorithm's own.
    fn stage(&self, collective: Collective, name: &str, ranks: usize) -> Result<Schedule, AlgorithmError> {
        let algorithm = find(collective, stage_name(collective, name))?;
        (algorithm.build)(&Request {
            topology: self.topology,
            extents: vec![ranks],
            collective,
            root: RankId::new(0),
            parameters: BTreeMap::new(),
            algorithm,
        })
    }
}

/// The name of the algorithm that does what `name` does for an all-reduce, where the halves have names of their own.
fn stage_name(collective: Collective, name: &str) -> &str {
    match (collective, name) {
        (Collective::ReduceScatter, "recursive_halving_doubling") => "recursive_halving",
        (Collective::AllGather, "recursive_halving_doubling") => "recursive_doubling",
        _ => name,
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
    parameters: BTreeMap<String, Value>,
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
    let mut accepted = BTreeMap::new();
    for (name, value) in parameters {
        let known = algorithm.parameters.iter().find(|parameter| parameter.name == name);
        let parameter = known.ok_or_else(|| AlgorithmError::Unknown {
            kind: "parameter",
            name: name.clone(),
            hint: match algorithm.parameters {
                [] => format!("{} has none", algorithm.name),
                parameters => hint(&name, parameters.iter().map(|parameter| parameter.name)),
            },
        })?;
        accepted.insert(name, parameter.accept(value)?);
    }
    (algorithm.build)(&Request {
        topology,
        extents: topology.shape().to_vec(),
        collective,
        root,
        parameters: accepted,
        algorithm,
    })
}
