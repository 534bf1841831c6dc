//! Loss of bursts and of constant overload at a rate mismatch.

/// Fraction lost of a constant `offered` rate at a `capacity` in the same unit: 1 − C/offered, 0
/// below capacity. It is exact for D/D/1 in the long run and a lower bound for any arrivals.
pub fn overload_loss(offered: f64, capacity: f64) -> f64 {
    if offered <= capacity { 0.0 } else { 1.0 - capacity / offered }
}

/// Isolated bursts that arrive back to back over a fast link and leave over a slow one, through a
/// buffer that is empty at each burst's start (the low-load limit of a rate mismatch).
///
/// While a burst whose frames add up to X' arrives, the slow link carries away the share
/// `slow/fast` of it, since both links add the same overhead to a frame. The buffer holds the rest,
/// and what exceeds it is lost: max(0, (1 − slow/fast)·X' − buffer). This is the fluid limit; the
/// replay of a store-and-forward switch differs from it by about one frame per burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstLoss {
    /// Smallest burst, payload bytes.
    pub low: u64,
    /// Largest burst, payload bytes; sizes are uniform on the integers between.
    pub high: u64,
    /// The buffer, in frame bytes, above 0.
    pub buffer: u64,
    /// Rate of the slow link over that of the fast one, 0 to 1.
    pub ratio: f64,
    /// Payload bytes of a full frame (1500).
    pub mtu: u64,
    /// Bytes a frame adds to its payload as the buffer counts them (18).
    pub header: u64,
    /// Smallest frame; shorter ones are padded (64).
    pub min_frame: u64,
}

impl BurstLoss {
    /// Lost over offered frame bytes, summed over every burst size with its exact frames.
    pub fn exact(&self) -> f64 {
        let (mut lost, mut offered) = (0.0, 0.0);
        for payload in self.low..=self.high {
            let frames = self.frame_bytes(payload) as f64;
            lost += ((1.0 - self.ratio) * frames - self.buffer as f64).max(0.0);
            offered += frames;
        }
        lost / offered
    }

    /// The closed form, with X' = X·(mtu + header)/mtu for every size: with the burst that just
    /// fits, X₀ = buffer·mtu/((mtu + header)(1 − ratio)), the loss is
    /// (1 − ratio)(high − max(X₀, low))·((high + max(X₀, low))/2 − X₀) / ((high − low)·(high + low)/2).
    pub fn closed_form(&self) -> f64 {
        let (low, high) = (self.low as f64, self.high as f64);
        let expansion = (self.mtu + self.header) as f64 / self.mtu as f64;
        let kept = 1.0 - self.ratio;
        let fits = self.buffer as f64 / (expansion * kept);
        let from = fits.max(low);
        if from >= high {
            return 0.0;
        }
        // The mean excess over X₀ of sizes uniform on (from, high), times their share.
        let excess = 0.5 * (high + from) - fits;
        kept * excess * (high - from) / ((high - low) * 0.5 * (high + low))
    }

    /// Frame bytes of a burst cut into full frames and a remainder.
    fn frame_bytes(&self, payload: u64) -> u64 {
        let (full, rest) = (payload / self.mtu, payload % self.mtu);
        let last = if rest == 0 { 0 } else { (rest + self.header).max(self.min_frame) };
        full * (self.mtu + self.header) + last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 Mbit/s into 10 Mbit/s with 50 kB, bursts of 64 bytes to twice the nominal size.
    fn mismatch(nominal: u64) -> BurstLoss {
        BurstLoss { low: 64, high: 2 * nominal, buffer: 50_000, ratio: 0.1, mtu: 1500, header: 18, min_frame: 64 }
    }

    #[test]
    fn the_rate_mismatch_loses_what_was_derived_for_it() {
        for (nominal, loss) in [(6_000, 0.0), (24_000, 0.0), (48_000, 0.165), (96_000, 0.459)] {
            let told = mismatch(nominal);
            assert!((told.closed_form() - loss).abs() < 1e-3, "{nominal}: {}", told.closed_form());
            assert!((told.exact() - told.closed_form()).abs() < 5e-3, "{nominal}: {}", told.exact());
        }
    }

    #[test]
    fn the_closed_form_is_the_integral_also_where_even_the_smallest_burst_overflows() {
        let tiny = BurstLoss { buffer: 10, low: 15_000, high: 30_000, ..mismatch(0) };
        assert!((tiny.exact() - tiny.closed_form()).abs() < 1e-3);
    }

    #[test]
    fn a_replay_frame_by_frame_loses_as_much_within_a_frame_per_burst() {
        let told = mismatch(48_000);
        let (mut lost, mut offered) = (0.0, 0.0);
        for payload in (told.low..=told.high).step_by(37) {
            let (mut queue, mut left) = (0.0f64, payload);
            while left > 0 {
                let frame = (left.min(1500) + 18).max(64) as f64;
                left -= left.min(1500);
                // While it arrives, the slow link takes its share of what is there.
                queue = (queue - frame * told.ratio).max(0.0);
                offered += frame;
                if queue + frame <= told.buffer as f64 { queue += frame } else { lost += frame }
            }
        }
        assert!((lost / offered - told.exact()).abs() < 0.02, "{} for {}", lost / offered, told.exact());
    }

    #[test]
    fn constant_overload_loses_the_excess() {
        assert_eq!(overload_loss(9.0, 10.0), 0.0);
        assert!((overload_loss(12.5, 10.0) - 0.2).abs() < 1e-12);
    }
}
