//! Commands of a class that set its queue limits and WRED.

use super::words::{Cursor, DSCPS, Trouble};
use crate::ir::{By, Class, CodeLimit, Limit, Profile, Unit, Wred};

/// Parses the arguments of `queue-limit`: the limit of the class, or DSCPs or precedences with their limit.
pub(super) fn queue_limit(class: &mut Class, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    match cursor.one_of(&["dscp", "precedence", "cos", "discard-class", "exp", "values"]) {
        Some(by @ ("dscp" | "precedence")) => {
            // Catalyst switches accept several DSCPs or precedences before the limit.
            let mut codes = Vec::new();
            while codes.is_empty() || !(cursor.is_done() || is_amount(cursor)) {
                let _ = cursor.one_of(&["values"]);
                codes.push(code(by, cursor)?);
            }
            let limit = limit(cursor)?;
            for (by, code) in codes {
                class.code_limits.retain(|own| own.by != by || own.code != code);
                class.code_limits.push(CodeLimit { by, code, limit });
            }
        }
        Some(other) => return Err(Trouble::unsupported(cursor.at(), format!("queue-limit by `{other}`"))),
        None => class.limit = Some(limit(cursor)?),
    }
    Ok(())
}

/// `true` if the limit follows instead of another DSCP or precedence: it begins with `percent`, has a unit, or is the
/// last word.
fn is_amount(cursor: &Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    if ahead.one_of(&["percent"]).is_some() {
        return true;
    }
    let Some(word) = ahead.take() else { return true };
    let digits = word.text.bytes().all(|b| b.is_ascii_digit());
    digits && ahead.peek().is_none_or(|next| !next.text.starts_with(|c: char| c.is_ascii_digit()))
}

/// Takes a queue limit, above 0.
fn limit(cursor: &mut Cursor<'_>) -> Result<Limit, Trouble> {
    if cursor.one_of(&["percent"]).is_some() {
        return cursor.small("percentage", 1, 100).map(Limit::Percent);
    }
    let at = cursor.at();
    let (n, unit) = cursor.amount("queue limit", Unit::Packets)?;
    if n == 0 {
        return Err(Trouble::wrong(at, "a queue limit of 0", "write 1 or more"));
    }
    Ok(match unit {
        Unit::Packets => Limit::Packets(n),
        Unit::Bytes => Limit::Bytes(n),
        Unit::Microseconds => Limit::Microseconds(n),
        Unit::Percent => Limit::Percent(u32::try_from(n.min(100)).unwrap_or(100)),
    })
}

/// Takes a DSCP or precedence; `by` is the keyword before it.
pub(super) fn code(by: &str, cursor: &mut Cursor<'_>) -> Result<(By, u8), Trouble> {
    if by == "dscp" { Ok((By::Dscp, cursor.dscp()?)) } else { Ok((By::Precedence, cursor.precedence()?)) }
}

/// Keywords of `random-detect`.
const WORDS: [&str; 12] = [
    "dscp-based",
    "precedence-based",
    "prec-based",
    "ecn",
    "dscp",
    "precedence",
    "exponential-weighting-constant",
    "discard-class",
    "discard-class-based",
    "cos",
    "exp",
    "minimum-threshold",
];

/// Parses the arguments of `random-detect`.
pub(super) fn random_detect(wred: &mut Option<Wred>, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    if cursor.is_done() {
        let _ = wred.get_or_insert_default();
        return Ok(());
    }
    if cursor.is_number() {
        return uniform(wred, cursor);
    }
    let at = cursor.at();
    let keyword = cursor.expect(&WORDS)?;
    if keyword == "minimum-threshold" {
        return named(wred, cursor);
    }
    if matches!(keyword, "discard-class" | "discard-class-based" | "cos" | "exp") {
        return Err(Trouble::unsupported(at, format!("random-detect by `{keyword}`")));
    }
    let own = wred.get_or_insert_default();
    match keyword {
        "dscp-based" => own.by = By::Dscp,
        "precedence-based" | "prec-based" => own.by = By::Precedence,
        "ecn" => own.ecn = true,
        "exponential-weighting-constant" => own.exponent = Some(cursor.small("exponent", 1, 16)? as u8),
        _ => {
            let mut codes = Vec::new();
            if cursor.peek().is_some_and(|word| word.text.eq_ignore_ascii_case("rsvp")) {
                let _ = cursor.take();
                codes.push(None);
            } else if keyword == "dscp" {
                own.by = By::Dscp;
                // IOS XR lists several DSCPs, separated by commas.
                let word = cursor.name("code point")?;
                for text in word.text.split(',').filter(|text| !text.is_empty()) {
                    let found: Result<tailback_diffserv::Dscp, _> = text.parse();
                    let found = found.map_err(|_| Trouble::wrong(word.at, format!("`{text}` is not a DSCP"), DSCPS))?;
                    codes.push(Some(found.codepoint()));
                }
            } else {
                codes.push(Some(cursor.precedence()?));
            }
            let profile = profile(cursor)?;
            for code in codes {
                own.profiles.retain(|profile| profile.code != code);
                own.profiles.push(Profile { code, ..profile });
            }
        }
    }
    Ok(())
}

/// Parses `[percent] MIN [UNIT] MAX [UNIT] [DENOMINATOR]`, or `probability percent N` after the thresholds (IOS XR).
fn profile(cursor: &mut Cursor<'_>) -> Result<Profile, Trouble> {
    let unit = if cursor.one_of(&["percent"]).is_some() { Unit::Percent } else { Unit::Packets };
    let place = cursor.at();
    let (min, of_min) = cursor.amount("minimum threshold", unit)?;
    let (max, of_max) = cursor.amount("maximum threshold", unit)?;
    if of_min != of_max {
        return Err(Trouble::unsupported(place, "thresholds in different units"));
    }
    let denominator = match cursor.one_of(&["probability"]) {
        Some(_) => {
            let _ = cursor.one_of(&["percent"]);
            Some((100 / cursor.small("percentage", 1, 100)?).max(1))
        }
        None if cursor.is_number() => Some(cursor.small("denominator", 1, 65536)?),
        None => None,
    };
    checked(place, min, max, of_min, denominator)
}

/// Returns a profile with checked thresholds, for no DSCP or precedence yet.
fn checked(place: crate::Place, min: u64, max: u64, unit: Unit, denominator: Option<u32>) -> Result<Profile, Trouble> {
    if min > max {
        let message = format!("the minimum threshold {min} is above the maximum {max}");
        return Err(Trouble::wrong(place, message, "write the lower number first"));
    }
    let small = |n: u64, what: &str| {
        u32::try_from(n)
            .ok()
            .filter(|n| *n > 0 && (unit != Unit::Packets || *n <= 4_294_967))
            .ok_or_else(|| Trouble::wrong(place, format!("`{n}` is not a valid {what}"), "write 1 to 4294967"))
    };
    let (min, max) = (small(min, "minimum threshold")?, small(max, "maximum threshold")?);
    Ok(Profile { code: None, min, max, unit, denominator })
}

/// Parses `random-detect MIN UNIT MAX UNIT` of IOS XR, a profile for all packets of the class.
fn uniform(wred: &mut Option<Wred>, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    let profile = profile(cursor)?;
    for_all(wred, profile);
    Ok(())
}

/// Parses `random-detect minimum-threshold MIN UNIT maximum-threshold MAX UNIT [drop-probability PERCENT] [weight N]
/// [ecn]` of NX-OS, a profile for all packets of the class.
fn named(wred: &mut Option<Wred>, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    let place = cursor.at();
    let (min, of_min) = cursor.amount("minimum threshold", Unit::Packets)?;
    let _ = cursor.expect(&["maximum-threshold"])?;
    let (max, of_max) = cursor.amount("maximum threshold", Unit::Packets)?;
    if of_min != of_max {
        return Err(Trouble::unsupported(place, "thresholds in different units"));
    }
    let (mut denominator, mut exponent, mut ecn) = (None, None, false);
    while !cursor.is_done() {
        match cursor.expect(&["drop-probability", "weight", "ecn", "threshold"])? {
            "drop-probability" => denominator = Some((100 / cursor.small("percentage", 1, 100)?).max(1)),
            "weight" => exponent = Some(cursor.small("weight", 0, 15)? as u8),
            "ecn" => ecn = true,
            _ => return Err(Trouble::unsupported(cursor.at(), "a burst threshold")),
        }
    }
    for_all(wred, checked(place, min, max, of_min, denominator)?);
    let own = wred.get_or_insert_default();
    own.exponent = exponent;
    own.ecn = ecn;
    Ok(())
}

/// Sets a profile for all precedences.
fn for_all(wred: &mut Option<Wred>, profile: Profile) {
    let own = wred.get_or_insert_default();
    own.by = By::Precedence;
    own.profiles = (0..8).map(|code| Profile { code: Some(code), ..profile }).collect();
}

/// Parses the arguments of `no random-detect`: removes all of it, or one profile.
pub(super) fn no_random_detect(wred: &mut Option<Wred>, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    match cursor.one_of(&["dscp", "precedence", "exponential-weighting-constant", "ecn"]) {
        Some(by @ ("dscp" | "precedence")) => {
            let (_, code) = code(by, cursor)?;
            if let Some(own) = wred {
                own.profiles.retain(|profile| profile.code != Some(code));
            }
        }
        Some("exponential-weighting-constant") => {
            if let Some(own) = wred {
                own.exponent = None;
            }
        }
        Some(_) => {
            if let Some(own) = wred {
                own.ecn = false;
            }
        }
        None => *wred = None,
    }
    Ok(())
}
