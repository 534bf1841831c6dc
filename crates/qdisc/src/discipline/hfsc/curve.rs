//! Service curves of two pieces, and what they become while a class is busy.
//!
//! Times are in picoseconds, service in 10^-12 bit, slopes in bit/s: so the service of a time is exact.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_units::{Dur, Rate};

/// A service curve: the slope is `m1` for a time `d`, then `m2`. Concave (`m1` above `m2`) it gives packets after a pause a
/// shorter delay than its rate alone would, convex a longer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Curve {
    /// Slope of the first piece. Default 0bit/s.
    #[serde(default = "nothing", skip_serializing_if = "is_nothing")]
    pub m1: Rate,
    /// Length of the first piece. Default 0s.
    #[serde(default, skip_serializing_if = "is_never")]
    pub d: Dur,
    /// Slope of the second piece: the rate in the long run.
    pub m2: Rate,
}

fn nothing() -> Rate {
    Rate(0)
}
fn is_nothing(rate: &Rate) -> bool {
    rate.0 == 0
}
fn is_never(d: &Dur) -> bool {
    *d == Dur::ZERO
}

/// Service of a byte.
const BYTE: u128 = 8_000_000_000_000;
/// A time that never comes.
pub(super) const NEVER: u128 = u128::MAX;

/// Returns the service of `bytes` bytes.
pub(super) fn service(bytes: u32) -> u128 {
    u128::from(bytes) * BYTE
}

impl Curve {
    /// Returns `true` if the first piece is not steeper than the second.
    fn is_convex(self) -> bool {
        self.m1 <= self.m2
    }
}

/// A curve that begins at a point: `rtsc` in Linux. Two pieces like those of the curve, of which the first may be longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running {
    x: u128,
    y: u128,
    /// Length of the first piece, and its service.
    dx: u128,
    dy: u128,
    curve: Curve,
}

impl Running {
    /// The curve from the origin.
    pub fn new(curve: Curve) -> Running {
        let dx = u128::from(curve.d.0);
        Running { x: 0, y: 0, dx, dy: dx * u128::from(curve.m1.0), curve }
    }

    /// Returns the eligible curve for this deadline curve: the same where it is concave, the line of its second slope where it
    /// is convex, so that later demand is served ahead (Stoica, Zhang and Ng, section 4.1).
    pub fn eligible(self) -> Running {
        if self.curve.is_convex() { Running { dx: 0, dy: 0, ..self } } else { self }
    }

    /// Service by a time.
    fn service_at(&self, x: u128) -> u128 {
        if x <= self.x {
            self.y
        } else if x <= self.x + self.dx {
            self.y + (x - self.x) * u128::from(self.curve.m1.0)
        } else {
            self.y + self.dy + (x - self.x - self.dx) * u128::from(self.curve.m2.0)
        }
    }

    /// Returns the first time at which the service reaches `y`.
    pub fn time_of(&self, y: u128) -> u128 {
        if y < self.y {
            return self.x;
        }
        let over = |service: u128, slope: Rate| match slope.0 {
            _ if service == 0 => 0,
            0 => NEVER,
            slope => service.div_ceil(u128::from(slope)),
        };
        if y <= self.y + self.dy {
            // A first piece without service is passed over.
            let time = if self.dy == 0 { self.dx } else { over(y - self.y, self.curve.m1) };
            return self.x + time;
        }
        (self.x + self.dx).saturating_add(over(y - self.y - self.dy, self.curve.m2))
    }

    /// Takes the lesser of itself and the curve from the point (x, y), where a class becomes busy again (`rtsc_min`).
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
        // They cross: the new one's first piece lasts until then.
        let slopes = u128::from(self.curve.m1.0 - self.curve.m2.0);
        let mut dx = (here - y) / slopes;
        if self.x + self.dx > x {
            dx += self.x + self.dx - x;
        }
        *self = Running { x, y, dx, dy: dx * u128::from(self.curve.m1.0), curve: self.curve };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u128 = 1_000_000_000;

    #[test]
    fn a_concave_curve_serves_the_first_bytes_fast_and_a_convex_one_late() {
        // 1000 B at 1 Mbit/s take 8 ms of the first 10; 2000 B take 10 ms for 1250, and 750 · 8 / 200 k = 30 ms for the rest.
        let concave = Running::new(Curve { m1: Rate::mbit(1), d: Dur::from_ms(10), m2: Rate(200_000) });
        assert_eq!([concave.time_of(service(1000)), concave.time_of(service(2000))], [8 * MS, 40 * MS]);
        let convex = Running::new(Curve { m1: Rate(0), d: Dur::from_ms(10), m2: Rate::mbit(1) });
        assert_eq!(convex.time_of(service(1000)), 18 * MS);
        assert_eq!(convex.eligible().time_of(service(1000)), 8 * MS);
        assert_eq!(concave.eligible(), concave);
        let flat = Running::new(Curve { m1: Rate::mbit(1), d: Dur::from_ms(10), m2: Rate(0) });
        assert_eq!(flat.time_of(service(2000)), NEVER);
    }

    #[test]
    fn a_class_that_is_busy_again_gets_no_more_than_it_would_have_in_one_go() {
        // It has had 1250 B in the first 10 ms. After 20 ms of pause the old curve is at 1250 + 20 ms · 200 kbit/s = 1750 B, and
        // the new one from 1250 B has 2500 B at 40 ms, when the old one has 2000: they cross at d with
        // 1250 B + d · 1 Mbit/s = 1750 B + d · 200 kbit/s, so d = 5 ms.
        let curve = Curve { m1: Rate::mbit(1), d: Dur::from_ms(10), m2: Rate(200_000) };
        let mut running = Running::new(curve);
        running.restart(30 * MS, service(1250));
        assert_eq!(running.service_at(35 * MS), service(1875));
        assert_eq!(running.service_at(45 * MS), service(1875 + 250));
        // Far later the whole first piece is its own again.
        running.restart(10_000 * MS, service(2125));
        assert_eq!(running.service_at(10_010 * MS), service(2125 + 1250));
    }
}
