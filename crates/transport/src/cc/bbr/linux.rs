//! Parts of Linux's BBR that the draft of version 1 does not have: the allowance for aggregated acknowledgements, and the
//! long-term rate behind a policer (Linux 6.1, `net/ipv4/tcp_bbr.c`).

use super::super::Acked;
use tailback_units::{Dur, Time};

/// Difference of the pacing rate from the estimate, per cent (`bbr_pacing_margin_percent`).
const MARGIN_PERCENT: u64 = 1;
/// Pacing rate below which a burst may have one segment, byte/s (`bbr_min_tso_rate` of 1.2 Mbit/s).
const LEAST_BURST_RATE: f64 = 150_000.0;
/// Largest burst, bytes (`GSO_LEGACY_MAX_SIZE` minus the largest headers).
const MOST_BURST: f64 = 65_536.0 - 1.0 - 320.0;
/// Number of rounds in each half of the filter of aggregation (`bbr_extra_acked_win_rtts`).
const AGGREGATION_ROUNDS: u32 = 5;
/// Number of segments after which an epoch of aggregation ends (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH: u32 = 1 << 20;
/// Maximum of the allowance, as a time at the bandwidth (`bbr_extra_acked_max_us`).
const MOST_AGGREGATION: Dur = Dur::from_ms(100);
/// Least and largest number of rounds of an interval of the long-term rate (`bbr_lt_intvl_min_rtts`).
const INTERVAL: [u32; 2] = [4, 16];
/// Fraction of lost to delivered segments of a policed interval (`bbr_lt_loss_thresh` of 50/256).
const POLICED_LOSS: f64 = 50.0 / 256.0;
/// Relative difference of two consistent rates (`bbr_lt_bw_ratio`).
const CONSISTENT: f64 = 0.125;
/// Difference of two consistent rates, bit/s (`bbr_lt_bw_diff`).
const CONSISTENT_BPS: f64 = 4_000.0;
/// Number of rounds in ProbeBW during which the long-term rate is used (`bbr_lt_bw_max_rtts`).
const USED_ROUNDS: u32 = 48;

/// Units of the bandwidth in a segment per microsecond (`BW_UNIT`).
const UNITS: u64 = 1 << 24;
/// Microseconds in a second.
const MICROSECONDS: u64 = 1_000_000;

/// Returns the bandwidth of `segments` in a time, segments per second, in whole units of Linux.
pub(super) fn rate(segments: u64, interval: Dur) -> f64 {
    in_seconds(segments * UNITS / microseconds(interval).max(1))
}

/// Returns the whole microseconds of a time.
fn microseconds(time: Dur) -> u64 {
    time.0 / Dur::from_us(1).0
}

/// Returns a bandwidth in segments per second from units.
fn in_seconds(units: u64) -> f64 {
    (units * MICROSECONDS) as f64 / UNITS as f64
}

/// Returns the units of a bandwidth in segments per second that `rate` or `in_seconds` has returned.
fn units(bandwidth: f64) -> u64 {
    (bandwidth * UNITS as f64 / MICROSECONDS as f64).round() as u64
}

/// Returns a gain in units of 1/256 (`BBR_UNIT`).
fn gain_units(gain: f64) -> u64 {
    (gain * 256.0).round() as u64
}

/// Returns `gain` times the bandwidth minus the margin as a pacing rate, in segments of `payload` bytes per second and whole
/// bytes per second (`bbr_rate_bytes_per_sec`).
pub(super) fn pacing(gain: f64, bandwidth: f64, payload: f64) -> f64 {
    let gained = (u128::from(units(bandwidth)) * payload as u128 * u128::from(gain_units(gain))) >> 8;
    let bytes = (gained * u128::from(MICROSECONDS / 100 * (100 - MARGIN_PERCENT))) / u128::from(UNITS);
    bytes as f64 / payload
}

/// Returns `gain` times the product of the bandwidth and the round-trip time, rounded up, segments (`bbr_bdp`).
pub(super) fn product(gain: f64, bandwidth: f64, rtt: Dur) -> f64 {
    let product = u128::from(units(bandwidth)) * u128::from(microseconds(rtt)) * u128::from(gain_units(gain));
    (product >> 8).div_ceil(u128::from(UNITS)) as f64
}

/// Returns the segments delivered in a time at the bandwidth, rounded down.
pub(super) fn delivered_in(bandwidth: f64, time: Dur) -> f64 {
    (u128::from(units(bandwidth)) * u128::from(microseconds(time)) / u128::from(UNITS)) as f64
}

/// Returns the number of segments of `payload` bytes in a burst at a pacing rate, segments per second
/// (`bbr_tso_segs_goal`, with `sk_pacing_shift` of 10 bits).
pub(super) fn burst(pacing_rate: f64, payload: f64) -> f64 {
    let bytes = (pacing_rate * payload).round();
    let least = if bytes < LEAST_BURST_RATE { 1.0 } else { 2.0 };
    ((bytes / 1024.0).floor().min(MOST_BURST) / payload).floor().max(least).min(127.0)
}

/// State beyond that of the draft.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Linux {
    aggregation: Aggregation,
    policer: Policer,
    /// Number of segments considered lost since the start.
    lost: u64,
}

/// Segments acknowledged beyond those expected at the bandwidth (`bbr_update_ack_aggregation`).
#[derive(Clone, Copy, Debug, Default)]
struct Aggregation {
    /// Start of the epoch (`ack_epoch_mstamp`).
    epoch: Time,
    /// Number of segments acknowledged in the epoch (`ack_epoch_acked`).
    acked: u32,
    /// Maxima of the current and of the last half of the filter, segments (`extra_acked`).
    extra: [u32; 2],
    /// Number of rounds of the current half (`extra_acked_win_rtts`).
    rounds: u32,
}

/// Long-term rate behind a policer (`bbr_lt_bw_sampling`).
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    /// Rate of the last interval, segments per second; 0: there is none (`lt_bw`).
    rate: f64,
    /// `true` if the rate is used in place of the bandwidth (`lt_use_bw`).
    used: bool,
    /// `true` while an interval is measured (`lt_is_sampling`).
    samples: bool,
    /// Number of rounds of the interval, or of the use (`lt_rtt_cnt`).
    rounds: u32,
    /// Start of the interval (`lt_last_stamp`).
    from: Time,
    /// Segments delivered and lost at the start of the interval (`lt_last_delivered`, `lt_last_lost`).
    before: [u64; 2],
}

/// State of the connection that the parts read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// Number of segments delivered since the start.
    pub delivered: u64,
    /// `true` if a round starts with this acknowledgement.
    pub round: bool,
    /// `true` in ProbeBW.
    pub probes_bandwidth: bool,
    /// Payload of a full segment, bits.
    pub bits: f64,
    /// Maximum of the filter of the bandwidth, segments per second.
    pub bandwidth: f64,
    /// Congestion window, segments.
    pub cwnd: f64,
}

impl Linux {
    /// Returns the bandwidth that the model uses, segments per second (`bbr_bw`).
    pub fn bandwidth(&self, measured: f64) -> f64 {
        if self.policer.used { self.policer.rate } else { measured }
    }

    /// Returns `true` if the gain of ProbeBW is 1, since the path is policed (`bbr_update_gains`).
    pub fn is_policed(&self) -> bool {
        self.policer.used
    }

    /// Returns the allowance for aggregated acknowledgements, segments (`bbr_ack_aggregation_cwnd`).
    pub fn allowance(&self, bandwidth: f64) -> f64 {
        let [current, last] = self.aggregation.extra;
        f64::from(current.max(last)).min(delivered_in(bandwidth, MOST_AGGREGATION))
    }

    /// Processes an idle time before a transmission (`bbr_cwnd_event`).
    pub fn restart(&mut self, now: Time) {
        self.aggregation.epoch = now;
        self.aggregation.acked = 0;
    }

    /// Processes a loss that an expiry of the timer reports (`bbr_set_state`). Returns `true` if the use of the long-term
    /// rate ends.
    pub fn on_expiry(&mut self, at: Time, now: &Now) -> bool {
        self.policer.update(at, 1, false, self.lost, &Now { round: true, ..*now })
    }

    /// Processes an undone recovery (`bbr_undo_cwnd`).
    pub fn on_spurious(&mut self, at: Time, delivered: u64) {
        self.policer.reset(at, [delivered, self.lost]);
    }

    /// Counts segments newly considered lost.
    pub fn count_lost(&mut self, lost: u32) {
        self.lost += u64::from(lost);
    }

    /// Processes an acknowledgement with a valid sample, before the bandwidth is updated. `limited`: the application or
    /// ProbeRTT limits the sample. Returns `true` if the use of the long-term rate ends, so that the cycle of ProbeBW
    /// begins again.
    pub fn on_sample(&mut self, acked: &Acked, limited: bool, now: &Now) -> bool {
        self.policer.update(acked.now, acked.lost, limited, self.lost, now)
    }

    /// Updates the filter of aggregation, after the bandwidth.
    pub fn aggregate(&mut self, acked: &Acked, now: &Now) {
        let bandwidth = self.bandwidth(now.bandwidth);
        self.aggregation.update(acked.now, acked.delivered, bandwidth, now);
    }
}

impl Aggregation {
    fn update(&mut self, at: Time, acked: u32, bandwidth: f64, now: &Now) {
        if now.round {
            self.rounds += 1;
            if self.rounds >= AGGREGATION_ROUNDS {
                self.rounds = 0;
                let [current, _] = self.extra;
                self.extra = [0, current];
            }
        }
        let mut expected = delivered_in(bandwidth, at.since(self.epoch)) as u32;
        if self.acked <= expected || self.acked + acked >= EPOCH {
            self.acked = 0;
            self.epoch = at;
            expected = 0;
        }
        self.acked += acked;
        let extra = f64::from(self.acked - expected).min(now.cwnd) as u32;
        let [current, _] = &mut self.extra;
        *current = extra.max(*current);
    }
}

impl Policer {
    /// Starts an interval (`bbr_reset_lt_bw_sampling_interval`).
    fn restart(&mut self, at: Time, before: [u64; 2]) {
        self.from = at;
        self.before = before;
        self.rounds = 0;
    }

    /// Discards the rate (`bbr_reset_lt_bw_sampling`).
    fn reset(&mut self, at: Time, before: [u64; 2]) {
        *self = Policer::default();
        self.restart(at, before);
    }

    /// Processes an acknowledgement with `losses` new losses; `total`: losses since the start. Returns `true` if the use
    /// of the rate ends.
    fn update(&mut self, at: Time, losses: u32, app_limited: bool, total: u64, now: &Now) -> bool {
        let counts = [now.delivered, total];
        if self.used {
            self.rounds += u32::from(now.probes_bandwidth && now.round);
            let ends = self.rounds >= USED_ROUNDS;
            if ends {
                self.reset(at, counts);
            }
            return ends;
        }
        if !self.samples {
            if losses == 0 {
                return false;
            }
            self.restart(at, counts);
            self.samples = true;
        }
        if app_limited {
            self.reset(at, counts);
            return false;
        }
        self.rounds += u32::from(now.round);
        let [least, most] = INTERVAL;
        if self.rounds > most {
            self.reset(at, counts);
            return false;
        }
        let [delivered, lost] = [0, 1].map(|i| (counts[i] - self.before[i]) as f64);
        // Times are in ms.
        let ms = |time: Time| time.0 / Dur::from_ms(1).0;
        let elapsed = Dur::from_ms(ms(at) - ms(self.from));
        let short = self.rounds < least || elapsed < Dur::from_ms(1);
        if short || losses == 0 || delivered == 0.0 || lost < POLICED_LOSS * delivered {
            return false;
        }
        let rate = rate(delivered as u64, elapsed);
        let difference = (rate - self.rate).abs();
        if self.rate > 0.0 && (difference <= CONSISTENT * self.rate || difference * now.bits <= CONSISTENT_BPS) {
            self.rate = in_seconds(units(rate).midpoint(units(self.rate)));
            self.used = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
            self.restart(at, counts);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_ms(ms)
    }

    fn now(delivered: u64) -> Now {
        Now { delivered, round: true, probes_bandwidth: true, bits: 1e4, bandwidth: 1_000.0, cwnd: 100.0 }
    }

    /// `bbr_rate_bytes_per_sec`, `bbr_bdp`, by hand: 10 segments in 96.298 ms are 10 · 2^24 / 96 298 = 1742 units, rounded
    /// down. With the gain 739/256 and payloads of 1448 B: 1742 · 1448 · 739 / 256 = 7 281 505, times 990 000 / 2^24 =
    /// 429 671 B/s. With a gain of 2 and 100 ms: 1742 · 100 000 · 2 / 2^24 = 20.77, rounded up.
    #[test]
    fn rates_and_windows_are_whole_units() {
        let bandwidth = rate(10, Dur::from_us(96_298));
        assert_eq!(units(bandwidth), 1_742);
        assert_eq!((pacing(739.0 / 256.0, bandwidth, 1_448.0) * 1_448.0).round(), 429_671.0);
        assert_eq!(product(2.0, bandwidth, Dur::from_ms(100)), 21.0);
        // Below 150 kB/s a burst has one segment, and then at least two; at 10 MB/s 10^7 / 1024 / 1448 = 6.7.
        assert_eq!([149_999.0, 150_001.0, 1e7].map(|bytes| burst(bytes / 1_448.0, 1_448.0)), [1.0, 2.0, 6.0]);
    }

    /// `bbr_update_ack_aggregation`: 12 unexpected segments at once, and 8 in the next 4 ms, in which 4
    /// were expected: 20 − 4 = 16 segments more. After 10 rounds the maximum is forgotten.
    #[test]
    fn the_allowance_is_the_largest_number_of_segments_beyond_those_expected() {
        // 16 778 of 2^24 units: 1000.04 segments per second.
        let bandwidth = in_seconds(16_778);
        let mut linux = Linux::default();
        linux.aggregation.update(at(1_000), 12, bandwidth, &now(0));
        assert_eq!(linux.allowance(bandwidth), 12.0);
        linux.aggregation.update(at(1_004), 8, bandwidth, &now(0));
        assert_eq!(linux.allowance(bandwidth), 16.0);
        // At most 100 ms at the bandwidth, rounded down: 839 units are 50.01 segments per second, and 838 less than 50.
        assert_eq!([839, 838].map(|units| linux.allowance(in_seconds(units))), [5.0, 4.0]);
        for round in 2..9 {
            linux.aggregation.update(at(1_004 + 100 * round), 1, bandwidth, &now(0));
            assert_eq!(linux.allowance(bandwidth), 16.0, "round {round}");
        }
        linux.aggregation.update(at(2_100), 1, bandwidth, &now(0));
        assert_eq!(linux.allowance(bandwidth), 1.0);
    }

    /// `bbr_lt_bw_sampling`: two intervals of at least 4 rounds with more than 50/256 lost and rates of 100 and 110
    /// segments per second; their mean is used for 48 rounds.
    #[test]
    fn two_consistent_lossy_intervals_give_a_long_term_rate_for_48_rounds() {
        let mut policer = Policer::default();
        let mut step = |ms: u64, losses: u32, delivered: u64, total: u64| {
            let ends = policer.update(at(ms), losses, false, total, &now(delivered));
            (policer.used, ends)
        };
        assert_eq!(step(0, 0, 0, 0), (false, false));
        assert_eq!(step(1_000, 1, 50, 1), (false, false));
        for i in 1..3 {
            step(1_000 + 250 * i, 1, 50 + 25 * i, 1 + 6 * i);
        }
        // The interval from 1 s on has 4 rounds: the first of 100 segments delivered and 24 lost in 1 s.
        assert_eq!(step(2_000, 1, 150, 25), (false, false));
        for i in 1..4 {
            step(2_000 + 250 * i, 1, 150 + 27 * i, 25 + 6 * i);
        }
        assert_eq!(step(3_000, 1, 260, 50), (true, false));
        // Units: 100 · 2^24 / 10^6 = 1677.7, 110 · 2^24 / 10^6 = 1845.5, and their mean, each rounded down.
        assert_eq!(policer.rate, in_seconds(1_761));
        for i in 0..47 {
            assert!(!policer.update(at(3_100 + i), 0, false, 50, &now(260)));
        }
        assert!(policer.update(at(3_200), 0, false, 50, &now(260)));
        assert!(!policer.used);
    }

    /// `bbr_lt_bw_sampling`: an interval with fewer losses, and one of an application without data, give no rate.
    #[test]
    fn an_interval_with_few_losses_or_without_data_gives_no_rate() {
        let mut policer = Policer::default();
        policer.update(at(0), 1, false, 1, &now(0));
        for i in 1..8 {
            policer.update(at(250 * i), 1, false, 1 + i, &now(25 * i));
        }
        assert_eq!(policer.rate, 0.0);
        policer.update(at(3_000), 1, true, 20, &now(300));
        assert!(!policer.samples);
    }
}
