//! Sessions: a client that requests pages of its server.

use super::super::World;
use std::sync::Arc;
use tailback_random::Rng;
use tailback_traffic::Pages;
use tailback_units::Time;

#[derive(Debug)]
pub(super) struct Session {
    spec: Arc<Pages>,
    rng: Rng,
    group: usize,
    stop: Time,
    channels: Vec<Channel>,
    /// Number of objects of the page that have not been requested.
    left: u32,
    /// Time of the request for the page.
    began: Time,
    /// `true` if an exchange of the page was given up.
    spoilt: bool,
}

#[derive(Debug)]
pub(super) struct Channel {
    request: u32,
    response: u32,
    /// Bytes of the response that is awaited; `None`: the channel is idle.
    awaited: Option<u64>,
    asked: Time,
    /// `true` if its connections have been used since they were opened.
    used: bool,
}

impl Session {
    /// Returns an idle session; `channels`: flows for requests and for responses.
    pub fn new(spec: Pages, rng: Rng, group: usize, stop: Time, channels: &[[u32; 2]]) -> Session {
        let channel = |[request, response]: &[u32; 2]| Channel {
            request: *request,
            response: *response,
            awaited: None,
            asked: Time::ZERO,
            used: false,
        };
        let channels = channels.iter().map(channel).collect();
        Session { spec: Arc::new(spec), rng, group, stop, channels, left: 0, began: Time::ZERO, spoilt: false }
    }

    /// Returns the flow whose event starts the first page, and its time: sessions begin with a think time.
    pub fn first(&mut self, start: Time) -> (u32, Time) {
        (self.channels[0].request, start + self.spec.think.draw(&mut self.rng))
    }

    /// Returns the bytes of the response that a channel awaits; `None`: it is idle.
    pub fn awaits(&self, channel: usize) -> Option<u64> {
        self.channels[channel].awaited
    }

    /// Returns the flow that carries the response to a request that has arrived, and the time at which it is sent.
    pub fn serves(&mut self, channel: usize, now: Time) -> (u32, Time) {
        (self.channels[channel].response, now + self.spec.service.draw(&mut self.rng))
    }
}

impl World {
    /// Begins a page of a session.
    pub(super) fn begin_page(&mut self, application: u32) {
        let (now, measured) = (self.now, self.now >= self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        session.began = now;
        session.spoilt = false;
        let spec = Arc::clone(&session.spec);
        session.left = spec.objects.as_ref().map_or(0, |count| count.draw(&mut session.rng));
        let bytes = spec.first.draw(&mut session.rng);
        let group = session.group;
        self.applications.groups[group].begun += u64::from(measured);
        self.ask(application, 0, bytes);
    }

    /// Sends a request over an idle channel, for a response of `bytes`.
    fn ask(&mut self, application: u32, channel: usize, bytes: u64) {
        let now = self.now;
        let Some(session) = self.applications.session(application) else { return };
        let spec = Arc::clone(&session.spec);
        let asked = spec.request.draw(&mut session.rng);
        let at = &mut session.channels[channel];
        at.awaited = Some(bytes);
        at.asked = now;
        let (request, response) = (at.request, at.response);
        let fresh = spec.fresh && at.used;
        at.used = true;
        if fresh {
            self.reopen(request);
            self.reopen(response);
        }
        if let Some(timeout) = spec.timeout {
            self.application_wakes(request, now + timeout, Time::NEVER);
        }
        self.application_sends(request, asked);
    }

    /// Handles a response that has arrived in full.
    pub(super) fn answered(&mut self, application: u32, channel: usize) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        let at = &session.channels[channel];
        let (request, asked, group) = (at.request, at.asked, session.group);
        if asked >= warmup {
            self.applications.groups[group].exchanges.record(now.since(asked).0);
        }
        if let Some(part) = self.applications.part(request) {
            // Cancels the timeout.
            part.due = Time::NEVER;
        }
        self.continue_page(application, channel);
    }

    /// Gives up an exchange at its timeout.
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
        self.continue_page(application, channel);
    }

    /// Continues at an idle channel: requests the page's other objects, or completes the page.
    fn continue_page(&mut self, application: u32, channel: usize) {
        let (now, warmup) = (self.now, self.plan.warmup);
        let Some(session) = self.applications.session(application) else { return };
        session.channels[channel].awaited = None;
        let idle = |session: &Session| session.channels.iter().position(|channel| channel.awaited.is_none());
        while let Some(session) = self.applications.session(application)
            && session.left > 0
            && let Some(channel) = idle(session)
        {
            session.left -= 1;
            let spec = Arc::clone(&session.spec);
            let bytes = spec.object.draw(&mut session.rng);
            self.ask(application, channel, bytes);
        }
        let Some(session) = self.applications.session(application) else { return };
        if session.channels.iter().any(|channel| channel.awaited.is_some()) {
            return;
        }
        let (began, spoilt, group, stop) = (session.began, session.spoilt, session.group, session.stop);
        let (first, think) = (session.channels[0].request, session.spec.think.draw(&mut session.rng));
        let group = &mut self.applications.groups[group];
        if !spoilt {
            group.complete(began, now, warmup);
        } else if began >= warmup {
            group.failed += 1;
        }
        self.application_wakes(first, now + think, stop);
    }
}
