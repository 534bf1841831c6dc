//! Properties of every network: the report does not depend on the engine, the number of partitions or the number of
//! threads; packets are conserved; and nothing panics.

use crate::flows::TRACE;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailback_scenario::{Files, Scenario, build};
use tailback_sim::plan::{Engine, Plan};
use tailback_sim::{Counts, FlowReport, Parts, Report, Status, World};

/// Maximum number of events of a run. No network here has as many, so that a run that reaches it is considered endless.
const MAX_EVENTS: u64 = 30_000_000;

/// Returns the scenario of a document, in which every trace file has the content [`TRACE`].
///
/// # Errors
/// The message, if the document is refused.
pub fn scenario(document: &Value) -> Result<Scenario, String> {
    let files = Files::read_by(|_| Ok(TRACE.to_owned()));
    Scenario::from_json_with(&document.to_string(), files).map_err(|e| e.rendered())
}

/// Checks all properties of the runs of a scenario; returns its number of packet-hops.
///
/// # Errors
/// The property that a run violates, or the message of its panic.
pub fn judge(scenario: &Scenario) -> Result<u64, String> {
    match catch_unwind(AssertUnwindSafe(|| compare_all(scenario))) {
        Ok(outcome) => outcome,
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            Err(format!("panic: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")))
        }
    }
}

/// Compares the runs of a scenario with each other; returns the number of packet-hops of a run.
fn compare_all(scenario: &Scenario) -> Result<u64, String> {
    let plan = build(scenario, scenario.run().seed, Some(Engine::Merged));
    let whole = run(plan.clone(), "merged")?;
    check_totals(&whole)?;
    let plain = run(Plan { engine: Engine::Plain, ..plan.clone() }, "plain")?;
    same(&whole, &plain, "the plain engine")?;
    // The seed decides the engine and the number of partitions, 2 to 4.
    let engine = if plan.seed.is_multiple_of(2) { Engine::Merged } else { Engine::Plain };
    let most = 2 + (plan.seed / 2 % 3) as usize;
    let parts = Parts::new(Plan { engine, ..plan.clone() }, most).run_in_turn().report();
    same(&whole, &parts, &format!("{most} parts of the {engine:?} engine"))?;
    for threads in 2..=3 {
        let world = tailback_parallel::run(plan.clone(), threads, |_| Ok::<(), String>(()))?;
        same(&whole, &world.report(), &format!("{threads} threads"))?;
    }
    crate::trace::check(&plan, &whole, |other, how| same(&whole, other, how))?;
    crate::capture::check(&plan, &whole)?;
    Ok(whole.packet_hops)
}

/// Returns the report of a run without parts; `engine` is its name for the error if the run does not end.
fn run(plan: Plan, engine: &str) -> Result<Report, String> {
    let mut world = World::new(plan);
    match world.run(MAX_EVENTS) {
        Status::Running => Err(format!("the {engine} engine has not ended after {MAX_EVENTS} events")),
        Status::Done => Ok(world.report()),
    }
}

/// Checks that the report of the run `how` equals `whole`, except the number of events, which may differ.
fn same(whole: &Report, other: &Report, how: &str) -> Result<(), String> {
    let comparable = |report: &Report| {
        let mut value = serde_json::to_value(report).expect("a report has text keys and finite numbers only");
        value["events"] = Value::Null;
        value
    };
    match difference(&comparable(whole), &comparable(other)) {
        None => Ok(()),
        Some(found) => Err(format!("the reports of {how} and of the merged engine without parts differ: {found}")),
    }
}

/// Returns the path and the two values of the first difference; `None`: the values are equal.
fn difference(a: &Value, b: &Value) -> Option<String> {
    let within = |key: &str, found: Option<String>| found.map(|found| format!("{key}.{found}"));
    match (a, b) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            // The digest does not locate a difference, so it is compared last.
            let found =
                a.iter().filter(|(key, _)| *key != "digest").find_map(|(key, a)| within(key, difference(a, &b[key])));
            found.or_else(|| a.get("digest").and_then(|digest| within("digest", difference(digest, &b["digest"]))))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(n, (a, b))| within(&n.to_string(), difference(a, b)))
        }
        _ => (a != b).then(|| format!(" {a} and {b}")),
    }
}

/// Checks sums and ranges in a report; [`World::report`] has already checked the packets in the network one by one.
fn check_totals(report: &Report) -> Result<(), String> {
    let sum = |counts: &[Counts]| {
        let add = |get: fn(&Counts) -> u64| counts.iter().map(get).sum::<u64>();
        (add(|c| c.packets), add(|c| c.bytes))
    };
    for flow in report.flows.iter() {
        let FlowReport { offered, delivered, dropped, in_network, .. } = flow;
        if sum(&[offered]) != sum(&[delivered, dropped, in_network]) {
            return Err(format!(
                "{}: {offered:?} offered, but {delivered:?} delivered, {dropped:?} dropped and {in_network:?} in the \
                 network",
                flow.name
            ));
        }
        let lost: u64 = flow.drops.iter().map(|d| d.packets).sum();
        if lost != dropped.packets {
            return Err(format!("{}: {lost} drops by cause, but {} in total", flow.name, dropped.packets));
        }
        if let Some(transport) = &flow.transport
            && (transport.retransmissions > transport.segments
                || transport.acks_lost > transport.acks_sent
                || !(transport.window.is_finite() && transport.window > 0.0))
        {
            return Err(format!("{}: {transport:?}", flow.name));
        }
    }
    let measured = report.end_s - report.warmup_s;
    for port in &report.ports {
        // Sums of seconds have rounding errors.
        let within = |time: f64| (0.0..=measured * (1.0 + 1e-9)).contains(&time);
        if !(within(port.held_s) && within(port.stopped_s) && within(port.slowed_s) && port.utilisation <= 1.0 + 1e-9) {
            return Err(format!("{}: stopped, slowed, held or busy for longer than measured: {port:?}", port.name));
        }
    }
    for (group, result) in &report.applications {
        if result.time.count + result.failed + result.refused > result.begun {
            return Err(format!("{group}: more pages or transfers have ended than begun: {result:?}"));
        }
    }
    Ok(())
}
