//! No congestion control: a window that stays as it is.

use super::{Acked, Build, Congestion, CongestionControl, Window};
use crate::params::Tcp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::Time;

/// No congestion control, as before 1988: the window stays at `initial-window` whatever is lost or
/// marked, also after a timeout. Flow control and retransmission are all that is left of TCP; with
/// `timers.max-rto` equal to `timers.min-rto` there is no back-off of the timer either.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {}

impl Params {
    /// There is nothing to check.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

impl Build for Params {
    type Control = Fixed;
    fn build(&self, tcp: &Tcp, _: Rng) -> Fixed {
        Fixed { segments: tcp.initial_window() }
    }
}

/// A window that stays as it is, at work.
#[derive(Debug)]
pub struct Fixed {
    segments: u32,
}

impl CongestionControl for Fixed {
    fn on_ack(&mut self, window: &mut Window, _: &Acked) {
        // A lost SYN has set it to one segment.
        window.cwnd = f64::from(self.segments);
    }
    fn on_congestion(&mut self, _: &mut Window, _: Congestion, _: Time, _: u32) {}
    fn controls_recovery(&self) -> bool {
        true
    }
}
