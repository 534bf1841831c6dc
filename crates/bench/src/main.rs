//! Runs one benchmark workload and prints its number of packet-hops.
//!
//! The program reads no clock: the caller measures the CPU time of the process, or the instructions counted by
//! valgrind. The workloads are those of `peers/`, whose programs print the same line.

use std::process::ExitCode;
use tailback_scenario::{Scenario, build};

/// Name and document of each workload. `tailback bench` runs all of them except the last one, which is the load of
/// `tools/bench_disciplines.py`.
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

/// Runs the workload of the arguments `WORKLOAD [parallel=N] [PATH=VALUE]…` on at most N threads, with values of its
/// document replaced, such as `run.duration=1s`. Returns the line of results.
fn run(arguments: &[String]) -> Result<String, String> {
    let names = WORKLOADS.map(|(name, _)| name).join("|");
    let (workload, settings) =
        arguments.split_first().ok_or_else(|| format!("usage: tailback-bench {names} [parallel=N] [PATH=VALUE]…"))?;
    let (name, text) = WORKLOADS
        .into_iter()
        .find(|(name, _)| name == workload)
        .ok_or_else(|| format!("there is no workload `{workload}`; there are {names}"))?;
    let pairs = settings
        .iter()
        .map(|setting| setting.split_once('=').ok_or_else(|| format!("`{setting}` is not of the form PATH=VALUE")))
        .collect::<Result<Vec<_>, _>>()?;
    let (own, pairs): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(path, _)| *path == "parallel");
    let parallel =
        own.last().map_or(Ok(1), |(_, n)| n.parse().map_err(|_| format!("`{n}` is not a number of threads")))?;
    let scenario =
        Scenario::from_toml(text, name).and_then(|scenario| scenario.with_set(&pairs)).map_err(|e| e.rendered())?;
    let plan = build(&scenario, scenario.run().seed, None);
    // The run has a copy of its plan.
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

    fn result(arguments: &[&str]) -> Result<String, String> {
        run(&arguments.iter().map(|&a| a.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_workload_moves_packets() {
        for (name, _) in WORKLOADS {
            // One simulated second on links of 10 Gbit/s and more would take minutes in this test.
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
    fn forward_has_the_packet_hops_of_the_peers() {
        // 16 flows of 12,500 packets a second over five links; packets in flight at the end are not counted.
        let line = result(&["forward", "run.duration=1s"]).expect("it runs");
        let hops: u64 = line.rsplit('=').next().and_then(|n| n.parse().ok()).expect("the line ends in hops");
        assert!((999_000..=1_000_000).contains(&hops), "{line}");
    }

    #[test]
    fn overload_offers_the_same_packets_to_every_discipline_and_keeps_the_link_busy() {
        let counts = |kind: &str| {
            let discipline = format!("switches.r0.ports.r1.discipline={{ kind = \"{kind}\" }}");
            let line = result(&["overload", "run.duration=2s", &discipline]).expect("it runs");
            let number = |name: &str| -> f64 {
                line.split_once(name).and_then(|(_, rest)| rest.split(' ').next()?.parse().ok()).expect("a number")
            };
            (number("offered="), number("delivered="))
        };
        let (offered, delivered) = counts("drop-tail");
        assert!((offered / 21_250.0 - 1.0).abs() < 0.02, "2 s of 85 Mbit/s in packets of 1000 B: {offered}");
        for kind in ["red", "sfb", "drr", "fq-codel"] {
            let (same, busy) = counts(kind);
            assert_eq!(same, offered, "{kind}");
            assert!((busy / delivered - 1.0).abs() < 0.02, "{kind}: {busy} instead of {delivered}");
        }
    }

    #[test]
    fn on_two_threads_the_same_packets_arrive() {
        let hops = |line: &str| line.split_once(" delivered=").map(|(_, counts)| counts.to_owned());
        let [one, two] = ["parallel=1", "parallel=2"]
            .map(|parallel| result(&["net64", parallel, "run.duration=20ms", "run.warmup=0s"]).expect("it runs"));
        assert_eq!(hops(&one), hops(&two));
        assert!(hops(&one).is_some() && one != two, "two partitions have more events");
    }

    #[test]
    fn a_workload_that_does_not_exist_is_refused_by_name() {
        assert!(result(&["forwards"]).expect_err("no such workload").contains("udpqueue"));
    }
}
