//! Weighted random early detection, fair queues and queue limits with the defaults of the platform, which are reported.

use super::Row;
use super::conditions::dscp;
use super::state::Lower;
use crate::ir::{By, Class, Fair, Limit, Platform, Profile, Unit, Wred};
use crate::mqc::Depth;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// `true` if a DSCP has a name: default, class selectors, assured forwarding, expedited forwarding.
fn named(code: u8) -> bool {
    !dscp(code).starts_with(|first: char| first.is_ascii_digit())
}

impl Lower<'_> {
    /// Returns the default queue limit of a class; `rate` is that of the class in bit/s.
    pub(super) fn default_limit(&mut self, class: &Class, rate: u64) -> Limit {
        let (depth, source) = self.platform.depth(class.priority.is_some());
        let (limit, text) = match depth {
            Depth::Packets(n) => (Limit::Packets(n), format!("{n} packets")),
            Depth::Time { ms, packet, least } => {
                let bytes = u64::try_from(u128::from(rate) * u128::from(ms) / 8_000).unwrap_or(u64::MAX);
                match bytes.checked_div(packet) {
                    Some(packets) => (
                        Limit::Packets(packets.max(least)),
                        format!("{ms} ms at its rate in packets of {packet} B, at least {least} packets"),
                    ),
                    None => (Limit::Bytes(bytes.max(1)), format!("{ms} ms at its rate")),
                }
            }
        };
        let kind = if class.priority.is_some() { "a priority class" } else { "a class" };
        let _ = self.defaults.insert(format!("{kind} without queue-limit holds {text} ({source})"));
        limit
    }

    /// Returns the rows of the class; all rows of the traffic table if it has none.
    fn rows_of(&self, class: &Class) -> Vec<&Row> {
        let own = self.members.iter().filter(|own| own.class.rsplit('/').next() == Some(class.name.as_str()));
        let groups: BTreeSet<&str> = own.flat_map(|own| &own.groups).map(String::as_str).collect();
        let rows = self.conditions.traffic.rows.iter();
        rows.filter(|row| groups.is_empty() || groups.contains(row.name.as_str())).collect()
    }

    /// Returns the mean packet size in bytes of the class's rows, each counted once.
    fn mean_packet(&self, class: &Class) -> u64 {
        let rows = self.rows_of(class);
        let sum: u64 = rows.iter().map(|row| row.packet).sum();
        sum.checked_div(u64::try_from(rows.len()).unwrap_or(1)).unwrap_or(1500).max(1)
    }

    /// Returns the queue limit in packets; other units are converted with the mean packet size of the class.
    fn limit_packets(&mut self, class: &Class, rate: u64) -> u64 {
        let limit = class.limit.unwrap_or_else(|| self.default_limit(class, rate));
        let packet = self.mean_packet(class);
        match limit {
            Limit::Packets(n) => n,
            Limit::Bytes(n) => n / packet,
            Limit::Microseconds(us) => bytes_in(rate, us) / packet,
            Limit::Percent(_) => 64,
        }
        .max(1)
    }

    /// Returns the discipline of a class with random-detect; `rate` is that of the class in bit/s.
    pub(super) fn wred_discipline(&mut self, class: &Class, wred: &Wred, rate: u64) -> Value {
        let mut profiles = Map::new();
        let sent: BTreeSet<u8> = self
            .rows_of(class)
            .iter()
            .map(|row| if wred.by == By::Dscp { row.header.dscp } else { row.header.dscp >> 3 })
            .collect();
        let codes: Vec<u8> = match wred.by {
            By::Precedence => (0..8).collect(),
            By::Dscp => (0..64).collect(),
        };
        for code in codes {
            let given = wred.profiles.iter().find(|profile| profile.code == Some(code)).copied();
            let key = if wred.by == By::Dscp { dscp(code) } else { code.to_string() };
            let profile = match given {
                Some(profile) => self.in_packets(profile, class, rate),
                // DSCPs without a name get a profile only if a row has them; all others always do, so that the scenario
                // does not depend on the rows.
                None if wred.by == By::Dscp && !named(code) && !sent.contains(&code) => continue,
                None => self.default_profile(wred.by, code),
            };
            let mut one = json!({ "min": profile.min, "max": profile.max });
            if let Some(denominator) = profile.denominator {
                one["denominator"] = json!(denominator);
            }
            let _ = profiles.insert(key, one);
        }
        let by = if wred.by == By::Dscp { "dscp" } else { "precedence" };
        let mut made = json!({ "kind": "wred", "by": by });
        if wred.exponent == Some(0) {
            self.report.unsupported(
                class.at,
                format!("class `{}`: the exponent 0, which means the instantaneous queue length, is not simulated: 1 is used", class.name),
                None,
            );
        }
        if let Some(exponent) = wred.exponent {
            made["exponent"] = json!(exponent.clamp(1, 16));
        }
        if !profiles.is_empty() {
            made["profiles"] = Value::Object(profiles);
        }
        if wred.ecn {
            made["ecn"] = json!(true);
        }
        if wred.by == By::Precedence && self.labels_differ(class) {
            self.report.unsupported(
                class.at,
                format!("class `{}`: profiles by the MPLS traffic class are not simulated where it differs from the precedence", class.name),
                Some("here random-detect uses the precedence"),
            );
        }
        made
    }

    /// Returns WRED in front of the queues of flows.
    pub(super) fn fair_queue_wred(&mut self, class: &Class, wred: &Wred, fair: Fair, rate: u64) -> Value {
        let bare = |mut made: Value| {
            let _ = made.as_object_mut().map(|table| table.remove("kind"));
            made
        };
        let early = bare(self.wred_discipline(class, wred, rate));
        let queues = bare(self.class_fair_queue(class, fair, rate));
        self.report.assumed(
            class.at,
            format!(
                "class `{}`: random-detect with fair-queue is assumed to use the average queue length of the whole class, before \
                 the limit of each flow: no public source was found on how routers combine the two",
                class.name
            ),
            "leave out one of the two to avoid the assumption",
        );
        json!({ "kind": "fair-queue-wred", "wred": early, "fair-queue": queues })
    }

    /// Returns a FIFO with limits by code point: a packet is dropped if the whole queue exceeds the limit of its code
    /// (weighted tail drop: Cisco ME 2400 and Catalyst command references, `queue-limit`).
    pub(super) fn weighted_tail_drop(&mut self, class: &Class, rate: u64) -> Value {
        // If there are limits by DSCP as well, one by precedence applies to its eight DSCPs.
        let by_code = class.code_limits.iter().any(|own| own.by == By::Dscp);
        let mut limits = Map::new();
        for own in &class.code_limits {
            let limit = self.code_limit(class, own.limit, rate);
            match (own.by, by_code) {
                (By::Precedence, false) => {
                    let _ = limits.insert(own.code.to_string(), json!(limit));
                }
                (By::Precedence, true) => {
                    for code in (0..8).map(|low| own.code << 3 | low) {
                        let _ = limits.entry(dscp(code)).or_insert_with(|| json!(limit));
                    }
                }
                (By::Dscp, _) => {
                    let _ = limits.insert(dscp(own.code), json!(limit));
                }
            }
        }
        json!({ "kind": "weighted-tail-drop", "by": if by_code { "dscp" } else { "precedence" }, "limits": limits })
    }

    fn code_limit(&mut self, class: &Class, limit: Limit, rate: u64) -> String {
        let whole = |lower: &mut Self| match class.limit {
            Some(Limit::Percent(_)) | None => lower.default_limit(class, rate),
            Some(limit) => limit,
        };
        let part = |n: u64, percent: u32| (n.saturating_mul(u64::from(percent)) / 100).max(1);
        let found = match limit {
            Limit::Percent(percent) => match whole(self) {
                Limit::Packets(n) => Limit::Packets(part(n, percent)),
                Limit::Bytes(n) => Limit::Bytes(part(n, percent)),
                Limit::Microseconds(us) => Limit::Bytes(part(bytes_in(rate, us), percent)),
                other @ Limit::Percent(_) => other,
            },
            Limit::Microseconds(us) => Limit::Bytes(bytes_in(rate, us)),
            other => other,
        };
        match (found, self.platform.bytes_of_packet()) {
            (Limit::Packets(n), Some(bytes)) => format!("{}B", n.saturating_mul(bytes).max(self.largest)),
            (Limit::Packets(n), None) => super::table::packets(n.max(1)),
            (Limit::Bytes(n), _) => format!("{}B", n.max(self.largest)),
            (other, _) => format!("{other:?}"),
        }
    }

    /// `true` if a row of the class has an MPLS traffic class other than its precedence.
    fn labels_differ(&self, class: &Class) -> bool {
        let differs = |row: &&Row| row.header.experimental.is_some_and(|exp| exp != row.header.dscp >> 3);
        self.rows_of(class).iter().any(differs)
    }

    fn default_profile(&mut self, by: By, code: u8) -> Profile {
        let (min, max, unit, source) = self.platform.thresholds(by, code);
        let kind = if by == By::Dscp { "code point" } else { "precedence" };
        let _ = self.defaults.insert(format!("random-detect uses default thresholds by {kind} ({source})"));
        Profile { code: Some(code), min, max, unit, denominator: None }
    }

    /// Returns a profile with thresholds in packets, the unit of the discipline; conversions are reported.
    fn in_packets(&mut self, profile: Profile, class: &Class, rate: u64) -> Profile {
        const MAX_THRESHOLD: u64 = 4096;
        let (min, max) = (u64::from(profile.min), u64::from(profile.max));
        let packet = self.mean_packet(class);
        let (min, max) = match profile.unit {
            Unit::Packets => (min, max),
            Unit::Bytes => (min / packet, max / packet),
            Unit::Microseconds => (bytes_in(rate, min) / packet, bytes_in(rate, max) / packet),
            Unit::Percent => {
                let limit = self.limit_packets(class, rate);
                (limit.saturating_mul(min) / 100, limit.saturating_mul(max) / 100)
            }
        };
        if profile.unit != Unit::Packets {
            let name = &class.name;
            let text =
                format!("class `{name}`: thresholds are converted to packets of {packet} B, the mean of its rows");
            let _ = self.defaults.insert(text);
        }
        let small = |n: u64| u32::try_from(n.clamp(1, MAX_THRESHOLD)).unwrap_or(1);
        if max > MAX_THRESHOLD {
            let message = format!(
                "class `{}`: a threshold of {max} packets exceeds the maximum and is taken as {MAX_THRESHOLD}",
                class.name
            );
            self.report.unsupported(class.at, message, None);
        }
        Profile { min: small(min), max: small(max.max(min)), unit: Unit::Packets, ..profile }
    }

    /// Returns a fair queue within a class: flows of equal weight, with the stated limit per flow or that of the
    /// platform.
    pub(super) fn class_fair_queue(&mut self, class: &Class, fair: Fair, rate: u64) -> Value {
        let mut made = json!({ "kind": "fair-queue", "weights": "equal" });
        let threshold = if let Some(n) = fair.threshold {
            u64::from(n)
        } else {
            let limit = self.limit_packets(class, rate);
            let (packets, source) = self.platform.per_flow(limit);
            let _ = self
                .defaults
                .insert(format!("each flow of a fair queue within a class is limited to {packets} packets ({source})"));
            packets
        };
        made["threshold"] = json!(super::table::packets(threshold.max(1)));
        if let Some(queues) = fair.queues {
            made["queues"] = json!(queues);
        }
        made
    }

    /// Reports all defaults that were used, and their platform, in one remark. `stated`: platform of the options;
    /// `evident`: platform that the text reveals.
    pub(super) fn report_defaults(&mut self, stated: Option<Platform>, evident: Option<Platform>) {
        let nowhere = crate::Place::default();
        let defaults = core::mem::take(&mut self.defaults);
        if defaults.is_empty() {
            return;
        }
        let platform = self.platform.title();
        let source = match (stated, evident) {
            (Some(_), _) => format!("defaults of {platform}, as stated"),
            (None, Some(_)) => format!("defaults of {platform}, whose syntax this is"),
            (None, None) => format!("defaults of {platform}, since the text does not reveal the platform"),
        };
        let list: Vec<String> = defaults.into_iter().collect();
        self.report.assumed(
            nowhere,
            format!("{source}: {}", list.join("; ")),
            "state the platform with --platform classic, hqf, xe, xr, nxos or arista, or write the values",
        );
    }
}

/// Returns the bytes that a rate in bit/s carries in `us` microseconds.
fn bytes_in(rate: u64, us: u64) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(us) / 8_000_000).unwrap_or(u64::MAX)
}
