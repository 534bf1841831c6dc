//! Settings of a run: its seed and its warm-up.

use tailback_scenario::document::Warmup;
use tailback_scenario::{Scenario, Setting};

/// Returns the settings of a run with `seed`; a warm-up of "auto" is determined by pilot runs.
///
/// # Errors
/// If a pilot run is invalid, or no pilot reached a steady state: the message.
pub(crate) fn setting(scenario: &Scenario, seed: u64) -> Result<Setting, String> {
    let warmup = match scenario.run().warmup {
        Warmup::At(_) => None,
        Warmup::Auto => {
            let found = scenario.warm_up(None).map_err(|error| error.rendered())?;
            Some(found.ok_or("no steady state was found by the pilot runs; raise run.duration, or set run.warmup")?)
        }
    };
    Ok(Setting { seed, warmup, ..Setting::default() })
}
