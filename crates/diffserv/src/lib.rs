//! Traffic conditioning for differentiated services (RFC 2475 section 2.3.3), without packets: sizes
//! and instants in, colours and decisions out.
//!
//! Read in this order: a [`Colour`] is the drop precedence that a [`Meter`] gives a packet by how
//! its stream compares with a traffic profile; a [`Conditioner`] says what becomes of each colour,
//! a [`Shaper`] delays a stream until it conforms. [`Dscp`] names what is written in the packet.
//!
//! A meter is one file in `meter/` and one line in `registry.rs`.

mod bucket;
mod check;
mod colour;
mod condition;
mod dscp;
pub mod meter;
mod registry;
mod shaper;
mod window;

pub use bucket::TokenBucket;
pub use colour::Colour;
pub use condition::{Action, Actions, Conditioner, Outcome};
pub use dscp::Dscp;
pub use registry::{Marker, Meter, Shows};
pub use shaper::{Params as ShaperParams, Shaper};
pub use window::SlidingWindow;
