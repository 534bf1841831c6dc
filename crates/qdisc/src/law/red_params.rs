//! The parameters of random early detection.

use super::Form;
use super::average::Idle;
use crate::fifo::{Count, Victim};
use crate::retune::{Fixed, fixed};
use crate::signals::{Length, Signals, Threshold};
use crate::{Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::maths;
use tailback_units::{Amount, Dur, Fraction, Size};

/// Random early detection (Floyd and Jacobson 1993). Arriving packets are marked or dropped with a
/// probability that rises with the average queue between `min` and `max`. The defaults are those of
/// ns-2.35 except `mark-limit`; the experiments of 1993 had `gentle = false`, `count = "packets"`,
/// `byte-mode = false` and `weight = 0.002`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Average queue below which no packet is marked or dropped early. Default: half of the bytes
    /// that the link sends in 5 ms, at least 5 mean packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Amount>,
    /// Average queue at which the probability reaches `max-p`, not below `min`. Default: three times `min`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Amount>,
    /// Probability at `max`, above 0 and at most 1; with `adaptive` its initial value. Default 0.1.
    #[serde(default = "tenth")]
    pub max_p: Fraction,
    /// Weight of a new sample in the average, above 0 and at most 1; 0.002 in 1993. Default: 1 −
    /// exp(−1/(10·RTT·C)), with C the mean packets per second of the link and RTT 100 ms, or three
    /// packet times if that is longer: a time constant of ten round trips.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// `true` if the probability rises from `max-p` at `max` linearly to 1 at twice `max`; `false`
    /// if it jumps to 1 at `max`. Default true.
    #[serde(default = "yes")]
    pub gentle: bool,
    /// `true` if, at a probability of 1/k, the gaps between early drops are uniform on k to 2k − 1
    /// packets; `false` if they are uniform on 1 to k − 1 packets (1993). Default true.
    #[serde(default = "yes")]
    pub wait: bool,
    /// `true` if each packet is marked or dropped independently with the probability itself, so that the gaps
    /// are geometric (1993, section 7, method 1), as in switches that mark for DCQCN; `wait` then has no
    /// effect. Default false.
    #[serde(default, skip_serializing_if = "no")]
    pub independent: bool,
    /// `true` if a packet's probability is proportional to its size: p · size / `mean-packet`.
    /// Default true.
    #[serde(default = "yes")]
    pub byte_mode: bool,
    /// Unit of the average queue: "bytes" or "packets". Default "bytes".
    #[serde(default)]
    #[schemars(extend("x-fixed" = COUNT_FIXED))]
    pub count: Count,
    /// Mean packet size, which converts between packets and bytes, 1 B to 65535 B. Default 500 B.
    #[serde(default = "mean_packet")]
    pub mean_packet: Size,
    /// `true` if ECN-capable packets are marked instead of dropped early. Default false.
    #[serde(default)]
    pub ecn: bool,
    /// Probability at or above which ECN-capable packets are dropped instead of marked; ns-2.35 has
    /// 0.1. With this limit, packets above `max` are dropped by the random choice, too, instead of
    /// in any case. Default: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark_limit: Option<Fraction>,
    /// Treatment of ECN-capable packets once the average has reached `max` (twice `max` if `gentle`): "drop" (RFC
    /// 3168 section 7.1) or "mark" (1993). Default "drop".
    #[serde(default)]
    pub above_max: AboveMax,
    /// Packet that is dropped when the queue is full or the average has reached `max` (twice `max`
    /// if `gentle`): "tail", the arriving one, "head", the oldest, or "random". Default "tail".
    #[serde(default)]
    pub victim: Victim,
    /// Ageing of the average by an idle time in which the link could have sent m mean packets:
    /// "ns", by m + 1 empty samples, "1993", by m, or "none". Default "ns".
    #[serde(default)]
    #[schemars(extend("x-fixed" = IDLE_FIXED))]
    pub idle: Idle,
    /// Adaptation of max_p to the load: { kind = "feng" } or { kind = "floyd" }. Default: no
    /// adaptation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Adaptive>,
    /// "published", or "linux": Linux 6.1 (`include/net/red.h`), in which a packet is chosen when the number of packets
    /// since the last choice, times the probability, reaches a number drawn at that choice (`red_mark_probability`), the
    /// first packet between the thresholds is never chosen (`red_action`), an idle time ages the average by the table that
    /// tc computes (`red_calc_qavg_from_idle_time`), and max_p adapts every `interval`, to the average that it then finds
    /// (`red_adaptative_algo`). Needs `gentle`, `wait` and `byte-mode` to be false, and `idle` to be "1993" or "none".
    /// Default "published".
    #[serde(default, skip_serializing_if = "Form::is_published")]
    #[schemars(extend("x-fixed" = FORM_FIXED))]
    pub form: Form,
}

/// Treatment of ECN-capable packets at an average at which every packet is signalled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AboveMax {
    /// Dropped, ECN-capable or not.
    #[default]
    Drop,
    /// Marked if ECN-capable.
    Mark,
}

tailback_document::kinds! {
    /// Adaptation of max_p to the load.
    pub enum Adaptive {
        "feng" => Feng(Feng),
        "floyd" => Floyd(Floyd),
    }
}

/// Feng, Kandlur, Saha and Shin (INFOCOM 1999): max_p is divided by `alpha` when the average falls
/// below `min` and multiplied by `beta` when it rises above `max`, once per crossing. The first
/// packets find an average below `min`, so that a run starts with `max-p` / `alpha`, as in ns-2.35.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Feng {
    /// Divisor of max_p when the average falls below `min`, above 1 and at most 1000000. Default 3.
    pub alpha: f64,
    /// Factor of max_p when the average rises above `max`, above 1 and at most 1000000. Default 2.
    pub beta: f64,
    /// Minimum time between two changes of max_p, at most 24h. Default 0s.
    pub freeze: Dur,
    /// Smallest max_p, above 0 and at most 1. Default 0.0001; the paper and ns-2.35 have no bound.
    pub bottom: Fraction,
    /// Largest max_p, `bottom` to 1000. With max_p above 1, the probability reaches 1 before the average
    /// reaches `max`. Default: no bound, as in the paper and ns-2.35.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<f64>,
}

impl Default for Feng {
    fn default() -> Feng {
        Feng { alpha: 3.0, beta: 2.0, freeze: Dur::ZERO, bottom: Fraction(1e-4), top: None }
    }
}

impl Feng {
    /// Refuses factors of at most 1, and a `bottom` of 0 or above `top`.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("alpha", self.alpha, 1.0, 1e6)?;
        check::above("beta", self.beta, 1.0, 1e6)?;
        check::at_most_a_day("freeze", self.freeze)?;
        check::positive_fraction("bottom", self.bottom)?;
        match self.top {
            Some(top) => check::within("top", top, self.bottom.0, 1000.0),
            None => Ok(()),
        }
    }
}

/// Floyd, Gummadi and Shenker (2001): every `interval` max_p is changed to bring the average into
/// the middle fifth of the range from `min` to `max`. As in ns-2.35 the interval begins at a change
/// of max_p and ends at the first arrival after its time has passed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Floyd {
    /// Increment of max_p when the average is above the middle fifth, above 0 and at most 1; limited to a quarter of
    /// max_p. Default 0.01.
    pub alpha: f64,
    /// Factor of max_p when the average is below the middle fifth, above 0 and at most 0.999999. Default 0.9.
    pub beta: f64,
    /// Time between two changes, above 0s and at most 24h. Default 500ms.
    pub interval: Dur,
    /// Value of max_p at or below which it is not lowered further, above 0 and at most 1. Default: 0.01, or 80 kbit/s
    /// divided by the link's rate if that is less; 0.01 in form "linux".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottom: Option<Fraction>,
    /// Value of max_p at or above which it is not raised further, `bottom` to 1. Default 0.5.
    pub top: Fraction,
}

impl Default for Floyd {
    fn default() -> Floyd {
        Floyd { alpha: 0.01, beta: 0.9, interval: Dur::from_ms(500), bottom: None, top: Fraction(0.5) }
    }
}

impl Floyd {
    /// Refuses an increment of 0, a factor outside 0 to 1, a `bottom` of 0, and a `top` below `bottom`.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::above("alpha", self.alpha, 0.0, 1.0)?;
        check::above("beta", self.beta, 0.0, 0.999_999)?;
        check::duration("interval", self.interval)?;
        if let Some(bottom) = self.bottom {
            check::positive_fraction("bottom", bottom)?;
        }
        check::within("top", self.top.0, self.bottom.map_or(0.0, |bottom| bottom.0), 1.0)
    }
}

fn yes() -> bool {
    true
}
fn tenth() -> Fraction {
    Fraction(0.1)
}
fn mean_packet() -> Size {
    Size(500)
}

fn no(value: &bool) -> bool {
    !value
}

impl Default for Params {
    fn default() -> Params {
        Params {
            min: None,
            max: None,
            max_p: tenth(),
            weight: None,
            gentle: true,
            wait: true,
            independent: false,
            byte_mode: true,
            count: Count::default(),
            mean_packet: mean_packet(),
            ecn: false,
            mark_limit: None,
            above_max: AboveMax::default(),
            victim: Victim::default(),
            idle: Idle::default(),
            adaptive: None,
            form: Form::Published,
        }
    }
}

impl Params {
    /// Refuses thresholds out of order, fractions of 0 and parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::packet("mean-packet", self.mean_packet)?;
        let mean = self.mean_packet.0 as f64;
        if let (Some(min), Some(max)) = (self.min, self.max)
            && max.in_bytes(mean) < min.in_bytes(mean)
        {
            return Err(Invalid::new("max", format!("{max} is below `min`; write at least {min}")));
        }
        if let (None, Some(max)) = (self.min, self.max) {
            return Err(Invalid::new("min", format!("`max` is {max}, so `min` has no default; write `min`, too")));
        }
        if self.max.is_some_and(|max| max.in_bytes(mean) <= 0.0) || self.max.is_none() && self.min_is_zero() {
            return Err(Invalid::new("max", "a threshold of 0 drops every packet; write more than 0"));
        }
        check::positive_fraction("max-p", self.max_p)?;
        if let Some(weight) = self.weight {
            check::above("weight", weight, 0.0, 1.0)?;
        }
        if let Some(limit) = self.mark_limit {
            check::positive_fraction("mark-limit", limit)?;
        }
        self.check_form()?;
        match &self.adaptive {
            Some(adaptive) => tailback_document::Checked::check(adaptive).map_err(|e| e.within("adaptive")),
            None => Ok(()),
        }
    }

    /// Refuses what the form does not have.
    fn check_form(&self) -> Result<(), Invalid> {
        if self.form == Form::Published {
            return Ok(());
        }
        let refused = |field: &str, message: &str| Err(Invalid::new(field, message));
        if self.gentle || self.wait || self.byte_mode || self.idle == Idle::Ns {
            let cure = "`gentle = false`, `wait = false`, `byte-mode = false`, and `idle = \"1993\"` or `\"none\"`";
            return refused("form", &format!("\"linux\" needs {cure}; write these, or `form = \"published\"`"));
        }
        if self.independent || self.victim != Victim::Tail || self.mark_limit.is_some() {
            let message = "\"linux\" has no `independent`, `victim` and `mark-limit`; remove these, or write `form = \"published\"`";
            return refused("form", message);
        }
        match &self.adaptive {
            Some(Adaptive::Feng(_)) => {
                refused("adaptive", "form \"linux\" adapts as `{ kind = \"floyd\" }`; write that, or leave it out")
            }
            Some(Adaptive::Floyd(floyd)) if floyd.interval < Dur::from_ms(1) => {
                refused("adaptive.interval", "form \"linux\" needs at least 1ms; write that, or more")
            }
            _ => Ok(()),
        }
    }

    fn min_is_zero(&self) -> bool {
        self.min.is_some_and(|min| min.in_bytes(self.mean_packet.0 as f64) <= 0.0)
    }

    /// Returns `min` and `max` in the unit of `count`, for a link that sends `packets_per_second` mean packets per
    /// second.
    pub(super) fn thresholds(&self, packets_per_second: f64) -> (f64, f64) {
        /// Queueing delay from which the default thresholds follow, seconds.
        const TARGET_DELAY: f64 = 0.005;
        let mean = self.mean_packet.0 as f64;
        let in_unit = |amount: Amount| match self.count {
            Count::Bytes => amount.in_bytes(mean),
            Count::Packets => amount.in_packets(mean),
        };
        let per_packet = if self.count == Count::Bytes { mean } else { 1.0 };
        let min = self.min.map_or_else(|| f64::max(5.0, TARGET_DELAY * packets_per_second / 2.0) * per_packet, in_unit);
        (min, self.max.map_or(3.0 * min, in_unit))
    }

    /// Returns the weight of a new sample, for a link that sends `packets_per_second` mean packets per second. ns-2.35
    /// adds the link's propagation delay to the packet time in the second term; a queue does not know that delay, so
    /// that the weights differ for links with a delay above 33 ms.
    pub(super) fn weight(&self, packets_per_second: f64) -> f64 {
        self.weight.unwrap_or_else(|| {
            let round_trip = f64::max(0.1, 3.0 / packets_per_second);
            1.0 - maths::exp(-1.0 / (10.0 * round_trip * packets_per_second))
        })
    }
}

/// Reason why `count` is fixed during a run.
const COUNT_FIXED: &str = "the average is kept in this unit";

/// Reason why `idle` is fixed during a run.
const IDLE_FIXED: &str = "it selects the event that the port reports";

/// Reason why `form` is fixed during a run.
pub(crate) const FORM_FIXED: &str = "the forms count the packets since the last choice differently";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("count", self.count, to.count, COUNT_FIXED)?;
        fixed("idle", self.idle, to.idle, IDLE_FIXED)?;
        fixed("form", self.form, to.form, FORM_FIXED)?;
        let tail = |params: &Params| params.victim == Victim::Tail;
        fixed("victim", tail(self), tail(to), "a port handles queues that drop waiting packets differently")?;
        if self.adaptive.is_some() && to.adaptive.is_some() {
            fixed("max-p", self.max_p, to.max_p, "with `adaptive` it is only the value at the start")?;
        }
        Ok(())
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let packets_per_second = site.rate.0 as f64 / (8.0 * self.mean_packet.0 as f64);
        let (min, max) = self.thresholds(packets_per_second);
        for (name, average, derived) in [("min", min, self.min.is_none()), ("max", max, self.max.is_none())] {
            let length = if self.count == Count::Bytes { Length::Bytes(average) } else { Length::Packets(average) };
            f(Threshold { path: name.to_owned(), derived, length, site: *site });
        }
    }
}
