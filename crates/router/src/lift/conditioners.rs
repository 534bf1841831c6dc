//! Conversion of a port's conditioners into policers and marks of classes.

use super::state::{ClassCondition, DEFAULT_CLASS, Lifting, NOWHERE};
use super::values::size;
use crate::ir::{Act, Class, Counting, Mark, Match, Police, Policy, Queue, Rule, Share};
use serde_json::{Value, json};
use tailback_diffserv::Dscp;
use tailback_units::parse_rate;

/// Returns the conjunction of two conditions, simplified.
pub(super) fn within(outer: Option<&Value>, inner: &Value) -> Value {
    match outer {
        Some(outer) => simple(&json!({ "all": [outer, inner] })),
        None => simple(inner),
    }
}

/// Returns the condition simplified: without empty parts, without nested conjunctions, and without conjunctions or
/// disjunctions of a single condition.
pub(super) fn simple(when: &Value) -> Value {
    match when {
        Value::Array(any) if any.len() == 1 => any.first().map(simple).unwrap_or_default(),
        Value::Array(any) => Value::Array(any.iter().map(simple).collect()),
        Value::Object(table) if table.len() == 1 && table.contains_key("all") => {
            let mut all = Vec::new();
            for one in table.get("all").and_then(Value::as_array).into_iter().flatten() {
                match simple(one) {
                    Value::Object(empty) if empty.is_empty() => {}
                    Value::Object(mut inner) if inner.len() == 1 && inner.get("all").is_some_and(Value::is_array) => {
                        all.extend(inner.remove("all").and_then(|all| all.as_array().cloned()).unwrap_or_default());
                    }
                    one => all.push(one),
                }
            }
            match all.as_slice() {
                [] => json!({}),
                [one] => one.clone(),
                _ => json!({ "all": all }),
            }
        }
        Value::Object(table) if table.len() == 1 && table.contains_key("not") => {
            json!({ "not": simple(table.get("not").unwrap_or(&Value::Null)) })
        }
        other => other.clone(),
    }
}

impl Lifting<'_> {
    /// Assigns the conditioners of a port to the classes of their packets; a port without classes gets a policy for
    /// them.
    pub(super) fn conditioners(&mut self, table: &Value, root: &mut Class) {
        let conditioners: Vec<Value> = table.get("conditioners").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut own: Option<Policy> = None;
        for (index, one) in conditioners.iter().enumerate() {
            if one.get("direction").and_then(Value::as_str) == Some("ingress") {
                self.not_exported(format!(
                    "the conditioner {} is not exported: it applies to arriving packets",
                    index + 1
                ));
                continue;
            }
            let when = simple(one.get("match").filter(|when| !when.is_null()).unwrap_or(&json!({})));
            let made = police(one);
            if one.get("accounting").and_then(Value::as_str).is_some_and(|own| own != "0B") {
                self.not_exported(format!("the `accounting` of the conditioner {} is not exported", index + 1));
            }
            let marks = if made.is_none() { marks(one.get("conform")) } else { Vec::new() };
            // With a meter that colours all packets green, a conditioner is only a marker.
            let fixed = |meter: &Value| {
                let word = |key: &str| meter.get(key).and_then(Value::as_str).unwrap_or_default();
                word("kind") == "fixed" && word("colour") == "green"
            };
            let metered = one.get("meter").is_some_and(|meter| !meter.is_null() && !fixed(meter));
            if made.is_none() && (metered || marks.is_empty()) {
                self.not_exported(format!(
                    "the conditioner {} is not exported: no policer has its meter or its actions",
                    index + 1
                ));
                continue;
            }
            let attached = match self.class_conditions.iter().position(|class| class.when == when) {
                Some(index) => self.attach(index, made, marks),
                None if root.queue == Queue::Fifo && root.wred.is_none() => {
                    let name = self.unused("policed");
                    let policy = own.get_or_insert_with(|| Policy { name, ..Policy::default() });
                    let class =
                        if when == json!({}) { DEFAULT_CLASS.to_owned() } else { format!("policed{}", index + 1) };
                    let mut built = Class { name: class.clone(), police: made, set: marks, ..Class::default() };
                    if class == DEFAULT_CLASS {
                        policy.default = Some(class);
                    } else if let Match::ClassMap(map) = self.condition(&when, Some(&class)) {
                        policy.rules.push(Rule {
                            when: Match::ClassMap(map.clone()),
                            class: map.clone(),
                            police: None,
                            at: NOWHERE,
                        });
                        built.name = map;
                    }
                    policy.classes.push(built);
                    true
                }
                None => false,
            };
            if !attached {
                self.not_exported(format!(
                    "the conditioner {} is not exported: its condition is not that of a class",
                    index + 1
                ));
            }
        }
        if let Some(own) = own {
            root.queue = Queue::Policy(own.name.clone());
            self.config.policies.push(own);
        }
    }

    /// Adds a policer or marks to the class at `index`, or to its rule. Returns `false` if there is a policer already,
    /// or if a rule would have to set marks, which it cannot.
    fn attach(&mut self, index: usize, made: Option<Police>, marks: Vec<Mark>) -> bool {
        let Some(ClassCondition { policy, class, rule, .. }) = self.class_conditions.get(index) else { return false };
        let Some(policy) = self.config.policies.iter_mut().find(|own| own.name == *policy) else { return false };
        if let Some(rule) = rule {
            let rule = policy.rules.get_mut(*rule).filter(|rule| rule.police.is_none());
            return match (rule, made) {
                (Some(rule), Some(made)) => {
                    rule.police = Some(made);
                    true
                }
                _ => false,
            };
        }
        let Some(class) = policy.classes.iter_mut().find(|own| own.name == *class) else { return false };
        match made {
            Some(_) if class.police.is_some() => return false,
            Some(made) => class.police = Some(made),
            None => class.set.extend(marks),
        }
        true
    }
}

/// Returns the policer of a conditioner; `None`: it has no meter, or an unsupported one.
fn police(one: &Value) -> Option<Police> {
    let meter = one.get("meter").filter(|meter| !meter.is_null())?;
    let rate = |key: &str| {
        meter.get(key).and_then(Value::as_str).and_then(|text| parse_rate(text).ok()).map(|rate| Share::Rate(rate.0))
    };
    let kind = meter.get("kind").and_then(Value::as_str)?;
    let (committed, burst, peak, excess) = match kind {
        "token-bucket" => (rate("rate")?, size(meter, "burst"), None, None),
        "sr-tcm" => (rate("cir")?, size(meter, "cbs"), None, size(meter, "ebs")),
        "tr-tcm" => (rate("cir")?, size(meter, "cbs"), Some(rate("pir")?), size(meter, "pbs")),
        _ => return None,
    };
    let acts = |key: &str| {
        let table = one.get(key);
        if table.and_then(|table| table.get("drop")).and_then(Value::as_bool) == Some(true) {
            return vec![Act::Drop];
        }
        let marks: Vec<Act> = marks(table).into_iter().map(Act::Set).collect();
        if marks.is_empty() { vec![Act::Transmit] } else { marks }
    };
    let (conform, exceed, violate) = (acts("conform"), acts("exceed"), acts("violate"));
    // A single bucket has two colours, so `violate` has no effect.
    let violate = if kind == "token-bucket" || violate == exceed { Vec::new() } else { violate };
    Some(Police { rate: committed, burst, peak, excess, conform, exceed, violate, counts: Counting::default() })
}

/// Returns the marks that the action of a conditioner sets.
fn marks(table: Option<&Value>) -> Vec<Mark> {
    let Some(table) = table else { return Vec::new() };
    let number = |key: &str| table.get(key).and_then(Value::as_u64).and_then(|n| u8::try_from(n).ok());
    let code = match table.get("dscp") {
        Some(Value::String(name)) => name.parse::<Dscp>().ok().map(Dscp::codepoint),
        _ => number("dscp"),
    };
    let found = [code.map(Mark::Dscp), number("precedence").map(Mark::Precedence)];
    found.into_iter().flatten().collect()
}
