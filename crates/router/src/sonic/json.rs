//! Parser of JSON (RFC 8259) that keeps the place of each key and value, for remarks. `serde_json` reports only the
//! places of errors.

use crate::Place;

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub value: Value,
    pub at: Place,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// A number as written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub key: String,
    /// Place of the key.
    pub at: Place,
    pub node: Node,
}

impl Node {
    /// Returns the entries of a table; empty for other values.
    pub fn entries(&self) -> &[Entry] {
        if let Value::Table(entries) = &self.value { entries } else { &[] }
    }
    /// Returns a string, number or boolean as text, as CONFIG_DB stores it; `None`: another value.
    pub fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.trim().to_owned()),
            Value::Bool(truth) => Some(truth.to_string()),
            Value::Null | Value::List(_) | Value::Table(_) => None,
        }
    }
    /// Returns the elements of a list, or of a comma-separated text.
    pub fn list(&self) -> Vec<String> {
        let parts = |text: &str| -> Vec<String> {
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
        };
        match &self.value {
            Value::List(nodes) => nodes.iter().filter_map(Node::scalar).collect(),
            _ => self.scalar().map_or_else(Vec::new, |text| parts(&text)),
        }
    }
}

/// A syntax error with its place.
#[derive(Debug)]
pub(super) struct SyntaxError {
    pub at: Place,
    pub message: String,
    pub advice: &'static str,
}

/// Upper bound on the nesting; CONFIG_DB itself has three levels.
const MAX_DEPTH: usize = 32;

/// Parses a document.
///
/// # Errors
///
/// The text is not JSON, a table has a key twice, or it is nested deeper than [`MAX_DEPTH`].
pub(super) fn read(text: &str) -> Result<Node, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { rest: text.chars().peekable(), line: 1, column: 1 };
    let node = reader.value(0)?;
    reader.space();
    match reader.rest.peek() {
        None => Ok(node),
        Some(c) => {
            let message = format!("`{}` after the end of the document", c.escape_default());
            Err(reader.error(message, "write all tables within one pair of braces"))
        }
    }
}

struct Reader<'a> {
    rest: core::iter::Peekable<core::str::Chars<'a>>,
    line: u32,
    column: u32,
}

impl Reader<'_> {
    fn place(&self) -> Place {
        Place::new(self.line, self.column)
    }
    fn error(&self, message: impl Into<String>, advice: &'static str) -> SyntaxError {
        SyntaxError { at: self.place(), message: message.into(), advice }
    }
    /// Takes the next character, and moves the place beyond it.
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(c)
    }
    /// Skips white space.
    fn space(&mut self) {
        while self.rest.peek().is_some_and(|c| matches!(c, ' ' | '\t' | '\r' | '\n')) {
            let _ = self.next();
        }
    }
    /// Skips white space, and takes the next character if it is `wanted`; returns `true` if it was.
    fn is(&mut self, wanted: char) -> bool {
        self.space();
        let found = self.rest.peek() == Some(&wanted);
        if found {
            let _ = self.next();
        }
        found
    }

    fn value(&mut self, depth: usize) -> Result<Node, SyntaxError> {
        self.space();
        let at = self.place();
        if depth > MAX_DEPTH {
            return Err(self.error(format!("nested deeper than {MAX_DEPTH} levels"), "CONFIG_DB has three levels"));
        }
        let value = match self.rest.peek() {
            Some('{') => self.table(depth)?,
            Some('[') => self.array(depth)?,
            Some('"') => Value::Text(self.text()?),
            Some(c) if c.is_ascii_alphanumeric() || *c == '-' => self.word(at)?,
            Some(c) => {
                let message = format!("`{}` where a value is expected", c.escape_default());
                return Err(self.error(message, "write a table, a list, a text in double quotes or a number"));
            }
            None => return Err(self.error("the text ends where a value is expected", "paste the whole file")),
        };
        Ok(Node { value, at })
    }

    fn table(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let _ = self.next();
        let mut entries: Vec<Entry> = Vec::new();
        let mut known: std::collections::BTreeMap<String, Place> = std::collections::BTreeMap::new();
        if self.is('}') {
            return Ok(Value::Table(entries));
        }
        loop {
            self.space();
            let at = self.place();
            if self.rest.peek().is_none() {
                return Err(self.error("the text ends within a table", "paste the whole file"));
            }
            if self.rest.peek() != Some(&'"') {
                return Err(self.error("a key in double quotes is expected", "a comma separates two entries"));
            }
            let key = self.text()?;
            if let Some(first) = known.insert(key.clone(), at) {
                let message = format!("`{key}` is in line {} as well", first.line);
                return Err(SyntaxError {
                    at,
                    message,
                    advice: "write each key once: the later one would replace the earlier one",
                });
            }
            if !self.is(':') {
                return Err(self.error(format!("`:` is expected after `{key}`"), "see RFC 8259"));
            }
            let node = self.value(depth + 1)?;
            entries.push(Entry { key, at, node });
            if self.is('}') {
                return Ok(Value::Table(entries));
            }
            if !self.is(',') {
                return Err(self.error("`,` or `}` is expected", "a comma separates two entries of a table"));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let _ = self.next();
        let mut nodes = Vec::new();
        if self.is(']') {
            return Ok(Value::List(nodes));
        }
        loop {
            nodes.push(self.value(depth + 1)?);
            if self.is(']') {
                return Ok(Value::List(nodes));
            }
            if !self.is(',') {
                return Err(self.error("`,` or `]` is expected", "a comma separates two values of a list"));
            }
        }
    }

    /// Parses a number, `true`, `false` or `null`.
    fn word(&mut self, at: Place) -> Result<Value, SyntaxError> {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.')) {
            self.column = self.column.saturating_add(1);
            word.push(c);
        }
        match word.as_str() {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            number if serde_json::from_str::<serde_json::Number>(number).is_ok() => Ok(Value::Number(word)),
            _ => Err(SyntaxError {
                at,
                message: format!("`{word}` is not a value"),
                advice: "write texts in double quotes",
            }),
        }
    }

    /// Parses a string, from its opening quote on.
    fn text(&mut self) -> Result<String, SyntaxError> {
        let _ = self.next();
        let mut made = String::new();
        loop {
            let Some(c) = self.next() else {
                return Err(self.error("the text ends within quotes", "close the quotes"));
            };
            match c {
                '"' => return Ok(made),
                '\\' => made.push(self.escape()?),
                c if c < ' ' => return Err(self.error("a line ends within quotes", "close the quotes")),
                c => made.push(c),
            }
        }
    }

    /// Parses an escape sequence after its backslash.
    fn escape(&mut self) -> Result<char, SyntaxError> {
        let c = self.next().unwrap_or(' ');
        Ok(match c {
            '"' | '\\' | '/' => c,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.unit()?;
                let code = if (0xd800..0xdc00).contains(&first) {
                    // The low surrogate of a pair (RFC 8259, section 7).
                    let pair = self.next() == Some('\\') && self.next() == Some('u');
                    let second = if pair { self.unit()? } else { 0 };
                    if (0xdc00..0xe000).contains(&second) {
                        0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)
                    } else {
                        first
                    }
                } else {
                    first
                };
                char::from_u32(code)
                    .ok_or_else(|| self.error("a surrogate without its pair", "write the character itself"))?
            }
            _ => return Err(self.error("unknown escape sequence", "write \\\\ for a backslash")),
        })
    }

    /// Parses the four hexadecimal digits of a UTF-16 code unit.
    fn unit(&mut self) -> Result<u32, SyntaxError> {
        let mut made = 0;
        for _ in 0..4 {
            let digit = self.next().and_then(|c| c.to_digit(16));
            made =
                made * 16 + digit.ok_or_else(|| self.error("four hexadecimal digits are expected", "see RFC 8259"))?;
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_have_their_places() {
        let node = read("{\n  \"PORT\": {\"Ethernet0\": {\"speed\": \"100000\"}}\n}").expect("the text is JSON");
        let port = &node.entries()[0];
        assert_eq!((port.key.as_str(), port.at.line, port.at.column), ("PORT", 2, 3));
        let speed = &port.node.entries()[0].node.entries()[0];
        assert_eq!((speed.key.as_str(), speed.at.line, speed.at.column), ("speed", 2, 26));
        assert_eq!(speed.node.scalar().as_deref(), Some("100000"));
    }

    #[test]
    fn invalid_json_is_refused_with_its_place() {
        for (text, line, column, part) in [
            ("", 1, 1, "ends"),
            ("{\n\"a\": 1,\n\"a\": 2}", 3, 1, "in line 2"),
            ("{\"a\": 1,}", 1, 9, "key in double quotes"),
            ("{\"a\": 1 \"b\": 2}", 1, 9, "`,` or `}`"),
            ("{\"a\": nil}", 1, 7, "`nil`"),
            ("{\"a\": 1} {", 1, 10, "after the end"),
            ("{\"a\": \"x\n\"}", 2, 1, "quotes"),
            ("\"a\": {}", 1, 4, "after the end"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.message.contains(part), "{text}: {}", error.message);
            assert_eq!((error.at.line, error.at.column), (line, column), "{text}");
        }
        assert!(read(&"[".repeat(100_000)).expect_err("deep").message.contains("nested deeper"));
    }

    #[test]
    fn escapes_are_those_of_rfc_8259() {
        let node = read(r#"["\u0041\n\"\\", "\ud83d\ude00"]"#).expect("the text is JSON");
        assert_eq!(node.list(), ["A\n\"\\", "\u{1f600}"]);
        assert!(read(r#""\ud83d""#).is_err() && read(r#""\x""#).is_err() && read(r#""\u12"#).is_err());
    }
}
