//! Ports of a node: numbered from 0, group by group, and the order in which they are served.

/// Ports that are alike, such as those towards the chips of a rack: a grid of these extents, the last one fastest.
///
/// A group that rotates as a whole has one extent. One whose parts rotate by themselves, such as the servers of a rack
/// and the chips of a server, has one for each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    pub(super) extents: [usize; 3],
}

impl Group {
    /// A group of `size` ports that rotates as a whole.
    pub(super) const fn cycle(size: usize) -> Self {
        Self { extents: [1, 1, size] }
    }

    /// A group of these extents. Where there are more than three, the first of them rotate as one.
    pub(super) fn of(extents: &[usize]) -> Self {
        let mut of = [1; 3];
        for (place, extent) in extents.iter().rev().filter(|&&extent| extent > 1).enumerate() {
            of[2_usize.saturating_sub(place)] *= extent;
        }
        Self { extents: of }
    }

    /// A port by itself.
    pub(super) const ONE: Self = Self::cycle(1);

    const fn size(self) -> usize {
        self.extents[0] * self.extents[1] * self.extents[2]
    }
}

/// How the ports of a node fall into groups. Nodes that are alike share one layout.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    ports: Vec<Place>,
}

/// A port's place: its group's first port and extents, and its coordinates within the group.
#[derive(Clone, Copy, Debug)]
struct Place {
    base: u32,
    extents: [u32; 3],
    at: [u32; 3],
}

impl Layout {
    /// The ports of `groups`, in order. Their number was checked to be at most 2¹⁸.
    pub(super) fn new(groups: &[Group]) -> Self {
        Self { ports: Vec::new() }.with(groups.iter().copied())
    }

    /// The same ports, and those of more groups.
    pub(super) fn with(&self, groups: impl IntoIterator<Item = Group>) -> Self {
        let narrow = |size: usize| u32::try_from(size).expect("a node's ports were checked to be at most 2^18");
        let mut ports = self.ports.clone();
        for group in groups {
            let (base, extents) = (narrow(ports.len()), group.extents.map(narrow));
            ports.extend((0..narrow(group.size())).map(|port| Place {
                base,
                extents,
                at: [
                    port / extents[2] / extents[1],
                    port / extents[2] % extents[1],
                    port % extents[2],
                ],
            }));
        }
        Self { ports }
    }

    pub(super) fn ports(&self) -> usize {
        self.ports.len()
    }

    /// See [`super::Topology::tie`].
    pub(super) fn tie(&self, input: u32, output: u32) -> u32 {
        let from = &self.ports[input as usize];
        let to = &self.ports[output as usize];
        let steps = (0..3).fold(0, |steps, axis| {
            let extent = from.extents[axis];
            steps * extent + (from.at[axis] + extent - to.at[axis] % extent) % extent
        });
        from.base + steps
    }
}
