//! Partitions of a world: messages to and from other partitions.
//!
//! Each partition has a whole world, in which only its own nodes act. A link between two partitions exists in the
//! worlds of both. The sending partition keeps the frames on the link until they arrive, since the backlog is computed
//! from them, and then discards them. The receiving partition receives each frame in a message before the frame
//! arrives, and handles the arrival. Messages include the contents of control frames and long acknowledgements, which
//! packets do not hold.

use super::connections::Write;
use crate::control_frame::ControlFrame;
use crate::partition::Partition;
use std::sync::Arc;
use tailback_qdisc::Packet;
use tailback_transport::Ack;
use tailback_units::Time;

/// The partition that a world simulates, and its messages.
#[derive(Debug)]
pub(crate) struct Share {
    pub(super) partition: Arc<Partition>,
    /// Number of the partition that the world simulates.
    pub(super) part: usize,
    /// Ports whose links lead to other partitions, each with the number of the partition.
    pub(super) exits: Vec<(u32, usize)>,
    /// Messages to each partition, by its number.
    pub(super) out: Vec<Messages>,
}

/// Messages from one partition to another: frames that will arrive there, and writes of applications to connections
/// whose receiver is there.
#[derive(Debug, Default)]
pub struct Messages {
    /// Frames; those of one link are in order.
    pub(super) frames: Vec<Frame>,
    /// Writes, each with the index of its connection.
    pub(super) writes: Vec<(u32, Write)>,
}

/// A frame on the link of a port.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) packet: Packet,
    /// Index of the port that sends into the link.
    pub(super) port: u32,
    /// Content that is not stored in the packet; `None`: there is none.
    pub(super) attachment: Option<Box<Attachment>>,
}

/// Content of a frame that is not stored in its packet.
#[derive(Debug)]
pub(super) enum Attachment {
    ControlFrame(ControlFrame),
    Ack(Ack),
}

impl Messages {
    /// Returns the earliest arrival of a frame; [`Time::NEVER`]: there are no frames.
    pub fn first(&self) -> Time {
        self.frames.iter().map(|frame| frame.packet.at).min().unwrap_or(Time::NEVER)
    }
    /// Returns `true` if there are neither frames nor writes.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.writes.is_empty()
    }
}

impl Share {
    #[expect(clippy::unnecessary_box_returns, reason = "a world has an optional box, since most worlds are undivided")]
    pub fn new(partition: Arc<Partition>, part: usize) -> Box<Share> {
        let out = (0..partition.parts()).map(|_| Messages::default()).collect();
        Box::new(Share { partition, part, exits: Vec::new(), out })
    }
    /// Returns `true` if a node acts in this partition.
    pub fn owns(&self, node: u16) -> bool {
        self.partition.part_of(node) == self.part
    }
    /// Sends a write on a connection to the partition of the receiving node.
    pub(super) fn send_write(&mut self, to: u16, connection: u32, write: Write) {
        self.out[self.partition.part_of(to)].writes.push((connection, write));
    }
}
