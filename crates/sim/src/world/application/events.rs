//! Events of applications in the world.

use super::session::Session;
use super::state::State;
use super::transfers::Slot;
use crate::event_queue::Kind;
use crate::world::World;
use crate::world::connections::Write;
use std::sync::Arc;
use tailback_units::{Dur, Time};

impl World {
    /// Schedules the first page or transfer of each application.
    pub(in crate::world) fn start_applications(&mut self) {
        for application in 0..self.applications.all.len() as u32 {
            let first = &self.plan.flows[self.plan.applications[application as usize].first() as usize];
            let (start, from) = (first.start, first.from);
            if !self.owns(from) {
                continue;
            }
            let (flow, at) = match &mut self.applications.all[application as usize] {
                State::Session(session) => session.first(start),
                State::Transfers(transfers) => transfers.first(start),
            };
            self.application_wakes(flow, at, self.plan.flows[flow as usize].stop);
        }
    }

    /// Schedules the next event of an application's flow at `at`, if that is before `stop`; otherwise the flow has no
    /// pending event.
    fn application_wakes(&mut self, flow: u32, at: Time, stop: Time) {
        let Some(part) = self.applications.part(flow) else { return };
        if at >= stop || at == Time::NEVER {
            part.due = Time::NEVER;
            return;
        }
        part.due = at;
        self.schedule(at, Kind::Emit, flow);
    }

    /// Handles an event of an application's flow; ignores a stale event.
    pub(in crate::world) fn application_due(&mut self, flow: u32) {
        let now = self.now;
        let Some(part) = self.applications.part(flow).filter(|part| part.due == now) else { return };
        part.due = Time::NEVER;
        let (application, channel, response) = (part.application, part.channel as usize, part.response);
        match &self.applications.all[application as usize] {
            State::Transfers(_) => self.transfer(application),
            State::Session(session) => match session.awaits(channel) {
                Some(bytes) if response => self.application_sends(flow, bytes),
                Some(_) => self.abandon(application, channel),
                None if response => {}
                None => self.begin_page(application),
            },
        }
    }

    /// Sends bytes over a flow: over its transport, or as packets if it has none.
    fn application_sends(&mut self, flow: u32, bytes: u64) {
        if let Some(connection) = self.transports.of(flow) {
            return self.write(connection, bytes);
        }
        let (first, packets) = self.next_packets(flow, bytes);
        let number = self.note_message(flow, bytes);
        if let Some(part) = self.applications.part(flow) {
            (part.first, part.packets, part.missing) = (first, packets, packets);
            (part.number, part.bytes) = (number, bytes);
        }
        self.send_packets(flow, bytes);
    }

    /// Counts the arrival of a packet of a flow without a transport.
    pub(in crate::world) fn application_packet(&mut self, flow: u32, seq: u32) {
        let Some(part) = self.applications.part(flow) else { return };
        if seq.wrapping_sub(part.first) >= part.packets || part.missing == 0 {
            return;
        }
        part.missing -= 1;
        if part.missing == 0 {
            let (number, bytes) = (part.number, part.bytes);
            if number != Write::UNRECORDED {
                self.note_completion(flow, number, bytes);
            }
            self.application_arrived(flow);
        }
    }

    /// Continues the application of a flow when all bytes sent over the flow have arrived.
    pub(in crate::world) fn application_arrived(&mut self, flow: u32) {
        let now = self.now;
        let Some(part) = self.applications.part(flow) else { return };
        let (application, channel, response) = (part.application, part.channel as usize, part.response);
        let session = match &mut self.applications.all[application as usize] {
            State::Transfers(_) => return self.transferred(application, channel),
            State::Session(session) => session,
        };
        if session.awaits(channel).is_none() {
            return;
        }
        if response {
            return self.answered(application, channel);
        }
        let (response_flow, at) = session.serves(channel, now);
        self.application_wakes(response_flow, at, Time::NEVER);
    }
}

/// Sessions.
impl World {
    /// Begins a page of a session.
    pub(in crate::world) fn begin_page(&mut self, application: u32) {
        let (now, measured) = (self.now, self.now >= self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        session.began = now;
        session.failed = false;
        let spec = Arc::clone(&session.spec);
        session.remaining = spec.objects.as_ref().map_or(0, |count| count.draw(&mut session.rng));
        let bytes = spec.first.draw(&mut session.rng);
        let group = session.group;
        self.applications.groups[group].begun += u64::from(measured);
        self.request(application, 0, bytes);
    }

    /// Sends a request over an idle channel; its response will have `bytes` bytes.
    fn request(&mut self, application: u32, channel: usize, bytes: u64) {
        let now = self.now;
        let Some(session) = self.applications.session(application) else { return };
        let spec = Arc::clone(&session.spec);
        let request_bytes = spec.request.draw(&mut session.rng);
        let channel = &mut session.channels[channel];
        channel.awaited = Some(bytes);
        channel.requested_at = now;
        let (request, response) = (channel.request, channel.response);
        let reopens = spec.fresh && channel.used;
        channel.used = true;
        if reopens {
            self.reopen(request);
            self.reopen(response);
        }
        if let Some(timeout) = spec.timeout {
            self.application_wakes(request, now + timeout, Time::NEVER);
        }
        self.application_sends(request, request_bytes);
    }

    /// Handles a response that has arrived in full.
    pub(in crate::world) fn answered(&mut self, application: u32, channel: usize) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        let (request, group) = (session.channels[channel].request, session.group);
        let requested_at = session.channels[channel].requested_at;
        if requested_at >= warmup {
            self.applications.groups[group].exchanges.record(now.since(requested_at).0);
        }
        if let Some(part) = self.applications.part(request) {
            // Cancels the timeout.
            part.due = Time::NEVER;
        }
        self.continue_page(application, channel);
    }

    /// Abandons an exchange at its timeout.
    pub(in crate::world) fn abandon(&mut self, application: u32, channel: usize) {
        let Some(session) = self.applications.session(application) else { return };
        session.failed = true;
        for flow in [session.channels[channel].request, session.channels[channel].response] {
            if let Some(part) = self.applications.part(flow) {
                part.due = Time::NEVER;
                part.missing = 0;
            }
            self.reopen(flow);
        }
        self.continue_page(application, channel);
    }

    /// Continues the page after the exchange on `channel` has ended: requests further objects over idle channels, or
    /// ends the page if no object remains and no channel waits for a response. A page with an abandoned exchange counts
    /// as failed.
    fn continue_page(&mut self, application: u32, channel: usize) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        session.channels[channel].awaited = None;
        let idle = |session: &Session| session.channels.iter().position(|channel| channel.awaited.is_none());
        while let Some(session) = self.applications.session(application)
            && session.remaining > 0
            && let Some(channel) = idle(session)
        {
            session.remaining -= 1;
            let spec = Arc::clone(&session.spec);
            let bytes = spec.object.draw(&mut session.rng);
            self.request(application, channel, bytes);
        }
        let Some(session) = self.applications.session(application) else { return };
        if session.channels.iter().any(|channel| channel.awaited.is_some()) {
            return;
        }
        let (began, failed, group, stop) = (session.began, session.failed, session.group, session.stop);
        let (first, think) = (session.channels[0].request, session.spec.think.draw(&mut session.rng));
        let group = &mut self.applications.groups[group];
        if !failed {
            group.complete(began, now, warmup);
        } else if began >= warmup {
            group.failed += 1;
        }
        self.application_wakes(first, now + think, stop);
    }
}

/// Transfers.
impl World {
    /// Starts a transfer on a free connection; the transfer is refused if no connection is free.
    pub(in crate::world) fn transfer(&mut self, application: u32) {
        let (now, measured) = (self.now, self.now >= self.plan.warmup);
        let State::Transfers(transfers) = &mut self.applications.all[application as usize] else { return };
        let next = now + transfers.spec.gap(&mut transfers.rng);
        let (clock, stop, group) = (transfers.clock, transfers.stop, transfers.group);
        let bytes = transfers.spec.size.draw(&mut transfers.rng);
        let results = &mut self.applications.groups[group];
        results.begun += u64::from(measured);
        results.bin(bytes).begun += u64::from(measured);
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

    /// Records a transfer whose bytes have all arrived.
    pub(in crate::world) fn transferred(&mut self, application: u32, slot: usize) {
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
    pub(in crate::world) fn application_acknowledged(&mut self, flow: u32) {
        let Some(part) = self.applications.part(flow) else { return };
        let (application, slot) = (part.application, part.channel);
        let State::Transfers(transfers) = &mut self.applications.all[application as usize] else { return };
        let state = &mut transfers.slots[slot as usize];
        if state.bytes > 0 {
            state.bytes = 0;
            transfers.free.push(slot);
        }
    }

    /// Returns the time that the segments of a transfer of `bytes` would take over the flow's idle path if all were
    /// sent at once: propagation and transmission of the last segment at each hop, plus the transmission of the
    /// segments before it at the slowest link.
    pub(in crate::world) fn idle_time(&self, flow: u32, bytes: u64) -> Dur {
        let plan = &self.plan.flows[flow as usize];
        let (segment, header) = plan
            .transport
            .as_ref()
            .map_or((u64::from(self.plan.framing.mtu), 0), |tcp| (tcp.segment.0, tcp.header.0 as u32));
        let segments = bytes.div_ceil(segment).max(1);
        let wire = |payload: u64| {
            let (_, wire) = self.plan.framing.lengths(payload as u32 + header);
            u64::from(wire)
        };
        let last = wire(bytes - (segments - 1) * segment);
        let before = (segments - 1) * wire(segment);
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
