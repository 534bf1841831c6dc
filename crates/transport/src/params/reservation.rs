//! Parameters of a sender with a reservation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_units::{Dur, Rate, Size};

/// A reserved rate, as in the controlled-load service (RFC 2211): the sender has a token bucket,
/// and sends conforming segments marked (green), the others unmarked (yellow) as best effort (Feng,
/// Kandlur, Saha and Shin, NOSSDAV 1997). Requires congestion control "reno" without pacing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reservation {
    /// Reserved rate; segments count with their `header`. Above 0.
    pub rate: Rate,
    /// Depth of the token bucket, at least one full segment with its `header`, at most 1 TB.
    pub burst: Size,
    /// Part of the window that a loss reduces: "whole", the whole window, as in any TCP, or "excess", the part above
    /// rate · round-trip time, which is then the minimum of the window at any time (rate-adaptive windowing). Default
    /// "whole".
    #[serde(default)]
    pub window: ReservedWindow,
    /// Trigger of transmissions. Default { kind = "acknowledgement" }.
    #[serde(default)]
    pub transmission: Transmission,
}

/// Part of the window that a loss reduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReservedWindow {
    /// The whole window.
    #[default]
    Whole,
    /// The part above rate · round-trip time. The loss of a marked segment reduces the whole window.
    Excess,
}

tailback_document::kinds! {
    /// Trigger of transmissions of a sender with a reservation.
    pub enum Transmission {
        "acknowledgement" => Acknowledgement(Acknowledgement),
        "delayed" => Delayed(Delayed),
        "timed" => Timed(Timed),
    }
}

impl Default for Transmission {
    fn default() -> Transmission {
        Transmission::Acknowledgement(Acknowledgement {})
    }
}

/// Transmissions are triggered by acknowledgements only: a segment that the window allows is sent at once, unmarked if
/// there are no tokens for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Acknowledgement {}

impl Acknowledgement {
    /// Accepts: there are no parameters.
    ///
    /// # Errors
    /// Never: the type excludes invalid values.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// A segment that the window allows and for which there are no tokens waits for tokens. The wait ends after a uniformly
/// random time, and the segment is then sent unmarked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Delayed {
    /// Upper bound of the random wait, whose lower bound is 0; 1us to 1h. Default 100ms.
    pub most: Dur,
}

impl Default for Delayed {
    fn default() -> Delayed {
        Delayed { most: Dur::from_ms(100) }
    }
}

impl Delayed {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check_time("most", self.most)
    }
}

/// Transmissions are triggered by acknowledgements and by a periodic timer: while there are tokens, the timer sends new
/// segments marked, independently of the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Timed {
    /// Period of the timer, 1us to 1h; the timers of BSD had 200ms and 500ms. The phase is random.
    /// Default 10ms.
    pub tick: Dur,
}

impl Default for Timed {
    fn default() -> Timed {
        Timed { tick: Dur::from_ms(10) }
    }
}

impl Timed {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check_time("tick", self.tick)
    }
}

/// Checks that a time is in 1 us to 1 h.
fn check_time(field: &str, time: Dur) -> Result<(), Invalid> {
    if time >= Dur::from_us(1) && time <= Dur::from_secs(3600) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{time} is out of range; write 1us to 1h, such as 10ms")))
}

impl Reservation {
    /// Checks ranges. `bytes` is the length of a full segment, headers included.
    pub(super) fn check(&self, bytes: u64) -> Result<(), Invalid> {
        if self.rate == Rate(0) {
            return Err(Invalid::new("rate", "the rate is zero; write a rate above 0, or remove the reservation"));
        }
        if self.burst.0 < bytes || self.burst.0 > 1_000_000_000_000 {
            let message = format!("{} is out of range; write from {} (a full segment) to 1TB", self.burst, Size(bytes));
            return Err(Invalid::new("burst", message));
        }
        Checked::check(&self.transmission).map_err(|e| e.within("transmission"))
    }
}
