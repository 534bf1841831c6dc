//! The subset of shell syntax in scripts of `tc`: words, quotes, comments, continued lines, variables and integer
//! arithmetic.

use super::arithmetic::{evaluate, output};
use crate::{Place, Report};
use std::collections::BTreeMap;

/// A word after quote removal and expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub text: String,
    pub at: Place,
}

/// Maximum length of a variable's value in bytes: a value built from two copies of the last one grows exponentially.
const MAX_VALUE_LENGTH: usize = 1024;

/// Parser of a script: returns its commands one by one, and reports unsupported syntax.
pub(super) struct Shell<'a> {
    text: core::iter::Peekable<core::str::Chars<'a>>,
    place: Place,
    variables: BTreeMap<String, String>,
    /// Number of characters read, including repetitions by loops.
    read: u64,
}

/// A position in a script.
#[derive(Clone)]
pub(super) struct Mark<'a> {
    text: core::iter::Peekable<core::str::Chars<'a>>,
    place: Place,
}

/// Keywords of compound commands: they are returned even if the rest of the command cannot be expanded, so that blocks
/// stay balanced.
const OPENS: [&str; 6] = ["for", "while", "until", "if", "case", "select"];

/// A word under construction.
#[derive(Default)]
struct Making {
    text: String,
    at: Place,
    /// `true` once the word has begun; an empty quotation is a word, too.
    begun: bool,
    /// Message about an expansion that failed.
    trouble: Option<String>,
}

impl<'a> Shell<'a> {
    pub fn new(text: &'a str) -> Shell<'a> {
        Shell { text: text.chars().peekable(), place: Place::new(1, 1), variables: BTreeMap::new(), read: 0 }
    }
    /// Returns the current position.
    pub fn mark(&self) -> Mark<'a> {
        Mark { text: self.text.clone(), place: self.place }
    }
    /// Continues at a position.
    pub fn jump(&mut self, to: &Mark<'a>) {
        self.text.clone_from(&to.text);
        self.place = to.place;
    }
    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: &str) {
        let _ = self.variables.insert(name.to_owned(), value.to_owned());
    }
    /// Returns the number of characters read, including repetitions by loops.
    pub fn read(&self) -> u64 {
        self.read
    }

    fn next(&mut self) -> Option<char> {
        let character = self.text.next()?;
        self.read += 1;
        if character == '\n' {
            self.place = Place::new(self.place.line.saturating_add(1), 1);
        } else {
            self.place.column = self.place.column.saturating_add(1);
        }
        Some(character)
    }

    /// Returns the words of the next command; `None`: the end. Assignments are applied, and commands that could not be
    /// read are reported and returned empty.
    pub fn command(&mut self, report: &mut Report) -> Option<Vec<Word>> {
        let _ = self.text.peek()?;
        let mut words: Vec<Word> = Vec::new();
        let mut making = Making { at: self.place, ..Making::default() };
        let mut trouble: Option<(Place, String)> = None;
        loop {
            let at = self.place;
            let character = self.next();
            if !making.begun {
                making.at = at;
            }
            match character {
                None | Some('\n' | ';' | '&' | '|') => {
                    Self::end_word(&mut making, &mut words, &mut trouble);
                    break;
                }
                Some('#') if !making.begun => {
                    while self.text.peek().is_some_and(|c| *c != '\n') {
                        let _ = self.next();
                    }
                }
                Some('\\') => match self.next() {
                    Some('\n') | None => {}
                    Some('\r') if self.text.peek() == Some(&'\n') => drop(self.next()),
                    Some(escaped) => {
                        making.begun = true;
                        making.text.push(escaped);
                    }
                },
                Some('\'') => {
                    making.begun = true;
                    while let Some(quoted) = self.next() {
                        if quoted == '\'' {
                            break;
                        }
                        making.text.push(quoted);
                    }
                }
                Some('"') => {
                    making.begun = true;
                    self.quotation(&mut making);
                }
                Some('`') => {
                    making.begun = true;
                    let mut inner = String::new();
                    while let Some(character) = self.next().filter(|c| *c != '`') {
                        inner.extend(Some(character).filter(|_| inner.len() < MAX_VALUE_LENGTH));
                    }
                    let value = self.output(&inner, &mut making);
                    Self::splice(&value, &mut making, &mut words, &mut trouble);
                }
                Some('$') => {
                    let value = self.expansion(&mut making);
                    Self::splice(&value, &mut making, &mut words, &mut trouble);
                }
                Some('>' | '<') => {
                    // A redirection with its file: `2>/dev/null`, `> file`, `2>&1`.
                    if making.text.chars().all(|c| c.is_ascii_digit()) {
                        making = Making { at, ..Making::default() };
                    }
                    Self::end_word(&mut making, &mut words, &mut trouble);
                    self.skip_redirection();
                }
                Some(space) if space.is_whitespace() => Self::end_word(&mut making, &mut words, &mut trouble),
                Some(other) => {
                    making.begun = true;
                    making.text.push(other);
                }
            }
        }
        if let Some((at, message)) = trouble {
            report.unsupported(at, message, Some("write the value itself"));
            // A keyword may follow `do` or `then`.
            let opens = words.iter().take(3).position(|word| OPENS.contains(&word.text.as_str()));
            words.truncate(opens.map_or(0, |index| index + 1));
        }
        self.assign(&mut words);
        Some(words)
    }

    /// Ends the word, if one has begun; the first failed expansion of a command is kept.
    fn end_word(making: &mut Making, words: &mut Vec<Word>, trouble: &mut Option<(Place, String)>) {
        let made = core::mem::take(making);
        if let Some(message) = made.trouble {
            let _ = trouble.get_or_insert((made.at, message));
        }
        if made.begun {
            words.push(Word { text: made.text, at: made.at });
        }
    }

    /// Skips the rest of a redirection: further operators, then the file.
    fn skip_redirection(&mut self) {
        while self.text.peek().is_some_and(|c| matches!(c, '>' | '&' | ' ' | '<')) {
            let _ = self.next();
        }
        while self.text.peek().is_some_and(|c| !c.is_whitespace() && !matches!(c, ';' | '&' | '|')) {
            let _ = self.next();
        }
    }

    /// Appends the text up to the closing double quote.
    fn quotation(&mut self, making: &mut Making) {
        while let Some(character) = self.next() {
            match character {
                '"' => return,
                '\\' => {
                    if let Some(escaped) = self.next() {
                        making.text.push(escaped);
                    }
                }
                '$' => {
                    let value = self.expansion(making);
                    making.text.push_str(&value);
                }
                other => making.text.push(other),
            }
        }
    }

    /// Appends an unquoted value to the word, which is split at each white space of the value.
    fn splice(value: &str, making: &mut Making, words: &mut Vec<Word>, trouble: &mut Option<(Place, String)>) {
        let at = making.at;
        for character in value.chars() {
            if character.is_whitespace() {
                Self::end_word(making, words, trouble);
                making.at = at;
            } else {
                making.begun = true;
                making.text.push(character);
            }
        }
        // A failed expansion begins a word, so that its place is kept.
        making.begun |= making.trouble.is_some();
    }

    /// Expands the text after a dollar sign.
    fn expansion(&mut self, making: &mut Making) -> String {
        match self.text.peek() {
            Some('(') => {
                let _ = self.next();
                if self.text.peek() == Some(&'(') {
                    let _ = self.next();
                    return self.arithmetic(making, '(', ')');
                }
                let (mut depth, mut inner) = (1, String::new());
                while depth > 0 {
                    let character = self.next();
                    match character {
                        Some('(') => depth += 1,
                        Some(')') => depth -= 1,
                        Some(_) => {}
                        None => break,
                    }
                    inner.extend(character.filter(|_| inner.len() < MAX_VALUE_LENGTH));
                }
                self.output(inner.strip_suffix(')').unwrap_or(&inner), making)
            }
            // The obsolete form of arithmetic expansion of bash.
            Some('[') => {
                let _ = self.next();
                self.arithmetic(making, '[', ']')
            }
            Some('{') => {
                let _ = self.next();
                let mut inner = String::new();
                while let Some(character) = self.next() {
                    if character == '}' {
                        break;
                    }
                    inner.push(character);
                }
                let (name, default) = match inner.split_once(":-").or_else(|| inner.split_once('-')) {
                    Some((name, default)) => (name, Some(default)),
                    None => (inner.as_str(), None),
                };
                self.value(name, default, making)
            }
            _ => {
                let mut name = String::new();
                while let Some(character) = self.text.peek().copied().filter(|c| c.is_ascii_alphanumeric() || *c == '_')
                {
                    name.push(character);
                    let _ = self.next();
                    if name.len() == 1 && character.is_ascii_digit() {
                        break;
                    }
                }
                if name.is_empty() {
                    return "$".to_owned();
                }
                self.value(&name, None, making)
            }
        }
    }

    /// Returns the value of a variable; an unset or empty one has the default, if there is one.
    fn value(&self, name: &str, default: Option<&str>, making: &mut Making) -> String {
        match (self.variables.get(name).map(String::as_str), default) {
            (Some(value), _) if !value.is_empty() || default.is_none() => value.to_owned(),
            (_, Some(default)) => default.to_owned(),
            _ => {
                making.trouble = Some(format!("the variable `{name}` is not set in this script"));
                String::new()
            }
        }
    }

    /// Returns the output of a supported command.
    fn output(&self, command: &str, making: &mut Making) -> String {
        output(command, &self.variables).unwrap_or_else(|| {
            making.trouble = Some("the output of this command is not known here".to_owned());
            String::new()
        })
    }

    /// Evaluates the rest of `$((…))` or `$[…]`, after the opening brackets.
    fn arithmetic(&mut self, making: &mut Making, open: char, close: char) -> String {
        let (mut inner, mut depth) = (String::new(), 0usize);
        while let Some(character) = self.next() {
            match character {
                c if c == open => depth += 1,
                c if c == close && depth == 0 => {
                    if close == ')' && self.text.peek() == Some(&')') {
                        let _ = self.next();
                    }
                    break;
                }
                c if c == close => depth -= 1,
                _ => {}
            }
            inner.push(character);
        }
        if let Some(value) = evaluate(&inner, &self.variables) {
            value.to_string()
        } else {
            making.trouble = Some(format!("`{}` could not be computed", inner.trim()));
            String::new()
        }
    }

    /// Applies and removes the assignments at the beginning of the command.
    fn assign(&mut self, words: &mut Vec<Word>) {
        let declares =
            words.first().is_some_and(|word| matches!(word.text.as_str(), "export" | "local" | "readonly" | "declare"));
        let mut taken = usize::from(declares);
        for word in words.iter().skip(taken) {
            let Some((name, value)) = word.text.split_once('=') else { break };
            let is_name = name
                .chars()
                .enumerate()
                .all(|(i, c)| c == '_' || c.is_ascii_alphabetic() || (i > 0 && c.is_ascii_digit()));
            if name.is_empty() || !is_name {
                break;
            }
            let end =
                value.char_indices().map(|(i, c)| i + c.len_utf8()).take_while(|end| *end <= MAX_VALUE_LENGTH).last();
            let _ =
                self.variables.insert(name.to_owned(), value.get(..end.unwrap_or(0)).unwrap_or_default().to_owned());
            taken += 1;
        }
        if taken > usize::from(declares) || (declares && words.len() > 1) {
            let _ = words.drain(..taken.max(if declares { words.len() } else { 0 }).min(words.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Vec<String>>, Report) {
        let (mut shell, mut report, mut found) = (Shell::new(text), Report::default(), Vec::new());
        while let Some(words) = shell.command(&mut report) {
            if !words.is_empty() {
                found.push(words.into_iter().map(|word| word.text).collect());
            }
        }
        (found, report)
    }

    #[test]
    fn variables_quotes_continuations_and_comments_are_those_of_a_shell() {
        let text = "TC=\"/sbin/tc -s\" # which\nUP=800; DEV='eth 0'\n$TC qdisc \\\n add dev \"$DEV\" rate ${UP}kbit 2>/dev/null || true";
        let (found, report) = read(text);
        assert_eq!(found, [vec!["/sbin/tc", "-s", "qdisc", "add", "dev", "eth 0", "rate", "800kbit"], vec!["true"]]);
        assert!(report.notices().is_empty());
    }

    #[test]
    fn arithmetic_has_its_usual_precedence_and_a_division_by_zero_is_reported() {
        assert_eq!(
            read("A=10; echo $((A*2+(3-1)/2)) ${B:-7} $(( $A % 4 )) $[9*$A/10]").0,
            [["echo", "21", "7", "2", "9"]]
        );
        let (found, report) = read("echo $((1/0))");
        assert!(found.is_empty());
        assert_eq!((report.notices()[0].line, report.notices()[0].column), (1, 6));
    }

    #[test]
    fn unsupported_syntax_is_reported_and_its_command_omitted() {
        let (found, report) = read("tc $X\ntc `id`\ntc $(id)\nok");
        assert_eq!(found, [["ok"]]);
        assert_eq!(report.notices().iter().map(|notice| notice.line).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn deeply_nested_parentheses_are_reported_without_stack_overflow() {
        let text = format!("echo $(({}1{}))", "(".repeat(100_000), ")".repeat(100_000));
        assert_eq!(read(&text).1.notices().len(), 1);
    }
}
