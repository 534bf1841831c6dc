//! The link of the port: its rate, the reference rate of percentages, and the bytes of the link layer. Values that the
//! configuration does not state are assumed and reported, or cause an error.

use crate::Report;
use crate::ir::{Class, Config, Medium, Policy, Port, Queue, Scheduler};
use serde::Serialize;
use serde_json::{Value, json};

/// The link of an output port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Link {
    /// Rate of the link in bit/s.
    pub rate: u64,
    /// Reference rate of the policy's percentages, bit/s.
    pub base: u64,
    /// Source of the rate: a phrase such as "by --rate".
    pub origin: String,
    /// Bytes of the link layer per packet.
    pub overhead: Overhead,
}

/// Bytes of the link layer per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Overhead {
    /// Name of the link layer, for messages.
    pub name: &'static str,
    /// Bytes per packet that shapers, policers and guarantees count in addition to layer 3.
    pub counted: u16,
    /// Minimum length in bytes of a frame as counted; shorter ones are padded. 0: there is no minimum.
    pub least: u16,
    /// Bytes per packet on the link in addition to those counted.
    pub line: u16,
    /// `true` if the link carries frames in whole ATM cells of 53 B, 48 B in each (ITU-T I.361).
    pub cells: bool,
    /// `true` if frames shorter than `least` are counted with their own length, and padded only on the link. Set only
    /// if the traffic table has such packets.
    pub unpadded: bool,
}

impl Overhead {
    /// No link layer: bytes are counted from layer 3 on.
    pub const NONE: Overhead =
        Overhead { name: "layer 3", counted: 0, least: 0, line: 0, cells: false, unpadded: false };
    /// Ethernet. Routers and Linux count addresses and type of an Ethernet frame (14 B), not its check sequence: `show
    /// policy-map interface` of IOS shows a ping of 100 B as "1 packets, 114 bytes", and `skb->len` at a Linux device
    /// is the same. The link carries 4 B of check sequence, 8 B of preamble and 12 B of inter-frame gap in addition
    /// (IEEE 802.3).
    pub const ETHERNET: Overhead =
        Overhead { name: "Ethernet", counted: 14, least: 60, line: 24, cells: false, unpadded: false };
    /// Ethernet with an IEEE 802.1Q tag of 4 B.
    pub const DOT1Q: Overhead =
        Overhead { name: "Ethernet with a tag", counted: 18, least: 64, line: 24, cells: false, unpadded: false };
    /// Ethernet with one MPLS label of 4 B (RFC 3032).
    pub const MPLS: Overhead =
        Overhead { name: "Ethernet with one label", counted: 18, least: 60, line: 24, cells: false, unpadded: false };
    /// PPP in HDLC-like framing (RFC 1662): 4 B of address, control and protocol are counted; the link carries 3 B of
    /// check sequence and flag in addition. Cisco's HDLC has the same lengths.
    pub const PPP: Overhead =
        Overhead { name: "PPP or HDLC", counted: 4, least: 0, line: 3, cells: false, unpadded: false };
    /// PPP over Ethernet: 6 B of PPPoE and 2 B of PPP in an Ethernet frame (RFC 2516).
    pub const PPPOE: Overhead =
        Overhead { name: "PPP over Ethernet", counted: 22, least: 60, line: 24, cells: false, unpadded: false };
    /// AAL5 with LLC/SNAP (RFC 2684). Queueing of IOS counts the 8 B of LLC/SNAP and 4 B for the circuit, not the
    /// trailer, the padding and the cell headers, which are added after it (Cisco, "What Bytes Are Counted by IP to
    /// ATM CoS Queueing?", document 10420). The link carries 8 B of LLC/SNAP and 8 B of trailer, in whole cells.
    pub const ATM: Overhead =
        Overhead { name: "AAL5 with LLC/SNAP", counted: 12, least: 0, line: 4, cells: true, unpadded: false };
    /// AAL5 with VC multiplexing (RFC 2684 section 6.1): no LLC/SNAP. Counting the 4 B of the circuit here too is an
    /// assumption: no public source was found.
    pub const ATM_VC: Overhead =
        Overhead { name: "AAL5 without LLC/SNAP", counted: 4, least: 0, line: 4, cells: true, unpadded: false };

    /// Returns the overhead of a name, or of a number of bytes from 0 to 255 that are both counted and on the link;
    /// `None`: neither.
    pub fn named(text: &str) -> Option<Overhead> {
        match text {
            "none" => Some(Overhead::NONE),
            "ethernet" => Some(Overhead::ETHERNET),
            "dot1q" => Some(Overhead::DOT1Q),
            "mpls" => Some(Overhead::MPLS),
            "ppp" => Some(Overhead::PPP),
            "pppoe" => Some(Overhead::PPPOE),
            "atm" => Some(Overhead::ATM),
            "atm-vc" => Some(Overhead::ATM_VC),
            digits => {
                let counted = digits.parse::<u16>().ok().filter(|bytes| *bytes <= 255)?;
                Some(if counted == 0 {
                    Overhead::NONE
                } else {
                    Overhead { name: "as stated", counted, least: 0, line: 0, cells: false, unpadded: false }
                })
            }
        }
    }

    fn of(port: &Port) -> Overhead {
        match port.medium {
            Medium::Ethernet => Overhead::ETHERNET,
            Medium::Dot1q => Overhead::DOT1Q,
            Medium::Serial => Overhead::PPP,
            Medium::Pppoe => Overhead::PPPOE,
            Medium::Atm if port.encapsulation.as_ref().is_some_and(|own| own.starts_with("aal5mux")) => {
                Overhead::ATM_VC
            }
            Medium::Atm => Overhead::ATM,
            Medium::Unknown | Medium::Tunnel => Overhead::NONE,
        }
    }

    /// Returns `network.framing` of a scenario whose largest packet has `largest` bytes.
    pub(super) fn framing(self, largest: u64) -> Value {
        if self == Overhead::NONE {
            return json!("none");
        }
        json!({
            "mtu": format!("{}B", largest.max(1500)),
            "header": format!("{}B", self.counted),
            "min-frame": format!("{}B", if self.unpadded { 0 } else { self.least }),
            // Cells are a property of the link: see `accounting`.
            "overhead": format!("{}B", if self.cells { 0 } else { self.line }),
        })
    }

    /// Returns `accounting` of the port's link; `None`: it carries frames unchanged.
    pub(super) fn accounting(self) -> Option<Value> {
        if self.unpadded {
            return Some(json!({ "least": format!("{}B", self.least + self.line) }));
        }
        self.cells.then(|| json!({ "bytes": format!("{}B", self.line), "cells": true }))
    }
}

/// Default rate of a serial link in IOS, in bit/s: a T1.
const T1: u64 = 1_544_000;
/// Assumed ratio of an unknown link rate to the rate of the port's shaper.
const LINK_PER_SHAPER: u64 = 10;

/// Returns the link of a port; `None`: its rate is unknown, which is reported as an error. `rate` in bit/s and
/// `overhead` are those of the options.
pub(super) fn link(
    port: &Port,
    config: &Config,
    rate: Option<u64>,
    overhead: Option<Overhead>,
    report: &mut Report,
) -> Option<Link> {
    let overhead = overhead.unwrap_or_else(|| assumed_overhead(port, report));
    let shaped = shaped(&port.root, config);
    let made = |rate: u64, origin: String| Link { rate, base: port.bandwidth.unwrap_or(rate), origin, overhead };
    if let Some(rate) = rate {
        if let Some(bandwidth) = port.bandwidth.filter(|bandwidth| *bandwidth > rate) {
            report.warning(
                port.at,
                format!(
                    "percentages refer to the `bandwidth` of `{}`, {}, but the link has {}: the guarantees may exceed it",
                    port.name,
                    megabits(bandwidth),
                    megabits(rate)
                ),
                "correct `bandwidth`, or --rate",
            );
        }
        return Some(made(rate, "by --rate".to_owned()));
    }
    if let Some(rate) = port.rate {
        if port.bandwidth.is_some_and(|bandwidth| bandwidth < rate) && shaped.is_none() && has_queues(port, config) {
            report.warning(
                port.at,
                format!(
                    "`bandwidth` does not limit `{}`, which sends at {}: its queues fill only above that rate, and a slower link \
                     behind it drops packets of all classes alike",
                    port.name,
                    megabits(rate)
                ),
                "shape class-default to the rate of that link, with this policy as inner policy; or state the link's rate with --rate",
            );
        }
        return Some(made(rate, "by the type of interface".to_owned()));
    }
    if let Some(bandwidth) = port.bandwidth {
        let message = format!(
            "the link of `{}` is assumed to have the rate of its `bandwidth`, {}",
            port.name,
            megabits(bandwidth)
        );
        report.assumed(port.at, message, "state the link's rate with --rate if it differs");
        return Some(made(bandwidth, "from its `bandwidth`".to_owned()));
    }
    // POS: a SONET link has at least a hundred times the rate of a T1 (OC-3), and its name does not state it.
    let sonet = port.name.to_ascii_lowercase().starts_with("pos");
    if port.medium == Medium::Serial && !sonet {
        report.assumed(
            port.at,
            format!("the link of `{}` is assumed to be a T1 of 1.544 Mbit/s, the default of IOS", port.name),
            "state the link's rate with --rate",
        );
        return Some(made(T1, "as a T1".to_owned()));
    }
    if let Some(shaped) = shaped {
        let rate = shaped.saturating_mul(LINK_PER_SHAPER);
        let message = format!(
            "the rate of `{}` is not stated: {} is assumed, {LINK_PER_SHAPER} times the rate of its shaper",
            port.name,
            megabits(rate)
        );
        report.assumed(port.at, message, "state the link's rate with --rate");
        return Some(made(rate, format!("{LINK_PER_SHAPER} times its shaper")));
    }
    report.error(
        port.at,
        format!("the rate of `{}` is not known", port.name),
        "state it with --rate, such as --rate 10Mbit/s: neither the interface's name nor a shaper of all its packets \
         determines it",
    );
    None
}

fn assumed_overhead(port: &Port, report: &mut Report) -> Overhead {
    let overhead = Overhead::of(port);
    let advice = "state it with --overhead ethernet, dot1q, mpls, ppp, pppoe, atm, atm-vc, or a number of bytes";
    let message = match port.medium {
        Medium::Unknown => format!(
            "the configuration does not state the link layer of `{}`: packets are counted from layer 3, without a link-layer header",
            port.name
        ),
        Medium::Tunnel => format!("packets of `{}` are counted without the headers that the tunnel adds", port.name),
        Medium::Atm => format!(
            "each packet of `{}` is counted with {} B more ({}), as the queueing of IOS counts it; the link carries it in whole \
             cells, whose padding and headers count in no rate of the policy",
            port.name, overhead.counted, overhead.name
        ),
        _ => format!("each packet of `{}` is counted with {} B more ({})", port.name, overhead.counted, overhead.name),
    };
    report.assumed(port.at, message, advice);
    overhead
}

/// Returns the rate in bit/s of the shaper of all packets of a port; `None`: it has none, or some packets bypass it.
pub(super) fn shaped(root: &Class, config: &Config) -> Option<u64> {
    let own = |class: &Class| class.shape.and_then(|shape| shape.bps(0)).filter(|rate| *rate > 0);
    if let Some(rate) = own(root) {
        return Some(rate);
    }
    let Queue::Policy(name) = &root.queue else { return None };
    let policy = config.policy(name)?;
    match policy.scheduler {
        Scheduler::Htb => one_top_class(policy),
        // No packet bypasses a policy with only the default class.
        Scheduler::ClassBased => match policy.classes.as_slice() {
            [only] if Some(&only.name) == policy.default.as_ref() => own(only),
            _ => None,
        },
        Scheduler::Hfsc => upper_limit(policy),
        Scheduler::Priority | Scheduler::Drr | Scheduler::Ets => None,
    }
}

/// Returns the upper limit in bit/s of the only top class of HFSC; `None`: there is none, or, without a default class,
/// packets may bypass it. Guarantees may exceed it.
fn upper_limit(policy: &Policy) -> Option<u64> {
    let _ = policy.default.as_ref()?;
    let mut top = policy.classes.iter().filter(|class| class.parent.is_none());
    let (Some(only), None) = (top.next(), top.next()) else { return None };
    only.hfsc.and_then(|hfsc| hfsc.ul).map(|curve| curve.m2).filter(|rate| *rate > 0)
}

/// Returns the ceiling in bit/s of the only top class of HTB; `None`: there are several, or, without a default class,
/// packets may bypass it.
fn one_top_class(policy: &Policy) -> Option<u64> {
    let _ = policy.default.as_ref()?;
    let mut top = policy.classes.iter().filter(|class| class.parent.is_none());
    let (Some(only), None) = (top.next(), top.next()) else { return None };
    only.htb.map(|htb| htb.ceil.unwrap_or(htb.rate).max(htb.rate)).filter(|rate| *rate > 0)
}

/// `true` if a class of the port's policy has a guarantee, priority or WRED.
fn has_queues(port: &Port, config: &Config) -> bool {
    let Queue::Policy(name) = &port.root.queue else { return false };
    config.policy(name).is_some_and(|policy| {
        policy.classes.iter().any(|class| class.bandwidth.is_some() || class.priority.is_some() || class.wred.is_some())
    })
}

/// Formats a rate in bit/s as Gbit/s if it is a multiple of 0.1 Gbit/s from 1 Gbit/s up, else as Mbit/s.
fn megabits(rate: u64) -> String {
    if rate >= 1_000_000_000 && rate.is_multiple_of(100_000_000) {
        format!("{} Gbit/s", rate as f64 / 1e9)
    } else {
        format!("{} Mbit/s", rate as f64 / 1e6)
    }
}
