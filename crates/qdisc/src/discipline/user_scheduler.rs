//! Queues under a scheduler that the user has written.

use super::classes::{Classes, Part};
use super::levels::{DEFAULT_FIXED, Level, Levels};
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::{Signals, Threshold};
use crate::{Cx, Gate, Packet, Qdisc, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Rate, Time};
use tailback_user::{
    Code, Factories, Faults, Install, Installed, QueueState, SchedulerCall, SchedulerEvent, SchedulerLaw,
};

/// Scheduler that the user has written, over queues with limits and disciplines of their own: at each transmission it
/// chooses the queue that sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// The scheduler: a class in Python derived from `tailback.Scheduler`, or one in a compiled language.
    #[schemars(extend("x-fixed" = Code::FIXED))]
    pub scheduler: Code,
    /// Queues, at most 250; the scheduler knows them by their place in the list, 0 for the first.
    pub queues: Vec<Level>,
    /// Name of the queue for packets that match no queue. Default: "normal" if there is such a queue, else the last
    /// queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = DEFAULT_FIXED))]
    pub default: Option<String>,
}

/// Key of the list of queues.
const LIST: &str = "queues";

impl Params {
    /// Returns the discipline with empty queues, to which [`Install::install`] gives the scheduler.
    pub fn build(&self, site: &Site) -> UserScheduler {
        let states = vec![QueueState::default(); self.queues.len()];
        let (classes, code) = (self.list().classes(site), self.scheduler.clone());
        UserScheduler { classes, states, rate: site.rate, wake: Time::NEVER, code, law: None }
    }
    /// Refuses a scheduler without a file, an empty list of queues, invalid queues, and a default queue that does not
    /// exist.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.scheduler.check().map_err(|error| error.within("scheduler"))?;
        self.list().check()
    }
    fn list(&self) -> Levels<'_> {
        Levels { list: LIST, entries: &self.queues, default: self.default.as_deref() }
    }
    /// Passes the path, the match and the inner discipline of each queue to `f`.
    pub(crate) fn each_part(&mut self, f: &mut Part<'_>) {
        Levels::each_part(LIST, &mut self.queues, f);
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.list().marks()
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        self.list().each_threshold(site, f);
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        let (from, other) = (&self.scheduler, &to.scheduler);
        fixed("scheduler.file", &from.file, &other.file, Code::FIXED)?;
        fixed("scheduler.class", &from.class, &other.class, Code::FIXED)?;
        fixed("scheduler.parameters", &from.parameters, &other.parameters, Code::FIXED)?;
        self.list().check_retune(to.list())
    }
}

/// Queues of which a user's scheduler chooses one at each transmission.
#[derive(Debug)]
pub struct UserScheduler {
    classes: Classes,
    /// States of the queues at the last call.
    states: Vec<QueueState>,
    /// Rate of the link.
    rate: Rate,
    /// Time of the scheduler's next wake-up; [`Time::NEVER`]: none.
    wake: Time,
    code: Code,
    /// The scheduler; `None` before [`Install::install`] and after a fault, when no packet is sent.
    law: Option<Installed<dyn SchedulerLaw>>,
}

/// Packet of a call, with its queue.
struct Subject {
    queue: usize,
    size: u32,
    wire: u32,
    flow: u32,
}

impl Subject {
    fn new(queue: usize, packet: &Packet) -> Subject {
        Subject { queue, size: packet.size.into(), wire: packet.wire().into(), flow: packet.flow() }
    }
}

impl UserScheduler {
    /// Reads the states of the queues; all queues with packets are ready.
    fn read_states(&mut self) {
        for (queue, state) in self.states.iter_mut().enumerate() {
            let backlog = self.classes.backlog_of(queue);
            let ready = (backlog.packets > 0).into();
            *state = QueueState { packets: backlog.packets, bytes: backlog.bytes, ready, reserved: 0 };
        }
    }

    /// Calls the scheduler if it wants calls for this event; returns the chosen queue. `None`: no queue.
    fn call(&mut self, event: SchedulerEvent, now: Time, subject: Option<&Subject>, rng: &mut Rng) -> Option<usize> {
        if !self.code.wants(event.bit()) {
            return None;
        }
        let installed = self.law.as_mut()?;
        let mut call = SchedulerCall {
            now_ps: now.0,
            rate_bps: self.rate.0,
            event: event as u32,
            queue: 0,
            size: 0,
            wire: 0,
            flow: 0,
            queues: self.states.len() as u32,
        };
        if let Some(subject) = subject {
            (call.queue, call.size, call.wire, call.flow) =
                (subject.queue as u32, subject.size, subject.wire, subject.flow);
        }
        installed.called = now;
        let answer = installed.law.answer(&call, &self.states, self.wake.0, rng);
        match answer.and_then(|answer| answer.checked(&call, &self.states)) {
            Ok((queue, wake)) => {
                self.wake = wake;
                queue
            }
            Err(message) => {
                installed.fail(event.name(), message);
                (self.law, self.wake) = (None, Time::NEVER);
                None
            }
        }
    }
}

impl Install for UserScheduler {
    fn install(&mut self, factories: &dyn Factories, place: &str, faults: &Faults, rng: &mut Rng) {
        self.law = Installed::new(factories.scheduler(&self.code), SchedulerLaw::placed, &self.code, place, faults);
        self.read_states();
        self.call(SchedulerEvent::Start, Time::ZERO, None, rng);
    }
}

/// Keeps the scheduler and its wake-up.
impl Retune for UserScheduler {
    fn adopt(&mut self, now: Time, fresh: UserScheduler) {
        self.classes.adopt(now, fresh.classes);
        self.rate = fresh.rate;
    }
}

impl Qdisc for UserScheduler {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let queue = self.classes.class(&packet);
        let subject = Subject::new(queue, &packet);
        let (seq, dropped) = (packet.seq, cx.dropped.len());
        self.classes.enqueue(queue, now, packet, cx);
        // The queue may admit this packet and drop others for it.
        let is_this = |packet: &Packet| packet.flow() == subject.flow && packet.seq == seq && packet.at == now;
        if !cx.dropped[dropped..].iter().any(|dropped| is_this(&dropped.packet)) {
            self.read_states();
            self.call(SchedulerEvent::Arrived, now, Some(&subject), cx.rng);
        }
    }

    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        self.classes.transmitted(now, cx);
        self.read_states();
        // Each round without a packet makes one queue not ready, so that the loop ends.
        while self.states.iter().any(|state| state.ready != 0) {
            let queue = self.call(SchedulerEvent::Select, now, None, cx.rng)?;
            if let Some(packet) = self.classes.dequeue(queue, now, gate, cx) {
                self.read_states();
                self.call(SchedulerEvent::Sent, now, Some(&Subject::new(queue, &packet)), cx.rng);
                return Some(packet);
            }
            let backlog = self.classes.backlog_of(queue);
            self.states[queue] = QueueState { packets: backlog.packets, bytes: backlog.bytes, ready: 0, reserved: 0 };
        }
        None
    }

    fn packets(&self) -> u64 {
        self.classes.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.classes.visit(f);
    }
    fn next_wakeup(&self) -> Option<Time> {
        let due = self.wake.min(self.classes.next_wakeup().unwrap_or(Time::NEVER));
        (due != Time::NEVER).then_some(due)
    }
    fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.classes.wake(now, cx);
        if self.wake <= now {
            self.wake = Time::NEVER;
            self.read_states();
            self.call(SchedulerEvent::Timer, now, None, cx.rng);
        }
    }
    fn watches_idle(&self) -> bool {
        self.classes.watches_idle() || self.code.wants(SchedulerEvent::Idle.bit())
    }
    fn idle(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.classes.idle(now, cx);
        self.read_states();
        self.call(SchedulerEvent::Idle, now, None, cx.rng);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.classes.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.classes.probe(f);
        let Some(installed) = &self.law else { return };
        if let Err(message) = installed.law.probe(f) {
            installed.fail("probes", message);
        }
    }
    fn state_bytes(&self) -> usize {
        self.classes.state_bytes() + self.law.as_ref().map_or(0, |installed| installed.law.state_bytes())
    }
    fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn Install)) {
        f(self);
        self.classes.each_user(f);
    }
}
