//! SRED: a drop probability that depends on the queue length and on an estimate of the number of
//! flows.

use super::{Arrival, ArrivalLaw, Backlog, BuildLaw};
use crate::retune::Retune;
use crate::state::{INDEX, bytes_of};
use crate::{Fate, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Time};

/// Stabilized RED (Ott, Lakshman and Wong, INFOCOM 1999): the flow of each arrival is compared with
/// one drawn at random from a list of recent flows. The frequency of equal flows (hits) estimates
/// the number of active flows. The drop probability depends on that number and on the queue length,
/// and is higher for arrivals that are hits. The queue needs a limit: the probability changes at
/// 1/6 and at 1/3 of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Length of the list of recent flows (zombies), 1 to 10^6. Default 1000.
    pub zombies: u32,
    /// Probability with which the flow of an arrival that is not a hit replaces the drawn flow in
    /// the list, above 0 and at most 1. Default 0.25.
    pub overwrite: Fraction,
    /// Drop probability with many flows once the queue has reached a third of its limit; from a
    /// sixth of the limit it is a quarter of this. Above 0 and at most 1. Default 0.15.
    pub max_p: Fraction,
    /// `true` if hits are dropped with higher probability ("full SRED"), `false` if all arrivals are
    /// dropped with equal probability ("simple SRED"). Default true.
    pub full: bool,
    /// `true` if ECN-capable packets are marked instead of dropped early. Default false.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params { zombies: 1000, overwrite: Fraction(0.25), max_p: Fraction(0.15), full: true, ecn: false }
    }
}

impl Params {
    /// Refuses parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::within("zombies", f64::from(self.zombies), 1.0, 1e6)?;
        check::positive_fraction("overwrite", self.overwrite)?;
        check::positive_fraction("max-p", self.max_p)
    }
}

/// Number of flows up to which the drop probability grows with the square of their number.
const MANY_FLOWS: f64 = 256.0;

/// SRED at one queue. Time per packet O(1); memory O(`zombies`).
///
/// The list has no counts and arrival times, by which the paper identifies misbehaving flows: they have no effect on
/// drops.
#[derive(Debug)]
pub struct Sred {
    site: Site,
    /// Recent flows, at most `zombies` of them.
    zombies: Vec<u32>,
    /// Average frequency of hits, P(t); its inverse estimates the number of flows.
    hits: f64,
    /// Drop probability of the last arrival.
    probability: f64,
    params: Params,
}

impl Sred {
    /// Compares the flow with one drawn from the list, and updates the list and the frequency of
    /// hits; returns `true` if the two flows are equal. While the list is not full, only adds the flow.
    fn compare(&mut self, flow: u32, rng: &mut Rng) -> bool {
        let places = u64::from(self.params.zombies);
        if (self.zombies.len() as u64) < places {
            self.zombies.push(flow);
            return false;
        }
        let drawn = &mut self.zombies[rng.below(places) as usize];
        let hit = *drawn == flow;
        if !hit && rng.chance(self.params.overwrite.0) {
            *drawn = flow;
        }
        let alpha = self.params.overwrite.0 / places as f64;
        self.hits = (1.0 - alpha) * self.hits + if hit { alpha } else { 0.0 };
        hit
    }
    /// Returns the factor of the probability that depends on the queue length (section III, p_sred).
    fn length_factor(&self, backlog: Backlog) -> f64 {
        let filled =
            f64::max(backlog.bytes as f64 / self.site.bytes as f64, backlog.packets as f64 / self.site.packets as f64);
        match filled {
            f if f >= 1.0 / 3.0 => self.params.max_p.0,
            f if f >= 1.0 / 6.0 => self.params.max_p.0 / 4.0,
            _ => 0.0,
        }
    }
    /// Returns the probability with which an arrival is dropped (p_zap).
    fn zap(&self, hit: bool, queue: Backlog) -> f64 {
        let flows = MANY_FLOWS * self.hits;
        let simple = self.length_factor(queue) * f64::min(1.0, 1.0 / (flows * flows));
        // `hits` is above 0 here, since this hit has raised it.
        if self.params.full && hit { simple * (1.0 + 1.0 / self.hits) } else { simple }
    }
}

impl BuildLaw for Params {
    type Law = Sred;
    fn law(&self, site: &Site) -> Sred {
        Sred { site: *site, zombies: Vec::new(), hits: 0.0, probability: 0.0, params: self.clone() }
    }
}

/// A shorter list loses its last entries; a longer one is filled by the next arrivals, as at the start of a run.
impl Retune for Sred {
    fn adopt(&mut self, _now: Time, fresh: Sred) {
        (self.site, self.params) = (fresh.site, fresh.params);
        self.zombies.truncate(self.params.zombies as usize);
    }
}

impl ArrivalLaw for Sred {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        let hit = self.compare(arrival.packet.flow(), rng);
        self.probability = self.zap(hit, arrival.queue).min(1.0);
        if rng.chance(self.probability) { arrival.signal(self.params.ecn) } else { Fate::Joins }
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("hit_frequency", self.hits);
        f("estimated_flows", if self.hits > 0.0 { 1.0 / self.hits } else { 0.0 });
        f("probability", self.probability);
    }
    fn state_bytes(&self) -> usize {
        self.zombies.len() * INDEX + bytes_of!(self; hits)
    }
}
