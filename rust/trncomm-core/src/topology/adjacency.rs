//! The links of each node, as one array with offsets (compressed sparse rows).

use crate::ids::{LinkId, NodeId};

#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    /// Where each node's links begin, and one past the last.
    first: Vec<u32>,
    links: Vec<LinkId>,
}

impl Adjacency {
    /// Groups links by `ends[link]`, each group by ascending `ports[link]`.
    pub(super) fn new(nodes: usize, ends: &[NodeId], ports: &[u32]) -> Self {
        let mut first = vec![0_u32; nodes + 1];
        for end in ends {
            first[end.index() + 1] += 1;
        }
        for node in 0..nodes {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut links = vec![LinkId::from(0); ends.len()];
        for (link, end) in ends.iter().enumerate() {
            let place = &mut next[end.index()];
            links[*place as usize] = LinkId::new(link);
            *place += 1;
        }
        for range in first.windows(2) {
            links[range[0] as usize..range[1] as usize].sort_unstable_by_key(|link| (ports[link.index()], *link));
        }
        Self { first, links }
    }

    pub(super) fn of(&self, node: NodeId) -> &[LinkId] {
        let node = node.index();
        &self.links[self.first[node] as usize..self.first[node + 1] as usize]
    }
}
