//! Checks that the answers of all interfaces share.

use tailback_units::{Dur, Time};

/// Returns the time of a wake-up. `expired`: the call is for the wake-up before.
///
/// # Errors
/// If the time is before now or, after the timer itself, not after now.
pub(crate) fn wake_up(wake_ps: u64, now_ps: u64, expired: bool) -> Result<Time, String> {
    if wake_ps < now_ps {
        return Err(format!("the wake-up at {} is before now, {}", Dur(wake_ps), Dur(now_ps)));
    }
    // A timer that expires again at the same instant would never end.
    if wake_ps == now_ps && expired {
        return Err(format!("the timer at {} must be followed by a later wake-up or none", Dur(now_ps)));
    }
    Ok(Time(wake_ps))
}

/// Refuses a number outside `low` to `high`, and NaN.
///
/// # Errors
/// If the number is refused; the message has its name, value and range.
pub(crate) fn finite(name: &str, value: f64, low: f64, high: f64, unit: &str) -> Result<(), String> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(format!("{name} is {value} {unit}; it must be {low} to {high}"))
}
