//! Network emulation as in `netem` of Linux: variable delay and random loss.

use crate::state::bytes_of;
use crate::{Cx, Gate, Packet, Qdisc, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Fraction, Rate, Time};

/// Delays what passes by a time of its own for each packet, loses some at random, and may hold all to a rate, as the discipline
/// `netem` of Linux does (Hemminger, `net/sched/sch_netem.c`). A packet with a shorter delay overtakes those before it, unless
/// there is a rate.
///
/// Differs from Linux: the normal distribution is drawn itself, up to four standard deviations, and not from a table of 4096
/// values; packets are not duplicated, corrupted or put before others at random, and draws are independent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Mean delay. Default 0s.
    pub delay: Dur,
    /// Of a uniform distribution half its width, of a normal one its standard deviation. Default 0s.
    pub jitter: Dur,
    /// "uniform" or "normal". Default "uniform".
    pub distribution: Distribution,
    /// Probability that a packet is lost, each for itself. Default 0.
    pub loss: Fraction,
    /// Losses in bursts, by the model of Gilbert and Elliott. Default: no such losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<Bursts>,
    /// `true` if ECN-capable packets are marked rather than lost. Default false.
    pub ecn: bool,
    /// Rate at which packets leave, one after the other. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// Distribution of the delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Between `delay` - `jitter` and `delay` + `jitter`.
    #[default]
    Uniform,
    /// Around `delay`.
    Normal,
}

/// A chain of two states, between which it may change with each packet (Gilbert 1960, Elliott 1963).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Bursts {
    /// Probability with each packet that the good state becomes the bad one (p).
    pub enter: Fraction,
    /// Probability with each packet that the bad state becomes the good one (r).
    pub leave: Fraction,
    /// Probability of loss in the bad state (1 - h). Default 1.
    #[serde(default = "certain")]
    pub bad: Fraction,
    /// Probability of loss in the good state (1 - k). Default 0.
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
    /// Returns the empty queue at its site.
    pub fn build(&self, site: &Site) -> Netem {
        Netem {
            waiting: BTreeMap::new(),
            bytes: 0,
            count: 0,
            bad: false,
            wake_at: None,
            params: self.clone(),
            site: *site,
        }
    }
    /// Delays and a rate in range, one kind of loss.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::pause("delay", self.delay)?;
        check::pause("jitter", self.jitter)?;
        if self.rate == Some(Rate(0)) {
            return Err(Invalid::new("rate", "nothing would ever leave; write a rate above 0bit/s"));
        }
        if self.bursts.is_some() && self.loss.0 > 0.0 {
            return Err(Invalid::new("bursts", "packets are lost in bursts or each for itself; remove one of the two"));
        }
        Ok(())
    }
}

/// Packets by the time at which they may leave. O(log n) per packet.
#[derive(Debug)]
pub struct Netem {
    /// By time and order of arrival.
    waiting: BTreeMap<(Time, u64), Packet>,
    bytes: u64,
    /// Packets let in so far.
    count: u64,
    /// `true` if the chain of losses is in its bad state.
    bad: bool,
    /// When the first of those that are held back may leave.
    wake_at: Option<Time>,
    params: Params,
    site: Site,
}

/// Most standard deviations of a normal delay: the table of Linux ends there.
const TAIL: f64 = 4.0;

impl Netem {
    /// Returns `true` if the packet that arrives is lost. As in `loss_gilb_ell`, the state that it finds decides, and changes first.
    fn loses(&mut self, rng: &mut Rng) -> bool {
        let Some(bursts) = self.params.bursts else {
            return self.params.loss.0 > 0.0 && rng.chance(self.params.loss.0);
        };
        let (change, loss) = if self.bad { (bursts.leave, bursts.bad) } else { (bursts.enter, bursts.good) };
        self.bad ^= rng.chance(change.0);
        rng.chance(loss.0)
    }
    /// A delay, in picoseconds; below zero where the jitter is above the mean.
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

fn time(ps: i128) -> Time {
    Time(u64::try_from(ps.max(0)).unwrap_or(u64::MAX - 1))
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
            // Behind the last packet: the time until that leaves is part of the delay.
            if let Some(((last, _), _)) = self.waiting.last_key_value() {
                let last = i128::from(last.0);
                delay = (delay - (last - from)).max(0);
                from = last;
            }
            delay += i128::from(rate.clock().tx_time(u32::from(packet.size)).0);
        }
        self.bytes += u64::from(packet.size);
        self.count += 1;
        let _ = self.waiting.insert((time(from + delay), self.count), packet);
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
        bytes_of!(self; bytes, count, bad, wake_at)
    }
}
