//! Pinned results of fixed scenarios on three levels. A difference is reported with the first level on which it shows.
//!
//! - *counts*: every counter of the report, by flow, port, class, conditioner and congestion point;
//! - *times*: delays, completion times, time averages of queues, stops, and the digest of the run;
//! - *state*: the sampled series, with the variables of laws, schedulers and senders, and the windows at the end.
//!
//! A change of behaviour that changes counts usually changes the later levels, too. One that changes only the state
//! leaves all packets unchanged.

#![allow(clippy::disallowed_methods, reason = "an environment variable makes the test accept changed results")]

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use tailback_measure::Digest;
use tailback_sim::Report;

/// Levels in the order in which they are compared.
pub const LEVELS: [&str; 3] = ["counts", "times", "state"];

const ADVICE: &str = "
The results of a fixed scenario have changed. If you did not mean to change what is simulated, this
is an error: find it. If you did (you mended an error, changed the order of events or of random
draws, or added a scenario here), run

    TAILBACK_GOLDEN=accept cargo test -p tailback-sim -p tailback-scenario --test all golden

read the difference, and say in the commit which behaviour has changed and why the new one is right.
";

/// The results of a scenario.
pub struct Levels {
    digests: [Digest; 3],
    /// By name: sums of the report's counters, numbers of other numbers and of time series that are not 0; by reason:
    /// sums of drops.
    pub totals: BTreeMap<String, u64>,
    /// Main totals as text: packets offered and delivered, drops by reason, and other counts that are not 0.
    summary: String,
}

impl Levels {
    /// Returns the levels of a report. Fields that are 0, absent or empty are left out, so that a counter that is added
    /// to the report changes nothing where it is 0.
    pub fn of(report: &Report) -> Levels {
        let value = serde_json::to_value(report).expect("a report has text keys");
        let mut levels = Levels {
            digests: [Digest::new(), Digest::new(), Digest::new()],
            totals: BTreeMap::new(),
            summary: String::new(),
        };
        for (key, value) in value.as_object().into_iter().flatten() {
            match key.as_str() {
                // The number of events depends on the engine.
                "version" | "schema" | "seed" | "events" => {}
                "digest" => levels.digests[1].text(value.as_str().unwrap_or_default()),
                "series" => levels.series(key, value),
                _ => levels.add(key, key, value),
            }
        }
        levels.summary = summary(report);
        levels
    }

    /// Adds the value at `path` of the report; `name` is its key, or, for the key `packets`, the key of the table
    /// around it.
    fn add(&mut self, path: &str, name: &str, value: &Value) {
        match value {
            Value::Null | Value::Bool(false) => {}
            Value::Bool(true) => self.put(0, path, 1),
            Value::String(text) => {
                self.digests[0].text(path);
                self.digests[0].text(text);
            }
            Value::Number(number) => match number.as_u64() {
                Some(0) => {}
                Some(count) => {
                    self.put(0, path, count);
                    *self.totals.entry(name.to_owned()).or_default() += count;
                }
                None => {
                    let real = number.as_f64().expect("a number is whole or real");
                    let is_state = ["window", "ssthresh", "srtt_s"].contains(&name);
                    if real != 0.0 {
                        self.put(if is_state { 2 } else { 1 }, path, real.to_bits());
                        *self.totals.entry(name.to_owned()).or_default() += 1;
                    }
                }
            },
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    self.add(&format!("{path}[{index}]"), name, value);
                }
            }
            Value::Object(table) => self.table(path, name, table),
        }
    }

    /// Adds the values of a table, and its drops if it has a reason.
    fn table(&mut self, path: &str, name: &str, table: &Map<String, Value>) {
        if let (Some(reason), Some(packets)) = (table.get("reason"), table.get("packets")) {
            let reason = reason.as_str().unwrap_or_default().to_owned();
            *self.totals.entry(reason).or_default() += packets.as_u64().unwrap_or(0);
        }
        for (key, value) in table {
            let name = if key == "packets" { name } else { key };
            self.add(&format!("{path}.{key}"), name, value);
        }
    }

    /// Adds the time series in a value to the state; series of zeros are left out.
    fn series(&mut self, path: &str, value: &Value) {
        match value {
            Value::Object(table) => {
                for (key, value) in table {
                    self.series(&format!("{path}.{key}"), value);
                }
            }
            Value::Array(list) if list.iter().any(|value| bits(value) != 0) => {
                self.digests[2].text(path);
                for value in list {
                    self.digests[2].u64(bits(value));
                }
                let name = path.rsplit('.').next().unwrap_or(path);
                *self.totals.entry(name.to_owned()).or_default() += 1;
            }
            _ => {}
        }
    }

    /// Adds a number and its path to the digest of a level.
    fn put(&mut self, level: usize, path: &str, value: u64) {
        self.digests[level].text(path);
        self.digests[level].u64(value);
    }

    /// Returns the line of a scenario: name, totals, and 64 bits of each level's digest.
    pub fn line(&self, name: &str) -> String {
        let mut line = format!("{name}: {}", self.summary);
        for (level, digest) in LEVELS.iter().zip(&self.digests) {
            write!(line, "; {level} {}", &digest.finish()[4..20]).expect("writing to a string does not fail");
        }
        line
    }
}

/// Returns the bits of a sample; a missing sample differs from every number.
fn bits(value: &Value) -> u64 {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| Some(number.as_f64()?.to_bits())).unwrap_or(0),
        Value::Bool(set) => u64::from(*set),
        _ => u64::MAX,
    }
}

/// Returns the main totals of a report as text.
fn summary(report: &Report) -> String {
    let (mut offered, mut delivered, mut sums) = (0, 0, Vec::<(String, u64)>::new());
    let mut add = |name: &str, count: u64| match sums.iter_mut().find(|(known, _)| known == name) {
        Some((_, sum)) => *sum += count,
        None => sums.push((name.to_owned(), count)),
    };
    for flow in report.flows.iter() {
        offered += flow.offered.packets;
        delivered += flow.delivered.packets;
        for drop in flow.drops.iter().chain(&flow.carried_drops).chain(&flow.ack_drops) {
            add(&drop.reason, drop.packets);
        }
        add("reordered", flow.reordered);
        if let Some(transport) = &flow.transport {
            add("retransmitted", transport.retransmissions);
            add("timeouts", transport.timeouts);
            add("undone", transport.spurious);
        }
    }
    for port in &report.ports {
        add("marked", port.classes.iter().map(|class| class.marked_packets).sum());
    }
    add("control frames", report.control_frames);
    add("hops", report.packet_hops);
    let mut text = format!("offered {offered}, delivered {delivered}");
    for (name, count) in sums.iter().filter(|(_, count)| *count > 0) {
        write!(text, ", {name} {count}").expect("writing to a string does not fail");
    }
    text
}

/// Compares lines with those of a file, or writes the file if `TAILBACK_GOLDEN` is `accept`.
///
/// # Panics
/// If a line differs, with the first level at which it does.
#[track_caller]
pub fn compare(path: &Path, lines: &[String]) {
    let now = format!("# scenario: totals; 64 bits of the digest of each level\n{}\n", lines.join("\n"));
    if std::env::var("TAILBACK_GOLDEN").is_ok_and(|v| v == "accept") {
        std::fs::write(path, &now).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        return;
    }
    let before = std::fs::read_to_string(path).unwrap_or_default();
    let changed = differences(&before, &now);
    assert!(changed.is_empty(), "{}:\n{}\n{ADVICE}", path.display(), changed.join("\n"));
}

/// Returns a text for each scenario that differs, with the first level on which it does.
fn differences(before: &str, now: &str) -> Vec<String> {
    let (before, now) = (parsed(before), parsed(now));
    let mut changed = Vec::new();
    for (name, [totals, counts, times, state]) in &now {
        let Some(old) = before.get(name) else {
            changed.push(format!("{name} is new: {totals}"));
            continue;
        };
        let level = if old[0] != *totals || old[1] != *counts {
            "counts differ"
        } else if old[2] != *times {
            "counts are the same, times differ"
        } else if old[3] != *state {
            "counts and times are the same, the state differs"
        } else {
            continue;
        };
        changed.push(format!("{name}: {level}\n    before {}\n    now    {totals}", old[0]));
    }
    changed.extend(before.keys().filter(|name| !now.contains_key(*name)).map(|name| format!("{name} is gone")));
    changed
}

/// Returns the four texts of each scenario in a file: totals, and the digests of counts, times and state.
pub fn parsed(file: &str) -> BTreeMap<&str, [&str; 4]> {
    fn scenario(line: &str) -> Option<(&str, [&str; 4])> {
        let (name, rest) = line.split_once(": ").filter(|_| !line.starts_with('#'))?;
        let mut parts = rest.split("; ");
        Some((name, std::array::from_fn(|_| parts.next().unwrap_or_default())))
    }
    file.lines().filter_map(scenario).collect()
}

/// Asserts that no two scenarios have equal digests on any level. `files` has the name and the text of each file.
///
/// # Panics
/// If two digests are equal, with the names of the scenarios.
#[track_caller]
pub fn all_differ(files: &[(&str, String)]) {
    let scenarios = |(file, text): &'_ (&str, String)| -> Vec<(String, [String; 4])> {
        let named = |(name, parts): (&str, [&str; 4])| (format!("{file}: {name}"), parts.map(str::to_owned));
        parsed(text).into_iter().map(named).collect()
    };
    let all: Vec<(String, [String; 4])> = files.iter().flat_map(scenarios).collect();
    let mut alike = Vec::new();
    for (i, (name, mine)) in all.iter().enumerate() {
        for (other, theirs) in &all[..i] {
            let same = (0..3).filter(|level| mine[level + 1] == theirs[level + 1]);
            alike.extend(same.map(|level| format!("{other} and {name} have the same {}", LEVELS[level])));
        }
    }
    assert!(alike.is_empty(), "{}", alike.join("\n"));
}

#[test]
fn a_difference_is_named_by_its_first_level() {
    let line = |counts, times, state| format!("a: offered 1; counts {counts}; times {times}; state {state}\n");
    let reported = |now: &str| differences(&line(1, 2, 3), now).join("\n");
    assert_eq!(reported(&line(1, 2, 3)), "");
    assert!(reported(&line(4, 5, 6)).starts_with("a: counts differ"));
    assert!(reported(&line(1, 5, 6)).starts_with("a: counts are the same, times differ"));
    assert!(reported(&line(1, 2, 6)).starts_with("a: counts and times are the same, the state differs"));
    assert_eq!(reported("b: offered 1; counts 1; times 2; state 3"), "b is new: offered 1\na is gone");
}
