//! Parser of a text into the tree of statements: braces, `set` lines, comments, and the prompts and `[edit …]` lines of
//! a copied session.

use super::tree::{Id, ROOT, Tree};
use crate::{Place, Report};

/// Upper bound on the nesting of braces; Junos itself has about twenty levels.
const MAX_DEPTH: usize = 100;
/// Upper bound on the words of one statement.
const MAX_WORDS: usize = 100;
/// Upper bound on the words of one list.
const MAX_LIST: usize = 10_000;

/// Token: a word or a delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Open,
    Close,
    End,
    ListOpen,
    ListClose,
    /// End of a line, at which commands end.
    Line,
}

/// Splits a text into words and delimiters.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    column: u32,
}

impl<'a> Tokens<'a> {
    /// Skips bytes of the text, and moves the place beyond them.
    fn skip(&mut self, bytes: usize) {
        let end = (self.at + bytes).min(self.text.len());
        for character in self.text.get(self.at..end).unwrap_or_default().chars() {
            if character == '\n' {
                self.line = self.line.saturating_add(1);
                self.column = 1;
            } else {
                self.column = self.column.saturating_add(1);
            }
        }
        self.at = end;
    }

    /// Returns the next token with its place; comments and prompts are skipped.
    fn next(&mut self) -> Option<(Token<'a>, Place)> {
        loop {
            let rest = self.text.get(self.at..)?;
            let first = rest.chars().next()?;
            let place = Place::new(self.line, self.column);
            // `{master:0}`: prompt of a router with two routing engines.
            if let Some(end) = rest.strip_prefix('{').and_then(|inside| inside.bytes().take(20).position(|b| b == b'}'))
                && end > 0
                && rest
                    .get(1..=end)
                    .is_some_and(|inside| inside.bytes().all(|b| b.is_ascii_alphanumeric() || b == b':' || b == b'-'))
            {
                self.skip(end + 2);
                continue;
            }
            let single = match first {
                '{' => Some(Token::Open),
                '}' => Some(Token::Close),
                ';' => Some(Token::End),
                '[' => Some(Token::ListOpen),
                ']' => Some(Token::ListClose),
                '\n' => Some(Token::Line),
                _ => None,
            };
            if let Some(token) = single {
                self.skip(1);
                return Some((token, place));
            }
            if first.is_whitespace() {
                self.skip(first.len_utf8());
                continue;
            }
            if first == '#' {
                self.skip(rest.find('\n').unwrap_or(rest.len()));
                continue;
            }
            if rest.starts_with("/*") {
                self.skip(rest.find("*/").map_or(rest.len(), |end| end + 2));
                continue;
            }
            if first == '"' {
                let inside = rest.get(1..).unwrap_or_default();
                let end = inside.find(['"', '\n']).unwrap_or(inside.len());
                let word = inside.get(..end).unwrap_or_default();
                let closes = inside.get(end..).is_some_and(|rest| rest.starts_with('"'));
                self.skip(end + if closes { 2 } else { 1 });
                return Some((Token::Word(word), place));
            }
            let end = rest.find(|c: char| c.is_whitespace() || "{};[]\"".contains(c)).unwrap_or(rest.len());
            self.skip(end);
            return Some((Token::Word(rest.get(..end).unwrap_or_default()), place));
        }
    }
}

/// Parses a text.
pub(super) fn read(text: &str, report: &mut Report) -> Tree {
    let mut reader = Reader {
        tree: Tree::new(),
        report,
        words: Vec::new(),
        lists: Vec::new(),
        list: None,
        cut: false,
        stack: Vec::new(),
        edit: Vec::new(),
        levels: Vec::new(),
        show: Vec::new(),
        too_deep: 0,
        unbalanced: false,
    };
    let mut tokens = Tokens { text, at: 0, line: 1, column: 1 };
    while let Some((token, at)) = tokens.next() {
        if token == Token::Line && reader.is_other_line(text.get(tokens.at..).unwrap_or_default()) {
            reader.other_line();
        }
        reader.token(token, at);
    }
    reader.token(Token::Line, Place::new(tokens.line, tokens.column));
    reader.finish();
    reader.tree
}

struct Reader<'a, 'r> {
    tree: Tree,
    report: &'r mut Report,
    /// Words of the current statement.
    words: Vec<(&'a str, Place)>,
    /// Lists in the current statement: number of words before each list, and its elements.
    lists: Vec<(usize, Vec<(&'a str, Place)>)>,
    /// Elements of the list that is open.
    list: Option<Vec<(&'a str, Place)>>,
    /// `true` if the open list has more than [`MAX_LIST`] elements, which has been reported.
    cut: bool,
    /// Nodes of the open braces.
    stack: Vec<Id>,
    /// Path that `edit` has entered.
    edit: Vec<&'a str>,
    /// Number of words of the path before each `edit` whose level is not left yet.
    levels: Vec<usize>,
    /// Path given to `show`: the statements that follow are relative to it.
    show: Vec<&'a str>,
    /// Number of open braces beyond [`MAX_DEPTH`].
    too_deep: usize,
    /// `true` if an unmatched closing brace has been reported.
    unbalanced: bool,
}

/// Commands of configuration mode and operational mode, which end with the line.
const COMMANDS: [&str; 23] = [
    "set",
    "delete",
    "deactivate",
    "activate",
    "edit",
    "top",
    "up",
    "exit",
    "quit",
    "commit",
    "show",
    "rollback",
    "configure",
    "load",
    "run",
    "status",
    "rename",
    "insert",
    "copy",
    "annotate",
    "protect",
    "unprotect",
    "replace",
];

impl<'a> Reader<'a, '_> {
    fn token(&mut self, token: Token<'a>, at: Place) {
        match token {
            Token::Word(word) => self.word(word, at),
            Token::ListOpen => {
                self.list = Some(Vec::new());
                self.cut = false;
            }
            Token::ListClose => {
                if let Some(list) = self.list.take() {
                    if self.words.is_empty() && self.stack.is_empty() && list.first().is_some_and(|(w, _)| *w == "edit")
                    {
                        // `[edit class-of-service]` as in a session or in Juniper's documents.
                        let path: Vec<&str> = list.iter().skip(1).map(|(word, _)| *word).collect();
                        if path != self.edit {
                            // Entered by commands that are not in the text.
                            self.levels.clear();
                            self.edit = path;
                        }
                        self.show.clear();
                        return;
                    }
                    self.lists.push((self.words.len(), list));
                }
            }
            Token::Line => {
                if self.stack.is_empty()
                    && self.too_deep == 0
                    && self.words.first().is_some_and(|(word, _)| COMMANDS.contains(word))
                {
                    self.command();
                }
            }
            Token::End => self.statement(),
            Token::Open => self.open(at),
            Token::Close => {
                self.unfinished();
                if self.too_deep > 0 {
                    self.too_deep -= 1;
                } else if self.stack.pop().is_none() && !self.unbalanced {
                    self.unbalanced = true;
                    self.report.error(at, "a closing brace has no opening brace", "paste the whole block");
                }
            }
        }
    }

    fn word(&mut self, word: &'a str, at: Place) {
        if let Some(list) = &mut self.list {
            if list.len() < MAX_LIST {
                list.push((word, at));
            } else if !self.cut {
                self.cut = true;
                let message = format!("a list has more than {MAX_LIST} words; the rest is left out");
                self.report.unsupported(at, message, None);
            }
            return;
        }
        // Prompt `user@router#`, `user@router>` or `user@router%`.
        let prompt =
            self.words.is_empty() && self.stack.is_empty() && word.ends_with(['#', '>', '%']) && word.len() > 1;
        if prompt {
            return;
        }
        if self.words.len() < MAX_WORDS {
            self.words.push((word, at));
        } else if self.words.len() == MAX_WORDS {
            self.words.push(("…", at));
            self.report.unsupported(
                at,
                format!("a statement has more than {MAX_WORDS} words; the rest is left out"),
                None,
            );
        }
    }

    /// `true` if the line that ends here is neither a statement nor a command: it is outside of braces, has no
    /// delimiter at its end, and no opening brace follows. `rest` is the text after the line.
    fn is_other_line(&self, rest: &str) -> bool {
        const FAR: usize = 200;
        let opens = || rest.bytes().take(FAR).find(|byte| !byte.is_ascii_whitespace()) == Some(b'{');
        let commands = self.words.first().is_some_and(|(word, _)| COMMANDS.contains(word));
        self.stack.is_empty()
            && self.too_deep == 0
            && self.list.is_none()
            && !self.words.is_empty()
            && !commands
            && !opens()
    }

    /// Reports a line that is neither a statement nor a command.
    fn other_line(&mut self) {
        // First words of a router's answers.
        const ANSWERS: [&str; 8] =
            ["Entering", "Exiting", "Possible", "configuration", "load", "Users", "warning:", "The"];
        let words = core::mem::take(&mut self.words);
        self.lists.clear();
        let Some((first, at)) = words.first() else { return };
        if ANSWERS.contains(first) {
            self.report.ignored(*at, "output of the router");
        } else {
            self.report.unsupported(
                *at,
                "a line that is neither a statement nor a command",
                Some("end statements with `;`"),
            );
        }
    }

    /// Handles an opening brace: the current statement becomes the container of those that follow.
    fn open(&mut self, at: Place) {
        if self.stack.len() >= MAX_DEPTH {
            if self.too_deep == 0 {
                self.report.unsupported(
                    at,
                    format!("braces are nested more than {MAX_DEPTH} deep; the contents are left out"),
                    None,
                );
            }
            self.too_deep += 1;
            self.words.clear();
            self.lists.clear();
            return;
        }
        let base = self.base();
        let ids = self.enter();
        self.stack.push(ids.first().copied().unwrap_or(base));
    }

    /// Returns the node for statements outside of braces.
    fn base(&mut self) -> Id {
        if let Some(id) = self.stack.last() {
            return *id;
        }
        let words: Vec<&str> = self.edit.iter().chain(&self.show).copied().collect();
        let at = self.words.first().map_or_else(Place::default, |(_, at)| *at);
        words.into_iter().fold(ROOT, |id, word| self.tree.enter(id, word, at))
    }

    /// Adds the current statement to the tree; returns the nodes at which it ends, one per element of a list.
    fn enter(&mut self) -> Vec<Id> {
        let base = self.base();
        let mut words = core::mem::take(&mut self.words);
        let mut lists = core::mem::take(&mut self.lists);
        let mut inactive = false;
        while let Some((flag, _)) = words.first()
            && matches!(*flag, "inactive:" | "replace:" | "protect:" | "delete:")
        {
            inactive |= *flag == "inactive:";
            let _ = words.remove(0);
            for (place, _) in &mut lists {
                *place = place.saturating_sub(1);
            }
        }
        self.put(base, &words, &lists, inactive)
    }

    /// Adds a statement below `base`. `lists` are its lists, each with the number of words before it. Returns the nodes at
    /// which the statement ends.
    fn put(
        &mut self,
        base: Id,
        words: &[(&str, Place)],
        lists: &[(usize, Vec<(&str, Place)>)],
        inactive: bool,
    ) -> Vec<Id> {
        let mut path = vec![base];
        let mut ends = Vec::new();
        for place in 0..=words.len() {
            for (_, list) in lists.iter().filter(|(own, _)| *own == place) {
                let keyword = path.last().copied().unwrap_or(base);
                for (word, at) in list {
                    let id = self.tree.enter(keyword, word, *at);
                    self.tree.end(id);
                    ends.push(id);
                }
                // Words after a list are further options of the list's container.
                if path.len() > 1 {
                    let _ = path.pop();
                }
            }
            let Some((word, at)) = words.get(place) else { break };
            let id = self.tree.enter(path.last().copied().unwrap_or(base), word, *at);
            path.push(id);
            if place + 1 == words.len() && !lists.iter().any(|(own, _)| *own == words.len()) {
                ends.push(id);
            }
        }
        if inactive {
            for id in &ends {
                self.tree.set_inactive(*id, true);
            }
        }
        ends
    }

    /// Handles the end of a statement or command.
    fn statement(&mut self) {
        if self.too_deep > 0 || (self.words.is_empty() && self.lists.is_empty()) {
            self.words.clear();
            self.lists.clear();
            return;
        }
        if self.stack.is_empty() && self.words.first().is_some_and(|(word, _)| COMMANDS.contains(word)) {
            return self.command();
        }
        for id in self.enter() {
            self.tree.end(id);
        }
    }

    /// Handles a statement without a delimiter before a closing brace.
    fn unfinished(&mut self) {
        if !self.words.is_empty() || !self.lists.is_empty() {
            self.statement();
        }
    }

    /// Executes the command in the current words.
    fn command(&mut self) {
        let words = core::mem::take(&mut self.words);
        let lists = core::mem::take(&mut self.lists);
        let Some(((command, at), rest)) = words.split_first() else { return };
        let lists: Vec<_> = lists.into_iter().map(|(place, list)| (place.saturating_sub(1), list)).collect();
        let names = || rest.iter().map(|(word, _)| *word);
        if *command != "show" {
            self.show.clear();
        }
        match *command {
            "set" => {
                let base = self.base();
                for id in self.put(base, rest, &lists, false) {
                    self.tree.end(id);
                }
            }
            "delete" | "deactivate" | "activate" => {
                let base = self.edit.iter().try_fold(ROOT, |id, word| self.tree.child(id, word));
                let found = base.and_then(|base| {
                    rest.iter().try_fold(base, |id, (word, _)| {
                        self.tree.all_children(id).iter().copied().find(|child| self.tree.word(*child) == *word)
                    })
                });
                match (found.filter(|id| *id != ROOT), *command) {
                    (Some(id), "delete") => self.tree.remove(id),
                    (Some(id), own) => self.tree.set_inactive(id, own == "deactivate"),
                    (None, _) => {
                        let message = format!("`{command}`: there is no such statement");
                        self.report.warning(*at, message, "no line before this one defines it");
                    }
                }
            }
            "edit" => {
                if !rest.is_empty() {
                    self.levels.push(self.edit.len());
                }
                self.edit.extend(names());
                self.cut_path(MAX_WORDS);
            }
            "top" => {
                self.cut_path(0);
                // `top set …` and `top edit …`.
                if !rest.is_empty() {
                    self.words = rest.to_vec();
                    self.lists = lists;
                    self.command();
                }
            }
            "up" => {
                let levels = rest.first().and_then(|(word, _)| word.parse::<usize>().ok()).unwrap_or(1);
                let left = self.edit.len().saturating_sub(levels);
                self.cut_path(left);
            }
            // Returns to the level before the last `edit`, or leaves the configuration mode (Junos CLI reference, "exit").
            "exit" | "quit" => {
                let level = self.levels.pop().filter(|_| rest.is_empty());
                self.cut_path(level.unwrap_or(0));
            }
            "show" => {
                let shown = names().take_while(|word| !word.starts_with('|'));
                let mut shown: Vec<&str> = shown.collect();
                if shown.first() == Some(&"configuration") {
                    let _ = shown.remove(0);
                    self.cut_path(0);
                }
                self.show = if shown.len() > 4 { Vec::new() } else { shown };
            }
            "rename" | "insert" | "copy" | "load" | "rollback" | "replace" => {
                let message = format!("`{command}` changes the configuration and is not supported");
                let advice = "paste the result, as `show configuration` prints it";
                self.report.unsupported(*at, message, Some(advice));
            }
            _ => self.report.ignored(*at, format!("the command `{command}`")),
        }
    }

    /// Shortens the path of `edit` to at most this number of words. Levels that are not above it are left.
    fn cut_path(&mut self, words: usize) {
        self.edit.truncate(words);
        let left = self.edit.len();
        self.levels.retain(|level| *level < left);
    }

    /// Reports a statement or brace that is still open at the end of the text.
    fn finish(&mut self) {
        if let Some((_, at)) = self.words.first().copied() {
            self.report.error(at, "the last statement has no end", "end it with `;`, or paste the whole block");
        }
        if !self.stack.is_empty() || self.too_deep > 0 {
            let at = self.stack.last().map_or_else(Place::default, |id| self.tree.at(*id));
            self.report.error(at, "a brace is not closed", "paste the whole block");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LIST, ROOT, Report, read};

    #[test]
    fn exit_and_quit_return_to_the_level_before_the_last_edit() {
        // "Exit the current level of the statement hierarchy, returning to the level prior to the last edit command, or
        // exit from configuration mode. The quit and exit commands are synonyms." (Junos CLI reference, "exit")
        for (commands, path) in [
            ("edit a\nedit b c\nexit", "a"),
            ("edit a\nedit b c\nquit", "a"),
            ("edit a b\nexit", ""),
            ("edit a\nedit b\nedit c\nexit\nexit", "a"),
            ("edit a\nedit b\nexit configuration-mode", ""),
            ("edit a\nedit b c\nup\nexit", "a"),
            ("edit a\nedit b\ntop edit c d\nexit", ""),
            // The banner repeats the path.
            ("edit a\n[edit a]\nedit b\n[edit a b]\nexit", "a"),
            // Without the commands that led to a level, the level before it is unknown.
            ("[edit a b]\nexit", ""),
        ] {
            let mut report = Report::default();
            let tree = read(&format!("{commands}\nset x y\n"), &mut report);
            let path: Vec<&str> = path.split_whitespace().chain(["x", "y"]).collect();
            assert!(tree.path(ROOT, &path).is_some(), "{commands:?}");
        }
    }

    #[test]
    fn a_list_that_is_cut_is_reported_once() {
        let unsupported = |words: usize| -> Vec<String> {
            let mut report = Report::default();
            let _ = read(&format!("a {{ b [ {}]; }}\n", "w ".repeat(words)), &mut report);
            report.notices().iter().map(|notice| notice.message.clone()).collect()
        };
        assert!(unsupported(MAX_LIST).is_empty());
        assert_eq!(unsupported(MAX_LIST + 2), ["a list has more than 10000 words; the rest is left out"]);
    }
}
