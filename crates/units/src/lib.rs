//! Time, rate and size as integers, with the forms in which people write them.
//!
//! Everything in Tailback that is compared, added up or hashed is an integer: picoseconds, bits
//! per second, bytes. The written forms (`"20ms"`, `"10Mbit/s"`, `"50kB"`) are parsed here and
//! nowhere else.

mod quantity;
mod rate;
mod serial;
mod time;

pub use quantity::{Bytes, QuantityError, parse_amount, parse_bytes, parse_duration, parse_fraction, parse_rate};
pub use rate::{Rate, TxClock};
pub use serial::{Amount, Fraction, Size};
pub use time::{Dur, Time};
