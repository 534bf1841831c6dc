//! Conversion of a scenario's values into those of a configuration. Values that cannot be converted are `None`.

use crate::ir::{By, Limit, Profile, Red, Shape, Share, Timed, Unit, Wred};
use crate::lower::red_weight;
use serde_json::Value;
use tailback_diffserv::Dscp;
use tailback_units::{parse_bytes, parse_duration, parse_rate};

/// `true` if a setting is stated and differs from the defaults, which are null, an empty list and the discipline
/// `drop-tail`.
pub(super) fn is_given(value: Option<&Value>) -> bool {
    value.is_some_and(|value| match value {
        Value::Null => false,
        Value::Array(all) => !all.is_empty(),
        Value::Object(table) => table.get("kind").and_then(Value::as_str) != Some("drop-tail"),
        _ => true,
    })
}

/// Returns a key's string.
pub(super) fn text<'a>(table: &'a Value, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

/// Returns a key's size in bytes.
pub(super) fn size(table: &Value, key: &str) -> Option<u64> {
    text(table, key).and_then(|text| parse_bytes(text).ok())
}

/// Parses a limit in packets or bytes.
pub(super) fn limit(value: &Value) -> Option<Limit> {
    let text = value.as_str()?;
    let packets = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"));
    match packets {
        Some(number) => number.trim().parse().ok().map(Limit::Packets),
        None => parse_bytes(text).ok().map(Limit::Bytes),
    }
}

/// Parses a bandwidth: a rate, a percentage, or a fraction.
pub(super) fn share(value: &Value) -> Option<Share> {
    match value {
        Value::String(text) => match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| Share::Percent(percent.round() as u32)),
            None => parse_rate(text).ok().map(|rate| Share::Rate(rate.0)),
        },
        other => other.as_f64().map(|fraction| Share::Percent((fraction * 100.0).round() as u32)),
    }
}

/// Returns a shaper by its keys `rate` and `burst`.
pub(super) fn shape(table: &Value) -> Option<Shape> {
    let rate = parse_rate(text(table, "rate")?).ok()?.0;
    Some(Shape { rate: Share::Rate(rate), burst: size(table, "burst"), excess: None, peak: false })
}

/// Returns the parameters of CoDel or PIE; `interval` is the key of the interval.
pub(super) fn timed(table: &Value, interval: &str) -> Timed {
    let us = |key: &str| text(table, key).and_then(|text| parse_duration(text).ok()).map(|d| d.0 / 1_000_000);
    Timed {
        target: us("target"),
        interval: us(interval),
        ecn: table.get("ecn").and_then(Value::as_bool),
        ..Timed::default()
    }
}

/// Largest burst in packets that is tried for the weight of an average.
const MAX_BURST: u64 = 2_000;

/// Returns RED at a link of `rate` bit/s. `tc` computes the weight of the average from the burst, so the burst is the
/// smallest with the scenario's weight; the rate determines the decay of the average during idle periods, for which
/// `tc` assumes 10 Mbit/s by default (`q_red.c`).
pub(super) fn red(table: &Value, rate: Option<u64>) -> Red {
    let packet = size(table, "mean-packet");
    // Thresholds in packets are those of mean packets.
    let threshold = |key: &str| match table.get(key).and_then(limit)? {
        Limit::Bytes(bytes) => Some(bytes),
        Limit::Packets(packets) => packet.map(|packet| packet.saturating_mul(packets)),
        _ => None,
    };
    let min = threshold("min");
    let weight = table.get("weight").and_then(Value::as_f64);
    let burst = weight.zip(min).and_then(|(weight, min)| {
        (1..=MAX_BURST).find(|burst| red_weight(*burst, min, packet.unwrap_or(1000).max(1)) == Some(weight))
    });
    Red {
        min,
        max: threshold("max"),
        avpkt: packet,
        burst,
        probability: table.get("max-p").and_then(Value::as_f64).map(|p| (p * 1e6).round() as u32),
        bandwidth: rate,
        ecn: table.get("ecn").and_then(Value::as_bool).unwrap_or(false),
        adaptive: table.get("adaptive").is_some_and(|adaptive| !adaptive.is_null()),
        ..Red::default()
    }
}

/// Returns the keys of RED whose values the kernel's RED does not have (`sch_red`), or that `made` has lost.
pub(super) fn not_of_linux(table: &Value, made: &Red) -> Vec<&'static str> {
    let flag = |key: &str| table.get(key).and_then(Value::as_bool).unwrap_or(false);
    let given = |key: &str| table.get(key).is_some_and(|value| !value.is_null());
    let mut found: Vec<&'static str> =
        ["gentle", "byte-mode", "wait"].into_iter().filter(|key| flag(key) && !flag("independent")).collect();
    found.extend(["mark-limit"].into_iter().filter(|key| given(key)));
    if text(table, "victim").is_some_and(|victim| victim != "tail") {
        found.push("victim");
    }
    if given("weight") && made.burst.is_none() && !flag("independent") {
        found.push("weight");
    }
    found
}

/// Returns WRED, with thresholds in packets; profiles in other units are left out.
pub(super) fn wred(table: &Value) -> Wred {
    let by = if text(table, "by") == Some("dscp") { By::Dscp } else { By::Precedence };
    let mut profiles = Vec::new();
    for (key, profile) in table.get("profiles").and_then(Value::as_object).into_iter().flatten() {
        let code = match by {
            By::Dscp => key.parse::<Dscp>().ok().map(Dscp::codepoint),
            By::Precedence => key.parse().ok().filter(|n| *n < 8),
        };
        let number = |key: &str| {
            let value = profile.get(key)?;
            let packets = value.as_u64().or_else(|| value.as_f64().map(|n| n.round() as u64));
            let packets = packets.or_else(|| if let Limit::Packets(n) = limit(value)? { Some(n) } else { None });
            packets.and_then(|n| u32::try_from(n).ok())
        };
        if let (Some(code), Some(min), Some(max)) = (code, number("min"), number("max")) {
            profiles.push(Profile {
                code: Some(code),
                min,
                max,
                unit: Unit::Packets,
                denominator: number("denominator"),
            });
        }
    }
    profiles.sort_by_key(|profile| profile.code);
    let exponent = table.get("exponent").and_then(Value::as_u64).and_then(|n| u8::try_from(n).ok()).filter(|n| *n != 9);
    Wred { by, exponent, ecn: table.get("ecn").and_then(Value::as_bool).unwrap_or(false), profiles }
}
