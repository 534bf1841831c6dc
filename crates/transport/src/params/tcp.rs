//! Parameters of a TCP connection.

use super::floor::EcnFloor;
use super::form::Form;
use super::limited::LimitedTransmit;
use super::preset::Preset;
use super::receive_buffer::ReceiveBuffer;
use super::recovery::Recovery;
use super::reservation::Reservation;
use super::timers::{DelayedAck, Timers};
use super::window::InitialWindow;
use crate::cc::Setup;
use crate::check::number;
use crate::line::Line;
use crate::registry::Cc;
use crate::wire::EcnEcho;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_diffserv::Ecn;
use tailback_document::{Checked, Invalid};
use tailback_units::Size;

/// A TCP connection, both ends. Defaults: SACK with RACK-TLP and proportional rate
/// reduction, an initial window of 10 segments, delayed acknowledgements, no ECN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Tcp {
    /// Set of defaults for the parameters that are not written: "linux-6.1" those of Linux 6.1. Default: the RFCs'.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// Payload of a full segment, without headers, 1 B to 65535 B. Default 1460 B.
    pub segment: Size,
    /// Headers of a segment and of an acknowledgement, TCP and IP, without framing, 0 B to 1000 B.
    /// Default 40 B.
    pub header: Size,
    /// Congestion control. Default "reno".
    pub congestion_control: Cc,
    /// Loss detection and recovery. Default "sack".
    pub recovery: Recovery,
    /// Number of duplicate acknowledgements that indicate a loss, 1 to 255. Default 3 (RFC 5681).
    pub dup_thresh: u32,
    /// Limited transmit: `true` if a new segment is sent on each of the first two duplicate acknowledgements (RFC 3042;
    /// with SACK RFC 6675 section 5 step 3), `false` if not, "always" if also during recovery from a timeout, as in
    /// ns-2. Default true.
    pub limited_transmit: LimitedTransmit,
    /// Window before the first acknowledgement: segments, 1 to 1000000, or "rfc3390" or "rfc6928".
    /// Default 10.
    pub initial_window: InitialWindow,
    /// Initial slow-start threshold, segments, 2 to 2^30. Default: infinite, so that slow start lasts until the first
    /// loss or mark.
    pub initial_ssthresh: Option<u32>,
    /// Window offered by the receiver, segments, 1 to 2^30. Default: unlimited.
    pub receive_window: Option<u32>,
    /// Receive buffer that grows, in place of a constant `receive-window`; needs `delayed-ack.form = "linux"`, `handshake` and
    /// recovery "sack". Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ReceiveBuffer>,
    /// `true` if the sender restarts from the initial window after an idle time longer than the
    /// retransmission timeout (RFC 5681 section 4.1). Default true.
    pub slow_start_restart: bool,
    /// Number of outstanding segments by which slow start decides whether the window limits the sender, which it does
    /// if the window is below twice this number: "flight", those at the acknowledgement, or "round", the maximum in the
    /// last round trip (Linux). Default "flight".
    pub window_validation: WindowValidation,
    /// Delayed acknowledgements. Default: every second segment, or after 40 ms.
    pub delayed_ack: DelayedAck,
    /// Retransmission timer.
    pub timers: Timers,
    /// `true` if round-trip times are measured by echoed timestamps, one sample per acknowledgement
    /// (RFC 7323); `false` if one segment per round trip is timed, and no retransmitted one, as in BSD
    /// and ns-2. Default true.
    pub timestamps: bool,
    /// Explicit congestion notification: "off" or "classic" (RFC 3168). Default "off".
    pub ecn: EcnMode,
    /// Code point of ECN-capable segments: "ect0", or "ect1" for the low-latency queue of L4S (RFC 9331).
    /// Default "ect0".
    pub ect: Ect,
    /// Form of the receiver's echo of congestion experienced: "classic", repeated until the sender responds (RFC 3168),
    /// or "accurate", the mark of each segment (RFC 8257 section 3.2). Default: that of the congestion control,
    /// "accurate" for "dctcp" and "classic" for most others.
    pub ecn_echo: Option<EcnEcho>,
    /// Response to an echo at a window of one segment. "rfc3168": the retransmission timer is restarted, and the next
    /// segment is sent at its expiry; "backoff": as "rfc3168", and each consecutive echo doubles the timeout; "ns-2":
    /// as "backoff", and the sender also waits for the timer at windows between one and two segments (ns-2.35); "none":
    /// the next segment is sent at once. Default "rfc3168".
    pub ecn_floor: EcnFloor,
    /// `true` if a retransmitted SYN does not ask for ECN, so that a connection whose first SYN was lost does not use it
    /// (RFC 3168 section 6.1.1.1; `tcp_ecn_fallback` of Linux). Default false.
    pub ecn_fallback: bool,
    /// `true` if SYN, SYN-ACK and pure acknowledgements of a connection that uses ECN are ECN-capable, which RFC 3168
    /// forbids; Linux does so with DCTCP, except for the SYN-ACK (`tcp_ecn_send_syn`, `tcp_ecn_send`). Default false.
    #[serde(skip_serializing_if = "is_false")]
    pub ecn_control: bool,
    /// `true` if retransmissions are ECN-capable and may carry CWR, which RFC 3168 forbids and ns-2
    /// does. Default false.
    pub ecn_retransmissions: bool,
    /// `true` if the connection opens with SYN and SYN-ACK, which also negotiate ECN; `false` if it
    /// starts with data, as the one-way agents of ns-2 do. Default true.
    pub handshake: bool,
    /// `true` if segments are paced at 2 (in slow start) or 1.2 times the window per smoothed
    /// round-trip time, as in Linux. Congestion controls with their own pacing rate pace in any case.
    /// Default false.
    pub pacing: bool,
    /// Detection of spurious timeouts: "off", "f-rto" (RFC 5682) or "eifel" (RFC 3522, by
    /// timestamps, for fast retransmits too); after a spurious timeout the window is restored.
    /// Default "f-rto".
    pub spurious_timeout: SpuriousTimeout,
    /// `true` if a reduction, also that of a fast retransmit, is undone once all retransmissions since have been
    /// reported as duplicates (RFC 3708, as in Linux). Requires recovery "sack". Default false.
    pub dsack_undo: bool,
    /// Reserved rate. Default: no reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Reservation>,
    /// The sending host's link and its idle path, for congestion controls that read them; not part of the document, set
    /// when the network is built. `None`: [`Line::default`].
    #[serde(skip)]
    #[schemars(skip)]
    pub line: Option<Line>,
    /// `true` if the host takes segments from its connections in turn as its link transmits them; not part of the
    /// document, set by "rdma".
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

fn is_false(value: &bool) -> bool {
    !value
}

/// Code point of ECN-capable segments.
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
    /// Returns the code point on the wire.
    pub(crate) fn codepoint(self) -> Ecn {
        match self {
            Ect::Ect0 => Ecn::Ect0,
            Ect::Ect1 => Ecn::Ect1,
        }
    }
}

/// Detection of spurious timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpuriousTimeout {
    /// No detection.
    Off,
    /// Detection by the segments that the first two acknowledgements after the timeout acknowledge (RFC 5682).
    #[default]
    FRto,
    /// Detection by the echoed timestamp of the first acknowledgement after a retransmission (RFC 3522).
    Eifel,
}

/// Number of outstanding segments by which slow start decides whether the window limits the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowValidation {
    /// The number at the arrival of the acknowledgement.
    #[default]
    Flight,
    /// The maximum of the last round trip (Linux's `tcp_is_cwnd_limited`).
    Round,
}

impl Default for Tcp {
    fn default() -> Tcp {
        Tcp {
            preset: None,
            segment: Size(1460),
            header: Size(40),
            congestion_control: Cc::default(),
            recovery: Recovery::default(),
            dup_thresh: 3,
            limited_transmit: LimitedTransmit::Sends(true),
            initial_window: InitialWindow::Segments(10),
            initial_ssthresh: None,
            receive_window: None,
            receive_buffer: None,
            slow_start_restart: true,
            window_validation: WindowValidation::Flight,
            delayed_ack: DelayedAck::default(),
            timers: Timers::default(),
            timestamps: true,
            ecn: EcnMode::Off,
            ect: Ect::Ect0,
            ecn_echo: None,
            ecn_floor: EcnFloor::Rfc3168,
            ecn_fallback: false,
            ecn_control: false,
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
    /// Returns the code point of SYN, SYN-ACK and pure acknowledgements.
    pub fn control_ecn(&self) -> Ecn {
        if self.ecn_control && self.ecn != EcnMode::Off { self.ect.codepoint() } else { Ecn::NotEct }
    }
    /// Checks ranges and combinations of parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
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
        self.check_receive_buffer()?;
        if self.spurious_timeout == SpuriousTimeout::Eifel && !self.timestamps {
            return Err(Invalid::new("spurious-timeout", "\"eifel\" needs `timestamps = true`; write it or \"f-rto\""));
        }
        if self.dsack_undo && !matches!(self.recovery, Recovery::Sack(_)) {
            let message =
                format!("recovery \"{}\" has no reports of duplicates; write \"sack\" or false", self.recovery.kind());
            return Err(Invalid::new("dsack-undo", message));
        }
        self.check_reservation()
    }

    /// Checks the receive buffer, and that the other parameters allow one.
    fn check_receive_buffer(&self) -> Result<(), Invalid> {
        let Some(buffer) = &self.receive_buffer else { return Ok(()) };
        buffer.check().map_err(|e| e.within("receive-buffer"))?;
        let as_linux = self.delayed_ack.form == Form::Linux && self.handshake;
        let needs = if self.receive_window.is_some() {
            "cannot be combined with `receive-window`; remove one of them"
        } else if !as_linux || !matches!(self.recovery, Recovery::Sack(_)) {
            "needs `delayed-ack.form = \"linux\"`, `handshake = true` and recovery \"sack\"; write them, or remove it"
        } else {
            return Ok(());
        };
        Err(Invalid::new("receive-buffer", needs))
    }

    /// Checks the reservation, and that the other parameters allow one.
    fn check_reservation(&self) -> Result<(), Invalid> {
        let Some(reservation) = &self.reservation else { return Ok(()) };
        if !matches!(self.congestion_control, Cc::Reno(_)) {
            let message = format!("\"{}\" does not support reservations; use \"reno\"", self.congestion_control.kind());
            return Err(Invalid::new("congestion-control", message));
        }
        if self.pacing {
            return Err(Invalid::new("pacing", "a reservation paces by itself; remove one of the two"));
        }
        reservation.check(self.segment.0 + self.header.0).map_err(|e| e.within("reservation"))
    }

    /// Returns `true` if the sender marks its segments, so that the network sees them as marked (green) or unmarked
    /// (yellow).
    pub fn marks(&self) -> bool {
        self.reservation.is_some() || matches!(self.congestion_control, Cc::PacketMarking(_))
    }

    /// Returns the window before the first acknowledgement, segments, for controls that do not set their own.
    pub fn initial_window(&self) -> u32 {
        self.initial_window.segments(self.segment)
    }

    /// Returns the form of the receiver's congestion echo: `ecn_echo`, or by default that of the congestion control.
    pub fn echo(&self) -> EcnEcho {
        self.ecn_echo.unwrap_or_else(|| self.congestion_control.needs().echo)
    }

    /// Returns the parameters of the connection that congestion controls read.
    pub fn setup(&self) -> Setup {
        Setup {
            payload: self.payload(),
            header: self.header.0 as u16,
            initial_window: self.initial_window(),
            initial_ssthresh: self.initial_ssthresh,
            max_rto: self.timers.max_rto,
            tick: self.timers.tick,
            pacing: self.pacing,
            selective: matches!(self.recovery, Recovery::Sack(_)),
            line: self.line.unwrap_or_default(),
        }
    }

    /// Returns the payload of a full segment, bytes. All segments are full except the last one of a write.
    pub(crate) fn payload(&self) -> u16 {
        self.segment.0 as u16
    }
}
