//! Congestion notification in switched Ethernet, in the terms of IEEE 802.1Qau: congestion points (CP), reaction points
//! (RP), and the messages and tags between them.
//!
//! A congestion point (`cp/`) watches one output queue and returns messages. The law of a reaction point (`rp/`) sets
//! the rate of one rate limiter by the messages that it receives. Neither of them holds packets. [`Limiters`] are the
//! queues of a reaction point, at the port where frames enter the network's core; they hold packets and apply the laws.
//!
//! ```text
//!        ┌ filter ─▶ limiter R1 ┐                             congestion point
//! frame ─┤          limiter R2  ├─ round robin ─▶ line ─ … ─▶ queue ─▶ …
//!        └────────▶ default path┘  tags                         │
//!                       ▲                                       │
//!                       └───────── message, on the way back ────┘
//! ```
//!
//! To add a mechanism, write a module in `cp/` and one in `rp/`, and add each to the list in its `mod.rs`.

mod aqm;
pub mod cp;
mod feedback;
mod filter;
mod limiters;
pub mod rp;
mod tag;
pub mod wire;

pub use aqm::{Aqm, Simple};
pub use feedback::Feedback;
pub use filter::{Filter, Frame, Origin, Origins};
pub use limiters::{Counters, Heard, Limiters, LimitersSpec, Memory};
pub use tag::Tag;
