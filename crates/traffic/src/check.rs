//! What the models check of their parameters, in the words they share.

use crate::spacing::Spacing;
use tailback_document::Invalid;
use tailback_units::{Dur, Rate, Size};

/// Largest size that a parameter may have.
const LARGEST: Size = Size(1_000_000_000);
/// Longest mean gap: about 13 days, so that a gap of several means still fits a run's clock.
const LONGEST_PS: u128 = 1 << 60;

/// A size from `least` bytes to 1 GB.
pub fn size(field: &str, value: Size, least: u64) -> Result<(), Invalid> {
    if (Size(least)..=LARGEST).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write {} to {LARGEST}", Size(least))))
}

/// A number above `low` and at most `high`; refuses NaN too.
pub fn above(field: &str, value: f64, low: f64, high: f64) -> Result<(), Invalid> {
    if value > low && value <= high {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a number above {low} and at most {high}")))
}

/// A number from `low` to `high`, both included; refuses NaN too.
pub fn within(field: &str, value: f64, low: f64, high: f64) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a number from {low} to {high}")))
}

/// A duration above zero and at most 13 days.
pub fn duration(field: &str, value: Dur) -> Result<(), Invalid> {
    if value > Dur::ZERO && u128::from(value.0) <= LONGEST_PS {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a duration above 0s and at most 13 days")))
}

/// The spacing of items of `bytes` at `rate`, each between 1 ps and 13 days.
pub fn spacing(field: &str, bytes: u64, rate: Rate) -> Result<Spacing, Invalid> {
    let item = Size(bytes);
    let Some(spacing) = Spacing::at_rate(bytes, rate) else {
        return Err(Invalid::new(field, "the rate is zero; write a rate above zero, such as \"1Mbit/s\""));
    };
    if spacing.whole() == 0 {
        return Err(Invalid::new(
            field,
            format!("{rate} in units of {item} is more than one in a picosecond; lower it"),
        ));
    }
    if u128::from(spacing.whole()) > LONGEST_PS {
        return Err(Invalid::new(field, format!("{rate} in units of {item} is less than one in 13 days; raise it")));
    }
    Ok(spacing)
}

/// The spacing given by exactly one of `rate` and `interval`.
pub fn pace(bytes: Size, rate: Option<Rate>, interval: Option<Dur>) -> Result<Spacing, Invalid> {
    match (rate, interval) {
        (Some(rate), None) => spacing("rate", bytes.0, rate),
        (None, Some(interval)) => duration("interval", interval).map(|()| Spacing::every(interval)),
        (Some(_), Some(_)) => {
            Err(Invalid::new("interval", "`rate` and `interval` say the same thing twice; keep one of them"))
        }
        (None, None) => Err(Invalid::new("", "how often is missing; write `rate` or `interval`")),
    }
}

/// What starting a model that has not been checked panics with.
pub const UNCHECKED: &str = "a model is checked before it is started";
