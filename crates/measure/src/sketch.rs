//! A histogram of integers with buckets of constant relative width: recording costs a shift and an addition, two
//! histograms merge exactly, and the error of quantiles is bounded.
//!
//! The layout is the log-linear one of HdrHistogram (Tene 2012): each octave is divided into [`SUB_BUCKETS`] equal
//! parts. Values below 256 have a bucket each, so they are exact.

/// Binary logarithm of the number of buckets per octave.
const SUB_BITS: u32 = 7;
/// Number of buckets per octave.
const SUB_BUCKETS: usize = 1 << SUB_BITS;
/// Bound below which every value has its own bucket: values of up to [`SUB_BITS`] + 1 bits.
const EXACT_BELOW: u64 = 1 << (SUB_BITS + 1);

/// A mergeable histogram of `u64` values.
///
/// Unit: that of the values recorded (delays are in picoseconds). Range: all of `u64`. A quantile is within a relative
/// error of [`Sketch::RELATIVE_ERROR`] of an observed value of that rank. Memory: 8 bytes per bucket from the lowest
/// octave used to the highest, at most 60 kB.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Count of bucket `base + i`.
    counts: Vec<u64>,
    /// Index of the bucket of `counts[0]`, a multiple of [`SUB_BUCKETS`].
    base: usize,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// A non-empty bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Position in the layout, 0 to 7423; the same for every sketch.
    pub index: u32,
    /// Smallest value of the bucket.
    pub low: u64,
    /// Largest value of the bucket.
    pub high: u64,
    /// Number of values, above 0.
    pub count: u64,
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch::new()
    }
}

impl PartialEq for Sketch {
    /// Compares contents; allocated capacity is ignored.
    fn eq(&self, other: &Sketch) -> bool {
        self.count == other.count
            && self.sum == other.sum
            && self.min == other.min
            && self.max == other.max
            && self.buckets().eq(other.buckets())
    }
}
impl Eq for Sketch {}

impl Sketch {
    /// Upper bound of the relative error of a quantile: half a bucket's width over its lowest value, 2^-8.
    pub const RELATIVE_ERROR: f64 = 1.0 / 256.0;

    /// Returns an empty sketch; it allocates at the first value.
    pub const fn new() -> Sketch {
        Sketch { counts: Vec::new(), base: 0, count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Records one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let index = index_of(value);
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        // Below the base the difference wraps to a huge number, so one comparison checks both ends.
        match self.counts.get_mut(index.wrapping_sub(self.base)) {
            Some(slot) => *slot += 1,
            None => self.record_outside(index),
        }
    }

    /// Counts a value whose bucket `counts` does not include yet.
    #[cold]
    #[inline(never)]
    fn record_outside(&mut self, index: usize) {
        self.extend_to(index, index);
        self.counts[index - self.base] += 1;
    }

    /// Extends the counts, by whole octaves, to include buckets `low` to `high`.
    fn extend_to(&mut self, low: usize, high: usize) {
        let low = low / SUB_BUCKETS * SUB_BUCKETS;
        let end = (high / SUB_BUCKETS + 1) * SUB_BUCKETS;
        if self.counts.is_empty() {
            self.base = low;
        }
        if low < self.base {
            let missing = self.base - low;
            self.counts.splice(0..0, core::iter::repeat_n(0, missing));
            self.base = low;
        }
        if end > self.base + self.counts.len() {
            self.counts.resize(end - self.base, 0);
        }
    }

    /// Adds the values of `other`; the result is equal to a sketch in which all values were recorded.
    pub fn merge(&mut self, other: &Sketch) {
        if other.count == 0 {
            return;
        }
        self.extend_to(other.base, other.base + other.counts.len() - 1);
        let offset = other.base - self.base;
        for (count, added) in self.counts[offset..].iter_mut().zip(&other.counts) {
            *count += added;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of values recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact sum of the values recorded.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Returns the smallest value recorded, exactly; `None`: empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest value recorded, exactly; `None`: empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the mean of the values recorded, from the exact sum; `None`: empty.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the value of rank ⌈q·count⌉ (nearest rank), as the midpoint of its bucket, clamped to the smallest and
    /// largest value recorded; the first and the last rank are exact. `q` is clamped to 0 to 1. `None`: the sketch is
    /// empty or `q` is NaN.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        if self.count == 0 || q.is_nan() {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * self.count as f64).ceil() as u64).clamp(1, self.count);
        if rank == 1 {
            return Some(self.min);
        }
        if rank == self.count {
            return Some(self.max);
        }
        let mut cumulated = 0;
        let bucket = self.buckets().find(|bucket| {
            cumulated += bucket.count;
            cumulated >= rank
        })?;
        let middle = bucket.low + (bucket.high - bucket.low) / 2;
        Some(middle.clamp(self.min, self.max))
    }

    /// Returns the non-empty buckets in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(i, &count)| {
            let index = self.base + i;
            let (low, high) = limits_of(index);
            Bucket { index: index as u32, low, high, count }
        })
    }
}

/// Returns the index of a value's bucket, 0 to 7423, which increases with the value.
#[inline]
fn index_of(value: u64) -> usize {
    // The OR makes the shift 0 for values below `EXACT_BELOW`.
    let shift = (63 - SUB_BITS) - (value | (EXACT_BELOW - 1)).leading_zeros();
    (shift as usize) * SUB_BUCKETS + (value >> shift) as usize
}

/// Returns the smallest and largest value of a bucket: the inverse of [`index_of`].
fn limits_of(index: usize) -> (u64, u64) {
    let shift = (index / SUB_BUCKETS).saturating_sub(1);
    let low = ((index - shift * SUB_BUCKETS) as u64) << shift;
    (low, low + ((1u64 << shift) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    /// Returns a value whose number of bits is nearly uniform, so that all octaves occur.
    fn value_of_any_octave(rng: &mut Rng) -> u64 {
        let shift = rng.below(64);
        rng.bits() >> shift
    }

    #[test]
    fn every_value_lies_within_the_limits_of_its_bucket_and_buckets_leave_no_gap() {
        let mut next_low = 0u64;
        for index in 0..=index_of(u64::MAX) {
            let (low, high) = limits_of(index);
            assert_eq!(low, next_low, "bucket {index} starts where the one before ends");
            assert_eq!((index_of(low), index_of(high)), (index, index));
            next_low = high.wrapping_add(1);
        }
        assert_eq!(next_low, 0, "the last bucket ends at the largest value");
        assert_eq!(index_of(u64::MAX), 7423);
    }

    #[test]
    fn values_below_256_are_exact() {
        let mut sketch = Sketch::new();
        (0..256).for_each(|v| sketch.record(v));
        assert_eq!(sketch.quantile(0.5), Some(127));
        assert!(sketch.buckets().all(|b| b.low == b.high));
    }

    #[test]
    fn a_quantile_is_within_the_stated_error_of_the_sorted_list() {
        let mut rng = Rng::named(1, "sketch");
        let mut values: Vec<u64> = (0..20_000).map(|_| value_of_any_octave(&mut rng)).collect();
        let mut sketch = Sketch::new();
        for &v in &values {
            sketch.record(v);
        }
        values.sort_unstable();
        for q in [0.0, 0.001, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let rank = ((q * values.len() as f64).ceil() as usize).clamp(1, values.len());
            let exact = values[rank - 1] as f64;
            let result = sketch.quantile(q).unwrap() as f64;
            assert!((result - exact).abs() <= exact * Sketch::RELATIVE_ERROR + 0.5, "q={q}: {result} for {exact}");
        }
    }

    #[test]
    fn merging_in_any_order_equals_recording_everything_in_one() {
        let mut rng = Rng::named(2, "sketch");
        // The last part stays empty.
        let mut parts = vec![Sketch::new(); 5];
        let mut whole = Sketch::new();
        for i in 0..5_000 {
            let value = value_of_any_octave(&mut rng);
            parts[i % 4].record(value);
            whole.record(value);
        }
        let merged = |order: [usize; 5]| {
            let mut sum = Sketch::new();
            for &i in &order {
                sum.merge(&parts[i]);
            }
            sum
        };
        assert_eq!(merged([0, 1, 2, 3, 4]), whole);
        assert_eq!(merged([4, 3, 1, 2, 0]), whole);
    }

    #[test]
    fn the_extremes_of_u64_are_counted_and_summed_without_overflow() {
        let mut sketch = Sketch::new();
        for value in [u64::MAX, 0, u64::MAX] {
            sketch.record(value);
        }
        assert_eq!((sketch.min(), sketch.max(), sketch.count()), (Some(0), Some(u64::MAX), 3));
        assert_eq!(sketch.sum(), 2 * u128::from(u64::MAX));
        assert_eq!(sketch.quantile(0.0), Some(0));
        assert_eq!(sketch.buckets().map(|b| b.count).sum::<u64>(), 3);
    }

    #[test]
    fn an_empty_sketch_has_no_quantile_and_one_value_is_its_own_quantile() {
        let mut sketch = Sketch::new();
        assert_eq!((sketch.quantile(0.5), sketch.min(), sketch.max(), sketch.mean()), (None, None, None, None));
        sketch.record(123_456_789);
        assert_eq!(sketch.quantile(0.01), Some(123_456_789));
        assert_eq!(sketch.quantile(f64::NAN), None);
        assert_eq!(sketch.quantile(7.0), Some(123_456_789));
    }

    #[test]
    fn memory_covers_only_the_octaves_in_use() {
        let mut sketch = Sketch::new();
        sketch.record(1_000_000_000);
        sketch.record(3_000_000_000);
        // 1e9 and 3e9 are less than two octaves apart, 1e3 and 3e9 less than 22.
        assert!(sketch.counts.len() <= 3 * SUB_BUCKETS);
        sketch.record(1_000);
        assert!(sketch.counts.len() <= 24 * SUB_BUCKETS);
        assert_eq!(sketch.quantile(0.0), Some(1_000));
    }
}
