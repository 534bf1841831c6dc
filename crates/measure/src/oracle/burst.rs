//! Loss of bursts and of constant overload at a rate mismatch.

/// Returns the loss fraction of a constant `offered` rate at a `capacity` in the same unit: 1 − C/offered, 0 below
/// capacity. Exact for D/D/1 in the long run, and a lower bound for any arrivals.
pub fn overload_loss(offered: f64, capacity: f64) -> f64 {
    if offered <= capacity { 0.0 } else { 1.0 - capacity / offered }
}

/// Isolated bursts that arrive back to back over a fast link and leave over a slow one, through a buffer that is empty
/// at each burst's start (the low-load limit of a rate mismatch).
///
/// While a burst with frames of X' bytes in total arrives, the slow link transmits the fraction `slow/fast` of it,
/// since both links add the same overhead to a frame. The remainder is buffered up to the size of the buffer; the loss
/// is max(0, (1 − slow/fast)·X' − buffer). This is the fluid limit; a store-and-forward switch differs from it by about
/// one frame per burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstLoss {
    /// Smallest burst, payload bytes.
    pub low: u64,
    /// Largest burst, payload bytes; sizes are uniform over the integers between.
    pub high: u64,
    /// Buffer, frame bytes, above 0.
    pub buffer: u64,
    /// Rate of the slow link divided by that of the fast one, 0 to 1.
    pub ratio: f64,
    /// Payload bytes of a full frame (Ethernet: 1500).
    pub mtu: u64,
    /// Bytes that a frame adds to its payload in the buffer (Ethernet: 18).
    pub header: u64,
    /// Smallest frame in bytes; shorter ones are padded (Ethernet: 64).
    pub min_frame: u64,
}

impl BurstLoss {
    /// Returns lost frame bytes divided by offered ones, each summed over all burst sizes with their exact frames.
    pub fn exact(&self) -> f64 {
        let (mut lost, mut offered) = (0.0, 0.0);
        for payload in self.low..=self.high {
            let frames = self.frame_bytes(payload) as f64;
            lost += ((1.0 - self.ratio) * frames - self.buffer as f64).max(0.0);
            offered += frames;
        }
        lost / offered
    }

    /// Returns the loss fraction in closed form, under the approximation X' = X·(mtu + header)/mtu for every size;
    /// `high` must be above `low`. With X₀ = buffer·mtu/((mtu + header)(1 − ratio)), the largest burst without loss,
    /// the fraction is (1 − ratio)(high − max(X₀, low))·((high + max(X₀, low))/2 − X₀) / ((high − low)·(high + low)/2).
    pub fn closed_form(&self) -> f64 {
        let (low, high) = (self.low as f64, self.high as f64);
        let expansion = (self.mtu + self.header) as f64 / self.mtu as f64;
        let buffered = 1.0 - self.ratio;
        let lossless = self.buffer as f64 / (expansion * buffered);
        let smallest = lossless.max(low);
        if smallest >= high {
            return 0.0;
        }
        // The mean excess over X₀ of the sizes that have a loss, uniform on (smallest, high), times their probability.
        let excess = 0.5 * (high + smallest) - lossless;
        buffered * excess * (high - smallest) / ((high - low) * 0.5 * (high + low))
    }

    /// Returns the frame bytes of a burst cut into full frames and a remainder.
    fn frame_bytes(&self, payload: u64) -> u64 {
        let (full, remainder) = (payload / self.mtu, payload % self.mtu);
        let last = if remainder == 0 { 0 } else { (remainder + self.header).max(self.min_frame) };
        full * (self.mtu + self.header) + last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a rate mismatch of 100 Mbit/s into 10 Mbit/s with a buffer of 50 kB and bursts of 64 bytes to twice the
    /// nominal size.
    fn mismatch(nominal: u64) -> BurstLoss {
        BurstLoss { low: 64, high: 2 * nominal, buffer: 50_000, ratio: 0.1, mtu: 1500, header: 18, min_frame: 64 }
    }

    #[test]
    fn the_rate_mismatch_has_the_derived_loss() {
        // X₀ = 50,000·1500/(1518·0.9) = 54,896 B, so that for a nominal 48 kB the loss is
        // 0.9·(96,000 − X₀)·((96,000 + X₀)/2 − X₀) / (95,936·48,032) = 0.165.
        for (nominal, loss) in [(6_000, 0.0), (24_000, 0.0), (48_000, 0.165), (96_000, 0.459)] {
            let result = mismatch(nominal);
            assert!((result.closed_form() - loss).abs() < 1e-3, "{nominal}: {}", result.closed_form());
            assert!((result.exact() - result.closed_form()).abs() < 5e-3, "{nominal}: {}", result.exact());
        }
    }

    #[test]
    fn the_closed_form_holds_also_if_even_the_smallest_burst_overflows() {
        let tiny = BurstLoss { buffer: 10, low: 15_000, high: 30_000, ..mismatch(0) };
        assert!((tiny.exact() - tiny.closed_form()).abs() < 1e-3);
    }

    #[test]
    fn a_replay_frame_by_frame_agrees_within_a_frame_per_burst() {
        let result = mismatch(48_000);
        let (mut lost, mut offered) = (0.0, 0.0);
        for payload in (result.low..=result.high).step_by(37) {
            let (mut queue, mut left) = (0.0f64, payload);
            while left > 0 {
                let frame = (left.min(1500) + 18).max(64) as f64;
                left -= left.min(1500);
                // During the arrival, the slow link transmits its fraction.
                queue = (queue - frame * result.ratio).max(0.0);
                offered += frame;
                if queue + frame <= result.buffer as f64 { queue += frame } else { lost += frame }
            }
        }
        assert!((lost / offered - result.exact()).abs() < 0.02, "{} for {}", lost / offered, result.exact());
    }

    #[test]
    fn constant_overload_loses_the_excess() {
        assert_eq!(overload_loss(9.0, 10.0), 0.0);
        assert!((overload_loss(12.5, 10.0) - 0.2).abs() < 1e-12);
    }
}
