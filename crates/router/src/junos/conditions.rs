//! Match conditions (`from`) of firewall filter terms.

use super::cos::Cos;
use super::tree::{Id, OPAQUE, ROOT, Tree};
use super::values::{filter_dscp, precedence};
use crate::Report;
use crate::ir::{Match, Net, Net6, PortRange, port_named, protocol_named};

/// Supported match conditions, with the number of words after each keyword.
const KNOWN: [(&str, usize); 26] = [
    ("dscp", 1),
    ("dscp-except", 1),
    ("traffic-class", 1),
    ("precedence", 1),
    ("precedence-except", 1),
    ("protocol", 1),
    ("protocol-except", 1),
    ("next-header", 1),
    ("payload-protocol", 1),
    ("address", OPAQUE),
    ("source-address", OPAQUE),
    ("destination-address", OPAQUE),
    ("ip-source-address", OPAQUE),
    ("ip-destination-address", OPAQUE),
    ("prefix-list", OPAQUE),
    ("source-prefix-list", OPAQUE),
    ("destination-prefix-list", OPAQUE),
    ("port", 1),
    ("source-port", 1),
    ("destination-port", 1),
    ("port-except", 1),
    ("source-port-except", 1),
    ("destination-port-except", 1),
    ("forwarding-class", 1),
    ("forwarding-class-except", 1),
    ("ip-version", 1),
];

/// Returns the condition of a term: the conjunction of its match conditions, each of which is the disjunction of its
/// values. `None`: a part is not supported, which is reported. `name` is the term's title in messages.
pub(super) fn read(tree: &mut Tree, from: Id, cos: &Cos, name: &str, report: &mut Report) -> Option<Match> {
    let mut all = Vec::new();
    let clauses = tree.clauses(from, &KNOWN);
    let mut understood = true;
    let known: Vec<Id> = clauses.iter().map(|clause| clause.key).collect();
    for other in tree.children(from) {
        if !known.contains(&other) {
            tree.mark_all(other);
            let message = format!(
                "{name} matches on `{}`, which simulated packets do not have: the term is left out",
                tree.word(other)
            );
            report.unsupported(tree.at(other), message, Some("its packets are matched against the terms after it"));
            understood = false;
        }
    }
    for clause in clauses {
        let key = tree.word(clause.key).to_owned();
        let at = tree.at(clause.key);
        let words: Vec<String> = clause.words.iter().map(|id| tree.word(*id).to_owned()).collect();
        let found = match key.as_str() {
            "address" | "source-address" | "destination-address" | "ip-source-address" | "ip-destination-address" => {
                addresses(tree, clause.key, &key)
            }
            "prefix-list" | "source-prefix-list" | "destination-prefix-list" => prefix_lists(tree, clause.key, &key),
            _ => values(&key, &words, cos),
        };
        if let Some(one) = found {
            all.push(one);
        } else {
            let message =
                format!("{name}: `{key} {}` is not a supported match condition: the term is left out", words.join(" "));
            report.unsupported(at, message, None);
            understood = false;
        }
    }
    let made = match all.len() {
        1 => all.pop()?,
        0 => Match::Any,
        _ => Match::All(all),
    };
    understood.then_some(made)
}

/// Returns the condition of a keyword whose values are single words; `None`: a value or the keyword is not supported.
fn values(key: &str, words: &[String], cos: &Cos) -> Option<Match> {
    let (base, except) = match key.strip_suffix("-except") {
        Some(base) => (base, true),
        None => (key, false),
    };
    if words.is_empty() {
        return None;
    }
    let made = match base {
        "dscp" | "traffic-class" => Match::Dscp(words.iter().map(|word| filter_dscp(word)).collect::<Option<_>>()?),
        "precedence" => Match::Precedence(words.iter().map(|word| precedence(word)).collect::<Option<_>>()?),
        "protocol" | "next-header" | "payload-protocol" => {
            any(words.iter().map(|word| protocol(word).map(Match::IpProtocol)).collect::<Option<_>>()?)
        }
        "source-port" => any(words.iter().map(|word| Some(Match::SourcePort(ports(word)?))).collect::<Option<_>>()?),
        "destination-port" => {
            any(words.iter().map(|word| Some(Match::DestinationPort(ports(word)?))).collect::<Option<_>>()?)
        }
        "port" => {
            let both = |word: &String| {
                let range = ports(word)?;
                Some(Match::AnyOf(vec![Match::SourcePort(range), Match::DestinationPort(range)]))
            };
            any(words.iter().map(both).collect::<Option<_>>()?)
        }
        "forwarding-class" => {
            let one =
                |word: &String| cos.class(word).and_then(|index| u8::try_from(index).ok()).map(Match::TrafficClass);
            any(words.iter().map(one).collect::<Option<_>>()?)
        }
        "ip-version" => {
            let one = |word: &String| match word.as_str() {
                "ipv4" => Some(Match::Protocol("ip".to_owned())),
                "ipv6" => Some(Match::Protocol("ipv6".to_owned())),
                _ => None,
            };
            any(words.iter().map(one).collect::<Option<_>>()?)
        }
        _ => return None,
    };
    Some(if except { Match::Not(Box::new(made)) } else { made })
}

/// Returns the disjunction of conditions.
fn any(mut all: Vec<Match>) -> Match {
    match all.pop() {
        Some(one) if all.is_empty() => one,
        Some(last) => {
            all.push(last);
            Match::AnyOf(all)
        }
        None => Match::AnyOf(all),
    }
}

/// Parses an IP protocol: a name or a number.
fn protocol(word: &str) -> Option<u8> {
    match word {
        "ipip" => Some(4),
        "ipv6" => Some(41),
        "rsvp" => Some(46),
        "ah" => Some(51),
        "icmp6" | "icmpv6" => Some(58),
        "vrrp" => Some(112),
        "sctp" => Some(132),
        word => protocol_named(word),
    }
}

/// Parses a port or a range `LOW-HIGH` of ports; ports are names or numbers.
fn ports(word: &str) -> Option<PortRange> {
    let one = |word: &str| match word {
        "ftp-data" => Some(20),
        "ntp" => Some(123),
        "sip" => Some(5060),
        "radius" => Some(1812),
        "ldp" => Some(646),
        "snmptrap" => Some(162),
        word => port_named(word),
    };
    if let Some(port) = one(word) {
        return Some(PortRange { low: port, high: port });
    }
    let (low, high) = word.split_once('-')?;
    let (low, high) = (one(low)?, one(high)?);
    (low <= high).then_some(PortRange { low, high })
}

/// Parses an IPv4 or IPv6 network into a condition on the source address (`source`) or else the destination address.
fn net(word: &str, source: bool) -> Option<Match> {
    let (address, length) = word.split_once('/').map_or((word, None), |(address, length)| (address, Some(length)));
    match address.parse::<std::net::IpAddr>().ok()? {
        std::net::IpAddr::V4(own) => {
            let net = Net::prefix(own.into(), length.map_or(Some(32), |length| length.parse().ok())?)?;
            Some(if source { Match::Source(net) } else { Match::Destination(net) })
        }
        std::net::IpAddr::V6(own) => {
            let net = Net6::prefix(own.into(), length.map_or(Some(128), |length| length.parse().ok())?)?;
            Some(if source { Match::Source6(net) } else { Match::Destination6(net) })
        }
    }
}

/// Returns the network of an interface's IPv4 address, such as `192.0.2.1/31`; `None`: not an IPv4 address.
pub(super) fn network(word: &str) -> Option<Net> {
    match net(word, true)? {
        Match::Source(net) => Some(net),
        _ => None,
    }
}

/// Returns the addresses that a keyword refers to: `true` for the source, `false` for the destination.
fn sides(key: &str) -> &'static [bool] {
    if key.contains("source") {
        &[true]
    } else if key.contains("destination") {
        &[false]
    } else {
        &[true, false]
    }
}

/// Returns the disjunction of the conditions on the addresses that a keyword refers to; `made` is called with `true` for
/// the source and `false` for the destination.
fn both(key: &str, made: impl Fn(bool) -> Option<Match>) -> Option<Match> {
    Some(any(sides(key).iter().map(|source| made(*source)).collect::<Option<_>>()?))
}

/// Returns a condition on addresses, which excludes the networks with `except`. Routers decide by the longest matching
/// prefix, which is equivalent if the excluded networks lie within the others.
fn addresses(tree: &mut Tree, key: Id, word: &str) -> Option<Match> {
    tree.mark_all(key);
    let list: Vec<(String, bool)> = tree
        .children(key)
        .into_iter()
        .map(|id| (tree.word(id).to_owned(), tree.child(id, "except").is_some()))
        .collect();
    listed(&list, word)
}

/// Returns the condition of a list of networks, each with `true` if it is excluded; `word` is the keyword.
fn listed(list: &[(String, bool)], word: &str) -> Option<Match> {
    both(word, |source| {
        let nets = |except: bool| -> Option<Vec<Match>> {
            list.iter().filter(|(_, own)| *own == except).map(|(word, _)| net(word, source)).collect()
        };
        let (holds, not) = (nets(false)?, nets(true)?);
        let holds = any(holds);
        Some(if not.is_empty() { holds } else { Match::All(vec![holds, Match::Not(Box::new(any(not)))]) })
    })
}

/// Returns a condition on the prefix lists of `policy-options`.
fn prefix_lists(tree: &mut Tree, key: Id, word: &str) -> Option<Match> {
    tree.mark_all(key);
    let mut all = Vec::new();
    for own in tree.children(key) {
        let except = tree.child(own, "except").is_some();
        let name = tree.word(own).to_owned();
        let list = tree.path(ROOT, &["policy-options", "prefix-list", &name])?;
        if tree.child(list, "apply-path").is_some() {
            return None;
        }
        let words = tree.children(list).into_iter().map(|id| (tree.word(id).to_owned(), false));
        let one = listed(&words.collect::<Vec<_>>(), word)?;
        all.push(if except { Match::Not(Box::new(one)) } else { one });
    }
    Some(any(all))
}
