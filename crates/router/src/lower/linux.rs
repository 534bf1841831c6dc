//! Disciplines of Linux: HTB, HFSC, `fq` and `netem`.

use super::state::Lower;
use super::table::{bits, put};
use crate::ir::{Class, Curve, Fq, Netem, Policy};
use serde_json::{Value, json};

/// Default queue limit of Linux, in packets (`txqueuelen`).
pub(super) const LINUX_LIMIT: u64 = 1000;
/// Default burst of an HTB class in bytes (`q_htb.c`: an MTU of 1600 B, and the bytes of one tick of the kernel's
/// clock, which is a nanosecond and is neglected).
const HTB_BURST: u64 = 1600;

impl Lower<'_> {
    /// Returns the discipline of hierarchical token buckets.
    pub(super) fn htb(&mut self, policy: &Policy, depth: usize) -> Value {
        let order: Vec<&str> = policy.classes.iter().map(|class| class.name.as_str()).collect();
        let is_inner = |name: &str| policy.classes.iter().any(|class| class.parent.as_deref() == Some(name));
        let mut made = Vec::new();
        for class in parents_first(policy) {
            let Some(own) = class.htb.map(|htb| htb.on(self.line)) else { continue };
            let mut one = json!({ "name": class.name, "rate": bits(own.rate) });
            put(&mut one, "parent", class.parent.as_ref());
            put(&mut one, "ceil", own.ceil.map(|ceil| bits(ceil.max(own.rate))));
            put(&mut one, "burst", Some(self.burst(own.burst.unwrap_or(HTB_BURST))));
            put(&mut one, "cburst", Some(self.burst(own.cburst.unwrap_or(HTB_BURST))));
            put(&mut one, "accounting", self.accounting(own.counts));
            put(&mut one, "prio", own.prio);
            put(&mut one, "quantum", own.quantum.map(|bytes| format!("{bytes}B")));
            if !is_inner(&class.name) {
                let index = order.iter().position(|name| *name == class.name).unwrap_or(0);
                one["match"] = self.conditions.class(policy, &order, index, &mut self.report);
                one["limit"] = json!(self.limit(class, own.ceil.unwrap_or(own.rate), Some(LINUX_LIMIT)));
                put(&mut one, "discipline", self.inside(class, own.ceil.unwrap_or(own.rate), depth));
            }
            made.push(one);
        }
        let mut whole = json!({ "kind": "htb", "classes": made });
        // Without a default class, unclassified packets bypass the token buckets and are sent before all others.
        put(&mut whole, "default", policy.default.as_ref());
        whole
    }

    /// Returns the discipline of hierarchical fair service curves.
    pub(super) fn hfsc(&mut self, policy: &Policy, depth: usize) -> Value {
        let order: Vec<&str> = policy.classes.iter().map(|class| class.name.as_str()).collect();
        let is_inner = |name: &str| policy.classes.iter().any(|class| class.parent.as_deref() == Some(name));
        let (mut made, mut accounting) = (Vec::new(), None);
        for class in parents_first(policy) {
            let Some(own) = class.hfsc else { continue };
            accounting = accounting.or_else(|| self.accounting(own.counts));
            let mut one = json!({ "name": class.name });
            put(&mut one, "parent", class.parent.as_ref());
            put(&mut one, "rt", own.rt.map(curve));
            put(&mut one, "ls", own.ls.map(curve));
            put(&mut one, "ul", own.ul.map(curve));
            if !is_inner(&class.name) {
                // The long-term rate is the reference of percentages and times within the class.
                let rate = own.rt.or(own.ls).map_or(self.line, |curve| curve.m2.max(1));
                let index = order.iter().position(|name| *name == class.name).unwrap_or(0);
                one["match"] = self.conditions.class(policy, &order, index, &mut self.report);
                one["limit"] = json!(self.limit(class, rate, Some(LINUX_LIMIT)));
                put(&mut one, "discipline", self.inside(class, rate, depth));
            }
            made.push(one);
        }
        let mut whole = json!({ "kind": "hfsc", "classes": made });
        put(&mut whole, "default", policy.default.as_ref());
        put(&mut whole, "accounting", accounting);
        whole
    }
}

/// Returns the classes of a policy, each parent before its children. Classes whose parents are undefined or form a
/// cycle are left out.
fn parents_first(policy: &Policy) -> Vec<&Class> {
    let mut left: Vec<&Class> = policy.classes.iter().collect();
    let mut made: Vec<&Class> = Vec::new();
    loop {
        let known = |class: &&Class| {
            class.parent.as_ref().is_none_or(|parent| made.iter().any(|earlier| earlier.name == *parent))
        };
        let (now, later): (Vec<&Class>, Vec<&Class>) = left.into_iter().partition(known);
        if now.is_empty() {
            return made;
        }
        made.extend(now);
        left = later;
    }
}

fn curve(curve: Curve) -> Value {
    let mut made = json!({ "m2": bits(curve.m2) });
    put(&mut made, "m1", Some(bits(curve.m1)).filter(|_| curve.m1 > 0));
    put(&mut made, "d", Some(format!("{}us", curve.d)).filter(|_| curve.d > 0));
    made
}

/// Returns the discipline of `fq`.
pub(super) fn fq_discipline(fq: Fq) -> Value {
    let mut made = json!({ "kind": "fq" });
    put(&mut made, "buckets", fq.queues.map(|queues| queues.min(1 << 20)));
    put(&mut made, "quantum", fq.quantum.map(|bytes| format!("{bytes}B")));
    put(&mut made, "initial-quantum", fq.initial.map(|bytes| format!("{bytes}B")));
    put(&mut made, "flow-limit", fq.flow_limit);
    put(&mut made, "refill-delay", fq.refill.map(|us| format!("{us}us")));
    made
}

/// Returns the discipline of `netem`.
pub(super) fn netem_discipline(netem: Netem) -> Value {
    let part = |millionths: u32| f64::from(millionths) / 1e6;
    let mut made = json!({ "kind": "netem" });
    put(&mut made, "delay", Some(format!("{}us", netem.delay)).filter(|_| netem.delay > 0));
    put(&mut made, "jitter", Some(format!("{}us", netem.jitter)).filter(|_| netem.jitter > 0));
    put(&mut made, "distribution", Some("normal").filter(|_| netem.normal));
    put(&mut made, "loss", Some(part(netem.loss)).filter(|_| netem.loss > 0));
    if let Some([enter, leave, bad, good]) = netem.bursts.map(|bursts| bursts.map(part)) {
        made["bursts"] = json!({ "enter": enter, "leave": leave, "bad": bad, "good": good });
    }
    put(&mut made, "ecn", Some(true).filter(|_| netem.ecn));
    put(&mut made, "rate", netem.rate.map(bits));
    made
}
