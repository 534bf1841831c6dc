//! Senders under a congestion control that the user has written.

use serde_json::json;
use std::sync::{Arc, Mutex};
use tailback_random::Rng;
use tailback_transport::cc::user::User;
use tailback_transport::cc::{
    Acked, Build, Congestion, CongestionControl, CongestionEvent as Sign, EchoResponse, Pacing, RateSample,
    RecoveryWindow, Sent, SentCalls, Setup, Timer, Window,
};
use tailback_transport::{Ack, Block, Line, Sender, Tcp};
use tailback_units::{Dur, Time};
use tailback_user::{
    Code, CongestionAnswer, CongestionCall, CongestionEvent, CongestionLaw, CongestionOptions, Factories, Faults,
    LoadError, Loaded, NoFactories, Role,
};

const NEVER: u64 = u64::MAX;

/// Answer of the script: changes of the answer before, or a failure.
type Answer = fn(&mut CongestionAnswer) -> Result<(), String>;

/// Calls with the answers before them, and the number of renewals.
type Calls = Arc<Mutex<(Vec<(CongestionCall, CongestionAnswer)>, u32)>>;

/// A control that records its calls and gives the same answer to all of them.
#[derive(Debug)]
struct Script {
    answer: Answer,
    calls: Calls,
}

impl CongestionLaw for Script {
    fn answer(
        &mut self,
        call: &CongestionCall,
        last: &CongestionAnswer,
        rng: &mut Rng,
    ) -> Result<CongestionAnswer, String> {
        rng.uniform();
        self.calls.lock().unwrap().0.push((*call, *last));
        let mut answer = *last;
        (self.answer)(&mut answer)?;
        Ok(answer)
    }
    fn renew(&mut self) -> Result<(), String> {
        let mut calls = self.calls.lock().unwrap();
        calls.1 += 1;
        if calls.1 > 2 { Err("it cannot begin again".to_owned()) } else { Ok(()) }
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        f("calls", self.calls.lock().unwrap().0.len() as f64);
        if self.calls.lock().unwrap().0.is_empty() { Err("no calls yet".to_owned()) } else { Ok(()) }
    }
}

struct Made(Answer, Calls);

impl Factories for Made {
    fn load(&self, _: Role, _: &Code) -> Result<Loaded, LoadError> {
        unreachable!("the tests mark the code as loaded")
    }
    fn congestion_control(&self, _: &Code) -> Result<Box<dyn CongestionLaw>, String> {
        Ok(Box::new(Script { answer: self.0, calls: self.1.clone() }))
    }
}

fn code(events: &[CongestionEvent], options: u32) -> Code {
    let events = events.iter().map(|event| event.bit()).sum();
    let loaded = Loaded { index: 0, digest: "hash".to_owned(), events, marks: false, options };
    Code { file: "c.py".into(), class: "C".into(), parameters: serde_json::Map::new(), loaded: Some(loaded) }
}

fn setup() -> Setup {
    Setup {
        payload: 960,
        header: 40,
        initial_window: 4,
        initial_ssthresh: None,
        max_rto: Dur::from_secs(60),
        tick: None,
        pacing: false,
        selective: true,
        line: Line::default(),
    }
}

/// A control with its window and its faults.
struct Rig {
    control: User,
    calls: Calls,
    faults: Faults,
    window: Window,
}

impl Rig {
    fn new(answer: Answer, events: &[CongestionEvent], options: u32) -> Rig {
        let (code, calls, faults) = (code(events, options), Calls::default(), Faults::default());
        let mut control = code.build(&setup(), Rng::named(1, "transport"));
        control.install(&code, &Made(answer, calls.clone()), "tcp[1]", &faults);
        Rig { control, calls, faults, window: Window { cwnd: 4.0, ssthresh: 8.0 } }
    }
    fn calls(&self) -> Vec<(CongestionCall, CongestionAnswer)> {
        std::mem::take(&mut self.calls.lock().unwrap().0)
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Dur::from_ms(ms)
}

fn acked(now: Time) -> Acked {
    Acked {
        now,
        delivered: 3,
        advanced: 2,
        rtt: Some(Dur::from_ms(120)),
        srtt: Dur::from_ms(110),
        min_rtt: Dur::from_ms(100),
        in_flight_before: 7,
        in_flight: 5,
        window_limited: true,
        ece: true,
        recovering: true,
        round: true,
        lost: 6,
        rate: Some(RateSample {
            delivered: 30,
            interval: Dur::from_ms(500),
            prior_delivered: 0,
            total_delivered: 30,
            sent_in_flight: 1,
            lost: 0,
            app_limited: true,
        }),
    }
}

/// Returns a call without content at `ms` milliseconds, before the first acknowledgement.
fn empty(event: CongestionEvent, ms: u64) -> CongestionCall {
    CongestionCall {
        now_ps: ms * 1_000_000_000,
        rtt_ps: NEVER,
        srtt_ps: 0,
        min_rtt_ps: 0,
        cwnd: 4.0,
        ssthresh: 8.0,
        delivery_rate: 0.0,
        event: event as u32,
        delivered: 0,
        advanced: 0,
        in_flight_before: 0,
        in_flight: 0,
        lost: 0,
        payload: 960,
        window_limited: 0,
        ece: 0,
        recovering: 0,
        round: 0,
        app_limited: 0,
        idle: 0,
        reserved: [0; 6],
    }
}

/// Changes nothing.
const KEEP: Answer = |_| Ok(());

#[test]
fn each_event_has_its_content_and_the_state_of_the_sender() {
    let mut rig = Rig::new(KEEP, &CongestionEvent::ALL, CongestionOptions::PACES);
    let Rig { control, window, .. } = &mut rig;
    control.on_open(window, at(5));
    control.on_sent(window, &Sent { now: at(6), idle: true, in_flight: 1, ..Sent::default() });
    control.on_sent(window, &Sent { now: at(7), in_flight: 1, ..Sent::default() });
    control.on_ack(window, &acked(at(10)));
    control.on_congestion(window, &Sign::new(Congestion::Loss, at(20), 9));
    control.on_congestion(window, &Sign::new(Congestion::Ecn, at(30), 8));
    control.on_congestion(window, &Sign::new(Congestion::Timeout, at(40), 7));
    control.on_spurious(window, at(50));
    let path = |call: CongestionCall| CongestionCall { srtt_ps: 110_000_000_000, min_rtt_ps: 100_000_000_000, ..call };
    let expected = [
        empty(CongestionEvent::Start, 5),
        CongestionCall { idle: 1, ..empty(CongestionEvent::Sent, 6) },
        empty(CongestionEvent::Sent, 7),
        path(CongestionCall {
            rtt_ps: 120_000_000_000,
            // 30 segments in 0.5 s.
            delivery_rate: 60.0,
            delivered: 3,
            advanced: 2,
            in_flight_before: 7,
            in_flight: 5,
            lost: 6,
            window_limited: 1,
            ece: 1,
            recovering: 1,
            round: 1,
            app_limited: 1,
            ..empty(CongestionEvent::Acknowledged, 10)
        }),
        path(CongestionCall { in_flight: 9, ..empty(CongestionEvent::Lost, 20) }),
        path(CongestionCall { in_flight: 8, ..empty(CongestionEvent::Marked, 30) }),
        path(CongestionCall { in_flight: 7, ..empty(CongestionEvent::Timeout, 40) }),
        path(empty(CongestionEvent::Spurious, 50)),
    ];
    let calls = rig.calls();
    assert_eq!(calls.iter().map(|(call, _)| *call).collect::<Vec<_>>(), expected);
    let unchanged = CongestionAnswer { cwnd: 4.0, ssthresh: 8.0, rate: 0.0, wake_ps: NEVER };
    assert!(calls.iter().all(|(_, last)| *last == unchanged), "{calls:?}");
    // Without samples, and with nothing that limits or echoes.
    let plain = Acked {
        rtt: None,
        rate: None,
        window_limited: false,
        ece: false,
        recovering: false,
        round: false,
        ..acked(at(60))
    };
    rig.control.on_ack(&mut rig.window, &plain);
    let (call, _) = rig.calls()[0];
    assert_eq!((call.rtt_ps, call.delivery_rate, call.app_limited), (NEVER, 0.0, 0));
    assert_eq!([call.window_limited, call.ece, call.recovering, call.round], [0; 4]);
    assert_eq!(rig.faults.first(), None);
}

#[test]
fn an_answer_sets_the_window_the_threshold_the_rate_and_the_wake_up() {
    let change: Answer = |answer| {
        *answer = CongestionAnswer {
            cwnd: answer.cwnd + 1.5,
            ssthresh: 20.0,
            rate: answer.rate + 250.0,
            wake_ps: 30_000_000_000,
        };
        Ok(())
    };
    let mut rig = Rig::new(change, &[CongestionEvent::Acknowledged], CongestionOptions::PACES);
    assert_eq!((rig.control.wake(), rig.control.pacing()), (Time::NEVER, Pacing::default()));
    rig.control.on_ack(&mut rig.window, &acked(at(10)));
    assert_eq!(rig.window, Window { cwnd: 5.5, ssthresh: 20.0 });
    assert_eq!((rig.control.wake(), rig.control.pacing()), (at(30), Pacing::at(250.0)));
    rig.control.on_ack(&mut rig.window, &acked(at(11)));
    assert_eq!((rig.window.cwnd, rig.control.pacing()), (7.0, Pacing::at(500.0)));
    let (_, last) = rig.calls()[1];
    assert_eq!(last, CongestionAnswer { cwnd: 5.5, ssthresh: 20.0, rate: 250.0, wake_ps: 30_000_000_000 });
    // Events for which the control is not called change nothing.
    rig.control.on_congestion(&mut rig.window, &Sign::new(Congestion::Loss, at(20), 9));
    assert_eq!((rig.window.cwnd, rig.calls().len()), (7.0, 0));
}

#[test]
fn the_timer_is_called_once_at_its_time_and_for_no_other_timer() {
    let mut rig = Rig::new(
        |answer| {
            answer.wake_ps = if answer.wake_ps == NEVER { 30_000_000_000 } else { answer.wake_ps };
            answer.cwnd += 1.0;
            Ok(())
        },
        &[CongestionEvent::Start, CongestionEvent::Timer],
        0,
    );
    assert!(rig.control.profile().wakes);
    rig.control.on_open(&mut rig.window, at(0));
    assert_eq!(rig.control.wake(), at(30));
    rig.control.on_timer(&mut rig.window, at(29), Timer::Control);
    rig.control.on_timer(&mut rig.window, at(30), Timer::Retransmission(Dur::from_secs(1)));
    assert_eq!((rig.calls().len(), rig.window.cwnd), (1, 5.0));
    rig.control.on_timer(&mut rig.window, at(30), Timer::Control);
    // The new wake-up at 30 ms is not after now.
    assert!(rig.faults.first().unwrap().message.contains("must be followed by a later wake-up"));
    assert_eq!((rig.calls()[0].1.wake_ps, rig.window.cwnd, rig.control.wake()), (NEVER, 5.0, Time::NEVER));
}

#[test]
fn the_profile_has_what_the_control_declares() {
    let profile = |events: &[CongestionEvent], options| Rig::new(KEEP, events, options).control.profile();
    let plain = profile(&[CongestionEvent::Acknowledged], 0);
    assert_eq!((plain.recovery, plain.echo, plain.sent), Default::default());
    assert_eq!([plain.paces, plain.samples_rate, plain.wakes, plain.every_expiry], [false; 4]);
    assert!(profile(&[CongestionEvent::Start], CongestionOptions::PACES).paces);
    assert!(profile(&[CongestionEvent::Start], CongestionOptions::SAMPLES_RATE).samples_rate);
    let owns = profile(&[CongestionEvent::Start], CongestionOptions::OWNS_RECOVERY);
    assert_eq!((owns.recovery, owns.echo), (RecoveryWindow::Control, EchoResponse::OncePerWindow));
    let echoes = profile(&[CongestionEvent::Start], CongestionOptions::HANDLES_ECHOES);
    assert_eq!((echoes.recovery, echoes.echo), (RecoveryWindow::Sender, EchoResponse::Control));
    assert_eq!(profile(&[CongestionEvent::Sent], 0).sent, SentCalls::Each);
    let unloaded = Code { loaded: None, ..code(&CongestionEvent::ALL, 15) };
    let control = unloaded.build(&setup(), Rng::named(1, "transport"));
    assert!(!control.profile().wakes && !control.profile().paces);
}

#[test]
fn a_wrong_answer_is_a_fault_and_leaves_the_window_as_it_was() {
    let cases: [(Answer, &str); 10] = [
        (|a| a.set(f64::NAN, 8.0), "the window is NaN segments; it must be 1 to 1000000000"),
        (|a| a.set(0.99, 8.0), "the window is 0.99 segments"),
        (|a| a.set(1.1e9, 8.0), "the window is 1100000000 segments"),
        (|a| a.set(4.0, f64::NAN), "the threshold is NaN segments; it must be 1 or more, or infinite"),
        (|a| a.set(4.0, 0.99), "the threshold is 0.99 segments"),
        (|a| a.pace(1e-4, NEVER), "the rate is 0.0001 segments/s; it must be 0.001 to 1000000000000"),
        (|a| a.pace(f64::INFINITY, NEVER), "the rate is inf segments/s"),
        (|a| a.pace(5.0, NEVER), "does not declare that it paces"),
        (|a| a.pace(0.0, 9_999_999_999), "the wake-up at 9999999.999ns is before now, 10ms"),
        (|_| Err("it is broken".to_owned()), "it is broken"),
    ];
    for (answer, message) in cases {
        let mut rig = Rig::new(answer, &[CongestionEvent::Acknowledged], 0);
        rig.control.on_ack(&mut rig.window, &acked(at(10)));
        assert_eq!(rig.window, Window { cwnd: 4.0, ssthresh: 8.0 }, "{message}");
        let fault = rig.faults.first().expect(message);
        assert_eq!((fault.component.as_str(), fault.call, fault.at), ("`C` of c.py at tcp[1]", "acknowledged", at(10)));
        assert!(fault.message.contains(message), "{}", fault.message);
        // The control is removed.
        rig.control.on_ack(&mut rig.window, &acked(at(20)));
        assert_eq!((rig.calls().len(), rig.control.wake()), (1, Time::NEVER));
    }
    // The bounds themselves are valid.
    let bounds: [Answer; 4] =
        [|a| a.set(1.0, 1.0), |a| a.set(1e9, f64::INFINITY), |a| a.pace(1e-3, 10_000_000_000), |a| a.pace(1e12, NEVER)];
    for answer in bounds {
        let mut rig = Rig::new(answer, &[CongestionEvent::Acknowledged], CongestionOptions::PACES);
        rig.control.on_ack(&mut rig.window, &acked(at(10)));
        assert_eq!(rig.faults.first(), None);
    }
}

/// Changes of an answer.
trait Change {
    fn set(&mut self, cwnd: f64, ssthresh: f64) -> Result<(), String>;
    fn pace(&mut self, rate: f64, wake_ps: u64) -> Result<(), String>;
}

impl Change for CongestionAnswer {
    fn set(&mut self, cwnd: f64, ssthresh: f64) -> Result<(), String> {
        (self.cwnd, self.ssthresh) = (cwnd, ssthresh);
        Ok(())
    }
    fn pace(&mut self, rate: f64, wake_ps: u64) -> Result<(), String> {
        (self.rate, self.wake_ps) = (rate, wake_ps);
        Ok(())
    }
}

#[test]
fn a_loss_with_an_infinite_threshold_is_a_fault_unless_the_control_owns_recovery() {
    let unset = Window { cwnd: 6.0, ssthresh: f64::INFINITY };
    for (sign, options, faulty) in [
        (Congestion::Loss, 0, true),
        (Congestion::Loss, CongestionOptions::OWNS_RECOVERY, false),
        (Congestion::Timeout, 0, false),
        (Congestion::Ecn, 0, false),
    ] {
        let mut rig = Rig::new(KEEP, &[CongestionEvent::Acknowledged], options);
        rig.window = unset;
        rig.control.on_congestion(&mut rig.window, &Sign::new(sign, at(20), 6));
        let fault = rig.faults.first();
        assert_eq!(fault.map(|fault| (fault.call, fault.at)), faulty.then_some(("lost", at(20))), "{sign:?}");
        assert_eq!(rig.window.ssthresh, if faulty { 6.0 } else { f64::INFINITY });
    }
    let mut rig = Rig::new(|a| a.set(6.0, 3.0), &[CongestionEvent::Lost], 0);
    rig.window = unset;
    rig.control.on_congestion(&mut rig.window, &Sign::new(Congestion::Loss, at(20), 6));
    assert_eq!((rig.faults.first(), rig.window.ssthresh), (None, 3.0));
}

#[test]
fn a_probe_that_fails_is_a_fault() {
    let mut rig = Rig::new(KEEP, &[CongestionEvent::Start], 0);
    rig.control.probe(&mut |_, _| {});
    assert_eq!(rig.faults.first().map(|fault| (fault.call, fault.at)), Some(("probes", Time::ZERO)));
    rig.control.on_open(&mut rig.window, at(3));
    let mut found = Vec::new();
    rig.control.probe(&mut |name, value| found.push((name, value)));
    assert_eq!(found, [("calls", 1.0)]);
}

/// Returns a sender with a control that is called for all events.
fn sender(answer: Answer, options: u32) -> (Sender, Calls, Faults) {
    let document =
        json!({ "congestion-control": { "kind": "user", "file": "c.py", "class": "C" }, "handshake": false });
    let mut tcp: Tcp = tailback_document::decode(document).unwrap();
    let tailback_transport::Cc::User(user) = &mut tcp.congestion_control else { panic!("it is a user's control") };
    *user = code(&CongestionEvent::ALL, options);
    let mut sender = Sender::new(&Arc::new(tcp), Rng::named(1, "transport"));
    let (calls, faults) = (Calls::default(), Faults::default());
    assert!(sender.has_user_code());
    sender.install(&Made(answer, calls.clone()), "tcp[1]", &faults);
    (sender, calls, faults)
}

#[test]
fn a_sender_starts_its_control_when_it_opens_and_wakes_it() {
    let (mut sender, calls, faults) = sender(
        |answer| {
            answer.wake_ps = match answer.wake_ps {
                NEVER if answer.cwnd == 3.0 => NEVER,
                NEVER => 90_000_000_000,
                wake => wake + 7_000_000_000,
            };
            answer.cwnd = 3.0;
            Ok(())
        },
        0,
    );
    let events = |calls: &Calls| -> Vec<(u32, u64)> {
        let taken = std::mem::take(&mut calls.lock().unwrap().0);
        taken.iter().map(|(call, _)| (call.event, call.now_ps / 1_000_000_000)).collect()
    };
    assert_eq!(sender.deadline(), Time::NEVER);
    sender.offer(at(5), 96_000);
    assert_eq!(events(&calls), [(CongestionEvent::Start as u32, 5)]);
    let sent = std::iter::from_fn(|| sender.poll(at(5))).count();
    assert_eq!(sent, 3, "the window of the control");
    assert_eq!(events(&calls).len(), 3);
    // A further write opens nothing.
    sender.offer(at(6), 96_000);
    assert_eq!(events(&calls), []);
    assert_eq!(sender.deadline(), at(90 + 3 * 7), "three answers postponed the wake-up");
    let due = sender.deadline();
    sender.on_timer(Time(due.0 - 1));
    assert_eq!(events(&calls), []);
    sender.on_timer(due);
    assert_eq!(events(&calls), [(CongestionEvent::Timer as u32, due.0 / 1_000_000_000)]);
    assert_eq!(faults.first(), None);
}

#[test]
fn a_reopened_sender_renews_its_control() {
    let (mut sender, calls, faults) = sender(KEEP, 0);
    let mut now = at(5);
    sender.offer(now, 960);
    let first = sender.poll(now).expect("a segment").seq;
    sender.on_ack(
        at(105),
        &Ack {
            next: first + 1,
            ece: false,
            syn: false,
            echo: at(5),
            delay: Dur::ZERO,
            window: Ack::UNLIMITED,
            sack: [Block::default(); 3],
        },
        None,
    );
    for opening in 1..=3u32 {
        now = at(1_000 * u64::from(opening));
        sender.reopen(Rng::named(1, "again"));
        assert_eq!(calls.lock().unwrap().1, opening - 1, "a control is renewed when its connection opens");
        calls.lock().unwrap().0.clear();
        sender.offer(now, 960);
        assert_eq!(calls.lock().unwrap().1, opening);
        let starts = calls.lock().unwrap().0.first().map(|(call, last)| (call.event, call.now_ps, last.cwnd));
        // The third renewal fails.
        assert_eq!(starts, (opening < 3).then_some((0, now.0, 10.0)));
    }
    let fault = faults.first().expect("the third renewal fails");
    assert_eq!((fault.call, fault.at, fault.message.as_str()), ("start", at(3_000), "it cannot begin again"));
}

#[test]
fn a_control_without_factories_is_a_fault() {
    let (mut sender, ..) = sender(KEEP, 0);
    let faults = Faults::default();
    sender.install(&NoFactories, "tcp[1]", &faults);
    assert_eq!(faults.first().map(|fault| fault.call), Some("start"));
    let plain = Sender::new(&Arc::new(Tcp::default()), Rng::named(1, "transport"));
    assert!(!plain.has_user_code());
}
