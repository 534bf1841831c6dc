//! Sources: bursts in, packets out.

use super::World;
use crate::agenda::{Key, Kind};
use crate::conditioning::NONE;
use crate::plan::{FlowPlan, Framing, Length, Plan};
use tailback_qdisc::{Packet, Traits};
use tailback_random::Rng;
use tailback_traffic::{Burst, Source};
use tailback_units::Time;

/// A flow's source at work.
#[derive(Debug)]
pub(super) struct Flow {
    source: Option<Source>,
    rng: Rng,
    /// The burst that is due at `next.at`.
    next: Burst,
    /// When the source stops.
    stop: Time,
    /// The sending host's port towards the receiver.
    port: u32,
    to: u16,
    /// Traits of packets that are only carried, and of those that are measured.
    traits: [Traits; 2],
    /// Code point of its packets.
    code: u8,
    seq: u32,
    /// The last payload, with its bytes in a buffer and on the wire: mostly all are alike.
    last: (u32, u32, u32),
    /// The conditioner at its entry.
    pub conditioner: u32,
}

impl Flow {
    pub fn new(flow: &FlowPlan, port: u32, plan: &Plan) -> Flow {
        Flow {
            source: None,
            rng: Rng::named(plan.seed, &format!("source {}", flow.name)),
            next: Burst { at: Time::NEVER, bytes: 0 },
            stop: flow.stop,
            port,
            to: flow.to,
            code: flow.code,
            traits: [false, true].map(|measured| Traits::data(flow.class, measured)),
            seq: 0,
            last: (0, 0, 0),
            conditioner: NONE,
        }
    }

    /// Takes the source away; the stream is then where the bursts have left it that it has given.
    fn silence(&mut self) {
        if let Some(source) = self.source.take() {
            source.give_back(&mut self.rng);
        }
    }
}

impl Framing {
    /// Bytes that a buffer counts and bytes on the wire, for a payload.
    #[inline]
    pub(crate) fn lengths(&self, payload: u32) -> (u32, u32) {
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
    /// Starts (or restarts) a flow's source at `at`; one that an application drives has none.
    pub(super) fn start_flow(&mut self, index: u32, at: Time) {
        if self.applications.has(index) {
            return;
        }
        let flow = &mut self.flows[index as usize];
        flow.silence();
        let mut source = self.plan.flows[index as usize].model.start(at, &mut flow.rng);
        flow.next = Burst { at: Time::NEVER, bytes: 0 };
        if let Some(first) = source.next(&mut flow.rng).filter(|burst| burst.at < flow.stop) {
            flow.next = first;
            self.agenda.push(first.at, Key::new(Kind::Emit, index));
        }
        flow.source = Some(source);
    }

    /// Stops a flow's source; what it has sent goes on.
    pub(super) fn stop_flow(&mut self, index: u32) {
        if self.applications.has(index) {
            return;
        }
        let flow = &mut self.flows[index as usize];
        flow.silence();
        flow.next.at = Time::NEVER;
        if let Some(connection) = self.transports.of(index) {
            self.close(connection);
        }
    }

    /// The burst that is due goes to a transport; one of no bytes is the end of the writing.
    fn emit_to(&mut self, connection: u32, index: u32) {
        let flow = &mut self.flows[index as usize];
        let bytes = flow.next.bytes;
        flow.next.at = Time::NEVER;
        if bytes == 0 {
            return self.close(connection);
        }
        let next = flow.source.as_mut().and_then(|s| s.next(&mut flow.rng)).filter(|burst| burst.at < flow.stop);
        // After the last burst comes the stop: what has not been sent by then is given up.
        flow.next = next.unwrap_or(Burst { at: flow.stop, bytes: 0 });
        if flow.next.at < Time::NEVER {
            self.agenda.push(flow.next.at, Key::new(Kind::Emit, index));
        }
        self.write(connection, bytes);
    }

    /// A flow's next burst is due: cuts it into full packets and a remainder.
    #[inline]
    pub(super) fn emit(&mut self, index: u32) {
        let now = self.now;
        let flow = &mut self.flows[index as usize];
        if flow.next.at != now {
            if self.applications.has(index) {
                return self.application_due(index);
            }
            // Stopped, or restarted with another first burst, since this event was scheduled.
            return;
        }
        if let Some(connection) = self.transports.of(index) {
            return self.emit_to(connection, index);
        }
        let bytes = flow.next.bytes;
        flow.next = flow.source.as_mut().map_or(Burst::NONE, |s| s.next_or_none(&mut flow.rng));
        if flow.next.at < flow.stop {
            self.agenda.push(flow.next.at, Key::new(Kind::Emit, index));
        } else {
            flow.next.at = Time::NEVER;
        }
        // Most bursts are one packet.
        if bytes <= u64::from(self.plan.framing.mtu) && bytes > 0 {
            return self.send_packet(index, bytes as u32);
        }
        self.send_packets(index, bytes);
    }

    /// The number of the first packet that `bytes` of a flow would be sent in now, and how many there
    /// would be.
    pub(super) fn next_packets(&self, index: u32, bytes: u64) -> (u32, u32) {
        (self.flows[index as usize].seq, bytes.div_ceil(u64::from(self.plan.framing.mtu)) as u32)
    }

    /// The sending host's port of a flow.
    pub(super) fn flow_port(&self, index: u32) -> u32 {
        self.flows[index as usize].port
    }

    /// Hands `bytes` of a flow without a transport to the network, in full packets and a remainder.
    #[inline(never)]
    pub(super) fn send_packets(&mut self, index: u32, bytes: u64) {
        let mtu = u64::from(self.plan.framing.mtu);
        let mut left = bytes;
        while left > mtu {
            self.send_packet(index, mtu as u32);
            left -= mtu;
        }
        if left > 0 {
            self.send_packet(index, left as u32);
        }
    }

    #[inline(always)]
    fn send_packet(&mut self, index: u32, payload: u32) {
        let now = self.now;
        let flow = &mut self.flows[index as usize];
        if flow.last.0 != payload {
            let (size, wire) = self.plan.framing.lengths(payload);
            flow.last = (payload, size, wire);
        }
        let traits = flow.traits[usize::from(now >= self.plan.warmup)];
        let mut packet = Packet::new(index, traits, now, flow.seq, flow.to);
        flow.seq = flow.seq.wrapping_add(1);
        packet.payload = payload as u16;
        packet.code = flow.code;
        packet.set_lengths(flow.last.1, flow.last.2);
        let (port, rule) = (flow.port, flow.conditioner);
        if rule != NONE {
            return self.enter(port, rule, None, packet);
        }
        self.ledger.offer(&packet);
        self.enqueue(port, packet, None);
    }
}
