//! Removal of IP versions from conditions if no row of the traffic table is IPv6. A condition on version and DSCP then
//! depends on the DSCP alone, and need not be resolved by the rows.

use crate::ir::{Config, Match};

/// Returns the configuration without conditions on version 4, which all packets meet. Conditions on version 6 remain;
/// they hold for no packet.
pub(super) fn all_of_ipv4(config: &Config) -> Config {
    let mut made = config.clone();
    let rules = made.policies.iter_mut().flat_map(|policy| &mut policy.rules).map(|rule| &mut rule.when);
    let maps = made.class_maps.iter_mut().flat_map(|map| &mut map.conditions);
    for when in rules.chain(maps) {
        settle(when);
    }
    made
}

/// Removes the version from a condition.
fn settle(when: &mut Match) {
    match when {
        Match::Version(4) => *when = Match::Any,
        Match::Not(inner) => settle(inner),
        Match::AnyOf(any) => any.iter_mut().for_each(settle),
        Match::All(all) => {
            all.retain(|one| *one != Match::Version(4));
            all.iter_mut().for_each(settle);
            if let [one] = all.as_mut_slice() {
                *when = core::mem::replace(one, Match::Any);
            } else if all.is_empty() {
                *when = Match::Any;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_ipv4_packets_alone_conditions_on_version_4_are_removed_and_those_on_version_6_never_hold() {
        let settled = |mut when: Match| {
            settle(&mut when);
            when
        };
        let of = |version, code| Match::All(vec![Match::Version(version), Match::Dscp(vec![code])]);
        assert_eq!(settled(of(4, 46)), Match::Dscp(vec![46]));
        let two = Match::All(vec![Match::Version(4), Match::IpProtocol(17), Match::Dscp(vec![46])]);
        assert_eq!(settled(two), Match::All(vec![Match::IpProtocol(17), Match::Dscp(vec![46])]));
        let header = crate::ir::Header::default();
        assert_eq!(settled(of(6, 0)).holds(&header, &Config::default()), Some(false));
        assert_eq!(settled(Match::Not(Box::new(of(4, 0)))), Match::Not(Box::new(Match::Dscp(vec![0]))));
        assert_eq!(settled(Match::Version(4)), Match::Any);
    }
}
