//! Decoding of a tree into a type, with serde's messages rewritten for users.

use crate::{DecodeError, Path, Problem, Step, listed, suggest};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

/// Decodes `value`.
///
/// # Errors
/// If `value` does not fit the type: the first error, with its path.
pub fn decode<T: DeserializeOwned>(value: Value) -> Result<T, DecodeError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let outer = Path(error.path().iter().filter_map(step).collect());
        let text = error.inner().to_string();
        if let Some(inner) = DecodeError::carried(&text) {
            return DecodeError { path: outer.join_path(&inner.path), ..inner };
        }
        reworded(&text, outer)
    })
}

/// Converts a segment of serde's path; `None`: the segment has no counterpart in the document.
fn step(segment: &Segment) -> Option<Step> {
    match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Key(key.clone())),
        // Enum variants that are written as plain text have no path of their own.
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

/// Converts serde's message at `path` into a [`DecodeError`]. For an unknown key, `path` ends in the key.
fn reworded(text: &str, path: Path) -> DecodeError {
    if let Some((key, expected)) = named(text, "unknown field `") {
        let (message, help) = (format!("unknown key `{key}`"), Some(choice(&key, &expected, "keys")));
        return DecodeError { path, problem: Problem::UnknownKey, message, help };
    }
    if let Some((word, expected)) = named(text, "unknown variant `") {
        return DecodeError::value(
            path,
            format!("`{word}` is not one of the choices"),
            Some(choice(&word, &expected, "choices")),
        );
    }
    if let Some(key) = text.strip_prefix("missing field `").and_then(|t| t.strip_suffix('`')) {
        let problem = Problem::MissingKey(key.to_owned());
        return DecodeError { path, problem, message: format!("`{key}` is missing"), help: None };
    }
    let mistyped = text.strip_prefix("invalid type: ").or_else(|| text.strip_prefix("invalid value: "));
    if let Some((found, expected)) = mistyped.and_then(|t| t.rsplit_once(", expected ")) {
        return DecodeError::value(
            path,
            format!("expected {}, found {}", plain_type(expected), plain_type(found)),
            None,
        );
    }
    DecodeError::value(path, text, None)
}

/// Splits "unknown … `word`, expected one of `a`, `b`" into the word and the names; `None`: `text` has another form.
/// `prefix` is the text up to the word.
fn named(text: &str, prefix: &str) -> Option<(String, Vec<String>)> {
    let tail = text.strip_prefix(prefix)?;
    let (word, expected) = tail.rsplit_once("`, expected ").or_else(|| tail.rsplit_once("`, there are no "))?;
    Some((word.to_owned(), expected.split('`').skip(1).step_by(2).map(str::to_owned).collect()))
}

/// Returns advice for an unknown `word`: the nearest of `names`, or the list of them. `what` is the plural noun for the
/// names.
fn choice(word: &str, names: &[String], what: &str) -> String {
    let names = || names.iter().map(String::as_str);
    match suggest(word, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names().next().is_none() => format!("no {what} are allowed here; remove it"),
        None => format!("the {what} here are {}", listed(names())),
    }
}

/// Translates serde's name of a type or value, such as "u8" or "integer `3`", into words for users.
fn plain_type(name: &str) -> String {
    let plain = match name {
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number, 0 or more",
        "i64" | "isize" => "a whole number",
        "f64" => "a number",
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        "a map" | "map" => "a table",
        "a sequence" | "sequence" => "a list",
        "null" | "unit" | "unit value" => "nothing",
        _ if name.starts_with("struct ") => "a table",
        _ => {
            for (prefix, replacement) in
                [("integer `", "`"), ("floating point `", "`"), ("boolean `", "`"), ("string ", "the text ")]
            {
                if let Some(value) = name.strip_prefix(prefix) {
                    return format!("{replacement}{value}");
                }
            }
            name
        }
    };
    plain.to_owned()
}
