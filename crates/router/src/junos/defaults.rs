//! Defaults of Junos, with the public source of each value.

use super::values::Field;

/// Default forwarding classes and queues (Junos OS Class of Service User Guide, "Default Forwarding Classes"). On SRX
/// and EX the queue numbers differ ("Default Scheduler Settings": queues 0, 5, 1, 7), which has no effect here, since
/// classes are identified by name.
pub(super) const CLASSES: [&str; 4] = ["best-effort", "expedited-forwarding", "assured-forwarding", "network-control"];

/// Default percentages of the link's rate, and of the buffer, in the order of [`CLASSES`] (Junos OS Class of Service
/// User Guide, "Default Schedulers Overview").
pub(super) const SHARES: [u32; 4] = [95, 0, 0, 5];

/// Returns class and loss priority of a code point in Junos's default classifiers: index into [`CLASSES`], and 0 for
/// low, 3 for high. Junos OS Class of Service User Guide, "Default DSCP and DSCP IPv6 Classifiers", "Default IP
/// Precedence Classifier" (table 2, `ipprec-default`), "Default MPLS EXP Classifier", "Default IEEE 802.1p Classifier".
pub(super) fn classified(field: Field, code: u8) -> (usize, u8) {
    match (field, code) {
        (Field::Dscp | Field::Dscp6, 46) => (1, 0),
        (Field::Dscp | Field::Dscp6, 10) => (2, 0),
        (Field::Dscp | Field::Dscp6, 12 | 14) => (2, 3),
        (Field::Dscp | Field::Dscp6, 48 | 56) => (3, 0),
        (Field::Dscp | Field::Dscp6, _) => (0, 0),
        (Field::Precedence, 1) => (2, 0),
        (Field::Precedence, 5) => (1, 0),
        (Field::Precedence, 6) => (3, 0),
        (Field::Precedence, 7) => (3, 3),
        (Field::Precedence, _) => (0, 0),
        (Field::Exp | Field::Cos, code) => (usize::from(code / 2).min(3), if code % 2 == 1 { 3 } else { 0 }),
    }
}

/// Returns class and loss priority, as [`classified`] does, for ports without a classifier: `ipprec-compatibility`
/// (same guide, "Default IP Precedence Classifier", table 1).
pub(super) fn compatible(precedence: u8) -> (usize, u8) {
    let class = if precedence >= 6 { 3 } else { 0 };
    (class, if precedence % 2 == 1 { 3 } else { 0 })
}

/// Returns the depth of a port's buffer in microseconds; `rate` in bit/s, `None`: unknown. MIC and MPC interfaces have
/// 500 ms below 1 Gbit/s, else 100 ms (Junos OS Class of Service Configuration Guide, "Scheduler Delay Buffering on MIC
/// and MPC Interfaces"). Other line cards have other depths, so the value is always reported as assumed.
pub(super) fn depth(rate: Option<u64>) -> u64 {
    if rate.is_some_and(|rate| rate < 1_000_000_000) { 500_000 } else { 100_000 }
}
/// Document that states [`depth`].
pub(super) const DEPTH_SOURCE: &str = "\"Scheduler Delay Buffering on MIC and MPC Interfaces\"";

/// Default burst of a policer or of `rate-limit`, in microseconds at its rate. Juniper recommends 5 ms for policers
/// ("Determining Proper Burst Size for Traffic Policers"); the burst of `rate-limit` is not documented.
pub(super) const BURST: u64 = 5_000;

/// Rate in bit/s of an interface by the prefix of its name, if it is unique (Junos OS Interfaces Fundamentals,
/// "Interface Naming Overview"; ITU-T G.703 for T1, E1, T3, E3). `et-` is 25 to 400 Gbit/s, `so-` has several rates,
/// and the rate of `ae` is that of its members.
pub(super) const RATES: [(&str, u64); 7] = [
    ("fe", 100_000_000),
    ("ge", 1_000_000_000),
    ("xe", 10_000_000_000),
    ("t1", 1_544_000),
    ("e1", 2_048_000),
    ("t3", 44_736_000),
    ("e3", 34_368_000),
];
