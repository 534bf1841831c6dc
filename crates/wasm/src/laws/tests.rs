//! Laws of a host in Rust.

use super::*;
use crate::replicate;
use core::ffi::c_void;
use std::cell::{Cell, RefCell};
use tailback_user::{CongestionAnswer, QueueAnswer, QueueCall, SchedulerAnswer, SourceAnswer};

const SCENARIO: &str = r#"
    tailback = 1
    [run]
    duration = "50ms"
    sample = "10ms"
    [network]
    discipline = { kind = "user", file = "law", class = "Drops", parameters = { share = 0.25 } }
    [hosts]
    a = {}
    b = {}
    [switches.s]
    [[links]]
    between = ["a", "s"]
    rate = "10Mbit/s"
    [[links]]
    between = ["s", "b"]
    rate = "10Mbit/s"
    [[flows]]
    name = "data"
    from = "a"
    to = "b"
    source = { kind = "cbr", rate = "5Mbit/s", packet = "1000B" }
"#;

/// Host of a law that drops a share of the arriving packets; the share of an instance is that of all.
unsafe extern "C" fn host(task: u32, number: u32, input: *const u8, len: usize, result: *mut c_void) -> i32 {
    thread_local! {
        static SHARE: Cell<f64> = const { Cell::new(0.0) };
    }
    // SAFETY: the tasks have these inputs and results.
    unsafe {
        match task {
            0 => {
                let name = std::slice::from_raw_parts(input, len);
                if name != b"law\0Drops" {
                    tailback_law_fail(b"there is no such law".as_ptr(), 20);
                    return 1;
                }
                let class = &mut *result.cast::<Found>();
                class.description = Description { abi: 1, events: 2, ..Description::EMPTY };
                class.description.probes[..5].copy_from_slice(b"share");
                class.number = 7;
                class.digest = [b'7'; 64];
            }
            1 => {
                assert_eq!(number, 7);
                let name = b"share";
                SHARE.set(tailback_law_parameter(name.as_ptr(), name.len(), 0, 0.5));
                *result.cast::<u32>() = 3;
            }
            2 => {
                assert_eq!((number, len), (3, size_of::<QueueCall>()));
                let answer = &mut *result.cast::<QueueAnswer>();
                answer.verdict = if tailback_law_random() < SHARE.get() { 2 } else { 0 };
                if SHARE.get() > 1.0 {
                    tailback_law_below(0);
                }
            }
            3 => *result.cast::<f64>() = SHARE.get(),
            _ => assert!([Task::Destroy as u32, Task::Place as u32].contains(&task)),
        }
    }
    0
}

/// Returns the report of a run with the host.
fn run(scenario: &str) -> Result<serde_json::Value, String> {
    tailback_set_law_host(Some(host));
    let report = replicate(scenario, 3);
    tailback_set_law_host(None);
    report.map(|text| serde_json::from_str(&text).expect("reports are JSON"))
}

#[test]
fn a_law_of_the_host_decides_about_the_packets_with_draws_of_the_port() {
    let report = run(SCENARIO).expect("the scenario runs");
    let dropped = report["flows"][0]["dropped"]["packets"].as_u64().expect("a count");
    // Of 31 packets, with 1000 B at 5 Mbit/s each 1.6 ms; the expectation is 7.75, the standard deviation 2.4.
    assert!((1..16).contains(&dropped), "{dropped}");
    assert_eq!(report["series"]["ports"]["s->b"]["state"]["share"][0], 0.25);
    assert_eq!(run(SCENARIO).expect("the scenario runs")["digest"], report["digest"]);
}

#[test]
fn failures_of_the_host_are_refusals_and_faults() {
    let error = run(&SCENARIO.replace("\"Drops\"", "\"Other\"")).expect_err("it is refused");
    assert!(error.contains("there is no such law"), "{error}");
    let error = run(&SCENARIO.replace("share", "shares")).expect_err("it is refused");
    assert!(error.contains("did you mean `share`?"), "{error}");
    let error = run(&SCENARIO.replace("0.25", "1.25")).expect_err("the run fails");
    assert!(error.contains("`Drops` of law at s->b, in `arrive` at 0.00"), "{error}");
    assert!(error.ends_with("`below` was called with 0; write 1 or more"), "{error}");
    assert!(replicate(SCENARIO, 3).expect_err("it is refused").contains("disabled here"));
}

/// Each role has a component: the network of the other host with a source, a scheduler and a congestion control.
const ROLES: &str = r#"
    tailback = 1
    [run]
    duration = "49ms"
    [network.discipline]
    kind = "user-scheduler"
    scheduler = { file = "law", class = "Last" }
    queues = [{ name = "one", match = { dscp = ["ef"] } }, { name = "two" }]
    [hosts]
    a = {}
    b = {}
    [switches.s]
    [[links]]
    between = ["a", "s"]
    rate = "100Mbit/s"
    [[links]]
    between = ["s", "b"]
    rate = "10Mbit/s"
    [[flows]]
    name = "data"
    from = "a"
    to = "b"
    dscp = "ef"
    source = { kind = "user", file = "law", class = "Even" }
    [[flows]]
    name = "bulk"
    from = "a"
    to = "b"
    source = { kind = "bulk" }
    transport = { kind = "tcp", congestion-control = { kind = "user", file = "law", class = "Fixed" } }
    [[timeline]]
    at = "10ms"
    flow = "data"
    state = "stop"
    [[timeline]]
    at = "20ms"
    flow = "data"
    state = "start"
"#;

thread_local! {
    /// Tasks, numbers and inputs.
    static TASKS: RefCell<Vec<(u32, u32, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
}

/// Host of `Last`, a scheduler that chooses the last queue that is ready, `Even`, a source with 100 bytes each 3 ms, and
/// `Fixed`, a control with a window of 2 segments; their classes and instances have the numbers of the roles.
unsafe extern "C" fn host_of_roles(task: u32, number: u32, input: *const u8, len: usize, result: *mut c_void) -> i32 {
    // SAFETY: the tasks have these inputs and results.
    unsafe {
        let bytes = std::slice::from_raw_parts(input, len).to_vec();
        match (task, number) {
            (0, _) => {
                let class = &mut *result.cast::<Found>();
                let (role, events) = match bytes.as_slice() {
                    b"law\0Last" => (1, 4),
                    b"law\0Fixed" => (2, 2),
                    b"law\0Even" => (3, 2),
                    other => panic!("{other:?}"),
                };
                class.description = Description { abi: 1, role, events, ..Description::EMPTY };
                class.number = role;
                class.digest = [b'7'; 64];
            }
            (1, _) => *result.cast::<u32>() = number,
            (2, 1) => {
                // The call has 40 bytes, and a queue 24; `ready` of a queue is at 16.
                let queues = (len - 40) / 24;
                let mut ready = (0..queues).filter(|queue| bytes[40 + 24 * queue + 16] == 1);
                (*result.cast::<SchedulerAnswer>()).queue = ready.next_back().expect("a packet waits") as u32;
            }
            (2, 2) => (*result.cast::<CongestionAnswer>()).cwnd = 2.0,
            (2, 3) => {
                let now_ps = u64::from_ne_bytes(bytes[..8].try_into().expect("8 bytes"));
                *result.cast::<SourceAnswer>() = SourceAnswer { at_ps: now_ps + 3_000_000_000, bytes: 100 };
            }
            _ => {}
        }
        TASKS.with_borrow_mut(|tasks| tasks.push((task, number, bytes)));
    }
    0
}

#[test]
fn a_host_gets_the_layout_of_the_header_for_each_role() {
    // Sizes and offsets of tailback_law.h: `event` follows seven, two, seven and two words of 8 bytes.
    let expected = [
        (Role::QueueLaw, [1024u32, 512, 16, 56]),
        (Role::Scheduler, [8192, 7680, 16, 16]),
        (Role::CongestionControl, [1024, 512, 32, 56]),
        (Role::Source, [1024, 512, 16, 16]),
    ];
    for (role, numbers) in expected {
        assert_eq!(Layout::of(role).input().to_vec(), numbers.map(u32::to_ne_bytes).concat(), "{role:?}");
    }
}

#[test]
fn a_host_has_schedulers_congestion_controls_and_sources() {
    tailback_set_law_host(Some(host_of_roles));
    let report = replicate(ROLES, 3);
    tailback_set_law_host(None);
    let report: serde_json::Value = serde_json::from_str(&report.expect("it runs")).expect("reports are JSON");
    // At 3, 6 and 9 ms, and after the start at 20 ms at 23, 26, … and 47 ms.
    assert_eq!(report["flows"][0]["offered"]["packets"], 3 + 9);
    assert_eq!(report["flows"][0]["offered"]["bytes"], 100 * (3 + 9));
    let tasks = TASKS.take();
    let inputs = |task: Task, number: u32| {
        let found = tasks.iter().filter(|(kind, of, _)| (*kind, *of) == (task as u32, number));
        found.map(|(_, _, input)| input.as_slice()).collect::<Vec<_>>()
    };
    // The trial while the scenario is loaded, the first start and the second.
    assert_eq!(inputs(Task::Create, 3), [Layout::of(Role::Source).input().as_slice(); 3]);
    assert_eq!(inputs(Task::Destroy, 3).len(), 3);
    assert_eq!(inputs(Task::Place, 3), [b"`Even` of law at data\0start\0next".as_slice(); 2]);
    let calls = "start\0acknowledged\0lost\0marked\0timeout\0sent\0timer\0spurious";
    assert_eq!(inputs(Task::Place, 2), [format!("`Fixed` of law at bulk\0{calls}").as_bytes()]);
    assert!(
        inputs(Task::Place, 1)
            .contains(&b"`Last` of law at s->b\0start\0arrived\0select\0sent\0timer\0idle".as_slice())
    );
}
