//! Source of the rules of a part of TCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of the rules of a congestion control, of the recovery, or of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The RFC or draft that the part names.
    #[default]
    Rfc,
    /// Linux 6.1.
    Linux,
}
