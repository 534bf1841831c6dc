//! The definition of [`crate::Qdisc::state_bytes`], the same for all disciplines.
//!
//! Counted are the variables of laws and clocks that later packets depend on, the ends and the length of each queue, and
//! the tables of flows, queues, classes and bins, as far as they have been filled. Not counted are the waiting packets with
//! everything that is kept for each of them (its place in the queue, its tags, SFB's note of its bins), parameters and values that
//! follow from them, generators of random numbers, and numbers for time series only.
//!
//! A variable counts with its own size and no padding; a queue and a number of a queue count the same on machines of 32 and
//! of 64 bits. So equal runs have equal numbers everywhere.

/// A queue: its first and its last packet, and the bytes between them, 8 bytes each.
pub(crate) const QUEUE: usize = 24;
/// The number of a flow, of a queue or of a place in a list.
pub(crate) const INDEX: usize = 4;
/// The salt of a hash.
pub(crate) const SALT: usize = 8;

/// Sum of the sizes of these fields.
macro_rules! bytes_of {
    ($of:expr; $($field:ident),+ $(,)?) => {
        0 $(+ core::mem::size_of_val(&$of.$field))+
    };
}
pub(crate) use bytes_of;
