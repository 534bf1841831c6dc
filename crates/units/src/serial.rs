//! Serialisation of quantities in documents: text with a unit, never a bare number.
//!
//! A bare number is refused with advice, because `rate = 10` means bit/s, Mbit/s or bytes in different programs. A
//! serialised quantity parses back to the same value.

use crate::{Amount, Dur, QuantityError, Rate, parse_amount, parse_bytes, parse_duration, parse_fraction, parse_rate};
use core::fmt;
use core::marker::PhantomData;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;

/// A size in bytes; in documents such as `"50kB"` (1 kB = 1000 bytes) or `"64KiB"` (1 KiB = 1024 bytes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(pub u64);

/// A fraction from 0 to 1; in documents such as `0.8` or `"80%"`.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default)]
pub struct Fraction(pub f64);

impl fmt::Display for Amount {
    /// Formats as a [`Size`] or as packets with up to three decimals; the text parses back to the same value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Bytes(n) => Size(*n).fmt(f),
            Amount::Millipackets(1_000) => f.write_str("1packet"),
            Amount::Millipackets(n) if n.is_multiple_of(1_000) => write!(f, "{}packets", n / 1_000),
            Amount::Millipackets(n) => {
                let digits = format!("{:03}", n % 1_000);
                write!(f, "{}.{}packets", n / 1_000, digits.trim_end_matches('0'))
            }
        }
    }
}
impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Size {
    /// Formats exactly, in the largest decimal unit with a whole number or, from 10 kB up, with at most three decimals;
    /// otherwise in bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, n) in [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)] {
            let (whole, rest) = (self.0 / n, self.0 % n / (n / 1000));
            // Packet sizes such as 1500 B or 1518 B are shown in bytes.
            if rest == 0 && whole > 0 && self.0.is_multiple_of(n) {
                return write!(f, "{whole}{unit}");
            }
            if self.0 >= 10_000.max(n) && self.0.is_multiple_of(n / 1000) {
                let digits = format!("{rest:03}");
                return write!(f, "{whole}.{}{unit}", digits.trim_end_matches('0'));
            }
        }
        write!(f, "{}B", self.0)
    }
}
impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl fmt::Debug for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A quantity that documents contain as a number and a unit.
trait Written: Sized + fmt::Display {
    /// Name in messages and in a schema's `format`.
    const FORMAT: &'static str;
    /// Expected notation in error messages.
    const EXPECTING: &'static str;
    /// Regular expression of the notation, for editors that check documents against the schema.
    const PATTERN: &'static str;
    /// Examples in the schema.
    const EXAMPLES: &'static [&'static str];
    /// Parses the notation; the error is a message with the accepted form.
    fn parse(text: &str) -> Result<Self, QuantityError>;
}

impl Written for Dur {
    const FORMAT: &'static str = "duration";
    const EXPECTING: &'static str = "a duration such as \"20ms\"";
    const PATTERN: &'static str = "^\\s*\\+?[0-9][0-9_]*(\\.[0-9_]+)?\\s*(ps|ns|us|µs|ms|s|min|h)\\s*$";
    const EXAMPLES: &'static [&'static str] = &["20ms", "1.5us", "2min"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        parse_duration(text)
    }
}
impl Written for Rate {
    const FORMAT: &'static str = "rate";
    const EXPECTING: &'static str = "a rate such as \"10Mbit/s\"";
    const PATTERN: &'static str = "^\\s*\\+?[0-9][0-9_]*(\\.[0-9_]+)?\\s*([kMGT]?bit/s|[kMG]?B/s)\\s*$";
    const EXAMPLES: &'static [&'static str] = &["10Mbit/s", "1.544Mbit/s", "2MB/s"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        parse_rate(text)
    }
}
impl Written for Size {
    const FORMAT: &'static str = "size";
    const EXPECTING: &'static str = "a size such as \"50kB\"";
    const PATTERN: &'static str = "^\\s*\\+?[0-9][0-9_]*(\\.[0-9_]+)?\\s*([kMG]?B|[KMG]iB)\\s*$";
    const EXAMPLES: &'static [&'static str] = &["50kB", "1500B", "64KiB"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        parse_bytes(text).map(Size)
    }
}

impl Written for Amount {
    const FORMAT: &'static str = "size or packets";
    const EXPECTING: &'static str = "an amount such as \"50kB\" or \"100packets\"";
    const PATTERN: &'static str = "^\\s*\\+?[0-9][0-9_]*(\\.[0-9_]+)?\\s*([kMG]?B|[KMG]iB|packets?)\\s*$";
    const EXAMPLES: &'static [&'static str] = &["50kB", "100packets"];
    fn parse(text: &str) -> Result<Self, QuantityError> {
        parse_amount(text)
    }
}

/// Deserialises any [`Written`] quantity. A bare number is passed as text to the quantity's parser, which reports the
/// missing unit.
struct WrittenVisitor<T>(PhantomData<T>);

impl<T: Written> Visitor<'_> for WrittenVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, n: i64) -> Result<T, E> {
        self.visit_str(&n.to_string())
    }
    fn visit_u64<E: de::Error>(self, n: u64) -> Result<T, E> {
        self.visit_str(&n.to_string())
    }
    fn visit_f64<E: de::Error>(self, n: f64) -> Result<T, E> {
        // Large numbers in scientific notation, since plain `Display` writes 1e300 with three hundred zeros.
        self.visit_str(&if n.abs() < 1e15 { n.to_string() } else { format!("{n:e}") })
    }
}

macro_rules! written {
    ($($Type:ident),+) => {$(
        impl<'de> Deserialize<'de> for $Type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                d.deserialize_any(WrittenVisitor(PhantomData))
            }
        }
        impl Serialize for $Type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl JsonSchema for $Type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                stringify!($Type).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string",
                    "format": <$Type as Written>::FORMAT,
                    "pattern": <$Type as Written>::PATTERN,
                    "examples": <$Type as Written>::EXAMPLES,
                })
            }
        }
    )+};
}
written!(Dur, Rate, Size, Amount);

struct FractionVisitor;

impl Visitor<'_> for FractionVisitor {
    type Value = Fraction;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fraction: a number from 0 to 1, or a percentage such as \"80%\"")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Fraction, E> {
        parse_fraction(text).map(Fraction).map_err(E::custom)
    }
    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Fraction, E> {
        self.visit_f64(n as f64)
    }
    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Fraction, E> {
        self.visit_f64(n as f64)
    }
    fn visit_f64<E: de::Error>(self, x: f64) -> Result<Fraction, E> {
        if (0.0..=1.0).contains(&x) {
            // Adding 0.0 turns -0.0 into 0.0, so that equal documents have equal bytes.
            Ok(Fraction(x + 0.0))
        } else if x > 1.0 && x <= 100.0 {
            Err(E::custom(format!(
                "{x} is above 1; a fraction is from 0 to 1: write \"{x}%\" if you mean a percentage"
            )))
        } else {
            Err(E::custom(format!(
                "{x} is not a fraction; write a number from 0 to 1, or a percentage such as \"80%\""
            )))
        }
    }
}

impl<'de> Deserialize<'de> for Fraction {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(FractionVisitor)
    }
}
impl Serialize for Fraction {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}
impl JsonSchema for Fraction {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Fraction".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": "^\\s*[0-9.]+\\s*%$" },
            ],
            "format": "fraction",
            "examples": [0.8, "80%"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::IntoDeserializer;
    use serde::de::value::Error;

    fn read<'de, T: Deserialize<'de>>(v: impl IntoDeserializer<'de, Error>) -> Result<T, String> {
        T::deserialize(v.into_deserializer()).map_err(|e| e.to_string())
    }

    #[test]
    fn a_number_without_unit_is_refused_with_the_accepted_form() {
        assert_eq!(
            read::<Rate>(10u64).unwrap_err(),
            "`10` has no unit; write a rate with a unit, such as \"10Mbit/s\""
        );
        assert!(read::<Rate>(-3i64).unwrap_err().contains("negative"));
        assert!(read::<Dur>(1.5f64).unwrap_err().contains("`1.5` has no unit"));
        assert!(read::<Size>(1e300f64).unwrap_err().len() < 100);
        assert!(read::<Dur>(f64::NAN).unwrap_err().contains("20ms"));
        assert!(read::<Dur>(true).unwrap_err().contains("20ms"));
    }

    #[test]
    fn fractions_are_numbers_or_percentages_from_0_to_1() {
        assert_eq!(read::<Fraction>("80%").unwrap(), Fraction(0.8));
        assert_eq!(read::<Fraction>(1u64).unwrap(), Fraction(1.0));
        assert!(read::<Fraction>(-0.0f64).unwrap().0.is_sign_positive());
        assert!(read::<Fraction>(80u64).unwrap_err().contains("write \"80%\""));
        for wrong in [f64::NAN, f64::INFINITY, -0.1, 101.0] {
            assert!(read::<Fraction>(wrong).unwrap_err().contains("0 to 1"), "{wrong}");
        }
    }

    #[test]
    fn a_displayed_size_parses_back() {
        for n in [0, 1, 999, 1_000, 1_500, 50_000, 1_048_576, 1_234_567, u64::MAX] {
            assert_eq!(read::<Size>(Size(n).to_string().as_str()).unwrap(), Size(n), "{n}");
        }
        let shown = [50_000, 1_500, 12_500, 2_500_000].map(|n| Size(n).to_string());
        assert_eq!(shown, ["50kB", "1500B", "12.5kB", "2.5MB"]);
    }
}
