//! The end of the warm-up, determined by pilot runs (`warmup = "auto"`).

use crate::error::ScenarioError;
use crate::scenario::{Scenario, build};
use tailback_measure::statistics::mser5;
use tailback_sim::World;
use tailback_sim::plan::Engine;
use tailback_units::{Dur, Time};

/// Number of samples of a pilot run. MSER-5 averages by fives, so the warm-up is resolved to 1/400 of the run.
const SAMPLES: u64 = 2000;

/// Durations of the pilot runs, which are tried in turn, as multiples of the run's duration: over a short pilot run,
/// bursty traffic can drift by chance.
pub const PILOT_LENGTHS: [u64; 4] = [1, 2, 4, 8];

impl Scenario {
    /// Returns the scenario of a pilot run, `factor` times as long as the run and without warm-up, and its sampling
    /// interval.
    ///
    /// # Errors
    /// If the scenario is invalid with this duration.
    pub fn pilot(&self, factor: u64) -> Result<(Scenario, Dur), ScenarioError> {
        let sample = factor.saturating_mul(self.run().duration.0).saturating_add(SAMPLES / 2) / SAMPLES;
        let sample = sample.max(1);
        let pilot = self.with_set(&[
            ("run.duration", format!("\"{}ps\"", sample * SAMPLES)),
            ("run.warmup", "\"0s\"".to_owned()),
            ("run.sample", format!("\"{sample}ps\"")),
        ])?;
        Ok((pilot, Dur(sample)))
    }

    /// Returns the end of the warm-up: the truncation point of MSER-5 on the number of packets in the network of a
    /// pilot run, sampled every `sample`. `None`: there is no such point, or it is later than half of the duration of
    /// the run itself.
    pub fn truncation(&self, in_network: &[f64], sample: Dur) -> Option<Time> {
        let end = Dur(mser5(in_network)? as u64 * sample.0);
        (end.0 <= self.run().duration.0 / 2).then_some(Time(end.0))
    }

    /// Runs pilots of growing length until one shows the end of the warm-up, on one thread. The pilots have the
    /// scenario's own seed, so that each replication has the same warm-up. `None`: no pilot reached a steady state
    /// early enough.
    ///
    /// # Errors
    /// If the scenario is invalid with the duration of a pilot run.
    pub fn warm_up(&self, engine: Option<Engine>) -> Result<Option<Time>, ScenarioError> {
        for factor in PILOT_LENGTHS {
            let (pilot, sample) = self.pilot(factor)?;
            let mut world = World::with_factories(build(&pilot, self.run().seed, engine), pilot.factories());
            world.run_to_end();
            let series = world.report().series.map_or_else(Vec::new, |series| series.in_network_packets);
            let values: Vec<f64> = series.into_iter().map(|packets| packets as f64).collect();
            if let Some(end) = self.truncation(&values, sample) {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }
}
