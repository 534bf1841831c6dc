//! Timers that a system's clock drives in ticks: Linux 6.1, `kernel/time/timer.c`.

use tailback_units::{Dur, Time};

/// Number of slots of a level of the timer wheel, minus one: a timer that is longer is on the next level (`LVL_START`).
const SLOTS: u64 = 63;
/// Time by which the count of ticks is negative at the start (`INITIAL_JIFFIES`).
const BEFORE: Dur = Dur::from_secs(300);
/// Number of ticks, a multiple of all slots, by which counts are made positive.
const ZERO: u64 = 1 << 40;
/// Binary logarithm of the ratio of the lengths of two levels' slots (`LVL_CLK_SHIFT`).
const SHIFT: u32 = 3;

/// Returns the expiry of a timer that is set to `wait` at `now`. `tick`: length of a tick; `None`: timers are exact.
///
/// With ticks the wait begins at the last tick, is rounded up to whole ticks, and ends with the next slot of the
/// wheel (`calc_index`): a tick later, and after 63 ticks and more with a slot of 8, 64, … ticks.
#[inline]
pub(crate) fn expiry(now: Time, wait: Dur, tick: Option<Dur>) -> Time {
    match tick {
        None => now + wait,
        Some(tick) => slot(now, wait, tick),
    }
}

/// Returns the expiry with ticks.
#[inline(never)]
fn slot(now: Time, wait: Dur, tick: Dur) -> Time {
    // Linux computes waits in whole microseconds.
    let ticks = wait.0.saturating_sub(wait.0 % Dur::from_us(1).0).div_ceil(tick.0);
    let mut shift = 0;
    // The wheel's clock is that of the next tick.
    while ticks.saturating_sub(1) >> shift >= SLOTS {
        shift += SHIFT;
    }
    let start = ZERO - BEFORE.0 / tick.0;
    let end = (((start + now.0 / tick.0 + ticks) >> shift) + 1) << shift;
    Time((end - start) * tick.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Dur = Dur::from_ms;

    /// `calc_wheel_index` with ticks of 10 ms, in ms. 40 ms from 123 ms on: ticks 12 + 4, and the next one, 17. 630 ms:
    /// 63 ticks, the last that are exact. The count begins at -30 000, a multiple of 8, and 16 more than one of 64. 640 ms
    /// from 125 ms on: (12 + 64) >> 3 = 9, whose successor is 10, so tick 80. 5.05 s: 505 ticks, slots of 64 ticks: 12 +
    /// 505 + 16 = 533, whose slot ends at 576, so tick 560.
    #[test]
    fn a_timer_ends_with_a_slot_of_the_wheel() {
        for (now, wait, end) in
            [(123, 40, 170), (120, 41, 180), (129, 0, 130), (125, 630, 760), (125, 640, 800), (125, 5050, 5600)]
        {
            let found = expiry(Time::ZERO + MS(now), MS(wait), Some(MS(10)));
            assert_eq!(found, Time::ZERO + MS(end), "{wait} ms from {now} ms on");
        }
        assert_eq!(expiry(Time(5), Dur(7), None), Time(12));
    }
}
