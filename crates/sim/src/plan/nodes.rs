//! Hosts and switches.

use super::BackPressure;
#[expect(unused_imports, reason = "for the documentation")]
use tailback_qdisc::congestion_notification::Tag;
use tailback_qdisc::congestion_notification::{LimitersSpec, cp};
use tailback_units::Dur;

/// Index of a node in [`Plan::nodes`](super::Plan::nodes).
pub type NodeId = u16;

/// A host or a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct NodePlan {
    /// Unique name.
    pub name: String,
    /// Host or switch, with its parameters.
    pub kind: NodeKind,
}

/// Kind of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeKind {
    /// An end station.
    Host(HostPlan),
    /// A switch.
    Switch(SwitchPlan),
}

/// An end station's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct HostPlan {
    /// `true` if the host obeys back-pressure notifications.
    pub obeys: bool,
    /// Rate limiters at the host's ports; `None`: the host is not a reaction point.
    pub limiters: Option<Box<LimitersSpec>>,
}

/// A switch's parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct SwitchPlan {
    /// Time from the end of a frame's reception (in a cut-through switch, of its header) to its enqueueing at the
    /// output.
    pub latency: Dur,
    /// Switch model: where frames wait, and how they cross the switch.
    pub fabric: Fabric,
    /// Back-pressure; `None`: the switch sends no notifications.
    pub backpressure: Option<BackPressure>,
    /// Congestion points at the output queues of ports without rate limiters; `None`: there are no congestion points. A
    /// network has at most [`Tag::MAX_POINTS`] congestion points, or 65535 if their law does not read tags.
    pub notification: Option<Box<cp::Spec>>,
    /// Rate limiters at the switch's ports towards switches; `None`: the switch is not a reaction point.
    pub limiters: Option<Box<LimitersSpec>>,
    /// Watchdog against PAUSE storms; `None`: all PAUSE frames are obeyed.
    pub watchdog: Option<Watchdog>,
}

/// Switch model.
#[derive(Clone, Debug, PartialEq)]
pub enum Fabric {
    /// Non-blocking; frames wait only in the queues of the output ports, each with limits of its own.
    OutputQueued,
    /// Output queues that share a memory under dynamic thresholds (Choudhury and Hahne 1998): the limit of a queue is
    /// alpha times the free memory.
    SharedMemory {
        /// Memory in buffer bytes.
        memory: u64,
        /// Limit of a queue divided by the free memory, above 0.
        alpha: f64,
    },
    /// Output queues in a memory that is accounted to input and class, with headroom for frames that arrive after their
    /// sender was notified to stop (IEEE 802.1Qbb).
    SharedBuffer(SharedBufferPlan),
    /// A crossbar with one FIFO per input, subject to head-of-line blocking (Karol et al. 1987).
    InputFifo {
        /// Limit of each input's FIFO in buffer bytes.
        buffer: u64,
    },
    /// A crossbar with one queue per input, output and class.
    VirtualOutputQueues {
        /// Limit of each input's memory in buffer bytes.
        buffer: u64,
        /// Limit of each queue (output and class) at an input in buffer bytes; `u64::MAX`: only `buffer` limits it.
        output_buffer: u64,
        /// Speed-up: rate of a transfer over the crossbar divided by the output's rate, at least 1.
        speedup: f64,
    },
    /// Output queues; a frame may leave before its tail has arrived.
    CutThrough {
        /// Bytes of a frame that must have arrived before it is forwarded.
        header: u32,
    },
}

/// Memory of a switch with priority-based flow control, in buffer bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedBufferPlan {
    /// Size of the switch's memory.
    pub memory: u64,
    /// Exponent of the dynamic threshold, 0 to 16: a class of an input may use the free memory / 2^shift.
    pub shift: u8,
    /// Memory reserved for each input and class.
    pub reserve: u64,
    /// Distance below the threshold at which a stopped neighbour is resumed.
    pub resume: u64,
    /// Headroom of each input and class for frames that arrive after their sender was notified to stop; `None`: the
    /// worst case of the link.
    pub headroom: Option<u64>,
}

/// PAUSE watchdog: ignores the PAUSE frames of a neighbour that keeps a port paused too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// Duration above which a pause counts as a storm and is ignored.
    pub after: Dur,
    /// Time without a PAUSE frame after which PAUSE frames are obeyed again.
    pub restore: Dur,
}
