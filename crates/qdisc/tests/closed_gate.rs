//! Attempts to dequeue while back-pressure stops the port return no packet and leave the queue unchanged.

use crate::common::{Arrival, Log, Queue, Rig, Traffic, places, serve};
use crate::every_discipline::documents;
use tailback_document::Checked;
use tailback_qdisc::{Cx, Gate, Qdisc, Spec};
use tailback_random::Rng;
use tailback_units::{Rate, Time};

/// Queue with two attempts to dequeue at a stopped port before each packet.
struct Stopped(Rig);

impl Queue for Stopped {
    fn arrive(&mut self, arrival: &Arrival, log: &mut Log) {
        self.0.arrive(arrival, log);
    }
    fn leave(&mut self, now: Time, log: &mut Log) -> Option<u16> {
        let mut gate = Gate::default();
        gate.close_port();
        let rig = &mut self.0;
        let cx = &mut Cx { rng: &mut rig.rng, dropped: &mut rig.dropped, marked: &mut rig.marked };
        for _ in 0..2 {
            assert!(rig.q.dequeue(now, &gate, cx).is_none());
        }
        assert!(cx.dropped.is_empty());
        rig.leave(now, log)
    }
    fn idle(&mut self, now: Time, log: &mut Log) {
        self.0.idle(now, log);
    }
    fn wake_at(&self) -> Option<Time> {
        self.0.wake_at()
    }
    fn wake(&mut self, now: Time, log: &mut Log) {
        self.0.wake(now, log);
    }
}

#[test]
fn attempts_to_dequeue_while_the_port_is_stopped_change_no_packet_s_fate() {
    let rate = Rate::mbit(10);
    let sizes = &[64, 600, 1500];
    let traffic = Traffic { packets: 4_000, flows: 6, sizes, l4s: 0.5, rate, ..Traffic::default() }.draw(5);
    let mut differing = Vec::new();
    for (n, document) in documents().into_iter().enumerate() {
        // Each attempt to dequeue makes FQ-CoDel go on to the flow whose turn it is. Inside a lower priority level that
        // changes the order: without the attempt FQ-CoDel is not called while a higher level has a packet to send.
        let fq_codel_in_level = document["kind"] == "priority" && document.to_string().contains("fq-codel");
        let spec: Spec = tailback_document::decode(document.clone()).expect("it decodes");
        if fq_codel_in_level || Checked::check(&spec).is_err() {
            continue;
        }
        let rig = || Rig::new(&spec, &places(40, rate), Rng::named(n as u64, "port"));
        let expected = serve(&mut rig(), rate, &traffic, |_, _| {});
        if serve(&mut Stopped(rig()), rate, &traffic, |_, _| {}) != expected {
            differing.push(document.to_string());
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
