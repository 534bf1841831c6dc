//! Delay variation of one stream of packets: RFC 3550's interarrival jitter, the two forms of RFC 5481, and the loss
//! runs of the E-model.
//!
//! Jitter and variation depend only on differences of delays, so that the clocks at the two ends need not agree. All
//! times are in picoseconds.

use crate::Sketch;

/// Delay variation of one stream, fed with its packets in order of arrival.
///
/// Memory: about 60 bytes and two sketches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variation {
    /// Delay and number of the previous packet; `None`: no packet yet.
    last: Option<(u64, u32)>,
    /// The jitter times 16, the integer form of appendix A.8 of RFC 3550.
    scaled: u64,
    /// Sum of `scaled` over the packets.
    scaled_sum: u128,
    /// Number of packets with a predecessor.
    pairs: u64,
    delays: Sketch,
    differences: Sketch,
    /// Number of runs of consecutive losses between packets that arrived in order.
    pub runs: u64,
    /// Number of packets in the runs of losses.
    pub lost: u64,
}

impl Variation {
    /// Records packet number `seq` of the stream, which wraps at 2^32, with its delay in picoseconds.
    pub fn record(&mut self, seq: u32, delay: u64) {
        self.delays.record(delay);
        if let Some((before, number)) = self.last {
            let difference = delay.abs_diff(before);
            // J += (|D| - J) / 16 (RFC 3550 section 6.4.1), for packets that arrive one after the other.
            self.scaled = self.scaled + difference - ((self.scaled + 8) >> 4);
            self.scaled_sum += u128::from(self.scaled);
            self.pairs += 1;
            let missing = seq.wrapping_sub(number).wrapping_sub(1);
            if missing == 0 {
                // RFC 5481 section 3.2: IPDV is defined for packets sent one after the other, if neither is lost.
                self.differences.record(difference);
            } else if missing <= u32::MAX / 2 {
                self.runs += 1;
                self.lost += u64::from(missing);
            }
        }
        self.last = Some((delay, seq));
    }

    /// Returns RFC 3550's interarrival jitter after the last packet, picoseconds.
    pub fn jitter(&self) -> u64 {
        self.scaled >> 4
    }

    /// Returns the mean over all packets but the first of the jitter after each, picoseconds; `None`: fewer than two
    /// packets.
    pub fn mean_jitter(&self) -> Option<f64> {
        (self.pairs > 0).then(|| self.scaled_sum as f64 / self.pairs as f64 / 16.0)
    }

    /// Returns the delays of all packets.
    pub fn delays(&self) -> &Sketch {
        &self.delays
    }

    /// Returns the differences |D(i) - D(i-1)| of packets sent consecutively (RFC 5481's IPDV without its sign).
    pub fn differences(&self) -> &Sketch {
        &self.differences
    }

    /// Returns the packet delay variation at `q`, 0 to 1: that quantile of the delay minus the minimum delay (RFC 5481
    /// section 3.3, PDV), picoseconds; `None`: no packets.
    pub fn pdv(&self, q: f64) -> Option<u64> {
        Some(self.delays.quantile(q)? - self.delays.min()?)
    }

    /// Returns the mean length of the loss runs relative to that of independent losses of the same frequency (BurstR of
    /// ITU-T G.107), above 1 for bursty losses; `None`: no losses.
    pub fn burst_ratio(&self) -> Option<f64> {
        let (lost, arrived) = (self.lost as f64, self.delays.count() as f64);
        (self.runs > 0).then(|| lost / self.runs as f64 * (arrived / (arrived + lost)))
    }

    /// Merges the counts of another stream. Means and distributions become those of both streams, in which each packet
    /// is compared with its predecessor in its own stream; [`Variation::jitter`] becomes the sum of the two.
    pub fn merge(&mut self, other: &Variation) {
        self.last = None;
        self.scaled += other.scaled;
        self.scaled_sum += other.scaled_sum;
        self.pairs += other.pairs;
        self.delays.merge(&other.delays);
        self.differences.merge(&other.differences);
        self.runs += other.runs;
        self.lost += other.lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    const MS: u64 = 1_000_000_000;

    #[test]
    fn a_constant_delay_has_no_variation_of_any_kind() {
        let mut v = Variation::default();
        (0..1000).for_each(|i| v.record(i, 7 * MS));
        assert_eq!((v.jitter(), v.mean_jitter(), v.pdv(0.999)), (0, Some(0.0), Some(0)));
        assert_eq!((v.differences().max(), v.burst_ratio()), (Some(0), None));
    }

    #[test]
    fn the_jitter_of_delays_that_alternate_tends_to_their_difference() {
        let mut v = Variation::default();
        for i in 0..10_000 {
            v.record(i, if i % 2 == 0 { 5 * MS } else { 8 * MS });
        }
        assert!(v.jitter().abs_diff(3 * MS) <= 16, "J = {}", v.jitter());
        assert_eq!(v.pdv(1.0), Some(3 * MS));
        assert!(v.pdv(0.4).is_some_and(|low| low < 5 * MS / 256), "above a sketch's relative error of 1/256");
        assert_eq!(v.differences().min(), Some(3 * MS));
    }

    #[test]
    fn the_integer_form_of_the_jitter_follows_the_formula_in_floating_point() {
        let (mut v, mut rng) = (Variation::default(), Rng::named(3, "jitter"));
        let (mut real, mut sum, mut last) = (0.0, 0.0, None);
        for i in 0..5000 {
            let delay = rng.below(20 * MS);
            if let Some(last) = last {
                real += (delay.abs_diff(last) as f64 - real) / 16.0;
                sum += real;
            }
            last = Some(delay);
            v.record(i, delay);
        }
        assert!((v.jitter() as f64 - real).abs() < 32.0, "{} and {real}", v.jitter());
        let mean = v.mean_jitter().expect("packets");
        assert!((mean - sum / 4999.0).abs() < 32.0, "{mean}");
    }

    #[test]
    fn independent_losses_have_a_burst_ratio_of_one_and_losses_in_pairs_of_two() {
        let (mut alone, mut rng) = (Variation::default(), Rng::named(4, "losses"));
        (0..200_000).filter(|_| !rng.chance(0.2)).for_each(|i| alone.record(i, MS));
        let ratio = alone.burst_ratio().expect("losses");
        assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
        let mut pairs = Variation::default();
        (0..200_000).filter(|i| i % 100 > 1).for_each(|i| pairs.record(i, MS));
        // Runs of 2, at a loss of 2 %: BurstR is 2 times the share of packets that arrive.
        let ratio = pairs.burst_ratio().expect("losses");
        assert!((ratio - 2.0 * 0.98).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn lost_and_late_packets_form_no_consecutive_pairs() {
        let mut v = Variation::default();
        for (seq, delay) in [(0, 1), (1, 2), (4, 9), (3, 5), (5, 6)] {
            v.record(seq, delay * MS);
        }
        // Only 0 and 1 were sent consecutively and arrived in order; 4 reveals the loss of 2 and 3, and 5 that of 4.
        assert_eq!(v.differences().count(), 1);
        assert_eq!((v.runs, v.lost), (2, 3));
    }
}
