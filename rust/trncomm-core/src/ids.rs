//! Identifiers: dense indices into the columns of a topology or a schedule.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl $name {
            /// The id of the `index`-th entry.
            ///
            /// # Panics
            /// If `index` passes 2³² − 1; constructors of topologies and schedules refuse such sizes first.
            pub fn new(index: usize) -> Self {
                Self(u32::try_from(index).expect("sizes above 2^32 are refused when the table is built"))
            }

            /// The index into a column.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id as a plain number.
            pub const fn get(self) -> u32 {
                self.0
            }
        }

        impl From<u32> for $name {
            fn from(value: u32) -> Self {
                Self(value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A participant of a collective.
    RankId
);
id!(
    /// A chip or a switch of a topology. Chips come first: rank r is node r.
    NodeId
);
id!(
    /// A directed link of a topology.
    LinkId
);
