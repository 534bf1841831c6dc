//! Reachability: only remarks about parts of the configuration that a port reaches can affect its result.

use crate::Scope;
use crate::ir::{Config, Match, Policy, Port, Queue};
use std::collections::BTreeSet;

/// Returns the parts of the configuration that can affect the packets of a port: the port, its policies, and the input
/// policies of `inputs`.
pub(super) fn of(port: &Port, inputs: &[&Port], config: &Config) -> BTreeSet<Scope> {
    let mut walk = Walk { config, found: BTreeSet::new() };
    if config.port(&port.name).is_none() {
        // The port of the policy is unknown: it may be any of the interfaces.
        walk.found.extend(config.ports.iter().map(|port| Scope::Port(port.name.clone())));
    }
    walk.port(&port.name);
    if let Queue::Policy(name) = &port.root.queue {
        walk.policy(name);
    }
    for input in inputs {
        walk.port(&input.name);
        if let Some(name) = &input.input {
            walk.policy(name);
        }
    }
    walk.found
}

/// Returns the parts of the configuration that a policy depends on.
pub(super) fn of_policy(name: &str, config: &Config) -> BTreeSet<Scope> {
    let mut walk = Walk { config, found: BTreeSet::new() };
    walk.policy(name);
    walk.found
}

struct Walk<'a> {
    config: &'a Config,
    found: BTreeSet<Scope>,
}

impl Walk<'_> {
    /// Adds a port, and, in a configuration of Junos, the interface of which it is a unit.
    fn port(&mut self, name: &str) {
        let _ = self.found.insert(Scope::Port(name.to_owned()));
        if let Some((outer, _)) = name.rsplit_once('.').filter(|_| self.config.arrival.is_some()) {
            let _ = self.found.insert(Scope::Port(outer.to_owned()));
        }
    }

    fn policy(&mut self, name: &str) {
        let Some(policy) = self.config.policy(name) else { return };
        if !self.found.insert(Scope::Policy(policy.name.clone())) {
            return;
        }
        let Policy { rules, classes, parts, .. } = policy;
        self.found.extend(parts.iter().cloned().map(Scope::Part));
        for rule in rules {
            self.condition(&rule.when);
        }
        for class in classes {
            if let Queue::Policy(inner) = &class.queue {
                self.policy(inner);
            }
        }
    }

    fn condition(&mut self, when: &Match) {
        match when {
            Match::ClassMap(name) => {
                let Some(map) = self.config.class_map(name) else { return };
                if self.found.insert(Scope::ClassMap(name.clone())) {
                    map.conditions.iter().for_each(|one| self.condition(one));
                }
            }
            Match::AccessList(name) => {
                let _ = self.found.insert(Scope::AccessList(name.clone()));
            }
            Match::Not(inner) => self.condition(inner),
            Match::All(all) | Match::AnyOf(all) => all.iter().for_each(|one| self.condition(one)),
            _ => {}
        }
    }
}
