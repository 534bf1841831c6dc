//! Parameter checks that the meters share, with their messages.

use tailback_document::Invalid;
use tailback_units::{Dur, Size};

/// Upper bound of a burst; a larger size indicates a wrong unit.
const MAX_SIZE: Size = Size(1_000_000_000_000);
/// Upper bound of a duration: a day.
const MAX_DURATION: Dur = Dur::from_secs(86_400);

/// Checks a burst of 0 B to 1 TB.
pub fn burst(field: &str, value: Size) -> Result<(), Invalid> {
    if value <= MAX_SIZE {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write at most {MAX_SIZE}")))
}

/// Checks a burst above 0 B, up to 1 TB.
pub fn some_burst(field: &str, value: Size) -> Result<(), Invalid> {
    if value == Size(0) {
        return Err(Invalid::new(field, "no packet would conform; write a size of at least one packet"));
    }
    burst(field, value)
}

/// Checks a duration above zero and at most a day.
pub fn duration(field: &str, value: Dur) -> Result<(), Invalid> {
    if value > Dur::ZERO && value <= MAX_DURATION {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a duration above 0s and at most 24h")))
}
