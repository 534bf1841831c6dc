//! Compilation of the tables of CONFIG_DB into ports and policies.
//!
//! A packet gets a traffic class on arrival (DSCP_TO_TC_MAP of the input port, else of `global`), and the class selects
//! a queue of the output port (TC_TO_QUEUE_MAP). Schedulers, WRED profiles and limits of queues are bound by rows of
//! QUEUE and BUFFER_QUEUE. Ports with the same bindings share a policy.

use super::json::Entry;
use super::tables::{Buffer, Map, Notes, Order, Scheduler, Wred, range};
use crate::ir::{self, Class, ClassMap, Config, Limit, Match, Medium, Policy, Port, Queue, Rule, Shape, Share};
use crate::{Place, Report, Scope};
use core::fmt::Write as _;
use std::collections::{BTreeMap, BTreeSet};

/// Highest queue number that is accepted; that of a switch may be lower (`sonic-queue.yang`).
pub(super) const MAX_QUEUE: u8 = 63;
/// Highest traffic class that is accepted; that of a switch may be lower.
pub(super) const MAX_CLASS: u8 = 15;
/// Limit in bytes that is assumed for a queue without one; switches do not document theirs.
const UNKNOWN_LIMIT: u64 = 1_000_000;
/// Quantum of the smallest weight, in bytes: one frame. Switches do not document the bytes per unit of weight.
const FRAME: u64 = 1514;

/// Contents of the tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub schedulers: BTreeMap<String, Scheduler>,
    pub wreds: BTreeMap<String, Wred>,
    pub buffers: BTreeMap<String, Buffer>,
    /// DSCP_TO_TC_MAP.
    pub codes: BTreeMap<String, Map>,
    /// DOT1P_TO_TC_MAP.
    pub priorities: BTreeMap<String, Map>,
    /// TC_TO_QUEUE_MAP.
    pub queues: BTreeMap<String, Map>,
    /// Ports in the order of the text.
    pub ports: Vec<BoundPort>,
    /// Maps of all ports without their own (`PORT_QOS_MAP`, `global`).
    pub global: Maps,
    /// Rows, by table and name, that ports use.
    used: BTreeSet<(&'static str, String)>,
    /// Priorities with PFC at any input, and the place of the first one.
    paused: Option<(BTreeSet<u8>, Place)>,
}

/// A port with its bindings.
#[derive(Clone, Debug, Default)]
pub(super) struct BoundPort {
    pub name: String,
    pub at: Place,
    /// Speed in Mbit/s; `None`: unknown.
    pub speed: Option<u64>,
    /// Place of `admin_status` if the port is down.
    pub down: Option<Place>,
    pub maps: Maps,
    /// Bindings by queue number.
    pub rows: BTreeMap<u8, Row>,
    /// Place of a limit on the sum of all queues.
    pub whole: Option<Place>,
}

/// Names of the maps of a port, each with the place of its binding; `None`: no map is bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Maps {
    pub codes: Option<(String, Place)>,
    pub priorities: Option<(String, Place)>,
    pub queues: Option<(String, Place)>,
    /// Scheduler of the port, for its peak rate.
    pub scheduler: Option<(String, Place)>,
    /// Priorities with PFC (`pfc_enable`).
    pub pauses: Option<(Vec<u8>, Place)>,
    pub notes: Notes,
}

/// Names of the profiles of a queue, each with the place of its binding; `None`: no profile is bound.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub at: Place,
    pub scheduler: Option<(String, Place)>,
    pub wred: Option<(String, Place)>,
    pub buffer: Option<(String, Place)>,
}

/// Remarks on a policy that are made once.
#[derive(Default)]
struct Reported {
    /// Profiles, by table and name, whose remarks have been reported.
    profiles: BTreeSet<(&'static str, String)>,
    /// Assumed defaults by message and advice: place of the first queue, and numbers of all queues.
    assumed: BTreeMap<(String, &'static str), (Place, Vec<u8>)>,
}

/// A queue of a policy.
struct BuiltQueue {
    number: u8,
    class: Class,
    order: Order,
    weight: u64,
    /// `true` if the text states its scheduler.
    stated: bool,
}

impl Tables {
    /// Returns the port of that name, which is added if missing.
    pub fn port(&mut self, name: &str, at: Place) -> &mut BoundPort {
        let index = self.ports.iter().position(|port| port.name == name).unwrap_or_else(|| {
            self.ports.push(BoundPort { name: name.to_owned(), at, ..BoundPort::default() });
            self.ports.len() - 1
        });
        &mut self.ports[index]
    }

    /// Applies `fields` to each queue that the key of a row of QUEUE or BUFFER_QUEUE names, such as
    /// `Ethernet0,Ethernet4|3-4`.
    pub fn bind(&mut self, row: &Entry, report: &mut Report, mut fields: impl FnMut(&mut Row, &Entry, &mut Report)) {
        let parts: Vec<&str> = row.key.split('|').collect();
        let [ports, numbers] = parts.as_slice() else {
            let message = format!("`{}`: queues of a chassis with virtual output queues are not simulated", row.key);
            report.unsupported(row.at, message, Some("write PORTS|NUMBERS, such as Ethernet0,Ethernet4|3-4"));
            return;
        };
        let Some((low, high)) = range(numbers, MAX_QUEUE) else {
            let advice = format!("write a number from 0 to {MAX_QUEUE}, or a range such as 3-4");
            report.error(row.at, format!("`{numbers}` is not a queue number or a range of them"), &advice);
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
        // PFC stops the sender at an input. The input of a flow is unknown, so the priorities of all inputs count.
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
                report.warning(
                    at,
                    format!("the admin_status of {} is down", bound.name),
                    "it is simulated as if it were up",
                );
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
                let message = format!("{} has no rows in QUEUE: a FIFO of 40 packets is assumed", bound.name);
                report.assumed(bound.at, message, "simulate a port with rows in QUEUE");
            }
            config.ports.push(port);
        }
        report.enter(Scope::Everything);
        self.unused(report);
        config
    }

    /// Adds a class map for each traffic class that packets can have; returns these classes.
    fn classes(&mut self, config: &mut Config, report: &mut Report) -> Vec<u8> {
        // Ports with the same maps form a group: the maps determine the traffic class.
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
                    "both the DSCP and the VLAN priority determine the traffic class: the DSCP is used",
                    "bind only one of dscp_to_tc_map and dot1p_to_tc_map",
                );
            }
            for class in 0..=MAX_CLASS {
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

    /// Returns the shaper of a whole port; `None`: the scheduler has no peak rate, or does not exist, which is
    /// reported.
    fn shaper(&mut self, name: &str, at: Place, report: &mut Report) -> Option<Shape> {
        let Some(scheduler) = self.schedulers.get(name) else {
            report.error(at, format!("there is no scheduler `{name}`"), "paste the table SCHEDULER as well");
            return None;
        };
        let _ = self.used.insert(("SCHEDULER", name.to_owned()));
        scheduler.notes.report_to(report);
        shape(scheduler)
    }

    /// Returns the policy of a port: its queues in the order of service, and the rules that select them.
    fn policy(&mut self, bound: &BoundPort, classes: &[u8], report: &mut Report) -> Policy {
        bound.maps.notes.report_to(report);
        self.global.notes.report_to(report);
        let to_queue = bound.maps.queues.clone().or_else(|| self.global.queues.clone());
        let to_queue = to_queue.as_ref();
        let map = to_queue.and_then(|(name, _)| self.queues.get(name).cloned());
        if let (Some((name, at)), None) = (to_queue, &map) {
            report.error(
                *at,
                format!("there is no map `{name}` in TC_TO_QUEUE_MAP"),
                "paste the table TC_TO_QUEUE_MAP as well",
            );
        } else if to_queue.is_none() {
            // `saiport.h`, SAI_PORT_ATTR_QOS_TC_TO_QUEUE_MAP.
            let message = format!("{} has no tc_to_queue_map: all packets enter queue 0", bound.name);
            report.assumed(bound.at, message, "write tc_to_queue_map in PORT_QOS_MAP");
        }
        let mut rules: BTreeMap<u8, (Vec<Match>, Place)> = BTreeMap::new();
        let mut default_queue = 0;
        for class in classes {
            let found = map.as_ref().and_then(|map| map.get(class)).copied();
            if let (None, Some(_)) = (found, &map) {
                let at = to_queue.map_or(bound.at, |(_, at)| *at);
                let message = format!(
                    "traffic class {class} is not in the tc_to_queue_map of {}: queue 0 is assumed",
                    bound.name
                );
                report.assumed(at, message, "write an entry for each traffic class");
            }
            let (queue, at) = found.unwrap_or((0, bound.at));
            if *class == 0 {
                default_queue = queue;
            }
            let own = rules.entry(queue).or_insert_with(|| (Vec::new(), at));
            own.0.push(Match::ClassMap(class_name(*class)));
        }
        // A queue with a limit alone, which no class selects, gets no packets and is left out.
        let named = bound.rows.iter().filter(|(_, row)| row.scheduler.is_some() || row.wred.is_some());
        let numbers: BTreeSet<u8> =
            named.map(|(number, _)| number).chain(rules.keys()).copied().chain([default_queue]).collect();
        let (mut made, mut reported) = (Vec::new(), Reported::default());
        for number in numbers {
            let row = bound.rows.get(&number).cloned().unwrap_or(Row { at: bound.at, ..Row::default() });
            for (table, named) in [("SCHEDULER", &row.scheduler), ("WRED_PROFILE", &row.wred)] {
                self.used.extend(named.iter().map(|(name, _)| (table, name.clone())));
            }
            made.push(self.queue(number, &row, &mut reported, report));
        }
        for ((message, advice), (at, numbers)) in reported.assumed {
            let names: Vec<String> = numbers.into_iter().map(queue_name).collect();
            report.assumed(at, format!("{}: {message}", names.join(", ")), advice);
        }
        if let Some((priorities, at)) = &self.paused {
            // PFC priority n is taken as traffic class n.
            let held = |class: &u8| map.as_ref().and_then(|map| map.get(class)).map_or(0, |own| own.0);
            let names: BTreeSet<String> = priorities.iter().map(|class| queue_name(held(class))).collect();
            let names: Vec<String> = names.into_iter().collect();
            let message = format!(
                "senders to {} are paused before packets are lost (PFC), which is not simulated: here packets are lost",
                names.join(", ")
            );
            report.unsupported(
                *at,
                message,
                Some("the other queues are simulated; write pfc_enable \"\" for a switch without PFC"),
            );
        }
        if let Some(at) = bound.whole {
            report.unsupported(
                at,
                "limits on the sum of all queues of a port (BUFFER_PORT_EGRESS_PROFILE_LIST) are not simulated",
                None,
            );
        }
        let mut policy = Policy { name: bound.name.clone(), at: bound.at, ..Policy::default() };
        order(&mut policy, made, report);
        policy.default = Some(queue_name(default_queue));
        policy.rules = rules
            .into_iter()
            .map(|(queue, (mut any, at))| {
                let when = if any.len() == 1 { any.remove(0) } else { Match::AnyOf(any) };
                Rule { when, class: queue_name(queue), police: None, at }
            })
            .collect();
        policy
    }

    /// Returns a queue with the profiles of its row. Remarks on a profile are reported once; assumptions are collected in
    /// `reported`.
    fn queue(&mut self, number: u8, row: &Row, reported: &mut Reported, report: &mut Report) -> BuiltQueue {
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
                    if reported.profiles.insert(("SCHEDULER", named.0.clone())) {
                        scheduler.notes.report_to(report);
                    }
                }
            }
        } else {
            // `saischeduler.h`: the default is SAI_SCHEDULING_TYPE_WRR with weight 1.
            let message = "no scheduler is stated: weighted round robin with weight 1 is assumed".to_owned();
            reported
                .assumed
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
                    if reported.profiles.insert(("WRED_PROFILE", named.0.clone())) {
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
                    if reported.profiles.insert(("BUFFER_PROFILE", named.0.clone())) {
                        buffer.notes.report_to(report);
                    }
                }
            }
        }
        class.limit = Some(Limit::Bytes(limit.unwrap_or_else(|| {
            let taken = UNKNOWN_LIMIT.max(least.saturating_mul(2));
            let message = format!("no limit is stated: {taken} B are assumed");
            let advice = "write a row of BUFFER_QUEUE with a profile whose pool has a size";
            reported.assumed.entry((message, advice)).or_insert((row.at, Vec::new())).1.push(number);
            taken
        })));
        BuiltQueue { number, class, order: kind, weight, stated }
    }

    /// Reports schedulers and WRED profiles that no port uses.
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

impl BoundPort {
    /// Returns a text that is equal for ports that can share a policy.
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

/// Returns the condition on the packets of a traffic class, and its place in the map; `None`: no packet has the class.
/// DSCPs that the map lacks, and untagged packets, have class 0 (`saiport.h`, SAI_PORT_ATTR_QOS_DEFAULT_TC).
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

/// Returns the shaper of a scheduler's peak rate; `None`: unlimited.
fn shape(scheduler: &Scheduler) -> Option<Shape> {
    let rate = scheduler.peak?.saturating_mul(8);
    Some(Shape { rate: Share::Rate(rate), burst: scheduler.burst, excess: None, peak: false })
}

/// Sets scheduler and classes of a policy: first strict queues, the highest number first (IEEE 802.1Q, 8.6.8.1), then
/// those in round robin.
fn order(policy: &mut Policy, mut made: Vec<BuiltQueue>, report: &mut Report) {
    let has_order = |kind: Order| made.iter().any(|own| own.stated && own.order == kind);
    let (bytes, packets) = (has_order(Order::Bytes), has_order(Order::Packets));
    if bytes && packets {
        let message = format!(
            "{}: round robin by bytes (DWRR) together with round robin by packets (WRR) is not simulated: all queues count bytes",
            policy.name
        );
        report.unsupported(policy.at, message, Some("write one of the two types for all queues"));
    }
    let rest = made.iter().filter(|own| own.order != Order::Strict);
    if let Some(highest) = rest.clone().map(|own| own.number).max()
        && let Some(lower) = made.iter().find(|own| own.order == Order::Strict && own.number < highest)
    {
        let message = format!(
            "{} is strict and is served before {}, which has a higher number and is served in round robin",
            lower.class.name,
            queue_name(highest)
        );
        report.assumed(lower.class.at, message, "switches differ in this: give strict queues the highest numbers");
    }
    let min_weight = rest.clone().map(|own| own.weight).min().unwrap_or(1);
    policy.packets = packets && !bytes;
    let unit = if policy.packets { 1 } else { FRAME.div_ceil(min_weight) };
    if rest.count() > 1 {
        let message = if policy.packets {
            "each round of round robin serves as many packets of a queue as its weight".to_owned()
        } else {
            format!(
                "each round of round robin serves {unit} B of a queue per unit of its weight, since the weights state only the shares"
            )
        };
        report.assumed(policy.at, message, "the shares do not depend on it; delays within a round do");
    }
    let strict = |own: &BuiltQueue| own.order == Order::Strict;
    made.sort_by_key(|own| (!strict(own), if strict(own) { MAX_QUEUE - own.number } else { own.number }));
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
