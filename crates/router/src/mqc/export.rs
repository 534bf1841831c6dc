//! Export of a configuration as Cisco text.

use super::adapt::adapt;
use super::condition_text::{codes, condition_text, numbers};
use super::legacy::{LEVELS, policy_name};
use crate::ir::{
    AccessEntry, AccessList, Act, By, Class, ClassMap, Config, Limit, Mark, Match, Medium, Net, Police, Policy, Port,
    PortRange, Queue, Scheduler, Shape, Share, Unit, Wred, protocol_name,
};
use crate::{Exported, Level, Place, Report};
use core::fmt::Write as _;
use core::net::Ipv4Addr;

/// Returns the configuration as Cisco text, and a report of approximations and unsupported features. The text is empty
/// if the report has errors. If the configuration was imported from such a text, importing the export gives an equal
/// configuration.
pub fn export(config: &Config) -> Exported {
    let (mut config, mut report) = adapt(config);
    super::names::legalise(&mut config);
    let mut out = String::new();
    for list in &config.access_lists {
        access_list(&mut out, list);
    }
    for map in inner_first(&config.class_maps) {
        class_map(&mut out, map, &mut report);
    }
    for policy in inner_policies_first(&config) {
        match policy.scheduler {
            Scheduler::Priority => priority_list(&mut out, policy, &mut report),
            _ => policy_map(&mut out, policy, &mut report),
        }
    }
    for port in &config.ports {
        interface(&mut out, port, &mut report);
    }
    accepted(out, &config, report)
}

/// Returns the text if a router would accept it, otherwise no text and a report with errors.
fn accepted(text: String, config: &Config, mut report: Report) -> Exported {
    let read = super::import::import(&text).report;
    for notice in read.notices().iter().filter(|notice| notice.level == Level::Error) {
        let message =
            format!("policy maps cannot express this, since a router refuses `{}`: {}", notice.text, notice.message);
        report.error(Place::default(), message, notice.advice.as_deref().unwrap_or("change it in the scenario"));
    }
    if config.policies.is_empty() && !config.ports.iter().any(Port::has_policy) {
        report.error(
            Place::default(),
            "there is no policy to export: without one, a router has a FIFO",
            "give the port classes, a shaper or a limit in packets",
        );
    }
    Exported { text: if report.has_errors() { String::new() } else { text }, report }
}

/// Appends a line; writing to memory does not fail.
macro_rules! line {
    ($out:expr, $($text:tt)*) => {
        { let _ = writeln!($out, $($text)*); }
    };
}

/// Returns the class maps in an order in which each follows those to which it refers; cycles come last.
fn inner_first(maps: &[ClassMap]) -> Vec<&ClassMap> {
    order(maps, |map| &map.name, |map, name| map.conditions.iter().any(|condition| names(condition, name)))
}

/// `true` if the condition refers to the class map of that name.
fn names(condition: &Match, name: &str) -> bool {
    match condition {
        Match::ClassMap(own) => own == name,
        Match::Not(inner) => names(inner, name),
        _ => false,
    }
}

/// Returns the policies in an order in which each follows its child policies.
fn inner_policies_first(config: &Config) -> Vec<&Policy> {
    let uses = |policy: &Policy, name: &str| {
        policy.classes.iter().any(|class| matches!(&class.queue, Queue::Policy(own) if own == name))
    };
    order(&config.policies, |policy| &policy.name, uses)
}

/// Sorts elements so that each follows those that it uses: repeatedly takes the elements that use no remaining one.
fn order<T>(all: &[T], name: fn(&T) -> &String, uses: impl Fn(&T, &str) -> bool) -> Vec<&T> {
    let mut left: Vec<&T> = all.iter().collect();
    let mut found = Vec::new();
    while !left.is_empty() {
        let (now, later): (Vec<&T>, Vec<&T>) =
            left.iter().copied().partition(|one| !left.iter().any(|other| uses(one, name(other))));
        if now.is_empty() {
            found.extend(later);
            break;
        }
        found.extend(now);
        left = later;
    }
    found
}

/// Writes an access list: lines `access-list NUMBER …` for a numbered one with the default sequence numbers, else a
/// block.
fn access_list(out: &mut String, list: &AccessList) {
    let usual = list.entries.iter().enumerate().all(|(index, entry)| entry.sequence as usize == 10 * (index + 1));
    let numbered = list.name.parse::<u32>().is_ok();
    if numbered && usual {
        for entry in &list.entries {
            line!(out, "access-list {} {}", list.name, access_entry(entry, list));
        }
    } else {
        if list.ipv6 {
            line!(out, "ipv6 access-list {}", list.name);
        } else {
            line!(out, "ip access-list {} {}", if list.standard { "standard" } else { "extended" }, list.name);
        }
        for entry in &list.entries {
            let sequence = if list.ipv6 { "sequence " } else { "" };
            line!(out, " {sequence}{} {}", entry.sequence, access_entry(entry, list));
        }
    }
}

/// Returns an entry from `permit` or `deny` on.
fn access_entry(entry: &AccessEntry, list: &AccessList) -> String {
    let mut protocol = if list.ipv6 { "ipv6" } else { "ip" }.to_owned();
    let (mut source, mut destination) = (address(Net::ANY), address(Net::ANY));
    let (mut source_ports, mut destination_ports, mut rest) = (String::new(), String::new(), String::new());
    for condition in &entry.conditions {
        match condition {
            Match::IpProtocol(number) => protocol = protocol_name(*number),
            Match::Source(net) => source = address(*net),
            Match::Destination(net) => destination = address(*net),
            Match::Source6(net) => source = net.to_string(),
            Match::Destination6(net) => destination = net.to_string(),
            Match::Dscp(values) => rest += &[" dscp ", &codes(values)].concat(),
            Match::Precedence(values) => rest += &[" precedence ", &numbers(values)].concat(),
            other => {
                if let Some(text) = ports(other, true) {
                    source_ports = text;
                } else if let Some(text) = ports(other, false) {
                    destination_ports = text;
                }
            }
        }
    }
    let word = if entry.permit { "permit" } else { "deny" };
    if list.standard {
        return format!("{word} {source}");
    }
    format!("{word} {protocol} {source}{source_ports} {destination}{destination_ports}{rest}")
}

/// Formats a network with its wildcard.
fn address(net: Net) -> String {
    match net {
        Net::ANY => "any".to_owned(),
        Net { address, wildcard: 0 } => format!("host {}", Ipv4Addr::from(address)),
        Net { address, wildcard } => format!("{} {}", Ipv4Addr::from(address), Ipv4Addr::from(wildcard)),
    }
}

/// Returns a condition on source ports (`source`) or destination ports as an operator of access lists; `None`: it is
/// another condition.
fn ports(condition: &Match, source: bool) -> Option<String> {
    let own = |condition: &Match| match condition {
        Match::SourcePort(range) if source => Some(*range),
        Match::DestinationPort(range) if !source => Some(*range),
        _ => None,
    };
    let single_ports = |all: &[Match]| -> Option<String> {
        let values: Option<Vec<String>> =
            all.iter().map(|one| own(one).filter(|r| r.low == r.high).map(|r| r.low.to_string())).collect();
        values.map(|values| values.join(" "))
    };
    Some(match condition {
        Match::Not(inner) => match inner.as_ref() {
            Match::AnyOf(all) => format!(" neq {}", single_ports(all)?),
            one => format!(" neq {}", own(one).filter(|r| r.low == r.high)?.low),
        },
        Match::AnyOf(all) => format!(" eq {}", single_ports(all)?),
        one => match own(one)? {
            PortRange { low, high } if low == high => format!(" eq {low}"),
            PortRange { low, high: u16::MAX } if low > 0 => format!(" gt {}", low - 1),
            PortRange { low: 0, high } => match high.checked_add(1) {
                Some(above) => format!(" lt {above}"),
                None => format!(" range 0 {high}"),
            },
            PortRange { low, high } => format!(" range {low} {high}"),
        },
    })
}

fn class_map(out: &mut String, map: &ClassMap, report: &mut crate::Report) {
    line!(out, "class-map {} {}", if map.all { "match-all" } else { "match-any" }, map.name);
    for condition in &map.conditions {
        match condition_text(condition) {
            Some(text) => line!(out, " match {text}"),
            None => report.unsupported(
                map.at,
                format!("a condition of `{}` has no counterpart: {condition:?}", map.name),
                None,
            ),
        }
    }
}

fn policy_map(out: &mut String, policy: &Policy, report: &mut crate::Report) {
    line!(out, "policy-map {}", policy.name);
    for class in &policy.classes {
        line!(out, " class {}", class.name);
        actions(out, class, report);
    }
}

fn actions(out: &mut String, class: &Class, report: &mut crate::Report) {
    if let Some(priority) = class.priority {
        let level = if priority.level > 1 { format!(" level {}", priority.level) } else { String::new() };
        let rate = priority.rate.map_or_else(String::new, |rate| format!(" {}", share(rate)));
        let burst = priority.burst.map_or_else(String::new, |burst| format!(" {burst}"));
        line!(out, "  priority{level}{rate}{burst}");
    }
    if let Some(bandwidth) = class.bandwidth {
        line!(out, "  bandwidth {}", share(bandwidth));
    }
    if let Some(shape) = &class.shape {
        line!(out, "  shape {}", shape_text(shape));
    }
    if let Some(police) = &class.police {
        police_lines(out, police);
    }
    if let Some(limit) = class.limit {
        line!(out, "  queue-limit {}", limit_text(limit));
    }
    for own in &class.code_limits {
        let code = match own.by {
            By::Dscp => format!("dscp {}", codes(&[own.code])),
            By::Precedence => format!("precedence {}", own.code),
        };
        line!(out, "  queue-limit {code} {}", limit_text(own.limit));
    }
    if let Some(wred) = &class.wred {
        random_detect(out, wred, "  ");
    }
    for mark in &class.set {
        line!(out, "  set {}", mark_text(*mark));
    }
    match &class.queue {
        Queue::Fifo => {}
        Queue::Fair(fair) => {
            let queues = fair.queues.map_or_else(String::new, |queues| format!(" {queues}"));
            line!(out, "  fair-queue{queues}");
        }
        Queue::Policy(child) => line!(out, "  service-policy {child}"),
        other => report.unsupported(class.at, format!("class `{}`: {other:?} has no counterpart", class.name), None),
    }
}

/// Formats a rate in kbit/s, rounded up, or a percentage or ratio.
fn share(share: Share) -> String {
    match share {
        Share::Rate(rate) => rate.div_ceil(1000).to_string(),
        Share::Percent(percent) => format!("percent {percent}"),
        Share::RemainingPercent(percent) => format!("remaining percent {percent}"),
        Share::RemainingRatio(ratio) => format!("remaining ratio {ratio}"),
    }
}

/// Formats a rate in bit/s, or a percentage.
fn absolute(share: Share) -> String {
    match share {
        Share::Rate(rate) => rate.to_string(),
        other => self::share(other),
    }
}

fn shape_text(shape: &Shape) -> String {
    let bits = |bytes: Option<u64>| bytes.map_or_else(String::new, |bytes| format!(" {}", bytes.saturating_mul(8)));
    format!(
        "{} {}{}{}",
        if shape.peak { "peak" } else { "average" },
        absolute(shape.rate),
        bits(shape.burst),
        bits(shape.excess)
    )
}

fn police_lines(out: &mut String, police: &Police) {
    let bytes = |word: &str, value: Option<u64>| value.map_or_else(String::new, |value| format!(" {word} {value}"));
    let peak = police.peak.map_or_else(String::new, |rate| format!(" pir {}", absolute(rate)));
    line!(
        out,
        "  police cir {}{}{peak}{}",
        absolute(police.rate),
        bytes("bc", police.burst),
        bytes("be", police.excess)
    );
    for (word, acts, usual) in [
        ("conform-action", &police.conform, Some(Act::Transmit)),
        ("exceed-action", &police.exceed, Some(Act::Drop)),
        ("violate-action", &police.violate, None),
    ] {
        if acts.as_slice() != usual.as_slice() {
            for act in acts {
                line!(out, "   {word} {}", act_text(*act));
            }
        }
    }
}

fn act_text(act: Act) -> String {
    match act {
        Act::Transmit => "transmit".to_owned(),
        Act::Drop => "drop".to_owned(),
        Act::Set(Mark::Dscp(code)) => format!("set-dscp-transmit {}", codes(&[code])),
        Act::Set(Mark::Precedence(n)) => format!("set-prec-transmit {n}"),
        Act::Set(Mark::Cos(n)) => format!("set-cos-transmit {n}"),
        Act::Set(Mark::ExperimentalImposition(n)) => format!("set-mpls-exp-imposition-transmit {n}"),
        Act::Set(Mark::ExperimentalTopmost(n)) => format!("set-mpls-exp-topmost-transmit {n}"),
        Act::Set(Mark::QosGroup(n)) => format!("set-qos-transmit {n}"),
        Act::Set(Mark::TrafficClass(n)) => format!("set-traffic-class-transmit {n}"),
    }
}

fn mark_text(mark: Mark) -> String {
    match mark {
        Mark::Dscp(code) => format!("dscp {}", codes(&[code])),
        Mark::Precedence(n) => format!("precedence {n}"),
        Mark::Cos(n) => format!("cos {n}"),
        Mark::ExperimentalImposition(n) => format!("mpls experimental imposition {n}"),
        Mark::ExperimentalTopmost(n) => format!("mpls experimental topmost {n}"),
        Mark::QosGroup(n) => format!("qos-group {n}"),
        Mark::TrafficClass(n) => format!("traffic-class {n}"),
    }
}

fn limit_text(limit: Limit) -> String {
    match limit {
        Limit::Packets(n) => format!("{n} packets"),
        Limit::Bytes(n) => format!("{n} bytes"),
        Limit::Microseconds(n) if n % 1000 == 0 => format!("{} ms", n / 1000),
        Limit::Microseconds(n) => format!("{n} us"),
        Limit::Percent(n) => format!("percent {n}"),
    }
}

fn random_detect(out: &mut String, wred: &Wred, indent: &str) {
    match wred.by {
        By::Dscp => line!(out, "{indent}random-detect dscp-based"),
        By::Precedence => line!(out, "{indent}random-detect"),
    }
    if wred.ecn {
        line!(out, "{indent}random-detect ecn");
    }
    if let Some(exponent) = wred.exponent {
        line!(out, "{indent}random-detect exponential-weighting-constant {exponent}");
    }
    for profile in &wred.profiles {
        let code = match (profile.code, wred.by) {
            (None, _) => "precedence rsvp".to_owned(),
            (Some(code), By::Dscp) => format!("dscp {}", codes(&[code])),
            (Some(code), By::Precedence) => format!("precedence {code}"),
        };
        let denominator = profile.denominator.map_or_else(String::new, |n| format!(" {n}"));
        let unit = match profile.unit {
            Unit::Packets => "",
            Unit::Bytes => " bytes",
            Unit::Microseconds => " us",
            Unit::Percent => " percent",
        };
        line!(out, "{indent}random-detect {code} {}{unit} {}{unit}{denominator}", profile.min, profile.max);
    }
}

fn priority_list(out: &mut String, policy: &Policy, report: &mut crate::Report) {
    let number = policy.name.trim_start_matches("priority-list-");
    for rule in &policy.rules {
        let condition = match &rule.when {
            Match::Any => Some(String::new()),
            Match::AccessList(name) => Some(format!(" list {name}")),
            Match::InputInterface(name) => {
                line!(out, "priority-list {number} interface {name} {}", rule.class);
                continue;
            }
            Match::All(all) => match all.as_slice() {
                [Match::IpProtocol(protocol @ (6 | 17)), Match::AnyOf(sides)] => match sides.as_slice() {
                    [Match::SourcePort(range), Match::DestinationPort(_)] => {
                        Some(format!(" {} {}", if *protocol == 6 { "tcp" } else { "udp" }, range.low))
                    }
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        match condition {
            Some(text) => line!(out, "priority-list {number} protocol ip {}{text}", rule.class),
            None => report.unsupported(rule.at, format!("no priority list expresses {:?}", rule.when), None),
        }
    }
    if let Some(default) = policy.default.as_deref().filter(|level| *level != "normal") {
        line!(out, "priority-list {number} default {default}");
    }
    let limits: Vec<u64> = policy
        .classes
        .iter()
        .map(|class| if let Some(Limit::Packets(limit)) = class.limit { limit } else { 0 })
        .collect();
    if limits != LEVELS.map(|(_, limit)| limit) {
        let limits: Vec<String> = limits.iter().map(u64::to_string).collect();
        line!(out, "priority-list {number} queue-limit {}", limits.join(" "));
    }
}

fn interface(out: &mut String, port: &Port, report: &mut crate::Report) {
    line!(out, "interface {}", port.name);
    if let Some(rate) = port.rate.filter(|_| port.rate != super::interface::kind(&port.name).1) {
        match port.medium {
            Medium::Ethernet | Medium::Dot1q if rate.is_multiple_of(1_000_000) => {
                line!(out, " speed {}", rate / 1_000_000);
            }
            Medium::Serial => line!(out, " clock rate {rate}"),
            // No command states the link rate for this medium; `bandwidth` at least keeps percentages right.
            _ if port.bandwidth.is_none() => line!(out, " bandwidth {}", rate.div_ceil(1000)),
            _ => {}
        }
    }
    if let Some(bandwidth) = port.bandwidth {
        line!(out, " bandwidth {}", bandwidth.div_ceil(1000));
    }
    if let Some(encapsulation) = &port.encapsulation {
        line!(out, " encapsulation {encapsulation}");
    }
    if let Some(percent) = port.reservable {
        line!(out, " max-reserved-bandwidth {percent}");
    }
    if let Some(hold) = port.hold {
        line!(out, " hold-queue {hold} out");
    }
    if let Some(ring) = port.ring {
        line!(out, " tx-ring-limit {ring}");
    }
    if let Some(wred) = &port.root.wred {
        random_detect(out, wred, " ");
    }
    for net in &port.networks {
        line!(out, " ip address {} {}", Ipv4Addr::from(net.address), Ipv4Addr::from(!net.wildcard));
    }
    if let Some(input) = &port.input {
        line!(out, " service-policy input {input}");
    }
    match &port.root.queue {
        Queue::Fifo => {}
        Queue::Fair(fair) => {
            let numbers = [fair.threshold, fair.queues, fair.reservable].into_iter().map_while(|n| n);
            let numbers: String = numbers.map(|n| format!(" {n}")).collect::<Vec<_>>().concat();
            line!(out, " fair-queue{numbers}");
        }
        Queue::Policy(name) => match (1..=16).find(|number| policy_name(*number) == *name) {
            Some(number) => line!(out, " priority-group {number}"),
            None => line!(out, " service-policy output {name}"),
        },
        other => report.unsupported(port.at, format!("{other:?} has no counterpart on an interface"), None),
    }
}
