//! Input of the engine: the network, its traffic and the run, as plain data.
//!
//! Names have been resolved to indices, units to integers and patterns to lists. The scenario crate checks plans; the
//! engine only asserts that they are valid.

mod applications;
mod backpressure;
mod conditioning;
mod difference;
mod flows;
mod links;
mod nodes;
mod record;
mod routes;
mod run;
mod timeline;
mod trace;

pub use applications::ApplicationPlan;
pub use backpressure::{Addresses, BackPressure, Detection, Notify, Response, Scope, Signal};
pub use conditioning::{Action, ConditionerPlan, LabelPlan, Place, Tunnel};
pub use difference::{Fixed, changes};
pub use flows::{Among, Draw, FlowKind, FlowName, FlowPlan};
pub use links::{LinkPlan, QueuePlan, ShaperPlan, port_names};
pub use nodes::{Fabric, HostPlan, NodeId, NodeKind, NodePlan, SharedBufferPlan, SwitchPlan, Watchdog};
pub use record::{Record, RecordKind};
pub use routes::{GROUP, NO_ROUTE, Routes, Row, Spread};
pub use run::{Engine, Framing, Length, Plan, Tunable};
pub use timeline::{Change, ChangeKind};
pub use trace::{EventKind, FrameKind, TracePlan};
