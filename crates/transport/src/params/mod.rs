//! The parameters of a TCP connection as a scenario writes them.

mod floor;
mod limited;
mod rdma;
mod recovery;
mod reservation;
mod timers;
mod window;

pub use floor::EcnFloor;
pub use limited::{LimitedTransmit, WhenLimited};
pub use rdma::Rdma;
pub use recovery::{Exit, GoBackN, NewReno, Pipe, Recovery, Reno, Sack, Tahoe};
pub use reservation::{Acknowledgement, Delayed, Reservation, ReservedWindow, Timed, Transmission};
pub use timers::{AckClock, Clock, DelayedAck, Timers};
pub use window::{InitialWindow, WindowRule};

use crate::line::Line;
use crate::registry::Cc;
use crate::wire::Ecn;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::{Checked, Invalid};
use tailback_units::{Dur, Rate, Size};

/// A TCP connection, both ends. Without any key: SACK with RACK-TLP and proportional rate
/// reduction, an initial window of 10 segments, delayed acknowledgements, no ECN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Tcp {
    /// Payload of a full segment, 1 B to 65535 B; headers come on top. Default 1460 B.
    pub segment: Size,
    /// Headers of a segment and of an acknowledgement, TCP and IP, 0 B to 1000 B; framing comes on
    /// top. Default 40 B.
    pub header: Size,
    /// How the window grows and shrinks. Default "reno".
    pub congestion_control: Cc,
    /// How losses are found and repaired. Default "sack".
    pub recovery: Recovery,
    /// Duplicate acknowledgements that mean a loss, 1 to 255 (RFC 5681: 3). Default 3.
    pub dup_thresh: u32,
    /// Send a segment on each of the first two duplicate acknowledgements (RFC 3042, with SACK RFC 6675 section 5
    /// step 3): true, false, or "always", also while everything is sent again after a timeout, as ns-2 does. Default true.
    pub limited_transmit: LimitedTransmit,
    /// Window before the first acknowledgement: segments, 1 to 1000000, or "rfc3390" or "rfc6928".
    /// Default 10.
    pub initial_window: InitialWindow,
    /// Slow-start threshold at the start, segments, at least 2. Default none: slow start until the
    /// first congestion.
    pub initial_ssthresh: Option<u32>,
    /// Window that the receiver offers, segments, 1 to 2^30. Default none: it never limits.
    pub receive_window: Option<u32>,
    /// After an idle time longer than the retransmission timeout start again from the initial
    /// window (RFC 5681 section 4.1). Default true.
    pub slow_start_restart: bool,
    /// Segments outstanding of which slow start asks that the window be less than twice as many, where the window
    /// was not full: "flight", those of the moment, or "round", the most of the last round trip (Linux). Default "flight".
    pub window_validation: WindowValidation,
    /// When the receiver acknowledges. Default every second segment or after 40 ms.
    pub delayed_ack: DelayedAck,
    /// The retransmission timer.
    pub timers: Timers,
    /// Measure round trips by echoed timestamps, one sample per acknowledgement (RFC 7323); false
    /// times one segment per round trip and none that was sent twice, as BSD and ns-2 do. Default true.
    pub timestamps: bool,
    /// Explicit congestion notification: "off" or "classic" (RFC 3168). Default "off".
    pub ecn: EcnMode,
    /// Codepoint of ECN-capable segments: "ect0", or "ect1", which asks queues that know it for the
    /// low-latency treatment of L4S (RFC 9331). Default "ect0".
    pub ect: Ect,
    /// Echo of congestion experienced: "classic" repeats it until the sender answers (RFC 3168),
    /// "accurate" reports each segment's mark (RFC 8257 section 3.2). Default: what the congestion
    /// control needs, "accurate" for "dctcp" and "classic" for the others.
    pub ecn_echo: Option<EcnEcho>,
    /// Answer to an echo at a window of one segment. "rfc3168": the next is sent when the retransmission timer,
    /// started again, expires; "backoff": each echo in a row doubles the timeout, too; "ns-2": so does ns-2.35, below
    /// two segments; "none": it is sent at once. Default "rfc3168".
    pub ecn_floor: EcnFloor,
    /// Send retransmissions as ECN-capable, and CWR with them, which RFC 3168 forbids and ns-2 does.
    /// Default false.
    pub ecn_retransmissions: bool,
    /// Open with SYN and SYN-ACK and negotiate ECN there; false starts with data, as ns-2's
    /// one-way agents do. Default true.
    pub handshake: bool,
    /// Space segments at 2 (slow start) or 1.2 times the window per smoothed round trip, as Linux
    /// does. A congestion control with a rate of its own paces anyway. Default false.
    pub pacing: bool,
    /// Detection of timeouts that were too early: "off", "f-rto" (RFC 5682) or "eifel" (RFC 3522,
    /// by timestamps, fast retransmits too); the window is then restored. Default "f-rto".
    pub spurious_timeout: SpuriousTimeout,
    /// Undo a reduction, of a fast retransmit too, when all that was sent again since has been reported as a duplicate
    /// (RFC 3708, as in Linux). Needs recovery "sack". Default false.
    pub dsack_undo: bool,
    /// A reserved rate. Default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
    /// What the sending host knows of its line, where the congestion control needs it; not written, but
    /// set by whoever builds the network.
    #[serde(skip)]
    #[schemars(skip)]
    pub line: Option<Line>,
    /// Whether the host takes segments from its connections in turn as its link sends them; not written,
    /// but set by "rdma".
    #[serde(skip)]
    #[schemars(skip)]
    pub takes_turns: bool,
}

/// Explicit congestion notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnMode {
    /// Segments are not ECN-capable.
    #[default]
    Off,
    /// RFC 3168.
    Classic,
}

/// Codepoint of ECN-capable segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ect {
    /// ECT(0).
    #[default]
    Ect0,
    /// ECT(1) (RFC 9331).
    Ect1,
}

impl Ect {
    pub(crate) fn codepoint(self) -> Ecn {
        match self {
            Ect::Ect0 => Ecn::Ect0,
            Ect::Ect1 => Ecn::Ect1,
        }
    }
}

/// How the receiver echoes congestion experienced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnEcho {
    /// In every acknowledgement until a segment with CWR comes (RFC 3168 section 6.1.3).
    #[default]
    Classic,
    /// In the acknowledgements of marked segments only (RFC 8257 section 3.2).
    Accurate,
}

/// Detection of timeouts that were too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpuriousTimeout {
    /// None.
    Off,
    /// By what the first two acknowledgements after the timeout acknowledge (RFC 5682).
    #[default]
    FRto,
    /// By the echoed timestamp of the first acknowledgement after a retransmission (RFC 3522).
    Eifel,
}

/// What slow start takes for the use of a window that was not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowValidation {
    /// The segments outstanding when the acknowledgement comes.
    #[default]
    Flight,
    /// The most that were outstanding in the last round trip (Linux's `tcp_is_cwnd_limited`).
    Round,
}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp {
            segment: Size(1460),
            header: Size(40),
            congestion_control: Cc::default(),
            recovery: Recovery::default(),
            dup_thresh: 3,
            limited_transmit: LimitedTransmit::Sends(true),
            initial_window: InitialWindow::Segments(10),
            initial_ssthresh: None,
            receive_window: None,
            slow_start_restart: true,
            window_validation: WindowValidation::Flight,
            delayed_ack: DelayedAck::default(),
            timers: Timers::default(),
            timestamps: true,
            ecn: EcnMode::Off,
            ect: Ect::Ect0,
            ecn_echo: None,
            ecn_floor: EcnFloor::Rfc3168,
            ecn_retransmissions: false,
            handshake: true,
            pacing: false,
            spurious_timeout: SpuriousTimeout::FRto,
            dsack_undo: false,
            reservation: None,
            line: None,
            takes_turns: false,
        }
    }
}

impl Tcp {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(1..=65_535).contains(&self.segment.0) {
            return Err(Invalid::new("segment", format!("{} is out of range; write 1B to 65535B", self.segment)));
        }
        if self.header.0 > 1_000 {
            return Err(Invalid::new("header", format!("{} is out of range; write 0B to 1000B", self.header)));
        }
        number("dup-thresh", self.dup_thresh, 1, 255)?;
        self.initial_window.check().map_err(|e| e.within("initial-window"))?;
        if let Some(segments) = self.initial_ssthresh {
            number("initial-ssthresh", segments, 2, 1 << 30)?;
        }
        if let Some(segments) = self.receive_window {
            number("receive-window", segments, 1, 1 << 30)?;
        }
        self.congestion_control.check().map_err(|e| e.within("congestion-control"))?;
        self.recovery.check().map_err(|e| e.within("recovery"))?;
        self.delayed_ack.check().map_err(|e| e.within("delayed-ack"))?;
        self.timers.check().map_err(|e| e.within("timers"))?;
        if self.spurious_timeout == SpuriousTimeout::Eifel && !self.timestamps {
            return Err(Invalid::new("spurious-timeout", "\"eifel\" needs `timestamps = true`; write it or \"f-rto\""));
        }
        if self.dsack_undo && !matches!(self.recovery, Recovery::Sack(_)) {
            let message =
                format!("recovery \"{}\" hears of no duplicates; write \"sack\" or false", self.recovery.kind());
            return Err(Invalid::new("dsack-undo", message));
        }
        self.check_reservation()
    }

    fn check_reservation(&self) -> Result<(), Invalid> {
        let Some(reservation) = &self.reservation else { return Ok(()) };
        if !matches!(self.congestion_control, Cc::Reno(_)) {
            let message =
                format!("windows of \"{}\" know no reservation; use \"reno\"", self.congestion_control.kind());
            return Err(Invalid::new("congestion-control", message));
        }
        if self.pacing {
            return Err(Invalid::new("pacing", "a reservation has its own pace; leave one of them out"));
        }
        reservation.check(self.segment.0 + self.header.0).map_err(|e| e.within("reservation"))
    }

    /// Whether its segments say by a colour whether they are marked.
    pub fn marks(&self) -> bool {
        self.reservation.is_some() || matches!(self.congestion_control, Cc::PacketMarking(_))
    }

    /// What the sending host knows of its line.
    pub fn line(&self) -> Line {
        self.line.unwrap_or_default()
    }

    /// Segments before the first acknowledgement.
    pub fn initial_window(&self) -> u32 {
        self.initial_window.segments(self.segment)
    }

    /// How the receiver echoes congestion.
    pub fn echo(&self) -> EcnEcho {
        self.ecn_echo.unwrap_or_else(|| self.congestion_control.echo())
    }

    /// Bytes of the segment that this is the payload of: all segments are full but for the last
    /// of a write.
    pub(crate) fn payload(&self) -> u16 {
        self.segment.0 as u16
    }
}

/// An integer from `low` to `high`.
pub(crate) fn number(field: &str, value: u32, low: u32, high: u32) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write {low} to {high}")))
}

/// A time from 1 ns to 10 s.
pub(crate) fn duration(field: &str, value: Dur) -> Result<(), Invalid> {
    if (Dur::from_ns(1)..=Dur::from_secs(10)).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write \"1ns\" to \"10s\"")))
}

/// A rate above 0.
pub(crate) fn rate(field: &str, value: Rate) -> Result<(), Invalid> {
    if value.0 > 0 {
        return Ok(());
    }
    Err(Invalid::new(field, "the rate is zero; write a rate above zero, such as \"40Mbit/s\""))
}

/// A factor above 0 and below 1; refuses NaN too.
pub(crate) fn factor(field: &str, value: f64) -> Result<(), Invalid> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a number above 0 and below 1")))
}
