//! Runs on several threads give the report of a run on one thread.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tailback_scenario::{Scenario, build};
use tailback_sim::plan::Plan;
use tailback_sim::{Parts, Report};

/// Scenario of two switches with four hosts each, back-pressure by class, datagrams in one direction and TCP in both.
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

/// Returns the plan of [`TWO_SITES`].
fn plan() -> Plan {
    let scenario = Scenario::from_toml(TWO_SITES, "two sites").unwrap_or_else(|e| panic!("{}", e.rendered()));
    build(&scenario, 3, None)
}

/// Returns the report of a run in at most `most` partitions, each on a thread.
fn run(plan: Plan, most: usize) -> Report {
    tailback_parallel::run(plan, most, |_| Ok::<(), ()>(())).expect("the run is not cancelled").report()
}

/// Returns the JSON of a report with the number of events set to 0, since this number depends on the partition.
fn text(report: &Report) -> String {
    let mut value = serde_json::to_value(report).expect("a report has text keys and finite numbers only");
    value["events"] = 0.into();
    value.to_string()
}

#[test]
fn a_run_on_threads_has_the_report_of_partitions_run_in_turn_and_of_an_undivided_run() {
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
fn an_error_of_the_progress_callback_ends_a_run_in_one_or_two_partitions() {
    for most in [1, 2] {
        let mut calls = 0;
        // A run of 100 s, long enough for more than three calls.
        let outcome = tailback_parallel::run(
            Plan { end: tailback_units::Time(100_000_000_000_000), ..plan() },
            most,
            |progress| {
                calls += 1;
                if calls == 3 { Err(progress) } else { Ok(()) }
            },
        );
        assert!(outcome.is_err_and(|progress| progress > 0.0 && progress < 0.5));
        assert_eq!(calls, 3);
    }
}

#[test]
fn a_panic_in_a_partition_ends_the_run_with_its_message() {
    let mut plan = plan();
    // Flow 999 does not exist; all partitions apply the change and panic.
    plan.timeline.push(tailback_sim::plan::Change {
        at: tailback_units::Time(1_000_000_000_000),
        what: tailback_sim::plan::ChangeKind::FlowStart(999),
    });
    let panic = catch_unwind(AssertUnwindSafe(|| run(plan, 2))).expect_err("an index out of bounds");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(message.contains("999"), "{message}");
}
