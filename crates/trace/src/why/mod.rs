//! Explanations from the rows of a trace: why a packet was late or dropped, and of what a queue consisted.
//!
//! A first pass over the rows finds the packet ([`Finder`]). A second one keeps the rows that concern its time in the
//! network ([`Keeper`]): those of the packets that were in the network at its departure, those of its lifetime, and all
//! rows of notifications. From them [`packet`] explains each hop, and the tree of stops behind a wait. For a port,
//! [`Blame`] sums its queue by flow in one pass.

mod blame;
mod chain;
mod decision;
mod find;
mod hops;
mod log;
mod packet;
mod port;
mod queue;
mod spans;
mod stops;
mod text;
mod units;
mod words;

pub use blame::{Blame, BlameRow, Worst};
pub use chain::{CauseNode, End, Group, StopNode};
pub use decision::{Decision, MemoryUse};
pub use find::{Finder, Found, Keeper, Query};
pub use hops::{Hop, Waits};
pub use log::Log;
pub use packet::{Culprit, PacketStory, packet};
pub use port::{PortStory, port};
pub use queue::Share;
pub use stops::{Covers, Ended, Interval, intervals};
