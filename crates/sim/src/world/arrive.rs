//! Arrivals: control frames take effect, data is delivered or forwarded.

use super::{FabricState, World};
use crate::crossbar::Place;
use crate::event_queue::{Key, Kind};
use crate::hints::unlikely;
use crate::port::{LineEnd, LineTiming, Queue, Waiting};
use tailback_qdisc::{Gate, Packet, Reason};
use tailback_units::{Dur, Time};

/// Maximum number of frames of a class that wait in an output queue while a crossbar still transfers a further frame of
/// that class to the queue.
const OUTPUT_FRAMES: u64 = 1;

impl World {
    /// Handles the arrival of the oldest frame on the link of `port`.
    #[inline]
    pub(super) fn arrive(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Some(next) = p.arrived(now) else { return };
        if unlikely(p.end.is_some()) && p.end_takes() {
            return self.end_at_line(port, next);
        }
        let node = p.to;
        // The frame is removed before the next arrival is scheduled, so that its position on the link is computed only
        // once: the compiler does not know that scheduling leaves it unchanged.
        let Some(packet) = p.line.pop_front() else { return };
        self.schedule_arrival(port, next);
        if unlikely(packet.is_control()) {
            self.receive_control(port, packet);
            return;
        }
        if packet.dst == node {
            if self.transports.is_empty() && self.applications.is_empty() {
                self.ledger.deliver(packet, now);
            } else {
                self.receive(packet);
            }
            return;
        }
        if unlikely(self.conditioning.at_ingress()) {
            return self.forward_conditioned(node, packet, port);
        }
        self.forward(node, packet, port);
    }

    /// Applies the conditioners at the end of the link of `via` to a packet, and forwards it if it passes.
    #[inline(never)]
    fn forward_conditioned(&mut self, node: u16, packet: Packet, via: u32) {
        if let Some(passed) = self.condition_ingress(via, packet) {
            self.forward(node, passed, via);
        }
    }

    /// Schedules the arrival of the next frame on the link of `port`; `None`: there is no next frame.
    #[inline(always)]
    fn schedule_arrival(&mut self, port: u32, next: Option<Time>) {
        if let Some(at) = next {
            self.event_queue.push(at, Key::new(Kind::Arrive, port));
        }
    }

    /// Removes a frame at the end of a link: the frame is lost, or received by another partition. `next`: arrival time of
    /// the next frame.
    #[inline(never)]
    fn end_at_line(&mut self, port: u32, next: Option<Time>) {
        self.schedule_arrival(port, next);
        let p = &mut self.ports[port as usize];
        let Some(packet) = p.line.pop_front() else { return };
        if let Some(LineEnd { announced: Some(_), .. }) = p.end.as_deref() {
            return self.forget(packet);
        }
        p.lost.add(u64::from(packet.size));
        self.lose_apart(packet, port, Reason::LinkLoss);
    }

    /// Returns the time of reception of the last byte of a packet that arrives now over the link of `port` at a
    /// cut-through switch; `None`: the link leads to another kind of node.
    #[inline]
    fn tail_of(&self, port: u32, packet: &Packet) -> Option<Time> {
        let p = &self.ports[port as usize];
        let Queue::General(general) = &p.queue else { return None };
        let LineTiming::CutThrough(header) = general.timing else { return None };
        let wire = u32::from(packet.wire());
        Some(self.now + (p.clock.tx_time(wire) - p.clock.tx_time(header.min(wire))))
    }

    /// Forwards a packet, which arrived over the link of `via`, through the fabric of a switch.
    #[inline(always)]
    fn forward(&mut self, node: u16, mut packet: Packet, via: u32) {
        // At a cut-through switch, `packet.at` becomes the time at which the packet has been received in full, as it is
        // at other switches.
        if unlikely(self.nodes[usize::from(node)].cuts_through)
            && let Some(tail) = self.tail_of(via, &packet)
        {
            packet.at = tail;
        }
        let output = self.routes.port(node, packet.dst, packet.flow(), packet.seq);
        let FabricState::Crossbar(crossbar) = &mut self.nodes[usize::from(node)].fabric else {
            return self.enqueue(output, packet, Some(via));
        };
        let slot = |port: u32| self.slots[port as usize] as usize;
        let place =
            Place { input: slot(via ^ 1), output: slot(output), class: packet.class(), destination: packet.dst };
        match crossbar.accept(place.input, place.output, packet) {
            Ok(()) => {
                self.match_output(output);
                if unlikely(self.nodes[usize::from(node)].backpressure.is_some()) {
                    self.detect_at_input(usize::from(node), place, true);
                }
            }
            Err(packet) => {
                self.ports[via as usize].refused.add(u64::from(packet.size));
                self.lose_apart(packet, via, Reason::InputBufferFull);
            }
        }
    }

    /// Starts a transfer to the output `port` if its queue has room and a head-of-line frame is bound for it.
    pub(super) fn match_output(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return };
        let open = Gate::default();
        let gate = general.responder.as_mut().map_or(&open, |r| r.gate(now));
        // The limit applies to each class, so that a stopped class does not block the others. Packets to stopped
        // destinations do not count, so that they do not block packets to other destinations.
        let selects = gate.selects_destinations();
        let waiting = |class: usize| match &general.queues[class].waiting {
            Waiting::ByDestination(q) if selects => q.packets_not_selected(gate),
            _ => general.queues[class].backlog.packets,
        };
        let has_room = |class: &usize| waiting(*class) <= OUTPUT_FRAMES;
        let room = (0..general.queues.len()).filter(has_room).fold(0u8, |mask, class| mask | 1 << class);
        let admits = |p: &Packet| room & (1 << p.class()) != 0 && gate.admits_destination(p.class(), p.dst);
        let (clock, output) = (p.clock, self.slots[port as usize] as usize);
        let node = &mut self.nodes[usize::from(p.from)];
        let FabricState::Crossbar(crossbar) = &mut node.fabric else { return };
        let Some(input) = crossbar.start(output, selects, admits) else { return };
        let Some((_, packet)) = &crossbar.inputs[input].crossing else { return };
        let time = clock.tx_time(u32::from(packet.wire())).0 as f64 / crossbar.speedup;
        let (component, at) = (node.ports[input], self.now + Dur((time as u64).max(1)));
        self.schedule(at, Kind::Crossed, component);
    }

    /// Starts a transfer to `port` if the port belongs to a crossbar; called when notifications may have opened its
    /// gate.
    pub(super) fn cross_to(&mut self, port: u32) {
        if matches!(self.nodes[usize::from(self.ports[port as usize].from)].fabric, FabricState::Crossbar(_)) {
            self.match_output(port);
        }
    }

    /// Handles the end of the transfer from the input at the link of `port`.
    pub(super) fn crossed(&mut self, port: u32) {
        let (at, input) = (usize::from(self.ports[port as usize].from), self.slots[port as usize] as usize);
        let FabricState::Crossbar(crossbar) = &mut self.nodes[at].fabric else { return };
        let Some((output, packet)) = crossbar.finish(input) else { return };
        let place = Place { input, output, class: packet.class(), destination: packet.dst };
        // The input and the output are idle now. Other outputs may wait for this input, and other inputs for this
        // output. The other outputs are tried first: otherwise this output could always take the next frame of this
        // input.
        let count = self.nodes[at].ports.len();
        for candidate in (1..count).map(|offset| (output + offset) % count) {
            if matches!(&self.nodes[at].fabric, FabricState::Crossbar(c) if c.wants(input, candidate)) {
                self.match_output(self.nodes[at].ports[candidate]);
            }
        }
        let output = self.nodes[at].ports[output];
        self.enqueue(output, packet, Some(port ^ 1));
        self.match_output(output);
        if self.nodes[at].backpressure.is_some() {
            self.detect_at_input(at, place, false);
        }
    }
}
