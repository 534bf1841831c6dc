//! Applications: clients that go on when an answer has arrived, and transfers on fresh connections.
//!
//! A *session* is a client and its server. Each of its channels is a pair of flows, one for requests
//! and one for responses. A page is one request and response, and those of its objects, over the
//! channels that are idle; a page of request-response is its first exchange.
//!
//! ```text
//! think ─▶ ask ─request arrives─▶ serve ─service─▶ answer ─response arrives─▶ ask again, or think
//!            └────────timeout: the exchange is given up────────────────────────────▲
//! ```
//!
//! What wakes an application is the event by which a source emits ([`Kind::Emit`]) of one of its flows,
//! or the arrival of the last byte that it has sent over one.

use super::World;
use crate::agenda::Kind;
use crate::plan::{ApplicationPlan, Plan};
use std::collections::BTreeMap;
use std::sync::Arc;
use tailback_measure::Sketch;
use tailback_random::Rng;
use tailback_traffic::{Application, Pages};
use tailback_units::{Dur, Time};

/// All applications.
#[derive(Debug, Default)]
pub(crate) struct Applications {
    all: Vec<State>,
    /// By flow, where there is any application: its part in one.
    parts: Vec<Option<Part>>,
    groups: Vec<Group>,
}

/// A group's results, of what began after the warm-up.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub name: String,
    /// Pages or transfers begun.
    pub begun: u64,
    /// Exchanges given up.
    pub failed: u64,
    /// Transfers refused, since no connection was free.
    pub refused: u64,
    /// Times of whole pages, or of transfers, picoseconds.
    pub times: Sketch,
    /// Times of single exchanges, picoseconds; of sessions only.
    pub exchanges: Sketch,
    /// Times of transfers per that on an idle path, millionths.
    pub slowdowns: Sketch,
}

/// A flow's part in an application.
#[derive(Debug)]
struct Part {
    application: u32,
    channel: u32,
    /// Whether it carries responses.
    response: bool,
    /// When its event is due; one at another time is stale.
    due: Time,
    /// Without a transport: the first packet of what was sent last, and how many it has and lack.
    first: u32,
    packets: u32,
    missing: u32,
}

#[derive(Debug)]
enum State {
    Session(Session),
    Transfers(Transfers),
}

#[derive(Debug)]
struct Session {
    law: Arc<Pages>,
    rng: Rng,
    group: usize,
    stop: Time,
    channels: Vec<Channel>,
    /// Objects of the page that have not been asked for.
    left: u32,
    /// When the page was asked for.
    began: Time,
}

#[derive(Debug)]
struct Channel {
    request: u32,
    response: u32,
    /// Bytes of the response that is awaited; none is awaited when idle.
    awaited: Option<u64>,
    asked: Time,
    /// Whether its connections have been used since they were opened.
    used: bool,
}

#[derive(Debug)]
struct Transfers {
    law: Arc<tailback_traffic::Transfers>,
    rng: Rng,
    group: usize,
    stop: Time,
    /// The group's first flow, whose event is the next arrival.
    clock: u32,
    free: Vec<u32>,
    /// By place among the group's flows: the transfer on it, when it began and its bytes.
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    flow: u32,
    began: Time,
    bytes: u64,
    used: bool,
}

impl Applications {
    pub fn new(plan: &Plan) -> Applications {
        let mut made = Applications::default();
        if plan.applications.is_empty() {
            return made;
        }
        made.parts.resize_with(plan.flows.len(), || None);
        let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, application) in plan.applications.iter().enumerate() {
            let first = &plan.flows[application.first() as usize];
            let group = *groups.entry(&first.group).or_insert_with(|| {
                made.groups.push(Group { name: first.group.clone(), ..Group::default() });
                made.groups.len() - 1
            });
            let rng = Rng::named(plan.seed, &format!("application {}", first.name));
            let mut part = |flow: u32, channel: usize, response| {
                let idle = Part {
                    application: index as u32,
                    channel: channel as u32,
                    response,
                    due: Time::NEVER,
                    first: 0,
                    packets: 0,
                    missing: 0,
                };
                assert!(made.parts[flow as usize].replace(idle).is_none(), "a flow is part of one application");
            };
            let law: &Application = application.law();
            made.all.push(match (application, law) {
                (ApplicationPlan::Session { channels, .. }, law) => {
                    for (channel, [request, response]) in channels.iter().enumerate() {
                        part(*request, channel, false);
                        part(*response, channel, true);
                    }
                    let channel = |[request, response]: &[u32; 2]| Channel {
                        request: *request,
                        response: *response,
                        awaited: None,
                        asked: Time::ZERO,
                        used: false,
                    };
                    State::Session(Session {
                        law: Arc::new(law.pages().expect("a session is of pages")),
                        rng,
                        group,
                        stop: first.stop,
                        channels: channels.iter().map(channel).collect(),
                        left: 0,
                        began: Time::ZERO,
                    })
                }
                (ApplicationPlan::Transfers { flows, .. }, Application::Transfers(law)) => {
                    flows.iter().enumerate().for_each(|(slot, flow)| part(*flow, slot, false));
                    let slot = |flow: &u32| Slot { flow: *flow, began: Time::ZERO, bytes: 0, used: false };
                    State::Transfers(Transfers {
                        law: Arc::new(law.clone()),
                        rng,
                        group,
                        stop: first.stop,
                        clock: flows[0],
                        free: (0..flows.len() as u32).collect(),
                        slots: flows.iter().map(slot).collect(),
                    })
                }
                (ApplicationPlan::Transfers { .. }, other) => panic!("{} is no law of transfers", other.kind()),
            });
        }
        made
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a flow is part of an application.
    #[inline]
    pub fn has(&self, flow: u32) -> bool {
        self.parts.get(flow as usize).is_some_and(Option::is_some)
    }

    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn part(&mut self, flow: u32) -> Option<&mut Part> {
        self.parts.get_mut(flow as usize)?.as_mut()
    }

    fn session(&mut self, application: u32) -> Option<&mut Session> {
        match &mut self.all[application as usize] {
            State::Session(session) => Some(session),
            State::Transfers(_) => None,
        }
    }
}

impl World {
    /// Schedules the first page or transfer of each application.
    pub(super) fn start_applications(&mut self) {
        for application in 0..self.applications.all.len() as u32 {
            let start = self.plan.flows[self.plan.applications[application as usize].first() as usize].start;
            let (flow, at) = match &mut self.applications.all[application as usize] {
                State::Session(s) => (s.channels[0].request, start + s.law.think.draw(&mut s.rng)),
                State::Transfers(t) => (t.clock, start + t.law.gap(&mut t.rng)),
            };
            self.application_wakes(flow, at, self.plan.flows[flow as usize].stop);
        }
    }

    /// Has a flow's part woken at an instant before `stop`.
    fn application_wakes(&mut self, flow: u32, at: Time, stop: Time) {
        let Some(part) = self.applications.part(flow) else { return };
        if at >= stop || at == Time::NEVER {
            part.due = Time::NEVER;
            return;
        }
        part.due = at;
        self.schedule(at, Kind::Emit, flow);
    }

    /// A flow's part in an application may be due.
    pub(super) fn application_due(&mut self, flow: u32) {
        let now = self.now;
        let Some(part) = self.applications.part(flow).filter(|part| part.due == now) else { return };
        part.due = Time::NEVER;
        let (application, channel, response) = (part.application, part.channel as usize, part.response);
        match &self.applications.all[application as usize] {
            State::Transfers(_) => self.transfer(application),
            State::Session(session) => match session.channels[channel].awaited {
                Some(bytes) if response => self.application_sends(flow, bytes),
                Some(_) => self.give_up(application, channel),
                None if response => {}
                None => self.begin_page(application),
            },
        }
    }

    /// A client asks for a page.
    fn begin_page(&mut self, application: u32) {
        let (now, measured) = (self.now, self.now >= self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        session.began = now;
        let law = Arc::clone(&session.law);
        session.left = law.objects.as_ref().map_or(0, |count| count.draw(&mut session.rng));
        let bytes = law.first.draw(&mut session.rng);
        let group = session.group;
        self.applications.groups[group].begun += u64::from(measured);
        self.ask(application, 0, bytes);
    }

    /// A client sends a request over an idle channel, for a response of `bytes`.
    fn ask(&mut self, application: u32, channel: usize, bytes: u64) {
        let now = self.now;
        let Some(session) = self.applications.session(application) else { return };
        let law = Arc::clone(&session.law);
        let asked = law.request.draw(&mut session.rng);
        let at = &mut session.channels[channel];
        at.awaited = Some(bytes);
        at.asked = now;
        let (request, response) = (at.request, at.response);
        let fresh = law.fresh && at.used;
        at.used = true;
        if fresh {
            self.reopen(request);
            self.reopen(response);
        }
        if let Some(timeout) = law.timeout {
            self.application_wakes(request, now + timeout, Time::NEVER);
        }
        self.application_sends(request, asked);
    }

    /// Sends over a flow, by its transport or in packets.
    fn application_sends(&mut self, flow: u32, bytes: u64) {
        if let Some(connection) = self.transports.of(flow) {
            return self.write(connection, bytes);
        }
        let (first, packets) = self.next_packets(flow, bytes);
        if let Some(part) = self.applications.part(flow) {
            (part.first, part.packets, part.missing) = (first, packets, packets);
        }
        self.send_packets(flow, bytes);
    }

    /// A packet of a flow without a transport has arrived.
    pub(super) fn application_packet(&mut self, flow: u32, seq: u32) {
        let Some(part) = self.applications.part(flow) else { return };
        if seq.wrapping_sub(part.first) >= part.packets || part.missing == 0 {
            return;
        }
        part.missing -= 1;
        if part.missing == 0 {
            self.application_arrived(flow);
        }
    }

    /// All that was sent over a flow has arrived.
    pub(super) fn application_arrived(&mut self, flow: u32) {
        let now = self.now;
        let Some(part) = self.applications.part(flow) else { return };
        let (application, channel, response) = (part.application, part.channel as usize, part.response);
        let session = match &mut self.applications.all[application as usize] {
            State::Transfers(_) => return self.transferred(application, channel),
            State::Session(session) => session,
        };
        if session.channels[channel].awaited.is_none() {
            return;
        }
        if response {
            return self.answered(application, channel);
        }
        let (answers, service) = (session.channels[channel].response, session.law.service.draw(&mut session.rng));
        self.application_wakes(answers, now + service, Time::NEVER);
    }

    /// A response has arrived in full.
    fn answered(&mut self, application: u32, channel: usize) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        let at = &session.channels[channel];
        let (request, asked, group) = (at.request, at.asked, session.group);
        if asked >= warmup {
            self.applications.groups[group].exchanges.record(now.since(asked).0);
        }
        if let Some(part) = self.applications.part(request) {
            // It is not given up any more.
            part.due = Time::NEVER;
        }
        self.go_on(application, channel);
    }

    /// A client gives up an exchange, and what belongs to it.
    fn give_up(&mut self, application: u32, channel: usize) {
        let warmup = self.plan.warmup;
        let Some(session) = self.applications.session(application) else { return };
        let at = &session.channels[channel];
        let (flows, asked, group) = ([at.request, at.response], at.asked, session.group);
        self.applications.groups[group].failed += u64::from(asked >= warmup);
        for flow in flows {
            if let Some(part) = self.applications.part(flow) {
                part.due = Time::NEVER;
                part.missing = 0;
            }
            self.reopen(flow);
        }
        self.go_on(application, channel);
    }

    /// A channel falls idle: the page's other objects are asked for, or the page is complete.
    fn go_on(&mut self, application: u32, channel: usize) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        session.channels[channel].awaited = None;
        let idle = |session: &Session| session.channels.iter().position(|channel| channel.awaited.is_none());
        while let Some(session) = self.applications.session(application)
            && session.left > 0
            && let Some(channel) = idle(session)
        {
            session.left -= 1;
            let law = Arc::clone(&session.law);
            let bytes = law.object.draw(&mut session.rng);
            self.ask(application, channel, bytes);
        }
        let Some(session) = self.applications.session(application) else { return };
        if session.channels.iter().any(|channel| channel.awaited.is_some()) {
            return;
        }
        let (began, group, stop) = (session.began, session.group, session.stop);
        let (first, think) = (session.channels[0].request, session.law.think.draw(&mut session.rng));
        if began >= warmup {
            self.applications.groups[group].times.record(now.since(began).0);
        }
        self.application_wakes(first, now + think, stop);
    }

    /// A transfer begins, on a free connection if there is one.
    fn transfer(&mut self, application: u32) {
        let (now, measured) = (self.now, self.now >= self.plan.warmup);
        let State::Transfers(transfers) = &mut self.applications.all[application as usize] else { return };
        let next = now + transfers.law.gap(&mut transfers.rng);
        let (clock, stop, group) = (transfers.clock, transfers.stop, transfers.group);
        let bytes = transfers.law.size.draw(&mut transfers.rng);
        self.applications.groups[group].begun += u64::from(measured);
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

    /// A transfer has arrived in full.
    fn transferred(&mut self, application: u32, slot: usize) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let State::Transfers(transfers) = &self.applications.all[application as usize] else { return };
        let (Slot { flow, began, bytes, .. }, group) = (&transfers.slots[slot], transfers.group);
        let (flow, began, bytes) = (*flow, *began, *bytes);
        if began >= warmup {
            let took = now.since(began).0;
            let slowdown = u128::from(took) * 1_000_000 / u128::from(self.idle_time(flow, bytes).0.max(1));
            let group = &mut self.applications.groups[group];
            group.times.record(took);
            group.slowdowns.record(u64::try_from(slowdown).unwrap_or(u64::MAX));
        }
    }

    /// All that a connection has sent is acknowledged: if it was a transfer, the connection is free.
    pub(super) fn application_acknowledged(&mut self, flow: u32) {
        let Some(part) = self.applications.part(flow) else { return };
        let (application, slot) = (part.application, part.channel);
        let State::Transfers(transfers) = &mut self.applications.all[application as usize] else { return };
        let place = &mut transfers.slots[slot as usize];
        if place.bytes > 0 {
            place.bytes = 0;
            transfers.free.push(slot);
        }
    }

    /// Time that a transfer's segments would take over an idle path if all were sent at once.
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
                port = self.route(at, plan.to);
            }
        }
        Dur(u64::try_from(time + ps(before, slowest)).unwrap_or(u64::MAX))
    }
}
