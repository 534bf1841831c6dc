//! Time, rate and size as integers, with their notations in documents.
//!
//! All quantities in Tailback that are compared, added up or hashed are integers: picoseconds, bits per second, bytes.
//! The notations (`"20ms"`, `"10Mbit/s"`, `"50kB"`) are parsed only here.

mod amount;
mod quantity;
mod rate;
mod serial;
mod time;

pub use amount::Amount;
pub use quantity::{Bytes, QuantityError, parse_amount, parse_bytes, parse_duration, parse_fraction, parse_rate};
pub use rate::{Rate, TxClock};
pub use serial::{Fraction, Size};
pub use time::{Dur, Time};
