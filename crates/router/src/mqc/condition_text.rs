//! Conditions as the arguments of `match`.

use crate::ir::Match;
use tailback_diffserv::Dscp;

/// Returns the arguments of `match` for a condition; `None`: a class map does not support it.
pub(super) fn condition_text(condition: &Match) -> Option<String> {
    Some(match condition {
        Match::Any => "any".to_owned(),
        Match::Dscp(values) => format!("dscp {}", codes(values)),
        Match::Precedence(values) => format!("precedence {}", numbers(values)),
        Match::Experimental(values) => format!("mpls experimental topmost {}", numbers(values)),
        Match::Cos(values) => format!("cos {}", numbers(values)),
        Match::QosGroup(group) => format!("qos-group {group}"),
        Match::TrafficClass(class) => format!("traffic-class {class}"),
        Match::Vlan(ranges) => {
            let one = |range: &crate::ir::PortRange| format!(" {}-{}", range.low, range.high);
            format!("vlan{}", ranges.iter().map(one).collect::<String>())
        }
        Match::AccessList(name) if name.parse::<u32>().is_ok() => format!("access-group {name}"),
        Match::AccessList(name) => format!("access-group name {name}"),
        Match::Protocol(name) => format!("protocol {name}"),
        Match::ClassMap(name) => format!("class-map {name}"),
        Match::InputInterface(name) => format!("input-interface {name}"),
        Match::Not(inner) if !matches!(inner.as_ref(), Match::Not(_)) => format!("not {}", condition_text(inner)?),
        Match::All(all) => match all.as_slice() {
            [Match::IpProtocol(17), Match::DestinationPort(range)] => {
                format!("ip rtp {} {}", range.low, range.high.checked_sub(range.low)?)
            }
            [Match::Version(4), codes @ (Match::Dscp(_) | Match::Precedence(_))] => {
                format!("ip {}", condition_text(codes)?)
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// Formats DSCPs by name, separated by spaces.
pub(crate) fn codes(values: &[u8]) -> String {
    let name = |value: &u8| Dscp::new(*value).map_or_else(|| value.to_string(), |dscp| dscp.to_string());
    values.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Formats numbers, separated by spaces.
pub(super) fn numbers(values: &[u8]) -> String {
    values.iter().map(u8::to_string).collect::<Vec<_>>().join(" ")
}
