//! User-defined congestion controls of a sender.

use super::Sender;
use crate::registry::{Cc, Control};
use tailback_user::{Factories, Faults};

impl Sender {
    /// Returns `true` if the congestion control is a user-defined one, which [`Sender::install`] makes.
    pub fn has_user_code(&self) -> bool {
        matches!(self.control, Control::User(_))
    }

    /// Makes the user-defined congestion control, if there is one; `place` is the name of the flow. A failure is recorded in
    /// `faults`.
    pub fn install(&mut self, factories: &dyn Factories, place: &str, faults: &Faults) {
        if let (Control::User(control), Cc::User(code)) = (&mut self.control, &self.tcp.congestion_control) {
            control.install(code, factories, place, faults);
        }
    }

    /// Takes the user-defined congestion control of `old`, if it has one, for a new connection.
    pub(super) fn take_over(&mut self, old: &mut Sender) {
        if let (Control::User(control), Control::User(old)) = (&mut self.control, &mut old.control) {
            control.take_over(old);
        }
    }
}
