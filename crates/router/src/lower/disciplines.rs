//! Policies and queues as disciplines of a scenario.

use super::{Lower, bits, packets};
use crate::ir::{Class, Counting, Fair, Limit, Policy, Queue, Red, Scheduler, Sfq, Share, Timed};
use serde_json::{Map, Value, json};

/// Packets that wait in a queue of Linux by default (txqueuelen).
const LINUX_LIMIT: u64 = 1000;
/// Burst of an HTB class that states none, bytes (`q_htb.c`: the rate in one tick of the kernel's clock, which is a nanosecond,
/// and an mtu of 1600 B).
const HTB_BURST: u64 = 1600;
/// Bytes per round of a flow that states none: a frame of the device (`psched_mtu`, `include/net/pkt_sched.h`).
const FRAME: u64 = 1514;
/// Flows that sfq holds at a time, and packets of each (`SFQ_DEFAULT_FLOWS`, `SFQ_MAX_DEPTH`, `net/sched/sch_sfq.c`).
const SFQ_FLOWS: u64 = 128;
const SFQ_DEPTH: u64 = 127;
/// No limit: a class around a policy has no queue of its own, only the queues within drop.
const NO_LIMIT: u64 = 1_000_000;
/// Deepest nesting that is followed; routers allow three levels.
const DEEPEST: usize = 8;
/// Most classes of a scenario's port, all levels together.
const MOST: usize = 1000;

impl Lower<'_> {
    /// What a class does with its packets: shaper, policy or queue, and the limit. `rate` is what it shares, in bit/s.
    pub(super) fn inside(&mut self, class: &Class, rate: u64, depth: usize) -> Option<Value> {
        let shape = class.shape.and_then(|shape| Some((shape.bps(rate)?, shape)));
        let inner = self.queue(class, shape.map_or(rate, |(shaped, _)| shaped), depth);
        let Some((shaped, shape)) = shape else { return inner };
        let mut made = json!({ "kind": "shaper", "rate": bits(shaped) });
        if let Some(burst) =
            shape.burst.map(|burst| burst.saturating_add(shape.excess.filter(|_| shape.peak).unwrap_or(0)))
        {
            made["burst"] = json!(self.burst(burst));
        }
        put(&mut made, "accounting", self.accounting(class.counts));
        if let Some(inner) = inner {
            made["discipline"] = inner;
        }
        let Some(peak) = class.peak else { return Some(made) };
        // Two buckets, both of which must have the tokens: one around the other.
        let mut outer =
            json!({ "kind": "shaper", "rate": bits(peak.rate), "burst": self.burst(peak.burst), "discipline": made });
        put(&mut outer, "accounting", self.accounting(class.counts));
        Some(outer)
    }

    /// What a bucket counts, as documents write it; none where that is what buffers count.
    pub(super) fn accounting(&self, counts: Counting) -> Option<Value> {
        let own = i64::from(counts.overhead) - if counts.network { i64::from(self.header) } else { 0 };
        if counts.least == 0 && !counts.cells {
            return (own != 0).then(|| json!(format!("{own}B")));
        }
        let mut made = json!({ "bytes": format!("{own}B") });
        put(&mut made, "least", Some(format!("{}B", counts.least)).filter(|_| counts.least > 0));
        put(&mut made, "cells", Some(true).filter(|_| counts.cells));
        Some(made)
    }

    /// A burst that holds the largest packet of the table at least: a smaller one would never let it pass.
    pub(super) fn burst(&self, bytes: u64) -> String {
        format!("{}B", bytes.max(self.largest))
    }

    fn queue(&mut self, class: &Class, rate: u64, depth: usize) -> Option<Value> {
        if let Some(wred) = &class.wred {
            if let Queue::Fair(_) = class.queue {
                self.report.unsupported(
                    class.at,
                    format!("class `{}`: random-detect beside fair-queue; one FIFO is simulated", class.name),
                    None,
                );
            }
            if !matches!(class.queue, Queue::Policy(_)) {
                return Some(self.wred_discipline(class, wred, rate));
            }
        }
        match &class.queue {
            Queue::Fifo => None,
            Queue::Policy(name) => self.policy(name, rate, depth + 1),
            Queue::Fair(fair) if self.legacy => Some(fair_discipline(*fair)),
            Queue::Fair(fair) => Some(self.class_fair_queue(class, *fair, rate)),
            Queue::Sfq(sfq) => Some(self.sfq(class, *sfq)),
            Queue::FqCodel(own) => {
                let mut made = timed("fq-codel", own.law, "interval");
                put(&mut made, "buckets", own.flows);
                put(&mut made, "quantum", own.quantum.map(|bytes| format!("{bytes}B")));
                put(&mut made, "batch", own.batch);
                Some(made)
            }
            Queue::FqPie(law) => {
                let mut inner = timed("pie", *law, "update");
                let _ = inner.as_object_mut().map(|table| table.remove("kind"));
                Some(json!({ "kind": "fq-pie", "pie": inner }))
            }
            Queue::Codel(law) => Some(timed("codel", *law, "interval")),
            Queue::Pie(law) => Some(timed("pie", *law, "update")),
            Queue::Red(red) => Some(red_discipline(*red, class.limit)),
            Queue::Gred(gred) => {
                let advice =
                    "it needs skb->tc_index, which nothing in such a script sets; its default profile is used as RED";
                self.report.warning(class.at, format!("class `{}`: gred", class.name), advice);
                let profile =
                    gred.profiles.iter().find(|profile| profile.dp == gred.default).copied().unwrap_or_default();
                Some(red_discipline(profile.law, profile.limit.map(Limit::Bytes)))
            }
        }
    }

    fn sfq(&mut self, class: &Class, sfq: Sfq) -> Value {
        let here = |group: &str| {
            self.members.iter().any(|own| {
                own.class.split('/').any(|part| part == class.name || class.name.is_empty())
                    && own.groups.iter().any(|own| own == group)
            })
        };
        let rows = self.conditions.traffic.rows.iter().filter(|row| here(&row.name));
        let flows: u64 = rows.map(|row| u64::from(row.count)).sum();
        let held = sfq.flows.unwrap_or(SFQ_FLOWS);
        if flows > held {
            self.report.unsupported(
                class.at,
                format!("sfq holds {held} flows at a time and drops packets of further ones: the table has {flows}"),
                Some("raise `flows`"),
            );
        }
        let limit = if let Some(Limit::Packets(n)) = class.limit { n } else { SFQ_DEPTH };
        if let Some(depth) = sfq.depth.filter(|depth| *depth < limit.min(SFQ_DEPTH)) {
            self.report.unsupported(
                class.at,
                format!("sfq with {depth} packets of a flow: a flow may fill the whole limit here"),
                Some("lower `limit`"),
            );
        }
        let mut made = json!({ "kind": "sfq", "quantum": format!("{}B", sfq.quantum.unwrap_or(FRAME)) });
        put(&mut made, "perturb", sfq.perturb.filter(|s| *s > 0).map(|s| format!("{s}s")));
        put(&mut made, "buckets", sfq.divisor);
        put(&mut made, "victim", Some("head").filter(|_| sfq.head));
        made
    }

    /// The discipline of a policy whose classes share `rate` bit/s; none if that leads nowhere.
    pub(super) fn policy(&mut self, name: &str, rate: u64, depth: usize) -> Option<Value> {
        let config = self.conditions.config;
        let policy = config.policy(name)?;
        self.classes += policy.classes.len();
        if depth > DEEPEST || self.classes > MOST {
            self.report.error(policy.at, format!("`{name}` makes the tree of policies too large"), "flatten it");
            return None;
        }
        match policy.scheduler {
            Scheduler::ClassBased => self.class_based(policy, rate, depth),
            Scheduler::Priority => Some(self.priority(policy, &policy.classes, rate, depth)),
            Scheduler::Htb => Some(self.htb(policy, depth)),
            Scheduler::Drr => Some(self.round_robin(policy, &policy.classes, rate, depth)),
            Scheduler::Ets => {
                let strict = policy.classes.iter().take_while(|class| class.quantum.is_none()).count();
                let (first, rest) = policy.classes.split_at_checked(strict).unwrap_or((&[], &policy.classes));
                let inner = if rest.is_empty() { None } else { Some(self.round_robin(policy, rest, rate, depth)) };
                if first.is_empty() {
                    return inner;
                }
                let mut made = self.priority(policy, first, rate, depth);
                if let Some(inner) = inner {
                    let mut last = json!({ "name": "rest", "limit": packets(NO_LIMIT), "discipline": inner });
                    let is_strict = first.iter().any(|class| Some(&class.name) == policy.default.as_ref());
                    if is_strict {
                        // What no rule is about is for a strict band; the others have what their rules are about.
                        let order: Vec<&str> = policy.classes.iter().map(|class| class.name.as_str()).collect();
                        let any: Vec<Value> = (strict..order.len())
                            .map(|index| self.conditions.class(policy, &order, index, &mut self.report))
                            .collect();
                        last["match"] = json!(any);
                    } else {
                        made["default"] = json!("rest");
                    }
                    if let Some(levels) = made.get_mut("levels").and_then(Value::as_array_mut) {
                        levels.push(last);
                    }
                }
                Some(made)
            }
        }
    }

    fn class_based(&mut self, policy: &Policy, rate: u64, depth: usize) -> Option<Value> {
        let default = policy.default.as_deref();
        let order: Vec<&str> =
            policy.classes.iter().map(|class| class.name.as_str()).filter(|name| Some(*name) != default).collect();
        let mut made = Vec::new();
        // Packets of a class without a queue of its own wait with those of class-default.
        let mut elsewhere: Vec<Value> = Vec::new();
        for (index, name) in order.iter().enumerate() {
            let Some(class) = policy.class(name) else { continue };
            let mut when = self.conditions.class(policy, &order, index, &mut self.report);
            if !elsewhere.is_empty() {
                when = json!({ "all": [{ "not": elsewhere.clone() }, when] });
            }
            let queues = class.bandwidth.is_some()
                || class.priority.is_some()
                || class.shape.is_some()
                || class.queue != Queue::Fifo;
            if !queues {
                elsewhere.push(when);
                continue;
            }
            let mut one = json!({ "name": name, "match": when });
            let share = self.share(class, rate, &mut one);
            let limit = self.limit(class, share.unwrap_or(rate), None);
            put(&mut one, "limit", Some(limit));
            if class.priority.is_none() {
                put(&mut one, "discipline", self.inside(class, share.unwrap_or(rate).max(base_of(class, rate)), depth));
            } else if class.shape.is_some() || class.queue != Queue::Fifo {
                self.report.warning(
                    class.at,
                    format!("class `{name}`: a priority class is one FIFO here"),
                    "its inner policy was left out",
                );
            }
            made.push(one);
        }
        let guaranteed = |class: &&Class| matches!(class.bandwidth, Some(Share::Rate(_) | Share::Percent(_)));
        if self.platform.shares_equally() && policy.classes.iter().any(|class| guaranteed(&class)) {
            self.report.unsupported(
                policy.at,
                format!("policy `{}`: classes share in equal parts what is left; in proportion here", policy.name),
                Some("state `bandwidth remaining ratio`"),
            );
        }
        let rest = default.and_then(|name| policy.class(name));
        let mut last = Map::new();
        if let Some(class) = rest {
            // A policy that only shapes is that shaper.
            if made.is_empty() && class.bandwidth.is_none() {
                return self.inside(class, rate, depth);
            }
            let mut one = json!({});
            let share = if class.bandwidth.is_some() { self.share(class, rate, &mut one) } else { None };
            last.extend(one.as_object().cloned().unwrap_or_default());
            let _ = last.insert("limit".to_owned(), json!(self.limit(class, share.unwrap_or(rate), None)));
            if let Some(inside) = self.inside(class, rate, depth) {
                let _ = last.insert("discipline".to_owned(), inside);
            }
        } else {
            let limit = self.limit(&Class::default(), rate, None);
            let _ = last.insert("limit".to_owned(), json!(limit));
        }
        if made.is_empty() {
            return last.remove("discipline");
        }
        Some(json!({ "kind": "class-based", "classes": made, "default": last }))
    }

    /// Writes what a class is guaranteed, and returns it in bit/s where it is a rate.
    fn share(&mut self, class: &Class, rate: u64, one: &mut Value) -> Option<u64> {
        if let Some(priority) = class.priority {
            let mut own = json!({});
            put(&mut own, "rate", priority.rate.map(|share| self.written(share, rate)));
            put(&mut own, "burst", priority.burst.map(|bytes| self.burst(bytes)));
            put(&mut own, "level", Some(priority.level).filter(|level| *level > 1));
            one["priority"] = own;
            return priority.rate.and_then(|share| share.of(rate));
        }
        match class.bandwidth {
            Some(share @ (Share::Rate(_) | Share::Percent(_))) => one["bandwidth"] = json!(self.written(share, rate)),
            Some(Share::RemainingPercent(percent)) => one["remaining"] = json!(percent),
            Some(Share::RemainingRatio(ratio)) => one["remaining"] = json!(ratio),
            // A class that is only shaped takes part in what others leave, with the least weight.
            None => one["remaining"] = json!(1),
        }
        class.bandwidth.and_then(|share| share.of(rate))
    }

    /// A share as documents write it; `rate` is what it is a part of.
    fn written(&self, share: Share, rate: u64) -> String {
        match share {
            Share::Rate(rate) => bits(rate),
            Share::Percent(_) if self.absolute => bits(share.of(rate).unwrap_or(rate).max(1)),
            Share::Percent(percent) | Share::RemainingPercent(percent) => format!("{percent}%"),
            Share::RemainingRatio(ratio) => ratio.to_string(),
        }
    }

    fn limit(&mut self, class: &Class, rate: u64, usual: Option<u64>) -> String {
        if !class.code_limits.is_empty() {
            self.report.unsupported(
                class.at,
                format!("class `{}`: limits of single code points", class.name),
                Some("random-detect with equal thresholds comes near"),
            );
        }
        if matches!(class.queue, Queue::Policy(_)) {
            if class.limit.is_some() {
                self.report.warning(
                    class.at,
                    format!(
                        "class `{}`: its limit has no effect, since only the queues of the policy within hold packets",
                        class.name
                    ),
                    "limit the classes within",
                );
            }
            return packets(NO_LIMIT);
        }
        let limit = match (class.limit, usual, &class.queue) {
            (Some(Limit::Percent(_)), ..) => {
                self.report.unsupported(
                    class.at,
                    format!("class `{}`: a limit in percent of the buffers, whose size is not known", class.name),
                    Some("write queue-limit in packets"),
                );
                self.usual_limit(class, rate)
            }
            (Some(Limit::Packets(n)), None, _) => match self.platform.bytes_of_packet() {
                Some(bytes) => Limit::Bytes(n.saturating_mul(bytes)),
                None => Limit::Packets(n),
            },
            (Some(limit), ..) => limit,
            (None, _, Queue::FqCodel(_) | Queue::FqPie(_)) => Limit::Packets(10_240),
            (None, _, Queue::Sfq(_)) => Limit::Packets(127),
            (None, Some(usual), _) => Limit::Packets(usual),
            (None, None, _) => self.usual_limit(class, rate),
        };
        match limit {
            Limit::Packets(n) => packets(n.max(1)),
            Limit::Bytes(n) => format!("{}B", n.max(self.largest)),
            Limit::Microseconds(us) => {
                let bytes = u64::try_from(u128::from(rate) * u128::from(us) / 8_000_000).unwrap_or(u64::MAX);
                format!("{}B", bytes.max(self.largest))
            }
            Limit::Percent(n) => packets(u64::from(n.max(1))),
        }
    }

    fn priority(&mut self, policy: &Policy, classes: &[Class], rate: u64, depth: usize) -> Value {
        let order: Vec<&str> = policy.classes.iter().map(|class| class.name.as_str()).collect();
        let mut levels = Vec::new();
        for class in classes {
            let index = order.iter().position(|name| *name == class.name).unwrap_or(0);
            let when = self.conditions.class(policy, &order, index, &mut self.report);
            let mut one =
                json!({ "name": class.name, "match": when, "limit": self.limit(class, rate, Some(LINUX_LIMIT)) });
            put(&mut one, "discipline", self.inside(class, rate, depth));
            levels.push(one);
        }
        let mut made = json!({ "kind": "priority", "levels": levels });
        let default = policy.default.as_ref().filter(|name| classes.iter().any(|class| class.name == **name));
        put(&mut made, "default", default);
        made
    }

    fn round_robin(&mut self, policy: &Policy, classes: &[Class], rate: u64, depth: usize) -> Value {
        let order: Vec<&str> = policy.classes.iter().map(|class| class.name.as_str()).collect();
        let quantum = |class: &Class| class.quantum.unwrap_or(1514).max(1);
        let least = classes.iter().map(quantum).min().unwrap_or(1514);
        let (mut made, mut default) = (Vec::new(), json!({ "limit": packets(LINUX_LIMIT) }));
        for class in classes {
            let index = order.iter().position(|name| *name == class.name).unwrap_or(0);
            let weight = (quantum(class) + least / 2) / least;
            let mut one =
                json!({ "weight": weight.clamp(1, 10_000), "limit": self.limit(class, rate, Some(LINUX_LIMIT)) });
            put(&mut one, "discipline", self.inside(class, rate, depth));
            if policy.default.as_ref() == Some(&class.name) {
                default = one;
                continue;
            }
            one["name"] = json!(class.name);
            one["match"] = self.conditions.class(policy, &order, index, &mut self.report);
            made.push(one);
        }
        json!({ "kind": "wrr", "classes": made, "default": default, "count": "bytes", "quantum": format!("{least}B") })
    }

    fn htb(&mut self, policy: &Policy, depth: usize) -> Value {
        let order: Vec<&str> = policy.classes.iter().map(|class| class.name.as_str()).collect();
        let is_inner = |name: &str| policy.classes.iter().any(|class| class.parent.as_deref() == Some(name));
        let mut made = Vec::new();
        let mut left: Vec<&Class> = policy.classes.iter().collect();
        let mut written: Vec<&str> = Vec::new();
        // A parent stands before its classes.
        while !left.is_empty() {
            let (now, later): (Vec<&Class>, Vec<&Class>) = left
                .iter()
                .copied()
                .partition(|class| class.parent.as_deref().is_none_or(|parent| written.contains(&parent)));
            if now.is_empty() {
                break;
            }
            for class in now {
                written.push(&class.name);
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
            left = later;
        }
        let mut whole = json!({ "kind": "htb", "classes": made });
        // Without a default class, what no filter is about goes around the token buckets, before all others.
        put(&mut whole, "default", policy.default.as_ref());
        whole
    }
}

/// What the shares within a class refer to: the class's own rate if it has one, else what it is a part of.
fn base_of(class: &Class, rate: u64) -> u64 {
    if class.bandwidth.is_some_and(|share| share.of(rate).is_some()) { 0 } else { rate }
}

fn put(table: &mut Value, key: &str, value: Option<impl serde::Serialize>) {
    if let Some(value) = value {
        table[key] = json!(value);
    }
}

/// A fair queue on an interface weighs by precedence; one in a class does not, see `class_fair_queue`.
fn fair_discipline(fair: Fair) -> Value {
    let mut made = json!({ "kind": "fair-queue", "weights": "precedence" });
    put(&mut made, "threshold", fair.threshold.map(|n| packets(u64::from(n))));
    put(&mut made, "queues", fair.queues);
    made
}

fn timed(kind: &str, law: Timed, interval: &str) -> Value {
    let mut made = json!({ "kind": kind });
    put(&mut made, "target", law.target.map(|us| format!("{us}us")));
    put(&mut made, interval, law.interval.map(|us| format!("{us}us")));
    put(&mut made, "ecn", law.ecn);
    put(&mut made, "ce-threshold", law.ce_threshold.map(|us| format!("{us}us")));
    if let Some((alpha, beta)) = law.gains {
        // `pie_calc_probability` shifts both by four bits: they are sixteenths.
        made["alpha"] = json!(f64::from(alpha) / 16.0);
        made["beta"] = json!(f64::from(beta) / 16.0);
    }
    put(&mut made, "byte-mode", Some(true).filter(|_| law.byte_mode));
    made
}

/// RED as `sch_red` has it: by bytes, not gentle, and the average's weight from the burst it should let pass.
fn red_discipline(red: Red, limit: Option<Limit>) -> Value {
    let limit = if let Some(Limit::Bytes(bytes)) = limit { bytes } else { 1 << 20 };
    let max = red.max.unwrap_or(limit / 4).max(2);
    let min = red.min.unwrap_or(max / 3).clamp(1, max);
    let packet = red.avpkt.unwrap_or(1000).max(1);
    let probability = red.probability.map_or(0.02, |p| f64::from(p) / 1e6);
    let burst = red.burst.unwrap_or_else(|| (2 * min + max) / (3 * packet)).max(1);
    let mut made = json!({
        "kind": "red",
        "count": "bytes",
        "byte-mode": false,
        "gentle": false,
        "wait": true,
        "min": format!("{min}B"),
        "max": format!("{max}B"),
        "mean-packet": format!("{packet}B"),
        "max-p": probability,
        "ecn": red.ecn,
        // `red_enqueue`, RED_HARD_MARK: what can be marked is, unless harddrop is set.
        "above-max": if red.ecn && !red.hard { "mark" } else { "drop" },
    });
    if let Some(weight) = weight(burst, min, packet) {
        made["weight"] = json!(weight);
    }
    if red.adaptive {
        made["adaptive"] = json!({ "kind": "floyd" });
    }
    made
}

/// The weight 2^-w of the average that tc chooses (`tc_red_eval_ewma`): the least w for which a burst of so many packets into an
/// empty queue keeps the average below `min`.
pub(crate) fn weight(burst: u64, min: u64, packet: u64) -> Option<f64> {
    let a = burst as f64 + 1.0 - min as f64 / packet as f64;
    if a < 1.0 {
        return None;
    }
    let mut weight = 0.5f64;
    for _ in 1..32 {
        // (1 - (1 - W)^burst)/W by repeated multiplication: no transcendental function is needed.
        let mut power = 1.0f64;
        for _ in 0..burst.min(100_000) {
            power *= 1.0 - weight;
        }
        if a <= (1.0 - power) / weight {
            return Some(weight);
        }
        weight *= 0.5;
    }
    None
}
