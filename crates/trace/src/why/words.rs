//! Parts of the texts: compositions of queues, state variables of disciplines, names of congested queues.

use super::chain::CauseNode;
use super::decision::Decision;
use super::queue::{Share, total};
use super::units::{number, percent, size, span};

/// Number of shares that a line lists; it gives only the sum of the others.
pub(super) const LISTED: usize = 4;

/// Returns shares in one line, with their sizes and their percentages of the total.
pub(super) fn composition(shares: &[Share]) -> String {
    let whole = total(shares);
    let one = |share: &Share| format!("{} {} ({})", share.flow, size(share.bytes), percent(share.bytes, whole));
    let mut parts: Vec<String> = shares.iter().take(LISTED).map(one).collect();
    let others = total(shares.get(LISTED..).unwrap_or_default());
    if others > 0 {
        parts.push(format!("{} others {}", shares.len() - LISTED, size(others)));
    }
    parts.join(", ")
}

/// Returns the state variables of the discipline and its thresholds, separated by commas.
pub(super) fn numbers(decision: &Decision) -> String {
    let one = |(name, value): &(&str, f64)| match name {
        _ if *value < 0.0 || !value.is_finite() => format!("{name} {value}"),
        name if name.ends_with("_bytes") => {
            format!("{} {}", name.trim_end_matches("_bytes"), size(value.round() as u64))
        }
        name if name.ends_with("_seconds") => {
            format!("{} {}", name.trim_end_matches("_seconds"), span((value * 1e12).round() as u64))
        }
        name => format!("{} {}", name.replace('_', " "), number(*value)),
    };
    let values = decision.numbers.iter().map(one);
    let limits = decision.thresholds.iter().map(|text| format!("parameter {text}"));
    values.chain(limits).collect::<Vec<_>>().join(", ")
}

/// Returns a congested queue in words, with a comma at the end.
pub(super) fn place(cause: &CauseNode) -> String {
    let to = cause.destination.as_ref().map_or_else(String::new, |to| format!(" to {to}"));
    if cause.input {
        format!("the input of {}, class {}{to},", cause.port, cause.class)
    } else {
        format!("the queue of {}, class {}{to},", cause.port, cause.class)
    }
}
