//! Traffic that a notification stops or slows.

use tailback_qdisc::{Gate, Packet};

/// Traffic that a notification stops or slows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    /// All traffic of the port.
    Port,
    /// The traffic of a class.
    Class(u8),
    /// The traffic to a destination (a node index) in one class; `None`: in all classes.
    Destination(u16, Option<u8>),
}

impl Target {
    /// Returns `true` if a packet belongs to the target.
    pub(crate) fn covers(self, packet: &Packet) -> bool {
        match self {
            Target::Port => true,
            Target::Class(class) => packet.class() == class,
            Target::Destination(destination, class) => {
                packet.dst == destination && class.is_none_or(|c| c == packet.class())
            }
        }
    }
    /// Closes a gate for the target.
    pub(crate) fn close(self, gate: &mut Gate) {
        match self {
            Target::Port => gate.close_port(),
            Target::Class(class) => gate.close_class(class),
            Target::Destination(destination, class) => gate.close_destination(destination, class),
        }
    }
}
