//! Disciplines under a law that the user has written.

use crate::common::{Arrival, packet};
use serde_json::json;
use std::sync::{Arc, Mutex};
use tailback_qdisc::signals::Signals;
use tailback_qdisc::{Colour, Cx, Discipline, Dropped, Ecn, Gate, Qdisc, Reason, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};
use tailback_user::{
    Code, Factories, Faults, LoadError, Loaded, NoFactories, QueueAnswer, QueueCall, QueueEvent, QueueLaw, QueueState,
    Role, SchedulerAnswer, SchedulerCall, SchedulerLaw,
};

/// A law that draws its verdicts, and sets its timer at random.
#[derive(Debug)]
struct Random;

impl QueueLaw for Random {
    fn answer(&mut self, call: &QueueCall, wake_ps: u64, rng: &mut Rng) -> Result<QueueAnswer, String> {
        let next = if rng.chance(0.5) { wake_ps } else { call.now_ps + 1 + rng.below(1_000_000_000) };
        let verdict = if rng.chance(0.2) { 1 + rng.below(2) as u32 } else { 0 };
        Ok(QueueAnswer { wake_ps: next.max(call.now_ps + 1), verdict, reserved: 0 })
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        f("one", 1.0);
        Ok(())
    }
    fn state_bytes(&self) -> usize {
        8
    }
}

/// Factories of laws that this function makes.
struct Made<F>(F);

impl<F: Fn() -> Box<dyn QueueLaw> + Send + Sync> Factories for Made<F> {
    fn load(&self, _: Role, _: &Code) -> Result<Loaded, LoadError> {
        Ok(loaded())
    }
    fn queue_law(&self, _: &Code) -> Result<Box<dyn QueueLaw>, String> {
        Ok((self.0)())
    }
}

fn loaded() -> Loaded {
    let events = QueueEvent::ALL.iter().map(|event| event.bit()).sum();
    Loaded { index: 0, digest: "hash".to_owned(), events, marks: true, options: 0 }
}

/// Returns the parameters with every user's law marked as loaded.
pub fn with_loaded_laws(mut spec: Spec) -> Spec {
    spec.each_code(&tailback_document::Path::root(), &mut |_, _, code| code.loaded = Some(loaded()));
    spec
}

/// A scheduler that chooses at random a queue that is ready, or none.
impl SchedulerLaw for Random {
    fn answer(
        &mut self,
        call: &SchedulerCall,
        queues: &[QueueState],
        _: u64,
        rng: &mut Rng,
    ) -> Result<SchedulerAnswer, String> {
        let ready: Vec<u32> = (0..).zip(queues).filter(|(_, queue)| queue.ready == 1).map(|(i, _)| i).collect();
        let chosen = (!ready.is_empty() && rng.chance(0.9)).then(|| ready[rng.below(ready.len() as u64) as usize]);
        let wake_ps = call.now_ps + 1 + rng.below(1_000_000_000);
        Ok(SchedulerAnswer { wake_ps, queue: chosen.unwrap_or(SchedulerAnswer::NONE), reserved: 0 })
    }
}

/// Factories of random laws and schedulers.
struct RandomLaws;

impl Factories for RandomLaws {
    fn load(&self, _: Role, _: &Code) -> Result<Loaded, LoadError> {
        Ok(loaded())
    }
    fn queue_law(&self, _: &Code) -> Result<Box<dyn QueueLaw>, String> {
        Ok(Box::new(Random))
    }
    fn scheduler(&self, _: &Code) -> Result<Box<dyn SchedulerLaw>, String> {
        Ok(Box::new(Random))
    }
}

/// Gives random laws to all disciplines that need one.
pub fn install_random_laws(q: &mut Discipline, rng: &mut Rng) {
    let faults = Faults::default();
    q.each_user(&mut |user| user.install(&RandomLaws, "port", &faults, rng));
    assert_eq!(faults.first(), None);
}

/// A law that records its calls and gives these answers in turn, the last one for ever.
#[derive(Debug)]
struct Script {
    answers: Vec<(u32, u64)>,
    calls: Arc<Mutex<Vec<QueueCall>>>,
}

impl QueueLaw for Script {
    fn answer(&mut self, call: &QueueCall, _: u64, _: &mut Rng) -> Result<QueueAnswer, String> {
        self.calls.lock().unwrap().push(*call);
        let (verdict, wake_ps) = if self.answers.len() > 1 { self.answers.remove(0) } else { self.answers[0] };
        Ok(QueueAnswer { wake_ps, verdict, reserved: 0 })
    }
}

/// A discipline whose law follows a script.
struct Rig {
    q: Discipline,
    calls: Arc<Mutex<Vec<QueueCall>>>,
    faults: Faults,
    rng: Rng,
    dropped: Vec<Dropped>,
    marked: u64,
}

const NEVER: u64 = u64::MAX;

impl Rig {
    fn new(answers: &[(u32, u64)]) -> Rig {
        let document = json!({ "kind": "user", "file": "law.py", "class": "Law" });
        let spec = with_loaded_laws(tailback_document::decode(document).unwrap());
        let mut q = spec.build(&Site { packets: 2, bytes: 10_000, rate: Rate::mbit(10) });
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (faults, mut rng) = (Faults::default(), Rng::named(1, "port"));
        let law = || Box::new(Script { answers: answers.to_vec(), calls: calls.clone() }) as Box<dyn QueueLaw>;
        q.each_user(&mut |user| user.install(&Made(law), "s->b", &faults, &mut rng));
        Rig { q, calls, faults, rng, dropped: Vec::new(), marked: 0 }
    }
    fn arrive(&mut self, ns: u64, seq: u32, ecn: Ecn) {
        let at = Time::ZERO + Dur::from_ns(ns);
        let packet = packet(&Arrival { at, seq, flow: 5, size: 1000, ecn, colour: Colour::Yellow });
        self.q.enqueue(
            at,
            packet,
            &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked },
        );
    }
    fn leave(&mut self, ns: u64) -> Option<u32> {
        let at = Time::ZERO + Dur::from_ns(ns);
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        self.q.dequeue(at, &Gate::default(), cx).map(|packet| packet.seq)
    }
    fn drops(&self) -> Vec<(u32, Reason)> {
        self.dropped.iter().map(|dropped| (dropped.packet.seq, dropped.why)).collect()
    }
    fn calls(&self) -> Vec<QueueCall> {
        self.calls.lock().unwrap().clone()
    }
}

#[test]
fn a_call_has_the_event_the_packet_the_queue_and_the_link() {
    let mut rig = Rig::new(&[(0, NEVER)]);
    rig.arrive(10, 7, Ecn::Ect0);
    rig.arrive(20, 8, Ecn::NotEct);
    rig.arrive(30, 9, Ecn::Ect1);
    assert_eq!(rig.leave(50), Some(7));
    assert_eq!(rig.leave(60), Some(8));
    assert_eq!(rig.leave(70), None);
    let calls = rig.calls();
    let events: Vec<u32> = calls.iter().map(|call| call.event).collect();
    // Start, three arrivals, two departures, and an attempt that finds no packet.
    assert_eq!(events, [0, 1, 1, 1, 2, 2, 3]);
    assert_eq!(
        calls.iter().map(|call| call.now_ps).collect::<Vec<_>>(),
        [0, 10_000, 20_000, 30_000, 50_000, 60_000, 70_000]
    );
    let queues: Vec<_> = calls.iter().map(|call| (call.queue_packets, call.queue_bytes)).collect();
    assert_eq!(queues, [(0, 0), (0, 0), (1, 1000), (2, 2000), (1, 1000), (0, 0), (0, 0)]);
    assert_eq!(calls.iter().map(|call| call.full).collect::<Vec<_>>(), [0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(calls.iter().map(|call| call.ecn).collect::<Vec<_>>(), [0, 2, 0, 1, 2, 0, 0]);
    assert_eq!(calls.iter().map(|call| call.sequence).collect::<Vec<_>>(), [0, 7, 8, 9, 7, 8, 0]);
    assert_eq!(calls.iter().map(|call| call.sojourn_ps).collect::<Vec<_>>(), [0, 0, 0, 0, 40_000, 40_000, 0]);
    for call in &calls {
        assert_eq!((call.limit_packets, call.limit_bytes, call.rate_bps), (2, 10_000, 10_000_000));
    }
    assert_eq!((calls[1].size, calls[1].flow, calls[1].colour), (1000, 5, 1));
    // The third packet found the queue full.
    assert_eq!(rig.drops(), [(9, Reason::BufferFull)]);
    assert_eq!(rig.faults.first(), None);
}

#[test]
fn verdicts_are_carried_out_at_arrival_and_at_departure() {
    // Start, then: drop, mark (ECN-capable), mark (not ECN-capable), pass, and at departure drop, mark.
    let script = [(0, NEVER), (2, NEVER), (1, NEVER), (1, NEVER), (0, NEVER), (2, NEVER), (1, NEVER), (0, NEVER)];
    let mut rig = Rig::new(&script);
    rig.arrive(1, 0, Ecn::Ect0);
    rig.arrive(2, 1, Ecn::Ect0);
    rig.arrive(3, 2, Ecn::NotEct);
    rig.arrive(4, 3, Ecn::Ect0);
    assert_eq!(rig.drops(), [(0, Reason::Early), (2, Reason::Early)]);
    assert_eq!(rig.marked, 1);
    // The departing packet 1 is dropped, and packet 3 is taken and marked.
    assert_eq!(rig.leave(9), Some(3));
    assert_eq!(rig.drops()[2], (1, Reason::Early));
    assert_eq!(rig.marked, 2);
    assert_eq!(rig.calls().last().map(|call| (call.event, call.queue_packets)), Some((2, 0)));
}

#[test]
fn a_timer_is_called_once_at_its_time() {
    let mut rig = Rig::new(&[(0, 5_000), (0, 8_000), (0, NEVER)]);
    assert_eq!(rig.q.next_wakeup(), Some(Time(5_000)));
    for (now, next) in [(4_999, Some(5_000)), (5_000, Some(8_000)), (8_000, None), (9_000, None)] {
        let cx = &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked };
        rig.q.wake(Time(now), cx);
        assert_eq!(rig.q.next_wakeup(), next.map(Time), "{now}");
    }
    assert_eq!(
        rig.calls().iter().map(|call| (call.event, call.now_ps)).collect::<Vec<_>>(),
        [(0, 0), (4, 5_000), (4, 8_000)]
    );
}

#[test]
fn an_invalid_answer_is_a_fault_and_afterwards_all_packets_pass_without_a_call() {
    for (answer, message) in [((3, NEVER), "the verdict 3"), ((0, 9_999), "is before now"), ((0, 0), "is before now")] {
        let mut rig = Rig::new(&[(0, NEVER), answer]);
        rig.arrive(10, 0, Ecn::NotEct);
        let fault = rig.faults.first().expect("a fault").clone();
        assert!(fault.message.contains(message), "{fault}");
        assert_eq!((fault.call, fault.at), ("arrive", Time(10_000)));
        assert!(fault.to_string().starts_with("`Law` of law.py at s->b, in `arrive` at 0.00000001 s: "), "{fault}");
        assert_eq!(rig.leave(20), Some(0));
        assert_eq!((rig.calls().len(), rig.q.next_wakeup()), (2, None));
    }
    // A wake-up now is possible, except in the timer itself.
    let mut rig = Rig::new(&[(0, NEVER), (0, 10_000)]);
    rig.arrive(10, 0, Ecn::NotEct);
    assert_eq!((rig.faults.first(), rig.q.next_wakeup()), (None, Some(Time(10_000))));
    rig.q.wake(Time(10_000), &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked });
    assert!(rig.faults.first().is_some_and(|fault| fault.message.contains("a later wake-up")));
}

#[test]
fn without_factories_every_component_is_refused() {
    let code = Code { file: "law.py".into(), class: "Law".into(), parameters: serde_json::Map::new(), loaded: None };
    assert_eq!(NoFactories.load(Role::QueueLaw, &code).unwrap_err().key, "file");
    let mut q = Spec::User(code).build(&Site::default());
    let faults = Faults::default();
    q.each_user(&mut |user| user.install(&NoFactories, "s->b", &faults, &mut Rng::named(1, "port")));
    assert_eq!(faults.first().map(|fault| fault.call), Some("start"));
}

#[test]
fn file_class_and_parameters_are_fixed_during_a_run() {
    let spec = |change: serde_json::Value| -> Spec {
        let mut document = json!({ "kind": "user", "file": "law.py", "class": "Law", "parameters": { "a": 1 } });
        document.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        tailback_document::decode(document).unwrap()
    };
    let from = spec(json!({}));
    assert_eq!(from.check_retune(&from), Ok(()));
    for (key, value) in [("file", json!("other.py")), ("class", json!("Other")), ("parameters", json!({ "a": 2 }))] {
        let to = spec(json!({ key: value }));
        assert_eq!(from.check_retune(&to).unwrap_err().path, key);
    }
}

/// Returns the discipline of [`Rig`] with another law, which has the events of these bits.
fn loaded_for(events: u32, law: impl Fn() -> Box<dyn QueueLaw> + Send + Sync) -> (Discipline, Faults) {
    let mut spec: Spec =
        tailback_document::decode(json!({ "kind": "user", "file": "law.py", "class": "Law" })).unwrap();
    spec.each_code(&tailback_document::Path::root(), &mut |_, _, code| {
        code.loaded = Some(Loaded { events, ..loaded() });
    });
    let mut q = spec.build(&Site { packets: 2, bytes: 10_000, rate: Rate::mbit(10) });
    let faults = Faults::default();
    let made = Made(law);
    q.each_user(&mut |user| user.install(&made, "s->b", &faults, &mut Rng::named(1, "port")));
    (q, faults)
}

/// The documentation of `QueueCall`: the fields of the packet are 0 unless the event is an arrival or a departure.
#[test]
fn each_call_has_all_fields_of_its_packet_and_none_without_a_packet() {
    let mut rig = Rig::new(&[(0, 7_000_000)]);
    let mut sent =
        packet(&Arrival { at: Time(1_000_000), seq: 9, flow: 5, size: 1000, ecn: Ecn::Ect0, colour: Colour::Red });
    (sent.payload, sent.code) = (940, 46);
    sent.set_class(3);
    let cx = &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked };
    rig.q.enqueue(Time(1_000_000), sent, cx);
    assert!(rig.q.dequeue(Time(3_000_000), &Gate::default(), cx).is_some());
    assert!(rig.q.dequeue(Time(4_000_000), &Gate::default(), cx).is_none());
    rig.q.idle(Time(5_000_000), cx);
    rig.q.wake(Time(7_000_000), cx);
    let bare = QueueCall {
        now_ps: 0,
        sojourn_ps: 0,
        queue_packets: 0,
        queue_bytes: 0,
        limit_packets: 2,
        limit_bytes: 10_000,
        rate_bps: 10_000_000,
        event: 0,
        size: 0,
        payload: 0,
        flow: 0,
        sequence: 0,
        traffic_class: 0,
        ecn: 0,
        dscp: 0,
        colour: 0,
        full: 0,
        reserved: [0; 7],
    };
    let with = QueueCall {
        size: 1000,
        payload: 940,
        flow: 5,
        sequence: 9,
        traffic_class: 3,
        ecn: 2,
        dscp: 46,
        colour: 2,
        ..bare
    };
    let expected = [
        bare,
        QueueCall { event: 1, now_ps: 1_000_000, ..with },
        QueueCall { event: 2, now_ps: 3_000_000, sojourn_ps: 2_000_000, ..with },
        QueueCall { event: 3, now_ps: 4_000_000, ..bare },
        QueueCall { event: 5, now_ps: 5_000_000, ..bare },
        QueueCall { event: 4, now_ps: 7_000_000, ..bare },
    ];
    assert_eq!(rig.calls(), expected);
}

#[test]
fn a_law_is_called_only_for_its_events() {
    for (events, watches) in [(0, false), (0b1_1111, false), (0b10_0000, true)] {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let law = || Box::new(Script { answers: vec![(0, NEVER)], calls: calls.clone() }) as Box<dyn QueueLaw>;
        let (mut q, _) = loaded_for(events, law);
        assert_eq!(q.watches_idle(), watches, "{events:b}");
        let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
        q.idle(Time(1), &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked });
        let found: Vec<u32> = calls.lock().unwrap().iter().map(|call| call.event).collect();
        let start = if events & 1 == 1 { vec![0] } else { vec![] };
        assert_eq!(found, if watches { vec![5] } else { start }, "{events:b}");
    }
}

#[test]
fn the_timer_is_off_during_its_own_call() {
    /// A law that sets a timer at the start, and never changes it.
    #[derive(Debug)]
    struct Once(Arc<Mutex<Vec<u64>>>);
    impl QueueLaw for Once {
        fn answer(&mut self, call: &QueueCall, wake_ps: u64, _: &mut Rng) -> Result<QueueAnswer, String> {
            self.0.lock().unwrap().push(wake_ps);
            let wake_ps = if call.event == QueueEvent::Start as u32 { 5_000 } else { wake_ps };
            Ok(QueueAnswer { wake_ps, verdict: 0, reserved: 0 })
        }
    }
    let earlier = Arc::new(Mutex::new(Vec::new()));
    let (mut q, faults) = loaded_for(0b11_1111, || Box::new(Once(earlier.clone())));
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    q.idle(Time(4_000), cx);
    q.wake(Time(5_000), cx);
    assert_eq!((q.next_wakeup(), faults.first()), (None, None));
    assert_eq!(*earlier.lock().unwrap(), [NEVER, 5_000, NEVER]);
}

#[test]
fn a_change_of_limits_or_rate_keeps_packets_law_and_timer_and_the_next_call_has_the_new_values() {
    let mut rig = Rig::new(&[(0, 90_000)]);
    rig.arrive(1, 0, Ecn::NotEct);
    rig.arrive(2, 1, Ecn::NotEct);
    let spec = with_loaded_laws(
        tailback_document::decode(json!({ "kind": "user", "file": "law.py", "class": "Law" })).unwrap(),
    );
    rig.q.retune(Time(2_000), &spec, &Site { packets: 3, bytes: 20_000, rate: Rate::mbit(20) });
    assert_eq!((rig.q.packets(), rig.q.next_wakeup(), rig.faults.first()), (2, Some(Time(90_000)), None));
    rig.arrive(3, 2, Ecn::NotEct);
    rig.q.set_rate(Rate::mbit(30));
    rig.arrive(4, 3, Ecn::NotEct);
    let limits: Vec<_> = rig.calls().iter().map(|c| (c.limit_packets, c.limit_bytes, c.rate_bps, c.full)).collect();
    let (old, new) = ((2, 10_000, 10_000_000, 0), (3, 20_000, 20_000_000, 0));
    assert_eq!(limits, [old, old, old, new, (3, 20_000, 30_000_000, 1)]);
    assert_eq!(rig.drops(), [(3, Reason::BufferFull)]);
    let mut waiting = Vec::new();
    rig.q.visit(&mut |packet| waiting.push(packet.seq));
    assert_eq!((waiting, rig.q.packets()), (vec![0, 1, 2], 3));
}

#[test]
fn a_law_that_may_mark_makes_a_discipline_that_marks() {
    for marks in [false, true] {
        let mut spec: Spec =
            tailback_document::decode(json!({ "kind": "user", "file": "law.py", "class": "Law" })).unwrap();
        assert!(!spec.marks(), "a law that is not loaded");
        spec.each_code(&tailback_document::Path::root(), &mut |_, _, code| {
            code.loaded = Some(Loaded { marks, ..loaded() });
        });
        assert_eq!(spec.marks(), marks);
        let Spec::User(code) = &spec else { panic!("{spec:?}") };
        assert_eq!(Signals::marks(code), marks);
    }
}

/// A queue has 24 bytes of state (three references or lengths of 8 bytes), the law of this test 8.
#[test]
fn probes_and_state_are_those_of_the_law_and_its_failing_probes_are_a_fault_at_the_last_call() {
    #[derive(Debug)]
    struct Failing;
    impl QueueLaw for Failing {
        fn answer(&mut self, _: &QueueCall, wake_ps: u64, _: &mut Rng) -> Result<QueueAnswer, String> {
            Ok(QueueAnswer { wake_ps, verdict: 0, reserved: 0 })
        }
        fn probe(&self, _: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
            Err("no value".to_owned())
        }
    }
    let site = Site { packets: 2, bytes: 10_000, rate: Rate::mbit(10) };
    let probes = |q: &Discipline| {
        let mut found = Vec::new();
        q.probe(&mut |name, value| found.push((name, value)));
        found
    };
    let spec: Spec = tailback_document::decode(json!({ "kind": "user", "file": "law.py", "class": "Law" })).unwrap();
    let without = spec.build(&site);
    assert_eq!((probes(&without), without.state_bytes()), (vec![], 24));
    let (q, _) = loaded_for(0b11_1111, || Box::new(Random));
    assert_eq!((probes(&q), q.state_bytes()), (vec![("one", 1.0)], 24 + 8));
    let (mut q, faults) = loaded_for(0b11_1111, || Box::new(Failing));
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    q.idle(Time(7_000), &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked });
    assert_eq!(probes(&q), []);
    let fault = faults.first().expect("a fault");
    assert_eq!((fault.call, fault.at, fault.message.as_str()), ("probes", Time(7_000), "no value"));
}
