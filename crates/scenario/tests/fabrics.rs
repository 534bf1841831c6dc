//! Expansion of fabrics, and the paths of their packets.

use tailback_scenario::{Scenario, build};
use tailback_sim::World;
use tailback_sim::plan::{GROUP, NO_ROUTE, Plan, Row, Spread};

/// Returns the scenario, or its errors as text.
fn scenario(text: &str) -> Result<Scenario, String> {
    Scenario::from_toml(text, "test.toml").map_err(|e| e.to_string())
}

/// Returns a document with this network, in which each host sends 9 kB to the next host, the last one to the first.
fn document(network: &str) -> String {
    format!(
        "tailback = 1\nrun = {{ duration = \"1ms\" }}\n{network}\n[[flows]]\nname = \"f\"\nfrom = \"h*\"\nto = \"h*\"\npair = \"ring\"\nsource = {{ kind = \"bulk\", size = \"9kB\" }}\n"
    )
}

fn plan(network: &str) -> Plan {
    build(&scenario(&document(network)).unwrap_or_else(|e| panic!("{e}")), 1, None)
}

/// Returns a fabric with `hosts` hosts per leaf, after the text `more`.
fn leaf_spine(leaves: u32, spines: u32, hosts: u32, more: &str) -> String {
    format!(
        "{more}\n[fabric]\nkind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts-per-leaf = {hosts}\nrate = \"10Gbit/s\"\nuplink-rate = \"40Gbit/s\"\n"
    )
}

/// Returns the number of the node of that name.
fn node(plan: &Plan, name: &str) -> u16 {
    plan.nodes.iter().position(|node| node.name == name).unwrap() as u16
}

/// Returns the names of the next hops at a node for a destination.
fn next_hops(plan: &Plan, at: &str, to: &str) -> Vec<String> {
    let (at, to) = (node(plan, at), node(plan, to));
    let entry = match &plan.routes.rows[usize::from(at)] {
        Row::Only { link, .. } => *link,
        Row::Table(table) => table[usize::from(to)],
    };
    assert_ne!(entry, NO_ROUTE);
    let links = if entry & GROUP == 0 { vec![entry] } else { plan.routes.groups[(entry & !GROUP) as usize].clone() };
    let other = |link: u32| {
        let [a, b] = plan.links[link as usize].ends;
        plan.nodes[usize::from(if a == at { b } else { a })].name.clone()
    };
    links.into_iter().map(other).collect()
}

#[test]
fn a_leaf_spine_has_its_hosts_in_order_and_every_spine_on_a_path() {
    let plan = plan(&leaf_spine(3, 2, 4, ""));
    assert_eq!((plan.nodes.len(), plan.links.len()), (12 + 3 + 2, 12 + 6));
    assert_eq!(next_hops(&plan, "h5", "h1"), ["leaf2"]);
    assert_eq!(next_hops(&plan, "leaf2", "h1"), ["spine1", "spine2"]);
    assert_eq!(next_hops(&plan, "leaf2", "h6"), ["h6"]);
    assert_eq!(next_hops(&plan, "spine2", "h12"), ["leaf3"]);
    let uplinks = plan.links.iter().filter(|link| link.rate[0].0 == 40_000_000_000).count();
    assert_eq!(uplinks, 6);
    assert_eq!(plan.routes.groups.len(), 3, "a leaf has one group for all hosts of other leaves");
}

#[test]
fn a_fat_tree_has_the_numbers_of_al_fares_and_others_and_a_quarter_of_k_squared_paths() {
    let plan = plan("[fabric]\nkind = \"fat-tree\"\nk = 4\nrate = \"10Gbit/s\"\n");
    let count = |prefix: &str| plan.nodes.iter().filter(|node| node.name.starts_with(prefix)).count();
    assert_eq!((count("h"), count("edge"), count("agg"), count("core")), (16, 8, 8, 4));
    assert_eq!(plan.links.len(), 48);
    for switch in plan.nodes.iter().filter(|node| !node.name.starts_with('h')) {
        let id = node(&plan, &switch.name);
        let ports = plan.links.iter().filter(|link| link.ends.contains(&id)).count();
        assert_eq!(ports, 4, "{}", switch.name);
    }
    assert_eq!(next_hops(&plan, "edge1", "h16"), ["agg1", "agg2"]);
    assert_eq!(next_hops(&plan, "agg1", "h16"), ["core1", "core2"]);
    assert_eq!(next_hops(&plan, "agg2", "h16"), ["core3", "core4"]);
    assert_eq!(next_hops(&plan, "core3", "h16"), ["agg8"]);
    assert_eq!(next_hops(&plan, "edge1", "h3"), ["agg1", "agg2"]);
    assert_eq!(next_hops(&plan, "agg2", "h3"), ["edge2"]);
}

#[test]
fn options_of_a_fabrics_nodes_are_accepted_and_counts_are_not() {
    let options = leaf_spine(2, 2, 2, "").replace("[fabric]", "[switches.leaf]\nlatency = \"3us\"\n[fabric]");
    let latency = |name: &str| match &plan(&options).nodes[usize::from(node(&plan(&options), name))].kind {
        tailback_sim::plan::NodeKind::Switch(switch) => switch.latency.0,
        tailback_sim::plan::NodeKind::Host(_) => panic!("{name} is a switch"),
    };
    assert_eq!((latency("leaf2"), latency("spine1")), (3_000_000, 0));
    let counted = leaf_spine(2, 2, 2, "").replace("[fabric]", "[switches.leaf]\ncount = 3\n[fabric]");
    let error = scenario(&document(&counted)).unwrap_err();
    assert!(error.contains("test.toml:5:1") && error.contains("remove `count`"), "{error}");
}

#[test]
fn hosts_and_links_may_be_added_to_a_fabric() {
    let more = "hosts = { store = {} }\n[[links]]\nbetween = [\"store\", \"spine*\"]\nrate = \"40Gbit/s\"\n";
    let text = leaf_spine(2, 2, 2, "").replace("[fabric]", &format!("{more}[fabric]"));
    let plan = plan(&text);
    assert_eq!(next_hops(&plan, "leaf1", "store"), ["spine1", "spine2"]);
    assert_eq!(next_hops(&plan, "store", "h1"), ["spine1", "spine2"]);
}

#[test]
fn invalid_numbers_of_a_fabric_are_refused_with_advice() {
    let wrong = |network: &str, line: &str, advice: &str| {
        let error = scenario(&document(network)).unwrap_err();
        assert!(error.contains(line) && error.contains(advice), "{error}");
    };
    wrong(&leaf_spine(0, 2, 2, ""), "leaves = 0", "write 1 to 1000");
    wrong(&leaf_spine(900, 2, 900, ""), "leaves = 900", "60000");
    wrong("[fabric]\nkind = \"fat-tree\"\nk = 5\nrate = \"1Gbit/s\"\n", "k = 5", "write 6");
    wrong("[fabric]\nkind = \"fat-treee\"\nk = 4\nrate = \"1Gbit/s\"\n", "kind =", "did you mean `fat-tree`?");
}

#[test]
fn spraying_uses_the_same_paths_packet_by_packet() {
    let sprayed = plan(&leaf_spine(2, 4, 2, "network = { routing = \"spray\" }"));
    assert_eq!(sprayed.routes.spread, Spread::Packet);
    let single = plan(&leaf_spine(2, 4, 2, "network = { routing = \"shortest-path\" }"));
    assert!(single.routes.groups.is_empty());
    // A flow of many packets between leaves; a hash of the flow alone would select a single spine.
    for spread in ["ecmp", "spray"] {
        let text = document(&leaf_spine(2, 4, 1, &format!("network = {{ routing = \"{spread}\" }}")));
        let plan = build(&scenario(&text.replace("9kB", "48kB")).unwrap(), 1, None);
        let mut world = World::new(plan);
        crate::common::to_end(&mut world);
        let report = world.report();
        let used = |port: &&tailback_sim::PortReport| {
            port.name.starts_with("leaf1->spine") && port.classes[0].sent.packets > 0
        };
        let used = report.ports.iter().filter(used).count();
        assert!(if spread == "ecmp" { used == 1 } else { used >= 2 }, "{spread}: {used} spines");
    }
}

/// A thousand packets, sent in 0.12 s, over two paths, one of which has 1 s more delay: each packet on the longer path
/// arrives after all packets on the other one, so that all but the last few packets on the longer path are reordered.
#[test]
fn packets_that_are_overtaken_are_counted_as_reordered() {
    for spread in ["spray", "ecmp"] {
        let text = format!(
            r#"
tailback = 1
run = {{ duration = "3s" }}
network = {{ routing = "{spread}" }}
hosts = {{ a = {{}}, b = {{}} }}
switches = {{ left = {{}}, up = {{}}, down = {{}}, right = {{}} }}
links = [
  {{ between = ["a", "left"], rate = "100Mbit/s" }}, {{ between = ["left", "up"], rate = "100Mbit/s" }},
  {{ between = ["left", "down"], rate = "100Mbit/s" }}, {{ between = ["up", "right"], rate = "100Mbit/s" }},
  {{ between = ["down", "right"], rate = "100Mbit/s", delay = "1s" }}, {{ between = ["right", "b"], rate = "100Mbit/s" }} ]
flows = [{{ name = "f", from = "a", to = "b", source = {{ kind = "bulk", size = "1500kB" }} }}]
"#
        );
        let mut world = World::new(build(&scenario(&text).unwrap_or_else(|e| panic!("{e}")), 1, None));
        crate::common::to_end(&mut world);
        let report = world.report();
        let flow = report.flows.row(0);
        assert_eq!(flow.delivered.packets, 1000);
        let longer = report.ports.iter().find(|port| port.name == "left->down").unwrap().classes[0].sent.packets;
        if spread == "ecmp" {
            assert_eq!(flow.reordered, 0);
        } else {
            // Half of the packets, within five standard deviations. At the end of the flow, ten packets in a row take
            // the longer path with a probability of one in a thousand.
            // 5·√(1000·0.5·0.5) = 79.
            assert!(longer.abs_diff(500) < 80, "{longer}");
            assert!((longer - 10..=longer).contains(&flow.reordered), "{} of {longer}", flow.reordered);
        }
    }
}

/// Returns the plan of a ring of five switches with a host each.
fn ring(routing: &str) -> Plan {
    let links: String = (1..=5)
        .map(|i| {
            let next = i % 5 + 1;
            format!(
                "[[links]]\nbetween = [\"h{i}\", \"s{i}\"]\nrate = \"10Gbit/s\"\n[[links]]\nbetween = [\"s{i}\", \"s{next}\"]\nrate = \"10Gbit/s\"\n"
            )
        })
        .collect::<Vec<_>>()
        .concat();
    plan(&format!(
        "network = {{ routing = \"{routing}\" }}\nhosts = {{ h = {{ count = 5 }} }}\nswitches = {{ s = {{ count = 5 }} }}\n{links}"
    ))
}

#[test]
fn up_down_routes_never_go_up_after_going_down_and_reach_every_host() {
    let plan = ring("up-down");
    // The first switch is the root; switches 2 and 5 are below it, then 3 and 4, and 3 is above 4 because of its lower
    // index.
    let rank = |name: &str| ["s1", "s2", "s5", "s3", "s4"].iter().position(|s| *s == name);
    for from in 1..=5 {
        for to in (1..=5).filter(|to| *to != from) {
            let (mut at, to) = (format!("h{from}"), format!("h{to}"));
            let mut down = false;
            let mut hops = 0;
            while at != to {
                let towards = next_hops(&plan, &at, &to).remove(0);
                if let (Some(here), Some(there)) = (rank(&at), rank(&towards)) {
                    assert!(there > here || !down, "{from} to {to} goes up at {at} after going down");
                    down |= there > here;
                }
                at = towards;
                hops += 1;
                assert!(hops < 10, "{from} to {to} goes in a circle");
            }
        }
    }
    assert_eq!(next_hops(&plan, "s3", "h5"), ["s2"], "through the root, since s4 has only the link up to s5");
    assert_eq!(next_hops(&ring("shortest-path"), "s3", "h5"), ["s4"]);
}

#[test]
fn a_permutation_gives_each_host_one_receiver_and_each_receiver_one_sender_anew_in_each_run() {
    let text = document(&leaf_spine(4, 2, 4, "")).replace("\"ring\"", "\"permutation\"");
    let text = text.replace("size = \"9kB\"", "size = \"1kB\"");
    let scenario = scenario(&text).unwrap_or_else(|e| panic!("{e}"));
    let ends = |seed: u64| {
        let mut world = World::new(build(&scenario, seed, None));
        crate::common::to_end(&mut world);
        let report = world.report();
        let ends: Vec<(String, String)> = report.flows.iter().map(|f| (f.from.clone(), f.to.clone())).collect();
        assert_eq!(ends.len(), 16);
        assert!(ends.iter().all(|(from, to)| from != to));
        let receivers: std::collections::BTreeSet<&String> = ends.iter().map(|(_, to)| to).collect();
        assert_eq!(receivers.len(), 16);
        ends
    };
    assert_eq!(ends(1), ends(1));
    assert_ne!(ends(1), ends(2));
}
