//! Properties of packet traces. The rows are equal for both engines, for 1 to 3 threads and for any steps. The numbers
//! of rows by kind are the counters of the report. Rows can be read back from their columns. A trace of some ports and
//! flows has the rows of these ports and flows in the whole trace.

use std::collections::{BTreeMap, BTreeSet};
use tailback_random::Rng;
use tailback_sim::plan::{Engine, EventKind, FrameKind, Plan, TracePlan};
use tailback_sim::trace::{Row, Summary};
use tailback_sim::{Report, Status, World};
use tailback_trace::columns::{COLUMNS, Columns};
use tailback_units::Time;
use tailback_user::NoFactories;

/// Rank of the end of the warm-up among the kinds of events of one instant ([`tailback_sim::trace::Order::kind`]).
const WARMED_UP: u8 = 1;

/// Checks the traces of a plan whose report without a trace is `whole`; `compares` compares a report with `whole`, with
/// the name of its run for the error.
pub fn check(
    plan: &Plan,
    whole: &Report,
    compares: impl Fn(&Report, &str) -> Result<(), String>,
) -> Result<(), String> {
    let traced = Plan { trace: Some(Box::default()), ..plan.clone() };
    let (rows, report) = run(traced.clone(), 1)?;
    compares(&report, "a traced run")?;
    sums(plan, &rows, whole)?;
    columns(&rows)?;
    crate::why::check(plan, &rows, whole)?;
    let (plain, _) = run(Plan { engine: Engine::Plain, ..traced.clone() }, 1)?;
    same(&rows, &plain, "the plain engine")?;
    for threads in 2..=3 {
        let (other, _) = run(traced.clone(), threads)?;
        same(&rows, &other, &format!("{threads} threads"))?;
    }
    same(&rows, &stepped(traced.clone()), "a stepped run")?;
    same(&rows, &by_instant(traced.clone())?, "a run in steps to the instants with rows")?;
    let part = part(plan);
    let selected: Vec<Row> = rows.into_iter().filter(|row| selects(&part, row)).collect();
    for engine in [Engine::Merged, Engine::Plain] {
        let partial = Plan { trace: Some(Box::new(part.clone())), engine, ..plan.clone() };
        for threads in 1..=2 {
            let (some, report) = run(partial.clone(), threads)?;
            compares(&report, "a partly traced run")?;
            same(&selected, &some, &format!("a part of the trace, {engine:?}, {threads} threads"))?;
        }
    }
    Ok(())
}

/// Returns the rows of the trace of a run on `threads` threads, and the report.
fn run(plan: Plan, threads: usize) -> Result<(Vec<Row>, Report), String> {
    let mut rows = Vec::new();
    let world = tailback_parallel::run_traced(plan, threads, &NoFactories, |_, more| {
        rows.extend(more);
        Ok::<(), String>(())
    })
    .map_err(|ended| format!("{ended:?}"))?;
    Ok((rows, world.report()))
}

/// Returns the rows of a run in steps of random lengths, taken after each step.
fn stepped(plan: Plan) -> Vec<Row> {
    let (end, mut rng) = (plan.end, Rng::named(plan.seed, "steps"));
    let mut world = World::new(plan);
    let (mut rows, mut next) = (Vec::new(), Time::ZERO);
    while !world.is_done() {
        next = Time(next.0 + 1 + rng.below(end.0 / 10 + 1));
        if rng.chance(0.5) {
            world.advance(next, 50);
        } else {
            world.run_until(next);
        }
        rows.extend(world.take_trace());
    }
    rows.extend(world.take_trace());
    rows
}

/// Returns the rows of a run that is stepped from one instant with rows to the next.
fn by_instant(plan: Plan) -> Result<Vec<Row>, String> {
    let mut world = World::new(plan);
    let mut rows: Vec<Row> = Vec::new();
    while !world.is_done() {
        while world.advance_to_rows(Time::NEVER, 20) == Status::Running {}
        let taken = world.take_trace();
        let other = taken.iter().find(|row| row.time != world.now());
        if let Some(row) = other.or(taken.first().filter(|row| rows.last().is_some_and(|last| last.time == row.time))) {
            return Err(format!("a row is not taken with the others of its instant: {row:?} at {:?}", world.now()));
        }
        if taken.is_empty() && !world.is_done() {
            return Err(format!("a step ends without rows at {:?}", world.now()));
        }
        rows.extend(taken);
    }
    Ok(rows)
}

/// Returns a random selection of ports, flows, kinds and times.
fn part(plan: &Plan) -> TracePlan {
    let mut rng = Rng::named(plan.seed, "part of a trace");
    let mut some = |count: usize| Some((0..count).map(|_| rng.chance(0.5)).collect());
    let (ports, flows) = (some(2 * plan.links.len()), some(plan.flows.len()));
    let events = !(1 << rng.below(13));
    let (from, until) = (Time(rng.below(plan.end.0 / 2)), Time(plan.end.0 / 2 + rng.below(plan.end.0)));
    TracePlan { ports, flows, events, from, until, ..TracePlan::default() }
}

/// Returns `true` if a selection includes a row; computed independently of the code under test.
fn selects(part: &TracePlan, row: &Row) -> bool {
    part.ports.as_ref().is_none_or(|ports| ports[row.port as usize])
        && (row.flow == Row::NO_FLOW || part.flows.as_ref().is_none_or(|flows| flows[row.flow as usize]))
        && part.events & 1 << row.event as u16 != 0
        && (part.from..=part.until).contains(&row.time)
}

/// Checks that the rows `other` of the run `how` equal `rows`, and that equal rows have equal hashes.
fn same(rows: &[Row], other: &[Row], how: &str) -> Result<(), String> {
    if let Some(at) = (0..rows.len().max(other.len())).find(|at| rows.get(*at) != other.get(*at)) {
        return Err(format!(
            "the traces of {how} ({} rows) and of the merged engine ({} rows) differ at row {at}: {:?} and {:?}",
            other.len(),
            rows.len(),
            other.get(at),
            rows.get(at)
        ));
    }
    let hash = |rows: &[Row]| {
        let mut summary = Summary::default();
        summary.add(rows);
        summary.hash()
    };
    if hash(rows) == hash(other) { Ok(()) } else { Err(format!("{how}: equal rows with unequal hashes")) }
}

/// Compares the numbers of rows with the counters of the report.
fn sums(plan: &Plan, rows: &[Row], report: &Report) -> Result<(), String> {
    if rows.windows(2).any(|pair| (pair[0].time, pair[0].order) > (pair[1].time, pair[1].order)) {
        return Err("rows are not in order".to_owned());
    }
    let after = |row: &&Row| (row.time, row.order.kind) > (plan.warmup, WARMED_UP);
    let mut found: BTreeMap<(u32, u8, EventKind), u64> = BTreeMap::new();
    // Packets in queues, by port and packet. A packet that is dropped while it is not in the queue was dropped on a
    // link, at an input or in a conditioner; the queue's counters do not include this drop.
    let mut waiting = BTreeSet::new();
    for row in rows.iter().filter(|row| row.frame.is_packet()) {
        let here = (row.port, row.packet);
        let at_queue = match row.event {
            EventKind::Enqueue => waiting.insert(here),
            EventKind::Dequeue | EventKind::Drop => waiting.remove(&here),
            _ => true,
        };
        if at_queue && after(&row) {
            *found.entry((row.port, row.class, row.event)).or_default() += 1;
        }
    }
    for (number, port) in (0u32..).zip(&report.ports) {
        for (class, counts) in (0u8..).zip(&port.classes) {
            let rows = |event| found.get(&(number, class, event)).copied().unwrap_or(0);
            let expected = [
                (EventKind::Enqueue, counts.arrived.packets),
                (EventKind::Drop, counts.dropped.packets),
                (EventKind::Mark, counts.marked_packets),
            ];
            for (event, packets) in expected {
                if rows(event) != packets {
                    let name = &port.name;
                    return Err(format!(
                        "{name}, class {class}: {} rows {event:?}, {packets} in the report; {found:?}",
                        rows(event)
                    ));
                }
            }
            // Rows count the starts of transmissions, and the report counts the ends.
            if rows(EventKind::Dequeue).abs_diff(counts.sent.packets) > 1 {
                return Err(format!("{}: {} starts, {:?} sent", port.name, rows(EventKind::Dequeue), counts.sent));
            }
        }
    }
    for (number, flow) in (0u32..).zip(report.flows.iter()) {
        let own =
            |row: &&Row| row.flow == number && row.measured && matches!(row.frame, FrameKind::Data | FrameKind::Syn);
        for (event, counts) in [(EventKind::Deliver, &flow.delivered), (EventKind::Drop, &flow.dropped)] {
            let of_kind = || rows.iter().filter(own).filter(|row| row.event == event);
            let bytes: u64 = of_kind().map(|row| u64::from(row.payload)).sum();
            if (of_kind().count() as u64, bytes) != (counts.packets, counts.bytes) {
                return Err(format!("{}: {} rows {event:?}, {counts:?} in the report", flow.name, of_kind().count()));
            }
        }
    }
    Ok(())
}

/// Checks that rows can be read back from their columns.
fn columns(rows: &[Row]) -> Result<(), String> {
    let made = Columns::of(rows);
    let named = COLUMNS.iter().zip(&made.columns);
    let columns = named.map(|(spec, column)| (spec.name, (&*column.numbers, &*column.extent))).collect();
    let read_back = tailback_trace::columns::rows(rows.len(), &columns)?;
    match (0..rows.len()).find(|at| rows[*at] != read_back[*at]) {
        None => Ok(()),
        Some(at) => Err(format!("columns of {:?} are read as {:?}", rows[at], read_back[at])),
    }
}
