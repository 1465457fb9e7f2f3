//! The fold: one rank and one link of all that are alike.
//!
//! # Why it is exact
//!
//! Let a group of renumberings act on the ranks so that none but the one that changes nothing leaves a rank in its place,
//! and let each of them map the topology to itself (links to links of the same rate, latency and tier, routes to
//! routes), and the schedule to itself (what rank r does, the image of r does with the images of r's peers, for as many
//! bytes). Then a run mapped by a renumbering is a run of the same system from the same start. A run is determined by its
//! start, so both are the same: ranks in one orbit do the same at the same times, and links in one orbit carry the
//! same at the same times, from ranks that are images of one another.
//!
//! So one rank of each orbit is run, the *representative*. What it sends to rank p arrives, for the renumbering that takes p
//! to its representative, at that representative, from the image of the sender. A link stands for its orbit: what any
//! link of the orbit would carry, the images of it pass this one. A route may pass one orbit twice.
//!
//! Two things could tell images apart, and are looked at:
//!
//! - **Copies that meet.** A renumbering that moves ranks may leave a link where it is, as the rotation of the chips below a
//!   leaf does with a link above it. Then copies of one message cross that link at one instant. Where links are shared, all copies get the
//!   same share, and the link counts the message that many times ([`Fold::multiplicity`]). Where a port serves one
//!   after the other, the copies are not alike any more: such a group is not used, but a part of it that leaves no
//!   link where it is.
//! - **Ties.** Where packets of different messages meet at one port at one instant, the one goes first whose place
//!   relative to the port comes first ([`Topology::tie`]). A renumbering must keep places; exclusive or doesn't keep
//!   those of a rotation, and is used for shared links only.
//!
//! What depends on the number of a rank by chance (jitter, hashes of flows, bit errors) or on where it is (datelines), and
//! what counts packets at switches (credits, turns, spraying packet by packet), is not folded: the run is then made whole.

use petgraph::unionfind::UnionFind;

use super::group::{Axis, Group, Turn};
use super::images::{Kind, NONE, Routes};
use crate::ids::{LinkId, RankId};
use crate::schedule::Code;
use crate::topology::{Fault, Policy, Topology};
use crate::units::Time;

/// The representatives of ranks and links, and who stands for whom.
#[derive(Debug)]
pub struct Fold {
    group: Group,
    /// The orbit of each link; [`NONE`] where no route was seen to take it.
    orbits: Vec<u32>,
    /// The first link of each orbit.
    links: Vec<LinkId>,
    /// How many copies of a message cross each link at once, by orbit.
    multiplicities: Vec<u32>,
}

/// The fold by the largest group that the topology, its faults and the schedule are found to respect, if there is one
/// that leaves fewer ranks.
///
/// Asks `goes_on` now and then; an error means that it said no.
pub fn fold(
    topology: &Topology,
    code: &Code<'_>,
    kind: Kind,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Fold>, Stopped> {
    if code.schedule().ranks() != topology.ranks() || topology.ranks() < 2 || depends_on_numbers(topology) {
        return Ok(None);
    }
    let Some(extents) = numbering(topology, code) else {
        return Ok(None);
    };
    let mut axes: Vec<Axis> = extents.iter().map(|&extent| Axis::still(extent)).collect();
    let mut routes: Option<Routes<'_>> = None;
    let mut images: Vec<Vec<u32>> = Vec::new();
    let mut found = None;
    for number in 0..axes.len() {
        for axis in candidates(extents[number], kind) {
            let mut tried = axes.clone();
            tried[number] = axis;
            if !goes_on() {
                return Err(Stopped);
            }
            let group = Group::new(tried.clone());
            let moves: Vec<u32> = group.generators(number).collect();
            let respected = moves.iter().all(|&by| {
                let renumbered = |rank| group.moved(rank, number, by);
                code.respects(&extents, number, axis.turn == Turn::Xor, &renumbered)
            });
            if !respected {
                continue;
            }
            let routes = match &routes {
                Some(routes) => routes,
                None => match Routes::new(topology, &Group::whole(&extents)) {
                    Some(all) => routes.insert(all),
                    None => return Ok(None),
                },
            };
            let images_by = |by| routes.images(kind, |rank| group.moved(rank, number, by));
            let Some(more) = moves.into_iter().map(images_by).collect::<Option<Vec<_>>>() else {
                continue;
            };
            let known = images.len();
            images.extend(more);
            if let Some(fold) = Fold::of(group, &images, kind) {
                (axes, found) = (tried, Some(fold));
                break;
            }
            images.truncate(known);
        }
    }
    Ok(found)
}

/// The search was told not to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// Whether a rank's number, and not its place alone, has a say in what happens.
fn depends_on_numbers(topology: &Topology) -> bool {
    let breaks = |fault: &Fault| match fault {
        Fault::LinkErrors { .. } => true,
        // A choice of routes may not show a detour.
        Fault::LinkDown(_) | Fault::NodeDown(_) => !Routes::are_all(topology),
        Fault::LinkSlow { .. } | Fault::Late { .. } | Fault::Slow { .. } => false,
    };
    matches!(topology.fabric().policy(), Policy::FlowHash { .. })
        || topology.endpoint().most_jitter() > Time::ZERO
        || topology.faults().iter().any(breaks)
}

/// The extents of a numbering whose axes are parts of the axes of both the topology's shape and the schedule's; none
/// where the two don't fit.
fn numbering(topology: &Topology, code: &Code<'_>) -> Option<Vec<u32>> {
    let mut strides = vec![u32::try_from(topology.ranks()).ok()?];
    let mut add = |extents: &mut dyn DoubleEndedIterator<Item = u32>| {
        let mut stride = 1;
        for extent in extents.rev() {
            strides.push(stride);
            stride *= extent;
        }
    };
    let shape: Vec<u32> = topology
        .shape()
        .iter()
        .map(|&extent| u32::try_from(extent))
        .collect::<Result<_, _>>()
        .ok()?;
    add(&mut shape.into_iter());
    add(&mut code.schedule().shape().extents().iter().copied());
    strides.sort_unstable();
    strides.dedup();
    let mut extents = Vec::new();
    for pair in strides.windows(2).rev() {
        if pair[1] % pair[0] != 0 {
            return None;
        }
        extents.push(pair[1] / pair[0]);
    }
    Some(extents)
}

/// The moves along an axis that are tried, the most first.
fn candidates(extent: u32, kind: Kind) -> impl Iterator<Item = Axis> {
    let steps = (1..extent).filter(move |step| extent.is_multiple_of(*step));
    steps.flat_map(move |step| {
        let xor = (kind == Kind::Shares && extent.is_power_of_two()).then_some(Turn::Xor);
        std::iter::once(Turn::Rotate)
            .chain(xor)
            .map(move |turn| Axis { extent, step, turn })
    })
}

impl Fold {
    /// The fold by a group, given the images of the links under its generators; none where copies would have to be
    /// served one after the other.
    fn of(group: Group, images: &[Vec<u32>], kind: Kind) -> Option<Self> {
        let links = images.first().map_or(0, Vec::len);
        let mut alike: UnionFind<u32> = UnionFind::new(links);
        for image in images {
            for (link, &to) in (0..).zip(image) {
                if to != NONE {
                    alike.union(link, to);
                }
            }
        }
        let labels = alike.into_labeling();
        let used = |link: usize| images.iter().any(|image| image[link] != NONE);
        let (mut orbits, mut orbit_of_label) = (vec![NONE; links], vec![NONE; links]);
        let (mut firsts, mut sizes): (Vec<LinkId>, Vec<u64>) = (Vec::new(), Vec::new());
        for link in (0..links).filter(|&link| used(link)) {
            let orbit = &mut orbit_of_label[labels[link] as usize];
            if *orbit == NONE {
                *orbit = u32::try_from(firsts.len()).expect("links fit 32 bits");
                firsts.push(LinkId::new(link));
                sizes.push(0);
            }
            orbits[link] = *orbit;
            sizes[*orbit as usize] += 1;
        }
        let multiplicities: Option<Vec<u32>> = sizes
            .iter()
            .map(|&size| {
                u32::try_from(group.order() / size)
                    .ok()
                    .filter(|_| group.order().is_multiple_of(size))
            })
            .collect();
        let multiplicities = multiplicities?;
        if kind == Kind::Serves && multiplicities.iter().any(|&copies| copies != 1) {
            return None;
        }
        Some(Self {
            group,
            orbits,
            links: firsts,
            multiplicities,
        })
    }

    /// How many ranks represent the others.
    pub fn ranks(&self) -> usize {
        self.group.representatives() as usize
    }

    /// How many ranks each of them stands for, itself included.
    pub fn order(&self) -> u64 {
        self.group.order()
    }

    /// How many links represent the others.
    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// The number among the representatives of the one that stands for a rank.
    pub fn index(&self, rank: RankId) -> usize {
        self.group.index(rank.get()) as usize
    }

    /// The representative of that number.
    pub fn rank(&self, index: usize) -> RankId {
        let index = u32::try_from(index).expect("representatives are ranks");
        RankId::from(self.group.representative(index))
    }

    /// The number of the representative of `to`, and the rank that a message to it from `from` comes from.
    pub fn carry(&self, from: u32, to: u32) -> (u32, u32) {
        self.group.carry(from, to)
    }

    /// The number among the representatives of the one that stands for a link, if any route was seen to take it.
    pub fn link_index(&self, link: LinkId) -> Option<usize> {
        let orbit = self.orbits[link.index()];
        (orbit != NONE).then_some(orbit as usize)
    }

    /// The link that represents others, of that number.
    pub fn link(&self, index: usize) -> LinkId {
        self.links[index]
    }

    /// How many copies of a message cross each link of that number at once.
    pub fn multiplicity(&self, index: usize) -> u32 {
        self.multiplicities[index]
    }

    /// A column of the representatives of ranks, for all ranks.
    pub fn all_ranks<T: Copy>(&self, column: &[T]) -> Vec<T> {
        let ranks = self.order() * self.ranks() as u64;
        let ranks = u32::try_from(ranks).expect("ranks fit 32 bits");
        (0..ranks).map(|rank| column[self.group.index(rank) as usize]).collect()
    }

    /// A column of the representatives of links, for all links; the default where nothing passes.
    pub fn all_links<T: Copy + Default>(&self, column: &[T]) -> Vec<T> {
        let value = |&orbit: &u32| {
            if orbit == NONE {
                T::default()
            } else {
                column[orbit as usize]
            }
        };
        self.orbits.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{Collective, Goal};
    use crate::schedule::{Buffer, Chunks, Instruction, Layout, Place, Program, Schedule, Shape};
    use crate::topology::{LinkInput, LinkSpec};
    use crate::units::{Bandwidth, Bytes};

    fn link() -> LinkSpec {
        LinkSpec {
            bandwidth: Bandwidth::new(1_000_000_000).expect("above zero"),
            latency: Time::ZERO,
        }
    }

    /// Every rank sends a chunk to this place.
    fn sends(ranks: usize, to: Place) -> Schedule {
        let body = vec![Instruction::send(to, Chunks::one(Buffer::Output, 0))];
        let goal = Goal::in_place(Collective::SendRecv);
        let shape = Shape::new(&[ranks]).expect("a line");
        Schedule::uniform("planted", goal, shape, ranks as u64, 0, Program::single(body)).expect("a schedule")
    }

    #[test]
    fn a_renumbering_that_parts_neighbours_is_no_symmetry_of_a_ring() {
        let ring = Topology::ring(6, link()).expect("a ring");
        let routes = Routes::new(&ring, &Group::whole(&[6])).expect("few routes");
        for kind in [Kind::Shares, Kind::Serves] {
            assert!(routes.images(kind, |rank| (rank + 1) % 6).is_some());
            assert!(
                routes
                    .images(kind, |rank| match rank {
                        0 => 1,
                        1 => 0,
                        other => other,
                    })
                    .is_none()
            );
            // A reflection keeps neighbours, but not the half of the ring that a route to the far side takes.
            assert!(routes.images(kind, |rank| (6 - rank) % 6).is_none());
        }
    }

    #[test]
    fn a_renumbering_that_changes_who_goes_first_is_for_shared_links_only() {
        let switch = Topology::switch(8, 1, link()).expect("a switch");
        let routes = Routes::new(&switch, &Group::whole(&[8])).expect("few routes");
        assert!(routes.images(Kind::Shares, |rank| rank ^ 1).is_some());
        assert!(routes.images(Kind::Serves, |rank| rank ^ 1).is_none());
        assert!(routes.images(Kind::Serves, |rank| (rank + 3) % 8).is_some());
    }

    /// Cables of a ring as a list: first all links forth, then all back.
    fn listed_ring(ranks: u64) -> Topology {
        let link = |source, destination| LinkInput {
            source,
            destination,
            bandwidth: 1_000_000_000,
            latency: 0,
            tier: "cable".to_owned(),
        };
        let forth = (0..ranks).map(|rank| link(rank, (rank + 1) % ranks));
        let back = (0..ranks).map(|rank| link((rank + 1) % ranks, rank));
        let links: Vec<LinkInput> = forth.chain(back).collect();
        Topology::from_links(usize::try_from(ranks).expect("few"), 0, &links).expect("a ring")
    }

    #[test]
    fn one_route_that_turns_the_other_way_breaks_the_symmetry_of_a_table_of_any_size() {
        // Only rank 0 has its link forth at the lowest port, and goes forth to the far side.
        for ranks in [6, 1030] {
            let routes = listed_ring(ranks);
            let ranks = u32::try_from(ranks).expect("few");
            let routes = Routes::new(&routes, &Group::whole(&[ranks])).expect("a table");
            for kind in [Kind::Shares, Kind::Serves] {
                assert!(routes.images(kind, |rank| (rank + 1) % ranks).is_none());
            }
        }
        let odd = listed_ring(1031);
        let routes = Routes::new(&odd, &Group::whole(&[1031])).expect("a table");
        assert!(routes.images(Kind::Shares, |rank| (rank + 1) % 1031).is_some());
    }

    #[test]
    fn spines_that_the_last_destination_does_not_divide_break_the_symmetry_of_leaves() {
        let spec = || link();
        for (leaves, spines) in [(40, 7), (600, 7), (521, 5), (1021, 10), (2003, 499)] {
            let clos = Topology::leaf_spine(leaves, 1, spines, spec(), spec()).expect("leaves");
            let ranks = u32::try_from(leaves).expect("few");
            let routes = Routes::new(&clos, &Group::whole(&[ranks])).expect("short routes");
            assert!(
                routes.images(Kind::Shares, |rank| (rank + 1) % ranks).is_none(),
                "{leaves} leaves, {spines} spines"
            );
        }
        let clos = Topology::leaf_spine(2000, 1, 10, spec(), spec()).expect("leaves");
        let routes = Routes::new(&clos, &Group::whole(&[2000])).expect("short routes");
        assert!(routes.images(Kind::Shares, |rank| (rank + 1) % 2000).is_some());
    }

    #[test]
    fn a_long_ring_folds_though_its_routes_are_too_long_to_compare_all() {
        let ranks = 100_800;
        let ring = Topology::ring(ranks as usize, link()).expect("a ring");
        let routes = Routes::new(&ring, &Group::whole(&[ranks])).expect("short routes to neighbours");
        assert!(routes.images(Kind::Serves, |rank| (rank + 1) % ranks).is_some());
        assert!(routes.images(Kind::Serves, |rank| (ranks - rank) % ranks).is_none());
    }

    #[test]
    fn a_slow_link_is_no_image_of_another() {
        let ring = Topology::ring(6, link()).expect("a ring");
        let slow = Fault::LinkSlow {
            link: LinkId::new(0),
            numerator: 1,
            denominator: 2,
        };
        let view = ring.with_faults(&[slow]).expect("a link that is there");
        let routes = Routes::new(&view, &Group::whole(&[6])).expect("few routes");
        assert!(routes.images(Kind::Shares, |rank| (rank + 1) % 6).is_none());
    }

    #[test]
    fn a_schedule_that_names_a_rank_respects_no_renumbering_that_moves_it() {
        let respects = |to: Place| {
            let schedule = sends(6, to);
            let layout = Layout::new(Bytes::new(60), 1, 6).expect("whole elements");
            let code = Code::new(&schedule, layout).expect("code");
            code.respects(&[6], 0, false, &|rank| (rank + 1) % 6)
        };
        assert!(respects(Place::shift(0, 2)));
        assert!(!respects(Place::rank(3)));
        assert!(!respects(Place::xor(0, 1)));
    }

    #[test]
    fn a_schedule_that_sends_other_sizes_from_other_ranks_respects_no_renumbering() {
        let schedule = {
            let body = vec![Instruction::send(
                Place::shift(0, 1),
                Chunks::range(Buffer::Output, 0, crate::schedule::Expr::rank()),
            )];
            let goal = Goal::in_place(Collective::SendRecv);
            let shape = Shape::new(&[6]).expect("a line");
            Schedule::uniform("planted", goal, shape, 6, 0, Program::single(body)).expect("a schedule")
        };
        let layout = Layout::new(Bytes::new(60), 1, 6).expect("whole elements");
        let code = Code::new(&schedule, layout).expect("code");
        assert!(!code.respects(&[6], 0, false, &|rank| (rank + 1) % 6));
    }
}
