//! DualPI2: a low-latency and a classic queue under one controller (RFC 9332).
//!
//! Packets with ECT(1) or CE wait in the L queue, all others in the C queue. Decisions fall when a
//! packet is taken out, as in RFC 9332 appendix A and in Linux.

use crate::fifo::Fifo;
use crate::law::Backlog;
use crate::law::pi2::{Gains, Pi2};
use crate::signals::{Length, Signals, Threshold};
use crate::state::{QUEUE, bytes_of};
use crate::{Cx, Ecn, Gate, Packet, Qdisc, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_document::Invalid;
use tailback_units::{Dur, Size, Time};

/// DualPI2 (RFC 9332): two queues, one for ECT(1) and CE, coupled such that scalable and classic flows
/// of one round-trip time share the link equally. The defaults are those of Linux's `sch_dualpi2`.
/// ECN-capable packets are always marked, but for overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Delay that the controller aims at, above 0s. Default 15ms.
    pub target: Dur,
    /// Time between two updates of the probability, above 0s. Default 16ms.
    pub update: Dur,
    /// Probability per update and second of delay above `target`, in Hz. Default 0.16.
    pub alpha: f64,
    /// Probability per update and second by which the delay has risen, in Hz. Default 3.2.
    pub beta: f64,
    /// Coupling factor k: scalable flows see k times the root of what classic ones see. Default 2.
    pub coupling: f64,
    /// Delay in the L queue above which its packets are marked. Default 1ms.
    pub step: Dur,
    /// A step in packets, in place of `step`: a packet is marked if it leaves more than this number behind it in the L queue,
    /// regardless of its sojourn time (`step_thresh` of Linux in packets). Default: `step` applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_packets: Option<u64>,
    /// Packets in the L queue from which on an arriving one is subject to the step at all (Linux' `min_qlen_step`); a
    /// value of 1 spares packets that have only waited for one in transmission. Default 0.
    pub min_qlen_step: u64,
    /// Length of a ramp on which the L queue's own probability rises from 0 at `step` to 1, in place of the step (RFC 9332,
    /// appendix A.1). Default 0s.
    pub ramp: Dur,
    /// `true` if classic drops fall on both queues once scalable flows see a probability of 1; if not,
    /// the probability stops there, and the queue overflows. Default true.
    pub drop_on_overload: bool,
    /// Scheduler of the two queues: "weighted-round-robin" or "time-shifted-fifo". Default
    /// "weighted-round-robin".
    pub scheduler: Scheduler,
    /// Share of the C queue in the round robin, 0.001 to 0.999. Default 0.1.
    pub classic_share: f64,
    /// By how much longer a classic packet must have waited to go first in the time-shifted FIFO. Default 50ms.
    pub time_shift: Dur,
    /// Size of a full packet: with less than two of them waiting, p' chooses nothing. Default 1514 B.
    pub mtu: Size,
}

/// Scheduler of the two queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// By bytes, in proportion to weights, while both have packets.
    #[default]
    WeightedRoundRobin,
    /// The packet that has waited longer, L packets having waited longer by a constant.
    TimeShiftedFifo,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Dur::from_ms(15),
            update: Dur::from_ms(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Dur::from_ms(1),
            step_packets: None,
            min_qlen_step: 0,
            ramp: Dur::ZERO,
            drop_on_overload: true,
            scheduler: Scheduler::default(),
            classic_share: 0.1,
            time_shift: Dur::from_ms(50),
            mtu: Size(1514),
        }
    }
}

impl Params {
    /// Times, gains and shares are above zero.
    ///
    /// # Errors
    /// The parameter at fault, and what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("target", self.target)?;
        check::duration("update", self.update)?;
        check::above("alpha", self.alpha, 0.0, 1e6)?;
        check::above("beta", self.beta, 0.0, 1e6)?;
        check::within("coupling", self.coupling, 1.0, 1e3)?;
        check::pause("step", self.step)?;
        check::pause("ramp", self.ramp)?;
        if self.step_packets.is_some() {
            if self.step != Params::default().step {
                return Err(Invalid::new("step", "the step is in packets (`step-packets`); leave one of them out"));
            }
            if self.ramp > Dur::ZERO {
                return Err(Invalid::new("ramp", "a ramp begins at a delay; write `step` in place of `step-packets`"));
            }
        }
        check::within("classic-share", self.classic_share, 1e-3, 1.0 - 1e-3)?;
        check::pause("time-shift", self.time_shift)?;
        check::packet("mtu", self.mtu)
    }

    /// The queues at their site; its limits are those of both together.
    pub fn build(&self, site: &Site) -> DualPi2 {
        let gains = Gains { target: self.target, update: self.update, alpha: self.alpha, beta: self.beta };
        let most = if self.drop_on_overload { 1.0 } else { 1.0 / self.coupling };
        let mut queues = DualPi2 {
            params: self.clone(),
            site: *site,
            low: Fifo::new(&Site::default()),
            stepped: VecDeque::new(),
            classic: Fifo::new(&Site::default()),
            law: Pi2::new(gains, most),
            credit: 0,
        };
        queues.reset_credit();
        queues
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        true
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        if let Some(packets) = self.step_packets {
            let length = Length::Packets(packets as f64);
            f(Threshold { path: "step-packets".to_owned(), derived: false, length, site: *site });
        }
    }
}

/// From which queue a packet comes.
#[derive(Clone, Copy)]
enum Origin {
    /// The L queue, and whether its step applies to the packet.
    Low {
        stepped: bool,
    },
    Classic,
}

/// The two queues at work.
#[derive(Debug)]
pub struct DualPi2 {
    params: Params,
    site: Site,
    low: Fifo,
    /// By packet of the L queue: `true` if the step applies to it. Empty if it applies to all.
    stepped: VecDeque<bool>,
    classic: Fifo,
    law: Pi2,
    /// Bytes times thousandths by which the C queue has fallen behind; up to 0 the L queue goes first.
    credit: i64,
}

impl DualPi2 {
    fn backlog(&self) -> Backlog {
        let (low, classic) = (self.low.backlog(), self.classic.backlog());
        Backlog { packets: low.packets + classic.packets, bytes: low.bytes + classic.bytes }
    }
    fn reset_credit(&mut self) {
        self.credit = self.params.mtu.0 as i64 * (2 * self.classic_weight() - 1000);
    }
    /// Thousandths of the link that are the C queue's.
    fn classic_weight(&self) -> i64 {
        (self.params.classic_share * 1000.0 + 0.5) as i64
    }
    /// Returns `true` if the L queue goes first, both having packets.
    fn low_first(&self, now: Time) -> bool {
        match self.params.scheduler {
            Scheduler::WeightedRoundRobin => self.credit <= 0,
            Scheduler::TimeShiftedFifo => {
                let waited = |queue: &Fifo| queue.head().map_or(Dur::ZERO, |head| now.since(head.at));
                waited(&self.low) + self.params.time_shift >= waited(&self.classic)
            }
        }
    }
    /// The next packet, from which queue, and what it does to the credit.
    fn take(&mut self, now: Time, gate: &Gate) -> Option<(Packet, Origin, i64)> {
        let both = self.low.packets() > 0 && self.classic.packets() > 0;
        let low_first = self.low.packets() > 0 && (!both || self.low_first(now));
        for low in [low_first, !low_first] {
            if let Some(packet) = if low { &mut self.low } else { &mut self.classic }.pop(gate) {
                let weight = self.classic_weight() - if low { 0 } else { 1000 };
                let credit = if both { weight * i64::from(packet.size) } else { 0 };
                let stepped = low && (self.params.min_qlen_step == 0 || self.stepped.pop_front() == Some(true));
                let from = if low { Origin::Low { stepped } } else { Origin::Classic };
                return Some((packet, from, credit));
            }
        }
        None
    }
    /// Returns `true` if a classic choice falls: two draws, both below p'.
    fn is_chosen(&self, cx: &mut Cx<'_>) -> bool {
        let p = self.law.p();
        cx.rng.chance(p) && cx.rng.chance(p)
    }
    /// Marks the packet, drops it, or leaves it as it is.
    fn judge(&mut self, now: Time, mut packet: Packet, from: Origin, cx: &mut Cx<'_>) -> Option<Packet> {
        let coupled = self.params.coupling * self.law.p();
        let overload = coupled > 1.0;
        let few = self.backlog().bytes < 2 * self.params.mtu.0;
        let Origin::Low { stepped } = from else {
            let signal = !few && self.is_chosen(cx);
            return if signal { cx.signal(packet, !overload, Reason::Early) } else { Some(packet) };
        };
        let native = if stepped { self.native(now.since(packet.at)) } else { 0.0 };
        let marked = if few {
            native >= 1.0 || self.params.ramp > Dur::ZERO && cx.rng.chance(native)
        } else if overload {
            if self.params.drop_on_overload && self.is_chosen(cx) {
                cx.drop(packet, Reason::Early);
                return None;
            }
            true
        } else {
            // RFC 9332, appendix A.1: p_L = max(p'_L, p_CL), and one decision by it.
            cx.rng.chance(coupled.max(native))
        };
        if marked {
            cx.mark(&mut packet);
        }
        Some(packet)
    }
    /// The L queue's own probability (p'_L), by its delay or length; the packet that is judged has left it.
    fn native(&self, waited: Dur) -> f64 {
        let above = match self.params.step_packets {
            Some(packets) => self.low.packets() > packets,
            None => waited > self.params.step,
        };
        match self.params.ramp {
            Dur::ZERO => f64::from(u8::from(above)),
            ramp => ((waited - self.params.step).0 as f64 / ramp.0 as f64).min(1.0),
        }
    }
}

impl Qdisc for DualPi2 {
    fn enqueue(&mut self, _now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let queued = self.backlog();
        if self.site.is_full(queued.packets, queued.bytes, packet.size) {
            cx.drop(packet, Reason::BufferFull);
        } else if matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce) {
            if self.params.min_qlen_step > 0 {
                self.stepped.push_back(self.low.packets() >= self.params.min_qlen_step);
            }
            self.low.push(packet);
        } else {
            self.classic.push(packet);
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        while let Some((packet, from, credit)) = self.take(now, gate) {
            if let Some(packet) = self.judge(now, packet, from, cx) {
                self.credit += credit;
                return Some(packet);
            }
        }
        if self.packets() == 0 {
            self.reset_credit();
        }
        None
    }
    fn packets(&self) -> u64 {
        self.low.packets() + self.classic.packets()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.low.visit(f);
        self.classic.visit(f);
    }
    fn next_wakeup(&self) -> Option<Time> {
        Some(self.law.next_update())
    }
    fn wake(&mut self, now: Time, _cx: &mut Cx<'_>) {
        if now >= self.law.next_update() {
            let waited = |queue: &Fifo| queue.head().map_or(Dur::ZERO, |head| now.since(head.at));
            self.law.update(now, waited(&self.low).max(waited(&self.classic)));
        }
    }
    fn watches_idle(&self) -> bool {
        true
    }
    fn idle(&mut self, _now: Time, _cx: &mut Cx<'_>) {
        self.reset_credit();
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("base_probability", self.law.p());
        f("classic_probability", self.law.classic());
        f("scalable_probability", self.law.scalable(self.params.coupling));
        f("low_latency_packets", self.low.packets() as f64);
        f("classic_packets", self.classic.packets() as f64);
    }
    fn state_bytes(&self) -> usize {
        2 * QUEUE + self.law.state_bytes() + bytes_of!(self; credit)
    }
}
