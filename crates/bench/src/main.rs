//! Runs one benchmark workload and prints its number of packet-hops.
//!
//! The program reads no clock: the caller measures the CPU time of the process, or counts instructions with valgrind.
//! The programs in `peers/` run some of the workloads in other simulators and print a line of the same format.

use std::process::ExitCode;
use tailback_scenario::{Scenario, build};

/// Name and scenario of each workload. `tailback bench` runs all of them except `overload`, which only
/// `tools/bench_disciplines.py` uses.
const WORKLOADS: [(&str, &str); 13] = [
    ("forward", include_str!("../../../python/tailback/bench/forward.toml")),
    ("udpqueue", include_str!("../../../python/tailback/bench/udpqueue.toml")),
    ("red64", include_str!("../../../python/tailback/bench/red64.toml")),
    ("tcp1000", include_str!("../../../python/tailback/bench/tcp1000.toml")),
    ("tcp4000", include_str!("../../../python/tailback/bench/tcp4000.toml")),
    ("tcp100000", include_str!("../../../python/tailback/bench/tcp100000.toml")),
    ("edge50", include_str!("../../../python/tailback/bench/edge50.toml")),
    ("dc10g", include_str!("../../../python/tailback/bench/dc10g.toml")),
    ("net64", include_str!("../../../python/tailback/bench/net64.toml")),
    ("leafspine128", include_str!("../../../python/tailback/bench/leafspine128.toml")),
    ("fattree1024", include_str!("../../../python/tailback/bench/fattree1024.toml")),
    ("lan-a1", include_str!("../../../python/tailback/bench/lan-a1.toml")),
    ("overload", include_str!("overload.toml")),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Runs the workload that the arguments `WORKLOAD [parallel=N] [PATH=VALUE]…` name, on at most N threads (1 without
/// `parallel`), with values of its scenario replaced, such as `run.duration=1s`. Returns the line of results.
///
/// # Errors
/// The message, if an argument is not of this form or the changed scenario is invalid.
fn run(arguments: &[String]) -> Result<String, String> {
    let names = WORKLOADS.map(|(name, _)| name).join("|");
    let (workload, settings) =
        arguments.split_first().ok_or_else(|| format!("usage: tailback-bench {names} [parallel=N] [PATH=VALUE]…"))?;
    let (name, text) = WORKLOADS
        .into_iter()
        .find(|(name, _)| name == workload)
        .ok_or_else(|| format!("there is no workload `{workload}`; the workloads are {names}"))?;
    let pairs = settings
        .iter()
        .map(|setting| {
            setting.split_once('=').ok_or_else(|| {
                format!("`{setting}` is not of the form parallel=N or PATH=VALUE, such as run.duration=1s")
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let (threads, pairs): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(path, _)| *path == "parallel");
    let parallel = threads.last().map_or(Ok(1), |(_, n)| {
        n.parse().map_err(|_| format!("`{n}` is not a number of threads; write a whole number, such as parallel=2"))
    })?;
    let scenario =
        Scenario::from_toml(text, name).and_then(|scenario| scenario.with_set(&pairs)).map_err(|e| e.rendered())?;
    let plan = build(&scenario, scenario.run().seed, None);
    // The plan does not refer to the scenario, whose memory is not needed during the run.
    drop(scenario);
    let report = tailback_parallel::run(plan, parallel, |_| Ok::<(), String>(()))?.report();
    let offered: u64 = report.flows.iter().map(|flow| flow.offered.packets).sum();
    let delivered = report.flows.delivered().packets;
    Ok(format!(
        "RESULT peer=tailback workload={name} events={} offered={offered} delivered={delivered} hops={}",
        report.events, report.packet_hops
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the workload of the arguments; returns the line of results or the message.
    fn result(arguments: &[&str]) -> Result<String, String> {
        run(&arguments.iter().map(|&a| a.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_workload_moves_packets() {
        for (name, _) in WORKLOADS {
            // One simulated second of these networks, with links of 10 Gbit/s and more, would take minutes.
            let duration = match name {
                "dc10g" => "run.duration=5ms",
                "leafspine128" | "fattree1024" => "run.duration=20us",
                _ => "run.duration=1s",
            };
            let line = result(&[name, duration, "run.warmup=0s"]).expect(name);
            assert!(!line.contains("hops=0"), "{line}");
        }
    }

    #[test]
    fn forward_has_a_million_packet_hops_in_a_second_except_those_still_under_way() {
        // 16 flows of 12,500 packets a second over five links are 1,000,000 packet-hops.
        let line = result(&["forward", "run.duration=1s"]).expect("it runs");
        let hops: u64 = line.rsplit('=').next().and_then(|n| n.parse().ok()).expect("the line ends in hops");
        assert!((999_000..=1_000_000).contains(&hops), "{line}");
    }

    #[test]
    fn overload_offers_the_same_packets_to_every_discipline_and_keeps_the_link_busy() {
        // Returns the packets offered and delivered under a discipline.
        let counts = |kind: &str| {
            let discipline = format!("switches.r0.ports.r1.discipline={{ kind = \"{kind}\" }}");
            let line = result(&["overload", "run.duration=2s", &discipline]).expect("it runs");
            let number = |name: &str| -> f64 {
                line.split_once(name).and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()).expect("a number")
            };
            (number("offered="), number("delivered="))
        };
        let (offered, delivered) = counts("drop-tail");
        // 400 flows of 0.1 Mbit/s and one of 45 Mbit/s for 2 s, in packets of 8000 bits.
        let expected = 85e6 * 2.0 / 8000.0;
        assert!((offered / expected - 1.0).abs() < 0.02, "{offered} instead of {expected}");
        for kind in ["red", "sfb", "drr", "fq-codel"] {
            let (also_offered, also_delivered) = counts(kind);
            assert_eq!(also_offered, offered, "{kind}");
            assert!((also_delivered / delivered - 1.0).abs() < 0.02, "{kind}: {also_delivered}, not {delivered}");
        }
    }

    #[test]
    fn a_run_on_two_threads_delivers_the_same_packets_as_one_on_a_single_thread() {
        let counts = |line: &str| line.split_once(" delivered=").map(|(_, counts)| counts.to_owned());
        let [one, two] = ["parallel=1", "parallel=2"]
            .map(|parallel| result(&["net64", parallel, "run.duration=20ms", "run.warmup=0s"]).expect("it runs"));
        assert_eq!(counts(&one), counts(&two));
        assert!(counts(&one).is_some() && one != two, "the number of events depends on the number of partitions");
    }

    #[test]
    fn an_unknown_workload_is_refused_with_the_list_of_workloads() {
        assert!(result(&["forwards"]).expect_err("no such workload").contains("udpqueue"));
    }
}
