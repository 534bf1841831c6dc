//! Class-based weighted fair queueing with low-latency queues.

use super::classes::{
    Classes, DEFAULT_LIMIT, Identity, Inside, Part, check_class, check_classes_retune, check_inside_retune,
    check_limit, check_names, joined, site_within,
};
use crate::classify::{Classifier, Match};
use crate::retune::{Fixed, Retune, fixed};
use crate::signals::{Signals, Threshold, any_marks, inside};
use crate::state::{QUEUE, bytes_of};
use crate::{Accounting, Burst, Cx, Gate, Packet, Qdisc, Reason, Share, Site, Spec, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use tailback_diffserv::TokenBucket;
use tailback_document::{Checked, Invalid};
use tailback_units::{Amount, Dur, Rate, Time};

/// Class-based weighted fair queueing (CBWFQ), with strict priority for some classes (low-latency queueing, LLQ).
/// Classes without priority share the link, and the capacity that other classes leave unused, in proportion to their
/// bandwidths, by start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996). Priority classes are served first.
/// While any packet waits, a policer limits each priority class to its rate. Service of a priority class does not
/// advance the virtual time of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Classes, at most 250; a packet belongs to the first class that matches it.
    #[serde(default)]
    pub classes: Vec<Class>,
    /// Class of packets that no class matches.
    #[serde(default)]
    pub default: Rest,
    /// Rate to which percentages refer, 1 bit/s to 10 Tbit/s. Default: the rate of the link or of the shaper around
    /// this policy. For a policy within a class write the rate of that class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<Rate>,
    /// Overhead: bytes that policers count for a packet in addition to its buffer bytes. Default
    /// "0B".
    #[serde(default)]
    pub accounting: Accounting,
}

/// A class, with exactly one of `bandwidth`, `remaining` and `priority`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Class {
    /// Name, unique among the classes. Default: no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-fixed" = Identity::NAME_FIXED))]
    pub name: Option<String>,
    /// Packets that belong to the class, unless they match an earlier class.
    #[serde(rename = "match")]
    #[schemars(extend("x-fixed" = Identity::MATCH_FIXED))]
    pub matches: Match,
    /// Guaranteed bandwidth: a rate, or a percentage of `base`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Share>,
    /// Weight among the classes with `remaining` for the rate that priorities and bandwidths leave, above
    /// 0 and at most 1000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<f64>,
    /// Strict priority. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Strict>,
    /// Limit of the class in packets or bytes. Default "64packets".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Discipline within the class; priority classes are FIFOs and have none. Default: a FIFO with
    /// tail drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
}

/// Strict priority. Packets of classes with the same level are served in the order of their
/// arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Strict {
    /// Rate of the policer, or a percentage of `base`: packets that exceed the rate are dropped if they find other
    /// packets waiting. Default: no policer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Share>,
    /// Burst size of the policer. Default: 200 ms at its rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Burst>,
    /// Priority level: 1, served first, or 2, served after level 1 and before all classes without
    /// priority. Default 1.
    #[serde(default = "first")]
    #[schemars(range(min = 1, max = 2))]
    #[schemars(extend("x-fixed" = PRIORITY_FIXED))]
    pub level: u8,
}

/// Class of packets that no class matches. Without `bandwidth` and `remaining` its `remaining` is 1. If no other class
/// has `remaining`, it then gets the whole rate that bandwidths and priorities leave, at least 1 % of `base`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rest {
    /// Guaranteed bandwidth: a rate, or a percentage of `base`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Share>,
    /// Weight among the classes with `remaining` for the rate that priorities and bandwidths leave, above
    /// 0 and at most 1000000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<f64>,
    /// Limit of the class in packets or bytes. Default "64packets".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Amount>,
    /// Discipline within the class, such as { kind = "fair-queue" }. Default: a FIFO with tail drop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discipline: Option<Box<Spec>>,
}

impl Default for Strict {
    fn default() -> Strict {
        Strict { rate: None, burst: None, level: first() }
    }
}

fn first() -> u8 {
    1
}

/// Number of priority levels.
const LEVELS: usize = 2;
/// Minimum rate for all classes with `remaining` together, as a fraction of the whole rate.
const MIN_SHARE: f64 = 0.01;
/// Default burst of a policer.
const BURST: Burst = Burst::Time(Dur::from_ms(200));

/// A class without priority: its share of the rate, its limit and its inner discipline.
struct Fair<'a> {
    bandwidth: Option<Share>,
    remaining: Option<f64>,
    limit: Option<Amount>,
    discipline: Option<&'a Spec>,
}

impl Params {
    /// Returns the discipline with empty queues; `site` has its limits and its link.
    pub fn build(&self, site: &Site) -> ClassBased {
        let (mut places, mut strict, mut fair) = (Vec::new(), Vec::new(), 0);
        for class in &self.classes {
            if let Some(priority) = &class.priority {
                places.push(Place::Strict(strict.len()));
                strict.push(Low::new(priority, class.limit, self.base.unwrap_or(site.rate), site));
            } else {
                places.push(Place::Fair(fair));
                fair += 1;
            }
        }
        places.push(Place::Fair(fair));
        let matches = self.classes.iter().enumerate().map(|(i, class)| (&class.matches, i as u8));
        let classifier = Classifier::new(matches, self.classes.len() as u8);
        let inside =
            self.fair().map(|class| Inside::new(class.discipline, &site_within(site, class.limit, DEFAULT_LIMIT)));
        ClassBased {
            places,
            classes: Classes::new(classifier, inside.collect(), site),
            tags: self.weights(self.base.unwrap_or(site.rate)).into_iter().map(Tag::new).collect(),
            virtual_time: 0.0,
            strict,
            levels: Default::default(),
            accounting: self.accounting,
            site: *site,
            params: Box::new(self.clone()),
        }
    }
    /// Returns the classes without priority, the default class last.
    fn fair(&self) -> impl Iterator<Item = Fair<'_>> {
        let classes = self.classes.iter().filter(|class| class.priority.is_none()).map(|class| Fair {
            bandwidth: class.bandwidth,
            remaining: class.remaining,
            limit: class.limit,
            discipline: class.discipline.as_deref(),
        });
        let Rest { bandwidth, remaining, limit, ref discipline } = self.default;
        classes.chain([Fair { bandwidth, remaining, limit, discipline: discipline.as_deref() }])
    }
    /// Returns the weights of the classes without priority, bit/s, that of the default class last. A weight is the
    /// bandwidth of the class, or its part of the rate that bandwidths and priorities leave. `rate` is that to which
    /// percentages refer.
    fn weights(&self, rate: Rate) -> Vec<f64> {
        let whole = rate.0 as f64;
        let rate_of = |share: Option<Share>| share.map_or(0.0, |share| share.of(rate).0 as f64);
        let priorities = self.classes.iter().filter_map(|class| class.priority.as_ref());
        let prioritised: f64 = priorities.map(|priority| rate_of(priority.rate)).sum();
        let reserved: f64 = self.fair().map(|class| rate_of(class.bandwidth)).sum();
        let unreserved = (whole - prioritised - reserved).max(MIN_SHARE * whole);
        // A default class without parameters has a `remaining` of 1: if no other class has `remaining`, it gets the
        // whole unreserved rate.
        let part = |class: &Fair<'_>| class.remaining.unwrap_or(if class.bandwidth.is_none() { 1.0 } else { 0.0 });
        let parts: f64 = self.fair().map(|class| part(&class)).sum();
        let weight = |class: Fair<'_>| match class.bandwidth {
            Some(share) => share.of(rate).0 as f64,
            None => unreserved * part(&class) / parts,
        };
        self.fair().map(weight).collect()
    }
    /// Refuses classes without exactly one of bandwidth, remaining and priority, percentages above 100 % in total, and
    /// parameters out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.accounting.check("accounting")?;
        if self.base == Some(Rate(0)) {
            return Err(Invalid::new("base", "the rate is zero; write the rate of the class around this policy"));
        }
        check_names("classes", self.classes.iter().map(|class| class.name.as_ref()))?;
        let mut reserved = 0.0;
        for (i, class) in self.classes.iter().enumerate() {
            let field = format!("classes[{i}]");
            check_class(&field, &class.matches, class.limit, class.discipline.as_deref())?;
            let given = usize::from(class.bandwidth.is_some()) + usize::from(class.remaining.is_some());
            match (&class.priority, given) {
                (Some(_), 1..) => {
                    let advice = "a priority class has no bandwidth of its own; remove one of the two";
                    return Err(Invalid::new(format!("{field}.priority"), advice));
                }
                (None, 2..) => {
                    let advice = "`bandwidth` excludes `remaining`; remove one of the two";
                    return Err(Invalid::new(format!("{field}.remaining"), advice));
                }
                (None, 0) => {
                    let advice = "the share of the class is missing; write `bandwidth = \"20%\"`, `remaining = 20` or `priority = { rate = \"15%\" }`";
                    return Err(Invalid::new(field, advice));
                }
                _ => (),
            }
            reserved += Self::share(&field, class.bandwidth, class.remaining)?;
            if let Some(priority) = &class.priority {
                let field = format!("{field}.priority");
                check::within(&format!("{field}.level"), f64::from(priority.level), 1.0, LEVELS as f64)?;
                priority.burst.map_or(Ok(()), |burst| burst.check(&format!("{field}.burst")))?;
                if priority.burst.is_some() && priority.rate.is_none() {
                    let advice = "without a `rate` there is no policer; write the rate, or remove the burst";
                    return Err(Invalid::new(format!("{field}.burst"), advice));
                }
                if class.discipline.is_some() {
                    let advice = "a priority class is a FIFO; remove its `discipline`";
                    return Err(Invalid::new(format!("classes[{i}].discipline"), advice));
                }
                reserved += Self::share(&field, priority.rate, None)?;
            }
        }
        reserved += Self::share("default", self.default.bandwidth, self.default.remaining)?;
        if self.default.bandwidth.is_some() && self.default.remaining.is_some() {
            let advice = "`bandwidth` excludes `remaining`; remove one of the two";
            return Err(Invalid::new("default.remaining", advice));
        }
        if reserved > 1.0 + 1e-9 {
            let percent = (reserved * 1000.0).round() / 10.0;
            return Err(Invalid::new(
                "classes",
                format!("bandwidths and priorities are {percent} % of the rate; reserve 100 % at most"),
            ));
        }
        check_limit("default.limit", self.default.limit)?;
        let inner = self.default.discipline.as_deref();
        inner.map_or(Ok(()), |spec| Checked::check(spec).map_err(|e| joined("default.discipline", e)))
    }
    /// Refuses a share of 0 and a `remaining` out of range; returns the share as a fraction if it is written as a
    /// percentage, else 0.
    fn share(field: &str, bandwidth: Option<Share>, remaining: Option<f64>) -> Result<f64, Invalid> {
        if let Some(remaining) = remaining {
            check::above(&format!("{field}.remaining"), remaining, 0.0, 1e6)?;
        }
        let name = if field.ends_with("priority") { "rate" } else { "bandwidth" };
        bandwidth.map_or(Ok(()), |share| share.check(&format!("{field}.{name}")))?;
        Ok(match bandwidth {
            Some(Share::Part(part)) => part.0,
            _ => 0.0,
        })
    }
    /// Passes the path, the match and the inner discipline of each class to `f`.
    pub(crate) fn each_part(&mut self, f: &mut Part<'_>) {
        for (i, class) in self.classes.iter_mut().enumerate() {
            f(format!("classes[{i}]"), Some(&mut class.matches), class.discipline.as_deref_mut());
        }
        f("default".to_owned(), None, self.default.discipline.as_deref_mut());
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        any_marks(self.classes.iter().map(|class| &class.discipline).chain([&self.default.discipline]))
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let classes = self.classes.iter().enumerate();
        let named = classes.map(|(i, class)| (format!("classes[{i}].discipline"), class.limit, &class.discipline));
        let rest = ("default.discipline".to_owned(), self.default.limit, &self.default.discipline);
        for (path, limit, discipline) in named.chain([rest]) {
            if let Some(spec) = discipline {
                inside(&path, &**spec, &site_within(site, limit, DEFAULT_LIMIT), f);
            }
        }
    }
}

/// Place of a class: index in `strict` or in `classes`.
#[derive(Clone, Copy, Debug)]
enum Place {
    Strict(usize),
    Fair(usize),
}

/// A low-latency class, whose packets wait in the queue of its level.
#[derive(Debug)]
struct Low {
    /// Index of the level, 0 for level 1.
    level: usize,
    /// Limits of the class.
    site: Site,
    /// `None`: the rate is not limited.
    policer: Option<TokenBucket>,
    /// Number of waiting packets.
    packets: u64,
    /// Buffer bytes waiting.
    bytes: u64,
}

impl Low {
    /// Returns an empty class; percentages of the policer's rate refer to `base`.
    fn new(priority: &Strict, limit: Option<Amount>, base: Rate, site: &Site) -> Low {
        let bucket = |rate: Rate| TokenBucket::new(rate, priority.burst.unwrap_or(BURST).at(rate));
        Low {
            level: usize::from(priority.level) - 1,
            site: site_within(site, limit, DEFAULT_LIMIT),
            policer: priority.rate.map(|rate| bucket(rate.of(base))),
            packets: 0,
            bytes: 0,
        }
    }
    /// Returns `true` if a packet of `bytes` counted bytes conforms, and then takes its tokens.
    fn conforms(&mut self, now: Time, bytes: u32) -> bool {
        self.policer.as_mut().is_none_or(|bucket| {
            bucket.fill(now);
            bucket.take(bytes)
        })
    }
}

/// State of a class without priority in start-time fair queueing.
#[derive(Clone, Copy, Debug)]
struct Tag {
    /// Bit/s.
    weight: f64,
    /// Start tag of the next packet, in virtual time: bits divided by bit/s.
    start: f64,
    /// `true` if no packet of the class could leave in the present dequeue.
    held: bool,
}

impl Tag {
    fn new(weight: f64) -> Tag {
        Tag { weight, start: 0.0, held: false }
    }
}

/// Low-latency queues with priority over fairly queued classes. O(classes) per packet.
#[derive(Debug)]
pub struct ClassBased {
    /// Place of each class, the default class last.
    places: Vec<Place>,
    /// Classes without priority.
    classes: Classes,
    /// State of each of `classes`.
    tags: Vec<Tag>,
    /// The start tag of the last packet served of `classes`.
    virtual_time: f64,
    strict: Vec<Low>,
    /// For each level its waiting packets, each with the index of its class in `strict`.
    levels: [VecDeque<(usize, Packet)>; LEVELS],
    accounting: Accounting,
    site: Site,
    params: Box<Params>,
}

impl ClassBased {
    fn enqueue_strict(&mut self, number: usize, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let congested = self.packets() > 0;
        let bytes: u64 = self.strict.iter().map(|low| low.bytes).sum::<u64>() + self.classes.bytes();
        let full = self.site.is_full(self.packets(), bytes, packet.size);
        let low = &mut self.strict[number];
        let conforms = low.conforms(now, self.accounting.bytes(&packet));
        if congested && !conforms {
            return cx.drop(packet, Reason::Policed);
        }
        if full || low.site.is_full(low.packets, low.bytes, packet.size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        low.packets += 1;
        low.bytes += u64::from(packet.size);
        let level = low.level;
        self.levels[level].push_back((number, packet));
    }
    fn enqueue_fair(&mut self, class: usize, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        let strict: u64 = self.strict.iter().map(|low| low.bytes).sum();
        if self.site.is_full(self.packets(), strict + self.classes.bytes(), packet.size) {
            return cx.drop(packet, Reason::BufferFull);
        }
        if self.classes.enqueue(class, now, packet, cx) {
            self.tags[class].start = self.tags[class].start.max(self.virtual_time);
        }
    }
    fn dequeue_strict(&mut self, gate: &Gate) -> Option<Packet> {
        for level in &mut self.levels {
            let Some((_, head)) = level.front() else { continue };
            if !gate.admits(head.class(), head.dst) {
                continue;
            }
            let (number, packet) = level.pop_front()?;
            self.strict[number].packets -= 1;
            self.strict[number].bytes -= u64::from(packet.size);
            return Some(packet);
        }
        None
    }
    /// Removes and returns the packet with the smallest start tag. Classes whose packets the gate stops are passed over
    /// and get no compensation later.
    fn dequeue_fair(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        self.tags.iter_mut().for_each(|tag| tag.held = false);
        loop {
            let waiting =
                (0..self.tags.len()).filter(|c| !self.tags[*c].held && self.classes.backlog_of(*c).packets > 0);
            let class = waiting.min_by(|a, b| self.tags[*a].start.total_cmp(&self.tags[*b].start))?;
            let Some(packet) = self.classes.dequeue(class, now, gate, cx) else {
                self.tags[class].held = true;
                continue;
            };
            self.virtual_time = self.tags[class].start;
            self.tags[class].start += 8.0 * f64::from(packet.wire()) / self.tags[class].weight;
            for tag in self.tags.iter_mut().filter(|tag| tag.held) {
                tag.start = tag.start.max(self.virtual_time);
            }
            if self.classes.packets() == 0 {
                // At the end of a busy period the virtual time is the largest finish tag.
                self.virtual_time = self.tags.iter().map(|tag| tag.start).fold(self.virtual_time, f64::max);
            }
            return Some(packet);
        }
    }
}

/// Keeps the start tags; a new bandwidth applies from the next packet of its class on.
impl Retune for ClassBased {
    fn adopt(&mut self, now: Time, fresh: ClassBased) {
        self.classes.adopt(now, fresh.classes);
        for (tag, fresh) in self.tags.iter_mut().zip(fresh.tags) {
            tag.weight = fresh.weight;
        }
        for (low, fresh) in self.strict.iter_mut().zip(fresh.strict) {
            low.site = fresh.site;
            match (&mut low.policer, fresh.policer) {
                (Some(bucket), Some(fresh)) => _ = bucket.adopt(now, &fresh),
                (policer, fresh) => *policer = fresh,
            }
        }
        (self.accounting, self.site, self.params) = (fresh.accounting, fresh.site, fresh.params);
    }
}

/// Reason why the presence and the level of `priority` are fixed during a run.
const PRIORITY_FIXED: &str = "it decides in which queue packets wait";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fn classes(params: &Params) -> impl ExactSizeIterator<Item = Identity<'_>> {
            params.classes.iter().map(|class| Identity {
                name: class.name.as_ref(),
                parent: None,
                matches: Some(&class.matches),
                discipline: class.discipline.as_deref(),
            })
        }
        check_classes_retune("classes", classes(self), classes(to))?;
        check_inside_retune("default", self.default.discipline.as_deref(), to.default.discipline.as_deref())?;
        for (i, (from, to)) in self.classes.iter().zip(&to.classes).enumerate() {
            let field = format!("classes[{i}].priority");
            fixed(&field, from.priority.is_some(), to.priority.is_some(), PRIORITY_FIXED)?;
            let level = |class: &Class| class.priority.as_ref().map(|priority| priority.level);
            fixed(&format!("{field}.level"), level(from), level(to), PRIORITY_FIXED)?;
        }
        Ok(())
    }
}

impl Qdisc for ClassBased {
    fn enqueue(&mut self, now: Time, packet: Packet, cx: &mut Cx<'_>) {
        match self.places[self.classes.class(&packet)] {
            Place::Strict(number) => self.enqueue_strict(number, now, packet, cx),
            Place::Fair(class) => self.enqueue_fair(class, now, packet, cx),
        }
    }
    fn dequeue(&mut self, now: Time, gate: &Gate, cx: &mut Cx<'_>) -> Option<Packet> {
        self.classes.transmitted(now, cx);
        self.dequeue_strict(gate).or_else(|| self.dequeue_fair(now, gate, cx))
    }
    fn packets(&self) -> u64 {
        self.classes.packets() + self.levels.iter().map(|level| level.len() as u64).sum::<u64>()
    }
    fn visit(&self, f: &mut dyn FnMut(&Packet)) {
        self.levels.iter().flatten().for_each(|(_, packet)| f(packet));
        self.classes.visit(f);
    }
    super::classes::as_classes!(waking);
    fn set_rate(&mut self, rate: Rate) {
        self.site.rate = rate;
        self.classes.set_rate(rate);
        let rate = self.params.base.unwrap_or(rate);
        for (tag, weight) in self.tags.iter_mut().zip(self.params.weights(rate)) {
            tag.weight = weight;
        }
        let priorities = self.params.classes.iter().filter_map(|class| class.priority.as_ref());
        for (low, share) in self.strict.iter_mut().zip(priorities) {
            if let (Some(bucket), Some(share)) = (&mut low.policer, share.rate) {
                bucket.set_rate(share.of(rate));
            }
        }
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("priority_packets", self.levels.iter().map(|level| level.len() as f64).sum());
        f("virtual_time", self.virtual_time);
        self.classes.probe(f);
    }
    fn each_user(&mut self, f: &mut dyn FnMut(&mut dyn tailback_user::Install)) {
        self.classes.each_user(f);
    }
    fn state_bytes(&self) -> usize {
        let policers = self.strict.iter().filter_map(|low| low.policer.as_ref()).map(TokenBucket::state_bytes);
        let strict =
            policers.sum::<usize>() + self.strict.iter().map(|low| bytes_of!(low; packets, bytes)).sum::<usize>();
        let tags: usize = self.tags.iter().map(|tag| bytes_of!(tag; start, held)).sum();
        LEVELS * QUEUE + strict + tags + self.classes.state_bytes() + bytes_of!(self; virtual_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tailback_document::decode;

    fn weights(classes: Value) -> Vec<f64> {
        let params: Params = decode(json!({ "classes": classes })).expect("valid parameters");
        params.weights(Rate(1_000_000))
    }

    #[test]
    fn the_default_class_gets_what_bandwidths_and_priorities_leave_but_at_least_one_per_cent() {
        let (flow, bandwidth) =
            (json!({ "flow": 0 }), |share: &str| json!({ "match": { "flow": 1 }, "bandwidth": share }));
        assert_eq!(weights(json!([])), [1e6]);
        // A priority class without a rate reserves nothing.
        assert_eq!(weights(json!([{ "match": flow, "priority": {} }])), [1e6]);
        assert_eq!(weights(json!([{ "match": flow, "priority": { "rate": "250kbit/s" } }])), [750e3]);
        assert_eq!(weights(json!([bandwidth("25%")])), [250e3, 750e3]);
        assert_eq!(weights(json!([bandwidth("100%")])), [1e6, 10e3]);
        // The remaining 600 kbit/s are divided 2 : 1, where the default class has the weight 1.
        assert_eq!(weights(json!([bandwidth("40%"), { "match": flow, "remaining": 2 }])), [400e3, 400e3, 200e3]);
    }
}
