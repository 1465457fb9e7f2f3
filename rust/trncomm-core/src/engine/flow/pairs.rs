//! Which class serves a pair of ranks.

/// The class of an empty slot.
const EMPTY: u32 = u32::MAX;

/// The fewest slots of a table.
const LEAST: usize = 4;

/// Classes by source and destination.
///
/// A small table for each source: a rank has few peers under way at a time, and where it has many, they are neighbours,
/// which lie side by side here. One table for all pairs would miss the caches at each look.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    by_source: Vec<Table>,
}

/// Classes by destination, with linear probing; the number of slots is zero or a power of two.
#[derive(Debug, Default)]
struct Table {
    /// (destination, class).
    slots: Vec<(u32, u32)>,
    len: usize,
}

impl Pairs {
    /// The class of a pair, if it has one.
    pub(super) fn find(&self, source: u32, destination: u32) -> Option<u32> {
        let table = self.by_source.get(source as usize)?;
        table.place(destination).map(|place| table.slots[place].1)
    }

    /// Gives a pair that has none a class.
    pub(super) fn insert(&mut self, source: u32, destination: u32, class: u32) {
        let source = source as usize;
        if self.by_source.len() <= source {
            self.by_source.resize_with(source + 1, Table::default);
        }
        self.by_source[source].insert(destination, class);
    }

    /// Takes its class from a pair.
    pub(super) fn remove(&mut self, source: u32, destination: u32) {
        if let Some(table) = self.by_source.get_mut(source as usize) {
            table.remove(destination);
        }
    }
}

impl Table {
    /// The slot where the search for a destination begins.
    fn home(&self, destination: u32) -> usize {
        // Neighbours stay neighbours, and destinations a power of two apart don't all meet in one slot.
        let mixed = destination ^ (destination >> 7) ^ (destination >> 14);
        mixed as usize & (self.slots.len() - 1)
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.slots.len() - 1)
    }

    /// The slot of a destination, if it is there.
    fn place(&self, destination: u32) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mut place = self.home(destination);
        loop {
            let (found, class) = self.slots[place];
            if class == EMPTY {
                return None;
            }
            if found == destination {
                return Some(place);
            }
            place = self.after(place);
        }
    }

    fn insert(&mut self, destination: u32, class: u32) {
        // A quarter stays empty, so that searches end soon.
        if (self.len + 1) * 4 > self.slots.len() * 3 {
            let slots = vec![(0, EMPTY); (self.slots.len() * 2).max(LEAST)];
            for (destination, class) in std::mem::replace(&mut self.slots, slots) {
                if class != EMPTY {
                    self.put(destination, class);
                }
            }
        }
        self.len += 1;
        self.put(destination, class);
    }

    fn put(&mut self, destination: u32, class: u32) {
        let mut place = self.home(destination);
        while self.slots[place].1 != EMPTY {
            place = self.after(place);
        }
        self.slots[place] = (destination, class);
    }

    fn remove(&mut self, destination: u32) {
        let Some(mut gap) = self.place(destination) else {
            return;
        };
        self.len -= 1;
        let mask = self.slots.len() - 1;
        // What follows moves up unless it would come before its home.
        let mut place = self.after(gap);
        while self.slots[place].1 != EMPTY {
            let home = self.home(self.slots[place].0);
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(gap) & mask {
                self.slots[gap] = self.slots[place];
                gap = place;
            }
            place = self.after(place);
        }
        self.slots[gap] = (0, EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::split_mix;

    #[test]
    fn pairs_have_the_classes_that_they_were_given() {
        let (mut pairs, mut plain) = (Pairs::default(), BTreeMap::new());
        for step in 0..20_000_u32 {
            let draw = split_mix(step.into());
            // Neighbours, and destinations a thousand apart.
            let [source, destination, far, keep] = [draw % 3, draw >> 8 & 31, draw >> 16 & 1, draw >> 20 & 3]
                .map(|part| u32::try_from(part).expect("a few bits"));
            let destination = if far == 1 { destination << 10 } else { destination };
            let pair = (source, destination);
            assert_eq!(pairs.find(source, destination), plain.get(&pair).copied());
            if plain.remove(&pair).is_some() {
                pairs.remove(source, destination);
            } else if keep > 0 {
                pairs.insert(source, destination, step);
                plain.insert(pair, step);
            }
        }
        assert!(plain.len() > 50, "the pairs of the last steps are still there");
        for (&(source, destination), &class) in &plain {
            assert_eq!(pairs.find(source, destination), Some(class));
        }
    }
}
