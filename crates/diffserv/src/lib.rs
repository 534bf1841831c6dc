//! Traffic conditioning for differentiated services (RFC 2475 section 2.3.3). The crate does not know packets: from
//! sizes and times it computes colours and decisions.
//!
//! Reading order: a [`Colour`] is the drop precedence that a [`Meter`] assigns to a packet by comparing its stream with
//! a traffic profile; a [`Conditioner`] applies an action to each colour; a [`Shaper`] delays a stream until it
//! conforms; a [`Dscp`] is the field in the packet, and [`Ecn`] the one in the
//! same octet.
//!
//! A meter is one file in `meter/` and one line in `registry.rs`.

mod bucket;
mod check;
mod colour;
mod condition;
mod dscp;
mod ecn;
pub mod meter;
mod registry;
mod shaper;
mod window;

pub use bucket::TokenBucket;
pub use colour::Colour;
pub use condition::{Action, Actions, Conditioner, Outcome};
pub use dscp::Dscp;
pub use ecn::Ecn;
pub use registry::{Marker, Meter, Shows};
pub use shaper::{Params as ShaperParams, Shaper};
pub use window::SlidingWindow;
