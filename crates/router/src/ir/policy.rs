//! Ports, policies and classes.

use super::{Match, Net, Queue};
use crate::Place;
use serde::Serialize;

/// An interface: its rate, and what it does with the packets that it sends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Port {
    /// Its name, such as `Serial0/0` or `eth0`.
    pub name: String,
    /// What kind of line it sends to, by its name and encapsulation.
    pub medium: Medium,
    /// Rate of the line in bit/s, where its name, `speed` or `clock rate` tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// The rate in bit/s of which percentages are parts, where the configuration states one apart from that of the line
    /// (IOS `bandwidth`); it slows nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// Length of the transmit ring behind the scheduler, in packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<u32>,
    /// Packets that all queues together may hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<u32>,
    /// Percentage of the rate that classes may reserve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservable: Option<u32>,
    /// Link-layer protocol, as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encapsulation: Option<String>,
    /// Policy for what arrives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Whether frames shorter than the link layer's least count as they are, and are padded on the line only.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub unpadded: bool,
    /// IPv4 networks that are reached by it, from its addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Net>,
    /// What is done with all that the port sends, as with one class.
    pub root: Class,
    /// Where it was written.
    #[serde(skip)]
    pub at: Place,
}

/// A kind of line, which tells the bytes that the link layer adds to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// The name does not tell it.
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
    /// IP in IP, GRE, IPsec, WireGuard and others whose outer header the policy does not count.
    Tunnel,
}

/// Classes and who is served when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Who is served when.
    pub scheduler: Scheduler,
    /// Which packets belong to which class; the first that holds decides.
    pub rules: Vec<Rule>,
    /// The class of packets that no rule is about; absent, there is one without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// The classes.
    pub classes: Vec<Class>,
    /// Whether turns of round robin count packets in place of bytes, a quantum of 1 being a packet.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub packets: bool,
    /// Names of what it is made of, for the remarks about them ([`Scope::Part`](crate::Scope::Part)).
    #[serde(skip)]
    pub parts: Vec<String>,
    /// Where it was written.
    #[serde(skip)]
    pub at: Place,
}

impl Policy {
    /// The class of that name.
    pub fn class(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }
}

/// Who is served when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Guaranteed shares and strict priority: CBWFQ and LLQ.
    #[default]
    ClassBased,
    /// The first class that has something, in the order of the classes.
    Priority,
    /// Hierarchical token buckets.
    Htb,
    /// Hierarchical fair service curves.
    Hfsc,
    /// Deficit round robin by quantum.
    Drr,
    /// Strict bands first (those without a quantum), then deficit round robin.
    Ets,
}

/// Packets of which something holds belong to a class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Rule {
    /// What holds of them.
    pub when: Match,
    /// The class.
    pub class: String,
    /// What they must conform to on their way there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub police: Option<Police>,
    /// Where it was written.
    #[serde(skip)]
    pub at: Place,
}

/// What is done with the packets of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Class {
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The class of the same policy that it is a part of (HTB).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Guaranteed share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Share>,
    /// Strict priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Token buckets of HTB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub htb: Option<HtbClass>,
    /// Service curves of HFSC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hfsc: Option<HfscClass>,
    /// Bytes per round (DRR, ETS), or packets where the policy counts those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Highest rate; what exceeds it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// A second rate that the shaper holds to at the same time (TBF `peakrate`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Peak>,
    /// What its shaper counts of a packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
    /// Highest rate; what exceeds it is dropped or marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub police: Option<Police>,
    /// What is written into its packets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Mark>,
    /// How much may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
    /// How much of one code point may wait.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_limits: Vec<CodeLimit>,
    /// Weighted random early detection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wred: Option<Wred>,
    /// In what order its packets leave.
    pub queue: Queue,
    /// Where it was written.
    #[serde(skip)]
    pub at: Place,
}

/// A rate, absolute or relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// bit/s.
    Rate(u64),
    /// Percent of the interface's rate or the parent's shape.
    Percent(u32),
    /// Percent of what priority classes leave.
    RemainingPercent(u32),
    /// Parts of what other classes leave.
    RemainingRatio(u32),
}

impl Share {
    /// bit/s, for a base of so many bit/s. A remaining ratio needs its peers, and gives none.
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
    /// 1 is served before 2.
    pub level: u8,
    /// Rate of the policer that acts under congestion; absent, there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Share>,
    /// Burst of that policer, in bytes; absent, 200 ms of the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
}

/// A class's token buckets in HTB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HtbClass {
    /// Guaranteed rate, bit/s; 0 where it is `percent` of the line's.
    pub rate: u64,
    /// Guaranteed rate in millionths of that of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<u32>,
    /// Highest rate in millionths of that of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil_percent: Option<u32>,
    /// What its buckets count of a packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
    /// Highest rate with what is borrowed, bit/s; absent, the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceil: Option<u64>,
    /// Bytes that may leave at once within the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Bytes that may leave at once within the ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cburst: Option<u64>,
    /// Who borrows first, 0 to 7; 0 before 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prio: Option<u32>,
    /// Bytes per round among those that borrow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
}

impl HtbClass {
    /// The same with rates in bit/s, on a line of so many bit/s.
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

/// A class's service curves in HFSC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct HfscClass {
    /// Real-time curve: what is guaranteed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rt: Option<Curve>,
    /// Link-sharing curve: the share of what is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ls: Option<Curve>,
    /// Upper-limit curve of link-sharing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ul: Option<Curve>,
    /// What curves count of a packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
}

/// A service curve of two pieces.
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

/// What token buckets count of a packet beyond its length at the device, in the order of `psched_l2t_ns` (Linux,
/// `include/net/sch_generic.h`): the overhead is added, shorter lengths count as `least`, the whole is cut into cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counting {
    /// Bytes more, negative for less (`overhead`).
    pub overhead: i32,
    /// A shorter packet counts so many bytes (`mpu`).
    pub least: u16,
    /// Whether each begun 48 bytes count as an ATM cell of 53 (`linklayer atm`).
    pub cells: bool,
    /// Whether the length of layer 3 counts in place of that at the device (cake, where an overhead is stated).
    pub network: bool,
}

impl Counting {
    /// Whether the length at the device counts.
    pub fn is_plain(&self) -> bool {
        *self == Counting::default()
    }
}

/// The peak rate of a TBF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Peak {
    /// bit/s.
    pub rate: u64,
    /// Bytes that may leave at once (`mtu` or `minburst`).
    pub burst: u64,
}

/// A shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Shape {
    /// Its rate.
    pub rate: Share,
    /// Bytes that may leave at once (of a router: committed burst Bc).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Bytes above the burst (of a router: excess burst Be).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excess: Option<u64>,
    /// Whether the excess burst may leave in every interval ("peak").
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub peak: bool,
}

impl Shape {
    /// The rate in bit/s that packets leave at, for a base of so many bit/s. Peak shaping sends committed and excess burst in
    /// each interval, so its rate is the committed one times 1 + Be/Bc (Cisco IOS Quality of Service Solutions Command
    /// Reference, `shape (policy-map class)`); where the bursts are not stated they are equal.
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

/// A policer: one rate and up to three colours, or two rates (RFC 2697, RFC 2698).
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
    /// What becomes of what conforms.
    pub conform: Vec<Act>,
    /// What becomes of what exceeds the committed burst.
    pub exceed: Vec<Act>,
    /// What becomes of the rest; empty, the same as of what exceeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violate: Vec<Act>,
    /// What its meter counts of a packet.
    #[serde(skip_serializing_if = "Counting::is_plain")]
    pub counts: Counting,
}

/// What a policer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Lets it pass.
    Transmit,
    /// Drops it.
    Drop,
    /// Writes something into it and lets it pass.
    Set(Mark),
}

/// What is written into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// Code point.
    Dscp(u8),
    /// IP precedence.
    Precedence(u8),
    /// IEEE 802.1p priority.
    Cos(u8),
    /// A class of traffic that stays inside the router (IOS XR, EOS).
    TrafficClass(u8),
    /// MPLS traffic class of the labels that are put on.
    ExperimentalImposition(u8),
    /// MPLS traffic class of the topmost label.
    ExperimentalTopmost(u8),
    /// A number that stays inside the router.
    QosGroup(u32),
}

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// Microseconds at the class's rate.
    Microseconds(u64),
    /// Percent of the class's limit, of a single code point; of the port's buffers, of a class.
    Percent(u32),
}

/// How much of one code point may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CodeLimit {
    /// What the code is.
    pub by: By,
    /// The code.
    pub code: u8,
    /// How much.
    pub limit: Limit,
}

/// What tells a packet's drop profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// IP precedence.
    #[default]
    Precedence,
    /// Code point.
    Dscp,
}

/// Weighted random early detection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Wred {
    /// What tells a packet's profile.
    pub by: By,
    /// The average moves by 2^-exponent of the difference at each arrival; absent, 9.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exponent: Option<u8>,
    /// Whether it marks packets that can bear it, instead of dropping them.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ecn: bool,
    /// Profiles that were given; the others are the router's own.
    pub profiles: Vec<Profile>,
}

/// A profile of weighted random early detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Profile {
    /// Code point or precedence; none for reserved flows (RSVP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u8>,
    /// Average below which nothing is dropped, in `unit`.
    pub min: u32,
    /// Average from which all is dropped, in `unit`.
    pub max: u32,
    /// What the two thresholds count.
    #[serde(skip_serializing_if = "Unit::is_packets")]
    pub unit: Unit,
    /// One packet in so many is dropped just below the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub denominator: Option<u32>,
}

/// What a threshold counts.
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
