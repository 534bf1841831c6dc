//! Compiled plans: names and patterns resolved, defaults filled in, paths computed.

use crate::common::right::RIGHT;
use tailback_scenario::{Scenario, build};
use tailback_sim::plan::{
    Change, ChangeKind, Detection, Engine, Fabric, Framing, Length, NO_ROUTE, NodeKind, Place, Plan, Response, Scope,
    Signal,
};
use tailback_units::{Dur, Rate, Time};

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(text, "test.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// Returns the plan of a document with seed 1.
fn plan(text: &str) -> Plan {
    build(&scenario(text), 1, None)
}

/// Returns a document with these hosts, switches and links, and one flow.
fn network(nodes: &str, links: &[(&str, &str)], flow: (&str, &str)) -> String {
    let links: String = links
        .iter()
        .map(|(a, b)| format!("[[links]]\nbetween = [\"{a}\", \"{b}\"]\nrate = \"10Mbit/s\"\n"))
        .collect::<Vec<_>>()
        .concat();
    let (from, to) = flow;
    format!(
        "tailback = 1\nrun = {{ duration = \"1s\" }}\n{nodes}\n{links}\n[[flows]]\nname = \"f\"\nfrom = \"{from}\"\nto = \"{to}\"\nsource = {{ kind = \"bulk\", size = \"1MB\" }}\n"
    )
}

/// Returns the names of the nodes, by number.
fn names(plan: &Plan) -> Vec<&str> {
    plan.nodes.iter().map(|node| node.name.as_str()).collect()
}

fn node(plan: &Plan, name: &str) -> usize {
    plan.nodes.iter().position(|node| node.name == name).unwrap()
}

/// Returns the names of the nodes on the path, both ends included.
fn path<'a>(plan: &'a Plan, from: &str, to: &str) -> Vec<&'a str> {
    let (mut at, to) = (node(plan, from), node(plan, to));
    let mut path = vec![plan.nodes[at].name.as_str()];
    while at != to {
        let link = &plan.links[plan.routes.link(at as u16, to as u16) as usize];
        at = usize::from(if usize::from(link.ends[0]) == at { link.ends[1] } else { link.ends[0] });
        path.push(&plan.nodes[at].name);
        assert!(path.len() < 20, "a loop: {path:?}");
    }
    path
}

#[test]
fn counts_make_numbered_nodes_hosts_first_in_natural_order() {
    let plan = plan(&network(
        "hosts = { h = { count = 11 } }\nswitches = { a = {}, s = { count = 2 } }",
        &[("h*", "s1"), ("s1", "s2"), ("a", "s2")],
        ("h1", "h11"),
    ));
    let expected: Vec<String> = (1..=11).map(|i| format!("h{i}")).chain(["a", "s1", "s2"].map(str::to_owned)).collect();
    assert_eq!(names(&plan), expected);
    assert_eq!(plan.links.len(), 13);
    assert_eq!(plan.links[10].ends.map(|id| names(&plan)[usize::from(id)]), ["h11", "s1"]);
}

#[test]
fn two_patterns_are_linked_one_to_one_and_one_pattern_to_all() {
    let plan = plan(&network(
        "hosts = { h = { count = 3 } }\nswitches = { e = { count = 3 }, core = {} }",
        &[("h*", "e*"), ("core", "e[1-3]")],
        ("h1", "h2"),
    ));
    let pairs: Vec<[&str; 2]> =
        plan.links.iter().map(|link| link.ends.map(|id| names(&plan)[usize::from(id)])).collect();
    assert_eq!(pairs, [["h1", "e1"], ["h2", "e2"], ["h3", "e3"], ["core", "e1"], ["core", "e2"], ["core", "e3"]]);
}

/// Returns the names of the ends of each link.
fn ends(plan: &Plan) -> Vec<[&str; 2]> {
    plan.links.iter().map(|link| link.ends.map(|id| names(plan)[usize::from(id)])).collect()
}

#[test]
fn the_name_of_a_group_matches_exactly_its_nodes() {
    // `s*` would match the switch `sw` too.
    let one_to_all = plan(&network(
        "hosts = { s = { count = 3 }, d = {} }\nswitches = { sw = {} }",
        &[("s", "sw"), ("sw", "d")],
        ("s", "d"),
    ));
    assert_eq!(ends(&one_to_all), [["s1", "sw"], ["s2", "sw"], ["s3", "sw"], ["sw", "d"]]);
    assert_eq!(one_to_all.flows.len(), 3);
    let one_to_one = plan(&network(
        "hosts = { s = { count = 2 } }\nswitches = { e = { count = 2 }, core = {} }",
        &[("s", "e"), ("core", "e")],
        ("s1", "s2"),
    ));
    assert_eq!(ends(&one_to_one), [["s1", "e1"], ["s2", "e2"], ["core", "e1"], ["core", "e2"]]);
}

#[test]
fn a_single_node_takes_precedence_over_a_group_of_its_name() {
    let plan = plan(&network(
        "hosts = { s = { count = 2 }, d = {} }\nswitches = { s = {} }",
        &[("s[12]", "s"), ("s", "d")],
        ("s[12]", "d"),
    ));
    assert_eq!(ends(&plan), [["s1", "s"], ["s2", "s"], ["s", "d"]]);
}

#[test]
fn ports_towards_a_group_are_found_by_its_name() {
    let text = network(
        "hosts = { s = { count = 2 }, d = {} }\nswitches = { sw = { buffer = \"50kB\", ports = { s = { buffer = \"20kB\" } } } }",
        &[("s", "sw"), ("sw", "d")],
        ("s", "d"),
    );
    let plan = plan(&text);
    // For each link towards a host of the group: the port of the switch, and the one towards `d`.
    let at_switch = |link: usize, side: usize| plan.links[link].queue[side].limits[0];
    assert_eq!([at_switch(0, 1), at_switch(1, 1), at_switch(2, 0)], [20_000, 20_000, 50_000]);
}

#[test]
fn flows_have_the_requested_pairs() {
    let pairs = |from: &str, to: &str, pair: &str| {
        let text = network(
            "hosts = { a = { count = 3 }, b = { count = 3 } }\nswitches = { s = {} }",
            &[("?[123]", "s")],
            (from, to),
        );
        let plan = plan(&text.replace("source =", &format!("{pair}\nsource =")));
        let name = |id: u16| names(&plan)[usize::from(id)].to_owned();
        plan.flows.iter().map(|f| format!("{} {}-{}", f.name(), name(f.from), name(f.to))).collect::<Vec<_>>()
    };
    assert_eq!(pairs("a1", "b1", ""), ["f a1-b1"]);
    assert_eq!(pairs("a*", "b*", ""), ["f[1] a1-b1", "f[2] a2-b2", "f[3] a3-b3"]);
    assert_eq!(pairs("a*", "b2", ""), ["f[1] a1-b2", "f[2] a2-b2", "f[3] a3-b2"]);
    assert_eq!(pairs("a*", "a1", ""), ["f[1] a2-a1", "f[2] a3-a1"], "never to itself");
    assert_eq!(pairs("a[12]", "a*", "pair = \"all\"").len(), 4);
    assert_eq!(pairs("a*", "b*", "pair = \"all\"").len(), 9);
}

#[test]
fn a_ports_settings_override_its_switchs_and_those_the_networks() {
    let text = network(
        "network = { classes = 2, buffer = [\"10kB\", \"20kB\"] }\nhosts = { a = {}, b = { buffer = \"9kB\" }, c = {} }\n[switches]\ns = { buffer = \"30kB\", ports = { a = { buffer = \"40kB\" }, \"[ab]\" = { buffer = \"unlimited\" }, c = { discipline = { kind = \"drop-head\" } } } }\nt = {}",
        &[("a", "s"), ("b", "s"), ("c", "s"), ("t", "s")],
        ("a", "b"),
    );
    let plan = plan(&text);
    let limits = |link: usize, side: usize| plan.links[link].queue[side].limits.clone();
    assert_eq!(limits(0, 0), [u64::MAX; 2], "a host's transmit queue is unlimited");
    assert_eq!(limits(1, 0), [9_000; 2]);
    assert_eq!(limits(0, 1), [40_000; 2], "a name goes before a pattern");
    assert_eq!(limits(1, 1), [u64::MAX; 2]);
    assert_eq!(limits(2, 1), [30_000; 2]);
    assert_eq!(plan.links[2].queue[1].discipline.kind(), "drop-head");
    assert_eq!(plan.links[1].queue[1].discipline.kind(), "drop-tail");
    assert_eq!(limits(3, 0), [10_000, 20_000]);
}

#[test]
fn framings_are_presets_or_tables() {
    let with =
        |framing: &str| plan(&RIGHT.replace("classes = 3", &format!("classes = 3\nframing = {framing}"))).framing;
    let ethernet = Framing { mtu: 1500, header: 18, min_frame: 64, overhead: 20, buffer: Length::Frame };
    assert_eq!(plan(RIGHT).framing, ethernet);
    assert_eq!(with("\"ethernet\""), ethernet);
    assert_eq!(
        with("\"none\""),
        Framing { mtu: 65_535, header: 0, min_frame: 0, overhead: 0, buffer: Length::Payload }
    );
    assert_eq!(
        with("{ mtu = \"9000B\", buffer = \"wire\" }"),
        Framing { mtu: 9_000, buffer: Length::Wire, ..ethernet }
    );
}

#[test]
fn links_have_delays_lengths_and_two_rates() {
    let text = network("hosts = { a = {}, b = {} }\nswitches = { s = {} }", &[("a", "s"), ("b", "s")], ("a", "b"))
        .replacen(
            "rate = \"10Mbit/s\"",
            "rate = [\"10Mbit/s\", \"1Mbit/s\"]\nlength = \"1km\"\nloss = \"1%\"\njitter = \"2us\"",
            1,
        );
    let plan = plan(&text);
    assert_eq!(plan.links[0].rate, [Rate::mbit(10), Rate::mbit(1)]);
    assert_eq!((plan.links[0].delay, plan.links[1].delay), (Dur::from_us(5), Dur::from_us(1)));
    assert_eq!((plan.links[0].loss, plan.links[0].jitter), (0.01, [Dur::from_us(2); 2]));
}

#[test]
fn a_link_has_one_jitter_or_one_for_each_direction() {
    let with = |jitter: &str| {
        let nodes = "hosts = { a = {}, b = {} }\nswitches = { s = {} }";
        let text = network(nodes, &[("a", "s"), ("b", "s")], ("a", "b"));
        plan(&text.replacen("rate = \"10Mbit/s\"", &format!("rate = \"10Mbit/s\"\njitter = {jitter}"), 1)).links[0]
            .jitter
    };
    assert_eq!(with("\"2us\""), [Dur::from_us(2); 2]);
    assert_eq!(with("[\"2us\", \"0s\"]"), [Dur::from_us(2), Dur::ZERO]);
    assert_eq!(with("[\"0s\", \"3us\"]"), [Dur::ZERO, Dur::from_us(3)]);
}

#[test]
fn paths_are_the_shortest_and_ties_are_broken_by_the_order_of_links() {
    let links = [("a", "s1"), ("s1", "s3"), ("s1", "s2"), ("s2", "s4"), ("s3", "s4"), ("s4", "b"), ("s1", "s4")];
    let nodes =
        "network = { routing = \"shortest-path\" }\nhosts = { a = {}, b = {} }\nswitches = { s = { count = 4 } }";
    assert_eq!(path(&plan(&network(nodes, &links, ("a", "b"))), "a", "b"), ["a", "s1", "s4", "b"]);
    let ring = plan(&network(nodes, &links[..6], ("a", "b")));
    assert_eq!(path(&ring, "a", "b"), ["a", "s1", "s3", "s4", "b"], "link 1 precedes link 2");
    assert_eq!(path(&ring, "b", "a"), ["b", "s4", "s2", "s1", "a"], "link 3 precedes link 4");
    assert_eq!(ring.routes.link(node(&ring, "a") as u16, node(&ring, "a") as u16), NO_ROUTE);
}

#[test]
fn no_path_leads_through_a_host() {
    // a - h - b would be shorter than a - s1 - s2 - s3 - b.
    let links = [("a", "h"), ("h", "b"), ("a", "s1"), ("s1", "s2"), ("s2", "s3"), ("s3", "b")];
    let nodes = "network = { routing = \"shortest-path\" }\nhosts = { a = {}, b = {}, h = {} }\nswitches = { s = { count = 3 } }";
    let plan = plan(&network(nodes, &links, ("a", "b")));
    assert_eq!(path(&plan, "a", "b"), ["a", "s1", "s2", "s3", "b"]);
    assert_eq!(path(&plan, "a", "h"), ["a", "h"]);
}

#[test]
fn back_pressure_applies_to_all_switches_without_their_own() {
    let text = RIGHT
        .replace("scope = \"class\"", "scope = \"plain\"\nsignal = { kind = \"mac\" }\nend-stations = true")
        .replace("[switches.core]", "[switches.spare]\nbackpressure = { scope = \"none\" }\n[switches.core]\nbackpressure = { scope = \"destination\", detection = { kind = \"fill-rate\", horizon = \"1ms\" }, response = { kind = \"rate\" } }\nlatency = \"1us\"\nmodel = { kind = \"shared-memory\", memory = \"1MB\" }")
        .replace("[[flows]]\nname = \"data\"", "[[links]]\nbetween = [\"spare\", \"core\"]\nrate = \"1Gbit/s\"\n\n[[flows]]\nname = \"data\"");
    let plan = plan(&text);
    let switch = |name: &str| match &plan.nodes[node(&plan, name)].kind {
        NodeKind::Switch(switch) => switch.clone(),
        NodeKind::Host(_) => panic!("{name} is a switch"),
    };
    assert_eq!(switch("spare").backpressure, None);
    let floor = switch("floor1").backpressure.unwrap();
    assert_eq!((floor.scope, floor.signal, floor.end_stations), (Scope::Plain, Signal::Mac { quanta: 65_535 }, true));
    assert_eq!(floor.detection, Detection::Watermark { high: 0.8, low: 0.7 });
    let core = switch("core");
    assert_eq!(
        (core.latency, &core.fabric),
        (Dur::from_us(1), &Fabric::SharedMemory { memory: 1_000_000, alpha: 1.0 })
    );
    let core = core.backpressure.unwrap();
    assert_eq!((core.scope, core.signal, core.end_stations), (Scope::Destination, Signal::OnOff, false));
    assert_eq!(
        core.detection,
        Detection::FillRate { high: 0.8, low: 0.7, window: Dur::from_ms(2), horizon: Dur::from_ms(1) }
    );
    assert!(matches!(core.response, Response::Rate { decrease, .. } if decrease == 0.5));
}

#[test]
fn the_timeline_is_in_order_of_time_in_any_order_of_the_document() {
    let text = RIGHT.replace(
        "[[timeline]]\nat = \"30s\"\nflow = \"voice\"",
        "[[timeline]]\nat = \"35s\"\nlink = [\"server\", \"core\"]\nstate = \"up\"\nrate = \"1Mbit/s\"\n[[timeline]]\nat = \"20s\"\nlink = [\"core\", \"floor*\"]\nstate = \"down\"\n[[timeline]]\nat = \"30s\"\nflow = \"data[2]\"",
    );
    let plan = plan(&text);
    let core = node(&plan, "core") as u16;
    let at = |s: u64, what: ChangeKind| Change { at: Time(s * 1_000_000_000_000), what };
    let expected = [
        at(20, ChangeKind::LinkDown(4)),
        at(20, ChangeKind::LinkDown(5)),
        at(30, ChangeKind::FlowStop(1)),
        at(35, ChangeKind::LinkUp(6)),
        at(35, ChangeKind::LinkRate(6, Rate::mbit(1))),
        at(40, ChangeKind::Thresholds { node: core, high: 0.9, low: 0.5 }),
    ];
    assert_eq!(plan.timeline, expected);
}

#[test]
fn seed_and_engine_are_the_callers_and_the_rest_is_the_documents() {
    let scenario = scenario(RIGHT);
    let plan = build(&scenario, 77, Some(Engine::Plain));
    assert_eq!((plan.seed, plan.engine), (77, Engine::Plain));
    assert_eq!(build(&scenario, 77, None).engine, Engine::Merged);
    assert_eq!(
        (plan.warmup, plan.end, plan.sample),
        (Time(10_000_000_000_000), Time(60_000_000_000_000), Some(Dur::from_ms(100)))
    );
    let auto = scenario.with_set(&[("run.warmup", "auto")]).unwrap();
    assert_eq!(build(&auto, 1, None).warmup, Time::ZERO);
    assert!(auto.run_config().contains("\"warmup\":\"auto\""));
}

#[test]
fn thirty_lines_make_four_switches_mixed_rates_three_classes_and_two_mechanisms() {
    let text = r#"tailback = 1
title = "Four switches in thirty lines"
run = { duration = "60s", warmup = "10s" }
network = { classes = 3, buffer = ["50kB", "50kB", "100kB"] }
backpressure = { scope = "class" }
hosts = { h = { count = 4 }, video = {}, server = {} }
[switches]
edge = { count = 2 }
core = { buffer = "500kB" }
far = { backpressure = { scope = "class-destination", detection = { kind = "fill-rate" } } }
[[links]]
between = ["h[12]", "edge1"]
rate = "100Mbit/s"
[[links]]
between = ["h[34]", "edge2"]
rate = "10Mbit/s"
[[links]]
between = ["edge*", "core"]
rate = "1Gbit/s"
[[links]]
between = ["core", "far"]
rate = ["1Gbit/s", "100Mbit/s"]
[[links]]
between = ["[sv]*e[ro]*", "far"]
rate = "10Mbit/s"
[[flows]]
name = "data"
from = "h*"
to = "server"
class = 2
source = { kind = "uniform-uniform", burst = "24kB", rate = "2Mbit/s" }
[[flows]]
name = "film"
from = "video"
to = "h1"
source = { kind = "video" }
"#;
    let plan = plan(text);
    assert_eq!((plan.nodes.len(), plan.links.len(), plan.flows.len(), plan.classes), (10, 9, 5, 3));
    assert_eq!(path(&plan, "video", "h1"), ["video", "far", "core", "edge1", "h1"]);
}

/// The size of routing tables is the product of switches and nodes; hosts with a single link need no table.
#[test]
fn thousands_of_hosts_make_a_plan_and_thousands_of_switches_are_refused() {
    let star = |what: &str| {
        format!(
            "tailback = 1\n[run]\nduration = \"1s\"\n[hosts]\na = {{}}\nb = {{}}\n[switches]\ncore = {{}}\n[{what}.x]\ncount = 5000\n\
             [[links]]\nbetween = [\"[ab]\", \"core\"]\nrate = \"1Gbit/s\"\n[[links]]\nbetween = [\"x*\", \"core\"]\nrate = \"1Gbit/s\"\n\
             [[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nsource = {{ kind = \"cbr\", packet = \"1000B\", rate = \"1Mbit/s\" }}\n"
        )
    };
    assert!(Scenario::from_toml(&star("hosts"), "hosts").is_ok());
    let refused = Scenario::from_toml(&star("switches"), "switches").unwrap_err().rendered();
    assert!(refused.contains("use fewer switches"), "{refused}");
}

#[test]
fn conditioners_are_at_the_ports_of_the_document() {
    let fixed = "meter = { kind = \"fixed\", colour = \"red\" }";
    let text = RIGHT
        .replace("class = 2\n", &format!("class = 2\nmarking = {{ {fixed}, per = \"group\" }}\n"))
        .replace(
            "buffer = \"100kB\" }",
            &format!("conditioners = [{{ {fixed} }}, {{ {fixed}, direction = \"ingress\", flows = \"v*\", police = \"red\" }}] }}"),
        );
    let plan = plan(&text);
    let data: Vec<u32> = (0..plan.flows.len() as u32).filter(|f| plan.flows[*f as usize].group == "data").collect();
    let [source, out, back] = &plan.conditioners[..] else { panic!("{:?}", plan.conditioners) };
    assert_eq!((source.place, &source.flows, source.per_flow), (Place::Source, &Some(data.clone()), false));
    let ends = |port: u32| {
        let link = &plan.links[port as usize / 2];
        let side = port as usize % 2;
        [link.ends[side], link.ends[1 - side]].map(|node| plan.nodes[usize::from(node)].name.as_str())
    };
    let Place::Egress { port } = out.place else { panic!("{out:?}") };
    assert_eq!((ends(port), &out.flows), (["core", "server"], &None));
    let Place::Ingress { port } = back.place else { panic!("{back:?}") };
    assert_eq!((ends(port), back.flows.as_ref().map(Vec::len)), (["server", "core"], Some(1)));
    assert_eq!(back.police, Some(tailback_diffserv::Colour::Red));
}
