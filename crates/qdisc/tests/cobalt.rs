//! COBALT: its parts CoDel and Blue, and a comparison with a transcription of the functions in Linux's `sch_cake`.

use crate::common::*;
use std::collections::VecDeque;
use tailback_qdisc::law::cobalt::{Cobalt, Params};
use tailback_qdisc::law::codel::Verdict;
use tailback_qdisc::{Reason, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};

fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

#[test]
#[expect(clippy::maybe_infinite_iter, reason = "without a signal the number of milliseconds overflows, which panics")]
fn the_first_signal_comes_an_interval_after_the_delay_has_risen() {
    let mut law = Cobalt::new(&Params::default(), Rate::mbit(100));
    let rng = &mut Rng::named(1, "cobalt");
    let first = (0..).find(|ms| law.judge(at(*ms), Dur::from_ms(20), false, false, rng) == Verdict::Drop);
    assert_eq!(first, Some(100));
}

// Linux uses the time of the next signal also as an activity timeout: it is one interval, 100 ms, after the last
// packet, so that it has passed after a pause of 110 ms.
#[test]
fn a_delay_that_is_high_after_an_interval_without_packets_is_signalled_at_once() {
    for (pause, verdict) in [(90, Verdict::Deliver), (110, Verdict::Drop)] {
        let mut law = Cobalt::new(&Params::default(), Rate::mbit(100));
        let rng = &mut Rng::named(1, "cobalt");
        law.judge(at(1000), Dur::ZERO, false, false, rng);
        law.judge(at(1000 + pause), Dur::from_ms(20), false, false, rng);
        assert_eq!(law.judge(at(1001 + pause), Dur::from_ms(20), false, false, rng), verdict);
    }
}

#[test]
fn blue_drops_ecn_capable_packets_but_not_the_last_of_the_queue() {
    let params = Params { increment: 1.0, ecn: true, ..Params::default() };
    let mut law = Cobalt::new(&params, Rate::mbit(100));
    let rng = &mut Rng::named(1, "cobalt");
    law.overflow(at(10));
    assert_eq!(law.probability(), 1.0);
    assert_eq!(law.judge(at(11), Dur::ZERO, false, true, rng), Verdict::Drop);
    assert_eq!(law.judge(at(12), Dur::ZERO, true, true, rng), Verdict::Deliver);
}

#[test]
fn blue_steps_at_most_once_per_target() {
    let mut law = Cobalt::new(&Params::default(), Rate::mbit(100));
    for us in 0..20_000 {
        law.overflow(Time::ZERO + Dur::from_us(us));
    }
    // In 20 ms Blue makes three increments, more than 5 ms apart; in the 21 ms that follow, five decrements.
    assert_eq!(law.probability(), 3.0 / 256.0);
    for us in 20_000..41_000 {
        law.empty(Time::ZERO + Dur::from_us(us));
    }
    assert_eq!(law.probability(), 3.0 / 256.0 - 5.0 / 4096.0);
}

#[test]
fn on_a_slow_link_the_delay_of_four_full_packets_is_acceptable() {
    // 1514 B take 121 ms at 100 kbit/s, four packets of 1514 B 484 ms.
    let mut law = Cobalt::new(&Params::default(), Rate(100_000));
    let rng = &mut Rng::named(1, "cobalt");
    assert!((0..2000).all(|ms| law.judge(at(ms), Dur::from_ms(480), false, false, rng) == Verdict::Deliver));
}

/// Returns `dropping`, `count` and Blue's probability.
fn series(law: &Cobalt) -> (bool, f64, f64) {
    let mut values = Vec::new();
    law.probe(&mut |_, value| values.push(value));
    (values[0] != 0.0, values[1], values[2])
}

/// `cobalt_queue_full` and `cobalt_queue_empty` of Linux.
#[test]
fn an_overflow_starts_the_dropping_state_and_an_empty_queue_ends_it_and_decrements_the_count_that_is_due() {
    let (up, down) = (1.0 / 256.0, 1.0 / 4096.0);
    let mut law = Cobalt::new(&Params::default(), Rate::mbit(100));
    law.overflow(at(1000));
    assert_eq!(series(&law), (true, 1.0, up));
    // The next signal is due at once, at that very time.
    law.empty(at(1000));
    assert_eq!(series(&law), (false, 0.0, up));
    law.empty(at(1001));
    assert_eq!(series(&law), (false, 0.0, up));
    law.empty(at(1006));
    assert_eq!(series(&law), (false, 0.0, up - down));

    // A count of two after a signal at 1000 ms; it is decremented 100/√2 ms later.
    let mut law = Cobalt::new(&Params { increment: 1e-9, ..Params::default() }, Rate::mbit(100));
    law.overflow(at(1000));
    assert_eq!(law.judge(at(1000), Dur::from_ms(20), false, false, &mut Rng::named(1, "cobalt")), Verdict::Drop);
    assert_eq!(series(&law).1, 2.0);
    let due = at(1000).0 + (1e11 / f64::sqrt(2.0)) as u64;
    for (time, count) in [(due - 1, 2.0), (due, 1.0), (due + 100_000_000_000 - 1, 1.0), (due + 100_000_000_000, 0.0)] {
        law.empty(Time(time));
        assert_eq!(series(&law).1, count, "{time}");
    }
}

/// The time between two steps of Blue counts from steps, and an empty queue at a probability of zero is none.
#[test]
fn an_empty_queue_does_not_delay_the_first_step_of_blue() {
    let mut law = Cobalt::new(&Params::default(), Rate::mbit(100));
    law.empty(at(1000));
    law.overflow(at(1001));
    assert_eq!(law.probability(), 1.0 / 256.0);
}

/// On a link of 4 Mbit/s four packets of 1000 B take 8 ms.
#[test]
fn a_delay_is_acceptable_up_to_exactly_the_target_and_exactly_four_full_packets() {
    for (rate, acceptable) in [(Rate::mbit(100), Dur::from_ms(5)), (Rate::mbit(4), Dur::from_ms(8))] {
        for (delay, above) in [(acceptable, false), (acceptable + Dur(1), true)] {
            let params = Params { mtu: tailback_units::Size(1000), ..Params::default() };
            let mut law = Cobalt::new(&params, rate);
            law.judge(at(1000), delay, false, false, &mut Rng::named(1, "cobalt"));
            assert_eq!(series(&law).0, above, "{rate:?} {delay:?}");
        }
    }
}

/// `cobalt_should_drop` of Linux: while the delay is acceptable, each deadline up to the present, including one at this
/// very time, decrements the count.
#[test]
fn a_packet_with_an_acceptable_delay_decrements_the_count_for_each_deadline_that_has_passed() {
    let first = at(1000).0 + (1e11 / f64::sqrt(2.0)) as u64;
    let second = first + 100_000_000_000;
    for (time, count) in [(first - 1, 2.0), (first, 1.0), (second - 1, 1.0), (second, 0.0)] {
        let mut law = Cobalt::new(&Params { increment: 1e-9, ..Params::default() }, Rate::mbit(100));
        let rng = &mut Rng::named(1, "cobalt");
        law.overflow(at(1000));
        assert_eq!(law.judge(at(1000), Dur::from_ms(20), false, false, rng), Verdict::Drop);
        assert_eq!(law.judge(Time(time), Dur::ZERO, false, false, rng), Verdict::Deliver);
        assert_eq!(series(&law), (false, count, 1e-9), "{time}");
    }
}

#[test]
fn invalid_parameters_are_refused_with_their_path() {
    let refuse = |params: Params, path: &str| assert_eq!(params.check().unwrap_err().path, path);
    refuse(Params { target: Dur::ZERO, ..Params::default() }, "target");
    refuse(Params { increment: 1.5, ..Params::default() }, "increment");
}

/// `cobalt_queue_full`, `cobalt_queue_empty` and `cobalt_should_drop` with 32-bit probabilities, as
/// `cake_dequeue` calls them for one flow; with an exact square root.
struct Cake {
    rng: Rng,
    ecn: bool,
    q: VecDeque<Held>,
    limit: usize,
    count: u32,
    drop_next: i64,
    blue_timer: i64,
    p_drop: u32,
    dropping: bool,
    mtu_time: i64,
}

/// Target in ps.
const TARGET: i64 = 5_000_000_000;
/// Interval in ps.
const INTERVAL: i64 = 100_000_000_000;

impl Cake {
    fn control(&self, t: i64) -> i64 {
        t + (INTERVAL as f64 / f64::from(self.count.max(1)).sqrt()) as i64
    }
    fn should_drop(&mut self, now: i64, packet: &mut Held) -> bool {
        let sojourn = now - packet.at.0 as i64;
        let mut schedule = now - self.drop_next;
        let over_target = sojourn > TARGET && sojourn > self.mtu_time * 2 && sojourn > self.mtu_time * 4;
        let mut next_due = self.count > 0 && schedule >= 0;
        let mut drop = false;
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else if self.dropping {
            self.dropping = false;
        }
        if next_due && self.dropping {
            if self.ecn && packet.ect {
                packet.marked = true;
            } else {
                drop = true;
            }
            self.count += 1;
            self.drop_next = self.control(self.drop_next);
            schedule = now - self.drop_next;
        } else {
            while next_due {
                self.count -= 1;
                self.drop_next = self.control(self.drop_next);
                schedule = now - self.drop_next;
                next_due = self.count > 0 && schedule >= 0;
            }
        }
        if self.p_drop > 0 {
            drop |= ((self.rng.uniform() * 4_294_967_296.0) as u32) < self.p_drop;
        }
        if self.count == 0 {
            self.drop_next = now + INTERVAL;
        } else if schedule > 0 && !drop {
            self.drop_next = now;
        }
        drop
    }
}

impl Queue for Cake {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        let now = arrival.at.0 as i64;
        self.q.push_back(Held::new(arrival));
        while self.q.len() > self.limit {
            if now - self.blue_timer > TARGET {
                self.p_drop = self.p_drop.saturating_add(1 << 24);
                self.blue_timer = now;
            }
            self.dropping = true;
            self.drop_next = now;
            if self.count == 0 {
                self.count = 1;
            }
            log.push((self.q.pop_front().unwrap().seq, Fate::Dropped(Reason::BufferFull)));
        }
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        loop {
            let mut packet = self.q.pop_front()?;
            if !self.should_drop(now.0 as i64, &mut packet) || self.q.is_empty() {
                log.push((packet.seq, packet.sent()));
                return Some(packet.size);
            }
            log.push((packet.seq, Fate::Dropped(Reason::Early)));
        }
    }
    fn idle(&mut self, now: Time, _log: &mut Log) {
        let now = now.0 as i64;
        if self.p_drop > 0 && now - self.blue_timer > TARGET {
            self.p_drop = self.p_drop.saturating_sub(1 << 20);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now - self.drop_next >= 0 {
            self.count -= 1;
            self.drop_next = self.control(self.drop_next);
        }
    }
}

#[test]
fn cobalt_gives_each_of_150_000_packets_its_fate_in_linux() {
    let traffic = Traffic {
        sizes: &[1500, 1500, 300],
        packets: 150_000,
        loads: &[0.3, 0.9, 1.02, 1.3, 3.0],
        phase: Dur::from_secs(1),
        ..Traffic::default()
    };
    for (seed, ecn) in [(1, false), (2, true)] {
        let rng = Rng::named(seed, "port");
        let mut reference = Cake {
            rng: rng.clone(),
            ecn,
            q: VecDeque::new(),
            limit: 300,
            count: 0,
            drop_next: 0,
            blue_timer: 0,
            p_drop: 0,
            dropping: false,
            mtu_time: traffic.rate.clock().tx_time(1514).0 as i64,
        };
        let arrivals = traffic.draw(seed);
        let params = Params { ecn, ..Params::default() };
        let mut ours = Rig::new(&Spec::Cobalt(params), &places(300, traffic.rate), rng);
        let log = serve(&mut ours, traffic.rate, &arrivals, |_, _| {});
        assert_same(&log, &serve(&mut reference, traffic.rate, &arrivals, |_, _| {}));
        let tally = tally(&log);
        assert!(
            tally[fate::EARLY] > 100 && tally[fate::FULL] > 100 && (!ecn || tally[fate::MARKED] > 100),
            "{tally:?}"
        );
    }
}
