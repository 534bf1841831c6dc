//! Amounts in a queue.

/// An amount in a queue: in documents a size, such as `"50kB"`, or a number of packets, such as `"100packets"`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Thousandths of a packet: thresholds may be fractional.
    Millipackets(u64),
}

impl Amount {
    /// Returns `n` whole packets.
    ///
    /// # Panics
    ///
    /// If `n` exceeds (2^64 − 1) / 1000, in every build.
    pub const fn packets(n: u64) -> Amount {
        match n.checked_mul(1_000) {
            Some(milli) => Amount::Millipackets(milli),
            None => panic!("an amount is at most 18446744073709551 packets"),
        }
    }
    /// Returns the amount in bytes, at `mean` bytes per packet, which must be above 0.
    pub fn in_bytes(self, mean: f64) -> f64 {
        match self {
            Amount::Bytes(n) => n as f64,
            Amount::Millipackets(n) => n as f64 / 1e3 * mean,
        }
    }
    /// Returns the amount in packets, at `mean` bytes per packet, which must be above 0.
    pub fn in_packets(self, mean: f64) -> f64 {
        match self {
            Amount::Bytes(n) => n as f64 / mean,
            // Division, because multiplication by 1e-3 would give 5 packets a rounding error.
            Amount::Millipackets(n) => n as f64 / 1e3,
        }
    }
}
