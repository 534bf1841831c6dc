//! Proportional rate reduction (RFC 9937, which replaces RFC 6937).

/// Counts of one recovery, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// Number of segments delivered in the recovery (prr_delivered).
    delivered: u32,
    /// Number of segments sent in the recovery (prr_out).
    pub out: u32,
    /// FlightSize at the start of the recovery (RecoverFS).
    recover_fs: u32,
}

impl Prr {
    /// Returns the counts at the start of a recovery with `flight` segments outstanding.
    pub fn begin(flight: u32) -> Prr {
        Prr { delivered: 0, out: 0, recover_fs: flight.max(1) }
    }

    /// Returns the number of segments that may be sent at an acknowledgement of `delivered` segments, with `pipe`
    /// segments in the network. `safe`: the acknowledgement advances and shows no new loss (safeACK of RFC 9937 section
    /// 6.2).
    pub fn send_count(&mut self, delivered: u32, pipe: u32, ssthresh: u32, safe: bool) -> u32 {
        self.delivered += delivered;
        let count = if pipe > ssthresh {
            let share = u64::from(self.delivered) * u64::from(ssthresh);
            (share.div_ceil(u64::from(self.recover_fs)) as u32).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + u32::from(safe);
            limit.min(ssthresh - pipe)
        };
        // At least the fast retransmit is sent.
        if self.out == 0 { count.max(1) } else { count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 section 4: with a window of 20, the first segment lost and an ssthresh of 10, every
    /// second acknowledgement sends a segment.
    #[test]
    fn one_loss_halves_the_rate_by_sending_on_every_second_acknowledgement() {
        let mut prr = Prr::begin(20);
        // At the start of recovery three segments have been delivered, one is lost, and one has been retransmitted.
        let mut pipe = 20 - 3 - 1 + 1;
        let mut sent = Vec::new();
        for _ in 0..14 {
            pipe -= 1;
            let n = prr.send_count(1, pipe, 10, false);
            prr.out += n;
            pipe += n;
            sent.push(n);
        }
        assert!(sent.windows(2).take(11).all(|w| w[0] + w[1] == 1), "{sent:?}");
        assert_eq!(pipe, 10, "{sent:?}");
    }

    // RFC 9937 section 6.2: safeACK.
    #[test]
    fn below_ssthresh_prr_sends_one_segment_more_than_delivered_only_with_a_safe_ack() {
        let mut prr = Prr::begin(20);
        assert_eq!(prr.send_count(1, 3, 10, false), 1);
        prr.out += 1;
        assert_eq!(prr.send_count(1, 3, 10, true), 2);
        prr.out += 2;
        // The pipe does not grow beyond ssthresh: 10 − 9 = 1.
        assert_eq!(prr.send_count(4, 9, 10, true), 1);
    }

    // RFC 9937 section 6.2: with a RecoverFS of 1 or less, ssthresh segments are sent for each one delivered.
    #[test]
    fn prr_sends_ssthresh_segments_for_each_flight_that_is_delivered() {
        for (flight, expected) in [(0, 4), (1, 4), (2, 2), (3, 2)] {
            assert_eq!(Prr::begin(flight).send_count(1, 5, 4, false), expected, "flight of {flight}");
        }
    }
}
