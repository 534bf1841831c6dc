//! `priority-list`: strict priority, which predates policy maps.

use super::reader::{List, Lists, Reader};
use super::words::{Cursor, Trouble};
use crate::Report;
use crate::ir::{Class, Config, Limit, Match, Policy, PortRange, Queue, Rule, Scheduler, port_named};

/// Levels of a priority list, with the default queue limit of each in packets.
pub(super) const LEVELS: [(&str, u64); 4] = [("high", 20), ("medium", 40), ("normal", 60), ("low", 80)];
/// Keywords of the levels.
const LEVEL_NAMES: [&str; 4] = ["high", "medium", "normal", "low"];

/// Returns the name of the policy of a priority list.
pub(super) fn policy_name(number: u32) -> String {
    format!("priority-list-{number}")
}

impl Reader {
    /// `priority-list N protocol ip LEVEL …`, `… default LEVEL`, `… queue-limit H M N L`
    pub(super) fn priority_list(&mut self, cursor: &mut Cursor<'_>, negative: bool) -> Result<(), Trouble> {
        let at = cursor.at();
        let number = cursor.small("number of the priority list", 1, 16)?;
        let list = self.lists.entry(number).or_insert_with(|| List { at, ..List::default() });
        if negative && cursor.is_done() {
            self.lists.remove(&number);
            return Ok(());
        }
        match cursor.expect(&["protocol", "default", "queue-limit", "interface"])? {
            "default" => {
                let level = cursor.expect(&LEVEL_NAMES)?;
                list.default = Some(level).filter(|_| !negative);
            }
            "queue-limit" => {
                let mut limits = [0; 4];
                for limit in &mut limits {
                    *limit = if negative { 0 } else { cursor.number("queue limit", 0, 32767)? };
                }
                list.limits = Some(limits).filter(|_| !negative);
            }
            "interface" => {
                let name = cursor.name("interface")?.text.to_owned();
                let level = cursor.expect(&LEVEL_NAMES)?;
                put(
                    &mut list.rules,
                    Rule { when: Match::InputInterface(name), class: level.to_owned(), police: None, at },
                    negative,
                );
            }
            _ => {
                let protocol = cursor.name("protocol")?;
                if !protocol.text.eq_ignore_ascii_case("ip") {
                    return Err(Trouble::unsupported(protocol.at, format!("the protocol `{}`", protocol.text)));
                }
                let level = cursor.expect(&LEVEL_NAMES)?;
                let when = condition(cursor)?;
                put(&mut list.rules, Rule { when, class: level.to_owned(), police: None, at }, negative);
            }
        }
        cursor.finish()
    }
}

/// Adds a rule, or removes it.
fn put(rules: &mut Vec<Rule>, rule: Rule, negative: bool) {
    if negative {
        rules.retain(|own| *own != rule);
    } else {
        rules.push(rule);
    }
}

/// Parses the condition after the level: none, `list N`, `tcp PORT` or `udp PORT`; conditions on length and fragments
/// are unsupported.
fn condition(cursor: &mut Cursor<'_>) -> Result<Match, Trouble> {
    if cursor.is_done() {
        return Ok(Match::Any);
    }
    let at = cursor.at();
    let keyword = cursor.expect(&["list", "tcp", "udp", "gt", "lt", "fragments"])?;
    let number = match keyword {
        "list" => return Ok(Match::AccessList(cursor.name("access list")?.text.to_owned())),
        "tcp" => 6,
        "udp" => 17,
        _ => return Err(Trouble::unsupported(at, format!("a priority list by `{keyword}`"))),
    };
    let word = cursor.name("port")?;
    let port = port_named(word.text).ok_or_else(|| {
        Trouble::wrong(
            word.at,
            format!("`{}` is not a valid port", word.text),
            "write 0 to 65535, or a name such as www",
        )
    })?;
    let range = PortRange { low: port, high: port };
    let either = Match::AnyOf(vec![Match::SourcePort(range), Match::DestinationPort(range)]);
    Ok(Match::All(vec![Match::IpProtocol(number), either]))
}

/// Converts each priority list that an interface uses into a policy; others are reported.
pub(super) fn resolve(lists: &Lists, config: &mut Config, report: &mut Report) {
    for (number, list) in lists {
        let name = policy_name(*number);
        if !config.ports.iter().any(|port| port.root.queue == Queue::Policy(name.clone())) {
            report.warning(
                list.at,
                format!("no interface uses priority list {number}"),
                "add `priority-group` to an interface",
            );
            continue;
        }
        let limits = list.limits.unwrap_or(LEVELS.map(|(_, limit)| limit));
        let classes = LEVELS.iter().zip(limits).map(|((name, _), limit)| Class {
            name: (*name).to_owned(),
            limit: Some(Limit::Packets(limit)).filter(|_| limit > 0),
            at: list.at,
            ..Class::default()
        });
        config.policies.push(Policy {
            name,
            scheduler: Scheduler::Priority,
            rules: list.rules.clone(),
            default: Some(list.default.unwrap_or("normal").to_owned()),
            classes: classes.collect(),
            at: list.at,
            ..Policy::default()
        });
    }
}
