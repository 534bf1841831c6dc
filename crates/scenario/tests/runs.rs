//! The engine runs every document that passes the checks.

use crate::common::generated::{Size, document};
use crate::common::right::RIGHT;
use proptest::prelude::*;
use serde_json::json;
use tailback_scenario::{Scenario, build};
use tailback_sim::plan::Engine;
use tailback_sim::{Report, World};

/// Number of generated documents per property.
const CASES: u32 = 64;

#[test]
fn a_checked_scenario_runs_to_its_end_and_counts_every_packet() {
    let scenario = Scenario::from_toml(RIGHT, "lan.toml").unwrap_or_else(|e| panic!("{e}"));
    for engine in [Engine::Merged, Engine::Plain] {
        let report = run(&scenario, engine);
        assert!(report.flows.iter().all(|flow| flow.offered.packets > 0));
    }
}

/// Returns the report of a run, after a check that every packet is delivered, dropped or in the network.
fn run(scenario: &Scenario, engine: Engine) -> Report {
    let mut world = World::new(build(scenario, 1, Some(engine)));
    crate::common::to_end(&mut world);
    let report = world.report();
    for flow in report.flows.iter() {
        let accounted = flow.delivered.packets + flow.dropped.packets + flow.in_network.packets;
        assert_eq!(flow.offered.packets, accounted, "{}", flow.name);
    }
    report
}

/// Without framing and headers an acknowledgement takes no time, so that the packet queued behind it is sent at the same
/// instant: in the same event if departures are computed at the arrival, as in the merged engine, otherwise in another.
#[test]
fn adapters_behind_zero_length_acknowledgements_are_served_in_the_same_order_by_either_engine() {
    let document = |flows: &str| {
        format!(
            r#"
tailback = 1
run = {{ duration = "121.27ms" }}
network = {{ framing = "none" }}
hosts = {{ h = {{ count = 5 }} }}
switches = {{ s1 = {{}} }}
[[links]]
between = ["h1", "s1"]
rate = "100Mbit/s"
[[links]]
between = ["h2", "s1"]
rate = "33Mbit/s"
[[links]]
between = ["h3", "s1"]
rate = "3Mbit/s"
[[links]]
between = ["h4", "s1"]
rate = "10Mbit/s"
[[links]]
between = ["h5", "s1"]
rate = ["3Mbit/s", "100Mbit/s"]
{flows}
"#
        )
    };
    // RDMA adapters with many request-response connections, at hosts that acknowledge a transfer.
    let pages = |more: &str| {
        format!(
            r#"application = {{ kind = "web", objects = {{ kind = "geometric", mean = 3.0 }}, parallel = 4, request = {{ kind = "lognormal", median = "27kB", sigma = 1.0 }}, service = {{ kind = "fixed", time = "0s" }}, think = {{ kind = "exponential", mean = "100us" }}{more} }}
transport = {{ kind = "rdma" }}
"#
        )
    };
    let transfer = |more: &str| {
        format!(
            r#"
[[flows]]
name = "acknowledged"
{more}
source = {{ kind = "bulk" }}
transport = {{ kind = "tcp", header = "0B", delayed-ack = {{ every = 1 }} }}
"#
        )
    };
    let group = |ends: &str, traffic: String| format!("[[flows]]\nname = \"asked\"\n{ends}\n{traffic}");
    let one = group("from = \"h1\"\nto = \"h4\"\ncount = 3", pages("")) + &transfer("from = \"h2\"\nto = \"h1\"");
    let two = group("from = \"h1\"\nto = \"h2\"", pages(", timeout = \"9.52ms\""))
        + &transfer("from = \"h*\"\nto = \"h*\"\npair = \"permutation\"");
    for flows in [one, two] {
        let scenario = Scenario::from_toml(&document(&flows), "empty.toml").unwrap_or_else(|e| panic!("{e}"));
        for seed in 1..=20 {
            let reports = [Engine::Merged, Engine::Plain].map(|engine| {
                let mut world = World::new(build(&scenario, seed, Some(engine)));
                crate::common::to_end(&mut world);
                world.report()
            });
            assert_eq!(reports[0].digest, reports[1].digest, "seed {seed} of {flows}");
            assert!(reports[0].packet_hops > 1_000, "{}", reports[0].packet_hops);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn any_scenario_runs_on_both_engines_with_one_digest(document in document(Size::Small)) {
        let scenario = Scenario::from_json(&document.to_string()).unwrap_or_else(|e| panic!("{e}"));
        let digests = [Engine::Merged, Engine::Plain].map(|engine| run(&scenario, engine).digest);
        prop_assert_eq!(&digests[0], &digests[1]);
    }

    #[test]
    fn an_idle_link_in_front_of_all_others_changes_nothing_else(document in document(Size::Small)) {
        let mut wider = document.clone();
        for host in ["_idle1", "_idle2"] {
            wider["hosts"][host] = json!({});
        }
        let idle = json!({ "between": ["_idle1", "_idle2"], "rate": "1Gbit/s", "loss": 0.5, "jitter": "1ms" });
        wider["links"].as_array_mut().expect("a list").insert(0, idle);
        let [before, after] = [document, wider].map(|document| {
            let scenario = Scenario::from_json(&document.to_string()).unwrap_or_else(|e| panic!("{e}"));
            run(&scenario, Engine::Merged)
        });
        let flows = |report: &Report| report.flows.iter().map(|flow| format!("{flow:?}")).collect::<Vec<_>>();
        let ports = |report: &Report| {
            let own = report.ports.iter().filter(|port| !port.name.contains("_idle"));
            own.map(|port| format!("{port:?}")).collect::<Vec<_>>()
        };
        prop_assert_eq!(flows(&before), flows(&after));
        prop_assert_eq!(ports(&before), ports(&after));
        prop_assert_eq!(after.ports.len(), before.ports.len() + 2);
    }
}
