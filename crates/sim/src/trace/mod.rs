//! Packet traces: a row for each event of a packet, a control frame or a congested queue.
//!
//! The rows of a run are in order of time, and equal for either engine, any number of partitions, and any steps. They
//! are handed over in chunks ([`crate::World::take_trace`]); the rows of partitions are merged ([`Merge`]).

mod merge;
mod row;
mod tracer;

pub use merge::Merge;
pub use row::{Cause, Detail, Order, Row, Summary};
pub(crate) use tracer::Tracer;
