//! Control frames: the notifications of congested queues and congestion points, and their length on the wire.

use crate::plan::Scope;
use tailback_qdisc::congestion_notification::{Feedback, Frame};

/// Congested queue on whose behalf a notification is sent. Several queues may stop the same port; the end of a queue's
/// congestion resumes only the traffic that this queue stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CongestionSource {
    /// Index of the queue's port.
    pub port: u32,
    /// Class of the queue.
    pub class: u8,
    /// Node index of the congested destination; `None`: destinations have no limits of their own.
    pub destination: Option<u16>,
}

/// Content of a control frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ControlFrame {
    /// Idealised XOFF: stop or slow the traffic in scope until an `On` for the same congested queue.
    Off(Notification),
    /// Idealised XON: resume the traffic that was stopped for the same congested queue.
    On(Notification),
    /// IEEE 802.3 PAUSE (annex 31B): stop all data for this number of quanta; 0 resumes.
    Pause(u16),
    /// IEEE 802.1Qbb: stop each class whose bit is set for its number of quanta.
    PriorityPause {
        /// Bit k: class k has a new state.
        enabled: u8,
        /// Quanta of each class.
        quanta: [u16; 8],
    },
    /// Message of a congestion point to the source of a frame.
    Feedback(Message),
}

/// A message of a congestion point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Message {
    /// Number of the congestion point, from 1.
    pub point: u16,
    pub feedback: Feedback,
    /// Properties of the sampled frame.
    pub frame: Frame,
    /// Node index of the host that sent the sampled frame.
    pub source: u16,
    /// Length of the message's frame in bytes, including the frame check sequence.
    pub length: u16,
}

/// Congested queue and scope of an idealised notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notification {
    pub source: CongestionSource,
    pub scope: Scope,
    /// Node indices of the destinations that are stopped or resumed; empty unless the scope has destinations.
    pub destinations: Vec<u16>,
}

/// Length of the shortest Ethernet frame, bytes.
const MIN_FRAME: usize = 64;
/// Length of header and frame check sequence, bytes.
const HEADER: usize = 18;
/// Length of the fields before the addresses in an idealised notification, bytes.
const LIST_HEAD: usize = 4;
/// Maximum number of addresses, of 6 bytes each, in a payload of 1500 bytes.
pub(crate) const MAX_ADDRESSES: usize = (1500 - LIST_HEAD) / 6;
/// Length of preamble and inter-frame gap, bytes.
const OVERHEAD: usize = 20;
/// Length of the shortest control frame on the wire, bytes.
pub(crate) const MIN_WIRE: u16 = (MIN_FRAME + OVERHEAD) as u16;

impl ControlFrame {
    /// Returns the bytes on the wire: at least 84, more for an address list or a congestion point's message.
    pub fn wire(&self) -> u16 {
        let frame = match self {
            ControlFrame::Off(notification) | ControlFrame::On(notification) => {
                HEADER + LIST_HEAD + 6 * notification.destinations.len()
            }
            ControlFrame::Pause(_) | ControlFrame::PriorityPause { .. } => MIN_FRAME,
            ControlFrame::Feedback(message) => usize::from(message.length),
        };
        u16::try_from(frame.max(MIN_FRAME) + OVERHEAD)
            .expect("long address lists are split over several frames of at most 1518 bytes")
    }

    /// Merges the later PAUSE or PFC frame into this one, which is still queued, so that repeated frames that are
    /// generated faster than they can leave do not accumulate. Returns `false` for other control frames, which are not
    /// merged.
    pub fn overtaken_by(&mut self, later: &ControlFrame) -> bool {
        match (self, later) {
            (ControlFrame::Pause(mine), ControlFrame::Pause(theirs)) => *mine = *theirs,
            (
                ControlFrame::PriorityPause { enabled, quanta },
                ControlFrame::PriorityPause { enabled: more, quanta: theirs },
            ) => {
                // The quanta of a PFC frame cover all classes; `enabled` has the classes that change or are repeated.
                *enabled |= more;
                *quanta = *theirs;
            }
            _ => return false,
        }
        true
    }
}

/// Control frames in the network, by the handle that their packets carry.
#[derive(Debug, Default)]
pub(crate) struct ControlFrames {
    /// Control frames by handle; `None`: the handle is free.
    slots: Vec<Option<ControlFrame>>,
    /// Free handles.
    free: Vec<u32>,
}

impl ControlFrames {
    /// Stores a control frame and returns its handle.
    pub fn put(&mut self, control: ControlFrame) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = Some(control);
            handle
        } else {
            self.slots.push(Some(control));
            u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 control frames are under way")
        }
    }
    /// Returns the control frame of a handle that has been given out; `None`: its frame has been taken.
    pub fn get(&self, handle: u32) -> Option<&ControlFrame> {
        self.slots[handle as usize].as_ref()
    }
    /// Removes and returns the control frame of a handle, which must be in use.
    pub fn take(&mut self, handle: u32) -> ControlFrame {
        self.free.push(handle);
        self.slots[handle as usize].take().expect("a control frame is stored until it arrives")
    }
}
