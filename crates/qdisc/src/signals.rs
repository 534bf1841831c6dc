//! The congestion signals of a discipline by its parameters, for checks before a run: marking, and the queue lengths
//! and waiting times at which it reacts.

use crate::Site;
use crate::fifo::Count;
use tailback_units::{Amount, Dur, Size};

/// A queue length or waiting time with which a discipline compares the actual one.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Dotted path of the parameter, relative to the discipline's table.
    pub path: String,
    /// `true` if the value is a default or derived from the link, `false` if the document states it.
    pub derived: bool,
    /// Value of the threshold.
    pub length: Length,
    /// Limits and link of the queue whose length or waiting time is compared.
    pub site: Site,
}

/// The value of a threshold with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    /// Waiting buffer bytes.
    Bytes(f64),
    /// Waiting packets.
    Packets(f64),
    /// Waiting time of the oldest packet of a FIFO.
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
    /// Returns `amount` in the unit `count`; the mean packet size converts between bytes and packets.
    pub(crate) fn of(amount: Amount, count: Count, mean_packet: Size) -> Length {
        let mean = mean_packet.0 as f64;
        match count {
            Count::Bytes => Length::Bytes(amount.in_bytes(mean)),
            Count::Packets => Length::Packets(amount.in_packets(mean)),
        }
    }
}

/// Congestion signals of a discipline. The parameters of disciplines without signals implement it, too, so that the
/// compiler reports omissions.
pub trait Signals {
    /// Returns `true` if the discipline may mark ECN-capable packets (RFC 3168).
    fn marks(&self) -> bool;
    /// Passes each threshold of a discipline at `site` to `f`, in ascending order for each of its queues.
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold));
}

/// Passes the thresholds of a discipline at `path` inside another one to `f`. Waiting times are left out, since the
/// rate at which the outer discipline serves the inner one is unknown.
pub(crate) fn inside(path: &str, inner: &dyn Signals, site: &Site, f: &mut dyn FnMut(Threshold)) {
    inner.each_threshold(site, &mut |threshold| {
        if !matches!(threshold.length, Length::Wait(_)) {
            f(Threshold { path: format!("{path}.{}", threshold.path), ..threshold });
        }
    });
}

/// Returns `true` if any of these disciplines marks packets. `None` is a FIFO, which does not.
pub(crate) fn any_marks<'a, S: Signals + 'a>(specs: impl IntoIterator<Item = &'a Option<Box<S>>>) -> bool {
    specs.into_iter().flatten().any(|spec| spec.marks())
}
