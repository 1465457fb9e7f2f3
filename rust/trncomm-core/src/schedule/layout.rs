//! How many bytes a chunk has.

use crate::error::ScheduleError;
use crate::units::Bytes;

/// The cut of a buffer of equal elements into chunks.
///
/// Chunk c of C holds elements `floor(c·E/C)` to `floor((c+1)·E/C)`: sizes differ by at most one element, none is
/// dropped, and cutting every chunk further leaves the boundaries where they were, so that all algorithms agree
/// on what block r is however finely they cut it. Indices past C stand in further images of the same cut, as
/// scratch buffers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    elements: u64,
    element: u64,
    chunks: u64,
}

impl Layout {
    /// A buffer of `size` bytes, made of elements of `element` bytes, in `chunks` chunks.
    pub fn new(size: Bytes, element: u64, chunks: u64) -> Result<Self, ScheduleError> {
        if element == 0 || !size.get().is_multiple_of(element) {
            return Err(ScheduleError::Shape(format!(
                "a buffer of {} bytes doesn't hold a whole number of elements of {element} bytes",
                size.get()
            )));
        }
        if chunks == 0 {
            return Err(ScheduleError::Shape("a buffer needs at least one chunk".to_owned()));
        }
        Ok(Self {
            elements: size.get() / element,
            element,
            chunks,
        })
    }

    /// The number of chunks that the buffer is cut into.
    pub const fn chunks(&self) -> u64 {
        self.chunks
    }

    /// The size of every chunk, where they are all alike.
    pub const fn uniform(&self) -> Option<Bytes> {
        if self.elements.is_multiple_of(self.chunks) {
            Some(Bytes::new(self.elements / self.chunks * self.element))
        } else {
            None
        }
    }

    /// The least size, from this one on, whose chunks are all alike.
    pub const fn padded(&self) -> Bytes {
        Bytes::new(
            self.elements
                .div_ceil(self.chunks)
                .saturating_mul(self.chunks)
                .saturating_mul(self.element),
        )
    }

    /// The size of `count` chunks from `first` on; 2⁶⁴ − 1 bytes if it is more, which no run accepts.
    pub fn bytes(&self, first: u64, count: u64) -> Bytes {
        let elements = self.start(first.saturating_add(count)) - self.start(first);
        Bytes::new(elements.saturating_mul(self.element))
    }

    /// The number of elements before chunk `index`.
    fn start(&self, index: u64) -> u64 {
        let (image, chunk) = (index / self.chunks, index % self.chunks);
        let within = u128::from(chunk) * u128::from(self.elements) / u128::from(self.chunks);
        let within = u64::try_from(within).expect("a part of the buffer's elements");
        image
            .checked_mul(self.elements)
            .and_then(|before| before.checked_add(within))
            .unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_differ_by_at_most_one_element_and_lose_none() {
        for (size, element, chunks) in [(0, 1, 5), (3, 1, 7), (1000, 4, 7), (1 << 40, 2, 144), (143, 1, 144)] {
            let layout = Layout::new(Bytes::new(size), element, chunks).expect("whole elements");
            let sizes: Vec<u64> = (0..chunks).map(|c| layout.bytes(c, 1).get()).collect();
            assert_eq!(sizes.iter().sum::<u64>(), size);
            let (least, most) = (sizes.iter().min().expect("some"), sizes.iter().max().expect("some"));
            assert!(most - least <= element, "{sizes:?}");
            assert_eq!(layout.uniform().is_some(), least == most, "{size} {element} {chunks}");
        }
    }

    #[test]
    fn blocks_keep_their_size_however_finely_they_are_cut() {
        for size in [0, 1, 5, 13, 1001] {
            let coarse = Layout::new(Bytes::new(size), 1, 12).expect("whole elements");
            for pieces in [2, 3, 7] {
                let fine = Layout::new(Bytes::new(size), 1, 12 * pieces).expect("whole elements");
                for block in 0..12 {
                    assert_eq!(coarse.bytes(block, 1), fine.bytes(block * pieces, pieces));
                }
            }
        }
    }

    #[test]
    fn scratch_images_repeat_the_cut() {
        let layout = Layout::new(Bytes::new(10), 1, 4).expect("whole elements");
        assert_eq!(layout.bytes(5, 1), layout.bytes(1, 1));
        assert_eq!(layout.bytes(4, 4).get(), 10);
    }

    #[test]
    fn a_part_of_an_element_is_refused() {
        assert!(Layout::new(Bytes::new(10), 4, 2).is_err());
    }
}
