//! The adaptive virtual queue (Kunniyur and Srikant, SIGCOMM 2001), as in ns-2.35.

use super::{Arrival, ArrivalLaw, BuildLaw};
use crate::retune::{Fixed, Retune, fixed};
use crate::state::bytes_of;
use crate::{Fate, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Fraction, Rate, Size, Time};

/// The adaptive virtual queue (Kunniyur and Srikant 2001): a virtual queue, which is only a number of bytes, receives
/// the packets of the real one and is served at a virtual rate, at most that of the link. A packet that would overflow
/// the virtual queue is marked or dropped. The virtual rate is adapted so that the arrival rate becomes the share
/// `gamma` of the link's rate. The defaults are those of ns-2.35.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// Desired utilisation of the link, above 0 and at most 1. Default 0.98.
    pub gamma: Fraction,
    /// Gain of the adaptation of the virtual rate, above 0 and at most 1e6. Default 0.15.
    pub alpha: f64,
    /// Initial virtual rate as a share of the link's rate, above 0 and at most 1. Default 0.8.
    #[schemars(extend("x-fixed" = INITIAL_FIXED))]
    pub initial: Fraction,
    /// Size of the virtual buffer. Default: the limit of the queue in bytes, or its limit in
    /// packets times `mean-packet`, whichever is less; if the queue has no limit, no packet is
    /// marked or dropped by the law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Size>,
    /// Mean packet size, for the default of `buffer`, 1 B to 65535 B. Default 1000 B.
    pub mean_packet: Size,
    /// `true` if ECN-capable packets are marked instead of dropped. Default false.
    pub ecn: bool,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            gamma: Fraction(0.98),
            alpha: 0.15,
            initial: Fraction(0.8),
            buffer: None,
            mean_packet: Size(1000),
            ecn: false,
        }
    }
}

impl Params {
    /// Refuses shares of 0 and a gain or packet size out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::positive_fraction("gamma", self.gamma)?;
        check::above("alpha", self.alpha, 0.0, 1e6)?;
        check::positive_fraction("initial", self.initial)?;
        check::packet("mean-packet", self.mean_packet)
    }
}

/// The state of the law at one queue, measured in bytes.
#[derive(Clone, Debug)]
pub struct Avq {
    gamma: f64,
    alpha: f64,
    /// Size of the virtual buffer, bytes.
    buffer: f64,
    /// Rate of the link, bytes per second.
    rate: f64,
    /// Rate of the virtual queue, bytes per second.
    virtual_rate: f64,
    /// Bytes in the virtual queue.
    virtual_queue: f64,
    /// Time at which the virtual queue was last served.
    served: Time,
    /// Time at which the virtual rate was last adapted.
    adapted: Time,
    /// `true` once a packet has arrived.
    started: bool,
    ecn: bool,
}

impl Avq {
    /// Returns the law for a queue of `buffer` bytes (infinite: no limit) in front of a link of `rate`. The parameters
    /// must have passed `check`.
    pub fn new(params: &Params, buffer: f64, rate: Rate) -> Avq {
        let bytes_per_second = rate.0 as f64 / 8.0;
        Avq {
            gamma: params.gamma.0,
            alpha: params.alpha,
            buffer: params.buffer.map_or(buffer, |buffer| buffer.0 as f64),
            rate: bytes_per_second,
            virtual_rate: bytes_per_second * params.initial.0,
            virtual_queue: 0.0,
            served: Time::ZERO,
            adapted: Time::ZERO,
            started: false,
            ecn: params.ecn,
        }
    }
    /// Serves the virtual queue until `now` and adds a packet of `size` bytes; returns `false`, without
    /// adding the packet, if the virtual queue would overflow.
    fn fits(&mut self, now: Time, size: f64) -> bool {
        if !self.started {
            (self.started, self.served, self.adapted) = (true, now, now);
        }
        let served = self.virtual_rate * now.since(self.served).as_secs();
        self.served = now;
        self.virtual_queue = f64::max(0.0, self.virtual_queue - served) + size;
        let fits = self.virtual_queue <= self.buffer;
        if !fits {
            self.virtual_queue = f64::max(0.0, self.virtual_queue - size);
        }
        fits
    }
    /// Adapts the virtual rate at an arrival of `size` bytes.
    fn adapt(&mut self, now: Time, size: f64) {
        let wanted = self.alpha * self.gamma * self.rate * now.since(self.adapted).as_secs();
        self.adapted = now;
        let rate = self.virtual_rate + wanted - self.alpha * size;
        self.virtual_rate = rate.clamp(0.0, self.rate);
    }
}

impl BuildLaw for Params {
    type Law = Avq;
    fn law(&self, site: &Site) -> Avq {
        let packet_limit = site.packets as f64 * self.mean_packet.0 as f64;
        Avq::new(self, f64::min(site.bytes as f64, packet_limit), site.rate)
    }
}

/// A virtual queue that exceeds a smaller virtual buffer keeps its length; packets overflow it until it has been served
/// to below the buffer.
impl Retune for Avq {
    fn adopt(&mut self, _now: Time, fresh: Avq) {
        *self = Avq {
            virtual_rate: self.virtual_rate.min(fresh.rate),
            virtual_queue: self.virtual_queue,
            served: self.served,
            adapted: self.adapted,
            started: self.started,
            ..fresh
        };
    }
}

/// Reason why `initial` is fixed during a run.
const INITIAL_FIXED: &str = "it is the virtual rate at the start of the run";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("initial", self.initial, to.initial, INITIAL_FIXED)
    }
}

impl ArrivalLaw for Avq {
    fn judge(&mut self, arrival: &Arrival<'_>, _rng: &mut Rng) -> Fate {
        let size = f64::from(arrival.packet.size);
        let fate = if self.fits(arrival.now, size) { Fate::Joins } else { arrival.signal(self.ecn) };
        // Packets that the law drops do not count as load; those dropped at a full queue do.
        if !matches!(fate, Fate::Dropped(_)) {
            self.adapt(arrival.now, size);
        }
        fate
    }
    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate.0 as f64 / 8.0;
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("virtual_queue_bytes", self.virtual_queue);
        f("virtual_rate_bits_per_second", self.virtual_rate * 8.0);
    }
    fn state_bytes(&self) -> usize {
        bytes_of!(self; virtual_rate, virtual_queue, served, adapted, started)
    }
}
