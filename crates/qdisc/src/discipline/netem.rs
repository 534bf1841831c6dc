//! Network emulation as in Linux's `netem`: variable delay and random loss.

use crate::retune::Retune;
use crate::state::bytes_of;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Delays each packet by a random time, loses packets at random, and may limit their rate, as the discipline `netem` of
/// Linux does (Hemminger, `net/sched/sch_netem.c`). A packet with a shorter delay overtakes earlier packets, except
/// with `rate`.
///
/// Differs from Linux: normal delays are drawn from the exact distribution, clamped to four standard deviations,
/// instead of from a table of 4096 values; packets are not duplicated, corrupted or reordered at random; successive
/// draws are independent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Mean delay, at most 24h. Default 0s.
    pub delay: Dur,
    /// Variation of the delay, at most 24h: half the width of a uniform distribution, or the
    /// standard deviation of a normal one. Default 0s.
    pub jitter: Dur,
    /// Distribution of the delay: "uniform" or "normal"; negative delays count as 0. Default
    /// "uniform".
    pub distribution: Distribution,
    /// Probability that a packet is lost, independently for each packet. Excludes `bursts`. Default
    /// 0.
    pub loss: Fraction,
    /// Losses in bursts, by the model of Gilbert and Elliott. Excludes `loss`. Default: no such
    /// losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// `true` if ECN-capable packets are marked instead of lost. Default false.
    pub ecn: bool,
    /// Rate at which packets leave one after the other, in order, above 0. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Distribution of the delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Uniform between `delay` − `jitter` and `delay` + `jitter`.
    #[default]
    Uniform,
    /// Normal, with mean `delay` and standard deviation `jitter`.
    Normal,
}

/// Gilbert-Elliott model: a Markov chain of a good and a bad state, which may change at each packet,
/// with a loss probability in each state (Gilbert 1960, Elliott 1963).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bursts {
    /// Probability p per packet of a change from the good to the bad state.
    pub enter: Fraction,
    /// Probability r per packet of a change from the bad to the good state.
    pub leave: Fraction,
    /// Probability of loss in the bad state, 1 − h. Default 1.
    #[serde(default = "certain")]
    pub bad: Fraction,
    /// Probability of loss in the good state, 1 − k. Default 0.
    #[serde(default)]
    pub good: Fraction,
}

fn certain() -> Fraction {
    Fraction(1.0)
}

impl Default for Params {
    fn default() -> Params {
        Params {
            delay: Dur::ZERO,
            jitter: Dur::ZERO,
            distribution: Distribution::default(),
            loss: Fraction(0.0),
            bursts: None,
            ecn: false,
            rate: None,
        }
    }
}

impl Params {
    /// Returns the discipline with an empty queue; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> Netem {
        Netem {
            waiting: BTreeMap::new(),
            bytes: 0,
            accepted: 0,
            bad: false,
            wake_at: None,
            earliest: Time::ZERO,
            params: self.clone(),
            site: *site,
        }
    }
    /// Refuses delays above a day, a rate of 0, and `loss` together with `bursts`.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::at_most_a_day("delay", self.delay)?;
        check::at_most_a_day("jitter", self.jitter)?;
        if self.rate == Some(Rate(0)) {
            return Err(Invalid::new("rate", "the rate is zero; write a rate above 0bit/s"));
        }
        if self.bursts.is_some() && self.loss.0 > 0.0 {
            return Err(Invalid::new("bursts", "`bursts` excludes `loss`; remove one of the two"));
        }
        Ok(())
    }
}

/// Packets in the order of the times at which they may leave. O(log n) per packet.
#[derive(Debug)]
pub struct Netem {
    /// Packets by the time at which they may leave, then by order of arrival.
    waiting: BTreeMap<(Time, u64), Packet>,
    /// Buffer bytes waiting.
    bytes: u64,
    /// Number of packets accepted so far.
    accepted: u64,
    /// `true` if the Gilbert-Elliott chain is in its bad state.
    bad: bool,
    /// Time at which the first of the waiting packets may leave. `None`: no timer is set.
    wake_at: Option<Time>,
    /// Time before which no arriving packet may leave. After a change of delay or rate it is the time at which the last
    /// of the packets that waited then may leave.
    earliest: Time,
    params: Params,
    site: Site,
}

/// Bound of normal delays, standard deviations from the mean: the end of Linux's table.
const TAIL: f64 = 4.0;

impl Netem {
    /// Returns `true` if the arriving packet is lost. As in `loss_gilb_ell`, the loss probability is that of the state
    /// before the change at this packet.
    fn loses(&mut self, rng: &mut Rng) -> bool {
        let Some(bursts) = self.params.bursts else {
            return self.params.loss.0 > 0.0 && rng.chance(self.params.loss.0);
        };
        let (change, loss) = if self.bad { (bursts.leave, bursts.bad) } else { (bursts.enter, bursts.good) };
        self.bad ^= rng.chance(change.0);
        rng.chance(loss.0)
    }
    /// Returns a random delay in picoseconds; it may be negative if `jitter` exceeds `delay`.
    fn delay(&self, rng: &mut Rng) -> i128 {
        let (mean, jitter) = (i128::from(self.params.delay.0), self.params.jitter.0);
        if jitter == 0 {
            return mean;
        }
        mean + match self.params.distribution {
            Distribution::Uniform => i128::from(rng.below(2 * jitter)) - i128::from(jitter),
            Distribution::Normal => (rng.normal().clamp(-TAIL, TAIL) * jitter as f64) as i128,
        }
    }
}

/// Returns a time in picoseconds as a [`Time`], at least 0 and before [`Time::NEVER`].
fn time_from_ps(ps: i128) -> Time {
    Time(u64::try_from(ps.max(0)).unwrap_or(u64::MAX - 1))
}

/// Waiting packets keep the times at which they may leave; packets that arrive after a change of delay or rate do not
/// overtake them.
///
/// Differs from Linux, where packets that arrive after a decrease of the delay overtake those that wait.
impl Retune for Netem {
    fn adopt(&mut self, _now: Time, fresh: Netem) {
        let times = |params: &Params| (params.delay, params.jitter, params.distribution, params.rate);
        if times(&self.params) != times(&fresh.params)
            && let Some(((last, _), _)) = self.waiting.last_key_value()
        {
            self.earliest = *last;
        }
        (self.params, self.site) = (fresh.params, fresh.site);
        self.bad &= self.params.bursts.is_some();
    }
}

impl Qdisc for Netem {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let packet = if self.loses(cx.rng) {
            match cx.signal(packet, self.params.ecn, Reason::Early) {
                Some(packet) => packet,
                None => return,
            }
        } else {
            packet
        };
        if self.site.is_full(self.packets(), self.bytes, packet.size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        let (mut from, mut delay) = (i128::from(now.0), self.delay(cx.rng));
        if let Some(rate) = self.params.rate {
            // With a rate packets stay in order: the time until the last packet leaves is part of
            // the delay.
            if let Some(((last, _), _)) = self.waiting.last_key_value() {
                let last = i128::from(last.0);
                delay = (delay - (last - from)).max(0);
                from = last;
            }
            delay += i128::from(rate.clock().tx_time(u32::from(packet.size)).0);
        }
        self.bytes += u64::from(packet.size);
        self.accepted += 1;
        let _ = self.waiting.insert((time_from_ps(from + delay).max(self.earliest), self.accepted), packet);
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, _cx: &mut Cx<'_>) -> Option<Packet> {
        let first = self.waiting.first_entry()?;
        let head = first.get();
        if first.key().0 > now {
            self.wake_at = Some(first.key().0);
            return None;
        }
        if !gate.admits(head.class(), head.dst) {
            return None;
        }
        let packet = first.remove();
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }
    fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.waiting.values().for_each(f);
    }
    fn next_wakeup(&self) -> Option<Time> {
        self.wake_at
    }
    fn wake(&mut self, now: Time, _cx: &mut Cx<'_>) {
        self.wake_at = self.wake_at.filter(|at| *at > now);
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; bytes, accepted, bad, wake_at)
    }
}
