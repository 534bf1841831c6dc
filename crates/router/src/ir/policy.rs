//! Ports, policies and classes.

use super::{Match, Net, Queue};
use crate::Place;
use serde::Serialize;

/// An interface: its rate, and the treatment of the packets that it sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Port {
    /// Name, such as `Serial0/0` or `eth0`.
    pub name: String,
    /// Type of link, by its name and encapsulation.
    pub medium: Medium,
    /// Rate of the link in bit/s; `None`: neither the name nor `speed` or `clock rate` states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Reference rate of percentages in bit/s, if the configuration states one other than the link's (IOS `bandwidth`);
    /// it is not a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// Length of the transmit ring behind the scheduler, in packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<u32>,
    /// Limit of all queues together, in packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<u32>,
    /// Percentage of the rate that classes may reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservable: Option<u32>,
    /// Link-layer protocol, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encapsulation: Option<String>,
    /// Policy of arriving packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// `true` if frames shorter than the minimum of the link layer count with their own length, and are padded only on
    /// the link.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub unpadded: bool,
    /// IPv4 networks of its addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Net>,
    /// Treatment of all packets that the port sends, as one class.
    pub root: Class,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

/// Type of link, which determines the bytes of the link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// Unknown from the name.
    #[default]
    Unknown,
    /// Ethernet without a tag.
    Ethernet,
    /// Ethernet with an IEEE 802.1Q tag.
    Dot1q,
    /// A serial line with Cisco's HDLC or PPP (RFC 1662).
    Serial,
    /// PPP over Ethernet (RFC 2516).
    Pppoe,
    /// Permanent virtual circuit of ATM with AAL5 (RFC 2684).
    Atm,
    /// IP in IP, GRE, IPsec, WireGuard and others, whose outer header is not counted by the policy.
    Tunnel,
}

/// Classes and their scheduler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Policy {
    /// Name.
    pub name: String,
    /// Scheduler.
    pub scheduler: Scheduler,
    /// Classification rules; the first that matches decides.
    pub rules: Vec<Rule>,
    /// Class of packets that match no rule; `None`: an unnamed default class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Classes.
    pub classes: Vec<Class>,
    /// `true` if round robin counts packets instead of bytes, with a quantum of 1 packet.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub packets: bool,
    /// Names of its parts, for the remarks about them ([`Scope::Part`](crate::Scope::Part)).
    #[serde(skip)]
    pub parts: Vec<String>,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

impl Policy {
    /// Returns the class of that name.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }
}

/// Scheduling of the classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Guaranteed shares and strict priority: CBWFQ and LLQ.
    #[default]
    ClassBased,
    /// Strict priority in the order of the classes.
    Priority,
    /// Hierarchical token buckets.
    Htb,
    /// Hierarchical fair service curve.
    Hfsc,
    /// Deficit round robin by quantum.
    Drr,
    /// Strict bands first (those without a quantum), then deficit round robin.
    Ets,
}

/// A classification rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Rule {
    /// Condition.
    pub when: Match,
    /// Class of the packets that match.
    pub class: String,
    /// Policer of the packets that match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub police: Option<Police>,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

/// Treatment of the packets of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Class {
    /// Name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Parent class in the same policy (HTB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Guaranteed bandwidth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Share>,
    /// Strict priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// HTB parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub htb: Option<HtbClass>,
    /// HFSC service curves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hfsc: Option<HfscClass>,
    /// Quantum in bytes (DRR, ETS), or in packets if the policy counts those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Shaper: packets above its rate wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Second rate of the shaper (TBF `peakrate`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// Bytes that its shaper counts per packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
    /// Policer: packets above its rate are dropped or marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub police: Option<Police>,
    /// Fields set in its packets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Mark>,
    /// Queue limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Queue limits of single DSCPs or precedences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_limits: Vec<CodeLimit>,
    /// Weighted random early detection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wred: Option<Wred>,
    /// Queue.
    pub queue: Queue,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

/// A rate, absolute or relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// bit/s.
    Rate(u64),
    /// Percent of the interface's rate or of the parent's shaping rate.
    Percent(u32),
    /// Percent of the rate that priority classes leave.
    RemainingPercent(u32),
    /// Ratio of the rate that other classes leave.
    RemainingRatio(u32),
}

impl Share {
    /// Returns the rate in bit/s for a base in bit/s; `None` for a remaining ratio, which depends on the other classes.
    pub fn of(self, base: u64) -> Option<u64> {
        match self {
            Share::Rate(rate) => Some(rate),
            Share::Percent(percent) | Share::RemainingPercent(percent) => {
                u64::try_from(u128::from(base) * u128::from(percent) / 100).ok()
            }
            Share::RemainingRatio(_) => None,
        }
    }
}

/// Strict priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Priority {
    /// Level; 1 is served before 2.
    pub level: u8,
    /// Rate of the policer under congestion; `None`: there is no policer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Share>,
    /// Burst of that policer, in bytes; `None`: 200 ms of the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
}

/// HTB parameters of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HtbClass {
    /// Guaranteed rate, bit/s; 0 if it is `percent` of the link's.
    pub rate: u64,
    /// Guaranteed rate in millionths of the link's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// Ceiling in millionths of the link's rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil_percent: Option<u32>,
    /// Bytes that its token buckets count per packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
    /// Ceiling, including borrowed rate, bit/s; `None`: the guaranteed rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil: Option<u64>,
    /// Bucket size of the guaranteed rate, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Bucket size of the ceiling, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cburst: Option<u64>,
    /// Priority in borrowing, 0 to 7; 0 before 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prio: Option<u32>,
    /// Quantum in bytes among classes that borrow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
}

impl HtbClass {
    /// Returns the same with rates in bit/s, on a link of `line` bit/s.
    #[must_use]
    pub fn on(self, line: u64) -> HtbClass {
        let part = |millionths: u32| {
            u64::try_from(u128::from(line) * u128::from(millionths) / 1_000_000).unwrap_or(u64::MAX).max(1)
        };
        HtbClass {
            rate: self.percent.map_or(self.rate, part),
            ceil: self.ceil_percent.map_or(self.ceil, |own| Some(part(own))),
            percent: None,
            ceil_percent: None,
            ..self
        }
    }
}

/// HFSC service curves of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HfscClass {
    /// Real-time curve: guaranteed service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rt: Option<Curve>,
    /// Link-sharing curve: share of the excess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ls: Option<Curve>,
    /// Upper-limit curve of link-sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ul: Option<Curve>,
    /// Bytes that the curves count per packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
}

/// A two-piece linear service curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Curve {
    /// Slope of the first piece, bit/s.
    pub m1: u64,
    /// Length of the first piece, microseconds.
    pub d: u64,
    /// Slope of the second piece, bit/s.
    pub m2: u64,
}

/// Bytes that token buckets count per packet beyond its length at the device, in the order of `psched_l2t_ns` (Linux,
/// `include/net/sch_generic.h`): the overhead is added, shorter lengths are raised to `least`, the result is divided
/// into cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counting {
    /// Additional bytes; may be negative (`overhead`).
    pub overhead: i32,
    /// Minimum length in bytes (`mpu`).
    pub least: u16,
    /// `true` if the length is rounded up to ATM cells of 53 bytes for each 48 (`linklayer atm`).
    pub cells: bool,
    /// `true` if the base is the layer-3 length instead of that at the device (cake, if an overhead is stated).
    pub network: bool,
}

impl Counting {
    /// `true` if the length at the device is counted unchanged.
    pub fn is_plain(&self) -> bool {
        *self == Counting::default()
    }
}

/// The peak rate of a TBF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Peak {
    /// Rate, bit/s.
    pub rate: u64,
    /// Bucket size, bytes (`mtu` or `minburst`).
    pub burst: u64,
}

/// A shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Shape {
    /// Rate.
    pub rate: Share,
    /// Bucket size in bytes (of a router: committed burst Bc).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Bytes in addition to the burst (of a router: excess burst Be).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess: Option<u64>,
    /// `true` if the excess burst is available in every interval ("peak").
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub peak: bool,
}

impl Shape {
    /// Returns the output rate in bit/s for a base in bit/s. Peak shaping sends committed and excess burst in each
    /// interval, so its rate is the committed one times 1 + Be/Bc (Cisco IOS Quality of Service Solutions Command
    /// Reference, `shape (policy-map class)`); bursts that are not stated are equal.
    pub fn bps(self, base: u64) -> Option<u64> {
        let rate = self.rate.of(base)?;
        if !self.peak {
            return Some(rate);
        }
        let (committed, excess) = match (self.burst.filter(|burst| *burst > 0), self.excess) {
            (Some(committed), Some(excess)) => (committed, excess),
            _ => (1, 1),
        };
        let whole = u128::from(rate) * (u128::from(committed) + u128::from(excess)) / u128::from(committed);
        u64::try_from(whole).ok()
    }
}

/// A policer: one rate with up to three colours, or two rates (RFC 2697, RFC 2698).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Police {
    /// Committed rate.
    pub rate: Share,
    /// Committed burst in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Peak rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Share>,
    /// Excess or peak burst in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess: Option<u64>,
    /// Actions on conforming packets.
    pub conform: Vec<Act>,
    /// Actions on packets above the committed burst.
    pub exceed: Vec<Act>,
    /// Actions on packets above the excess or peak burst; empty: those of `exceed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violate: Vec<Act>,
    /// Bytes that its meter counts per packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
}

/// Action of a policer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Passes the packet.
    Transmit,
    /// Drops the packet.
    Drop,
    /// Sets a field and passes the packet.
    Set(Mark),
}

/// A field set in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// DSCP.
    Dscp(u8),
    /// IP precedence.
    Precedence(u8),
    /// IEEE 802.1p priority.
    Cos(u8),
    /// Traffic class inside the router (IOS XR, EOS).
    TrafficClass(u8),
    /// MPLS traffic class of imposed labels.
    ExperimentalImposition(u8),
    /// MPLS traffic class of the topmost label.
    ExperimentalTopmost(u8),
    /// QoS group inside the router.
    QosGroup(u32),
}

/// Queue limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// Microseconds at the class's rate.
    Microseconds(u64),
    /// Percent: of the class's limit for a single DSCP, of the port's buffer for a class.
    Percent(u32),
}

/// Queue limit of one DSCP or precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CodeLimit {
    /// Field.
    pub by: By,
    /// Value of the field.
    pub code: u8,
    /// Limit.
    pub limit: Limit,
}

/// Field that selects the drop profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// IP precedence.
    #[default]
    Precedence,
    /// DSCP.
    Dscp,
}

/// Weighted random early detection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Wred {
    /// Field that selects the profile.
    pub by: By,
    /// Weight of the average: 2^-exponent of the difference at each arrival; `None`: 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<u8>,
    /// `true` if ECN-capable packets are marked instead of dropped.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ecn: bool,
    /// Configured profiles; others are those of the platform.
    pub profiles: Vec<Profile>,
}

/// A profile of weighted random early detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Profile {
    /// DSCP or precedence; `None`: reserved flows (RSVP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
    /// Minimum threshold of the average, in `unit`.
    pub min: u32,
    /// Maximum threshold of the average, in `unit`.
    pub max: u32,
    /// Unit of the two thresholds.
    #[serde(skip_serializing_if = "Unit::is_packets")]
    pub unit: Unit,
    /// Mark probability denominator: at the maximum threshold one packet in this number is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denominator: Option<u32>,
}

/// Unit of a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Packets.
    #[default]
    Packets,
    /// Bytes.
    Bytes,
    /// Microseconds at the class's rate.
    Microseconds,
    /// Percent of the class's limit.
    Percent,
}

impl Unit {
    fn is_packets(&self) -> bool {
        *self == Unit::Packets
    }
}
