//! `tc filter`: which packets go to which class.

use super::args::{Args, Trouble};
use super::{Handle, Tables, Verb, units};
use crate::ir::{Act, Match, Net, Police, PortRange, Share, protocol_named};
use crate::{Place, Report};
use core::net::Ipv4Addr;

/// A filter of a device.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub parent: Handle,
    pub prio: u32,
    pub when: Match,
    pub target: Option<Handle>,
    pub police: Option<Police>,
    pub at: Place,
}

/// The priority of the first filter that was given none; each further one goes before those there are, as in the kernel.
const UNNUMBERED: u32 = 0xc000;

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
            "ingress" | "egress" | "block" | "chain" => {
                return Err(Trouble::unsupported(word.at, format!("filters of `{}`", word.text)));
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
    if verb == Verb::Delete {
        let before = device.filters.len();
        device.filters.retain(|filter| filter.parent != parent || prio.is_some_and(|prio| prio != filter.prio));
        if device.filters.len() == before {
            report.ignored(at, "there is no such filter to delete");
        }
        return Ok(());
    }
    if parent.major == u16::MAX {
        return Err(Trouble::unsupported(at, "what is done with packets that arrive"));
    }
    if device.qdisc(parent.major).is_none() {
        return Err(Trouble::wrong(
            at,
            format!("there is no discipline {:x}: on {name}", parent.major),
            "add it before its filters",
        ));
    }
    if parent.minor > 0 {
        return Err(Trouble::unsupported(at, "filters of a class: those of the discipline lead to leaves at once"));
    }
    match family.as_str() {
        "ip" | "all" | "802.1q" | "802.1Q" | "mpls_uc" => {}
        "ipv6" | "arp" => return Err(Trouble::unsupported(at, format!("filters for {family}: traffic is IPv4 here"))),
        other => return Err(Trouble::unsupported(at, format!("filters for the protocol `{other}`"))),
    }
    let kind = kind.ok_or_else(|| Trouble::wrong(at, "the kind of filter is missing", "write one, such as u32"))?;
    let mut conditions = match kind.text.as_str() {
        "u32" => u32_conditions(args)?,
        "flower" => flower(args)?,
        "matchall" => Vec::new(),
        "fw" => {
            let word = handle.ok_or_else(|| Trouble::wrong(at, "the mark is missing", "write `handle 10 fw`"))?;
            let mark =
                units::number(word.text.split('/').next().unwrap_or_default()).and_then(|n| u32::try_from(n).ok());
            vec![Match::FirewallMark(mark.ok_or_else(|| Trouble::wrong(word.at, "this is no mark", "write a number"))?)]
        }
        other => return Err(Trouble::unsupported(kind.at, format!("filters by `{other}`"))),
    };
    let (mut target, mut police) = (None, None);
    while let Some(word) = args.take() {
        match word.text.as_str() {
            "flowid" | "classid" => target = Some(args.handle(Some(parent.major))?),
            "police" => police = Some(policer(args)?),
            "action" => match args.word("action")?.text.as_str() {
                "police" => police = Some(policer(args)?),
                "ok" | "pass" => {}
                other => return Err(Trouble::unsupported(word.at, format!("the action `{other}`"))),
            },
            "skip_hw" | "skip_sw" => {}
            // `action pass flowid …` may number its actions.
            "index" => {
                let _ = args.number()?;
            }
            other => return Err(Trouble::unsupported(word.at, format!("`{other}` of a filter"))),
        }
    }
    let when = match (conditions.pop(), conditions.is_empty()) {
        (None, _) => Match::Any,
        (Some(one), true) => one,
        (Some(last), false) => {
            conditions.push(last);
            Match::All(conditions)
        }
    };
    if let Some(target) = target
        && target.major == parent.major
        && !super::class::exists(device, target)
    {
        return Err(Trouble::wrong(
            at,
            format!("there is no class {target} on {name}"),
            "add it before filters that lead to it",
        ));
    }
    if let Some(target) = target
        && target.major != parent.major
    {
        return Err(Trouble::unsupported(at, format!("the class {target} of another discipline")));
    }
    let own = device.filters.iter().filter(|filter| filter.parent == parent && filter.prio >= 0x8000);
    let prio = prio.unwrap_or_else(|| own.map(|filter| filter.prio.saturating_sub(1)).min().unwrap_or(UNNUMBERED));
    let filter = Filter { parent, prio, when, target, police, at };
    if verb == Verb::Replace {
        device.filters.retain(|own| own.parent != parent || own.prio != prio || own.when != filter.when);
    }
    // Those of one priority stay in the order in which they came.
    let place = device.filters.partition_point(|own| own.prio <= filter.prio);
    device.filters.insert(place, filter);
    Ok(())
}

fn u32_conditions(args: &mut Args<'_>) -> Result<Vec<Match>, Trouble> {
    let mut found = Vec::new();
    loop {
        if !args.is("match") {
            if args
                .peek()
                .is_some_and(|word| matches!(word.text.as_str(), "ht" | "link" | "hashkey" | "divisor" | "offset"))
            {
                return Err(Trouble::unsupported(args.at(), "hash tables of u32"));
            }
            return Ok(found);
        }
        let at = args.at();
        let selector = args.word("selector")?;
        match selector.text.as_str() {
            "ip" => found.extend(u32_ip(args)?),
            "tcp" | "udp" => {
                found.push(Match::IpProtocol(if selector.text == "tcp" { 6 } else { 17 }));
                let side = args.word("src or dst")?;
                let range = ports(args)?;
                match side.text.as_str() {
                    "src" => found.push(Match::SourcePort(range)),
                    "dst" => found.push(Match::DestinationPort(range)),
                    other => return Err(Trouble::unsupported(side.at, format!("`{other}` of u32"))),
                }
            }
            "mark" => {
                let value = args.within("mark", 0, u64::from(u32::MAX))? as u32;
                let _ = args.number()?;
                found.push(Match::FirewallMark(value));
            }
            "u32" | "u16" | "u8" => {
                let (value, mask) = (args.hex()?, args.hex()?);
                let offset = if args.is("at") { args.word("offset")?.text.clone() } else { "0".to_owned() };
                match (selector.text.as_str(), offset.as_str(), mask) {
                    (_, _, 0) => {}
                    ("u8", "1", _) => found.push(ds_field(value, mask)),
                    ("u8", "9", 0xff) => found.push(Match::IpProtocol(value as u8)),
                    _ => return Err(Trouble::unsupported(at, "bytes of the packet at an offset")),
                }
            }
            other => return Err(Trouble::unsupported(at, format!("the selector `{other}` of u32"))),
        }
    }
}

/// Port and mask of u32.
fn ports(args: &mut Args<'_>) -> Result<PortRange, Trouble> {
    let at = args.at();
    let port = args.within("port", 0, 65535)? as u16;
    let mask = args.hex()? as u16;
    // A mask of leading ones is a range of ports.
    if mask.leading_ones() + mask.trailing_zeros() != 16 {
        return Err(Trouble::unsupported(at, "a mask of ports that is no range"));
    }
    Ok(PortRange { low: port & mask, high: (port & mask) | !mask })
}

fn u32_ip(args: &mut Args<'_>) -> Result<Option<Match>, Trouble> {
    let field = args.word("field")?;
    Ok(Some(match field.text.as_str() {
        "dsfield" | "tos" | "dscp" | "precedence" => {
            let (value, mask) = (args.hex_or_decimal()?, args.hex_or_decimal()?);
            ds_field(value, mask)
        }
        "protocol" => {
            let word = args.word("protocol")?;
            let number =
                units::number(&word.text).and_then(|n| u8::try_from(n).ok()).or_else(|| protocol_named(&word.text));
            let _ = args.hex()?;
            Match::IpProtocol(number.ok_or_else(|| Trouble::wrong(word.at, "this is no protocol", "write its number"))?)
        }
        "sport" => Match::SourcePort(ports(args)?),
        "dport" => Match::DestinationPort(ports(args)?),
        "src" => Match::Source(net(args)?),
        "dst" => Match::Destination(net(args)?),
        "ihl" | "nofrag" | "firstfrag" | "df" | "mf" | "icmp_type" | "icmp_code" => {
            return Err(Trouble::unsupported(field.at, format!("the field `{}`", field.text)));
        }
        other => return Err(Trouble::unsupported(field.at, format!("the field `{other}`"))),
    }))
}

/// A condition on the DS field: the code point, the precedence, or bits.
fn ds_field(value: u64, mask: u64) -> Match {
    let (value, mask) = ((value & 0xff) as u8, (mask & 0xff) as u8);
    match mask {
        // The whole field, or all of the code point: the ECN bits are zero where they are not used.
        0xfc | 0xff if mask == 0xfc || value & 3 == 0 => Match::Dscp(vec![value >> 2]),
        0xe0 => Match::Precedence(vec![value >> 5]),
        _ => Match::DsField { value: value & mask, mask },
    }
}

fn net(args: &mut Args<'_>) -> Result<Net, Trouble> {
    let word = args.word("network")?;
    let (address, length) = word.text.split_once('/').unwrap_or((&word.text, "32"));
    if address == "any" {
        return Ok(Net::ANY);
    }
    let parsed: Option<Ipv4Addr> = address.parse().ok();
    let found = parsed.zip(length.parse().ok()).and_then(|(address, length)| Net::prefix(address.into(), length));
    found.ok_or_else(|| {
        Trouble::wrong(word.at, format!("`{}` is no IPv4 network", word.text), "write it such as 10.0.0.0/8")
    })
}

fn flower(args: &mut Args<'_>) -> Result<Vec<Match>, Trouble> {
    let mut found = Vec::new();
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
                        format!("`{}` is no protocol", name.text),
                        "write tcp, udp, icmp or a number",
                    )
                })?));
            }
            "src_port" => found.push(Match::SourcePort(port_range(args)?)),
            "dst_port" => found.push(Match::DestinationPort(port_range(args)?)),
            "src_ip" => found.push(Match::Source(net(args)?)),
            "dst_ip" => found.push(Match::Destination(net(args)?)),
            "ip_tos" => {
                let text = args.word("code point")?;
                let (value, mask) = text.text.split_once('/').unwrap_or((&text.text, "0xff"));
                // Unlike elsewhere in tc, these are hexadecimal with or without a prefix.
                let hex = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok().filter(|n| *n < 256);
                let (value, mask) = hex(value).zip(hex(mask)).ok_or_else(|| {
                    Trouble::wrong(text.at, format!("`{}` is no ip_tos", text.text), "write it such as 0xb8/0xfc")
                })?;
                found.push(ds_field(value, mask));
            }
            "mpls_tc" => found.push(Match::Experimental(vec![args.within("traffic class", 0, 7)? as u8])),
            "vlan_prio" => found.push(Match::Cos(vec![args.within("priority", 0, 7)? as u8])),
            other => return Err(Trouble::unsupported(word.at, format!("the key `{other}` of flower"))),
        }
    }
    Ok(found)
}

fn port_range(args: &mut Args<'_>) -> Result<PortRange, Trouble> {
    let word = args.word("port")?;
    let (low, high) = word.text.split_once('-').unwrap_or((&word.text, &word.text));
    let range = low.parse().ok().zip(high.parse().ok()).map(|(low, high)| PortRange { low, high });
    range
        .filter(|range| range.low <= range.high)
        .ok_or_else(|| Trouble::wrong(word.at, format!("`{}` is no port", word.text), "write 53, or 16384-32767"))
}

/// What follows `police`.
fn policer(args: &mut Args<'_>) -> Result<Police, Trouble> {
    let at = args.at();
    let (mut rate, mut burst) = (None, None);
    let (mut conform, mut exceed) = (vec![Act::Transmit], vec![Act::Drop]);
    let act = |word: &str| match word {
        "drop" | "shot" => Some(Act::Drop),
        "ok" | "pass" | "pipe" | "reclassify" | "continue" => Some(Act::Transmit),
        _ => None,
    };
    while let Some(word) = args.peek() {
        match word.text.as_str() {
            "rate" => {
                let _ = args.take();
                rate = Some(args.rate()?);
            }
            "burst" | "buffer" | "maxburst" => {
                let _ = args.take();
                burst = Some(args.size()?);
            }
            "mtu" | "mpu" | "overhead" => {
                let _ = args.take();
                let _ = args.size()?;
            }
            "conform-exceed" => {
                let _ = args.take();
                let both = args.word("action")?;
                let (first, second) =
                    both.text.split_once('/').map_or((both.text.as_str(), None), |(e, c)| (e, Some(c)));
                let unknown = || Trouble::unsupported(both.at, format!("the actions `{}`", both.text));
                exceed = vec![act(first).ok_or_else(unknown)?];
                if let Some(second) = second {
                    conform = vec![act(second).ok_or_else(unknown)?];
                }
            }
            "peakrate" | "avrate" | "pkts_rate" => {
                return Err(Trouble::unsupported(word.at, format!("`{}` of a policer", word.text)));
            }
            other => match act(other) {
                Some(act) => {
                    let _ = args.take();
                    exceed = vec![act];
                }
                None => break,
            },
        }
    }
    let missing =
        |what: &str| Trouble::wrong(at, format!("a policer needs {what}"), "write `police rate 1mbit burst 10k drop`");
    let rate = rate.ok_or_else(|| missing("a rate"))?;
    let burst = Some(burst.ok_or_else(|| missing("a burst"))?);
    Ok(Police { rate: Share::Rate(rate), burst, peak: None, excess: None, conform, exceed, violate: Vec::new() })
}

impl Args<'_> {
    /// A number that `tc` reads as hexadecimal, with a prefix or without.
    fn hex(&mut self) -> Result<u64, Trouble> {
        let word = self.word("mask")?;
        u64::from_str_radix(word.text.trim_start_matches("0x"), 16)
            .map_err(|_| Trouble::wrong(word.at, format!("`{}` is no number", word.text), "write it such as 0xff"))
    }
    /// A number of the DS field: hexadecimal after `0x`, decimal otherwise.
    fn hex_or_decimal(&mut self) -> Result<u64, Trouble> {
        let at = self.at();
        self.number().and_then(|n| {
            if n < 256 {
                Ok(n)
            } else {
                Err(Trouble::wrong(at, format!("{n} is more than a byte"), "write 0x00 to 0xff"))
            }
        })
    }
}
