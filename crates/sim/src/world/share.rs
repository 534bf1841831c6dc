//! A part's share in a network that is simulated in parts: what leaves it, and what comes in.
//!
//! Each part has a whole world in which only its own nodes act. A line that leads out of a part ends there twice: the
//! part that sends keeps its frames on it until they arrive, since their queue is announced from that, and then forgets
//! them; the part that receives is announced of each ahead of time, and there it arrives. What a frame carries beside
//! itself goes with it.

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

/// Which part of a network a world is, and what leaves it.
#[derive(Debug)]
pub(crate) struct Share {
    partition: Arc<Partition>,
    part: usize,
    /// Ports whose lines lead out, and the parts into which they lead.
    exits: Vec<(u32, usize)>,
    /// By part: what goes there.
    out: Vec<Messages>,
}

/// What goes from one part of a network to another: frames that will arrive there, in order on each line.
#[derive(Debug, Default)]
pub struct Messages {
    frames: Vec<Frame>,
    writes: Vec<(u32, Write)>,
}

/// A frame on the line of a port.
#[derive(Debug)]
struct Frame {
    packet: Packet,
    port: u32,
    attachment: Option<Box<Attachment>>,
}

/// What a frame carries beside itself.
#[derive(Debug)]
enum Attachment {
    ControlFrame(ControlFrame),
    Ack(Ack),
}

impl Messages {
    /// When the first of the frames arrives; never if there are none.
    pub fn first(&self) -> Time {
        self.frames.iter().map(|frame| frame.packet.at).min().unwrap_or(Time::NEVER)
    }
    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty() && self.writes.is_empty()
    }
}

impl Share {
    pub fn new(partition: Arc<Partition>, part: usize) -> Box<Share> {
        let out = (0..partition.parts()).map(|_| Messages::default()).collect();
        Box::new(Share { partition, part, exits: Vec::new(), out })
    }
    /// Whether a node acts in this part.
    pub fn owns(&self, node: u16) -> bool {
        self.partition.part_of(node) == self.part
    }
    /// Tells the part of the receiving node what has been written to a connection.
    pub(super) fn send_write(&mut self, to: u16, connection: u32, write: Write) {
        self.out[self.partition.part_of(to)].writes.push((connection, write));
    }
}

impl World {
    /// The share of one part in the world of a plan that draws nothing any more.
    pub(crate) fn part(plan: crate::plan::Plan, partition: &Arc<Partition>, part: usize) -> World {
        World::drawn(plan, Some(Share::new(partition.clone(), part)))
    }

    /// Whether a node acts here.
    #[inline]
    pub(super) fn owns(&self, node: u16) -> bool {
        self.share.as_ref().is_none_or(|share| share.owns(node))
    }

    /// Finds the lines that lead out.
    pub(super) fn open_exits(&mut self) {
        let Some(share) = &mut self.share else { return };
        for (number, port) in (0u32..).zip(&mut self.ports) {
            let to = share.partition.part_of(port.to);
            if share.owns(port.from) && to != share.part {
                share.exits.push((number, to));
                port.end = Some(Box::new(LineEnd::Exit { announced: 0 }));
                // What has been announced cannot be taken back.
                if let Queue::General(m) = &mut port.queue {
                    m.may_transmit_early = false;
                }
            }
        }
    }

    /// When the next event is; never if there is none.
    pub(crate) fn next_time(&self) -> Time {
        self.event_queue.next_time().unwrap_or(Time::NEVER)
    }

    /// Handles all events before `limit`, none of them after the end.
    pub(crate) fn run_before(&mut self, limit: Time) {
        let last = Time(limit.0.saturating_sub(1)).min(self.plan.end);
        while self.run_until(last, u64::MAX) == super::Status::Running {}
    }

    /// Time has come to the end.
    pub(crate) fn end(&mut self) {
        self.now = self.plan.end;
        self.done = true;
    }

    /// By part, what has left for it since the last call.
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

    /// Takes in what has left other parts for this one.
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
            debug_assert!(packet.at > self.now, "a frame is announced of before it arrives");
            let (at, line) = (packet.at, &mut self.ports[port as usize].line);
            let first = line.is_empty();
            line.push_back(packet);
            if first {
                self.schedule(at, Kind::Arrive, port);
            }
        }
    }

    /// A frame that the other end of its line has to do with is here no more.
    pub(super) fn forget(&mut self, packet: Packet) {
        if packet.is_control() {
            self.control_frames.take(packet.seq);
        } else {
            self.transports.drop_long_ack(&packet);
        }
    }
}
