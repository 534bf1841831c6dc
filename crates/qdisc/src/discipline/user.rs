//! A FIFO under a queue law that the user has written.

use crate::fifo::Fifo;
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::{Signals, Threshold};
use crate::state::QUEUE;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, Victim};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Rate, Time};
use tailback_user::{Code, Factories, Fault, Faults, Install, QueueCall, QueueEvent, QueueLaw, QueueVerdict};

pub use tailback_user::Code as Params;

/// Builds the discipline from its parameters.
pub trait Build {
    /// Returns the FIFO at `site`, to which [`Install::install`] gives the law.
    fn build(&self, site: &Site) -> User;
}

impl Build for Code {
    fn build(&self, site: &Site) -> User {
        User { queue: Fifo::new(site), site: *site, wake: Time::NEVER, code: self.clone(), law: None }
    }
}

impl Signals for Code {
    fn marks(&self) -> bool {
        Code::marks(self)
    }
    fn each_threshold(&self, _: &Site, _: &mut dyn FnMut(Threshold)) {}
}

impl Fixed for Code {
    fn check_retune(&self, to: &Code) -> Result<(), Invalid> {
        fixed("file", &self.file, &to.file, Code::FIXED)?;
        fixed("class", &self.class, &to.class, Code::FIXED)?;
        fixed("parameters", &self.parameters, &to.parameters, Code::FIXED)
    }
}

/// A FIFO with limits under a user's law, which may pass, mark or drop each packet at its arrival and at its departure.
/// Arriving packets are dropped if the queue is full.
#[derive(Debug)]
pub struct User {
    queue: Fifo,
    site: Site,
    /// Time of the law's next wake-up; [`Time::NEVER`]: none.
    wake: Time,
    code: Code,
    /// The law; `None` before [`Install::install`] and after a fault, when all packets pass.
    law: Option<Installed>,
}

/// A law in its place.
#[derive(Debug)]
struct Installed {
    law: Box<dyn QueueLaw>,
    /// Name of the law and of its port, for faults.
    name: String,
    /// Time of the last call.
    called: Time,
    faults: Faults,
}

impl User {
    /// Calls the law if it wants calls for this event, and returns its verdict. `packet` is the packet of an arrival or a
    /// departure.
    fn call(&mut self, event: QueueEvent, now: Time, packet: Option<&Packet>, rng: &mut Rng) -> QueueVerdict {
        if !self.code.wants(event.bit()) {
            return QueueVerdict::Pass;
        }
        let Some(installed) = &mut self.law else { return QueueVerdict::Pass };
        let queue = self.queue.backlog();
        let mut call = QueueCall {
            now_ps: now.0,
            sojourn_ps: 0,
            queue_packets: queue.packets,
            queue_bytes: queue.bytes,
            limit_packets: self.site.packets,
            limit_bytes: self.site.bytes,
            rate_bps: self.site.rate.0,
            event: event as u32,
            size: 0,
            payload: 0,
            flow: 0,
            sequence: 0,
            traffic_class: 0,
            ecn: 0,
            dscp: 0,
            colour: 0,
            full: 0,
            reserved: [0; 7],
        };
        if let Some(packet) = packet {
            call.size = packet.size.into();
            call.payload = packet.payload.into();
            call.flow = packet.flow();
            call.sequence = packet.seq;
            call.traffic_class = packet.class();
            call.ecn = packet.ecn() as u8;
            call.dscp = packet.dscp();
            call.colour = packet.colour() as u8;
            match event {
                QueueEvent::Depart => call.sojourn_ps = now.since(packet.at).0,
                _ => call.full = self.queue.is_full(packet.size).into(),
            }
        }
        installed.called = now;
        let answer = installed.law.answer(&call, self.wake.0, rng);
        match answer.and_then(|answer| answer.checked(&call)) {
            Ok((verdict, wake)) => {
                self.wake = wake;
                verdict
            }
            Err(message) => {
                let component = std::mem::take(&mut installed.name);
                installed.faults.record(Fault { component, call: event.name(), at: now, message });
                (self.law, self.wake) = (None, Time::NEVER);
                QueueVerdict::Pass
            }
        }
    }

    /// Carries out a verdict; returns the packet. `None`: it has been dropped.
    fn carry_out(verdict: QueueVerdict, packet: Packet, cx: &mut Cx<'_>) -> Option<Packet> {
        match verdict {
            QueueVerdict::Pass => Some(packet),
            QueueVerdict::Mark => cx.signal(packet, true, Reason::Early),
            QueueVerdict::Drop => cx.signal(packet, false, Reason::Early),
        }
    }
}

impl Install for User {
    fn install(&mut self, factories: &dyn Factories, place: &str, faults: &Faults, rng: &mut Rng) {
        let name = format!("`{}` of {} at {place}", self.code.class, self.code.file);
        match factories.queue_law(&self.code) {
            Ok(mut law) => {
                law.placed(&name);
                self.law = Some(Installed { law, name, called: Time::ZERO, faults: faults.clone() });
                self.call(QueueEvent::Start, Time::ZERO, None, rng);
            }
            Err(message) => faults.record(Fault { component: name, call: "start", at: Time::ZERO, message }),
        }
    }
}

/// Keeps the law and its wake-up.
impl Retune for User {
    fn adopt(&mut self, now: Time, fresh: User) {
        self.queue.adopt(now, fresh.queue);
        self.site = fresh.site;
    }
}

impl Qdisc for User {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let verdict = self.call(QueueEvent::Arrive, now, Some(&packet), cx.rng);
        if let Some(packet) = User::carry_out(verdict, packet, cx) {
            self.queue.push_and_trim(packet, Victim::Tail, cx);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        while let Some(packet) = self.queue.pop(gate) {
            let verdict = self.call(QueueEvent::Depart, now, Some(&packet), cx.rng);
            if let Some(packet) = User::carry_out(verdict, packet, cx) {
                return Some(packet);
            }
        }
        // A queue whose head the gate stops is not empty.
        if self.queue.packets() == 0 {
            self.call(QueueEvent::Empty, now, None, cx.rng);
        }
        None
    }
    fn packets(&self) -> u64 {
        self.queue.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.queue.visit(f);
    }
    fn next_wakeup(&self) -> Option<Time> {
        (self.wake != Time::NEVER).then_some(self.wake)
    }
    fn wake(&mut self, now: Time, cx: &mut Cx<'_>) {
        if self.wake <= now {
            self.wake = Time::NEVER;
            self.call(QueueEvent::Timer, now, None, cx.rng);
        }
    }
    fn watches_idle(&self) -> bool {
        self.code.wants(QueueEvent::Idle.bit())
    }
    fn idle(&mut self, now: Time, cx: &mut Cx<'_>) {
        self.call(QueueEvent::Idle, now, None, cx.rng);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.site.rate = rate;
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        let Some(installed) = &self.law else { return };
        if let Err(message) = installed.law.probe(f) {
            let component = installed.name.clone();
            // The caller passes no time.
            installed.faults.record(Fault { component, call: "probes", at: installed.called, message });
        }
    }
    fn state_bytes(&self) -> usize {
        QUEUE + self.law.as_ref().map_or(0, |installed| installed.law.state_bytes())
    }
    fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn Install)) {
        f(self);
    }
}
