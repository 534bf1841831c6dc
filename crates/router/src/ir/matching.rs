//! Conditions on packets.

use crate::Place;
use core::fmt;
use serde::Serialize;

/// A condition on a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Match {
    /// Every packet.
    Any,
    /// One of these DSCPs, 0 to 63.
    Dscp(Vec<u8>),
    /// One of these IP precedences (the upper three bits of the DSCP), 0 to 7.
    Precedence(Vec<u8>),
    /// Bits of the DS field (DSCP and ECN) under a mask.
    DsField {
        /// Value of the bits under the mask.
        value: u8,
        /// Mask of the bits that are compared.
        mask: u8,
    },
    /// One of these MPLS traffic classes of the topmost label, 0 to 7.
    Experimental(Vec<u8>),
    /// IP version, 4 or 6. A row of the traffic table has version 6 if one of its addresses has, else version 4.
    Version(u8),
    /// One of these IEEE 802.1p priorities, 0 to 7.
    Cos(Vec<u8>),
    /// A QoS group set inside the router.
    QosGroup(u32),
    /// A traffic class set inside the router (IOS XR, EOS), 0 to 7.
    TrafficClass(u8),
    /// A VLAN ID of IEEE 802.1Q in one of these ranges, 0 to 4094.
    Vlan(Vec<PortRange>),
    /// Bits of the firewall mark under a mask.
    FirewallMark {
        /// Value of the bits under the mask.
        value: u32,
        /// Mask of the bits that are compared.
        mask: u32,
    },
    /// The packets permitted by the access list of that name or number.
    AccessList(String),
    /// An application or protocol by its name in `match protocol`.
    Protocol(String),
    /// The packets that match the class map of that name.
    ClassMap(String),
    /// The packets received on that interface.
    InputInterface(String),
    /// IP protocol number (protocol of IPv4, next header of IPv6).
    IpProtocol(u8),
    /// Source IPv4 address.
    Source(Net),
    /// Destination IPv4 address.
    Destination(Net),
    /// Source IPv6 address.
    Source6(Net6),
    /// Destination IPv6 address.
    Destination6(Net6),
    /// Source port of TCP or UDP.
    SourcePort(PortRange),
    /// Destination port of TCP or UDP.
    DestinationPort(PortRange),
    /// Negation of a condition.
    Not(Box<Match>),
    /// Conjunction of conditions; empty: all packets.
    All(Vec<Match>),
    /// Disjunction of conditions; empty: no packet.
    AnyOf(Vec<Match>),
}

/// IPv4 addresses equal to `address` in the bits that are 0 in `wildcard`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Net {
    /// Address as a 32-bit number, first octet in the upper bits.
    pub address: u32,
    /// Mask of the bits that are ignored.
    pub wildcard: u32,
}

impl Net {
    /// Every address.
    pub const ANY: Net = Net { address: 0, wildcard: u32::MAX };

    /// Returns the network with a prefix of `length` bits, 0 to 32; `None`: `length` is above 32.
    pub fn prefix(address: u32, length: u32) -> Option<Net> {
        let wildcard =
            if length == 0 { u32::MAX } else { (1u32.checked_shl(32u32.checked_sub(length)?)?).wrapping_sub(1) };
        let wildcard = if length == 32 { 0 } else { wildcard };
        Some(Net { address: address & !wildcard, wildcard })
    }
    /// Returns the prefix length in bits, 0 to 32; `None`: the compared bits are not a prefix.
    pub fn length(self) -> Option<u32> {
        (self.wildcard.leading_zeros() + self.wildcard.trailing_ones() == 32).then(|| self.wildcard.leading_zeros())
    }
    /// `true` if the address is in the network.
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

/// IPv6 addresses with a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Net6 {
    /// Address; bits after the prefix are 0.
    #[serde(serialize_with = "colons")]
    pub address: u128,
    /// Prefix length in bits, 0 to 128.
    pub length: u8,
}

impl Net6 {
    /// Returns the network with a prefix of `length` bits, 0 to 128; `None`: `length` is above 128.
    pub fn prefix(address: u128, length: u8) -> Option<Net6> {
        let host = 128u32.checked_sub(u32::from(length))?;
        let mask = u128::MAX.checked_shl(host).unwrap_or(0);
        Some(Net6 { address: address & mask, length })
    }
    /// `true` if the address is in the network.
    pub fn holds(self, address: u128) -> bool {
        Net6::prefix(address, self.length) == Some(self)
    }
}

impl fmt::Display for Net6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", std::net::Ipv6Addr::from(self.address), self.length)
    }
}

/// Serialises an IPv6 address as text, since JSON numbers have fewer than 128 bits.
fn colons<S: serde::Serializer>(address: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&std::net::Ipv6Addr::from(*address))
}

/// Serialises an IPv6 address as text, or null.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn colons_if_any<S: serde::Serializer>(address: &Option<u128>, serializer: S) -> Result<S::Ok, S::Error> {
    match address {
        Some(address) => colons(address, serializer),
        None => serializer.serialize_none(),
    }
}

/// A range of ports or VLAN IDs, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PortRange {
    /// Lowest number.
    pub low: u16,
    /// Highest number.
    pub high: u16,
}

/// A class map: a named condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassMap {
    /// Name.
    pub name: String,
    /// `true` if all conditions must hold, `false` if one is enough.
    pub all: bool,
    /// Conditions.
    pub conditions: Vec<Match>,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

/// An access list: the first entry that matches decides; other packets are denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AccessList {
    /// Name or number.
    pub name: String,
    /// `true` if only source addresses are compared.
    pub standard: bool,
    /// `true` for IPv6, `false` for IPv4.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ipv6: bool,
    /// Entries, in order.
    pub entries: Vec<AccessEntry>,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

/// An entry of an access list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct AccessEntry {
    /// Sequence number, by which a command can remove the entry.
    pub sequence: u32,
    /// `true` if the entry permits, `false` if it denies.
    pub permit: bool,
    /// Conditions, all of which must hold.
    pub conditions: Vec<Match>,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

/// Known header fields of a flow's packets; absent ones are unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Header {
    /// DSCP, 0 to 63.
    pub dscp: u8,
    /// MPLS traffic class of the topmost label, 0 to 7.
    pub experimental: Option<u8>,
    /// IEEE 802.1p priority, 0 to 7.
    pub cos: Option<u8>,
    /// IP protocol number.
    pub protocol: Option<u8>,
    /// Source IPv4 address.
    pub source: Option<u32>,
    /// Destination IPv4 address.
    pub destination: Option<u32>,
    /// Source IPv6 address; a packet with an IPv6 address is an IPv6 packet.
    #[serde(serialize_with = "colons_if_any")]
    pub source6: Option<u128>,
    /// Destination IPv6 address.
    #[serde(serialize_with = "colons_if_any")]
    pub destination6: Option<u128>,
    /// VLAN ID of IEEE 802.1Q, 0 to 4094.
    pub vlan: Option<u16>,
    /// QoS group set by the router.
    pub qos_group: Option<u32>,
    /// Traffic class set by the router, 0 to 7.
    pub traffic_class: Option<u8>,
    /// Name of the interface on which the packet is received.
    pub input: Option<String>,
    /// Firewall mark on arrival.
    pub mark: Option<u32>,
    /// Source port.
    pub source_port: Option<u16>,
    /// Destination port.
    pub destination_port: Option<u16>,
    /// Name of the application.
    pub application: Option<String>,
    /// Names of `match protocol` that match the packet; unless empty, no other name matches.
    pub names: Vec<String>,
}

impl Header {
    /// `true` for IPv6 packets.
    pub fn is_ipv6(&self) -> bool {
        self.source6.is_some() || self.destination6.is_some()
    }
}

/// `true` if two names denote the same interface: the numbers are equal, and one type abbreviates the other, ignoring
/// case. `Gi0/1`, `GigabitEthernet0/1` and `gigabitethernet 0/1` are the same.
pub fn same_interface(a: &str, b: &str) -> bool {
    fn parts(name: &str) -> (&str, &str) {
        let name = name.trim();
        let end = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
        let (kind, number) = name.split_at(end);
        (kind.trim(), number.trim())
    }
    let ((a, of_a), (b, of_b)) = (parts(a), parts(b));
    let shared = a.len().min(b.len());
    of_a == of_b
        && a.as_bytes().iter().zip(b.as_bytes()).all(|(x, y)| x.eq_ignore_ascii_case(y))
        && (shared > 0 || a == b)
}
