//! Response of an output port to notifications: the traffic that is stopped or slowed, and for which congested queue.
//!
//! Several congested queues may stop the same traffic. Each stop is stored with its queue, and is cleared only by that
//! queue: a port that two downstream queues have stopped resumes when neither of them is congested any more.

use crate::control_frame::{CongestionSource, ControlFrame, Notification};
use crate::plan::{Response, Scope, Watchdog};
use crate::stops::Stops;
use crate::target::Target;
use tailback_qdisc::{Gate, Packet};
use tailback_units::{Dur, Rate, Time, TxClock};

/// Bytes of a PAUSE quantum: 512 bit times (IEEE 802.3 annex 31B).
const QUANTUM_BYTES: u64 = 64;

/// State of a port that obeys notifications.
#[derive(Debug)]
pub(crate) struct Responder {
    response: Response,
    /// Idealised XOFF notifications that have not been withdrawn.
    active: Vec<Notification>,
    /// Rate limiters, one for each target that is slowed.
    limiters: Vec<Limiter>,
    /// Expiry of the last PAUSE for the whole port; not in the future if the port is not paused.
    paused_until: Time,
    /// Expiry of the last PAUSE for each class (IEEE 802.1Qbb); not in the future if the class is not paused.
    class_paused_until: [Time; 8],
    watchdog: Option<Watchdog>,
    /// State of the watchdog: index k for pauses of class k, index 8 for pauses of the whole port.
    watches: [Watch; 9],
    /// Number of pauses that the watchdog has ended.
    pub storms: u64,
    /// Traffic that is stopped now.
    gate: Gate,
    /// Time of the next change of the gate without a further notification.
    until: Time,
    /// Times during which traffic is stopped or slowed, in total and by target.
    pub stops: Stops,
}

/// State of the watchdog for pauses of a class or of the port.
#[derive(Clone, Copy, Debug)]
struct Watch {
    /// Start of the present uninterrupted pause; [`Time::NEVER`]: no pause.
    since: Time,
    /// End of the time during which PAUSE frames are ignored.
    ignored_until: Time,
}

/// Rate limiter of traffic that is slowed down.
#[derive(Debug)]
struct Limiter {
    target: Target,
    /// Permitted rate as a fraction of the link's rate, above 0 and at most 1.
    fraction: f64,
    /// Congested queues that keep the rate down; if there are none, the rate grows.
    holds: Vec<CongestionSource>,
    /// Earliest start of the next frame.
    next: Time,
    /// Time of the next change of the fraction.
    step: Time,
}

/// Returns the targets that a notification names.
fn targets(notification: &Notification) -> Vec<Target> {
    let class = notification.source.class;
    match notification.scope {
        Scope::Plain => vec![Target::Port],
        Scope::Class => vec![Target::Class(class)],
        Scope::Destination => notification.destinations.iter().map(|d| Target::Destination(*d, None)).collect(),
        Scope::ClassDestination => {
            notification.destinations.iter().map(|d| Target::Destination(*d, Some(class))).collect()
        }
    }
}

impl Responder {
    pub fn new(response: Response, watchdog: Option<Watchdog>) -> Responder {
        Responder {
            response,
            active: Vec::new(),
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

    /// Returns the gate at `now`, which is closed for the traffic that is stopped.
    #[inline]
    pub fn gate(&mut self, now: Time) -> &Gate {
        if now >= self.until {
            self.refresh(now);
        }
        &self.gate
    }

    /// Returns `true` if nothing is stopped or slowed now, and no pending change could stop anything.
    pub fn is_free(&mut self, now: Time) -> bool {
        self.gate(now).is_open() && self.until == Time::NEVER
    }

    /// Clears all notifications and pauses at `now`.
    pub fn reset(&mut self, now: Time) {
        let (storms, mut stops) = (self.storms, std::mem::take(&mut self.stops));
        stops.set(now, Vec::new(), false);
        *self = Responder { storms, stops, ..Responder::new(self.response, self.watchdog) };
    }

    /// Applies a notification at the instant of its effect.
    pub fn apply(&mut self, now: Time, control: ControlFrame, rate: Rate) {
        match control {
            ControlFrame::Off(notification) => match self.response {
                Response::Block => self.stop(notification),
                Response::Rate { .. } => self.slow(now, &notification),
            },
            ControlFrame::On(notification) => {
                self.resume(&notification);
                self.release(&notification);
            }
            ControlFrame::Pause(quanta) => {
                self.paused_until = now + quanta_time(quanta, rate);
                self.watch(8, now, quanta);
            }
            ControlFrame::PriorityPause { enabled, quanta } => {
                for class in (0..8).filter(|c| enabled & (1 << c) != 0) {
                    self.class_paused_until[class] = now + quanta_time(quanta[class], rate);
                    self.watch(class, now, quanta[class]);
                }
            }
            // Feedback is handled by rate limiters and never delivered here.
            ControlFrame::Feedback(_) => {}
        }
        self.refresh(now);
    }

    /// Updates the watchdog's state when a PAUSE for a class (8: the port) takes effect.
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

    /// Ends pauses that have lasted too long, and clears the watchdog's state of pauses that are over.
    fn check_watchdog(&mut self, now: Time) {
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

    /// Returns `true` if pauses of a class (8: the port) are obeyed, and not ignored because of the watchdog.
    fn obeys(&self, which: usize, now: Time) -> bool {
        now >= self.watches[which].ignored_until
    }

    /// Returns the traffic that PAUSE frames stop at `now`: `true` if the whole port is stopped; bit k of the mask if
    /// class k is.
    pub fn paused(&self, now: Time) -> (bool, u8) {
        let port = self.paused_until > now && self.obeys(8, now);
        let paused = |c: &u8| self.class_paused_until[usize::from(*c)] > now && self.obeys(usize::from(*c), now);
        (port, (0..8).filter(paused).fold(0u8, |mask, class| mask | 1 << class))
    }

    /// Stops the traffic that a notification names, in addition to the traffic that the same congested queue has
    /// stopped before.
    fn stop(&mut self, notification: Notification) {
        match self.active.iter_mut().find(|r| r.source == notification.source) {
            Some(entry) => {
                entry.destinations.extend(notification.destinations);
                entry.destinations.sort_unstable();
                entry.destinations.dedup();
            }
            None => self.active.push(notification),
        }
    }

    /// Resumes the destinations that a notification names, as far as the same congested queue has stopped them; without
    /// destinations in the scope, all traffic that this queue has stopped.
    fn resume(&mut self, notification: &Notification) {
        if let Some(at) = self.active.iter().position(|r| r.source == notification.source) {
            let entry = &mut self.active[at];
            entry.destinations.retain(|d| !notification.destinations.contains(d));
            if entry.destinations.is_empty() {
                self.active.swap_remove(at);
            }
        }
    }

    /// Slows the traffic that a notification names by one step, unless the same congested queue slows it already.
    fn slow(&mut self, now: Time, notification: &Notification) {
        let Response::Rate { decrease, floor, interval, .. } = self.response else { return };
        for target in targets(notification) {
            let at = if let Some(at) = self.limiters.iter().position(|l| l.target == target) {
                at
            } else {
                let fresh = Limiter { target, fraction: 1.0, holds: Vec::new(), next: now, step: now + interval };
                self.limiters.push(fresh);
                self.limiters.len() - 1
            };
            let limiter = &mut self.limiters[at];
            if !limiter.holds.contains(&notification.source) {
                limiter.holds.push(notification.source);
                limiter.fraction = (limiter.fraction * decrease).max(floor);
                limiter.step = now + interval;
            }
        }
    }

    /// Ends the hold of a notification's congested queue on the limiters of the traffic that the notification names.
    /// The rate of a limiter without holds grows.
    fn release(&mut self, notification: &Notification) {
        let released = targets(notification);
        for limiter in self.limiters.iter_mut().filter(|l| released.contains(&l.target)) {
            limiter.holds.retain(|c| *c != notification.source);
        }
    }

    /// Charges a frame whose transmission starts now to the limiters that cover it.
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

    /// Advances limiters and pauses to `now`, and updates the gate and the times of stops.
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
        self.check_watchdog(now);
        let (port, classes) = self.paused(now);
        let gate = &mut self.gate;
        gate.open_all();
        if port {
            gate.close_port();
        }
        for class in (0..8).filter(|class| classes & 1 << class != 0) {
            gate.close_class(class);
        }
        for entry in &self.active {
            for t in targets(entry) {
                t.close(gate);
            }
        }
        for limiter in self.limiters.iter().filter(|l| l.next > now) {
            limiter.target.close(gate);
        }
        let ports = port.then_some((Target::Port, self.paused_until)).into_iter();
        let classes = (0..8u8).filter(|class| classes & 1 << class != 0);
        let classes = classes.map(|c| (Target::Class(c), self.class_paused_until[usize::from(c)]));
        let named = self.active.iter().flat_map(targets).map(|target| (target, Time::NEVER));
        self.stops.set(now, ports.chain(classes).chain(named).collect(), !self.limiters.is_empty());
        self.until = self.next_change(now);
    }

    /// Returns the time of the next change of the gate without a further notification; [`Time::NEVER`]: there is no
    /// such change.
    pub fn next_change(&self, now: Time) -> Time {
        let pauses = self.class_paused_until.iter().chain([&self.paused_until]).copied();
        let limits = self.limiters.iter().flat_map(|l| [l.next, l.step]);
        let watches = self.watchdog.into_iter().flat_map(|watchdog| {
            let due = move |since: Time| if since == Time::NEVER { since } else { since + watchdog.after };
            self.watches.iter().flat_map(move |watch| [due(watch.since), watch.ignored_until])
        });
        pauses.chain(limits).chain(watches).filter(|t| *t > now).min().unwrap_or(Time::NEVER)
    }
}

/// Returns the duration of `quanta` of 512 bit times at `rate`.
pub(crate) fn quanta_time(quanta: u16, rate: Rate) -> Dur {
    let bytes = u32::try_from(u64::from(quanta) * QUANTUM_BYTES).expect("65535 quanta are 4 MB");
    rate.clock().tx_time(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a notification for the queue of class 1 at a port.
    fn notification(port: u32, scope: Scope, destinations: &[u16]) -> Notification {
        Notification {
            source: CongestionSource { port, class: 1, destination: None },
            scope,
            destinations: destinations.to_vec(),
        }
    }
    const RATE: Rate = Rate::mbit(100);

    #[test]
    fn a_port_stopped_by_two_queues_resumes_when_both_are_relieved() {
        let mut r = Responder::new(Response::Block, None);
        r.apply(Time(0), ControlFrame::Off(notification(1, Scope::Plain, &[])), RATE);
        r.apply(Time(0), ControlFrame::Off(notification(2, Scope::Plain, &[])), RATE);
        r.apply(Time(1), ControlFrame::On(notification(1, Scope::Plain, &[])), RATE);
        assert!(!r.gate(Time(1)).admits(0, 0));
        r.apply(Time(2), ControlFrame::On(notification(2, Scope::Plain, &[])), RATE);
        assert!(r.gate(Time(2)).is_open());
    }

    #[test]
    fn an_xon_resumes_only_the_destinations_that_the_same_queue_stopped() {
        let mut r = Responder::new(Response::Block, None);
        r.apply(Time(0), ControlFrame::Off(notification(1, Scope::Destination, &[5, 6])), RATE);
        r.apply(Time(0), ControlFrame::Off(notification(1, Scope::Destination, &[7])), RATE);
        r.apply(Time(0), ControlFrame::Off(notification(2, Scope::Destination, &[6])), RATE);
        r.apply(Time(1), ControlFrame::On(notification(1, Scope::Destination, &[5, 6, 7])), RATE);
        let gate = r.gate(Time(1));
        assert!(gate.admits(0, 5) && gate.admits(0, 7) && !gate.admits(0, 6));
    }

    #[test]
    fn stopping_a_destination_in_a_class_stops_no_other_traffic() {
        let mut r = Responder::new(Response::Block, None);
        r.apply(Time(0), ControlFrame::Off(notification(1, Scope::ClassDestination, &[5])), RATE);
        let gate = r.gate(Time(0));
        assert!(!gate.admits(1, 5) && gate.admits(0, 5) && gate.admits(1, 6));
    }

    #[test]
    fn a_pause_lasts_its_quanta_and_a_later_one_replaces_it() {
        let mut r = Responder::new(Response::Block, None);
        r.apply(Time(0), ControlFrame::Pause(10), RATE);
        // 10 quanta of 512 bits at 100 Mbit/s are 51.2 µs.
        assert_eq!(r.next_change(Time(0)), Time(0) + Dur::from_ns(51_200));
        r.apply(Time(1), ControlFrame::Pause(1), RATE);
        assert_eq!(r.next_change(Time(1)), Time(1) + Dur::from_ns(5_120));
        assert!(!r.gate(Time(1)).admits(0, 0));
        assert!(r.gate(Time(1) + Dur::from_ns(5_120)).is_open());
        r.apply(Time(2), ControlFrame::Pause(1), RATE);
        r.apply(Time(3), ControlFrame::Pause(0), RATE);
        assert!(r.gate(Time(3)).is_open());
    }

    #[test]
    fn the_longest_pause_is_3_355_s_at_10_mbit() {
        // 65535 · 512 bits / 10 Mbit/s = 3355.4 ms.
        assert_eq!(quanta_time(65_535, Rate::mbit(10)).0 / 1_000_000_000, 3_355);
        assert_eq!(quanta_time(1, Rate::mbit(1000)), Dur::from_ns(512));
    }

    #[test]
    fn the_rate_of_a_slowed_port_halves_at_each_step_and_recovers_by_addition() {
        let law = Response::Rate { decrease: 0.5, floor: 0.1, increase: 0.25, interval: Dur(100) };
        let mut r = Responder::new(law, None);
        r.apply(Time(0), ControlFrame::Off(notification(1, Scope::Plain, &[])), RATE);
        assert_eq!(r.limiters[0].fraction, 0.5);
        r.refresh(Time(100));
        assert_eq!(r.limiters[0].fraction, 0.25);
        r.refresh(Time(1000));
        assert_eq!(r.limiters[0].fraction, 0.1);
        r.apply(Time(1001), ControlFrame::On(notification(1, Scope::Plain, &[])), RATE);
        r.refresh(Time(1200));
        // 0.1 plus two steps of 0.25, at 1100 ps and 1200 ps.
        assert!((r.limiters[0].fraction - 0.6).abs() < 1e-12);
        r.refresh(Time(1500));
        assert!(r.limiters.is_empty() && r.gate(Time(1500)).is_open());
    }
}
