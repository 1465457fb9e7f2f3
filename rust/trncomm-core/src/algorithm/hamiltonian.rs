//! Hamiltonian cycles of tori that share no cable.
//!
//! On a torus of m rows and n columns, both at least 3, a cycle can go through each row once round but for one step, and
//! step to the next row where it stands. A row run upwards ends one column before it began, a row run downwards one
//! after; so the cycle closes if the ups less the downs are a multiple of n. What it leaves of the torus has two cables
//! at every chip as well: where that is one cycle too, the two use every cable. (For m = n, with all rows upwards, this
//! is the pair of Bae and Bose, IEEE Trans. Comput. 52(10), 2003. A pair exists for every m and n: Kotzig, 1973.)

/// Cycles through all chips of a torus that share no cable, at least one; chips are numbered last axis fastest.
///
/// Two where there are two axes of 3 or more whose extents are both even or both odd. Beyond two axes, the last ones
/// are taken as one, along a cycle of theirs.
pub(super) fn cycles(extents: &[usize]) -> Vec<Vec<usize>> {
    let (rows, line) = match extents {
        [] => (1, vec![0]),
        [extent] => (1, (0..*extent).collect()),
        [rows, rest @ ..] => (*rows, cycles(rest).swap_remove(0)),
    };
    let columns = line.len();
    let through_line = |chip: &usize| chip / columns * columns + line[chip % columns];
    let plane = cycles_of_plane(rows, columns);
    plane
        .iter()
        .map(|cycle| cycle.iter().map(through_line).collect())
        .collect()
}

fn cycles_of_plane(rows: usize, columns: usize) -> Vec<Vec<usize>> {
    if rows == 1 || columns == 1 {
        return vec![(0..rows * columns).collect()];
    }
    let across = || {
        let turned = cycles_by_rows(columns, rows)?;
        Some(turned.iter().map(|cycle| transposed(cycle, rows, columns)).collect())
    };
    // The first kind of cycle needs an even number of rows, or a multiple of the columns.
    let found = cycles_by_rows(rows, columns).into_iter().chain(across());
    found
        .max_by_key(Vec::len)
        .expect("of two numbers, one is even, or both are odd and the greater exceeds the less by an even number")
}

/// The chips of a torus of `rows` rows, named as chips of one whose rows and columns are exchanged.
fn transposed(cycle: &[usize], rows: usize, columns: usize) -> Vec<usize> {
    cycle.iter().map(|chip| chip % rows * columns + chip / rows).collect()
}

/// A cycle that goes through the rows one by one, and the one that it leaves, where it leaves one.
fn cycles_by_rows(rows: usize, columns: usize) -> Option<Vec<Vec<usize>>> {
    let closes = |ups: &usize| (2 * ups).abs_diff(rows).is_multiple_of(columns);
    let mut single = None;
    for ups in (0..=rows).filter(closes) {
        let cycle = along_rows(rows, columns, ups);
        if let Some(rest) = what_is_left(rows, columns, &cycle) {
            return Some(vec![cycle, rest]);
        }
        single.get_or_insert(cycle);
    }
    single.map(|cycle| vec![cycle])
}

/// The first `ups` rows upwards, the others downwards.
fn along_rows(rows: usize, columns: usize, ups: usize) -> Vec<usize> {
    let mut cycle = Vec::with_capacity(rows * columns);
    let mut start = 0;
    for row in 0..rows {
        let (step, next) = if row < ups { (1, columns - 1) } else { (columns - 1, 1) };
        cycle.extend((0..columns).map(|count| row * columns + (start + count * step) % columns));
        start = (start + next) % columns;
    }
    cycle
}

/// The cycle of the cables that `cycle` doesn't use, if they are one through all chips.
fn what_is_left(rows: usize, columns: usize, cycle: &[usize]) -> Option<Vec<usize>> {
    let chips = rows * columns;
    let mut beside = vec![[0; 2]; chips];
    for (position, &chip) in cycle.iter().enumerate() {
        beside[chip] = [cycle[(position + 1) % chips], cycle[(position + chips - 1) % chips]];
    }
    let left = |chip: usize| -> Vec<usize> {
        let mut neighbours = neighbours(rows, columns, chip);
        neighbours.retain(|neighbour| !beside[chip].contains(neighbour));
        neighbours
    };
    let mut walk = vec![0];
    let mut before = 0;
    let mut at = *left(0).first()?;
    while at != 0 && walk.len() < chips {
        let [a, b] = left(at)[..] else {
            return None;
        };
        walk.push(at);
        (before, at) = (at, if a == before { b } else { a });
    }
    (at == 0 && walk.len() == chips).then_some(walk)
}

/// The chips that share a cable with one; an axis of two has a single cable.
fn neighbours(rows: usize, columns: usize, chip: usize) -> Vec<usize> {
    let (row, column) = (chip / columns, chip % columns);
    let mut neighbours = vec![
        row * columns + (column + 1) % columns,
        row * columns + (column + columns - 1) % columns,
        (row + 1) % rows * columns + column,
        (row + rows - 1) % rows * columns + column,
    ];
    neighbours.sort_unstable();
    neighbours.dedup();
    neighbours
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The cables of a cycle, after checking that it visits every chip once and goes along cables only.
    fn cables(extents: &[usize], cycle: &[usize]) -> BTreeSet<(usize, usize)> {
        let chips: usize = extents.iter().product();
        assert_eq!(cycle.iter().collect::<BTreeSet<_>>().len(), chips, "{extents:?}");
        assert_eq!(cycle.len(), chips, "{extents:?}");
        let ends = (0..chips).map(|position| (cycle[position], cycle[(position + 1) % chips]));
        ends.map(|(a, b)| {
            assert_eq!(distance(extents, a, b), 1, "{a} and {b} in {extents:?}");
            (a.min(b), a.max(b))
        })
        .collect()
    }

    fn distance(extents: &[usize], mut a: usize, mut b: usize) -> usize {
        let mut sum = 0;
        for &extent in extents.iter().rev() {
            let apart = (a % extent).abs_diff(b % extent);
            sum += apart.min(extent - apart);
            (a, b) = (a / extent, b / extent);
        }
        sum
    }

    #[test]
    fn a_pair_that_is_known_for_a_torus_of_16_passes_the_check() {
        let a = [0, 1, 2, 3, 7, 4, 5, 6, 10, 11, 8, 9, 13, 14, 15, 12];
        let b = [0, 3, 15, 11, 7, 6, 2, 14, 10, 9, 5, 1, 13, 12, 8, 4];
        assert!(cables(&[4, 4], &a).is_disjoint(&cables(&[4, 4], &b)));
    }

    #[test]
    fn cycles_use_every_cable_where_both_extents_are_even_or_both_odd() {
        for rows in 3..=16 {
            for columns in 3..=16 {
                let extents = [rows, columns];
                let found = cycles(&extents);
                let cables: Vec<_> = found.iter().map(|cycle| cables(&extents, cycle)).collect();
                if rows % 2 == columns % 2 {
                    assert_eq!(found.len(), 2, "{extents:?}");
                    assert!(cables[0].is_disjoint(&cables[1]), "{extents:?}");
                } else {
                    assert_eq!(found.len(), 1, "{extents:?}");
                }
            }
        }
    }

    #[test]
    fn every_torus_of_more_than_two_chips_has_a_cycle() {
        for extents in [
            &[3][..],
            &[2, 2],
            &[2, 5],
            &[5, 2],
            &[2, 2, 2],
            &[3, 4, 5],
            &[4, 4, 4],
            &[2, 3, 2, 3],
        ] {
            let found = cycles(extents);
            let cables: Vec<_> = found.iter().map(|cycle| cables(extents, cycle)).collect();
            assert!(cables.len() == 1 || cables[0].is_disjoint(&cables[1]), "{extents:?}");
        }
        assert_eq!(cycles(&[4, 4, 4]).len(), 2);
        assert_eq!(cycles(&[1]), [[0]]);
        assert_eq!(cycles(&[2]), [[0, 1]]);
    }
}
