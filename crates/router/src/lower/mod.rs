//! Compilation of a configuration and a traffic table into a scenario: one host per row of the table, the router `ce`
//! with the policy, and the host `sink` behind its link.

mod conditions;
mod disciplines;
mod input;
mod link;
mod lint;
mod linux;
mod look_ahead;
mod membership;
mod police;
mod reach;
mod red;
mod state;
mod table;
mod traffic;
mod version;
mod wred;

use crate::ir::{Class, Config, Mark, Platform, Port, Queue, Scheduler};
use crate::{Report, Scope};
use conditions::Conditions;
use serde::Serialize;
use serde_json::{Map, Value, json};
use state::Lower;
use std::collections::BTreeSet;
use table::{bits, packets};

pub use link::{Link, Overhead};
pub(crate) use red::weight as red_weight;
pub use state::Membership;
pub use traffic::{Model, Row, Traffic};

/// Options of the compilation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the interface; `None`: the only one with an output policy.
    pub interface: Option<String>,
    /// Name of the policy that replaces the interface's; `None`: that of the interface.
    pub policy: Option<String>,
    /// Rate of the link in bit/s; `None`: that of the interface, which the configuration states or which is assumed.
    pub rate: Option<u64>,
    /// Bytes of the link layer per packet; `None`: those of the type of interface.
    pub overhead: Option<Overhead>,
    /// Title of the scenario; `None`: one with the interface's name.
    pub title: Option<String>,
    /// Simulated time with its unit, such as `20s`; `None`: 20 s.
    pub duration: Option<String>,
    /// Platform whose defaults apply; `None`: the platform that the text reveals.
    pub platform: Option<Platform>,
}

/// A scenario, with its report.
#[derive(Clone, Debug, Serialize)]
pub struct Lowered {
    /// Canonical document of the scenario; `None`: an error is in the report.
    pub document: Option<Value>,
    /// Classes of the port with their groups of flows, in the order of the traffic table.
    pub classes: Vec<Membership>,
    /// Errors, assumptions, approximations and omissions of the compilation.
    pub report: Report,
    /// Name of the interface that is simulated; empty: an error is in the report.
    pub interface: String,
    /// Link of the interface; `None`: an error is in the report.
    pub link: Option<Link>,
    /// Parts of the configuration that can affect the result, for [`Report::settle`].
    #[serde(skip)]
    pub reached: BTreeSet<Scope>,
}

/// Default hold queue of an interface in packets (Ethernet).
const HOLD: u64 = 40;

/// Compiles a port of the configuration into a scenario. Errors are in the report, and the document is `None` then; an
/// empty traffic table is replaced by example traffic.
pub fn lower(config: &Config, traffic: &Traffic, options: &Options) -> Lowered {
    if traffic.rows.iter().any(|row| row.header.is_ipv6()) {
        return lowered(config, traffic, options);
    }
    lowered(&version::all_of_ipv4(config), traffic, options)
}

fn lowered(config: &Config, traffic: &Traffic, options: &Options) -> Lowered {
    let mut report = Report::default();
    let nothing = |report, reached| Lowered {
        document: None,
        classes: Vec::new(),
        report,
        interface: String::new(),
        link: None,
        reached,
    };
    let Some(mut port) = chosen(config, options, &mut report) else { return nothing(report, BTreeSet::new()) };
    if let Some(default) = config.departure.as_ref().filter(|_| !port.has_policy()) {
        port.root = default.clone();
    }
    let platform = options.platform.unwrap_or(config.platform.unwrap_or_default());
    let Some(mut link) = link::link(&port, config, options.rate, options.overhead, &mut report) else {
        let inputs: Vec<&Port> = config.ports.iter().filter(|port| port.input.is_some()).collect();
        return nothing(report, reach::of(&port, &inputs, config));
    };
    let rate = link.rate;
    let mut made = traffic.clone();
    if made.rows.is_empty() {
        made = membership::example(config, &port, link.base);
        report.warning(
            crate::Place::default(),
            "there is no traffic table: as an example each class sends 90 % of its guaranteed rate, and the default class 110 % of the rest",
            "state a traffic table with --traffic",
        );
    }
    let least = u64::from(link.overhead.least);
    let is_short = |packet: u64| packet + u64::from(link.overhead.counted) < least;
    link.overhead.unpadded = port.unpadded && made.rows.iter().any(|row| is_short(row.packet));
    let endless: Vec<&str> =
        made.rows.iter().filter(|row| row.model == Model::Tcp && row.rtt == 0).map(|row| row.name.as_str()).collect();
    if !endless.is_empty() {
        report.assumed(
            crate::Place::default(),
            format!("TCP transfers without a round-trip time other than the queueing delay: {}", endless.join(", ")),
            "state it in the column `rtt` of the traffic table: without it a transfer fills a link of any rate",
        );
    }
    membership::code_points(&mut made, config, &port, &mut report);
    let named: Vec<(usize, String)> =
        made.rows.iter().enumerate().filter_map(|(index, row)| Some((index, row.class.clone()?))).collect();
    let may_be_own = platform.has_switched_ports() || config.arrival.is_some();
    let inputs = input::apply(config, &port, may_be_own, &mut made, &mut report);
    if platform.has_switched_ports() {
        // Packets that no input policy assigns to a QoS group are in group 0 (NX-OS Quality of Service Configuration
        // Guide).
        made.rows.iter_mut().for_each(|row| row.header.qos_group = row.header.qos_group.or(Some(0)));
    }
    let mut reached = reach::of(&port, &inputs.ports, config);
    if let Some(default) = config.arrival.as_deref().filter(|_| inputs.uses_default) {
        reached.extend(reach::of_policy(default, config));
    }
    lint::lint(config, &port, &made, &link, &mut report);
    lint::shadowed(config, &reached, &mut report);
    let classes = membership::of(&made, config, &port);
    membership::moved(&named, &made, &classes, config, &port, &mut report);
    let mut lower = Lower {
        conditions: Conditions::new(config, &made, marks(config, &reach::of(&port, &[], config))),
        report,
        largest: made.rows.iter().map(|row| row.packet).max().unwrap_or(1500).max(1500),
        legacy: false,
        classes: 0,
        line: rate,
        header: link.overhead.counted,
        site: rate,
        linux: port.unpadded,
        platform,
        defaults: BTreeSet::new(),
        members: classes.clone(),
    };
    let mut port_table = lower.port(&port, &link);
    let mut conditioners = lower.input_conditioners(&inputs);
    if !conditioners.is_empty() {
        if let Some(Value::Array(own)) = port_table.get_mut("conditioners") {
            // Only the first conditioner that matches a packet applies to it, and those of the input policy
            // come first.
            if own.iter().any(|one| one.get("meter").is_some()) {
                let message = "packets that an input policer has metered bypass the policers of the output policy here";
                lower.report.unsupported(
                    crate::Place::default(),
                    message,
                    Some("simulate the output policer without the input policer"),
                );
            }
            conditioners.append(own);
        }
        port_table["conditioners"] = Value::Array(conditioners);
    }
    let maps = lower.conditions.maps(&mut lower.report);
    lower.conditions.settle(&mut lower.report);
    lower.report_defaults(options.platform, config.platform);
    let document = document(&made, options, &port, &link, &port_table, lower.largest, maps);
    Lowered { document: Some(document), classes, report: lower.report, interface: port.name, link: Some(link), reached }
}

/// Returns the port that the options select; `None`: no port or several ports match, which is reported as an error.
fn chosen(config: &Config, options: &Options, report: &mut Report) -> Option<Port> {
    let nowhere = crate::Place::default();
    if let Some(policy) = &options.policy {
        if config.policy(policy).is_none() {
            let names: Vec<&str> = config.policies.iter().map(|policy| policy.name.as_str()).collect();
            report.error(
                nowhere,
                format!("there is no policy `{policy}`"),
                &format!("there are: {}", names.join(", ")),
            );
            return None;
        }
        let named = options.interface.as_ref().and_then(|name| config.port(name)).cloned();
        let mut port = named.unwrap_or_else(|| Port { name: "interface".to_owned(), ..Port::default() });
        port.root = Class { queue: Queue::Policy(policy.clone()), ..Class::default() };
        return Some(port);
    }
    let with: Vec<&Port> = config.ports.iter().filter(|port| port.has_policy()).collect();
    let names = |ports: &[&Port]| ports.iter().map(|port| port.name.as_str()).collect::<Vec<_>>().join(", ");
    match (&options.interface, with.as_slice()) {
        (Some(name), _) => {
            let found = config.port(name).cloned();
            if found.is_none() {
                let all: Vec<&Port> = config.ports.iter().collect();
                report.error(
                    nowhere,
                    format!("there is no interface `{name}`"),
                    &format!("there are: {}", names(&all)),
                );
            }
            found
        }
        (None, [one]) => Some((*one).clone()),
        (None, []) => {
            // A policy that was pasted without its interface.
            let inner = |name: &str| {
                config
                    .policies
                    .iter()
                    .flat_map(|policy| &policy.classes)
                    .any(|class| class.queue == Queue::Policy(name.to_owned()))
            };
            let arriving = |name: &str| {
                config.ports.iter().any(|port| port.input.as_deref() == Some(name))
                    || config.arrival.as_deref() == Some(name)
            };
            let names = config.policies.iter().map(|policy| policy.name.as_str());
            let outer: Vec<&str> = names.filter(|name| !inner(name) && !arriving(name)).collect();
            match outer.as_slice() {
                [one] => Some(Port {
                    name: "interface".to_owned(),
                    root: Class { queue: Queue::Policy((*one).to_owned()), ..Class::default() },
                    ..Port::default()
                }),
                [] => {
                    report.error(nowhere, "no interface has an output policy", "paste the whole configuration");
                    None
                }
                several => {
                    report.error(
                        nowhere,
                        "several policies are attached to no interface",
                        &format!("choose with --policy: {}", several.join(", ")),
                    );
                    None
                }
            }
        }
        (None, several) => {
            report.error(
                nowhere,
                "several interfaces have an output policy",
                &format!("choose with --interface: {}", names(several)),
            );
            None
        }
    }
}

/// `true` if a policy in `reached` sets DSCPs or precedences.
fn marks(config: &Config, reached: &BTreeSet<Scope>) -> bool {
    use crate::ir::Act;
    let marks = |acts: &[Act]| acts.iter().any(|act| matches!(act, Act::Set(Mark::Dscp(_) | Mark::Precedence(_))));
    let reaches = |policy: &&crate::ir::Policy| reached.contains(&Scope::Policy(policy.name.clone()));
    config.policies.iter().filter(reaches).flat_map(|policy| &policy.classes).any(|class| {
        class.set.iter().any(|mark| matches!(mark, Mark::Dscp(_) | Mark::Precedence(_)))
            || class
                .police
                .as_ref()
                .is_some_and(|police| marks(&police.conform) || marks(&police.exceed) || marks(&police.violate))
    })
}

impl Lower<'_> {
    /// Returns the table of the switch's port.
    fn port(&mut self, port: &Port, link: &Link) -> Value {
        let rate = link.base;
        let mut table = json!({});
        if let Some(ring) = port.ring {
            table["ring"] = json!(ring);
        }
        // A policy that only shapes becomes the port's shaper, so that inner percentages refer to its rate.
        let mut root = port.root.clone();
        let mut shared = link.base;
        self.site = link.rate;
        if let Queue::Policy(name) = &port.root.queue
            && let Some(policy) = self.conditions.config.policy(name)
            && policy.scheduler == Scheduler::ClassBased
            && let [only] = policy.classes.as_slice()
            && Some(&only.name) == policy.default.as_ref()
            && only.shape.is_some()
            && only.police.is_none()
            && only.set.is_empty()
        {
            root = only.clone();
        }
        // A shaper with a peak rate becomes two disciplines, see `inside`.
        if root.peak.is_none()
            && let Some(shape) = root.shape.take()
            && let Some(shaped) = shape.bps(rate)
        {
            self.look_ahead(&root, shaped);
            shared = shaped;
            self.site = shaped.min(link.rate);
            let mut shaper = json!({ "rate": bits(shaped) });
            if let Some(burst) = shape.burst {
                shaper["burst"] =
                    json!(self.burst(burst.saturating_add(shape.excess.filter(|_| shape.peak).unwrap_or(0))));
            }
            if let Some(accounting) = self.accounting(root.counts) {
                shaper["accounting"] = accounting;
            }
            table["shaper"] = shaper;
        }
        self.legacy = matches!(root.queue, Queue::Fair(_));
        let inside = self.inside(&root, shared, 0);
        self.legacy = false;
        let hold = port.hold.map(|hold| packets(u64::from(hold.max(1))));
        if let (Some(mut inside), queue) = (inside, &root.queue) {
            if let (Queue::Fair(_), Some(hold)) = (queue, &hold) {
                inside["hold"] = json!(hold);
            }
            table["discipline"] = inside;
            let own = match root.limit {
                Some(crate::ir::Limit::Packets(n)) => packets(n.max(1)),
                Some(crate::ir::Limit::Bytes(n)) => format!("{}B", n.max(self.largest)),
                _ if root.wred.is_some() => hold.unwrap_or_else(|| packets(HOLD)),
                _ => "unlimited".to_owned(),
            };
            table["buffer"] = json!(own);
        } else {
            let limit = match root.limit {
                Some(crate::ir::Limit::Packets(n)) => packets(n.max(1)),
                Some(crate::ir::Limit::Bytes(n)) => format!("{}B", n.max(self.largest)),
                _ => hold.unwrap_or_else(|| packets(HOLD)),
            };
            table["buffer"] = json!(limit);
        }
        if let Queue::Policy(name) = &port.root.queue {
            let conditioners = self.conditioners(name, rate, None, 0);
            if !conditioners.is_empty() {
                table["conditioners"] = Value::Array(conditioners);
            }
        }
        table
    }
}

fn document(
    traffic: &Traffic,
    options: &Options,
    port: &Port,
    line: &Link,
    table: &Value,
    largest: u64,
    maps: Map<String, Value>,
) -> Value {
    let rate = line.rate;
    let offered =
        traffic.rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.rate.saturating_mul(u64::from(row.count))));
    // Access links are at least five times as fast as the link and as the offered traffic, so they are no bottleneck.
    let access = [1_000_000_000u64, 10_000_000_000, 100_000_000_000, 1_000_000_000_000]
        .into_iter()
        .find(|access| *access >= offered.max(rate).saturating_mul(5))
        .unwrap_or(10_000_000_000_000);
    // Each group has a host of its own, so that groups do not delay each other before the policy.
    let mut hosts = json!({ "sink": {} });
    let mut links = Vec::new();
    for row in &traffic.rows {
        hosts[host(row)] = json!({});
        let mut link = json!({ "between": [host(row), "ce"], "rate": bits(access) });
        if row.rtt > 0 {
            // Half of the round-trip time; the reverse direction has the other half.
            link["delay"] = json!(format!("{}ps", row.rtt / 2));
        }
        links.push(link);
    }
    let mut last = json!({ "between": ["ce", "sink"], "rate": bits(rate) });
    if let Some(accounting) = line.overhead.accounting() {
        last["accounting"] = accounting;
    }
    links.push(last);
    let title = options.title.clone().unwrap_or_else(|| format!("Policy of {}", port.name));
    let mut made = json!({
        "tailback": 1,
        "title": title,
        "run": { "duration": options.duration.as_deref().unwrap_or("20s"), "warmup": "2s", "replications": 5, "delay-variation": true },
        // Packet sizes of the traffic table are those of layer 3; rates of routers count the bytes of `framing` as
        // well.
        "network": { "framing": line.overhead.framing(largest), "buffer": "unlimited" },
        "hosts": hosts,
        "switches": { "ce": { "ports": { "sink": table } } },
        "links": links,
        "flows": traffic.rows.iter().map(flow).collect::<Vec<_>>(),
    });
    if !maps.is_empty() {
        made["class-maps"] = Value::Object(maps);
    }
    made
}

/// Returns the name of the host that sends a row's flows.
fn host(row: &Row) -> String {
    format!("from-{}", row.name)
}

fn flow(row: &Row) -> Value {
    let packet = format!("{}B", row.packet);
    let mut made = json!({ "name": row.name, "from": host(row), "to": "sink", "count": row.count, "dscp": conditions::dscp(row.header.dscp) });
    match row.model {
        Model::Cbr => {
            made["source"] = json!({ "kind": "cbr", "packet": packet, "rate": bits(row.rate), "wander": 0.1 });
        }
        Model::Poisson => made["source"] = json!({ "kind": "poisson", "packet": packet, "rate": bits(row.rate) }),
        Model::OnOff => {
            // A period is long enough for four packets, and at least 100 ms.
            let peak = row.rate.saturating_mul(2).max(1);
            let ms = (row.packet.saturating_mul(8_000).saturating_mul(4) / peak).max(100);
            let period = format!("{ms}ms");
            made["source"] =
                json!({ "kind": "on-off", "packet": packet, "rate": bits(peak), "on": period, "off": period });
        }
        Model::Tcp => {
            made["source"] = json!({ "kind": "bulk" });
            made["transport"] = json!({ "kind": "tcp" });
            made["start-spread"] = json!("1s");
        }
    }
    made
}
