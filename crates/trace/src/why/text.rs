//! Explanations as text.

use super::blame::BlameRow;
use super::chain::{CauseNode, End, StopNode};
use super::decision::Decision;
use super::packet::PacketStory;
use super::port::PortStory;
use super::queue::{Share, total};
use super::stops::Ended;
use std::fmt::Write;

/// Shares that a line lists before it sums up the others.
const LISTED: usize = 4;

/// Returns a time in seconds with six decimals at least.
pub(super) fn instant(ps: u64) -> String {
    let micros = ps / 1_000_000;
    let rest = ps % 1_000_000;
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    if rest == 0 { format!("{text} s") } else { format!("{text}{:03} s", rest / 1000) }
}

/// Returns a duration with three digits.
pub(super) fn span(ps: u64) -> String {
    let units = [(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1.0, "ps")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| ps as f64 >= *scale).unwrap_or((1.0, "ps"));
    format!("{} {unit}", digits(ps as f64 / scale))
}

/// Returns a number of bytes with three digits.
pub(super) fn size(bytes: u64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(scale, _)| bytes as f64 >= *scale) {
        Some((scale, unit)) => format!("{} {unit}", digits(bytes as f64 / scale)),
        None => format!("{bytes} B"),
    }
}

/// Returns a number with three significant digits, without zeros at its end.
fn digits(value: f64) -> String {
    let decimals = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Returns a fraction as a percentage.
pub(super) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 { "0 %".to_owned() } else { format!("{} %", digits(100.0 * part as f64 / whole as f64)) }
}

/// Returns shares in one line.
pub(super) fn composition(shares: &[Share]) -> String {
    let whole = total(shares);
    let one = |share: &Share| format!("{} {} ({})", share.flow, size(share.bytes), percent(share.bytes, whole));
    let mut parts: Vec<String> = shares.iter().take(LISTED).map(one).collect();
    let rest = total(shares.get(LISTED..).unwrap_or_default());
    if rest > 0 {
        parts.push(format!("{} others {}", shares.len() - LISTED, size(rest)));
    }
    parts.join(", ")
}

/// Returns the numbers of a law.
pub(super) fn numbers(decision: &Decision) -> String {
    let one = |(name, value): &(&str, f64)| format!("{name} {}", number(*value));
    decision.numbers.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn number(value: f64) -> String {
    if value == 0.0 || (0.01..1e15).contains(&value.abs()) {
        if value.fract() == 0.0 { format!("{value:.0}") } else { digits_signed(value) }
    } else {
        format!("{value:.3e}")
    }
}

fn digits_signed(value: f64) -> String {
    if value < 0.0 { format!("-{}", digits(-value)) } else { digits(value) }
}

impl PacketStory {
    /// Returns the explanation as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{}", self.verdict);
        let _ = writeln!(out);
        self.table(&mut out);
        for hop in &self.hops {
            let whole = hop.queue_bytes;
            if whole > 0 {
                let _ = writeln!(
                    out,
                    "{}: {} before it in class {}: {}",
                    hop.port,
                    size(whole),
                    hop.class,
                    composition(&hop.before)
                );
            }
            if !hop.others.is_empty() && hop.waits.behind_ps > 0 {
                let _ = writeln!(out, "{}: in other classes: {}", hop.port, composition(&hop.others));
            }
            if !hop.overtook.is_empty() {
                let _ = writeln!(
                    out,
                    "{}: {} overtook it: {}",
                    hop.port,
                    size(total(&hop.overtook)),
                    composition(&hop.overtook)
                );
            }
            if !hop.at_input.is_empty() {
                let _ = writeln!(out, "{}: before it at the input: {}", hop.port, composition(&hop.at_input));
            }
        }
        for decision in &self.decisions {
            decision_text(&mut out, decision);
        }
        for stop in &self.chain {
            let _ = writeln!(out);
            stop_text(&mut out, stop, 0);
        }
        out
    }

    fn table(&self, out: &mut String) {
        let names =
            ["source", "input", "behind", "stopped", "slowed", "link down", "held", "serialisation", "propagation"];
        let used: Vec<usize> =
            (0..names.len()).filter(|at| self.hops.iter().any(|hop| hop.waits.parts()[*at].1 > 0)).collect();
        let mut rows = vec![vec!["port".to_owned(), "from".to_owned()]];
        rows[0].extend(used.iter().map(|at| names[*at].to_owned()));
        rows[0].push("sum".to_owned());
        for hop in &self.hops {
            let mut row = vec![hop.port.clone(), instant(hop.from_ps)];
            let parts = hop.waits.parts();
            row.extend(used.iter().map(|at| if parts[*at].1 > 0 { span(parts[*at].1) } else { "-".to_owned() }));
            row.push(span(hop.waits.total()));
            rows.push(row);
        }
        columns(out, &rows);
    }
}

/// Writes a table whose first column is text, and the others numbers.
fn columns(out: &mut String, rows: &[Vec<String>]) {
    let count = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..count).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let width = widths[at];
            let _ = if at == 0 { write!(line, "  {cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn decision_text(out: &mut String, decision: &Decision) {
    let event = if decision.event == "mark" { "marked" } else { "dropped" };
    let _ = write!(out, "{} at {} by {}", event, decision.port, decision.law);
    if let Some(reason) = &decision.reason {
        let _ = write!(out, ": {reason}");
    }
    let _ = write!(
        out,
        "; {} in {} packets waited, it has {}",
        size(decision.queue_bytes),
        decision.queue_packets,
        size(decision.bytes)
    );
    if let Some(limit) = decision.limit_bytes {
        let _ = write!(out, ", limit {}", size(limit));
    }
    if let Some(limit) = decision.limit_packets {
        let _ = write!(out, ", limit {limit} packets");
    }
    if !decision.numbers.is_empty() {
        let _ = write!(out, "; {}", numbers(decision));
    }
    let _ = writeln!(out);
    if let Some(memory) = &decision.memory {
        let by_port = |(port, bytes): &(String, u64)| format!("{port} {}", size(*bytes));
        let ports = memory.ports.iter().take(LISTED).map(by_port).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            out,
            "memory of {}: {} of {} in use{}{ports}; {}",
            memory.node,
            size(memory.used_bytes),
            size(memory.memory_bytes),
            if ports.is_empty() { "" } else { ": " },
            composition(&memory.flows)
        );
    }
}

/// Writes a stop and the tree behind it.
fn stop_text(out: &mut String, stop: &StopNode, depth: usize) {
    let indent = "  ".repeat(depth);
    let verb = if stop.slows { "slowed" } else { "stopped" };
    let end = match (stop.until_ps, stop.ended) {
        (None, _) => "to the end of the run".to_owned(),
        (Some(until), ended) => format!("until {} ({})", instant(until), how(ended)),
    };
    let _ = writeln!(
        out,
        "{indent}{} was {verb} by {} ({}) from {} {end}",
        stop.port,
        stop.signal,
        stop.traffic,
        instant(stop.since_ps)
    );
    if let Some(end) = &stop.end {
        let _ = writeln!(out, "{indent}  = {}", end_text(end));
    }
    for cause in &stop.causes {
        cause_text(out, cause, depth + 1);
    }
}

fn cause_text(out: &mut String, cause: &CauseNode, depth: usize) {
    let indent = "  ".repeat(depth);
    if let Some(End::Storm { host }) = &cause.end {
        let _ = writeln!(out, "{indent}< {host} sends PAUSE frames continuously, since {}", instant(cause.notified_ps));
        return;
    }
    let _ = write!(out, "{indent}< {}", place(cause));
    if let Some(at) = cause.congested_ps {
        let _ = write!(out, " congested since {}: {}", instant(at), size(cause.level));
        if let Some(threshold) = cause.threshold {
            let _ = write!(out, ", threshold {}", size(threshold));
        }
    }
    if !cause.filled_by.is_empty() {
        let _ = write!(out, "; it holds {}", composition(&cause.filled_by));
    }
    let _ = writeln!(out);
    if cause.input || cause.waits_at.len() > 1 {
        for group in &cause.waits_at {
            let _ = writeln!(out, "{indent}  {} waits at {}", size(group.bytes), group.port);
        }
    }
    if let Some(end) = &cause.end {
        let _ = writeln!(out, "{indent}  = {}", end_text(end));
    }
    for stop in &cause.stops {
        stop_text(out, stop, depth + 1);
    }
}

/// Returns a congested queue in words.
pub(super) fn place(cause: &CauseNode) -> String {
    let to = cause.destination.as_ref().map_or_else(String::new, |to| format!(" to {to}"));
    if cause.input {
        format!("the input of {}, class {}{to},", cause.port, cause.class)
    } else {
        format!("the queue of {}, class {}{to},", cause.port, cause.class)
    }
}

fn how(ended: Ended) -> &'static str {
    match ended {
        Ended::InForce => "in force",
        Ended::Withdrawn => "withdrawn",
        Ended::Expired => "its time ran out",
        Ended::Watchdog => "the watchdog ignored it",
        Ended::LinkDown => "the link went down",
    }
}

/// Returns the end of a chain in words.
pub(super) fn end_text(end: &End) -> String {
    match end {
        End::Congested { port } => format!("the link of {port} carries less than arrives for it"),
        End::Storm { host } => format!("{host} sends PAUSE frames continuously"),
        End::Ring { ports } => format!("a ring of ports that wait for each other: {}", ports.join(", ")),
        End::Above { port } => format!("the stop of {port} is explained above"),
        End::Unknown => "the cause is not in the trace".to_owned(),
    }
}

impl PortStory {
    /// Returns the explanation as text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{}", self.verdict);
        let _ = writeln!(out);
        let _ = writeln!(out, "at its longest: {}", composition(&self.worst.shares));
        if self.stopped_ps > 0 {
            let _ = writeln!(out, "stopped by notifications for {} of the run", span(self.stopped_ps));
        }
        let _ = writeln!(out);
        let titles = ["flow", "class", "share", "mean", "arrived", "dropped", "marked", "reasons"];
        let mut rows = vec![titles.map(str::to_owned).to_vec()];
        rows.extend(self.blame.iter().map(blame_row));
        columns(&mut out, &rows);
        if let Some(stop) = &self.chain {
            let _ = writeln!(out);
            stop_text(&mut out, stop, 0);
        }
        out
    }
}

fn blame_row(row: &BlameRow) -> Vec<String> {
    let reasons = row.drops.iter().map(|(reason, count)| format!("{reason} {count}")).collect::<Vec<_>>().join(", ");
    vec![
        row.flow.clone(),
        row.class.to_string(),
        format!("{} %", digits(100.0 * row.share)),
        size(row.mean_bytes.round() as u64),
        row.arrived_packets.to_string(),
        row.dropped_packets.to_string(),
        row.marked_packets.to_string(),
        reasons,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_three_digits_and_a_unit() {
        assert_eq!(instant(1_204_300_000_000), "1.204300 s");
        assert_eq!(instant(1_204_300_123_000), "1.204300123 s");
        assert_eq!([span(1_500_000_000), span(12_340), span(999)], ["1.5 ms", "12.3 ns", "999 ps"]);
        assert_eq!([size(999), size(31_240), size(2_000_000)], ["999 B", "31.2 kB", "2 MB"]);
        assert_eq!([percent(71, 100), percent(1, 3), percent(0, 0)], ["71 %", "33.3 %", "0 %"]);
    }
}
