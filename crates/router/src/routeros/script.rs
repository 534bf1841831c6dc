//! Parser of RouterOS commands: `/queue tree` on a line of its own, then `add name=… parent=…`, or both on one line;
//! with lines continued by `\`, quotes, `[ find … ]`, and prompts of a copied session.

use crate::{Place, Report};

/// A word of a command, `key=value` or `key`.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Text before the first `=` outside of quotes.
    pub key: String,
    /// Text after the `=`; `None`: the word has no `=`.
    pub value: Option<String>,
    pub at: Place,
}

/// A command, such as `add` in the menu `queue tree`, with the words after it.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub menu: String,
    pub verb: String,
    pub words: Vec<Word>,
    pub at: Place,
}

impl Command {
    /// Returns the last value of a key, with the place of its word; `None`: the key has no value.
    pub fn get(&self, key: &str) -> Option<(&str, Place)> {
        let word = self.words.iter().rev().find(|word| word.key == key)?;
        Some((word.value.as_deref()?, word.at))
    }
    /// `true` if the value of a key is `yes` or `true`.
    pub fn is(&self, key: &str) -> bool {
        self.get(key).is_some_and(|(value, _)| matches!(value, "yes" | "true"))
    }
}

/// Commands that act on the entries of a menu.
const VERBS: [&str; 20] = [
    "add",
    "set",
    "remove",
    "print",
    "move",
    "enable",
    "disable",
    "export",
    "edit",
    "comment",
    "find",
    "unset",
    "reset",
    "reset-counters",
    "reset-counters-all",
    "monitor",
    "get",
    "import",
    "scan",
    "ping",
];

/// Returns the commands of a text, in order.
pub(super) fn commands(text: &str, report: &mut Report) -> Vec<Command> {
    let mut found = Vec::new();
    let mut menu = String::new();
    for line in lines(text) {
        for words in split(&line) {
            if let Some(command) = command(words, &mut menu, report) {
                found.push(command);
            }
        }
    }
    found
}

/// Returns the lines as characters with their places. A line that ends with `\` is joined with the next one, without
/// the leading white space of that.
fn lines(text: &str) -> Vec<Vec<(char, Place)>> {
    let mut found = Vec::new();
    let mut open: Option<Vec<(char, Place)>> = None;
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let at = |column: usize| {
            Place::new(u32::try_from(number + 1).unwrap_or(u32::MAX), u32::try_from(column + 1).unwrap_or(u32::MAX))
        };
        let goes_on = open.is_some();
        if !goes_on && line.trim_start().starts_with('#') {
            continue;
        }
        let mut own = open.take().unwrap_or_default();
        let line = line.trim_end();
        let is_continued = line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
        let body = if is_continued { line.strip_suffix('\\').unwrap_or(line) } else { line };
        let skipped = if goes_on { body.chars().take_while(|c| c.is_whitespace()).count() } else { 0 };
        own.extend(body.chars().enumerate().skip(skipped).map(|(column, c)| (c, at(column))));
        if is_continued {
            open = Some(own);
        } else {
            found.push(own);
        }
    }
    found.extend(open);
    found
}

/// Splits a line into commands, which `;` separates, and these into words. Quotes, brackets and braces keep white space
/// within a word.
fn split(line: &[(char, Place)]) -> Vec<Vec<Word>> {
    let (mut all, mut words) = (Vec::new(), Vec::new());
    let mut own: Option<Word> = None;
    let (mut quoted, mut depth) = (false, 0usize);
    let mut chars = line.iter().copied();
    while let Some((c, at)) = chars.next() {
        if !quoted && depth == 0 && (c.is_whitespace() || c == ';') {
            words.extend(own.take());
            if c == ';' {
                all.push(core::mem::take(&mut words));
            }
            continue;
        }
        let word = own.get_or_insert_with(|| Word { key: String::new(), value: None, at });
        let valued = word.value.is_some();
        let mut push = |c: char| word.value.as_mut().unwrap_or(&mut word.key).push(c);
        match c {
            '"' if depth == 0 => quoted = !quoted,
            '\\' if quoted => push(escaped(&mut chars)),
            '[' | '{' | '(' if !quoted => {
                depth += 1;
                push(c);
            }
            ']' | '}' | ')' if !quoted => {
                depth = depth.saturating_sub(1);
                push(c);
            }
            '=' if !quoted && depth == 0 && !valued => word.value = Some(String::new()),
            c => push(c),
        }
    }
    words.extend(own);
    all.push(words);
    all
}

/// Returns the character of an escape sequence, without its `\`, within quotes: `n`, `r`, `t`, `_` for a space, two
/// hexadecimal digits, or the character itself.
fn escaped(chars: &mut impl Iterator<Item = (char, Place)>) -> char {
    match chars.next().map_or(' ', |(c, _)| c) {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        '_' => ' ',
        c if c.is_ascii_hexdigit() && c.is_ascii_uppercase() || c.is_ascii_digit() => {
            let second = chars.next().and_then(|(c, _)| c.to_digit(16)).unwrap_or(0);
            char::from_u32(c.to_digit(16).unwrap_or(0) * 16 + second).unwrap_or(' ')
        }
        c => c,
    }
}

/// Parses a command and updates the current menu. `None`: the words only name a menu, or are no command, which is
/// reported.
fn command(words: Vec<Word>, menu: &mut String, report: &mut Report) -> Option<Command> {
    let mut words = words.into_iter().peekable();
    let at = words.peek()?.at;
    // Prompt: `[admin@MikroTik] /queue tree> add …`.
    if words.peek().is_some_and(|word| word.key.starts_with('[') && word.key.contains('@')) {
        let first = words.next()?;
        let mut path = Vec::new();
        let mut ended = first.key.ends_with('>');
        while !ended && let Some(word) = words.next_if(|word| word.value.is_none()) {
            ended = word.key.ends_with('>');
            path.push(word.key.trim_end_matches('>').to_owned());
        }
        *menu = joined(&path);
        let _ = words.peek()?;
    }
    let first = words.peek()?;
    if first.key.starts_with([':', '{', '}', '$']) {
        report.unsupported(first.at, "commands of scripts are not simulated", Some("paste what `/export` prints"));
        return None;
    }
    let absolute = first.key.starts_with('/');
    let mut path = Vec::new();
    let mut verb = None;
    while let Some(word) = words.next_if(|word| word.value.is_none() && !word.key.starts_with('[')) {
        let parts: Vec<&str> = word.key.split('/').filter(|part| !part.is_empty() && *part != "..").collect();
        let last = parts.last().copied().filter(|last| VERBS.contains(last));
        path.extend(parts.iter().take(parts.len() - usize::from(last.is_some())).map(|part| (*part).to_owned()));
        if let Some(last) = last {
            verb = Some(last.to_owned());
            break;
        }
    }
    let own = joined(&path);
    let here = if absolute { own } else { joined(&[menu.clone(), own]) };
    let Some(verb) = verb else {
        match words.peek() {
            // A line that only names a menu applies to the commands after it.
            None if absolute => *menu = here,
            None => report.unsupported(at, format!("`{here}` is neither a menu nor a command"), None),
            Some(word) => report.unsupported(word.at, format!("`{here}` is followed by neither `add` nor `set`"), None),
        }
        return None;
    };
    Some(Command { menu: here, verb, words: words.collect(), at })
}

/// Returns the path of a menu, whose parts are separated by `/` or spaces, with single spaces.
fn joined(path: &[String]) -> String {
    let parts = path.iter().flat_map(|part| part.split(['/', ' '])).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_continued_lines_quotes_and_prompts_are_commands() {
        let text = "# by RouterOS 7.1\n/queue tree\nadd name=\"a \\\"b\\\"\" parent=\\\n    ether1 comment=\"x=\\\n    y\"\n\
                    /queue/type/add kind=pcq name=p; [admin@MikroTik] /queue simple> add target=10.0.0.1/32\n\
                    /queue interface set [ find name=ether1 ] queue=none\n";
        let mut report = Report::default();
        let found = commands(text, &mut report);
        assert!(report.notices().is_empty(), "{report:?}");
        let menus: Vec<(&str, &str)> = found.iter().map(|own| (own.menu.as_str(), own.verb.as_str())).collect();
        let expected =
            [("queue tree", "add"), ("queue type", "add"), ("queue simple", "add"), ("queue interface", "set")];
        assert_eq!(menus, expected);
        assert_eq!(found[0].get("name").map(|own| own.0), Some("a \"b\""));
        assert_eq!(found[0].get("comment").map(|own| own.0), Some("x=y"));
        let (parent, at) = found[0].get("parent").expect("the command states a parent");
        assert_eq!((parent, at.line, at.column), ("ether1", 3, 20));
        assert_eq!(found[3].words[0].key, "[ find name=ether1 ]");
    }
}
