//! Exchange of messages between the partitions of a world.

use super::World;
use super::share::{Attachment, Frame, Messages, Share};
use crate::event_queue::Kind;
use crate::partition::Partition;
use crate::plan::Plan;
use crate::port::{LineEnd, Queue};
use std::sync::Arc;
use tailback_qdisc::Packet;
use tailback_units::Time;
use tailback_user::{Factories, Faults};

impl World {
    /// Returns the world of the partition with number `part`; all random choices of the plan must have been drawn.
    pub(crate) fn part(
        plan: Plan,
        partition: &Arc<Partition>,
        part: usize,
        factories: &dyn Factories,
        faults: Faults,
    ) -> World {
        World::drawn(plan, Some(Share::new(partition.clone(), part)), factories, faults)
    }

    /// Returns `true` if a node acts in this partition; always for an undivided world.
    #[inline]
    pub(super) fn owns(&self, node: u16) -> bool {
        self.share.as_ref().is_none_or(|share| share.owns(node))
    }

    /// Prepares the ports whose links lead to other partitions.
    pub(super) fn find_exits(&mut self) {
        let Some(share) = &mut self.share else { return };
        for (number, port) in (0u32..).zip(&mut self.ports) {
            let to = share.partition.part_of(port.to);
            if share.owns(port.from) && to != share.part {
                share.exits.push((number, to));
                port.end = Some(Box::new(LineEnd { announced: Some(0), ..LineEnd::default() }));
                // Frames that have been sent to the other partition cannot return from the link to the queue.
                if let Queue::General(general) = &mut port.queue {
                    general.may_transmit_early = false;
                }
            }
        }
    }

    /// Handles all events before `limit`, but none after the end of the run.
    pub(crate) fn run_before(&mut self, limit: Time) {
        let last = Time(limit.0.saturating_sub(1)).min(self.plan.end);
        if self.trace.is_some() {
            self.handle_traced(last, u64::MAX);
        } else {
            while self.handle_events(last, u64::MAX) == super::Status::Running {}
        }
    }

    /// Sets the time to the end of the run.
    pub(crate) fn end_run(&mut self) {
        self.now = self.plan.end;
        self.done = true;
    }

    /// Adds the frames put onto links since the last call to the messages, and returns the messages to each partition.
    pub(crate) fn outbox(&mut self) -> &mut [Messages] {
        let World { share, ports, control_frames, transports, .. } = self;
        let Some(share) = share else { return &mut [] };
        for &(number, to) in &share.exits {
            let port = &mut ports[number as usize];
            let Some(LineEnd { announced: Some(announced), .. }) = port.end.as_deref_mut() else { continue };
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

    /// Takes over the messages of another partition; `messages` is then empty.
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
            debug_assert!(packet.at > self.now, "a frame is in a message before it arrives");
            let (at, line) = (packet.at, &mut self.ports[port as usize].line);
            let was_empty = line.is_empty();
            line.push_back(packet);
            if was_empty {
                self.schedule(at, Kind::Arrive, port);
            }
        }
    }

    /// Discards a frame, with the content that is stored apart from it, without counting it.
    pub(super) fn forget(&mut self, packet: Packet) {
        if packet.is_control() {
            self.control_frames.take(packet.seq);
        } else {
            self.transports.remove(&packet);
        }
    }
}
