//! Decompilation of a port of a scenario into a configuration.

mod conditioners;
mod conditions;
mod state;
mod values;

use crate::ir::{
    Class, Config, Fair, FqCodel, HtbClass, Limit, Match, Policy, Port, Priority, Queue, Rule, Scheduler, Sfq, Share,
    Timed,
};
use crate::{Imported, Report};
use conditioners::{simple, within};
use serde_json::Value;
use state::{ClassCondition, DEFAULT_CLASS, Lifting, MAX_DEPTH, NOWHERE};
use tailback_units::{parse_bytes, parse_duration, parse_rate};
use values::{is_given, limit, not_of_linux, red, shape, share, size, text, timed, wred};

/// Returns the configuration of a port of a scenario, which is given as its canonical document. `port` is
/// `NODE:NEIGHBOUR`, or either of them; `None`: the only port with a limited buffer, a discipline, a shaper, a ring or
/// conditioners. Settings without a counterpart in configurations are reported as unsupported; no such port, or
/// several, is an error.
pub fn lift(document: &Value, port: Option<&str>) -> Imported {
    let mut lifting = Lifting {
        document,
        config: Config::default(),
        report: Report::default(),
        class_conditions: Vec::new(),
        outer: Vec::new(),
        line: None,
    };
    if let Some((node, neighbour, table)) = lifting.chosen(port) {
        lifting.line = lifting.rate(&node, &neighbour);
        let own = lifting.port(&node, &neighbour, &table);
        lifting.config.ports.push(own);
    }
    Imported { config: lifting.config, report: lifting.report }
}

impl Lifting<'_> {
    /// Returns node, neighbour and table of the selected port; `None`: none or several match, which is reported.
    fn chosen(&mut self, wanted: Option<&str>) -> Option<(String, String, Value)> {
        let mut found = Vec::new();
        for (node, switch) in self.document.get("switches").and_then(Value::as_object).into_iter().flatten() {
            for (neighbour, table) in switch.get("ports").and_then(Value::as_object).into_iter().flatten() {
                let name = format!("{node}:{neighbour}");
                let is_selected = wanted.map_or_else(
                    || {
                        let limited = text(table, "buffer").is_some_and(|buffer| buffer != "unlimited");
                        limited
                            || ["discipline", "shaper", "ring", "conditioners"]
                                .iter()
                                .any(|key| is_given(table.get(*key)))
                    },
                    |wanted| wanted == name || wanted == node || wanted == neighbour,
                );
                if is_selected {
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
                    "there is no such port, or no port with settings of its queue",
                    "write NODE:NEIGHBOUR of a port under `switches`, such as ce:sink",
                );
                None
            }
            several => {
                let all = names(several);
                self.report.error(NOWHERE, "several ports match", &format!("choose with --port: {all}"));
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
        if is_given(table.get("conditioners")) {
            self.conditioners(table, &mut root);
        }
        let base = table.get("discipline").and_then(|inside| text(inside, "base"));
        made.bandwidth = base.and_then(|base| parse_rate(base).ok()).map(|rate| rate.0);
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
        } else if let Some(found) = table.get("buffer").and_then(limit).filter(|_| root.limit.is_none()) {
            self.own_limit(&mut root, found);
        }
        made.root = root;
        made
    }

    /// Sets the limit of a discipline without classes to that of its port; other languages than MQC limit each in one unit.
    fn own_limit(&mut self, class: &mut Class, limit: Limit) {
        let unit = match &class.queue {
            Queue::Red(_) => "bytes",
            Queue::Sfq(_) | Queue::FqCodel(_) | Queue::FqPie(_) | Queue::Codel(_) | Queue::Pie(_) => "packets",
            _ => return,
        };
        match (limit, unit) {
            (Limit::Bytes(_), "bytes") | (Limit::Packets(_), "packets") => class.limit = Some(limit),
            _ => self
                .not_exported(format!("the buffer of the port is not exported: this discipline is limited in {unit}")),
        }
    }

    /// Returns the rate in bit/s of the link from `node` to `neighbour`; `None`: not stated.
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

    /// Writes the discipline `inside` into its class; `name` is that of the policy that a discipline with classes
    /// becomes.
    fn inside(&mut self, class: &mut Class, inside: &Value, name: &str, depth: usize) {
        if depth > MAX_DEPTH {
            self.not_exported(format!("disciplines nested more than {MAX_DEPTH} deep are not exported"));
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
                class.queue = Queue::FqPie(inside.get("pie").map_or_else(Timed::default, |law| timed(law, "update")));
            }
            "codel" => class.queue = Queue::Codel(timed(inside, "interval")),
            "pie" => class.queue = Queue::Pie(timed(inside, "update")),
            "red" => {
                let found = red(inside, self.line);
                for key in not_of_linux(inside, &found) {
                    self.not_exported(format!("`{key}` of the discipline `red` is not exported"));
                }
                class.queue = Queue::Red(found);
            }
            "class-based" | "priority" | "wrr" | "htb" => {
                let found = self.policy(inside, kind, name, depth);
                class.queue = Queue::Policy(found);
            }
            other => self.not_exported(format!("the discipline `{other}` is not exported")),
        }
    }

    /// Converts a discipline with classes into a policy, adds that to the configuration, and returns its name.
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
            let here = within(self.outer.last(), one.get("match").unwrap_or(&serde_json::json!({})));
            self.outer.push(here.clone());
            let mut class = self.class(one, &own, quantum, depth);
            let _ = self.outer.pop();
            class.parent = text(one, "parent").map(str::to_owned);
            // A class that matches no packet needs a rule only in MQC, where each class has a class map.
            let nothing = serde_json::json!({ "not": {} });
            let matches = one.get("match").filter(|when| !when.is_null());
            if let Some(when) = matches.filter(|when| scheduler == Scheduler::ClassBased || **when != nothing) {
                let named = if scheduler == Scheduler::ClassBased { Some(own.as_str()) } else { None };
                // In other languages than MQC each alternative is a filter of its own.
                if scheduler != Scheduler::ClassBased {
                    for alternative in simple(when).as_array().cloned().unwrap_or_else(|| vec![simple(when)]) {
                        let whole = within(self.outer.last(), &alternative);
                        let rule = Some(made.rules.len());
                        self.class_conditions.push(ClassCondition {
                            policy: made.name.clone(),
                            class: own.clone(),
                            when: whole,
                            rule,
                        });
                        let when = self.condition(&alternative, None);
                        made.rules.push(Rule { when, class: own.clone(), police: None, at: NOWHERE });
                    }
                    made.classes.push(class);
                    continue;
                }
                let when = self.condition(when, named);
                let class = if let Match::ClassMap(map) = &when { map.clone() } else { own.clone() };
                made.rules.push(Rule { when, class, police: None, at: NOWHERE });
                if let Some(rule) = made.rules.last() {
                    // In MQC a class has the name of its class map.
                    class_name(&mut names, &rule.class);
                }
            }
            if scheduler == Scheduler::ClassBased {
                class.name = names.last().cloned().unwrap_or(own);
                self.class_conditions.push(ClassCondition {
                    policy: made.name.clone(),
                    class: class.name.clone(),
                    when: here,
                    rule: None,
                });
            }
            made.classes.push(class);
        }
        match table.get("default") {
            Some(Value::String(default)) => made.default = Some(default.clone()),
            Some(rest) if !rest.is_null() => {
                let matches: Vec<&Value> = table
                    .get(key)
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                    .filter_map(|one| one.get("match"))
                    .collect();
                let others =
                    if matches.is_empty() { serde_json::json!({}) } else { serde_json::json!({ "not": matches }) };
                let when = within(self.outer.last(), &others);
                self.class_conditions.push(ClassCondition {
                    policy: made.name.clone(),
                    class: DEFAULT_CLASS.to_owned(),
                    when,
                    rule: None,
                });
                let mut class = self.class(rest, DEFAULT_CLASS, quantum, depth);
                DEFAULT_CLASS.clone_into(&mut class.name);
                made.classes.push(class);
                made.default = Some(DEFAULT_CLASS.to_owned());
            }
            // Packets that match no level belong to "normal", or to the last level.
            _ if scheduler == Scheduler::Priority => {
                let default = made.classes.iter().find(|class| class.name == "normal").or(made.classes.last());
                made.default = default.map(|class| class.name.clone());
            }
            _ => {}
        }
        let name = made.name.clone();
        self.config.policies.push(made);
        name
    }

    /// Returns the name, with a number appended if a policy has it already.
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

    /// Converts a class; `quantum` is that of its discipline in bytes.
    fn class(&mut self, table: &Value, name: &str, quantum: u64, depth: usize) -> Class {
        let mut made = Class { name: name.to_owned(), ..Class::default() };
        made.limit = table.get("limit").and_then(limit);
        made.bandwidth = table.get("bandwidth").and_then(share);
        made.bandwidth = made.bandwidth.or_else(|| {
            let parts = table.get("remaining")?.as_f64()?.round();
            if parts < 1.0 {
                self.not_exported(format!("class `{name}`: `remaining` below 1 is exported as 1"));
            }
            Some(Share::RemainingRatio((parts as u32).max(1)))
        });
        if let Some(priority) = table.get("priority").filter(|priority| !priority.is_null()) {
            let level = priority.get("level").and_then(Value::as_u64).map_or(1, |level| if level > 1 { 2 } else { 1 });
            let burst = text(priority, "burst").filter(|burst| *burst != "200ms");
            let bytes = burst.and_then(|burst| parse_bytes(burst).ok());
            if burst.is_some() && bytes.is_none() {
                self.not_exported(format!(
                    "class `{name}`: a priority burst stated as a time other than 200 ms, the default, is not exported"
                ));
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
        // A class with an inner policy holds no packets itself.
        made.limit = made.limit.filter(|_| !matches!(made.queue, Queue::Policy(_)));
        made
    }
}

/// Replaces the last of `names` by `name`.
fn class_name(names: &mut [String], name: &str) {
    if let Some(last) = names.last_mut() {
        name.clone_into(last);
    }
}
