//! Checks of a study beyond its types: ranges, keys that exclude each other, unique names.

use super::document::{Axis, Design, DesignKind, Of, Paths, Range, Scale, StudyDocument, Until};
use crate::build::CONFIDENCES;
use crate::complaint::Complaints;
use serde_json::Value;
use std::collections::BTreeSet;
use tailback_document::Path;
use tailback_units::{parse_bytes, parse_duration, parse_rate};

/// Version of the document that this program reads.
const VERSION: u32 = 1;
/// Upper bounds on the numbers of replications, samples and steps.
const MAX_REPLICATIONS: u32 = 100_000;
const MAX_SAMPLES: u32 = 1_000_000;
const MAX_STEPS: u32 = 10_000;

/// Adds the errors of a decoded document.
pub(super) fn check(document: &StudyDocument, complaints: &mut Complaints) {
    let root = Path::root();
    if document.study != VERSION {
        let message = format!("this program reads version {VERSION} of the study document");
        complaints.value(root.join("study"), message, format!("write study = {VERSION}"));
    }
    if document.replications.is_some_and(|n| n == 0 || n > MAX_REPLICATIONS) {
        complaints.value(
            root.join("replications"),
            "the number of replications is out of range",
            "write a number from 1 to 100000",
        );
    }
    if document.seed.is_some_and(|seed| seed > i64::MAX as u64) {
        complaints.value(root.join("seed"), "the seed is too large", "write a number from 0 to 2^63 - 1");
    }
    if document.confidence.is_some_and(|confidence| !CONFIDENCES.contains(&confidence.0)) {
        complaints.value(
            root.join("confidence"),
            "the confidence level is out of range",
            "write a number from 0.5 to 0.999999",
        );
    }
    check_design(&document.design, complaints);
    check_axes(document, complaints);
    check_mechanisms(document, complaints);
    if let Some(until) = &document.until {
        check_until(until, document, complaints);
    }
}

/// `true` if a design draws its points at random.
fn is_drawn(kind: DesignKind) -> bool {
    matches!(kind, DesignKind::Random | DesignKind::LatinHypercube)
}

/// Checks that a design has `samples` and `seed` if and only if it draws points at random.
fn check_design(design: &Design, complaints: &mut Complaints) {
    let at = Path::root().join("design");
    match (is_drawn(design.kind), design.samples) {
        (true, None) => {
            complaints.value(at, "the number of points is missing", "add `samples = 100`");
        }
        (true, Some(n)) if n == 0 || n > MAX_SAMPLES => {
            complaints.value(
                at.join("samples"),
                "the number of samples is out of range",
                "write a number from 1 to 1000000",
            );
        }
        (false, samples) => {
            let help = "remove it, or choose kind \"random\" or \"latin-hypercube\"";
            if samples.is_some() {
                complaints.key(at.join("samples"), "this design uses all values of the axes", help);
            }
            if design.seed.is_some() {
                complaints.key(at.join("seed"), "this design has no random draws", help);
            }
        }
        _ => {}
    }
}

/// Checks paths, names and values of the axes.
fn check_axes(document: &StudyDocument, complaints: &mut Complaints) {
    let kind = document.design.kind;
    let (mut names, mut paths) = (BTreeSet::new(), BTreeSet::new());
    // Index and number of values of the first axis of a list.
    let mut length: Option<(usize, usize)> = None;
    if document.axes.is_empty() && kind != DesignKind::Grid {
        complaints.value(Path::root().join("design"), "there is no axis to choose from", "add [[axes]]");
    }
    for (i, axis) in document.axes.iter().enumerate() {
        let at = Path::root().join("axes").join(i);
        let axis_paths = match &axis.path {
            Paths::One(path) => vec![path.as_str()],
            Paths::Several(list) => list.iter().map(String::as_str).collect(),
        };
        if axis_paths.is_empty() || axis_paths.iter().any(|path| path.trim().is_empty()) {
            complaints.value(at.join("path"), "the axis has no path", "write one such as \"flows[data].source.rate\"");
            continue;
        }
        if let Some(path) = axis_paths.iter().find(|path| !paths.insert(path.to_string())) {
            complaints.value(
                at.join("path"),
                format!("`{path}` is already set by an earlier axis"),
                "merge the two axes, or remove one",
            );
        }
        let name = axis.name.as_deref().unwrap_or(axis_paths[0]);
        if !names.insert(name) {
            complaints.value(
                at.join("name"),
                format!("another axis is already named `{name}`"),
                "give each axis a name of its own",
            );
        }
        if RESERVED.contains(&name) {
            complaints.value(at.join("name"), format!("`{name}` is a column of the results"), "choose another name");
        }
        let Some(count) = count_values(axis, kind, &at, complaints) else { continue };
        match length {
            _ if kind != DesignKind::List => {}
            None => length = Some((i, count)),
            Some((first, n)) if n != count => {
                let message = format!("the axis has {count} values, but axes[{first}] has {n}");
                complaints.value(at, message, "a list needs the same number of values on every axis");
            }
            Some(_) => {}
        }
    }
}

/// Columns of the results, which are not allowed as names of axes.
const RESERVED: [&str; 10] =
    ["mechanism", "point", "replication", "seed", "digest", "scope", "name", "metric", "unit", "value"];

/// Returns the number of values of an axis; 0: any number may be drawn; `None`: the axis is invalid, which is reported.
fn count_values(axis: &Axis, kind: DesignKind, at: &Path, complaints: &mut Complaints) -> Option<usize> {
    match (&axis.values, &axis.range) {
        (Some(values), None) if values.is_empty() => {
            complaints.value(
                at.join("values"),
                "the list of values is empty",
                "write one or more, such as [\"1Mbit/s\", \"2Mbit/s\"]",
            );
            None
        }
        (Some(values), None) => Some(values.len()),
        (None, Some(range)) => {
            let inner = at.join("range");
            check_range(range, &inner, complaints);
            match (is_drawn(kind), range.steps) {
                (true, None) => Some(0),
                (true, Some(_)) => {
                    complaints.key(inner.join("steps"), "this design draws `design.samples` values", "remove it");
                    None
                }
                (false, None) => {
                    complaints.value(inner, "the number of values is missing", "add `steps = 5`");
                    None
                }
                (false, Some(n)) if !(2..=MAX_STEPS).contains(&n) => {
                    complaints.value(
                        inner.join("steps"),
                        "the number of steps is out of range",
                        "write a number from 2 to 10000",
                    );
                    None
                }
                (false, Some(n)) => Some(n as usize),
            }
        }
        (Some(_), Some(_)) => {
            complaints.key(at.join("range"), "the axis has both `values` and a `range`", "remove one of the two");
            None
        }
        (None, None) => {
            complaints.value(
                at.clone(),
                "the axis has no values",
                "add `values = [\"1Mbit/s\", \"2Mbit/s\"]`, or a range",
            );
            None
        }
    }
}

/// Checks the digits and the ends of a range: notation, unit, order of magnitude and scale.
fn check_range(range: &Range, at: &Path, complaints: &mut Complaints) {
    if !(1..=15).contains(&range.digits) {
        complaints.value(at.join("digits"), "the number of digits is out of range", "write a number from 1 to 15");
    }
    let (Some((from, unit)), Some((to, other))) = (amount(&range.from), amount(&range.to)) else {
        let wrong = if amount(&range.from).is_none() { "from" } else { "to" };
        complaints.value(
            at.join(wrong),
            "the end is neither a number nor a number with a unit",
            "write, for example, \"1Mbit/s\" or 0.5",
        );
        return;
    };
    // Ends in different multiples of a unit, such as kB and MB, are compared in the base unit.
    let ends = match (multiple(unit), multiple(other)) {
        _ if unit == other => Some((from, to)),
        (Some((base, factor)), Some((same, others))) if base == same => Some((from * factor, to * others)),
        _ => None,
    };
    let Some((from, to)) = ends else {
        let help = if unit.is_empty() { "write both as numbers".to_owned() } else { format!("write it in {unit}") };
        complaints.value(at.join("to"), "the ends have different units", help);
        return;
    };
    if from == to {
        complaints.value(at.join("to"), "the ends are equal", "choose another end");
    } else if range.scale == Scale::Log && (from <= 0.0 || to <= 0.0) {
        let wrong = if from <= 0.0 { "from" } else { "to" };
        complaints.value(
            at.join(wrong),
            "a logarithmic scale begins above zero",
            "choose an end above zero, or scale \"linear\"",
        );
    }
}

/// Returns the base unit of a unit, and the size of the unit in base units; `None`: the unit is not known.
fn multiple(unit: &str) -> Option<(&'static str, f64)> {
    let one = format!("1{unit}");
    let duration = || Some(("ps", parse_duration(&one).ok()?.0 as f64));
    let rate = || Some(("bit/s", parse_rate(&one).ok()?.0 as f64));
    let size = || Some(("B", parse_bytes(&one).ok()? as f64));
    duration().or_else(rate).or_else(size)
}

/// Returns number and unit of an end; the unit of a plain number is empty. `None`: the end is neither.
fn amount(end: &Value) -> Option<(f64, &str)> {
    match end {
        Value::Number(number) => Some((number.as_f64()?, "")),
        Value::String(text) => {
            let text = text.trim();
            let unit = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
            let number = text[..unit].parse().ok()?;
            Some((number, text[unit..].trim()))
        }
        _ => None,
    }
}

/// Checks that the names of the mechanisms are unique and not empty.
fn check_mechanisms(document: &StudyDocument, complaints: &mut Complaints) {
    let mut names = BTreeSet::new();
    for (i, mechanism) in document.mechanisms.iter().enumerate() {
        let at = Path::root().join("mechanisms").join(i).join("name");
        if mechanism.name.trim().is_empty() {
            complaints.value(at, "the name of the mechanism is empty", "write a name");
        } else if !names.insert(mechanism.name.as_str()) {
            let message = format!("another mechanism is already named `{}`", mechanism.name);
            complaints.value(at, message, "give each mechanism a name of its own");
        }
    }
}

/// Checks the targets of the stopping rule and the numbers of replications.
fn check_until(until: &Until, document: &StudyDocument, complaints: &mut Complaints) {
    let at = Path::root().join("until");
    if until.relative.0 <= 0.0 && until.absolute <= 0.0 {
        complaints.value(
            at.join("relative"),
            "a half-width of 0 is never reached",
            "write a fraction above 0, such as 0.1",
        );
    }
    if !(until.absolute.is_finite() && until.absolute >= 0.0) {
        complaints.value(at.join("absolute"), "the half-width is out of range", "write a number of 0 or more");
    }
    let minimum = document.replications.unwrap_or(1).max(2);
    if until.max_replications < minimum || until.max_replications > MAX_REPLICATIONS {
        let help = format!("write a number from {minimum} to 100000");
        complaints.value(at.join("max-replications"), "the largest number of replications is out of range", help);
    }
    if document.replications == Some(1) {
        let help = "write `replications = 3`, or more";
        complaints.value(Path::root().join("replications"), "one replication has no confidence interval", help);
    }
    if until.of == Of::Difference && document.mechanisms.len() < 2 {
        complaints.value(at.join("of"), "there is no mechanism to compare with", "add two or more [[mechanisms]]");
    }
}
