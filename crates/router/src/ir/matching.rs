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
    /// One of these IEEE 802.1p priorities.
    Cos(Vec<u8>),
    /// A number that was given inside the router.
    QosGroup(u32),
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
    /// Firewall mark that it comes with.
    pub mark: Option<u32>,
    /// Sender's port.
    pub source_port: Option<u16>,
    /// Receiver's port.
    pub destination_port: Option<u16>,
    /// Name of the application.
    pub application: Option<String>,
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
            Match::Experimental(values) => header.experimental.map(|exp| values.contains(&exp)),
            Match::Cos(values) => header.cos.map(|cos| values.contains(&cos)),
            Match::FirewallMark { value, mask } => header.mark.map(|mark| mark & mask == *value),
            Match::QosGroup(_) | Match::InputInterface(_) => None,
            Match::AccessList(name) => {
                let list = config.access_list(name)?;
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
    if name.eq_ignore_ascii_case("ip") {
        return Some(true);
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
