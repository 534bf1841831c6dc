//! The Hurst parameter of the traffic that has one, and of the traffic that has none.

use tailback_measure::statistics::variance_time;
use tailback_random::Rng;
use tailback_traffic::{Distribution, Model, OnOff, Poisson, SelfSimilar, Sizes, Truncation};
use tailback_units::{Dur, Rate, Size, Time};

const BINS: usize = 1 << 18;

/// Number of bursts in each interval of `width`.
fn counts(model: &Model, width: Dur, seed: u64) -> Vec<f64> {
    let mut rng = Rng::named(seed, "long memory");
    let mut source = model.start(Time::ZERO, &mut rng);
    let mut counts = vec![0.0; BINS];
    while let Some(burst) = source.next(&mut rng) {
        match counts.get_mut((burst.at.0 / width.0) as usize) {
            Some(count) => *count += 1.0,
            None => break,
        }
    }
    counts
}

fn aggregate(truncate: Truncation) -> Model {
    // Mean gap of one source: 100·8·6000/2e6 = 2.4 s.
    let model = SelfSimilar {
        burst: Size(6_000),
        rate: Rate::mbit(2),
        sources: 100,
        alpha_size: 1.4,
        alpha_gap: 1.4,
        truncate,
    };
    Model::SelfSimilar(model)
}

#[test]
fn poisson_traffic_has_no_memory() {
    let model =
        Model::Poisson(Poisson { packet: Size(500), sizes: Sizes::Fixed, rate: None, interval: Some(Dur::from_ms(1)) });
    for seed in 0..4 {
        let told = variance_time(&counts(&model, Dur::from_ms(5), seed), 10, BINS / 50).unwrap();
        assert!((told - 0.5).abs() < 0.05, "seed {seed}: {told}");
    }
}

#[test]
fn bursts_of_a_hundred_pareto_sources_have_a_hurst_parameter_of_0_8() {
    for seed in 0..2 {
        let series = counts(&aggregate(Truncation::None), Dur::from_ms(2_400), seed);
        let told = variance_time(&series, 10, BINS / 50).unwrap();
        assert!((told - 0.8).abs() < 0.1, "seed {seed}: {told}");
    }
}

#[test]
fn packets_of_a_hundred_pareto_on_off_sources_have_a_hurst_parameter_of_0_8() {
    // Mean cycle 8 ms, one bin.
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
        let own = counts(&Model::OnOff(model.clone()), Dur::from_ms(8), source);
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    let told = variance_time(&sum, 10, BINS / 50).unwrap();
    assert!((told - 0.8).abs() < 0.1, "{told}");
}
