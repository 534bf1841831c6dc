//! Parameters of the retransmission timer and of delayed acknowledgements.

use super::form::Form;
use crate::check::{number, time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::Dur;

/// Retransmission timer (RFC 6298): SRTT + max(granularity, 4·RTTVAR), at least `min-rto`,
/// doubled with each expiry up to `max-rto`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Timers {
    /// Granularity G of RFC 6298, the lower bound of the term 4·RTTVAR, 1 ns to 10 s (Linux: 200 ms); with a "coarse"
    /// clock, the length of a tick. Default 1 ms.
    pub granularity: Dur,
    /// Clock of round-trip times: "fine" measures exactly; "coarse" counts whole ticks of `granularity` in
    /// scaled integers, as BSD and ns-2 do. Default "fine".
    pub clock: Clock,
    /// Minimum retransmission timeout (RTO) before doubling, 1 us to 1 h (RFC 6298: 1 s, ns-2: 200 ms; Linux adds its
    /// 200 ms to SRTT, see `granularity`). Default 200 ms.
    pub min_rto: Dur,
    /// Timeout before the first round-trip time sample, 1 us to 1 h (RFC 6298: 1 s, RFC 2988: 3 s). Default 1 s.
    pub initial_rto: Dur,
    /// Maximum retransmission timeout, at least `min-rto` and `initial-rto`, at most 24 h (RFC 6298: at least 60 s).
    /// Default 60 s.
    pub max_rto: Dur,
    /// Length of a tick of the system's clock, 1 ms to 100 ms (Linux: 1/`HZ`; 4 ms in most distributions). The timers of
    /// retransmissions, of tail loss probes and of reordering, and with `delayed-ack.form = "linux"` those of
    /// acknowledgements, then expire at a tick: up to a tick later than they are set to, and up to an eighth later if
    /// that is 63 ticks or more (`calc_wheel_index`). Default null: timers are exact.
    pub tick: Option<Dur>,
    /// Estimate of RTTVAR: "rfc": RFC 6298; "linux": that of Linux 6.1 (`tcp_rtt_estimator`), the largest smoothed
    /// deviation of a round trip, at least `granularity`, which falls by a quarter of the difference once per round trip;
    /// a deviation below SRTT counts an eighth; segments that are acknowledged selectively are measured, too. Needs a
    /// "fine" `clock`. Default "rfc".
    pub form: Form,
}

/// Clock of round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// Exact times.
    #[default]
    Fine,
    /// Ticks: a sample is the number of clock ticks between transmission and acknowledgement, at least 1; with
    /// timestamps it is the exact time rounded to the nearest tick. The timeout is at least 2 ticks.
    Coarse,
}

/// Delayed acknowledgements (RFC 5681 section 4.2). Segments out of order, and those that
/// fill a gap, are acknowledged at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DelayedAck {
    /// Number of segments per acknowledgement, 1 to 1000. Default 2.
    pub every: u32,
    /// Upper bound of the delay of an acknowledgement, 1 us to 10 s (RFC 5681: up to 500 ms; ns-2: 100 ms).
    /// Default 40 ms.
    pub timeout: Dur,
    /// Start of the delay: "segment", the arrival of the segment, or "heartbeat", the last multiple of `timeout` since
    /// the start of the run. Default "segment".
    pub clock: AckClock,
    /// "rfc": the rules of RFC 5681; "linux": also those of Linux 6.1, by which the first 16 segments, and as many after
    /// a pause longer than the retransmission timeout or after a segment received twice, are acknowledged one by one,
    /// `timeout` (40 ms) is adapted to the time between segments up to 200 ms, and from the fourth on acknowledgements of
    /// segments out of order are combined for up to 1 ms (`tcp_event_data_recv`, `tcp_send_delayed_ack`,
    /// `__tcp_ack_snd_check`). Default "rfc".
    pub form: Form,
}

/// Start of the timeout of a delayed acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckClock {
    /// The arrival of the segment: each connection has its own timer.
    #[default]
    Segment,
    /// The last whole multiple of `timeout` since the start of the run, so that the delayed acknowledgements of all
    /// connections are sent at the same instants, after half of `timeout` on average. BSD has one such heartbeat per
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
            tick: None,
            form: Form::Rfc,
        }
    }
}
impl Default for DelayedAck {
    fn default() -> DelayedAck {
        DelayedAck { every: 2, timeout: Dur::from_ms(40), clock: AckClock::Segment, form: Form::Rfc }
    }
}

impl Timers {
    /// Checks ranges, and that no timeout is above `max-rto`.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        time("granularity", self.granularity, Dur::from_ns(1), Dur::from_secs(10))?;
        time("min-rto", self.min_rto, Dur::from_us(1), Dur::from_secs(3600))?;
        time("initial-rto", self.initial_rto, Dur::from_us(1), Dur::from_secs(3600))?;
        time("max-rto", self.max_rto, Dur::from_us(1), Dur::from_secs(24 * 3600))?;
        for (name, minimum) in [("min-rto", self.min_rto), ("initial-rto", self.initial_rto)] {
            if self.max_rto < minimum {
                let message = format!("{} is below `{name}`; write at least {minimum}", self.max_rto);
                return Err(Invalid::new("max-rto", message));
            }
        }
        if let Some(tick) = self.tick {
            time("tick", tick, Dur::from_ms(1), Dur::from_ms(100))?;
        }
        if self.form == Form::Linux && self.clock == Clock::Coarse {
            return Err(Invalid::new("form", "\"linux\" measures exactly; write `clock = \"fine\"`"));
        }
        Ok(())
    }
}

impl DelayedAck {
    /// Checks ranges.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        number("every", self.every, 1, 1000)?;
        time("timeout", self.timeout, Dur::from_us(1), Dur::from_secs(10))?;
        if self.form == Form::Linux && (self.timeout != Dur::from_ms(40) || self.clock != AckClock::Segment) {
            return Err(Invalid::new(
                "form",
                "\"linux\" adapts `timeout` and has no `clock`; remove these keys, or write `form = \"rfc\"`",
            ));
        }
        Ok(())
    }
}
