//! The macro `kinds!`: decoding, errors with their paths, checks, and the schema.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tailback_document::{Checked, DecodeError, Invalid, Problem, decode, kinds};
use tailback_units::{Rate, Size};

/// Sends at even intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cbr {
    /// Payload rate.
    pub rate: Rate,
    /// Payload of each packet, at least 1 B.
    #[serde(default = "default_packet_size")]
    pub packet_size: Size,
}
fn default_packet_size() -> Size {
    Size(1500)
}
impl Cbr {
    fn check(&self) -> Result<(), Invalid> {
        if self.packet_size.0 == 0 { Err(Invalid::new("packet-size", "a packet has at least 1 B")) } else { Ok(()) }
    }
}

/// Sends nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Silent {}
#[expect(clippy::unnecessary_wraps, clippy::unused_self, reason = "every kind has a check")]
impl Silent {
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// Several sources in one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Both {
    /// Models of the sources that are combined.
    pub parts: Vec<Model>,
}
impl Both {
    fn check(&self) -> Result<(), Invalid> {
        for (i, part) in self.parts.iter().enumerate() {
            part.check().map_err(|e| e.within(&format!("parts[{i}]")))?;
        }
        Ok(())
    }
}

kinds! {
    /// Traffic of a source.
    pub enum Model {
        "cbr" => Cbr(Cbr),
        "silent" => Silent(Silent),
        "both" => Both(Both),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[expect(dead_code, reason = "only errors are looked at")]
    flows: Vec<Flow>,
}
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Flow {
    #[expect(dead_code, reason = "only errors are looked at")]
    source: Model,
}

/// Returns the error of a document whose first flow has this source.
fn error(source: Value) -> DecodeError {
    decode::<Document>(json!({ "flows": [{ "source": source }] })).unwrap_err()
}

#[test]
fn a_kind_is_decoded_and_serialised_with_its_parameters() {
    let model: Model = decode(json!({ "kind": "cbr", "rate": "3Mbit/s" })).unwrap();
    assert_eq!(model, Model::Cbr(Cbr { rate: Rate::mbit(3), packet_size: Size(1500) }));
    assert_eq!(model.kind(), "cbr");
    assert_eq!(
        serde_json::to_value(&model).unwrap(),
        json!({ "kind": "cbr", "packet-size": "1500B", "rate": "3Mbit/s" })
    );
    assert_eq!(decode::<Model>(json!({ "kind": "silent" })).unwrap(), Model::Silent(Silent {}));
    assert_eq!(Model::NAMES, ["cbr", "silent", "both"]);
}

#[test]
fn errors_of_kinds_and_inside_them_have_the_path_from_the_document_root() {
    // An empty message or help is contained in any.
    for (source, path, message, help) in [
        (json!({ "kind": "cbr", "rate": 3 }), "flows[0].source.rate", "`3` has no unit", ""),
        (
            json!({ "kind": "cbr", "rte": "3Mbit/s" }),
            "flows[0].source.rte",
            "unknown key `rte`",
            "did you mean `rate`?",
        ),
        (json!({ "kind": "silent", "rate": "3Mbit/s" }), "flows[0].source.rate", "unknown key `rate`", "remove it"),
        (json!({ "kind": "cbr" }), "flows[0].source", "`rate` is missing", ""),
        (
            json!({ "kind": "crb" }),
            "flows[0].source.kind",
            "unknown kind `crb`",
            "did you mean `cbr`? the kinds are `cbr`, `silent` and `both`",
        ),
        (json!({ "kind": "video" }), "flows[0].source.kind", "unknown kind `video`", "the kinds are"),
        (json!({ "kind": 3 }), "flows[0].source.kind", "found 3", "the kinds are"),
        (
            json!({ "rate": "3Mbit/s" }),
            "flows[0].source",
            "`kind` is missing",
            "the kinds are `cbr`, `silent` and `both`",
        ),
        (json!("cbr"), "flows[0].source", "found the text \"cbr\"", "write { kind = \"cbr\" }"),
        (json!(7), "flows[0].source", "found 7", "the kinds are"),
        (
            json!({ "kind": "both", "parts": [{ "kind": "silent" }, { "kind": "cbr", "rate": "3mb" }] }),
            "flows[0].source.parts[1].rate",
            "did you mean Mbit/s?",
            "",
        ),
    ] {
        let e = error(source.clone());
        assert_eq!(e.path.to_string(), path, "{source}");
        assert!(e.message.contains(message), "{source}: {e}");
        assert!(e.help.as_deref().unwrap_or("").contains(help), "{source}: {e}");
    }
}

#[test]
fn a_missing_or_unknown_key_is_distinguished_from_a_wrong_value() {
    assert_eq!(error(json!({ "kind": "cbr" })).problem, Problem::MissingKey("rate".into()));
    assert_eq!(error(json!({})).problem, Problem::MissingKey("kind".into()));
    assert_eq!(error(json!({ "kind": "silent", "x": 1 })).problem, Problem::UnknownKey);
    assert_eq!(error(json!({ "kind": "cbr", "rate": 3 })).problem, Problem::Value);
    let e = decode::<Document>(json!({ "flows": [{ "sources": 1 }] })).unwrap_err();
    assert_eq!((e.path.to_string().as_str(), e.problem), ("flows[0].sources", Problem::UnknownKey));
    // A key of the same name one level up must not hide the error.
    let e = error(json!({ "kind": "silent", "source": 1 }));
    assert_eq!((e.path.to_string().as_str(), e.problem), ("flows[0].source.source", Problem::UnknownKey));
    let e = decode::<Document>(json!({ "flows": 3 })).unwrap_err();
    assert_eq!((e.path.to_string().as_str(), e.message.as_str()), ("flows", "expected a list, found `3`"));
}

#[test]
fn a_check_is_reached_through_the_enum() {
    let cbr = Model::Cbr(Cbr { rate: Rate::mbit(3), packet_size: Size(0) });
    assert_eq!(cbr.check().unwrap_err().path, "packet-size");
    assert_eq!(Model::Both(Both { parts: vec![cbr] }).check().unwrap_err().path, "parts[0].packet-size");
}

#[test]
fn the_schema_lists_the_kinds_with_their_parameters() {
    let schema = schemars::schema_for!(Model).to_value();
    assert_eq!(schema["description"], "Traffic of a source.");
    let kinds = schema["oneOf"].as_array().unwrap();
    assert_eq!(kinds.len(), 3);
    assert_eq!(kinds[0]["properties"]["kind"]["const"], "cbr");
    assert_eq!(kinds[0]["required"], json!(["kind", "rate"]));
    assert_eq!(kinds[0]["additionalProperties"], json!(false));
    assert_eq!(kinds[0]["description"], "Sends at even intervals.");
    assert_eq!(kinds[0]["properties"]["rate"]["description"], "Payload rate.");
    assert_eq!(kinds[0]["properties"]["packet-size"]["default"], "1500B");
    assert_eq!(kinds[1]["required"], json!(["kind"]));
}
