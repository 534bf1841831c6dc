//! Explanation of a port's queue.

use super::blame::{BlameRow, Worst};
use super::chain::{StopNode, Tree};
use super::log::Log;
use super::packet::{Culprit, chain_culprit};
use super::queue::waiting_at;
use super::spans::Spans;
use super::stops::intervals;
use super::units::{instant, percent, size};
use serde::Serialize;
use std::fmt::Write;
use tailback_units::Time;

/// Explanation of a port's queue at its longest, and of its composition over the run.
#[derive(Clone, Debug, Serialize)]
pub struct PortStory {
    /// The explanation in one sentence.
    pub verdict: String,
    /// Name of the port.
    pub port: String,
    /// The queue at its longest.
    pub worst: Worst,
    /// Sums of each flow over the run, that with the largest share of the queue first.
    pub blame: Vec<BlameRow>,
    /// Time for which notifications had stopped some traffic of the port up to the instant of the longest queue,
    /// picoseconds.
    pub stopped_ps: u64,
    /// Stop of the port at the instant of the longest queue; `None`: the port was not stopped.
    pub chain: Option<StopNode>,
    /// Cause of the longest queue.
    pub culprit: Culprit,
    /// Start of the interval that the rows must cover. If the rows of the log begin later, the explanation must be
    /// repeated with earlier rows.
    #[serde(skip)]
    pub needs: Time,
}

/// Explains the queue of the port with index `number`. `log` has the rows for the instant at which the queue is
/// longest; the pair is the result of [`super::Blame::finish`].
pub fn port(log: &Log<'_>, number: u32, (worst, rows): (Worst, Vec<BlameRow>)) -> PortStory {
    let name = log.port_name(number);
    let at = Time(worst.time_ps);
    let waits: Vec<(u8, u16)> = waiting_at(log, number, at)
        .into_iter()
        .map(|index| log.row(index))
        .map(|row| (row.class, log.destination(row)))
        .collect();
    let mut tree = Tree::new(log);
    let chain = tree.stop(number, at, &waits);
    let needs = tree.earliest.min(at);
    let stopped = intervals(log, number).into_iter().filter(|interval| !interval.slows);
    let stopped = Spans::within(0, worst.time_ps, stopped.map(|interval| (interval.start.0, interval.end.0)));
    let mut culprit = chain.as_ref().map_or_else(Culprit::default, chain_culprit);
    let first = worst.shares.first();
    if culprit.kind.is_empty() {
        culprit = Culprit {
            kind: "overload".to_owned(),
            port: Some(name.clone()),
            flow: first.map(|share| share.flow.clone()),
            ..Culprit::default()
        };
    }
    let mut verdict = match first {
        None => format!("{name}: no packet ever waited"),
        Some(share) => format!(
            "{name} held most at {}: {}, of which {} were {}'s",
            instant(worst.time_ps),
            size(worst.bytes),
            percent(share.bytes, worst.bytes),
            share.flow
        ),
    };
    if chain.is_some() {
        let _ = write!(verdict, "; it was stopped: {}", culprit.words);
    }
    let drops: u64 = rows.iter().map(|row| row.dropped_packets).sum();
    if let Some(most_dropped) = rows.iter().max_by_key(|row| row.dropped_packets)
        && drops > 0
    {
        let _ = write!(
            verdict,
            "; {drops} packets were dropped over the run, {} of {}",
            most_dropped.dropped_packets, most_dropped.flow
        );
    }
    PortStory { verdict, port: name, worst, blame: rows, stopped_ps: stopped.length(), chain, culprit, needs }
}
