//! Hurst parameters of long-range and of short-range dependent traffic.

use tailback_measure::statistics::variance_time;
use tailback_random::Rng;
use tailback_traffic::{Distribution, Model, OnOff, Peak, Poisson, SelfSimilar, Sizes, Truncation};
use tailback_units::{Dur, Rate, Size, Time};

/// Number of intervals in a series.
const BINS: usize = 1 << 18;

/// Quantity that is summed in each interval.
#[derive(Clone, Copy)]
enum Quantity {
    Bursts,
    Bytes,
}

/// Returns the number of bursts or bytes in each of the first [`BINS`] intervals of length `width`.
fn series(model: &Model, quantity: Quantity, width: Dur, seed: u64) -> Vec<f64> {
    let mut rng = Rng::named(seed, "long memory");
    let mut source = model.start(Time::ZERO, &mut rng);
    let mut sums = vec![0.0; BINS];
    let mut bursts = 0u64;
    while let Some(burst) = source.next(&mut rng) {
        bursts += 1;
        assert!(bursts < 1_000_000_000, "more than 10^9 bursts before the end of the series, at {:?}", burst.at);
        match sums.get_mut((burst.at.0 / width.0) as usize) {
            Some(sum) => *sum += if matches!(quantity, Quantity::Bytes) { burst.bytes as f64 } else { 1.0 },
            None => break,
        }
    }
    sums
}

/// Returns the Hurst parameter by the variance-time plot, at aggregation levels from 10 to `BINS / 50` intervals.
fn hurst(series: &[f64]) -> f64 {
    variance_time(series, 10, BINS / 50).unwrap()
}

/// Mean length of the on/off cycle of a source: 100 sources, mean bursts of 8·6000 bit, 2e6 bit/s in total.
const CYCLE: Dur = Dur::from_ms(2_400);

/// Returns an aggregate of 100 sources with mean bursts of 6 kB and 2 Mbit/s in total. `peak`: rate during a burst,
/// `None`: the default; `alpha_size` and `alpha_gap`: Pareto shapes of the bursts' sizes and of the gaps.
fn aggregate(peak: Option<Peak>, alpha_size: f64, alpha_gap: f64) -> Model {
    // Packets as large as a mean burst suffice, since the shortest interval that is evaluated is a cycle.
    Model::SelfSimilar(SelfSimilar {
        burst: Size(6_000),
        rate: Rate::mbit(2),
        sources: 100,
        peak,
        packet: Size(6_000),
        alpha_size,
        alpha_gap,
        truncate: Truncation::None,
    })
}

#[test]
fn poisson_traffic_has_a_hurst_parameter_of_one_half() {
    let model =
        Model::Poisson(Poisson { packet: Size(500), sizes: Sizes::Fixed, rate: None, interval: Some(Dur::from_ms(1)) });
    for seed in 0..4 {
        let observed = hurst(&series(&model, Quantity::Bytes, Dur::from_ms(5), seed));
        assert!((observed - 0.5).abs() < 0.05, "seed {seed}: {observed}");
    }
}

#[test]
fn bytes_of_a_hundred_pareto_sources_have_a_hurst_parameter_of_0_8() {
    for seed in 0..3 {
        let observed = hurst(&series(&aggregate(None, 1.4, 1.4), Quantity::Bytes, CYCLE, seed));
        assert!((observed - 0.8).abs() < 0.1, "seed {seed}: {observed}");
    }
}

#[test]
fn bytes_are_long_range_dependent_if_and_only_if_at_least_one_tail_is_heavy() {
    // Theorem 1 of Taqqu, Willinger and Sherman (1997): H = (3 − α)/2 with the smaller shape α; 1/2 if both exceed 2.
    // Each source is on for a fifth of the time rather than the default 2 %, since with 2 % the
    // estimate converges too slowly for one series of this length.
    let peak = Some(Peak::At(Rate(100_000)));
    for (alpha_size, alpha_gap, expected) in [(1.4, 5.0, 0.8), (5.0, 1.4, 0.8), (5.0, 5.0, 0.5)] {
        let observed = hurst(&series(&aggregate(peak, alpha_size, alpha_gap), Quantity::Bytes, CYCLE, 1));
        assert!((observed - expected).abs() < 0.1, "sizes {alpha_size}, gaps {alpha_gap}: {observed}");
    }
}

#[test]
fn the_number_of_instantaneous_batches_is_long_range_dependent_and_their_bytes_are_not() {
    // Sizes of batches are independent of each other, and their variance, which is infinite, outweighs that of the
    // number of batches.
    let batches = aggregate(Some(Peak::Batch), 1.4, 1.4);
    for seed in 0..2 {
        let bursts = hurst(&series(&batches, Quantity::Bursts, CYCLE, seed));
        assert!((bursts - 0.8).abs() < 0.1, "seed {seed}, bursts: {bursts}");
        let bytes = hurst(&series(&batches, Quantity::Bytes, CYCLE, seed));
        assert!((bytes - 0.5).abs() < 0.1, "seed {seed}, bytes: {bytes}");
    }
}

#[test]
fn bytes_of_a_hundred_pareto_on_off_sources_have_a_hurst_parameter_of_0_8() {
    // The width of a bin is the mean cycle, 8 ms.
    let model = OnOff {
        packet: Size(125),
        rate: Rate::mbit(1),
        on: Dur::from_ms(2),
        off: Dur::from_ms(6),
        distribution: Distribution::Pareto,
        shape: 1.4,
    };
    let mut sum = vec![0.0; BINS];
    for source in 0..100 {
        let own = series(&Model::OnOff(model.clone()), Quantity::Bytes, Dur::from_ms(8), source);
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    let observed = hurst(&sum);
    assert!((observed - 0.8).abs() < 0.1, "{observed}");
}
