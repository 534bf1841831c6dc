//! Values that change during a run: `set` in the timeline, and the keys of `run.tunable`.
//!
//! A change is made in the document, which is then checked and compiled as any other. The difference between the two
//! plans is what changes in the running network; a difference that a running network cannot follow is refused.

use crate::complaint::{Complaint, On};
use crate::document::{Document, Tunable};
use crate::files::{self, Files};
use crate::schema::schema;
use crate::tunable_keys::{is_tunable, last_key};
use crate::{build, decode, presets, set};
use serde_json::Value;
use tailback_document::{Path, Step};
use tailback_sim::plan::{self, Change, ChangeKind, NodeKind, Plan};
use tailback_units::{Amount, Time, parse_amount, parse_bytes, parse_duration, parse_fraction, parse_rate};

/// A document whose values change: the tree without a timeline, and the plan to which it compiles.
#[derive(Clone, Debug)]
pub(crate) struct Tuned {
    tree: Value,
    plan: Plan,
    files: Files,
    /// `true` if the timeline changes links or thresholds by keys other than `set`, which the tree does not show.
    other_changes: bool,
}

/// A pair of a path and its new value.
pub(crate) type Pair<'a> = (&'a str, &'a Value);

impl Tuned {
    /// Returns the state at the start of a run of a document and its plan.
    pub fn new(document: &Document, plan: &Plan, files: &Files) -> Tuned {
        let mut tree = serde_json::to_value(document).unwrap_or_default();
        if let Some(map) = tree.as_object_mut() {
            map.remove("timeline");
        }
        let changes = |change: &Change| {
            matches!(change.what, ChangeKind::LinkRate(..) | ChangeKind::LinkDelay(..) | ChangeKind::Thresholds { .. })
        };
        let other_changes = plan.timeline.iter().any(changes);
        Tuned { tree, plan: Plan { timeline: Vec::new(), ..plan.clone() }, files: files.clone(), other_changes }
    }

    /// Sets new values. Returns the resulting changes of the network, none if all values equal the current ones.
    ///
    /// # Errors
    /// If a path or value is invalid, or cannot change during a run; if the values equal those of the document although
    /// the timeline may have changed them by keys other than `set`. Then nothing has changed. The path of a complaint
    /// is a path in the document, or has the text of a pair's path as its only key.
    pub fn set(&mut self, pairs: &[Pair<'_>]) -> Result<Vec<ChangeKind>, Vec<Complaint>> {
        let mut tree = self.tree.clone();
        for &(path, value) in pairs {
            let refused = |message, help: &str| {
                let path = Path(vec![Step::Key(path.to_owned())]);
                vec![Complaint { path, on: On::Key, message, help: Some(help.to_owned()) }]
            };
            let places = set::places(&tree, path)
                .map_err(|message| refused(message, "a path is written as for `--set`, such as `links[0].rate`"))?;
            if last_key(path) == "state" {
                let help = "write `link = [\"a\", \"b\"]`, `flow = \"data\"` or `host = \"h1\"` with `state`";
                return Err(refused("a state is not set by its key in the timeline".to_owned(), help));
            }
            if !is_tunable(path) {
                return Err(refused(format!("`{path}` is fixed during a run"), TUNABLE));
            }
            for place in places {
                set::put(&mut tree, &self.tree, &place, value.clone());
            }
        }
        let mut document: Document = decode::document(schema, &presets::completed(&tree))?;
        files::load(&mut document, &self.files)?;
        let plan = build::plan(&document)?;
        let found = plan::changes(&self.plan, &plan).map_err(|what| {
            let paths: Vec<&str> = pairs.iter().map(|(path, _)| *path).collect();
            let path = Path(vec![Step::Key(paths.join(", "))]);
            let message = format!("this would change {what}, which is fixed during a run");
            vec![Complaint { path, on: On::Value, message, help: Some(TUNABLE.to_owned()) }]
        })?;
        if found.is_empty() && self.other_changes {
            let path = Path(vec![Step::Key(pairs.iter().map(|(path, _)| *path).collect::<Vec<_>>().join(", "))]);
            let message = "these are the values of the document, which the timeline changes by other keys than `set`";
            let help = "write the other changes of the timeline with `set` as well";
            return Err(vec![Complaint { path, on: On::Value, message: message.into(), help: Some(help.into()) }]);
        }
        (self.tree, self.plan) = (tree, plan);
        Ok(found)
    }

    /// Returns the paths in the document that a path with `*` or names matches; the error is a message.
    pub fn places(&self, path: &str) -> Result<Vec<Path>, String> {
        set::places(&self.tree, path)
    }
}

/// Advice on a key that is fixed: the keys that can change.
const TUNABLE: &str = "links' rate, delay, loss and jitter, buffers, parameters of disciplines, thresholds, shapers and \
                       parameters of sources can change";

/// Adds the changes of `set` in the timeline of a document to its plan, and what `run.tunable` needs.
///
/// # Errors
/// If a change is refused, with its place in the timeline; if a tunable key does not exist, or is fixed.
pub(crate) fn compile(document: &Document, plan: &mut Plan, files: &Files) -> Result<(), Vec<Complaint>> {
    let sets =
        || document.timeline.iter().enumerate().filter_map(|(i, change)| Some((i, change.at, change.set.as_ref()?)));
    if sets().next().is_none() && document.run.tunable.is_empty() {
        return Ok(());
    }
    let mut tuned = Tuned::new(document, plan, files);
    let mut complaints = Vec::new();
    let mut sets: Vec<_> = sets().collect();
    sets.sort_by_key(|(_, at, _)| *at);
    for (i, at, pairs) in sets {
        let place = Path::root().join("timeline").join(i).join("set");
        let pairs: Vec<Pair<'_>> = pairs.iter().map(|(path, value)| (path.as_str(), value)).collect();
        match tuned.set(&pairs) {
            Ok(kinds) => {
                let at = Time(at.0);
                let first = plan.timeline.partition_point(|change| change.at <= at);
                let changes = kinds.into_iter().map(|what| Change { at, what });
                plan.timeline.splice(first..first, changes);
            }
            Err(found) => complaints.extend(found.into_iter().map(|complaint| moved(complaint, &place, &pairs))),
        }
    }
    for (i, tunable) in document.run.tunable.iter().enumerate() {
        let place = Path::root().join("run").join("tunable").join(i);
        if let Err((message, help)) = declare(tunable, &tuned, plan) {
            complaints.push(Complaint { path: place, on: On::Value, message, help: Some(help) });
        }
    }
    plan.tunable.links.sort_unstable();
    plan.tunable.links.dedup();
    if complaints.is_empty() { Ok(()) } else { Err(complaints) }
}

/// Moves a complaint about a changed document to the pair, in the table at `place`, that has changed it.
fn moved(complaint: Complaint, place: &Path, pairs: &[Pair<'_>]) -> Complaint {
    let own = pairs.iter().find(|(path, _)| complaint.path.0.as_slice() == [Step::Key((*path).to_owned())]);
    if let Some((path, _)) = own {
        return Complaint { path: place.join(*path), ..complaint };
    }
    // The complaint is about a key of the document. With several pairs the message names that key, since any of the
    // pairs may be the cause.
    let (path, message) = match pairs {
        [(path, _)] => (place.join(*path), complaint.message),
        _ => (place.clone(), format!("`{}`: {}", complaint.path, complaint.message)),
    };
    Complaint { path, message, ..complaint }
}

/// Records in the plan the links and hosts that a tunable key may change; the error is a message and advice.
fn declare(tunable: &Tunable, tuned: &Tuned, plan: &mut Plan) -> Result<(), (String, String)> {
    let Tunable { key, min, max } = tunable;
    let places = tuned.places(key).map_err(|message| (message, "a path is written as for `--set`".to_owned()))?;
    if !is_tunable(key) {
        return Err((format!("`{key}` is fixed during a run"), TUNABLE.to_owned()));
    }
    if last_key(key) == "delay" && min.is_none() {
        let help =
            format!("write {{ key = \"{key}\", min = \"1ms\" }}: the delay bounds the lookahead of parallel runs");
        return Err((format!("`{key}` has no smallest value"), help));
    }
    for bound in [min, max].into_iter().flatten() {
        // A bound in another dimension, or without a magnitude, would limit nothing.
        let mut trial = Tuned { other_changes: false, ..tuned.clone() };
        if magnitude(bound).is_none() || trial.set(&[(key.as_str(), bound)]).is_err() {
            let help = "write a number or quantity that the key can have, in its notation".to_owned();
            return Err((format!("the bound {bound} is not a value that `{key}` can have"), help));
        }
    }
    for place in places {
        match place.0.as_slice() {
            [Step::Key(section), ..] if section == "flows" || section == "backpressure" => {}
            [Step::Key(section), Step::Key(host), Step::Key(last)] if section == "hosts" && last == "state" => {
                let storming = (0..).zip(&plan.nodes).filter(|(_, node)| {
                    matches!(node.kind, NodeKind::Host(_))
                        && node.name.strip_prefix(host.as_str()).is_some_and(is_number)
                });
                plan.tunable.storms.extend(storming.map(|(node, _)| node));
            }
            // An entry of `links` may have several links in the plan, and a switch has several.
            _ => plan.tunable.links.extend(0..plan.links.len() as u32),
        }
    }
    Ok(())
}

/// Returns `true` if the end of a node's name is the number that nodes with a `count` have, or is empty.
fn is_number(end: &str) -> bool {
    end.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the value of a number or of a quantity: percentages as fractions, others in ps, bit/s, bytes or 1/1000
/// packet. `None`: the value is neither.
pub(crate) fn magnitude(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let fraction = parse_fraction(text).ok();
            let duration = || parse_duration(text).ok().map(|duration| duration.0 as f64);
            let rate = || parse_rate(text).ok().map(|rate| rate.0 as f64);
            let bytes = || parse_bytes(text).ok().map(|bytes| bytes as f64);
            let packets = || match parse_amount(text).ok()? {
                Amount::Millipackets(n) => Some(n as f64),
                Amount::Bytes(n) => Some(n as f64),
            };
            fraction.or_else(duration).or_else(rate).or_else(bytes).or_else(packets)
        }
        _ => None,
    }
}
