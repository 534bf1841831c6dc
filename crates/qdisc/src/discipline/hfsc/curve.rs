//! Service curves of two pieces, and the curves of busy classes that are derived from them.
//!
//! Times are in picoseconds, service in 10^-12 bit, slopes in bit/s, so that the product of time and
//! slope is exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_units::{Dur, Rate};

/// A service curve: its slope is `m1` during the time `d`, then `m2`. A concave curve (`m1` above `m2`) gives packets
/// after an idle time a shorter delay than the rate `m2` alone, a convex curve a longer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Curve {
    /// Slope of the first piece. Default 0bit/s.
    #[serde(default = "zero_rate", skip_serializing_if = "is_zero_rate")]
    pub m1: Rate,
    /// Duration of the first piece. Default 0s.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub d: Dur,
    /// Slope of the second piece: the long-term rate.
    pub m2: Rate,
}

fn zero_rate() -> Rate {
    Rate(0)
}
fn is_zero_rate(rate: &Rate) -> bool {
    rate.0 == 0
}
fn is_zero(d: &Dur) -> bool {
    *d == Dur::ZERO
}

/// Service of one byte, 10^-12 bit.
const BYTE: u128 = 8_000_000_000_000;
/// Time of an event that never occurs.
pub(super) const NEVER: u128 = u128::MAX;

/// Returns the service of `bytes` bytes in 10^-12 bit.
pub(super) fn service(bytes: u32) -> u128 {
    u128::from(bytes) * BYTE
}

impl Curve {
    /// Returns `true` if the first piece is not steeper than the second.
    fn is_convex(self) -> bool {
        self.m1 <= self.m2
    }
}

/// A curve that begins at a point (`rtsc` in Linux). Its two pieces have the slopes of the service curve; the first
/// piece may be longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running {
    /// Time at which the curve begins.
    x: u128,
    /// Service at which the curve begins.
    y: u128,
    /// Duration of the first piece.
    dx: u128,
    /// Service in the first piece.
    dy: u128,
    curve: Curve,
}

impl Running {
    /// Returns the curve from the origin.
    pub fn new(curve: Curve) -> Running {
        let dx = u128::from(curve.d.0);
        Running { x: 0, y: 0, dx, dy: dx * u128::from(curve.m1.0), curve }
    }

    /// If the service curve of `fresh` differs from the present one, replaces the present curve by `fresh`, beginning
    /// at (x, y), and returns `true` (`rtsc_init` in `hfsc_change_rsc`, `hfsc_change_fsc` and `hfsc_change_usc`).
    pub fn change(&mut self, fresh: Running, x: u128, y: u128) -> bool {
        let changes = self.curve != fresh.curve;
        if changes {
            *self = fresh;
            self.begin(x, y);
        }
        changes
    }

    /// Moves the beginning of the curve to (x, y).
    pub fn begin(&mut self, x: u128, y: u128) {
        (self.x, self.y) = (x, y);
    }

    /// Returns the eligible curve for this deadline curve. A concave deadline curve is its own eligible curve; for a
    /// convex one it is the line with the second slope, so that the class is served in advance of its later demand
    /// (Stoica, Zhang and Ng, section 4.1).
    pub fn eligible(self) -> Running {
        if self.curve.is_convex() { Running { dx: 0, dy: 0, ..self } } else { self }
    }

    /// Returns the service up to the time `x`.
    fn service_at(&self, x: u128) -> u128 {
        let first = x.saturating_sub(self.x).min(self.dx);
        let second = x.saturating_sub(self.x + self.dx);
        self.y + first * u128::from(self.curve.m1.0) + second * u128::from(self.curve.m2.0)
    }

    /// Returns the first time at which the service reaches `y`; [`NEVER`] if it does not.
    pub fn time_of(&self, y: u128) -> u128 {
        let second = self.y + self.dy;
        if y < self.y {
            return self.x;
        }
        if y < second {
            // The slope is above 0, since there is service in the first piece.
            return self.x + (y - self.y).div_ceil(u128::from(self.curve.m1.0));
        }
        let rest = match (y - second, u128::from(self.curve.m2.0)) {
            (0, _) => 0,
            (_, 0) => NEVER,
            (service, slope) => service.div_ceil(slope),
        };
        (self.x + self.dx).saturating_add(rest)
    }

    /// Replaces the curve by the minimum of itself and of the service curve from the point (x, y), at which the class
    /// becomes busy again (`rtsc_min`).
    pub fn restart(&mut self, x: u128, y: u128) {
        let own = Running::new(self.curve);
        let here = self.service_at(x);
        if self.curve.is_convex() {
            if here >= y {
                (self.x, self.y) = (x, y);
            }
            return;
        }
        if here <= y {
            return;
        }
        if self.service_at(x + own.dx) >= y + own.dy {
            *self = Running { x, y, ..own };
            return;
        }
        // The curves cross: the first piece of the new curve lasts until they meet.
        let slopes = u128::from(self.curve.m1.0 - self.curve.m2.0);
        let dx = (here - y) / slopes + (self.x + self.dx).saturating_sub(x);
        *self = Running { x, y, dx, dy: dx * u128::from(self.curve.m1.0), curve: self.curve };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u128 = 1_000_000_000;

    #[test]
    fn a_concave_curve_serves_the_first_bytes_fast_and_a_convex_one_late() {
        // The first piece of 10 ms at 1 Mbit/s serves 1250 B, 1000 B of it in 8 ms. Of 2000 B, the other 750 B take
        // 750 · 8 bit / 200 kbit/s = 30 ms more.
        let concave = Running::new(Curve { m1: Rate::mbit(1), d: Dur::from_ms(10), m2: Rate(200_000) });
        assert_eq!([concave.time_of(service(1000)), concave.time_of(service(2000))], [8 * MS, 40 * MS]);
        let convex = Running::new(Curve { m1: Rate(0), d: Dur::from_ms(10), m2: Rate::mbit(1) });
        assert_eq!(convex.time_of(service(1000)), 18 * MS);
        assert_eq!(convex.eligible().time_of(service(1000)), 8 * MS);
        assert_eq!(concave.eligible(), concave);
        // A service of 0 is reached when the first piece without service ends.
        assert_eq!(convex.time_of(0), 10 * MS);
        let flat = Running::new(Curve { m1: Rate::mbit(1), d: Dur::from_ms(10), m2: Rate(0) });
        assert_eq!(flat.time_of(service(1250)), 10 * MS);
        assert_eq!(flat.time_of(service(2000)), NEVER);
    }

    #[test]
    fn times_are_rounded_up_to_picoseconds() {
        // 2 B are 16 · 10^12 units of 10^-12 bit, which at 3 bit/s take 5,333,333,333,333 1/3 ps, and one unit less takes
        // exactly 5,333,333,333,333 ps.
        let convex = Running::new(Curve { m1: Rate(0), d: Dur::ZERO, m2: Rate(3) });
        assert_eq!([service(2), service(2) - 1].map(|y| convex.time_of(y)), [5_333_333_333_334, 5_333_333_333_333]);
        let late = Running::new(Curve { m1: Rate(0), d: Dur::from_ms(10), m2: Rate(3) }).eligible();
        assert_eq!([service(2), service(2) - 1].map(|y| late.time_of(y)), [5_333_333_333_334, 5_333_333_333_333]);
        let concave = Running::new(Curve { m1: Rate(3), d: Dur::from_secs(6), m2: Rate(1) });
        assert_eq!([service(2), service(2) - 1].map(|y| concave.time_of(y)), [5_333_333_333_334, 5_333_333_333_333]);
    }

    #[test]
    fn a_document_contains_the_first_piece_only_if_there_is_one() {
        for (d, document) in [
            (Dur::ZERO, serde_json::json!({ "m2": "1Mbit/s" })),
            (Dur::from_ms(2), serde_json::json!({ "d": "2ms", "m2": "1Mbit/s" })),
        ] {
            let curve = Curve { m1: Rate(0), d, m2: Rate::mbit(1) };
            assert_eq!(serde_json::to_value(curve).expect("a curve is a table"), document);
            assert_eq!(tailback_document::decode::<Curve>(document), Ok(curve));
        }
    }

    #[test]
    fn a_class_that_is_busy_again_gets_the_minimum_of_its_old_curve_and_a_new_one() {
        // The class has received 1250 B in the first 10 ms. After 20 ms of pause, at 30 ms, the old curve is at 1250 B
        // + 20 ms · 200 kbit/s = 1750 B. The new one, which starts there from 1250 B, has 2500 B at 40 ms, when the old
        // one has 2000 B. They cross after d with 1250 B + d · 1 Mbit/s = 1750 B + d · 200 kbit/s, so d = 5 ms.
        let curve = Curve { m1: Rate::mbit(1), d: Dur::from_ms(10), m2: Rate(200_000) };
        let mut running = Running::new(curve);
        running.restart(30 * MS, service(1250));
        assert_eq!(running.service_at(35 * MS), service(1875));
        assert_eq!(running.service_at(45 * MS), service(1875 + 250));
        // After a long pause the class has its whole first piece again.
        running.restart(10_000 * MS, service(2125));
        assert_eq!(running.service_at(10_010 * MS), service(2125 + 1250));
    }
}
