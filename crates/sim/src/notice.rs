//! Control frames: what a congested queue tells a neighbour, and how long it takes on the wire.

use crate::plan::Scope;
use tailback_qdisc::congestion_notification::{Feedback, Frame};

/// The congested queue in whose name a notification is sent: several may stop the same port, and
/// each clears only what it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cause {
    /// The congested port.
    pub port: u32,
    /// The congested class.
    pub class: u8,
    /// The congested destination, where each has a limit of its own.
    pub destination: Option<u16>,
}

/// The contents of a control frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Notice {
    /// Idealised XOFF: stop (or slow) what is in scope until `On` from the same cause.
    Off(Body),
    /// Idealised XON: what this cause stopped may go again.
    On(Body),
    /// 802.3x PAUSE: stop all data for this many quanta; 0 resumes.
    Pause(u16),
    /// 802.1Qbb: for each class whose bit is set, stop for its number of quanta.
    PriorityPause {
        /// Bit k: class k is named.
        enabled: u8,
        /// Quanta by class.
        quanta: [u16; 8],
    },
    /// What a congestion point asks of a frame's source, on its way there.
    Feedback(Message),
}

/// A message of a congestion point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Message {
    /// Number of the congestion point, from 1.
    pub point: u16,
    pub feedback: Feedback,
    /// The frame that it is about, and who sent that.
    pub frame: Frame,
    pub source: u16,
    /// Bytes of its frame, check sequence included.
    pub length: u16,
}

/// Cause and scope of an idealised notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    pub cause: Cause,
    pub scope: Scope,
    /// The addresses named; empty unless the scope has destinations.
    pub destinations: Vec<u16>,
}

/// Shortest Ethernet frame, bytes.
const MIN_FRAME: usize = 64;
/// Header and check sequence, bytes.
const HEADER: usize = 18;
/// Opcode and cause in an address list, bytes.
const LIST_HEAD: usize = 4;
/// Addresses that fit into a payload of 1500 bytes at 6 bytes each.
pub(crate) const MAX_ADDRESSES: usize = (1500 - LIST_HEAD) / 6;
/// Preamble and gap, bytes.
const OVERHEAD: usize = 20;
/// The shortest control frame on the wire, bytes.
pub(crate) const MIN_WIRE: u16 = (MIN_FRAME + OVERHEAD) as u16;

impl Notice {
    /// Bytes on the wire: 84, or as many as the address list or a congestion point's message needs.
    pub fn wire(&self) -> u16 {
        let frame = match self {
            Notice::Off(body) | Notice::On(body) => HEADER + LIST_HEAD + 6 * body.destinations.len(),
            Notice::Pause(_) | Notice::PriorityPause { .. } => MIN_FRAME,
            Notice::Feedback(message) => usize::from(message.length),
        };
        u16::try_from(frame.max(MIN_FRAME) + OVERHEAD).expect("an address list is split over frames of 1518 bytes")
    }

    /// Takes over a later PAUSE while waiting itself, since a PAUSE replaces the one before: quanta
    /// so short that refreshes come faster than their frames leave do not pile up.
    pub fn overtaken_by(&mut self, later: &Notice) -> bool {
        match (self, later) {
            (Notice::Pause(mine), Notice::Pause(theirs)) => *mine = *theirs,
            (Notice::PriorityPause { enabled, quanta }, Notice::PriorityPause { enabled: more, quanta: theirs }) => {
                // Each has the state of all classes; those named are those that changed or ask.
                *enabled |= more;
                *quanta = *theirs;
            }
            _ => return false,
        }
        true
    }
}

/// Notices under way, by the handle that their frame carries.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    slots: Vec<Option<Notice>>,
    free: Vec<u32>,
}

impl Notices {
    pub fn put(&mut self, notice: Notice) -> u32 {
        match self.free.pop() {
            Some(handle) => {
                self.slots[handle as usize] = Some(notice);
                handle
            }
            None => {
                self.slots.push(Some(notice));
                u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 notices are under way")
            }
        }
    }
    pub fn get(&self, handle: u32) -> Option<&Notice> {
        self.slots[handle as usize].as_ref()
    }
    pub fn take(&mut self, handle: u32) -> Notice {
        self.free.push(handle);
        self.slots[handle as usize].take().expect("a control frame's notice is there until it arrives")
    }
}
