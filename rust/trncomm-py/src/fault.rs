//! Faults as Python describes them, and as a topology takes them.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::exceptions::{PyValueError, PyZeroDivisionError};
use pyo3::prelude::*;
use pyo3::types::PyFloat;
use trncomm_core::ids::RankId;
use trncomm_core::topology::{self, Topology};
use trncomm_core::units::{Time, parse_time};

use crate::convert::TOPOLOGY;
use crate::nodes::{LinkRef, NodeRef};

/// Something that is wrong with a part of a network, to be passed as `faults`.
///
/// Made by `link_down`, `link_slow`, `link_errors`, `node_down`, `late` and `slow`. Names what it strikes; whether a
/// topology has that is checked by `Topology.with_faults`. Faults compare by value.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> tc.late(5, by="200us")
///     late(5, by='200 µs')
///     >>> tc.link_slow((0, "switch 8"), 0.25, both=True)
///     link_slow((0, 'switch 8'), '1/4', both=True)
#[pyclass(frozen, eq, hash, module = "trncomm")]
#[derive(Clone, Copy, PartialEq)]
pub struct Fault {
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    LinkDown {
        link: LinkRef,
        both: bool,
    },
    LinkSlow {
        link: LinkRef,
        fraction: Ratio,
        both: bool,
    },
    LinkErrors {
        link: LinkRef,
        bit_error_rate: f64,
        both: bool,
    },
    NodeDown {
        node: NodeRef,
    },
    Late {
        rank: RankId,
        by: Time,
    },
    Slow {
        rank: RankId,
        times: Ratio,
    },
}

#[pymethods]
impl Fault {
    fn __repr__(&self) -> String {
        self.to_string()
    }

    /// The text from which `trncomm.faults.parse` reads it.
    #[getter]
    fn text(&self) -> String {
        let cable = |both| if both { ":both" } else { "" };
        let link = |link: LinkRef| match link {
            LinkRef::Number(number) => number.to_string(),
            LinkRef::Between(source, destination) => format!("{}-{}", plain(source), plain(destination)),
        };
        match self.kind {
            Kind::LinkDown { link: which, both } => format!("link-down:{}{}", link(which), cable(both)),
            Kind::LinkSlow {
                link: which,
                fraction,
                both,
            } => format!("link-slow:{}{}:{fraction}", link(which), cable(both)),
            Kind::LinkErrors {
                link: which,
                bit_error_rate,
                both,
            } => format!("link-errors:{}{}:{bit_error_rate:?}", link(which), cable(both)),
            Kind::NodeDown { node } => format!("node-down:{}", plain(node)),
            Kind::Late { rank, by } => format!("late:{rank}:{}", exact(by)),
            Kind::Slow { rank, times } => format!("slow:{rank}:{times}"),
        }
    }
}

/// Equal faults print alike, so that a hash of the text is one of the value.
impl Hash for Fault {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut text = DefaultHasher::new();
        self.to_string().hash(&mut text);
        text.finish().hash(state);
    }
}

impl Fault {
    /// The faults that it means on a topology: one, or one for each link that it names.
    pub fn on(self, topology: &Topology) -> PyResult<Vec<topology::Fault>> {
        use topology::Fault as F;
        Ok(match self.kind {
            Kind::LinkDown { link, both } => link.of(topology, both)?.into_iter().map(F::LinkDown).collect(),
            Kind::LinkSlow { link, fraction, both } => {
                let slow = |link| F::LinkSlow {
                    link,
                    numerator: fraction.numerator,
                    denominator: fraction.denominator,
                };
                link.of(topology, both)?.into_iter().map(slow).collect()
            }
            Kind::LinkErrors {
                link,
                bit_error_rate,
                both,
            } => {
                let wrong = |link| F::LinkErrors { link, bit_error_rate };
                link.of(topology, both)?.into_iter().map(wrong).collect()
            }
            Kind::NodeDown { node } => vec![F::NodeDown(node.of(topology)?)],
            Kind::Late { rank, by } => vec![F::Late { rank, by }],
            Kind::Slow { rank, times } => vec![F::Slow {
                rank,
                numerator: times.numerator,
                denominator: times.denominator,
            }],
        })
    }
}

impl From<topology::Fault> for Fault {
    fn from(fault: topology::Fault) -> Self {
        use topology::Fault as F;
        let both = false;
        let kind = match fault {
            F::LinkDown(link) => Kind::LinkDown {
                link: LinkRef::Number(link.get()),
                both,
            },
            F::LinkSlow {
                link,
                numerator,
                denominator,
            } => Kind::LinkSlow {
                link: LinkRef::Number(link.get()),
                fraction: Ratio { numerator, denominator },
                both,
            },
            F::LinkErrors { link, bit_error_rate } => Kind::LinkErrors {
                link: LinkRef::Number(link.get()),
                bit_error_rate,
                both,
            },
            F::NodeDown(node) => Kind::NodeDown {
                node: NodeRef::Number(node.get()),
            },
            F::Late { rank, by } => Kind::Late { rank, by },
            F::Slow {
                rank,
                numerator,
                denominator,
            } => Kind::Slow {
                rank,
                times: Ratio { numerator, denominator },
            },
        };
        Self { kind }
    }
}

/// The call that makes it.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cable = |both| if both { ", both=True" } else { "" };
        match self.kind {
            Kind::LinkDown { link, both } => write!(f, "link_down({link}{})", cable(both)),
            Kind::LinkSlow { link, fraction, both } => write!(f, "link_slow({link}, '{fraction}'{})", cable(both)),
            Kind::LinkErrors {
                link,
                bit_error_rate,
                both,
            } => write!(f, "link_errors({link}, {bit_error_rate:?}{})", cable(both)),
            Kind::NodeDown { node } => write!(f, "node_down({node})"),
            Kind::Late { rank, by } => write!(f, "late({rank}, by='{}')", exact(by)),
            Kind::Slow { rank, times } => write!(f, "slow({rank}, times='{times}')"),
        }
    }
}

/// A node as a text without quotes.
fn plain(node: NodeRef) -> String {
    node.to_string().replace('\'', "")
}

/// A time as a text that reads as the same time.
fn exact(time: Time) -> String {
    let text = time.to_string();
    if parse_time(&text) == Ok(time) {
        text
    } else {
        format!("{} ps", time.picoseconds())
    }
}

/// The faults of a topology, for people.
pub fn list(topology: &Topology) -> String {
    let calls: Vec<String> = topology
        .faults()
        .iter()
        .map(|&fault| Fault::from(fault).to_string())
        .collect();
    calls.join(", ")
}

/// A ratio of whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ratio {
    numerator: u32,
    denominator: u32,
}

impl Ratio {
    /// Reads whatever `fractions.Fraction` does; a float stands for the shortest decimal that reads as it.
    fn read(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = value.py();
        let got = value.repr()?;
        let refuse = |problem: &str| {
            TOPOLOGY.raise(
                name,
                format!("{name} must be a ratio such as 0.25, \"1/3\" or Fraction(1, 3){problem}, got {got}"),
            )
        };
        let fraction = py.import("fractions")?.getattr("Fraction")?;
        let read = if value.is_instance_of::<PyFloat>() {
            fraction.call1((value.str()?,))
        } else {
            fraction.call1((value,))
        };
        let read = read.map_err(|error| {
            let is_bad_text =
                error.is_instance_of::<PyValueError>(py) || error.is_instance_of::<PyZeroDivisionError>(py);
            if is_bad_text { refuse("") } else { error }
        })?;
        let part = |part| read.getattr(part)?.extract::<u32>();
        match (part("numerator"), part("denominator")) {
            (Ok(numerator), Ok(denominator)) => Ok(Self { numerator, denominator }),
            _ => Err(refuse(" of whole numbers from 0 to 2^32 - 1")),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            _ => write!(f, "{}/{}", self.numerator, self.denominator),
        }
    }
}

/// A link that carries nothing.
///
/// Traffic takes another way where there is one; `Topology.with_faults` names two ranks that no way joins otherwise.
///
/// Args:
///     link: The number of a link, or a pair (source, destination) of nodes, by number or by name ("switch 144"), for
///         all links that lead from the one to the other.
///     both: Whether the links of the other direction are down too, as where a cable is cut.
///
/// Raises:
///     TopologyError: A number or a name that can't be read.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> len(ring.route(0, 1)), len(ring.with_faults([tc.link_down((0, 1))]).route(0, 1))
///     (1, 3)
#[pyfunction]
#[pyo3(signature = (link, *, both=false))]
pub fn link_down(link: &Bound<'_, PyAny>, both: bool) -> PyResult<Fault> {
    let link = LinkRef::read("link", link)?;
    Ok(Fault {
        kind: Kind::LinkDown { link, both },
    })
}

/// A link at a fraction of its rate.
///
/// Args:
///     link: As for `link_down`.
///     fraction: Above 0 and at most 1: a number, a text such as "1/3", or a `fractions.Fraction`. Taken exactly; a
///         float stands for the decimal that it prints as. The rate is rounded down to whole bytes a second.
///     both: Whether the links of the other direction are as slow.
///
/// Raises:
///     TopologyError: A value that can't be read, or a fraction whose terms don't fit 32 bits.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> int(ring.with_faults([tc.link_slow(3, "1/4")]).link_bandwidth[3])
///     16000000000
#[pyfunction]
#[pyo3(signature = (link, fraction, *, both=false))]
pub fn link_slow(link: &Bound<'_, PyAny>, fraction: &Bound<'_, PyAny>, both: bool) -> PyResult<Fault> {
    let link = LinkRef::read("link", link)?;
    let fraction = Ratio::read("fraction", fraction)?;
    Ok(Fault {
        kind: Kind::LinkSlow { link, fraction, both },
    })
}

/// A link that gets bits wrong, so that the packet model sends packets again.
///
/// Args:
///     link: As for `link_down`.
///     bit_error_rate: The share of bits that come out wrong, from 0 to below 1.
///     both: Whether the links of the other direction err as often.
///
/// Raises:
///     TopologyError: A value that can't be read or is out of range.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> tc.link_errors(("chip 0", "chip 1"), 1e-12)
///     link_errors(('chip 0', 'chip 1'), 1e-12)
#[pyfunction]
#[pyo3(signature = (link, bit_error_rate, *, both=false))]
pub fn link_errors(link: &Bound<'_, PyAny>, bit_error_rate: f64, both: bool) -> PyResult<Fault> {
    let link = LinkRef::read("link", link)?;
    if !(0.0..1.0).contains(&bit_error_rate) {
        let problem = format!("bit_error_rate must be from 0 to below 1, got {bit_error_rate}");
        return Err(TOPOLOGY.raise("bit_error_rate", problem));
    }
    Ok(Fault {
        kind: Kind::LinkErrors {
            link,
            // A zero prints alike whatever its sign.
            bit_error_rate: bit_error_rate.abs(),
            both,
        },
    })
}

/// A switch that carries nothing: all its links are down, in and out.
///
/// Args:
///     node: The switch, by its number or its name ("switch 144").
///
/// Raises:
///     TopologyError: A number or a name that can't be read.
///
/// Examples:
///     One of four planes is lost:
///
///     >>> import trncomm as tc
///     >>> planes = tc.Topology.switch(8, planes=4, bandwidth="64GB/s", latency="500ns")
///     >>> planes.with_faults([tc.node_down("switch 8")]).faults
///     (node_down(8),)
#[pyfunction]
pub fn node_down(node: &Bound<'_, PyAny>) -> PyResult<Fault> {
    let node = NodeRef::read("node", node)?;
    Ok(Fault {
        kind: Kind::NodeDown { node },
    })
}

/// A rank that begins late.
///
/// Args:
///     rank: The rank.
///     by: How much later than the others, in picoseconds or as text ("200us").
///
/// Raises:
///     TopologyError: A value that can't be read.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> ring = tc.Topology.ring(4, bandwidth="64GB/s", latency="500ns")
///     >>> result = tc.simulate(ring, "all_gather", "1MiB", algorithm="ring", faults=[tc.late(2, by="1ms")])
///     >>> result.time_ps > 1_000_000_000
///     True
#[pyfunction]
#[pyo3(signature = (rank, *, by))]
pub fn late(rank: &Bound<'_, PyAny>, by: &Bound<'_, PyAny>) -> PyResult<Fault> {
    let rank = TOPOLOGY.rank("rank", rank)?;
    let by = TOPOLOGY.time("by", by)?;
    Ok(Fault {
        kind: Kind::Late { rank, by },
    })
}

/// A rank whose launches, completions, reductions and copies take longer.
///
/// Its links and its memory are as fast as before, so that it shows only where the endpoint has such costs.
///
/// Args:
///     rank: The rank.
///     times: How many times as long, at least 1; read as the fraction of `link_slow` is.
///
/// Raises:
///     TopologyError: A value that can't be read, or a ratio whose terms don't fit 32 bits.
///
/// Examples:
///     >>> import trncomm as tc
///     >>> tc.slow(5, times=1.5)
///     slow(5, times='3/2')
#[pyfunction]
#[pyo3(signature = (rank, *, times))]
pub fn slow(rank: &Bound<'_, PyAny>, times: &Bound<'_, PyAny>) -> PyResult<Fault> {
    let rank = TOPOLOGY.rank("rank", rank)?;
    let times = Ratio::read("times", times)?;
    Ok(Fault {
        kind: Kind::Slow { rank, times },
    })
}
