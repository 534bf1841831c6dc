//! The retransmission timer and delayed acknowledgements.

use super::number;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Dur;

/// The retransmission timer (RFC 6298): SRTT + max(granularity, 4·RTTVAR), not below `min-rto`,
/// doubled with each expiry up to `max-rto`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Timers {
    /// G of RFC 6298, the least that 4·RTTVAR counts for, 1 ns to 10 s (Linux: 200 ms); with a "coarse" clock the length
    /// of a tick. Default 1 ms.
    pub granularity: Dur,
    /// "fine" measures round trips exactly; "coarse" counts them in whole ticks of `granularity` in
    /// scaled integers, as BSD and ns-2 do. Default "fine".
    pub clock: Clock,
    /// Smallest timeout, before doubling (RFC 6298: 1 s, ns-2: 200 ms; Linux's 200 ms come on top of SRTT, see
    /// `granularity`). Default 200 ms.
    pub min_rto: Dur,
    /// Timeout before the first measurement (RFC 6298: 1 s, RFC 2988: 3 s). Default 1 s.
    pub initial_rto: Dur,
    /// Largest timeout (RFC 6298: at least 60 s). Default 60 s.
    pub max_rto: Dur,
}

/// How round trips are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Exactly.
    #[default]
    Fine,
    /// In ticks: the sample is the number of ticks that passed (to the nearest with timestamps), at
    /// least 1; the timeout is at least 2 ticks.
    Coarse,
}

/// When the receiver acknowledges (RFC 5681 section 4.2). Segments out of order, and those that
/// fill a gap, are acknowledged at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DelayedAck {
    /// Acknowledge every so many segments, 1 (each) to 1000. Default 2.
    pub every: u32,
    /// Acknowledge at the latest after this time, 1 us to 10 s (RFC 5681: up to 500 ms; ns-2: 100 ms).
    /// Default 40 ms.
    pub timeout: Dur,
    /// What the timeout counts from: "segment" or "heartbeat". Default "segment".
    pub clock: AckClock,
}

/// When an acknowledgement that is held back leaves, if no segment releases it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckClock {
    /// `timeout` after its segment arrived: each connection has a timer of its own.
    #[default]
    Segment,
    /// At the next whole multiple of `timeout`, counted from the start of the run, so that those of all
    /// connections leave together and wait half of it on average. BSD has one such heartbeat per
    /// host, of 200 ms: `tcp_fasttimo` (Wright and Stevens, TCP/IP Illustrated 2, section 25.4).
    Heartbeat,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            granularity: Dur::from_ms(1),
            clock: Clock::Fine,
            min_rto: Dur::from_ms(200),
            initial_rto: Dur::from_secs(1),
            max_rto: Dur::from_secs(60),
        }
    }
}
impl Default for DelayedAck {
    fn default() -> DelayedAck {
        DelayedAck { every: 2, timeout: Dur::from_ms(40), clock: AckClock::Segment }
    }
}

impl Timers {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), Invalid> {
        duration("granularity", self.granularity, Dur::from_ns(1), Dur::from_secs(10))?;
        duration("min-rto", self.min_rto, Dur::from_us(1), Dur::from_secs(3600))?;
        duration("initial-rto", self.initial_rto, Dur::from_us(1), Dur::from_secs(3600))?;
        duration("max-rto", self.max_rto, Dur::from_us(1), Dur::from_secs(24 * 3600))?;
        for (name, least) in [("min-rto", self.min_rto), ("initial-rto", self.initial_rto)] {
            if self.max_rto < least {
                let advice = format!("{} is below `{name}`; write at least {least}", self.max_rto);
                return Err(Invalid::new("max-rto", advice));
            }
        }
        Ok(())
    }
}

impl DelayedAck {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), Invalid> {
        number("every", self.every, 1, 1000)?;
        duration("timeout", self.timeout, Dur::from_us(1), Dur::from_secs(10))
    }
}

fn duration(field: &str, value: Dur, low: Dur, high: Dur) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write {low} to {high}")))
}
