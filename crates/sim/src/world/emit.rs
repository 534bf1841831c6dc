//! Sources: bursts become packets.

use super::World;
use super::source::{Drawn, LastLengths, give_law, stop_source, stream};
use crate::conditioning::NONE;
use crate::event_queue::{Key, Kind};
use crate::hints::unlikely;
use crate::plan::{Framing, Length};
use tailback_qdisc::Packet;
use tailback_traffic::{Burst, Model};
use tailback_units::Time;

impl Framing {
    /// Returns the buffer bytes and the wire bytes of a packet with `payload` bytes of payload.
    #[inline]
    pub fn lengths(&self, payload: u32) -> (u32, u32) {
        let frame = (payload + self.header).max(self.min_frame);
        let wire = frame + self.overhead;
        let size = match self.buffer {
            Length::Payload => payload,
            Length::Frame => frame,
            Length::Wire => wire,
        };
        (size, wire)
    }
}

impl World {
    /// Starts or restarts a flow's source at `at`. Flows that an application drives have no source.
    pub(super) fn start_flow(&mut self, index: u32, at: Time) {
        if self.applications.has(index) {
            return;
        }
        if let Some(connection) = self.transports.of(index) {
            return self.start_writer(connection, index, at);
        }
        let flow = &mut self.flows[self.transports.plain(index)];
        stop_source(&mut flow.source, &mut flow.rng);
        let mut source = self.plan.flows[index as usize].model.start(at, &mut flow.rng);
        give_law(&mut self.user_sources, index, &mut source, &mut flow.rng);
        flow.next = Burst::NONE;
        if let Some(first) = source.next(&mut flow.rng).filter(|burst| burst.at < flow.stop) {
            flow.next = first;
            self.event_queue.push(first.at, Key::new(Kind::Emit, index));
        }
        flow.source = Some(source);
    }

    /// Starts or restarts the source of a flow with a transport.
    fn start_writer(&mut self, connection: u32, index: u32, at: Time) {
        let (writer, plan) = (&mut self.writers[connection as usize], &self.plan.flows[index as usize]);
        let mut drawn = writer.drawn.take();
        let mut fresh = None;
        let rng = match &mut drawn {
            Some(drawn) => {
                stop_source(&mut drawn.source, &mut drawn.rng);
                &mut drawn.rng
            }
            None => fresh.insert(stream(&self.plan, plan)),
        };
        let mut source = plan.model.start(at, rng);
        give_law(&mut self.user_sources, index, &mut source, rng);
        writer.next = source.next(rng).filter(|burst| burst.at < plan.stop).unwrap_or(Burst::NONE);
        if writer.next.at < Time::NEVER {
            self.event_queue.push(writer.next.at, Key::new(Kind::Emit, index));
        }
        // A bulk source has a single burst: neither generator nor random stream are needed later.
        if !matches!(plan.model, Model::Bulk(_)) {
            let rng = drawn.map(|drawn| drawn.rng).or(fresh);
            writer.drawn = rng.map(|rng| Box::new(Drawn { source: Some(source), rng }));
        }
    }

    /// Returns `true` if a flow's source has started, or is scheduled to, and has not been stopped.
    pub(super) fn source_runs(&self, index: u32) -> bool {
        match self.transports.of(index) {
            Some(connection) => {
                let writer = &self.writers[connection as usize];
                writer.next.at < Time::NEVER || writer.drawn.as_ref().is_some_and(|drawn| drawn.source.is_some())
            }
            None => self.flows[self.transports.plain(index)].source.is_some(),
        }
    }

    /// Stops a flow's source; packets already sent are still forwarded.
    pub(super) fn stop_flow(&mut self, index: u32) {
        if self.applications.has(index) {
            return;
        }
        let Some(connection) = self.transports.of(index) else {
            let flow = &mut self.flows[self.transports.plain(index)];
            stop_source(&mut flow.source, &mut flow.rng);
            flow.next.at = Time::NEVER;
            return;
        };
        let writer = &mut self.writers[connection as usize];
        if let Some(Drawn { source, rng }) = writer.drawn.as_deref_mut() {
            stop_source(source, rng);
        }
        writer.next.at = Time::NEVER;
        self.close(connection);
    }

    /// Writes the burst that is due to the connection of a flow; a burst of 0 bytes closes the connection.
    fn emit_to(&mut self, connection: u32, index: u32) {
        let writer = &mut self.writers[connection as usize];
        if writer.next.at != self.now {
            return self.emit_stale(index);
        }
        let bytes = writer.next.bytes;
        writer.next.at = Time::NEVER;
        if bytes == 0 {
            return self.close(connection);
        }
        let stop = self.plan.flows[index as usize].stop;
        let next = writer.drawn.as_deref_mut().and_then(|Drawn { source, rng }| source.as_mut()?.next(rng));
        // After the last burst, a burst of 0 bytes at the stop closes the connection and discards data not sent by
        // then.
        writer.next = next.filter(|burst| burst.at < stop).unwrap_or(Burst { at: stop, bytes: 0 });
        if writer.next.at < Time::NEVER {
            self.event_queue.push(writer.next.at, Key::new(Kind::Emit, index));
        }
        self.write(connection, bytes);
    }

    /// Handles an event of a flow whose source has no burst now: the event belongs to an application, or is stale.
    fn emit_stale(&mut self, index: u32) {
        if self.applications.has(index) {
            self.application_due(index);
        }
        // Without an application, the source was stopped or restarted after the event had been scheduled.
    }

    /// Emits the due burst of a flow: full packets, and a shorter last one.
    #[inline]
    pub(super) fn emit(&mut self, index: u32) {
        let now = self.now;
        if let Some(connection) = self.transports.of(index) {
            return self.emit_to(connection, index);
        }
        let flow = &mut self.flows[self.transports.plain(index)];
        if unlikely(flow.next.at != now) {
            return self.emit_stale(index);
        }
        let bytes = flow.next.bytes;
        flow.next = flow.source.as_mut().map_or(Burst::NONE, |s| s.next_or_none(&mut flow.rng));
        if flow.next.at < flow.stop {
            self.event_queue.push(flow.next.at, Key::new(Kind::Emit, index));
        } else {
            flow.next.at = Time::NEVER;
        }
        // Most bursts consist of one packet.
        if unlikely(bytes > u64::from(self.plan.framing.mtu) || bytes == 0) {
            return self.send_packets(index, bytes);
        }
        self.send_packet(index, bytes as u32);
    }

    /// Returns the sequence number of the first packet, and the number of packets, into which `bytes` of a flow without
    /// a transport would be divided if they were sent now.
    pub(super) fn next_packets(&self, index: u32, bytes: u64) -> (u32, u32) {
        (self.flows[self.transports.plain(index)].seq, bytes.div_ceil(u64::from(self.plan.framing.mtu)) as u32)
    }

    /// Returns the port by which a flow's packets leave the sending host.
    pub(super) fn flow_port(&self, index: u32) -> u32 {
        match self.transports.of(index) {
            Some(connection) => self.transports.outgoing[connection as usize].port,
            None => self.flows[self.transports.plain(index)].port,
        }
    }

    /// Sends `bytes` of a flow without a transport as full packets and a shorter last one.
    #[inline(never)]
    pub(super) fn send_packets(&mut self, index: u32, bytes: u64) {
        let mtu = u64::from(self.plan.framing.mtu);
        let mut remaining = bytes;
        while remaining > mtu {
            self.send_packet(index, mtu as u32);
            remaining -= mtu;
        }
        if remaining > 0 {
            self.send_packet(index, remaining as u32);
        }
    }

    /// Sends a packet of a flow without a transport; `payload` is at most the MTU.
    #[inline(always)]
    fn send_packet(&mut self, index: u32, payload: u32) {
        let now = self.now;
        let flow = &mut self.flows[self.transports.plain(index)];
        if flow.last.payload != payload {
            let (size, wire) = self.plan.framing.lengths(payload);
            flow.last = LastLengths { payload, size, wire };
        }
        let traits = flow.traits[usize::from(now >= self.plan.warmup)];
        let mut packet = Packet::new(index, traits, now, flow.seq, flow.to);
        flow.seq = flow.seq.wrapping_add(1);
        packet.payload = payload as u16;
        packet.code = flow.code;
        packet.set_lengths(flow.last.size, flow.last.wire);
        let (port, rule) = (flow.port, flow.conditioner);
        if unlikely(rule != NONE) {
            return self.enter(port, rule, None, packet);
        }
        self.ledger.offer(&packet);
        self.enqueue(port, packet, None);
    }
}
