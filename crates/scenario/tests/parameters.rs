//! Parameters of disciplines, transports and congestion notification against their descriptions, which are the
//! documentation: the default that a description states is that of the schema, and the range that it states is the one
//! that is accepted.

use schemars::schema_for;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use tailback_document::{Checked, decode};
use tailback_qdisc::congestion_notification::{cp, rp};
use tailback_transport::{Rdma, Tcp};

/// Function that reads and checks a document; the error begins with the path of the parameter.
type Read = fn(Value) -> Result<(), String>;

/// A parameter with its place: the document around it, and the keys that lead to it.
#[derive(Clone, Debug)]
struct Parameter {
    /// Kinds and keys that lead to the parameter, for messages.
    name: String,
    read: Read,
    /// A valid document.
    document: Value,
    /// Keys from the document to the parameter.
    keys: Vec<String>,
    schema: Value,
}

impl Parameter {
    fn description(&self) -> String {
        self.schema["description"].as_str().unwrap_or_default().replace('\n', " ")
    }
    /// Returns the document with a value of the parameter.
    fn with(&self, value: Value) -> Value {
        let mut document = self.document.clone();
        let mut place = &mut document;
        for key in &self.keys {
            place = &mut place[key.as_str()];
        }
        *place = value;
        document
    }
}

/// Decodes and checks a document.
fn decode_and_check<T: serde::de::DeserializeOwned>(
    document: Value,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<(), String> {
    decode::<T>(document).map_err(|e| e.to_string()).and_then(|read| check(&read))
}

fn discipline(document: Value) -> Result<(), String> {
    decode_and_check(document, |spec: &tailback_qdisc::Spec| Checked::check(spec).map_err(|e| e.to_string()))
}

/// Returns all parameters.
fn parameters() -> Vec<Parameter> {
    let roots: [(&str, Value, Read); 5] = [
        ("discipline", schema(schema_for!(tailback_qdisc::Spec)), discipline),
        ("tcp", schema(schema_for!(Tcp)), |document| {
            decode_and_check(document, |tcp: &Tcp| tcp.check().map_err(|e| e.to_string()))
        }),
        ("rdma", schema(schema_for!(Rdma)), |document| {
            decode_and_check(document, |rdma: &Rdma| rdma.check().map_err(|e| e.to_string()))
        }),
        ("point", schema(schema_for!(cp::Spec)), |document| {
            decode_and_check(document, |spec: &cp::Spec| Checked::check(spec).map_err(|e| e.to_string()))
        }),
        ("limiter", schema(schema_for!(rp::Spec)), |document| {
            decode_and_check(document, |spec: &rp::Spec| Checked::check(spec).map_err(|e| e.to_string()))
        }),
    ];
    let mut found = Vec::new();
    for (name, schema, read) in roots {
        let root =
            Parameter { name: name.to_owned(), read, document: json!({}), keys: Vec::new(), schema: schema.clone() };
        visit(&root, &schema, &mut found);
    }
    found
}

fn schema(schema: schemars::Schema) -> Value {
    serde_json::to_value(schema).expect("a schema is JSON")
}

/// Returns keys that a kind needs in addition to its defaults; null: the kind needs a list of classes and is left out.
fn needed(kind: &str) -> Value {
    match kind {
        "class-based" | "priority" | "htb" | "hfsc" => json!(null),
        "packet-marking" => json!({ "target": "1Mbit/s" }),
        _ => json!({}),
    }
}

/// Adds the parameters in the table `at`, and in the tables of its parameters.
fn visit(at: &Parameter, root: &Value, found: &mut Vec<Parameter>) {
    let table = resolved(&at.schema, root);
    for variant in table["oneOf"].as_array().into_iter().flatten() {
        let Some(kind) = variant["properties"]["kind"]["const"].as_str() else { continue };
        let mut fields = needed(kind);
        if fields.is_null() {
            continue;
        }
        fields["kind"] = json!(kind);
        let document = if at.keys.is_empty() { fields } else { at.with(fields) };
        let name = format!("{} {kind}", at.name);
        visit(&Parameter { name, document, schema: variant.clone(), ..at.clone() }, root, found);
    }
    for (name, schema) in table["properties"].as_object().unwrap_or(&Map::new()) {
        if name == "kind" || at.keys.len() > 3 {
            continue;
        }
        let keys = [at.keys.clone(), vec![name.clone()]].concat();
        let below = Parameter { name: format!("{} {name}", at.name), keys, schema: schema.clone(), ..at.clone() };
        // Disciplines inside others are disciplines.
        if name != "discipline" {
            visit(&below, root, found);
        }
        found.push(below);
    }
}

/// Returns the definition that a schema refers to, alone or as an alternative to null.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let alternatives = [schema]
        .into_iter()
        .chain(["anyOf", "allOf"].iter().flat_map(|key| schema[*key].as_array().into_iter().flatten()));
    let mut targets = alternatives.filter_map(|one| one["$ref"].as_str());
    targets.next().and_then(|target| root.pointer(target.trim_start_matches('#'))).unwrap_or(schema)
}

/// A number with its unit, in the base unit of [`UNITS`]; numbers without a unit have the unit "".
#[derive(Clone, Copy, Debug, PartialEq)]
struct Quantity {
    value: f64,
    unit: &'static str,
}

/// Unit as written, its multiple of the base unit, and the base unit.
const UNITS: [(&str, f64, &str); 17] = [
    ("ns", 1.0, "ns"),
    ("us", 1e3, "ns"),
    ("ms", 1e6, "ns"),
    ("s", 1e9, "ns"),
    ("min", 6e10, "ns"),
    ("h", 3.6e12, "ns"),
    ("B", 1.0, "B"),
    ("kB", 1e3, "B"),
    ("MB", 1e6, "B"),
    ("GB", 1e9, "B"),
    ("bit/s", 1.0, "bit/s"),
    ("kbit/s", 1e3, "bit/s"),
    ("Mbit/s", 1e6, "bit/s"),
    ("Gbit/s", 1e9, "bit/s"),
    ("packet", 1.0, "packets"),
    ("packets", 1.0, "packets"),
    ("%", 0.01, ""),
];

/// Returns the quantity at the beginning of `words`, with its unit in the same word or the next one, and the words after
/// it; `None`: the words do not begin with a number.
fn quantity<'a>(words: &'a [&'a str]) -> Option<(Quantity, &'a [&'a str])> {
    let (first, remaining) = words.split_first()?;
    let first = first.trim_matches(|c: char| "\"`,;:.()".contains(c));
    let digits = first.find(|c: char| !"0123456789.-e".contains(c)).unwrap_or(first.len());
    let (number, tail) = first.split_at(digits);
    let value: f64 = number.parse().ok()?;
    if let Some(divisor) = tail.strip_prefix('/').and_then(|text| text.parse::<f64>().ok()) {
        return Some((Quantity { value: value / divisor, unit: "" }, remaining));
    }
    if let Some(exponent) = tail.strip_prefix('^').and_then(|text| text.parse::<i32>().ok()) {
        // As in `2^32 - 1`.
        let minus = if let ["-", "1" | "1." | "1,", ..] = remaining { 1.0 } else { 0.0 };
        return Some((
            Quantity { value: (0..exponent).fold(1.0, |product, _| product * value) - minus, unit: "" },
            remaining,
        ));
    }
    let scaled = |unit: &str| UNITS.iter().find(|(name, ..)| *name == unit).map(|(_, factor, base)| (*factor, *base));
    if tail.is_empty() {
        let next = remaining.first().map(|word| word.trim_matches(|c: char| ",;:.()".contains(c)));
        // "at least 5 packets" counts packets.
        return match next.filter(|next| !next.starts_with("packet")).and_then(scaled) {
            Some((factor, unit)) => Some((Quantity { value: value * factor, unit }, &remaining[1..])),
            None => Some((Quantity { value, unit: "" }, remaining)),
        };
    }
    scaled(tail).map(|(factor, unit)| (Quantity { value: value * factor, unit }, remaining))
}

/// Bounds of a parameter, each with `true` if the bound itself is allowed; `None`: there is no such bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Range {
    low: Option<(Quantity, bool)>,
    high: Option<(Quantity, bool)>,
}

/// Returns the first range that a description states at the beginning of a clause; `None`: it states none.
fn range(description: &str) -> Option<Range> {
    let text = description.split("Default").next().unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    (0..words.len()).find_map(|at| {
        let begins = at == 0 || words[at - 1].ends_with([',', ';', '.']);
        begins.then(|| range_at(&words[at..])).flatten()
    })
}

/// Returns the range at the beginning of `words`, such as "above 0 and at most 1" or "1 to 64".
fn range_at(words: &[&str]) -> Option<Range> {
    if let ["above", rest @ ..] = words {
        let (low, rest) = quantity(rest)?;
        let ended = words[words.len() - rest.len() - 1].ends_with([',', ';', '.', ':']);
        let high = match rest {
            _ if ended => None,
            ["and", "below", rest @ ..] => quantity(rest).map(|(high, _)| (high, false)),
            ["and", "at", "most", rest @ ..] => quantity(rest).map(|(high, _)| (high, true)),
            _ => None,
        };
        return Some(Range { low: Some((low, false)), high });
    }
    if let ["at", "least", rest @ ..] = words {
        return Some(Range { low: Some((quantity(rest)?.0, true)), high: None });
    }
    if let ["at", "most", rest @ ..] = words {
        return Some(Range { low: None, high: Some((quantity(rest)?.0, true)) });
    }
    let (low, rest) = quantity(words)?;
    let [word @ ("to" | "or"), rest @ ..] = rest else { return None };
    let (high, _) = quantity(rest)?;
    let steps = *word == "or" && high.value != low.value + 1.0;
    (!steps).then_some(Range { low: Some((low, true)), high: Some((high, true)) })
}

/// Returns a number with its unit in the notation of documents.
fn written(value: f64, unit: &str, whole: bool) -> Value {
    match unit {
        "" if whole => json!(value as i64),
        "" => json!(value),
        // Picoseconds, so that steps below a nanosecond can be written.
        "ns" => json!(format!("{}ps", (value * 1e3).round() as i128)),
        _ => json!(format!("{}{unit}", value.round() as i128)),
    }
}

/// Returns `true` if values of the parameter are whole numbers.
fn is_whole(schema: &Value) -> bool {
    let is_integer = |one: &Value| {
        one["type"] == "integer" || one["type"].as_array().is_some_and(|types| types.contains(&json!("integer")))
    };
    is_integer(schema) || schema["anyOf"].as_array().is_some_and(|several| several.iter().any(is_integer))
}

#[test]
fn each_default_is_the_one_that_its_description_states() {
    let mut wrong = Vec::new();
    let mut checked = BTreeMap::new();
    for parameter in parameters() {
        let description = parameter.description();
        let Some((_, stated)) = description.split_once("Default ") else { continue };
        let default = &parameter.schema["default"];
        let words: Vec<&str> = stated.split_whitespace().collect();
        let word = words[0].trim_end_matches([',', ';', '.', ':']);
        let agrees = match default {
            Value::Bool(default) => word == default.to_string(),
            Value::Number(default) => {
                quantity(&words).is_some_and(|(stated, _)| stated.value == default.as_f64().unwrap_or(f64::NAN))
            }
            Value::String(default) if word.trim_matches('"') == default => true,
            Value::String(default) => {
                let (stated, read) = (quantity(&words), quantity(&[default.as_str()]).map(|(read, _)| read));
                stated.is_some_and(|(stated, _)| Some(stated) == read)
            }
            // No default, or a table, which is described in words.
            _ => continue,
        };
        // The default of this parameter is stated as base/6.55, rounded.
        if !agrees && !parameter.name.ends_with("swift per-hop") {
            wrong.push(format!("{}: {default} and \"Default {stated}\"", parameter.name));
        }
        *checked.entry(parameter.name.split(' ').next().unwrap_or_default().to_owned()).or_insert(0) += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked["discipline"] > 150 && checked["tcp"] > 60 && checked["limiter"] > 10, "{checked:?}");
}

#[test]
fn the_range_that_a_description_states_is_the_one_that_is_accepted() {
    let mut wrong = Vec::new();
    let (mut accepted, mut refused) = (0, 0);
    for parameter in parameters() {
        let Some(Range { low, high }) = range(&parameter.description()) else { continue };
        let whole = is_whole(&parameter.schema);
        let path = format!("{}:", parameter.keys.join("."));
        let mut expect = |value: f64, unit: &'static str, fits: bool| {
            let value = written(value, unit, whole);
            let answer = (parameter.read)(parameter.with(value.clone()));
            match (&answer, fits) {
                (Ok(()), true) => accepted += 1,
                (Err(_), false) => refused += 1,
                // The value may be refused because it contradicts another parameter.
                (Err(message), true) if message.contains('`') || !message.starts_with(&path) => {}
                _ => wrong.push(format!("{} = {value}: {answer:?}; {}", parameter.name, parameter.description())),
            }
        };
        for (bound, inwards) in [(low, 1.0), (high, -1.0)] {
            let Some((Quantity { value, unit }, included)) = bound else { continue };
            let step = match unit {
                "" if whole => 1.0,
                "" => 1e-9 * value.abs().max(1e-3),
                "ns" => 1e-3 * (value * 1e-9).max(1.0),
                _ => 1.0,
            };
            expect(value, unit, included);
            if included {
                // Quantities with a unit have no negative values.
                if value > 0.0 || unit.is_empty() {
                    expect(value - inwards * step, unit, false);
                }
            } else {
                // Checks may exclude values closer to 1 than a millionth.
                expect(value + inwards * if value == 1.0 && unit.is_empty() { 2e-6 } else { step }, unit, true);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(accepted > 150 && refused > 150, "{accepted} accepted, {refused} refused");
}

/// Reader, document, JSON pointer to a number in it, smallest and largest accepted value, and refused values.
type Bounds = (Read, Value, &'static str, [f64; 2], Vec<f64>);

/// Returns the document with a number replaced.
fn put(document: &Value, pointer: &str, value: f64) -> Value {
    let mut document = document.clone();
    let place = document.pointer_mut(pointer).expect("a place");
    *place = if value.fract() == 0.0 { json!(value as u64) } else { json!(value) };
    document
}

/// Bounds that descriptions do not state, since they only catch typing errors, and bounds of parameters inside lists and
/// of adaptive laws.
#[test]
fn numbers_beyond_their_bounds_are_refused_and_those_at_the_bounds_are_accepted() {
    let point: Read =
        |document| decode_and_check(document, |spec: &cp::Spec| Checked::check(spec).map_err(|e| e.to_string()));
    let limiter: Read =
        |document| decode_and_check(document, |spec: &rp::Spec| Checked::check(spec).map_err(|e| e.to_string()));
    let feng = json!({ "kind": "red", "adaptive": { "kind": "feng", "alpha": 3, "beta": 2, "top": 1 } });
    let floyd = json!({ "kind": "red", "adaptive": { "kind": "floyd", "alpha": 0.1, "beta": 0.5, "top": 0.5 } });
    let wrr = json!({ "kind": "wrr", "classes": [{ "match": { "dscp": "ef" }, "weight": 1 }] });
    let htb =
        json!({ "kind": "htb", "default": "a", "r2q": 10, "classes": [{ "name": "a", "rate": "1Mbit/s", "prio": 0 }] });
    let classes = json!({ "kind": "class-based", "classes": [
        { "match": { "dscp": "ef" }, "priority": { "level": 1 } }, { "match": { "dscp": "af41" }, "remaining": 1 } ] });
    let wred = json!({ "kind": "wred", "profiles": { "0": { "min": 1, "max": 4096, "denominator": 1 } } });
    let of = |kind: &str, key: &str, value: f64| json!({ "kind": kind, key: value });
    let low = 1e-9;
    let table: Vec<Bounds> = vec![
        (discipline, of("pie", "alpha", 1.0), "/alpha", [low, 1e6], vec![0.0, 1e6 + 0.5]),
        (discipline, of("pie", "beta", 1.0), "/beta", [low, 1e6], vec![0.0, 1e6 + 0.5]),
        (discipline, of("dualpi2", "alpha", 1.0), "/alpha", [low, 1e6], vec![0.0, 1e6 + 0.5]),
        (discipline, of("dualpi2", "beta", 1.0), "/beta", [low, 1e6], vec![0.0, 1e6 + 0.5]),
        (discipline, of("dualpi2", "coupling", 1.0), "/coupling", [1.0, 1e3], vec![0.999, 1000.5]),
        (discipline, of("dualpi2", "classic-share", 0.5), "/classic-share", [1e-3, 0.999], vec![0.0009, 0.9995]),
        (discipline, of("rem", "gamma", 1.0), "/gamma", [low, 1e6], vec![0.0, 1e6 + 0.5]),
        (discipline, of("rem", "phi", 2.0), "/phi", [1.000_001, 1e6], vec![1.0, 1e6 + 0.5]),
        (discipline, of("rem", "weight", 1.0), "/weight", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, of("rem", "queue-weight", 1.0), "/queue-weight", [low, 1e3], vec![0.0, 1000.5]),
        (discipline, of("avq", "alpha", 1.0), "/alpha", [low, 1e6], vec![0.0, 1e6 + 0.5]),
        (discipline, json!({ "kind": "pi", "a": 0.5, "b": 1e-9 }), "/a", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, json!({ "kind": "pi", "a": 0.5, "b": 0.1 }), "/b", [low, 0.5], vec![0.0, 0.50001]),
        (discipline, of("pi", "frequency", 1.0), "/frequency", [1e-3, 1e6], vec![0.0009, 1e6 + 0.5]),
        (discipline, feng.clone(), "/adaptive/alpha", [1.000_001, 1e6], vec![1.0, 1e6 + 0.5]),
        (discipline, feng.clone(), "/adaptive/beta", [1.000_001, 1e6], vec![1.0, 1e6 + 0.5]),
        // At least `bottom`.
        (discipline, feng, "/adaptive/top", [1e-4, 1000.0], vec![0.9e-4, 1000.5]),
        (discipline, floyd.clone(), "/adaptive/alpha", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, floyd.clone(), "/adaptive/beta", [low, 0.999_999], vec![0.0, 0.999_999_5, 1.0]),
        (discipline, floyd, "/adaptive/top", [0.0, 1.0], vec![1.0001]),
        (discipline, of("red", "weight", 1.0), "/weight", [1e-12, 1.0], vec![0.0, 1.0001]),
        (discipline, of("fred", "weight", 1.0), "/weight", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, of("fred", "min-flow", 1.0), "/min-flow", [1.0, 1000.0], vec![0.0, 1001.0]),
        (discipline, of("choke", "candidates", 1.0), "/candidates", [1.0, 64.0], vec![0.0, 65.0]),
        (discipline, of("red-pd", "flows", 400.0), "/flows", [1.0, 1e6], vec![0.0, 1e6 + 1.0]),
        (discipline, of("red-pd", "needed", 3.0), "/needed", [1.0, 5.0], vec![0.0, 6.0]),
        (
            discipline,
            json!({ "kind": "red-pd", "intervals": 3, "needed": 1 }),
            "/intervals",
            [1.0, 100.0],
            vec![0.0, 101.0],
        ),
        (discipline, of("sred", "zombies", 1.0), "/zombies", [1.0, 1e6], vec![0.0, 1e6 + 1.0]),
        (discipline, of("fair-queue", "scale", 4096.0), "/scale", [1e3, 1e6], vec![999.0, 1e6 + 1.0]),
        (discipline, of("fq", "flow-limit", 1.0), "/flow-limit", [1.0, 4_294_967_295.0], vec![0.0, 4_294_967_296.0]),
        (discipline, wrr, "/classes/0/weight", [1.0, 1e6], vec![0.0, 1e6 + 1.0]),
        (discipline, htb.clone(), "/r2q", [1.0, 1e6], vec![0.0, 1e6 + 1.0]),
        (discipline, htb, "/classes/0/prio", [0.0, 7.0], vec![8.0]),
        (discipline, classes.clone(), "/classes/0/priority/level", [1.0, 2.0], vec![0.0, 3.0]),
        (discipline, classes, "/classes/1/remaining", [low, 1e6], vec![0.0, 1e6 + 0.5]),
        (discipline, of("sfb", "levels", 2.0), "/levels", [1.0, 32.0], vec![0.0, 33.0]),
        (discipline, of("sfb", "bins", 2.0), "/bins", [1.0, 65_535.0], vec![0.0, 65_536.0]),
        (discipline, of("sfb", "increment", 0.5), "/increment", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, of("sfb", "decrement", 0.5), "/decrement", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, of("blue", "increment", 0.5), "/increment", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, of("blue", "decrement", 0.5), "/decrement", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, of("cobalt", "increment", 0.5), "/increment", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, of("cobalt", "decrement", 0.5), "/decrement", [low, 1.0], vec![0.0, 1.0001]),
        (discipline, of("wred", "exponent", 9.0), "/exponent", [1.0, 16.0], vec![0.0, 17.0]),
        (discipline, wred.clone(), "/profiles/0/min", [1.0, 4096.0], vec![0.0, 4097.0]),
        (discipline, wred.clone(), "/profiles/0/max", [1.0, 4096.0], vec![0.0, 4097.0]),
        (discipline, wred, "/profiles/0/denominator", [1.0, 65_536.0], vec![0.0, 65_537.0]),
        (point, of("qcn", "weight", 1.0), "/weight", [low, 100.0], vec![0.0, 100.5]),
        (point, of("ecm", "equilibrium", 1.0), "/equilibrium", [low, 1e6], vec![0.0, 1e6 + 0.5]),
        (point, of("ecm", "weight", 1.0), "/weight", [0.0, 100.0], vec![100.5]),
        (point, of("ecm", "severe", 20.0), "/severe", [16.5, 1e6], vec![16.0, 1e6 + 0.5]),
        (
            point,
            json!({ "kind": "bcn", "equilibrium": 16, "full": 1e6 }),
            "/equilibrium",
            [low, 999_999.0],
            vec![0.0, 1e6],
        ),
        (point, of("bcn", "full", 90.0), "/full", [16.5, 1e6], vec![16.0, 1e6 + 0.5]),
        (limiter, of("qcn", "decrease", 0.001), "/decrease", [low, 1.0 / 126.0], vec![0.0, 0.007_94]),
        (limiter, of("bcn", "decrease", 0.001), "/decrease", [low, 0.25], vec![0.0, 0.2501]),
    ];
    for (read, document, pointer, accepted, refused) in table {
        for value in accepted {
            assert_eq!(read(put(&document, pointer, value)), Ok(()), "{document} {pointer} {value}");
        }
        for value in refused {
            assert!(read(put(&document, pointer, value)).is_err(), "{document} {pointer} {value}");
        }
    }
}

/// Rows: reader, document, and the parameter that the error must name, empty if the document is valid.
#[test]
fn parameters_that_contradict_each_other_are_refused_and_those_at_the_limit_are_accepted() {
    let point: Read =
        |document| decode_and_check(document, |spec: &cp::Spec| Checked::check(spec).map_err(|e| e.to_string()));
    let bcn = |key: &str, three: [f64; 3]| json!({ "kind": "bcn", "equilibrium": 16, "full": 90, key: three });
    let red = |more: Value| {
        let mut red = json!({ "kind": "red" });
        more.as_object().into_iter().flatten().for_each(|(key, value)| red[key] = value.clone());
        red
    };
    let shares = |first: &str, second: Value, rest: Value| {
        json!({ "kind": "class-based", "default": rest, "classes": [
            { "match": { "dscp": "ef" }, "priority": { "rate": first } },
            { "match": { "dscp": "af41" }, "bandwidth": second } ] })
    };
    let one = |class: Value| {
        let mut class = class;
        class["match"] = json!({ "dscp": "ef" });
        json!({ "kind": "class-based", "classes": [class] })
    };
    let htb = |more: &[(&str, Value)]| {
        let mut class = json!({ "name": "a", "rate": "2Mbit/s" });
        for (key, value) in more {
            class[*key] = value.clone();
        }
        json!({ "kind": "htb", "default": "a", "classes": [class] })
    };
    let hfsc = |curves: Value| {
        let mut class = json!({ "name": "a" });
        curves.as_object().into_iter().flatten().for_each(|(key, value)| class[key] = value.clone());
        json!({ "kind": "hfsc", "default": "a", "classes": [class] })
    };
    let table: Vec<(Read, Value, &str)> = vec![
        // Each threshold beyond the one before.
        (point, bcn("above", [20.0, 40.0, 60.0]), ""),
        (point, bcn("above", [16.0, 40.0, 60.0]), "above"),
        (point, bcn("above", [20.0, 20.0, 60.0]), "above"),
        (point, bcn("above", [20.0, 40.0, 40.0]), "above"),
        (point, bcn("above", [20.0, 40.0, 90.0]), "above"),
        (point, bcn("below", [12.0, 8.0, 0.5]), ""),
        (point, bcn("below", [16.0, 8.0, 4.0]), "below"),
        (point, bcn("below", [12.0, 12.0, 4.0]), "below"),
        (point, bcn("below", [12.0, 8.0, 8.0]), "below"),
        (point, bcn("below", [12.0, 8.0, 0.0]), "below"),
        (discipline, red(json!({ "min": "5packets", "max": "5packets" })), ""),
        (discipline, red(json!({ "min": "5packets", "max": "4packets" })), "max"),
        (discipline, red(json!({ "min": "0packets" })), "max"),
        (discipline, red(json!({ "min": "1B" })), ""),
        (discipline, red(json!({ "min": "0B", "max": "0B" })), "max"),
        (discipline, red(json!({ "min": "0B", "max": "1B" })), ""),
        (discipline, red(json!({ "max": "9packets" })), "min"),
        (discipline, json!({ "kind": "wred", "profiles": { "0": { "min": 5, "max": 5 } } }), ""),
        (discipline, json!({ "kind": "wred", "profiles": { "0": { "min": 6, "max": 5 } } }), "profiles.0.max"),
        // Shares of exactly 100 % by priority, bandwidth and the default, and of 100.1 %.
        (discipline, shares("40%", json!("50%"), json!({ "bandwidth": "10%" })), ""),
        (discipline, shares("40.1%", json!("50%"), json!({ "bandwidth": "10%" })), "classes"),
        (discipline, shares("40%", json!("50.1%"), json!({ "bandwidth": "10%" })), "classes"),
        (discipline, shares("40%", json!("50%"), json!({ "bandwidth": "10.1%" })), "classes"),
        (discipline, shares("40%", json!("60%"), json!({})), ""),
        (discipline, shares("40%", json!("60%"), json!({ "remaining": 5 })), ""),
        (discipline, shares("40%", json!("50%"), json!({ "bandwidth": "5%", "remaining": 5 })), "default.remaining"),
        (discipline, one(json!({})), "classes[0]"),
        (discipline, one(json!({ "bandwidth": "5%" })), ""),
        (discipline, one(json!({ "bandwidth": "0%" })), "classes[0].bandwidth"),
        (discipline, one(json!({ "bandwidth": "5%", "remaining": 5 })), "classes[0].remaining"),
        (discipline, one(json!({ "bandwidth": "5%", "priority": {} })), "classes[0].priority"),
        (discipline, one(json!({ "remaining": 5, "priority": {} })), "classes[0].priority"),
        (discipline, one(json!({ "priority": { "burst": "3kB" } })), "classes[0].priority.burst"),
        (discipline, one(json!({ "priority": { "burst": "3kB", "rate": "5%" } })), ""),
        (discipline, one(json!({ "priority": {}, "discipline": { "kind": "drop-tail" } })), "classes[0].discipline"),
        (discipline, htb(&[("ceil", json!("2Mbit/s"))]), ""),
        (discipline, htb(&[("ceil", json!("1999kbit/s"))]), "classes[0].ceil"),
        (discipline, htb(&[("rate", json!("0bit/s"))]), "classes[0].rate"),
        (discipline, htb(&[("quantum", json!("0B"))]), "classes[0].quantum"),
        (discipline, htb(&[("quantum", json!("1B"))]), ""),
        (discipline, htb(&[("quantum", json!("1GB"))]), ""),
        (discipline, htb(&[("quantum", json!("1000000001B"))]), "classes[0].quantum"),
        (discipline, htb(&[("parent", json!("b"))]), "classes[0].parent"),
        (discipline, hfsc(json!({})), "classes[0]"),
        (discipline, hfsc(json!({ "ls": { "m2": "1Mbit/s" } })), ""),
        (discipline, hfsc(json!({ "rt": { "m2": "1Mbit/s" } })), ""),
        (discipline, hfsc(json!({ "rt": { "m2": "1Mbit/s" }, "ul": { "m2": "1Mbit/s" } })), "classes[0].ul"),
        (discipline, hfsc(json!({ "ls": { "m2": "1Mbit/s" }, "ul": { "m2": "1bit/s" } })), ""),
        // `m2` must be above zero; `m1` may be absent.
        (discipline, hfsc(json!({ "rt": { "m1": "1Mbit/s", "d": "1ms", "m2": "0bit/s" } })), "classes[0].rt.m2"),
        (discipline, hfsc(json!({ "ls": { "m1": "1Mbit/s", "d": "1ms", "m2": "0bit/s" } })), "classes[0].ls.m2"),
        (discipline, hfsc(json!({ "ls": { "m2": "1bit/s" } })), ""),
        (discipline, htb(&[("rate", json!("1bit/s"))]), ""),
        (discipline, json!({ "kind": "class-based", "base": "1bit/s" }), ""),
        (discipline, json!({ "kind": "class-based", "base": "0bit/s" }), "base"),
        (discipline, hfsc(json!({ "rt": { "m1": "1bit/s", "d": "1ms", "m2": "1bit/s" } })), ""),
        (discipline, json!({ "kind": "sfq", "overflow": "share" }), ""),
        (discipline, json!({ "kind": "sfq", "overflow": "share", "buckets": "per-flow" }), "overflow"),
        (discipline, json!({ "kind": "sfq", "overflow": "longest", "buckets": "per-flow" }), ""),
        (discipline, json!({ "kind": "sfq", "perturb": "1ps" }), ""),
        (discipline, json!({ "kind": "netem", "bursts": { "enter": 0.1, "leave": 0.5 }, "loss": 0.1 }), "bursts"),
        (discipline, json!({ "kind": "netem", "bursts": { "enter": 0.1, "leave": 0.5 } }), ""),
        (discipline, json!({ "kind": "netem", "loss": 0.1 }), ""),
        (discipline, json!({ "kind": "netem", "rate": "0bit/s" }), "rate"),
        (discipline, json!({ "kind": "netem", "rate": "1bit/s" }), ""),
        (discipline, json!({ "kind": "sfb", "form": "linux", "lower-at": "departure" }), "lower-at"),
        (discipline, json!({ "kind": "sfb", "form": "linux", "lower-at": "arrival" }), ""),
        (discipline, json!({ "kind": "sfb", "lower-at": "departure" }), ""),
        (discipline, json!({ "kind": "sfb", "rehash": { "interval": "2s", "warm-up": "2s" } }), ""),
        (discipline, json!({ "kind": "sfb", "rehash": { "interval": "2s", "warm-up": "2001ms" } }), "rehash.warm-up"),
        (discipline, json!({ "kind": "dualpi2", "step-packets": 5 }), ""),
        (discipline, json!({ "kind": "dualpi2", "step-packets": 5, "step": "7ms" }), "step"),
        (discipline, json!({ "kind": "dualpi2", "step-packets": 5, "ramp": "1ps" }), "ramp"),
        (discipline, json!({ "kind": "dualpi2", "step": "7ms", "ramp": "1ps" }), ""),
    ];
    for (read, document, field) in table {
        match read(document.clone()) {
            Ok(()) => assert_eq!(field, "", "{document} is accepted"),
            Err(message) => {
                assert!(!field.is_empty() && message.starts_with(&format!("{field}:")), "{document}: {message}");
            }
        }
    }
}

#[test]
fn the_key_independent_of_red_is_written_only_if_it_is_true() {
    for independent in [false, true] {
        let red: tailback_qdisc::Spec =
            decode(json!({ "kind": "red", "independent": independent })).expect("it decodes");
        let written = serde_json::to_value(&red).expect("it can be written");
        assert_eq!(written.get("independent"), independent.then_some(&json!(true)));
    }
}

#[test]
fn classes_may_be_eight_deep_in_htb_and_sixteen_in_hfsc() {
    for (kind, curve, deepest) in [("htb", "rate", 8), ("hfsc", "ls", 16)] {
        let given = |key: &str| if key == "rate" { json!("1Mbit/s") } else { json!({ "m2": "1Mbit/s" }) };
        let chain = |depth: usize| {
            let class = |n: usize| {
                let mut class = json!({ "name": format!("c{n}"), curve: given(curve) });
                if n > 0 {
                    class["parent"] = json!(format!("c{}", n - 1));
                }
                class
            };
            let classes: Vec<Value> = (0..depth).map(class).collect();
            discipline(json!({ "kind": kind, "default": format!("c{}", depth - 1), "classes": classes }))
        };
        assert_eq!(chain(deepest), Ok(()), "{kind}");
        let message = chain(deepest + 1).expect_err("it is too deep");
        assert!(message.starts_with(&format!("classes[{deepest}].parent:")), "{message}");
    }
}
