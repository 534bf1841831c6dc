//! Parallel runs give the report of a run on one thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tailback_scenario::{Scenario, build};
use tailback_sim::plan::Plan;
use tailback_sim::{Parts, Report};

/// Two switches with four hosts each, back-pressure by class, datagrams in one direction and TCP in both.
const TWO_SITES: &str = r#"
tailback = 1
[run]
duration = "1s"
warmup = "200ms"
seed = 3
sample = "20ms"
[network]
buffer = "40kB"
[backpressure]
scope = "class"
end-stations = true
[hosts]
a = { count = 4 }
b = { count = 4 }
[switches.left]
[switches.right]
[[links]]
between = ["a*", "left"]
rate = "100Mbit/s"
delay = "10us"
[[links]]
between = ["b*", "right"]
rate = "100Mbit/s"
delay = "10us"
[[links]]
between = ["left", "right"]
rate = "50Mbit/s"
delay = "200us"
[[flows]]
name = "data"
from = "a*"
to = "b*"
pair = "zip"
source = { kind = "poisson", packet = "700B", rate = "9Mbit/s" }
[[flows]]
name = "tcp"
from = "b*"
to = "a*"
pair = "zip"
source = { kind = "bulk" }
transport = { kind = "tcp" }
[[flows]]
name = "more"
from = "a*"
to = "b*"
pair = "zip"
source = { kind = "bulk" }
transport = { kind = "tcp", recovery = { kind = "sack" } }
"#;

fn plan() -> Plan {
    let scenario = Scenario::from_toml(TWO_SITES, "two sites").unwrap_or_else(|e| panic!("{}", e.rendered()));
    build(&scenario, 3, None)
}

fn run(plan: Plan, most: usize) -> Report {
    tailback_parallel::run(plan, most, |_| Ok::<(), ()>(())).expect("the run is not cancelled").report()
}

/// Text of a report without the number of events, which depends on the partition.
fn text(report: &Report) -> String {
    let mut value = serde_json::to_value(report).expect("a report has text keys and finite numbers only");
    value["events"] = 0.into();
    value.to_string()
}

#[test]
fn threads_give_the_report_of_sequential_partitions_and_of_the_whole() {
    let whole = run(plan(), 1);
    assert!(whole.control_frames > 10 && whole.packet_hops > 10_000, "{} {}", whole.control_frames, whole.packet_hops);
    let mut counts = Vec::new();
    for most in [2, 3] {
        let parts = Parts::new(plan(), most);
        counts.push(parts.partition().parts());
        let in_turn = parts.run_in_turn().report();
        let on_threads = run(plan(), most);
        assert_eq!(text(&in_turn), text(&on_threads), "{most}");
        assert_eq!(text(&whole), text(&on_threads), "{most}");
        assert_eq!(in_turn.events, on_threads.events);
    }
    assert!(counts.iter().all(|count| *count > 1), "{counts:?}");
}

#[test]
fn an_error_of_watch_ends_a_run_in_one_or_two_partitions() {
    for most in [1, 2] {
        let mut calls = 0;
        let ended =
            tailback_parallel::run(Plan { end: tailback_units::Time(100_000_000_000_000), ..plan() }, most, |at| {
                calls += 1;
                if calls == 3 { Err(at) } else { Ok(()) }
            });
        assert!(ended.is_err_and(|at| at > 0.0 && at < 0.5));
        assert_eq!(calls, 3);
    }
}

#[test]
fn a_panic_in_a_partition_ends_the_run_with_its_message() {
    let mut plan = plan();
    // There is no such flow; the change is applied in all partitions.
    plan.timeline.push(tailback_sim::plan::Change {
        at: tailback_units::Time(1_000_000_000_000),
        what: tailback_sim::plan::ChangeKind::FlowStart(999),
    });
    let panic = catch_unwind(AssertUnwindSafe(|| run(plan, 2))).expect_err("an index out of bounds");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("999"), "{message}");
}
