//! Sessions: a client that asks its server for pages.

use super::super::World;
use std::sync::Arc;
use tailback_random::Rng;
use tailback_traffic::Pages;
use tailback_units::Time;

#[derive(Debug)]
pub(super) struct Session {
    law: Arc<Pages>,
    rng: Rng,
    group: usize,
    stop: Time,
    channels: Vec<Channel>,
    /// Objects of the page that have not been asked for.
    left: u32,
    /// When the page was asked for.
    began: Time,
    /// Whether an exchange of the page was given up.
    spoilt: bool,
}

#[derive(Debug)]
pub(super) struct Channel {
    request: u32,
    response: u32,
    /// Bytes of the response that is awaited; none is awaited when idle.
    awaited: Option<u64>,
    asked: Time,
    /// Whether its connections have been used since they were opened.
    used: bool,
}

impl Session {
    /// A user of a group, and its channels' flows for requests and for responses.
    pub fn new(law: Pages, rng: Rng, group: usize, stop: Time, channels: &[[u32; 2]]) -> Session {
        let channel = |[request, response]: &[u32; 2]| Channel {
            request: *request,
            response: *response,
            awaited: None,
            asked: Time::ZERO,
            used: false,
        };
        let channels = channels.iter().map(channel).collect();
        Session { law: Arc::new(law), rng, group, stop, channels, left: 0, began: Time::ZERO, spoilt: false }
    }

    /// The flow whose event is the first page, and when: users begin by thinking.
    pub fn first(&mut self, start: Time) -> (u32, Time) {
        (self.channels[0].request, start + self.law.think.draw(&mut self.rng))
    }

    /// Bytes of the response that a channel awaits; none when it is idle.
    pub fn awaits(&self, channel: usize) -> Option<u64> {
        self.channels[channel].awaited
    }

    /// A request has arrived over a channel: the flow that carries the response, and when it is sent.
    pub fn serves(&mut self, channel: usize, now: Time) -> (u32, Time) {
        (self.channels[channel].response, now + self.law.service.draw(&mut self.rng))
    }
}

impl World {
    /// A client asks for a page.
    pub(super) fn begin_page(&mut self, application: u32) {
        let (now, measured) = (self.now, self.now >= self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        session.began = now;
        session.spoilt = false;
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

    /// A response has arrived in full.
    pub(super) fn answered(&mut self, application: u32, channel: usize) {
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
    pub(super) fn give_up(&mut self, application: u32, channel: usize) {
        let Some(session) = self.applications.session(application) else { return };
        session.spoilt = true;
        let at = &session.channels[channel];
        for flow in [at.request, at.response] {
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
        let (began, spoilt, group, stop) = (session.began, session.spoilt, session.group, session.stop);
        let (first, think) = (session.channels[0].request, session.law.think.draw(&mut session.rng));
        let group = &mut self.applications.groups[group];
        if !spoilt {
            group.complete(began, now, warmup);
        } else if began >= warmup {
            group.failed += 1;
        }
        self.application_wakes(first, now + think, stop);
    }
}
