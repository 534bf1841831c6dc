//! The engine: deterministic discrete-event simulation of a network of hosts, switches and links, packet by packet.
//!
//! The modules, in the order in which a packet passes them:
//!
//! - input: [`plan`], the network and its traffic as plain data; `routes`, next hops;
//! - `world`: the event loop, with a module per activity; `event_queue`, pending events in order;
//! - generation: bursts of a source become packets (`world/emit`) or segments of a transport (`world/transport`,
//!   `world/connections`); an application sends requests and responses in place of a source (`world/application`);
//! - conditioning: meters and policers (`conditioning`, `world/condition`), MPLS labels (`labelling`);
//! - port: queue, transmitter and link (`port`, `world/transmit`, `world/early`); the packets on the link are in a
//!   `ring`; `egress` has the transmit ring and the shaper; accounts are per class (`accounts`, `by_class`);
//! - arrival: a packet is delivered, or forwarded through the switch's fabric (`world/arrive`): to an output queue at
//!   once, through a `crossbar`, or into memory accounted by input (`shared_buffer`, `world/shared_buffer`,
//!   `headroom`); switches may add in-band `telemetry`;
//! - back-pressure: a congested queue is detected (`detector`) and notifies neighbours (`world/notify`, for inputs of
//!   crossbars `world/inputs`) by control frames (`control_frame`); ports that receive these stop or slow down
//!   (`responder`, `world/respond`), and `stops` measures for how long; `world/deadlock` finds ports that wait for each
//!   other;
//! - congestion notification: a `congestion_point` notifies sources, and rate limiters respond (`world/feedback`);
//! - timeline: links, flows and thresholds change (`world/change`);
//! - stepping: a run is handled in steps (`world/stepping`), between which a [`View`] shows the network (`view`,
//!   `world/view`);
//! - tracing: a row for each event of a packet ([`trace`], `world/trace`);
//! - results: the `ledger` of packets with their `drop_causes`, time series (`world/observe`), and the `report`;
//! - parallel runs: `partition` divides a network, `parts` runs the partitions, `world/share` exchanges their messages,
//!   `world/gather` merges their results;
//! - `hints`: prefetches and branch hints for the processor.
//!
//! Time comes only from the event queue, and randomness only from named streams: equal plans give equal digests on
//! every platform.

mod accounts;
mod by_class;
mod conditioning;
mod congestion_point;
mod control_frame;
mod crossbar;
mod detector;
mod drop_causes;
mod egress;
mod event_queue;
mod headroom;
mod hints;
mod labelling;
mod ledger;
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
mod target;
mod telemetry;
pub mod trace;
mod view;
mod world;

pub use headroom::set_aside;
pub use partition::Partition;
pub use parts::{Part, Parts};
pub use port::Delivered;
pub use report::{
    ApplicationReport, ChangeRecord, ClassReport, ColourReport, ColourReports, Completed, ConditionerReport,
    CongestionPointReport, CongestionReport, Counts, DeadlockReport, Delay, DelayRecord, DropReport, FlowReport,
    FlowReports, HeadOfLine, LimitersReport, NodeReport, PortClassReport, PortReport, PortSeries, QueueRecord, Report,
    Series, SizeSlowdown, Slowdown, StopReport, TransferRecord, TransportReport,
};
pub use view::{ClassView, FlowView, NodeView, PortView, ReceiverView, SenderView, Transmission, View};
pub use world::{Messages, Status, Untimely, World};
