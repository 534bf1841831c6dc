//! Sampling intervals that are too long for the timeline or for the measured time.

use super::pass::{Pass, Warnings};
use crate::document::WarningName;
use tailback_document::Path;
use tailback_units::{Dur, Time};

/// Adds a warning if samples are further apart than the measured time, or than the shortest phase of the timeline.
pub(super) fn check(pass: &Pass<'_>, found: &mut Warnings) {
    let plan = pass.plan;
    let Some(sample) = plan.sample else { return };
    let path = Path::root().join("run").join("sample");
    let mut add = |message: String, advice: String| found.add(WarningName::CoarseSample, path.clone(), message, advice);
    let measured = plan.end.since(plan.warmup);
    if sample > measured {
        let count = samples_within(sample, plan.warmup, plan.end);
        let samples = if count == 1 { "sample" } else { "samples" };
        add(
            format!("samples are {sample} apart, but only {measured} are measured: {count} {samples} in total"),
            format!("write \"{}\" or less", tenth(measured)),
        );
        return;
    }
    // Times of changes within the run, and its start and end, without duplicates.
    let changes = plan.timeline.iter().map(|change| change.at).filter(|at| *at > Time::ZERO && *at < plan.end);
    let mut times: Vec<Time> = [Time::ZERO].into_iter().chain(changes).chain([plan.end]).collect();
    times.dedup();
    if times.len() < 3 {
        return;
    }
    let phases = || times.windows(2).map(|ends| (ends[0], ends[1]));
    let Some((from, to)) = phases().min_by_key(|(from, to)| to.since(*from)) else { return };
    let length = to.since(from);
    if sample > length {
        let count = samples_within(sample, from, to);
        let samples = if count == 1 { "1 sample falls" } else { "no sample falls" };
        add(
            format!(
                "samples are {sample} apart, but the phase of the timeline from {} to {} takes {length}: {samples} into it",
                Dur(from.0),
                Dur(to.0)
            ),
            format!("write \"{}\" or less", tenth(length)),
        );
    }
}

/// Returns the number of samples after `from`, up to and including `to`; samples are at multiples of the interval.
fn samples_within(sample: Dur, from: Time, to: Time) -> u64 {
    to.0 / sample.0 - from.0 / sample.0
}

/// Returns a tenth of a time, at least 1 ps.
fn tenth(time: Dur) -> Dur {
    Dur((time.0 / 10).max(1))
}
