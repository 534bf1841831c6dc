//! Windows of whole segments, as in Linux (`form = "linux"`): Linux 6.1, `net/ipv4/tcp_cong.c`.

use super::{Congestion, Window};

/// Growth of a window of whole segments by a count of acknowledged segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Whole {
    /// Number of segments acknowledged since the window last grew in congestion avoidance (`snd_cwnd_cnt`).
    count: u32,
}

impl Whole {
    /// Grows the window by `acked` segments, at most to the threshold; returns the number of segments left
    /// (`tcp_slow_start`).
    pub fn slow_start(window: &mut Window, acked: u32) -> u32 {
        let grown = f64::min(window.cwnd + f64::from(acked), window.ssthresh).max(window.cwnd);
        let rest = acked - (grown - window.cwnd) as u32;
        window.cwnd = grown;
        rest
    }

    /// Grows the window by one segment for each `per` segments acknowledged (`tcp_cong_avoid_ai`).
    pub fn avoid(&mut self, window: &mut Window, per: u32, acked: u32) {
        let per = per.max(1);
        if self.count >= per {
            // Counted while more segments were needed.
            self.count = 0;
            window.cwnd += 1.0;
        }
        self.count += acked;
        window.cwnd += f64::from(self.count / per);
        self.count %= per;
    }

    /// Grows the window as Reno does (`tcp_reno_cong_avoid`).
    pub fn reno(&mut self, window: &mut Window, mut acked: u32) {
        if window.cwnd < window.ssthresh {
            acked = Whole::slow_start(window, acked);
        }
        if acked > 0 {
            self.avoid(window, window.cwnd as u32, acked);
        }
    }

    /// Restarts the count, at a reduction or an expiry of the retransmission timer (`tcp_init_cwnd_reduction`,
    /// `tcp_enter_loss`).
    pub fn restart(&mut self) {
        self.count = 0;
    }

    /// Reduces the threshold and, at an echo, the window to it.
    pub fn reduce(&mut self, window: &mut Window, ssthresh: f64, sign: Congestion) {
        self.restart();
        window.ssthresh = ssthresh;
        if sign == Congestion::Ecn {
            // After a timeout the window may be below the threshold; an echo must not raise it.
            window.cwnd = ssthresh.min(window.cwnd);
        }
    }
}

/// Returns the window times `factor` in whole segments, at least 2 (`tcp_reno_ssthresh`).
pub(super) fn reduced(cwnd: f64, factor: f64) -> f64 {
    (cwnd * factor).floor().max(2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tcp_slow_start`: of 5 segments 3 lead to the threshold; the other 2 count in congestion avoidance.
    #[test]
    fn slow_start_ends_at_the_threshold_and_the_rest_counts_in_congestion_avoidance() {
        let (mut whole, mut window) = (Whole::default(), Window { cwnd: 4.0, ssthresh: 7.0 });
        whole.reno(&mut window, 5);
        assert_eq!((window.cwnd, whole.count), (7.0, 2));
        // `tcp_cong_avoid_ai`: 7 segments per segment.
        whole.reno(&mut window, 4);
        assert_eq!((window.cwnd, whole.count), (7.0, 6));
        whole.reno(&mut window, 1);
        assert_eq!((window.cwnd, whole.count), (8.0, 0));
        whole.reno(&mut window, 17);
        assert_eq!((window.cwnd, whole.count), (10.0, 1));
        let mut infinite = Window { cwnd: 10.0, ssthresh: f64::INFINITY };
        whole.reno(&mut infinite, 300);
        assert_eq!(infinite.cwnd, 310.0);
    }

    /// `tcp_cong_avoid_ai`: "If credits accumulated at a higher w, apply them gently now."
    #[test]
    fn a_count_above_a_smaller_period_grows_the_window_by_one() {
        let (mut whole, mut window) = (Whole { count: 30 }, Window { cwnd: 10.0, ssthresh: 5.0 });
        whole.avoid(&mut window, 10, 1);
        assert_eq!((window.cwnd, whole.count), (11.0, 1));
        whole.restart();
        whole.avoid(&mut window, 0, 2);
        assert_eq!((window.cwnd, whole.count), (13.0, 0));
    }

    /// `tcp_reno_ssthresh`: max(cwnd >> 1, 2).
    #[test]
    fn reductions_round_down_to_whole_segments_and_to_two_at_least() {
        assert_eq!([7.0, 4.0, 3.0, 1.0].map(|cwnd| reduced(cwnd, 0.5)), [3.0, 2.0, 2.0, 2.0]);
    }
}
