//! Comparison with another TCP, transmission by transmission: a [`Sender`] or a [`Receiver`] gets what an end of a
//! recorded connection received, at the same times, and its transmissions are compared with the recorded ones.
//!
//! Nothing feeds a difference back: the other end is the recorded one. So the first difference is the first that the
//! two implementations have, and the comparison ends there.
//!
//! The host's own queue is no part of a transport. Transmissions of one instant are therefore spaced by their
//! transmission times, and those of other connections of the host, and timers of pacing, may shift them by
//! [`TOLERANCE`].

use crate::params::Tcp;
use crate::receiver::{Receiver, Recorded};
use crate::sender::{Sender, State};
use crate::seq::before;
use crate::wire::{Ack, Block};
use std::collections::VecDeque;
use std::sync::Arc;
use tailback_diffserv::Ecn;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Largest difference between the times of equal transmissions of senders: some segments of other connections may be
/// before one in the queue of the host. A timer of the model that expires by less than this before an acknowledgement
/// waits for what the recorded sender does first.
pub const TOLERANCE: Dur = Dur::from_us(240);
/// Largest difference between the times of equal acknowledgements of receivers: a timer of Linux that combines them may be
/// late by up to 100 µs (`tcp_comp_sack_slack_ns`).
pub const ACK_TOLERANCE: Dur = Dur::from_us(105);
/// Number of segments by which windows may differ: Linux likely acknowledges a segment with PSH when the application has read
/// it (`tcp_cleanup_rbuf`), and the model while its memory is still taken.
const WINDOW_TOLERANCE: u32 = 2;
/// Time by which a receiver's timer may be late, of the 1 ns that each timer of Linux is late and of the steps of a clock.
const LATE: Dur = Dur::from_us(1);
/// Transmission time of a byte on the host's link, whose rate is 1 Gbit/s.
const BYTE: Dur = Dur::from_ns(8);
/// Number of a SYN ([`Segment::seq`](crate::Segment::seq)).
const SYN: u32 = u32::MAX;

/// An event at the recorded end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<Arrived, Sent> {
    /// Something arrived from the other end at that time.
    Arrived(Time, Arrived),
    /// The recorded end transmitted something at that time.
    Sent(Time, Sent),
}

impl<Arrived, Sent> Event<Arrived, Sent> {
    /// Returns the time of the event.
    pub fn at(&self) -> Time {
        match self {
            Event::Arrived(at, _) | Event::Sent(at, _) => *at,
        }
    }
}

/// A segment that arrives at a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Segment number; a SYN has `u32::MAX`.
    pub seq: u32,
    /// `true` if the segment has the flag PSH, which Linux's receivers acknowledge at once. Its phase among the segments
    /// is that of the writes of the recorded application.
    pub pushed: bool,
    /// Time of the acknowledgement whose timestamp the segment echoes.
    pub asked: Time,
    /// ECN code point.
    pub ecn: Ecn,
    /// `true` if the segment has the flag CWR; on a SYN with ECE: the sender is ECN-capable.
    pub cwr: bool,
}

/// Content of an acknowledgement, apart from times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Said {
    /// Number of the next segment expected in order.
    pub next: u32,
    /// Flag ECE.
    pub ece: bool,
    /// Window in full segments. `None`: not recorded.
    pub window: Option<u32>,
    /// Blocks of the selective acknowledgement; empty blocks have `start == end`.
    pub sack: [Block; 3],
}

/// Result of a comparison; `T` is a transmission: a segment number, or [`Said`].
#[derive(Clone, Debug, PartialEq)]
pub struct Followed<T> {
    /// Number of equal transmissions before the first difference.
    pub equal: u64,
    /// Largest difference between the times of equal transmissions.
    pub late: Dur,
    /// The first difference; `None`: all transmissions are equal.
    pub first: Option<Difference<T>>,
}

/// The first difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference<T> {
    /// Time of the recorded event at which the difference shows.
    pub at: Time,
    /// The recorded transmission; `None`: by that time the recorded end has not sent what the model has.
    pub theirs: Option<T>,
    /// The model's transmission and its time; `None`: the model sends nothing.
    pub ours: Option<(Time, T)>,
    /// Time of the model's next timer; [`Time::NEVER`]: no timer is set.
    pub timer: Time,
    /// State of the model's sender; `None`: the model is a receiver.
    pub sender: Option<Window>,
}

/// State of a sender at a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow-start threshold, segments; infinite before the first congestion.
    pub ssthresh: f64,
    /// Segments in flight.
    pub in_flight: u32,
    /// State of the connection.
    pub state: State,
}

/// The model's transmissions that have not been compared yet, and the result so far.
struct Comparison<T> {
    waiting: VecDeque<(Time, T)>,
    tolerance: Dur,
    equal: u64,
    late: Dur,
}

impl<T: Copy + PartialEq> Comparison<T> {
    fn new(tolerance: Dur) -> Comparison<T> {
        Comparison { waiting: VecDeque::new(), tolerance, equal: 0, late: Dur::ZERO }
    }

    /// Compares a recorded transmission with the model's next one.
    fn compare(&mut self, at: Time, theirs: T) -> Option<Difference<T>> {
        let ours = self.waiting.pop_front();
        let Some((time, _)) = ours.filter(|(time, ours)| *ours == theirs && apart(*time, at) <= self.tolerance) else {
            return Some(Difference { at, theirs: Some(theirs), ours, timer: Time::NEVER, sender: None });
        };
        self.equal += 1;
        self.late = self.late.max(apart(time, at));
        None
    }

    /// Returns the difference that the recorded end should have transmitted something before `at`.
    fn overdue(&self, at: Time) -> Option<Difference<T>> {
        let ours = self.waiting.front().copied().filter(|(time, _)| at > *time + self.tolerance)?;
        Some(Difference { at, theirs: None, ours: Some(ours), timer: Time::NEVER, sender: None })
    }

    fn result(self, first: Option<Difference<T>>) -> Followed<T> {
        Followed { equal: self.equal, late: self.late, first }
    }
}

/// Returns the time between two instants.
fn apart(a: Time, b: Time) -> Dur {
    a.since(b).max(b.since(a))
}

/// Returns an error if the times of the events decrease, or leave no room for a timer.
fn check_times<A, S>(events: &[Event<A, S>]) -> Result<(), String> {
    if events.last().is_some_and(|last| last.at().0 >= Time::NEVER.0 / 2) {
        return Err("the last event is later than 2^63 ps".to_owned());
    }
    match events.windows(2).position(|pair| pair[1].at() < pair[0].at()) {
        Some(i) => Err(format!("event {} is earlier than event {i}; sort the events by their times", i + 1)),
        None => Ok(()),
    }
}

/// A sender that is compared.
struct FollowedSender {
    sender: Sender,
    ours: Comparison<u32>,
    /// Time at which the host's link is free.
    free: Time,
    /// Bytes of the headers of a segment.
    header: u64,
}

impl FollowedSender {
    /// Collects what the sender transmits now.
    fn transmit(&mut self, now: Time) {
        while let Some(segment) = self.sender.poll(now) {
            let at = now.max(self.free);
            self.free = at + BYTE * (u64::from(segment.payload) + self.header);
            self.ours.waiting.push_back((at, segment.seq));
        }
    }

    /// Processes the next timer at its time.
    fn expire(&mut self) {
        let now = self.sender.deadline();
        self.sender.on_timer(now);
        self.transmit(now);
    }

    /// Processes an event; returns the first difference.
    fn process(&mut self, event: &Event<Ack, u32>) -> Option<Difference<u32>> {
        let at = event.at();
        while at.since(self.sender.deadline()) > TOLERANCE {
            self.expire();
        }
        let difference = match event {
            Event::Arrived(_, ack) => {
                let overdue = self.ours.overdue(at);
                if overdue.is_none() {
                    // Receivers of the model echo the segment that causes a duplicate acknowledgement, Linux's the last
                    // one in order; the arrival stands for the former, of which the record has no time.
                    let advances = ack.syn || before(self.sender.una(), ack.next);
                    let echo = if advances { ack.echo } else { at };
                    self.sender.on_ack(at, &Ack { echo, ..*ack }, None);
                    self.transmit(at);
                }
                overdue
            }
            Event::Sent(_, seq) => {
                while self.ours.waiting.is_empty() && self.sender.deadline() <= at + TOLERANCE {
                    self.expire();
                }
                self.ours.compare(at, *seq)
            }
        };
        difference.map(|found| Difference { timer: self.sender.deadline(), sender: Some(self.window()), ..found })
    }

    fn window(&self) -> Window {
        let (sender, state) = (&self.sender, self.sender.state());
        Window { cwnd: sender.cwnd(), ssthresh: sender.ssthresh(), in_flight: sender.in_flight(), state }
    }
}

/// Compares a sender of an endless transfer with a recorded one.
///
/// `tcp` has passed `check`, and `seed` is that of the congestion control's random numbers. The events are the
/// acknowledgements that arrived and the numbers of the segments that were transmitted, `u32::MAX` for a SYN, in the
/// order of their times; the first transmission opens the connection. The echo of an acknowledgement is the time of the
/// first transmission with the timestamp that it echoes; if it acknowledges nothing new, its echo is not used.
///
/// # Errors
/// If the events are out of order, begin with an acknowledgement, or acknowledge a segment that was not transmitted
/// before.
pub fn follow_sender(tcp: &Tcp, seed: u64, events: &[Event<Ack, u32>]) -> Result<Followed<u32>, String> {
    check_times(events)?;
    let mut end = 0;
    for (i, event) in events.iter().enumerate() {
        match event {
            Event::Arrived(_, _) if i == 0 => return Err("the first event is no transmission".to_owned()),
            Event::Arrived(_, ack) => {
                if let Some(beyond) =
                    ack.sack.map(|block| block.end).into_iter().chain([ack.next]).find(|n| before(end, *n))
                {
                    return Err(format!(
                        "event {i} acknowledges segment {}, which was not transmitted before",
                        beyond - 1
                    ));
                }
            }
            Event::Sent(_, SYN) => {}
            Event::Sent(_, seq) if before(end, seq.wrapping_add(1)) => end = seq.wrapping_add(1),
            Event::Sent(..) => {}
        }
    }
    let mut followed = FollowedSender {
        sender: Sender::new(&Arc::new(tcp.clone()), generator(seed)),
        ours: Comparison::new(TOLERANCE),
        free: Time::ZERO,
        header: tcp.header.0,
    };
    if let Some(first) = events.first() {
        followed.sender.offer(first.at(), u64::MAX);
        followed.transmit(first.at());
    }
    let first = events.iter().find_map(|event| followed.process(event));
    Ok(followed.ours.result(first))
}

/// Numbers of which BBR draws one whenever it enters ProbeBW (`bbr_reset_probe_bw_mode`).
const PHASES: u64 = 7;
/// Largest number of entries into ProbeBW whose phases are searched for.
const MOST_PHASES: usize = 8;
/// Largest number of sequences of phases that are tried further, since they are equally good.
const MOST_KEPT: usize = 12;

/// Compares a sender of an endless transfer with a recorded one, as [`follow_sender`], with the random numbers that the
/// recorded sender may have drawn: phases of BBR, which are not in a record.
///
/// The phases are found one after the other, each as those of the seven with which most transmissions are equal. Returns
/// them, too, and at most eight.
///
/// # Errors
/// As [`follow_sender`].
pub fn follow_phases(tcp: &Tcp, events: &[Event<Ack, u32>]) -> Result<(Vec<u64>, Followed<u32>), String> {
    let mut best = (Vec::new(), follow_sender(tcp, 1, events)?);
    let mut kept = vec![best.0.clone()];
    for _ in 0..MOST_PHASES {
        if best.1.first.is_none() {
            break;
        }
        let mut found = Vec::new();
        for phases in &kept {
            for phase in 0..PHASES {
                let drawn: Vec<u64> = phases.iter().copied().chain([phase]).collect();
                let followed = follow_sender(tcp, seed_of(&drawn), events)?;
                found.push((drawn, followed));
            }
        }
        let equal = |one: &Followed<u32>| (one.first.is_none(), one.equal);
        let Some(most) = found.iter().map(|(_, one)| equal(one)).max() else { break };
        // Without a difference between the phases the first difference is before the next draw.
        if found.iter().all(|(_, one)| equal(one) == most) {
            break;
        }
        found.retain(|(_, one)| equal(one) == most);
        found.truncate(MOST_KEPT);
        if let Some(first) = found.first().filter(|_| most > equal(&best.1)) {
            best = first.clone();
        }
        kept = found.into_iter().map(|(drawn, _)| drawn).collect();
    }
    Ok(best)
}

/// Returns the first seed whose generator draws these phases first.
fn seed_of(phases: &[u64]) -> u64 {
    let draws = |seed: &u64| {
        let mut rng = generator(*seed);
        phases.iter().all(|phase| rng.below(PHASES) == *phase)
    };
    // Of 7^8 sequences each has a seed far below this limit.
    (1..1 << 40).find(draws).unwrap_or(1)
}

/// Returns the generator of the congestion control.
fn generator(seed: u64) -> Rng {
    Rng::named(seed, "follow")
}

/// Compares a receiver with a recorded one.
///
/// `tcp` has passed `check`. The events are the segments that arrived, and the acknowledgements that were transmitted
/// except for SYN-ACKs, in the order of their times.
///
/// # Errors
/// If the events are out of order.
pub fn follow_receiver(tcp: &Tcp, events: &[Event<Arrival, Said>]) -> Result<Followed<Said>, String> {
    check_times(events)?;
    let mut receiver = Receiver::new(tcp);
    let full = tcp.payload();
    let mut ours = Comparison::new(ACK_TOLERANCE);
    let windows = events.iter().any(|event| matches!(event, Event::Sent(_, said) if said.window.is_some()));
    let said = |ack: Ack| Said { next: ack.next, ece: ack.ece, window: windows.then_some(ack.window), sack: ack.sack };
    let mut process = |event: &Event<Arrival, Said>| {
        // A timer before an arrival has expired; one at a transmission may be as late as the recorded one.
        let (at, late) = (event.at(), if matches!(event, Event::Sent(..)) { LATE } else { Dur::ZERO });
        while receiver.deadline() <= at + late {
            let now = receiver.deadline();
            ours.waiting.extend(receiver.on_timer(now).map(|ack| (now, said(ack))));
        }
        match event {
            Event::Sent(_, theirs) => {
                let mut theirs = *theirs;
                while ours.waiting.is_empty() && receiver.deadline() <= at + ACK_TOLERANCE {
                    let now = receiver.deadline();
                    ours.waiting.extend(receiver.on_timer(now).map(|ack| (now, said(ack))));
                }
                if let Some((_, Said { window: Some(own), .. })) = ours.waiting.front()
                    && theirs.window.is_some_and(|window| window.abs_diff(*own) <= WINDOW_TOLERANCE)
                {
                    theirs.window = Some(*own);
                }
                ours.compare(at, theirs)
            }
            Event::Arrived(_, segment) => {
                let overdue = ours.overdue(at);
                let payload = if segment.seq == SYN { 0 } else { full };
                let flags = (segment.ecn, segment.cwr);
                let recorded = Recorded { pushed: segment.pushed, asked: segment.asked };
                let ack = receiver.on_recorded_segment(at, (segment.seq, payload), recorded, flags);
                ours.waiting.extend(ack.filter(|ack| !ack.syn).map(|ack| (at, said(ack))));
                overdue
            }
        }
    };
    let first = events.iter().find_map(&mut process);
    let first = first.map(|found| Difference { timer: receiver.deadline(), ..found });
    Ok(ours.result(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Dur = Dur::from_ms;
    const US: fn(u64) -> Dur = Dur::from_us;

    fn at(time: Dur) -> Time {
        Time::ZERO + time
    }

    /// Returns parameters without a handshake, with a window of two segments of 1448 B, which take 12 µs each.
    fn tcp() -> Tcp {
        let document = serde_json::json!({
            "handshake": false, "initial-window": 2, "recovery": {"kind": "newreno"}, "segment": "1448B", "header": "52B",
            "timers": {"initial-rto": "1s", "min-rto": "200ms"},
        });
        tailback_document::decode(document).expect("the test's parameters decode")
    }

    fn sent(time: Dur, seq: u32) -> Event<Ack, u32> {
        Event::Sent(at(time), seq)
    }

    fn acknowledged(time: Dur, next: u32, echo: Dur) -> Event<Ack, u32> {
        let (echo, delay) = (at(echo), Dur::ZERO);
        Event::Arrived(
            at(time),
            Ack { next, ece: false, syn: false, echo, delay, window: Ack::UNLIMITED, sack: Default::default() },
        )
    }

    /// Two segments, an acknowledgement of the first, and in slow start two more.
    fn slow_start() -> Vec<Event<Ack, u32>> {
        let zero = Dur::ZERO;
        vec![sent(zero, 0), sent(US(12), 1), acknowledged(MS(50), 1, zero), sent(MS(50), 2), sent(MS(50) + US(12), 3)]
    }

    #[test]
    fn a_sender_that_does_the_same_is_equal_until_the_end() {
        let found = follow_sender(&tcp(), 1, &slow_start());
        assert_eq!(found, Ok(Followed { equal: 4, late: Dur::ZERO, first: None }));
        assert_eq!(follow_sender(&tcp(), 1, &[]), Ok(Followed { equal: 0, late: Dur::ZERO, first: None }));
    }

    #[test]
    fn a_segment_too_many_or_another_one_is_the_first_difference() {
        let mut events = slow_start();
        events.push(sent(MS(50) + US(24), 4));
        let first = follow_sender(&tcp(), 1, &events).expect("in order").first.expect("a difference");
        assert_eq!((first.at, first.theirs, first.ours), (at(MS(50) + US(24)), Some(4), None));
        let window = first.sender.expect("a sender");
        assert_eq!((window.cwnd, window.in_flight, window.state), (3.0, 3, State::Open));

        events.truncate(3);
        events.push(sent(MS(50), 1));
        let found = follow_sender(&tcp(), 1, &events).expect("in order");
        let first = found.first.expect("a difference");
        assert_eq!((found.equal, first.theirs, first.ours), (2, Some(1), Some((at(MS(50)), 2))));
    }

    /// The acknowledgement at 90 ms arrives before a transmission of segment 2, which was due at 50 ms.
    #[test]
    fn a_transmission_that_the_recorded_sender_omits_is_a_difference() {
        let mut events = slow_start();
        events.truncate(3);
        events.push(acknowledged(MS(90), 2, US(12)));
        let first = follow_sender(&tcp(), 1, &events).expect("in order").first.expect("a difference");
        assert_eq!((first.at, first.theirs, first.ours), (at(MS(90)), None, Some((at(MS(50)), 2))));
    }

    /// The retransmission timer is 1 s without a round-trip time.
    #[test]
    fn a_timer_may_differ_by_the_tolerance_in_both_directions() {
        let second = Dur::from_secs(1);
        for (time, equal) in
            [(second + US(240), true), (second - US(240), true), (second + US(241), false), (second - US(241), false)]
        {
            let found = follow_sender(&tcp(), 1, &[sent(Dur::ZERO, 0), sent(US(12), 1), sent(time, 0)]);
            let first = found.expect("in order").first;
            assert_eq!(first.is_none(), equal, "{time}: {first:?}");
        }
    }

    /// An acknowledgement arrives 100 µs after the timer, but Linux's timer was later still and found both segments
    /// acknowledged: the model's timer waits for what Linux does.
    #[test]
    fn a_timer_shortly_before_an_acknowledgement_is_not_processed_before_it() {
        let second = Dur::from_secs(1);
        let events = [
            sent(Dur::ZERO, 0),
            sent(US(12), 1),
            acknowledged(second + US(100), 2, Dur::ZERO),
            sent(second + US(100), 2),
            sent(second + US(112), 3),
        ];
        assert_eq!(follow_sender(&tcp(), 1, &events).expect("in order").first, None);
    }

    /// The generator of the seed draws the phases, as any other sequence of seven numbers.
    #[test]
    fn a_seed_is_found_for_each_sequence_of_phases() {
        for phases in [vec![], vec![3], vec![6, 0, 5], vec![1, 1, 4, 2]] {
            let mut rng = generator(seed_of(&phases));
            let drawn: Vec<u64> = phases.iter().map(|_| rng.below(PHASES)).collect();
            assert_eq!(drawn, phases);
        }
    }

    #[test]
    fn a_record_that_cannot_be_one_is_refused() {
        let refused = |events: &[Event<Ack, u32>]| follow_sender(&tcp(), 1, events).expect_err("refused");
        let mut events = slow_start();
        events.swap(0, 4);
        assert!(refused(&events).contains("event 1 is earlier than event 0"));
        assert!(refused(&events[2..3]).contains("no transmission"));
        events = slow_start();
        events[2] = acknowledged(MS(50), 3, Dur::ZERO);
        assert!(refused(&events).contains("event 2 acknowledges segment 2"));
        assert!(refused(&[Event::Sent(Time::NEVER, 0)]).contains("2^63"));
    }

    fn arrived(time: Dur, seq: u32, pushed: bool) -> Event<Arrival, Said> {
        Event::Arrived(at(time), Arrival { seq, pushed, asked: Time::ZERO, ecn: Ecn::NotEct, cwr: false })
    }

    fn says(time: Dur, next: u32) -> Event<Arrival, Said> {
        Event::Sent(at(time), Said { next, ..Said::default() })
    }

    /// RFC 5681 section 4.2: every second segment, or after the delay of 40 ms of this receiver.
    #[test]
    fn a_receiver_is_compared_with_its_acknowledgements() {
        let document = serde_json::json!({"delayed-ack": {"every": 2, "timeout": "40ms"}, "handshake": false});
        let tcp: Tcp = tailback_document::decode(document).expect("the test's parameters decode");
        let mut events = vec![
            arrived(MS(1), 0, false),
            arrived(MS(2), 1, false),
            says(MS(2), 2),
            arrived(MS(3), 2, false),
            says(MS(43), 3),
        ];
        assert_eq!(follow_receiver(&tcp, &events), Ok(Followed { equal: 2, late: Dur::ZERO, first: None }));

        events[4] = says(MS(42), 3);
        let first = follow_receiver(&tcp, &events).expect("in order").first.expect("a difference");
        assert_eq!((first.at, first.ours, first.sender), (at(MS(42)), None, None));

        events.swap(3, 4);
        assert!(follow_receiver(&tcp, &events).is_err());
        assert_eq!(follow_receiver(&tcp, &[]), Ok(Followed { equal: 0, late: Dur::ZERO, first: None }));
    }

    /// Linux acknowledges the first 16 segments one by one; then only one with PSH.
    #[test]
    fn the_recorded_flag_psh_decides_about_a_receiver_of_linux() {
        let document = serde_json::json!({"delayed-ack": {"form": "linux"}});
        let tcp: Tcp = tailback_document::decode(document).expect("the test's parameters decode");
        let syn = arrived(MS(0), u32::MAX, false);
        let mut events = vec![syn];
        for i in 0..16 {
            events.extend([arrived(MS(10 + u64::from(i)), i, false), says(MS(10 + u64::from(i)), i + 1)]);
        }
        for (pushed, equal) in [(true, true), (false, false)] {
            let mut events = events.clone();
            events.extend([arrived(MS(30), 16, pushed), says(MS(30), 17)]);
            let found = follow_receiver(&tcp, &events).expect("in order").first;
            assert_eq!(found.is_none(), equal, "PSH: {pushed}, {found:?}");
        }
    }
}
