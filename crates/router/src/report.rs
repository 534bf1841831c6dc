//! Report about a configuration: remarks with line and column.

use core::fmt;
use serde::Serialize;
use std::collections::BTreeSet;

/// Place in a text. All places compare equal, so that configurations of the same meaning are equal irrespective of
/// their layout.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Line, from 1; 0: not in the text.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Place {
    /// Returns the place of a line and column, both from 1.
    pub const fn new(line: u32, column: u32) -> Place {
        Place { line, column }
    }
}
impl PartialEq for Place {
    fn eq(&self, _: &Place) -> bool {
        true
    }
}
impl Eq for Place {}

/// Severity of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The configuration is contradictory, or a router would refuse it: there is no result.
    Error,
    /// Unsupported: a line or a part of one was omitted.
    Unsupported,
    /// Assumed: a value that affects the result and is not stated, such as a link rate, a default of the platform, or
    /// the bytes of the link layer.
    Assumed,
    /// Probably a mistake, or simulated approximately.
    Warning,
    /// Without effect on queues, such as a description, a host name or an address.
    Ignored,
}

impl Level {
    /// Returns the name of the level in reports.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Unsupported => "unsupported",
            Level::Assumed => "assumed",
            Level::Warning => "warning",
            Level::Ignored => "ignored",
        }
    }
}

/// Part of a configuration to which a remark refers. Only remarks on parts that the port reaches can affect its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The configuration as a whole: any port may be affected.
    #[default]
    Everything,
    /// An interface.
    Port(String),
    /// A policy, with its classes.
    Policy(String),
    /// A named condition.
    ClassMap(String),
    /// An access list.
    AccessList(String),
    /// Another named part of policies, such as a scheduler or a firewall filter.
    Part(String),
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// Severity.
    pub level: Level,
    /// Line, from 1; 0: the configuration as a whole.
    pub line: u32,
    /// Column in characters, from 1; 0: the configuration as a whole.
    pub column: u32,
    /// Text of the line, trimmed.
    pub text: String,
    /// Message: a phrase without capital and full stop.
    pub message: String,
    /// Advice on how to avoid the remark; `None`: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// Part of the configuration to which it refers.
    #[serde(skip)]
    pub scope: Scope,
    /// `true` if it can affect the result of the port. [`Report::settle`] clears it if the port does not reach that
    /// part; always `false` for [`Level::Ignored`].
    pub affects: bool,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        write!(f, "{}: {}", self.level.name(), self.message)?;
        if !self.text.is_empty() {
            write!(f, "  [{}]", self.text)?;
        }
        self.advice.as_ref().map_or(Ok(()), |advice| write!(f, "; {advice}"))
    }
}

/// All remarks on a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Report {
    notices: Vec<Notice>,
    /// Current scope of new remarks.
    #[serde(skip)]
    scope: Scope,
}

impl Report {
    /// Adds a remark on the text at `at`, in the current scope; `advice`: how to avoid the remark, if it can be
    /// avoided.
    pub fn add(&mut self, level: Level, at: Place, message: impl Into<String>, advice: Option<&str>) {
        self.notices.push(Notice {
            level,
            line: at.line,
            column: at.column,
            text: String::new(),
            message: message.into(),
            advice: advice.map(str::to_owned),
            scope: self.scope.clone(),
            affects: level != Level::Ignored,
        });
    }
    /// Sets the scope of new remarks.
    pub fn enter(&mut self, scope: Scope) {
        self.scope = scope;
    }
    /// Clears [`Notice::affects`] of remarks on parts outside `reached`, the parts on which the result of a port
    /// depends. Assumptions without a line among these remarks are removed.
    pub fn settle(&mut self, reached: &BTreeSet<Scope>) {
        for notice in &mut self.notices {
            let reaches = notice.scope == Scope::Everything || reached.contains(&notice.scope);
            notice.affects = notice.affects && reaches;
        }
        self.notices.retain(|notice| notice.affects || notice.line > 0 || notice.level != Level::Assumed);
    }
    /// Adds an error.
    pub fn error(&mut self, at: Place, message: impl Into<String>, advice: &str) {
        self.add(Level::Error, at, message, Some(advice));
    }
    /// Adds a warning.
    pub fn warning(&mut self, at: Place, message: impl Into<String>, advice: &str) {
        self.add(Level::Warning, at, message, Some(advice));
    }
    /// Adds a remark on an unsupported part.
    pub fn unsupported(&mut self, at: Place, message: impl Into<String>, advice: Option<&str>) {
        self.add(Level::Unsupported, at, message, advice);
    }
    /// Adds an assumption.
    pub fn assumed(&mut self, at: Place, message: impl Into<String>, advice: &str) {
        self.add(Level::Assumed, at, message, Some(advice));
    }
    /// Adds a remark on a line without effect on queues.
    pub fn ignored(&mut self, at: Place, message: impl Into<String>) {
        self.add(Level::Ignored, at, message, None);
    }
    /// Returns all remarks, in the order in which they were added; after [`Report::quote`] in that of their lines.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
    /// `true` if there is an error.
    pub fn has_errors(&self) -> bool {
        self.notices.iter().any(|notice| notice.level == Level::Error)
    }
    /// Adds all remarks of another report, in their scopes.
    pub fn append(&mut self, other: Report) {
        self.notices.extend(other.notices);
    }
    /// Removes remarks with the same level, place, message and scope as an earlier one.
    pub fn unique(&mut self) {
        let mut seen = BTreeSet::new();
        self.notices.retain(|notice| {
            seen.insert((notice.level, notice.line, notice.column, notice.message.clone(), notice.scope.clone()))
        });
    }
    /// Quotes the lines of `source` in the remarks, and sorts the remarks by line and column.
    pub fn quote(&mut self, source: &str) {
        let lines: Vec<&str> = source.lines().collect();
        for notice in &mut self.notices {
            let line = notice.line.checked_sub(1).and_then(|index| lines.get(index as usize));
            notice.text = line.map_or_else(String::new, |line| excerpt(line.trim()));
        }
        self.notices.sort_by_key(|notice| (notice.line, notice.column));
    }
}

/// Upper bound on the length of a quoted line in characters: a long line would be quoted once per remark.
const MAX_QUOTED: usize = 120;

/// Returns the start of a line, with an ellipsis if it is longer than [`MAX_QUOTED`].
fn excerpt(line: &str) -> String {
    match line.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
