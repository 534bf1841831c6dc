//! Values of a document's tables.

use serde_json::{Value, json};

pub(super) fn put(table: &mut Value, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        table[key] = json!(value);
    }
}

pub(super) fn bits(rate: u64) -> String {
    format!("{rate}bit/s")
}

pub(super) fn packets(n: u64) -> String {
    if n == 1 { "1packet".to_owned() } else { format!("{n}packets") }
}
