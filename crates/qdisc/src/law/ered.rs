//! Enhanced random early detection (Feng et al., NOSSDAV 1997): RED judges only packets beyond a reservation; packets
//! within it are dropped early only above a threshold of their own, if there is one.

use super::red::{self, Count, Red};
use super::{Arrival, ArrivalLaw, Backlog, BuildLaw, Decision};
use crate::retune::{Fixed, Retune};
use crate::signals::{Length, Signals, Threshold, inside};
use crate::{Fate, Reason, Site, Victim, Watch};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Amount, Rate, Time};

/// Enhanced RED (Feng, Kandlur, Saha and Shin 1997): the average is that of all packets, but RED marks or drops only
/// packets that are not green, that is, sent beyond a reservation. An arriving green packet is dropped if the queue is
/// full, or if the average is at or above `green-max`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {
    /// RED for the packets that are not green; its `victim` must be "tail". Default: the defaults of the
    /// discipline `red`.
    pub red: red::Params,
    /// Average queue at or above which green packets are dropped too, even if they are ECN-capable. Not below `max` of
    /// `red`, which must then be written. Default: no threshold, so that green packets are dropped only when the
    /// queue is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub green_max: Option<Amount>,
}

impl Params {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter of `red` is invalid or its `victim` is not "tail", or if `green-max` is below `max` of `red` or
    /// written without it. The error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.red.check().map_err(|e| e.within("red"))?;
        if self.red.victim != Victim::Tail {
            return Err(Invalid::new("red.victim", "only arriving packets are dropped; leave `victim` out"));
        }
        let mean = self.red.mean_packet.0 as f64;
        match (self.green_max, self.red.max) {
            (Some(green), Some(max)) if green.in_bytes(mean) < max.in_bytes(mean) => {
                Err(Invalid::new("green-max", format!("{green} is below RED's `max`; write at least {max}")))
            }
            (Some(green), None) => Err(Invalid::new(
                "red.max",
                format!("`green-max` is {green}, so `max` has no default; write `max`, too"),
            )),
            _ => Ok(()),
        }
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.red.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        inside("red", &self.red, site, f);
        if let Some(green) = self.green_max {
            let length = Length::of(green, self.red.count, self.red.mean_packet);
            f(Threshold { path: "green-max".to_owned(), derived: false, length, site: *site });
        }
    }
}

/// State of enhanced RED at one queue.
#[derive(Clone, Debug)]
pub struct Ered {
    red: Red,
    /// Average at or above which green packets are dropped, in bytes or packets as `count` of RED; infinite: no
    /// threshold.
    green_max: f64,
    /// `true` if RED marks ECN-capable packets instead of dropping them.
    ecn: bool,
    /// Event that starts an idle time, in which the average ages.
    watches: Watch,
}

impl Ered {
    /// Returns the law in its initial state, for a link of `rate`. The parameters must have passed [`Params::check`];
    /// `green_max` of `None`: no threshold.
    pub fn new(params: &red::Params, green_max: Option<Amount>, rate: Rate) -> Ered {
        let mean = params.mean_packet.0 as f64;
        let green_max = green_max.map_or(f64::INFINITY, |amount| match params.count {
            Count::Bytes => amount.in_bytes(mean),
            Count::Packets => amount.in_packets(mean),
        });
        Ered { red: Red::new(params, rate), green_max, ecn: params.ecn, watches: params.idle.watch() }
    }
    /// Decides about an arriving packet of `size` bytes that finds `queue` waiting. Drop precedence 0 is green: the
    /// decision is [`Decision::Forced`] if the average has reached the threshold of green packets, else
    /// [`Decision::Pass`]. RED decides about a higher drop precedence.
    pub fn arrive(&mut self, now: Time, queue: Backlog, size: u16, drop_precedence: u8, rng: &mut Rng) -> Decision {
        if drop_precedence > 0 {
            return self.red.arrive(now, queue, size, rng);
        }
        self.red.observe(now, queue);
        if self.red.average() >= self.green_max { Decision::Forced } else { Decision::Pass }
    }
}

impl BuildLaw for Params {
    type Law = Ered;
    fn law(&self, site: &Site) -> Ered {
        Ered::new(&self.red, self.green_max, site.rate)
    }
}

impl Retune for Ered {
    fn adopt(&mut self, now: Time, fresh: Ered) {
        self.red.adopt(now, fresh.red);
        (self.green_max, self.ecn, self.watches) = (fresh.green_max, fresh.ecn, fresh.watches);
    }
}

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        self.red.check_retune(&to.red).map_err(|e| e.within("red"))
    }
}

impl ArrivalLaw for Ered {
    fn judge(&mut self, arrival: &Arrival<'_>, rng: &mut Rng) -> Fate {
        let drop_precedence = arrival.packet.colour() as u8;
        let decision = self.arrive(arrival.now, arrival.queue, arrival.packet.size, drop_precedence, rng);
        if arrival.full {
            // RED counts only the packets about which it decides, so the drop of a green one does not restart its
            // count.
            if drop_precedence > 0 {
                self.red.forced();
            }
            return Fate::Dropped(Reason::BufferFull);
        }
        arrival.fate(decision, self.ecn && self.red.may_mark())
    }
    fn watches(&self) -> Watch {
        self.watches
    }
    fn idle(&mut self, now: Time) {
        self.red.idle(now);
    }
    fn set_rate(&mut self, rate: Rate) {
        self.red.set_rate(rate);
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        self.red.probe(f);
    }
    fn state_bytes(&self) -> usize {
        self.red.state_bytes()
    }
}
