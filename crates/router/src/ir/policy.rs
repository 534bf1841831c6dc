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
    /// Type of link, derived from the name and the encapsulation.
    pub medium: Medium,
    /// Rate of the link in bit/s; `None`: neither the type of interface nor a command (`speed`, `clock rate`) states
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Reference rate of percentages in bit/s (IOS `bandwidth`), which limits nothing; `None`: the rate of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// Length in packets of the transmit ring after the scheduler; `None`: the platform's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<u32>,
    /// Limit of all queues together in packets (`hold-queue`); `None`: the platform's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<u32>,
    /// Percentage of the rate that classes may reserve, 1 to 100; `None`: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservable: Option<u32>,
    /// Link-layer protocol, as written; `None`: not stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encapsulation: Option<String>,
    /// Name of the policy for received packets; `None`: there is no such policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// `true` if frames shorter than the minimum of the link layer count with their own length, and padding is added on
    /// the link only.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub unpadded: bool,
    /// IPv4 networks of the port's addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Net>,
    /// Treatment of the packets that the port sends, as a class that contains all of them.
    pub root: Class,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

/// Type of link, which determines the bytes per packet of the link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// The name of the interface does not reveal it.
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
    /// IP in IP, GRE, IPsec, WireGuard and others; the policy does not count the outer header.
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
    /// Name of the class of packets that match no rule; `None`: an unnamed default class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Classes.
    pub classes: Vec<Class>,
    /// `true` if round robin counts packets instead of bytes; the default quantum is 1 packet.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub packets: bool,
    /// Names of its parts, such as schedulers, by which remarks refer to them ([`Scope::Part`](crate::Scope::Part)).
    #[serde(skip)]
    pub parts: Vec<String>,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

impl Policy {
    /// Returns the class of that name; `None`: there is no such class.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }
}

/// Scheduler of the classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Guaranteed shares and strict priority: CBWFQ and LLQ.
    #[default]
    ClassBased,
    /// Strict priority, in the order of the classes.
    Priority,
    /// Hierarchical token bucket (HTB).
    Htb,
    /// Hierarchical fair service curve (HFSC).
    Hfsc,
    /// Deficit round robin (DRR) by the quanta of the classes.
    Drr,
    /// Enhanced transmission selection (ETS of Linux): classes without a quantum have strict priority, the others
    /// deficit round robin.
    Ets,
}

/// A classification rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Rule {
    /// Condition.
    pub when: Match,
    /// Name of the class of the packets that match.
    pub class: String,
    /// Policer of the packets that match; `None`: they are not policed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub police: Option<Police>,
    /// Place in the text.
    #[serde(skip)]
    pub at: Place,
}

/// Treatment of the packets of a class. A field that is `None` or empty is not configured: the default of the scheduler
/// or of the platform applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Class {
    /// Name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Name of the parent class in the same policy (HTB, HFSC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Guaranteed bandwidth (`bandwidth` of IOS).
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
    /// Quantum in bytes (DRR, ETS), or in packets if [`Policy::packets`] is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Shaper: packets above its rate wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// Second rate of the shaper (TBF `peakrate`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// Bytes that the shaper counts per packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
    /// Policer: packets above its rate are dropped or marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub police: Option<Police>,
    /// Fields set in the packets of the class.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Mark>,
    /// Queue limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// Queue limits of single DSCPs or precedences, in addition to that of the class.
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
    /// Rate in bit/s.
    Rate(u64),
    /// Percentage of the interface's rate or of the parent's shaping rate, 0 to 100.
    Percent(u32),
    /// Percentage of the rate that priority classes leave, 0 to 100.
    RemainingPercent(u32),
    /// Weight of the class in the rate that other classes leave.
    RemainingRatio(u32),
}

impl Share {
    /// Returns the rate in bit/s, rounded down; `base` is the rate in bit/s to which percentages refer. `None`: a
    /// remaining ratio, which depends on the other classes, or overflow.
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
    /// Level from 1; level 1 is served first.
    pub level: u8,
    /// Rate of the policer, which applies under congestion; `None`: no policer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Share>,
    /// Burst of that policer in bytes; `None`: 200 ms at its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
}

/// HTB parameters of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HtbClass {
    /// Guaranteed rate in bit/s; ignored if there is `percent`.
    pub rate: u64,
    /// Guaranteed rate in millionths of the link rate; `None`: `rate` applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// Ceiling in millionths of the link rate; `None`: `ceil` applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil_percent: Option<u32>,
    /// Bytes that the token buckets count per packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
    /// Ceiling in bit/s, which includes borrowed rate; `None`: the guaranteed rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil: Option<u64>,
    /// Bucket size of the guaranteed rate in bytes; `None`: the default of `tc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Bucket size of the ceiling in bytes; `None`: the default of `tc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cburst: Option<u64>,
    /// Priority in borrowing, 0 to 7; lower numbers are served first. `None`: 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prio: Option<u32>,
    /// Quantum in bytes of the round robin among borrowing classes of a priority; `None`: derived from the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
}

impl HtbClass {
    /// Returns the parameters with relative rates resolved, on a link of `line` bit/s.
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

/// HFSC service curves of a class; `None`: the class does not have that curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HfscClass {
    /// Real-time curve: guaranteed service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rt: Option<Curve>,
    /// Link-sharing curve: share of the excess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ls: Option<Curve>,
    /// Upper-limit curve: bound on the service by link-sharing.
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
    /// Slope of the first piece in bit/s.
    pub m1: u64,
    /// Length of the first piece in microseconds.
    pub d: u64,
    /// Slope of the second piece in bit/s.
    pub m2: u64,
}

/// Bytes for which token buckets account per packet, computed from its length at the device in the order of
/// `psched_l2t_ns` (Linux, `include/net/sch_generic.h`): the overhead is added, the sum is raised to at least `least`,
/// and the result is rounded up to cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counting {
    /// Additional bytes (`overhead`); may be negative.
    pub overhead: i32,
    /// Minimum length in bytes (`mpu`).
    pub least: u16,
    /// `true` if each started 48 bytes count as an ATM cell of 53 bytes (`linklayer atm`).
    pub cells: bool,
    /// `true` if the computation begins with the layer-3 length instead of that at the device (cake with an overhead).
    pub network: bool,
}

impl Counting {
    /// `true` if packets count with their length at the device.
    pub fn is_plain(&self) -> bool {
        *self == Counting::default()
    }
}

/// Peak rate of a token bucket filter (TBF).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Peak {
    /// Rate in bit/s.
    pub rate: u64,
    /// Bucket size in bytes (`mtu` or `minburst`).
    pub burst: u64,
}

/// A shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Shape {
    /// Committed rate.
    pub rate: Share,
    /// Bucket size in bytes (committed burst Bc of routers); `None`: the platform's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Bytes in addition to the burst (excess burst Be of routers); `None`: the platform's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess: Option<u64>,
    /// `true` if the excess burst is available in every interval (`shape peak`).
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub peak: bool,
}

impl Shape {
    /// Returns the output rate in bit/s for a base in bit/s. Peak shaping sends the committed and the excess burst in
    /// each interval, so the rate is multiplied by 1 + Be/Bc (Cisco IOS Quality of Service Solutions Command Reference,
    /// `shape (policy-map class)`); unless both bursts are stated, they are equal. `None`: a remaining ratio, or
    /// overflow.
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
    /// Committed burst in bytes; `None`: the platform's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Peak rate; `None`: a policer with one rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Share>,
    /// Excess burst (one rate) or peak burst (two rates) in bytes; `None`: as large as the committed burst.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess: Option<u64>,
    /// Actions on conforming packets.
    pub conform: Vec<Act>,
    /// Actions on packets that exceed the committed burst.
    pub exceed: Vec<Act>,
    /// Actions on packets that violate the excess or peak burst; empty: those of `exceed`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violate: Vec<Act>,
    /// Bytes that the meter counts per packet.
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
    /// DSCP, 0 to 63.
    Dscp(u8),
    /// IP precedence, 0 to 7.
    Precedence(u8),
    /// IEEE 802.1p priority, 0 to 7.
    Cos(u8),
    /// Traffic class inside the router (IOS XR, EOS), 0 to 7.
    TrafficClass(u8),
    /// MPLS traffic class of imposed labels, 0 to 7.
    ExperimentalImposition(u8),
    /// MPLS traffic class of the topmost label, 0 to 7.
    ExperimentalTopmost(u8),
    /// QoS group inside the router.
    QosGroup(u32),
}

/// Queue limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Number of packets.
    Packets(u64),
    /// Number of bytes.
    Bytes(u64),
    /// Time in microseconds at the class's rate.
    Microseconds(u64),
    /// Percentage of the port's buffer; for a single DSCP or precedence, of the class's limit.
    Percent(u32),
}

/// Queue limit of one DSCP or precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CodeLimit {
    /// Field.
    pub by: By,
    /// Value of the field, 0 to 63 or 0 to 7.
    pub code: u8,
    /// Limit.
    pub limit: Limit,
}

/// Field that selects a drop profile or a queue limit.
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
    /// Exponent of the weight of the average, which moves by 2^-exponent of the difference at each arrival; `None`: 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<u8>,
    /// `true` if ECN-capable packets are marked instead of dropped.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ecn: bool,
    /// Configured profiles; other values of the field have the defaults of the platform.
    pub profiles: Vec<Profile>,
}

/// A profile of weighted random early detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Profile {
    /// DSCP or precedence to which the profile applies; `None`: flows with a reservation (RSVP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
    /// Minimum threshold of the average, in `unit`.
    pub min: u32,
    /// Maximum threshold of the average, in `unit`.
    pub max: u32,
    /// Unit of the two thresholds.
    #[serde(skip_serializing_if = "Unit::is_packets")]
    pub unit: Unit,
    /// Mark probability denominator n: at the maximum threshold one packet in n is dropped; `None`: the platform's
    /// default.
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
    /// Percentage of the class's limit.
    Percent,
}

impl Unit {
    fn is_packets(&self) -> bool {
        *self == Unit::Packets
    }
}
