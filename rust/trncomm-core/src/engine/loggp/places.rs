//! The order of messages that reach a station at one instant.

use std::cmp::Ordering;

use crate::engine::resources::{Hop, Resources};
use crate::ids::{LinkId, RankId};
use crate::topology::Topology;

/// The most that the place at the link before can be in a key.
const MAX_PLACE_BEFORE: u64 = (1 << 10) - 1;

/// The places of a message at the last link of its route and, as far as a key holds it, at the one before; the last
/// place there for a message that starts there. 28 bits.
pub(super) fn at_last_link(topology: &Topology, links: impl DoubleEndedIterator<Item = LinkId>) -> u64 {
    let mut back = links.rev();
    let Some(last) = back.next() else { return 0 };
    let Some(before) = back.next() else { return 0 };
    let at_last = u64::from(topology.tie(before, last));
    let before = back.next().map(|link| u64::from(topology.tie(link, before)));
    at_last << 10 | before.map_or(MAX_PLACE_BEFORE, |place| place.min(MAX_PLACE_BEFORE))
}

/// The order of the routes from two ranks to a third one, by places from the last link back.
///
/// Found by routing anew, which few messages need: most differ in places that a key holds.
pub(super) fn order_of_ways(topology: &Topology, a: RankId, b: RankId, to: RankId) -> Ordering {
    let mut resources = Resources::new(topology);
    let mut way = |from| {
        let mut route: Vec<Hop> = Vec::new();
        resources
            .route(from, to, &mut route)
            .expect("ranks that a message was posted between");
        let links = route.iter().filter_map(|hop| resources.link(hop.resource as usize));
        links.collect::<Vec<LinkId>>()
    };
    let (a, b) = (way(a), way(b));
    let place = |pair: (&[LinkId], &[LinkId])| {
        let tie = |pair: &[LinkId]| topology.tie(pair[0], pair[1]);
        tie(pair.0).cmp(&tie(pair.1))
    };
    let pairs = a.windows(2).rev().zip(b.windows(2).rev());
    let places_differ = pairs.map(place).find(|order| order.is_ne());
    // One passes the node where the other starts: the longer way goes first.
    places_differ.unwrap_or_else(|| b.len().cmp(&a.len()))
}
