//! Conditions on packets (matches), as documents write them.

use super::OneOrMany;
use crate::Packet;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use tailback_diffserv::{Colour, Dscp};
use tailback_document::{DecodeError, Invalid, Path, decode};

/// Condition on packets: the name of a class map, a list of matches of which at least one must hold,
/// or a table of conditions that must all hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Match {
    /// The class map of this name holds.
    Named(String),
    /// At least one of these matches holds.
    Any(Vec<Match>),
    /// All of these conditions hold.
    All(Box<Conditions>),
}

/// Conditions that must all hold. A condition with a list of values holds if one of them matches; an omitted condition
/// holds for every packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conditions {
    /// Code points: names such as "ef" and "af31", or 0 to 63 (RFC 2474).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<OneOrMany<Dscp>>,
    /// IP precedence, the upper three bits of the code point, 0 to 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precedence: Option<OneOrMany<u8>>,
    /// Traffic class field of the topmost MPLS label (EXP), 0 to 7; without such a label,
    /// the IP precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp: Option<OneOrMany<u8>>,
    /// Priority class, 0 (highest) to 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<OneOrMany<u8>>,
    /// Colour that a meter has assigned: "green", "yellow" or "red".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<OneOrMany<Colour>>,
    /// Groups of flows, by name or pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<OneOrMany<String>>,
    /// Flows by number, 0 to 2^22 − 1. Groups in `flows` are replaced by such numbers when the scenario is built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow: Option<OneOrMany<u32>>,
    /// At least one of these matches holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<Vec<Match>>,
    /// All of these matches hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<Vec<Match>>,
    /// This match does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<Match>,
}

/// Upper bound on the nesting of matches.
const MAX_DEPTH: u32 = 32;

impl Match {
    /// Returns a match of every packet.
    pub fn every() -> Match {
        Match::All(Box::default())
    }
    /// Refuses numbers out of range, empty lists except `flow`, and nesting of 32 levels or more.
    ///
    /// # Errors
    /// If the match is refused: the error names the condition and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        self.check_to(MAX_DEPTH)
    }

    fn check_to(&self, depth: u32) -> Result<(), Invalid> {
        if depth == 0 {
            return Err(Invalid::new("", format!("matches are nested more than {MAX_DEPTH} deep; flatten them")));
        }
        let list = |name: &str, list: &[Match]| {
            if list.is_empty() {
                return Err(Invalid::new(name, "an empty list matches nothing; name what to match"));
            }
            list.iter().enumerate().try_for_each(|(i, one)| {
                one.check_to(depth - 1).map_err(|e| Invalid::new(format!("{name}[{i}]{}", dotted(&e.path)), e.message))
            })
        };
        let conditions = match self {
            Match::Named(name) if name.is_empty() => {
                return Err(Invalid::new("", "the name is empty; write the name of a class map"));
            }
            Match::Named(_) => return Ok(()),
            Match::Any(any) => return list("", any),
            Match::All(conditions) => conditions,
        };
        for (name, numbers) in
            [("precedence", &conditions.precedence), ("exp", &conditions.exp), ("class", &conditions.class)]
        {
            if let Some(number) = numbers.iter().flat_map(|list| &list.0).find(|number| **number > 7) {
                return Err(Invalid::new(name, format!("{number} is out of range; write 0 to 7")));
            }
        }
        if let Some(flow) = conditions.flow.iter().flat_map(|list| &list.0).find(|flow| **flow >= Packet::MAX_FLOWS) {
            return Err(Invalid::new("flow", format!("{flow} is out of range; write a number below 2^22")));
        }
        for (name, empty) in [
            ("dscp", conditions.dscp.as_ref().is_some_and(|list| list.0.is_empty())),
            ("precedence", conditions.precedence.as_ref().is_some_and(|list| list.0.is_empty())),
            ("exp", conditions.exp.as_ref().is_some_and(|list| list.0.is_empty())),
            ("class", conditions.class.as_ref().is_some_and(|list| list.0.is_empty())),
            ("colour", conditions.colour.as_ref().is_some_and(|list| list.0.is_empty())),
            ("flows", conditions.flows.as_ref().is_some_and(|list| list.0.is_empty())),
        ] {
            if empty {
                return Err(Invalid::new(name, "an empty list matches nothing; name what to match"));
            }
        }
        conditions.any.iter().try_for_each(|any| list("any", any))?;
        conditions.all.iter().try_for_each(|all| list("all", all))?;
        conditions.not.iter().try_for_each(|not| not.check_to(depth - 1).map_err(|e| e.within("not")))
    }

    /// Returns this match with names replaced: class maps by their matches, flow groups by the numbers of their flows,
    /// ascending.
    ///
    /// # Errors
    /// If `resolve` does not know a name (the error is that of `resolve`), or a class map contains itself.
    pub fn resolved(&self, resolve: &dyn Resolve) -> Result<Match, Invalid> {
        self.resolved_within(resolve, &mut Vec::new())
    }

    fn resolved_within(&self, resolve: &dyn Resolve, open: &mut Vec<String>) -> Result<Match, Invalid> {
        let list = |list: &[Match], open: &mut Vec<String>| {
            list.iter().map(|one| one.resolved_within(resolve, open)).collect::<Result<Vec<Match>, Invalid>>()
        };
        Ok(match self {
            Match::Named(name) => {
                if open.contains(name) {
                    return Err(Invalid::new(
                        "",
                        format!("the class map `{name}` contains itself; remove one of these references"),
                    ));
                }
                let map = resolve.class_map(name)?;
                open.push(name.clone());
                let found = map.resolved_within(resolve, open);
                open.pop();
                found?
            }
            Match::Any(any) => Match::Any(list(any, open)?),
            Match::All(conditions) => {
                let mut conditions = (**conditions).clone();
                if let Some(groups) = conditions.flows.take() {
                    let mut flows = Vec::new();
                    for group in &groups.0 {
                        flows.extend(resolve.flows(group)?);
                    }
                    // If the match also names flows by number, both conditions must hold.
                    flows.retain(|flow| conditions.flow.as_ref().is_none_or(|given| given.0.contains(flow)));
                    flows.sort_unstable();
                    flows.dedup();
                    conditions.flow = Some(OneOrMany(flows));
                }
                conditions.any = conditions.any.map(|any| list(&any, open)).transpose()?;
                conditions.all = conditions.all.map(|all| list(&all, open)).transpose()?;
                conditions.not = conditions.not.map(|not| not.resolved_within(resolve, open)).transpose()?;
                Match::All(Box::new(conditions))
            }
        })
    }

    /// Returns `true` if a packet with these fields matches; `among` returns `true` if the packet's flow is in a
    /// list. Panics if the match contains a name.
    pub(super) fn holds(&self, fields: &Fields, among: &dyn Fn(&[u32]) -> bool) -> bool {
        fn omitted_or_any<T>(list: Option<&OneOrMany<T>>, fits: impl Fn(&T) -> bool) -> bool {
            list.is_none_or(|list| list.0.iter().any(fits))
        }
        let conditions = match self {
            Match::Named(name) => unreachable!("the class map `{name}` was resolved when the scenario was built"),
            Match::Any(any) => return any.iter().any(|one| one.holds(fields, among)),
            Match::All(conditions) => conditions,
        };
        assert!(conditions.flows.is_none(), "groups of flows were resolved when the scenario was built");
        omitted_or_any(conditions.dscp.as_ref(), |dscp| dscp.codepoint() == fields.dscp)
            && omitted_or_any(conditions.precedence.as_ref(), |precedence| *precedence == fields.dscp >> 3)
            && omitted_or_any(conditions.exp.as_ref(), |exp| *exp == fields.exp)
            && omitted_or_any(conditions.class.as_ref(), |class| *class == fields.class)
            && omitted_or_any(conditions.colour.as_ref(), |colour| *colour as u8 == fields.colour)
            && conditions.flow.as_ref().is_none_or(|flows| among(&flows.0))
            && conditions.any.as_ref().is_none_or(|any| any.iter().any(|m| m.holds(fields, among)))
            && conditions.all.as_ref().is_none_or(|all| all.iter().all(|m| m.holds(fields, among)))
            && conditions.not.as_ref().is_none_or(|not| !not.holds(fields, among))
    }

    /// Returns `true` if a condition reads the traffic class of labels.
    pub(super) fn reads_labels(&self) -> bool {
        match self {
            Match::Named(_) => false,
            Match::Any(any) => any.iter().any(Match::reads_labels),
            Match::All(conditions) => {
                conditions.exp.is_some()
                    || conditions
                        .any
                        .iter()
                        .chain(&conditions.all)
                        .flatten()
                        .chain(&conditions.not)
                        .any(Match::reads_labels)
            }
        }
    }

    /// Returns `true` if a condition reads the code point or the label's traffic class. The name of a class map gives
    /// `false`: call this on a resolved match.
    pub fn reads_code_point(&self) -> bool {
        match self {
            Match::Named(_) => false,
            Match::Any(any) => any.iter().any(Match::reads_code_point),
            Match::All(conditions) => {
                let own = conditions.dscp.is_some() || conditions.precedence.is_some() || conditions.exp.is_some();
                own || conditions
                    .any
                    .iter()
                    .chain(&conditions.all)
                    .flatten()
                    .chain(&conditions.not)
                    .any(Match::reads_code_point)
            }
        }
    }

    /// Passes every list of flow numbers in this match to `f`.
    pub(super) fn each_flows<'a>(&'a self, f: &mut dyn FnMut(&'a [u32])) {
        match self {
            Match::Named(_) => (),
            Match::Any(any) => any.iter().for_each(|one| one.each_flows(f)),
            Match::All(conditions) => {
                if let Some(flows) = &conditions.flow {
                    f(&flows.0);
                }
                let nested = conditions.any.iter().chain(&conditions.all).flatten().chain(&conditions.not);
                nested.for_each(|one| one.each_flows(f));
            }
        }
    }
}

/// Resolves names of class maps and flow groups that a document defines elsewhere.
pub trait Resolve {
    /// Returns the class map of a name.
    ///
    /// # Errors
    /// If there is no class map of that name; the error lists the known names.
    fn class_map(&self, name: &str) -> Result<Match, Invalid>;
    /// Returns the numbers of the flows in the groups that a name or pattern matches.
    ///
    /// # Errors
    /// If no group matches.
    fn flows(&self, group: &str) -> Result<Vec<u32>, Invalid>;
}

/// Packet fields that conditions test, except the flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub dscp: u8,
    pub exp: u8,
    pub class: u8,
    pub colour: u8,
}

/// Returns `path` in the form that is appended to the path of a list's entry: with a dot in front if it begins with a
/// key.
fn dotted(path: &str) -> String {
    if path.is_empty() || path.starts_with('[') { path.to_owned() } else { format!(".{path}") }
}

impl Serialize for Match {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Match::Named(name) => name.serialize(s),
            Match::Any(any) => any.serialize(s),
            Match::All(conditions) => conditions.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for Match {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::String(name) => Ok(Match::Named(name)),
            list @ Value::Array(_) => decode(list).map(Match::Any),
            table @ Value::Object(_) => decode(table).map(|conditions| Match::All(Box::new(conditions))),
            other => {
                let help = "write { dscp = \"ef\" }, the name of a class map, or a list of matches".to_owned();
                Err(DecodeError::value(Path::root(), format!("{other} is not a match"), Some(help)))
            }
        }
        .map_err(DecodeError::carry)
    }
}

impl JsonSchema for Match {
    fn schema_name() -> Cow<'static, str> {
        "Match".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Conditions>();
        let again = generator.subschema_for::<Match>();
        json_schema!({
            "anyOf": [
                { "type": "string", "description": "Name of a class map." },
                { "type": "array", "items": again, "minItems": 1, "description": "At least one of these matches holds." },
                table,
            ],
            "format": "name of a class map, a table of conditions, or a list of which at least one holds",
            "examples": [{ "dscp": "ef" }],
        })
    }
}
