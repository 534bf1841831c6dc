//! Stepping through a run: views, changes, injected data, and the scenario that has them in its timeline.

use tailback_scenario::{REACTION, Scenario, Setting, Simulation, build};
use tailback_sim::World;
use tailback_sim::plan::Engine;
use tailback_units::{Dur, Time};

const SETTING: Setting = Setting { seed: 1, engine: None, warmup: None, trace: None };

/// Frames of 1000 B without overhead over a link of 8 Mbit/s, which take 1 ms each. One is sent every 2 ms, the first at
/// time 0.
const LINE: &str = r#"
    tailback = 1
    [run]
    duration = "1s"
    tunable = [
        "links[0].rate", "links[0].loss", "links[0].state", "flows[data].source.rate", "flows[data].state",
        { key = "links[0].delay", min = "1ms", max = "50ms" }, "switches.s.ports.b.buffer",
    ]
    [network]
    framing = "none"
    [hosts]
    a = {}
    b = {}
    [switches.s]
    buffer = "unlimited"
    [switches.s.ports.b]
    buffer = "100kB"
    [[links]]
    between = ["s", "b"]
    rate = "8Mbit/s"
    delay = "10ms"
    [[links]]
    between = ["a", "s"]
    rate = "800Mbit/s"
    delay = "0s"
    [[flows]]
    name = "data"
    from = "a"
    to = "b"
    source = { kind = "cbr", rate = "4Mbit/s", packet = "1000B", phase = "zero" }
"#;

/// TCP connections and a flood over a bottleneck with classes, RED and a shaper: queues, windows and tokens change.
const BUSY: &str = r#"
    tailback = 1
    [run]
    duration = "3s"
    sample = "100ms"
    tunable = [
        "links[0].rate", "links[0].loss", "links[0].jitter", { key = "links[0].delay", min = "1ms" },
        "links[*].state", "flows[*].state", "flows[flood].source", "switches.s.ports.t.discipline",
        "switches.s.ports.t.buffer", "switches.t.discipline", "switches.s.ports.t.shaper",
    ]
    [network]
    classes = 2
    [hosts]
    a = { count = 4 }
    b = { count = 4 }
    [switches.s.ports.t]
    buffer = "60kB"
    discipline = { kind = "red", min = "10kB", max = "30kB", ecn = true }
    shaper = { rate = "9Mbit/s", burst = "10kB" }
    [switches.t]
    discipline = { kind = "codel", target = "5ms" }
    [[links]]
    between = ["s", "t"]
    rate = "10Mbit/s"
    delay = "5ms"
    [[links]]
    between = ["a*", "s"]
    rate = "100Mbit/s"
    [[links]]
    between = ["t", "b1"]
    rate = "500kbit/s"
    [[links]]
    between = ["t", "b[2-4]"]
    rate = "20Mbit/s"
    [[flows]]
    name = "tcp"
    from = "a*"
    to = "b*"
    pair = "zip"
    transport = { kind = "tcp", ecn = "classic" }
    source = { kind = "bulk" }
    [[flows]]
    name = "flood"
    from = "a1"
    to = "b2"
    class = 1
    source = { kind = "poisson", rate = "2Mbit/s", packet = "500B" }
"#;

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "<scenario>").unwrap_or_else(|error| panic!("{error}"))
}

/// Returns an instant in milliseconds.
fn ms(at: u64) -> Time {
    Time::ZERO + Dur::from_ms(at)
}

/// Returns the last instant before a millisecond.
fn before(at: u64) -> Time {
    Time(ms(at).0 - 1)
}

/// Returns the digest of a whole run of a scenario.
fn digest(scenario: &Scenario) -> String {
    let mut world = World::new(build(scenario, SETTING.seed, None));
    world.run_to_end();
    world.report().digest
}

/// Runs to the end; returns the digest.
fn finished(mut simulation: Simulation) -> String {
    simulation.run_until(Time::NEVER);
    assert!(simulation.is_done());
    simulation.report().digest
}

/// Returns the text of the error of a refused change.
fn message(result: Result<Time, tailback_scenario::ScenarioError>) -> String {
    result.expect_err("it is refused").rendered()
}

#[test]
fn steps_of_any_length_give_the_digest_of_the_whole_run() {
    for text in [LINE, BUSY] {
        let scenario = scenario(text);
        let whole = digest(&scenario);
        for steps in [1, 7, 1000] {
            let mut simulation = Simulation::new(&scenario, SETTING);
            for step in 1..=steps {
                simulation.run_until(Time(simulation.end().0 / steps * step));
                simulation.view();
            }
            assert_eq!(finished(simulation), whole, "{steps} steps");
        }
    }
}

#[test]
fn twelve_changed_keys_give_the_digest_of_the_exported_scenario() {
    let scenario = scenario(BUSY);
    for engine in [Engine::Merged, Engine::Plain] {
        let mut simulation = Simulation::new(&scenario, Setting { engine: Some(engine), ..SETTING });
        let changes = [
            (100, "links[0].rate", "5Mbit/s"),
            (200, "links[0].delay", "20ms"),
            (400, "switches.s.ports.t.discipline.max", "20kB"),
            (500, "switches.s.ports.t.discipline.ecn", "false"),
            (700, "links[0].loss", "0.01"),
            (900, "switches.s.ports.t.buffer", "25kB"),
            (1_100, "switches.t.discipline.interval", "30ms"),
            (1_300, "flows[flood].source.rate", "6Mbit/s"),
            (1_500, "links[0].jitter", "3ms"),
            (1_700, "switches.s.ports.t.shaper.rate", "4Mbit/s"),
            (1_900, "flows[flood].state", "stop"),
            (2_100, "links[0].state", "down"),
            (2_200, "links[0].state", "up"),
        ];
        for (at, key, value) in changes {
            simulation.run_until(ms(at));
            assert_eq!(simulation.change(&[(key, value)], None).unwrap(), ms(at) + REACTION, "{key}");
        }
        simulation.inject("tcp[2]", 100_000, Some(ms(2_400))).unwrap();
        let exported = simulation.scenario();
        let changed = finished(simulation);
        assert_eq!(changed, digest(&exported));
        assert_ne!(changed, digest(&scenario));
        // The text, too, is a scenario.
        let text = exported.to_toml();
        assert_eq!(changed, digest(&self::scenario(&text)), "{text}");
        // Every change has an effect: the digest without the change is another one.
        for left_out in 0..changes.len() {
            let mut simulation = Simulation::new(&scenario, SETTING);
            for (_, (at, key, value)) in changes.iter().enumerate().filter(|(i, _)| *i != left_out) {
                simulation.change(&[(key, value)], Some(ms(*at) + REACTION)).unwrap();
            }
            simulation.inject("tcp[2]", 100_000, Some(ms(2_400))).unwrap();
            assert_ne!(finished(simulation), changed, "{:?} changes nothing", changes[left_out]);
        }
    }
}

#[test]
fn a_slower_link_builds_the_queue_that_the_rates_give() {
    let mut simulation = Simulation::new(&scenario(LINE), SETTING);
    simulation.run_until(ms(100));
    assert_eq!(simulation.port("s->b").unwrap().queue_bytes, 0);
    // At 2 Mbit/s a frame takes 4 ms. From 100 ms to 900 ms 400 frames arrive and 200 are sent. Of the other 200, 100
    // wait and fill the buffer, and 100 are dropped.
    simulation.change(&[("links[0].rate", "2Mbit/s")], None).unwrap();
    simulation.run_until(ms(300));
    let port = simulation.port("s->b").unwrap();
    // Since 100 ms 100 frames have arrived, and 50 have been sent or are being sent.
    assert!((49_000..=51_000).contains(&port.queue_bytes), "{}", port.queue_bytes);
    assert_eq!(port.classes[0].by_flow["data"].bytes, port.queue_bytes);
    assert_eq!(port.rate_bps, 2_000_000);
    simulation.run_until(ms(900));
    assert_eq!(simulation.port("s->b").unwrap().queue_bytes, 100_000);
    // A smaller buffer drops no frame that already waits; frames that arrive are dropped until there is room.
    let before = simulation.port("s->b").unwrap().dropped_packets;
    simulation.change(&[("switches.s.ports.b.buffer", "98kB")], None).unwrap();
    simulation.run_until(ms(900) + REACTION);
    let port = simulation.port("s->b").unwrap();
    assert_eq!((port.queue_bytes, port.dropped_packets), (100_000, before));
    simulation.run_until(ms(920));
    let port = simulation.port("s->b").unwrap();
    assert!(port.queue_bytes <= 98_000 && port.dropped_packets >= before + 5, "{port:?}");
}

#[test]
fn a_source_takes_its_new_rate_and_stops_and_starts() {
    let mut simulation = Simulation::new(&scenario(LINE), SETTING);
    let offered = |simulation: &Simulation| simulation.flow("data").unwrap().offered.packets;
    simulation.run_until(before(201));
    assert_eq!(offered(&simulation), 101, "one every 2 ms from 0 on");
    simulation.change(&[("flows[data].source.rate", "8Mbit/s")], Some(ms(201))).unwrap();
    simulation.run_until(before(301));
    assert_eq!(offered(&simulation), 201, "one every millisecond from the change on");
    // The frame of 301 ms is sent before the source stops, since sources are handled before changes at an instant.
    simulation.change(&[("flows[data].state", "stop")], Some(ms(301))).unwrap();
    simulation.run_until(ms(400));
    assert_eq!(offered(&simulation), 202);
    simulation.change(&[("flows[data].source.rate", "4Mbit/s")], None).unwrap();
    simulation.run_until(ms(500));
    assert_eq!(offered(&simulation), 202, "a stopped source stays stopped");
    simulation.change(&[("flows[data].state", "start")], Some(ms(600))).unwrap();
    simulation.run_until(before(700));
    assert_eq!(offered(&simulation), 252);
}

#[test]
fn injected_bytes_arrive_after_transmission_and_delay_and_are_recorded() {
    let mut simulation = Simulation::new(&scenario(LINE), SETTING);
    assert!(simulation.record_delivered("b") && !simulation.record_delivered("unknown"));
    simulation.change(&[("flows[data].state", "stop")], None).unwrap();
    simulation.run_until(ms(100));
    assert_eq!(simulation.take_delivered().len(), 1, "the frame of time 0");
    assert_eq!(simulation.inject("data", 3_000, None).unwrap(), ms(100) + REACTION);
    simulation.inject("data", 1_000, Some(ms(150))).unwrap();
    simulation.run_until(ms(200));
    // A byte takes 10 ns on the link of 800 Mbit/s and 1 us on that of 8 Mbit/s; the delay is 10 ms.
    let found = simulation.take_delivered();
    let seen: Vec<(u64, u32)> = found.iter().map(|(_, packet)| (packet.at.0, packet.bytes)).collect();
    let (first, last) = (ms(100) + REACTION, ms(150));
    let transmission = |bytes: u64| Dur::from_ns(bytes * 1_000) + Dur::from_ns(bytes * 10);
    let end = |from: Time, bytes: u64| (from + transmission(bytes) + Dur::from_ms(10)).0;
    let full = seen[0].1;
    assert_eq!(seen[0].0, end(first, u64::from(full)));
    assert_eq!(seen.iter().take(seen.len() - 1).map(|(_, bytes)| bytes).sum::<u32>(), 3_000);
    assert_eq!(*seen.last().unwrap(), (end(last, 1_000), 1_000));
    assert!(found.iter().all(|(flow, _)| flow == "data"));
    assert!(simulation.take_delivered().is_empty());
    let exported = simulation.scenario();
    assert_eq!(finished(simulation), digest(&exported));
}

#[test]
fn a_jump_back_replays_the_changes_before_it_and_forgets_the_others() {
    let mut simulation = Simulation::new(&scenario(BUSY), SETTING);
    simulation.change(&[("links[0].rate", "6Mbit/s")], Some(ms(200))).unwrap();
    simulation.run_until(ms(1_000));
    let then = serde_json::to_value(simulation.view()).unwrap();
    simulation.change(&[("links[0].rate", "1Mbit/s")], Some(ms(1_100))).unwrap();
    simulation.run_until(ms(2_000));
    assert!(!simulation.jump(ms(2_500)), "a jump forward is a step");
    assert!(simulation.jump(ms(1_000)));
    assert_eq!(simulation.replays(), 1);
    assert_eq!(serde_json::to_value(simulation.view()).unwrap(), then);
    let mut once = Simulation::new(&scenario(BUSY), SETTING);
    once.change(&[("links[0].rate", "6Mbit/s")], Some(ms(200))).unwrap();
    assert_eq!(finished(simulation), finished(once));
}

#[test]
fn invalid_changes_are_refused_and_change_nothing() {
    let scenario = scenario(LINE);
    let mut simulation = Simulation::new(&scenario, SETTING);
    simulation.run_until(ms(500));
    let cases: [(&str, &str, Option<Time>, &str); 12] = [
        ("links[1].rate", "5Mbit/s", None, "is not in `run.tunable`"),
        ("links[9].rate", "5Mbit/s", None, "[9] is not one of them"),
        ("links[0].rate", "5Mbps", None, "did you mean Mbit/s"),
        ("links[0].rate", "5ms", None, "not a unit of a rate"),
        ("links[0].delay", "100us", None, "out of the bounds"),
        ("links[0].delay", "51ms", None, "out of the bounds"),
        ("links[0].loss", "2", None, "2"),
        ("links[0].state", "storm", None, "not a state of a link"),
        ("links[0].state", "broken", None, "is not a state"),
        ("links[0].rate", "5Mbit/s", Some(ms(500)), "not after the current time"),
        ("links[0].rate", "5Mbit/s", Some(ms(1_001)), "after the end of the run"),
        ("run.duration", "5s", None, "is not in `run.tunable`"),
    ];
    for (key, value, at, expected) in cases {
        let text = message(simulation.change(&[(key, value)], at));
        assert!(text.contains(expected), "{key} = {value}: {text}");
    }
    for (flow, bytes, at, expected) in [
        ("unknown", 1_000, None, "no flow named `unknown`"),
        ("data", 0, None, "out of range"),
        ("data", u64::MAX, None, "out of range"),
        ("data", 1_000, Some(ms(400)), "not after the current time"),
    ] {
        let text = message(simulation.inject(flow, bytes, at));
        assert!(text.contains(expected), "{flow}, {bytes}: {text}");
    }
    assert!(!simulation.is_touched());
    assert_eq!(finished(simulation), digest(&scenario));
}

#[test]
fn a_change_before_an_earlier_one_is_refused() {
    let mut simulation = Simulation::new(&scenario(LINE), SETTING);
    simulation.change(&[("links[0].rate", "5Mbit/s")], Some(ms(300))).unwrap();
    let text = message(simulation.change(&[("links[0].rate", "4Mbit/s")], Some(ms(200))));
    assert!(text.contains("comes before one that was made for 300ms"), "{text}");
}

#[test]
fn values_cannot_be_changed_if_the_timeline_sets_values_itself() {
    // The entry of 500 ms has the other values as they are in the document, so that it would undo a change of 200 ms.
    let entry = "[[timeline]]\n at = \"500ms\"\n set = { \"links[0].rate\" = \"4Mbit/s\" }\n";
    let scenario = scenario(&format!("{LINE}\n{entry}"));
    let mut simulation = Simulation::new(&scenario, SETTING);
    let text = message(simulation.change(&[("links[0].loss", "0.1")], Some(ms(200))));
    assert!(text.contains("sets values itself"), "{text}");
    // A state and injected data are independent of the values.
    simulation.change(&[("flows[data].state", "stop")], Some(ms(300))).unwrap();
    simulation.inject("data", 1_000, Some(ms(400))).unwrap();
    let exported = simulation.scenario();
    assert_eq!(finished(simulation), digest(&exported));
}

#[test]
fn an_invalid_entry_of_the_timeline_is_shown_with_its_line() {
    let with = |entry: &str| {
        let text = format!("{LINE}\n    [[timeline]]\n    at = \"100ms\"\n    {entry}\n");
        Scenario::from_toml(&text, "line.toml").expect_err(entry).rendered()
    };
    for (entry, expected) in [
        ("set = {}", "nothing is changed"),
        ("set = { \"links[0].rate\" = \"fast\" }", "`fast`"),
        ("set = { \"links[7].rate\" = \"5Mbit/s\" }", "[7] is not one of them"),
        ("set = { \"run.seed\" = 3 }", "is fixed during a run"),
        ("set = { \"flows[data].source.kind\" = \"poisson\" }", "is fixed during a run"),
        ("set = { \"links[0].rate\" = \"5Mbit/s\" }\n    rate = \"4Mbit/s\"", "no other keys than `at`"),
        ("set = { \"links[0].state\" = \"down\" }", "not set by its key"),
        ("flow = \"data\"\n    send = \"0B\"", "out of range"),
        ("link = [\"a\", \"s\"]\n    send = \"5B\"", "has no `send`"),
    ] {
        let text = with(entry);
        assert!(text.contains(expected) && text.contains("line.toml:"), "{entry}: {text}");
    }
    let tunable = |keys: &str| {
        let text = LINE.replace("tunable = [", &format!("tunable = [{keys}, "));
        Scenario::from_toml(&text, "line.toml").expect_err(keys).rendered()
    };
    for (keys, expected) in [
        ("\"links[9].rate\"", "[9] is not one of them"),
        ("\"network.classes\"", "is fixed during a run"),
        ("\"links[1].delay\"", "has no smallest value"),
        ("{ key = \"links[1].rate\", least = 1 }", "least"),
        ("{ key = \"links[1].rate\", min = \"slow\" }", "is not a value"),
        ("{ key = \"links[1].rate\", max = \"5ms\" }", "is not a value"),
    ] {
        let text = tunable(keys);
        assert!(text.contains(expected) && text.contains("line.toml:"), "{keys}: {text}");
    }
}
