//! Conditions as filters of `tc`: fw for marks, u32 if possible, else flower.

use crate::ir::Match;

/// Returns the protocol and the arguments of a filter that requires all of these conditions; `None`: no filter
/// expresses them.
pub(super) fn text(conditions: &[Match]) -> Option<(&'static str, String)> {
    if conditions.contains(&Match::Version(6)) {
        return ipv6_text(conditions);
    }
    // Filters without an IP version are written for IPv4.
    let conditions: Vec<Match> = conditions.iter().filter(|one| **one != Match::Version(4)).cloned().collect();
    let conditions = conditions.as_slice();
    if let [Match::FirewallMark { value, mask }] = conditions {
        let mask = if *mask == u32::MAX { String::new() } else { format!("/{mask:#x}") };
        return Some(("ip", format!("handle {value}{mask} fw")));
    }
    if conditions.is_empty() {
        return Some(("ip", "matchall".to_owned()));
    }
    if let Some(all) = conditions.iter().map(u32_text).collect::<Option<Vec<String>>>() {
        return Some(("ip", format!("u32 {}", all.join(" "))));
    }
    // Ports belong to the protocol stated before them (`f_flower.c`, `flower_port_attr_type`).
    let mut sorted: Vec<&Match> = conditions.iter().collect();
    sorted.sort_by_key(|one| !matches!(one, Match::IpProtocol(_)));
    let ports = sorted.iter().any(|one| matches!(one, Match::SourcePort(_) | Match::DestinationPort(_)));
    if ports && !matches!(sorted.first(), Some(Match::IpProtocol(6 | 17 | 132))) {
        return None;
    }
    let all = sorted.into_iter().map(flower_text).collect::<Option<Vec<String>>>()?;
    let key = |text: &String| text.split(' ').next().unwrap_or_default().to_owned();
    let twice = all.iter().enumerate().any(|(index, text)| all.iter().take(index).any(|other| key(other) == key(text)));
    // flower keeps the last of two values of one key, and accepts keys of a protocol only under it (`f_flower.c`:
    // "Can't set "mpls_tc" if ethertype isn't MPLS").
    let of = |wanted: fn(&Match) -> bool| conditions.iter().filter(|one| wanted(one)).count();
    let labels = of(|one| matches!(one, Match::Experimental(_)));
    let tags = of(|one| matches!(one, Match::Cos(_)));
    let protocol = match (labels, tags) {
        (0, 0) => "ip",
        (labels, 0) if labels == conditions.len() => "mpls_uc",
        (0, tags) if tags == conditions.len() => "802.1q",
        _ => return None,
    };
    (!twice).then(|| (protocol, format!("flower {}", all.join(" "))))
}

/// Returns the protocol and the arguments of a filter for IPv6 packets.
fn ipv6_text(conditions: &[Match]) -> Option<(&'static str, String)> {
    let rest: Vec<&Match> = conditions.iter().filter(|one| **one != Match::Version(6)).collect();
    if let [Match::FirewallMark { value, mask }] = rest.as_slice() {
        return Some(("ipv6", format!("handle {value}/{mask:#x} fw")));
    }
    if rest.is_empty() {
        return Some(("ipv6", "matchall".to_owned()));
    }
    let one = |condition: &&Match| {
        Some(match condition {
            Match::Source6(net) => format!("match ip6 src {net}"),
            Match::Destination6(net) => format!("match ip6 dst {net}"),
            other => match ds_field(other) {
                Some((value, mask)) => format!("match ip6 priority {value:#04x} {mask:#04x}"),
                // The other fields have the same names in both versions.
                None => u32_text(other)?.replacen("match ip ", "match ip6 ", 1),
            },
        })
    };
    Some(("ipv6", format!("u32 {}", rest.iter().map(one).collect::<Option<Vec<String>>>()?.join(" "))))
}

/// `true` if two of the conditions exclude each other, so that no packet meets all of them.
pub(super) fn never(conditions: &[Match]) -> bool {
    conditions.iter().enumerate().any(|(index, one)| conditions.iter().take(index).any(|other| exclude(one, other)))
}

/// `true` if no packet meets both conditions; `false`: they may be compatible.
fn exclude(a: &Match, b: &Match) -> bool {
    if let (Some((x, mask)), Some((y, other))) = (ds_field(a), ds_field(b)) {
        return (x ^ y) & mask & other != 0;
    }
    match (a, b) {
        (Match::IpProtocol(x), Match::IpProtocol(y)) => x != y,
        (Match::SourcePort(x), Match::SourcePort(y)) | (Match::DestinationPort(x), Match::DestinationPort(y)) => {
            x.high < y.low || y.high < x.low
        }
        (Match::Source(x), Match::Source(y)) | (Match::Destination(x), Match::Destination(y)) => {
            (x.address ^ y.address) & !x.wildcard & !y.wildcard != 0
        }
        (Match::Experimental(x), Match::Experimental(y)) | (Match::Cos(x), Match::Cos(y)) => {
            x.iter().all(|value| !y.contains(value))
        }
        _ => false,
    }
}

/// Returns value and mask of a condition on the DS field; `None`: another condition, or one with several values.
fn ds_field(condition: &Match) -> Option<(u8, u8)> {
    match condition {
        Match::Dscp(values) => values.first().filter(|_| values.len() == 1).map(|code| (code << 2, 0xfc)),
        Match::Precedence(values) => values.first().filter(|_| values.len() == 1).map(|n| (n << 5, 0xe0)),
        Match::DsField { value, mask } => Some((*value, *mask)),
        _ => None,
    }
}

/// Returns the condition as `match …` of u32; `None`: u32 does not express it.
fn u32_text(condition: &Match) -> Option<String> {
    Some(match condition {
        Match::Dscp(values) => match values.as_slice() {
            [code] => format!("match ip dsfield {:#04x} 0xfc", code << 2),
            _ => return None,
        },
        Match::Precedence(values) => match values.as_slice() {
            [n] => format!("match ip dsfield {:#04x} 0xe0", n << 5),
            _ => return None,
        },
        Match::DsField { value, mask } => format!("match ip dsfield {value:#04x} {mask:#04x}"),
        Match::IpProtocol(number) => format!("match ip protocol {number} 0xff"),
        Match::SourcePort(range) if range.low == range.high => format!("match ip sport {} 0xffff", range.low),
        Match::DestinationPort(range) if range.low == range.high => format!("match ip dport {} 0xffff", range.low),
        Match::SourcePort(range) => format!("match ip sport {} {:#06x}", range.low, port_mask(range.low, range.high)?),
        Match::DestinationPort(range) => {
            format!("match ip dport {} {:#06x}", range.low, port_mask(range.low, range.high)?)
        }
        Match::Source(net) if net.length().is_some() => format!("match ip src {net}"),
        Match::Destination(net) if net.length().is_some() => format!("match ip dst {net}"),
        _ => return None,
    })
}

/// Returns the mask of a range of ports; `None`: the range is not an aligned power of two.
fn port_mask(low: u16, high: u16) -> Option<u16> {
    let free = low ^ high;
    (free & free.wrapping_add(1) == 0 && low & free == 0).then_some(!free)
}

/// Returns the condition as a key of flower with its value; `None`: flower does not express it.
fn flower_text(condition: &Match) -> Option<String> {
    Some(match condition {
        Match::Dscp(values) => match values.as_slice() {
            [code] => format!("ip_tos {:#04x}/0xfc", code << 2),
            _ => return None,
        },
        Match::Precedence(values) => match values.as_slice() {
            [n] => format!("ip_tos {:#04x}/0xe0", n << 5),
            _ => return None,
        },
        Match::DsField { value, mask } => format!("ip_tos {value:#04x}/{mask:#04x}"),
        Match::IpProtocol(1) => "ip_proto icmp".to_owned(),
        Match::IpProtocol(6) => "ip_proto tcp".to_owned(),
        Match::IpProtocol(17) => "ip_proto udp".to_owned(),
        // Unlike elsewhere, a number is hexadecimal here (`f_flower.c`, `flower_parse_ip_proto`).
        Match::IpProtocol(number) => format!("ip_proto {number:#x}"),
        Match::SourcePort(range) if range.low == range.high => format!("src_port {}", range.low),
        Match::DestinationPort(range) if range.low == range.high => format!("dst_port {}", range.low),
        Match::SourcePort(range) => format!("src_port {}-{}", range.low, range.high),
        Match::DestinationPort(range) => format!("dst_port {}-{}", range.low, range.high),
        Match::Source(net) if net.length().is_some() => format!("src_ip {net}"),
        Match::Destination(net) if net.length().is_some() => format!("dst_ip {net}"),
        Match::Experimental(values) => match values.as_slice() {
            [n] => format!("mpls_tc {n}"),
            _ => return None,
        },
        Match::Cos(values) => match values.as_slice() {
            [n] => format!("vlan_prio {n}"),
            _ => return None,
        },
        _ => return None,
    })
}

/// Returns the conjunction of the conditions.
pub(super) fn one_of(mut conditions: Vec<Match>) -> Match {
    match (conditions.pop(), conditions.is_empty()) {
        (None, _) => Match::Any,
        (Some(one), true) => one,
        (Some(last), false) => {
            conditions.push(last);
            Match::All(conditions)
        }
    }
}
