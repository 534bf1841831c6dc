//! Explanations as text.

use super::blame::BlameRow;
use super::chain::{CauseNode, End, StopNode};
use super::decision::Decision;
use super::packet::PacketStory;
use super::port::PortStory;
use super::queue::total;
use super::stops::Ended;
use super::units::{digits, instant, size, span};
use super::words::{LISTED, composition, numbers, place};
use std::fmt::Write;

impl PacketStory {
    /// Returns the explanation as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "{}", self.verdict);
        let _ = writeln!(text);
        self.table(&mut text);
        for hop in &self.hops {
            if hop.queue_bytes > 0 {
                let _ = writeln!(
                    text,
                    "{}: {} before it in class {}: {}",
                    hop.port,
                    size(hop.queue_bytes),
                    hop.class,
                    composition(&hop.before)
                );
            }
            if !hop.others.is_empty() && hop.waits.behind_ps > 0 {
                let _ = writeln!(text, "{}: in other classes: {}", hop.port, composition(&hop.others));
            }
            if !hop.overtook.is_empty() {
                let _ = writeln!(
                    text,
                    "{}: {} overtook it: {}",
                    hop.port,
                    size(total(&hop.overtook)),
                    composition(&hop.overtook)
                );
            }
            if !hop.at_input.is_empty() {
                let _ = writeln!(text, "{}: before it at the input: {}", hop.port, composition(&hop.at_input));
            }
        }
        for decision in &self.decisions {
            decision_text(&mut text, decision);
        }
        for stop in &self.chain {
            let _ = writeln!(text);
            stop_text(&mut text, stop, 0);
        }
        text
    }

    /// Writes the table of the hops with the parts of the delay that are not zero.
    fn table(&self, text: &mut String) {
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
        columns(text, &rows);
    }
}

/// Writes a table. The first column is aligned to the left, the others to the right; all rows have the same number of
/// cells.
fn columns(text: &mut String, rows: &[Vec<String>]) {
    let count = rows.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..count).map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    for row in rows {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let width = widths[at];
            let _ = if at == 0 { write!(line, "  {cell:<width$}") } else { write!(line, "  {cell:>width$}") };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

/// Writes a drop or a mark.
fn decision_text(text: &mut String, decision: &Decision) {
    let event = if decision.event == "mark" { "marked" } else { "dropped" };
    let _ = write!(text, "{} at {} by {}", event, decision.port, decision.law);
    if let Some(reason) = &decision.reason {
        let _ = write!(text, ": {reason}");
    }
    let _ = write!(
        text,
        "; {} in {} packets waited, it has {}",
        size(decision.queue_bytes),
        decision.queue_packets,
        size(decision.bytes)
    );
    if let Some(limit) = decision.limit_bytes {
        let _ = write!(text, ", limit {}", size(limit));
    }
    if let Some(limit) = decision.limit_packets {
        let _ = write!(text, ", limit {limit} packets");
    }
    let numbers = numbers(decision);
    if !numbers.is_empty() {
        let _ = write!(text, "; {numbers}");
    }
    let _ = writeln!(text);
    if let Some(memory) = &decision.memory {
        let by_port = |(port, bytes): &(String, u64)| format!("{port} {}", size(*bytes));
        let ports = memory.ports.iter().take(LISTED).map(by_port).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "memory of {}: {} of {} in use{}{ports}; {}",
            memory.node,
            size(memory.used_bytes),
            size(memory.memory_bytes),
            if ports.is_empty() { "" } else { ": " },
            composition(&memory.flows)
        );
    }
}

/// Writes a stop and the tree of its causes, indented by `depth` levels.
fn stop_text(text: &mut String, stop: &StopNode, depth: usize) {
    let indent = "  ".repeat(depth);
    let verb = if stop.slows { "slowed" } else { "stopped" };
    let end = match (stop.until_ps, stop.ended) {
        (None, _) => "on".to_owned(),
        (Some(until), ended) => format!("until {} ({})", instant(until), end_reason(ended)),
    };
    let _ = writeln!(
        text,
        "{indent}{} was {verb} by {} ({}) from {} {end}",
        stop.port,
        stop.signal,
        stop.traffic,
        instant(stop.since_ps)
    );
    if let Some(end) = &stop.end {
        let _ = writeln!(text, "{indent}  = {}", end_text(end));
    }
    for cause in &stop.causes {
        cause_text(text, cause, depth + 1);
    }
}

/// Writes a cause of a stop and the tree behind it, indented by `depth` levels.
fn cause_text(text: &mut String, cause: &CauseNode, depth: usize) {
    let indent = "  ".repeat(depth);
    if let Some(End::Storm { host }) = &cause.end {
        let _ =
            writeln!(text, "{indent}< {host} sends PAUSE frames continuously, since {}", instant(cause.notified_ps));
        return;
    }
    let _ = write!(text, "{indent}< {}", place(cause));
    if let Some(at) = cause.congested_ps {
        let _ = write!(text, " congested since {}: {}", instant(at), size(cause.level));
        if let Some(threshold) = cause.threshold {
            let _ = write!(text, ", threshold {}", size(threshold));
        }
    }
    if !cause.filled_by.is_empty() {
        let _ = write!(text, "; it holds {}", composition(&cause.filled_by));
    }
    let _ = writeln!(text);
    if cause.input || cause.waits_at.len() > 1 {
        for group in &cause.waits_at {
            let _ = writeln!(text, "{indent}  {} waits at {}", size(group.bytes), group.port);
        }
    }
    if let Some(end) = &cause.end {
        let _ = writeln!(text, "{indent}  = {}", end_text(end));
    }
    for stop in &cause.stops {
        stop_text(text, stop, depth + 1);
    }
}

/// Returns the reason of the end of a stop in words.
fn end_reason(ended: Ended) -> &'static str {
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
        let mut text = String::new();
        let _ = writeln!(text, "{}", self.verdict);
        let _ = writeln!(text);
        let _ = writeln!(text, "at its longest: {}", composition(&self.worst.shares));
        if self.stopped_ps > 0 {
            let _ = writeln!(text, "notifications had stopped it for {} until then", span(self.stopped_ps));
        }
        let _ = writeln!(text);
        let titles = ["flow", "class", "share", "mean", "arrived", "dropped", "marked", "reasons"];
        let mut rows = vec![titles.map(str::to_owned).to_vec()];
        rows.extend(self.blame.iter().map(blame_row));
        columns(&mut text, &rows);
        if let Some(stop) = &self.chain {
            let _ = writeln!(text);
            stop_text(&mut text, stop, 0);
        }
        text
    }
}

/// Returns the cells of a flow's row in the table.
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
