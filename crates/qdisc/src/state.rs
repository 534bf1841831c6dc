//! The definition of [`crate::Qdisc::state_bytes`], the same for all disciplines.
//!
//! The size includes the variables of laws and clocks on which decisions about later packets depend, the ends and the
//! length of each queue, and the filled part of the tables of flows, queues, classes and bins. It does not include the
//! waiting packets and all data per packet (its position in the queue, its tags, its bins in SFB), parameters and
//! values that follow from them, random number generators, and variables that only time series use.
//!
//! A variable counts with its own size, without padding. A queue counts as [`QUEUE`] and an index as [`INDEX`] bytes on
//! 32-bit and on 64-bit machines, so that equal runs have equal sizes everywhere.

/// Size of a queue in bytes: references to its first and its last packet, and its length in bytes,
/// 8 bytes each.
pub(crate) const QUEUE: usize = 24;
/// Size in bytes of the index of a flow, of a queue or of an entry of a list.
pub(crate) const INDEX: usize = 4;
/// Size of the salt of a hash in bytes.
pub(crate) const SALT: usize = 8;

/// Computes the sum of the sizes of these fields in bytes.
macro_rules! bytes_of {
    ($of:expr; $($field:ident),+ $(,)?) => {
        0 $(+ core::mem::size_of_val(&$of.$field))+
    };
}
pub(crate) use bytes_of;
