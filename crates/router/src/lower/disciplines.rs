//! Policies and queues as disciplines of a scenario.

use super::linux::{LINUX_LIMIT, fq_discipline, netem_discipline};
use super::red::red_discipline;
use super::state::Lower;
use super::table::{bits, packets, put};
use crate::ir::{Class, Counting, Fair, Limit, Policy, Queue, Scheduler, Sfq, Share, Timed};
use serde_json::{Map, Value, json};

/// Default quantum in bytes: a frame of the device (`psched_mtu`, `include/net/pkt_sched.h`).
const FRAME: u64 = 1514;
/// Default limit of sfq on the number of active flows (`SFQ_DEFAULT_FLOWS`, `net/sched/sch_sfq.c`).
const SFQ_FLOWS: u64 = 128;
/// Default limit of sfq on the packets of one flow (`SFQ_MAX_DEPTH`, `net/sched/sch_sfq.c`).
const SFQ_DEPTH: u64 = 127;
/// Packets, practically unlimited: a class with an inner policy has no queue of its own; only the inner queues drop.
const NO_LIMIT: u64 = 1_000_000;
/// Largest weight of a class in a scenario (`crates/qdisc`, `wrr`).
const MAX_WEIGHT: u64 = 1_000_000;
/// Weight of a class with `bandwidth remaining percent 0`, where the others have their percentages.
const MIN_REMAINING: f64 = 1e-3;
/// Upper bound on the nesting of policies; routers allow three levels.
const MAX_DEPTH: usize = 8;
/// Upper bound on the number of classes of a port, on all levels in total.
const MAX_CLASSES: usize = 1000;

impl Lower<'_> {
    /// Returns the discipline of a class: its shaper, its inner policy, or its queue; `None`: a FIFO. `rate` in bit/s
    /// is the reference of its percentages.
    pub(super) fn inside(&mut self, class: &Class, rate: u64, depth: usize) -> Option<Value> {
        let shape = class.shape.and_then(|shape| Some((shape.bps(rate)?, shape)));
        let around = self.site;
        self.site = shape.map_or(around, |(shaped, _)| shaped.min(around));
        let inner = self.queue(class, shape.map_or(rate, |(shaped, _)| shaped), depth);
        self.site = around;
        let Some((shaped, shape)) = shape else { return inner };
        self.look_ahead(class, shaped);
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
        // Both buckets must have the tokens: one shaper encloses the other.
        let mut outer =
            json!({ "kind": "shaper", "rate": bits(peak.rate), "burst": self.burst(peak.burst), "discipline": made });
        put(&mut outer, "accounting", self.accounting(class.counts));
        Some(outer)
    }

    /// Returns the value of `accounting` in documents; `None`: the bytes that buffers count.
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

    /// Returns a burst of at least the largest packet of the traffic table, which would never conform to a smaller one.
    pub(super) fn burst(&self, bytes: u64) -> String {
        format!("{}B", bytes.max(self.largest))
    }

    fn queue(&mut self, class: &Class, rate: u64, depth: usize) -> Option<Value> {
        if !class.code_limits.is_empty() {
            if class.wred.is_none() && class.queue == Queue::Fifo {
                return Some(self.weighted_tail_drop(class, rate));
            }
            self.report.unsupported(
                class.at,
                format!("class `{}`: queue limits by code point are simulated only with a FIFO", class.name),
                Some("leave out random-detect, fair-queue or the inner policy"),
            );
        }
        if let Some(wred) = &class.wred {
            if let Queue::Fair(fair) = class.queue
                && !self.legacy
            {
                return Some(self.fair_queue_wred(class, wred, fair, rate));
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
            Queue::Fq(fq) => Some(fq_discipline(*fq)),
            Queue::Netem(netem) => Some(netem_discipline(*netem)),
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
                let advice = "it selects its profile by skb->tc_index, which no command of such a script sets";
                self.report.warning(
                    class.at,
                    format!("class `{}`: gred is simulated as RED with its default profile", class.name),
                    advice,
                );
                let profile =
                    gred.profiles.iter().find(|profile| profile.dp == gred.default).copied().unwrap_or_default();
                Some(red_discipline(profile.law, profile.limit.map(Limit::Bytes)))
            }
        }
    }

    /// Returns the number of flows of the traffic table in a class.
    fn flows_of(&self, class: &Class) -> u64 {
        let here = |group: &str| {
            self.members.iter().any(|own| {
                own.class.split('/').any(|part| part == class.name || class.name.is_empty())
                    && own.groups.iter().any(|own| own == group)
            })
        };
        let rows = self.conditions.traffic.rows.iter().filter(|row| here(&row.name));
        rows.map(|row| u64::from(row.count)).sum()
    }

    fn sfq(&mut self, class: &Class, sfq: Sfq) -> Value {
        let flows = self.flows_of(class);
        let held = sfq.flows.unwrap_or(SFQ_FLOWS);
        if flows > held {
            self.report.unsupported(
                class.at,
                format!("sfq serves {held} flows at a time and drops packets of further ones, which is not simulated: the traffic table has {flows}"),
                Some("raise `flows`"),
            );
        }
        let limit = if let Some(Limit::Packets(n)) = class.limit { n } else { SFQ_DEPTH };
        if let Some(depth) = sfq.depth.filter(|depth| *depth < limit.min(SFQ_DEPTH)) {
            self.report.unsupported(
                class.at,
                format!("sfq's limit of {depth} packets per flow (`depth`) is not simulated: a flow may fill the whole limit"),
                Some("lower `limit`"),
            );
        }
        let mut made = json!({ "kind": "sfq", "quantum": format!("{}B", sfq.quantum.unwrap_or(FRAME)) });
        put(&mut made, "perturb", sfq.perturb.filter(|s| *s > 0).map(|s| format!("{s}s")));
        put(&mut made, "buckets", sfq.divisor);
        put(&mut made, "victim", Some("head").filter(|_| sfq.head));
        made
    }

    /// Returns the discipline of a policy whose classes share `rate` bit/s; `None`: the name is undefined, or nested
    /// too deeply.
    pub(super) fn policy(&mut self, name: &str, rate: u64, depth: usize) -> Option<Value> {
        let config = self.conditions.config;
        let policy = config.policy(name)?;
        self.classes += policy.classes.len();
        if depth > MAX_DEPTH || self.classes > MAX_CLASSES {
            self.report.error(
                policy.at,
                format!("with `{name}` the tree of policies exceeds {MAX_DEPTH} levels or {MAX_CLASSES} classes"),
                "use fewer",
            );
            return None;
        }
        match policy.scheduler {
            Scheduler::ClassBased => self.class_based(policy, rate, depth),
            Scheduler::Priority => Some(self.priority(policy, &policy.classes, rate, depth)),
            Scheduler::Htb => Some(self.htb(policy, depth)),
            Scheduler::Hfsc => Some(self.hfsc(policy, depth)),
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
                        // Unmatched packets are in a strict band, so the rest needs the conditions of its rules.
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
        // Conditions of classes without a queue of their own: their packets are in the queue of class-default.
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
            } else if !class.code_limits.is_empty() {
                self.report.unsupported(
                    class.at,
                    format!("class `{name}`: queue limits by code point are not simulated in a priority class"),
                    None,
                );
            } else if class.shape.is_some() || class.queue != Queue::Fifo {
                self.report.warning(
                    class.at,
                    format!("class `{name}`: a priority class is simulated as one FIFO"),
                    "its shaper, queue or inner policy is left out",
                );
            }
            made.push(one);
        }
        let guaranteed = |class: &&Class| matches!(class.bandwidth, Some(Share::Rate(_) | Share::Percent(_)));
        if self.platform.shares_equally() && policy.classes.iter().any(|class| guaranteed(&class)) {
            self.report.unsupported(
                policy.at,
                format!("policy `{}`: routers divide the excess bandwidth equally among the classes; here it is divided in proportion", policy.name),
                Some("state `bandwidth remaining ratio`"),
            );
        }
        let rest = default.and_then(|name| policy.class(name));
        let mut last = Map::new();
        if let Some(class) = rest {
            // A policy with only the default class is that class's discipline.
            if made.is_empty() && class.bandwidth.is_none() {
                return self.inside(class, rate, depth);
            }
            let mut one = json!({});
            let share = if class.bandwidth.is_some() { self.share(class, rate, &mut one) } else { None };
            last.extend(one.as_object().cloned().unwrap_or_default());
            let _ = last.insert("limit".to_owned(), json!(self.limit(class, share.unwrap_or(rate), None)));
            if let Some(inside) = self.inside(class, share.unwrap_or(rate).max(base_of(class, rate)), depth) {
                let _ = last.insert("discipline".to_owned(), inside);
            }
        } else {
            let limit = self.limit(&Class::default(), rate, None);
            let _ = last.insert("limit".to_owned(), json!(limit));
        }
        if made.is_empty() {
            return last.remove("discipline");
        }
        if let Some(left) = Self::default_rate(policy, rate) {
            let _ = last.entry("bandwidth").or_insert_with(|| json!(bits(left)));
        }
        let mut whole = json!({ "kind": "class-based", "classes": made, "default": last });
        // Percentages of a policy within a class refer to that class's rate, those of an interface to its `bandwidth`.
        put(&mut whole, "base", Some(bits(rate)).filter(|_| rate != self.site));
        Some(whole)
    }

    /// Returns the rate in bit/s of a class-default that states none, if priority classes are limited only by `police`:
    /// the rate that neither their policers nor the guarantees of the other classes reserve, and at least 1 % of
    /// `rate`. `None`: the discipline computes it.
    fn default_rate(policy: &Policy, rate: u64) -> Option<u64> {
        let (mut reserved, mut policed) = (0u64, false);
        for class in &policy.classes {
            let own = match (class.priority.map(|priority| priority.rate), &class.police) {
                (Some(Some(own)), _) => own.of(rate)?,
                (Some(None), Some(police)) => {
                    policed = true;
                    police.rate.of(rate)?
                }
                (Some(None), None) => return None,
                (None, _) if Some(&class.name) == policy.default.as_ref() && class.bandwidth.is_some() => return None,
                // A share of the remaining bandwidth has no rate, and gives `None`.
                (None, _) => class.bandwidth.map_or(Some(0), |share| share.of(rate))?,
            };
            reserved = reserved.saturating_add(own);
        }
        policed.then(|| rate.saturating_sub(reserved).max(rate / 100).max(1))
    }

    /// Writes priority or guaranteed bandwidth of a class into `one`; returns its rate in bit/s, `None`: it has none.
    fn share(&mut self, class: &Class, rate: u64, one: &mut Value) -> Option<u64> {
        if let Some(priority) = class.priority {
            let mut own = json!({});
            put(&mut own, "rate", priority.rate.map(Lower::formatted));
            put(&mut own, "burst", priority.burst.map(|bytes| self.burst(bytes)));
            put(&mut own, "level", Some(priority.level).filter(|level| *level > 1));
            one["priority"] = own;
            return priority.rate.and_then(|share| share.of(rate));
        }
        match class.bandwidth {
            Some(share @ (Share::Rate(_) | Share::Percent(_))) => one["bandwidth"] = json!(Lower::formatted(share)),
            // 0 % means no bandwidth unless all others are idle: approximated by a small weight.
            Some(Share::RemainingPercent(0)) => one["remaining"] = json!(MIN_REMAINING),
            Some(Share::RemainingPercent(percent)) => one["remaining"] = json!(percent),
            Some(Share::RemainingRatio(ratio)) => one["remaining"] = json!(ratio),
            // A class that is only shaped takes part in the remaining bandwidth, with the smallest weight.
            None => one["remaining"] = json!(1),
        }
        class.bandwidth.and_then(|share| share.of(rate))
    }

    /// Formats a bandwidth in the notation of documents.
    fn formatted(share: Share) -> String {
        match share {
            Share::Rate(rate) => bits(rate),
            Share::Percent(percent) | Share::RemainingPercent(percent) => format!("{percent}%"),
            Share::RemainingRatio(ratio) => ratio.to_string(),
        }
    }

    /// Returns the queue limit of a class in the notation of documents. `rate` in bit/s converts times to bytes;
    /// `default_packets` is the default in packets, `None`: that of the platform.
    pub(super) fn limit(&mut self, class: &Class, rate: u64, default_packets: Option<u64>) -> String {
        if matches!(class.queue, Queue::Policy(_)) {
            if class.limit.is_some() {
                self.report.warning(
                    class.at,
                    format!(
                        "class `{}`: its limit has no effect, since only the queues of its inner policy hold packets",
                        class.name
                    ),
                    "limit the classes of the inner policy",
                );
            }
            return packets(NO_LIMIT);
        }
        let limit = match (class.limit, default_packets, &class.queue) {
            (Some(Limit::Percent(_)), ..) => {
                self.report.unsupported(
                    class.at,
                    format!("class `{}`: a limit in percent of the buffer, whose size is not known, is replaced by the default", class.name),
                    Some("write queue-limit in packets"),
                );
                self.default_limit(class, rate)
            }
            (Some(Limit::Packets(n)), None, _) => match self.platform.bytes_of_packet() {
                Some(bytes) => Limit::Bytes(n.saturating_mul(bytes)),
                None => Limit::Packets(n),
            },
            (Some(Limit::Bytes(total)), _, Queue::Sfq(Sfq { each: Some(each), .. })) => {
                Limit::Bytes(total.min(each.saturating_mul(self.flows_of(class).max(1))))
            }
            (Some(limit), ..) => limit,
            (None, _, Queue::FqCodel(_) | Queue::FqPie(_)) => Limit::Packets(10_240),
            (None, _, Queue::Sfq(_)) => Limit::Packets(127),
            (None, _, Queue::Netem(_)) => Limit::Packets(1_000),
            (None, _, Queue::Fq(_)) => Limit::Packets(10_000),
            (None, Some(default_packets), _) => Limit::Packets(default_packets),
            (None, None, _) => self.default_limit(class, rate),
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
        let default_quantum = if policy.packets { 1 } else { FRAME };
        let quantum = |class: &Class| class.quantum.unwrap_or(default_quantum).max(1);
        // Weights are quanta in bytes, or in a coarser unit if a weight would exceed its maximum.
        let unit = classes.iter().map(quantum).max().unwrap_or(default_quantum).div_ceil(MAX_WEIGHT).max(1);
        let (mut made, mut default) = (Vec::new(), json!({ "limit": packets(LINUX_LIMIT) }));
        for class in classes {
            let index = order.iter().position(|name| *name == class.name).unwrap_or(0);
            let weight = (quantum(class) / unit).clamp(1, MAX_WEIGHT);
            if weight * unit != quantum(class) {
                self.report.warning(
                    class.at,
                    format!("class `{}`: its quantum is rounded to {}", class.name, weight * unit),
                    "write quanta of at most 1000000",
                );
            }
            let mut one = json!({ "weight": weight, "limit": self.limit(class, rate, Some(LINUX_LIMIT)) });
            put(&mut one, "discipline", self.inside(class, rate, depth));
            if policy.default.as_ref() == Some(&class.name) {
                default = one;
                continue;
            }
            one["name"] = json!(class.name);
            one["match"] = self.conditions.class(policy, &order, index, &mut self.report);
            made.push(one);
        }
        let mut whole = json!({ "kind": "wrr", "classes": made, "default": default });
        if policy.packets {
            whole["count"] = json!("packets");
        } else {
            whole["count"] = json!("bytes");
            whole["quantum"] = json!(format!("{unit}B"));
        }
        whole
    }
}

/// Returns the lower bound on the reference rate within a class: 0 if it has a rate of its own, else `rate`, that of
/// its parent.
fn base_of(class: &Class, rate: u64) -> u64 {
    if class.bandwidth.is_some_and(|share| share.of(rate).is_some()) { 0 } else { rate }
}

/// Returns the fair queue of an interface, which is weighted by precedence; for one in a class see `class_fair_queue`.
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
        // `pie_calc_probability` (`net/sched/sch_pie.c`) shifts both by four bits: they are in sixteenths.
        made["alpha"] = json!(f64::from(alpha) / 16.0);
        made["beta"] = json!(f64::from(beta) / 16.0);
    }
    put(&mut made, "byte-mode", Some(true).filter(|_| law.byte_mode));
    made
}
