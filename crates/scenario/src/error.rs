//! Errors as the user sees them: where, the line itself, what is wrong, what to write instead.

use crate::complaint::{Complaint, On};
use crate::origin::{Origin, Place};
use core::fmt;

/// Everything that is wrong with a scenario; at least one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    problems: Vec<Problem>,
}

/// One thing that is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, in a phrase.
    pub message: String,
    /// Where in the document, such as `links[2].rate`; empty for the document itself.
    pub path: String,
    /// Line in the file, from 1; none when the document was not a file.
    pub line: Option<usize>,
    /// Column in the line in characters, from 1.
    pub column: Option<usize>,
    /// What to write instead.
    pub suggestion: Option<String>,
    /// The whole as text: place, source line, caret and advice.
    pub rendered: String,
}

impl ScenarioError {
    /// Finds each complaint's place; in the order of the file.
    pub(crate) fn locate(complaints: Vec<Complaint>, origin: &Origin) -> ScenarioError {
        let mut located: Vec<(Complaint, Option<Place<'_>>)> = complaints
            .into_iter()
            .map(|complaint| {
                let place = origin.place(&complaint.path, complaint.on == On::Key);
                (complaint, place)
            })
            .collect();
        located.sort_by_key(|(_, place)| place.as_ref().map(|place| (place.line, place.column)));
        let problems =
            located.into_iter().map(|(complaint, place)| Problem::new("error", complaint, place, origin)).collect();
        ScenarioError { problems }
    }
    /// All problems, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
    /// The first problem.
    pub fn first(&self) -> &Problem {
        &self.problems[0]
    }
    /// All problems as text, with their number when there are several.
    pub fn rendered(&self) -> String {
        let mut text = self.problems.iter().map(|p| p.rendered.as_str()).collect::<Vec<_>>().join("\n");
        if self.problems.len() > 1 {
            text.push_str(&format!("\n{} problems\n", self.problems.len()));
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
    /// The complaint at its place; `what` is "error" or "warning".
    pub(crate) fn new(what: &str, complaint: Complaint, place: Option<Place<'_>>, origin: &Origin) -> Problem {
        let Complaint { path, message, help, .. } = complaint;
        let (path, message) = (path.to_string(), shortened(message));
        let rendered = match &place {
            Some(place) => place.render(what, &message, help.as_deref()),
            None => {
                let about = if path.is_empty() { String::new() } else { format!(", {path}") };
                let help = help.as_deref().map_or_else(String::new, |help| format!("   = help: {help}\n"));
                format!("{what}: {message}\n  --> {}{about}\n{help}", origin.filename())
            }
        };
        let (line, column) = (place.as_ref().map(|p| p.line), place.as_ref().map(|p| p.column));
        Problem { message, path, line, column, suggestion: help, rendered }
    }
}

/// A message that quotes a long text keeps both its ends: what is quoted, and what is wrong with it.
fn shortened(message: String) -> String {
    const MOST: usize = 500;
    const HEAD: usize = 200;
    const TAIL: usize = 200;
    let length = message.chars().count();
    if length <= MOST {
        return message;
    }
    let head: String = message.chars().take(HEAD).collect();
    let tail: String = message.chars().skip(length - TAIL).collect();
    format!("{head} … {tail}")
}
