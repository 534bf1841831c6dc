//! Packet traces: a row for each event of a packet, a control frame or a congested queue.
//!
//! The rows of a run are in order of time. They do not depend on the engine, the number of partitions and the steps.
//! Rows are handed over in chunks ([`crate::World::take_trace`]); those of partitions are merged ([`Merge`]).

mod merge;
mod row;
mod tracer;

pub use merge::Merge;
pub use row::{Cause, Detail, Order, Row, Summary};
pub(crate) use tracer::Tracer;
