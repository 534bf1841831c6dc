//! Search for the changes of a configuration's text that give a scenario's values.
//!
//! Each word with a number is varied once, and the import of the text shows the values that it determines. For each
//! value that differs from the scenario one such word is then chosen, and its number is changed until an import has the
//! value of the scenario.

use super::reading::{Change, Reading, import};
use super::tokens::{Syntax, Token, tokens};
use super::values::{Leaf, Unit, Values, differences, without_flows};
use crate::{Place, Report};
use core::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of iterations, in each of which all chosen words may change. A value that depends linearly on its
/// number is right after the first, up to rounding; the limit ends a search that does not converge.
const MAX_ITERATIONS: usize = 12;
/// Upper bound on the number of literals that are tried in place of a shell expansion: each costs an import.
const MAX_LITERALS: usize = 8;
/// Keys of values that a language cannot state, since they are computed from others: the weight of RED's average, which
/// tc computes from `burst`, `min` and `avpkt` (`tc_red_eval_ewma`).
const DERIVED: [&str; 1] = ["weight"];

/// Result of a search.
pub(super) enum Outcome {
    /// A text with the wanted values, up to the units of its words.
    Found {
        text: String,
        /// Replaced words, in the order of the text.
        changes: Vec<Change>,
        /// Warnings about roundings and side effects.
        report: Report,
    },
    /// A value cannot be written back; the report has the errors.
    Refused(Report),
    /// The original cannot be converted into a scenario with these options.
    Unreadable,
}

/// The words of a text, and the values that each determines.
pub(super) struct Search<'a> {
    original: &'a str,
    reading: &'a Reading<'a>,
    /// `true` if the traffic table is known, so that conditions on addresses and ports are compared.
    strict: bool,
    tokens: Vec<Token>,
    /// Effects of words, by index in `tokens`; a word without an entry has none, or changes more than numbers.
    effects: BTreeMap<usize, Effect>,
    /// Number of imports that are left.
    left: Cell<usize>,
}

/// Effect of a word's number.
#[derive(Clone, Debug, Default)]
struct Effect {
    /// Dependence of each value that the number changes, by path.
    slopes: BTreeMap<String, Slope>,
}

/// Linear dependence of a value on the number in a word.
#[derive(Clone, Copy, Debug)]
struct Slope {
    /// Value in the original, in the base unit of its [`Unit`].
    base: f64,
    /// Change of the value when the number, in the unit of the word, rises by 1.
    by: f64,
}

/// The value for which the number of a word is sought.
#[derive(Clone, Debug)]
struct Sought {
    path: String,
    /// Value in the scenario, in the base unit of `unit`.
    wanted: f64,
    unit: Unit,
    /// Number in the word at the start of the last iteration, and the value that it gave; `None`: no iteration so far.
    last: Option<(f64, f64)>,
    /// Change of the value when the number rises by 1, as last measured.
    slope: f64,
    /// `true` if the value is proportional to the number, so that it is scaled instead of moved along the slope.
    proportional: bool,
}

impl<'a> Search<'a> {
    /// Returns a search in `original` that makes at most `budget` imports.
    pub fn new(original: &'a str, reading: &'a Reading<'a>, strict: bool, budget: usize) -> Search<'a> {
        let tokens = tokens(original, reading.language);
        Search { original, reading, strict, tokens, effects: BTreeMap::new(), left: Cell::new(budget) }
    }

    /// Imports a text; returns the values of the port, and `true` if a router would accept the text. `None`: it cannot
    /// be converted into a scenario, or no import is left.
    fn read(&self, text: &str) -> Option<(Values, bool)> {
        self.left.set(self.left.get().checked_sub(1)?);
        self.reading.values(text)
    }

    /// Returns the original with some of its words replaced, by index in `tokens`.
    fn text_with(&self, words: &BTreeMap<usize, String>) -> String {
        let (mut made, mut from) = (String::with_capacity(self.original.len() + 64), 0);
        for (index, word) in words {
            let Some(token) = self.tokens.get(*index) else { continue };
            made.push_str(self.original.get(from..token.start).unwrap_or_default());
            made.push_str(word);
            from = token.end;
        }
        made.push_str(self.original.get(from..).unwrap_or_default());
        made
    }

    /// Returns the differences, each as path, old and new value (`None`: there is no such value), without those of
    /// conditions that only an unknown traffic table could resolve.
    fn against<'v>(&self, old: &'v Values, new: &'v Values) -> Vec<(&'v str, Option<&'v Leaf>, Option<&'v Leaf>)> {
        let counts = |leaves: &(Option<&Leaf>, Option<&Leaf>)| match leaves {
            (Some(Leaf::Condition(a)), Some(Leaf::Condition(b))) => self.strict || without_flows(a) != without_flows(b),
            _ => true,
        };
        let all = differences(old, new);
        all.into_iter().filter(|(_, leaves)| counts(leaves)).map(|(path, (a, b))| (path, a, b)).collect()
    }

    /// Changes words of the original until its import has the values of `wanted`.
    pub fn run(&mut self, wanted: &Values) -> Outcome {
        let Some((base, _)) = self.read(self.original) else { return Outcome::Unreadable };
        let mut report = Report::default();
        let mut numbers: BTreeMap<String, (Unit, f64)> = BTreeMap::new();
        for (path, old, new) in self.against(&base, wanted) {
            match (old, new) {
                (Some(Leaf::Quantity(a, _)), Some(Leaf::Quantity(b, value))) if a == b => {
                    let _ = numbers.insert(path.to_owned(), (*b, *value));
                }
                _ => refuse(&mut report, self.reading.language, path, old, new),
            }
        }
        if report.has_errors() {
            return Outcome::Refused(report);
        }
        if numbers.is_empty() {
            return Outcome::Found { text: self.original.to_owned(), changes: Vec::new(), report };
        }
        self.probe(&base, &numbers);
        let paths: BTreeSet<&str> = numbers.keys().map(String::as_str).collect();
        // A word that determines several values, all of which differ, is changed alone if that gives all of them:
        // usually the assignment of a shell variable.
        let shared = self.assigned(&numbers, |effect| {
            effect.slopes.len() > 1 && effect.slopes.keys().all(|path| paths.contains(path.as_str()))
        });
        if shared.len() == 1
            && let Ok(found) = self.solve(&base, wanted, shared, Report::default())
        {
            return found;
        }
        let chosen = self.assigned(&numbers, |_| true);
        let determined: BTreeSet<&str> = chosen.values().map(|sought| sought.path.as_str()).collect();
        // Values that the chosen words change in addition; the iterations show whether they become those wanted.
        let affected: BTreeSet<&str> = chosen
            .keys()
            .filter_map(|index| self.effects.get(index))
            .flat_map(|effect| effect.slopes.keys().map(String::as_str))
            .collect();
        for path in paths.iter().filter(|path| !determined.contains(*path) && !affected.contains(*path)) {
            refuse(&mut report, self.reading.language, path, base.get(*path), wanted.get(*path));
        }
        if self.left.get() == 0 {
            let advice = "export with only the part of the text that has the policy and the interface";
            report.error(Place::default(), "the text is too long for the search", advice);
        }
        if report.has_errors() {
            return Outcome::Refused(report);
        }
        match self.solve(&base, wanted, chosen, report) {
            Ok(found) => found,
            Err(report) => Outcome::Refused(report),
        }
    }

    /// Varies each word of the original, one at a time, and records its effect. A shell expansion is replaced by a
    /// literal of a value of `wanted`; its effect is recorded if the import then has that value.
    fn probe(&mut self, base: &Values, wanted: &BTreeMap<String, (Unit, f64)>) {
        let literals: BTreeSet<String> = wanted.values().map(|(unit, value)| Token::literal(*value, *unit)).collect();
        for index in 0..self.tokens.len() {
            let Some(token) = self.tokens.get(index).cloned() else { break };
            let Some(number) = token.number else {
                for literal in literals.iter().take(MAX_LITERALS) {
                    let words = BTreeMap::from([(index, literal.clone())]);
                    let Some((values, _)) = self.read(&self.text_with(&words)) else { continue };
                    let Some(effect) = effect(&self.against(base, &values), 1.0) else { continue };
                    let reaches = |(path, (unit, value)): (&String, &(Unit, f64))| {
                        values.get(path).is_some_and(|leaf| leaf.same(&Leaf::Quantity(*unit, *value)))
                            && effect.slopes.contains_key(path)
                    };
                    if wanted.iter().any(reaches) {
                        let _ = self.effects.insert(index, effect);
                        break;
                    }
                }
                continue;
            };
            // Small steps first, over which a value is likely to be linear; the others for a value that rounding keeps
            // constant over a small step, or a text that a router refuses with a larger number.
            for other in [number + 1.0, number - 1.0, number * 2.0, number / 2.0, number * 100.0] {
                // A number without a point stays an integer: `written` formats rates without fractions.
                let unit = if token.text.contains('.') { Unit::Number } else { Unit::Rate };
                if other <= 0.0 || (other.fract() != 0.0 && unit == Unit::Rate) {
                    continue;
                }
                let plain = Token { unit: String::new(), ..token.clone() };
                let Some(digits) = plain.written(other, unit, self.reading.language) else { continue };
                let words = BTreeMap::from([(index, format!("{digits}{}", token.unit))]);
                let Some((values, accepted)) = self.read(&self.text_with(&words)) else { continue };
                let Some(effect) = effect(&self.against(base, &values), other - number) else { continue };
                // The effect of a text that a router accepts is preferred to that of one that it refuses.
                let known = self.effects.contains_key(&index);
                if accepted || !known {
                    let _ = self.effects.insert(index, effect);
                }
                if accepted {
                    break;
                }
            }
        }
    }

    /// Returns the words that are to change, by index, each with the value that is sought: for each value of `numbers`
    /// the word that determines it with the fewest side effects, among words whose effect `accepts` admits. A value
    /// that no such word determines has none; of several values with the same word the first by path is sought.
    fn assigned(
        &self,
        numbers: &BTreeMap<String, (Unit, f64)>,
        accepts: impl Fn(&Effect) -> bool,
    ) -> BTreeMap<usize, Sought> {
        let mut chosen: BTreeMap<usize, Sought> = BTreeMap::new();
        for (path, (unit, wanted)) in numbers {
            let best = self
                .effects
                .iter()
                .filter(|(_, effect)| accepts(effect) && effect.slopes.contains_key(path))
                .min_by_key(|(index, effect)| {
                    let token = self.tokens.get(**index);
                    let is_expansion = token.is_none_or(|token| token.number.is_none());
                    // Commands of classes are preferred to those of interfaces, which are indented less; of two equal
                    // commands, the last one applies.
                    (
                        effect.slopes.len(),
                        is_expansion,
                        core::cmp::Reverse(self.depth(**index)),
                        core::cmp::Reverse(**index),
                    )
                });
            let Some((index, effect)) = best else { continue };
            let slope = effect.slopes.get(path).copied().unwrap_or(Slope { base: 0.0, by: 1.0 });
            let number = self.tokens.get(*index).and_then(|token| token.number).unwrap_or(0.0);
            let _ = chosen.entry(*index).or_insert_with(|| Sought {
                path: path.clone(),
                wanted: *wanted,
                unit: *unit,
                last: None,
                slope: slope.by,
                proportional: (slope.by * number - slope.base).abs() <= 1e-6 * slope.base.abs(),
            });
        }
        chosen
    }

    /// Returns the indentation of a word's line in bytes.
    fn depth(&self, index: usize) -> usize {
        let Some(token) = self.tokens.get(index) else { return 0 };
        let line = self.original.get(..token.start).and_then(|before| before.rsplit('\n').next()).unwrap_or_default();
        line.len() - line.trim_start().len()
    }

    /// Changes the chosen words until the text gives the wanted values, as closely as the units of the words allow.
    /// `base` are the values of the original.
    ///
    /// # Errors
    /// `report` with an error, if a new text cannot be imported, a router would refuse it, or values differ in the end.
    fn solve(
        &self,
        base: &Values,
        wanted: &Values,
        mut chosen: BTreeMap<usize, Sought>,
        mut report: Report,
    ) -> Result<Outcome, Report> {
        let mut words: BTreeMap<usize, String> = BTreeMap::new();
        let mut now = base.clone();
        let mut accepted = true;
        for _ in 0..MAX_ITERATIONS {
            let mut has_changed = false;
            for (index, sought) in &mut chosen {
                let Some(word) = self.next(*index, sought, &now, words.get(index)) else { continue };
                has_changed |= words.insert(*index, word.clone()).as_ref() != Some(&word);
            }
            if !has_changed {
                break;
            }
            let Some((values, is_accepted)) = self.read(&self.text_with(&words)) else {
                report.error(
                    Place::default(),
                    "the text with these values cannot be converted into a scenario",
                    "choose other values",
                );
                return Err(report);
            };
            (now, accepted) = (values, is_accepted);
            // A value that changed as a side effect is restored by a word that determines only this value, if there is
            // one.
            let side_effects: BTreeMap<String, (Unit, f64)> = self
                .against(&now, wanted)
                .into_iter()
                .filter(|(path, ..)| !chosen.values().any(|sought| sought.path == *path))
                .filter(|(path, ..)| !DERIVED.iter().any(|key| path.ends_with(key)))
                .filter_map(|(path, _, leaf)| match leaf {
                    Some(Leaf::Quantity(unit, value)) => Some((path.to_owned(), (*unit, *value))),
                    _ => None,
                })
                .collect();
            let only = |effect: &Effect| effect.slopes.len() == 1;
            for (index, sought) in self.assigned(&side_effects, only) {
                let _ = chosen.entry(index).or_insert(sought);
            }
        }
        if !accepted {
            let message = "a router would refuse the text with these values";
            report.error(Place::default(), message, "see the report of `tailback import`; choose other values");
            self.explain(&words, &mut report);
            return Err(report);
        }
        self.settle(base, wanted, &now, &chosen, &words, report)
    }

    /// Reports the errors of a text that a router would refuse.
    fn explain(&self, words: &BTreeMap<usize, String>, report: &mut Report) {
        let text = self.text_with(words);
        let read = import(self.reading.language, &text).report;
        for notice in read.notices().iter().filter(|notice| notice.level == crate::Level::Error) {
            let advice = notice.advice.as_deref().unwrap_or("correct it");
            report.error(Place::new(notice.line, notice.column), notice.message.clone(), advice);
        }
    }

    /// Returns the word for the next iteration; `None`: it stays as it is. `now` are the values that the present words
    /// give, `word` is the present replacement, or `None` if the word is still that of the original.
    fn next(&self, index: usize, sought: &mut Sought, now: &Values, word: Option<&String>) -> Option<String> {
        let token = self.tokens.get(index)?;
        let language = self.reading.language;
        let Some(Leaf::Quantity(_, value)) = now.get(&sought.path) else { return None };
        if (Leaf::Quantity(sought.unit, *value)).same(&Leaf::Quantity(sought.unit, sought.wanted)) {
            return None;
        }
        let Some(number) = token.number else {
            return word.is_none().then(|| Token::literal(sought.wanted, sought.unit));
        };
        let factor = token.factor(sought.unit, language);
        let before = sought.last.map_or(number, |(before, _)| before);
        if let Some((last_number, last_value)) = sought.last
            && let present = number_in(word?, token, factor)
            && present != last_number
        {
            if *value == last_value {
                // The value does not follow the number any more, for example because a limit holds.
                return None;
            }
            sought.slope = (*value - last_value) / (present - last_number);
        }
        let present = word.map_or(before, |word| number_in(word, token, factor));
        if sought.slope == 0.0 || !sought.slope.is_finite() {
            return None;
        }
        let scaled = if sought.proportional && *value > 0.0 { present * sought.wanted / value } else { 0.0 };
        let wanted_number = if scaled > 0.0 { scaled } else { present + (sought.wanted - value) / sought.slope };
        let written = token.written(wanted_number * factor, sought.unit, language)?;
        sought.last = Some((present, *value));
        Some(written)
    }

    /// Returns the text and its changes, with warnings about roundings and side effects.
    ///
    /// # Errors
    /// `report` with an error for each value that differs otherwise: by more than one step of its word's number, or
    /// without a chosen word and already in the original.
    fn settle(
        &self,
        base: &Values,
        wanted: &Values,
        now: &Values,
        chosen: &BTreeMap<usize, Sought>,
        words: &BTreeMap<usize, String>,
        mut report: Report,
    ) -> Result<Outcome, Report> {
        let text = self.text_with(words);
        for (path, is, should) in self.against(now, wanted) {
            let word = chosen.iter().find(|(_, sought)| sought.path == path);
            let place = word.and_then(|(index, _)| self.tokens.get(*index)).map(|t| Place::new(t.line, t.column));
            let (Some(Leaf::Quantity(_, value)), Some(Leaf::Quantity(_, goal))) = (is, should) else {
                refuse(&mut report, self.reading.language, path, is, should);
                continue;
            };
            let shown = |leaf: Option<&Leaf>| leaf.map_or_else(|| "nothing".to_owned(), Leaf::text);
            if let Some((index, _)) = word
                && (value - goal).abs() <= self.step(*index, path, *value, words)
            {
                report.warning(
                    place.unwrap_or_default(),
                    format!(
                        "`{path}`: {} is written as {}, the nearest value in the unit of the word",
                        shown(should),
                        shown(is)
                    ),
                    "check that the new text is what you want",
                );
            } else if word.is_none()
                && base.get(path).is_some_and(|leaf| should.is_some_and(|should| should.same(leaf)))
            {
                report.warning(
                    Place::default(),
                    format!(
                        "`{path}` changes, too, from {} to {}: it depends on a value that was changed",
                        shown(should),
                        shown(is)
                    ),
                    "check that the new text is what you want",
                );
            } else {
                refuse(&mut report, self.reading.language, path, is, should);
            }
        }
        if report.has_errors() {
            return Err(report);
        }
        let changes = words.iter().filter_map(|(index, word)| {
            let (token, sought) = (self.tokens.get(*index)?, chosen.get(index)?);
            (token.text != *word).then(|| Change {
                line: token.line,
                column: token.column,
                from: token.text.clone(),
                to: word.clone(),
                path: sought.path.clone(),
                wanted: wanted.get(&sought.path).map(Leaf::text).unwrap_or_default(),
                written: now.get(&sought.path).map(Leaf::text).unwrap_or_default(),
            })
        });
        let changes = changes.collect();
        report.quote(self.original);
        Ok(Outcome::Found { text, changes, report })
    }

    /// Returns the larger of the changes of the value at `path` when the integer at the start of its word falls or
    /// rises by 1; 0 if neither text can be imported.
    fn step(&self, index: usize, path: &str, value: f64, words: &BTreeMap<usize, String>) -> f64 {
        let Some(word) = words.get(&index) else { return 0.0 };
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        let Ok(number) = digits.parse::<u64>() else { return 0.0 };
        let rest = word.get(digits.len()..).unwrap_or_default();
        let change = |number: u64| {
            let mut words = words.clone();
            let _ = words.insert(index, format!("{number}{rest}"));
            match self.read(&self.text_with(&words))?.0.get(path) {
                Some(Leaf::Quantity(_, other)) => Some((other - value).abs()),
                _ => None,
            }
        };
        let changes = [number.checked_sub(1), number.checked_add(1)].into_iter().flatten().filter_map(change);
        changes.fold(0.0, f64::max)
    }
}

/// Returns the number of a replacement of `token`, in the unit of the original; `factor` is that unit in base units.
fn number_in(word: &str, token: &Token, factor: f64) -> f64 {
    let end = word.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(word.len());
    let (digits, unit) = word.split_at_checked(end).unwrap_or((word, ""));
    let number: f64 = digits.parse().unwrap_or(0.0);
    if unit == token.unit {
        return number;
    }
    // `Token::written` chose a finer unit: none, `bit`, `b`, `us`, or `kbit`.
    number * if unit == "kbit" { 1e3 } else { 1.0 } / factor
}

/// Returns the effect of a word's number, given the differences of [`Search::against`] after a change of the number by
/// `by`; `None`: no value has changed, or one that is not a number.
fn effect(differences: &[(&str, Option<&Leaf>, Option<&Leaf>)], by: f64) -> Option<Effect> {
    let mut slopes = BTreeMap::new();
    for (path, old, new) in differences {
        match (old, new) {
            (Some(Leaf::Quantity(a, x)), Some(Leaf::Quantity(b, y))) if a == b => {
                let _ = slopes.insert((*path).to_owned(), Slope { base: *x, by: (y - x) / by });
            }
            _ => return None,
        }
    }
    (!slopes.is_empty()).then_some(Effect { slopes })
}

/// Reports an error for a value that cannot be written back. `old` is the value of the text and `new` that of the
/// scenario; `None`: there is no such value.
fn refuse(report: &mut Report, language: Syntax, path: &str, old: Option<&Leaf>, new: Option<&Leaf>) {
    let shown = |leaf: Option<&Leaf>| leaf.map_or_else(|| "nothing".to_owned(), |leaf| format!("`{}`", leaf.text()));
    let message = format!(
        "`{path}` is {} in the scenario and {} in the text, where no change of single numbers gives that value",
        shown(new),
        shown(old)
    );
    let numbers = matches!(old, None | Some(Leaf::Quantity(..))) && matches!(new, Some(Leaf::Quantity(..)));
    let advice = match (old, new) {
        _ if numbers && explicit_command(language, path).is_some() => {
            format!(
                "if it is a default in the text, write {}, import that, and tune it",
                explicit_command(language, path).unwrap_or_default()
            )
        }
        (Some(Leaf::Quantity(a, _)), Some(Leaf::Quantity(b, _))) if a != b => {
            "give the scenario a value in the unit of the text".to_owned()
        }
        _ if numbers => "if the text does not state it, add it, import that, and tune it".to_owned(),
        _ => "make this change in the text by hand, and import it".to_owned(),
    };
    report.error(Place::default(), message, &advice);
}

/// Returns the command that states a default value explicitly, to follow "write" in advice; `None`: unknown.
fn explicit_command(language: Syntax, path: &str) -> Option<&'static str> {
    let key = path.rsplit('.').next().unwrap_or_default();
    let within = |part: &str| path.contains(part);
    Some(match (language, key) {
        (_, "rate") if path == "line.rate" => "the link rate with --rate",
        (Syntax::Mqc, "limit") => "`queue-limit 64 packets` into the class",
        (Syntax::Mqc, "buffer" | "hold") => "`hold-queue 40 out` into the interface",
        (Syntax::Mqc, "exponent") => "`random-detect exponential-weighting-constant 9` into the class",
        (Syntax::Mqc, "min" | "max" | "denominator") => "`random-detect dscp CODE MIN MAX DENOMINATOR` into the class",
        (Syntax::Mqc, "burst") if within("priority") => "`priority RATE BURST` with the burst in bytes",
        (Syntax::Mqc, "burst" | "cbs" | "ebs" | "pbs") if within("conditioners") => {
            "`police cir RATE bc BYTES be BYTES` with the bursts"
        }
        (Syntax::Mqc, "burst") => "`shape average RATE BURST` with the burst in bits",
        (Syntax::Mqc, "remaining") => "`bandwidth remaining ratio 1` into the class",
        (Syntax::Mqc, "queues") => "`fair-queue 256` into the class",
        (Syntax::Tc, "limit") => {
            "`tc qdisc add … parent CLASS pfifo limit 1000`, or `limit` after the discipline of the class"
        }
        (Syntax::Tc, "ceil" | "burst" | "cburst" | "prio" | "quantum") => "it after `htb rate …` of the class",
        (Syntax::Tc, _) => "it after its discipline",
        _ => return None,
    })
}
