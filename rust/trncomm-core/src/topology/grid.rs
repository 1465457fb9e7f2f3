//! Chips on a grid: ring, mesh and torus, in any number of dimensions.

use super::ports::Group;
use super::routing::Formula;
use super::wiring::{End, Size, Wiring, at_least_one, node_count, product};
use super::{Family, LinkSpec, Topology};
use crate::error::TopologyError;

/// A grid of more dimensions with two or more chips each would have more nodes than ids.
const MOST_DIMENSIONS: usize = 32;

/// Ports are numbered axis by axis, the one up before the one down, without gaps for neighbours that aren't there.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    axes: Vec<Axis>,
}

#[derive(Clone, Copy, Debug)]
struct Axis {
    extent: usize,
    /// How far apart in rank two neighbours are.
    stride: usize,
    /// Whether the last coordinate is joined to the first.
    wraps: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Axis {
    fn coordinate(self, rank: usize) -> usize {
        // Divisions that change nothing are left out: long routes ask this at every node.
        let line = if self.stride == 1 { rank } else { rank / self.stride };
        if line < self.extent { line } else { line % self.extent }
    }

    /// Whether a chip has a cable that counts as up: a line of two that wraps is one cable, up from both ends.
    fn has_up(self, coordinate: usize) -> bool {
        coordinate + 1 < self.extent || (self.wraps && self.extent > 1)
    }

    fn has_down(self, coordinate: usize) -> bool {
        if self.wraps { self.extent > 2 } else { coordinate > 0 }
    }

    fn ports(self, coordinate: usize) -> usize {
        usize::from(self.has_up(coordinate)) + usize::from(self.has_down(coordinate))
    }

    /// The port of a direction among those of this axis.
    fn port(self, direction: Direction, coordinate: usize) -> usize {
        let comes_second = direction == Direction::Down && self.has_down(coordinate) && self.has_up(coordinate);
        usize::from(comes_second)
    }

    /// The way from one coordinate to another: the short one, up where both are as long.
    fn direction(self, from: usize, to: usize) -> Direction {
        let goes_up = if self.wraps {
            let up = if to >= from { to - from } else { to + self.extent - from };
            up * 2 <= self.extent
        } else {
            to > from
        };
        if goes_up { Direction::Up } else { Direction::Down }
    }

    /// The coordinate next to one, where there is one.
    fn neighbour(self, coordinate: usize, direction: Direction) -> usize {
        match direction {
            Direction::Up if coordinate + 1 == self.extent => 0,
            Direction::Up => coordinate + 1,
            Direction::Down if coordinate == 0 => self.extent - 1,
            Direction::Down => coordinate - 1,
        }
    }

    /// Whether a cable leads from a coordinate to the next one up, counting each cable once.
    fn lays_cable(self, coordinate: usize) -> bool {
        coordinate + 1 < self.extent || self.closes_circle()
    }

    fn closes_circle(self) -> bool {
        self.wraps && self.extent > 2
    }

    /// The cables of one line of chips.
    fn cables(self) -> usize {
        self.extent - usize::from(!self.lays_cable(self.extent - 1))
    }

    fn rank_above(self, rank: usize) -> usize {
        let coordinate = self.coordinate(rank);
        rank - coordinate * self.stride + (coordinate + 1) % self.extent * self.stride
    }
}

impl Grid {
    fn new(extents: &[usize], wraps: bool) -> Self {
        let mut stride = 1;
        let mut axes = Vec::with_capacity(extents.len());
        for &extent in extents.iter().rev() {
            axes.push(Axis { extent, stride, wraps });
            stride *= extent;
        }
        axes.reverse();
        Self { axes }
    }

    /// The port towards a rank: along the first axis on which it is elsewhere.
    pub(super) fn port(&self, at: usize, to: usize) -> usize {
        let mut before = 0;
        for axis in &self.axes {
            let (coordinate, target) = (axis.coordinate(at), axis.coordinate(to));
            if coordinate != target {
                return before + axis.port(axis.direction(coordinate, target), coordinate);
            }
            before += axis.ports(coordinate);
        }
        unreachable!("a route ends where all coordinates agree")
    }

    /// The nodes and ports of the route between two ranks, as [`Self::port`] leads, without finding each coordinate anew:
    /// each axis is passed in one direction.
    pub(super) fn for_each_port(&self, from: usize, to: usize, mut pass: impl FnMut(usize, usize)) {
        let mut at = from;
        let mut before = 0;
        for axis in &self.axes {
            let (mut coordinate, target) = (axis.coordinate(at), axis.coordinate(to));
            let start = at - coordinate * axis.stride;
            let direction = axis.direction(coordinate, target);
            // All nodes of an axis that wraps have the same ports.
            let everywhere = axis.wraps.then(|| axis.port(direction, coordinate));
            while coordinate != target {
                pass(
                    at,
                    before + everywhere.unwrap_or_else(|| axis.port(direction, coordinate)),
                );
                coordinate = axis.neighbour(coordinate, direction);
                at = start + coordinate * axis.stride;
            }
            before += axis.ports(coordinate);
        }
    }

    /// Whether a line is long enough to close a circle of links in one direction.
    pub(super) fn has_circles(&self) -> bool {
        self.axes.iter().any(|axis| axis.closes_circle())
    }

    /// Whether the link between two neighbours along a dimension joins the ends of a circle.
    pub(super) fn crosses_dateline(&self, dimension: usize, from: usize, to: usize) -> bool {
        let axis = self.axes[dimension];
        axis.closes_circle() && axis.coordinate(from).abs_diff(axis.coordinate(to)) > 1
    }

    fn port_along(&self, dimension: usize, direction: Direction, at: usize) -> usize {
        let (axis, earlier) = (self.axes[dimension], &self.axes[..dimension]);
        let before: usize = earlier.iter().map(|axis| axis.ports(axis.coordinate(at))).sum();
        before + axis.port(direction, axis.coordinate(at))
    }

    fn ports(&self, rank: usize) -> usize {
        self.axes.iter().map(|axis| axis.ports(axis.coordinate(rank))).sum()
    }
}

impl Topology {
    /// Chips in a circle, with a link each way between neighbours.
    ///
    /// Shape `[ranks]`; one tier, `link`. Two ranks are joined by one link each way, one rank has no links. Routes go the
    /// short way; where both ways are as long they go up, from r to r + 1.
    pub fn ring(ranks: usize, spec: LinkSpec) -> Result<Self, TopologyError> {
        at_least_one("ranks", ranks)?;
        build(Family::Ring, &[ranks], &[spec], |_| "link".to_owned())
    }

    /// Chips on a grid without wrap-around, with a link each way between neighbours.
    ///
    /// Shape `dimensions`, the last one counting fastest; a tier for each, `x`, `y`, `z`, `dim3` and so on. `specs`
    /// holds one entry for all dimensions or one for each. Routes correct the first dimension first.
    pub fn mesh(dimensions: &[usize], specs: &[LinkSpec]) -> Result<Self, TopologyError> {
        build(Family::Mesh, dimensions, specs, axis_label)
    }

    /// Chips on a grid that wraps around in every dimension, with a link each way between neighbours.
    ///
    /// As [`Self::mesh`], with every line closed as [`Self::ring`] closes it: extent 2 has one link each way, extent 1 none,
    /// and routes go the short way in each dimension, up where both ways are as long.
    pub fn torus(dimensions: &[usize], specs: &[LinkSpec]) -> Result<Self, TopologyError> {
        build(Family::Torus, dimensions, specs, axis_label)
    }
}

fn axis_label(dimension: usize) -> String {
    match dimension {
        0 => "x".to_owned(),
        1 => "y".to_owned(),
        2 => "z".to_owned(),
        _ => format!("dim{dimension}"),
    }
}

fn build(
    family: Family,
    extents: &[usize],
    specs: &[LinkSpec],
    label: impl Fn(usize) -> String,
) -> Result<Topology, TopologyError> {
    check_arguments(extents, specs)?;
    let ranks = node_count(product(extents))?;
    let grid = Grid::new(extents, family != Family::Mesh);
    let cables: usize = grid.axes.iter().map(|axis| ranks / axis.extent * axis.cables()).sum();
    let mut wiring = Wiring::new(&Size {
        nodes: ranks as u128,
        links: 2 * cables as u128,
        ports: 2 * extents.len() as u128,
    })?;

    // A chip's ports are alike in nothing: each is a group by itself, so chips with as many ports share a layout.
    let layouts: Vec<u32> = (0..=2 * extents.len())
        .map(|ports| wiring.add_layout(&vec![Group::ONE; ports]))
        .collect();
    for rank in 0..ranks {
        wiring.add_node(layouts[grid.ports(rank)]);
    }
    let tiers: Vec<u8> = (0..extents.len())
        .map(|dimension| wiring.add_tier(&label(dimension)))
        .collect();
    for rank in 0..ranks {
        for (dimension, axis) in grid.axes.iter().enumerate() {
            if axis.lays_cable(axis.coordinate(rank)) {
                let above = axis.rank_above(rank);
                let lower = End {
                    node: rank,
                    port: grid.port_along(dimension, Direction::Up, rank),
                };
                let upper = End {
                    node: above,
                    port: grid.port_along(dimension, Direction::Down, above),
                };
                let spec = specs[dimension.min(specs.len() - 1)];
                wiring.add_cable(lower, upper, spec, tiers[dimension]);
            }
        }
    }
    Ok(wiring.finish(family, extents.to_vec(), Formula::Grid(grid)))
}

fn check_arguments(extents: &[usize], specs: &[LinkSpec]) -> Result<(), TopologyError> {
    if extents.is_empty() || extents.len() > MOST_DIMENSIONS {
        return Err(TopologyError::Argument {
            argument: "dimensions",
            expected: format!("1 to {MOST_DIMENSIONS} extents"),
            value: format!("{}", extents.len()),
        });
    }
    if extents.contains(&0) {
        return Err(TopologyError::Argument {
            argument: "dimensions",
            expected: "at least 1 in every dimension".to_owned(),
            value: format!("{extents:?}"),
        });
    }
    if specs.len() != 1 && specs.len() != extents.len() {
        return Err(TopologyError::Argument {
            argument: "specs",
            expected: format!("one entry for all dimensions or one for each of {}", extents.len()),
            value: format!("{} entries", specs.len()),
        });
    }
    Ok(())
}
