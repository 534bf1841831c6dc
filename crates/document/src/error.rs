//! Errors with a path in the document and a message.

use core::fmt;
use serde::{Deserialize, Serialize};

/// One step of a path from a document's root to a value in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Step {
    /// Key of a table.
    Key(String),
    /// Index in a list, from 0.
    Index(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Step {
        Step::Key(key.to_owned())
    }
}
impl From<String> for Step {
    fn from(key: String) -> Step {
        Step::Key(key)
    }
}
impl From<usize> for Step {
    fn from(index: usize) -> Step {
        Step::Index(index)
    }
}

/// Path of a value in a document: `links[2].rate`; empty for the document itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// Returns the path of the document itself.
    pub const fn root() -> Path {
        Path(Vec::new())
    }
    /// Returns the path extended by one step.
    #[must_use]
    pub fn join(&self, step: impl Into<Step>) -> Path {
        let mut steps = self.0.clone();
        steps.push(step.into());
        Path(steps)
    }
    /// Returns the path extended by all steps of `tail`.
    #[must_use]
    pub fn join_path(&self, tail: &Path) -> Path {
        Path(self.0.iter().chain(&tail.0).cloned().collect())
    }
    /// Returns the path without its last step; `None`: it is the root.
    pub fn parent(&self) -> Option<Path> {
        let (_, init) = self.0.split_last()?;
        Some(Path(init.to_vec()))
    }
    /// Parses dotted text such as `links[2].rate` or `flows["a.b"].source`; `None`: it is malformed. Text in brackets
    /// that is not a number is a key.
    pub fn parse(text: &str) -> Option<Path> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix('[') {
                if let Some(quoted) = inner.strip_prefix('"') {
                    let end = quoted.find("\"]")?;
                    steps.push(Step::from(&quoted[..end]));
                    rest = &quoted[end + 2..];
                } else {
                    let end = inner.find(']')?;
                    let name = &inner[..end];
                    if name.is_empty() {
                        return None;
                    }
                    steps.push(name.parse::<usize>().map_or_else(|_| Step::from(name), Step::Index));
                    rest = &inner[end + 1..];
                }
            } else {
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                if end == 0 {
                    return None;
                }
                steps.push(Step::from(&rest[..end]));
                rest = &rest[end..];
            }
            match rest.strip_prefix('.') {
                Some("") => return None,
                Some(after) => rest = after,
                None if rest.is_empty() || rest.starts_with('[') => {}
                None => return None,
            }
        }
        Some(Path(steps))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(n) => write!(f, "[{n}]")?,
                Step::Key(key) if key.is_empty() || key.contains(['.', '[', ']', '"', ' ']) => {
                    write!(f, "[\"{key}\"]")?;
                }
                Step::Key(key) if i == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

/// Error of a `check`: a value of the right type that is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Path of the field relative to the struct, dotted if nested; empty: the whole struct.
    pub path: String,
    /// Message, which includes the accepted values.
    pub message: String,
}

impl Invalid {
    /// Returns an error about the field `path` ("" for the whole struct).
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Invalid {
        Invalid { path: path.into(), message: message.into() }
    }
    /// Returns the error with its path relative to the outer struct, whose field `field` contains the checked struct.
    #[must_use]
    pub fn within(self, field: &str) -> Invalid {
        let path = match self.path.as_str() {
            "" => field.to_owned(),
            inner if inner.starts_with('[') => format!("{field}{inner}"),
            inner => format!("{field}.{inner}"),
        };
        Invalid { path, ..self }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}
impl std::error::Error for Invalid {}

/// Kind of error at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Problem {
    /// The path's last key is not allowed there.
    UnknownKey,
    /// The table at the path lacks this key.
    MissingKey(String),
    /// The value at the path is invalid.
    Value,
}

/// Error of decoding a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecodeError {
    /// Path of the refused value. For an unknown key it ends in that key; for a missing key it is the path of the table.
    pub path: Path,
    /// Kind of error.
    pub problem: Problem,
    /// Message, a phrase without a full stop.
    pub message: String,
    /// Advice, such as the accepted values; `None`: there is none.
    pub help: Option<String>,
}

/// First character of a [`DecodeError`] that is passed through serde as text; it does not occur in messages.
const CARRIED: char = '\u{1}';

impl DecodeError {
    /// Returns an error about the value at `path`.
    pub fn value(path: Path, message: impl Into<String>, help: Option<String>) -> DecodeError {
        DecodeError { path, problem: Problem::Value, message: message.into(), help }
    }
    /// Packs the error into a serde error, for `Deserialize` implementations that find errors at inner paths. Serde's
    /// errors carry only text, so path and help are encoded in the text until [`decode`](crate::decode()) unpacks them.
    pub fn carry<E: serde::de::Error>(self) -> E {
        // Serialising strings and integers into a string does not fail.
        E::custom(format!("{CARRIED}{}", serde_json::to_string(&self).unwrap_or_default()))
    }
    /// Unpacks an error packed by [`carry`](Self::carry); `None`: `text` is an ordinary message.
    pub(crate) fn carried(text: &str) -> Option<DecodeError> {
        serde_json::from_str(text.strip_prefix(CARRIED)?).ok()
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.0.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}
impl std::error::Error for DecodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displayed_path_parses_back() {
        for text in ["", "run", "links[2].rate", "flows[\"a.b\"].source.burst", "switches.sw1.ports.sw0", "a[0][1]"] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn malformed_paths_are_refused() {
        for text in [".a", "a.", "a..b", "a[", "a[]", "a[\"b]", "a]b[0]c"] {
            assert_eq!(Path::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_error_relative_to_the_outer_struct_keeps_its_inner_path() {
        assert_eq!(Invalid::new("", "no").within("source").path, "source");
        assert_eq!(Invalid::new("burst", "no").within("source").path, "source.burst");
        assert_eq!(Invalid::new("[1]", "no").within("list").path, "list[1]");
    }
}
