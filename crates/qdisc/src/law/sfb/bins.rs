//! One set of bins and the hashes that assign flows to them.

use super::params::{BinFull, Form, LowerAt, Settings};
use crate::law::blue::{Stepped, Timers};
use crate::retune::Retune;
use crate::state::bytes_of;
use tailback_random::{GOLDEN, Rng, mix};
use tailback_units::Time;

/// Levels of bins, and the seed from which the hash of each level is derived.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the paper's word")]
pub struct Bins {
    /// Bins of the first level, then those of the next one, and so on.
    bins: Vec<Bin>,
    /// Number of bins on each level.
    per_level: usize,
    /// A bin in its initial state.
    empty: Bin,
    /// Seed of the hashes; 0 before they are drawn.
    seed: u64,
}

/// Marking probability of a bin, and number of waiting packets in it.
#[derive(Clone, Copy, Debug)]
struct Bin {
    probability: Stepped,
    packets: u64,
}

/// State of an arriving packet's bins.
pub(super) struct Found {
    /// Smallest probability of the packet's bins.
    pub p_min: f64,
    /// Number of packets in the emptiest of the packet's bins.
    packets_min: u64,
    /// `true` if at least one of the packet's bins was full.
    any_full: bool,
    /// `true` if each of the packet's bins was full.
    all_full: bool,
}

impl Found {
    /// Returns `true` if the packet is dropped because of full bins.
    pub fn is_refused(&self, settings: &Settings) -> bool {
        let full = match settings.bin_full {
            BinFull::Increase => false,
            BinFull::DropAny => self.any_full,
            BinFull::DropAll => self.all_full,
        };
        full || settings.max.is_some_and(|max| self.packets_min >= max)
    }
}

impl Bins {
    /// Returns `per_level` empty bins on each level, with one freeze timer per bin. [`Bins::draw`] must draw the
    /// hashes.
    pub fn new(levels: usize, per_level: usize) -> Bins {
        Bins::with_timers(levels, per_level, Timers::Shared)
    }
    /// Does the same as [`Bins::new`], with one freeze timer per bin or separate ones for increases and decreases.
    pub fn with_timers(levels: usize, per_level: usize, timers: Timers) -> Bins {
        let empty = Bin { probability: Stepped::new(timers), packets: 0 };
        Bins { bins: vec![empty; levels * per_level], per_level, seed: 0, empty }
    }
    /// Draws new hashes; counts and probabilities are kept.
    pub fn draw(&mut self, rng: &mut Rng) {
        self.seed = rng.bits().max(1);
    }
    /// Empties all bins.
    pub fn clear(&mut self) {
        self.bins.fill(self.empty);
    }
    /// Returns the seed of the hashes; 0 before they are drawn.
    pub fn seed(&self) -> u64 {
        self.seed
    }
    /// Returns the number of bins on all levels together.
    pub fn len(&self) -> usize {
        self.bins.len()
    }
    /// Returns `true` if there are no bins.
    pub fn is_empty(&self) -> bool {
        self.bins.is_empty()
    }
    /// Returns the size in bytes of the bins' variables and of the seed.
    pub fn state_bytes(&self) -> usize {
        let bin = self.empty.probability.state_bytes() + bytes_of!(self.empty; packets);
        self.bins.len() * bin + bytes_of!(self; seed)
    }
    /// Returns the flow's bin at each level, first level first, each 0 to bins per level − 1.
    pub fn of(&self, flow: u32) -> impl Iterator<Item = usize> + use<> {
        hashes(self.seed, flow, self.bins.len() / self.per_level, self.per_level)
    }
    /// Returns the flow's bin at each level, first level first, as indices that count through all levels.
    pub fn indices(&self, flow: u32) -> impl Iterator<Item = usize> + use<> {
        self.indices_by(self.seed, flow)
    }
    /// Returns the smallest probability of the flow's bins.
    pub fn p_min(&self, flow: u32) -> f64 {
        self.indices(flow).map(|i| self.bins[i].probability.p()).fold(1.0, f64::min)
    }
    /// Returns the mean probability of all bins; NaN if there are no bins.
    pub fn mean_p(&self) -> f64 {
        self.bins.iter().map(|bin| bin.probability.p()).sum::<f64>() / self.bins.len() as f64
    }
    /// Returns the largest probability of a bin.
    pub fn max_p(&self) -> f64 {
        self.bins.iter().map(|bin| bin.probability.p()).fold(0.0, f64::max)
    }
    /// Returns the number of packets in the fullest bin.
    pub fn max_packets(&self) -> u64 {
        self.bins.iter().map(|bin| bin.packets).max().unwrap_or(0)
    }

    /// Processes an arrival: raises the probabilities of the flow's full bins, and lowers those of
    /// its empty bins unless `hold` is set or they are lowered at departures.
    pub(super) fn update(&mut self, now: Time, flow: u32, settings: &Settings, hold: bool) -> Found {
        let mut found = Found { p_min: 1.0, packets_min: u64::MAX, any_full: false, all_full: true };
        for i in self.indices(flow) {
            let bin = &mut self.bins[i];
            let full = match settings.form {
                Form::Thesis => bin.packets > settings.bin_size,
                Form::Linux => bin.packets >= settings.bin_size && bin.packets > 0,
            };
            if full {
                bin.probability.raise(now, settings.increment, settings.freeze);
            } else if bin.packets == 0 && !hold && settings.lower_at == LowerAt::Arrival {
                bin.lower(now, settings);
            }
            bin.round(settings);
            found.p_min = f64::min(found.p_min, bin.probability.p());
            found.packets_min = found.packets_min.min(bin.packets);
            found.any_full |= full;
            found.all_full &= full;
        }
        found
    }
    /// Raises the probabilities of the flow's bins, full or not.
    pub(super) fn press(&mut self, now: Time, flow: u32, settings: &Settings) {
        for i in self.indices(flow) {
            self.bins[i].probability.raise(now, settings.increment, settings.freeze);
        }
    }
    /// Delays decreases of the probabilities of the flow's bins for a freeze time.
    pub(super) fn keep(&mut self, now: Time, flow: u32) {
        for i in self.indices(flow) {
            self.bins[i].probability.keep(now);
        }
    }
    /// Lowers each probability to at most `cap`.
    pub(super) fn cap(&mut self, now: Time, cap: f64) {
        for bin in self.bins.iter_mut().filter(|bin| bin.probability.p() > cap) {
            bin.probability.set(now, cap);
        }
    }
    /// Counts a waiting packet in the bins that the hashes of `seed` select; does nothing if `seed`
    /// is 0.
    pub(super) fn count(&mut self, flow: u32, seed: u64) {
        if seed != 0 {
            self.indices_by(seed, flow).for_each(|i| self.bins[i].packets += 1);
        }
    }
    /// Removes a packet that has left from its bins. If probabilities are lowered at departures, those of
    /// bins that become empty are lowered unless `hold` is set.
    pub(super) fn discount(&mut self, now: Time, flow: u32, seed: u64, settings: &Settings, hold: bool) {
        if seed != 0 {
            for i in self.indices_by(seed, flow) {
                let bin = &mut self.bins[i];
                bin.packets = bin.packets.saturating_sub(1);
                if bin.packets == 0 && !hold && settings.lower_at == LowerAt::Departure {
                    bin.lower(now, settings);
                }
            }
        }
    }

    /// Returns the flow's bin at each level by the hashes of `seed`, as indices that count through all levels.
    fn indices_by(&self, seed: u64, flow: u32) -> impl Iterator<Item = usize> + use<> {
        let per_level = self.per_level;
        let levels = self.bins.len() / per_level;
        hashes(seed, flow, levels, per_level).enumerate().map(move |(level, bin)| level * per_level + bin)
    }
}

/// Keeps the bins and the hashes; changes the kind of the freeze timers.
impl Retune for Bins {
    fn adopt(&mut self, _now: Time, fresh: Bins) {
        let timers = fresh.empty.probability.timers();
        self.empty = fresh.empty;
        for bin in &mut self.bins {
            bin.probability = bin.probability.with_timers(timers);
        }
    }
}

impl Bin {
    /// Lowers the probability by the decrement, unless a freeze time prevents it.
    fn lower(&mut self, now: Time, settings: &Settings) {
        self.probability.lower(now, settings.decrement, settings.freeze_down.unwrap_or(settings.freeze));
    }
    /// Rounds probabilities to multiples of 1/65535 in form "linux".
    fn round(&mut self, settings: &Settings) {
        if settings.form == Form::Linux {
            self.probability.replace((self.probability.p() * 65_535.0).round() / 65_535.0);
        }
    }
}

/// Returns the flow's bin at each level. The hash is the finaliser of SplitMix64 (Steele, Lea and Flood 2014), applied
/// to the flow and a salt; the salt is such a hash of seed and level.
fn hashes(seed: u64, flow: u32, levels: usize, per_level: usize) -> impl Iterator<Item = usize> {
    (1..=levels as u64).map(move |level| {
        let salt = mix(seed.wrapping_add(level.wrapping_mul(GOLDEN)));
        (mix(mix(u64::from(flow).wrapping_add(GOLDEN)) ^ salt) % per_level as u64) as usize
    })
}
