//! Selection of the rows of a packet trace.

use tailback_units::Time;

/// Rows of a packet trace: only those that meet all conditions are written. The choice has no effect on results; the
/// selected ports take the general form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePlan {
    /// Traced ports, by index; `None`: all.
    pub ports: Option<Vec<bool>>,
    /// Traced flows, by index; `None`: all. Rows without a flow (control frames, congestion) are not affected.
    pub flows: Option<Vec<bool>>,
    /// Traced kinds of events: bit k for the kind with the number k.
    pub events: u16,
    /// Traced kinds of frames, likewise.
    pub frames: u16,
    /// First traced instant.
    pub from: Time,
    /// Last traced instant.
    pub until: Time,
}

impl Default for TracePlan {
    fn default() -> TracePlan {
        TracePlan { ports: None, flows: None, events: u16::MAX, frames: u16::MAX, from: Time::ZERO, until: Time::NEVER }
    }
}

impl TracePlan {
    /// Returns `true` if rows of a port are selected.
    pub(crate) fn has_port(&self, port: u32) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports[port as usize])
    }
    /// Returns `true` if rows of this kind at this instant are selected; `flow`: the index of the flow in the plan.
    pub(crate) fn selects(&self, now: Time, event: EventKind, frame: FrameKind, flow: Option<u32>) -> bool {
        self.events & 1 << event as u16 != 0
            && self.frames & 1 << frame as u16 != 0
            && (self.from..=self.until).contains(&now)
            && flow.is_none_or(|flow| self.flows.as_ref().is_none_or(|flows| flows[flow as usize]))
    }
}

/// Kind of a traced event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// A packet arrives at the queue of an output port, also if it is then dropped there.
    Enqueue,
    /// The transmission of a frame begins.
    Dequeue,
    /// The last bit of a frame arrives at a node that is not its destination (at a cut-through switch: its header).
    Receive,
    /// The last bit of a packet arrives at its destination.
    Deliver,
    /// A packet or control frame is dropped: at a queue, on a link, by a policer.
    Drop,
    /// A queue signals congestion in a packet: it marks the packet "congestion experienced".
    Mark,
    /// The occupancy of a queue passes its upper threshold.
    Congested,
    /// The occupancy of a congested queue falls below its lower threshold.
    Relieved,
    /// A node decides to stop the neighbour behind a port on behalf of a congested queue, or renews that.
    Notify,
    /// A node withdraws the stop of the neighbour behind a port on behalf of a queue.
    Withdraw,
    /// A notification takes effect at the port that it stops, slows or resumes.
    Effect,
    /// A port resumes since the time of a pause has expired.
    Expire,
    /// A port ignores a pause that lasted too long (PFC storm watchdog).
    Ignore,
}

impl EventKind {
    /// All kinds, in order.
    pub const ALL: [EventKind; 13] = [
        EventKind::Enqueue,
        EventKind::Dequeue,
        EventKind::Receive,
        EventKind::Deliver,
        EventKind::Drop,
        EventKind::Mark,
        EventKind::Congested,
        EventKind::Relieved,
        EventKind::Notify,
        EventKind::Withdraw,
        EventKind::Effect,
        EventKind::Expire,
        EventKind::Ignore,
    ];

    /// Returns the name of the kind in traces.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Enqueue => "enqueue",
            EventKind::Dequeue => "dequeue",
            EventKind::Receive => "receive",
            EventKind::Deliver => "deliver",
            EventKind::Drop => "drop",
            EventKind::Mark => "mark",
            EventKind::Congested => "congested",
            EventKind::Relieved => "relieved",
            EventKind::Notify => "notify",
            EventKind::Withdraw => "withdraw",
            EventKind::Effect => "effect",
            EventKind::Expire => "expire",
            EventKind::Ignore => "ignore",
        }
    }
}

/// Kind of a traced frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// Data, with a transport or without.
    Data,
    /// Connection request.
    Syn,
    /// Answer to a connection request.
    SynAck,
    /// Acknowledgement.
    Ack,
    /// PAUSE frame (IEEE 802.3 annex 31B).
    Pause,
    /// Priority flow control frame (IEEE 802.1Qbb).
    Pfc,
    /// Idealised notification to stop.
    Xoff,
    /// Idealised notification to resume.
    Xon,
    /// Message of a congestion point.
    Feedback,
    /// No frame: a congested queue.
    Queue,
}

impl FrameKind {
    /// All kinds, in order.
    pub const ALL: [FrameKind; 10] = [
        FrameKind::Data,
        FrameKind::Syn,
        FrameKind::SynAck,
        FrameKind::Ack,
        FrameKind::Pause,
        FrameKind::Pfc,
        FrameKind::Xoff,
        FrameKind::Xon,
        FrameKind::Feedback,
        FrameKind::Queue,
    ];

    /// Returns the name of the kind in traces.
    pub fn name(self) -> &'static str {
        match self {
            FrameKind::Data => "data",
            FrameKind::Syn => "syn",
            FrameKind::SynAck => "syn-ack",
            FrameKind::Ack => "ack",
            FrameKind::Pause => "pause",
            FrameKind::Pfc => "pfc",
            FrameKind::Xoff => "xoff",
            FrameKind::Xon => "xon",
            FrameKind::Feedback => "feedback",
            FrameKind::Queue => "queue",
        }
    }

    /// Returns `true` for frames of flows.
    pub fn is_packet(self) -> bool {
        self <= FrameKind::Ack
    }
}
