//! The keys of the document that can change during a run, by their path.

use tailback_document::{Path, Step};

/// Tables of the document that are tunable as a whole, and whose keys are all tunable except those in [`FIXED`].
const WITHIN: [&str; 6] = ["discipline", "source", "congestion-notification", "rate-limiters", "shaper", "model"];

/// Keys that are tunable outside the tables of [`WITHIN`]; in `flows` only `state`.
const SINGLE: [&str; 8] = ["rate", "delay", "loss", "jitter", "buffer", "high", "low", "state"];

/// Keys that are fixed in every table.
const FIXED: [&str; 3] = ["kind", "match", "accounting"];

/// Returns the last key of a path, as it is written.
pub(crate) fn last_key(path: &str) -> &str {
    path.trim().rsplit('.').next().unwrap_or_default()
}

/// Returns `true` if the keys of a path allow it to be tunable. Whether a running network can follow a change of its
/// value is decided by the difference of the plans.
pub(crate) fn is_tunable(path: &str) -> bool {
    let Some(path) = Path::parse(path.trim()) else { return false };
    let keys: Vec<&str> =
        path.0.iter().filter_map(|step| if let Step::Key(key) = step { Some(&**key) } else { None }).collect();
    are_tunable(&keys)
}

/// Returns the answer of [`is_tunable`] for a path that has these keys; indices of lists are left out.
pub(crate) fn are_tunable(keys: &[&str]) -> bool {
    let Some((first, inner)) = keys.split_first() else { return false };
    let Some(last) = inner.last() else { return false };
    let section = matches!(*first, "links" | "switches" | "hosts" | "network" | "flows" | "backpressure");
    let single = SINGLE.contains(last) && !(*first == "flows" && *last != "state");
    let within = inner.iter().any(|key| WITHIN.contains(key));
    // Some keys of these tables have names that are in `SINGLE`.
    let other = matches!(keys, ["network", "framing", ..] | ["switches", _, "ports", _, "conditioners", ..]);
    section && (single || within) && !other && !inner.iter().any(|key| FIXED.contains(key))
}
