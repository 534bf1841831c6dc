//! Settings that change nothing.

use super::{Warning, Warnings};
use crate::document::WarningName;
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use tailback_document::Path;

/// What stands between a setting of all the network and its ports.
const NEARER: [(&str, &str); 3] = [
    ("network.buffer", "switches.*.buffer"),
    ("network.discipline", "switches.*.discipline"),
    ("backpressure", "switches.*.backpressure"),
];

/// Of settings that are made one after the other, those that change the document and without which everything would be
/// the same.
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
        // Without it another one may be wrong: then it has an effect.
        let Ok(without) = base.with_set(&others) else { continue };
        if without.effect() != effect {
            continue;
        }
        // What is written as it was is no mistake: a loop over values comes by the one that stands there.
        if without.hash() == hash {
            continue;
        }
        let (path, value) = (path.as_ref().trim(), value.as_ref().trim());
        let place = Path::parse(path).unwrap_or_default();
        let message =
            format!("`{path}={value}` changes nothing: with it and without it, network, flows and run are the same");
        let advice = NEARER.iter().find(|(far, _)| path.starts_with(far)).map_or_else(
            || "see what overrides it, or makes it of no use".to_owned(),
            |(far, near)| format!("set `{near}{}`, which counts before it", &path[far.len()..]),
        );
        found.add(WarningName::NoEffect, place, message, advice);
    }
    Ok(all.locate(found))
}
