//! Views: a buffer seen as a smaller one, so that a schedule written for a line of ranks runs along an axis of a shape.

use super::expr::Expr;

/// Where the chunks of a small buffer lie in a larger one.
///
/// The index of a small chunk is read as digits, one for each dimension of `grid`, slowest first; its place is
/// `origin` and a stride for each unit of each digit. From there on it covers the chunks of `cell`, again a grid.
/// `grid` (3 by 8, 2 by 1), `cell` (2 by 4) make small chunk 3 = (1, 1) the large chunks 9 and 13.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub(super) origin: Expr,
    pub(super) grid: Vec<Dim>,
    pub(super) cell: Vec<Dim>,
    pub(super) size: u64,
}

/// A dimension of a grid of chunks: how many, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim {
    /// How many.
    pub count: u64,
    /// How far apart.
    pub stride: u64,
}

impl Dim {
    /// `count` chunks, `stride` apart.
    pub const fn new(count: u64, stride: u64) -> Self {
        Self { count, stride }
    }
}

impl View {
    /// A view from `origin` on; dimensions of one are dropped, and dimensions that continue each other are joined.
    pub fn new(origin: impl Into<Expr>, grid: &[Dim], cell: &[Dim]) -> Self {
        Self {
            origin: origin.into(),
            grid: joined(grid),
            cell: joined(cell),
            size: grid.iter().map(|dim| dim.count).product(),
        }
    }

    /// The number of chunks of the small buffer.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How many large chunks a small chunk covers.
    pub fn cell_size(&self) -> u64 {
        self.cell.iter().map(|dim| dim.count).product()
    }

    /// The same view repeated: small chunk `size · k + i` is chunk i, `stride · (first + k)` further on. For scratch
    /// buffers, which hold images of a cut; `size` small chunks in all.
    pub(super) fn images(&self, first: u64, stride: u64, size: u64) -> Self {
        let images = size.div_ceil(self.size);
        let start = Expr::from_count(first * stride);
        let grid: Vec<Dim> = std::iter::once(Dim::new(images, stride))
            .chain(self.grid.iter().copied())
            .collect();
        Self {
            origin: self.origin.clone() + start,
            grid: joined(&grid),
            cell: self.cell.clone(),
            size,
        }
    }

    /// Calls `visit(first, count)` for each stretch of neighbouring large chunks that `count` small chunks from `first`
    /// on cover, in order, where `origin` is the value of the view's own.
    pub(super) fn for_each_range(
        &self,
        origin: i64,
        first: u64,
        count: u64,
        visit: &mut dyn FnMut(i64, u64) -> Result<(), String>,
    ) -> Result<(), String> {
        let cell_size = self.cell_size();
        let in_a_row = self.cell.is_empty() || (self.cell.len() == 1 && self.cell[0].stride == 1);
        let row = self.grid.last().copied().unwrap_or(Dim::new(1, cell_size));
        let (mut index, end) = (first, first + count);
        while index < end {
            let part = (row.count - index % row.count).min(end - index);
            let start = origin.wrapping_add(self.place(index).cast_signed());
            if in_a_row && row.stride == cell_size {
                visit(start, part * cell_size)?;
            } else {
                for step in 0..part {
                    let start = start.wrapping_add((step * row.stride).cast_signed());
                    visit_cell(&self.cell, start, visit)?;
                }
            }
            index += part;
        }
        Ok(())
    }

    /// How far from the origin a small chunk starts.
    fn place(&self, index: u64) -> u64 {
        let mut rest = index;
        let mut place = 0;
        for (position, dim) in self.grid.iter().enumerate().rev() {
            // The slowest digit takes what is left, so that an index past the end is seen to be past the end.
            let digit = if position == 0 { rest } else { rest % dim.count };
            place += digit * dim.stride;
            rest /= dim.count;
        }
        place
    }
}

fn visit_cell(cell: &[Dim], first: i64, visit: &mut dyn FnMut(i64, u64) -> Result<(), String>) -> Result<(), String> {
    match cell {
        [] => visit(first, 1),
        [Dim { count, stride: 1 }] => visit(first, *count),
        [dim, inner @ ..] => (0..dim.count).try_for_each(|step| {
            let first = first.wrapping_add((step * dim.stride).cast_signed());
            visit_cell(inner, first, visit)
        }),
    }
}

fn joined(dims: &[Dim]) -> Vec<Dim> {
    let mut joined: Vec<Dim> = Vec::new();
    for &dim in dims.iter().filter(|dim| dim.count != 1) {
        match joined.last_mut() {
            Some(outer) if outer.stride == dim.count * dim.stride => {
                *outer = Dim::new(outer.count * dim.count, dim.stride);
            }
            _ => joined.push(dim),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(view: &View, origin: i64, first: u64, count: u64) -> Vec<(i64, u64)> {
        let mut seen = Vec::new();
        view.for_each_range(origin, first, count, &mut |first, count| {
            seen.push((first, count));
            Ok(())
        })
        .expect("nothing objects");
        seen
    }

    #[test]
    fn an_index_is_read_as_digits_and_covers_its_cell() {
        let view = View::new(0, &[Dim::new(3, 8), Dim::new(2, 1)], &[Dim::new(2, 4)]);
        assert_eq!(view.size(), 6);
        assert_eq!(chunks(&view, 0, 3, 1), [(9, 1), (13, 1)]);
        assert_eq!(chunks(&view, 100, 1, 2), [(101, 1), (105, 1), (108, 1), (112, 1)]);
    }

    #[test]
    fn what_lies_in_a_row_is_one_stretch() {
        let view = View::new(0, &[Dim::new(3, 8), Dim::new(2, 4)], &[Dim::new(2, 2), Dim::new(2, 1)]);
        assert_eq!(chunks(&view, 0, 0, 6), [(0, 24)]);
        let gaps = View::new(0, &[Dim::new(3, 16), Dim::new(2, 4)], &[Dim::new(4, 1)]);
        assert_eq!(chunks(&gaps, 0, 1, 3), [(4, 4), (16, 8)]);
    }

    #[test]
    fn images_of_a_view_follow_each_other() {
        let view = View::new(2, &[Dim::new(2, 4)], &[]).images(1, 100, 5);
        assert_eq!(view.size(), 5);
        assert_eq!(chunks(&view, 102, 1, 3), [(106, 1), (202, 1), (206, 1)]);
    }
}
