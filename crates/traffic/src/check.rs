//! Parameter checks that the models share, with their messages.

use crate::spacing::Spacing;
use tailback_document::Invalid;
use tailback_units::{Dur, Rate, Size};

/// Upper bound of a size parameter.
const MAX_SIZE: Size = Size(1_000_000_000);
/// Longest mean gap: about 13 days, so that a gap of several means still fits a run's clock.
const MAX_DURATION_PS: u128 = 1 << 60;

/// Checks that a size is `least` bytes to 1 GB.
pub fn size(field: &str, value: Size, least: u64) -> Result<(), Invalid> {
    if (Size(least)..=MAX_SIZE).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write {} to {MAX_SIZE}", Size(least))))
}

/// Checks that a number is above `low` and at most `high`; refuses NaN.
pub fn above(field: &str, value: f64, low: f64, high: f64) -> Result<(), Invalid> {
    if value > low && value <= high {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a number above {low} and at most {high}")))
}

/// Checks that a number is from `low` to `high`, both included; refuses NaN.
pub fn within(field: &str, value: f64, low: f64, high: f64) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a number from {low} to {high}")))
}

/// Checks that a duration is above zero and at most 13 days.
pub fn duration(field: &str, value: Dur) -> Result<(), Invalid> {
    if value > Dur::ZERO && u128::from(value.0) <= MAX_DURATION_PS {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a duration above 0s and at most 13 days")))
}

/// Returns the spacing of items of `bytes` at `rate`; refuses one below 1 ps or above 13 days.
pub fn spacing(field: &str, bytes: u64, rate: Rate) -> Result<Spacing, Invalid> {
    let item = Size(bytes);
    let Some(spacing) = Spacing::at_rate(bytes, rate) else {
        return Err(Invalid::new(field, "the rate is zero; write a rate above zero, such as \"1Mbit/s\""));
    };
    if spacing.whole() == 0 {
        return Err(Invalid::new(field, format!("at {rate} items of {item} are less than 1ps apart; lower it")));
    }
    if u128::from(spacing.whole()) > MAX_DURATION_PS {
        return Err(Invalid::new(field, format!("at {rate} items of {item} are more than 13 days apart; raise it")));
    }
    Ok(spacing)
}

/// Returns the spacing of items of `bytes`, given by exactly one of `rate` and `interval`; refuses both and neither.
pub fn pace(bytes: Size, rate: Option<Rate>, interval: Option<Dur>) -> Result<Spacing, Invalid> {
    match (rate, interval) {
        (Some(rate), None) => spacing("rate", bytes.0, rate),
        (None, Some(interval)) => duration("interval", interval).map(|()| Spacing::every(interval)),
        (Some(_), Some(_)) => Err(Invalid::new("interval", "`rate` and `interval` are both given; keep one of them")),
        (None, None) => Err(Invalid::new("", "the rate is missing; write `rate` or `interval`")),
    }
}

/// Panic message of a model that is started without having been checked.
pub const UNCHECKED: &str = "a model is checked before it is started";
