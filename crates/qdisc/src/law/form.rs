//! Form of a mechanism whose implementation in Linux differs from its publication.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Source of a mechanism's rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// The publication or RFC that the discipline's documentation names.
    #[default]
    Published,
    /// Linux 6.1.
    Linux,
}

impl Form {
    /// Returns `true` for the default.
    pub fn is_published(&self) -> bool {
        *self == Form::Published
    }
    /// Returns the form of a law inside a discipline of this form, if its own is `own`: form "linux" holds inside, too.
    #[must_use]
    pub fn of_law(self, own: Form) -> Form {
        if self == Form::Linux { Form::Linux } else { own }
    }
}
