//! Detection of congestion in a queue, and the queue's congestion episodes.

use crate::plan::Detection;
use tailback_units::Time;

/// Detector of congestion in a queue: in the queue of a class at a port, or in a queue or the whole memory of a
/// crossbar's input. If the queue is partitioned by destination, congestion is detected for each destination.
#[derive(Debug)]
pub(crate) struct Detector {
    /// Occupancy, or its forecast, above which the queue becomes congested, buffer bytes.
    high: u64,
    /// Occupancy, or its forecast, below which congestion ends, buffer bytes.
    low: u64,
    detection: Detection,
    /// Growth of the queue, or of each destination's part of a partitioned queue; empty unless detection is by fill
    /// rate.
    growth: Vec<(Option<u16>, Growth)>,
    /// Episodes in progress: at most one, or one per destination if the queue is partitioned.
    pub episodes: Vec<Episode>,
    /// Upstream ports that sent into the queue since it was last empty.
    pub feeders: Vec<u32>,
}

/// Congestion episode of a queue.
#[derive(Debug)]
pub(crate) struct Episode {
    /// Node index of the congested destination; `None`: the queue is not partitioned by destination.
    pub destination: Option<u16>,
    /// Ports of the node whose neighbours have been notified.
    pub targets: Vec<u32>,
    /// Node indices of the destinations that the notifications named.
    pub addresses: Vec<u16>,
}

/// Change of state that an observation of the occupancy causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transition {
    Unchanged,
    Congested,
    Relieved,
}

/// Growth of a queue, measured over windows of time.
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    /// Start of the window.
    since: Time,
    /// Occupancy at the start of the window, buffer bytes.
    from: u64,
    /// Bytes per picosecond over the last full window.
    slope: f64,
}

impl Detector {
    pub fn new(detection: Detection, limit: u64) -> Detector {
        let mut detector =
            Detector { high: 0, low: 0, detection, growth: Vec::new(), episodes: Vec::new(), feeders: Vec::new() };
        detector.set_limit(limit);
        detector
    }

    /// Sets a new limit, buffer bytes; the thresholds remain the same fractions of it.
    pub fn set_limit(&mut self, limit: u64) {
        let (Detection::Watermark { high, low } | Detection::FillRate { high, low, .. }) = self.detection;
        self.set_thresholds(high, low, limit);
    }

    /// Sets new thresholds as fractions of the limit; an episode in progress ends below the new `low`.
    pub fn set_thresholds(&mut self, high: f64, low: f64, limit: u64) {
        // An unbounded queue is never congested.
        let mark = |fraction: f64| if limit == u64::MAX { u64::MAX } else { (limit as f64 * fraction) as u64 };
        (self.high, self.low) = (mark(high), mark(low));
        match &mut self.detection {
            Detection::Watermark { high: own_high, low: own_low }
            | Detection::FillRate { high: own_high, low: own_low, .. } => (*own_high, *own_low) = (high, low),
        }
    }

    /// Returns the occupancies above which congestion begins and below which it ends, buffer bytes.
    pub fn thresholds(&self) -> (u64, u64) {
        (self.high, self.low)
    }

    /// Returns the episode in progress: of the queue, or of `destination` if the queue is partitioned. `None`: there is
    /// no episode.
    pub fn episode(&mut self, destination: Option<u16>) -> Option<&mut Episode> {
        self.episodes.iter_mut().find(|e| e.destination == destination)
    }

    /// Evaluates an occupancy of `level` buffer bytes after an enqueue or a dequeue; `destination` is the one whose
    /// part of a partitioned queue has this occupancy.
    pub fn observe(&mut self, now: Time, level: u64, destination: Option<u16>) -> Transition {
        let congested = self.episodes.iter().any(|e| e.destination == destination);
        let expected = match self.detection {
            Detection::Watermark { .. } => level,
            Detection::FillRate { window, horizon, .. } => {
                let index = if let Some(index) = self.growth.iter().position(|(to, _)| *to == destination) {
                    index
                } else {
                    self.growth.push((destination, Growth { since: now, from: 0, slope: 0.0 }));
                    self.growth.len() - 1
                };
                let (_, growth) = &mut self.growth[index];
                let age = now.since(growth.since);
                if age >= window {
                    growth.slope = (level as f64 - growth.from as f64) / age.0 as f64;
                    growth.since = now;
                    growth.from = level;
                }
                // Only growth is extrapolated: a shrinking queue may be about to receive the next burst. The forecast
                // is thus never below the occupancy, and detects congestion no later than a watermark would.
                (level as f64 + growth.slope.max(0.0) * horizon.0 as f64) as u64
            }
        };
        // An empty queue always ends the episode, even if the forecast is high or `low` is 0: since the neighbours are
        // stopped, no frame would arrive to cause another observation.
        if !congested && expected > self.high && level > 0 {
            Transition::Congested
        } else if congested && (expected < self.low || level == 0) {
            Transition::Relieved
        } else {
            Transition::Unchanged
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_units::Dur;

    /// Begins an episode, as the caller of `observe` does after [`Transition::Congested`].
    fn enter(detector: &mut Detector) {
        detector.episodes.push(Episode { destination: None, targets: Vec::new(), addresses: Vec::new() });
    }

    #[test]
    fn congestion_begins_above_the_high_mark_and_ends_below_the_low_mark() {
        let mut d = Detector::new(Detection::Watermark { high: 0.8, low: 0.7 }, 1000);
        assert_eq!(d.observe(Time(0), 800, None), Transition::Unchanged);
        assert_eq!(d.observe(Time(0), 801, None), Transition::Congested);
        enter(&mut d);
        assert_eq!(d.observe(Time(0), 700, None), Transition::Unchanged);
        assert_eq!(d.observe(Time(0), 699, None), Transition::Relieved);
    }

    #[test]
    fn a_fast_filling_queue_is_congested_before_its_high_mark() {
        let fill = Detection::FillRate { high: 0.8, low: 0.7, window: Dur(10), horizon: Dur(100) };
        let mut d = Detector::new(fill, 1000);
        assert_eq!(d.observe(Time(0), 0, None), Transition::Unchanged);
        // 100 B in 10 ps: the forecast is 100 B + 10 B/ps · 100 ps = 1100 B, above 800 B.
        assert_eq!(d.observe(Time(10), 100, None), Transition::Congested);
        // 100 B in 100 ps: the forecast is 100 B + 1 B/ps · 100 ps = 200 B.
        let mut slow = Detector::new(fill, 1000);
        assert_eq!(slow.observe(Time(0), 0, None), Transition::Unchanged);
        assert_eq!(slow.observe(Time(100), 100, None), Transition::Unchanged);
    }

    #[test]
    fn an_empty_queue_is_never_congested_even_with_a_low_mark_of_0_or_a_high_forecast() {
        let mut d = Detector::new(Detection::Watermark { high: 0.8, low: 0.0 }, 1000);
        enter(&mut d);
        assert_eq!(d.observe(Time(0), 1, None), Transition::Unchanged);
        assert_eq!(d.observe(Time(0), 0, None), Transition::Relieved);
        let fill = Detection::FillRate { high: 0.8, low: 0.7, window: Dur(10), horizon: Dur(100) };
        let mut d = Detector::new(fill, 1000);
        assert_eq!(d.observe(Time(0), 1, None), Transition::Unchanged);
        assert_eq!(d.observe(Time(10), 900, None), Transition::Congested);
        enter(&mut d);
        assert_eq!(d.observe(Time(15), 0, None), Transition::Relieved);
        d.episodes.clear();
        assert_eq!(d.observe(Time(16), 0, None), Transition::Unchanged);
    }

    #[test]
    fn an_unbounded_queue_is_never_congested() {
        let mut d = Detector::new(Detection::Watermark { high: 0.8, low: 0.7 }, u64::MAX);
        assert_eq!(d.observe(Time(0), u64::MAX / 2, None), Transition::Unchanged);
    }
}
