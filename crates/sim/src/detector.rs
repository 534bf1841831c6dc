//! Detection of congestion in one output queue, and the episodes in which it is congested.

use crate::plan::Detection;
use tailback_units::Time;

/// The detector of one class of one port (or, partitioned, of each destination in it).
#[derive(Debug)]
pub(crate) struct Detector {
    /// Occupancy above which a queue becomes congested, buffer bytes.
    high: u64,
    /// Occupancy below which it is relieved, buffer bytes.
    low: u64,
    detection: Detection,
    /// Growth of the queue (fill-rate detection), by destination where partitioned.
    growth: Vec<(Option<u16>, Growth)>,
    /// Episodes under way: at most one, or one per destination where partitioned.
    pub episodes: Vec<Episode>,
    /// Upstream ports that have sent into the queue since it last was empty.
    pub feeders: Vec<u32>,
}

/// A time during which a queue is congested.
#[derive(Debug)]
pub(crate) struct Episode {
    /// The destination that is congested, where each has a limit of its own.
    pub destination: Option<u16>,
    /// Ports through which neighbours have been told.
    pub targets: Vec<u32>,
    /// Addresses that they have been told.
    pub addresses: Vec<u16>,
}

/// What an observation of the occupancy means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Stays,
    Congested,
    Relieved,
}

#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    since: Time,
    from: u64,
    /// Bytes per picosecond over the last full window.
    slope: f64,
}

impl Detector {
    pub fn new(detection: Detection, limit: u64) -> Detector {
        let mut detector =
            Detector { high: 0, low: 0, detection, growth: Vec::new(), episodes: Vec::new(), feeders: Vec::new() };
        let (high, low) = match detection {
            Detection::Watermark { high, low } | Detection::FillRate { high, low, .. } => (high, low),
        };
        detector.set_thresholds(high, low, limit);
        detector
    }

    /// Takes new thresholds, as fractions of the limit; an episode under way goes on under them.
    pub fn set_thresholds(&mut self, high: f64, low: f64, limit: u64) {
        // An unbounded queue is never congested.
        let mark = |fraction: f64| if limit == u64::MAX { u64::MAX } else { (limit as f64 * fraction) as u64 };
        self.high = mark(high);
        self.low = mark(low);
    }

    /// The episode of `destination` (none where not partitioned), if it is congested.
    pub fn episode(&mut self, destination: Option<u16>) -> Option<&mut Episode> {
        self.episodes.iter_mut().find(|e| e.destination == destination)
    }

    /// Judges an occupancy of `level` bytes, seen at an enqueue or a dequeue.
    pub fn observe(&mut self, now: Time, level: u64, destination: Option<u16>) -> Turn {
        let congested = self.episodes.iter().any(|e| e.destination == destination);
        let expected = match self.detection {
            Detection::Watermark { .. } => level,
            Detection::FillRate { window, horizon, .. } => {
                let at = match self.growth.iter().position(|g| g.0 == destination) {
                    Some(at) => at,
                    None => {
                        self.growth.push((destination, Growth { since: now, from: 0, slope: 0.0 }));
                        self.growth.len() - 1
                    }
                };
                let growth = &mut self.growth[at].1;
                let age = now.since(growth.since);
                if age >= window {
                    growth.slope = (level as f64 - growth.from as f64) / age.0 as f64;
                    growth.since = now;
                    growth.from = level;
                }
                // Growth only: a queue that has been falling may be about to be hit by the next burst,
                // so the forecast is never below the queue itself, and acts no later than a watermark.
                (level as f64 + growth.slope.max(0.0) * horizon.0 as f64) as u64
            }
        };
        // An empty queue is relieved whatever the low mark or the forecast: once the neighbours have
        // stopped, no frame would come to bring another observation.
        if !congested && expected > self.high && level > 0 {
            Turn::Congested
        } else if congested && (expected < self.low || level == 0) {
            Turn::Relieved
        } else {
            Turn::Stays
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_units::Dur;

    fn enter(detector: &mut Detector) {
        detector.episodes.push(Episode { destination: None, targets: Vec::new(), addresses: Vec::new() });
    }

    #[test]
    fn watermarks_turn_above_high_and_below_low_and_not_between() {
        let mut d = Detector::new(Detection::Watermark { high: 0.8, low: 0.7 }, 1000);
        assert_eq!(d.observe(Time(0), 800, None), Turn::Stays);
        assert_eq!(d.observe(Time(0), 801, None), Turn::Congested);
        enter(&mut d);
        assert_eq!(d.observe(Time(0), 700, None), Turn::Stays);
        assert_eq!(d.observe(Time(0), 699, None), Turn::Relieved);
    }

    #[test]
    fn a_fast_filling_queue_is_congested_before_its_high_mark() {
        let fill = Detection::FillRate { high: 0.8, low: 0.7, window: Dur(10), horizon: Dur(100) };
        let mut d = Detector::new(fill, 1000);
        assert_eq!(d.observe(Time(0), 0, None), Turn::Stays);
        assert_eq!(d.observe(Time(10), 100, None), Turn::Congested);
        let mut slow = Detector::new(fill, 1000);
        assert_eq!(slow.observe(Time(0), 0, None), Turn::Stays);
        assert_eq!(slow.observe(Time(100), 100, None), Turn::Stays);
    }

    #[test]
    fn an_empty_queue_is_relieved_whatever_its_low_mark_or_the_forecast() {
        let mut d = Detector::new(Detection::Watermark { high: 0.8, low: 0.0 }, 1000);
        enter(&mut d);
        assert_eq!(d.observe(Time(0), 1, None), Turn::Stays);
        assert_eq!(d.observe(Time(0), 0, None), Turn::Relieved);
        let fill = Detection::FillRate { high: 0.8, low: 0.7, window: Dur(10), horizon: Dur(100) };
        let mut d = Detector::new(fill, 1000);
        assert_eq!(d.observe(Time(0), 1, None), Turn::Stays);
        assert_eq!(d.observe(Time(10), 900, None), Turn::Congested);
        enter(&mut d);
        assert_eq!(d.observe(Time(15), 0, None), Turn::Relieved);
        d.episodes.clear();
        assert_eq!(d.observe(Time(16), 0, None), Turn::Stays);
    }

    #[test]
    fn an_unbounded_queue_is_never_congested() {
        let mut d = Detector::new(Detection::Watermark { high: 0.8, low: 0.7 }, u64::MAX);
        assert_eq!(d.observe(Time(0), u64::MAX / 2, None), Turn::Stays);
    }
}
