//! DualPI2: a low-latency and a classic queue under one controller (RFC 9332).
//!
//! Packets with ECT(1) or CE wait in the L queue, all others in the C queue. Packets are marked or
//! dropped at departure, as in RFC 9332 appendix A and in Linux.

use crate::fifo::Fifo;
use crate::law::Backlog;
use crate::law::pi2::{Gains, Pi2};
use crate::retune::Retune;
use crate::signals::{Length, Signals, Threshold};
use crate::state::{QUEUE, bytes_of};
use crate::{Cx, Ecn, Gate, Packet, Qdisc, Reason, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_document::Invalid;
use tailback_units::{Dur, Size, Time};

/// DualPI2 (RFC 9332): a low-latency queue (L) for packets with ECT(1) or CE and a classic queue (C)
/// for the others, coupled so that scalable and classic flows with equal round-trip times share the
/// link equally. The defaults are those of Linux's `sch_dualpi2`. ECN-capable packets are marked, and
/// dropped only under overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Target delay of the controller, above 0s and at most 24h. Default 15ms.
    pub target: Dur,
    /// Time between two updates of the probability, above 0s and at most 24h. Default 16ms.
    pub update: Dur,
    /// Increase of the base probability p' at each update per second of delay above `target`, Hz, above 0 and at
    /// most 1000000. Default 0.16.
    pub alpha: f64,
    /// Increase of p' at each update per second by which the delay has risen since the last update, Hz, above 0 and
    /// at most 1000000. Default 3.2.
    pub beta: f64,
    /// Coupling factor k: scalable flows are marked with probability k · p', classic flows marked
    /// or dropped with p'²; 1 to 1000. Default 2.
    pub coupling: f64,
    /// Delay in the L queue above which its packets are marked in any case, at most 24h. Default 1ms.
    pub step: Dur,
    /// Threshold of the L queue in packets, instead of `step`: a packet is marked if more than this number of packets
    /// wait behind it in the L queue, whatever its delay (Linux's `step_thresh` in packets). Default: `step` applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_packets: Option<u64>,
    /// Number of packets that an arriving packet must find in the L queue to be subject to the step (Linux's
    /// `min_qlen_step`). With 1, packets that wait only for the packet in transmission are not marked by the step.
    /// Default 0.
    pub min_qlen_step: u64,
    /// Ramp instead of the step: the marking probability of the L queue itself rises linearly from 0 at a delay of
    /// `step` to 1 at `step` + `ramp` (RFC 9332 appendix A.1); at most 24h. Default 0s: a step.
    pub ramp: Dur,
    /// Behaviour under overload, when k · p' would exceed 1: `true` if packets of both queues are
    /// dropped with the classic probability; `false` if p' is limited to 1/k, so that the queue
    /// overflows instead. Default true.
    pub drop_on_overload: bool,
    /// Scheduler of the two queues: "weighted-round-robin" (weights in bytes) or "time-shifted-fifo". Default
    /// "weighted-round-robin".
    pub scheduler: Scheduler,
    /// Share of the link for the C queue in the round robin, 0.001 to 0.999. Default 0.1.
    pub classic_share: f64,
    /// Time shift of the time-shifted FIFO, at most 24h: a packet of the C queue is served first if its waiting time
    /// exceeds that of the L queue's packet by more than this. Default 50ms.
    pub time_shift: Dur,
    /// Size of a full packet, 1 B to 65535 B: while less than twice this size waits, p' has no
    /// effect. Default 1514 B.
    pub mtu: Size,
}

/// Scheduler of the two queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// By weights in bytes while both queues have packets.
    #[default]
    WeightedRoundRobin,
    /// The packet that has waited longer, after adding `time-shift` to the waiting time of L
    /// packets.
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
    /// Refuses times, gains and shares out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("target", self.target)?;
        check::duration("update", self.update)?;
        check::above("alpha", self.alpha, 0.0, 1e6)?;
        check::above("beta", self.beta, 0.0, 1e6)?;
        check::within("coupling", self.coupling, 1.0, 1e3)?;
        check::at_most_a_day("step", self.step)?;
        check::at_most_a_day("ramp", self.ramp)?;
        if self.step_packets.is_some() {
            if self.step != Params::default().step {
                return Err(Invalid::new("step", "`step-packets` replaces `step`; leave one of them out"));
            }
            if self.ramp > Dur::ZERO {
                return Err(Invalid::new("ramp", "a ramp begins at a delay; write `step` instead of `step-packets`"));
            }
        }
        check::within("classic-share", self.classic_share, 1e-3, 1.0 - 1e-3)?;
        check::at_most_a_day("time-shift", self.time_shift)?;
        check::packet("mtu", self.mtu)
    }

    /// Returns the discipline with empty queues; the limits of `site` hold for both queues together.
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

/// The queue from which a packet comes.
#[derive(Clone, Copy)]
enum Origin {
    /// The L queue; `stepped`: its step applies to the packet.
    Low {
        stepped: bool,
    },
    Classic,
}

/// State of the two queues and of their controller.
#[derive(Debug)]
pub struct DualPi2 {
    params: Params,
    site: Site,
    low: Fifo,
    /// For each packet of the L queue, in order, `true` if the step applies to it. Empty if the step applies to all.
    stepped: VecDeque<bool>,
    classic: Fifo,
    law: Pi2,
    /// Credit of the C queue in 1/1000 byte; if it is 0 or less, the L queue is served first.
    credit: i64,
}

impl DualPi2 {
    fn backlog(&self) -> Backlog {
        let (low, classic) = (self.low.backlog(), self.classic.backlog());
        Backlog { packets: low.packets + classic.packets, bytes: low.bytes + classic.bytes }
    }
    /// Returns the credit at the start of a busy period, as in Linux.
    fn initial_credit(&self) -> i64 {
        self.params.mtu.0 as i64 * (2 * self.classic_weight() - 1000)
    }
    fn reset_credit(&mut self) {
        self.credit = self.initial_credit();
    }
    /// Returns the share of the C queue, in thousandths.
    fn classic_weight(&self) -> i64 {
        (self.params.classic_share * 1000.0 + 0.5) as i64
    }
    /// Returns `true` if the L queue is served first when both queues have packets.
    fn low_first(&self, now: Time) -> bool {
        match self.params.scheduler {
            Scheduler::WeightedRoundRobin => self.credit <= 0,
            Scheduler::TimeShiftedFifo => {
                let waited = |queue: &Fifo| queue.head().map_or(Dur::ZERO, |head| now.since(head.at));
                waited(&self.low) + self.params.time_shift >= waited(&self.classic)
            }
        }
    }
    /// Removes the next packet and returns it with its queue and the change of the credit. `None`: no packet may leave.
    fn take(&mut self, now: Time, gate: &Gate) -> Option<(Packet, Origin, i64)> {
        let both = self.low.packets() > 0 && self.classic.packets() > 0;
        let low_first = !both || self.low_first(now);
        for low in [low_first, !low_first] {
            if let Some(packet) = if low { &mut self.low } else { &mut self.classic }.pop(gate) {
                let weight = self.classic_weight() - if low { 0 } else { 1000 };
                let credit = if both { weight * i64::from(packet.size) } else { 0 };
                let stepped = low && (self.params.min_qlen_step == 0 || self.stepped.pop_front() == Some(true));
                let origin = if low { Origin::Low { stepped } } else { Origin::Classic };
                return Some((packet, origin, credit));
            }
        }
        None
    }
    /// Returns `true` with the classic probability p'²: two draws, both below p'.
    fn is_chosen(&self, cx: &mut Cx<'_>) -> bool {
        let p = self.law.p();
        cx.rng.chance(p) && cx.rng.chance(p)
    }
    /// Marks the packet, drops it (`None`), or leaves it as it is.
    fn judge(&mut self, now: Time, mut packet: Packet, origin: Origin, cx: &mut Cx<'_>) -> Option<Packet> {
        let coupled = self.params.coupling * self.law.p();
        let overload = coupled > 1.0;
        let short_backlog = self.backlog().bytes < 2 * self.params.mtu.0;
        let Origin::Low { stepped } = origin else {
            let signal = !short_backlog && self.is_chosen(cx);
            return if signal { cx.signal(packet, !overload, Reason::Early) } else { Some(packet) };
        };
        let native = if stepped { self.native(now.since(packet.at)) } else { 0.0 };
        let marked = if short_backlog {
            native >= 1.0 || self.params.ramp > Dur::ZERO && cx.rng.chance(native)
        } else if overload {
            if self.params.drop_on_overload && self.is_chosen(cx) {
                cx.drop(packet, Reason::Early);
                return None;
            }
            true
        } else {
            // RFC 9332, appendix A.1: p_L = max(p'_L, p_CL), with one random draw.
            cx.rng.chance(coupled.max(native))
        };
        if marked {
            cx.mark(&mut packet);
        }
        Some(packet)
    }
    /// Returns the L queue's own marking probability (p'_L) for a packet that has `waited`: by this delay, or by the
    /// number of packets behind it.
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

/// A credit that has its initial value takes the new initial value. If `min-qlen-step` was 0, the step applies to all
/// waiting packets.
impl Retune for DualPi2 {
    fn adopt(&mut self, now: Time, fresh: DualPi2) {
        if self.credit == self.initial_credit() {
            self.credit = fresh.credit;
        }
        match (self.params.min_qlen_step, fresh.params.min_qlen_step) {
            (_, 0) => self.stepped.clear(),
            (0, _) => self.stepped = (0..self.low.packets()).map(|_| true).collect(),
            _ => {}
        }
        self.law.adopt(now, fresh.law);
        (self.params, self.site) = (fresh.params, fresh.site);
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
        while let Some((packet, origin, credit)) = self.take(now, gate) {
            if let Some(packet) = self.judge(now, packet, origin, cx) {
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
