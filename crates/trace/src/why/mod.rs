//! Explanations from the rows of a trace: why a packet was late or dropped, and which flows' packets were in a queue.
//!
//! A first pass over the rows finds the packet ([`Finder`]). A second pass keeps the rows that matter for the packet's
//! time in the network ([`Keeper`]): the rows of that time, the earlier rows of packets that were then in the network,
//! and all earlier rows of notifications. From these rows [`packet`] explains each hop of the packet, and the tree of
//! stops behind a wait. For the queue of a port, [`Blame`] computes sums by flow in one pass, and [`port`] explains the
//! queue at its longest.

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
