//! Compilation of the tables of the devices into policies.

use super::counting;
use super::handle::Handle;
use super::marking::Marking;
use super::qdisc::R2Q;
use super::rules::{self, rules};
use super::tables::{Device, Hook, Kind, Parent, Qdisc, Shaping, Tables};
use crate::ir::{Class, Config, Counting, Limit, Match, Medium, Policy, Port, Queue, Rule, Scheduler};
use crate::{Place, Report, Scope};

/// Returns the policies of all devices.
pub(super) fn build(tables: &Tables, report: &mut Report) -> Config {
    let mut config = Config::default();
    for name in &tables.order {
        let Some(device) = tables.devices.get(name) else { continue };
        report.enter(Scope::Port(name.clone()));
        let marking = rules::marking(name, tables, report);
        for qdisc in &device.qdiscs {
            if let Some(policy) = policy(name, device, qdisc, &marking, report) {
                config.policies.push(policy);
            }
        }
        rules::report_ingress(device, report);
        if let Some(root) = device.root() {
            let mut class = Class { at: root.at, ..Class::default() };
            fill(&mut class, name, device, root, report);
            config.ports.push(Port {
                name: name.clone(),
                medium: medium(name),
                root: class,
                // The length is determined before the discipline is called (`qdisc_pkt_len_init` in `net/core/dev.c`);
                // short frames are padded later, by the driver (`eth_skb_pad`).
                unpadded: true,
                at: root.at,
                ..Port::default()
            });
        }
    }
    report.enter(Scope::Everything);
    config
}

/// Queue limit of a device without a discipline: its default `txqueuelen`.
const TXQUEUELEN: Limit = Limit::Packets(1000);

/// Returns the type of link of a device from its name, as given by the kernel and systemd.
fn medium(name: &str) -> Medium {
    const KINDS: [(&str, Medium); 12] = [
        ("eth", Medium::Ethernet),
        ("en", Medium::Ethernet),
        ("wl", Medium::Ethernet),
        ("lan", Medium::Ethernet),
        ("wan", Medium::Ethernet),
        ("ifb", Medium::Ethernet),
        ("br", Medium::Ethernet),
        ("bond", Medium::Ethernet),
        ("veth", Medium::Ethernet),
        ("ppp", Medium::Tunnel),
        ("tun", Medium::Tunnel),
        ("wg", Medium::Tunnel),
    ];
    // A VLAN device has untagged frames in its disciplines, so it counts like its parent device.
    KINDS.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or(Medium::Unknown, |(_, medium)| *medium)
}

/// Returns the name of the policy of the discipline `major:` of a device.
fn policy_name(device: &str, major: u16) -> String {
    format!("{device}-{major:x}")
}

/// Sets the queue of a class to the discipline attached to it.
fn fill(class: &mut Class, name: &str, device: &Device, qdisc: &Qdisc, report: &mut Report) {
    let (queue, limit, shape) = match &qdisc.kind {
        Kind::Leaf { queue, limit, shape } => (queue, limit, shape),
        Kind::Cake(cake) => {
            class.shape = cake.shape();
            class.counts = accounting(device, cake.counts(), qdisc.at, report);
            match cake.only() {
                Some((queue, limit)) => (class.queue, class.limit) = (queue, Some(limit)),
                None => class.queue = Queue::Policy(policy_name(name, qdisc.major)),
            }
            return;
        }
        Kind::Mq => {
            let mut queues: Vec<&Qdisc> = device.qdiscs.iter().filter(|own| is_child(own, qdisc.major)).collect();
            queues.sort_by_key(|own| if let Parent::Class(place) = own.parent { place.minor } else { 0 });
            let alike = |own: &&&Qdisc| {
                queues.first().is_some_and(|first| format!("{:?}", own.kind) == format!("{:?}", first.kind))
            };
            let same = queues.iter().filter(alike).count() == queues.len();
            let is_leaf = queues.iter().all(|own| matches!(own.kind, Kind::Leaf { .. }));
            if same && is_leaf {
                report.assumed(
                    qdisc.at,
                    "the driver selects one transmit queue for all packets",
                    "simulate a device with one queue",
                );
            } else {
                report.unsupported(
                    qdisc.at,
                    "transmit queues with different disciplines: here all packets use the first, a driver selects one per packet",
                    Some("simulate a device with one queue"),
                );
            }
            // A transmit queue without a discipline has the kernel's default limit. The recursion ends, since the first
            // discipline is not `mq`.
            class.limit = Some(TXQUEUELEN);
            if let Some(first) = queues.first().filter(|first| !matches!(first.kind, Kind::Mq)) {
                fill(class, name, device, first, report);
            }
            return;
        }
        Kind::Opaque => {
            class.limit = Some(TXQUEUELEN);
            return;
        }
        _ => {
            class.queue = Queue::Policy(policy_name(name, qdisc.major));
            return;
        }
    };
    class.queue.clone_from(queue);
    class.limit = *limit;
    if let (Queue::Netem(_), Some(inner)) = (queue, device.qdiscs.iter().find(|inner| is_child(inner, qdisc.major))) {
        report.unsupported(
            inner.at,
            "a discipline inside netem: packets are queued in netem only",
            Some("attach netem to a class of that discipline instead"),
        );
    }
    let Some(Shaping { shape, peak, counts }) = shape else { return };
    (class.shape, class.peak) = (Some(*shape), *peak);
    class.counts = accounting(device, *counts, qdisc.at, report);
    let inner = device.qdiscs.iter().find(|inner| is_child(inner, qdisc.major));
    match inner.map(|inner| (&inner.kind, inner)) {
        Some((Kind::Leaf { shape: Some(_), .. }, inner)) => {
            report.unsupported(inner.at, "a token bucket inside a token bucket", Some("keep the slower one"));
        }
        Some((Kind::Leaf { queue, limit, shape: None }, _)) => {
            class.queue.clone_from(queue);
            class.limit = *limit;
        }
        // An unsupported discipline was reported when it was added.
        Some((Kind::Opaque, _)) | None => {}
        Some((Kind::Cake(_) | Kind::Mq, inner)) => {
            report.unsupported(inner.at, "a shaper inside a token bucket", Some("keep the slower one"));
        }
        Some((_, inner)) => {
            class.queue = Queue::Policy(policy_name(name, inner.major));
            class.limit = None;
        }
    }
}

/// `true` if the discipline is attached to a class of the discipline `major:`.
fn is_child(qdisc: &Qdisc, major: u16) -> bool {
    matches!(qdisc.parent, Parent::Class(parent) if parent.major == major)
}

/// Returns the bytes per packet that a rate of a device accounts for: the size table of the root discipline applies
/// first, to the whole tree, then `own`.
fn accounting(device: &Device, own: Counting, at: Place, report: &mut Report) -> Counting {
    let outer = device.root().map_or_else(Counting::default, |root| root.stab);
    counting::both(outer, own).unwrap_or_else(|| {
        report.unsupported(
            at,
            "an overhead in addition to a size table with cells or a minimum length",
            Some("state the whole accounting in stab"),
        );
        outer
    })
}

/// Returns the policy of a discipline with classes; `None`: it has none.
fn policy(name: &str, device: &Device, qdisc: &Qdisc, marking: &Marking, report: &mut Report) -> Option<Policy> {
    let mut policy = Policy { name: policy_name(name, qdisc.major), at: qdisc.at, ..Policy::default() };
    let handle = |minor: u16| Handle { major: qdisc.major, minor }.to_string();
    let mut implied = Vec::new();
    match &qdisc.kind {
        Kind::Leaf { .. } | Kind::Mq | Kind::Opaque | Kind::Ingress => return None,
        Kind::Cake(cake) if cake.only().is_some() => return None,
        Kind::Cake(cake) => return Some(cake.policy(policy.name, &handle)),
        Kind::Htb { default, r2q } => {
            policy.scheduler = Scheduler::Htb;
            policy.classes = own_classes(device, qdisc, &handle);
            for class in &mut policy.classes {
                let Some(htb) = &mut class.htb else { continue };
                htb.counts = accounting(device, htb.counts, class.at, report);
                if *r2q != R2Q && htb.quantum.is_none() && htb.percent.is_none() {
                    htb.quantum = Some((htb.rate / 8 / r2q).clamp(1_000, 200_000));
                }
            }
            let name = handle(*default);
            let is_class = policy.classes.iter().any(|class| class.name == name);
            let is_inner = policy.classes.iter().any(|class| class.parent.as_ref() == Some(&name));
            if *default > 0 && is_class && !is_inner {
                policy.default = Some(name);
            } else {
                let message = match (*default, is_inner) {
                    (0, _) => "there is no default class".to_owned(),
                    (_, true) => format!("the default class {name} has child classes"),
                    (_, false) => format!("the default class {name} does not exist"),
                };
                // `htb_classify` puts such packets into the direct queue, which `htb_dequeue` serves first.
                report.warning(
                    qdisc.at,
                    format!(
                        "{message}: packets that match no filter bypass the token buckets and precede all others, at the rate \
                         of the device"
                    ),
                    "set `default` to the minor number of a leaf class",
                );
            }
            htb_rates(&policy, report);
        }
        Kind::Hfsc { default } => {
            policy.scheduler = Scheduler::Hfsc;
            policy.classes = own_classes(device, qdisc, &handle);
            hfsc(&mut policy, device, handle(*default), qdisc.at, report);
        }
        Kind::Drr => {
            policy.scheduler = Scheduler::Drr;
            policy.classes = own_classes(device, qdisc, &handle);
            let mut filters = device.filters.iter().filter(|filter| filter.hook == Hook::Qdisc(qdisc.major));
            if !filters.any(|filter| matches!(filter.when, Match::Any | Match::Version(4))) {
                report.unsupported(
                    qdisc.at,
                    "drr drops packets that match no filter; here they have a queue of their own",
                    Some("add a last filter that matches all packets"),
                );
            }
        }
        Kind::Prio { bands, map } => {
            policy.scheduler = Scheduler::Priority;
            policy.classes =
                (1..=*bands).map(|band| Class { name: handle(band), at: qdisc.at, ..Class::default() }).collect();
            policy.default = Some(handle(band(map, 0)));
            implied = by_priority(map, &handle, qdisc.at);
        }
        Kind::Ets { strict, quanta, bands, map } => {
            policy.scheduler = Scheduler::Ets;
            policy.classes = (1..=*bands)
                .map(|band| {
                    let index = usize::from(band.saturating_sub(1)).checked_sub(usize::from(*strict));
                    // Bands beyond the stated quanta have that of a full frame.
                    let quantum = index.map(|index| quanta.get(index).copied().unwrap_or(1514));
                    Class { name: handle(band), quantum, at: qdisc.at, ..Class::default() }
                })
                .collect();
            policy.default = Some(handle(band(map, 0)));
            implied = by_priority(map, &handle, qdisc.at);
        }
    }
    for class in &mut policy.classes {
        let minor = class.name.split(':').nth(1).and_then(|minor| u16::from_str_radix(minor, 16).ok());
        let place = Parent::Class(Handle { major: qdisc.major, minor: minor.unwrap_or(0) });
        if let Some(inner) = device.qdiscs.iter().find(|inner| inner.parent == place) {
            fill(class, name, device, inner, report);
        }
    }
    rules(&mut policy, device, qdisc, marking, report);
    for rule in implied {
        // Exported scripts already have these rules as filters.
        if !policy.rules.contains(&rule) {
            policy.rules.push(rule);
        }
    }
    Some(policy)
}

/// Returns the minor number of the band of a kernel priority, from 1.
fn band(map: &[u16; 16], priority: usize) -> u16 {
    map.get(priority).map_or(1, |band| band + 1)
}

/// Returns the rules of a priomap for forwarded packets. The kernel derives the priority of a packet from two bits of
/// its DS field: 2 (bulk), 6 (interactive) or 4 (interactive bulk) (`ip_tos2prio` in `net/ipv4/route.c`). Packets of
/// priority 0 are in the default band, and so is all of IPv6, for which `ip6_forward` sets no priority
/// (`net/ipv6/ip6_output.c`).
fn by_priority(map: &[u16; 16], handle: &dyn Fn(u16) -> String, at: Place) -> Vec<Rule> {
    [(0x08, 2), (0x10, 6), (0x18, 4)]
        .into_iter()
        .filter(|(_, priority)| band(map, *priority) != band(map, 0))
        .map(|(value, priority)| Rule {
            when: Match::All(vec![Match::Version(4), Match::DsField { value, mask: 0x18 }]),
            class: handle(band(map, priority)),
            police: None,
            at,
        })
        .collect()
}

/// Returns the classes of a discipline, without their queues.
fn own_classes(device: &Device, qdisc: &Qdisc, handle: &dyn Fn(u16) -> String) -> Vec<Class> {
    device
        .classes
        .iter()
        .filter(|class| class.id.major == qdisc.major)
        .map(|class| Class {
            name: class.id.to_string(),
            parent: class.parent.map(handle),
            htb: class.htb,
            hfsc: class.hfsc,
            quantum: class.quantum,
            at: class.at,
            ..Class::default()
        })
        .collect()
}

/// Sets the default class of HFSC, and adjusts the curves of inner classes as the kernel does.
fn hfsc(policy: &mut Policy, device: &Device, default: String, at: Place, report: &mut Report) {
    let inner = |name: &String| policy.classes.iter().any(|class| class.parent.as_ref() == Some(name));
    if policy.classes.iter().any(|class| class.name == default) && !inner(&default) {
        policy.default = Some(default);
    } else {
        // `hfsc_classify` finds no class, and `hfsc_enqueue` drops the packet.
        let message =
            "packets that match no filter are dropped: the default class of hfsc does not exist, or has child classes";
        report.warning(at, message, "set `default` to the minor number of a leaf class");
    }
    let holders: Vec<bool> = policy.classes.iter().map(|class| inner(&class.name)).collect();
    for (class, holds) in policy.classes.iter_mut().zip(holders) {
        let at = class.at;
        let Some(own) = &mut class.hfsc else { continue };
        own.counts = accounting(device, own.counts, at, report);
        if holds && let Some(rt) = own.rt.take() {
            // Only leaf classes are served by deadlines; `hfsc_upgrade_rt` uses the curve for link-sharing if the class
            // has no other.
            let shared = own.ls.is_none();
            own.ls = own.ls.or(Some(rt));
            report.warning(
                at,
                format!(
                    "the real-time curve of {} has no effect, since only leaf classes have one{}",
                    class.name,
                    if shared { ": it is used as the link-sharing curve, as in the kernel" } else { "" }
                ),
                "set `rt` in the leaf classes",
            );
        }
    }
}

/// Warns of ceilings below rates, and of child classes with more guaranteed rate than their parent.
fn htb_rates(policy: &Policy, report: &mut Report) {
    for class in &policy.classes {
        let Some(own) = class.htb else { continue };
        if own.ceil.is_some_and(|ceil| ceil < own.rate) {
            report.warning(
                class.at,
                format!("the ceiling of {} is below its rate", class.name),
                "raise ceil, or lower rate",
            );
        }
        let within = policy.classes.iter().filter(|inner| inner.parent.as_ref() == Some(&class.name));
        let sum: u64 = within.filter_map(|inner| inner.htb).fold(0, |sum, htb| sum.saturating_add(htb.rate));
        if sum > own.rate {
            report.warning(
                class.at,
                format!(
                    "the child classes of {} are guaranteed {sum} bit/s in total, above its own {} bit/s",
                    class.name, own.rate
                ),
                "lower their rates: not all guarantees can be met at once",
            );
        }
    }
}
