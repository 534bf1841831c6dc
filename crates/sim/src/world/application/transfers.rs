//! Transfers that arrive at random, each on a fresh connection.

use super::super::World;
use super::State;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

#[derive(Debug)]
pub(super) struct Transfers {
    spec: tailback_traffic::Transfers,
    rng: Rng,
    group: usize,
    stop: Time,
    /// First flow of the group, whose event is the next arrival of a transfer.
    clock: u32,
    free: Vec<u32>,
    /// Transfers by index among the group's flows.
    slots: Vec<Slot>,
}

#[derive(Debug)]
pub(super) struct Slot {
    flow: u32,
    began: Time,
    bytes: u64,
    used: bool,
}

impl Transfers {
    /// Returns a group without a transfer under way; `flows` carry its transfers.
    pub fn new(spec: tailback_traffic::Transfers, rng: Rng, group: usize, stop: Time, flows: &[u32]) -> Transfers {
        let slot = |flow: &u32| Slot { flow: *flow, began: Time::ZERO, bytes: 0, used: false };
        Transfers {
            spec,
            rng,
            group,
            stop,
            clock: flows[0],
            free: (0..flows.len() as u32).collect(),
            slots: flows.iter().map(slot).collect(),
        }
    }

    /// Returns the flow whose event starts the first transfer, and its time.
    pub fn first(&mut self, start: Time) -> (u32, Time) {
        (self.clock, start + self.spec.gap(&mut self.rng))
    }
}

impl World {
    /// Starts a transfer on a free connection; without one it is refused.
    pub(super) fn transfer(&mut self, application: u32) {
        let (now, measured) = (self.now, self.now >= self.plan.warmup);
        let State::Transfers(transfers) = &mut self.applications.all[application as usize] else { return };
        let next = now + transfers.spec.gap(&mut transfers.rng);
        let (clock, stop, group) = (transfers.clock, transfers.stop, transfers.group);
        let bytes = transfers.spec.size.draw(&mut transfers.rng);
        let counted = &mut self.applications.groups[group];
        counted.begun += u64::from(measured);
        counted.bin(bytes).begun += u64::from(measured);
        if transfers.free.is_empty() {
            self.applications.groups[group].refused += u64::from(measured);
        } else {
            let chosen = transfers.rng.below(transfers.free.len() as u64) as usize;
            let slot = &mut transfers.slots[transfers.free.swap_remove(chosen) as usize];
            let (flow, used) = (slot.flow, slot.used);
            (slot.began, slot.bytes, slot.used) = (now, bytes, true);
            if used {
                self.reopen(flow);
            }
            self.application_sends(flow, bytes);
        }
        self.application_wakes(clock, next, stop);
    }

    /// Records a transfer that has arrived in full.
    pub(super) fn transferred(&mut self, application: u32, slot: usize) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let State::Transfers(transfers) = &self.applications.all[application as usize] else { return };
        let (Slot { flow, began, bytes, .. }, group) = (&transfers.slots[slot], transfers.group);
        let (flow, began, bytes) = (*flow, *began, *bytes);
        self.applications.groups[group].complete(began, now, warmup);
        if began >= warmup {
            let took = now.since(began).0;
            let slowdown = u128::from(took) * 1_000_000 / u128::from(self.idle_time(flow, bytes).0.max(1));
            let slowdown = u64::try_from(slowdown).unwrap_or(u64::MAX);
            let group = &mut self.applications.groups[group];
            group.slowdowns.record(slowdown);
            group.bin(bytes).slowdowns.record(slowdown);
        }
    }

    /// Frees a connection when all bytes of its transfer are acknowledged.
    pub(in super::super) fn application_acknowledged(&mut self, flow: u32) {
        let Some(part) = self.applications.part(flow) else { return };
        let (application, slot) = (part.application, part.channel);
        let State::Transfers(transfers) = &mut self.applications.all[application as usize] else { return };
        let place = &mut transfers.slots[slot as usize];
        if place.bytes > 0 {
            place.bytes = 0;
            transfers.free.push(slot);
        }
    }

    /// Returns the time that a transfer's segments would take over an idle path if all were sent at once.
    fn idle_time(&self, flow: u32, bytes: u64) -> Dur {
        let plan = &self.plan.flows[flow as usize];
        let (most, header) = plan
            .transport
            .as_ref()
            .map_or((u64::from(self.plan.framing.mtu), 0), |tcp| (tcp.segment.0, tcp.header.0 as u32));
        let segments = bytes.div_ceil(most).max(1);
        let wire = |payload: u64| u64::from(self.plan.framing.lengths(payload as u32 + header).1);
        let last = wire(bytes - (segments - 1) * most);
        let before = (segments - 1) * wire(most);
        let (mut time, mut slowest, mut at) = (0u128, u64::MAX, plan.from);
        let ps = |bytes: u64, rate: u64| u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.max(1));
        let mut port = self.flow_port(flow);
        while at != plan.to {
            let p = &self.ports[port as usize];
            time += u128::from(p.delay.0) + ps(last, p.rate.0);
            slowest = slowest.min(p.rate.0);
            at = p.to;
            if at != plan.to {
                port = self.routes.port(at, plan.to, flow, 0);
            }
        }
        Dur(u64::try_from(time + ps(before, slowest)).unwrap_or(u64::MAX))
    }
}
