//! `policy-map`: classes and what is done with each.

use super::words::{Cursor, Trouble};
use super::{Known, Mode, Reader};
use crate::ir::{
    By, Class, CodeLimit, Fair, Limit, Mark, Match, Policy, Priority, Profile, Queue, Rule, Scheduler, Shape, Share,
    Wred,
};

/// The class of what no other is about.
pub(super) const DEFAULT_CLASS: &str = "class-default";

impl Reader {
    /// `policy-map NAME`
    pub(super) fn policy_map(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let name = cursor.name("name of the policy map")?;
        if name.text.eq_ignore_ascii_case("type") {
            self.mode = Mode::Foreign("policy-map type");
            return Err(Trouble::unsupported(name.at, "policy maps with a type are not about queues"));
        }
        cursor.finish()?;
        let found = self.config.policies.iter().position(|policy| policy.name == name.text);
        if negative {
            self.mode = Mode::Global;
            return match found {
                Some(index) => {
                    let _ = self.config.policies.remove(index);
                    Ok(())
                }
                None => {
                    Err(Trouble::wrong(name.at, format!("there is no policy map `{}`", name.text), "remove the line"))
                }
            };
        }
        let index = found.unwrap_or_else(|| {
            self.config.policies.push(Policy {
                name: name.text.to_owned(),
                scheduler: Scheduler::ClassBased,
                at: name.at,
                ..Policy::default()
            });
            self.config.policies.len() - 1
        });
        self.mode = Mode::Policy(index);
        Ok(())
    }

    pub(super) fn policy_line(
        &mut self,
        policy: usize,
        cursor: &mut Cursor<'_>,
        negative: bool,
    ) -> Result<Known, Trouble> {
        let at = cursor.at();
        let keyword = match Reader::keyword(cursor, &["class", "description"]) {
            Ok(keyword) => keyword,
            Err(known) => return Ok(known),
        };
        if keyword == "description" {
            self.report.ignored(at, "a description");
            return Ok(Known::Yes);
        }
        let name = cursor.name("name of the class")?;
        if name.text.eq_ignore_ascii_case("type") {
            return Err(Trouble::unsupported(name.at, "classes with a type are not about queues"));
        }
        if cursor.one_of(&["insert-before"]).is_some() {
            return Err(Trouble::unsupported(name.at, "insert-before"));
        }
        cursor.finish()?;
        let Some(own) = self.config.policies.get_mut(policy) else { return Ok(Known::No) };
        let is_default = name.text.eq_ignore_ascii_case(DEFAULT_CLASS);
        let class_name = if is_default { DEFAULT_CLASS } else { name.text };
        let found = own.classes.iter().position(|class| class.name == class_name);
        if negative {
            let Some(index) = found else {
                return Err(Trouble::wrong(
                    name.at,
                    format!("the policy has no class `{class_name}`"),
                    "remove the line",
                ));
            };
            let _ = own.classes.remove(index);
            own.rules.retain(|rule| rule.class != class_name);
            if is_default {
                own.default = None;
            }
            self.mode = Mode::Policy(policy);
            return Ok(Known::Yes);
        }
        let index = found.unwrap_or_else(|| {
            own.classes.push(Class { name: class_name.to_owned(), at: name.at, ..Class::default() });
            if is_default {
                own.default = Some(DEFAULT_CLASS.to_owned());
            } else {
                let when = Match::ClassMap(class_name.to_owned());
                own.rules.push(Rule { when, class: class_name.to_owned(), police: None, at: name.at });
            }
            own.classes.len() - 1
        });
        self.mode = Mode::Class(policy, index);
        Ok(Known::Yes)
    }

    /// The class with that index.
    pub(super) fn class_at(&mut self, policy: usize, class: usize) -> Option<&mut Class> {
        self.config.policies.get_mut(policy)?.classes.get_mut(class)
    }

    pub(super) fn class_line(
        &mut self,
        policy: usize,
        class: usize,
        cursor: &mut Cursor<'_>,
        negative: bool,
    ) -> Result<Known, Trouble> {
        let at = cursor.at();
        const COMMANDS: [&str; 12] = [
            "bandwidth",
            "priority",
            "fair-queue",
            "queue-limit",
            "random-detect",
            "shape",
            "police",
            "set",
            "service-policy",
            "description",
            "drop",
            "compress",
        ];
        let keyword = match Reader::keyword(cursor, &COMMANDS) {
            Ok(keyword) => keyword,
            Err(known) => return Ok(known),
        };
        if !negative && keyword == "police" {
            self.police(policy, class, cursor)?;
            return Ok(Known::Yes);
        }
        match keyword {
            "description" => {
                self.report.ignored(at, "a description");
                return Ok(Known::Yes);
            }
            "drop" | "compress" => return Err(Trouble::unsupported(at, format!("`{keyword}` in a class"))),
            _ => {}
        }
        let Some(own) = self.class_at(policy, class) else { return Ok(Known::No) };
        if negative {
            take_away(own, keyword, cursor)?;
        } else {
            action(own, keyword, cursor)?;
            cursor.finish()?;
        }
        self.mode = Mode::Class(policy, class);
        Ok(Known::Yes)
    }
}

fn action(class: &mut Class, keyword: &str, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    match keyword {
        "bandwidth" => class.bandwidth = Some(bandwidth(cursor)?),
        "priority" => class.priority = Some(priority(cursor)?),
        "fair-queue" => {
            let queues = if cursor.is_done() { None } else { Some(cursor.small("number of queues", 1, 65536)?) };
            class.queue = Queue::Fair(Fair { queues, ..Fair::default() });
        }
        "queue-limit" => queue_limit(class, cursor)?,
        "random-detect" => random_detect(&mut class.wred, cursor)?,
        "shape" => class.shape = Some(shape(cursor)?),
        "set" => {
            let mark = mark(cursor)?;
            class.set.retain(|own| core::mem::discriminant(own) != core::mem::discriminant(&mark));
            class.set.push(mark);
        }
        "service-policy" => {
            let _ = cursor.clone().one_of(&["output"]).filter(|_| {
                let mut ahead = cursor.clone();
                let _ = ahead.take();
                let more = !ahead.is_done();
                if more {
                    let _ = cursor.take();
                }
                more
            });
            class.queue = Queue::Policy(cursor.name("name of the child policy")?.text.to_owned());
        }
        _ => return Err(Trouble::unsupported(cursor.at(), format!("`{keyword}`"))),
    }
    Ok(())
}

/// `no …` takes the action away; the values that follow need not be those that were given.
fn take_away(class: &mut Class, keyword: &str, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    match keyword {
        "bandwidth" => class.bandwidth = None,
        "priority" => class.priority = None,
        "fair-queue" => {
            if matches!(class.queue, Queue::Fair(_)) {
                class.queue = Queue::Fifo;
            }
        }
        "queue-limit" => match cursor.one_of(&["dscp", "precedence"]) {
            None => class.limit = None,
            Some(by) => {
                let (by, code) = code(by, cursor)?;
                class.code_limits.retain(|own| own.by != by || own.code != code);
            }
        },
        "random-detect" => no_random_detect(&mut class.wred, cursor)?,
        "shape" => class.shape = None,
        "police" => class.police = None,
        "set" => {
            let mark = mark(cursor)?;
            class.set.retain(|own| core::mem::discriminant(own) != core::mem::discriminant(&mark));
        }
        "service-policy" => {
            if matches!(class.queue, Queue::Policy(_)) {
                class.queue = Queue::Fifo;
            }
        }
        _ => return Err(Trouble::unsupported(cursor.at(), format!("`no {keyword}`"))),
    }
    Ok(())
}

/// What follows `no random-detect`: all of it goes, or one profile.
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

fn code(by: &str, cursor: &mut Cursor<'_>) -> Result<(By, u8), Trouble> {
    if by == "dscp" { Ok((By::Dscp, cursor.dscp()?)) } else { Ok((By::Precedence, cursor.precedence()?)) }
}

/// kbit/s in bit/s.
pub(super) fn kilobits(cursor: &mut Cursor<'_>) -> Result<u64, Trouble> {
    cursor.number("rate in kbit/s", 1, super::HIGHEST_RATE / 1000).map(|n| n.saturating_mul(1000))
}

fn bandwidth(cursor: &mut Cursor<'_>) -> Result<Share, Trouble> {
    if cursor.is_number() {
        return kilobits(cursor).map(Share::Rate);
    }
    match cursor.expect(&["percent", "remaining"])? {
        "percent" => cursor.small("percentage", 1, 100).map(Share::Percent),
        _ => match cursor.expect(&["percent", "ratio"])? {
            "percent" => cursor.small("percentage", 1, 100).map(Share::RemainingPercent),
            _ => cursor.small("ratio", 1, 65536).map(Share::RemainingRatio),
        },
    }
}

fn priority(cursor: &mut Cursor<'_>) -> Result<Priority, Trouble> {
    let mut made = Priority { level: 1, rate: None, burst: None };
    if cursor.one_of(&["level"]).is_some() {
        made.level = cursor.small("level", 1, 2)? as u8;
    }
    if cursor.is_done() {
        return Ok(made);
    }
    made.rate = Some(if cursor.one_of(&["percent"]).is_some() {
        Share::Percent(cursor.small("percentage", 1, 100)?)
    } else {
        Share::Rate(kilobits(cursor)?)
    });
    if !cursor.is_done() {
        made.burst = Some(cursor.number("burst in bytes", 18, 2_000_000_000)?);
    }
    Ok(made)
}

fn queue_limit(class: &mut Class, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    if let Some(by) = cursor.one_of(&["dscp", "precedence"]) {
        let (by, code) = code(by, cursor)?;
        let limit = limit(cursor)?;
        class.code_limits.retain(|own| own.by != by || own.code != code);
        class.code_limits.push(CodeLimit { by, code, limit });
    } else {
        class.limit = Some(limit(cursor)?);
    }
    Ok(())
}

fn limit(cursor: &mut Cursor<'_>) -> Result<Limit, Trouble> {
    let n = cursor.number("queue limit", 1, 8_192_000_000)?;
    Ok(match cursor.one_of(&["packets", "bytes", "ms", "us"]) {
        Some("bytes") => Limit::Bytes(n),
        Some("ms") => Limit::Microseconds(n.saturating_mul(1000)),
        Some("us") => Limit::Microseconds(n),
        _ => Limit::Packets(n),
    })
}

/// What follows `random-detect`.
pub(super) fn random_detect(wred: &mut Option<Wred>, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
    const WORDS: [&str; 9] = [
        "dscp-based",
        "precedence-based",
        "prec-based",
        "ecn",
        "dscp",
        "precedence",
        "exponential-weighting-constant",
        "discard-class",
        "discard-class-based",
    ];
    if cursor.is_done() {
        let _ = wred.get_or_insert_default();
        return Ok(());
    }
    let at = cursor.at();
    let keyword = cursor.expect(&WORDS)?;
    if keyword.starts_with("discard") {
        return Err(Trouble::unsupported(at, "random-detect by discard class"));
    }
    let own = wred.get_or_insert_default();
    match keyword {
        "dscp-based" => own.by = By::Dscp,
        "precedence-based" | "prec-based" => own.by = By::Precedence,
        "ecn" => own.ecn = true,
        "exponential-weighting-constant" => own.exponent = Some(cursor.small("exponent", 1, 16)? as u8),
        _ => {
            let reserved = cursor.peek().is_some_and(|word| word.text.eq_ignore_ascii_case("rsvp"));
            let code = if reserved {
                let _ = cursor.take();
                None
            } else if keyword == "dscp" {
                own.by = By::Dscp;
                Some(cursor.dscp()?)
            } else {
                Some(cursor.precedence()?)
            };
            let place = cursor.at();
            let min = cursor.small("minimum threshold", 1, 4_294_967)?;
            let max = cursor.small("maximum threshold", 1, 4_294_967)?;
            if min > max {
                let message = format!("the minimum threshold {min} is above the maximum {max}");
                return Err(Trouble::wrong(place, message, "write the lower number first"));
            }
            let _ = cursor.one_of(&["packets"]);
            let denominator = if cursor.is_number() { Some(cursor.small("denominator", 1, 65536)?) } else { None };
            own.profiles.retain(|profile| profile.code != code);
            own.profiles.push(Profile { code, min, max, denominator });
        }
    }
    Ok(())
}

fn shape(cursor: &mut Cursor<'_>) -> Result<Shape, Trouble> {
    let peak = match cursor.one_of(&["average", "peak"]) {
        Some(keyword) => keyword == "peak",
        None if cursor.is_number() => false,
        None => cursor.expect(&["average", "peak"])? == "peak",
    };
    let rate = if cursor.one_of(&["percent"]).is_some() {
        Share::Percent(cursor.small("percentage", 1, 100)?)
    } else {
        Share::Rate(cursor.bits_per_second()?)
    };
    let mut bursts = [None, None];
    for burst in &mut bursts {
        if cursor.is_number() {
            let at = cursor.at();
            let bits = cursor.number("burst in bits", 0, u64::from(u32::MAX) * 8)?;
            if cursor.one_of(&["ms"]).is_some() {
                return Err(Trouble::unsupported(at, "a burst in milliseconds"));
            }
            // Routers write bursts of shapers in bits, of policers in bytes.
            *burst = Some(bits.div_ceil(8)).filter(|bytes| *bytes > 0);
        }
    }
    let [burst, excess] = bursts;
    Ok(Shape { rate, burst, excess, peak })
}

fn mark(cursor: &mut Cursor<'_>) -> Result<Mark, Trouble> {
    let _ = cursor.one_of(&["ip"]);
    Ok(match cursor.expect(&["dscp", "precedence", "cos", "mpls", "qos-group"])? {
        "dscp" => Mark::Dscp(cursor.dscp()?),
        "precedence" => Mark::Precedence(cursor.precedence()?),
        "cos" => Mark::Cos(cursor.small("class of service", 0, 7)? as u8),
        "qos-group" => Mark::QosGroup(cursor.small("QoS group", 0, 1023)?),
        _ => {
            let _ = cursor.expect(&["experimental"])?;
            let topmost = cursor.one_of(&["imposition", "topmost"]) == Some("topmost");
            let value = cursor.small("MPLS traffic class", 0, 7)? as u8;
            if topmost { Mark::ExperimentalTopmost(value) } else { Mark::ExperimentalImposition(value) }
        }
    })
}
