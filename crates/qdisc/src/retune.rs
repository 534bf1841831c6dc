//! The change of parameters while a discipline runs.
//!
//! A second discipline, in its initial state, is built from the new parameters at the new site. The running discipline
//! takes from it the parameters and all values that follow from parameters alone, and keeps its own state. So each
//! value is derived from the parameters in one place, `build`. The rules are in `docs/architecture.md`, section
//! "Changing parameters while a run goes on".

use tailback_document::Invalid;
use tailback_units::{Size, Time};

/// State that can continue under other parameters.
pub(crate) trait Retune: Sized {
    /// Takes the parameters of `fresh`, which is in its initial state.
    ///
    /// Equal parameters change nothing. No packet is dropped or marked. A running timer keeps its next expiry, unless a
    /// timer set at `now` with the new interval would expire earlier: then it expires at that time.
    fn adopt(&mut self, now: Time, fresh: Self);
}

/// Parameters, some of which are fixed while a discipline runs: those that determine the number and the identity of
/// queues, classes, bins and tables, and those that are the initial value of a variable.
pub(crate) trait Fixed {
    /// Refuses `to` if a fixed parameter differs from `self`. `self` and `to` must have passed `check`.
    fn check_retune(&self, _to: &Self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Returns `remaining` bytes of a total of `from`, scaled in proportion to a total of `to`.
pub(crate) fn scaled(remaining: f64, from: Size, to: Size) -> f64 {
    // Equal sizes leave the value unchanged, without a rounding error.
    if from == to { remaining } else { remaining * to.0 as f64 / from.0 as f64 }
}

/// Returns the error for a change of the kind of discipline.
pub(crate) fn other_kind(from: &str, to: &str) -> Invalid {
    Invalid::new("kind", format!("`{from}` cannot become `{to}` during a run: each kind has its own state"))
}

/// Refuses a value that differs from the present one; `why` is a phrase that gives the reason.
pub(crate) fn fixed<T: PartialEq>(field: &str, from: T, to: T, why: &str) -> Result<(), Invalid> {
    if from == to {
        return Ok(());
    }
    Err(Invalid::new(field, format!("it cannot change during a run: {why}")))
}
