//! Queues without classes, and their parameters.

use serde::Serialize;

/// In what order packets of a class leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// As they came.
    #[default]
    Fifo,
    /// A fair queue of flows, as a router's.
    Fair(Fair),
    /// Stochastic fair queueing.
    Sfq(Sfq),
    /// FlowQueue-CoDel (RFC 8290).
    FqCodel(FqCodel),
    /// FlowQueue-PIE.
    FqPie(Timed),
    /// CoDel (RFC 8289).
    Codel(Timed),
    /// PIE (RFC 8033).
    Pie(Timed),
    /// Random early detection by bytes, as Linux has it.
    Red(Red),
    /// One RED of several profiles, as Linux has it.
    Gred(Gred),
    /// Deficit round robin of flows, new ones first, as `fq` of Linux has it.
    Fq(Fq),
    /// Delay and loss, as `netem` of Linux makes them.
    Netem(Netem),
    /// As the policy of that name says.
    Policy(String),
}

/// Parameters of `fq`; what is absent is as in Linux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fq {
    /// Bytes per round; absent, two frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Bytes that a flow may send at first; absent, ten frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<u64>,
    /// Packets of one flow; absent, 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<u32>,
    /// Microseconds after which an idle flow has a quantum at least; absent, 40 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill: Option<u64>,
    /// Number of queues that flows without a socket are hashed to; absent, 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u64>,
}

/// Parameters of `netem`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Netem {
    /// Mean delay, microseconds.
    pub delay: u64,
    /// What it varies by, microseconds.
    pub jitter: u64,
    /// Whether it varies normally, not uniformly.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub normal: bool,
    /// Probability of loss, millionths.
    pub loss: u32,
    /// Loss in bursts: probabilities of entering and leaving the bad state, and of loss in it and in the good one, millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<[u32; 4]>,
    /// Whether it marks packets that can bear it instead of losing them.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ecn: bool,
    /// Rate in bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
}

/// A router's fair queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fair {
    /// Packets of one conversation, from which it is refused while the whole is congested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u32>,
    /// Number of queues that conversations are hashed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// Number of queues for reserved conversations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservable: Option<u32>,
}

/// Stochastic fair queueing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sfq {
    /// Bytes per round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Seconds between changes of the hash function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perturb: Option<u64>,
    /// Number of buckets of the hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divisor: Option<u64>,
    /// Packets that one flow may have; absent, 127.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Flows that it holds at a time; packets of further ones are dropped. Absent, 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// Whether the oldest packet of the longest queue goes when all are full, rather than the newest.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub head: bool,
    /// Bytes for each flow of the class that all together may hold, beside the limit of the class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<u64>,
}

/// FlowQueue-CoDel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FqCodel {
    /// Number of queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// Bytes per round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Most packets that are dropped at a time when the limit is exceeded; absent, 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Target and interval.
    pub law: Timed,
}

/// Laws with a target delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Timed {
    /// Target delay in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// Interval (CoDel) or time between updates (PIE) in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
    /// Whether it marks packets that can bear it; absent, as the law does by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Delay in microseconds above which every packet that can bear it is marked (CoDel).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<u64>,
    /// Gains alpha and beta of PIE in sixteenths of 1/s, as Linux has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gains: Option<(u32, u32)>,
    /// Whether PIE's probability is in proportion to the packet's size.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub byte_mode: bool,
}

/// Random early detection by bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Red {
    /// Average below which nothing is dropped, bytes; absent, a third of the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// Average from which all is dropped, bytes; absent, a quarter of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// Mean packet size in bytes, by which the average forgets while the link idles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<u64>,
    /// Packets that may come at once; it determines the weight of the average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Highest probability, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<u32>,
    /// Rate of the link in bit/s, by which the average forgets while the link idles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// Whether it marks packets that can bear it.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ecn: bool,
    /// Whether it drops above the maximum what it would mark below.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub hard: bool,
    /// Whether the highest probability adapts.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub adaptive: bool,
    /// Whether the queue itself decides instead of its average, and each packet is chosen whatever came before, as switches
    /// have it; then `avpkt`, `burst` and `bandwidth` do not count.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub instant: bool,
}

/// One RED of several profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Gred {
    /// The profile of packets that none is named for.
    pub default: u32,
    /// Number of profiles.
    pub count: u32,
    /// Whether each profile sees the queues of those before it (RIO).
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub grio: bool,
    /// The profiles.
    pub profiles: Vec<GredProfile>,
}

/// A profile of a generalised RED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GredProfile {
    /// Its number.
    pub dp: u32,
    /// Bytes of this profile that may wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Its priority (RIO): 1 before 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prio: Option<u32>,
    /// Its law.
    pub law: Red,
}
