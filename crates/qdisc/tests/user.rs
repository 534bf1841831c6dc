//! Disciplines under a law that the user has written.

use crate::common::{Arrival, packet};
use serde_json::json;
use std::sync::{Arc, Mutex};
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
