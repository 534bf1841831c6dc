//! Patches: writing tuned values back into the original text.
//!
//! A changed scenario that was imported from a configuration is compared with a new import of the configuration, value
//! by value. Each difference is traced to the one word of the text that determines it, and only that word is replaced:
//! names, access lists, comments, indentation and line endings are kept byte for byte.
//!
//! The readers do not record which word determines a value; it is found by experiment: each number of the text is
//! varied, the text imported again, and the values of the scenario that change are those that it determines. Everything
//! that a reader supports can thus be written back, in the unit of the word, and the result has been imported and
//! compared before it is returned.

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

/// Names of the switch and its neighbour in an imported scenario.
const PORT: (&str, &str) = ("ce", "sink");
/// Upper bound on the bytes that are imported in all; a text of 100 kB may be varied some thousand times.
const WORK: usize = 400_000_000;

/// A replaced word.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Change {
    /// Line of the word in the original, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Original word.
    pub from: String,
    /// New word.
    pub to: String,
    /// Value of the scenario's port that it determines, such as `discipline.classes[VOICE].priority.rate`.
    pub path: String,
    /// That value in the scenario.
    pub wanted: String,
    /// That value as imported from the new text; differs from `wanted` if the word's unit is too coarse.
    pub written: String,
}

/// A patched original, with its report.
#[derive(Clone, Debug, Default)]
pub struct Patched {
    /// Text; empty if the report has errors.
    pub text: String,
    /// Replaced words, in the order of the text.
    pub changes: Vec<Change>,
    /// Roundings, and values that no word of the text determines.
    pub report: Report,
}

/// Parameters of an import.
pub(crate) struct Reading<'a> {
    language: Syntax,
    traffic: Traffic,
    options: Options,
    canonical: &'a dyn Fn(&Value) -> Option<Value>,
}

impl Reading<'_> {
    /// Returns the values of the port that a text gives, and `true` if a router would accept the text.
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

/// Returns the link rate in bit/s that a text states.
fn stated(reading: &Reading<'_>, text: &str) -> Option<u64> {
    let options = Options { rate: None, ..reading.options.clone() };
    let lowered = lower(&import(reading.language, text).config, &reading.traffic, &options);
    lowered.link.map(|link| link.rate)
}

/// Returns the text of a configuration with the values of a scenario that was imported from it. `scenario` is in its
/// canonical form, which `canonical` returns for any document (`None`: it is invalid). `traffic` and `options` are
/// those of the import; the link rate is taken from the scenario if the text does not state it.
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
    // One flow per group is enough: only the port is compared.
    let mut table = traffic.cloned().unwrap_or_else(|| flows(scenario));
    table.rows.iter_mut().for_each(|row| row.count = 1);
    let line = values::line_rate(scenario, PORT.0, PORT.1);
    let rates = match options.rate {
        Some(rate) => vec![Some(rate)],
        // A rate that the text does not state was given at the import, and is not tuned.
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

/// Returns the traffic table of a scenario: names, DSCPs and packet sizes. Addresses and ports are not in a scenario.
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
