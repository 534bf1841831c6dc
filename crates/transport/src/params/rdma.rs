//! Parameters of RDMA over a lossless network (RoCEv2).

use super::floor::EcnFloor;
use super::limited::LimitedTransmit;
use super::recovery::{GoBackN, Recovery};
use super::tcp::{EcnMode, SpuriousTimeout, Tcp};
use super::timers::{DelayedAck, Timers};
use super::window::InitialWindow;
use crate::cc::dcqcn;
use crate::check::{number, time};
use crate::registry::Cc;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_units::{Dur, Size};

/// A reliable connection between network adapters, as in RoCEv2: no handshake, go-back-N, ECN-capable
/// segments. The adapter takes segments from its connections in turn, and only as fast as its link transmits them,
/// so that they wait in the connections, not in its queue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Rdma {
    /// Payload of a full segment, without headers, 1 B to 65535 B. Default 1000 B, as in the papers'
    /// simulations.
    pub segment: Size,
    /// Headers of a segment and of an acknowledgement, IP, UDP and RDMA, without framing, 0 B to 1000 B.
    /// Default 48 B.
    pub header: Size,
    /// Congestion control. With "fixed" the sender is limited only by `window` and by the network's
    /// back-pressure. Default "dcqcn".
    pub congestion_control: Cc,
    /// Number of segments per acknowledgement, 1 to 1000. Default 1.
    pub acknowledge_every: u32,
    /// Time without an acknowledgement after which all outstanding segments are sent again, 1 us to 10 s. Default 4 ms.
    pub timeout: Dur,
    /// Upper bound of the segments outstanding, 1 to 2^30. Default: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
}

/// Upper bound of the initial window, segments: one second of 8 Gbit/s in segments of 1000 B.
const MAX_WINDOW: u32 = 1_000_000;

impl Default for Rdma {
    fn default() -> Rdma {
        Rdma {
            segment: Size(1000),
            header: Size(48),
            congestion_control: Cc::Dcqcn(dcqcn::Params::default()),
            acknowledge_every: 1,
            timeout: Dur::from_ms(4),
            window: None,
        }
    }
}

impl Rdma {
    /// Checks ranges and combinations of parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        number("acknowledge-every", self.acknowledge_every, 1, 1000)?;
        time("timeout", self.timeout, Dur::from_us(1), Dur::from_secs(10))?;
        if let Some(segments) = self.window {
            number("window", segments, 1, 1 << 30)?;
        }
        self.connection().check()
    }

    /// Returns the window before the first acknowledgement, segments. With "fixed" it is the constant window.
    fn initial_window(&self) -> u32 {
        match self.congestion_control {
            Cc::Fixed(_) => self.window.unwrap_or(MAX_WINDOW).min(MAX_WINDOW),
            _ => 10,
        }
    }

    /// Returns the parameters of the TCP sender and receiver that model the connection.
    pub fn connection(&self) -> Tcp {
        Tcp {
            segment: self.segment,
            header: self.header,
            congestion_control: self.congestion_control.clone(),
            recovery: Recovery::GoBackN(GoBackN {}),
            dup_thresh: 1,
            limited_transmit: LimitedTransmit::Sends(false),
            initial_window: InitialWindow::Segments(self.initial_window()),
            receive_window: self.window,
            slow_start_restart: false,
            delayed_ack: DelayedAck { every: self.acknowledge_every, ..DelayedAck::default() },
            timers: Timers {
                granularity: Dur::from_us(1),
                min_rto: self.timeout,
                initial_rto: self.timeout,
                max_rto: Dur(self.timeout.0.saturating_mul(64)),
                ..Timers::default()
            },
            ecn: EcnMode::Classic,
            // An adapter sets ECT in all packets, and a queue that marks must not drop retransmissions. RFC 3168
            // section 6.1.5 forbids ECT there for TCP, where a retransmission may be forged by an attacker.
            ecn_retransmissions: true,
            ecn_control: true,
            // RFC 3168's wait for the timer at a window of one segment is part of TCP; an adapter responds to marks
            // only by its congestion control.
            ecn_floor: EcnFloor::None,
            handshake: false,
            spurious_timeout: SpuriousTimeout::Off,
            takes_turns: true,
            ..Tcp::default()
        }
    }
}
