//! Which packets something is about.

use super::{Config, application_ports, protocol_named};
use crate::Place;
use core::fmt;
use serde::Serialize;

/// A condition that a packet meets or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Match {
    /// Every packet.
    Any,
    /// One of these code points.
    Dscp(Vec<u8>),
    /// One of these IP precedences (the upper three bits of the code point).
    Precedence(Vec<u8>),
    /// Bits of the DS field (code point and ECN) under a mask.
    DsField {
        /// What the bits under the mask are.
        value: u8,
        /// Which bits count.
        mask: u8,
    },
    /// One of these MPLS traffic classes of the topmost label.
    Experimental(Vec<u8>),
    /// Of this version of the Internet protocol, 4 or 6. A row of the table is of version 6 if one of its addresses is, else of 4.
    Version(u8),
    /// One of these IEEE 802.1p priorities.
    Cos(Vec<u8>),
    /// A number that was given inside the router.
    QosGroup(u32),
    /// A class of traffic that was given inside the router (IOS XR, EOS).
    TrafficClass(u8),
    /// One of these IEEE 802.1Q VLANs.
    Vlan(Vec<PortRange>),
    /// A firewall mark: its bits under the mask.
    FirewallMark {
        /// What the bits under the mask are.
        value: u32,
        /// Which bits count.
        mask: u32,
    },
    /// What the access list of that name or number permits.
    AccessList(String),
    /// An application or protocol by its name.
    Protocol(String),
    /// What the class map of that name is about.
    ClassMap(String),
    /// What came in through that interface.
    InputInterface(String),
    /// IP protocol number.
    IpProtocol(u8),
    /// Sender's address.
    Source(Net),
    /// Receiver's address.
    Destination(Net),
    /// Sender's IPv6 address.
    Source6(Net6),
    /// Receiver's IPv6 address.
    Destination6(Net6),
    /// Sender's port.
    SourcePort(PortRange),
    /// Receiver's port.
    DestinationPort(PortRange),
    /// What the condition is not about.
    Not(Box<Match>),
    /// What all conditions are about; all packets for none.
    All(Vec<Match>),
    /// What one of the conditions is about; nothing for none.
    AnyOf(Vec<Match>),
}

/// IPv4 addresses: those equal to `address` in the bits that `wildcard` leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Net {
    /// The bits.
    pub address: u32,
    /// Bits that do not count are 1.
    pub wildcard: u32,
}

impl Net {
    /// Every address.
    pub const ANY: Net = Net { address: 0, wildcard: u32::MAX };

    /// The network whose first `length` bits count; none above 32.
    pub fn prefix(address: u32, length: u32) -> Option<Net> {
        let wildcard =
            if length == 0 { u32::MAX } else { (1u32.checked_shl(32u32.checked_sub(length)?)?).wrapping_sub(1) };
        let wildcard = if length == 32 { 0 } else { wildcard };
        Some(Net { address: address & !wildcard, wildcard })
    }
    /// The length of the prefix, if the bits that count come first.
    pub fn length(self) -> Option<u32> {
        (self.wildcard.leading_zeros() + self.wildcard.trailing_ones() == 32).then(|| self.wildcard.leading_zeros())
    }
    /// Whether it is one of them.
    pub fn holds(self, address: u32) -> bool {
        (address ^ self.address) & !self.wildcard == 0
    }
}

impl fmt::Display for Net {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dotted = std::net::Ipv4Addr::from(self.address);
        match self.length() {
            Some(length) => write!(f, "{dotted}/{length}"),
            None => write!(f, "{dotted} {}", std::net::Ipv4Addr::from(self.wildcard)),
        }
    }
}

/// IPv6 addresses: those whose first `length` bits are those of `address`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Net6 {
    /// The bits; those behind the prefix are 0.
    #[serde(serialize_with = "colons")]
    pub address: u128,
    /// Bits that count, 0 to 128.
    pub length: u8,
}

impl Net6 {
    /// The network whose first `length` bits count; none above 128.
    pub fn prefix(address: u128, length: u8) -> Option<Net6> {
        let host = 128u32.checked_sub(u32::from(length))?;
        let mask = u128::MAX.checked_shl(host).unwrap_or(0);
        Some(Net6 { address: address & mask, length })
    }
    /// Whether it is one of them.
    pub fn holds(self, address: u128) -> bool {
        Net6::prefix(address, self.length) == Some(self)
    }
}

impl fmt::Display for Net6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", std::net::Ipv6Addr::from(self.address), self.length)
    }
}

/// 128 bits are more than a number of JSON holds.
fn colons<S: serde::Serializer>(address: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&std::net::Ipv6Addr::from(*address))
}

fn colons_if_any<S: serde::Serializer>(address: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
    match address {
        Some(address) => colons(address, serializer),
        None => serializer.serialize_none(),
    }
}

/// Ports from the lowest to the highest, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PortRange {
    /// Lowest.
    pub low: u16,
    /// Highest.
    pub high: u16,
}

/// A named condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassMap {
    /// Its name.
    pub name: String,
    /// Whether all of the conditions must hold, or one.
    pub all: bool,
    /// The conditions.
    pub conditions: Vec<Match>,
    /// Where it was written.
    #[serde(skip)]
    pub at: Place,
}

/// A list of conditions, the first of which decides; what none is about is denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AccessList {
    /// Its name or number.
    pub name: String,
    /// Whether it is about senders only.
    pub standard: bool,
    /// Whether it is about IPv6; a list is about one of the two.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ipv6: bool,
    /// The entries, in order.
    pub entries: Vec<AccessEntry>,
    /// Where it was written.
    #[serde(skip)]
    pub at: Place,
}

/// An entry of an access list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AccessEntry {
    /// Its number, by which it can be taken away.
    pub sequence: u32,
    /// Whether it permits or denies.
    pub permit: bool,
    /// What must hold of the packet, all of it.
    pub conditions: Vec<Match>,
    /// Where it was written.
    #[serde(skip)]
    pub at: Place,
}

/// What is known about the packets of a flow; what is absent is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Header {
    /// Code point, 0 to 63.
    pub dscp: u8,
    /// MPLS traffic class.
    pub experimental: Option<u8>,
    /// IEEE 802.1p priority.
    pub cos: Option<u8>,
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// Sender's address.
    pub source: Option<u32>,
    /// Receiver's address.
    pub destination: Option<u32>,
    /// Sender's IPv6 address; a packet that has one is of IPv6.
    #[serde(serialize_with = "colons_if_any")]
    pub source6: Option<u128>,
    /// Receiver's IPv6 address.
    #[serde(serialize_with = "colons_if_any")]
    pub destination6: Option<u128>,
    /// IEEE 802.1Q VLAN.
    pub vlan: Option<u16>,
    /// QoS group that the router gave it.
    pub qos_group: Option<u32>,
    /// Class of traffic that the router gave it.
    pub traffic_class: Option<u8>,
    /// Interface that it came in by.
    pub input: Option<String>,
    /// Firewall mark that it comes with.
    pub mark: Option<u32>,
    /// Sender's port.
    pub source_port: Option<u16>,
    /// Receiver's port.
    pub destination_port: Option<u16>,
    /// Name of the application.
    pub application: Option<String>,
    /// Names of `match protocol` that hold of it; where there is one, those that are not named do not hold.
    pub names: Vec<String>,
}

impl Header {
    /// Whether it is of IPv6.
    pub fn is_ipv6(&self) -> bool {
        self.source6.is_some() || self.destination6.is_some()
    }
}

/// Whether two names are of one interface: `Gi0/1` is `GigabitEthernet0/1` and `gigabitethernet 0/1`.
pub fn same_interface(a: &str, b: &str) -> bool {
    fn parts(name: &str) -> (&str, &str) {
        let name = name.trim();
        let end = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        let (kind, number) = name.split_at(end);
        (kind.trim(), number.trim())
    }
    let ((a, of_a), (b, of_b)) = (parts(a), parts(b));
    let least = a.len().min(b.len());
    of_a == of_b
        && a.as_bytes().iter().zip(b.as_bytes()).all(|(x, y)| x.eq_ignore_ascii_case(y))
        && (least > 0 || a == b)
}

/// Deepest nesting of class maps that is followed; routers allow less.
pub(crate) const DEEPEST: usize = 16;

impl Match {
    /// Whether a packet with that header meets the condition; none if the header does not say enough, or a name leads nowhere.
    pub fn holds(&self, header: &Header, config: &Config) -> Option<bool> {
        // A class map that names another twice asks it twice; the budget bounds what a chain of such maps costs.
        let mut budget = 100_000;
        self.judge(header, config, DEEPEST, &mut budget)
    }

    fn judge(&self, header: &Header, config: &Config, depth: usize, budget: &mut u32) -> Option<bool> {
        *budget = budget.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        match self {
            Match::Any => Some(true),
            Match::Dscp(values) => Some(values.contains(&header.dscp)),
            Match::Precedence(values) => Some(values.contains(&(header.dscp >> 3))),
            Match::DsField { value, mask } => {
                // The ECN bits are not the sender's to choose here; a condition on them cannot be judged.
                if mask & 3 != 0 { None } else { Some(header.dscp << 2 & mask == value & mask) }
            }
            // Where the table does not say, the label was given a copy of the precedence, as routers do (RFC 3270 leaves it to
            // them; Cisco, "MPLS Class of Service": the precedence is copied at imposition).
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
            Match::Not(inner) => inner.judge(header, config, depth, budget).map(|holds| !holds),
            Match::All(conditions) => all(conditions, header, config, depth, budget),
            Match::AnyOf(conditions) => any(conditions, header, config, depth, budget),
        }
    }
}

/// False as soon as one is false, however little is known of the others.
fn all(conditions: &[Match], header: &Header, config: &Config, depth: usize, budget: &mut u32) -> Option<bool> {
    let mut known = Some(true);
    for condition in conditions {
        match condition.judge(header, config, depth, budget) {
            Some(false) => return Some(false),
            Some(true) => {}
            None => known = None,
        }
    }
    known
}

/// True as soon as one is true, however little is known of the others.
fn any(conditions: &[Match], header: &Header, config: &Config, depth: usize, budget: &mut u32) -> Option<bool> {
    let mut known = Some(false);
    for condition in conditions {
        match condition.judge(header, config, depth, budget) {
            Some(true) => return Some(true),
            Some(false) => {}
            None => known = None,
        }
    }
    known
}

fn application(name: &str, header: &Header) -> Option<bool> {
    if name.eq_ignore_ascii_case("ip") || name.eq_ignore_ascii_case("ipv6") {
        return Some(header.is_ipv6() == name.eq_ignore_ascii_case("ipv6"));
    }
    if !header.names.is_empty() {
        return Some(header.names.iter().any(|own| own.eq_ignore_ascii_case(name)));
    }
    if name.contains(' ') {
        // What narrows an application, and attributes, are not in the columns; another application cannot be meant.
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
