//! Settings without effect.

use super::{Warning, Warnings};
use crate::document::WarningName;
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use tailback_document::Path;

/// Settings of the network, and the settings of a switch or port that override them.
const NEARER: [(&str, &str); 3] = [
    ("network.buffer", "switches.*.buffer"),
    ("network.discipline", "switches.*.discipline"),
    ("backpressure", "switches.*.backpressure"),
];

/// Returns those of a sequence of settings that change the document, but without which its effect would be the same.
pub(crate) fn of<P: AsRef<str>, V: AsRef<str>>(
    base: &Scenario,
    pairs: &[(P, V)],
) -> Result<Vec<Warning>, ScenarioError> {
    let all = base.with_set(pairs)?;
    let (hash, effect) = (all.hash(), all.effect());
    let mut found = Warnings::default();
    for (number, (path, value)) in pairs.iter().enumerate() {
        let others = pairs[..number].iter().chain(&pairs[number + 1..]);
        let others: Vec<_> = others.map(|(path, value)| (path.as_ref(), value.as_ref())).collect();
        // Without it another setting may be invalid: then it has an effect.
        let Ok(without) = base.with_set(&others) else { continue };
        if without.effect() != effect {
            continue;
        }
        // A setting equal to the present value is no mistake: a loop over values includes it.
        if without.hash() == hash {
            continue;
        }
        let (path, value) = (path.as_ref().trim(), value.as_ref().trim());
        let place = Path::parse(path).unwrap_or_default();
        let message = format!("`{path}={value}` changes nothing: network, flows and run are the same without it");
        let advice = NEARER.iter().find(|(far, _)| path.starts_with(far)).map_or_else(
            || "see which setting overrides or disables it".to_owned(),
            |(far, near)| format!("set `{near}{}`, which overrides it", &path[far.len()..]),
        );
        found.add(WarningName::NoEffect, place, message, advice);
    }
    Ok(all.locate(found))
}
