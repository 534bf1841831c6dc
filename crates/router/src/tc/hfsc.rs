//! `tc class … hfsc`: service curves.

use super::args::{Args, Trouble};
use crate::Place;
use crate::ir::{Curve, HfscClass};

/// Parses the arguments of `hfsc` in a class (tc-hfsc(7), `q_hfsc.c`).
pub(super) fn class(at: Place, args: &mut Args<'_>) -> Result<HfscClass, Trouble> {
    let mut class = HfscClass::default();
    loop {
        if args.take_if("rt") {
            class.rt = Some(curve(args)?);
        } else if args.take_if("ls") {
            class.ls = Some(curve(args)?);
        } else if args.take_if("sc") {
            let both = curve(args)?;
            (class.rt, class.ls) = (Some(both), Some(both));
        } else if args.take_if("ul") {
            class.ul = Some(curve(args)?);
        } else {
            break;
        }
    }
    if class.rt.is_none() && class.ls.is_none() {
        return Err(Trouble::wrong(at, "an hfsc class needs a curve", "write `hfsc sc rate 1mbit`, or rt and ls"));
    }
    if class.ul.is_some() && class.ls.is_none() {
        return Err(Trouble::wrong(at, "an upper-limit curve without a link-sharing curve", "add an `ls` curve"));
    }
    Ok(class)
}

/// Parses `[m1 BPS] [d SEC] m2 BPS`, or `[umax BYTE] [dmax SEC] rate BPS`.
fn curve(args: &mut Args<'_>) -> Result<Curve, Trouble> {
    let at = args.at();
    let (mut m1, mut d, mut m2, mut umax, mut dmax, mut rate) = (None, None, None, None, None, None);
    loop {
        if args.take_if("m1") {
            m1 = Some(slope(args)?);
        } else if args.take_if("d") {
            d = Some(args.time()?);
        } else if args.take_if("m2") {
            m2 = Some(slope(args)?);
            break;
        } else if args.take_if("umax") {
            umax = Some(args.size()?);
        } else if args.take_if("dmax") {
            dmax = Some(args.time()?);
        } else if args.take_if("rate") {
            rate = Some(args.rate()?);
            break;
        } else {
            break;
        }
    }
    let wrong = |message: &str| {
        Trouble::wrong(at, message, "write `m1 2mbit d 10ms m2 1mbit`, or `umax 1500 dmax 10ms rate 1mbit`")
    };
    let made = match (m2, rate) {
        (Some(m2), None) if umax.is_none() && dmax.is_none() => Curve { m1: m1.unwrap_or(0), d: d.unwrap_or(0), m2 },
        (None, Some(rate)) if m1.is_none() && d.is_none() => {
            by_delay(umax.unwrap_or(0), dmax.unwrap_or(0), rate).ok_or_else(|| wrong("`umax` without `dmax`"))?
        }
        _ => return Err(wrong("this is not a service curve")),
    };
    if made.m1 == 0 && made.m2 == 0 {
        return Err(wrong("a service curve whose rates are 0"));
    }
    Ok(made)
}

/// Parses a slope in bit/s, which may be 0: a convex curve may begin with `m1 0bit`.
fn slope(args: &mut Args<'_>) -> Result<u64, Trouble> {
    let is_zero =
        |text: &str| text.trim_start_matches('0').trim_start_matches(|c: char| c.is_ascii_alphabetic()).is_empty();
    if args.peek().is_some_and(|word| word.text.starts_with('0') && is_zero(&word.text)) {
        let _ = args.take();
        return Ok(0);
    }
    args.rate()
}

/// Returns the curve that serves `umax` bytes within `dmax` microseconds, and `rate` bit/s in the long run
/// (`hfsc_get_sc2`): concave if `umax` over `dmax` exceeds the rate, else convex. `None`: `umax` is above 0 and `dmax`
/// is 0, or the slope overflows.
fn by_delay(umax: u64, dmax: u64, rate: u64) -> Option<Curve> {
    if dmax == 0 {
        return (umax == 0).then_some(Curve { m1: 0, d: 0, m2: rate });
    }
    // tc computes the slope in B/s, rounded up.
    let steep = u128::from(umax) * 1_000_000;
    let steep = u64::try_from(steep.div_ceil(u128::from(dmax))).ok()?;
    if steep > rate / 8 {
        return Some(Curve { m1: steep.saturating_mul(8), d: dmax, m2: rate });
    }
    let served = u128::from(umax) * 8_000_000 / u128::from(rate.max(1));
    Some(Curve { m1: 0, d: dmax.saturating_sub(u64::try_from(served).unwrap_or(u64::MAX)), m2: rate })
}

/// Formats the curves as options of `tc`, each with a leading space.
pub(super) fn words(class: &HfscClass) -> String {
    let curve = |word: &str, own: Option<Curve>| {
        own.map_or_else(String::new, |Curve { m1, d, m2 }| {
            let first = if m1 > 0 || d > 0 { format!(" m1 {m1}bit d {d}us") } else { String::new() };
            format!(" {word}{first} m2 {m2}bit")
        })
    };
    format!("{}{}{}", curve("rt", class.rt), curve("ls", class.ls), curve("ul", class.ul))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_for_a_number_of_bytes_makes_a_concave_or_a_convex_curve() {
        // 1500 B in 10 ms are 150000 B/s, 1.2 Mbit/s: more than 400 kbit/s.
        assert_eq!(by_delay(1500, 10_000, 400_000), Some(Curve { m1: 1_200_000, d: 10_000, m2: 400_000 }));
        // 1500 B at 2 Mbit/s take 6 ms of the 10 ms, so there is no service for the first 4 ms.
        assert_eq!(by_delay(1500, 10_000, 2_000_000), Some(Curve { m1: 0, d: 4_000, m2: 2_000_000 }));
        assert_eq!(by_delay(0, 0, 1_000), Some(Curve { m1: 0, d: 0, m2: 1_000 }));
        assert_eq!(by_delay(1, 0, 1_000), None);
    }
}
