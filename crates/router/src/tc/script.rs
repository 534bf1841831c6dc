//! Control flow of a script: loops over lists are unrolled; commands in conditions, functions and other loops are
//! executed once, which is reported if one of them affects queues or marks.

use super::arithmetic::count;
use super::shell::{Mark, Shell, Word};
use crate::{Place, Report};

/// Words that may precede a command.
const PREFIXES: [&str; 10] = ["sudo", "then", "do", "else", "{", "!", "exec", "command", "time", "builtin"];
/// Maximum number of characters read in repetitions of loops, so that every script terminates.
const MAX_REPEATED: u64 = 2_000_000;
/// Maximum nesting of blocks.
const MAX_DEPTH: usize = 64;

/// A script that is executed command by command.
pub(super) struct Script<'a> {
    shell: Shell<'a>,
    blocks: Vec<Block<'a>>,
    /// `true` if a loop was ended because [`Script::max_read`] was reached.
    exhausted: bool,
    /// Number of characters read at which loops end.
    max_read: u64,
}

/// A compound command.
struct Block<'a> {
    kind: Kind,
    at: Place,
    /// `true` if an inner command affects queues or marks.
    matters: bool,
    /// For a loop over a list: its variable, the remaining values, and the position of its body.
    iterations: Option<(String, Vec<String>, Mark<'a>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    For,
    /// `while`, `until` or `select`.
    Loop,
    Condition,
    Case,
    Function,
}

impl<'a> Script<'a> {
    pub fn new(text: &'a str) -> Script<'a> {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        Script {
            shell: Shell::new(text),
            blocks: Vec::new(),
            exhausted: false,
            max_read: length.saturating_add(MAX_REPEATED),
        }
    }

    /// Returns the words of the next command, without keywords before it; empty for control flow; `None`: the end.
    pub fn command(&mut self, report: &mut Report) -> Option<Vec<Word>> {
        let words = self.shell.command(report)?;
        let before = words.iter().take_while(|word| PREFIXES.contains(&word.text.as_str())).count();
        let words = words.get(before..).unwrap_or_default().to_vec();
        let Some((first, rest)) = words.split_first() else { return Some(Vec::new()) };
        let at = first.at;
        let is_function = first.text.ends_with("()") || rest.first().is_some_and(|word| word.text.starts_with("()"));
        match first.text.as_str() {
            "for" => self.open_for(at, rest),
            "while" | "until" | "if" | "elif" => {
                if first.text != "elif" {
                    self.open(if first.text == "if" { Kind::Condition } else { Kind::Loop }, at);
                }
                // A condition may be a command with an effect: `if ! tc qdisc add …`.
                let not = usize::from(rest.first().is_some_and(|word| word.text == "!"));
                let command = rest.get(not..).unwrap_or_default();
                if command.first().is_some_and(|word| word.text.rsplit('/').next() == Some("tc")) {
                    return Some(command.to_vec());
                }
            }
            "select" => self.open(Kind::Loop, at),
            "case" => self.open(Kind::Case, at),
            "function" => self.open(Kind::Function, at),
            _ if is_function => self.open(Kind::Function, at),
            "done" => self.done(report),
            "fi" => self.close(&[Kind::Condition], report),
            "esac" => self.close(&[Kind::Case], report),
            "}" => self.close(&[Kind::Function], report),
            // A pattern of `case`, possibly followed by a command.
            text if text.ends_with(')') && self.blocks.last().is_some_and(|block| block.kind == Kind::Case) => {
                return Some(rest.to_vec());
            }
            _ => return Some(words),
        }
        Some(Vec::new())
    }

    /// Records that the current command affects queues or marks.
    pub fn matters(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.matters = true);
    }

    /// Handles the end of the script.
    pub fn end(&mut self, report: &mut Report) {
        while let Some(block) = self.blocks.pop() {
            report_block(&block, report);
        }
        if self.exhausted {
            report.unsupported(
                Place::default(),
                format!("loops that repeat more than {MAX_REPEATED} characters of the script: they were ended"),
                Some("write the commands one by one"),
            );
        }
    }

    /// Opens a block; beyond the maximum nesting it is ignored.
    fn open(&mut self, kind: Kind, at: Place) {
        if self.blocks.len() < MAX_DEPTH {
            self.blocks.push(Block { kind, at, matters: false, iterations: None });
        }
    }

    /// `for NAME in VALUE …`
    fn open_for(&mut self, at: Place, words: &[Word]) {
        self.open(Kind::For, at);
        let [name, keyword, values @ ..] = words else { return };
        if keyword.text != "in" {
            return;
        }
        let mut list: Vec<String> = Vec::new();
        for value in values {
            let range = value.text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
            match range.and_then(|range| range.split_once("..")).and_then(|(first, last)| count(first, last)) {
                Some(numbers) => list.extend(numbers.split(' ').map(str::to_owned)),
                None => list.push(value.text.clone()),
            }
        }
        list.reverse();
        let Some(first) = list.pop() else { return };
        self.shell.set(&name.text, &first);
        let body = self.shell.mark();
        if let Some(block) =
            self.blocks.last_mut().filter(|block| block.kind == Kind::For && block.iterations.is_none())
        {
            block.iterations = Some((name.text.clone(), list, body));
        }
    }

    /// Handles `done`: begins the next iteration of a loop over a list, or closes the loop.
    fn done(&mut self, report: &mut Report) {
        let Some(block) = self.blocks.last_mut().filter(|block| matches!(block.kind, Kind::For | Kind::Loop)) else {
            return;
        };
        if let Some((name, left, body)) = &mut block.iterations
            && let Some(value) = left.pop()
        {
            if self.shell.read() < self.max_read {
                self.shell.set(name, &value);
                self.shell.jump(body);
                return;
            }
            self.exhausted = true;
        }
        self.close(&[Kind::For, Kind::Loop], report);
    }

    /// Closes the innermost block if it is of one of these kinds.
    fn close(&mut self, kinds: &[Kind], report: &mut Report) {
        if self.blocks.last().is_some_and(|block| kinds.contains(&block.kind))
            && let Some(block) = self.blocks.pop()
        {
            report_block(&block, report);
        }
    }
}

/// Reports that the commands of a block were executed once, or had no effect.
fn report_block(block: &Block<'_>, report: &mut Report) {
    let (message, advice) = match block.kind {
        Kind::For if block.iterations.is_some() => return,
        Kind::For | Kind::Loop => {
            ("a loop is read once, since its iterations are not known here", "write the commands of each iteration")
        }
        Kind::Condition => (
            "the outcome of a condition is not known here: the commands of all its branches are read",
            "leave only the branch that is taken",
        ),
        Kind::Case => ("all branches of `case` are read", "leave only the branch that is taken"),
        Kind::Function => (
            "a function is read where it is defined, whether it is called or not",
            "write its commands at the place of the call",
        ),
    };
    if block.matters {
        report.unsupported(block.at, message, Some(advice));
    } else {
        report.ignored(block.at, "no command in it affects queues");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, Report) {
        let (mut script, mut report, mut found) = (Script::new(text), Report::default(), Vec::new());
        while let Some(words) = script.command(&mut report) {
            if !words.is_empty() {
                script.matters();
                found.push(words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "));
            }
        }
        script.end(&mut report);
        (found, report)
    }

    #[test]
    fn a_loop_over_a_list_is_unrolled_and_variables_may_change_in_it() {
        let (found, report) =
            read("i=1\nfor r in 20 30; do\n for d in a b\n do tc $d $r $i; done\n i=$((i+1))\ndone\nend $i");
        assert_eq!(found, ["tc a 20 1", "tc b 20 1", "tc a 30 2", "tc b 30 2", "end 3"]);
        assert!(report.notices().is_empty(), "{report:?}");
        assert_eq!(read("for i in {1..3}; do tc $i; done").0, ["tc 1", "tc 2", "tc 3"]);
        assert_eq!(read("for i in $(seq 2 3); do tc $i; done").0, ["tc 2", "tc 3"]);
    }

    #[test]
    fn an_unknown_list_is_reported_and_does_not_end_the_outer_loop() {
        let (found, report) = read("for a in 1 2; do for b in $(ls); do x $a; done; y $a; done");
        assert_eq!(found, ["x 1", "y 1", "x 2", "y 2"]);
        assert!(report.notices().iter().any(|notice| notice.message.contains("a loop is read once")), "{report:?}");
    }

    #[test]
    fn nested_loops_terminate() {
        let text = format!("{}echo x;{}", "for i in {1..90}; do ".repeat(12), "done;".repeat(12));
        let (found, report) = read(&text);
        assert!(found.len() < 1_000_000);
        assert!(report.notices().iter().any(|notice| notice.message.contains("they were ended")), "{report:?}");
    }

    #[test]
    fn a_condition_without_commands_of_tc_is_ignored_and_one_with_such_commands_is_unsupported() {
        let (mut script, mut report) =
            (Script::new("if x; then exit 1; fi\nif y; then\ntc a\nelse\ntc b\nfi"), Report::default());
        while let Some(words) = script.command(&mut report) {
            if words.first().is_some_and(|word| word.text == "tc") {
                script.matters();
            }
        }
        let levels: Vec<_> = report.notices().iter().map(|notice| (notice.line, notice.level)).collect();
        assert_eq!(levels, [(1, crate::Level::Ignored), (2, crate::Level::Unsupported)]);
    }
}
