//! Early transmission at ports of the general form: one event per hop while nothing stops the port.
//!
//! ```text
//!          queue empty, nothing stops the port, its node stops no neighbour
//!   ┌────────────────────────────────────────────────────────────────────▶┐
//!  in the discipline's queue, a TxDone per packet        on the link, departures known
//!   └◀────────────────────────────────────────────────────────────────────┘
//!     a notification arrives or is sent; memory runs short at the node
//! ```
//!
//! Memory accounted by input is released late: a packet transmitted early keeps its memory after the start of its
//! transmission, until the memory is next queried. If a new frame is admitted without a stop even with this memory
//! still counted, it would be so with exact accounting too. Otherwise all such memory is released first.

use super::{FabricState, World};
use crate::event_queue::{Key, Kind};
use crate::port::{Origin, Port, Queue};
use crate::shared_buffer::{FlowControl, SharedBuffer};
use std::collections::VecDeque;
use tailback_qdisc::{Fate, Packet};
use tailback_units::Time;

/// Path of a packet into a port of the general form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WayIn {
    /// The packet is put onto the link at once.
    Early,
    /// The packet waits in the discipline's queue.
    Waiting,
    /// As `Waiting`, and the packet is observed ([`General::observed`](crate::port::General::observed)).
    Observed,
}

impl World {
    /// Returns the path of a packet into a general port that does not transmit early now. If early transmission is
    /// permitted, no packet waits and nothing stops the port, early transmission begins.
    #[inline(never)]
    pub(super) fn way_in(&mut self, port: u32) -> WayIn {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        let Queue::General(general) = &mut p.queue else { return WayIn::Waiting };
        if !general.may_transmit_early {
            return if general.observed { WayIn::Observed } else { WayIn::Waiting };
        }
        let nothing_waits = !general.tx_pending
            && general.queues[0].backlog.packets == 0
            && general.control.is_empty()
            && general.turns.is_empty();
        let is_idle = nothing_waits && general.blocked_since.is_none();
        if !is_idle || general.responder.as_mut().is_some_and(|responder| !responder.is_free(now)) {
            return WayIn::Waiting;
        }
        if let FabricState::Buffer(buffer) = &self.nodes[usize::from(p.from)].fabric
            && buffer.stops_any()
        {
            return WayIn::Waiting;
        }
        p.begin_early(now);
        WayIn::Early
    }

    /// Enqueues a packet at a general port that transmits early.
    #[inline(never)]
    pub(super) fn enqueue_early(&mut self, port: u32, packet: Packet, via: Option<u32>) {
        let World { now, ports, slots, nodes, event_queue, .. } = self;
        let (now, p) = (*now, &mut ports[port as usize]);
        let memory = via.and_then(|via| match &mut nodes[usize::from(p.from)].fabric {
            FabricState::Buffer(buffer) => {
                Some((&mut **buffer, Origin { slot: slots[via as usize ^ 1], size: u32::from(packet.size) }))
            }
            _ => None,
        });
        if let Some((buffer, Origin { slot, size })) = &memory
            && !buffer.admits_without_stop(*slot as usize, 0, u64::from(*size))
        {
            let (node, slot) = (usize::from(p.from), *slot);
            return self.enqueue_short(port, packet, via, node, slot);
        }
        let fate = p.admit(now, &packet);
        if let Fate::Dropped(why) = fate {
            return self.lose(packet, port, why);
        }
        // A packet whose transmission starts at once holds no memory.
        let waits = p.free > now;
        if let Some(at) = p.push_admitted(now, packet, fate) {
            event_queue.push(at, Key::new(Kind::Arrive, port));
        }
        if waits && let Some((buffer, origin)) = memory {
            hold(p, buffer, origin);
        }
    }

    /// Enqueues a packet from the input `slot` of `node` at a port that transmits early, if the packet would be admitted
    /// without a stop only after the memory of packets whose transmission has begun has been released, or not at all.
    #[inline(never)]
    fn enqueue_short(&mut self, port: u32, packet: Packet, via: Option<u32>, node: usize, slot: u32) {
        if self.has_memory(node, slot, 0, u64::from(packet.size)) {
            self.enqueue_early(port, packet, via);
        } else {
            self.enqueue_waiting::<false>(port, packet, via);
        }
    }

    /// Returns `true` if a frame of a class from the input `slot` of a node is admitted to the memory without a stop of
    /// the neighbour behind that input. Otherwise ends early transmission at the node's ports.
    pub(super) fn has_memory(&mut self, node: usize, slot: u32, class: usize, size: u64) -> bool {
        self.settle_memory(node);
        let FabricState::Buffer(buffer) = &self.nodes[node].fabric else { return true };
        if buffer.admits_without_stop(slot as usize, class, size) {
            return true;
        }
        for index in 0..self.nodes[node].ports.len() {
            self.end_early(self.nodes[node].ports[index]);
        }
        false
    }

    /// Releases the memory of all packets at a node whose transmission has begun.
    fn settle_memory(&mut self, node: usize) {
        let World { ports, nodes, now, .. } = self;
        let node = &mut nodes[node];
        let FabricState::Buffer(buffer) = &mut node.fabric else { return };
        node.ports.iter().for_each(|port| give_back(*now, &mut ports[*port as usize], buffer));
    }

    /// Ends early transmission at a port that is stopped or has a control frame to send.
    pub(super) fn end_early(&mut self, port: u32) {
        let now = self.now;
        let p = &mut self.ports[port as usize];
        if !matches!(&p.queue, Queue::General(general) if general.transmits_early) {
            return;
        }
        if let FabricState::Buffer(buffer) = &mut self.nodes[usize::from(p.from)].fabric {
            give_back(now, p, buffer);
        }
        p.end_early(now);
        let free = p.free;
        let Queue::General(general) = &mut p.queue else { return };
        let needs_tx_done = general.queues[0].backlog.packets > 0 || general.queues[0].watches_idle;
        if needs_tx_done && free > now && !general.tx_pending {
            general.tx_pending = true;
            self.schedule(free, Kind::TxDone, port);
        }
    }

    /// Schedules the turns of connections that wait at a port which transmits early, at the next start of a
    /// transmission.
    pub(super) fn schedule_turns(&mut self, port: u32) {
        let p = &mut self.ports[port as usize];
        let start = p.next_start();
        let Queue::General(general) = &mut p.queue else { return };
        if !general.transmits_early || general.tx_pending || general.turns.is_empty() {
            return;
        }
        let Some(start) = start else { return };
        general.tx_pending = true;
        self.schedule(start, Kind::TxDone, port);
    }
}

/// Allocates memory for a packet that waits at a port which transmits early, and releases the memory of packets whose
/// transmission has begun.
#[inline]
fn hold(port: &mut Port, buffer: &mut SharedBuffer, origin: Origin) {
    let waiting = port.waiting_early().packets as usize;
    let Queue::General(general) = &mut port.queue else { return };
    let action = buffer.admit(origin.slot as usize, 0, u64::from(origin.size));
    debug_assert_eq!(action, Some(FlowControl::Unchanged), "`admits_without_stop` was checked before");
    general.queues[0].origins.push_back(origin);
    release(&mut general.queues[0].origins, waiting, buffer);
}

/// Releases the memory of packets whose transmission has begun at a port that transmits early.
fn give_back(now: Time, port: &mut Port, buffer: &mut SharedBuffer) {
    let waiting = port.waiting_at(now, 0).packets as usize;
    if let Queue::General(general) = &mut port.queue
        && general.transmits_early
    {
        release(&mut general.queues[0].origins, waiting, buffer);
    }
}

/// Releases the memory of all but the last `waiting` packets.
#[inline]
fn release(held: &mut VecDeque<Origin>, waiting: usize, buffer: &mut SharedBuffer) {
    while held.len() > waiting {
        let Some(origin) = held.pop_front() else { break };
        let action = buffer.release(origin.slot as usize, 0, u64::from(origin.size));
        debug_assert_eq!(action, FlowControl::Unchanged, "no port transmits early while its node stops a neighbour");
    }
}
