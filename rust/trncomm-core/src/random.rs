//! Numbers that look random and are the same on every run.

/// One step of `SplitMix64` from `state`: the next number of its sequence (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
///
/// A pure function, so that what is drawn depends on what it is drawn for and not on what was drawn before.
pub(crate) const fn split_mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
