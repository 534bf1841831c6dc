//! What there is to say about a configuration: each remark with its line and column.

use core::fmt;
use serde::Serialize;
use std::collections::BTreeSet;

/// Where something was written, from 1. It is no part of what the thing means: all places are equal, so that two
/// configurations are equal when they say the same in different lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    /// Line, from 1; 0 where the thing was written nowhere.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Place {
    /// Line and column, both from 1.
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

/// How much a remark matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The configuration contradicts itself, or a router would refuse it: nothing is made of it.
    Error,
    /// A line or a part of one that was not understood, or that has no counterpart here: it was left out.
    Unsupported,
    /// A value that decides the result and that the configuration does not state was assumed: a link rate, a default of the
    /// platform, the bytes of the link layer.
    Assumed,
    /// Understood, with a doubt or an approximation that is named.
    Warning,
    /// Understood, and without effect on queues: a description, a host name, an address.
    Ignored,
}

impl Level {
    /// Its name in reports.
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

/// The part of a configuration that a remark is about. Only remarks on parts that the judged port reaches can change its result.
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
    /// Something else of that name that policies are made of, such as a scheduler or a firewall filter.
    Part(String),
}

/// One remark.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// How much it matters.
    pub level: Level,
    /// Line, from 1; 0 for the configuration as a whole.
    pub line: u32,
    /// Column in characters, from 1; 0 for the configuration as a whole.
    pub column: u32,
    /// The line as it was written, without the spaces around it.
    pub text: String,
    /// What there is to say, in a phrase.
    pub message: String,
    /// What to write instead, or what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The part of the configuration that it is about.
    #[serde(skip)]
    pub scope: Scope,
    /// Whether it is about something that can change the result of the judged port. True until [`Report::settle`] has found
    /// that the port does not reach the part that the remark is about; never true of [`Level::Ignored`].
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

/// All remarks about one configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Report {
    notices: Vec<Notice>,
    /// The part that remarks are about from now on.
    #[serde(skip)]
    scope: Scope,
}

impl Report {
    /// Adds a remark about what stands at `at`.
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
    /// Remarks from now on are about that part.
    pub fn enter(&mut self, scope: Scope) {
        self.scope = scope;
    }
    /// Tells the remarks that can change the result of a port from the others: those on parts that `reached` does not hold
    /// cannot. What was assumed there and stands in no line is taken out: nothing was made of it.
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
    /// Adds what was left out.
    pub fn unsupported(&mut self, at: Place, message: impl Into<String>, advice: Option<&str>) {
        self.add(Level::Unsupported, at, message, advice);
    }
    /// Adds a value that was assumed.
    pub fn assumed(&mut self, at: Place, message: impl Into<String>, advice: &str) {
        self.add(Level::Assumed, at, message, Some(advice));
    }
    /// Adds what has no effect on queues.
    pub fn ignored(&mut self, at: Place, message: impl Into<String>) {
        self.add(Level::Ignored, at, message, None);
    }
    /// All remarks, in the order of the lines.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }
    /// Whether there is an error among them.
    pub fn has_errors(&self) -> bool {
        self.notices.iter().any(|notice| notice.level == Level::Error)
    }
    /// Adds all of another report.
    pub fn append(&mut self, other: Report) {
        self.notices.extend(other.notices);
    }
    /// Leaves of several remarks that are the same one.
    pub fn unique(&mut self) {
        let mut seen = BTreeSet::new();
        self.notices.retain(|notice| {
            seen.insert((notice.level, notice.line, notice.column, notice.message.clone(), notice.scope.clone()))
        });
    }
    /// Quotes the lines of `source` that the remarks are about, and puts them in the order of the lines.
    pub fn quote(&mut self, source: &str) {
        let lines: Vec<&str> = source.lines().collect();
        for notice in &mut self.notices {
            let line = notice.line.checked_sub(1).and_then(|index| lines.get(index as usize));
            notice.text = line.map_or_else(String::new, |line| excerpt(line.trim()));
        }
        self.notices.sort_by_key(|notice| (notice.line, notice.column));
    }
}

/// A quoted line is at most this long, in characters: one line of many thousands would be quoted once for each of its remarks.
const QUOTED: usize = 120;

fn excerpt(line: &str) -> String {
    match line.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}
