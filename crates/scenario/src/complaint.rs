//! Errors and warnings of a document before they are located in its file.

use tailback_document::{DecodeError, Invalid, Path, Problem};

/// Target of a complaint: a key, or its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Key,
    Value,
}

/// One error or warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Path of the key or value.
    pub path: Path,
    pub on: On,
    /// Message, a phrase without a full stop.
    pub message: String,
    /// Advice; `None`: the message contains it.
    pub help: Option<String>,
}

impl From<DecodeError> for Complaint {
    fn from(e: DecodeError) -> Complaint {
        let on = if e.problem == Problem::UnknownKey { On::Key } else { On::Value };
        Complaint { path: e.path, on, message: e.message, help: e.help }.split()
    }
}

impl Complaint {
    /// Splits a message of a parser or check in the form "error; remedy" into message and advice.
    fn split(self) -> Complaint {
        match (&self.help, self.message.rsplit_once("; ")) {
            (None, Some((wrong, advice))) => {
                Complaint { message: wrong.to_owned(), help: Some(advice.to_owned()), ..self }
            }
            _ => self,
        }
    }
}

/// Collected complaints, in the order in which they were found. Of complaints with equal path and advice, which the
/// nodes of one `count` or the links of one pattern cause, only the first is kept.
#[derive(Debug, Default)]
pub(crate) struct Complaints(Vec<Complaint>);

impl Complaints {
    /// Adds a complaint about the value at `path`.
    pub fn value(&mut self, path: Path, message: impl Into<String>, help: impl Into<String>) {
        self.push(Complaint { path, on: On::Value, message: message.into(), help: Some(help.into()) });
    }
    /// Adds a complaint about the last key of `path`.
    pub fn key(&mut self, path: Path, message: impl Into<String>, help: impl Into<String>) {
        self.push(Complaint { path, on: On::Key, message: message.into(), help: Some(help.into()) });
    }
    /// Adds the error, if any, of a `check` of the parameters at `base`.
    pub fn invalid(&mut self, base: &Path, found: Result<(), Invalid>) {
        if let Err(Invalid { path, message }) = found {
            let inner = Path::parse(&path).unwrap_or_else(|| Path(vec![path.into()]));
            let complaint = Complaint { path: base.join_path(&inner), on: On::Value, message, help: None };
            self.push(complaint.split());
        }
    }
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub fn count(&self) -> usize {
        self.0.len()
    }
    pub fn into_vec(self) -> Vec<Complaint> {
        self.0
    }
    fn push(&mut self, complaint: Complaint) {
        let duplicate = |other: &Complaint| other.path == complaint.path && other.help == complaint.help;
        if !self.0.iter().any(duplicate) {
            self.0.push(complaint);
        }
    }
}
