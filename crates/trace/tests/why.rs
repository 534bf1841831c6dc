//! Explanations of constructed cases. The cause that each explanation must name follows from the construction.

use tailback_scenario::{Scenario, build};
use tailback_sim::World;
use tailback_sim::plan::{Plan, TracePlan};
use tailback_sim::trace::Row;
use tailback_trace::Network;
use tailback_trace::why::{
    Blame, End, Ended, Finder, Found, Keeper, Log, PacketStory, PortStory, Query, StopNode, packet, port,
};
use tailback_units::Time;

/// Start of a document with the nodes of a network of two switches; `line` links hosts a and b to s1, and c and d to
/// s2.
const PAIR: &str = r"
tailback = 1
[hosts]
a = {}
b = {}
c = {}
d = {}
[switches]
s1 = {}
s2 = {}
";

/// Returns the plan of a scenario document.
fn plan(document: &str) -> Plan {
    let scenario = Scenario::from_toml(document, "test.toml").unwrap_or_else(|error| panic!("{}", error.rendered()));
    build(&scenario, scenario.run().seed, None)
}

/// Returns the selected rows of the whole run of a plan.
fn rows(plan: &Plan, selection: TracePlan) -> Vec<Row> {
    let mut world = World::new(Plan { trace: Some(Box::new(selection)), ..plan.clone() });
    world.run(u64::MAX);
    world.take_trace()
}

/// Returns the explanations of the packets of a flow, computed in two passes as by the command, and checks that they
/// equal those from all rows up to the end of the packet.
fn stories(document: &str, flow: &str, query: Query) -> Vec<PacketStory> {
    let plan = plan(document);
    let network = Network::of(&plan);
    let number = network.flows.iter().position(|own| own.name == flow).expect("the flow exists") as u32;
    let mut finder = Finder::new(number, query);
    finder.add(&rows(&plan, finder.selection(network.flows.len())));
    let all = rows(&plan, TracePlan::default());
    let found = finder.finish();
    let count = found.len();
    let story = |(at, one): (usize, Found)| {
        let mut from = one.from;
        loop {
            let mut keeper = Keeper::new(from, one.until);
            keeper.add(all.clone());
            let log = Log::new(&network, keeper.finish(), one.until);
            let story = packet(&log, one, (at + 1, count)).expect("the packet has rows");
            check_sums(&story, one);
            if story.needs >= from {
                let whole =
                    Log::new(&network, all.iter().filter(|row| row.time <= one.until).cloned().collect(), one.until);
                let full = packet(&whole, one, (at + 1, count)).expect("the packet has rows");
                assert_eq!(serde_json::to_value(&story).unwrap(), serde_json::to_value(&full).unwrap());
                return story;
            }
            from = story.needs;
        }
    };
    found.into_iter().enumerate().map(story).collect()
}

/// Returns the explanation of the only packet that matches.
fn story(document: &str, flow: &str, query: Query) -> PacketStory {
    let mut found = stories(document, flow, query);
    assert_eq!(found.len(), 1, "{found:#?}");
    let story = found.remove(0);
    println!("{}", story.text());
    story
}

/// Checks that the parts of the delay add up to the delay, and the packets before the packet to the length of each
/// queue.
fn check_sums(story: &PacketStory, found: Found) {
    let parts: u64 = story.hops.iter().map(|hop| hop.waits.total()).sum();
    assert_eq!(parts, story.until_ps - story.from_ps);
    assert_eq!(story.from_ps, found.from.0);
    if found.until != Time::NEVER {
        assert_eq!(story.until_ps, found.until.0);
    }
    for hop in &story.hops {
        assert_eq!(hop.before.iter().map(|share| share.bytes).sum::<u64>(), hop.queue_bytes, "{}", hop.port);
    }
}

/// Returns the explanation of the longest queue of a port.
fn port_story(document: &str, name: &str) -> PortStory {
    let plan = plan(document);
    let network = Network::of(&plan);
    let number = network.ports.iter().position(|own| own.name == name).expect("the port exists") as u32;
    let mut blame = Blame::new(&network, number);
    blame.add(rows(&plan, blame.selection()));
    let sums = blame.finish();
    let at = Time(sums.0.time_ps);
    let all = rows(&plan, TracePlan::default()).into_iter().filter(|row| row.time <= at).collect();
    let story = port(&Log::new(&network, all, at), number, sums);
    println!("{}", story.text());
    story
}

/// Returns a document with one switch and the hosts a and b at links of 100 Mbit/s, c and d at links of 10 Mbit/s. The
/// flow `flood` sends 15 Mbit/s from a to d, and the flow `data` 500 kbit/s from b to d. `switch`: keys of the switch;
/// `more`: keys of the link to d, and further tables.
fn merge(switch: &str, more: &str) -> String {
    format!(
        r#"
tailback = 1
run = {{ duration = "200ms", seed = 3 }}
[hosts]
a = {{}}
b = {{}}
c = {{}}
d = {{}}
[switches.s]
{switch}
[[links]]
between = ["a", "s"]
rate = "100Mbit/s"
[[links]]
between = ["b", "s"]
rate = "100Mbit/s"
[[links]]
between = ["c", "s"]
rate = "10Mbit/s"
[[links]]
between = ["s", "d"]
rate = "10Mbit/s"
{more}
[[flows]]
name = "flood"
from = "a"
to = "d"
source = {{ kind = "poisson", rate = "15Mbit/s", packet = "1000B" }}
[[flows]]
name = "data"
from = "b"
to = "d"
source = {{ kind = "poisson", rate = "500kbit/s", packet = "1000B" }}
"#
    )
}

#[test]
fn an_overflow_is_blamed_on_the_flow_that_fills_the_queue() {
    // The flood exceeds the link, so it keeps the queue of 10 kB full; the data is 3 % of the traffic.
    let story = story(&merge("buffer = \"10kB\"", ""), "data", Query::Drop(0));
    assert_eq!(story.fate, "dropped");
    assert_eq!(story.culprit.kind, "overflow");
    assert_eq!((story.culprit.port.as_deref(), story.culprit.flow.as_deref()), (Some("s->d"), Some("flood")));
    let decision = &story.decisions[0];
    assert_eq!((decision.limit_bytes, decision.law), (Some(10_000), "drop-tail"));
    assert!(decision.queue_bytes <= 10_000 && decision.queue_bytes + decision.bytes > 10_000, "{decision:?}");
}

#[test]
fn an_early_drop_is_explained_by_the_law_and_its_average() {
    // The average is above `max`, so that RED drops every packet, long before the queue of 200 kB is full.
    let red = r#"buffer = "200kB"
discipline = { kind = "red", min = "3kB", max = "9kB", max-p = 0.3, weight = 0.1 }"#;
    let story = story(&merge(red, ""), "data", Query::Drop(0));
    assert_eq!((story.culprit.kind.as_str(), story.culprit.actor.as_deref()), ("early-drop", Some("red")));
    assert_eq!((story.culprit.port.as_deref(), story.culprit.flow.as_deref()), (Some("s->d"), Some("flood")));
    assert!(story.decisions[0].numbers.iter().any(|(_, value)| *value > 3_000.0), "{:?}", story.decisions[0]);
}

#[test]
fn a_drop_by_a_policer_names_the_policer() {
    // The data conforms to 100 kbit/s only.
    let policer = r#"ports.d.conditioners = [
  { flows = "data", meter = { kind = "token-bucket", rate = "100kbit/s", burst = "2kB" }, police = "yellow" }]"#;
    let story = story(&merge(policer, ""), "data", Query::Drop(0));
    assert_eq!((story.culprit.kind.as_str(), story.culprit.port.as_deref()), ("policer", Some("s->d")));
    assert!(story.culprit.actor.as_deref().is_some_and(|name| name.contains("s->d")), "{:?}", story.culprit);
}

/// Returns a document with two switches, whose hosts have links of 100 Mbit/s, except d with 5 Mbit/s. `more`: keys of
/// the back-pressure; `run`: keys of the run.
fn line(more: &str, run: &str) -> String {
    format!(
        r#"{PAIR}
[run]
seed = 2
{run}
[backpressure]
{more}
[[links]]
between = ["a", "s1"]
rate = "100Mbit/s"
[[links]]
between = ["b", "s1"]
rate = "100Mbit/s"
[[links]]
between = ["s1", "s2"]
rate = "100Mbit/s"
[[links]]
between = ["s2", "c"]
rate = "100Mbit/s"
[[links]]
between = ["s2", "d"]
rate = "5Mbit/s"
"#
    )
}

/// Returns the table of a flow with Poisson packets of 1000 B.
fn flow(name: &str, from: &str, to: &str, rate: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nsource = {{ kind = \"poisson\", rate = \"{rate}\", \
         packet = \"1000B\" }}\n"
    )
}

/// A pause storm of host d from 20 ms to 80 ms.
const STORM: &str = r#"
[[timeline]]
at = "20ms"
host = "d"
state = "storm"
[[timeline]]
at = "80ms"
host = "d"
state = "calm"
"#;

/// Back-pressure by PFC that end stations obey.
const PFC: &str = "scope = \"class\"\nsignal = { kind = \"mac\" }\nend-stations = true";

#[test]
fn a_storm_is_found_upstream_through_the_queue_that_it_fills() {
    // d stops s2->d. At 20 Mbit/s the queue there, of 50 kB, passes 40 kB about 16 ms later, and stops s1->s2. The
    // victim, which is not for d, waits there. Without the storm, the link to d has five times the rate of its flow.
    let document = line(PFC, "duration = \"300ms\"").replace("5Mbit/s", "100Mbit/s")
        + &flow("hot", "a", "d", "20Mbit/s")
        + &flow("victim", "b", "c", "500kbit/s")
        + STORM;
    let story = story(&document, "victim", Query::At(Time(60_000_000_000)));
    assert_eq!(story.fate, "delivered");
    assert_eq!((story.culprit.kind.as_str(), story.culprit.actor.as_deref()), ("storm", Some("d")), "{story:#?}");
    assert_eq!(story.culprit.port.as_deref(), Some("s2->d"));
    let held = story.chain.iter().find(|stop| stop.port == "s1->s2").or(story.chain.first()).expect("a stop");
    assert!(!held.causes.is_empty());
}

#[test]
fn a_stop_of_a_destination_is_explained_by_the_queue_to_it() {
    // 12 Mbit/s for d, whose link has 5 Mbit/s: the queue of 10 kB in s2 stops the traffic to d in s1, whose queue of
    // 200 kB holds the backlog; most of it is the flood's.
    let destinations = "scope = \"destination\"";
    let document = line(destinations, "duration = \"400ms\"")
        .replace("s1 = {}", "s1 = { buffer = \"200kB\" }")
        .replace("s2 = {}", "s2 = { buffer = \"10kB\" }")
        + &flow("flood", "a", "d", "12Mbit/s")
        + &flow("data", "b", "d", "500kbit/s")
        + &flow("other", "b", "c", "500kbit/s");
    let data = story(&document, "data", Query::WorstDelay);
    assert_eq!(data.culprit.kind, "congestion", "{data:#?}");
    assert_eq!((data.culprit.port.as_deref(), data.culprit.flow.as_deref()), (Some("s2->d"), Some("flood")));
    let stop = &data.chain[0];
    assert_eq!((stop.port.as_str(), stop.traffic.as_str(), stop.signal), ("s1->s2", "traffic to d", "XOFF"));
    let cause = &stop.causes[0];
    assert!(cause.threshold.is_some_and(|threshold| cause.level > threshold), "{cause:#?}");
    // Packets to the other destination are not stopped.
    let other = story(&document, "other", Query::WorstDelay);
    assert_eq!(other.hops.iter().map(|hop| hop.waits.stopped_ps).sum::<u64>(), 0);
}

#[test]
fn starvation_by_a_higher_class_is_blamed_on_it() {
    // With the overhead of its frames, the higher class alone offers 9.9 of the 10 Mbit/s.
    let document = merge("buffer = \"100kB\"", "")
        .replace("rate = \"15Mbit/s\"", "rate = \"9.4Mbit/s\"")
        .replace("from = \"a\"\nto = \"d\"", "from = \"a\"\nto = \"d\"\nclass = 0")
        .replace("from = \"b\"\nto = \"d\"", "from = \"b\"\nto = \"d\"\nclass = 1")
        + "[network]\nclasses = 2\n";
    let story = story(&document, "data", Query::WorstDelay);
    assert_eq!(story.culprit.kind, "priority", "{}", story.text());
    assert_eq!((story.culprit.port.as_deref(), story.culprit.flow.as_deref()), (Some("s->d"), Some("flood")));
}

#[test]
fn shared_memory_is_blamed_on_the_other_port_that_holds_it() {
    // With alpha = 8 the flood's queue may take 8/9 of the 20 kB, and leaves about 2 kB to the queue of another port.
    // The burst of 10 kB for c arrives at 100 Mbit/s and leaves at 10 Mbit/s.
    let memory = "model = { kind = \"shared-memory\", memory = \"20kB\", alpha = 8.0 }";
    let document = merge(memory, "")
        .replace("from = \"b\"\nto = \"d\"", "from = \"b\"\nto = \"c\"")
        .replace("rate = \"500kbit/s\"", "rate = \"10kbit/s\"")
        + "[[timeline]]\nat = \"100ms\"\nflow = \"data\"\nsend = \"10kB\"\n";
    let story = story(&document, "data", Query::Drop(0));
    assert_eq!(story.culprit.kind, "memory");
    assert_eq!((story.culprit.port.as_deref(), story.culprit.flow.as_deref()), (Some("s->d"), Some("flood")));
    assert_eq!(story.hops.last().map(|hop| hop.port.as_str()), Some("s->c"));
    let memory = story.decisions[0].memory.as_ref().expect("the use of the memory");
    assert!(memory.ports[0].1 * 2 > memory.used_bytes && memory.used_bytes <= 20_000, "{memory:?}");
}

#[test]
fn a_loss_on_the_link_is_not_a_drop_of_the_queue() {
    let lossy = merge("", "").replace("between = [\"s\", \"d\"]", "between = [\"s\", \"d\"]\nloss = 0.3");
    let story = story(&lossy.replace("15Mbit/s", "1Mbit/s"), "data", Query::Drop(0));
    assert_eq!((story.culprit.kind.as_str(), story.culprit.port.as_deref()), ("loss", Some("s->d")));
    assert_eq!(story.decisions[0].loss, Some(0.3));
    let hop = story.hops.last().expect("a hop");
    assert!(hop.dropped && hop.started_ps.is_some());
}

#[test]
fn a_ring_of_stops_is_named_with_all_its_ports() {
    // Each of five links in a ring carries two flows, and the inputs of the switches stop each other (see the
    // document).
    let document = include_str!("../../../python/tailback/gallery/datacentre/pfc_failure_modes/ring.toml").to_owned();
    let at_11_ms = Query::At(Time(11_000_000_000));
    let story = story(&document, "f1", at_11_ms);
    assert_eq!(story.culprit.kind, "ring", "{}", story.text());
    let mut ring = story.culprit.ring.clone();
    ring.sort_unstable();
    assert_eq!(ring, ["s1->s2", "s2->s3", "s3->s4", "s4->s5", "s5->s1"]);
    assert!(has_end(&story.chain[0], &|end| matches!(end, End::Ring { .. })));
}

/// Returns `true` if the tree of a stop has an end for which `is` returns `true`.
fn has_end(stop: &StopNode, is: &dyn Fn(&End) -> bool) -> bool {
    stop.end.as_ref().is_some_and(is)
        || stop
            .causes
            .iter()
            .any(|cause| cause.end.as_ref().is_some_and(is) || cause.stops.iter().any(|inner| has_end(inner, is)))
}

#[test]
fn a_watchdog_that_ends_a_storm_is_named_next_to_the_host() {
    // The watchdog of s2 ignores the pauses of d after 30 ms, before the storm ends.
    let document = line(PFC, "duration = \"300ms\"")
        .replace("s2 = {}", "s2 = { watchdog = { after = \"30ms\", restore = \"200ms\" } }")
        + &flow("hot", "a", "d", "2Mbit/s")
        + STORM;
    let story = story(&document, "hot", Query::WorstDelay);
    assert_eq!((story.culprit.kind.as_str(), story.culprit.actor.as_deref()), ("storm", Some("d")), "{}", story.text());
    assert!(story.culprit.watchdog);
    let stop = story.chain.iter().find(|stop| stop.port == "s2->d").expect("s2->d was stopped");
    assert_eq!(stop.ended, Ended::Watchdog);
    // The storm begins at 20 ms. Its first frame of 84 B takes 84·8 bit / 5 Mbit/s = 134.4 us, and 1 us on 200 m of
    // cable; the watchdog acts 30 ms after its arrival.
    assert_eq!((stop.since_ps, stop.until_ps), (20_135_400_000, Some(50_135_400_000)));
}

#[test]
fn the_longest_queue_of_a_stopped_port_is_explained_by_the_storm() {
    let document =
        line(PFC, "duration = \"100ms\"").replace("5Mbit/s", "100Mbit/s") + &flow("hot", "a", "d", "20Mbit/s") + STORM;
    let story = port_story(&document, "s2->d");
    assert_eq!((story.culprit.kind.as_str(), story.culprit.actor.as_deref()), ("storm", Some("d")));
    // The queue passes its threshold, 80 % of 50 kB, during the storm; packets in transit then still arrive.
    assert!((40_000..50_000).contains(&story.worst.bytes), "{:?}", story.worst);
    assert!((20_000_000_000..80_000_000_000).contains(&story.worst.time_ps), "{:?}", story.worst);
}

#[test]
fn the_queue_of_a_port_is_blamed_on_the_flood() {
    let story = port_story(&merge("buffer = \"10kB\"", ""), "s->d");
    assert!(story.worst.bytes <= 10_000 && story.worst.bytes > 9_000, "{:?}", story.worst);
    assert_eq!(story.worst.bytes, story.worst.shares.iter().map(|share| share.bytes).sum::<u64>());
    assert_eq!(story.blame[0].flow, "flood");
    assert!(story.blame[0].share > 0.9);
    let dropped: u64 = story.blame.iter().map(|row| row.dropped_packets).sum();
    let world = {
        let mut world = World::new(plan(&merge("buffer = \"10kB\"", "")));
        world.run(u64::MAX);
        world.report()
    };
    let report = world.ports.iter().find(|port| port.name == "s->d").expect("the port");
    assert_eq!(dropped, report.classes[0].dropped.packets);
    let mean: f64 = story.blame.iter().map(|row| row.mean_bytes).sum();
    assert!((mean - report.classes[0].mean_bytes).abs() < 1e-6 * mean, "{mean} {:?}", report.classes[0]);
    assert_eq!(story.worst.bytes, report.classes[0].max_bytes);
}
