//! The engine takes whatever the checks let through.

#[path = "common/generated.rs"]
mod generated;
#[path = "common/right.rs"]
mod right;

use generated::{Size, document};
use proptest::prelude::*;
use right::RIGHT;
use tailback_scenario::{Scenario, build};
use tailback_sim::plan::Engine;
use tailback_sim::{Report, World};

const CASES: u32 = 64;

#[test]
fn a_checked_scenario_runs_to_its_end_and_counts_every_packet() {
    let scenario = Scenario::from_toml(RIGHT, "lan.toml").unwrap_or_else(|e| panic!("{e}"));
    for engine in [Engine::Merged, Engine::Plain] {
        let report = run(&scenario, engine);
        assert!(report.flows.iter().all(|flow| flow.offered.packets > 0));
    }
}

fn run(scenario: &Scenario, engine: Engine) -> Report {
    let mut world = World::new(build(scenario, 1, Some(engine)));
    world.run_to_end();
    let report = world.report();
    for flow in report.flows.iter() {
        let accounted = flow.delivered.packets + flow.dropped.packets + flow.in_network.packets;
        assert_eq!(flow.offered.packets, accounted, "{}", flow.name);
    }
    report
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn any_scenario_runs_on_both_engines_with_one_digest(document in document(Size::Small)) {
        let scenario = Scenario::from_json(&document.to_string()).unwrap_or_else(|e| panic!("{e}"));
        let digests = [Engine::Merged, Engine::Plain].map(|engine| run(&scenario, engine).digest);
        prop_assert_eq!(&digests[0], &digests[1]);
    }
}
