//! Ports of a node: numbered from 0, group by group, and the order in which they are served.

/// Ports that are alike, such as those towards the chips of a rack: a grid of `outer` × `inner` ports, row by row.
///
/// A group that rotates as a whole has `inner` = 1. One whose rows and columns rotate by themselves, such as the
/// servers of a rack and the chips of a server, has both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) outer: usize,
    pub(super) inner: usize,
}

impl Group {
    /// A group of `size` ports that rotates as a whole.
    pub(super) const fn cycle(size: usize) -> Self {
        Self { outer: size, inner: 1 }
    }

    /// A port by itself.
    pub(super) const ONE: Self = Self::cycle(1);
}

/// How the ports of a node fall into groups. Nodes that are alike share one layout.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    ports: Vec<Place>,
}

/// A port's place: its group's first port and extents, and its row and column within the group.
#[derive(Clone, Copy, Debug)]
struct Place {
    base: u32,
    outer: u32,
    inner: u32,
    row: u32,
    column: u32,
}

impl Layout {
    /// The ports of `groups`, in order. Their number was checked to be at most 2¹⁸.
    pub(super) fn new(groups: &[Group]) -> Self {
        let narrow = |size: usize| u32::try_from(size).expect("a node's ports were checked to be at most 2^18");
        let mut ports = Vec::with_capacity(groups.iter().map(|group| group.outer * group.inner).sum());
        for group in groups {
            let (base, outer, inner) = (narrow(ports.len()), narrow(group.outer), narrow(group.inner));
            for row in 0..outer {
                ports.extend((0..inner).map(|column| Place {
                    base,
                    outer,
                    inner,
                    row,
                    column,
                }));
            }
        }
        Self { ports }
    }

    pub(super) fn ports(&self) -> usize {
        self.ports.len()
    }

    /// See [`super::Topology::tie`].
    pub(super) fn tie(&self, input: u32, output: u32) -> u32 {
        let from = self.ports[input as usize];
        let to = self.ports[output as usize];
        let rows = steps(to.row, from.row, from.outer);
        let columns = steps(to.column, from.column, from.inner);
        from.base + rows * from.inner + columns
    }
}

/// How many steps up from one index lead to another below `extent`, modulo it.
fn steps(from: u32, to: u32, extent: u32) -> u32 {
    let from = if from < extent { from } else { from % extent };
    if to >= from { to - from } else { to + extent - from }
}
