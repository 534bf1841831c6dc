//! What the meters check of their parameters, in the words they share.

use tailback_document::Invalid;
use tailback_units::{Dur, Size};

/// Largest burst: beyond it, a bucket's level would need more than 128 bits to be exact.
const LARGEST: Size = Size(1_000_000_000_000);
/// Longest duration: a day.
const LONGEST: Dur = Dur::from_secs(86_400);

/// A burst of at most 1 TB, which may be nothing.
pub fn burst(field: &str, value: Size) -> Result<(), Invalid> {
    if value <= LARGEST {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write at most {LARGEST}")))
}

/// A burst above 0.
pub fn some_burst(field: &str, value: Size) -> Result<(), Invalid> {
    if value == Size(0) {
        return Err(Invalid::new(field, "nothing would ever conform; write a size of at least one packet"));
    }
    burst(field, value)
}

/// A duration above zero and at most a day.
pub fn duration(field: &str, value: Dur) -> Result<(), Invalid> {
    if value > Dur::ZERO && value <= LONGEST {
        return Ok(());
    }
    Err(Invalid::new(field, format!("{value} is out of range; write a duration above 0s and at most 24h")))
}
