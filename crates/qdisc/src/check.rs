//! Checks of parameters, with common error messages. The errors name `field`.

use tailback_document::Invalid;
use tailback_units::{Dur, Fraction, Size};

/// Upper bound of durations: a day.
const MAX_DURATION: Dur = Dur::from_secs(86_400);

/// Refuses numbers outside `low` to `high`, both included, and NaN.
pub fn within(field: &str, value: f64, low: f64, high: f64) -> Result<(), Invalid> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a number from {low} to {high}")))
}

/// Refuses numbers not above `low`, numbers above `high`, and NaN.
pub fn above(field: &str, value: f64, low: f64, high: f64) -> Result<(), Invalid> {
    if value > low && value <= high {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a number above {low} and at most {high}")))
}

/// Refuses a fraction that is not above 0, or is above 1.
pub fn positive_fraction(field: &str, value: Fraction) -> Result<(), Invalid> {
    above(field, value.0, 0.0, 1.0)
}

/// Refuses a duration of zero or above a day.
pub fn duration(field: &str, value: Dur) -> Result<(), Invalid> {
    if value > Dur::ZERO && value <= MAX_DURATION {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a duration above 0s and at most 24h")))
}

/// Refuses a duration above a day.
pub fn at_most_a_day(field: &str, value: Dur) -> Result<(), Invalid> {
    if value <= MAX_DURATION {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a duration of at most 24h")))
}

/// Refuses a packet size outside 1 B to 65535 B.
pub fn packet(field: &str, value: Size) -> Result<(), Invalid> {
    if (Size(1)..=Size(65_535)).contains(&value) {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is not a packet size; write 1B to 65535B")))
}
