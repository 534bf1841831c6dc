//! Parameters of weighted random early detection.

use crate::retune::{Fixed, fixed};
use crate::signals::{Length, Signals, Threshold};
use crate::{Packet, Site, check};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tailback_diffserv::Dscp;
use tailback_document::{Invalid, listed};
use tailback_units::Size;

/// Weighted random early detection as in Cisco IOS: a moving average of the queue in packets (of
/// the whole queue, or per profile, see `average`), and for each code point, precedence or colour a
/// profile that turns the average into a drop probability: 0 below `min`; between
/// `min` and `max` it rises linearly to 1 / `denominator`; from `max` on it is 1. The limit of the queue is that of its
/// class, or of its port if it is in no class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    /// Packet field that selects the profile: "precedence", "dscp" or "colour". Default "precedence".
    #[serde(default)]
    #[schemars(extend("x-fixed" = PROFILES_FIXED))]
    pub by: By,
    /// Exponent n of the average's weight 2^-n, 1 to 16. Default 9.
    #[serde(default = "nine")]
    #[schemars(range(min = 1, max = 16))]
    pub exponent: u8,
    /// Profiles; the keys are precedences "0" to "7", code points (names such as "af31", or "0" to
    /// "63") or the colours "green", "yellow" and "red", as `by` says. Defaults of every profile:
    /// `max` 40 packets, `denominator` 10. Defaults of `min`, packets: by precedence 0 to 7: 20, 22,
    /// 24, 26, 28, 31, 33, 35; by code point: assured forwarding of drop precedence 1: 33, 2: 28, 3:
    /// 24, "ef" and "va": 36, others: 20 + 2 · precedence; by colour: green 33, yellow 28, red 24.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
    /// Profile of yellow and red packets, whatever their code point, so that packets beyond a
    /// reservation are dropped first. Defaults of its fields: `min` 20 packets, `max` 40 packets,
    /// `denominator` 10. Default: no such profile; the colour has no effect unless `by` is "colour".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonconforming: Option<Profile>,
    /// `true` if ECN-capable packets are marked where others are dropped early; from `max` they are
    /// dropped, too. Default false.
    #[serde(default)]
    pub ecn: bool,
    /// `true` if drops are spaced evenly as in RED: the probability is p / (1 − count·p), with
    /// count the packets of the profile since its last early drop or mark. Default false.
    #[serde(default)]
    pub spread: bool,
    /// Scope of the average: "queue", all waiting packets, or "profile", the waiting packets of each
    /// profile, as in Linux's generic RED (GRED). Default "queue".
    #[serde(default)]
    #[schemars(extend("x-fixed" = AVERAGE_FIXED))]
    pub average: Averaged,
    /// Mean packet size, which gives the number of packets by which an idle time ages the average,
    /// 1 B to 65535 B. Default 1500 B.
    #[serde(default = "full_packet")]
    pub mean_packet: Size,
}

/// Thresholds and slope of the drop probability. Omitted fields have the default of the profile's key (see
/// `profiles`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Profile {
    /// Average queue below which no packet is dropped, packets, 1 to `max`. Default: by the key of
    /// the profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4096))]
    pub min: Option<u32>,
    /// Average queue at or above which every packet is dropped, packets, `min` to 4096. Default 40.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4096))]
    pub max: Option<u32>,
    /// Mark probability denominator: just below `max` the drop probability is 1 / `denominator`, 1
    /// to 65536. Default 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65_536))]
    pub denominator: Option<u32>,
}

impl Profile {
    /// Returns a complete profile.
    pub const fn new(min: u32, max: u32, denominator: u32) -> Profile {
        Profile { min: Some(min), max: Some(max), denominator: Some(denominator) }
    }
    /// Returns this profile; its omitted fields are taken from `default`.
    #[must_use]
    pub fn or(self, default: Profile) -> Profile {
        Profile {
            min: self.min.or(default.min),
            max: self.max.or(default.max),
            denominator: self.denominator.or(default.denominator),
        }
    }
    /// Refuses numbers out of range, and a `max` below `min`; omitted fields are taken from `default`.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self, default: Profile) -> Result<(), Invalid> {
        const MAX_THRESHOLD: f64 = 4096.0;
        let Profile { min, max, denominator } = self.or(default);
        let (min, max) = (min.unwrap_or(1), max.unwrap_or(1));
        check::within("min", f64::from(min), 1.0, MAX_THRESHOLD)?;
        check::within("max", f64::from(max), 1.0, MAX_THRESHOLD)?;
        if max < min {
            return Err(Invalid::new("max", format!("{max} is below `min`, which is {min}; write {min} or more")));
        }
        check::within("denominator", f64::from(denominator.unwrap_or(1)), 1.0, 65_536.0)
    }
}

/// Packet field that selects a profile or limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// IP precedence, the upper three bits of the DSCP; on an MPLS link the traffic class (EXP) of
    /// the label.
    #[default]
    Precedence,
    /// Differentiated services code point (DSCP).
    Dscp,
    /// Colour that a meter has assigned; packets without one are green.
    Colour,
}

/// Scope of the average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Averaged {
    /// All waiting packets.
    #[default]
    Queue,
    /// The waiting packets of each profile.
    Profile,
}

fn nine() -> u8 {
    9
}
fn full_packet() -> Size {
    Size(1500)
}

impl Default for Params {
    fn default() -> Params {
        Params {
            by: By::default(),
            exponent: nine(),
            profiles: BTreeMap::new(),
            nonconforming: None,
            ecn: false,
            spread: false,
            average: Averaged::default(),
            mean_packet: full_packet(),
        }
    }
}

/// Returns the default profile with this `min`: `max` 40 packets, `denominator` 10.
const fn profile_from(min: u32) -> Profile {
    Profile::new(min, 40, 10)
}

impl By {
    /// Returns the number of values of the field.
    pub(crate) fn count(self) -> u8 {
        match self {
            By::Precedence => 8,
            By::Dscp => 64,
            By::Colour => 3,
        }
    }
    /// Returns the value of the field in a packet: the index of its profile or limit.
    #[inline]
    pub(crate) fn of(self, packet: &Packet) -> usize {
        match self {
            // On an MPLS link routers read the label's traffic class; without a label `exp` is the
            // precedence.
            By::Precedence => usize::from(packet.exp()),
            By::Dscp => usize::from(packet.dscp()),
            By::Colour => packet.colour() as usize,
        }
    }
    /// Returns the value of the field that a key names. `None`: the key is unknown.
    pub(crate) fn named(self, key: &str) -> Option<u8> {
        match self {
            By::Precedence => key.parse().ok().filter(|n| *n < 8),
            By::Dscp => key.parse().ok().map(Dscp::codepoint),
            By::Colour => ["green", "yellow", "red"].iter().position(|colour| *colour == key).map(|n| n as u8),
        }
    }
    /// Returns the default profile of a value of the field.
    fn default_of(self, value: u8) -> Profile {
        /// `min` by precedence, packets.
        const PRECEDENCES: [u32; 8] = [20, 22, 24, 26, 28, 31, 33, 35];
        /// `min` by drop precedence or colour, packets.
        const ASSURED: [u32; 3] = [33, 28, 24];
        match self {
            By::Precedence => profile_from(PRECEDENCES[usize::from(value)]),
            By::Colour => profile_from(ASSURED[usize::from(value)]),
            By::Dscp => match Dscp::new(value).and_then(Dscp::assured) {
                Some((_, drop_precedence)) => profile_from(ASSURED[usize::from(drop_precedence - 1)]),
                None if value == Dscp::EF.codepoint() || value == Dscp::VOICE_ADMIT.codepoint() => profile_from(36),
                None => profile_from(20 + 2 * u32::from(value >> 3)),
            },
        }
    }
    /// Returns a description of the permitted keys, for messages.
    pub(crate) fn keys(self) -> &'static str {
        match self {
            By::Precedence => "\"0\" to \"7\"",
            By::Dscp => "code points such as \"af31\", or \"0\" to \"63\"",
            By::Colour => "\"green\", \"yellow\" and \"red\"",
        }
    }
}

/// Default profile of nonconforming packets: `min` 20 packets, `max` 40 packets, `denominator` 10.
const NONCONFORMING: Profile = profile_from(20);

impl Params {
    /// Returns the complete profiles in ascending order of the field's values, then that of nonconforming packets if it
    /// is set.
    pub(crate) fn complete(&self) -> Vec<Profile> {
        let mut profiles: Vec<Profile> = (0..self.by.count()).map(|value| self.by.default_of(value)).collect();
        for (key, profile) in &self.profiles {
            if let Some(value) = self.by.named(key) {
                profiles[usize::from(value)] = profile.or(self.by.default_of(value));
            }
        }
        profiles.extend(self.nonconforming.map(|profile| profile.or(NONCONFORMING)));
        profiles
    }

    /// Returns the index of the profile of nonconforming packets. `None`: they have the profile of
    /// their field's value.
    pub(crate) fn nonconforming_index(&self) -> Option<usize> {
        self.nonconforming.map(|_| usize::from(self.by.count()))
    }
    /// Refuses unknown keys, two keys for the same packets, and numbers out of range.
    ///
    /// # Errors
    /// If a parameter is invalid; the error names the parameter and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        check::within("exponent", f64::from(self.exponent), 1.0, 16.0)?;
        check::packet("mean-packet", self.mean_packet)?;
        let mut named = BTreeMap::new();
        for (key, profile) in &self.profiles {
            let field = format!("profiles.{key}");
            let Some(value) = self.by.named(key) else {
                let by = serde_json::to_value(self.by).unwrap_or_default();
                let advice = format!("with `by = {by}` the keys are {}", self.by.keys());
                return Err(Invalid::new(field, format!("`{key}` is not a key; {advice}")));
            };
            if let Some(other_key) = named.insert(value, key) {
                let both = listed([other_key.as_str(), key]);
                return Err(Invalid::new(field, format!("{both} select the same packets; remove one")));
            }
            profile.check(self.by.default_of(value)).map_err(|e| e.within(&field))?;
        }
        self.nonconforming.map_or(Ok(()), |p| p.check(NONCONFORMING).map_err(|e| e.within("nonconforming")))
    }
}

/// Reason why the assignment of packets to profiles is fixed during a run.
const PROFILES_FIXED: &str = "it decides which profiles there are, and to which one a waiting packet belongs";

/// Reason why `average` is fixed during a run.
const AVERAGE_FIXED: &str = "it decides which averages there are";

impl Fixed for Params {
    fn check_retune(&self, to: &Params) -> Result<(), Invalid> {
        fixed("by", self.by, to.by, PROFILES_FIXED)?;
        fixed("nonconforming", self.nonconforming.is_some(), to.nonconforming.is_some(), PROFILES_FIXED)?;
        fixed("average", self.average, to.average, AVERAGE_FIXED)
    }
}

impl Signals for Params {
    fn marks(&self) -> bool {
        self.ecn
    }
    fn each_threshold(&self, site: &Site, f: &mut dyn FnMut(Threshold)) {
        let mut report = |path: String, packets: Option<u32>, derived: bool| {
            if let Some(packets) = packets {
                f(Threshold { path, derived, length: Length::Packets(f64::from(packets)), site: *site });
            }
        };
        let written = self.profiles.iter().map(|(name, profile)| (format!("profiles.{name}"), profile));
        for (path, profile) in written.chain(self.nonconforming.iter().map(|p| ("nonconforming".to_owned(), p))) {
            report(format!("{path}.min"), profile.min, false);
            report(format!("{path}.max"), profile.max, false);
        }
        if self.profiles.is_empty() {
            report("profiles".to_owned(), self.complete().iter().filter_map(|profile| profile.max).min(), true);
        }
    }
}
