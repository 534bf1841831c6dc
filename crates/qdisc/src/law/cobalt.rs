//! COBALT (Høiland-Jørgensen, Täht and Morton, LANMAN 2018): CoDel for flows that respond and Blue for
//! those that do not, as in Linux's `sch_cake`.

use super::{Departure, DepartureLaw};
use crate::law::blue::{Stepped, Timers};
use crate::law::codel::{Verdict, control_law};
use crate::retune::Retune;
use crate::state::bytes_of;
use crate::{Victim, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Rate, Size, Time};

/// COBALT (LANMAN 2018): CoDel signals congestion to responsive flows; if the queue overflows
/// nevertheless, Blue drops packets in addition, and never marks. The defaults are those of Linux's
/// `sch_cake`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Acceptable standing delay, above 0s and at most 24h, and minimum time between two steps of Blue. A delay of
    /// up to four transmission times of a packet of `mtu` is acceptable, too. Default 5ms.
    pub target: Dur,
    /// Time for which the delay must stay above `target` before the first signal, above 0s and at most 24h. Default
    /// 100ms.
    pub interval: Dur,
    /// Size of a full packet, 1 B to 65535 B. Default 1514 B.
    pub mtu: Size,
    /// Increment of Blue's probability at an overflow, above 0 and at most 1. Default 1/256.
    pub increment: f64,
    /// Decrement of Blue's probability at an empty queue, above 0 and at most 1. Default 1/4096.
    pub decrement: f64,
    /// `true` if CoDel marks ECN-capable packets rather than dropping them. Default false.
    pub ecn: bool,
    /// Packet that is dropped when the queue is full: "tail", the arriving one, "head", the oldest,
    /// or "random". Default "head".
    pub victim: Victim,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            target: Dur::from_ms(5),
            interval: Dur::from_ms(100),
            mtu: Size(1514),
            increment: 1.0 / 256.0,
            decrement: 1.0 / 4096.0,
            ecn: false,
            victim: Victim::Head,
        }
    }
}

impl Params {
    /// Refuses times and steps of 0 or out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::duration("target", self.target)?;
        check::duration("interval", self.interval)?;
        check::packet("mtu", self.mtu)?;
        check::above("increment", self.increment, 0.0, 1.0)?;
        check::above("decrement", self.decrement, 0.0, 1.0)
    }
}

/// The state of the law at one queue.
#[derive(Clone, Debug)]
pub struct Cobalt {
    params: Params,
    /// Transmission time of a full packet.
    mtu_time: Dur,
    dropping: bool,
    /// Number that sets the time between signals: `interval` divided by its square root.
    count: u32,
    /// Time of the next signal in the dropping state; outside it, of the next decrement of `count`.
    drop_next: Time,
    blue: Stepped,
}

impl Cobalt {
    /// Returns the law for a queue at a link of `rate`; the parameters must have passed `check`.
    pub fn new(params: &Params, rate: Rate) -> Cobalt {
        let mut law = Cobalt {
            params: params.clone(),
            mtu_time: Dur::ZERO,
            dropping: false,
            count: 0,
            drop_next: Time::ZERO,
            blue: Stepped::new(Timers::Shared),
        };
        law.set_rate(rate);
        law
    }

    /// Notes that the link now has the rate `rate`.
    pub fn set_rate(&mut self, rate: Rate) {
        self.mtu_time = rate.clock().tx_time(self.params.mtu.0 as u32);
    }

    /// Notes a drop because the queue is full.
    pub fn overflow(&mut self, now: Time) {
        self.blue.raise(now, self.params.increment, self.params.target);
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// Notes that the link is free and the queue is empty.
    pub fn empty(&mut self, now: Time) {
        if self.blue.p() > 0.0 {
            self.blue.lower(now, self.params.decrement, self.params.target);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.slow_down();
        }
    }

    /// Decides about a packet that has waited for `sojourn`. `ect`: the packet is ECN-capable; `last`: it leaves the
    /// queue empty. After a drop the caller passes the next packet.
    pub fn judge(&mut self, now: Time, sojourn: Dur, last: bool, ect: bool, rng: &mut Rng) -> Verdict {
        let above = sojourn > self.params.target && sojourn > self.mtu_time * 4;
        let mut due = self.count > 0 && now >= self.drop_next;
        // `true` if the deadline lies before `now`; recomputed when it moves.
        let mut late = now > self.drop_next;
        if above {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = control_law(now, self.params.interval, self.count);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut verdict = Verdict::Deliver;
        if due && self.dropping {
            verdict = if ect && self.params.ecn { Verdict::Mark } else { Verdict::Drop };
            self.count = self.count.saturating_add(1);
            self.drop_next = control_law(self.drop_next, self.params.interval, self.count);
            late = now > self.drop_next;
        } else {
            while due {
                self.slow_down();
                late = now > self.drop_next;
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.blue.p() > 0.0 && rng.chance(self.blue.p()) {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.drop_next = now + self.params.interval;
        } else if late && verdict != Verdict::Drop {
            self.drop_next = now;
        }
        // As in Linux, the last packet is never dropped.
        if verdict == Verdict::Drop && last { Verdict::Deliver } else { verdict }
    }

    /// Returns Blue's probability.
    pub fn probability(&self) -> f64 {
        self.blue.p()
    }
    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        bytes_of!(self; dropping, count, drop_next) + self.blue.state_bytes()
    }
    /// Reports CoDel's dropping state and count, and Blue's probability.
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("dropping", f64::from(u8::from(self.dropping)));
        f("count", f64::from(self.count));
        f("probability", self.blue.p());
    }

    /// Decrements `count` and sets the time of the next decrement.
    fn slow_down(&mut self) {
        self.count -= 1;
        self.drop_next = control_law(self.drop_next, self.params.interval, self.count);
    }
}

/// Limits the time of the next signal to two new intervals from `now`. That is the largest distance without a change,
/// too: if dropping begins exactly at a deadline, the law adds two gaps of at most one interval each.
impl Retune for Cobalt {
    fn adopt(&mut self, now: Time, fresh: Cobalt) {
        (self.params, self.mtu_time) = (fresh.params, fresh.mtu_time);
        self.drop_next = self.drop_next.min(now + self.params.interval * 2);
    }
}

impl DepartureLaw for Cobalt {
    fn depart(&mut self, departure: &Departure, rng: &mut Rng) -> Verdict {
        self.judge(departure.now, departure.sojourn, departure.left.packets == 0, departure.ect, rng)
    }
}
