//! Reader of `/ip firewall mangle`: the marks that packets have at the queues.
//!
//! A forwarded packet passes the chains prerouting, forward and postrouting (MikroTik, "Packet Flow in RouterOS").
//! Rules are evaluated in order; a match with `passthrough=no` ends its chain. A connection mark persists and applies
//! to both directions, so a rule that marks connections is evaluated for a packet and for its reply. Conditions on
//! marks are replaced by the conditions under which the marks are set, so that the result depends only on the packet's
//! fields.

use super::script::Command;
use crate::ir::{Match, Net, PortRange, protocol_named};
use crate::tc::action::Edit;
use crate::tc::marking::{Marking, Step};
use crate::tc::netfilter::port_list;
use crate::tc::u32::network;
use crate::{Place, Report};
use std::collections::BTreeMap;
use tailback_diffserv::Dscp;

/// Chains of a forwarded packet.
const HOOKS: [&str; 3] = ["prerouting", "forward", "postrouting"];
/// Upper bound on the nesting of chains by `jump`.
const MAX_DEPTH: usize = 8;
/// Upper bound on the number of rules.
const MAX_RULES: usize = 500;
/// Upper bound on the number of nodes of all conditions.
const MAX_NODES: usize = 60_000;

/// The mangle rules, and the names of marks and lists that rules and queues refer to.
#[derive(Debug, Default)]
pub(super) struct Mangle {
    rules: Vec<Rule>,
    /// Numbers of packet marks by name; 0: `no-mark`.
    packets: BTreeMap<String, u32>,
    /// Numbers of connection marks by name; 0: `no-mark`.
    connections: BTreeMap<String, u32>,
    /// Addresses by list name.
    pub lists: BTreeMap<String, Vec<Net>>,
    /// Interfaces by list name.
    pub members: BTreeMap<String, Vec<String>>,
    /// Names of lists with members that are not IPv4 addresses.
    pub partial: Vec<String>,
}

#[derive(Clone, Debug)]
struct Rule {
    chain: String,
    conditions: Conditions,
    action: Action,
    passthrough: bool,
    at: Place,
}

#[derive(Clone, Debug)]
enum Action {
    Packet(u32),
    Connection(u32),
    Dscp(u8),
    Accept,
    Return,
    Jump(String),
}

#[derive(Clone, Debug, Default)]
struct Conditions {
    /// Conditions on the packet.
    own: Vec<Match>,
    /// Input interfaces; `true`: all others.
    inputs: Option<(Vec<String>, bool)>,
    /// Output interfaces; `true`: all others.
    outputs: Option<(Vec<String>, bool)>,
    /// Packet mark; `true`: any other.
    packet: Option<(u32, bool)>,
    /// Connection mark; `true`: any other.
    connection: Option<(u32, bool)>,
}

/// A mark that a rule sets.
struct SetMark {
    /// Condition on the packets that get the mark.
    when: Match,
    /// The same without the condition that a packet has no mark yet.
    base: Match,
    mark: u32,
    /// `true` if the rule matches only packets without a mark.
    first: bool,
    /// Index into [`HOOKS`] of the chain in which the mark is set.
    hook: usize,
    /// `true` if the rule ends the chain (`passthrough=no`).
    ends: bool,
}

/// State of the evaluation after some rules, for packets that leave by one interface.
#[derive(Default)]
struct State {
    packets: Vec<SetMark>,
    connections: Vec<SetMark>,
    codes: Marking,
    /// Number of nodes of all conditions so far.
    nodes: usize,
    /// Index into [`HOOKS`] of the current chain.
    hook: usize,
    /// Rules that cannot be evaluated for this interface.
    unknown: Vec<Place>,
}

/// Returns the number of a mark, which is assigned if the name is new.
fn number(names: &mut BTreeMap<String, u32>, name: &str) -> u32 {
    if name == "no-mark" {
        return 0;
    }
    let next = u32::try_from(names.len()).unwrap_or(u32::MAX - 1) + 1;
    *names.entry(name.to_owned()).or_insert(next)
}

fn not(when: Match) -> Match {
    Match::Not(Box::new(when))
}

/// Returns the number of nodes of a condition.
fn nodes(when: &Match) -> usize {
    match when {
        Match::Not(inner) => 1 + nodes(inner),
        Match::All(all) | Match::AnyOf(all) => 1 + all.iter().map(nodes).sum::<usize>(),
        _ => 1,
    }
}

/// Returns a condition with source and destination exchanged, as for packets of the reply direction.
fn reversed(when: &Match) -> Match {
    match when {
        Match::Source(net) => Match::Destination(*net),
        Match::Destination(net) => Match::Source(*net),
        Match::SourcePort(ports) => Match::DestinationPort(*ports),
        Match::DestinationPort(ports) => Match::SourcePort(*ports),
        Match::Not(inner) => not(reversed(inner)),
        Match::All(all) => Match::All(all.iter().map(reversed).collect()),
        Match::AnyOf(any) => Match::AnyOf(any.iter().map(reversed).collect()),
        other => other.clone(),
    }
}

impl Mangle {
    /// `true` if a rule sets packet marks.
    pub fn marks(&self) -> bool {
        self.rules.iter().any(|rule| matches!(rule.action, Action::Packet(_)))
    }
    /// Returns the input interfaces that rules name.
    pub fn inputs(&self) -> impl Iterator<Item = &String> {
        self.rules.iter().filter_map(|rule| rule.conditions.inputs.as_ref()).flat_map(|(names, _)| names)
    }
    /// Returns the names of packet marks, with their numbers in the column `mark`, in the order of the numbers.
    pub fn numbers(&self) -> Vec<(&str, u32)> {
        let mut all: Vec<(&str, u32)> = self.packets.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        all.sort_by_key(|own| own.1);
        all
    }
    /// Returns the number of a packet mark, which is assigned if the name is new; 0: `no-mark`.
    pub fn packet_mark(&mut self, name: &str) -> u32 {
        number(&mut self.packets, name)
    }

    /// Reads `add chain=… action=…`; rules that cannot be evaluated are reported and left out.
    pub fn add(&mut self, command: &Command, report: &mut Report) {
        if self.rules.len() >= MAX_RULES {
            report.unsupported(
                command.at,
                format!("the configuration has more than {MAX_RULES} mangle rules: this one is left out"),
                None,
            );
            return;
        }
        if command.is("disabled") {
            report.ignored(command.at, "a disabled rule");
            return;
        }
        let (chain, _) = command.get("chain").unwrap_or(("", command.at));
        let (action, at) = command.get("action").unwrap_or(("accept", command.at));
        let value = |key: &str| command.get(key).map(|own| own.0.to_owned());
        let missing = |report: &mut Report, key: &str| {
            report.error(
                command.at,
                format!("{action} without a valid {key}"),
                "write the name of a mark or chain, or a DSCP from 0 to 63",
            );
        };
        let action = match action {
            "mark-packet" => match value("new-packet-mark") {
                Some(name) => Action::Packet(number(&mut self.packets, &name)),
                None => return missing(report, "new-packet-mark"),
            },
            "mark-connection" => match value("new-connection-mark") {
                Some(name) => Action::Connection(number(&mut self.connections, &name)),
                None => return missing(report, "new-connection-mark"),
            },
            "change-dscp" | "set-dscp" => match value("new-dscp").as_deref().and_then(code) {
                Some(code) => Action::Dscp(code),
                None => return missing(report, "new-dscp"),
            },
            "accept" => Action::Accept,
            "return" => Action::Return,
            "jump" => match value("jump-target") {
                Some(chain) => Action::Jump(chain),
                None => return missing(report, "jump-target"),
            },
            "passthrough"
            | "log"
            | "change-mss"
            | "change-ttl"
            | "mark-routing"
            | "set-priority"
            | "clear-df"
            | "strip-ipv4-options"
            | "sniff-tzsp"
            | "sniff-pc"
            | "add-src-to-address-list"
            | "add-dst-to-address-list"
            | "route" => {
                if action == "set-priority" {
                    report.ignored(at, "the priority of a frame has no effect on HTB queues");
                } else {
                    report.ignored(at, format!("{action} has no effect on queues"));
                }
                if command.is("passthrough") || command.get("passthrough").is_none() {
                    return;
                }
                Action::Accept
            }
            other => {
                report.unsupported(at, format!("a mangle rule with the action `{other}` is not simulated"), None);
                return;
            }
        };
        if matches!(chain, "input" | "output") {
            report.ignored(
                command.at,
                format!("packets of the chain {chain} are from or to the router itself, and are not simulated"),
            );
            return;
        }
        let Some(conditions) = self.conditions(command, report) else { return };
        let passthrough = command.get("passthrough").is_none_or(|(text, _)| text == "yes");
        self.rules.push(Rule { chain: chain.to_owned(), conditions, action, passthrough, at: command.at });
    }

    fn conditions(&mut self, command: &Command, report: &mut Report) -> Option<Conditions> {
        let mut made = Conditions::default();
        for word in &command.words {
            let (Some(text), at) = (word.value.as_deref(), word.at) else { continue };
            let negated = text.starts_with('!');
            let value = text.trim_start_matches('!');
            let unknown = |report: &mut Report, what: &str| {
                report.unsupported(at, format!("a mangle rule with {what} is left out"), None);
            };
            let when = match word.key.as_str() {
                "chain"
                | "action"
                | "passthrough"
                | "comment"
                | "disabled"
                | "log"
                | "log-prefix"
                | "new-packet-mark"
                | "new-connection-mark"
                | "new-dscp"
                | "jump-target"
                | "new-priority"
                | "place-before"
                | "new-mss"
                | "new-routing-mark"
                | "new-ttl"
                | "address-list"
                | "address-list-timeout" => continue,
                "src-address" => addresses(value).map(|any| any_of(any, Match::Source)),
                "dst-address" => addresses(value).map(|any| any_of(any, Match::Destination)),
                "protocol" => protocol_named(value).map(Match::IpProtocol),
                "src-port" => ports(value, Match::SourcePort),
                "dst-port" => ports(value, Match::DestinationPort),
                "port" => ports(value, Match::SourcePort)
                    .zip(ports(value, Match::DestinationPort))
                    .map(|(from, to)| Match::AnyOf(vec![from, to])),
                "dscp" => code(value).map(|code| Match::Dscp(vec![code])),
                "src-address-list" | "dst-address-list" => {
                    if self.partial.iter().any(|list| list == value) {
                        unknown(report, &format!("the list `{value}`, which has members other than IPv4 addresses,"));
                        return None;
                    }
                    let made = if word.key.starts_with("src") { Match::Source } else { Match::Destination };
                    self.lists.get(value).map(|nets| any_of(nets.clone(), made))
                }
                "in-interface" | "in-interface-list" | "out-interface" | "out-interface-list" => {
                    let names = match word.key.strip_suffix("-list") {
                        None => Some(vec![value.to_owned()]),
                        Some(_) => self.members.get(value).cloned(),
                    };
                    let Some(names) = names else {
                        unknown(
                            report,
                            &format!("the interface list `{value}`, whose members the text does not state,"),
                        );
                        return None;
                    };
                    let place = if word.key.starts_with("in") { &mut made.inputs } else { &mut made.outputs };
                    *place = Some((names, negated));
                    continue;
                }
                "packet-mark" => {
                    made.packet = Some((number(&mut self.packets, value), negated));
                    continue;
                }
                "connection-mark" => {
                    made.connection = Some((number(&mut self.connections, value), negated));
                    continue;
                }
                // A connection mark persists, and every connection has packets in these states: the rule matches each
                // connection at some time.
                "connection-state" if value.contains("new") || value.contains("established") => continue,
                _ => None,
            };
            let Some(when) = when else {
                unknown(report, &format!("`{}={text}`", word.key));
                return None;
            };
            made.own.push(if negated { not(when) } else { when });
        }
        Some(made)
    }

    /// Returns for each of `marks` the condition on the packets that leave by `device` with it; `None`: the conditions
    /// have more than [`MAX_NODES`] nodes. Rules that depend on the output interface are reported if `device` is
    /// unknown.
    pub fn resolve(&self, device: Option<&str>, marks: &[u32], report: &mut Report) -> Option<Vec<Match>> {
        let mut state = State::default();
        for (index, hook) in HOOKS.into_iter().enumerate() {
            state.hook = index;
            let mut ended = Vec::new();
            self.chain(hook, device, &[], &mut ended, &mut state, 0)?;
        }
        for at in &state.unknown {
            report.unsupported(
                *at,
                "the rule depends on the output interface, which is not known at these queues: it is left out",
                None,
            );
        }
        marks
            .iter()
            .map(|mark| {
                let when = has_mark(&state.packets, *mark);
                state.nodes += nodes(&when);
                (state.nodes <= MAX_NODES).then_some(when)
            })
            .collect()
    }

    /// Evaluates a chain. `outer`: conditions of the jumps to it; `ended`: conditions, with connection marks, of the
    /// rules that have ended the chain. `None`: the conditions have more than [`MAX_NODES`] nodes.
    fn chain(
        &self,
        name: &str,
        device: Option<&str>,
        outer: &[Match],
        ended: &mut Vec<(Match, Option<u32>)>,
        state: &mut State,
        depth: usize,
    ) -> Option<()> {
        if depth > MAX_DEPTH {
            return Some(());
        }
        let mut returned: Vec<Match> = Vec::new();
        for rule in self.rules.iter().filter(|rule| rule.chain == name) {
            let connects = matches!(rule.action, Action::Connection(_));
            let Some(base) = state.base(&rule.conditions, device, connects) else {
                state.unknown.push(rule.at);
                continue;
            };
            let base = all(outer.iter().cloned().chain([base]).collect());
            let own = rule.conditions.connection.filter(|(_, not)| !not).map(|(mark, _)| mark);
            let mut when = vec![base.clone()];
            // A chain that ended for packets of another connection mark did not end for those of this rule.
            let other = |mark: &Option<u32>| mark.zip(own).is_some_and(|(a, b)| a != b);
            when.extend(ended.iter().filter(|(_, mark)| !other(mark)).map(|(when, _)| not(when.clone())));
            when.extend(returned.iter().cloned().map(not));
            let fresh = |given: &[SetMark]| given.iter().map(|own| not(own.base.clone())).collect::<Vec<_>>();
            let first = match rule.action {
                Action::Packet(_) => rule.conditions.packet == Some((0, false)),
                Action::Connection(_) => rule.conditions.connection == Some((0, false)),
                _ => false,
            };
            // The rule's condition, whether or not a packet has a mark already.
            let held = all(when.clone());
            if first {
                when.extend(fresh(if connects { &state.connections } else { &state.packets }));
            }
            let when = all(when);
            state.nodes += nodes(&when);
            if state.nodes > MAX_NODES {
                return None;
            }
            match &rule.action {
                Action::Packet(mark) | Action::Connection(mark) => {
                    let (hook, ends) = (state.hook, !rule.passthrough);
                    let own = SetMark { when, base: held, mark: *mark, first, hook, ends };
                    if connects { state.connections.push(own) } else { state.packets.push(own) }
                }
                Action::Dscp(code) => state.codes.push(Step::new(when, Edit::Dscp(*code))),
                Action::Accept => {}
                Action::Return => {
                    returned.push(base);
                    continue;
                }
                Action::Jump(to) => {
                    let mut outer = outer.to_vec();
                    outer.push(when);
                    self.chain(to, device, &outer, ended, state, depth + 1)?;
                    continue;
                }
            }
            if !rule.passthrough || matches!(rule.action, Action::Accept) {
                let reached = core::iter::once(base).chain(returned.iter().cloned().map(not));
                ended.push((all(reached.collect()), own));
            }
        }
        Some(())
    }
}

impl State {
    /// Returns the condition of a rule on the packet, and, if it marks connections (`connects`), on its reply; `None`:
    /// it depends on an unknown output interface.
    fn base(&mut self, rule: &Conditions, device: Option<&str>, connects: bool) -> Option<Match> {
        let leaves = |names: &[String], not: bool| Some(names.iter().any(|name| Some(name.as_str()) == device) != not);
        let leaves = |own: &Option<(Vec<String>, bool)>| match own {
            None => Some(true),
            Some((names, not)) => device.and_then(|_| leaves(names, *not)),
        };
        let enters = |own: &Option<(Vec<String>, bool)>| {
            own.as_ref().map(|(names, not)| {
                let any = Match::AnyOf(names.iter().cloned().map(Match::InputInterface).collect());
                if *not { self::not(any) } else { any }
            })
        };
        let mut forward = rule.own.clone();
        for when in &mut forward {
            *when = self.codes.again().resolve(when)?;
        }
        let reply: Vec<Match> = forward.iter().map(reversed).collect();
        let mut forward =
            leaves(&rule.outputs)?.then(|| forward.into_iter().chain(enters(&rule.inputs)).collect::<Vec<_>>());
        // The reply arrives by the interface that the packet leaves by.
        let mut reply = if connects {
            leaves(&rule.inputs)?.then(|| reply.into_iter().chain(enters(&rule.outputs)).collect::<Vec<_>>())
        } else {
            None
        };
        for (list, mark) in [(&self.packets, rule.packet), (&self.connections, rule.connection)] {
            let Some((mark, negated)) = mark else { continue };
            let when = has_mark(list, mark);
            let when = if negated { not(when) } else { when };
            for own in [&mut forward, &mut reply].into_iter().flatten() {
                own.push(when.clone());
            }
        }
        let any: Vec<Match> = [forward, reply].into_iter().flatten().map(all).collect();
        Some(match <[Match; 2]>::try_from(any) {
            Ok([forward, reply]) if forward == reply => forward,
            Ok(both) => Match::AnyOf(both.into()),
            Err(mut any) => any.pop().unwrap_or(Match::AnyOf(Vec::new())),
        })
    }
}

/// Returns the condition on the packets that have the mark after all rules; mark 0: no mark.
fn has_mark(given: &[SetMark], mark: u32) -> Match {
    if mark == 0 {
        return all(given.iter().map(|own| not(own.base.clone())).collect());
    }
    let mut any = Vec::new();
    for (index, own) in given.iter().enumerate().filter(|(_, own)| own.mark == mark) {
        // A later rule replaces the mark, unless it matches only packets without one, or this rule has ended the
        // chain.
        let later = given.iter().skip(index + 1).filter(|later| later.mark != mark && !later.first);
        let later = later.filter(|later| !(own.ends && own.hook == later.hook));
        any.push(all(core::iter::once(own.when.clone()).chain(later.map(|own| not(own.when.clone()))).collect()));
    }
    if any.len() == 1 { any.remove(0) } else { Match::AnyOf(any) }
}

/// Returns the conjunction of conditions.
fn all(mut all: Vec<Match>) -> Match {
    all.retain(|when| *when != Match::Any);
    match all.len() {
        0 => Match::Any,
        1 => all.remove(0),
        _ => Match::All(all),
    }
}

/// Returns a condition that holds if the address is in one of the networks.
pub(super) fn any_of(nets: Vec<Net>, made: fn(Net) -> Match) -> Match {
    let mut any: Vec<Match> = nets.into_iter().map(made).collect();
    if any.len() == 1 { any.remove(0) } else { Match::AnyOf(any) }
}

/// Parses an IPv4 network `10.0.0.0/8`, an address `10.0.0.1`, or a range `10.0.0.1-10.0.0.9`, into networks.
pub(super) fn addresses(text: &str) -> Option<Vec<Net>> {
    let Some((low, high)) = text.split_once('-') else { return network(text).map(|net| vec![net]) };
    let (mut low, high) = (u64::from(network(low)?.address), u64::from(network(high)?.address));
    let mut made = Vec::new();
    while low <= high {
        // The largest network that begins here and is within the range.
        let size = (0..=32u32).rev().find(|bits| low.trailing_zeros() >= *bits && low + (1u64 << bits) - 1 <= high)?;
        made.push(Net::prefix(u32::try_from(low).ok()?, 32 - size)?);
        low += 1u64 << size;
    }
    (!made.is_empty()).then_some(made)
}

fn ports(text: &str, made: fn(PortRange) -> Match) -> Option<Match> {
    port_list(text, '-', made)
}

/// Parses a DSCP: a number from 0 to 63, or a name.
fn code(text: &str) -> Option<u8> {
    text.parse::<u8>().ok().filter(|code| *code < 64).or_else(|| text.parse::<Dscp>().ok().map(Dscp::codepoint))
}
