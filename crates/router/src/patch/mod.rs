//! Tuned values back into the text that they came from.
//!
//! A scenario that was made of a configuration, with some of its values changed, is compared with what the configuration gives
//! now, value by value. Each difference is traced to the one word of the text that decides it, and that word alone is replaced:
//! names, access lists, comments, indentation and ends of lines stay byte for byte.
//!
//! Which word decides a value is not remembered by the readers but found by experiment: each number of the text is varied, the
//! text read again, and the values of the scenario that move are those that it decides. So whatever a reader understands can be
//! written back, in the unit in which it stands, and what is written has been read again and compared before it is given out.

mod search;
mod tokens;
mod values;

pub use tokens::Syntax;

use crate::{Imported, Level, Options, Place, Report, Traffic, lower, mqc, tc};
use search::{Outcome, Search};
use serde::Serialize;
use serde_json::Value;
use tailback_units::parse_bytes;
use values::Values;

/// The switch and its neighbour in a scenario that was made of a configuration.
const PORT: (&str, &str) = ("ce", "sink");
/// Bytes that are read in all at most; a text of 100 kB may be varied some thousand times.
const WORK: usize = 400_000_000;

/// A word that was replaced.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Change {
    /// Line of the word in the original, from 1.
    pub line: u32,
    /// Its column in characters, from 1.
    pub column: u32,
    /// What stood there.
    pub from: String,
    /// What stands there now.
    pub to: String,
    /// The value of the scenario's port that it decides, such as `discipline.classes[VOICE].priority.rate`.
    pub path: String,
    /// That value in the scenario.
    pub wanted: String,
    /// That value as the new text gives it; another than `wanted` where the word's unit is too coarse.
    pub written: String,
}

/// An original with tuned values, or why there is none.
#[derive(Clone, Debug, Default)]
pub struct Patched {
    /// The text; empty if the report has errors.
    pub text: String,
    /// The words that were replaced, in the order of the text.
    pub changes: Vec<Change>,
    /// What was rounded, and what no word of the text can say.
    pub report: Report,
}

/// What a text is read with.
pub(crate) struct Reading<'a> {
    language: Syntax,
    traffic: Traffic,
    options: Options,
    canonical: &'a dyn Fn(&Value) -> Option<Value>,
}

impl Reading<'_> {
    /// The values of the port that a text gives, and whether a router would take the text.
    fn values(&self, text: &str) -> Option<(Values, bool)> {
        let Imported { config, report } = import(self.language, text);
        let lowered = lower(&config, &self.traffic, &self.options);
        let sound = !report.has_errors() && !lowered.report.has_errors();
        let document = (self.canonical)(&lowered.document?)?;
        Some((values::of(&document, PORT.0, PORT.1)?, sound))
    }
}

fn import(language: Syntax, text: &str) -> Imported {
    match language {
        Syntax::Mqc => mqc::import(text),
        Syntax::Tc => tc::import(text),
    }
}

/// The rate in bit/s of the line that a text states.
fn stated(reading: &Reading<'_>, text: &str) -> Option<u64> {
    let options = Options { rate: None, ..reading.options.clone() };
    let lowered = lower(&import(reading.language, text).config, &reading.traffic, &options);
    lowered.link.map(|link| link.rate)
}

/// The text of a configuration with the values of a scenario that was made of it. `scenario` is in its canonical form, as
/// `canonical` gives it for any document (none for one that makes no sense). `traffic` and `options` are those of the import; the
/// line's rate is taken from the scenario where the text does not tell it.
pub fn patch(
    language: Syntax,
    original: &str,
    scenario: &Value,
    traffic: Option<&Traffic>,
    options: &Options,
    canonical: &dyn Fn(&Value) -> Option<Value>,
) -> Patched {
    let mut report = Report::default();
    let nowhere = Place::default();
    let Some(wanted) = values::of(scenario, PORT.0, PORT.1) else {
        let message = format!("the scenario has no port {}:{}, so it was not made of a configuration", PORT.0, PORT.1);
        report.error(nowhere, message, "export without the original writes the policy of any port");
        return Patched { report, ..Patched::default() };
    };
    let read = import(language, original).report;
    if read.has_errors() {
        for notice in read.notices().iter().filter(|notice| notice.level == Level::Error) {
            let advice = notice.advice.as_deref().unwrap_or("correct the original");
            report.error(Place::new(notice.line, notice.column), notice.message.clone(), advice);
        }
        report.quote(original);
        return Patched { report, ..Patched::default() };
    }
    // One flow of each group is enough: what is asked is what the port does.
    let mut table = traffic.cloned().unwrap_or_else(|| flows(scenario));
    table.rows.iter_mut().for_each(|row| row.count = 1);
    let line = values::line_rate(scenario, PORT.0, PORT.1);
    let rates = match options.rate {
        Some(rate) => vec![Some(rate)],
        // A rate that the text does not state was given at the import, rather than tuned: a line is what there is.
        None => vec![line, None],
    };
    let mut refused: Option<Patched> = None;
    for rate in rates {
        let reading =
            Reading { language, traffic: table.clone(), options: Options { rate, ..options.clone() }, canonical };
        let mut search = Search::new(original, &reading, traffic.is_some(), WORK / original.len().max(2_000));
        match search.run(&wanted) {
            Outcome::Found { text, changes, mut report } => {
                if options.rate.is_none() && rate.is_some() && stated(&reading, original) != rate {
                    report.warning(
                        nowhere,
                        "the line of the scenario has another rate than the text states, and it is not written",
                        "give --rate as at the import, or change the line in the text",
                    );
                }
                return Patched { text, changes, report };
            }
            Outcome::Refused(report) => {
                let _ = refused.get_or_insert(Patched { report, ..Patched::default() });
            }
            Outcome::Unreadable => {}
        }
    }
    refused.unwrap_or_else(|| {
        let imported = import(language, original);
        let why = lower(&imported.config, &table, &Options { rate: options.rate.or(line), ..options.clone() }).report;
        report.append(why);
        if !report.has_errors() {
            report.error(nowhere, "the original gives no scenario", "check it with `tailback import`");
        }
        report.quote(original);
        Patched { report, ..Patched::default() }
    })
}

/// The table of traffic that a scenario holds: names, code points and sizes of packets. Addresses and ports are not in a scenario.
fn flows(scenario: &Value) -> Traffic {
    let word = |value: Option<&Value>, usual: &str| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => usual.to_owned(),
    };
    let mut table = "name,dscp,exp,rate,packet,model\n".to_owned();
    for flow in scenario.get("flows").and_then(Value::as_array).into_iter().flatten() {
        let source = flow.get("source").unwrap_or(&Value::Null);
        let packet = source.get("packet").and_then(Value::as_str).and_then(|size| parse_bytes(size).ok());
        let name = word(flow.get("name"), "flow");
        let (dscp, exp) = (word(flow.get("dscp"), "0"), word(flow.get("exp"), ""));
        table.push_str(&format!("{name},{dscp},{exp},1kbit/s,{},poisson\n", packet.unwrap_or(1500)));
    }
    Traffic::from_csv(&table).0
}
