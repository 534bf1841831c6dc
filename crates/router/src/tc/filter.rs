//! `tc filter`: classification, and fields set in packets.

use super::action::Actions;
use super::args::{Args, Trouble};
use super::filters::one_of;
use super::handle::Handle;
use super::tables::{Device, Filter, Hook, Kind, Tables, Verb, exists};
use super::u32::{Conditions, ds_field, mark, net, net6};
use super::units;
use crate::ir::{Match, PortRange, protocol_named};
use crate::{Place, Report, Scope};

/// Priority of the first filter without a stated one; each further one gets the next lower number, and so is evaluated
/// before the existing ones (`tcf_auto_prio`, `net/sched/cls_api.c`).
const FIRST_AUTO_PRIORITY: u32 = 0xc000;
/// Minor numbers of the two hooks of clsact (`TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`).
const INGRESS: u16 = 0xfff2;
const EGRESS: u16 = 0xfff3;

/// Executes `tc filter add|replace|change|delete …`.
pub(super) fn command(
    verb: Verb,
    args: &mut Args<'_>,
    tables: &mut Tables,
    report: &mut Report,
) -> Result<(), Trouble> {
    let at = args.start();
    let (mut device, mut parent, mut prio, mut handle) = (None, None, None, None);
    let mut family = "all".to_owned();
    let mut kind = None;
    while let Some(word) = args.peek() {
        match word.text.as_str() {
            "dev" => {
                let _ = args.take();
                device = Some(args.word("name of the device")?.text.clone());
            }
            "parent" => {
                let _ = args.take();
                parent = Some(args.handle(None)?);
            }
            "root" => {
                let _ = args.take();
                parent = None;
            }
            "ingress" | "egress" => {
                let _ = args.take();
                parent = Some(Handle { major: u16::MAX, minor: if word.text == "ingress" { INGRESS } else { EGRESS } });
            }
            "block" | "chain" => {
                return Err(Trouble::unsupported(word.at, format!("filters with `{}`", word.text)));
            }
            "protocol" => {
                let _ = args.take();
                family.clone_from(&args.word("protocol")?.text);
            }
            "prio" | "pref" | "preference" => {
                let _ = args.take();
                prio = Some(args.within("priority", 1, 65535)? as u32);
            }
            "handle" => {
                let _ = args.take();
                handle = Some(args.word("handle")?);
            }
            _ => {
                kind = args.take();
                break;
            }
        }
    }
    let name = device.ok_or_else(|| Trouble::wrong(at, "the device is missing", "write `dev eth0`"))?;
    report.enter(Scope::Port(name.clone()));
    let device = tables.device(&name);
    let parent = match parent {
        Some(parent) => parent,
        None => match device.root() {
            Some(root) => Handle { major: root.major, minor: 0 },
            None => {
                return Err(Trouble::wrong(
                    at,
                    format!("there is no discipline on {name}"),
                    "add one before its filters",
                ));
            }
        },
    };
    let hook = match parent {
        Handle { major: u16::MAX, minor: EGRESS } => Hook::Egress,
        Handle { major: u16::MAX, .. } => Hook::Ingress,
        Handle { major, .. } => Hook::Qdisc(major),
    };
    if verb == Verb::Delete {
        let before = device.filters.len();
        device.filters.retain(|filter| filter.hook != hook || prio.is_some_and(|prio| prio != filter.prio));
        if device.filters.len() == before {
            report.ignored(at, "there is no such filter to delete");
        }
        return Ok(());
    }
    if device.qdisc(parent.major).is_none() {
        return Err(Trouble::wrong(
            at,
            format!("there is no discipline {:x}: on {name}", parent.major),
            "add it before its filters",
        ));
    }
    if parent.minor > 0 && parent.major != u16::MAX {
        return Err(Trouble::unsupported(
            at,
            "a filter attached to a class: attach it to the discipline, from where it can select any class",
        ));
    }
    if matches!(device.qdisc(parent.major).map(|qdisc| &qdisc.kind), Some(Kind::Opaque)) {
        report.unsupported(at, "a filter of an unsupported discipline", None);
        return Ok(());
    }
    let version = match family.as_str() {
        "all" | "802.1q" | "802.1Q" | "mpls_uc" => None,
        "ip" => Some(4),
        "ipv6" => Some(6),
        "arp" | "rarp" => {
            report.ignored(at, "the traffic table has no ARP packets");
            return Ok(());
        }
        other => return Err(Trouble::unsupported(at, format!("filters for the protocol `{other}`"))),
    };
    let kind = kind.ok_or_else(|| Trouble::wrong(at, "the kind of filter is missing", "write one, such as u32"))?;
    let conditions = match kind.text.as_str() {
        "u32" => {
            let mut conditions = Conditions::of(version);
            conditions.u32(args)?;
            conditions.into_vec()
        }
        "basic" => {
            let mut conditions = Conditions::of(version);
            if args.take_if("match") {
                conditions.ematch(args)?;
            }
            conditions.into_vec()
        }
        "flower" => flower(version, args)?,
        "matchall" => version.map(Match::Version).into_iter().collect(),
        "fw" => version.map(Match::Version).into_iter().chain([firewall_mark(handle, at)?]).collect(),
        other => return Err(Trouble::unsupported(kind.at, format!("the kind of filter `{other}`"))),
    };
    let (actions, target) = Actions::read(args, parent.major, report)?;
    check_target(device, &name, target, parent, at)?;
    let when = one_of(conditions);
    let own = device.filters.iter().filter(|filter| filter.hook == hook && filter.prio >= 0x8000);
    let prio =
        prio.unwrap_or_else(|| own.map(|filter| filter.prio.saturating_sub(1)).min().unwrap_or(FIRST_AUTO_PRIORITY));
    let filter = Filter { hook, prio, when, target, actions, at };
    if verb == Verb::Replace {
        device.filters.retain(|own| own.hook != hook || own.prio != prio || own.when != filter.when);
    }
    // Filters of equal priority keep their order.
    let place = device.filters.partition_point(|own| own.prio <= filter.prio);
    device.filters.insert(place, filter);
    Ok(())
}

/// `handle MARK[/MASK] fw`
fn firewall_mark(handle: Option<&super::shell::Word>, at: Place) -> Result<Match, Trouble> {
    let word = handle.ok_or_else(|| Trouble::wrong(at, "the mark is missing", "write `handle 10 fw`"))?;
    let (value, mask) = word.text.split_once('/').unwrap_or((&word.text, "0xffffffff"));
    let number = |text: &str| units::based(text).and_then(|n| u32::try_from(n).ok());
    let found = number(value).zip(number(mask));
    let (value, mask) = found.ok_or_else(|| {
        Trouble::wrong(
            word.at,
            "this is not a valid firewall mark",
            "write MARK or MARK/MASK, integers of 32 bits, such as 10 or 0x10/0xff",
        )
    })?;
    Ok(mark(value, mask))
}

/// Checks that the class that a filter selects exists in the filter's discipline.
fn check_target(device: &Device, name: &str, target: Option<Handle>, parent: Handle, at: Place) -> Result<(), Trouble> {
    let Some(target) = target.filter(|_| parent.major != u16::MAX) else { return Ok(()) };
    if target.major != parent.major {
        return Err(Trouble::unsupported(at, format!("the class {target}, which belongs to another discipline")));
    }
    if !exists(device, target) {
        return Err(Trouble::wrong(
            at,
            format!("there is no class {target} on {name}"),
            "add the class before the filters that select it",
        ));
    }
    Ok(())
}

/// Parses the conditions of `flower` (tc-flower(8)).
fn flower(version: Option<u8>, args: &mut Args<'_>) -> Result<Vec<Match>, Trouble> {
    let mut found: Vec<Match> = version.map(Match::Version).into_iter().collect();
    while let Some(word) = args.peek() {
        match word.text.as_str() {
            "flowid" | "classid" | "action" | "skip_hw" | "skip_sw" | "police" => break,
            _ => {}
        }
        let _ = args.take();
        match word.text.as_str() {
            "ip_proto" => {
                let name = args.word("protocol")?;
                // A number is hexadecimal here, with or without a prefix (`f_flower.c`, `flower_parse_ip_proto`).
                let hex = u8::from_str_radix(name.text.trim_start_matches("0x"), 16).ok();
                let digits = name.text.starts_with(|c: char| c.is_ascii_digit());
                let number = if digits { hex } else { protocol_named(&name.text) };
                found.push(Match::IpProtocol(number.ok_or_else(|| {
                    Trouble::wrong(
                        name.at,
                        format!("`{}` is not a known IP protocol", name.text),
                        "write a name such as tcp, udp or icmp, or a hexadecimal number from 0 to ff",
                    )
                })?));
            }
            "src_port" => found.push(Match::SourcePort(port_range(args)?)),
            "dst_port" => found.push(Match::DestinationPort(port_range(args)?)),
            "src_ip" if version == Some(6) => found.push(Match::Source6(net6(args)?)),
            "dst_ip" if version == Some(6) => found.push(Match::Destination6(net6(args)?)),
            "src_ip" => found.push(Match::Source(net(args)?)),
            "dst_ip" => found.push(Match::Destination(net(args)?)),
            "ip_tos" => {
                let text = args.word("code point")?;
                let (value, mask) = text.text.split_once('/').unwrap_or((&text.text, "0xff"));
                // `flower_parse_ip_tos_ttl` parses a value as decimal, or else as hexadecimal; a mask is hexadecimal.
                let small = |n: &u64| *n < 256;
                let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok().filter(small);
                let value = value.parse().ok().filter(small).or_else(|| hex(value));
                let (value, mask) = value.zip(hex(mask)).ok_or_else(|| {
                    Trouble::wrong(
                        text.at,
                        format!("`{}` is not a valid ip_tos", text.text),
                        "write VALUE or VALUE/MASK, each up to 0xff, such as 0xb8/0xfc",
                    )
                })?;
                found.extend(ds_field(value, mask));
            }
            "mpls_tc" => found.push(Match::Experimental(vec![args.within("traffic class", 0, 7)? as u8])),
            "vlan_prio" => found.push(Match::Cos(vec![args.within("priority", 0, 7)? as u8])),
            other => return Err(Trouble::unsupported(word.at, format!("the key `{other}` of flower"))),
        }
    }
    Ok(found)
}

/// Parses `PORT` or `LOW-HIGH`.
fn port_range(args: &mut Args<'_>) -> Result<PortRange, Trouble> {
    let word = args.word("port")?;
    let (low, high) = word.text.split_once('-').unwrap_or((&word.text, &word.text));
    let range = low.parse().ok().zip(high.parse().ok()).map(|(low, high)| PortRange { low, high });
    range.filter(|range| range.low <= range.high).ok_or_else(|| {
        Trouble::wrong(
            word.at,
            format!("`{}` is not a valid port", word.text),
            "write a port or a range, 0 to 65535, such as 53 or 16384-32767",
        )
    })
}
