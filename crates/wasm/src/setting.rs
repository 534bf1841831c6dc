//! Settings of a run: its seed and its warm-up.

use tailback_scenario::document::Warmup;
use tailback_scenario::{Scenario, Setting};

/// Returns the settings of a run with `seed`; a warm-up of "auto" is determined by pilot runs.
///
/// # Errors
/// If a pilot run is refused: the text of its errors. If no pilot run reached a steady state: a message.
pub(crate) fn setting(scenario: &Scenario, seed: u64) -> Result<Setting, String> {
    let warmup = match scenario.run().warmup {
        Warmup::At(_) => None,
        Warmup::Auto => {
            let found = scenario.warm_up(None).map_err(|error| error.rendered())?;
            Some(found.ok_or(
                "no pilot run reached a steady state; raise run.duration, or set run.warmup to a time, such as \"1s\"",
            )?)
        }
    };
    Ok(Setting { seed, warmup, ..Setting::default() })
}
