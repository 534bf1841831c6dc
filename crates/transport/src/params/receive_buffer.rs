//! Parameter `receive-buffer`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Size;

/// Receive buffer of Linux 6.1, which grows with the data of a round trip, and with it the window that the receiver offers
/// (`tcp_rcv_space_adjust`, `tcp_grow_window`, `__tcp_select_window`). Half of a buffer is for the data, the other half for
/// the kernel's overhead (`tcp_win_from_space`), so that the first window is 64 KiB less a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ReceiveBuffer {
    /// Size at the start, 16 KiB to 1 GiB (the second number of `tcp_rmem`). Default 131072 B.
    pub initial: Size,
    /// Largest size, at least `initial`, at most 1 GiB (the third number of `tcp_rmem`). Default 6291456 B, as on hosts with
    /// enough memory.
    pub max: Size,
}

impl Default for ReceiveBuffer {
    fn default() -> ReceiveBuffer {
        ReceiveBuffer { initial: Size(131_072), max: Size(6_291_456) }
    }
}

/// Smallest buffer, bytes; it holds a few segments.
const LEAST: u64 = 16 << 10;
/// Largest buffer, bytes: the window then fits into the header with the largest scale (RFC 7323 section 2.3).
const MOST: u64 = 1 << 30;

impl ReceiveBuffer {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a size is out of range: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(LEAST..=MOST).contains(&self.initial.0) {
            let message = format!("{} is out of range; write 16384B to 1073741824B", self.initial);
            return Err(Invalid::new("initial", message));
        }
        if !(self.initial.0..=MOST).contains(&self.max.0) {
            let message = format!("{} is out of range; write {}B to 1073741824B", self.max, self.initial.0);
            return Err(Invalid::new("max", message));
        }
        Ok(())
    }
}
