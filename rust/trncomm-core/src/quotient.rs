//! Quotients: what makes a run cost as much as there are different behaviours in it.
//!
//! [`Fold`] is the quotient in space: ranks and links that a symmetry maps to one another do the same at the same time,
//! so one of each is simulated.

mod fold;
mod group;
mod images;

pub use fold::{Fold, Stopped, fold};
pub use images::Kind;
