//! A constant window, without congestion control.

use super::{Acked, Build, CongestionControl, CongestionEvent, Profile, RecoveryWindow, Setup, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::Rng;

/// No congestion control, as before 1988: the window stays at `initial-window` at losses, marks and timeouts. Flow
/// control and retransmission remain. If `timers.max-rto` equals `timers.min-rto`, the retransmission timer does not
/// back off either.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Params {}

impl Params {
    /// Accepts: there are no parameters.
    ///
    /// # Errors
    /// Never: the type excludes invalid values.
    pub fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

impl Build for Params {
    type Control = Fixed;
    fn build(&self, setup: &Setup, _: Rng) -> Fixed {
        Fixed { segments: setup.initial_window }
    }
}

/// State of a sender with a constant window.
#[derive(Debug)]
pub struct Fixed {
    /// The window, segments.
    segments: u32,
}

impl CongestionControl for Fixed {
    fn profile(&self) -> Profile {
        Profile { recovery: RecoveryWindow::Control, ..Profile::default() }
    }
    fn on_ack(&mut self, window: &mut Window, _: &Acked) {
        // Not redundant: the loss of a SYN sets the window to one segment.
        window.cwnd = f64::from(self.segments);
    }
    fn on_congestion(&mut self, _: &mut Window, _: &CongestionEvent) {}
}
