//! Enums that a document selects by its `kind` key.

use crate::{DecodeError, Invalid, Path, Problem, listed, suggest};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde_json::{Map, Value, json};

/// Declares an enum of parameter structs; the `kind` key of a document selects one of them.
///
/// ```
/// # use tailback_document::{kinds, Invalid};
/// # use serde::{Serialize, Deserialize};
/// # use schemars::JsonSchema;
/// /// Sends at even intervals.
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
/// #[serde(deny_unknown_fields, rename_all = "kebab-case")]
/// pub struct Cbr {
///     /// Packets per second, above 0.
///     pub per_second: f64,
/// }
/// # impl Cbr { fn check(&self) -> Result<(), Invalid> { Ok(()) } }
/// kinds! {
///     /// Traffic of a source.
///     pub enum Model {
///         "cbr" => Cbr(Cbr),
///     }
/// }
/// let model: Model = tailback_document::decode(serde_json::json!({ "kind": "cbr", "per-second": 8.0 })).unwrap();
/// assert_eq!(model.kind(), "cbr");
/// ```
///
/// The enum is `Clone`, `Debug`, `PartialEq`, `Serialize`, `Deserialize` and `JsonSchema`, and has the following items:
/// - `NAMES: &[&str]`, all kinds in the order of declaration,
/// - `kind(&self) -> &'static str`, the name of the value's kind,
/// - [`Checked`], which calls the `check` of the parameter struct.
///
/// Each parameter struct (with braces even if it is empty) derives `Clone`, `Debug`, `PartialEq`, `Serialize`,
/// `Deserialize` and `JsonSchema`, denies unknown fields, and has a method `check`. Its doc comments become the
/// descriptions of the schema. A new kind is one such struct and one line in the call of the macro.
#[macro_export]
macro_rules! kinds {
    (
        $(#[doc = $doc:literal])*
        $vis:vis enum $Name:ident {
            $( $(#[$meta:meta])* $kind:literal => $Variant:ident($Params:ty) ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis enum $Name {
            $(
                $(#[$meta])*
                #[doc = ::core::concat!("`kind = \"", $kind, "\"`")]
                $Variant($Params),
            )+
        }

        impl $Name {
            /// All kinds, in the order of declaration.
            pub const NAMES: &'static [&'static str] = &[$($kind),+];

            /// Returns the name of the kind in documents.
            pub fn kind(&self) -> &'static str {
                match self {
                    $( Self::$Variant(_) => $kind, )+
                }
            }
        }

        impl $crate::Checked for $Name {
            fn check(&self) -> ::core::result::Result<(), $crate::Invalid> {
                match self {
                    $( Self::$Variant(params) => params.check(), )+
                }
            }
        }

        impl<'de> $crate::__private::serde::Deserialize<'de> for $Name {
            fn deserialize<D>(deserializer: D) -> ::core::result::Result<Self, D::Error>
            where
                D: $crate::__private::serde::Deserializer<'de>,
            {
                let (kind, params) = $crate::__private::take_kind(deserializer, Self::NAMES)?;
                match kind {
                    $( $kind => $crate::__private::decode_params(params).map(Self::$Variant), )+
                    _ => ::core::unreachable!("take_kind returns one of NAMES"),
                }
            }
        }

        impl $crate::__private::serde::Serialize for $Name {
            fn serialize<S>(&self, serializer: S) -> ::core::result::Result<S::Ok, S::Error>
            where
                S: $crate::__private::serde::Serializer,
            {
                match self {
                    $( Self::$Variant(params) => $crate::__private::tagged($kind, params, serializer), )+
                }
            }
        }

        impl $crate::__private::schemars::JsonSchema for $Name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                ::core::stringify!($Name).into()
            }
            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!($Name)).into()
            }
            fn json_schema(generator: &mut $crate::__private::schemars::SchemaGenerator) -> $crate::__private::schemars::Schema {
                let kinds = ::std::vec![$( $crate::__private::kind_schema::<$Params>($kind, generator) ),+];
                $crate::__private::one_of(&[$($doc),*], &kinds)
            }
        }
    };
}

/// Parameters with a check beyond their types.
pub trait Checked {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is out of range or contradicts another: the first such parameter, and the accepted values.
    fn check(&self) -> Result<(), Invalid>;
}

/// Deserialises a table; returns its `kind`, which is one of `names`, and the table without the key `kind`.
///
/// # Errors
/// If the value is not a table, or its `kind` is missing or unknown.
pub fn take_kind<'de, D: Deserializer<'de>>(
    deserializer: D,
    names: &[&'static str],
) -> Result<(&'static str, Value), D::Error> {
    let refuse = |path: Path, message: String, help: String| Err(DecodeError::value(path, message, Some(help)).carry());
    let the_kinds = || format!("the kinds are {}", listed(names.iter().copied()));
    let mut table = match Value::deserialize(deserializer)? {
        Value::Object(table) => table,
        Value::String(word) => {
            let near = suggest(&word, names.iter().copied());
            let help = near.map_or_else(the_kinds, |kind| format!("write {{ kind = \"{kind}\" }}"));
            return refuse(Path::root(), format!("expected a table with a `kind`, found the text \"{word}\""), help);
        }
        other => return refuse(Path::root(), format!("expected a table with a `kind`, found {other}"), the_kinds()),
    };
    match table.remove("kind") {
        Some(Value::String(word)) => {
            if let Some(name) = names.iter().find(|name| **name == word) {
                Ok((name, Value::Object(table)))
            } else {
                let near = suggest(&word, names.iter().copied());
                let help = near.map_or_else(the_kinds, |kind| format!("did you mean `{kind}`? {}", the_kinds()));
                refuse(Path::root().join("kind"), format!("unknown kind `{word}`"), help)
            }
        }
        Some(other) => {
            refuse(Path::root().join("kind"), format!("expected the name of a kind, found {other}"), the_kinds())
        }
        None => {
            let problem = Problem::MissingKey("kind".to_owned());
            let message = "`kind` is missing".to_owned();
            Err(DecodeError { path: Path::root(), problem, message, help: Some(the_kinds()) }.carry())
        }
    }
}

/// Decodes the parameters of a kind, without [`Checked::check`].
///
/// # Errors
/// If the parameters do not fit the type. The error carries the path inside the parameters.
pub fn decode_params<T: DeserializeOwned, E: Error>(params: Value) -> Result<T, E> {
    crate::decode(params).map_err(DecodeError::carry)
}

/// Serialises the parameters, which are a table, with the additional key `kind`.
///
/// # Errors
/// Those of the serialiser.
pub fn tagged<T: Serialize, S: serde::Serializer>(kind: &str, params: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut table = match serde_json::to_value(params).map_err(serde::ser::Error::custom)? {
        Value::Object(table) => table,
        _ => Map::new(),
    };
    table.insert("kind".to_owned(), kind.into());
    table.serialize(serializer)
}

/// Returns the schema of one kind: that of its parameters, plus a required `kind` with this constant value.
pub fn kind_schema<T: JsonSchema>(kind: &str, generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    let object = schema.ensure_object();
    object.insert("title".to_owned(), kind.into());
    if let Some(properties) = object.entry("properties").or_insert_with(|| json!({})).as_object_mut() {
        properties.insert("kind".to_owned(), json!({ "type": "string", "const": kind }));
    }
    if let Some(required) = object.entry("required").or_insert_with(|| json!([])).as_array_mut() {
        required.insert(0, "kind".into());
    }
    schema
}

/// Returns a schema that accepts exactly one of `kinds`. Its description is the doc comment with the lines `doc`.
pub fn one_of(doc: &[&str], kinds: &[Schema]) -> Schema {
    let lines: Vec<&str> = doc.iter().map(|line| line.trim()).collect();
    schemars::json_schema!({ "description": lines.join(" ").trim(), "oneOf": kinds })
}
