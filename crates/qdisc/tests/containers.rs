//! Calls, timers, limits and rates that disciplines with classes pass on to the disciplines inside them. A law in the
//! place of a user's law records the calls that reach it.

use crate::common::packet;
use crate::user::with_loaded_laws;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tailback_document::{Checked, Path, decode};
use tailback_qdisc::{Colour, Cx, Discipline, Dropped, Ecn, Gate, Qdisc, Site, Spec};
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Time};
use tailback_user::{
    Code, Factories, Faults, LoadError, Loaded, QueueAnswer, QueueCall, QueueEvent, QueueLaw, QueueVerdict, Role,
};

/// A law that records its calls. It sets its timer to the given times in turn, then to none, and drops the first
/// packets at their departure.
#[derive(Clone, Debug)]
struct Recorder {
    timers: Vec<u64>,
    /// Number of packets still to drop.
    drops: u32,
    calls: Arc<Mutex<Vec<QueueCall>>>,
}

impl QueueLaw for Recorder {
    fn answer(&mut self, call: &QueueCall, _: u64, _: &mut Rng) -> Result<QueueAnswer, String> {
        self.calls.lock().unwrap().push(*call);
        let wake_ps = if self.timers.is_empty() { u64::MAX } else { self.timers.remove(0) };
        let drops = self.drops > 0 && call.event == QueueEvent::Depart as u32;
        self.drops -= u32::from(drops);
        let verdict = if drops { QueueVerdict::Drop } else { QueueVerdict::Pass };
        Ok(QueueAnswer { wake_ps, verdict: verdict as u32, reserved: 0 })
    }
}

impl Factories for Recorder {
    fn load(&self, _: Role, _: &Code) -> Result<Loaded, LoadError> {
        unreachable!("laws are marked as loaded")
    }
    fn queue_law(&self, _: &Code) -> Result<Box<dyn QueueLaw>, String> {
        Ok(Box::new(self.clone()))
    }
}

/// Time of a timer that does not expire in these tests, us.
const FAR: u64 = 1_000_000_000;

fn us(n: u64) -> Time {
    Time::ZERO + Dur::from_us(n)
}

/// A discipline with a recorder inside.
struct Spied {
    q: Discipline,
    calls: Arc<Mutex<Vec<QueueCall>>>,
    rng: Rng,
    dropped: Vec<Dropped>,
    marked: u64,
    seq: u32,
}

/// Returns the parameters of a document, and the paths of its laws.
fn spec(document: &Value) -> (Spec, Vec<String>) {
    let spec: Spec = decode(document.clone()).unwrap_or_else(|e| panic!("{document}: {e}"));
    Checked::check(&spec).unwrap_or_else(|e| panic!("{document}: {e}"));
    let (mut spec, mut paths) = (with_loaded_laws(spec), Vec::new());
    spec.each_code(&Path::root(), &mut |path, _, _| paths.push(path.to_string()));
    (spec, paths)
}

impl Spied {
    /// Returns a discipline on a link of 10 Mbit/s, with limits of 20 packets and 100 kB. The timers are in us.
    fn new(document: &Value, timers: &[u64], drops: u32) -> Spied {
        let (mut rng, calls, faults) = (Rng::named(1, "port"), Arc::default(), Faults::default());
        let mut q = spec(document).0.build(&Site { packets: 20, bytes: 100_000, rate: Rate::mbit(10) });
        let recorder = Recorder { timers: timers.iter().map(|at| us(*at).0).collect(), drops, calls };
        q.each_user(&mut |user| user.install(&recorder, "s->b", &faults, &mut rng));
        assert_eq!(faults.first(), None);
        Spied { q, calls: recorder.calls, rng, dropped: Vec::new(), marked: 0, seq: 0 }
    }
    fn with<T>(&mut self, f: impl FnOnce(&mut Discipline, &mut Cx<'_>) -> T) -> T {
        let cx = &mut Cx { rng: &mut self.rng, dropped: &mut self.dropped, marked: &mut self.marked };
        f(&mut self.q, cx)
    }
    /// Enqueues a packet of 1000 buffer bytes.
    fn arrive(&mut self, at: u64, flow: u32) {
        let (seq, colour) = (self.seq, Colour::Green);
        let arrival = crate::common::Arrival { at: us(at), seq, flow, size: 1000, ecn: Ecn::NotEct, colour };
        self.seq += 1;
        self.with(|q, cx| q.enqueue(us(at), packet(&arrival), cx));
    }
    /// Returns the flow of the packet that leaves. `None`: no packet may leave.
    fn leave(&mut self, at: u64) -> Option<u32> {
        self.with(|q, cx| q.dequeue(us(at), &Gate::default(), cx)).map(|packet| packet.flow())
    }
    fn wake(&mut self, at: u64) {
        self.with(|q, cx| q.wake(us(at), cx));
    }
    fn idle(&mut self, at: u64) {
        self.with(|q, cx| q.idle(us(at), cx));
    }
    /// Returns the calls since the last time, each with its event and its time in us.
    fn calls(&mut self) -> Vec<(QueueEvent, u64)> {
        let calls: Vec<QueueCall> = self.calls.lock().unwrap().drain(..).collect();
        calls.iter().map(|call| (QueueEvent::ALL[call.event as usize], call.now_ps / us(1).0)).collect()
    }
    /// Returns the last call, and forgets all.
    fn last_call(&mut self) -> QueueCall {
        self.calls.lock().unwrap().drain(..).next_back().expect("a call")
    }
    /// Returns the time of the next wake-up in us. `None`: no timer is set.
    fn timer(&self) -> Option<u64> {
        self.q.next_wakeup().map(|at| at.0 / us(1).0)
    }
}

/// A container of a law: its parameters with a law of the user for flow 0 and this limit, and the path of the law. Flow 1
/// has a FIFO.
struct Container {
    document: fn(inner: Value, limit: &str) -> Value,
    path: &'static str,
}

/// Containers that take a packet from the queue of its class when the packet leaves.
const CONTAINERS: [Container; 7] = [
    Container {
        document: |inner, limit| {
            json!({ "kind": "priority", "levels": [
                { "match": { "flow": 0 }, "limit": limit, "discipline": inner }, { "match": { "flow": 1 } }] })
        },
        path: "levels[0].discipline",
    },
    Container {
        document: |inner, limit| {
            json!({ "kind": "wrr", "classes": [
                { "match": { "flow": 0 }, "limit": limit, "discipline": inner }, { "match": { "flow": 1 } }] })
        },
        path: "classes[0].discipline",
    },
    Container {
        document: |inner, limit| json!({ "kind": "wrr", "default": { "limit": limit, "discipline": inner }, "classes": [{ "match": { "flow": 1 } }] }),
        path: "default.discipline",
    },
    Container {
        document: |inner, limit| {
            json!({ "kind": "class-based", "classes": [
                { "match": { "flow": 0 }, "bandwidth": "50%", "limit": limit, "discipline": inner }] })
        },
        path: "classes[0].discipline",
    },
    Container {
        document: |inner, limit| {
            json!({ "kind": "class-based", "default": { "limit": limit, "discipline": inner }, "classes": [
                { "match": { "flow": 1 }, "bandwidth": "50%" }] })
        },
        path: "default.discipline",
    },
    Container {
        document: |inner, limit| {
            json!({ "kind": "htb", "default": "b", "classes": [
                { "name": "a", "match": { "flow": 0 }, "rate": "5Mbit/s", "burst": "9kB", "cburst": "9kB", "limit": limit, "discipline": inner },
                { "name": "b", "rate": "5Mbit/s", "burst": "9kB", "cburst": "9kB" }] })
        },
        path: "classes[0].discipline",
    },
    Container {
        document: |inner, limit| {
            json!({ "kind": "hfsc", "default": "b", "classes": [
                { "name": "a", "match": { "flow": 0 }, "ls": { "m2": "5Mbit/s" }, "limit": limit, "discipline": inner },
                { "name": "b", "ls": { "m2": "5Mbit/s" } }] })
        },
        path: "classes[0].discipline",
    },
];

const SHAPER: Container = Container {
    document: |inner, _| json!({ "kind": "shaper", "rate": "9Mbit/s", "burst": "9kB", "discipline": inner }),
    path: "discipline",
};

/// A leaf with a guarantee, which takes a packet from its queue in advance.
const GUARANTEED: Container = Container {
    document: |inner, limit| {
        json!({ "kind": "hfsc", "default": "b", "classes": [
            { "name": "a", "match": { "flow": 0 }, "rt": { "m2": "5Mbit/s" }, "limit": limit, "discipline": inner },
            { "name": "b", "ls": { "m2": "5Mbit/s" } }] })
    },
    path: "classes[0].discipline",
};

fn law() -> Value {
    json!({ "kind": "user", "file": "law.py", "class": "Law" })
}

use QueueEvent::{Arrive, Depart, Empty, Idle, Start, Timer};

#[test]
fn a_law_inside_gets_its_calls_and_sets_the_timer_of_the_whole() {
    for Container { document, path } in CONTAINERS.iter().chain([&SHAPER]) {
        let document = document(law(), "9packets");
        assert_eq!(spec(&document).1, [*path], "{document}");
        let mut a = Spied::new(&document, &[5, 20, 7, FAR, 9, 30], 0);
        assert!(a.q.watches_idle(), "{document}");
        assert_eq!((a.calls(), a.timer()), (vec![(Start, 0)], Some(5)), "{document}");
        a.wake(4);
        assert_eq!((a.calls(), a.timer()), (vec![], Some(5)), "{document}");
        a.wake(5);
        assert_eq!((a.calls(), a.timer()), (vec![(Timer, 5)], Some(20)), "{document}");
        a.arrive(6, 0);
        assert_eq!((a.calls(), a.timer()), (vec![(Arrive, 6)], Some(7)), "{document}");
        a.wake(7);
        assert_eq!(a.calls(), [(Timer, 7)], "{document}");
        assert_eq!(a.leave(8), Some(0), "{document}");
        assert_eq!((a.calls(), a.timer()), (vec![(Depart, 8)], Some(9)), "{document}");
        // The transmitter is free at 10 us, and the law is notified once.
        a.idle(10);
        assert_eq!((a.calls(), a.timer()), (vec![(Idle, 10)], Some(30)), "{document}");
        assert_eq!((a.leave(11), a.calls()), (None, vec![]), "{document}");
        a.wake(30);
        assert_eq!((a.calls(), a.timer()), (vec![(Timer, 30)], None), "{document}");
    }
}

#[test]
fn a_class_is_idle_when_its_last_packet_has_been_sent() {
    for Container { document, .. } in &CONTAINERS {
        let document = document(law(), "9packets");
        let mut a = Spied::new(&document, &[FAR; 5], 0);
        a.arrive(1, 0);
        a.arrive(1, 0);
        a.calls();
        let mut events = Vec::new();
        for at in [2, 3] {
            assert_eq!(a.leave(at), Some(0), "{document}");
            events.extend(a.calls());
        }
        a.arrive(3, 1);
        assert_eq!(a.leave(4), Some(1), "{document}");
        events.extend(a.calls());
        assert_eq!(events, [(Depart, 2), (Depart, 3), (Idle, 4)], "{document}");
        // The other class has no law.
        assert_eq!((a.leave(5), a.calls()), (None, vec![]), "{document}");
    }
}

#[test]
fn the_timer_that_a_law_sets_when_its_class_becomes_idle_counts() {
    for Container { document, .. } in CONTAINERS.iter().chain([&GUARANTEED]) {
        let document = document(law(), "9packets");
        let mut a = Spied::new(&document, &[FAR, FAR, FAR, 77, FAR], 0);
        a.arrive(1, 0);
        assert_eq!(a.leave(2), Some(0), "{document}");
        a.arrive(2, 1);
        assert_eq!((a.leave(4), a.timer()), (Some(1), Some(77)), "{document}");
    }
}

#[test]
fn a_leaf_with_a_guarantee_takes_its_next_packet_in_advance_and_is_idle_after_its_last() {
    let mut a = Spied::new(&(GUARANTEED.document)(law(), "9packets"), &[], 0);
    a.arrive(1, 0);
    assert_eq!(a.calls(), [(Start, 0), (Arrive, 1), (Depart, 1)]);
    a.arrive(1, 0);
    a.arrive(1, 0);
    assert_eq!(a.calls(), [(Arrive, 1), (Arrive, 1)]);
    // A packet of 1000 B may leave every 1.6 ms. With it the next one is taken.
    assert_eq!((a.leave(1), a.calls()), (Some(0), vec![(Depart, 1)]));
    assert_eq!((a.leave(1_601), a.calls()), (Some(0), vec![(Depart, 1_601)]));
    // The queue of the law is empty, but the class is not.
    assert_eq!((a.leave(1_602), a.calls()), (None, vec![]));
    assert_eq!((a.leave(3_201), a.calls()), (Some(0), vec![]));
    a.arrive(3_202, 1);
    assert_eq!((a.leave(3_203), a.calls()), (Some(1), vec![(Idle, 3_203)]));
}

#[test]
fn limits_and_the_rate_reach_the_law_inside() {
    for Container { document, path } in CONTAINERS.iter().chain([&SHAPER, &GUARANTEED]) {
        let mut a = Spied::new(&document(law(), "9packets"), &[FAR], 0);
        a.arrive(1, 0);
        let (limit, least) = if *path == SHAPER.path { (20, 9) } else { (9, 10) };
        let first = a.last_call();
        assert_eq!((first.limit_packets, first.rate_bps), (limit, least * 1_000_000), "{path}");
        a.q.set_rate(Rate::mbit(5));
        a.arrive(2, 0);
        assert_eq!(a.last_call().rate_bps, 5_000_000, "{path}");
        // The number of packets is that of the class, or that of the site.
        let site = Site { packets: 5, bytes: 50_000, rate: Rate::mbit(4) };
        a.q.retune(us(3), &spec(&document(law(), "3packets")).0, &site);
        a.arrive(4, 0);
        let last = a.last_call();
        let packets = if *path == SHAPER.path { 5 } else { 3 };
        assert_eq!((last.limit_packets, last.limit_bytes, last.rate_bps), (packets, 50_000, 4_000_000), "{path}");
    }
}

#[test]
fn a_law_that_drops_all_packets_of_its_class_does_not_stop_the_others() {
    for Container { document, .. } in &CONTAINERS {
        let document = document(law(), "9packets");
        let mut a = Spied::new(&document, &[], u32::MAX);
        for flow in [0, 0, 1, 1, 0] {
            a.arrive(1, flow);
        }
        a.calls();
        assert_eq!([a.leave(2), a.leave(3), a.leave(4)], [Some(1), Some(1), None], "{document}");
        assert_eq!((a.q.packets(), a.dropped.len()), (0, 3), "{document}");
        // All three are dropped at one attempt, after which the queue is empty.
        let calls: Vec<QueueEvent> = a.calls().into_iter().map(|(event, _)| event).collect();
        assert_eq!(calls, [Depart, Depart, Depart, Empty], "{document}");
        // Both classes go on.
        for flow in [1, 0, 1] {
            a.arrive(5, flow);
        }
        assert_eq!([a.leave(6), a.leave(7), a.leave(8)], [Some(1), Some(1), None], "{document}");
        assert_eq!((a.q.packets(), a.dropped.len()), (0, 4), "{document}");
    }
}

#[test]
fn a_container_of_fifos_wants_no_report_of_an_idle_link() {
    for Container { document, .. } in CONTAINERS.iter().chain([&SHAPER, &GUARANTEED]) {
        let plain = document(json!({ "kind": "drop-tail" }), "9packets");
        assert!(!spec(&plain).0.build(&Site::default()).watches_idle(), "{plain}");
        let red = document(json!({ "kind": "red" }), "9packets");
        assert!(spec(&red).0.build(&Site::default()).watches_idle(), "{red}");
    }
}

#[test]
fn each_waiting_packet_is_visited_once() {
    for Container { document, .. } in CONTAINERS.iter().chain([&SHAPER, &GUARANTEED]) {
        let document = document(law(), "9packets");
        let mut a = Spied::new(&document, &[], 0);
        for flow in [0, 1, 0, 1, 0] {
            a.arrive(1, flow);
        }
        let left = a.leave(1).expect("packets wait");
        let mut seen = Vec::new();
        a.q.visit(&mut |packet| seen.push(packet.seq));
        seen.sort_unstable();
        let expected: Vec<u32> = (0..5).filter(|seq| *seq != left).collect();
        assert_eq!(seen, expected, "{document}");
    }
}

/// A shaper that releases its first packet at once, and each further one of 1000 B after 8 ms of tokens at 1 Mbit/s.
fn held() -> Value {
    json!({ "kind": "shaper", "rate": "1Mbit/s", "burst": "1000B" })
}

#[test]
fn a_class_whose_discipline_holds_its_packets_back_is_passed_over_until_its_timer_expires() {
    for Container { document, .. } in CONTAINERS.iter().chain([&GUARANTEED]) {
        let document = document(held(), "9packets");
        let mut a = Spied::new(&document, &[], 0);
        for flow in [0, 0, 0, 1, 1, 1] {
            a.arrive(0, flow);
        }
        let mut first: Vec<Option<u32>> = (0..5).map(|_| a.leave(0)).collect();
        first.sort_unstable();
        assert_eq!(first, [None, Some(0), Some(1), Some(1), Some(1)], "{document}");
        for due in [8_000, 16_000] {
            assert_eq!((a.leave(due - 1), a.timer()), (None, Some(due)), "{document}");
            a.wake(due);
            assert_eq!(a.timer(), None, "{document}");
            assert_eq!((a.leave(due), a.leave(due)), (Some(0), None), "{document}");
        }
        assert_eq!((a.q.packets(), a.timer()), (0, None), "{document}");
    }
}

/// `hfsc_qlen_notify` of Linux: a leaf whose last packet is dropped is passive, and returns between the virtual times of
/// its siblings.
#[test]
fn a_leaf_of_service_curves_whose_law_drops_its_last_packet_returns_without_credit() {
    let document = json!({ "kind": "hfsc", "default": "b", "classes": [
        { "name": "a", "match": { "flow": 0 }, "ls": { "m2": "5Mbit/s" }, "discipline": law() },
        { "name": "b", "ls": { "m2": "5Mbit/s" } }] });
    let mut a = Spied::new(&document, &[], 1);
    for flow in [0, 1, 1, 1, 1, 1, 1] {
        a.arrive(0, flow);
    }
    // The packet of flow 0 is dropped at the first attempt; a packet is 1.6 ms of virtual time.
    assert_eq!([a.leave(0), a.leave(0), a.leave(0)], [Some(1); 3]);
    assert_eq!(a.dropped.len(), 1);
    // Flow 1 is at 4.8 ms, its last packet was chosen at 3.2 ms: flow 0 returns at 4.0 ms, and they take turns.
    (0..3).for_each(|_| a.arrive(0, 0));
    assert_eq!([0; 6].map(|at| a.leave(at)), [Some(0), Some(1), Some(0), Some(1), Some(0), Some(1)]);
}
