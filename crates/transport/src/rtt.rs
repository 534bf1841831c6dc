//! Round-trip time and retransmission timeout (RFC 6298).

use crate::params::{Clock, Timers};
use crate::seq::before;
use tailback_units::{Dur, Time};

/// Round-trip time estimates of one connection, and the segment that is timed.
///
/// With a coarse clock the estimates are BSD's scaled integers (Jacobson 1988, appendix A): SRTT in
/// eighths and RTTVAR in quarters of a tick, as in ns-2.
#[derive(Debug)]
pub(crate) struct Rtt {
    /// Smoothed round-trip time. Fine clock: picoseconds; coarse: eighths of a tick. Zero before the first sample.
    srtt: u64,
    /// Round-trip time variation (RTTVAR). Fine clock: picoseconds; coarse: quarters of a tick.
    rttvar: u64,
    /// Retransmission timeout before doubling, in `min-rto` to `max-rto` after the first sample.
    base: Dur,
    /// Minimum round-trip time; zero before the first sample.
    min: Dur,
    /// Time at which the timed segment was sent; [`Time::NEVER`]: no segment is timed.
    timed_at: Time,
    /// Segment being timed.
    timed: u32,
    /// Number of doublings of the timeout, 0 to 20.
    doublings: u8,
}

/// Smoothed round-trip time, and deviations from it by round trip, in Linux's integers (Linux 6.1,
/// `tcp_rtt_estimator`).
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    /// Eight times the smoothed round-trip time, microseconds (`srtt_us`); zero before the first sample.
    srtt: i64,
    /// Four times the smoothed deviation, microseconds (`mdev_us`).
    deviation: i64,
    /// Largest `deviation` of this round trip, at least `granularity`, microseconds (`mdev_max_us`).
    largest: i64,
    /// Four times RTTVAR, microseconds (`rttvar_us`).
    variation: i64,
    /// Segment whose acknowledgement ends the round trip (`rtt_seq`).
    end: u32,
}

impl Rounds {
    /// Processes a round-trip time, microseconds. `least`: `granularity`, microseconds; `una`: first segment not
    /// acknowledged; `next`: first segment never transmitted.
    fn sample(&mut self, rtt: i64, least: i64, una: u32, next: u32) {
        if self.srtt == 0 {
            let variation = (2 * rtt).max(least);
            *self = Rounds { srtt: 8 * rtt, deviation: 2 * rtt, largest: variation, variation, end: next };
            return;
        }
        let error = rtt - (self.srtt >> 3);
        self.srtt = (self.srtt + error).max(1);
        let mut change = error.abs() - (self.deviation >> 2);
        if error < 0 && change > 0 {
            change >>= 3;
        }
        self.deviation += change;
        if self.deviation > self.largest {
            self.largest = self.deviation;
            self.variation = self.variation.max(self.largest);
        }
        if before(self.end, una) {
            self.variation -= (self.variation - self.largest).max(0) >> 2;
            self.end = next;
            self.largest = least;
        }
    }
}

impl Rtt {
    pub(crate) fn new(timers: &Timers) -> Rtt {
        let (base, timed_at) = (timers.initial_rto, Time::NEVER);
        Rtt { srtt: 0, rttvar: 0, base, min: Dur::ZERO, timed_at, timed: 0, doublings: 0 }
    }

    /// Starts timing segment `seq`, sent at `now`, if no segment is being timed.
    #[inline]
    pub(crate) fn time(&mut self, seq: u32, now: Time) {
        if self.timed_at == Time::NEVER {
            (self.timed, self.timed_at) = (seq, now);
        }
    }
    /// Stops timing.
    pub(crate) fn stop_timing(&mut self) {
        self.timed_at = Time::NEVER;
    }
    /// Stops timing if `seq` is the segment being timed.
    pub(crate) fn stop_timing_of(&mut self, seq: u32) {
        if self.timed == seq {
            self.timed_at = Time::NEVER;
        }
    }
    /// Stops timing if the timed segment is acknowledged, that is, before `next`. Returns the time at which the segment
    /// was sent; `None`: no segment is timed, or the timed segment is not acknowledged yet.
    #[inline]
    pub(crate) fn take_timed(&mut self, next: u32) -> Option<Time> {
        if self.timed_at == Time::NEVER || !before(self.timed, next) {
            return None;
        }
        Some(std::mem::replace(&mut self.timed_at, Time::NEVER))
    }

    /// Updates the estimates and the timeout with the round trip of a segment sent at `sent`. `echoed`: `sent` is the
    /// timestamp that the acknowledgement echoed; otherwise it is the result of [`Rtt::take_timed`].
    pub(crate) fn sample(&mut self, now: Time, sent: Time, echoed: bool, timers: &Timers) {
        let rtt = now.since(sent).max(Dur(1));
        self.min = if self.min == Dur::ZERO { rtt } else { self.min.min(rtt) };
        let rto = if timers.clock == Clock::Coarse {
            let tick = timers.granularity.0;
            let ticks = if echoed { (rtt.0 + tick / 2) / tick } else { now.0 / tick - sent.0 / tick };
            self.coarse_sample(ticks.max(1) as i64, timers.granularity)
        } else {
            self.fine_sample(rtt.0, timers.granularity)
        };
        self.base = rto.max(timers.min_rto).min(timers.max_rto);
    }

    /// Updates the estimates and the timeout with a round-trip time, with `form = "linux"` (`tcp_rtt_estimator`).
    /// `newest`: round-trip time of the newest segment, for the minimum (`tcp_update_rtt_min`); `una`: first segment not
    /// acknowledged; `next`: first segment never transmitted.
    pub(crate) fn sample_by_round(
        &mut self,
        rtt: Dur,
        newest: Dur,
        rounds: &mut Rounds,
        (una, next): (u32, u32),
        timers: &Timers,
    ) {
        let us = |time: Dur| (time.0 / Dur::from_us(1).0) as i64;
        self.min = if self.min == Dur::ZERO { newest } else { self.min.min(newest) };
        rounds.sample(us(rtt).max(1), us(timers.granularity), una, next);
        self.srtt = Dur::from_us(rounds.srtt as u64 >> 3).0.max(1);
        // `__tcp_set_rto`, in whole ticks.
        let rto = Dur::from_us(((rounds.srtt >> 3) + rounds.variation) as u64);
        let rto = Dur(timers.tick.map_or(rto.0, |tick| rto.0.div_ceil(tick.0) * tick.0));
        self.base = rto.clamp(timers.min_rto, timers.max_rto);
    }

    /// Updates the estimates (RFC 6298 sections 2.2 and 2.3). Returns the timeout before it is limited by `min-rto` and
    /// `max-rto`.
    fn fine_sample(&mut self, rtt: u64, tick: Dur) -> Dur {
        if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            self.rttvar = (3 * self.rttvar + self.srtt.abs_diff(rtt)) / 4;
            self.srtt = (7 * self.srtt + rtt) / 8;
        }
        Dur(self.srtt) + tick.max(Dur(self.rttvar) * 4)
    }

    /// Updates the estimates in BSD's scaled integers. Returns the timeout before it is limited by `min-rto` and
    /// `max-rto`.
    fn coarse_sample(&mut self, ticks: i64, tick: Dur) -> Dur {
        if self.srtt == 0 {
            self.srtt = (ticks as u64) << 3;
            self.rttvar = (ticks as u64) << 1;
        } else {
            let delta = ticks - (self.srtt >> 3) as i64;
            self.srtt = (self.srtt as i64 + delta).max(1) as u64;
            let delta = delta.abs() - (self.rttvar >> 2) as i64;
            self.rttvar = (self.rttvar as i64 + delta).max(1) as u64;
        }
        let ticks = (self.rttvar * 8 + self.srtt) >> 3;
        tick * ticks.max(2)
    }

    /// Doubles the timeout at an expiry (RFC 6298 section 5.5).
    pub(crate) fn back_off(&mut self, timers: &Timers) {
        self.doublings = (self.doublings + 1).min(20);
        if timers.clock == Clock::Coarse && self.doublings > 3 {
            // From the fourth expiry in a row on, BSD discards SRTT, so that the next sample initialises the estimates;
            // RFC 6298 section 5 allows it. Until that sample the timeout is not affected.
            self.srtt = 0;
        }
    }
    /// Ends the doubling when there is a sample of new data (Karn and Partridge 1987).
    pub(crate) fn reset_back_off(&mut self) {
        self.doublings = 0;
    }
    /// Returns `true` if the timeout is doubled.
    pub(crate) fn is_backed_off(&self) -> bool {
        self.doublings > 0
    }
    /// Returns the number of doublings of the timeout, 0 to 20.
    pub(crate) fn doublings(&self) -> u8 {
        self.doublings
    }
    /// Sets the timeout for data to 3 s, after a lost SYN (RFC 6298 section 5.7).
    pub(crate) fn after_lost_syn(&mut self, timers: &Timers) {
        self.base = Dur::from_secs(3).max(timers.min_rto).min(timers.max_rto);
    }

    /// Returns the smoothed round-trip time; zero before the first sample.
    #[inline]
    pub(crate) fn srtt(&self, timers: &Timers) -> Dur {
        match timers.clock {
            Clock::Coarse => Dur((timers.granularity.0 >> 3).max(1)) * self.srtt,
            Clock::Fine => Dur(self.srtt),
        }
    }
    /// Returns the minimum round-trip time; zero before the first sample.
    #[inline]
    pub(crate) fn min(&self) -> Dur {
        self.min
    }
    /// Returns the timeout before doubling.
    #[inline]
    pub(crate) fn base(&self) -> Dur {
        self.base
    }
    /// Returns the timeout after doubling, at most `max-rto`.
    #[inline]
    pub(crate) fn rto(&self, timers: &Timers) -> Dur {
        if self.doublings == 0 { self.base } else { (self.base * (1 << self.doublings)).min(timers.max_rto) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Form;

    const MS: fn(u64) -> Dur = Dur::from_ms;

    fn at(ms: u64) -> Time {
        Time::ZERO + MS(ms)
    }

    /// Returns the timeout of RFC 6298 after `samples`, computed in real numbers; all arguments and the result in
    /// seconds.
    fn reference(samples: &[f64], g: f64, floor: f64) -> f64 {
        let (mut srtt, mut var) = (samples[0], samples[0] / 2.0);
        for r in &samples[1..] {
            var = 0.75 * var + 0.25 * (srtt - r).abs();
            srtt = 0.875 * srtt + 0.125 * r;
        }
        (srtt + f64::max(g, 4.0 * var)).max(floor)
    }

    // RFC 6298 sections 2.1, 2.2 and 2.3.
    #[test]
    fn a_fine_timeout_is_that_of_rfc_6298() {
        let timers = Timers { min_rto: MS(1), ..Timers::default() };
        let mut rtt = Rtt::new(&timers);
        assert_eq!(rtt.rto(&timers), MS(1000));
        let mut samples = Vec::new();
        for (i, ms) in [100, 100, 250, 80, 90, 1000, 100, 100, 100, 40].into_iter().enumerate() {
            let sent = at(10_000 * i as u64);
            rtt.sample(sent + MS(ms), sent, true, &timers);
            samples.push(ms as f64 * 1e-3);
            let want = reference(&samples, 1e-3, 1e-3);
            assert!((rtt.rto(&timers).as_secs() - want).abs() < 1e-9, "after {samples:?}");
        }
        assert_eq!(rtt.min(), MS(40));
    }

    // RFC 6298 section 2.2: SRTT = R and RTTVAR = R/2, so RTO = R + 4·R/2 = 3R; the term 4·RTTVAR is at least the
    // granularity.
    #[test]
    fn the_first_timeout_is_three_times_the_sample_and_respects_min_rto_and_granularity() {
        let timers = Timers::default();
        let mut rtt = Rtt::new(&timers);
        rtt.sample(at(100), at(0), true, &timers);
        assert_eq!(rtt.rto(&timers), MS(300));
        let mut rtt = Rtt::new(&timers);
        rtt.sample(at(10), at(0), true, &timers);
        assert_eq!(rtt.rto(&timers), MS(200));
        let timers = Timers { granularity: MS(500), ..Timers::default() };
        let mut rtt = Rtt::new(&timers);
        rtt.sample(at(10), at(0), true, &timers);
        assert_eq!(rtt.rto(&timers), MS(510));
    }

    /// `tcp_rtt_estimator`, in microseconds: after 100 ms the deviation is 4·50 ms, and RTTVAR's four times 200 ms at least.
    /// 60 ms: SRTT 95 ms; |−40| − 50 = −10 ms, deviation 190 ms. 400 ms: SRTT 95 + 305/8 = 133.125 ms; 305 − 47.5 = 257.5
    /// ms, deviation 447.5 ms, which RTTVAR follows at once. 33.125 ms: |−100| − 111.875 = −11.875 ms, deviation 435.625 ms.
    /// A round trip later RTTVAR falls by a quarter of its distance from the largest deviation of that round trip. All
    /// timeouts are rounded up to ticks.
    #[test]
    fn the_variation_of_linux_falls_once_a_round_trip() {
        let timers = Timers { granularity: MS(200), form: Form::Linux, tick: Some(MS(10)), ..Timers::default() };
        let (mut rtt, mut rounds) = (Rtt::new(&timers), Rounds::default());
        for (us, una, srtt, variation, rto) in [
            (100_000, 1, 100_000, 200_000, 300),
            (60_000, 5, 95_000, 200_000, 300),
            (400_000, 5, 133_125, 447_500, 590),
            // The deviation 435.625 ms is the largest since: 447.5 − 0/4.
            (33_125, 11, 120_625, 447_500, 570),
            // Deviation 435.625 − 108.906 = 326.719 ms, the largest of its round trip: 447.5 − (447.5 − 326.719)/4.
            (120_625, 111, 120_625, 417_305, 540),
        ] {
            let sample = Dur::from_us(us);
            rtt.sample_by_round(sample, sample, &mut rounds, (una, 10 * una), &timers);
            let found = (rtt.srtt(&timers), rounds.variation, rtt.rto(&timers));
            assert_eq!(found, (Dur::from_us(srtt), variation, MS(rto)), "{us} us");
        }
        assert_eq!(rtt.min(), Dur::from_us(33_125));
    }

    // RFC 6298 section 5.5, with the upper bound of RFC 6298 section 2.5.
    #[test]
    fn doubling_stops_at_max_rto() {
        let timers = Timers { max_rto: Dur::from_secs(5), ..Timers::default() };
        let mut rtt = Rtt::new(&timers);
        let mut timeouts = Vec::new();
        for _ in 0..5 {
            timeouts.push(rtt.rto(&timers));
            rtt.back_off(&timers);
        }
        assert_eq!(timeouts, [1000, 2000, 4000, 5000, 5000].map(MS));
        rtt.reset_back_off();
        assert_eq!(rtt.rto(&timers), MS(1000));
    }

    #[test]
    fn a_coarse_clock_counts_the_ticks_that_pass_and_at_least_one() {
        let timers = Timers { granularity: MS(100), clock: Clock::Coarse, min_rto: MS(1), ..Timers::default() };
        // One tick passes from 95 ms to 105 ms. None passes from 105 ms to 195 ms, but at least 1 is counted.
        for (sent, received) in [(95, 105), (105, 195)] {
            let mut rtt = Rtt::new(&timers);
            rtt.sample(at(received), at(sent), false, &timers);
            // SRTT is 8 eighths and RTTVAR 2 quarters of a tick: (2·8 + 8) >> 3 = 3 ticks.
            assert_eq!(rtt.rto(&timers), MS(300));
        }
        let mut rtt = Rtt::new(&timers);
        for i in 0..40 {
            rtt.sample(at(1_000 * i + 20), at(1_000 * i), false, &timers);
        }
        // Integer division keeps RTTVAR from falling once it is 3 quarters or less: it stays at its initial 2.
        assert_eq!(rtt.rto(&timers), MS(300));
    }

    /// Jacobson 1988, appendix A, with timestamps: the round-trip time is rounded to ticks. SRTT is in eighths and RTTVAR
    /// in quarters of a tick; the timeout is SRTT + 4 RTTVAR in whole ticks.
    #[test]
    fn a_coarse_timeout_is_that_of_bsd_s_integers() {
        let timers = Timers { granularity: MS(100), clock: Clock::Coarse, min_rto: MS(1), ..Timers::default() };
        let mut rtt = Rtt::new(&timers);
        for (ms, srtt, rto) in [
            // 4 ticks: SRTT 32 eighths, RTTVAR 8 quarters, (64 + 32)/8 = 12 ticks.
            (449, 32, 1_200),
            // 8 ticks, 4 more than SRTT: SRTT 36, RTTVAR 8 + 4 - 2 = 10, (80 + 36)/8 = 14.5 ticks.
            (750, 36, 1_400),
            // 1 tick, 3 fewer than SRTT: SRTT 33, RTTVAR 10 + 3 - 2 = 11, (88 + 33)/8 = 15.1 ticks.
            (149, 33, 1_500),
            // 2 ticks: SRTT 31, RTTVAR 11 + 2 - 2 = 11, (88 + 31)/8 = 14.9 ticks.
            (150, 31, 1_400),
        ] {
            rtt.sample(at(10_000 + ms), at(10_000), true, &timers);
            assert_eq!((rtt.srtt(&timers), rtt.rto(&timers)), (Dur(12_500_000_000) * srtt, MS(rto)), "{ms} ms");
        }
        assert_eq!(rtt.base(), MS(1_400));
        // The third expiry keeps SRTT, and the fourth discards it: the next sample is like the first one.
        for expiry in 1..=4 {
            rtt.back_off(&timers);
            assert_eq!(rtt.srtt(&timers) == Dur::ZERO, expiry == 4);
        }
        assert_eq!(rtt.rto(&timers), MS(1_400 * 16));
        rtt.reset_back_off();
        rtt.sample(at(400), at(0), true, &timers);
        assert_eq!(rtt.rto(&timers), MS(1_200));
        // The shortest tick whose eighth is a whole number of picoseconds.
        let timers = Timers { granularity: Dur(8), ..timers };
        let mut rtt = Rtt::new(&timers);
        rtt.sample(Time(32), Time(0), true, &timers);
        assert_eq!(rtt.srtt(&timers), Dur(32));
    }

    #[test]
    fn a_timeout_is_doubled_at_most_20_times() {
        let timers = Timers { min_rto: Dur::from_us(1), granularity: Dur::from_us(1), ..Timers::default() };
        let mut rtt = Rtt::new(&timers);
        // RFC 6298 section 2.2: three times the first sample.
        rtt.sample(at(0) + Dur::from_us(1), at(0), true, &timers);
        (0..30).for_each(|_| rtt.back_off(&timers));
        assert_eq!(rtt.rto(&timers), Dur::from_us(3) * (1 << 20));
    }

    /// RFC 6298 section 3: one segment at a time is timed, and a retransmission of another one does not stop it. A
    /// round-trip time is at least 1 ps, since zero would be no sample.
    #[test]
    fn one_segment_is_timed_until_it_is_acknowledged_or_retransmitted() {
        let mut rtt = Rtt::new(&Timers::default());
        rtt.time(5, at(100));
        rtt.time(6, at(101));
        rtt.stop_timing_of(6);
        assert_eq!((rtt.take_timed(5), rtt.take_timed(6), rtt.take_timed(7)), (None, Some(at(100)), None));
        rtt.time(7, at(102));
        rtt.stop_timing_of(7);
        assert_eq!(rtt.take_timed(8), None);
        rtt.sample(at(1), at(1), true, &Timers::default());
        assert_eq!(rtt.min(), Dur(1));
    }
}
