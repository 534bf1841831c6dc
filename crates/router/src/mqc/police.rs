//! `police`: on one line, or with actions on lines of their own.

use super::reader::{Known, Mode, Reader};
use super::words::{Cursor, Trouble};
use crate::ir::{Act, Counting, Mark, Police, Share, Unit};

/// Commands in the mode of a policer.
const ACTIONS: [&str; 3] = ["conform-action", "exceed-action", "violate-action"];

impl Reader {
    /// Parses the arguments of `police`.
    pub(super) fn police(&mut self, policy: usize, class: usize, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
        let policer = policer(cursor)?;
        if let Some(class) = self.class_at(policy, class) {
            class.police = Some(policer);
        }
        self.mode = Mode::Police(policy, class);
        Ok(())
    }

    /// Handles a line in the mode of a policer.
    pub(super) fn police_line(
        &mut self,
        policy: usize,
        class: usize,
        cursor: &mut Cursor<'_>,
        negative: bool,
    ) -> Result<Known, Trouble> {
        let Ok(keyword) = Reader::keyword(cursor, &ACTIONS) else { return Ok(Known::No) };
        let acts = if negative { Vec::new() } else { vec![act(cursor)?] };
        cursor.finish()?;
        let Some(police) = self.class_at(policy, class).and_then(|class| class.police.as_mut()) else {
            return Ok(Known::No);
        };
        let (list, default) = match keyword {
            "conform-action" => (&mut police.conform, vec![Act::Transmit]),
            "exceed-action" => (&mut police.exceed, vec![Act::Drop]),
            _ => (&mut police.violate, Vec::new()),
        };
        // Actions on separate lines accumulate; the first one replaces the default.
        if negative {
            *list = default;
        } else if *list == default {
            *list = acts;
        } else {
            list.extend(acts);
        }
        Ok(Known::Yes)
    }
}

/// Keywords of a policer, except `violate-action`.
const WORDS: [&str; 8] = ["bc", "burst", "be", "peak-burst", "pir", "peak-rate", "conform-action", "exceed-action"];

/// Parses the rates, bursts and actions of `police`.
fn policer(cursor: &mut Cursor<'_>) -> Result<Police, Trouble> {
    let mut police = Police {
        rate: Share::Rate(0),
        burst: None,
        peak: None,
        excess: None,
        conform: vec![Act::Transmit],
        exceed: vec![Act::Drop],
        violate: Vec::new(),
        counts: Counting::default(),
    };
    let _ = cursor.one_of(&["cir", "rate"]);
    police.rate = rate(cursor)?;
    let mut bursts = 0;
    while !cursor.is_done() {
        if cursor.is_number() {
            // `police RATE BURST [EXCESS]`
            let bytes = burst(cursor, police.rate)?;
            match bursts {
                0 => police.burst = Some(bytes),
                1 => police.excess = Some(bytes),
                _ => {
                    return Err(Trouble::wrong(
                        cursor.at(),
                        "more than two bursts",
                        "write at most a committed and an excess burst",
                    ));
                }
            }
            bursts += 1;
            continue;
        }
        let keyword =
            if cursor.one_of(&["violate-action"]).is_some() { "violate-action" } else { cursor.expect(&WORDS)? };
        match keyword {
            "bc" | "burst" => police.burst = Some(burst(cursor, police.rate)?),
            "be" | "peak-burst" => police.excess = Some(burst(cursor, police.rate)?),
            "pir" | "peak-rate" => police.peak = Some(rate(cursor)?),
            "conform-action" => police.conform = vec![act(cursor)?],
            "exceed-action" => police.exceed = vec![act(cursor)?],
            _ => police.violate = vec![act(cursor)?],
        }
    }
    Ok(police)
}

/// Takes a rate in bit/s, or `percent N`.
fn rate(cursor: &mut Cursor<'_>) -> Result<Share, Trouble> {
    if cursor.one_of(&["percent"]).is_some() {
        return cursor.small("percentage", 1, 100).map(Share::Percent);
    }
    cursor.bits_per_second().map(Share::Rate)
}

/// Takes a burst, in bytes or as a time at the policer's rate; returns bytes, 1 to 2^32 - 1.
fn burst(cursor: &mut Cursor<'_>, rate: Share) -> Result<u64, Trouble> {
    let at = cursor.at();
    let (n, unit) = cursor.amount("burst in bytes", Unit::Bytes)?;
    let bytes = match (unit, rate) {
        (Unit::Bytes, _) => n,
        (Unit::Microseconds, Share::Rate(rate)) => in_time(rate, n, true),
        (Unit::Microseconds, _) => {
            return Err(Trouble::unsupported(at, "a burst as a time, with a rate in percent"));
        }
        (Unit::Packets | Unit::Percent, _) => return Err(Trouble::unsupported(at, "a burst in packets or percent")),
    };
    if bytes == 0 || bytes > u64::from(u32::MAX) {
        return Err(Trouble::wrong(at, "this burst is out of range", "write 1 to 4294967295 bytes"));
    }
    Ok(bytes)
}

/// Returns the bytes that a rate in bit/s transmits in `n` microseconds (`micro`) or milliseconds.
pub(super) fn in_time(rate: u64, n: u64, micro: bool) -> u64 {
    let part = if micro { 8_000_000 } else { 8_000 };
    u64::try_from(u128::from(rate) * u128::from(n) / part).unwrap_or(u64::MAX)
}

/// Takes an action with its value.
fn act(cursor: &mut Cursor<'_>) -> Result<Act, Trouble> {
    const ACTS: [&str; 10] = [
        "set-traffic-class-transmit",
        "transmit",
        "drop",
        "set-dscp-transmit",
        "set-prec-transmit",
        "set-cos-transmit",
        "set-mpls-exp-imposition-transmit",
        "set-mpls-exp-topmost-transmit",
        "set-qos-transmit",
        "set-mpls-exp-transmit",
    ];
    Ok(match cursor.expect(&ACTS)? {
        "transmit" => Act::Transmit,
        "drop" => Act::Drop,
        "set-dscp-transmit" => Act::Set(Mark::Dscp(cursor.dscp()?)),
        "set-prec-transmit" => Act::Set(Mark::Precedence(cursor.precedence()?)),
        "set-cos-transmit" => Act::Set(Mark::Cos(cursor.small("class of service", 0, 7)? as u8)),
        "set-traffic-class-transmit" => Act::Set(Mark::TrafficClass(cursor.small("traffic class", 0, 7)? as u8)),
        "set-qos-transmit" => Act::Set(Mark::QosGroup(cursor.small("QoS group", 0, 1023)?)),
        "set-mpls-exp-topmost-transmit" => {
            Act::Set(Mark::ExperimentalTopmost(cursor.small("MPLS traffic class", 0, 7)? as u8))
        }
        _ => Act::Set(Mark::ExperimentalImposition(cursor.small("MPLS traffic class", 0, 7)? as u8)),
    })
}
