//! Writers of values in documents.

use serde_json::{Value, json};

/// Sets a key of a table; `None`: leaves it out.
pub(super) fn put(table: &mut Value, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        table[key] = json!(value);
    }
}

/// Formats a rate in bit/s.
pub(super) fn bits(rate: u64) -> String {
    format!("{rate}bit/s")
}

/// Formats a number of packets.
pub(super) fn packets(n: u64) -> String {
    if n == 1 { "1packet".to_owned() } else { format!("{n}packets") }
}
