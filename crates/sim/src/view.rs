//! State of a network at an instant of a run that is stepped through: [`crate::World::view`].
//!
//! Units are those of the report: packets, bytes (buffer bytes in queues, payload bytes of flows), seconds, bit/s.
//! Instants are seconds since the start of the run. A view at an instant is taken after all events of that instant, as
//! a sample of the time series is, so that a view and a sample have equal values of the quantities that both contain.

use crate::report::Counts;
use serde::Serialize;
use std::collections::BTreeMap;

/// State of the network at an instant.
#[derive(Clone, Debug, Serialize)]
pub struct View {
    /// Instant of the view, seconds.
    pub time_s: f64,
    /// Instant of the view, picoseconds.
    pub time_ps: u64,
    /// Time of the next event, seconds; `None`: no event remains.
    pub next_event_s: Option<f64>,
    /// Hosts and switches, by name.
    pub nodes: BTreeMap<String, NodeView>,
    /// Output ports, by name.
    pub ports: BTreeMap<String, PortView>,
    /// Flows, by name.
    pub flows: BTreeMap<String, FlowView>,
}

/// State of a host or switch.
#[derive(Clone, Debug, Serialize)]
pub struct NodeView {
    /// Packets that wait at the inputs of a crossbar, or are crossing it, by flow (named as in [`ClassView::by_flow`]);
    /// empty for other nodes.
    pub at_inputs: BTreeMap<String, Counts>,
    /// Buffer bytes in use in the memory that the switch's queues share; absent if they share no memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_bytes: Option<u64>,
}

/// State of an output port and its link.
#[derive(Clone, Debug, Serialize)]
pub struct PortView {
    /// Rate of the link, bit/s.
    pub rate_bps: u64,
    /// Sum of the propagation delay of the link and the latency of the neighbour, seconds.
    pub delay_s: f64,
    /// `true` if the link is up.
    pub up: bool,
    /// Buffer bytes waiting, of all classes.
    pub queue_bytes: u64,
    /// Queues, the highest class first.
    pub classes: Vec<ClassView>,
    /// Data packet in transmission; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transmission: Option<Transmission>,
    /// Frames on the link, including control frames and the frame in transmission.
    pub on_link_frames: u64,
    /// Control frames that wait for transmission.
    pub control_frames: u64,
    /// Buffer bytes of completed transmissions since the start.
    pub sent_bytes: u64,
    /// Packets dropped since the start.
    pub dropped_packets: u64,
    /// Packets marked since the start.
    pub marked_packets: u64,
    /// `true` if notifications stop the port, a class or a destination, whether or not data waits.
    pub stopped: bool,
    /// Time since the start for which notifications stopped the port, a class or a destination, seconds.
    pub stopped_s: f64,
    /// `true` if data waits while the transmitter is idle.
    pub held: bool,
    /// Time since the start during which data waited while the transmitter was idle, seconds.
    pub held_s: f64,
    /// Time at which the port acts next without the arrival or departure of a frame, such as the end of a pause or a
    /// timer of the discipline, seconds; absent if no such time is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_s: Option<f64>,
    /// State variables of the discipline, by name; with several classes, the name is prefixed by the class.
    pub state: BTreeMap<String, f64>,
}

/// Queue of a class at a port.
#[derive(Clone, Debug, Serialize)]
pub struct ClassView {
    /// Packets and buffer bytes waiting.
    pub queued: Counts,
    /// Packets and buffer bytes waiting, by flow; ` (ack)` is appended to the name of a flow for its acknowledgements.
    pub by_flow: BTreeMap<String, Counts>,
}

/// A data packet in transmission.
#[derive(Clone, Debug, Serialize)]
pub struct Transmission {
    /// Flow, named as in [`ClassView::by_flow`].
    pub flow: String,
    /// Number of the packet in its flow, or of the segment for flows with a transport, from 0.
    pub sequence: u32,
    /// Buffer bytes.
    pub bytes: u64,
    /// End of the transmission, seconds.
    pub end_s: f64,
}

/// State of a flow since the start, warm-up included.
#[derive(Clone, Debug, Serialize)]
pub struct FlowView {
    /// Packets and payload bytes handed to the network.
    pub offered: Counts,
    /// Packets and payload bytes that arrived at the destination, retransmissions included.
    pub delivered: Counts,
    /// Packets and payload bytes dropped.
    pub dropped: Counts,
    /// Packets and payload bytes in the network.
    pub in_network: Counts,
    /// Time at which the source generates next, seconds; absent if it generates no more or has not started, or if an
    /// application drives the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_s: Option<f64>,
    /// Sender of the transport; absent for a flow without a transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<SenderView>,
    /// Receiver of the transport; absent for a flow without a transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ReceiverView>,
}

/// State of a sender of a transport.
#[derive(Clone, Debug, Serialize)]
pub struct SenderView {
    /// Phase: closed, opening, open, reduced, recovery, or loss ([`tailback_transport::State`]).
    pub phase: &'static str,
    /// Number of the oldest segment that is not acknowledged.
    pub unacknowledged: u32,
    /// Number of the next segment to send.
    pub next: u32,
    /// Expiry of the next timer (retransmission, probe or pacing), seconds; absent if no timer runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_s: Option<f64>,
    /// State variables, by the names that the time series of probed flows have: windows in segments, times in seconds,
    /// and the variables of the congestion control.
    pub state: BTreeMap<String, f64>,
}

/// State of a receiver of a transport.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiverView {
    /// Number of the next segment expected in order.
    pub next: u32,
    /// Payload bytes delivered to the application in order.
    pub delivered_bytes: u64,
    /// Time at which the delayed acknowledgement is sent, seconds; absent if no acknowledgement is delayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timer_s: Option<f64>,
}
