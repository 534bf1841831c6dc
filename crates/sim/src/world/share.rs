//! Partitions of a world: messages to other partitions and from them.
//!
//! Each partition has a whole world, in which only its own nodes act. A link to another partition exists in both: the
//! sending one keeps the frames on it until they arrive, since the backlog is derived from them, and then discards them;
//! the receiving one gets each frame in a message before its arrival, which is handled there. The contents of control
//! frames and long acknowledgements go with their frames.

use super::World;
use super::connections::Write;
use crate::control_frame::ControlFrame;
use crate::event_queue::Kind;
use crate::partition::Partition;
use crate::port::{LineEnd, Queue};
use std::sync::Arc;
use tailback_qdisc::Packet;
use tailback_transport::Ack;
use tailback_units::Time;

/// The partition that a world simulates, and its messages.
#[derive(Debug)]
pub(crate) struct Share {
    partition: Arc<Partition>,
    part: usize,
    /// Ports whose links lead to other partitions, with these.
    exits: Vec<(u32, usize)>,
    /// Messages to each partition.
    out: Vec<Messages>,
}

/// Messages from one partition to another: frames that will arrive there, in order on each link, and writes.
#[derive(Debug, Default)]
pub struct Messages {
    frames: Vec<Frame>,
    writes: Vec<(u32, Write)>,
}

/// A frame on the link of a port.
#[derive(Debug)]
struct Frame {
    packet: Packet,
    port: u32,
    attachment: Option<Box<Attachment>>,
}

/// Content of a frame that is stored outside its packet.
#[derive(Debug)]
enum Attachment {
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

impl World {
    /// Returns the world of one partition; all random choices of the plan have been drawn.
    pub(crate) fn part(plan: crate::plan::Plan, partition: &Arc<Partition>, part: usize) -> World {
        World::drawn(plan, Some(Share::new(partition.clone(), part)))
    }

    /// Returns `true` if a node acts in this partition.
    #[inline]
    pub(super) fn owns(&self, node: u16) -> bool {
        self.share.as_ref().is_none_or(|share| share.owns(node))
    }

    /// Finds the links that lead to other partitions.
    pub(super) fn find_exits(&mut self) {
        let Some(share) = &mut self.share else { return };
        for (number, port) in (0u32..).zip(&mut self.ports) {
            let to = share.partition.part_of(port.to);
            if share.owns(port.from) && to != share.part {
                share.exits.push((number, to));
                port.end = Some(Box::new(LineEnd::Exit { announced: 0 }));
                // Frames that have been announced cannot be taken back.
                if let Queue::General(m) = &mut port.queue {
                    m.may_transmit_early = false;
                }
            }
        }
    }

    /// Returns the time of the next event; [`Time::NEVER`]: there is none.
    pub(crate) fn next_time(&self) -> Time {
        self.event_queue.next_time().unwrap_or(Time::NEVER)
    }

    /// Handles all events before `limit` up to the end of the run.
    pub(crate) fn run_before(&mut self, limit: Time) {
        let last = Time(limit.0.saturating_sub(1)).min(self.plan.end);
        while self.run_until(last, u64::MAX) == super::Status::Running {}
    }

    /// Advances the time to the end of the run.
    pub(crate) fn end(&mut self) {
        self.now = self.plan.end;
        self.done = true;
    }

    /// Returns the messages to each partition, with the frames put onto links since the last call.
    pub(crate) fn outbox(&mut self) -> &mut [Messages] {
        let World { share, ports, control_frames, transports, .. } = self;
        let Some(share) = share else { return &mut [] };
        for &(number, to) in &share.exits {
            let port = &mut ports[number as usize];
            let Some(LineEnd::Exit { announced }) = port.end.as_deref_mut() else { continue };
            for index in *announced..port.line.len() {
                let Some(packet) = port.line.get(index) else { break };
                let attachment = if packet.is_control() {
                    control_frames.get(packet.seq).cloned().map(Attachment::ControlFrame)
                } else {
                    transports.long_ack(packet).map(Attachment::Ack)
                };
                let packet = packet.as_seen_from_the_other_end();
                share.out[to].frames.push(Frame { packet, port: number, attachment: attachment.map(Box::new) });
            }
            *announced = port.line.len();
        }
        &mut share.out
    }

    /// Delivers the messages of another partition.
    pub(crate) fn accept(&mut self, messages: &mut Messages) {
        for (connection, write) in messages.writes.drain(..) {
            self.transports.incoming[connection as usize].await_write(write);
        }
        for Frame { mut packet, port, attachment } in messages.frames.drain(..) {
            match attachment.map(|attachment| *attachment) {
                Some(Attachment::ControlFrame(control)) => packet.seq = self.control_frames.put(control),
                Some(Attachment::Ack(ack)) => packet.born = self.transports.store_long_ack(ack),
                None => {}
            }
            debug_assert!(packet.at > self.now, "a frame is announced before it arrives");
            let (at, line) = (packet.at, &mut self.ports[port as usize].line);
            let first = line.is_empty();
            line.push_back(packet);
            if first {
                self.schedule(at, Kind::Arrive, port);
            }
        }
    }

    /// Discards a frame that another partition accounts for.
    pub(super) fn forget(&mut self, packet: Packet) {
        if packet.is_control() {
            self.control_frames.take(packet.seq);
        } else {
            self.transports.drop_long_ack(&packet);
        }
    }
}
