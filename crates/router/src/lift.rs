//! From a scenario back to a configuration: the policy of one of its ports.

use crate::ir::{
    By, Class, ClassMap, Config, Fair, FqCodel, HtbClass, Limit, Match, Policy, Port, Priority, Profile, Queue, Red,
    Rule, Scheduler, Sfq, Shape, Share, Timed, Unit, Wred,
};
use crate::{Imported, Place, Report};
use serde_json::Value;
use tailback_diffserv::Dscp;
use tailback_units::{parse_bytes, parse_duration, parse_rate};

const NOWHERE: Place = Place::new(0, 0);
const DEFAULT_CLASS: &str = "class-default";
/// Deepest nesting that is followed.
const DEEPEST: usize = 8;

/// The policy of a port of a scenario, given as its canonical document. The port is `NODE:NEIGHBOUR`, or either of them; absent,
/// the only one that says more than a buffer's size.
pub fn lift(document: &Value, port: Option<&str>) -> Imported {
    let mut lifting = Lifting { document, config: Config::default(), report: Report::default() };
    if let Some((node, neighbour, table)) = lifting.chosen(port) {
        let own = lifting.port(&node, &neighbour, &table);
        lifting.config.ports.push(own);
    }
    Imported { config: lifting.config, report: lifting.report }
}

struct Lifting<'a> {
    document: &'a Value,
    config: Config,
    report: Report,
}

impl Lifting<'_> {
    fn left_out(&mut self, what: impl Into<String>) {
        self.report.unsupported(NOWHERE, what, None);
    }

    fn chosen(&mut self, wanted: Option<&str>) -> Option<(String, String, Value)> {
        let mut found = Vec::new();
        for (node, switch) in self.document.get("switches").and_then(Value::as_object).into_iter().flatten() {
            for (neighbour, table) in switch.get("ports").and_then(Value::as_object).into_iter().flatten() {
                let name = format!("{node}:{neighbour}");
                let is_meant = wanted.map_or_else(
                    || {
                        let limited = text(table, "buffer").is_some_and(|buffer| buffer != "unlimited");
                        limited
                            || ["discipline", "shaper", "ring", "conditioners"]
                                .iter()
                                .any(|key| is_given(table.get(*key)))
                    },
                    |wanted| wanted == name || wanted == node || wanted == neighbour,
                );
                if is_meant {
                    found.push((node.clone(), neighbour.clone(), table.clone()));
                }
            }
        }
        let names = |found: &[(String, String, Value)]| {
            found.iter().map(|(node, neighbour, _)| format!("{node}:{neighbour}")).collect::<Vec<_>>().join(", ")
        };
        match found.as_slice() {
            [one] => Some(one.clone()),
            [] => {
                self.report.error(
                    NOWHERE,
                    "there is no such port, or none with a policy",
                    "name it such as ce:sink, under `switches`",
                );
                None
            }
            several => {
                let all = names(several);
                self.report.error(NOWHERE, "several ports are meant", &format!("choose with --port: {all}"));
                None
            }
        }
    }

    fn port(&mut self, node: &str, neighbour: &str, table: &Value) -> Port {
        let mut made =
            Port { name: format!("{node}:{neighbour}"), rate: self.rate(node, neighbour), ..Port::default() };
        made.ring = table.get("ring").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let mut root = Class { name: DEFAULT_CLASS.to_owned(), ..Class::default() };
        if let Some(inside) = table.get("discipline").filter(|inside| !inside.is_null()) {
            self.inside(&mut root, inside, "policy", 0);
        }
        if let Some(shaper) = table.get("shaper").filter(|shaper| !shaper.is_null()) {
            root.shape = shape(shaper);
        }
        if root.shape.is_some() {
            let name = "shaped".to_owned();
            root.limit = None;
            let default = Some(DEFAULT_CLASS.to_owned());
            self.config.policies.push(Policy { name: name.clone(), default, classes: vec![root], ..Policy::default() });
            root = Class { queue: Queue::Policy(name), ..Class::default() };
        }
        root.name.clear();
        if root.queue == Queue::Fifo || root.wred.is_some() {
            match table.get("buffer").and_then(limit) {
                Some(Limit::Packets(packets)) => made.hold = u32::try_from(packets).ok(),
                Some(other) => root.limit = Some(other),
                None => {}
            }
        }
        made.root = root;
        if is_given(table.get("conditioners")) {
            self.left_out("the port's conditioners: policers and marks are not written");
        }
        made
    }

    fn rate(&self, node: &str, neighbour: &str) -> Option<u64> {
        let links = self.document.get("links")?.as_array()?;
        links.iter().find_map(|link| {
            let ends: Vec<&str> = link.get("between")?.as_array()?.iter().filter_map(Value::as_str).collect();
            let rates: Vec<&str> = match link.get("rate")? {
                Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
                one => one.as_str().into_iter().collect(),
            };
            let index = match ends.as_slice() {
                [a, b] if *a == node && *b == neighbour => 0,
                [a, b] if *b == node && *a == neighbour => rates.len().saturating_sub(1),
                _ => return None,
            };
            parse_rate(rates.get(index)?).ok().map(|rate| rate.0)
        })
    }

    /// What a discipline does with the packets of a class.
    fn inside(&mut self, class: &mut Class, inside: &Value, name: &str, depth: usize) {
        if depth > DEEPEST {
            self.left_out("disciplines within each other, too deep");
            return;
        }
        let kind = text(inside, "kind").unwrap_or("drop-tail");
        match kind {
            "drop-tail" => {
                if let Some(packets) = inside.get("packets").and_then(Value::as_u64) {
                    class.limit = Some(Limit::Packets(packets));
                }
            }
            "shaper" => {
                class.shape = shape(inside);
                if let Some(inner) = inside.get("discipline").filter(|inner| !inner.is_null()) {
                    self.inside(class, inner, name, depth + 1);
                }
            }
            "wred" => class.wred = Some(wred(inside)),
            "fair-queue" => {
                let number = |key: &str| inside.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
                let threshold = inside.get("threshold").and_then(limit).and_then(|limit| match limit {
                    Limit::Packets(n) => u32::try_from(n).ok(),
                    _ => None,
                });
                class.queue = Queue::Fair(Fair { threshold, queues: number("queues"), reservable: None });
            }
            "sfq" => {
                let perturb =
                    text(inside, "perturb").and_then(|text| parse_duration(text).ok()).map(|d| d.0 / 1_000_000_000_000);
                let divisor = inside.get("buckets").and_then(Value::as_u64);
                class.queue = Queue::Sfq(Sfq { quantum: size(inside, "quantum"), perturb, divisor, ..Sfq::default() });
            }
            "fq-codel" => {
                let flows = inside.get("buckets").and_then(Value::as_u64);
                class.queue = Queue::FqCodel(FqCodel {
                    flows,
                    quantum: size(inside, "quantum"),
                    law: timed(inside, "interval"),
                    ..FqCodel::default()
                });
            }
            "fq-pie" => {
                class.queue = Queue::FqPie(inside.get("pie").map_or_else(Timed::default, |law| timed(law, "update")))
            }
            "codel" => class.queue = Queue::Codel(timed(inside, "interval")),
            "pie" => class.queue = Queue::Pie(timed(inside, "update")),
            "red" => class.queue = Queue::Red(red(inside)),
            "class-based" | "priority" | "wrr" | "htb" => {
                let found = self.policy(inside, kind, name, depth);
                class.queue = Queue::Policy(found);
            }
            other => self.left_out(format!("the discipline `{other}`")),
        }
    }

    fn policy(&mut self, table: &Value, kind: &str, name: &str, depth: usize) -> String {
        let scheduler = match kind {
            "priority" => Scheduler::Priority,
            "wrr" => Scheduler::Drr,
            "htb" => Scheduler::Htb,
            _ => Scheduler::ClassBased,
        };
        let mut made = Policy { name: self.unused(name), scheduler, ..Policy::default() };
        let key = if kind == "priority" { "levels" } else { "classes" };
        let quantum = size(table, "quantum").unwrap_or(1514);
        let mut names: Vec<String> = Vec::new();
        for (index, one) in table.get(key).and_then(Value::as_array).into_iter().flatten().enumerate() {
            let own = text(one, "name").map_or_else(|| format!("class{}", index + 1), str::to_owned);
            names.push(own.clone());
            let mut class = self.class(one, &own, quantum, depth);
            class.parent = text(one, "parent").map(str::to_owned);
            // Only a router's class cannot be without a class map; that of another leads nowhere.
            let nothing = serde_json::json!({ "not": {} });
            let matches = one.get("match").filter(|when| !when.is_null());
            if let Some(when) = matches.filter(|when| scheduler == Scheduler::ClassBased || **when != nothing) {
                let named = if scheduler == Scheduler::ClassBased { Some(own.as_str()) } else { None };
                let when = self.condition(when, named);
                let class = if let Match::ClassMap(map) = &when
                    && scheduler == Scheduler::ClassBased
                {
                    map.clone()
                } else {
                    own.clone()
                };
                made.rules.push(Rule { when, class, police: None, at: NOWHERE });
                if scheduler == Scheduler::ClassBased
                    && let Some(rule) = made.rules.last()
                {
                    // A router's class is called as its class map.
                    class_name(&mut names, &rule.class);
                }
            }
            if scheduler == Scheduler::ClassBased {
                class.name = names.last().cloned().unwrap_or(own);
            }
            made.classes.push(class);
        }
        match table.get("default") {
            Some(Value::String(default)) => made.default = Some(default.clone()),
            Some(rest) if !rest.is_null() => {
                let mut class = self.class(rest, DEFAULT_CLASS, quantum, depth);
                class.name = DEFAULT_CLASS.to_owned();
                made.classes.push(class);
                made.default = Some(DEFAULT_CLASS.to_owned());
            }
            _ => {}
        }
        let name = made.name.clone();
        self.config.policies.push(made);
        name
    }

    fn unused(&self, name: &str) -> String {
        let taken = |name: &str| self.config.policy(name).is_some();
        let mut found = name.to_owned();
        for number in 2..10_000 {
            if !taken(&found) {
                break;
            }
            found = format!("{name}-{number}");
        }
        found
    }

    fn class(&mut self, table: &Value, name: &str, quantum: u64, depth: usize) -> Class {
        let mut made = Class { name: name.to_owned(), ..Class::default() };
        made.limit = table.get("limit").and_then(limit);
        made.bandwidth = table.get("bandwidth").and_then(share);
        made.bandwidth = made.bandwidth.or_else(|| {
            let parts = table.get("remaining")?.as_f64()?.round();
            Some(Share::RemainingRatio((parts as u32).max(1)))
        });
        if let Some(priority) = table.get("priority").filter(|priority| !priority.is_null()) {
            let level = priority.get("level").and_then(Value::as_u64).map_or(1, |level| if level > 1 { 2 } else { 1 });
            let burst = text(priority, "burst").filter(|burst| *burst != "200ms");
            let bytes = burst.and_then(|burst| parse_bytes(burst).ok());
            if burst.is_some() && bytes.is_none() {
                self.left_out(format!("class `{name}`: a burst in time other than the default"));
            }
            made.priority = Some(Priority { level, rate: priority.get("rate").and_then(share), burst: bytes });
        }
        if let Some(weight) = table.get("weight").and_then(Value::as_u64) {
            made.quantum = Some(weight.saturating_mul(quantum));
        }
        let rate = |key: &str| text(table, key).and_then(|text| parse_rate(text).ok()).map(|rate| rate.0);
        if let Some(own) = rate("rate") {
            made.htb = Some(HtbClass {
                rate: own,
                ceil: rate("ceil"),
                burst: size(table, "burst"),
                cburst: size(table, "cburst"),
                prio: table.get("prio").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok()),
                quantum: size(table, "quantum"),
                ..HtbClass::default()
            });
        }
        if let Some(inside) = table.get("discipline").filter(|inside| !inside.is_null()) {
            self.inside(&mut made, inside, &format!("{name}-policy"), depth + 1);
        }
        made
    }

    /// A condition; for a router it is a class map, called as its class if it has no name.
    fn condition(&mut self, when: &Value, class: Option<&str>) -> Match {
        let made = self.plain(when, 0);
        let Some(class) = class else { return made };
        if let Match::ClassMap(_) = made {
            return made;
        }
        let (all, conditions) = match made {
            Match::All(all) => (true, all),
            Match::AnyOf(any) => (false, any),
            one => (true, vec![one]),
        };
        self.map(class, all, conditions);
        Match::ClassMap(class.to_owned())
    }

    /// Conditions within conditions need class maps of their own.
    fn map(&mut self, name: &str, all: bool, conditions: Vec<Match>) {
        let mut flat = Vec::new();
        for (index, condition) in conditions.into_iter().enumerate() {
            let inner = format!("{name}-{}", index + 1);
            flat.push(self.flat(condition, &inner));
        }
        if self.config.class_map(name).is_none() {
            self.config.class_maps.push(ClassMap { name: name.to_owned(), all, conditions: flat, at: NOWHERE });
        }
    }

    fn flat(&mut self, condition: Match, name: &str) -> Match {
        match condition {
            Match::All(all) => {
                self.map(name, true, all);
                Match::ClassMap(name.to_owned())
            }
            Match::AnyOf(any) => {
                self.map(name, false, any);
                Match::ClassMap(name.to_owned())
            }
            Match::Not(inner) => match self.flat(*inner, name) {
                Match::Not(twice) => *twice,
                one => Match::Not(Box::new(one)),
            },
            one => one,
        }
    }

    fn plain(&mut self, when: &Value, depth: usize) -> Match {
        if depth > DEEPEST {
            self.left_out("conditions within each other, too deep");
            return Match::AnyOf(Vec::new());
        }
        match when {
            Value::String(name) => {
                self.named(name, depth);
                Match::ClassMap(name.clone())
            }
            Value::Array(any) => one_or(any.iter().map(|one| self.plain(one, depth + 1)).collect(), Match::AnyOf),
            Value::Object(table) => {
                let mut all = Vec::new();
                for (key, value) in table {
                    if let Some(one) = self.key(key, value, depth) {
                        all.push(one);
                    }
                }
                if all.is_empty() { Match::Any } else { one_or(all, Match::All) }
            }
            _ => Match::Any,
        }
    }

    fn named(&mut self, name: &str, depth: usize) {
        if self.config.class_map(name).is_some() {
            return;
        }
        let Some(inner) = self.document.get("class-maps").and_then(|maps| maps.get(name)) else { return };
        let inner = inner.clone();
        let (all, conditions) = match self.plain(&inner, depth + 1) {
            Match::All(all) => (true, all),
            Match::AnyOf(any) => (false, any),
            one => (true, vec![one]),
        };
        self.map(name, all, conditions);
    }

    fn key(&mut self, key: &str, value: &Value, depth: usize) -> Option<Match> {
        let each = |value: &Value| match value {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        let numbers = || -> Vec<u8> {
            each(value).iter().filter_map(Value::as_u64).filter_map(|n| u8::try_from(n).ok()).collect()
        };
        Some(match key {
            "dscp" => {
                let code = |value: &Value| match value {
                    Value::String(text) => text.parse::<Dscp>().ok().map(Dscp::codepoint),
                    other => other.as_u64().and_then(|n| u8::try_from(n).ok()),
                };
                let codes: Vec<u8> = each(value).iter().filter_map(code).collect();
                // A line of a class map holds eight.
                let lines: Vec<Match> = codes.chunks(8).map(|codes| Match::Dscp(codes.to_vec())).collect();
                one_or(lines, Match::AnyOf)
            }
            "precedence" => Match::Precedence(numbers()),
            "exp" => Match::Experimental(numbers()),
            "not" => Match::Not(Box::new(self.plain(value, depth + 1))),
            "all" => one_or(each(value).iter().map(|one| self.plain(one, depth + 1)).collect(), Match::All),
            "any" => one_or(each(value).iter().map(|one| self.plain(one, depth + 1)).collect(), Match::AnyOf),
            "flows" => {
                let names: Vec<String> = each(value).iter().filter_map(Value::as_str).map(str::to_owned).collect();
                self.flows(&names)
            }
            other => {
                self.left_out(format!("a condition by `{other}`"));
                return None;
            }
        })
    }

    /// Groups of flows as the code points that they send.
    fn flows(&mut self, names: &[String]) -> Match {
        let mut codes = Vec::new();
        for flow in self.document.get("flows").and_then(Value::as_array).into_iter().flatten() {
            if text(flow, "name").is_some_and(|name| names.iter().any(|own| own == name)) {
                let code =
                    text(flow, "dscp").and_then(|text| text.parse::<Dscp>().ok()).unwrap_or(Dscp::DEFAULT).codepoint();
                if !codes.contains(&code) {
                    codes.push(code);
                }
            }
        }
        let message = format!("the flows {} are told by their code points", names.join(", "));
        self.report.warning(NOWHERE, message, "a router cannot tell groups of flows");
        one_or(codes.chunks(8).map(|codes| Match::Dscp(codes.to_vec())).collect(), Match::AnyOf)
    }
}

fn class_name(names: &mut [String], name: &str) {
    if let Some(last) = names.last_mut() {
        name.clone_into(last);
    }
}

fn one_or(mut all: Vec<Match>, several: fn(Vec<Match>) -> Match) -> Match {
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => one,
        (Some(last), false) => {
            all.push(last);
            several(all)
        }
        (None, _) => several(all),
    }
}

fn is_given(value: Option<&Value>) -> bool {
    value.is_some_and(|value| match value {
        Value::Null => false,
        Value::Array(all) => !all.is_empty(),
        Value::Object(table) => table.get("kind").and_then(Value::as_str) != Some("drop-tail"),
        _ => true,
    })
}

fn text<'a>(table: &'a Value, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

fn size(table: &Value, key: &str) -> Option<u64> {
    text(table, key).and_then(|text| parse_bytes(text).ok())
}

fn limit(value: &Value) -> Option<Limit> {
    let text = value.as_str()?;
    let packets = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"));
    match packets {
        Some(number) => number.trim().parse().ok().map(Limit::Packets),
        None => parse_bytes(text).ok().map(Limit::Bytes),
    }
}

fn share(value: &Value) -> Option<Share> {
    match value {
        Value::String(text) => match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| Share::Percent(percent.round() as u32)),
            None => parse_rate(text).ok().map(|rate| Share::Rate(rate.0)),
        },
        other => other.as_f64().map(|fraction| Share::Percent((fraction * 100.0).round() as u32)),
    }
}

fn shape(table: &Value) -> Option<Shape> {
    let rate = parse_rate(text(table, "rate")?).ok()?.0;
    Some(Shape { rate: Share::Rate(rate), burst: size(table, "burst"), excess: None, peak: false })
}

fn timed(table: &Value, interval: &str) -> Timed {
    let us = |key: &str| text(table, key).and_then(|text| parse_duration(text).ok()).map(|d| d.0 / 1_000_000);
    Timed {
        target: us("target"),
        interval: us(interval),
        ecn: table.get("ecn").and_then(Value::as_bool),
        ..Timed::default()
    }
}

fn red(table: &Value) -> Red {
    Red {
        min: size(table, "min"),
        max: size(table, "max"),
        avpkt: size(table, "mean-packet"),
        probability: table.get("max-p").and_then(Value::as_f64).map(|p| (p * 1e6).round() as u32),
        ecn: table.get("ecn").and_then(Value::as_bool).unwrap_or(false),
        adaptive: table.get("adaptive").is_some_and(|adaptive| !adaptive.is_null()),
        ..Red::default()
    }
}

fn wred(table: &Value) -> Wred {
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
