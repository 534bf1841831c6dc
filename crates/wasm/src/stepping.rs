//! Exports for stepping through a run: handles of simulations, their steps and views, changes, injected and delivered
//! data.
//!
//! A handle belongs to the thread that opened it. Functions that do not return a handle or a time return a [`Status`]
//! and refuse an unknown handle. Answers and texts of errors are read as for [`crate::tailback_run`].

use crate::laws;
use crate::memory::{RESULT, text_at};
use crate::setting::setting;
use std::cell::RefCell;
use std::collections::BTreeMap;
use tailback_scenario::{Setting, Simulation};
use tailback_sim::plan::{EventKind, FrameKind, TracePlan, port_names};
use tailback_sim::trace::Row;
use tailback_units::Time;

/// Status of a call.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done; the last result is the answer, or empty.
    Done = 0,
    /// Refused; the last result is the text of the error.
    Refused = 1,
    /// The budget of events was used up, and events may remain; only from [`tailback_run_until`].
    Running = 2,
}

/// Open simulations.
#[derive(Default)]
struct Open {
    /// Simulations by their handles, from 1 on.
    simulations: BTreeMap<u32, Simulation>,
    /// Handle that was assigned last.
    last: u32,
}

thread_local! {
    static OPEN: RefCell<Open> = RefCell::new(Open::default());
}

/// Stores the answer or the error as the last result; returns [`Status::Done`] or [`Status::Refused`].
pub(crate) fn answer<A: Into<Vec<u8>>>(outcome: Result<A, String>) -> u32 {
    let status = if outcome.is_ok() { Status::Done } else { Status::Refused };
    RESULT.set(outcome.map_or_else(String::into_bytes, Into::into));
    status as u32
}

/// Calls `work` with the simulation of a handle; what `work` returns is the answer.
fn with<A: Into<Vec<u8>>>(handle: u32, work: impl FnOnce(&mut Simulation) -> Result<A, String>) -> u32 {
    answer(OPEN.with_borrow_mut(|open| match open.simulations.get_mut(&handle) {
        Some(simulation) => {
            let done = work(simulation);
            // After a fault of a user's law the results are meaningless.
            simulation.fault().map_or(done, |fault| Err(fault.to_string()))
        }
        None => Err(format!("no simulation has the handle {handle}")),
    }))
}

/// Returns the instant `at_ps`; `None`: `at_ps` is not after `now`.
fn after(now: Time, at_ps: u64) -> Option<Time> {
    (at_ps > now.0).then_some(Time(at_ps))
}

/// Opens a simulation of a scenario, with a packet trace if `trace` selects one; returns its handle. 0: the last result
/// is the text of the error.
fn open(text: Result<&str, String>, seed: u64, trace: Option<TracePlan>) -> u32 {
    let opened = text.and_then(|text| {
        let scenario = laws::scenario(text).map_err(|error| error.rendered())?;
        let setting = Setting { trace, ..setting(&scenario, seed)? };
        Ok(Simulation::new(&scenario, setting))
    });
    match opened {
        Ok(simulation) => OPEN.with_borrow_mut(|open| {
            open.last += 1;
            open.simulations.insert(open.last, simulation);
            open.last
        }),
        Err(error) => {
            RESULT.set(error.into_bytes());
            0
        }
    }
}

/// Opens a simulation of the scenario in the `len` bytes at `at`, TOML in UTF-8. Returns its handle; 0: the last result
/// is the text of the error.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_open(at: *const u8, len: usize, seed: u64) -> u32 {
    // SAFETY: by the contract above.
    open(unsafe { text_at(at, len) }, seed, None)
}

/// Opens a simulation as [`tailback_open`] does, with a packet trace of all events. The rows are kept until
/// [`tailback_take_trace`] takes them.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_open_traced(at: *const u8, len: usize, seed: u64) -> u32 {
    // SAFETY: by the contract above.
    open(unsafe { text_at(at, len) }, seed, Some(TracePlan::default()))
}

/// Opens a simulation as [`tailback_open`] does, with a packet trace of the selected events and frames: bit k of `events` is the
/// kind at index k of [`EventKind::ALL`], bit k of `frames` that of [`FrameKind::ALL`].
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_open_selected(at: *const u8, len: usize, seed: u64, events: u32, frames: u32) -> u32 {
    let trace = TracePlan { events: events as u16, frames: frames as u16, ..TracePlan::default() };
    // SAFETY: by the contract above.
    open(unsafe { text_at(at, len) }, seed, Some(trace))
}

/// Closes a simulation.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_close(handle: u32) -> u32 {
    let closed = OPEN.with_borrow_mut(|open| open.simulations.remove(&handle));
    answer(closed.map(|_| String::new()).ok_or_else(|| format!("no simulation has the handle {handle}")))
}

/// Returns the time up to which all events have been handled, picoseconds; 0 for an unknown handle.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_now(handle: u32) -> u64 {
    OPEN.with_borrow(|open| open.simulations.get(&handle).map_or(0, |simulation| simulation.now().0))
}

/// Returns the last instant of the run, picoseconds; 0 for an unknown handle.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_end(handle: u32) -> u64 {
    OPEN.with_borrow(|open| open.simulations.get(&handle).map_or(0, |simulation| simulation.end().0))
}

/// Returns the time of the next event, picoseconds; 2^64 - 1: there is none, or the handle is unknown.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_next_event(handle: u32) -> u64 {
    OPEN.with_borrow(|open| open.simulations.get(&handle).map_or(u64::MAX, |simulation| simulation.next_event().0))
}

/// Handles at most `budget` events at and before `at_ps` picoseconds, or up to the end of the run if that is earlier. A
/// budget of 0 is unlimited. [`Status::Running`]: the budget was used up, and events may remain.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_run_until(handle: u32, at_ps: u64, budget: u64) -> u32 {
    let mut running = false;
    let status = with(handle, |simulation| {
        if budget == 0 {
            simulation.run_until(Time(at_ps));
        } else {
            running = simulation.advance(Time(at_ps), budget) == tailback_sim::Status::Running;
        }
        Ok(String::new())
    });
    if running { Status::Running as u32 } else { status }
}

/// Moves to `at_ps` picoseconds. If `at_ps` is before the current time, the run is replayed from its start without the
/// changes after `at_ps`, and the answer is "replayed"; otherwise the answer is empty.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_jump(handle: u32, at_ps: u64) -> u32 {
    with(handle, |simulation| {
        let replayed = simulation.jump(Time(at_ps));
        Ok(if replayed { "replayed" } else { "" }.to_owned())
    })
}

/// Answers with the state of the network as JSON ([`tailback_sim::View`]).
#[unsafe(no_mangle)]
pub extern "C" fn tailback_view(handle: u32) -> u32 {
    with(handle, |simulation| serde_json::to_string(&simulation.view()).map_err(|error| error.to_string()))
}

/// Returns the path and value of each line of a text.
///
/// # Errors
/// If a line has no `=`.
pub(crate) fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let pair = |line: &str| line.split_once('=').map(|(path, value)| (path.to_owned(), value.to_owned()));
    let refused = |line: &str| format!("`{line}` is not path=value, such as links[0].rate=2Mbit/s");
    lines.map(|line| pair(line).ok_or_else(|| refused(line))).collect()
}

/// Schedules a change of tunable keys at `at_ps` picoseconds or, if `at_ps` is not after the current time, 1 ps from
/// now. The text in the `len` bytes at `at` has a line `path=value` for each key. The answer is the time of the change
/// in picoseconds.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_change(handle: u32, at: *const u8, len: usize, at_ps: u64) -> u32 {
    // SAFETY: by the contract above.
    let text = unsafe { text_at(at, len) };
    with(handle, |simulation| {
        let pairs = pairs(text?)?;
        let at = after(simulation.now(), at_ps);
        simulation.change(&pairs, at).map(|at| at.0.to_string()).map_err(|error| error.rendered())
    })
}

/// Schedules `bytes` of payload, 1 to 2^40, of a flow in addition to that of its source: at `at_ps` picoseconds or, if
/// `at_ps` is not after the current time, 1 ps from now. The text in the `len` bytes at `at` is the flow's name. The
/// answer is the time of sending in picoseconds.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_send(handle: u32, at: *const u8, len: usize, bytes: u64, at_ps: u64) -> u32 {
    // SAFETY: by the contract above.
    let text = unsafe { text_at(at, len) };
    with(handle, |simulation| {
        let at = after(simulation.now(), at_ps);
        simulation.inject(text?, bytes, at).map(|at| at.0.to_string()).map_err(|error| error.rendered())
    })
}

/// Records the data that arrives from now on at a host, for [`tailback_receive`]. The text in the `len` bytes at `at`
/// is the host's name; an unknown host is refused.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_record(handle: u32, at: *const u8, len: usize) -> u32 {
    // SAFETY: by the contract above.
    let text = unsafe { text_at(at, len) };
    with(handle, |simulation| {
        let host = text?;
        if simulation.record_delivered(host) { Ok(String::new()) } else { Err(format!("no host is named `{host}`")) }
    })
}

/// Answers with a line for each data packet that has arrived at a recorded host since the last call, in order of time.
/// The fields, separated by spaces, are: time of arrival, sequence number, payload bytes, time of generation, flow.
/// Times are picoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_receive(handle: u32) -> u32 {
    with(handle, |simulation| {
        let lines = simulation.take_delivered().into_iter().map(|(flow, packet)| {
            format!("{} {} {} {} {flow}\n", packet.at.0, packet.sequence, packet.bytes, packet.born.0)
        });
        Ok(lines.collect::<String>())
    })
}

/// Answers with a line for each row of the packet trace since the last call; empty without a trace. The fields,
/// separated by spaces, are: time in picoseconds, event, frame, port, class, number of the packet or segment, identity
/// of the packet, payload bytes, buffer bytes, wire bytes, waiting packets, waiting bytes, and flow (`-` in rows
/// without a flow).
#[unsafe(no_mangle)]
pub extern "C" fn tailback_take_trace(handle: u32) -> u32 {
    with(handle, |simulation| {
        let rows = simulation.take_trace();
        let plan = simulation.plan();
        let ports = port_names(&plan.nodes, &plan.links);
        let line = |row: &Row| {
            let flow = plan.flows.get(row.flow as usize).map_or_else(|| "-".to_owned(), |flow| flow.name().to_string());
            let (event, frame, port) = (row.event.name(), row.frame.name(), &ports[row.port as usize]);
            let Row { time, class, sequence, packet, payload, size, wire, queue_packets, queue_bytes, .. } = row;
            format!(
                "{} {event} {frame} {port} {class} {sequence} {packet} {payload} {size} {wire} {queue_packets} \
                 {queue_bytes} {flow}\n",
                time.0
            )
        };
        Ok(rows.iter().map(line).collect::<String>())
    })
}

/// Length of a record of [`tailback_take_rows`], bytes.
pub const RECORD: usize = 40;

/// Answers with a record of [`RECORD`] bytes for each row of the packet trace since the last call; empty without a trace. Numbers
/// are unsigned and little-endian: time in picoseconds (8 bytes), identity of the packet (8), index of the port, of the
/// flow (2^32 - 1: none), number of the packet or segment, waiting bytes (4 each, at most 2^32 - 1), buffer bytes and wire
/// bytes (2 each), and the indices of event, frame, class and reason of a drop (255: none) (1 each). The names of the indices
/// are those of [`tailback_names`].
#[unsafe(no_mangle)]
pub extern "C" fn tailback_take_rows(handle: u32) -> u32 {
    with(handle, |simulation| {
        let rows = simulation.take_trace();
        let mut records = Vec::with_capacity(rows.len() * RECORD);
        for row in &rows {
            records.extend(row.time.0.to_le_bytes());
            records.extend(row.packet.to_le_bytes());
            let waiting = u32::try_from(row.queue_bytes).unwrap_or(u32::MAX);
            for number in [row.port, row.flow, row.sequence, waiting] {
                records.extend(number.to_le_bytes());
            }
            records.extend(row.size.to_le_bytes());
            records.extend(row.wire.to_le_bytes());
            let reason = row.reason.map_or(u8::MAX, |reason| reason as u8);
            records.extend([row.event as u8, row.frame as u8, row.class, reason]);
        }
        Ok(records)
    })
}

/// Answers with the names of the indices in [`tailback_take_rows`] as JSON: the lists `ports`, `flows`, `events` and `frames`.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_names(handle: u32) -> u32 {
    with(handle, |simulation| {
        let plan = simulation.plan();
        let flows: Vec<String> = plan.flows.iter().map(|flow| flow.name().to_string()).collect();
        let names = serde_json::json!({
            "ports": port_names(&plan.nodes, &plan.links),
            "flows": flows,
            "events": EventKind::ALL.map(EventKind::name),
            "frames": FrameKind::ALL.map(FrameKind::name),
        });
        Ok(names.to_string())
    })
}

/// Answers with `ROWS HASH`: the number of rows that were taken so far, and their hash. After all rows of a run have
/// been taken, it is the hash of the whole trace. A simulation without a trace is refused.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_trace_hash(handle: u32) -> u32 {
    with(handle, |simulation| {
        let summary = simulation.trace_summary().ok_or("the simulation was opened without a trace")?;
        Ok(format!("{} {}", summary.rows(), summary.hash()))
    })
}

/// Answers with the scenario that has all changes made so far in its timeline, as TOML.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_scenario(handle: u32) -> u32 {
    with(handle, |simulation| Ok(simulation.scenario().to_toml()))
}

/// Answers with the report of the run up to the current time, as JSON, and closes the simulation.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_report(handle: u32) -> u32 {
    let closed = OPEN.with_borrow_mut(|open| open.simulations.remove(&handle));
    answer(match closed {
        Some(simulation) => serde_json::to_string(&simulation.report()).map_err(|error| error.to_string()),
        None => Err(format!("no simulation has the handle {handle}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{replicate, tailback_result_len, tailback_result_ptr};

    const SCENARIO: &str = r#"
        tailback = 1
        [run]
        duration = "100ms"
        tunable = ["links[0].rate"]
        [hosts]
        a = {}
        b = {}
        [[links]]
        between = ["a", "b"]
        rate = "10Mbit/s"
        [[flows]]
        name = "data"
        from = "a"
        to = "b"
        source = { kind = "cbr", rate = "5Mbit/s", packet = "1000B", phase = "zero" }
    "#;

    /// Returns the last result.
    fn result() -> String {
        // SAFETY: the answer is kept until the next call.
        let answer = unsafe { std::slice::from_raw_parts(tailback_result_ptr(), tailback_result_len()) };
        String::from_utf8(answer.to_vec()).expect("answers are UTF-8")
    }

    /// Opens a simulation without a trace, with seed 3; returns its handle.
    fn open_plain(text: &str) -> u32 {
        // SAFETY: the text is initialised memory.
        unsafe { tailback_open(text.as_ptr(), text.len(), 3) }
    }

    /// Calls [`tailback_change`]; returns its status.
    fn change(handle: u32, text: &str, at_ps: u64) -> u32 {
        // SAFETY: the text is initialised memory.
        unsafe { tailback_change(handle, text.as_ptr(), text.len(), at_ps) }
    }

    /// Returns the digest in a report: `tb2:` and 32 hexadecimal digits.
    fn digest(report: &str) -> &str {
        let start = report.find("tb2:").expect("a report has a digest");
        &report[start..start + 36]
    }

    #[test]
    fn a_run_in_steps_has_the_report_of_a_run_to_the_end() {
        let handle = open_plain(SCENARIO);
        assert!(handle > 0, "{}", result());
        while tailback_run_until(handle, tailback_end(handle), 7) == Status::Running as u32 {}
        assert_eq!(tailback_now(handle), 100_000_000_000);
        assert_eq!(tailback_report(handle), 0);
        assert_eq!(result(), replicate(SCENARIO, 3).expect("the scenario runs"));
        assert_eq!(tailback_report(handle), 1, "the first report has closed the simulation");
    }

    #[test]
    fn the_scenario_exported_from_a_changed_run_has_the_digest_of_that_run() {
        let handle = open_plain(SCENARIO);
        assert_eq!(tailback_run_until(handle, 50_000_000_000, 0), 0);
        assert_eq!(change(handle, "links[0].rate=2Mbit/s\n", 0), 0, "{}", result());
        assert_eq!(result(), "50000000001");
        // SAFETY: the texts are initialised memory.
        unsafe {
            assert_eq!(tailback_record(handle, "b".as_ptr(), 1), 0);
            assert_eq!(tailback_send(handle, "data".as_ptr(), 4, 100, 60_000_000_000), 0, "{}", result());
        }
        assert_eq!(tailback_run_until(handle, 100_000_000_000, 0), 0);
        assert_eq!(tailback_receive(handle), 0);
        assert!(result().lines().any(|line| line.contains(" 100 60000000000 data")), "{}", result());
        assert_eq!(tailback_scenario(handle), 0);
        let exported = result();
        assert_eq!(tailback_report(handle), 0);
        let whole = replicate(&exported, 3).expect("the exported scenario runs");
        assert_eq!(digest(&result()), digest(&whole));
        assert_ne!(digest(&result()), digest(&replicate(SCENARIO, 3).unwrap()));
    }

    /// Opens a simulation with a trace, with seed 3; returns its handle.
    fn open_traced(text: &str) -> u32 {
        // SAFETY: the text is initialised memory.
        unsafe { tailback_open_traced(text.as_ptr(), text.len(), 3) }
    }

    #[test]
    fn a_trace_does_not_depend_on_the_steps_and_does_not_change_the_digest() {
        let handle = open_traced(SCENARIO);
        tailback_run_until(handle, 100_000_000_000, 0);
        assert_eq!(tailback_take_trace(handle), 0);
        let whole = result();
        assert_eq!(tailback_trace_hash(handle), 0);
        let hash = result();
        // The source sends 1000 B every 1.6 ms (5 Mbit/s): 63 packets, at 0, 1.6, … and 62 · 1.6 = 99.2 ms; the next
        // would start after the end at 100 ms. A frame is 1018 B in the buffer and 1038 B on the wire.
        let starts: Vec<&str> = whole.lines().filter(|line| line.contains(" dequeue data a->b ")).collect();
        assert_eq!(starts.len(), 63, "{whole}");
        assert!(starts[62].starts_with("99200000000 dequeue data a->b 0 62 "), "{}", starts[62]);
        assert!(starts[62].ends_with(" 1000 1018 1038 1 1018 data"), "{}", starts[62]);
        assert_eq!(tailback_report(handle), 0);
        assert_eq!(digest(&result()), digest(&replicate(SCENARIO, 3).expect("the scenario runs")));

        let handle = open_traced(SCENARIO);
        let mut rows = String::new();
        for step in 1..=9 {
            while tailback_run_until(handle, step * 100_000_000_000 / 9, 5) == Status::Running as u32 {
                tailback_take_trace(handle);
                rows += &result();
            }
        }
        tailback_run_until(handle, 100_000_000_000, 0);
        tailback_take_trace(handle);
        rows += &result();
        assert_eq!(rows, whole);
        tailback_trace_hash(handle);
        assert_eq!(result(), hash);
        tailback_close(handle);
    }

    #[test]
    fn records_are_the_rows_of_the_selected_events() {
        let dequeue = 1 << EventKind::Dequeue as u32;
        let data = 1 << FrameKind::Data as u32;
        // SAFETY: the text is initialised memory.
        let handle = unsafe { tailback_open_selected(SCENARIO.as_ptr(), SCENARIO.len(), 3, dequeue, data) };
        assert_eq!(tailback_names(handle), 0);
        let names: serde_json::Value = serde_json::from_str(&result()).expect("names are JSON");
        assert_eq!((&names["ports"][0], &names["flows"][0]), (&"a->b".into(), &"data".into()));
        assert_eq!((&names["events"][1], &names["frames"][0]), (&"dequeue".into(), &"data".into()));
        tailback_run_until(handle, 100_000_000_000, 0);
        assert_eq!(tailback_take_rows(handle), 0);
        // SAFETY: the answer is kept until the next call.
        let records = unsafe { std::slice::from_raw_parts(tailback_result_ptr(), tailback_result_len()) }.to_vec();
        // As in the text of the trace: 63 packets, the last at 99.2 ms, of 1018 B in the buffer and 1038 B on the wire.
        assert_eq!(records.len(), 63 * RECORD);
        let last = &records[62 * RECORD..];
        assert_eq!(last[..8], 99_200_000_000u64.to_le_bytes());
        assert_eq!(last[16..24], [0u8; 8], "port and flow");
        assert_eq!(last[24..28], 62u32.to_le_bytes(), "number");
        assert_eq!(last[28..32], 1018u32.to_le_bytes(), "waiting bytes, of the packet itself");
        assert_eq!(last[32..34], 1018u16.to_le_bytes());
        assert_eq!(last[34..36], 1038u16.to_le_bytes());
        assert_eq!(last[36..], [1, 0, 0, 255], "dequeue, data, class, no reason");
        tailback_close(handle);
    }

    #[test]
    fn without_a_trace_there_are_no_rows_and_no_hash() {
        let handle = open_plain(SCENARIO);
        tailback_run_until(handle, 50_000_000_000, 0);
        assert_eq!((tailback_take_rows(handle), result().as_str()), (0, ""));
        assert_eq!((tailback_take_trace(handle), result().as_str()), (0, ""));
        assert_eq!(tailback_trace_hash(handle), 1);
        assert!(result().contains("without a trace"), "{}", result());
        tailback_close(handle);
    }

    #[test]
    fn invalid_arguments_are_refused_with_a_text_that_names_them() {
        let handle = open_plain(SCENARIO);
        assert_eq!(change(handle, "links[0].delay=5ms", 0), 1);
        assert!(result().contains("run.tunable"), "{}", result());
        assert_eq!(change(handle, "nonsense", 0), 1);
        assert!(result().contains("is not path=value"), "{}", result());
        // SAFETY: the text is initialised memory.
        unsafe {
            assert_eq!(tailback_record(handle, "x".as_ptr(), 1), 1);
            assert_eq!(tailback_change(handle, [0xff].as_ptr(), 1, 0), 1);
        }
        assert!(result().contains("not UTF-8"), "{}", result());
        assert_eq!(tailback_close(handle), 0);
        for refused in [tailback_view(handle), tailback_receive(handle), tailback_close(handle), tailback_jump(0, 1)] {
            assert_eq!(refused, 1);
            assert!(result().starts_with("no simulation has the handle"), "{}", result());
        }
        assert_eq!(open_plain("nonsense"), 0);
        assert!(!result().is_empty());
    }

    #[test]
    fn a_jump_back_is_a_replay() {
        let handle = open_plain(SCENARIO);
        tailback_run_until(handle, 50_000_000_000, 0);
        tailback_view(handle);
        let then = result();
        tailback_run_until(handle, 90_000_000_000, 0);
        assert_eq!((tailback_jump(handle, 50_000_000_000), result().as_str()), (0, "replayed"));
        tailback_view(handle);
        assert_eq!(result(), then);
        assert!(tailback_next_event(handle) > 50_000_000_000);
        tailback_close(handle);
    }
}
