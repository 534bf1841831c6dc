//! Compilation of the tables of CONFIG_DB into ports and policies.
//!
//! A packet gets a traffic class on arrival (DSCP_TO_TC_MAP of that port, else of `global`), the class selects a queue
//! of the output port (TC_TO_QUEUE_MAP), and the queues are served by their rows. Ports with the same rows share a
//! policy.

use super::json::Entry;
use super::tables::{Buffer, Map, Notes, Order, Scheduler, Wred, range};
use crate::ir::{self, Class, ClassMap, Config, Limit, Match, Medium, Policy, Port, Queue, Rule, Shape, Share};
use crate::{Place, Report, Scope};
use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

/// Upper bound of queue numbers; depends on the switch (`sonic-queue.yang`).
pub(super) const MOST_QUEUE: u8 = 63;
/// Upper bound of traffic classes; depends on the switch.
pub(super) const MOST_CLASS: u8 = 15;
/// Assumed limit in bytes of a queue without one; that of a switch is unknown.
const UNKNOWN_LIMIT: u64 = 1_000_000;
/// Bytes of a frame: the quantum of the smallest weight. A switch's unit of weight is unknown.
const FRAME: u64 = 1514;

/// Contents of the tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub schedulers: BTreeMap<String, Scheduler>,
    pub wreds: BTreeMap<String, Wred>,
    pub buffers: BTreeMap<String, Buffer>,
    pub codes: BTreeMap<String, Map>,
    pub priorities: BTreeMap<String, Map>,
    pub queues: BTreeMap<String, Map>,
    /// Ports in the order of the text.
    pub ports: Vec<Bound>,
    /// Maps of all ports without their own (`PORT_QOS_MAP`, `global`).
    pub global: Maps,
    used: BTreeSet<(&'static str, String)>,
    /// Priorities with PFC at any input, and the first place.
    paused: Option<(BTreeSet<u8>, Place)>,
}

/// A port with its bindings.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound {
    pub name: String,
    pub at: Place,
    pub speed: Option<u64>,
    pub down: Option<Place>,
    pub maps: Maps,
    pub rows: BTreeMap<u8, Row>,
    /// Place of a limit of all queues together.
    pub whole: Option<Place>,
}

/// The maps of a port.
#[derive(Clone, Debug, Default)]
pub(super) struct Maps {
    pub codes: Option<(String, Place)>,
    pub priorities: Option<(String, Place)>,
    pub queues: Option<(String, Place)>,
    pub scheduler: Option<(String, Place)>,
    /// Priorities with PFC.
    pub pauses: Option<(Vec<u8>, Place)>,
    pub notes: Notes,
}

/// Bindings of a queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub at: Place,
    pub scheduler: Option<(String, Place)>,
    pub wred: Option<(String, Place)>,
    pub buffer: Option<(String, Place)>,
}

/// Remarks already made on a policy.
#[derive(Default)]
struct Remarked {
    /// Profiles whose remarks have been made.
    profiles: BTreeSet<(&'static str, String)>,
    /// Assumed defaults, with the advice: the place of the first queue, and the queues.
    usual: BTreeMap<(String, &'static str), (Place, Vec<u8>)>,
}

/// A queue of a policy.
struct Made {
    number: u8,
    class: Class,
    order: Order,
    weight: u64,
    /// `true` if its scheduler is stated.
    stated: bool,
}

impl Tables {
    /// Returns the port of that name, added if missing.
    pub fn port(&mut self, name: &str, at: Place) -> &mut Bound {
        let index = self.ports.iter().position(|port| port.name == name).unwrap_or_else(|| {
            self.ports.push(Bound { name: name.to_owned(), at, ..Bound::default() });
            self.ports.len() - 1
        });
        &mut self.ports[index]
    }

    /// Applies a row of QUEUE or BUFFER_QUEUE: `Ethernet0,Ethernet4|3-4`.
    pub fn bind(&mut self, row: &Entry, report: &mut Report, mut fields: impl FnMut(&mut Row, &Entry, &mut Report)) {
        let parts: Vec<&str> = row.key.split('|').collect();
        let [ports, numbers] = parts.as_slice() else {
            let message = format!("`{}`: queues of a chassis with virtual output queues are not simulated", row.key);
            report.unsupported(row.at, message, Some("write the port, `|`, and the numbers of its queues"));
            return;
        };
        let Some((low, high)) = range(numbers, MOST_QUEUE) else {
            let advice = format!("write a number from 0 to {MOST_QUEUE}, or two with `-` between them");
            report.error(row.at, format!("`{numbers}` are no numbers of queues"), &advice);
            return;
        };
        for name in ports.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let port = self.port(name, row.at);
            for number in low..=high {
                let own = port.rows.entry(number).or_insert_with(|| Row { at: row.at, ..Row::default() });
                fields(own, row, report);
            }
        }
    }

    /// Returns the configuration.
    pub fn build(mut self, report: &mut Report) -> Config {
        let mut config = Config::default();
        let classes = self.classes(&mut config, report);
        // PFC stops the sender at an input: the input of a flow is unknown.
        for (priorities, at) in
            self.ports.iter().filter_map(|port| port.maps.pauses.as_ref()).chain(&self.global.pauses)
        {
            if !priorities.is_empty() {
                self.paused.get_or_insert((BTreeSet::new(), *at)).0.extend(priorities);
            }
        }
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        for bound in core::mem::take(&mut self.ports) {
            let mut port = Port {
                name: bound.name.clone(),
                medium: Medium::Ethernet,
                // sonic-port.yang: Mbit/s.
                rate: bound.speed.map(|speed| speed.saturating_mul(1_000_000)),
                at: bound.at,
                ..Port::default()
            };
            report.enter(Scope::Port(port.name.clone()));
            if let Some(at) = bound.down {
                report.warning(at, format!("{} is switched off", bound.name), "it is judged as if it were on");
            }
            if !bound.rows.is_empty() || bound.maps.queues.is_some() {
                if let Some((name, at)) = &bound.maps.scheduler {
                    port.root.shape = self.shaper(name, *at, report);
                }
                let key = bound.key(&self.global);
                if !known.contains_key(&key) {
                    report.enter(Scope::Policy(bound.name.clone()));
                    let policy = self.policy(&bound, &classes, report);
                    config.policies.push(policy);
                    let _ = known.insert(key.clone(), bound.name.clone());
                }
                port.root.queue = Queue::Policy(known.get(&key).cloned().unwrap_or_default());
            } else {
                let message = format!("{} has no rows in QUEUE: one queue of 40 packets is taken", bound.name);
                report.assumed(bound.at, message, "judge a port with queues");
            }
            config.ports.push(port);
        }
        report.enter(Scope::Everything);
        self.unused(report);
        config
    }

    /// Adds a class map for each traffic class that packets can have; returns the numbers.
    fn classes(&mut self, config: &mut Config, report: &mut Report) -> Vec<u8> {
        // Ports by their maps, which determine the traffic class.
        let mut groups: BTreeMap<(Option<String>, Option<String>), Vec<String>> = BTreeMap::new();
        for port in &self.ports {
            let name = |own: &Option<(String, Place)>, global: &Option<(String, Place)>| {
                own.as_ref().or(global.as_ref()).map(|(name, _)| name.clone())
            };
            let key =
                (name(&port.maps.codes, &self.global.codes), name(&port.maps.priorities, &self.global.priorities));
            groups.entry(key).or_default().push(port.name.clone());
        }
        let several = groups.len() > 1;
        let mut found: BTreeMap<u8, (Vec<Match>, Place)> = BTreeMap::new();
        for ((codes, priorities), ports) in groups {
            let by_code = codes.as_ref().and_then(|name| self.codes.get(name));
            let by_priority = priorities.as_ref().and_then(|name| self.priorities.get(name));
            if let (Some(_), Some(name)) = (by_code, &priorities) {
                report.assumed(
                    self.priorities.get(name).and_then(|map| map.values().next()).map_or(Place::default(), |own| own.1),
                    "the traffic class follows from code points and from priorities of tags: code points take precedence",
                    "bind one of the two maps",
                );
            }
            for class in 0..=MOST_CLASS {
                let Some((when, at)) = of_class(class, by_code, by_priority) else { continue };
                let when = if several {
                    let inputs = ports.iter().map(|port| Match::InputInterface(port.clone())).collect();
                    Match::All(vec![Match::AnyOf(inputs), when])
                } else {
                    when
                };
                let own = found.entry(class).or_insert_with(|| (Vec::new(), at));
                own.0.push(when);
            }
        }
        for (class, (conditions, at)) in &found {
            let map = ClassMap { name: class_name(*class), all: false, conditions: conditions.clone(), at: *at };
            config.class_maps.push(map);
        }
        found.into_keys().collect()
    }

    /// Returns the shaper of a whole port.
    fn shaper(&mut self, name: &str, at: Place, report: &mut Report) -> Option<Shape> {
        let Some(scheduler) = self.schedulers.get(name) else {
            report.error(at, format!("there is no scheduler `{name}`"), "paste the table SCHEDULER as well");
            return None;
        };
        let _ = self.used.insert(("SCHEDULER", name.to_owned()));
        scheduler.notes.report_to(report);
        shape(scheduler)
    }

    /// Returns the queues of a port in the order of service.
    fn policy(&mut self, bound: &Bound, classes: &[u8], report: &mut Report) -> Policy {
        bound.maps.notes.report_to(report);
        self.global.notes.report_to(report);
        let to_queue = bound.maps.queues.clone().or_else(|| self.global.queues.clone());
        let to_queue = to_queue.as_ref();
        let map = to_queue.and_then(|(name, _)| self.queues.get(name).cloned());
        if let (Some((name, at)), None) = (to_queue, &map) {
            report.error(*at, format!("there is no map `{name}`"), "paste the table TC_TO_QUEUE_MAP as well");
        } else if to_queue.is_none() {
            // `saiport.h`, SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP.
            let message = format!("{} has no tc_to_queue_map: all packets are in queue 0", bound.name);
            report.assumed(bound.at, message, "write tc_to_queue_map in PORT_QOS_MAP");
        }
        let mut rules: BTreeMap<u8, (Vec<Match>, Place)> = BTreeMap::new();
        let mut rest = 0;
        for class in classes {
            let found = map.as_ref().and_then(|map| map.get(class)).copied();
            if let (None, Some(_)) = (found, &map) {
                let at = to_queue.map_or(bound.at, |(_, at)| *at);
                let message = format!("traffic class {class} is not in the map of {}: queue 0 is taken", bound.name);
                report.assumed(at, message, "write a line for each traffic class");
            }
            let (queue, at) = found.unwrap_or((0, bound.at));
            if *class == 0 {
                rest = queue;
            }
            let own = rules.entry(queue).or_insert_with(|| (Vec::new(), at));
            own.0.push(Match::ClassMap(class_name(*class)));
        }
        // A row with only a limit does not make a queue that packets enter.
        let named = bound.rows.iter().filter(|(_, row)| row.scheduler.is_some() || row.wred.is_some());
        let numbers: BTreeSet<u8> =
            named.map(|(number, _)| number).chain(rules.keys()).copied().chain([rest]).collect();
        let (mut made, mut remarked) = (Vec::new(), Remarked::default());
        for number in numbers {
            let row = bound.rows.get(&number).cloned().unwrap_or(Row { at: bound.at, ..Row::default() });
            for (table, named) in [("SCHEDULER", &row.scheduler), ("WRED_PROFILE", &row.wred)] {
                self.used.extend(named.iter().map(|(name, _)| (table, name.clone())));
            }
            made.push(self.queue(number, &row, &mut remarked, report));
        }
        for ((message, advice), (at, numbers)) in remarked.usual {
            let names: Vec<String> = numbers.into_iter().map(queue_name).collect();
            report.assumed(at, format!("{}: {message}", names.join(", ")), advice);
        }
        if let Some((priorities, at)) = &self.paused {
            // Priority n of PFC means traffic class n, unless a map states otherwise.
            let held = |class: &u8| map.as_ref().and_then(|map| map.get(class)).map_or(0, |own| own.0);
            let names: BTreeSet<String> = priorities.iter().map(|class| queue_name(held(class))).collect();
            let names: Vec<String> = names.into_iter().collect();
            let message = format!(
                "senders into {} are paused before packets are lost (PFC), which is not simulated: here packets are lost",
                names.join(", ")
            );
            report.unsupported(
                *at,
                message,
                Some("the other queues are judged; write pfc_enable \"\" to judge without pauses"),
            );
        }
        if let Some(at) = bound.whole {
            report.unsupported(at, "limits of all queues of a port together are not simulated", None);
        }
        let mut policy = Policy { name: bound.name.clone(), at: bound.at, ..Policy::default() };
        order(&mut policy, made, report);
        policy.default = Some(queue_name(rest));
        policy.rules = rules
            .into_iter()
            .map(|(queue, (mut any, at))| {
                let when = if any.len() == 1 { any.remove(0) } else { Match::AnyOf(any) };
                Rule { when, class: queue_name(queue), police: None, at }
            })
            .collect();
        policy
    }

    fn queue(&mut self, number: u8, row: &Row, remarked: &mut Remarked, report: &mut Report) -> Made {
        let mut class = Class { name: queue_name(number), at: row.at, ..Class::default() };
        let missing = |report: &mut Report, table: &str, (name, at): &(String, Place)| {
            let advice = format!("paste the table {table} as well");
            report.error(*at, format!("there is no `{name}` in {table}"), &advice);
        };
        let (mut kind, mut weight, mut stated) = (Order::Packets, 1, false);
        if let Some(named) = &row.scheduler {
            stated = true;
            match self.schedulers.get(&named.0) {
                None => missing(report, "SCHEDULER", named),
                Some(scheduler) => {
                    (kind, weight) = (scheduler.order, scheduler.weight);
                    class.shape = shape(scheduler);
                    if remarked.profiles.insert(("SCHEDULER", named.0.clone())) {
                        scheduler.notes.report_to(report);
                    }
                }
            }
        } else {
            // `saischeduler.h`: SAI_SCHEDULING_TYPE_WRR, weight 1.
            let message = "no scheduler is stated: round robin of weight 1 is taken".to_owned();
            remarked
                .usual
                .entry((message, "write `scheduler` in QUEUE"))
                .or_insert((row.at, Vec::new()))
                .1
                .push(number);
        }
        let mut least = 0;
        if let Some(named) = &row.wred {
            match self.wreds.get(&named.0) {
                None => missing(report, "WRED_PROFILE", named),
                Some(wred) => {
                    if let Some(red) = wred.green {
                        least = red.max.unwrap_or(0);
                        class.queue = Queue::Red(red);
                    }
                    if remarked.profiles.insert(("WRED_PROFILE", named.0.clone())) {
                        wred.notes.report_to(report);
                    }
                }
            }
        }
        let mut limit = None;
        if let Some(named) = &row.buffer {
            match self.buffers.get(&named.0) {
                None => missing(report, "BUFFER_PROFILE", named),
                Some(buffer) => {
                    limit = buffer.limit;
                    if remarked.profiles.insert(("BUFFER_PROFILE", named.0.clone())) {
                        buffer.notes.report_to(report);
                    }
                }
            }
        }
        class.limit = Some(Limit::Bytes(limit.unwrap_or_else(|| {
            let taken = UNKNOWN_LIMIT.max(least.saturating_mul(2));
            let message = format!("how much may wait is not stated: {taken} B are taken");
            let advice = "write BUFFER_QUEUE with a profile whose pool has a size";
            remarked.usual.entry((message, advice)).or_insert((row.at, Vec::new())).1.push(number);
            taken
        })));
        Made { number, class, order: kind, weight, stated }
    }

    /// Reports rows that no port uses.
    fn unused(&self, report: &mut Report) {
        let schedulers = self.schedulers.iter().map(|(name, own)| ("SCHEDULER", name, own.at));
        let wreds = self.wreds.iter().map(|(name, own)| ("WRED_PROFILE", name, own.at));
        for (table, name, at) in schedulers.chain(wreds) {
            if !self.used.contains(&(table, name.clone())) {
                report.ignored(at, format!("no port uses `{name}`"));
            }
        }
    }
}

impl Bound {
    /// Returns the key by which ports share a policy.
    fn key(&self, global: &Maps) -> String {
        let name = |own: &Option<(String, Place)>| own.as_ref().map_or("", |(name, _)| name.as_str()).to_owned();
        let or = |own: &Option<(String, Place)>, other: &Option<(String, Place)>| name(&own.clone().or(other.clone()));
        let mut key = format!("{}|{}", or(&self.maps.queues, &global.queues), self.whole.is_some());
        for note in &self.maps.notes.0 {
            key.push_str(&note.message);
        }
        for (number, row) in &self.rows {
            let _ = write!(key, "|{number}:{},{},{}", name(&row.scheduler), name(&row.wred), name(&row.buffer));
        }
        key
    }
}

/// Returns the packets of a traffic class, and the place of the map. DSCPs outside the map, and untagged packets, have
/// class 0 (`saiport.h`, SAI_PORT_ATTR_QOS_DEFAULT_TC).
fn of_class(class: u8, codes: Option<&Map>, priorities: Option<&Map>) -> Option<(Match, Place)> {
    let (map, most) = match (codes, priorities) {
        (Some(map), _) => (map, 63),
        (None, Some(map)) => (map, 7),
        (None, None) => return (class == 0).then_some((Match::Any, Place::default())),
    };
    let held: Vec<u8> = (0..=most).filter(|key| map.get(key).map_or(0, |own| own.0) == class).collect();
    let at =
        map.values().find(|own| own.0 == class).or_else(|| map.values().next()).map_or(Place::default(), |own| own.1);
    if codes.is_none() && class == 0 {
        let others = (0..=most).filter(|key| !held.contains(key)).collect();
        return Some((Match::Not(Box::new(Match::Cos(others))), at));
    }
    if held.is_empty() {
        return None;
    }
    Some((if codes.is_some() { Match::Dscp(held) } else { Match::Cos(held) }, at))
}

fn class_name(class: u8) -> String {
    format!("tc-{class}")
}

fn queue_name(number: u8) -> String {
    format!("queue-{number}")
}

/// Returns the peak rate of a scheduler, which is in B/s.
fn shape(scheduler: &Scheduler) -> Option<Shape> {
    let rate = scheduler.peak?.saturating_mul(8);
    Some(Shape { rate: Share::Rate(rate), burst: scheduler.burst, excess: None, peak: false })
}

/// Orders strict queues first, the highest number before the others (IEEE 802.1Q, 8.6.8.1), then those in round robin.
fn order(policy: &mut Policy, mut made: Vec<Made>, report: &mut Report) {
    let turns = |kind: Order| made.iter().any(|own| own.stated && own.order == kind);
    let (bytes, packets) = (turns(Order::Bytes), turns(Order::Packets));
    if bytes && packets {
        let message =
            format!("{}: turns of bytes (DWRR) beside turns of packets (WRR); all count bytes here", policy.name);
        report.unsupported(policy.at, message, Some("write one of the two types for all queues"));
    }
    let rest = made.iter().filter(|own| own.order != Order::Strict);
    if let Some(highest) = rest.clone().map(|own| own.number).max()
        && let Some(lower) = made.iter().find(|own| own.order == Order::Strict && own.number < highest)
    {
        let message = format!(
            "{} is strict and goes before {}, which has a higher number and takes turns",
            lower.class.name,
            queue_name(highest)
        );
        report.assumed(lower.class.at, message, "switches differ here: let strict queues have the highest numbers");
    }
    let least = rest.clone().map(|own| own.weight).min().unwrap_or(1);
    policy.packets = packets && !bytes;
    let unit = if policy.packets { 1 } else { FRAME.div_ceil(least) };
    if rest.count() > 1 {
        let message = if policy.packets {
            "a turn of round robin has as many packets as its weight".to_owned()
        } else {
            format!("a turn of round robin has {unit} B for each unit of weight: only the shares are stated")
        };
        report.assumed(policy.at, message, "shares do not depend on it, delays within a round do");
    }
    let strict = |own: &Made| own.order == Order::Strict;
    made.sort_by_key(|own| (!strict(own), if strict(own) { MOST_QUEUE - own.number } else { own.number }));
    policy.scheduler = match (made.iter().any(strict), made.iter().all(strict)) {
        (_, true) => ir::Scheduler::Priority,
        (true, false) => ir::Scheduler::Ets,
        (false, false) => ir::Scheduler::Drr,
    };
    policy.classes = made
        .into_iter()
        .map(|own| {
            let quantum = (own.order != Order::Strict).then(|| own.weight.saturating_mul(unit));
            Class { quantum, ..own.class }
        })
        .collect();
}
