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

mod reading;
mod search;
mod tokens;
mod values;

pub use tokens::Syntax;

use crate::{Level, Options, Place, Report, Traffic, lower};
use core::fmt::Write as _;
pub use reading::Change;
use reading::{PORT, Reading, import};
use search::{Outcome, Search};
use serde_json::Value;
use tailback_units::parse_bytes;

/// Upper bound on the bytes that are imported in all; a text of 100 kB may be varied some thousand times.
const WORK: usize = 400_000_000;

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
        let _ = writeln!(table, "{name},{dscp},{exp},1kbit/s,{},poisson", packet.unwrap_or(1500));
    }
    Traffic::from_csv(&table).0
}
