//! Source positions of a document's values, for messages.

use core::fmt::Write as _;
use core::ops::Range;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tailback_document::{Path, Step};
use toml_edit::{Item, TableLike, TomlError};

use crate::complaint::{Complaint, On};

/// A document's source text, if any, and the changes made to it later.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    filename: String,
    /// The source text; `None`: the positions of values are not known (JSON).
    text: Option<String>,
    /// Positions in the source text.
    spans: BTreeMap<Path, Spans>,
    /// Changes, in the order in which they were made.
    sets: Vec<Set>,
}

/// Byte ranges of a key and of its value.
#[derive(Clone, Debug)]
struct Spans {
    key: Option<Range<usize>>,
    value: Option<Range<usize>>,
}

/// A change given as `path=value`.
#[derive(Clone, Debug)]
struct Set {
    /// Name of the source of the change in messages, such as `--set`.
    source: &'static str,
    path: Path,
    /// The change as it was given, `path=value`.
    text: String,
    /// Byte offset of the value in `text`.
    value_at: usize,
}

/// A position in a text, and the data that is needed to show it.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    file: &'a str,
    text: &'a str,
    /// Byte range in the text.
    range: Range<usize>,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Origin {
    /// Returns the origin of a document that is not a file.
    pub fn nowhere(filename: &str) -> Origin {
        Origin { filename: filename.to_owned(), text: None, spans: BTreeMap::new(), sets: Vec::new() }
    }
    /// Returns the origin of a text with a syntax error at a line and column, both from 1.
    pub fn of_syntax(text: &str, filename: &str, line: usize, column: usize) -> Origin {
        let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let at = start + column.saturating_sub(1);
        let spans = BTreeMap::from([(Path::root(), Spans { key: None, value: Some(at..at + 1) })]);
        Origin { text: Some(text.to_owned()), spans, ..Origin::nowhere(filename) }
    }
    pub fn filename(&self) -> &str {
        &self.filename
    }
    /// Records that the value at `path` was given by `source`, such as `--set`, as `text`, in which the value begins at
    /// the byte `value_at`.
    pub fn set(&mut self, source: &'static str, path: Path, text: &str, value_at: usize) {
        self.sets.push(Set { source, path, text: text.to_owned(), value_at });
    }

    /// Returns the position of the value at `path`, or with `on_key` that of its key; if it has none, that of the
    /// nearest enclosing table. `None`: the positions of values are not known (JSON).
    pub fn place(&self, path: &Path, on_key: bool) -> Option<Place<'_>> {
        if let Some(set) = self.sets.iter().rev().find(|set| path.0.starts_with(&set.path.0)) {
            let range = if on_key { 0..set.value_at.saturating_sub(1) } else { set.value_at..set.text.len() };
            return Some(Place::new(set.source, &set.text, range));
        }
        let text = self.text.as_deref()?;
        let mut candidate = Some(path.clone());
        while let Some(current) = candidate {
            if let Some(spans) = self.spans.get(&current) {
                let exact = current.0.len() == path.0.len();
                let (first, second) =
                    if on_key && exact { (&spans.key, &spans.value) } else { (&spans.value, &spans.key) };
                if let Some(range) = first.as_ref().or(second.as_ref()) {
                    return Some(Place::new(&self.filename, text, range.clone()));
                }
            }
            candidate = current.parent();
        }
        Some(Place::new(&self.filename, text, 0..0))
    }
}

/// Parses TOML into a tree with source positions.
pub(crate) fn read_toml(text: &str, filename: &str) -> Result<(Value, Origin), (Vec<Complaint>, Origin)> {
    let mut origin = Origin { text: Some(text.to_owned()), ..Origin::nowhere(filename) };
    match toml_edit::Document::parse(text) {
        Ok(document) => {
            let mut walk = Walk { spans: &mut origin.spans, complaints: Vec::new() };
            let tree = walk.table(document.as_table(), &Path::root());
            let complaints = walk.complaints;
            if complaints.is_empty() { Ok((tree, origin)) } else { Err((complaints, origin)) }
        }
        Err(e) => {
            let is_deep = e.message().contains("recursion");
            // The root gets the span at which the parser stopped; for dotted keys that are nested too deeply there is
            // none.
            let value = Some(e.span().unwrap_or_else(|| if is_deep { deepest_line(text) } else { 0..0 }));
            origin.spans.insert(Path::root(), Spans { key: None, value });
            let complaint = if is_deep {
                too_deep()
            } else {
                let (message, help) = (e.message().to_owned(), syntax_help(&e, text));
                Complaint { path: Path::root(), on: On::Value, message, help }
            };
            Err((vec![complaint], origin))
        }
    }
}

/// Parses JSON into a tree without positions; `filename` is used in messages.
pub(crate) fn read_json(text: &str, filename: &str) -> Result<(Value, Origin), (Vec<Complaint>, Origin)> {
    match serde_json::from_str(text) {
        Ok(tree) => Ok((tree, Origin::nowhere(filename))),
        Err(e) => {
            let message = e.to_string();
            let complaint = if message.starts_with("recursion limit exceeded") {
                too_deep()
            } else {
                let message = format!("this is not JSON: {message}");
                Complaint { path: Path::root(), on: On::Value, message, help: None }
            };
            Err((vec![complaint], Origin::of_syntax(text, filename, e.line(), e.column())))
        }
    }
}

/// Returns the complaint about a text that is nested too deeply to be parsed.
fn too_deep() -> Complaint {
    let message = "tables and lists are nested too deeply".to_owned();
    let help = "no key of a document is nested deeper than about ten tables".to_owned();
    Complaint { path: Path::root(), on: On::Value, message, help: Some(help) }
}

/// Returns the first of the lines with the most dots, which is likely to have the most deeply nested key.
fn deepest_line(text: &str) -> Range<usize> {
    let (mut start, mut max_dots, mut found) = (0, 0, 0..0);
    for line in text.split_inclusive('\n') {
        let dots = line.bytes().filter(|byte| *byte == b'.').count();
        if dots > max_dots {
            (max_dots, found) = (dots, start..start + line.trim_end().len());
        }
        start += line.len();
    }
    found
}

/// Returns advice for a TOML syntax error; `None`: there is none.
fn syntax_help(e: &TomlError, text: &str) -> Option<String> {
    let found = e.span().and_then(|span| text.get(span)).unwrap_or("").trim();
    Some(match e.message() {
        m if m.starts_with("string values must be quoted") && found.is_empty() => {
            "write a value after the `=`".to_owned()
        }
        m if m.starts_with("string values must be quoted") => format!("write \"{found}\" in quotes"),
        "duplicate key" => format!(
            "`{found}` is defined twice; remove or rename one of the two (a list of tables is headed [[{found}]])"
        ),
        m if m.starts_with("invalid unquoted key") => "put keys with other characters in quotes".to_owned(),
        _ => return None,
    })
}

/// Conversion of a parsed document into a tree; records the positions of keys and values.
struct Walk<'a> {
    spans: &'a mut BTreeMap<Path, Spans>,
    complaints: Vec<Complaint>,
}

impl Walk<'_> {
    /// Records the position of the value at `path`.
    fn record(&mut self, path: &Path, value: Option<Range<usize>>) {
        // The root and implicit tables have empty spans: the key or the parent is used instead.
        let value = value.filter(|span| !span.is_empty());
        self.spans.entry(path.clone()).or_insert(Spans { key: None, value: None }).value = value;
    }
    fn item(&mut self, item: &Item, path: &Path) -> Value {
        self.record(path, item.span());
        match item {
            Item::None => Value::Null,
            Item::Value(value) => self.value(value, path),
            Item::Table(table) => self.table(table, path),
            Item::ArrayOfTables(tables) => {
                let element = |(i, table): (usize, &toml_edit::Table)| {
                    let inner = path.join(i);
                    self.record(&inner, table.span());
                    self.table(table, &inner)
                };
                Value::Array(tables.iter().enumerate().map(element).collect())
            }
        }
    }
    fn table(&mut self, table: &dyn TableLike, path: &Path) -> Value {
        let mut map = Map::new();
        for (key, item) in table.iter() {
            let inner = path.join(key);
            let span = table.key(key).and_then(toml_edit::Key::span);
            self.spans.insert(inner.clone(), Spans { key: span, value: None });
            map.insert(key.to_owned(), self.item(item, &inner));
        }
        Value::Object(map)
    }
    fn value(&mut self, value: &toml_edit::Value, path: &Path) -> Value {
        match value {
            toml_edit::Value::String(s) => Value::String(s.value().clone()),
            toml_edit::Value::Integer(n) => Value::from(*n.value()),
            toml_edit::Value::Float(x) if x.value().is_finite() => Value::from(*x.value()),
            toml_edit::Value::Float(x) => self.refuse(
                path,
                format!("{} is not a finite number", x.value()),
                "write a finite number, or \"unlimited\" for a buffer",
            ),
            toml_edit::Value::Boolean(b) => Value::Bool(*b.value()),
            toml_edit::Value::Datetime(d) => self.refuse(
                path,
                format!("{} is a date, which no key accepts", d.value()),
                "write a duration, such as \"20ms\"",
            ),
            toml_edit::Value::Array(list) => {
                let element = |(i, value): (usize, &toml_edit::Value)| {
                    let inner = path.join(i);
                    self.record(&inner, value.span());
                    self.value(value, &inner)
                };
                Value::Array(list.iter().enumerate().map(element).collect())
            }
            toml_edit::Value::InlineTable(table) => self.table(table, path),
        }
    }
    /// Reports a value that documents cannot contain; returns null in its place.
    fn refuse(&mut self, path: &Path, message: String, help: &str) -> Value {
        self.complaints.push(Complaint { path: path.clone(), on: On::Value, message, help: Some(help.to_owned()) });
        Value::Null
    }
}

impl<'a> Place<'a> {
    fn new(file: &'a str, text: &'a str, range: Range<usize>) -> Place<'a> {
        let floor = |mut at: usize| {
            at = at.min(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let start = floor(range.start);
        // The end of the file is shown at the end of its last non-empty line.
        let start = if text[start..].trim().is_empty() { text[..start].trim_end().len() } else { start };
        let end = floor(range.end).max(start);
        let line = text[..start].matches('\n').count() + 1;
        let column = text[line_start(text, start)..start].chars().count() + 1;
        Place { file, text, range: start..end, line, column }
    }

    /// Renders a message: `what` ("error"), the position, its line with carets under the range, and the advice.
    pub fn render(&self, what: &str, message: &str, help: Option<&str>) -> String {
        let start = line_start(self.text, self.range.start);
        let line = self.text[start..].lines().next().unwrap_or("");
        let until = self.range.end.min(start + line.len());
        let width = self.text.get(self.range.start..until).map_or(0, |marked| marked.chars().count()).max(1);
        let (line, before) = window(line, self.column - 1);
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        // Only the beginning of a wide range (a whole table) is marked; the caret line stays in the window.
        let carets = "^".repeat(width.min(line.chars().count().saturating_sub(before.chars().count()).max(1)));
        let indent: String = before.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let mut out = format!(
            "{what}: {message}\n{gutter}--> {}:{}:{}\n{gutter} |\n{number} | {line}\n{gutter} | {indent}{carets}\n",
            self.file, self.line, self.column
        );
        if let Some(help) = help {
            let _ = writeln!(out, "{gutter} = help: {help}");
        }
        out
    }
}

/// Returns the byte offset of the start of the line that contains the byte `at`.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns the part of a line around `column`, counted from 0, that fits on a screen, and the text of that part before
/// the column.
fn window(line: &str, column: usize) -> (String, String) {
    const WIDTH: usize = 140;
    const LEAD: usize = 60;
    let length = line.chars().count();
    let from = if length <= WIDTH { 0 } else { column.saturating_sub(LEAD).min(length - WIDTH) };
    let (head, tail) = (if from > 0 { "…" } else { "" }, if from + WIDTH < length { "…" } else { "" });
    let shown: String = line.chars().skip(from).take(WIDTH).collect();
    let before: String = line.chars().take(column).skip(from).collect();
    (format!("{head}{shown}{tail}"), format!("{head}{before}"))
}

/// Returns the tree's value at `path`; `None`: there is none.
pub(crate) fn lookup<'a>(tree: &'a Value, path: &Path) -> Option<&'a Value> {
    path.0.iter().try_fold(tree, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(i) => value.get(i),
    })
}

/// Returns the tree's value at `path`, mutable; `None`: there is none.
pub(crate) fn lookup_mut<'a>(tree: &'a mut Value, path: &Path) -> Option<&'a mut Value> {
    path.0.iter().try_fold(tree, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(i) => value.get_mut(i),
    })
}
