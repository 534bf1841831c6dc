//! Selection of the rows of a packet trace.

use tailback_units::Time;

/// Selection of the rows of a packet trace: only rows that meet all conditions are written. The selection has no effect
/// on results. The selected ports are simulated with two events per packet, under either engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracePlan {
    /// `true` for each traced port, by the port's index; `None`: all ports.
    pub ports: Option<Vec<bool>>,
    /// `true` for each traced flow, by the flow's index; `None`: all flows. Rows without a flow (control frames,
    /// congestion) are not affected.
    pub flows: Option<Vec<bool>>,
    /// Traced kinds of events: bit k for the kind at index k of [`EventKind::ALL`].
    pub events: u16,
    /// Traced kinds of frames: bit k for the kind at index k of [`FrameKind::ALL`].
    pub frames: u16,
    /// First traced instant.
    pub from: Time,
    /// Last traced instant.
    pub until: Time,
}

impl Default for TracePlan {
    /// Returns the selection of all rows.
    fn default() -> TracePlan {
        TracePlan { ports: None, flows: None, events: u16::MAX, frames: u16::MAX, from: Time::ZERO, until: Time::NEVER }
    }
}

impl TracePlan {
    /// Returns `true` if rows of a port are selected.
    pub(crate) fn has_port(&self, port: u32) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports[port as usize])
    }
    /// Returns `true` if rows of this kind at this instant are selected; `flow` is the index of the flow in the plan,
    /// `None` for rows without a flow.
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
    /// A packet arrives at the queue of an output port, even if the queue then drops it.
    Enqueue,
    /// The transmission of a frame begins.
    Dequeue,
    /// The last bit of a frame (at a cut-through switch, of its header) arrives at a node that is not its destination.
    Receive,
    /// The last bit of a packet arrives at its destination.
    Deliver,
    /// A packet or control frame is dropped: at a queue, on a link, by a policer.
    Drop,
    /// A queue marks a packet "congestion experienced" (RFC 3168).
    Mark,
    /// The occupancy of a queue passes its upper threshold.
    Congested,
    /// The occupancy of a congested queue falls below its lower threshold.
    Relieved,
    /// A node decides to stop the neighbour behind a port on behalf of a congested queue, or renews that stop.
    Notify,
    /// A node withdraws the stop of the neighbour behind a port on behalf of a queue.
    Withdraw,
    /// A notification takes effect at the port that it stops, slows or resumes.
    Effect,
    /// A port resumes because the time of a pause has expired.
    Expire,
    /// The watchdog of a port ends a pause that lasted too long.
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
    /// Data, with or without a transport.
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
    /// No frame: the row is about a congested queue.
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

    /// Returns `true` for packets of flows: data, connection requests, answers to them, and acknowledgements.
    pub fn is_packet(self) -> bool {
        self <= FrameKind::Ack
    }
}
