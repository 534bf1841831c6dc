//! Scripts in the style of packetdrill: events at a sender, and the transmissions and states that must follow.
//!
//! Each line of a script has a time in milliseconds, a verb and its arguments; `#` begins a comment.
//!
//! ```text
//! tcp {...}                    parameters that replace those of `plain`; a script may have several
//! 0 offer 20                   the application writes 20 segments
//! 0 > 0-9 10r 11ec             it must transmit these at this time, and nothing else: r resent,
//!                              e ECN-capable, c with CWR; `syn` is a SYN
//! 100 < 5 sack 7-8 9 ece       an acknowledgement: next expected, blocks (both ends included). Its
//!                              timestamp is the last transmission of the segment that caused it
//!                              (the last of the first block, or 4), or 90 with `echo 90`; a block
//!                              after `dsack` is a duplicate
//! 100 = cwnd 5 ssthresh 4.5    the sender's state: also state, flight, rto, srtt, done and statistics
//! ```

use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tailback_random::Rng;
use tailback_transport::{Ack, Block, Ecn, Segment, Sender, Tcp};
use tailback_units::{Dur, Time};

/// Words of an acknowledgement's line that are followed by arguments.
const KEYWORDS: [&str; 3] = ["sack", "dsack", "echo"];

/// State of a script during its execution.
struct Script {
    name: &'static str,
    /// Number of the current line, from 1.
    line: usize,
    sender: Sender,
    now: Time,
    /// Transmissions that the script has not expected yet.
    sent: VecDeque<(Time, Segment)>,
    /// Time of the last transmission of each segment.
    last: BTreeMap<u32, Time>,
    /// Segment size, bytes.
    segment: u64,
}

/// Returns the parameters of a simple TCP: no handshake, an initial window of 1, NewReno, no limited transmit, no
/// detection of spurious timeouts.
fn plain() -> Value {
    json!({
        "handshake": false, "initial-window": 1, "limited-transmit": false, "segment": "1000B",
        "spurious-timeout": "off", "recovery": { "kind": "newreno" },
    })
}

/// Runs the script `text`, and panics if the sender does anything else than it says.
fn run(name: &'static str, text: &str) {
    let mut parameters = plain();
    for line in text.lines().filter_map(|line| line.strip_prefix("tcp ")) {
        let more: Value = serde_json::from_str(line).expect("parameters are JSON");
        for (key, value) in more.as_object().expect("parameters are a table") {
            parameters[key] = value.clone();
        }
    }
    let tcp: Tcp = tailback_document::decode(parameters).expect("parameters decode");
    tcp.check().expect("parameters make sense");
    let segment = tcp.segment.0;
    let sender = Sender::new(&Arc::new(tcp), Rng::named(1, name));
    let empty = (VecDeque::new(), BTreeMap::new());
    let mut script = Script { name, line: 0, sender, now: Time::ZERO, sent: empty.0, last: empty.1, segment };
    for (i, line) in text.lines().enumerate() {
        script.line = i + 1;
        let line = line.split('#').next().expect("split gives a first part").trim();
        if !line.is_empty() && !line.starts_with("tcp ") {
            script.step(line);
        }
    }
    script.nothing_unexpected();
}

impl Script {
    fn fail(&self, failure: &str) -> ! {
        panic!("{} line {}: {failure}\n{:?}", self.name, self.line, self.sender)
    }

    /// Executes a line.
    fn step(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let time = words.next().expect("a line has a time");
        let at = Time::ZERO + Dur::from_secs_f64(time.parse::<f64>().expect("a time in milliseconds") * 1e-3);
        let verb = words.next().expect("a line has a verb");
        let arguments: Vec<&str> = words.collect();
        self.run_to(at);
        match verb {
            "offer" => {
                self.nothing_unexpected();
                let bytes = arguments[0].parse::<f64>().expect("a number of segments") * self.segment as f64;
                self.sender.offer(self.now, bytes as u64);
                self.transmit_all();
            }
            ">" => arguments.iter().for_each(|token| self.expect(at, token)),
            "<" => {
                self.nothing_unexpected();
                let ack = self.ack(&arguments);
                self.sender.on_ack(self.now, &ack, None);
                self.transmit_all();
            }
            "=" => arguments.chunks(2).for_each(|pair| self.compare(pair[0], pair[1])),
            _ => self.fail("unknown verb"),
        }
    }

    /// Processes all expiries of timers up to `at`, and sets the time to `at`.
    fn run_to(&mut self, at: Time) {
        while self.sender.deadline() <= at {
            self.now = self.sender.deadline();
            self.sender.on_timer(self.now);
            self.transmit_all();
            assert!(self.sender.deadline() > self.now, "the timer stops");
        }
        self.now = at;
    }

    /// Records all segments that the sender transmits now.
    fn transmit_all(&mut self) {
        let maximum = self.sent.len() + 100_000;
        while let Some(segment) = self.sender.poll(self.now) {
            assert!(self.sent.len() < maximum, "the sender sends without end at {:?}", self.now);
            self.last.insert(segment.seq, self.now);
            self.sent.push_back((self.now, segment));
        }
        self.sender.audit();
    }

    /// Fails if there is a transmission that the script has not expected.
    fn nothing_unexpected(&self) {
        if let Some((time, segment)) = self.sent.front() {
            self.fail(&format!("transmitted {segment:?} at {time:?}"));
        }
    }

    /// Compares the next transmissions with a token: `5` or `5-9`, followed by flags.
    fn expect(&mut self, at: Time, token: &str) {
        let flags = token.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        let numbers = &token[..token.len() - flags.len()];
        let (first, last) = match (flags, numbers.split_once('-')) {
            ("syn" | "synr" | "sync" | "syncr", _) => (u32::MAX, u32::MAX),
            (_, Some((a, b))) => (number(a), number(b)),
            (_, None) => (number(numbers), number(numbers)),
        };
        let letters = flags.trim_start_matches("syn");
        for seq in first..=last {
            let Some((time, s)) = self.sent.pop_front() else { self.fail(&format!("{seq} was not transmitted")) };
            let got = (time, s.seq, s.retransmission, s.ecn != Ecn::NotEct, s.cwr);
            let want = (at, seq, letters.contains('r'), letters.contains('e'), letters.contains('c'));
            if got != want {
                self.fail(&format!("transmitted {got:?} instead of {want:?} (time, number, retransmission, ECT, CWR)"));
            }
        }
    }

    /// Returns the acknowledgement that the words of a line describe.
    fn ack(&mut self, words: &[&str]) -> Ack {
        let syn = words[0] == "syn-ack";
        let next = if syn { 0 } else { number(words[0]) };
        let advances = next != self.sender.una();
        let mut echo = None;
        let mut blocks = Vec::new();
        let mut keyword = "";
        let mut ece = false;
        for word in &words[1..] {
            match *word {
                "ece" => ece = true,
                word if KEYWORDS.contains(&word) => keyword = word,
                word if keyword == "echo" => echo = Some(Time::ZERO + Dur::from_ms(u64::from(number(word)))),
                word => {
                    let (a, b) = word.split_once('-').unwrap_or((word, word));
                    blocks.push(Block { start: number(a), end: number(b) + 1 });
                }
            }
        }
        let cause = match blocks.first() {
            _ if syn => u32::MAX,
            Some(block) if !advances => block.end - 1,
            _ => next.wrapping_sub(1),
        };
        let echo = echo.or_else(|| self.last.get(&cause).copied()).unwrap_or(Time::ZERO);
        blocks.resize(3, Block::default());
        Ack { next, ece, syn, echo, delay: Dur::ZERO, window: Ack::UNLIMITED, sack: [blocks[0], blocks[1], blocks[2]] }
    }

    /// Compares a quantity of the sender with its expected value.
    fn compare(&self, quantity: &str, expected: &str) {
        let s = &self.sender;
        let counts = s.statistics();
        let actual = match quantity {
            "state" => return self.same(quantity, s.state().name(), expected),
            "done" => return self.same(quantity, &s.done().to_string(), expected),
            "cwnd" => s.cwnd(),
            "ssthresh" => s.ssthresh(),
            "flight" => f64::from(s.in_flight()),
            "rto" => s.rto().as_secs() * 1e3,
            "srtt" => s.srtt().as_secs() * 1e3,
            "timeouts" => counts.timeouts as f64,
            "fast-retransmits" => counts.fast_retransmits as f64,
            "ecn-reductions" => counts.ecn_reductions as f64,
            "spurious" => counts.spurious as f64,
            "probes" => counts.probes as f64,
            "syn-timeouts" => counts.syn_timeouts as f64,
            _ => self.fail("unknown quantity"),
        };
        let expected: f64 = expected.parse().expect("a number");
        if actual != expected && (actual - expected).abs() > 1e-6 {
            self.fail(&format!("{quantity} is {actual}, not {expected}"));
        }
    }

    /// Fails if a quantity has another value than expected.
    fn same(&self, quantity: &str, actual: &str, expected: &str) {
        if actual != expected {
            self.fail(&format!("{quantity} is {actual}, not {expected}"));
        }
    }
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

macro_rules! timelines {
    ($($name:ident),+ $(,)?) => {$(
        #[test]
        fn $name() {
            run(stringify!($name), include_str!(concat!("scripts/", stringify!($name), ".txt")));
        }
    )+};
}

timelines! {
    slow_start_doubles_each_round_trip,
    congestion_avoidance_adds_one_segment_a_round_trip,
    tahoe_goes_back_to_one_segment_after_a_loss,
    a_timeout_after_tahoe_s_repair_halves_the_window_again,
    reno_halves_and_inflates_and_leaves_at_the_first_new_acknowledgement,
    a_careful_reno_leaves_a_second_loss_to_the_timer,
    a_plain_reno_halves_again_for_a_second_loss,
    newreno_repairs_one_loss_per_round_trip,
    newreno_ignores_duplicates_of_segments_sent_before_recovery,
    impatient_newreno_times_out_when_many_are_lost,
    steady_newreno_restarts_its_timer_with_each_partial_acknowledgement,
    sack_repairs_several_holes_in_one_round_trip,
    sack_without_new_data_retransmits_holes_and_once_the_last_segment,
    limited_transmit_sends_new_segments_on_two_duplicates,
    a_timeout_doubles_the_next_until_new_data_is_acknowledged,
    without_timestamps_a_retransmission_gives_no_sample,
    ecn_is_negotiated_and_halves_once_a_window,
    ecn_at_one_segment_waits_for_the_timer,
    ns_2s_ecn_floor_waits_at_any_window_below_two,
    backoff_doubles_the_wait_with_each_consecutive_echo,
    ecn_floor_none_sends_on_at_one_segment,
    an_echo_reduces_no_window_of_dctcp_below_two,
    dctcp_with_a_least_window_of_one_waits_for_the_timer,
    a_loss_in_a_window_reduced_for_ecn_does_not_reduce_again,
    idleness_restarts_from_the_initial_window,
    f_rto_undoes_a_spurious_timeout,
    f_rto_goes_back_when_segments_are_lost,
    f_rto_with_sack_undoes_a_spurious_timeout,
    eifel_undoes_a_spurious_timeout,
    eifel_undoes_a_spurious_fast_retransmit,
    rack_waits_a_quarter_round_trip_for_reordered_segments,
    rack_finds_a_lost_retransmission,
    rack_widens_its_window_after_a_duplicate_report,
    rack_marks_at_an_expiry_segments_sent_a_round_trip_before,
    a_tail_loss_probe_finds_a_lost_tail,
    a_probe_that_repaired_a_loss_reduces_the_window,
    prr_sends_on_every_second_acknowledgement,
    a_lost_syn_starts_data_with_one_segment,
    the_receive_window_limits_the_segments_outstanding,
    pacing_spreads_a_window_over_the_round_trip,
    ns_2_halves_the_window_and_opens_it_when_newreno_ends,
    ns_2_halves_the_threshold_at_each_expiry,
    ns_2s_deflation_reduces_the_window_permanently,
    sack_by_count_repairs_a_hole_for_each_acknowledgement,
    sack_that_forgets_retransmits_all_segments_after_a_timeout,
    limited_transmit_always_sends_after_a_timeout_too,
    a_loss_halves_dctcp_although_an_echo_has_just_reduced_it,
    a_later_segment_is_timed_across_the_repair_of_another,
    limited_transmit_with_sack_sends_as_segments_leave_the_pipe,
    without_limited_transmit_sack_sends_nothing_until_a_loss_is_detected,
    limited_transmit_always_sends_after_a_timeout_with_sack,
    limited_transmit_with_sack_ends_at_a_timeout,
    blocks_of_a_late_acknowledgement_count,
    reports_of_duplicates_undo_a_spurious_fast_retransmit,
    a_repair_that_was_needed_is_not_undone,
    an_application_limited_slow_start_stops_at_twice_the_current_flight,
    with_window_validation_by_round_slow_start_stops_at_twice_the_maximum_flight_of_the_round,
    a_granularity_of_200_ms_is_linuxs_floor_of_the_variation,
}
