//! The flows of which RED drops packets in most intervals (monitored flows), and the probabilities with which the
//! filter drops their packets.

use super::Params;
use crate::retune::Retune;
use crate::state::{INDEX, bytes_of};
use std::collections::VecDeque;
use tailback_random::Rng;
use tailback_units::{Dur, Time};

/// Drop rate up to which no flow is monitored.
const MIN_DROP_RATE: f64 = 0.001;
/// Upper bound of a flow's filter probability when its monitoring begins.
const MAX_INITIAL: f64 = 0.5;
/// Filter probability at or below which a flow that RED no longer drops is released.
const RELEASED_AT: f64 = 0.005;
/// Largest decrement of a filter probability.
const MAX_DECREMENT: f64 = 0.05;
/// Number of intervals between two increases of a flow's probability.
const TO_RAISE: usize = 4;
/// Number of intervals between two decreases of a flow's probability.
const TO_LOWER: usize = 3;

/// The flows' record of drops and their probabilities.
#[derive(Debug)]
pub(super) struct Monitor {
    /// State of each flow, by its index (`slot`).
    flows: Vec<Flow>,
    /// For each of the last intervals, the oldest first, the flows of which RED dropped packets, with their dropped
    /// bytes.
    history: VecDeque<Vec<(usize, u64)>>,
    /// Lengths of the last intervals, the newest first.
    lengths: VecDeque<Dur>,
    /// Bytes that reached RED in this interval.
    arrived: u64,
    /// Bytes that RED dropped or marked in this interval.
    dropped: u64,
    /// Average over the intervals of the fraction of bytes dropped. `None`: no interval has ended
    /// yet.
    drop_rate: Option<f64>,
    /// End of this interval.
    due: Time,
    // Parameters of [`Params`]; `remembered` is `flows`.
    rtt: Dur,
    hold: Dur,
    intervals: u32,
    needed: u32,
    remembered: u32,
}

/// State of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// Bytes that RED dropped or marked in this interval.
    dropped: u64,
    /// Probability with which the filter drops packets of the flow; 0: the flow is not monitored.
    probability: f64,
    /// Number of packets of the flow since the filter last dropped one.
    count: u64,
    /// Time of the last change of `probability`.
    changed: Time,
}

/// Removes intervals beyond the new number; the present interval ends within ten times the new `rtt`.
impl Retune for Monitor {
    fn adopt(&mut self, now: Time, fresh: Monitor) {
        (self.rtt, self.hold, self.intervals) = (fresh.rtt, fresh.hold, fresh.intervals);
        (self.needed, self.remembered) = (fresh.needed, fresh.remembered);
        let extra = self.history.len().saturating_sub(self.intervals as usize);
        self.history.drain(..extra);
        self.lengths.truncate(self.intervals as usize);
        self.due = self.due.min(now + self.rtt * 10);
    }
}

impl Monitor {
    pub fn new(params: &Params) -> Monitor {
        let Params { rtt, hold, intervals, needed, flows, .. } = *params;
        Monitor {
            flows: Vec::new(),
            history: VecDeque::new(),
            lengths: VecDeque::new(),
            arrived: 0,
            dropped: 0,
            drop_rate: None,
            due: Time::ZERO + rtt * 10,
            rtt,
            hold,
            intervals,
            needed,
            remembered: flows,
        }
    }
    /// Returns the time at which [`Monitor::judge`] is due.
    pub fn due(&self) -> Time {
        self.due
    }
    /// Counts a packet that has passed the filter.
    pub fn arrive(&mut self, bytes: u16) {
        self.arrived += u64::from(bytes);
    }
    pub fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) {
        f("monitored_flows", self.flows.iter().filter(|flow| flow.probability > 0.0).count() as f64);
        f("largest_filter_probability", self.flows.iter().map(|flow| flow.probability).fold(0.0, f64::max));
    }
    pub fn state_bytes(&self) -> usize {
        let history: usize = self.history.iter().map(|list| list.len() * (INDEX + size_of::<u64>())).sum();
        let lengths = self.lengths.len() * size_of::<Dur>();
        let own = bytes_of!(self; arrived, dropped, drop_rate, due);
        own + size_of_val(self.flows.as_slice()) + history + lengths
    }
    /// Returns `true` if the filter drops an arriving packet of the flow `slot`. Without `busy` it drops no packet, but
    /// makes the same random draw.
    pub fn filters(&mut self, slot: usize, busy: bool, rng: &mut Rng) -> bool {
        if slot >= self.flows.len() {
            self.flows.resize(slot + 1, Flow::default());
        }
        let flow = &mut self.flows[slot];
        if flow.probability == 0.0 {
            return false;
        }
        let accumulated = flow.count as f64 * flow.probability;
        let p = if accumulated < 1.0 { flow.probability / (1.0 - accumulated) } else { 1.0 };
        if rng.chance(p) && busy {
            flow.count = 0;
            return true;
        }
        flow.count += 1;
        false
    }
    /// Counts a packet of the flow `slot` that RED has dropped or marked.
    pub fn drop(&mut self, slot: usize, bytes: u16) {
        self.flows[slot].dropped += u64::from(bytes);
        self.dropped += u64::from(bytes);
    }
    /// Returns the minimum time between two changes of a flow's probability: the length of the last `n` intervals, at
    /// least `hold`.
    fn min_time_between_changes(&self, n: usize) -> Dur {
        let sum = self.lengths.iter().take(n).fold(Dur::ZERO, |sum, length| sum + *length);
        sum.max(self.hold)
    }
    /// Returns the number of remembered intervals in which RED dropped packets of a flow, and the flow's dropped bytes
    /// in these intervals.
    fn record(&self, slot: usize) -> (u32, u64) {
        let dropped_bytes = |list: &Vec<(usize, u64)>| list.iter().find(|(s, _)| *s == slot).map(|(_, bytes)| *bytes);
        self.history.iter().filter_map(dropped_bytes).fold((0, 0), |(n, sum), bytes| (n + 1, sum + bytes))
    }
    /// Ends an interval: raises the probabilities of the flows that RED dropped too regularly, and lowers those of the
    /// flows that RED no longer drops.
    pub fn judge(&mut self, now: Time) {
        let current = if self.arrived == 0 { 0.0 } else { self.dropped as f64 / self.arrived as f64 };
        let average = self.drop_rate.map_or(current, |average| 0.5 * current + 0.5 * average);
        self.drop_rate = Some(average);
        self.remember();
        let regular: Vec<(usize, u64)> = (0..self.flows.len())
            .map(|slot| (slot, self.record(slot)))
            .filter(|(_, (times, _))| *times >= self.needed)
            .map(|(slot, (_, bytes))| (slot, bytes))
            .collect();
        let mean = regular.iter().map(|(_, bytes)| *bytes as f64).sum::<f64>() / regular.len() as f64;
        if current > MIN_DROP_RATE {
            let min_time = self.min_time_between_changes(TO_RAISE);
            for (slot, bytes) in regular {
                let flow = &mut self.flows[slot];
                let step = current.min(average) * bytes as f64 / mean;
                if flow.dropped > 0 && now.since(flow.changed) >= min_time {
                    flow.probability = raised(flow.probability, step, current.min(average));
                    flow.changed = now;
                }
            }
        }
        self.schedule(now, average);
        let min_time = self.min_time_between_changes(TO_LOWER);
        for slot in 0..self.flows.len() {
            let Flow { probability, changed, .. } = self.flows[slot];
            if probability > 0.0 && now.since(changed) >= min_time && self.record(slot).0 == 0 {
                self.flows[slot].probability = lowered(probability);
                self.flows[slot].changed = now;
            }
            self.flows[slot].dropped = 0;
        }
        (self.arrived, self.dropped) = (0, 0);
    }
    /// Adds this interval's drops to the history.
    fn remember(&mut self) {
        let mut list: Vec<(usize, u64)> =
            self.flows.iter().enumerate().filter(|(_, f)| f.dropped > 0).map(|(slot, f)| (slot, f.dropped)).collect();
        list.sort_by_key(|(_, bytes)| core::cmp::Reverse(*bytes));
        list.truncate(self.remembered as usize);
        self.history.push_back(list);
        if self.history.len() > self.intervals as usize {
            self.history.pop_front();
        }
    }
    /// Sets the end of the next interval. Its length is the time between drops of a TCP with the target round-trip
    /// time, times `needed` / `intervals`, limited to 2 to 10 round-trip times.
    fn schedule(&mut self, now: Time, drop_rate: f64) {
        let (shortest, longest) = (self.rtt * 2, self.rtt * 10);
        let part = f64::from(self.needed) / f64::from(self.intervals);
        let length = Dur::from_secs_f64(part * self.rtt.as_secs() / (1.5 * drop_rate).sqrt());
        let length = if drop_rate == 0.0 { longest } else { length.clamp(shortest, longest) };
        self.due = now + length;
        // As in ns-2.35 an interval after a drop rate of 0 does not enter the list of lengths.
        if drop_rate > 0.0 {
            self.lengths.push_front(length);
            self.lengths.truncate(self.intervals as usize);
        }
    }
}

/// Returns the new probability of a flow that RED has dropped too regularly. `step` is the drop rate times the ratio of
/// the flow's dropped bytes to the mean of such flows.
fn raised(probability: f64, step: f64, drop_rate: f64) -> f64 {
    if probability == 0.0 {
        return step.min(2.0 * drop_rate).min(MAX_INITIAL);
    }
    let next = probability + step.min(probability);
    if next > 1.0 { 1.0 - (1.0 - probability) / 2.0 } else { next }
}

/// Returns the new probability of a flow that RED no longer drops; 0 releases the flow.
fn lowered(probability: f64) -> f64 {
    match probability {
        p if p <= RELEASED_AT => 0.0,
        p if p > 2.0 * MAX_DECREMENT => p - MAX_DECREMENT,
        p => p / 2.0,
    }
}
