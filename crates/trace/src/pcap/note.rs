//! Comments on frames that a queue has dropped or marked.

use crate::network::Network;
use std::fmt::Write;
use tailback_sim::trace::Row;

/// Returns the comment on a dropped frame: the reason, the place, the queue and the state of its discipline.
pub(super) fn drop(network: &Network, row: &Row) -> String {
    let reason = row.reason.map_or_else(|| "unknown reason".to_owned(), |reason| reason.to_string());
    describe(network, row, &format!("dropped ({reason})"))
}

/// Returns the comment on a frame that a queue marks.
pub(super) fn mark(network: &Network, row: &Row) -> String {
    describe(network, row, "marked (congestion experienced)")
}

fn describe(network: &Network, row: &Row, event: &str) -> String {
    let port = &network.ports[row.port as usize];
    let mut text = format!("{event} at {}, class {}", port.name, row.class);
    if row.queue_packets > 0 || !row.state.is_empty() {
        let _ = write!(text, "; queue {} packets, {} B", row.queue_packets, row.queue_bytes);
    }
    let names = port.state.get(usize::from(row.class)).into_iter().flatten();
    for (name, value) in names.zip(&row.state) {
        let _ = write!(text, "; {name} {value}");
    }
    text
}
