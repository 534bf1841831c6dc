//! Settings without effect.

use super::pass::{Warning, Warnings};
use crate::document::WarningName;
use crate::error::ScenarioError;
use crate::scenario::Scenario;
use tailback_document::Path;

/// Settings of the network, each with the setting of a switch that overrides it.
const NEARER: [(&str, &str); 3] = [
    ("network.buffer", "switches.*.buffer"),
    ("network.discipline", "switches.*.discipline"),
    ("backpressure", "switches.*.backpressure"),
];

impl Scenario {
    /// Returns warnings about those settings of [`Scenario::with_set`] that change the document but not its effect.
    ///
    /// # Errors
    /// If the document with all settings is invalid.
    pub fn without_effect<P: AsRef<str>, V: AsRef<str>>(
        &self,
        pairs: &[(P, V)],
    ) -> Result<Vec<Warning>, ScenarioError> {
        let all = self.with_set(pairs)?;
        let (hash, effect) = (all.hash(), all.effect());
        let mut found = Warnings::default();
        for (number, (path, value)) in pairs.iter().enumerate() {
            let others = pairs[..number].iter().chain(&pairs[number + 1..]);
            let others: Vec<_> = others.map(|(path, value)| (path.as_ref(), value.as_ref())).collect();
            // If the document is invalid without this setting, the setting has an effect.
            let Ok(without) = self.with_set(&others) else { continue };
            if without.effect() != effect {
                continue;
            }
            // A setting equal to the present value is not a mistake: a loop over values may include it.
            if without.hash() == hash {
                continue;
            }
            let (path, value) = (path.as_ref().trim(), value.as_ref().trim());
            let place = Path::parse(path).unwrap_or_default();
            let message = format!("`{path}={value}` changes nothing: network, flows and run are the same without it");
            let advice = NEARER.iter().find(|(far, _)| path.starts_with(far)).map_or_else(
                || "check which other setting overrides or disables it".to_owned(),
                |(far, near)| format!("set `{near}{}`, which overrides it", &path[far.len()..]),
            );
            found.add(WarningName::NoEffect, place, message, advice);
        }
        Ok(all.locate(found))
    }
}
