//! `policy-map`: classes and their treatment.

use super::class_map::queuing;
use super::queue_lines::{code, no_random_detect, queue_limit, random_detect};
use super::reader::{Known, Mode, Named, Reader};
use super::words::{Cursor, Trouble};
use crate::ir::{Class, ClassMap, Fair, Mark, Match, Platform, Policy, Priority, Queue, Rule, Scheduler, Shape, Share};

/// Name of the default class.
pub(super) const DEFAULT_CLASS: &str = "class-default";

impl Reader {
    /// `policy-map NAME`
    pub(super) fn policy_map(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let queuing = queuing(cursor);
        if let Some(kind) = super::class_map::typed(cursor)? {
            // The block of another feature is skipped.
            let at = cursor.at();
            return Err(self.foreign_type("policy-map", &kind, at));
        }
        let name = cursor.name("name of the policy map")?;
        cursor.finish()?;
        let own = self.own_name(Named::Policy, queuing, name.text);
        let found = self.config.policies.iter().position(|policy| policy.name == own);
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
                name: own,
                scheduler: Scheduler::ClassBased,
                at: name.at,
                ..Policy::default()
            });
            self.config.policies.len() - 1
        });
        self.mode = Mode::Policy(index);
        Ok(())
    }

    /// Handles a line in the mode of a policy map.
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
            self.report.ignored(at, "descriptions have no effect on queues");
            return Ok(Known::Yes);
        }
        let queuing = queuing(cursor);
        if let Some(kind) = super::class_map::typed(cursor)? {
            return Err(Trouble::unsupported(at, format!("a class of type `{kind}`")));
        }
        let name = cursor.name("name of the class")?;
        if cursor.one_of(&["insert-before"]).is_some() {
            return Err(Trouble::unsupported(name.at, "insert-before"));
        }
        cursor.finish()?;
        self.system_class(name.text, name.at);
        let is_default = name.text.eq_ignore_ascii_case(DEFAULT_CLASS);
        let class_name = self.own_name(Named::ClassMap, queuing, name.text);
        let class_name = if is_default { DEFAULT_CLASS } else { class_name.as_str() };
        let Some(own) = self.config.policies.get_mut(policy) else { return Ok(Known::No) };
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

    /// Defines a predefined class map of NX-OS when a policy refers to it: for the queues of a port, `c-out-8q-q7` is
    /// QoS group 7, and `c-out-8q-q-default` is group 0, for packets of no other queue (Nexus 9000 Series NX-OS Quality
    /// of Service Configuration Guide, "Configuring Classification").
    fn system_class(&mut self, name: &str, at: crate::Place) {
        let lower = name.to_ascii_lowercase();
        let Some((_, queue)) = lower.strip_prefix("c-out-").and_then(|rest| rest.rsplit_once('q')) else { return };
        let group = if queue == "-default" { Some(0) } else { queue.parse::<u32>().ok().filter(|n| *n < 8) };
        let Some(group) = group else { return };
        if self.config.class_map(name).is_none() {
            let conditions = vec![Match::QosGroup(group)];
            self.config.class_maps.push(ClassMap { name: name.to_owned(), all: false, conditions, at });
        }
    }

    /// Returns a class of a policy, by their indices.
    pub(super) fn class_at(&mut self, policy: usize, class: usize) -> Option<&mut Class> {
        self.config.policies.get_mut(policy)?.classes.get_mut(class)
    }

    /// Handles a line in the mode of a policy map's class.
    pub(super) fn class_line(
        &mut self,
        policy: usize,
        class: usize,
        cursor: &mut Cursor<'_>,
        negative: bool,
    ) -> Result<Known, Trouble> {
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
        const RARE: [&str; 4] = ["queue-buffers", "netflow-sampler", "account", "trust"];
        let at = cursor.at();
        let keyword = match Reader::keyword_or(cursor, &COMMANDS, &RARE) {
            Ok(keyword) => keyword,
            Err(known) => return Ok(known),
        };
        if !negative && keyword == "police" {
            self.police(policy, class, cursor)?;
            return Ok(Known::Yes);
        }
        match keyword {
            "description" => {
                self.report.ignored(at, "descriptions have no effect on queues");
                return Ok(Known::Yes);
            }
            "drop" | "compress" | "queue-buffers" | "netflow-sampler" | "account" | "trust" => {
                return Err(Trouble::unsupported(at, format!("`{keyword}` in a class")));
            }
            _ => {}
        }
        let min_percent = u32::from(self.config.platform != Some(Platform::Nxos));
        let Some(own) = self.class_at(policy, class) else { return Ok(Known::No) };
        // A line takes effect completely or not at all, since a part of it could have another meaning.
        let mut made = own.clone();
        let mut rest = None;
        if negative {
            remove_action(&mut made, keyword, cursor)?;
        } else {
            action(&mut made, keyword, cursor, min_percent)?;
            rest = accounting(keyword, cursor);
            cursor.finish()?;
        }
        *own = made;
        if let Some(rest) = rest {
            self.report.unsupported(
                at,
                format!("`{rest}`: the shaper counts other bytes per packet; only its rate was read"),
                Some("state the bytes that are counted with --overhead"),
            );
        }
        self.mode = Mode::Class(policy, class);
        Ok(Known::Yes)
    }
}

/// Takes the rest of a `shape` line about the bytes per packet, such as `account user-defined N` (IOS XE); `None`:
/// there is none.
fn accounting(keyword: &str, cursor: &mut Cursor<'_>) -> Option<String> {
    (keyword == "shape" && cursor.peek().is_some_and(|word| word.text.eq_ignore_ascii_case("account")))
        .then(|| cursor.rest())
}

/// Parses an action of a class; `min_percent` is the minimum of `bandwidth remaining percent`.
fn action(class: &mut Class, keyword: &str, cursor: &mut Cursor<'_>, min_percent: u32) -> Result<(), Trouble> {
    match keyword {
        "bandwidth" => class.bandwidth = Some(bandwidth(cursor, min_percent)?),
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
            if let Some(kind) = super::class_map::typed(cursor)? {
                return Err(Trouble::unsupported(cursor.at(), format!("a policy of type `{kind}` within a class")));
            }
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

/// Removes an action (`no …`), whatever its values.
fn remove_action(class: &mut Class, keyword: &str, cursor: &mut Cursor<'_>) -> Result<(), Trouble> {
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

/// Takes a rate that is in kbit/s unless it has a unit; returns bit/s.
pub(super) fn kilobits(cursor: &mut Cursor<'_>) -> Result<u64, Trouble> {
    cursor.rate("rate in kbit/s", 1000)
}

/// Parses the arguments of `bandwidth`.
fn bandwidth(cursor: &mut Cursor<'_>, min_percent: u32) -> Result<Share, Trouble> {
    if cursor.is_number() {
        return kilobits(cursor).map(Share::Rate);
    }
    match cursor.expect(&["percent", "remaining"])? {
        "percent" => cursor.small("percentage", 1, 100).map(Share::Percent),
        _ => match cursor.expect(&["percent", "ratio"])? {
            // NX-OS accepts 0 for unused queues (Nexus 9000 Series NX-OS Quality of Service Configuration Guide).
            "percent" => cursor.small("percentage", min_percent, 100).map(Share::RemainingPercent),
            _ => cursor.small("ratio", 1, 65536).map(Share::RemainingRatio),
        },
    }
}

/// Parses the arguments of `priority`.
fn priority(cursor: &mut Cursor<'_>) -> Result<Priority, Trouble> {
    let mut made = Priority { level: 1, rate: None, burst: None };
    if cursor.one_of(&["level"]).is_some() {
        made.level = cursor.small("level", 1, 7)? as u8;
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

/// Parses the arguments of `shape`.
pub(super) fn shape(cursor: &mut Cursor<'_>) -> Result<Shape, Trouble> {
    let peak = match cursor.one_of(&["average", "peak", "rate"]) {
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
            // On routers, bursts of shapers without a unit are in bits, those of policers in bytes.
            let amount = cursor.number("burst in bits", 0, u64::from(u32::MAX) * 8)?;
            let bytes = match (cursor.one_of(&["ms", "milliseconds", "us", "bytes", "kbytes", "mbytes"]), rate) {
                (None, _) => amount.div_ceil(8),
                (Some("bytes"), _) => amount,
                (Some("kbytes"), _) => amount.saturating_mul(1_000),
                (Some("mbytes"), _) => amount.saturating_mul(1_000_000),
                (Some(unit), Share::Rate(rate)) => super::police::in_time(rate, amount, unit == "us"),
                (Some(_), _) => {
                    return Err(Trouble::unsupported(at, "a burst as a time, with a rate in percent"));
                }
            };
            *burst = Some(bytes).filter(|bytes| *bytes > 0);
        }
    }
    let [burst, excess] = bursts;
    Ok(Shape { rate, burst, excess, peak })
}

/// Parses the arguments of `set`.
fn mark(cursor: &mut Cursor<'_>) -> Result<Mark, Trouble> {
    let _ = cursor.one_of(&["ip"]);
    Ok(match cursor.expect(&["dscp", "precedence", "cos", "mpls", "qos-group", "traffic-class"])? {
        "dscp" => Mark::Dscp(cursor.dscp()?),
        "precedence" => Mark::Precedence(cursor.precedence()?),
        "cos" => Mark::Cos(cursor.small("class of service", 0, 7)? as u8),
        "qos-group" => Mark::QosGroup(cursor.small("QoS group", 0, 1023)?),
        "traffic-class" => Mark::TrafficClass(cursor.small("traffic class", 0, 7)? as u8),
        _ => {
            let _ = cursor.expect(&["experimental"])?;
            let topmost = cursor.one_of(&["imposition", "topmost"]) == Some("topmost");
            let value = cursor.small("MPLS traffic class", 0, 7)? as u8;
            if topmost { Mark::ExperimentalTopmost(value) } else { Mark::ExperimentalImposition(value) }
        }
    })
}
