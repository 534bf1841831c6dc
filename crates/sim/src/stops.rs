//! Time for which notifications stop traffic at a port, in total and by target.
//!
//! A stop is in force from the instant of its effect until it is withdrawn or expires, whether or not data waits
//! because of it: a port at which one of many destinations is stopped continues to send. The time during which data
//! waits while the transmitter is idle is counted by the port itself (`blocked`).

use crate::target::Target;
use std::collections::BTreeMap;
use tailback_units::Time;

/// Times for which the traffic of one port is stopped or slowed.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    /// Time during which at least one stop is in force.
    pub any: OnTime,
    /// Time during which a limiter keeps some traffic below the rate of the link.
    pub slowed: OnTime,
    /// Time during which each target is stopped, for all targets that were ever stopped.
    pub by_target: BTreeMap<Target, OnTime>,
}

/// Number and total length of the intervals in which a condition holds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OnTime {
    /// Start of the current interval; `None`: the condition does not hold.
    since: Option<Time>,
    /// End of the current interval if it is known; [`Time::NEVER`]: the interval lasts until the condition is cleared.
    until: Time,
    /// Total of past intervals, picoseconds.
    past: u64,
    /// Number of intervals begun.
    times: u64,
    /// Total time at the end of the warm-up, picoseconds.
    warmup_time: u64,
    /// Number of intervals begun by the end of the warm-up.
    warmup_times: u64,
}

impl OnTime {
    /// Sets the condition at `now`: it holds until the given instant; `None`: it does not hold.
    fn set(&mut self, now: Time, until: Option<Time>) {
        if self.since.is_some() && self.until < now {
            self.end(self.until);
        }
        match until {
            Some(until) => {
                self.times += u64::from(self.since.is_none());
                self.since.get_or_insert(now);
                self.until = until;
            }
            None => self.end(now),
        }
    }

    /// Ends the current interval, if there is one, at `at`.
    fn end(&mut self, at: Time) {
        if let Some(since) = self.since.take() {
            self.past += at.since(since).0;
        }
    }

    /// Returns `true` if the condition holds at `now`.
    pub fn holds(&self, now: Time) -> bool {
        self.since.is_some() && self.until > now
    }

    /// Returns the time during which the condition held up to `now`, picoseconds since the start.
    pub fn total(&self, now: Time) -> u64 {
        self.past + self.since.map_or(0, |since| now.min(self.until).since(since).0)
    }

    /// Returns the time during which the condition held since the end of the warm-up, picoseconds.
    pub fn measured(&self, now: Time) -> u64 {
        self.total(now) - self.warmup_time
    }

    /// Returns the number of intervals begun since the end of the warm-up.
    pub fn begun(&self) -> u64 {
        self.times - self.warmup_times
    }

    fn end_warmup(&mut self, now: Time) {
        (self.warmup_time, self.warmup_times) = (self.total(now), self.times);
    }
}

impl Stops {
    /// Sets the stops in force from `now` on, each with its expiry. `slowed` is `true` if limiters keep some traffic
    /// below the rate of the link.
    pub fn set(&mut self, now: Time, mut stopped: Vec<(Target, Time)>, slowed: bool) {
        if slowed || self.slowed.since.is_some() {
            self.slowed.set(now, slowed.then_some(Time::NEVER));
        }
        let last = stopped.iter().map(|(_, until)| *until).max();
        if last.is_none() && self.any.since.is_none() {
            return;
        }
        self.any.set(now, last);
        // Of several stops of one target, the one that ends last is kept.
        stopped.sort_unstable_by_key(|(target, until)| (*target, std::cmp::Reverse(*until)));
        stopped.dedup_by_key(|(target, _)| *target);
        for (target, on_time) in &mut self.by_target {
            if on_time.since.is_some() && stopped.binary_search_by_key(target, |(named, _)| *named).is_err() {
                on_time.set(now, None);
            }
        }
        for (target, until) in stopped {
            self.by_target.entry(target).or_default().set(now, Some(until));
        }
    }

    /// Ends the warm-up: measured times and numbers count from `now` on.
    pub fn end_warmup(&mut self, now: Time) {
        let all = self.by_target.values_mut().chain([&mut self.any, &mut self.slowed]);
        all.for_each(|on_time| on_time.end_warmup(now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_counts_while_at_least_one_stop_is_in_force_and_for_each_target_separately() {
        let (a, b) = (Target::Destination(5, None), Target::Destination(6, None));
        let mut stops = Stops::default();
        stops.set(Time(10), vec![(a, Time::NEVER)], false);
        stops.set(Time(30), vec![(b, Time::NEVER), (a, Time::NEVER)], false);
        stops.set(Time(40), vec![(b, Time::NEVER)], false);
        assert!(
            stops.any.holds(Time(60)) && stops.by_target[&b].holds(Time(60)) && !stops.by_target[&a].holds(Time(60))
        );
        stops.set(Time(70), vec![], false);
        stops.set(Time(90), vec![(a, Time::NEVER)], false);
        assert_eq!((stops.any.total(Time(100)), stops.any.begun()), (60 + 10, 2));
        assert_eq!(stops.by_target[&a].total(Time(100)), 30 + 10);
        assert_eq!((stops.by_target[&b].total(Time(100)), stops.by_target[&b].begun()), (40, 1));
    }

    #[test]
    fn a_pause_counts_up_to_its_expiry_and_a_pause_renewed_at_its_expiry_is_one_stop() {
        let mut stops = Stops::default();
        stops.set(Time(10), vec![(Target::Port, Time(20))], false);
        assert_eq!((stops.any.total(Time(15)), stops.any.total(Time(35))), (5, 10));
        stops.set(Time(20), vec![(Target::Port, Time(30))], false);
        assert_eq!((stops.any.total(Time(35)), stops.any.begun()), (20, 1));
        stops.set(Time(40), vec![(Target::Port, Time(50))], false);
        assert_eq!((stops.any.total(Time(45)), stops.any.begun()), (25, 2));
        assert!(stops.any.holds(Time(49)) && !stops.any.holds(Time(50)));
    }

    #[test]
    fn time_in_force_during_the_warm_up_is_not_measured() {
        let mut stops = Stops::default();
        stops.set(Time(10), vec![(Target::Class(1), Time::NEVER)], true);
        stops.end_warmup(Time(25));
        stops.set(Time(40), vec![], false);
        for on_time in [&stops.any, &stops.slowed, &stops.by_target[&Target::Class(1)]] {
            assert_eq!((on_time.measured(Time(50)), on_time.total(Time(50)), on_time.begun()), (15, 30, 0));
        }
    }
}
