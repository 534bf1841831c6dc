//! What a discipline's parameters say of its signals, for checks before a run: whether it marks, and with which
//! queues and waits it compares.

use crate::law::red::Count;
use crate::{Site, Spec, discipline, law};
use tailback_units::{Amount, Dur, Size};

/// A length of queue, or a wait in it, that a discipline compares with what it finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The parameter, relative to the discipline's table, dotted.
    pub path: String,
    /// Whether the parameter follows from the link or is a default, rather than written.
    pub derived: bool,
    /// What it is compared with must come to this.
    pub length: Length,
    /// The limits of the queue that is compared.
    pub site: Site,
}

/// How a threshold is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Buffer bytes that wait.
    Bytes(f64),
    /// Packets that wait.
    Packets(f64),
    /// How long the oldest packet of a first-in-first-out queue has waited.
    Wait(Dur),
}

impl From<Amount> for Length {
    fn from(amount: Amount) -> Length {
        match amount {
            Amount::Bytes(bytes) => Length::Bytes(bytes as f64),
            Amount::Millipackets(n) => Length::Packets(n as f64 / 1e3),
        }
    }
}

impl Length {
    /// A threshold that a law compares in the unit of `count`, with a mean packet of this size.
    pub(crate) fn of(amount: Amount, count: Count, mean_packet: Size) -> Length {
        let mean = mean_packet.0 as f64;
        match count {
            Count::Bytes => Length::Bytes(amount.in_bytes(mean)),
            Count::Packets => Length::Packets(amount.in_packets(mean)),
        }
    }
}

/// Every discipline's parameters say this, those without signals too, so that none is forgotten.
pub trait Signals {
    /// Whether it may mark ECN-capable packets (RFC 3168).
    fn marks(&self) -> bool;
    /// Tells each threshold of a queue at `site`, smaller ones before larger ones of the same queue.
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold));
}

/// Tells the thresholds of a discipline that stands at `path` inside another one, at `site`. Waits are left out: how
/// fast the outer one serves it is not known.
pub(crate) fn inside(path: &str, inner: &dyn Signals, site: &Site, f: &mut dyn FnMut(Threshold)) {
    inner.each_threshold(site, &mut |threshold| {
        if !matches!(threshold.length, Length::Wait(_)) {
            f(Threshold { path: format!("{path}.{}", threshold.path), ..threshold });
        }
    });
}

/// Whether any of these disciplines marks; a FIFO, where there is none, does not.
pub(crate) fn any_marks<'a>(specs: impl IntoIterator<Item = &'a Option<Box<Spec>>>) -> bool {
    specs.into_iter().flatten().any(|spec| spec.marks())
}

/// Disciplines that decide by who sends or by what is full, and never mark.
macro_rules! without_signals {
    ($($params:path),+ $(,)?) => {
        $(
            impl Signals for $params {
                fn marks(&self) -> bool {
                    false
                }
                fn each_threshold(&self, _: &Site, _: &mut dyn FnMut(Threshold)) {}
            }
        )+
    };
}
without_signals! {
    discipline::drop_tail::Params,
    discipline::drop_head::Params,
    discipline::drr::Params,
    discipline::sfq::Params,
    discipline::wfq::Params,
    discipline::wf2q_plus::Params,
    discipline::virtual_clock::Params,
    discipline::scfq::Params,
    discipline::stfq::Params,
    discipline::fair_queue::Params,
    discipline::fq::Params,
}

/// Disciplines that mark by a state of their own and compare no queue with a parameter.
macro_rules! without_thresholds {
    ($($params:path),+ $(,)?) => {
        $(
            impl Signals for $params {
                fn marks(&self) -> bool {
                    self.ecn
                }
                fn each_threshold(&self, _: &Site, _: &mut dyn FnMut(Threshold)) {}
            }
        )+
    };
}
// COBALT's and flow-queue CoDel's delays have no bound by the limit: Blue acts in the one, other flows go first in the other.
without_thresholds! {
    law::sfb::Params,
    law::sred::Params,
    law::avq::Params,
    law::cobalt::Params,
    discipline::fq_codel::Params,
    discipline::netem::Params,
}
