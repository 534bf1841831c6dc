//! Words of a script, with their places.

use crate::language::{Failure, Place};

/// A word of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A number without a sign, as written.
    Number(String),
    /// A name.
    Name(String),
    /// A text in quotation marks.
    Text(String),
    /// `...`.
    Ellipsis,
    /// `%{ … }%`: the text between the marks.
    Code(String),
    /// A command in backquotes.
    Command(String),
    /// `--name=value`: name and value.
    Setting(String, String),
    /// `// tailback: …`: the text after the colon.
    Parameters(String),
    /// Any other character.
    Symbol(char),
    /// The end of the script.
    End,
}

impl Token {
    /// Returns the token as messages show it.
    pub fn text(&self) -> String {
        match self {
            Token::Number(text) | Token::Name(text) => format!("`{text}`"),
            Token::Text(text) => format!("\"{text}\""),
            Token::Ellipsis => "`...`".into(),
            Token::Code(_) => "`%{`".into(),
            Token::Command(_) => "a command in backquotes".into(),
            Token::Setting(name, _) => format!("`--{name}`"),
            Token::Parameters(_) => "`// tailback:`".into(),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end of the script".into(),
        }
    }
}

/// Mark of a comment that configures the model.
const PARAMETERS: &str = "tailback:";

/// Position in a text.
struct Cursor {
    rest: Vec<char>,
    at: usize,
    place: Place,
}

impl Cursor {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }
    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.peek(i) == Some(c))
    }
    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        self.place.column += 1;
        if c == '\n' {
            self.place = Place { line: self.place.line + 1, column: 1 };
        }
        Some(c)
    }
    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.next();
        }
    }
    fn take_while(&mut self, mut belongs: impl FnMut(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek(0).filter(|c| belongs(*c)) {
            text.push(c);
            self.next();
        }
        text
    }
    /// Returns the text up to `end`, and moves behind it.
    fn take_until(&mut self, end: &str, from: Place) -> Result<String, Failure> {
        let mut text = String::new();
        while !self.starts(end) {
            text.push(self.next().ok_or_else(|| Failure::new(from, format!("`{end}` is missing")))?);
        }
        self.skip(end.chars().count());
        Ok(text)
    }
    /// Reads a number: digits, and a fraction unless the point begins `...`.
    fn number(&mut self) -> String {
        let mut text = self.take_while(|c| c.is_ascii_digit());
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.next();
            text.push('.');
            text += &self.take_while(|c| c.is_ascii_digit());
        }
        text
    }
}

/// Returns the tokens of `text`, which begins at `start` of the script; the last one is [`Token::End`].
pub fn tokens(text: &str, start: Place) -> Result<Vec<(Place, Token)>, Failure> {
    let mut cursor = Cursor { rest: text.chars().collect(), at: 0, place: start };
    let mut found = Vec::new();
    while let Some(c) = cursor.peek(0) {
        let place = cursor.place;
        let follows_digit = cursor.peek(1).is_some_and(|c| c.is_ascii_digit());
        let token = if c.is_whitespace() {
            cursor.next();
            continue;
        } else if cursor.starts("//") {
            cursor.skip(2);
            let comment = cursor.take_while(|c| c != '\n');
            match comment.trim_start().strip_prefix(PARAMETERS) {
                Some(parameters) => Token::Parameters(parameters.trim().into()),
                None => continue,
            }
        } else if cursor.starts("/*") {
            cursor.skip(2);
            cursor.take_until("*/", place)?;
            continue;
        } else if cursor.starts("...") {
            cursor.skip(3);
            Token::Ellipsis
        } else if cursor.starts("%{") {
            cursor.skip(2);
            Token::Code(cursor.take_until("}%", place)?)
        } else if cursor.starts("--") {
            cursor.skip(2);
            let name = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            let given = cursor.peek(0) == Some('=');
            cursor.skip(usize::from(given));
            Token::Setting(name, cursor.take_while(|c| given && !c.is_whitespace()))
        } else if c == '`' || c == '"' {
            cursor.next();
            let text = cursor.take_until(&c.to_string(), place)?;
            if c == '`' { Token::Command(text) } else { Token::Text(text) }
        } else if c.is_ascii_digit() || (c == '.' && follows_digit) {
            Token::Number(cursor.number())
        } else if c.is_ascii_alphabetic() || c == '_' {
            Token::Name(cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_'))
        } else {
            cursor.next();
            Token::Symbol(c)
        };
        found.push((place, token));
    }
    found.push((cursor.place, Token::End));
    Ok(found)
}
