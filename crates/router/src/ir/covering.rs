//! Implication between conditions.

use super::{Match, Net};

/// Maximum nesting that is compared; readers generate less.
const MAX_DEPTH: usize = 8;

impl Match {
    /// `true` if each packet that meets `other` meets this condition; `false`: some may not.
    pub(crate) fn covers(&self, other: &Match) -> bool {
        covers(self, other, MAX_DEPTH)
    }
}

/// `true` if each packet that meets all of `others` meets all of `conditions`; `false`: some may not.
pub(crate) fn all_cover(conditions: &[Match], others: &[Match]) -> bool {
    conditions.iter().all(|one| one == &Match::Any || others.iter().any(|other| one.covers(other)))
}

fn covers(one: &Match, other: &Match, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    if one == other || *one == Match::Any {
        return true;
    }
    match (one, other) {
        (_, Match::AnyOf(any)) => !any.is_empty() && any.iter().all(|inner| covers(one, inner, depth)),
        (Match::All(all), _) => all.iter().all(|inner| covers(inner, other, depth)),
        (_, Match::All(all)) => all.iter().any(|inner| covers(one, inner, depth)),
        (Match::AnyOf(any), _) => any.iter().any(|inner| covers(inner, other, depth)),
        (Match::Source(one), Match::Source(other)) | (Match::Destination(one), Match::Destination(other)) => {
            contains(*one, *other)
        }
        (Match::Source6(one), Match::Source6(other)) | (Match::Destination6(one), Match::Destination6(other)) => {
            one.length <= other.length && one.holds(other.address)
        }
        (Match::SourcePort(one), Match::SourcePort(other))
        | (Match::DestinationPort(one), Match::DestinationPort(other)) => {
            one.low <= other.low && other.high <= one.high
        }
        (Match::Experimental(one), Match::Experimental(other)) | (Match::Cos(one), Match::Cos(other)) => {
            other.iter().all(|value| one.contains(value))
        }
        _ => match (codes(one), codes(other)) {
            (Some(one), Some(other)) => other & !one == 0,
            _ => false,
        },
    }
}

/// `true` if `one` contains all addresses of `other`.
fn contains(one: Net, other: Net) -> bool {
    other.wildcard & !one.wildcard == 0 && one.holds(other.address)
}

/// Returns the DSCPs that meet a condition, as a bit mask; `None`: the condition depends on other fields.
fn codes(when: &Match) -> Option<u64> {
    let bits =
        |holds: &dyn Fn(u8) -> bool| (0..64u8).filter(|code| holds(*code)).fold(0, |bits, code| bits | 1 << code);
    Some(match when {
        Match::Dscp(values) => bits(&|code| values.contains(&code)),
        Match::Precedence(values) => bits(&|code| values.contains(&(code >> 3))),
        Match::DsField { value, mask } if mask & 3 == 0 => bits(&|code| code << 2 & mask == value & mask),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::PortRange;

    fn net(address: [u8; 4], length: u32) -> Match {
        Match::Source(Net::prefix(u32::from_be_bytes(address), length).expect("a prefix"))
    }

    #[test]
    fn a_wider_condition_covers_a_narrower_one_but_not_conversely() {
        let port = |low, high| Match::DestinationPort(PortRange { low, high });
        let udp = |inner| Match::All(vec![Match::IpProtocol(17), inner]);
        for (wide, narrow) in [
            (net([10, 0, 0, 0], 8), net([10, 1, 0, 0], 16)),
            (port(16384, 32767), port(20000, 20000)),
            (Match::Precedence(vec![5]), Match::Dscp(vec![46, 40])),
            (Match::Dscp(vec![46, 26]), Match::Dscp(vec![26])),
            (Match::IpProtocol(17), udp(port(5060, 5060))),
            (udp(port(1, 9999)), udp(port(5060, 5060))),
            (Match::AnyOf(vec![port(1, 2), port(5, 9)]), port(6, 7)),
            (port(1, 9), Match::AnyOf(vec![port(1, 2), port(5, 9)])),
            (Match::Any, net([10, 0, 0, 0], 8)),
        ] {
            assert!(wide.covers(&narrow), "{wide:?} {narrow:?}");
            assert!(!narrow.covers(&wide), "{narrow:?} {wide:?}");
        }
        // 10.0.0.0/9 and 10.128.0.0/9 exclude each other.
        assert!(!net([10, 0, 0, 0], 9).covers(&net([10, 128, 0, 0], 9)));
        assert!(all_cover(&[Match::IpProtocol(17)], &[Match::IpProtocol(17), port(53, 53)]));
        assert!(!all_cover(&[Match::IpProtocol(17), port(53, 53)], &[Match::IpProtocol(17)]));
    }
}
