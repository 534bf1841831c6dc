//! Ports that something may stop send ahead while nothing does: one event per hop there too.
//!
//! ```text
//!          nothing waits, nothing stops it, its node stops nobody
//!   ┌───────────────────────────────────────────────────────────────▶┐
//!  waits in its discipline, a TxDone for each packet      waits on the line, departures known
//!   └◀───────────────────────────────────────────────────────────────┘
//!     a notification comes or goes; memory runs short at its node
//! ```
//!
//! Memory that is accounted by input is given back late: who is sent ahead holds it until somebody asks. As long as
//! a frame would not stop its input even so, the answer is the same; if it would, all is given back first.

use super::{FabricState, World};
use crate::event_queue::{Key, Kind};
use crate::port::{Origin, Port, Queue};
use crate::shared_buffer::{FlowControl, SharedBuffer};
use std::collections::VecDeque;
use tailback_qdisc::{Fate, Packet};
use tailback_units::Time;

impl World {
    /// Whether a managed port sends ahead from now on.
    #[inline(never)]
    pub(super) fn begins_early(&mut self, port: u32) -> bool {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(m) = &mut p.queue else { return false };
        let nothing_waits =
            !m.tx_pending && m.queues[0].backlog.packets == 0 && m.control.is_empty() && m.turns.is_empty();
        let may = m.may_transmit_early && nothing_waits && m.blocked_since.is_none();
        if !may || m.responder.as_mut().is_some_and(|responder| !responder.is_free(now)) {
            return false;
        }
        if let FabricState::Buffer(buffer) = &self.nodes[usize::from(p.from)].fabric
            && buffer.stops_any()
        {
            return false;
        }
        p.begin_early(now);
        true
    }

    /// A managed port that sends ahead is given a packet.
    #[inline(never)]
    pub(super) fn enqueue_early(&mut self, port: u32, packet: Packet, via: Option<u32>) {
        let now = self.now;
        let size = u32::from(packet.size);
        let slot = via.map(|via| self.slots[via as usize ^ 1]);
        let node = usize::from(self.ports[port as usize].from);
        if let Some(slot) = slot
            && let FabricState::Buffer(buffer) = &self.nodes[node].fabric
            && !buffer.stays(slot as usize, 0, u64::from(size))
            && !self.has_memory(node, slot, 0, u64::from(size))
        {
            return self.enqueue_waiting(port, packet, via);
        }
        let World { ports, nodes, event_queue, .. } = self;
        let p = &mut ports[port as usize];
        let fate = p.admit(now, &packet);
        if let Fate::Dropped(why) = fate {
            return self.lose(packet, port, why);
        }
        // What is transmitted at once gives its memory back at once.
        let waits = p.free > now;
        if let Some(at) = p.push_admitted(now, packet, fate) {
            event_queue.push(at, Key::new(Kind::Arrive, port));
        }
        if waits
            && let Some(slot) = slot
            && let FabricState::Buffer(buffer) = &mut nodes[node].fabric
        {
            hold(p, buffer, Origin { slot, size });
        }
    }

    /// Whether a frame of a class that comes by the input `slot` of a node leaves that input alone: it gets memory, and
    /// the neighbour behind is not stopped. If it does not, the node's ports send no more ahead.
    pub(super) fn has_memory(&mut self, node: usize, slot: u32, class: usize, size: u64) -> bool {
        self.settle_memory(node);
        let FabricState::Buffer(buffer) = &self.nodes[node].fabric else { return true };
        if buffer.stays(slot as usize, class, size) {
            return true;
        }
        for index in 0..self.nodes[node].ports.len() {
            self.end_early(self.nodes[node].ports[index]);
        }
        false
    }

    /// All that has been sent ahead at a node by now gives its memory back.
    fn settle_memory(&mut self, node: usize) {
        let World { ports, nodes, now, .. } = self;
        let node = &mut nodes[node];
        let FabricState::Buffer(buffer) = &mut node.fabric else { return };
        node.ports.iter().for_each(|port| give_back(*now, &mut ports[*port as usize], buffer));
    }

    /// Something stops a port or comes before what waits in it: it sends no more ahead.
    pub(super) fn end_early(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        if !matches!(&p.queue, Queue::General(m) if m.transmits_early) {
            return;
        }
        if let FabricState::Buffer(buffer) = &mut self.nodes[usize::from(p.from)].fabric {
            give_back(now, p, buffer);
        }
        p.end_early(now);
        let free = p.free;
        let Queue::General(m) = &mut p.queue else { return };
        let looks = m.queues[0].backlog.packets > 0 || m.queues[0].watches_idle;
        if looks && free > now && !m.tx_pending {
            m.tx_pending = true;
            self.schedule(free, Kind::TxDone, port);
        }
    }

    /// Connections wait for their action at a port that sends ahead: they have it when a transmission begins.
    pub(super) fn await_turns(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        let start = p.next_start();
        let Queue::General(m) = &mut p.queue else { return };
        if !m.transmits_early || m.tx_pending || m.turns.is_empty() {
            return;
        }
        let Some(start) = start else { return };
        m.tx_pending = true;
        self.schedule(start, Kind::TxDone, port);
    }
}

/// A packet that waits at a port which sends ahead holds memory. Those before it which are being transmitted, or
/// have been, give theirs back.
#[inline]
fn hold(port: &mut Port, buffer: &mut SharedBuffer, origin: Origin) {
    let waiting = port.waiting_early().packets as usize;
    let Queue::General(m) = &mut port.queue else { return };
    let action = buffer.admit(origin.slot as usize, 0, u64::from(origin.size));
    debug_assert_eq!(action, Some(FlowControl::Unchanged), "it has been asked");
    m.queues[0].origins.push_back(origin);
    release(&mut m.queues[0].origins, waiting, buffer);
}

/// What a port has sent ahead by now gives its memory back.
fn give_back(now: Time, port: &mut Port, buffer: &mut SharedBuffer) {
    let waiting = port.waiting_at(now, 0).packets as usize;
    if let Queue::General(m) = &mut port.queue
        && m.transmits_early
    {
        release(&mut m.queues[0].origins, waiting, buffer);
    }
}

/// Releases what all but the last `waiting` packets hold.
#[inline]
fn release(held: &mut VecDeque<Origin>, waiting: usize, buffer: &mut SharedBuffer) {
    while held.len() > waiting {
        let Some(origin) = held.pop_front() else { break };
        let action = buffer.release(origin.slot as usize, 0, u64::from(origin.size));
        debug_assert_eq!(action, FlowControl::Unchanged, "while its node stops anybody no port sends ahead");
    }
}
