//! Flows with a transport: conversion between segments and packets, and timers.
//!
//! A flow's data has the flow's number and its acknowledgements have another number, so that both directions are
//! accounted separately.

use super::World;
use super::connections::{LONG, Transports, Write};
use crate::conditioning::NONE;
use crate::drop_causes::DropCause;
use crate::event_queue::{Key, Kind};
use crate::hints::unlikely;
use crate::port::Queue;
use tailback_qdisc::{Packet, Reason, Traits};
use tailback_random::Rng;
use tailback_transport::Ack;
use tailback_units::{Dur, Time};

impl World {
    /// Writes `bytes` of a flow's application to its connection.
    pub(super) fn write(&mut self, connection: u32, bytes: u64) {
        let now = self.now;
        let sender = &mut self.transports.outgoing[connection as usize].sender;
        let start = sender.end();
        sender.offer(now, bytes);
        if let Some(end) = sender.end() {
            let number = self.note_transfer(connection, bytes, start.unwrap_or(end), end);
            self.note_write(connection, Write { end, at: now, number, bytes });
        }
        self.pump(connection);
    }

    /// Registers a write at the receiving side, which measures the write's completion time.
    fn note_write(&mut self, connection: u32, write: Write) {
        let to = self.plan.flows[self.transports.outgoing[connection as usize].flow as usize].to;
        match self.share.as_mut().filter(|share| !share.owns(to)) {
            Some(share) => share.send_write(to, connection, write),
            None => self.transports.incoming[connection as usize].await_write(write),
        }
    }

    /// Closes a connection: the application writes no more.
    pub(super) fn close(&mut self, connection: u32) {
        self.transports.outgoing[connection as usize].sender.close();
        self.note_close(connection);
    }

    /// Replaces a flow's connection, if it has one, by a new one.
    pub(super) fn reopen(&mut self, flow: u32) {
        let Some(connection) = self.transports.of(flow) else { return };
        let plan = &self.plan.flows[flow as usize];
        let Some(tcp) = &plan.transport else { return };
        let out = &mut self.transports.outgoing[connection as usize];
        let incoming = &mut self.transports.incoming[connection as usize];
        let finite = incoming.finite.get_or_insert_default();
        finite.before += 1;
        // Each opening has its own random stream, so that draws are not repeated.
        let rng = Rng::named(self.plan.seed, &format!("transport {} #{}", plan.name(), finite.before));
        out.first = out.sender.reopen(rng);
        incoming.receiver.reopen(tcp, out.first);
        incoming.first = out.first;
        finite.opened = self.now;
        finite.writes.clear();
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.forget(flow);
        }
        self.note_reopening(connection);
    }

    /// Delivers a packet at its destination, in a network with connections.
    #[inline]
    pub(super) fn receive(&mut self, packet: Packet) {
        let (flow, flows) = (packet.flow(), self.transports.of_flow.len() as u32);
        if flow >= flows {
            return self.receive_ack(flow - flows, packet);
        }
        let connection = self.transports.of_flow[flow as usize];
        if connection & Transports::PLAIN != 0 {
            let seq = packet.seq;
            self.ledger.deliver(packet, self.now);
            if !self.applications.is_empty() {
                self.application_packet(flow, seq);
            }
            return;
        }
        let (seq, payload, born) = (packet.seq, packet.payload, packet.born);
        let (ecn, cwr) = (packet.ecn(), packet.echo());
        self.ledger.deliver(packet, self.now);
        let incoming = &mut self.transports.incoming[connection as usize];
        // Packets of an earlier connection are discarded: a segment is recognised by its number, a SYN by its time.
        let next = incoming.receiver.next();
        let late = if payload == 0 { born < incoming.opened() } else { is_late(seq, &mut incoming.first, next) };
        if late {
            return;
        }
        let ack = incoming.receiver.on_segment(self.now, seq, payload, born, ecn, cwr);
        let deadline = incoming.receiver.deadline();
        if deadline < incoming.due {
            incoming.due = deadline;
            self.event_queue.push(deadline, Key::new(Kind::AckTimer, connection));
        }
        let complete = incoming.awaits() && self.complete(connection);
        if let Some(ack) = ack {
            self.acknowledge(connection, ack);
        }
        if complete && self.applications.has(flow) {
            self.application_arrived(flow);
        }
    }

    /// Records the writes that have arrived in full. Returns `true` if there were any.
    #[inline(never)]
    fn complete(&mut self, connection: u32) -> bool {
        if unlikely(self.records.is_some()) {
            self.note_completions(connection);
        }
        let incoming = &mut self.transports.incoming[connection as usize];
        let next = incoming.receiver.next();
        let Some(finite) = &mut incoming.finite else { return false };
        let before = finite.writes.len();
        while let Some(write) = finite.writes.front()
            && write.has_arrived(next)
        {
            if write.at >= self.plan.warmup {
                let took = self.now.since(write.at).0;
                finite.completed.count += 1;
                finite.completed.sum += u128::from(took);
                finite.completed.max = finite.completed.max.max(took);
                self.transports.completions[incoming.group as usize].record(took);
            }
            finite.writes.pop_front();
        }
        finite.writes.len() < before
    }

    /// Delivers an acknowledgement to the sender of its connection.
    fn receive_ack(&mut self, connection: u32, packet: Packet) {
        let ack = self.unpack(&packet);
        self.ledger.deliver_ack(packet, connection);
        let out = &mut self.transports.outgoing[connection as usize];
        if is_late(ack.next, &mut out.first, out.sender.next()) {
            // The acknowledgement is for an earlier connection.
            return;
        }
        let hops = self.telemetry.as_mut().and_then(|telemetry| telemetry.acknowledged(out.flow, ack.next));
        out.sender.on_ack(self.now, &ack, hops);
        let (flow, done) = (out.flow, out.sender.done());
        self.pump(connection);
        if done && self.applications.has(flow) {
            self.application_acknowledged(flow);
        }
    }

    /// Returns the acknowledgement that a packet carries, and removes it from the store.
    #[inline]
    fn unpack(&mut self, packet: &Packet) -> Ack {
        if packet.born.0 & LONG != 0 {
            return self.transports.long.take(packet.born.0 as u32);
        }
        let (delay, sack) = (Dur::ZERO, Default::default());
        Ack { next: packet.seq, ece: packet.echo(), syn: false, echo: packet.born, delay, window: Ack::UNLIMITED, sack }
    }

    /// Sends an acknowledgement.
    #[inline(always)]
    fn acknowledge(&mut self, connection: u32, ack: Ack) {
        let is_long = ack.syn || ack.has_sack() || ack.delay != Dur::ZERO || ack.window != Ack::UNLIMITED;
        let word = if is_long { self.transports.store_long_ack(ack) } else { ack.echo };
        let flow = self.transports.ack_flow(connection);
        let incoming = &self.transports.incoming[connection as usize];
        let traits = Traits::data(incoming.class, false).with_ecn(incoming.ecn).with_echo(ack.ece);
        let mut packet = Packet::new(flow, traits, word, ack.next, incoming.to);
        // The acknowledgement's word is not a time: left in `at`, it would keep a cut-through transmitter busy until
        // the end of time.
        packet.at = self.now;
        packet.code = incoming.code;
        packet.set_lengths(u32::from(incoming.size), u32::from(incoming.wire));
        let port = incoming.port;
        if unlikely(self.trace.is_some()) {
            packet.payload = self.ack_number(connection);
        }
        self.ledger.offer_ack(connection);
        self.enqueue(port, packet, None);
    }

    /// Transmits all segments that a sender may send now, and schedules its timer.
    #[inline(always)]
    fn pump(&mut self, connection: u32) {
        if self.transports.outgoing[connection as usize].mode.is_plain() {
            self.pump_plainly(connection);
        } else {
            self.pump_specially(connection);
        }
    }

    /// Transmits the segments of a connection that neither takes turns nor is recorded.
    #[inline(never)]
    fn pump_plainly(&mut self, connection: u32) {
        self.pump_as::<true>(connection);
    }

    /// Transmits the segments of a connection that takes turns or is recorded.
    #[inline(never)]
    fn pump_specially(&mut self, connection: u32) {
        self.pump_as::<false>(connection);
        if self.transports.outgoing[connection as usize].mode.is_recorded() {
            self.note_change(connection);
        }
    }

    /// Transmits all segments that a sender may send now, and schedules its timer; `PLAIN`: its mode is plain.
    #[inline(always)]
    fn pump_as<const PLAIN: bool>(&mut self, connection: u32) {
        let now = self.now;
        let measured = now >= self.plan.warmup;
        let mode = self.transports.outgoing[connection as usize].mode;
        loop {
            if !PLAIN && mode.takes_turns() && !self.has_turn(connection) {
                break;
            }
            let out = &mut self.transports.outgoing[connection as usize];
            let Some(segment) = out.sender.poll(now) else { break };
            if !PLAIN && mode.is_recorded() && segment.retransmission && segment.payload > 0 {
                self.note_retransmission(connection, segment.seq);
            }
            let out = &mut self.transports.outgoing[connection as usize];
            if let Some(telemetry) = &mut self.telemetry {
                telemetry.sent(out.flow, segment.seq);
            }
            let (size, wire) = self.plan.framing.lengths(u32::from(segment.payload) + u32::from(out.header));
            let traits = Traits::data(out.class, measured).with_ecn(segment.ecn).with_echo(segment.cwr);
            let mut packet = Packet::new(out.flow, traits, now, segment.seq, out.to);
            packet.payload = segment.payload;
            packet.code = out.code;
            packet.set_lengths(size, wire);
            let (port, rule) = (out.port, out.conditioner);
            if rule != NONE || segment.marked.is_some() {
                self.enter(port, rule, segment.marked, packet);
                continue;
            }
            self.ledger.offer(&packet);
            self.enqueue(port, packet, None);
        }
        let out = &mut self.transports.outgoing[connection as usize];
        let deadline = out.sender.deadline();
        // A later deadline is noticed when the pending event fires, so that an acknowledgement costs no event.
        if deadline < out.due {
            out.due = deadline;
            self.schedule(deadline, Kind::Timer, connection);
        }
    }

    /// Returns `true` if a connection that takes turns may pass a segment to its host's port now, since no packet of
    /// its class waits there. Otherwise appends the connection to those that wait for their turn.
    fn has_turn(&mut self, connection: u32) -> bool {
        let out = &mut self.transports.outgoing[connection as usize];
        if out.waits {
            out.sender.wait_for_turn();
            return false;
        }
        let (number, class) = (out.port, usize::from(out.class));
        let port = &mut self.ports[number as usize];
        if !matches!(port.queue, Queue::General(_)) || port.waiting_at(self.now, class).packets == 0 {
            return true;
        }
        out.waits = true;
        out.sender.wait_for_turn();
        if let Queue::General(m) = &mut port.queue {
            m.turns.push_back(connection);
        }
        self.schedule_turns(number);
        false
    }

    /// Gives turns to the connections that wait at a port, when a transmission has begun.
    #[inline]
    pub(super) fn serve_turns(&mut self, port: u32) {
        let Queue::General(m) = &mut self.ports[port as usize].queue else { return };
        let waiting = m.turns.len();
        if waiting == 0 || std::mem::replace(&mut m.taking_turns, true) {
            return;
        }
        self.give_turns(port, waiting);
        if let Queue::General(m) = &mut self.ports[port as usize].queue {
            m.taking_turns = false;
        }
    }

    /// Gives turns to up to `waiting` connections; in a network with one class, only until a segment waits at the port
    /// again.
    fn give_turns(&mut self, port: u32, waiting: usize) {
        // A frame of zero length (an acknowledgement without headers) ends when it begins, and the frames behind it
        // begin at the same instant. Turns are given at the last of these frames, since early transmission handles all
        // of them in one step.
        if self.ports[port as usize].free <= self.now && !self.has_room(port) {
            return;
        }
        for _ in 0..waiting {
            let Queue::General(m) = &mut self.ports[port as usize].queue else { return };
            let Some(connection) = m.turns.pop_front() else { return };
            self.transports.outgoing[connection as usize].waits = false;
            self.pump(connection);
            if self.plan.classes == 1 && !self.has_room(port) {
                return;
            }
        }
    }

    /// Returns `true` if no packet waits at a port.
    fn has_room(&mut self, port: u32) -> bool {
        let (now, port) = (self.now, &mut self.ports[port as usize]);
        (0..port.classes.len()).all(|class| port.waiting_at(now, class).packets == 0)
    }

    /// Handles a timer event of a sender, which may be stale.
    pub(super) fn timer(&mut self, connection: u32) {
        let now = self.now;
        let out = &mut self.transports.outgoing[connection as usize];
        if out.due != now {
            return;
        }
        out.due = Time::NEVER;
        if out.sender.deadline() <= now {
            out.sender.on_timer(now);
        }
        self.pump(connection);
    }

    /// Handles a timer event of a receiver, which may be stale.
    pub(super) fn ack_timer(&mut self, connection: u32) {
        let now = self.now;
        let incoming = &mut self.transports.incoming[connection as usize];
        if incoming.due != now {
            return;
        }
        incoming.due = Time::NEVER;
        let receiver = &mut incoming.receiver;
        let ack = if receiver.deadline() <= now { receiver.on_timer(now) } else { None };
        let deadline = receiver.deadline();
        if deadline < Time::NEVER {
            incoming.due = deadline;
            self.event_queue.push(deadline, Key::new(Kind::AckTimer, connection));
        }
        if let Some(ack) = ack {
            self.acknowledge(connection, ack);
        }
    }

    /// Drops a packet at the queue of `port`.
    #[cold]
    #[inline(never)]
    pub(super) fn lose(&mut self, packet: Packet, port: u32, why: Reason) {
        if unlikely(self.trace.is_some()) {
            self.trace_drop(port, &packet, why);
        }
        self.discard(packet, port, why);
    }

    /// Drops a packet as [`World::lose`], before it has reached the queue of `port` or after it has left it.
    #[inline(never)]
    pub(super) fn lose_apart(&mut self, packet: Packet, port: u32, why: Reason) {
        if self.trace.is_some() {
            self.trace_drop_apart(port, &packet, why);
        }
        self.discard(packet, port, why);
    }

    /// Counts a dropped packet, and consumes it.
    #[inline]
    fn discard(&mut self, packet: Packet, port: u32, why: Reason) {
        let handshake = self.transports.remove(&packet);
        self.ledger.drop(packet, DropCause { port, why, handshake });
    }
}

/// Returns `true` if a sequence number belongs to an earlier connection than the one that began with `first` and has
/// reached `next`. Numbers wrap around, so `first` is advanced on a long connection; no packet in the network is that
/// old.
#[inline]
fn is_late(number: u32, first: &mut u32, next: u32) -> bool {
    if number.wrapping_sub(*first) <= u32::MAX / 2 {
        return false;
    }
    let long = next.wrapping_sub(*first) >= 1 << 30;
    if long {
        *first = next.wrapping_sub(1 << 29);
    }
    !long
}

#[cfg(test)]
mod tests {
    use super::is_late;

    #[test]
    fn numbers_before_the_first_are_late_and_those_of_a_long_connection_are_not() {
        let mut first = 100;
        assert!(is_late(98, &mut first, 100) && is_late(99, &mut first, 500));
        assert!(!is_late(100, &mut first, 100) && !is_late(1 << 30, &mut first, 1 << 30));
        // A connection with ten times as many segments as there are numbers.
        let mut next = 100u32;
        for _ in 0..400 {
            next = next.wrapping_add((1 << 27) + 12_345);
            assert!(!is_late(next.wrapping_sub(1_000), &mut first, next) && !is_late(next, &mut first, next));
        }
    }
}
