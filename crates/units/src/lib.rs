//! Time, rate and size as integers, with their notations in documents.
//!
//! All quantities in Tailback that are compared, added up or hashed are integers: picoseconds, bits per second, bytes.
//! Ranges: constructors panic on a value that does not fit, sums and products of times and durations saturate, and
//! differences stop at zero, in every build. Counters of packets and bytes elsewhere are `u64` with plain additions,
//! which panic where overflow checks are on (`make test`, `make validate`) and wrap in a release build; at 10 Tbit/s,
//! the highest rate, a count of bytes reaches 2^64 after 170 days.
//!
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
