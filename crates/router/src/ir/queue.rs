//! Classless queues and their parameters.

use serde::Serialize;

/// Queue of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// First in, first out.
    #[default]
    Fifo,
    /// A router's fair queueing of flows (`fair-queue`).
    Fair(Fair),
    /// Stochastic fair queueing.
    Sfq(Sfq),
    /// FlowQueue-CoDel (RFC 8290).
    FqCodel(FqCodel),
    /// FlowQueue-PIE (FQ-PIE of Linux).
    FqPie(Timed),
    /// CoDel (RFC 8289).
    Codel(Timed),
    /// PIE (RFC 8033).
    Pie(Timed),
    /// Byte-based random early detection (RED) of Linux.
    Red(Red),
    /// Generalised RED (GRED) of Linux, with several profiles.
    Gred(Gred),
    /// `fq` of Linux: deficit round robin of flows, new flows first.
    Fq(Fq),
    /// `netem` of Linux: delay and loss.
    Netem(Netem),
    /// The classes and scheduler of the policy of that name.
    Policy(String),
}

/// Parameters of `fq`; absent ones have Linux's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fq {
    /// Quantum in bytes; `None`: two frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Initial quantum of a flow in bytes; `None`: ten frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial: Option<u64>,
    /// Limit of one flow in packets; `None`: 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_limit: Option<u32>,
    /// Idle time in microseconds after which a flow's credit is refilled to at least a quantum; `None`: 40 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refill: Option<u64>,
    /// Number of queues to which flows without a socket are hashed; `None`: 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u64>,
}

/// Parameters of `netem`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Netem {
    /// Mean delay in microseconds.
    pub delay: u64,
    /// Variation of the delay in microseconds: half the range of the uniform distribution, or the standard deviation of
    /// the normal one.
    pub jitter: u64,
    /// `true` for a normal distribution, `false` for a uniform one.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub normal: bool,
    /// Probability of independent loss in millionths.
    pub loss: u32,
    /// Gilbert–Elliott model of loss, probabilities in millionths: of entering the bad state, of leaving it, of loss in
    /// it, and of loss in the good state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bursts: Option<[u32; 4]>,
    /// `true` if ECN-capable packets are marked instead of lost.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ecn: bool,
    /// Rate in bit/s; `None`: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
}

/// Parameters of a router's fair queueing; absent ones have the platform's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fair {
    /// Congestive discard threshold: limit of one conversation in packets while the whole queue is congested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u32>,
    /// Number of queues to which conversations are hashed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// Number of queues for conversations with a reservation (RSVP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservable: Option<u32>,
}

/// Parameters of stochastic fair queueing (SFQ); absent ones have Linux's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Sfq {
    /// Quantum in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Time between changes of the hash function in seconds; `None`: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub perturb: Option<u64>,
    /// Number of hash buckets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divisor: Option<u64>,
    /// Limit of one flow in packets; `None`: 127.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Maximum number of active flows; packets of further flows are dropped. `None`: 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// `true` if the oldest packet of the longest queue is dropped at the limit, `false` if the newest one is.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub head: bool,
    /// Bytes per flow of the class; their sum over the flows is a limit in addition to that of the class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub each: Option<u64>,
}

/// Parameters of FlowQueue-CoDel; absent ones have Linux's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct FqCodel {
    /// Number of queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
    /// Quantum in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantum: Option<u64>,
    /// Maximum number of packets dropped at once when the limit is exceeded; `None`: 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<u64>,
    /// Parameters of CoDel.
    pub law: Timed,
}

/// Parameters of an AQM with a target delay (CoDel, PIE); absent ones have Linux's defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Timed {
    /// Target delay in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<u64>,
    /// Interval (CoDel) or time between updates (PIE) in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<u64>,
    /// `true` if ECN-capable packets are marked instead of dropped; `None`: the default of the AQM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Delay in microseconds above which every ECN-capable packet is marked (CoDel).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce_threshold: Option<u64>,
    /// Gains alpha and beta of PIE in sixteenths of 1/s, each 0 to 32, as in Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gains: Option<(u32, u32)>,
    /// `true` if the drop probability of PIE is proportional to the packet size.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub byte_mode: bool,
}

/// Parameters of byte-based random early detection (RED); absent ones without a stated default have those of `tc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Red {
    /// Minimum threshold of the average in bytes; `None`: a third of the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<u64>,
    /// Maximum threshold of the average in bytes; `None`: a quarter of the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
    /// Mean packet size in bytes, for the decay of the average during idle periods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avpkt: Option<u64>,
    /// Burst in packets, which determines the weight of the average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Drop probability at the maximum threshold in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probability: Option<u32>,
    /// Link rate in bit/s, for the decay of the average during idle periods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<u64>,
    /// `true` if ECN-capable packets are marked instead of dropped.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub ecn: bool,
    /// `true` if ECN-capable packets are dropped above the maximum threshold.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub hard: bool,
    /// `true` for Adaptive RED.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub adaptive: bool,
    /// `true` if the instantaneous queue length is used instead of its average, and drops are independent, as in
    /// switches; then `avpkt`, `burst` and `bandwidth` have no effect.
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub instant: bool,
}

/// Parameters of generalised RED (GRED).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Gred {
    /// Number of the default profile.
    pub default: u32,
    /// Number of profiles.
    pub count: u32,
    /// `true` if the average of a profile includes the queues of profiles with higher priority (RIO).
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    pub grio: bool,
    /// Profiles.
    pub profiles: Vec<GredProfile>,
}

/// A profile of a generalised RED.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct GredProfile {
    /// Number of the profile, 0 to 15.
    pub dp: u32,
    /// Limit in bytes; `None`: the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Priority (RIO); lower numbers have higher priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prio: Option<u32>,
    /// RED parameters.
    pub law: Red,
}
