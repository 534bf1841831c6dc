//! Policers and markers as conditioners in front of a port's queue.

use super::conditions::dscp;
use super::state::Lower;
use super::table::bits;
use crate::Place;
use crate::ir::{Act, Mark, Police, Policy};
use serde_json::{Value, json};

/// Upper bound on the nesting of policies.
const MAX_DEPTH: usize = 8;

impl Lower<'_> {
    /// Returns the conditioners of a policy and of its inner policies. `rate` in bit/s is the reference of percentages;
    /// `outer` is the condition of all packets of the policy, `None`: all packets of the port.
    pub(super) fn conditioners(&mut self, name: &str, rate: u64, outer: Option<&Value>, depth: usize) -> Vec<Value> {
        let mut made = Vec::new();
        let Some(policy) = self.conditions.config.policy(name).filter(|_| depth <= MAX_DEPTH) else { return made };
        if !self.has_conditioners(policy, depth) {
            return made;
        }
        for rule in &policy.rules {
            let Some(police) = &rule.police else { continue };
            let when = self.conditions.condition(&rule.when, rule.at, &mut self.report);
            let when = both(outer, when);
            made.extend(self.police(police, &when, rate, rule.at));
        }
        let default = policy.default.as_deref();
        let order: Vec<&str> = policy.classes.iter().map(|class| class.name.as_str()).collect();
        for (index, class) in policy.classes.iter().enumerate() {
            let within = matches!(class.queue, crate::ir::Queue::Policy(_));
            if class.police.is_none() && class.set.is_empty() && !within {
                continue;
            }
            let when = if default == Some(class.name.as_str()) {
                let others: Vec<Value> = policy
                    .rules
                    .iter()
                    .map(|rule| self.conditions.condition(&rule.when, rule.at, &mut self.report))
                    .collect();
                if others.is_empty() { json!({}) } else { json!({ "not": others }) }
            } else {
                self.conditions.class(policy, &order, index, &mut self.report)
            };
            let when = both(outer, when);
            if let Some(marker) = self.marker(&class.set, &when, class.at) {
                made.push(marker);
            }
            if let Some(police) = &class.police {
                made.extend(self.police(police, &when, rate, class.at));
            }
            if let crate::ir::Queue::Policy(inner) = &class.queue {
                let own = class.shape.and_then(|shape| shape.bps(rate)).or_else(|| class.bandwidth?.of(rate));
                made.extend(self.conditioners(inner, own.unwrap_or(rate), Some(&when), depth + 1));
            }
        }
        made
    }

    /// `true` if the policy or an inner policy polices or marks packets.
    fn has_conditioners(&self, policy: &Policy, depth: usize) -> bool {
        policy.rules.iter().any(|rule| rule.police.is_some())
            || policy.classes.iter().any(|class| {
                class.police.is_some()
                    || !class.set.is_empty()
                    || matches!(&class.queue, crate::ir::Queue::Policy(name) if depth <= MAX_DEPTH
                        && self.conditions.config.policy(name).is_some_and(|inner| self.has_conditioners(inner, depth + 1)))
            })
    }

    /// Returns the conditioner that sets marks in the packets that meet `when`; `None`: no mark is simulated.
    fn marker(&mut self, marks: &[Mark], when: &Value, at: Place) -> Option<Value> {
        let mut table = json!({});
        for mark in marks {
            self.mark(*mark, &mut table, at);
        }
        let is_empty = table.as_object().is_none_or(serde_json::Map::is_empty);
        (!is_empty).then(|| json!({ "match": when, "conform": table }))
    }

    fn mark(&mut self, mark: Mark, table: &mut Value, at: Place) {
        match mark {
            Mark::Dscp(code) => table["dscp"] = json!(dscp(code)),
            Mark::Precedence(n) => table["precedence"] = json!(n),
            // Packets are classified before they are marked: these marks affect only the next router.
            other => self.report.warning(
                at,
                format!("the mark {other:?} is not simulated"),
                "it has no effect at this port, which classifies packets before it marks them",
            ),
        }
    }

    /// Returns the conditioner of a policer for the packets that meet `when`; `rate` in bit/s is the reference of
    /// percentages. `None`: the policer has no rate, which is reported.
    pub(super) fn police(&mut self, police: &Police, when: &Value, rate: u64, at: Place) -> Option<Value> {
        let Some(committed) = police.rate.of(rate) else {
            self.report.unsupported(at, "a policer with a share of the remaining bandwidth is not simulated", None);
            return None;
        };
        // Default of MQC, in bytes: 250 ms at the rate.
        let burst = police.burst.unwrap_or(committed / 32);
        let excess = police.excess.unwrap_or(burst);
        let meter = if let Some(peak) = police.peak.and_then(|peak| peak.of(rate)) {
            json!({ "kind": "tr-tcm", "cir": bits(committed), "cbs": self.burst(burst), "pir": bits(peak.max(committed)), "pbs": self.burst(excess) })
        } else if police.excess.is_some() || !police.violate.is_empty() {
            json!({ "kind": "sr-tcm", "cir": bits(committed), "cbs": self.burst(burst), "ebs": self.burst(excess) })
        } else {
            json!({ "kind": "token-bucket", "rate": bits(committed), "burst": self.burst(burst) })
        };
        let mut made = json!({ "match": when, "meter": meter });
        if let Some(accounting) = self.accounting(police.counts) {
            made["accounting"] = accounting;
        }
        let violate = if police.violate.is_empty() { &police.exceed } else { &police.violate };
        // A single bucket has two colours: packets that exceed it are red, and have the action of `violate`.
        for (key, acts) in [("conform", &police.conform), ("exceed", &police.exceed), ("violate", violate)] {
            let mut table = json!({});
            for act in acts {
                match act {
                    Act::Transmit => {}
                    Act::Drop => table["drop"] = json!(true),
                    Act::Set(mark) => self.mark(*mark, &mut table, at),
                }
            }
            if table.as_object().is_some_and(|table| !table.is_empty()) {
                made[key] = table;
            }
        }
        Some(made)
    }
}

/// Returns the conjunction of two conditions; `None`: all packets.
fn both(outer: Option<&Value>, inner: Value) -> Value {
    match outer {
        Some(outer) => json!({ "all": [outer, inner] }),
        None => inner,
    }
}
