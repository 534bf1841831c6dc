//! The response of one output port to notifications: what is stopped or slowed, and by whom.
//!
//! Several congested queues may name the same traffic. Each cause is remembered and clears only
//! itself, so a port that two downstream queues have stopped goes on when both are relieved.

use crate::notice::{Body, Cause, Notice};
use crate::plan::{Response, Scope, Watchdog};
use crate::stops::Stops;
use tailback_qdisc::{Gate, Packet};
use tailback_units::{Dur, Rate, Time, TxClock};

/// Quanta of PAUSE frames are 512 bit times (802.3 Annex 31B), that is 64 bytes.
const QUANTUM_BYTES: u64 = 64;

/// The state of a port that obeys notifications.
#[derive(Debug)]
pub(crate) struct Responder {
    response: Response,
    reasons: Vec<Body>,
    limiters: Vec<Limiter>,
    /// End of the PAUSE in force; in the past if none is.
    paused_until: Time,
    /// The same by class (802.1Qbb).
    class_paused_until: [Time; 8],
    watchdog: Option<Watchdog>,
    /// By class, and last for the whole port: the watch on the pause in force.
    watches: [Watch; 9],
    /// Pauses that the watchdog has broken off.
    pub storms: u64,
    /// What is stopped at the moment.
    gate: Gate,
    /// When the gate next changes by the passing of time.
    until: Time,
    /// For how long what has been stopped.
    pub stops: Stops,
}

/// A watch on a pause.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// Since when it has lasted without a break; never if none is in force.
    since: Time,
    /// It is ignored before this.
    ignored_until: Time,
}

/// Traffic that is slowed down.
#[derive(Debug)]
struct Limiter {
    target: Target,
    /// Share of the link's rate, above 0 and below 1.
    fraction: f64,
    /// Causes that hold it down.
    holds: Vec<Cause>,
    /// When the next frame may go.
    next: Time,
    /// When the fraction next changes.
    step: Time,
}

/// What a notification stops or slows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Target {
    Port,
    Class(u8),
    /// A destination, in one class or (none) in all.
    Destination(u16, Option<u8>),
}

impl Target {
    fn covers(self, packet: &Packet) -> bool {
        match self {
            Target::Port => true,
            Target::Class(class) => packet.class() == class,
            Target::Destination(destination, class) => {
                packet.dst == destination && class.is_none_or(|c| c == packet.class())
            }
        }
    }
    fn close(self, gate: &mut Gate) {
        match self {
            Target::Port => gate.close_port(),
            Target::Class(class) => gate.close_class(class),
            Target::Destination(destination, class) => gate.close_destination(destination, class),
        }
    }
}

fn targets(body: &Body) -> Vec<Target> {
    let class = body.cause.class;
    match body.scope {
        Scope::Plain => vec![Target::Port],
        Scope::Class => vec![Target::Class(class)],
        Scope::Destination => body.destinations.iter().map(|d| Target::Destination(*d, None)).collect(),
        Scope::ClassDestination => body.destinations.iter().map(|d| Target::Destination(*d, Some(class))).collect(),
    }
}

impl Responder {
    pub fn new(response: Response, watchdog: Option<Watchdog>) -> Responder {
        Responder {
            response,
            reasons: Vec::new(),
            limiters: Vec::new(),
            paused_until: Time::ZERO,
            class_paused_until: [Time::ZERO; 8],
            watchdog,
            watches: [Watch { since: Time::NEVER, ignored_until: Time::ZERO }; 9],
            storms: 0,
            gate: Gate::default(),
            until: Time::NEVER,
            stops: Stops::default(),
        }
    }

    /// What may leave now.
    #[inline]
    pub fn gate(&mut self, now: Time) -> &Gate {
        if now >= self.until {
            self.refresh(now);
        }
        &self.gate
    }

    /// Whether nothing stops or slows anything now, nor will by the passing of time alone.
    pub fn is_free(&mut self, now: Time) -> bool {
        self.gate(now).is_open() && self.until == Time::NEVER
    }

    /// Forgets at `now` all that it has been told.
    pub fn reset(&mut self, now: Time) {
        let (storms, mut stops) = (self.storms, std::mem::take(&mut self.stops));
        stops.set(now, Vec::new(), false);
        *self = Responder { storms, stops, ..Responder::new(self.response, self.watchdog) };
    }

    /// Takes a notification at the instant of its effect.
    pub fn apply(&mut self, now: Time, notice: Notice, rate: Rate) {
        match notice {
            Notice::Off(body) => match self.response {
                Response::Block => self.stop(body),
                Response::Rate { .. } => self.slow(now, &body),
            },
            Notice::On(body) => {
                self.restart(&body);
                self.release(&body);
            }
            Notice::Pause(quanta) => {
                self.paused_until = now + quanta_time(quanta, rate);
                self.watch(8, now, quanta);
            }
            Notice::PriorityPause { enabled, quanta } => {
                for class in (0..8).filter(|c| enabled & (1 << c) != 0) {
                    self.class_paused_until[class] = now + quanta_time(quanta[class], rate);
                    self.watch(class, now, quanta[class]);
                }
            }
            // It is for rate limiters, and never comes here.
            Notice::Feedback(_) => {}
        }
        self.refresh(now);
    }

    /// A PAUSE has come for a class (8: the port).
    fn watch(&mut self, which: usize, now: Time, quanta: u16) {
        let Some(watchdog) = self.watchdog else { return };
        let watch = &mut self.watches[which];
        if quanta == 0 {
            watch.since = Time::NEVER;
        } else if now < watch.ignored_until {
            watch.ignored_until = now + watchdog.restore;
        } else if watch.since == Time::NEVER {
            watch.since = now;
        }
    }

    /// Breaks off pauses that have lasted too long, and ends the watch on those that are over.
    fn look_after(&mut self, now: Time) {
        let Some(watchdog) = self.watchdog else { return };
        for which in 0..9 {
            let paused_until = if which == 8 { &mut self.paused_until } else { &mut self.class_paused_until[which] };
            let watch = &mut self.watches[which];
            if *paused_until <= now {
                watch.since = Time::NEVER;
            } else if watch.since != Time::NEVER && now >= watch.since + watchdog.after {
                *watch = Watch { since: Time::NEVER, ignored_until: now + watchdog.restore };
                *paused_until = now;
                self.storms += 1;
            }
        }
    }

    /// Whether a pause counts.
    fn obeys(&self, which: usize, now: Time) -> bool {
        now >= self.watches[which].ignored_until
    }

    fn stop(&mut self, body: Body) {
        match self.reasons.iter_mut().find(|r| r.cause == body.cause) {
            Some(reason) => {
                reason.destinations.extend(body.destinations);
                reason.destinations.sort_unstable();
                reason.destinations.dedup();
            }
            None => self.reasons.push(body),
        }
    }

    fn restart(&mut self, body: &Body) {
        if let Some(at) = self.reasons.iter().position(|r| r.cause == body.cause) {
            let reason = &mut self.reasons[at];
            reason.destinations.retain(|d| !body.destinations.contains(d));
            if reason.destinations.is_empty() {
                self.reasons.swap_remove(at);
            }
        }
    }

    fn slow(&mut self, now: Time, body: &Body) {
        let Response::Rate { decrease, floor, interval, .. } = self.response else { return };
        for target in targets(body) {
            let at = match self.limiters.iter().position(|l| l.target == target) {
                Some(at) => at,
                None => {
                    let fresh = Limiter { target, fraction: 1.0, holds: Vec::new(), next: now, step: now + interval };
                    self.limiters.push(fresh);
                    self.limiters.len() - 1
                }
            };
            let limiter = &mut self.limiters[at];
            if !limiter.holds.contains(&body.cause) {
                limiter.holds.push(body.cause);
                limiter.fraction = (limiter.fraction * decrease).max(floor);
                limiter.step = now + interval;
            }
        }
    }

    fn release(&mut self, body: &Body) {
        let released = targets(body);
        for limiter in self.limiters.iter_mut().filter(|l| released.contains(&l.target)) {
            limiter.holds.retain(|c| *c != body.cause);
        }
    }

    /// Counts a frame that starts now against the limiters that cover it.
    pub fn sent(&mut self, now: Time, packet: &Packet, clock: TxClock) {
        if self.limiters.is_empty() {
            return;
        }
        let tx = clock.tx_time(u32::from(packet.wire())).0 as f64;
        for limiter in self.limiters.iter_mut().filter(|l| l.target.covers(packet)) {
            limiter.next = limiter.next.max(now) + Dur((tx / limiter.fraction) as u64);
        }
        self.refresh(now);
    }

    /// Steps the limiters and pauses that have come due, and sets the gate anew.
    pub fn refresh(&mut self, now: Time) {
        if let Response::Rate { decrease, floor, increase, interval } = self.response {
            for limiter in &mut self.limiters {
                while limiter.step <= now {
                    limiter.fraction = if limiter.holds.is_empty() {
                        limiter.fraction + increase
                    } else {
                        (limiter.fraction * decrease).max(floor)
                    };
                    limiter.step += interval;
                }
            }
            self.limiters.retain(|l| l.fraction < 1.0);
        }
        self.look_after(now);
        let port = self.paused_until > now && self.obeys(8, now);
        let paused = |c: &u8| self.class_paused_until[usize::from(*c)] > now && self.obeys(usize::from(*c), now);
        let classes = (0..8).filter(paused).fold(0u8, |mask, class| mask | 1 << class);
        let gate = &mut self.gate;
        gate.open_all();
        if port {
            gate.close_port();
        }
        for class in (0..8).filter(|class| classes & 1 << class != 0) {
            gate.close_class(class);
        }
        for reason in &self.reasons {
            targets(reason).into_iter().for_each(|t| t.close(gate));
        }
        for limiter in self.limiters.iter().filter(|l| l.next > now) {
            limiter.target.close(gate);
        }
        let ports = port.then_some((Target::Port, self.paused_until)).into_iter();
        let classes = (0..8u8).filter(|class| classes & 1 << class != 0);
        let classes = classes.map(|c| (Target::Class(c), self.class_paused_until[usize::from(c)]));
        let named = self.reasons.iter().flat_map(targets).map(|target| (target, Time::NEVER));
        self.stops.set(now, ports.chain(classes).chain(named).collect(), !self.limiters.is_empty());
        self.until = self.next_change(now);
    }

    /// When the gate changes by the passing of time alone; never, if it does not.
    pub fn next_change(&self, now: Time) -> Time {
        let pauses = self.class_paused_until.iter().chain([&self.paused_until]).copied();
        let limits = self.limiters.iter().flat_map(|l| [l.next, l.step]);
        let watchdog = self.watchdog.into_iter();
        let watches = watchdog.flat_map(|w| {
            let due = move |at: Time| if at == Time::NEVER { at } else { at + w.after };
            self.watches.iter().flat_map(move |watch| [due(watch.since), watch.ignored_until])
        });
        pauses.chain(limits).chain(watches).filter(|t| *t > now).min().unwrap_or(Time::NEVER)
    }
}

/// How long `quanta` last at `rate`.
pub(crate) fn quanta_time(quanta: u16, rate: Rate) -> Dur {
    let bytes = u32::try_from(u64::from(quanta) * QUANTUM_BYTES).expect("65535 quanta are 4 MB");
    rate.clock().tx_time(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(port: u32, scope: Scope, destinations: &[u16]) -> Body {
        Body { cause: Cause { port, class: 1, destination: None }, scope, destinations: destinations.to_vec() }
    }
    const RATE: Rate = Rate::mbit(100);

    #[test]
    fn a_port_stopped_by_two_queues_goes_on_when_both_are_relieved() {
        let mut r = Responder::new(Response::Block, None);
        r.apply(Time(0), Notice::Off(body(1, Scope::Plain, &[])), RATE);
        r.apply(Time(0), Notice::Off(body(2, Scope::Plain, &[])), RATE);
        r.apply(Time(1), Notice::On(body(1, Scope::Plain, &[])), RATE);
        assert!(!r.gate(Time(1)).admits(0, 0));
        r.apply(Time(2), Notice::On(body(2, Scope::Plain, &[])), RATE);
        assert!(r.gate(Time(2)).is_open());
    }

    #[test]
    fn xon_clears_exactly_the_addresses_of_its_cause() {
        let mut r = Responder::new(Response::Block, None);
        r.apply(Time(0), Notice::Off(body(1, Scope::Destination, &[5, 6])), RATE);
        r.apply(Time(0), Notice::Off(body(1, Scope::Destination, &[7])), RATE);
        r.apply(Time(0), Notice::Off(body(2, Scope::Destination, &[6])), RATE);
        r.apply(Time(1), Notice::On(body(1, Scope::Destination, &[5, 6, 7])), RATE);
        let gate = r.gate(Time(1));
        assert!(gate.admits(0, 5) && gate.admits(0, 7) && !gate.admits(0, 6));
    }

    #[test]
    fn class_and_destination_together_stop_neither_alone() {
        let mut r = Responder::new(Response::Block, None);
        r.apply(Time(0), Notice::Off(body(1, Scope::ClassDestination, &[5])), RATE);
        let gate = r.gate(Time(0));
        assert!(!gate.admits(1, 5) && gate.admits(0, 5) && gate.admits(1, 6));
    }

    #[test]
    fn a_pause_lasts_its_quanta_and_a_later_one_replaces_it() {
        let mut r = Responder::new(Response::Block, None);
        r.apply(Time(0), Notice::Pause(10), RATE);
        assert_eq!(r.next_change(Time(0)), Time(0) + Dur::from_ns(51_200));
        r.apply(Time(1), Notice::Pause(1), RATE);
        assert_eq!(r.next_change(Time(1)), Time(1) + Dur::from_ns(5_120));
        assert!(!r.gate(Time(1)).admits(0, 0));
        assert!(r.gate(Time(1) + Dur::from_ns(5_120)).is_open());
        r.apply(Time(2), Notice::Pause(1), RATE);
        r.apply(Time(3), Notice::Pause(0), RATE);
        assert!(r.gate(Time(3)).is_open());
    }

    #[test]
    fn the_longest_pause_is_3_355_s_at_10_mbit() {
        assert_eq!(quanta_time(65_535, Rate::mbit(10)).0 / 1_000_000_000, 3_355);
        assert_eq!(quanta_time(1, Rate::mbit(1000)), Dur::from_ns(512));
    }

    #[test]
    fn a_slowed_port_halves_at_each_step_and_recovers_by_addition() {
        let law = Response::Rate { decrease: 0.5, floor: 0.1, increase: 0.25, interval: Dur(100) };
        let mut r = Responder::new(law, None);
        r.apply(Time(0), Notice::Off(body(1, Scope::Plain, &[])), RATE);
        assert_eq!(r.limiters[0].fraction, 0.5);
        r.refresh(Time(100));
        assert_eq!(r.limiters[0].fraction, 0.25);
        r.refresh(Time(1000));
        assert_eq!(r.limiters[0].fraction, 0.1);
        r.apply(Time(1001), Notice::On(body(1, Scope::Plain, &[])), RATE);
        r.refresh(Time(1200));
        assert!((r.limiters[0].fraction - 0.6).abs() < 1e-12);
        r.refresh(Time(1500));
        assert!(r.limiters.is_empty() && r.gate(Time(1500)).is_open());
    }
}
