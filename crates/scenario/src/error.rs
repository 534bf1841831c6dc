//! Errors for users: the place, the source line, the message and the advice.

use crate::complaint::{Complaint, On};
use crate::origin::{Origin, Place};
use core::fmt;
use core::fmt::Write as _;

/// The errors of a scenario or study; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    problems: Vec<Problem>,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Message, a phrase without a full stop.
    pub message: String,
    /// Path in the document, such as `links[2].rate`; empty for the document itself.
    pub path: String,
    /// Line in the source text, from 1; `None`: the positions of values are not known (JSON).
    pub line: Option<usize>,
    /// Column in the line in characters, from 1; `None`: the positions of values are not known (JSON).
    pub column: Option<usize>,
    /// Advice: what to write instead; `None`: the message contains it.
    pub suggestion: Option<String>,
    /// The complete text: place, source line, caret and advice.
    pub rendered: String,
}

impl ScenarioError {
    /// Locates the complaints, at least one, and returns them in the order of the file.
    pub(crate) fn locate(complaints: Vec<Complaint>, origin: &Origin) -> ScenarioError {
        let mut located: Vec<(Complaint, Option<Place<'_>>)> = complaints
            .into_iter()
            .map(|complaint| {
                let place = origin.place(&complaint.path, complaint.on == On::Key);
                (complaint, place)
            })
            .collect();
        located.sort_by_key(|(_, place)| place.as_ref().map(|place| (place.line, place.column)));
        let problems = located
            .into_iter()
            .map(|(complaint, place)| Problem::new("error", complaint, place.as_ref(), origin))
            .collect();
        ScenarioError { problems }
    }
    /// Returns all errors, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
    /// Returns the first error in the order of the file.
    pub fn first(&self) -> &Problem {
        &self.problems[0]
    }
    /// Returns all errors as text, followed by their number if there are several.
    pub fn rendered(&self) -> String {
        let mut text = self.problems.iter().map(|p| p.rendered.as_str()).collect::<Vec<_>>().join("\n");
        if self.problems.len() > 1 {
            let _ = writeln!(text, "\n{} problems", self.problems.len());
        }
        text
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rendered())
    }
}
impl std::error::Error for ScenarioError {}

impl Problem {
    /// Returns the complaint with its place in the source; `what` is "error" or "warning".
    pub(crate) fn new(what: &str, complaint: Complaint, place: Option<&Place<'_>>, origin: &Origin) -> Problem {
        let Complaint { path, message, help, .. } = complaint;
        let (path, message) = (path.to_string(), shortened(message));
        let rendered = if let Some(place) = place {
            place.render(what, &message, help.as_deref())
        } else {
            let about = if path.is_empty() { String::new() } else { format!(", {path}") };
            let help = help.as_deref().map_or_else(String::new, |help| format!("   = help: {help}\n"));
            format!("{what}: {message}\n  --> {}{about}\n{help}", origin.filename())
        };
        let (line, column) = (place.map(|p| p.line), place.map(|p| p.column));
        Problem { message, path, line, column, suggestion: help, rendered }
    }
}

/// Shortens a message with a long quotation by leaving out its middle.
fn shortened(message: String) -> String {
    const MAX_SHOWN: usize = 500;
    const HEAD: usize = 200;
    const TAIL: usize = 200;
    let length = message.chars().count();
    if length <= MAX_SHOWN {
        return message;
    }
    let head: String = message.chars().take(HEAD).collect();
    let tail: String = message.chars().skip(length - TAIL).collect();
    format!("{head} … {tail}")
}
