//! Congestion notification in switched Ethernet: congestion points, reaction points, and what
//! travels between them (the terms are those of IEEE 802.1Qau).
//!
//! A *congestion point* (`point/`) watches one output queue: numbers in, a message out. A *reaction
//! law* (`reaction/`) sets the rate of one rate limiter: messages in, a rate out. Neither owns
//! packets. [`Limiters`] are the queues of a reaction point, at the port where frames enter the
//! network's core; they hold packets and ask the laws.
//!
//! ```text
//!        ┌ filter ─▶ limiter R1 ┐                             congestion point
//! frame ─┤          limiter R2  ├─ round robin ─▶ line ─ … ─▶ queue ─▶ …
//!        └────────▶ default path┘  tags                         │
//!                       ▲                                       │
//!                       └───────── message, on the way back ────┘
//! ```
//!
//! Another mechanism is one file in `point/`, one in `reaction/` and a line in each list.

mod aqm;
mod filter;
mod limiters;
pub mod point;
pub mod reaction;
mod tag;
pub mod wire;

pub use aqm::{Aqm, Simple};
pub use filter::{Filter, Frame, Origin, Origins};
pub use limiters::{Counters, Heard, Limiters, LimitersSpec, Memory};
pub use tag::Tag;

/// What a congestion point asks of the source of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Feedback {
    /// BCN 0: send nothing for a while.
    Stop,
    /// Send faster (above 0) or slower (below 0), in the congestion point's own measure: levels of
    /// BCN's table, frames of ECM's linear feedback, steps of QCN's quantised one.
    Change(f64),
}
