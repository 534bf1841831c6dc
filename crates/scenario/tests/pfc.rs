//! Priority-based flow control: headroom, cyclic buffer dependencies, storms of PAUSE frames and the watchdog.

use tailback_scenario::{Scenario, build};
use tailback_sim::plan::Engine;
use tailback_sim::{PortReport, Report, World};

/// Returns the scenario, or its errors as text.
fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml(text, "pfc.toml").map_err(|e| e.to_string())
}
fn run(text: &str) -> Report {
    let scenario = scenario(text).unwrap_or_else(|e| panic!("{e}"));
    let mut world = World::new(build(&scenario, 1, None));
    crate::common::to_end(&mut world);
    world.report()
}
/// Returns the number of lost packets of all flows.
fn lost(report: &Report) -> u64 {
    report.flows.iter().map(|flow| flow.dropped.packets).sum()
}
fn port<'a>(report: &'a Report, name: &str) -> &'a PortReport {
    report.ports.iter().find(|port| port.name == name).expect("a port of that name")
}

/// Returns the report of a host that fills its 10 Gbit/s link towards a host with a quarter of that rate, while the
/// reverse direction is full of frames for which PAUSE frames have to wait. The host is stopped after about 40 frames.
fn fast_to_slow(headroom: &str) -> Report {
    run(&fast_to_slow_document(headroom))
}

fn fast_to_slow_document(headroom: &str) -> String {
    format!(
        r#"
tailback = 1
run = {{ duration = "4ms" }}
network = {{ buffer = "unlimited" }}
backpressure = {{ scope = "class", signal = {{ kind = "mac" }}, end-stations = true, response-time = "1us" }}
hosts = {{ a = {{}}, b = {{}}, c = {{}} }}
[switches.s]
latency = "500ns"
model = {{ kind = "shared-buffer", memory = "1MB", shift = 4, {headroom} }}
[[links]]
between = ["a", "s"]
rate = "10Gbit/s"
length = "300m"
[[links]]
between = ["b", "s"]
rate = "2.5Gbit/s"
[[links]]
between = ["c", "s"]
rate = "10Gbit/s"
[[flows]]
name = "forth"
from = "a"
to = "b"
source = {{ kind = "cbr", packet = "1500B", rate = "9.75Gbit/s" }}
[[flows]]
name = "back"
from = "c"
to = "a"
source = {{ kind = "cbr", packet = "1500B", rate = "9.6Gbit/s" }}
"#
    )
}

#[test]
fn no_frame_is_lost_with_the_headroom_of_the_link_and_some_with_one_frame_less() {
    let frame = 1518;
    let fewest = (0..40)
        .find(|frames| lost(&fast_to_slow(&format!("headroom = \"{}B\"", frames * frame))) == 0)
        .expect("some headroom is enough");
    assert!(fewest > 1);
    for frames in [fewest - 1, fewest - 2] {
        let report = fast_to_slow(&format!("headroom = \"{}B\"", frames * frame));
        assert!(lost(&report) > 0 && port(&report, "s->b").classes[0].dropped.packets > 0, "{frames} frames");
    }
    let report = fast_to_slow("");
    assert_eq!(lost(&report), 0, "the computed headroom is enough");
    assert!(port(&report, "a->s").notifications_received > 10 && port(&report, "a->s").held_s > 1e-3);
    // Bytes that arrive while the PAUSE waits for a frame and is sent, during the propagation over 300 m in each
    // direction (3 us) and the 1.5 us of latency and response, and two frames in flight: (1538 + 84 + 2 · 1538) B +
    // 4.5 us · 10 Gbit/s = 10.3 kB, at most 7 frames; the PAUSE has the longest wait only by chance.
    assert!((5..=7).contains(&fewest), "{fewest} frames");
}

/// The default headroom, to the byte, by the formula of 802.1Qbb: the bytes that a sender at `rate` transmits while the
/// PAUSE waits for a frame, is sent, propagates and takes effect, and during the latency of the switch; plus one frame
/// at each end.
#[test]
fn the_computed_headroom_is_the_sum_of_the_standard_to_the_byte() {
    // Ethernet adds 18 B to 1500 B, and 20 B between frames; a PAUSE takes 84 B with them.
    let (frame, pause) = (1538, 84);
    // Headroom of an input whose link has a rate in units of 0.1 Gbit/s.
    let input = |gbit_10: u64, round_trip_ps: u64| {
        let wait = (frame + pause) * 8_000 / gbit_10 * 10;
        (wait + round_trip_ps + 1_000_000 + 500_000) * gbit_10 / 80_000 + 2 * frame
    };
    // 300 m take 1.5 us in each direction; links without a length take 1 us.
    assert_eq!(input(100, 3_000_000), 7_247 + 3_076);
    let by_hand = input(100, 3_000_000) + input(25, 2_000_000) + input(100, 2_000_000);
    let plan = build(&scenario(&fast_to_slow_document("")).unwrap(), 1, None);
    let switch = plan.nodes.iter().position(|node| node.name == "s").expect("the switch") as u16;
    // In addition to the reserve of each input, by default 4 kB.
    let classes = u64::from(plan.classes);
    assert_eq!(tailback_sim::set_aside(&plan, switch), Some((1_000_000, classes * (by_hand + 3 * 4_000))));
}

/// Returns the report of a ring of five switches; each host sends to the host two switches further on, all in the same
/// direction. `more` is further keys of the switches.
fn ring(routing: &str, more: &str) -> Report {
    let links: String = (1..=5)
        .map(|i| {
            let next = i % 5 + 1;
            format!(
                "[[links]]\nbetween = [\"h{i}\", \"s{i}\"]\nrate = \"10Gbit/s\"\n[[links]]\nbetween = [\"s{i}\", \"s{next}\"]\nrate = \"10Gbit/s\"\n[[flows]]\nname = \"f{i}\"\nfrom = \"h{i}\"\nto = \"h{}\"\nsource = {{ kind = \"bulk\" }}\ntransport = {{ kind = \"rdma\", timeout = \"1s\" }}\n",
                (i + 1) % 5 + 1
            )
        })
        .collect::<Vec<_>>()
        .concat();
    run(&format!(
        r#"
tailback = 1
run = {{ duration = "10ms" }}
network = {{ routing = "{routing}", buffer = "unlimited" }}
backpressure = {{ scope = "class", signal = {{ kind = "mac" }}, end-stations = true }}
hosts = {{ h = {{ count = 5 }} }}
[switches.s]
count = 5
model = {{ kind = "shared-buffer", memory = "200kB", shift = 4 }}
{more}
{links}
"#
    ))
}

#[test]
fn a_ring_deadlocks_and_its_cycle_is_named() {
    let report = ring("shortest-path", "");
    assert_eq!(report.deadlocks.len(), 1, "{:?}", report.deadlocks);
    let deadlock = &report.deadlocks[0];
    let mut ports = deadlock.ports.clone();
    ports.sort();
    assert_eq!(ports, ["s1->s2", "s2->s3", "s3->s4", "s4->s5", "s5->s1"]);
    for (at, next) in deadlock.ports.iter().zip(deadlock.ports.iter().cycle().skip(1)) {
        assert_eq!(at.split("->").nth(1), next.split("->").next(), "each waits for the next");
    }
    assert!(deadlock.since_s < 0.005, "{}", deadlock.since_s);
    assert_eq!(lost(&report), 0);
    // Deadlock: by the end of the run each port of the cycle is stopped permanently.
    let stopped = |name: &String| port(&report, name).held_s;
    assert!(deadlock.ports.iter().all(|name| stopped(name) > 0.005));
}

#[test]
fn up_down_routes_avoid_the_deadlock_of_the_same_ring() {
    let report = ring("up-down", "");
    assert_eq!((report.deadlocks.len(), lost(&report)), (0, 0));
    let delivered = |i: u32| report.flows.iter().find(|flow| flow.name == format!("f{i}")).unwrap().delivered.bytes;
    assert!((1..=5).all(|i| delivered(i) > 1_000_000), "{:?}", (1..=5).map(delivered).collect::<Vec<_>>());
}

#[test]
fn a_watchdog_breaks_the_cycle() {
    let report = ring("shortest-path", "watchdog = { after = \"500us\", restore = \"200us\" }");
    let storms: u64 = report.ports.iter().filter_map(|port| port.pause_storms).sum();
    assert!(storms > 0, "{storms}");
    let delivered: u64 = report.flows.iter().map(|flow| flow.delivered.bytes).sum();
    let stuck: u64 = ring("shortest-path", "").flows.iter().map(|flow| flow.delivered.bytes).sum();
    assert!(delivered > 2 * stuck, "{delivered} against {stuck}");
}

/// Returns the report of two leaves and a spine; h1 sends to h3, h2 to h4, and h3 is faulty from 1 to 6 ms.
fn storm(watchdog: &str) -> Report {
    run(&format!(
        r#"
tailback = 1
run = {{ duration = "10ms" }}
network = {{ buffer = "unlimited" }}
backpressure = {{ scope = "class", signal = {{ kind = "mac" }}, end-stations = true }}
[fabric]
kind = "leaf-spine"
leaves = 2
spines = 1
hosts-per-leaf = 2
rate = "10Gbit/s"
uplink-rate = "40Gbit/s"
[switches.leaf]
model = {{ kind = "shared-buffer", memory = "300kB", shift = 3 }}
{watchdog}
[switches.spine]
model = {{ kind = "shared-buffer", memory = "300kB", shift = 3 }}
[[flows]]
name = "to-broken"
from = "h1"
to = "h3"
source = {{ kind = "bulk" }}
transport = {{ kind = "rdma", timeout = "1s" }}
[[flows]]
name = "victim"
from = "h2"
to = "h4"
source = {{ kind = "bulk" }}
transport = {{ kind = "rdma", timeout = "1s" }}
[[timeline]]
at = "1ms"
host = "h3"
state = "storm"
[[timeline]]
at = "6ms"
host = "h3"
state = "calm"
"#
    ))
}

#[test]
fn one_faulty_host_stops_others_until_it_recovers_and_a_watchdog_prevents_that() {
    let bytes = |report: &Report, name: &str| report.flows.iter().find(|f| f.name == name).unwrap().delivered.bytes;
    let stormy = storm("");
    let guarded = storm("watchdog = { after = \"200us\", restore = \"2ms\" }");
    // In 10 ms about 11.5 MB of payload pass at 10 Gbit/s; the storm takes half of this time.
    let (victim, spared) = (bytes(&stormy, "victim"), bytes(&guarded, "victim"));
    assert!((4_000_000..7_500_000).contains(&victim), "{victim}");
    assert!(spared > 10_000_000, "{spared}");
    assert_eq!(lost(&stormy), 0);
    assert_eq!(port(&guarded, "leaf2->h3").pause_storms, Some(1));
    let blocking = port(&stormy, "spine1->leaf2").head_of_line.expect("the spine was stopped");
    assert!(blocking.for_others_packets > 0 && blocking.for_others_packets < blocking.held_up_packets, "{blocking:?}");
    assert!(port(&stormy, "leaf1->h1").head_of_line.is_none());
}

/// Returns the report of a host that sends 5 Mbit/s over links of 10 Mbit/s to host `b`, with this timeline; both
/// engines must give the same digest.
fn two_hosts(end_stations: bool, timeline: &str) -> Report {
    let text = format!(
        r#"
tailback = 1
run = {{ duration = "1s" }}
hosts = {{ a = {{}}, b = {{}} }}
switches = {{ s = {{ backpressure = {{ scope = "plain", signal = {{ kind = "mac" }}, end-stations = {end_stations} }} }} }}
links = [{{ between = ["[ab]", "s"], rate = "10Mbit/s" }}]
flows = [{{ name = "f", from = "a", to = "b", source = {{ kind = "cbr", packet = "1500B", rate = "5Mbit/s" }} }}]
timeline = [{timeline}]
"#
    );
    let scenario = scenario(&text).unwrap_or_else(|e| panic!("{e}"));
    let [merged, plain] = [Engine::Merged, Engine::Plain].map(|engine| {
        let mut world = World::new(build(&scenario, 1, Some(engine)));
        crate::common::to_end(&mut world);
        world.report()
    });
    assert_eq!(merged.digest, plain.digest, "end-stations = {end_stations}, {timeline}");
    merged
}

#[test]
fn a_storm_stops_the_port_whether_or_not_hosts_are_notified_of_congestion() {
    for end_stations in [false, true] {
        let calm = two_hosts(end_stations, "").flows.iter().next().unwrap().delivered.packets;
        let storm = two_hosts(end_stations, "{ at = \"100ms\", host = \"b\", state = \"storm\" }");
        // A packet of 1500 B has 12 kbit: at 5 Mbit/s 417 packets are sent in 1 s, and 42 in the 100 ms before the
        // storm.
        assert!((410..=417).contains(&calm), "{calm}");
        assert!(
            (40..=43).contains(&storm.flows.iter().next().unwrap().delivered.packets),
            "{}",
            storm.flows.iter().next().unwrap().delivered.packets
        );
    }
}

#[test]
fn the_end_of_a_storm_that_has_not_begun_has_no_effect() {
    let change = |ms: u32, state: &str| format!("{{ at = \"{ms}ms\", host = \"b\", state = \"{state}\" }}");
    for end_stations in [false, true] {
        let delivered = |changes: &[String]| {
            two_hosts(end_stations, &changes.join(", ")).flows.iter().next().unwrap().delivered.packets
        };
        let without = delivered(&[]);
        assert_eq!(delivered(&[change(100, "calm")]), without);
        let once = delivered(&[change(100, "storm"), change(300, "calm")]);
        assert!(once > 300, "frames that waited during the storm are sent: {once}");
        assert_eq!(delivered(&[change(100, "storm"), change(200, "storm"), change(300, "calm")]), once);
    }
}

#[test]
fn reserves_and_headroom_are_at_most_the_memory_of_a_switch() {
    let with_reserve = |reserve: &str| {
        scenario(&format!(
            r#"
tailback = 1
run = {{ duration = "1ms" }}
hosts = {{ h = {{ count = 3 }} }}
[switches.s]
model = {{ kind = "shared-buffer", memory = "30kB", reserve = "{reserve}", headroom = "4kB" }}
backpressure = {{ scope = "class", signal = {{ kind = "mac" }} }}
[[links]]
between = ["h*", "s"]
rate = "1Gbit/s"
[[flows]]
name = "f"
from = "h1"
to = "h2"
source = {{ kind = "cbr", packet = "1500B", rate = "1Mbit/s" }}
"#
        ))
    };
    with_reserve("6kB").expect("three inputs of 6 + 4 kB");
    let refused = with_reserve("7kB").expect_err("three inputs of 7 + 4 kB");
    assert!(
        refused.contains("of all inputs and classes need 33kB") && refused.contains("write \"33kB\" or more"),
        "{refused}"
    );
    with_reserve("16EB").expect_err("more than a u64 holds");
}

#[test]
fn invalid_combinations_are_refused_with_advice() {
    let wrong = |model: &str, network: &str, press: &str, more: &str, advice: &str| {
        let text = format!(
            "tailback = 1\nrun = {{ duration = \"1ms\" }}\n{network}\n{press}\nhosts = {{ h = {{ count = 2 }} }}\n[switches.s]\n{model}\n[[links]]\nbetween = [\"h*\", \"s\"]\nrate = \"1Gbit/s\"\n[[flows]]\nname = \"f\"\nfrom = \"h1\"\nto = \"h2\"\nsource = {{ kind = \"bulk\", size = \"1kB\" }}\n{more}"
        );
        let error = scenario(&text).expect_err(advice);
        assert!(error.contains(advice), "{error}");
    };
    let buffer = "model = { kind = \"shared-buffer\", memory = \"1MB\" }";
    let press = "backpressure = { scope = \"class\", signal = { kind = \"mac\" } }";
    wrong("model = { kind = \"shared-buffer\", memory = \"1MB\", shift = 17 }", "", press, "", "0 to 16");
    wrong("model = { kind = \"shared-buffer\", memory = \"1kB\" }", "", press, "", "1518B");
    wrong(buffer, "network = { discipline = { kind = \"sfq\" } }", press, "", "use \"drop-tail\" or \"red\"");
    wrong(buffer, "", "backpressure = { scope = \"destination\" }", "", "scope \"class\" or \"plain\"");
    // Frames that leave in another order than they arrived would be charged to the wrong ingress account.
    let limited = "model = { kind = \"shared-buffer\", memory = \"1MB\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }";
    wrong(limited, "", press, "", "those of rate limiters are served round robin");
    wrong("watchdog = { after = \"0s\", restore = \"1ms\" }", "", press, "", "the time is zero");
    let change = |text: &str| format!("[[timeline]]\nat = \"0s\"\n{text}\n");
    wrong(buffer, "", press, &change("host = \"h1\"\nstate = \"down\""), "write \"storm\" or \"calm\"");
    wrong(buffer, "", "", &change("host = \"h1\"\nstate = \"storm\""), "signal = { kind = \"mac\" }");
    wrong(buffer, "", press, &change("host = \"h9\"\nstate = \"storm\""), "h1");
    wrong(buffer, "", press, &change("host = \"h1\"\nhigh = 0.5\nlow = 0.4"), "the keys of a host are");
}
