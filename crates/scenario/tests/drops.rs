//! Loss accounting: the losses by flow, place and reason equal those counted by the ports.

use std::collections::BTreeMap;
use tailback_scenario::{Scenario, build};
use tailback_sim::plan::Engine;
use tailback_sim::{DropReport, Parts, Report, World};

/// A rack whose hosts send to each other in both directions, so that acknowledgements meet queues that mark data and
/// drop packets that cannot be marked; a long link loses frames at random at its end, also those sent before the end of
/// the warm-up.
const RACK: &str = r#"tailback = 1
run = { duration = "3s", warmup = "1s" }

[network]
discipline = { kind = "red", ecn = true, min = "6kB", max = "18kB", byte-mode = false }
buffer = "100kB"

[hosts]
a = { count = 4 }
b = { count = 4 }
lossy = {}

[switches]
left = {}
right = {}

[[links]]
between = ["a", "left"]
rate = "100Mbit/s"

[[links]]
between = ["b", "right"]
rate = "100Mbit/s"

[[links]]
between = ["lossy", "right"]
rate = "100Mbit/s"
loss = 0.2
delay = "50ms"

[[links]]
between = ["left", "right"]
rate = "40Mbit/s"
delay = "2ms"

[[flows]]
name = "there"
from = "a"
to = "b"
source = { kind = "bulk" }
transport = { kind = "tcp", ecn = "classic" }

[[flows]]
name = "back"
from = "b"
to = "a"
source = { kind = "bulk" }
transport = { kind = "tcp", ecn = "classic" }

[[flows]]
name = "lost"
from = "a1"
to = "lossy"
source = { kind = "bulk" }
transport = { kind = "tcp" }

[[flows]]
name = "datagrams"
from = "a2"
to = "lossy"
source = { kind = "poisson", packet = "500B", rate = "2Mbit/s" }
"#;

/// Numbers of lost packets by port and by `true` for losses on the link, `false` for drops in queues.
type Places = BTreeMap<(String, bool), u64>;

/// Returns the losses of all flows; `lists` selects those of a flow.
fn of_flows(report: &Report, lists: impl Fn(&tailback_sim::FlowReport) -> Vec<DropReport>) -> Places {
    let mut places = Places::new();
    for drop in report.flows.iter().flat_map(|flow| lists(&flow)) {
        *places.entry((drop.place, drop.reason.starts_with("link"))).or_default() += drop.packets;
    }
    places
}

/// Returns the losses that the ports count.
fn of_ports(report: &Report) -> Places {
    let mut places = Places::new();
    for port in &report.ports {
        let queued: u64 = port.classes.iter().map(|class| class.dropped.packets).sum();
        places.insert((port.name.clone(), false), queued);
        places.insert((port.name.clone(), true), port.lost_on_line.packets);
    }
    places.retain(|_, packets| *packets > 0);
    places
}

fn run(text: &str, engine: Engine) -> Report {
    let scenario = Scenario::from_toml(text, "rack.toml").unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(build(&scenario, 1, Some(engine)));
    crate::common::to_end(&mut world);
    world.report()
}

#[test]
fn losses_of_flows_and_of_their_acknowledgements_are_those_of_the_ports() {
    for text in [RACK.to_owned(), RACK.replace("warmup = \"1s\"", "warmup = \"0s\"")] {
        for engine in [Engine::Merged, Engine::Plain] {
            let report = run(&text, engine);
            let all =
                |flow: &tailback_sim::FlowReport| [&flow.drops[..], &flow.carried_drops, &flow.ack_drops].concat();
            assert_eq!(of_flows(&report, all), of_ports(&report), "{engine:?}");
        }
    }
}

#[test]
fn most_drops_of_a_queue_that_marks_are_acknowledgements() {
    let report = run(RACK, Engine::Merged);
    let in_queues = |places: Places| places.iter().filter(|((_, on_line), _)| !on_line).map(|(_, n)| *n).sum::<u64>();
    let acks = in_queues(of_flows(&report, |flow| flow.ack_drops.clone()));
    let data = in_queues(of_flows(&report, |flow| flow.drops.clone()));
    assert!(acks > 100 && acks > data, "{acks} acknowledgements, {data} packets of data");
    let reasons: Vec<String> = report.flows.iter().flat_map(|flow| flow.ack_drops).map(|drop| drop.reason).collect();
    assert!(reasons.iter().any(|reason| reason == "early drop"), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason == "link loss"), "{reasons:?}");
    // A flow's transport counts lost acknowledgements from the start, but ports count from the end of the warm-up.
    for flow in report.flows.iter() {
        let after_warmup: u64 = flow.ack_drops.iter().map(|drop| drop.packets).sum();
        let from_start = flow.transport.as_ref().map_or(0, |transport| transport.acks_lost);
        assert!(after_warmup <= from_start, "{}: {after_warmup} of {from_start}", flow.name);
    }
    let whole = run(&RACK.replace("warmup = \"1s\"", "warmup = \"0s\""), Engine::Merged);
    for flow in whole.flows.iter() {
        let lost: u64 = flow.ack_drops.iter().map(|drop| drop.packets).sum();
        assert_eq!(lost, flow.transport.as_ref().map_or(0, |transport| transport.acks_lost), "{}", flow.name);
    }
}

#[test]
fn partitions_of_a_network_report_the_same_losses() {
    let scenario = Scenario::from_toml(RACK, "rack.toml").unwrap_or_else(|e| panic!("{e}"));
    let parts = Parts::new(build(&scenario, 1, None), 2);
    assert_eq!(parts.partition().parts(), 2);
    let (divided, whole) = (parts.run_in_turn().report(), run(RACK, Engine::Merged));
    let losses = |report: &Report| -> Vec<[Vec<DropReport>; 3]> {
        report.flows.iter().map(|flow| [flow.drops, flow.carried_drops, flow.ack_drops]).collect()
    };
    assert_eq!(losses(&divided), losses(&whole));
    assert!(
        losses(&whole).iter().any(|[_, carried, _]| !carried.is_empty()),
        "some lost packets were sent in the warm-up"
    );
}

/// A connection over a link that loses every frame sends its SYN at 0 s, and again when the timeout of 1 s expires, which
/// then doubles (RFC 6298, section 5.5): at 1 s, 3 s and 7 s. The SYN to `server` arrives after two links, at 20 ms and the
/// transmission of two short frames; its answer is on the link from there when that link goes down at 25 ms. The next SYN
/// waits in front of the link.
const HANDSHAKES: &str = r#"tailback = 1
run = { duration = "10s" }

[network]
buffer = "100kB"

[hosts]
client = {}
nowhere = {}
server = {}

[switches]
s = {}

[[links]]
between = ["client", "s"]
rate = "100Mbit/s"
delay = "10ms"

[[links]]
between = ["nowhere", "s"]
rate = "100Mbit/s"
loss = 1.0

[[links]]
between = ["server", "s"]
rate = "100Mbit/s"
delay = "10ms"

[[flows]]
name = "refused"
from = "client"
to = "nowhere"
source = { kind = "bulk" }
transport = { kind = "tcp", handshake = true }

[[flows]]
name = "unanswered"
from = "client"
to = "server"
source = { kind = "bulk" }
transport = { kind = "tcp", handshake = true }

[[timeline]]
at = "25ms"
link = ["server", "s"]
state = "down"
"#;

#[test]
fn lost_handshakes_have_a_row_of_their_own_with_place_and_reason() {
    for engine in [Engine::Merged, Engine::Plain] {
        let report = run(HANDSHAKES, engine);
        let flows: Vec<_> = report.flows.iter().collect();
        let row = |place: &str, reason: &str, packets| DropReport {
            place: place.to_owned(),
            reason: reason.to_owned(),
            handshake: true,
            packets,
        };
        assert_eq!(flows[0].drops, [row("s->nowhere", "link loss", 4)]);
        assert_eq!(flows[0].ack_drops, []);
        assert_eq!(flows[1].drops, []);
        assert_eq!(flows[1].ack_drops, [row("server->s", "link down", 1)]);
    }
}

/// The link between the switches fails while the first PAUSE frame is on it: its propagation delay is 1 ms, and the link
/// fails at most 0.1 ms after the frame was sent.
#[test]
fn control_frames_on_a_link_that_goes_down_are_counted_as_lost() {
    let text = r#"tailback = 1
run = { duration = "40ms" }

[network]
buffer = "200kB"

[backpressure]
scope = "plain"
signal = { kind = "mac" }

[hosts]
h = { count = 2 }
sink = {}

[switches]
a = {}
b = {}

[[links]]
between = ["h", "a"]
rate = "1Gbit/s"

[[links]]
between = ["a", "b"]
rate = "1Gbit/s"
delay = "1ms"

[[links]]
between = ["b", "sink"]
rate = "100Mbit/s"

[[flows]]
name = "data"
from = "h"
to = "sink"
source = { kind = "cbr", rate = "400Mbit/s", packet = "1000B" }

[[timeline]]
at = "DOWN"
link = ["a", "b"]
state = "down"
"#;
    let text = |down: &str| text.replace("DOWN", down);
    let sent = |report: &Report, name: &str| {
        let port = report.ports.iter().find(|port| port.name == name).expect("a port");
        (port.notifications_sent, port.notifications_lost)
    };
    // The earliest failure, in multiples of 0.1 ms, before which a PAUSE is sent.
    let first = (10..400).find(|tenths| sent(&run(&text(&format!("{tenths}00us")), Engine::Merged), "b->a").0 > 0);
    let first = first.expect("a PAUSE is sent");
    for engine in [Engine::Merged, Engine::Plain] {
        let report = run(&text(&format!("{first}00us")), engine);
        assert_eq!(sent(&report, "b->a"), (1, 1), "{engine:?}: sent at most 0.1 ms before, and 1 ms under way");
        let later = run(&text(&format!("{}00us", first + 11)), engine);
        assert!(sent(&later, "b->a").1 < sent(&later, "b->a").0, "{engine:?}: the first has arrived");
    }
}
