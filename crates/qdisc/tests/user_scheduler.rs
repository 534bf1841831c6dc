//! Queues under a scheduler that the user has written.

use crate::common::{Arrival, packet, wire};
use crate::user::with_loaded_laws;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tailback_document::Checked;
use tailback_qdisc::signals::Signals;
use tailback_qdisc::{Colour, Cx, Discipline, Dropped, Ecn, Gate, Qdisc, Reason, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};
use tailback_user::{
    Code, Factories, Faults, LoadError, Loaded, NoFactories, QueueState, Role, SchedulerAnswer, SchedulerCall,
    SchedulerEvent, SchedulerLaw,
};

const NEVER: u64 = u64::MAX;
const NONE: u32 = SchedulerAnswer::NONE;

/// A call, the states of the queues, and the wake-up before it.
type Call = (SchedulerCall, Vec<QueueState>, u64);

/// A scheduler that records its calls and gives these answers in turn (queue and wake-up), the last one for ever.
#[derive(Debug)]
struct Script {
    answers: Vec<(u32, u64)>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl SchedulerLaw for Script {
    fn answer(
        &mut self,
        call: &SchedulerCall,
        queues: &[QueueState],
        wake_ps: u64,
        rng: &mut Rng,
    ) -> Result<SchedulerAnswer, String> {
        rng.uniform();
        self.calls.lock().unwrap().push((*call, queues.to_vec(), wake_ps));
        let (queue, wake_ps) = if self.answers.len() > 1 { self.answers.remove(0) } else { self.answers[0] };
        if queue == 99 { Err("it is broken".to_owned()) } else { Ok(SchedulerAnswer { wake_ps, queue, reserved: 0 }) }
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        f("answers_left", self.answers.len() as f64);
        if self.answers[0].0 == 98 { Err("no probes".to_owned()) } else { Ok(()) }
    }
    fn state_bytes(&self) -> usize {
        12
    }
}

struct Made(Vec<(u32, u64)>, Arc<Mutex<Vec<Call>>>);

impl Factories for Made {
    fn load(&self, _: Role, _: &Code) -> Result<Loaded, LoadError> {
        unreachable!("the tests mark the code as loaded")
    }
    fn scheduler(&self, _: &Code) -> Result<Box<dyn SchedulerLaw>, String> {
        Ok(Box::new(Script { answers: self.0.clone(), calls: self.1.clone() }))
    }
}

/// A discipline whose scheduler follows a script: flow 1 has queue 0, flow 2 has queue 1, others have queue 2.
struct Rig {
    q: Discipline,
    calls: Arc<Mutex<Vec<Call>>>,
    faults: Faults,
    rng: Rng,
    dropped: Vec<Dropped>,
    marked: u64,
}

fn document() -> Value {
    json!({
        "kind": "user-scheduler",
        "scheduler": { "file": "s.py", "class": "S" },
        "queues": [
            { "name": "first", "match": { "flow": 1 }, "limit": "2packets" },
            { "name": "second", "match": { "flow": 2 }, "discipline": { "kind": "codel" } },
            { "name": "rest" },
        ],
    })
}

fn spec() -> Spec {
    let spec: Spec = tailback_document::decode(document()).unwrap();
    Checked::check(&spec).unwrap();
    with_loaded_laws(spec)
}

fn site() -> Site {
    Site { packets: 4, bytes: 100_000, rate: Rate::mbit(10) }
}

impl Rig {
    fn new(answers: &[(u32, u64)]) -> Rig {
        let mut q = spec().build(&site());
        let calls = Arc::new(Mutex::new(Vec::new()));
        let (faults, mut rng) = (Faults::default(), Rng::named(1, "port"));
        let made = Made(answers.to_vec(), calls.clone());
        q.each_user(&mut |user| user.install(&made, "s->b", &faults, &mut rng));
        Rig { q, calls, faults, rng, dropped: Vec::new(), marked: 0 }
    }
    fn with<T>(&mut self, f: impl FnOnce(&mut Discipline, &mut Cx<'_>) -> T) -> T {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        f(&mut self.q, cx)
    }
    fn arrive(&mut self, ns: u64, seq: u32, flow: u32) {
        let packet = packet(&Arrival { at: at(ns), seq, flow, size: 1000, ecn: Ecn::NotEct, colour: Colour::Green });
        self.with(|q, cx| q.enqueue(at(ns), packet, cx));
    }
    fn leave(&mut self, ns: u64) -> Option<u32> {
        self.with(|q, cx| q.dequeue(at(ns), &Gate::default(), cx)).map(|packet| packet.seq)
    }
    /// Returns the events since the last call of this method: event, time in ns, queue, size, bytes on the link, flow.
    fn events(&self) -> Vec<(u32, u64, u32, u32, u32, u32)> {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        calls.iter().map(|(c, ..)| (c.event, c.now_ps / 1000, c.queue, c.size, c.wire, c.flow)).collect()
    }
    /// Returns packets, bytes and readiness of the queues at the last call.
    fn states(&self) -> Vec<(u64, u64, u32)> {
        let calls = self.calls.lock().unwrap();
        calls.last().unwrap().1.iter().map(|state| (state.packets, state.bytes, state.ready)).collect()
    }
}

fn at(ns: u64) -> Time {
    Time::ZERO + Dur::from_ns(ns)
}

const START: u32 = SchedulerEvent::Start as u32;
const ARRIVED: u32 = SchedulerEvent::Arrived as u32;
const SELECT: u32 = SchedulerEvent::Select as u32;
const SENT: u32 = SchedulerEvent::Sent as u32;
const TIMER: u32 = SchedulerEvent::Timer as u32;
const IDLE: u32 = SchedulerEvent::Idle as u32;

#[test]
fn the_scheduler_is_called_for_each_event_with_the_packet_and_the_states_of_its_queues() {
    let mut rig = Rig::new(&[(NONE, NEVER), (NONE, NEVER), (NONE, NEVER), (1, NEVER), (0, NEVER)]);
    assert_eq!(rig.states(), [(0, 0, 0); 3]);
    assert_eq!(rig.calls.lock().unwrap()[0].0.rate_bps, 10_000_000);
    rig.arrive(10, 7, 1);
    assert_eq!(rig.states(), [(1, 1000, 1), (0, 0, 0), (0, 0, 0)]);
    rig.arrive(20, 8, 2);
    assert_eq!(rig.states(), [(1, 1000, 1), (1, 1000, 1), (0, 0, 0)]);
    assert_eq!(rig.leave(30), Some(8));
    assert_eq!(rig.states(), [(1, 1000, 1), (0, 0, 0), (0, 0, 0)]);
    assert_eq!(rig.leave(40), Some(7));
    assert_eq!(rig.states(), [(0, 0, 0); 3]);
    let on_link = u32::from(wire(1000));
    assert_eq!(
        rig.events(),
        [
            (START, 0, 0, 0, 0, 0),
            (ARRIVED, 10, 0, 1000, on_link, 1),
            (ARRIVED, 20, 1, 1000, on_link, 2),
            (SELECT, 30, 0, 0, 0, 0),
            (SENT, 30, 1, 1000, on_link, 2),
            (SELECT, 40, 0, 0, 0, 0),
            (SENT, 40, 0, 1000, on_link, 1),
        ]
    );
    // Without packets there is nothing to choose.
    assert_eq!(rig.leave(50), None);
    assert_eq!(rig.events(), []);
    assert!(rig.q.watches_idle());
    rig.with(|q, cx| q.idle(at(60), cx));
    assert_eq!(rig.events(), [(IDLE, 60, 0, 0, 0, 0)]);
    rig.q.set_rate(Rate::mbit(3));
    rig.with(|q, cx| q.idle(at(70), cx));
    assert_eq!(rig.calls.lock().unwrap()[0].0.rate_bps, 3_000_000);
    assert_eq!(rig.faults.first(), None);
}

#[test]
fn a_packet_that_a_limit_drops_is_not_reported() {
    let mut rig = Rig::new(&[(NONE, NEVER)]);
    for seq in 0..3 {
        rig.arrive(u64::from(seq), seq, 1);
    }
    for seq in 3..6 {
        rig.arrive(u64::from(seq), seq, 5);
    }
    // Queue 0 has two packets of its own; all queues together have four.
    let drops: Vec<_> = rig.dropped.iter().map(|dropped| (dropped.packet.seq, dropped.why)).collect();
    assert_eq!(drops, [(2, Reason::BufferFull), (5, Reason::BufferFull)]);
    let arrived: Vec<u64> = rig.events()[1..].iter().map(|event| event.1).collect();
    assert_eq!(arrived, [0, 1, 3, 4]);
    assert_eq!(rig.q.packets(), 4);
    let mut seen = Vec::new();
    rig.q.visit(&mut |packet| seen.push(packet.seq));
    assert_eq!(seen, [0, 1, 3, 4]);
}

#[test]
fn a_scheduler_that_chooses_no_queue_leaves_the_packets_until_its_timer() {
    let mut rig = Rig::new(&[(NONE, NEVER), (NONE, NEVER), (NONE, 500_000), (2, NEVER), (2, NEVER)]);
    rig.arrive(10, 7, 5);
    assert_eq!(rig.q.next_wakeup(), None);
    assert_eq!(rig.leave(20), None);
    assert_eq!(rig.q.next_wakeup(), Some(at(500)));
    rig.events();
    // Too early.
    rig.with(|q, cx| q.wake(at(499), cx));
    assert_eq!(rig.events(), []);
    rig.with(|q, cx| q.wake(at(500), cx));
    let (call, states, wake_ps) = rig.calls.lock().unwrap()[0].clone();
    assert_eq!((call.event, call.now_ps, wake_ps), (TIMER, 500_000, NEVER));
    assert_eq!((states[2].packets, states[2].ready), (1, 1));
    // The answer to a timer chooses no queue.
    assert_eq!((rig.q.packets(), rig.q.next_wakeup()), (1, None));
    assert_eq!(rig.leave(500), Some(7));
}

#[test]
fn a_queue_whose_discipline_lets_no_packet_leave_is_not_ready_in_this_selection() {
    // The gate is closed for all packets.
    let mut rig = Rig::new(&[(NONE, NEVER), (NONE, NEVER), (NONE, NEVER), (0, NEVER), (1, NEVER)]);
    rig.arrive(10, 7, 1);
    rig.arrive(20, 8, 2);
    rig.events();
    let mut closed = Gate::default();
    closed.close_port();
    let left = rig.with(|q, cx| q.dequeue(at(30), &closed, cx));
    assert_eq!(left.map(|packet| packet.seq), None);
    let calls = std::mem::take(&mut *rig.calls.lock().unwrap());
    let ready: Vec<Vec<u32>> = calls.iter().map(|(_, states, _)| states.iter().map(|s| s.ready).collect()).collect();
    assert_eq!(ready, [[1, 1, 0], [0, 1, 0]]);
    assert_eq!(calls.iter().map(|(call, ..)| call.event).collect::<Vec<_>>(), [SELECT, SELECT]);
    assert_eq!(rig.q.packets(), 2);
    assert_eq!(rig.faults.first(), None);
}

#[test]
fn a_wrong_answer_is_a_fault_after_which_no_packet_is_sent() {
    let cases = [
        (3, NEVER, "queue 3 is chosen, but the queues are 0 to 2"),
        (1, NEVER, "queue 1 is chosen, but no packet waits in it"),
        (0, 29_999, "the wake-up at 29.999ns is before now, 30ns"),
        (99, NEVER, "it is broken"),
    ];
    for (queue, wake_ps, message) in cases {
        let mut rig = Rig::new(&[(NONE, NEVER), (NONE, NEVER), (queue, wake_ps)]);
        rig.arrive(10, 7, 1);
        assert_eq!(rig.leave(30), None, "{message}");
        let fault = rig.faults.first().expect(message);
        assert_eq!((fault.call, fault.at, fault.component.as_str()), ("select", at(30), "`S` of s.py at s->b"));
        assert!(fault.message.contains(message), "{}", fault.message);
        assert_eq!((rig.leave(40), rig.q.packets(), rig.q.next_wakeup()), (None, 1, None));
    }
    // A queue that is not ready.
    let mut rig = Rig::new(&[(NONE, NEVER), (NONE, NEVER), (0, NEVER)]);
    rig.arrive(10, 7, 1);
    let mut closed = Gate::default();
    closed.close_port();
    // The only queue with packets turns out not to be ready, which ends the selection.
    assert!(rig.with(|q, cx| q.dequeue(at(30), &closed, cx)).is_none());
    assert_eq!(rig.faults.first(), None);
    rig.arrive(35, 8, 2);
    assert!(rig.with(|q, cx| q.dequeue(at(40), &closed, cx)).is_none());
    assert!(rig.faults.first().unwrap().message.contains("queue 0 is chosen, but it is not ready"));
    let mut made = spec().build(&site());
    let faults = Faults::default();
    made.each_user(&mut |user| user.install(&NoFactories, "s->b", &faults, &mut Rng::named(1, "port")));
    assert!(faults.first().unwrap().message.contains("disabled"));
}

#[test]
fn a_timer_that_expires_again_at_once_is_a_fault() {
    let mut rig = Rig::new(&[(NONE, 100_000), (NONE, 100_000)]);
    assert_eq!(rig.q.next_wakeup(), Some(at(100)));
    rig.with(|q, cx| q.wake(at(100), cx));
    assert!(rig.faults.first().unwrap().message.contains("must be followed by a later wake-up"));
    assert_eq!(rig.q.next_wakeup(), None);
}

#[test]
fn probes_and_size_of_the_state_are_those_of_the_queues_and_of_the_scheduler() {
    let mut rig = Rig::new(&[(NONE, NEVER), (0, NEVER)]);
    rig.arrive(10, 7, 1);
    let mut found = Vec::new();
    rig.q.probe(&mut |name, value| found.push((name, value)));
    let expected =
        [("class_1_packets", 1.0), ("class_2_packets", 0.0), ("class_3_packets", 0.0), ("answers_left", 1.0)];
    assert_eq!(found, expected);
    let levels = json!({ "kind": "priority", "levels": document()["queues"] });
    let priority = tailback_document::decode::<Spec>(levels).unwrap().build(&site());
    assert_eq!(rig.q.state_bytes(), priority.state_bytes() + 12);
    let broken = Rig::new(&[(98, NEVER)]);
    broken.q.probe(&mut |_, _| {});
    assert_eq!(broken.faults.first().unwrap().call, "probes");
}

#[test]
fn a_change_keeps_the_scheduler_and_changes_limits() {
    let mut rig = Rig::new(&[(NONE, 700_000), (NONE, 700_000)]);
    rig.arrive(10, 7, 1);
    rig.q.retune(at(20), &spec(), &Site { packets: 1, rate: Rate::mbit(5), ..site() });
    assert_eq!(rig.q.next_wakeup(), Some(at(700)));
    rig.events();
    rig.arrive(30, 8, 2);
    assert_eq!(rig.dropped.len(), 1, "one packet waits, and the limit is now one");
    rig.with(|q, cx| q.idle(at(40), cx));
    assert_eq!(rig.calls.lock().unwrap()[0].0.rate_bps, 5_000_000);
}

#[test]
fn scheduler_and_queues_are_fixed_during_a_run() {
    let from = spec();
    for (pointer, value, key) in [
        ("/scheduler/file", json!("t.py"), "scheduler.file"),
        ("/scheduler/class", json!("T"), "scheduler.class"),
        ("/scheduler/parameters", json!({ "a": 1 }), "scheduler.parameters"),
        ("/queues/0/name", json!("other"), "queues[0].name"),
        ("/queues/1/match/flow", json!(3), "queues[1].match"),
        ("/default", json!("first"), "default"),
    ] {
        let mut changed = document();
        if let Some(at) = changed.pointer_mut(pointer) {
            *at = value;
        } else {
            let (table, name) = pointer.rsplit_once('/').unwrap();
            changed.pointer_mut(table).unwrap().as_object_mut().unwrap().insert(name.to_owned(), value);
        }
        let to = with_loaded_laws(tailback_document::decode(changed).unwrap());
        assert_eq!(from.check_retune(&to).expect_err(key).path, key);
    }
    let mut limit = document();
    limit["queues"][0]["limit"] = json!("7packets");
    assert!(from.check_retune(&with_loaded_laws(tailback_document::decode(limit).unwrap())).is_ok());
}

#[test]
fn wrong_parameters_are_refused_with_their_key() {
    for (change, key, message) in [
        (json!({ "scheduler": { "file": "", "class": "S" } }), "scheduler.file", "empty"),
        (json!({ "queues": [] }), "queues", "there are no queues; write at least one"),
        (json!({ "queues": [{ "limit": "0packets" }] }), "queues[0].limit", "a limit of 0"),
        (json!({ "queues": [{ "name": "a" }, { "name": "a" }] }), "queues[1].name", "used twice"),
        (json!({ "default": "secnd" }), "default", "no queue is named `secnd`; did you mean `second`?"),
        (json!({ "default": "xyz" }), "default", "the queues are `first`, `second` and `rest`"),
    ] {
        let mut changed = document();
        for (name, value) in change.as_object().unwrap() {
            changed[name] = value.clone();
        }
        let error = Checked::check(&tailback_document::decode::<Spec>(changed).expect("it decodes"));
        let error = error.expect_err(message);
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.to_string().contains(key), "{error}");
    }
}

#[test]
fn marks_and_thresholds_are_those_of_the_queues() {
    let marking = |discipline: Value| {
        let mut changed = document();
        changed["queues"][1]["discipline"] = discipline;
        let spec: Spec = tailback_document::decode(changed).unwrap();
        let mut paths = Vec::new();
        spec.each_threshold(&site(), &mut |threshold| paths.push(threshold.path.clone()));
        (spec.marks(), paths)
    };
    assert_eq!(marking(json!({ "kind": "drop-tail" })), (false, vec![]));
    let (marks, paths) = marking(json!({ "kind": "red", "ecn": true }));
    assert!(
        marks && !paths.is_empty() && paths.iter().all(|path| path.starts_with("queues[1].discipline")),
        "{paths:?}"
    );
}

#[test]
fn the_code_of_the_scheduler_and_of_laws_in_its_queues_is_visited_with_its_path() {
    let mut changed = document();
    changed["queues"][1]["discipline"] = json!({ "kind": "user", "file": "law.py", "class": "Law" });
    let mut spec: Spec = tailback_document::decode(changed).unwrap();
    let mut found = Vec::new();
    spec.each_code(&tailback_document::Path::root(), &mut |path, role, code| {
        found.push((path.to_string(), role, code.file.clone()));
    });
    let expected = [("scheduler", Role::Scheduler, "s.py"), ("queues[1].discipline", Role::QueueLaw, "law.py")];
    assert_eq!(found, expected.map(|(path, role, file)| (path.to_owned(), role, file.to_owned())));
}

#[test]
fn a_scheduler_that_handles_no_idle_link_needs_no_report_of_one() {
    let mut spec = spec();
    spec.each_code(&tailback_document::Path::root(), &mut |_, _, code| {
        let loaded = code.loaded.as_mut().unwrap();
        loaded.events = SchedulerEvent::Select.bit();
    });
    assert!(!spec.build(&site()).watches_idle());
    spec.each_code(&tailback_document::Path::root(), &mut |_, _, code| {
        code.loaded.as_mut().unwrap().events |= SchedulerEvent::Idle.bit();
    });
    assert!(spec.build(&site()).watches_idle());
}

#[test]
fn a_packet_for_which_its_queue_drops_another_is_reported() {
    let mut changed = document();
    changed["queues"][2] = json!({ "limit": "1packet", "discipline": { "kind": "drop-head" } });
    let mut q = with_loaded_laws(tailback_document::decode(changed).unwrap()).build(&site());
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (faults, mut rng) = (Faults::default(), Rng::named(1, "port"));
    let made = Made(vec![(NONE, NEVER)], calls.clone());
    q.each_user(&mut |user| user.install(&made, "s->b", &faults, &mut rng));
    let mut rig = Rig { q, calls, faults, rng, dropped: Vec::new(), marked: 0 };
    rig.events();
    rig.arrive(10, 7, 5);
    rig.arrive(20, 8, 5);
    assert_eq!(rig.dropped.iter().map(|dropped| dropped.packet.seq).collect::<Vec<_>>(), [7]);
    assert_eq!(rig.events().iter().map(|event| event.1).collect::<Vec<_>>(), [10, 20]);
}
