//! Checks of ranges. Each error names the field and the accepted range.

use tailback_document::Invalid;
use tailback_units::{Dur, Rate};

/// Checks that an integer is in `low` to `high`, both included.
pub(crate) fn number(field: &str, value: u32, low: u32, high: u32) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write {low} to {high}")))
}

/// Checks that a time is in `low` to `high`, both included.
pub(crate) fn time(field: &str, value: Dur, low: Dur, high: Dur) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write {low} to {high}")))
}

/// Checks that a time is in 1 ns to 10 s.
pub(crate) fn duration(field: &str, value: Dur) -> Result<(), Invalid> {
    if (Dur::from_ns(1)..=Dur::from_secs(10)).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write \"1ns\" to \"10s\"")))
}

/// Checks that a rate is above 0.
pub(crate) fn rate(field: &str, value: Rate) -> Result<(), Invalid> {
    if value.0 > 0 {
        return Ok(());
    }
    Err(Invalid::new(field, "the rate is zero; write a rate above zero, such as \"40Mbit/s\""))
}

/// Checks that a factor is above 0 and below 1, and not NaN.
pub(crate) fn factor(field: &str, value: f64) -> Result<(), Invalid> {
    if value > 0.0 && value < 1.0 {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a number above 0 and below 1")))
}
