//! Patches: writing tuned values back into the original text.
//!
//! A scenario that was imported from a configuration and then changed is compared with a new import of the
//! configuration, value by value. Each difference is traced to the word of the text that determines the value, and only
//! that word is replaced: names, access lists, comments, indentation and line endings are kept byte for byte.
//!
//! The readers do not record which word determines a value; this is found by experiment: a number of the text is
//! varied, the text is imported again, and the values of the scenario that have changed are those that the number
//! determines. So everything that a reader supports can be written back, in the unit of the word. The result is
//! imported and compared before it is returned.

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

/// Maximum number of bytes imported in total; a text of 100 kB can be varied about 4000 times.
const MAX_IMPORTED: usize = 400_000_000;

/// Result of a patch.
#[derive(Clone, Debug, Default)]
pub struct Patched {
    /// The original with replaced words; empty if the report has errors.
    pub text: String,
    /// Replaced words, in the order of the text.
    pub changes: Vec<Change>,
    /// Warnings of rounded and of dependent values; errors for values that no word of the text determines.
    pub report: Report,
}

/// Returns the link rate in bit/s that a text states or implies; `None`: it does not.
fn rate_of_text(reading: &Reading<'_>, text: &str) -> Option<u64> {
    let options = Options { rate: None, ..reading.options.clone() };
    let lowered = lower(&import(reading.language, text).config, &reading.traffic, &options);
    lowered.link.map(|link| link.rate)
}

/// Writes the values of a scenario back into the configuration from which it was imported. `scenario` is in its
/// canonical form, which `canonical` returns for any document (`None`: the document is invalid). `traffic` and
/// `options` are those of the import; the link rate is that of the scenario if the text does not state it. The report
/// has an error if the scenario was not imported from a configuration, if the original is invalid, or if a value cannot
/// be written back.
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
        let message =
            format!("the scenario has no port {}:{}, so it was not imported from a configuration", PORT.0, PORT.1);
        report.error(nowhere, message, "export the policy of a port without an original");
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
    // Only the port is compared, so one flow per group is enough.
    let mut table = traffic.cloned().unwrap_or_else(|| flows(scenario));
    table.rows.iter_mut().for_each(|row| row.count = 1);
    let line = values::line_rate(scenario, PORT.0, PORT.1);
    let rates = match options.rate {
        Some(rate) => vec![Some(rate)],
        // A link rate that the text does not state was an option of the import, and cannot be written back.
        None => vec![line, None],
    };
    let mut refused: Option<Patched> = None;
    for rate in rates {
        let reading =
            Reading { language, traffic: table.clone(), options: Options { rate, ..options.clone() }, canonical };
        let mut search = Search::new(original, &reading, traffic.is_some(), MAX_IMPORTED / original.len().max(2_000));
        match search.run(&wanted) {
            Outcome::Found { text, changes, mut report } => {
                if options.rate.is_none() && rate.is_some() && rate_of_text(&reading, original) != rate {
                    report.warning(
                        nowhere,
                        "the link rate of the scenario differs from that of the text and is not written back",
                        "give the same --rate as at the import, or change the rate in the text",
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
            report.error(
                nowhere,
                "the original cannot be converted into a scenario",
                "check it with `tailback import`",
            );
        }
        report.quote(original);
        Patched { report, ..Patched::default() }
    })
}

/// Returns a traffic table with the names, DSCPs, MPLS traffic classes and packet sizes of a scenario's flows; a
/// scenario has no addresses and ports.
fn flows(scenario: &Value) -> Traffic {
    let text = |value: Option<&Value>, default: &str| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => default.to_owned(),
    };
    let mut table = "name,dscp,exp,rate,packet,model\n".to_owned();
    for flow in scenario.get("flows").and_then(Value::as_array).into_iter().flatten() {
        let source = flow.get("source").unwrap_or(&Value::Null);
        let packet = source.get("packet").and_then(Value::as_str).and_then(|size| parse_bytes(size).ok());
        let name = text(flow.get("name"), "flow");
        let (dscp, exp) = (text(flow.get("dscp"), "0"), text(flow.get("exp"), ""));
        let _ = writeln!(table, "{name},{dscp},{exp},1kbit/s,{},poisson", packet.unwrap_or(1500));
    }
    Traffic::from_csv(&table).0
}
