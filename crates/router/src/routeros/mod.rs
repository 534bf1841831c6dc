//! Reader of RouterOS configurations (MikroTik): queue trees, simple queues, queue types, mangle rules.
//!
//! `script` parses commands, `types` reads queue types, `mangle` the rules that mark packets, and `queues` converts
//! queue trees and simple queues into hierarchical token buckets. Sources: MikroTik's pages "Queues", "HTB
//! (Hierarchical Token Bucket)", "Mangle" and "Packet Flow in RouterOS".

mod mangle;
mod queues;
mod script;
mod types;
mod units;

use crate::ir::{Config, Port};
use crate::{Imported, Report, Scope};
use mangle::Mangle;
use script::Command;

/// Upper bound on the number of queues, and of interfaces.
const MAX_QUEUES: usize = 1000;

/// Prefixes of the menus without effect on the queues of forwarded packets.
const WITHOUT_EFFECT: [&str; 36] = [
    "caps-man",
    "certificate",
    "container",
    "disk",
    "file",
    "interface bridge",
    "interface dot1x",
    "interface eoip",
    "interface gre",
    "interface ipip",
    "interface l2tp-",
    "interface lte",
    "interface ovpn-",
    "interface pptp-",
    "interface sstp-",
    "interface wifi",
    "interface wireless",
    "interface wireguard",
    "ip",
    "ipv6 address",
    "ipv6 dhcp",
    "ipv6 firewall",
    "ipv6 nd",
    "ipv6 route",
    "ipv6 settings",
    "ipv6 pool",
    "log",
    "partitions",
    "port",
    "ppp",
    "radius",
    "routing",
    "snmp",
    "system",
    "tool",
    "user",
];

/// Reads a configuration. Errors and unsupported commands are in the report, with line and column.
pub fn import(text: &str) -> Imported {
    let mut report = Report::default();
    let commands = script::commands(text, &mut report);
    let config = read(&commands, &mut report);
    report.enter(Scope::Everything);
    report.quote(text);
    Imported { config, report }
}

/// Reads commands into a configuration; what is not simulated is reported.
fn read(commands: &[Command], report: &mut Report) -> Config {
    let mut config = Config::default();
    let (mut mangle, mut kinds, mut all) = (Mangle::default(), types::defaults(), Vec::new());
    // Lists are read first: rules may precede the lists that they name.
    for command in commands.iter().filter(|command| command.verb == "add" && !command.is("disabled")) {
        match command.menu.as_str() {
            "ip firewall address-list" => list(command, &mut mangle),
            "interface list member" => {
                if let (Some((list, _)), Some((interface, _))) = (command.get("list"), command.get("interface")) {
                    mangle.members.entry(list.to_owned()).or_default().push(interface.to_owned());
                }
            }
            _ => {}
        }
    }
    for command in commands {
        let adds = command.verb == "add";
        if matches!(command.verb.as_str(), "print" | "export" | "monitor" | "get" | "find") {
            report.ignored(command.at, "a command that only prints");
            continue;
        }
        match command.menu.as_str() {
            "queue type" if adds => {
                if let Some((name, kind)) = types::read(command, report) {
                    let _ = kinds.insert(name, kind);
                }
            }
            "queue type" if command.verb == "set" => set_type(command, &mut kinds, report),
            "queue tree" | "queue simple" if adds => {
                if command.is("disabled") {
                    report.ignored(command.at, "a disabled queue");
                } else if all.len() >= MAX_QUEUES {
                    report.unsupported(
                        command.at,
                        format!("the configuration has more than {MAX_QUEUES} queues: this one is left out"),
                        None,
                    );
                } else if command.menu == "queue tree" {
                    all.extend(queues::read(command, None, &mut mangle, report));
                } else {
                    all.extend(queues::read(command, Some(false), &mut mangle, report));
                    all.extend(queues::read(command, Some(true), &mut mangle, &mut Report::default()));
                }
            }
            "queue interface" => interface_queue(command, report),
            "ip firewall mangle" if adds => mangle.add(command, report),
            "queue tree" | "queue simple" | "queue type" | "ip firewall mangle" => {
                let message = format!("`{}` changes an existing entry, which is not simulated", command.verb);
                report.unsupported(command.at, message, Some("paste what `/export` prints"));
            }
            "ip firewall address-list" | "interface list member" | "interface list"
                if adds || command.verb == "set" =>
            {
                report.ignored(command.at, "a list has an effect only through the rules that name it");
            }
            "ip firewall filter" => filter(command, report),
            menu if menu.starts_with("interface") && interface(menu, command, &mut config) => {
                report.ignored(command.at, "an interface definition");
            }
            menu if WITHOUT_EFFECT.iter().any(|own| menu.starts_with(own)) => {
                report.ignored(command.at, format!("/{menu} has no effect on queues"));
            }
            menu => report.unsupported(command.at, format!("unknown menu /{menu}"), None),
        }
    }
    queues::build(&all, &kinds, &mangle, &mut config, report);
    config
}

/// Reads `add address=10.0.0.0/8 list=lan`. A list with host names is recorded in [`Mangle::partial`]: rules that name
/// it cannot be evaluated.
fn list(command: &Command, mangle: &mut Mangle) {
    let (Some((list, _)), Some((address, _))) = (command.get("list"), command.get("address")) else { return };
    match mangle::addresses(address) {
        Some(nets) => mangle.lists.entry(list.to_owned()).or_default().extend(nets),
        None => mangle.partial.push(list.to_owned()),
    }
}

/// Reads name and speed of an interface; returns `false` if the command is not about an interface. The medium stays
/// unknown, so that queues count packets from layer 3: they come after the chain postrouting and before the link layer
/// (MikroTik, "Packet Flow in RouterOS").
fn interface(menu: &str, command: &Command, config: &mut Config) -> bool {
    let kinds =
        ["interface ethernet", "interface bridge", "interface bonding", "interface vlan", "interface pppoe-client"];
    if !kinds.contains(&menu) {
        return false;
    }
    // `set [ find default-name=ether1 ] name=wan`
    let found = command.words.iter().find(|word| word.key.starts_with('[')).and_then(|word| {
        let inner = word.key.trim_matches(['[', ']', ' ']);
        inner
            .split_whitespace()
            .find_map(|part| part.split_once("name=").map(|(_, name)| name.trim_matches('"').to_owned()))
    });
    let name = command.get("name").map(|(name, _)| name.to_owned()).or(found);
    let Some(name) = name else { return true };
    if config.ports.len() >= MAX_QUEUES || config.ports.iter().any(|port| port.name == name) {
        return true;
    }
    // `speed=1Gbps`, or, from RouterOS 7 on, `speed=1G-baseT-full`.
    let speed = command.get("speed").and_then(|(text, _)| units::rate(text.split('-').next().unwrap_or(text)));
    config.ports.push(Port { name, rate: speed.filter(|rate| *rate > 0), at: command.at, ..Port::default() });
    true
}

/// Reads a change of a queue type: `set [ find … ] name=… kind=…` or `set default kind=…`.
fn set_type(command: &Command, kinds: &mut std::collections::BTreeMap<String, types::Kind>, report: &mut Report) {
    let named = command.get("name").map(|own| own.0.to_owned());
    let first = command.words.first().filter(|word| word.value.is_none()).map(|word| word.key.clone());
    let name = named.or_else(|| first.filter(|name| kinds.contains_key(name)));
    let (Some(name), Some(_)) = (name, command.get("kind")) else {
        report.unsupported(
            command.at,
            "`set` without the name or the kind of the queue type",
            Some("write `set NAME kind=KIND …`"),
        );
        return;
    };
    if let Some((_, kind)) = types::read(command, report) {
        let _ = kinds.insert(name, kind);
    }
}

/// Reads the queue of an interface itself, which packets enter after the queue tree.
fn interface_queue(command: &Command, report: &mut Report) {
    let word = command.words.first().map_or("", |word| word.key.as_str());
    let inner = word.trim_matches(['[', ']', ' ']);
    let name = inner.split_once("name=").map_or(inner, |(_, name)| name).trim_matches('"').to_owned();
    report.enter(Scope::Port(name.clone()));
    match command.get("queue") {
        // The defaults of RouterOS: the transmit ring of the adapter, or a short FIFO.
        Some(("only-hardware-queue" | "ethernet-default" | "multi-queue-ethernet-default" | "default-small", _))
        | None => {
            report.ignored(
                command.at,
                "the queue of the interface itself, in which packets wait only if no queue before it limits their rate",
            );
        }
        Some((kind, at)) => {
            report.unsupported(
                at,
                format!("the queue `{kind}` of the interface {name} itself, after the queue tree, is not simulated"),
                None,
            );
        }
    }
    report.enter(Scope::Everything);
}

/// Reports filter rules. Only FastTrack matters here: its packets bypass marks and queues (MikroTik, "FastTrack").
fn filter(command: &Command, report: &mut Report) {
    let action = command.get("action").map_or("", |own| own.0);
    if action == "fasttrack-connection" && !command.is("disabled") {
        report.unsupported(
            command.at,
            "packets of fasttracked connections bypass mangle rules, simple queues and queue trees at `global`",
            Some("disable the rule, or leave it out if it matches no row of the traffic table"),
        );
    } else {
        report.ignored(command.at, "filters are not simulated: the traffic table states the packets that pass them");
    }
}
