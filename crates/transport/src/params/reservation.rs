//! A sender that holds a reservation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_units::{Dur, Rate, Size};

/// A reserved rate, as with the controlled-load service (RFC 2211): the sender has a token bucket,
/// sends what conforms to it marked (green) and the rest unmarked (yellow), as best effort (Feng,
/// Kandlur, Saha and Shin, NOSSDAV 1997). With Reno windows only, and without pacing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Reservation {
    /// Reserved rate; segments count with their `header`. Above 0.
    pub rate: Rate,
    /// Depth of the token bucket, at least one full segment with its `header`, at most 1 TB.
    pub burst: Size,
    /// Which part of the window a loss reduces: the "whole", as with any TCP, or the "excess" over
    /// what the reservation carries in a round trip, which is then the least window at any time
    /// (rate-adaptive windowing). Default "whole".
    #[serde(default)]
    pub window: ReservedWindow,
    /// What makes a segment leave. Default { kind = "acknowledgement" }.
    #[serde(default)]
    pub transmission: Transmission,
}

/// Which part of the window a loss reduces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReservedWindow {
    /// All of it.
    #[default]
    Whole,
    /// What is above rate · round-trip time. A loss of a marked segment reduces all of it.
    Excess,
}

tailback_document::kinds! {
    /// What makes a segment of a sender with a reservation leave.
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

/// The window alone, as acknowledgements open it: without tokens a segment leaves unmarked at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Acknowledgement {}

impl Acknowledgement {
    /// Nothing can be wrong.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// A segment that the window allows and for which there are no tokens waits for them, but no longer
/// than a time that is drawn uniformly; then it leaves unmarked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Delayed {
    /// Longest wait, above 0s. Default 100ms.
    pub most: Dur,
}

impl Default for Delayed {
    fn default() -> Delayed {
        Delayed { most: Dur::from_ms(100) }
    }
}

impl Delayed {
    /// There is a wait.
    pub fn check(&self) -> Result<(), Invalid> {
        some_time("most", self.most)
    }
}

/// A timer ticks besides: as long as there are tokens, new segments leave marked, whatever the
/// window says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Timed {
    /// Time between ticks, above 0s; the timers of BSD had 200ms and 500ms. Their phase is drawn.
    /// Default 10ms.
    pub tick: Dur,
}

impl Default for Timed {
    fn default() -> Timed {
        Timed { tick: Dur::from_ms(10) }
    }
}

impl Timed {
    /// There is a time between ticks.
    pub fn check(&self) -> Result<(), Invalid> {
        some_time("tick", self.tick)
    }
}

fn some_time(field: &str, time: Dur) -> Result<(), Invalid> {
    if time >= Dur::from_us(1) && time <= Dur::from_secs(3600) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{time} is out of range; write 1us to 1h, such as 10ms")))
}

impl Reservation {
    /// There is a rate, and the bucket holds a full segment of `bytes`, headers included.
    pub(super) fn check(&self, bytes: u64) -> Result<(), Invalid> {
        if self.rate == Rate(0) {
            return Err(Invalid::new("rate", "nothing is reserved; write a rate above 0, or remove the reservation"));
        }
        if self.burst.0 < bytes || self.burst.0 > 1_000_000_000_000 {
            let message = format!("{} is out of range; write from {} (a full segment) to 1TB", self.burst, Size(bytes));
            return Err(Invalid::new("burst", message));
        }
        Checked::check(&self.transmission).map_err(|e| e.within("transmission"))
    }
}
