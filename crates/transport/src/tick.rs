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
        Some(tick) => slot(now, wait, tick, false),
    }
}

/// Returns the number of ticks of a wait: Linux computes waits in whole microseconds.
fn whole(wait: Dur, tick: Dur) -> u64 {
    wait.0.saturating_sub(wait.0 % Dur::from_us(1).0).div_ceil(tick.0)
}

/// A timer that is set again and again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    /// Tick to which it is set.
    tick: u64,
    /// Expiry, which is that of its slot.
    at: Time,
    /// Last expiry at which the timer was set again.
    expired: Time,
}

impl Timer {
    /// Sets the timer to `wait` at `now`, and returns the expiry. A timer that is pending and is set to the same tick stays
    /// in its slot (`__mod_timer`), which may end later than that of a shorter wait.
    pub fn set(&mut self, now: Time, wait: Dur, tick: Option<Dur>) -> Time {
        let Some(length) = tick else { return now + wait };
        let end = now.0 / length.0 + whole(wait, length);
        if self.at == now {
            self.expired = now;
        }
        if end != self.tick || self.at <= now {
            (self.tick, self.at) = (end, slot(now, wait, length, self.expired == now));
        }
        self.at
    }
}

/// Time after a tick by which the timers of a level of the wheel expire before those of the next shorter one.
const STAGGER: Dur = Dur::from_ns(40);
/// Largest number of levels of the wheel (`LVL_DEPTH`: 8 with ticks of 10 ms and more).
const LEVELS: u64 = 9;

/// Returns the time after its tick at which a timer expires, below 1 µs, by which timers of one tick expire in the order of
/// Linux: those with long waits first, level by level (`__run_timers`), and on a level those that were set last
/// (`enqueue_timer` adds at the head of a list). `rest`: time from the setting to the tick.
fn stagger(rest: Dur, shift: u32, tick: Dur) -> Dur {
    let longest = (tick.0 * (SLOTS + 1)).saturating_mul(1 << shift).max(1);
    let level = LEVELS.saturating_sub(u64::from(shift / SHIFT) + 1);
    // Less than the time between two levels, so that these do not meet.
    let part = u128::from(STAGGER.0 - STAGGER.0 / 40) * u128::from(rest.0.min(longest)) / u128::from(longest);
    STAGGER * level + Dur(part as u64)
}

/// Returns the expiry with ticks. `expires`: the timer is set while timers expire, when the wheel's clock is that of the
/// next tick (`__run_timers`); otherwise it is that of the current one, unless another timer of the system has expired in
/// it (`forward_timer_base`).
#[inline(never)]
fn slot(now: Time, wait: Dur, tick: Dur, expires: bool) -> Time {
    let ticks = whole(wait, tick);
    let mut shift = 0;
    while ticks.saturating_sub(u64::from(expires)) >> shift >= SLOTS {
        shift += SHIFT;
    }
    let start = ZERO - BEFORE.0 / tick.0;
    let end = (((start + now.0 / tick.0 + ticks) >> shift) + 1) << shift;
    let end = Time((end - start) * tick.0);
    end + stagger(end.since(now), shift, tick)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Dur = Dur::from_ms;

    /// Returns the tick of an expiry, which is less than a microsecond earlier.
    fn of(expiry: Time) -> Time {
        Time(expiry.0 - expiry.0 % Dur::from_us(1).0)
    }

    /// `calc_wheel_index` with ticks of 10 ms, in ms. 40 ms from 123 ms on: ticks 12 + 4, and the next one, 17. 620 ms:
    /// 62 ticks, the last that are exact. The count begins at -30 000, a multiple of 8, and 16 more than one of 64. 630 ms
    /// from 125 ms on: (12 + 63) >> 3 = 9, whose successor is 10, so tick 80. 5.05 s: 505 ticks, slots of 64 ticks: 12 +
    /// 505 + 16 = 533, whose slot ends at 576, so tick 560.
    #[test]
    fn a_timer_ends_with_a_slot_of_the_wheel() {
        for (now, wait, end) in
            [(123, 40, 170), (120, 41, 180), (129, 0, 130), (125, 620, 750), (125, 630, 800), (125, 5050, 5600)]
        {
            let found = expiry(Time::ZERO + MS(now), MS(wait), Some(MS(10)));
            assert_eq!(of(found), Time::ZERO + MS(end), "{wait} ms from {now} ms on");
        }
        assert_eq!(expiry(Time(5), Dur(7), None), Time(12));
    }

    /// `__mod_timer`, ms: 660 ms from 5 ms on are 66 ticks, on the second level, in the slot that ends at 720. Set again at
    /// 65 ms to 600 ms, it has the same tick, 66, and stays there; a new timer would expire at 670, as one that is set to
    /// another tick.
    #[test]
    fn a_pending_timer_that_is_set_to_the_same_tick_stays_in_its_slot() {
        let tick = Some(MS(10));
        let at = |ms: u64| Time::ZERO + MS(ms);
        let mut timer = Timer::default();
        assert_eq!(of(timer.set(at(5), MS(660), tick)), at(720));
        assert_eq!(of(timer.set(at(65), MS(600), tick)), at(720));
        assert_eq!(of(timer.set(at(66), MS(590), tick)), at(660));
        assert_eq!(of(Timer::default().set(at(65), MS(600), tick)), at(670));
        // 630 ms are 63 ticks, which are exact if the timer is set as it expires.
        let expired = timer.at;
        assert_eq!(of(timer.set(expired, MS(630), tick)), at(1300));
        assert_eq!(of(Timer::default().set(at(660), MS(630), tick)), at(1360));
        assert_eq!(of(timer.set(at(690), MS(0), tick)), at(700));
        // After its expiry it is not pending any more.
        assert_eq!(of(timer.set(at(701), MS(0), tick)), at(710));
        assert_eq!(timer.set(at(705), MS(3), None), at(708));
    }

    /// `__run_timers`, `enqueue_timer`: at 80 ms a timer of 630 ms expires before all of up to 620 ms, and of two timers that are
    /// on one level the one that was set last. All do so within a microsecond.
    #[test]
    fn timers_of_a_tick_expire_in_the_order_of_the_wheel() {
        let tick = Some(MS(10));
        let at = |ms: u64| Time::ZERO + MS(ms);
        let long = expiry(at(125), MS(630), tick);
        let [last, first] = [(733, 60), (185, 610)].map(|(now, wait)| expiry(at(now), MS(wait), tick));
        assert_eq!([long, last, first].map(of), [at(800); 3]);
        assert!(long < last && last < first);
        let longest = expiry(at(125), Dur::from_secs(100), tick);
        assert!(longest.0 % Dur::from_us(1).0 < long.0 % Dur::from_us(1).0);
    }
}
