//! Evaluation of conditions for the header of a packet.

use super::{Config, Header, Match, Net, application_ports, protocol_named, same_interface};

/// Maximum nesting of conditions; routers allow less.
const MAX_DEPTH: usize = 16;

impl Match {
    /// Evaluates the condition for a header. `None`: the result depends on a field that the header lacks or on an
    /// undefined name, or the condition is too large.
    pub fn holds(&self, header: &Header, config: &Config) -> Option<bool> {
        // A class map that names another one twice evaluates it twice, so the cost of a chain of such maps is
        // exponential; the budget bounds it.
        let mut budget = 100_000;
        self.evaluate(header, config, MAX_DEPTH, &mut budget)
    }

    fn evaluate(&self, header: &Header, config: &Config, depth: usize, budget: &mut u32) -> Option<bool> {
        *budget = budget.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        match self {
            Match::Any => Some(true),
            Match::Dscp(values) => Some(values.contains(&header.dscp)),
            Match::Precedence(values) => Some(values.contains(&(header.dscp >> 3))),
            Match::DsField { value, mask } => {
                // The transport sets the ECN bits, so a condition on them cannot be evaluated for a row of the table.
                if mask & 3 != 0 { None } else { Some(header.dscp << 2 & mask == value & mask) }
            }
            // By default the traffic class of a label is the precedence, which routers copy at imposition (Cisco, "MPLS
            // Class of Service"; RFC 3270 leaves it open).
            Match::Experimental(values) => Some(values.contains(&header.experimental.unwrap_or(header.dscp >> 3))),
            Match::Version(version) => Some((*version == 6) == header.is_ipv6()),
            Match::Cos(values) => header.cos.map(|cos| values.contains(&cos)),
            Match::QosGroup(group) => header.qos_group.map(|own| own == *group),
            Match::TrafficClass(class) => header.traffic_class.map(|own| own == *class),
            Match::Vlan(ranges) => {
                header.vlan.map(|vlan| ranges.iter().any(|range| (range.low..=range.high).contains(&vlan)))
            }
            Match::InputInterface(name) => header.input.as_ref().map(|own| same_interface(own, name)),
            Match::FirewallMark { value, mask } => header.mark.map(|mark| mark & mask == *value),
            Match::AccessList(name) => {
                let list = config.access_list(name)?;
                if list.ipv6 != header.is_ipv6() {
                    return Some(false);
                }
                for entry in &list.entries {
                    if all(&entry.conditions, header, config, depth, budget)? {
                        return Some(entry.permit);
                    }
                }
                Some(false)
            }
            Match::Protocol(name) => application(name, header),
            Match::ClassMap(name) => {
                let map = config.class_map(name)?;
                if map.all {
                    all(&map.conditions, header, config, depth, budget)
                } else {
                    any(&map.conditions, header, config, depth, budget)
                }
            }
            Match::IpProtocol(number) => header.protocol.map(|protocol| protocol == *number),
            Match::Source(net) if *net == Net::ANY => Some(true),
            Match::Destination(net) if *net == Net::ANY => Some(true),
            Match::Source(net) => header.source.map(|address| net.holds(address)),
            Match::Destination(net) => header.destination.map(|address| net.holds(address)),
            Match::Source6(net) if net.length == 0 => Some(true),
            Match::Destination6(net) if net.length == 0 => Some(true),
            Match::Source6(net) => header.source6.map(|address| net.holds(address)),
            Match::Destination6(net) => header.destination6.map(|address| net.holds(address)),
            Match::SourcePort(range) => header.source_port.map(|port| (range.low..=range.high).contains(&port)),
            Match::DestinationPort(range) => {
                header.destination_port.map(|port| (range.low..=range.high).contains(&port))
            }
            Match::Not(inner) => inner.evaluate(header, config, depth, budget).map(|holds| !holds),
            Match::All(conditions) => all(conditions, header, config, depth, budget),
            Match::AnyOf(conditions) => any(conditions, header, config, depth, budget),
        }
    }
}

/// Returns the conjunction: `Some(false)` if a condition is false, even if others are unknown.
fn all(conditions: &[Match], header: &Header, config: &Config, depth: usize, budget: &mut u32) -> Option<bool> {
    let mut known = Some(true);
    for condition in conditions {
        match condition.evaluate(header, config, depth, budget) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = None,
        }
    }
    known
}

/// Returns the disjunction: `Some(true)` if a condition is true, even if others are unknown.
fn any(conditions: &[Match], header: &Header, config: &Config, depth: usize, budget: &mut u32) -> Option<bool> {
    let mut known = Some(false);
    for condition in conditions {
        match condition.evaluate(header, config, depth, budget) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => known = None,
        }
    }
    known
}

/// Evaluates `match protocol NAME` by the names or the application of the row, or else by its ports.
fn application(name: &str, header: &Header) -> Option<bool> {
    if name.eq_ignore_ascii_case("ip") || name.eq_ignore_ascii_case("ipv6") {
        return Some(header.is_ipv6() == name.eq_ignore_ascii_case("ipv6"));
    }
    if !header.names.is_empty() {
        return Some(header.names.iter().any(|own| own.eq_ignore_ascii_case(name)));
    }
    if name.contains(' ') {
        // The table has no subclassifications of an application, but a row of another application does not match.
        let (first, _) = name.split_once(' ')?;
        let own = header.application.as_deref()?;
        let other = first != "attribute" && !own.eq_ignore_ascii_case(first) && !own.eq_ignore_ascii_case(name);
        return if other { Some(false) } else { own.eq_ignore_ascii_case(name).then_some(true) };
    }
    if let Some(own) = &header.application {
        if own.eq_ignore_ascii_case(name) {
            return Some(true);
        }
        if application_ports(name).is_none() && protocol_named(name).is_none() {
            return Some(false);
        }
    }
    if let Some((protocol, low, high)) = application_ports(name) {
        if header.protocol? != protocol {
            return Some(false);
        }
        let within = |port: u16| (low..=high).contains(&port);
        return match (header.source_port.map(within), header.destination_port.map(within)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), _) | (_, Some(false)) => Some(false),
            (None, None) => None,
        };
    }
    let number = protocol_named(name)?;
    header.protocol.map(|protocol| protocol == number)
}
