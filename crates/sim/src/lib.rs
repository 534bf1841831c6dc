//! The engine: a network of hosts, switches and links, carried event by event.
//!
//! The rooms, in the order in which a packet meets them: a source's burst is cut into packets
//! (`world/emit`), each waits at a port and is transmitted (`port`, `world/transmit`), arrives and
//! is forwarded or delivered (`world/arrive`, `world/crossbar`); a queue that fills up is detected
//! (`detector`) and told to the neighbours (`world/notify`), who stop or slow down (`responder`,
//! `world/respond`). What happens is counted in the `ledger`, watched by `world/observe`, and told
//! in the `report`.
//!
//! Time comes from the agenda alone, randomness from named streams alone: equal plans give equal
//! digests on every platform.

mod accounts;
mod agenda;
mod by_class;
mod causes;
mod conditioning;
mod congestion_point;
mod crossbar;
mod detector;
mod egress;
mod headroom;
mod hints;
mod labelling;
mod ledger;
mod notice;
mod partition;
mod parts;
pub mod plan;
mod port;
mod report;
mod responder;
mod ring;
mod routes;
mod shared_buffer;
mod stops;
mod telemetry;
mod world;

pub use headroom::set_aside;
pub use partition::Partition;
pub use parts::{Part, Parts};
pub use report::{
    ApplicationReport, ClassReport, ColourReport, ColourReports, Completed, ConditionerReport, CongestionPointReport,
    CongestionReport, Counts, DeadlockReport, Delay, DropReport, FlowReport, FlowReports, HeadOfLine, LimitersReport,
    NodeReport, PortClassReport, PortReport, Report, Series, SizeSlowdown, Slowdown, StopReport, TransportReport,
};
pub use world::{Parcels, Status, World};
