//! Bursts of each model against its definition.

use tailback_document::Checked;
use tailback_measure::statistics::{
    Moments, chi_square_p_value, hill, index_of_dispersion, kolmogorov_p_value, kolmogorov_statistic, lag_one, mean,
};
use tailback_random::{Rng, maths};
use tailback_traffic::{
    Bernoulli, Burst, Cbr, Distribution, Model, OnOff, Peak, Phase, Poisson, SelfSimilar, Sizes, Truncation,
    UniformFixed, UniformUniform, Video,
};
use tailback_units::{Dur, Fraction, Rate, Size, Time};

/// Returns the first `n` bursts of a source that starts at time zero.
fn bursts(model: Model, n: usize) -> Vec<Burst> {
    model.check().unwrap();
    let mut rng = Rng::named(11, "models");
    let mut source = model.start(Time::ZERO, &mut rng);
    core::iter::from_fn(|| source.next(&mut rng)).take(n).collect()
}

/// Returns the times between consecutive bursts, seconds.
fn gaps(bursts: &[Burst]) -> Vec<f64> {
    bursts.windows(2).map(|w| w[1].at.since(w[0].at).as_secs()).collect()
}

/// Returns packets of 1000 B at 3 Mbit/s, 2.667 ms apart, from the start on.
fn cbr() -> Cbr {
    Cbr {
        packet: Size(1_000),
        rate: Some(Rate::mbit(3)),
        interval: None,
        jitter: Fraction(0.0),
        wander: Fraction(0.0),
        phase: Phase::Zero,
    }
}

#[test]
fn cbr_is_exact_in_the_long_run_and_even_to_a_picosecond() {
    let observed = bursts(Model::Cbr(cbr()), 3_000_001);
    assert_eq!(observed[3_000_000].at, Time(8_000_000_000_000_000));
    assert!(observed.windows(2).all(|w| (2_666_666_666..=2_666_666_667).contains(&w[1].at.since(w[0].at).0)));
}

#[test]
fn cbr_has_the_requested_phase() {
    let first = |phase, seed| {
        let mut rng = Rng::named(seed, "phase");
        Model::Cbr(Cbr { phase, ..cbr() }).start(Time(5), &mut rng).next(&mut rng).unwrap().at.0
    };
    assert_eq!(first(Phase::Zero, 1), 5);
    assert_eq!(first(Phase::After(Dur(70)), 1), 75);
    let random: Vec<f64> = (0..2_000).map(|seed| first(Phase::Random, seed) as f64).collect();
    let distance = kolmogorov_statistic(&random, |x| (x / 2_666_666_667.0).clamp(0.0, 1.0));
    assert!(kolmogorov_p_value(distance, random.len()) > 1e-3);
}

#[test]
fn cbr_intervals_that_wander_are_uniform_around_the_nominal_and_keep_the_rate() {
    let observed = bursts(Model::Cbr(Cbr { wander: Fraction(0.1), ..cbr() }), 100_001);
    let gaps: Vec<f64> = gaps(&observed);
    let nominal = 8e-3 / 3.0;
    let distance = kolmogorov_statistic(&gaps, |x| ((x / nominal - 0.9) / 0.2).clamp(0.0, 1.0));
    assert!(kolmogorov_p_value(distance, gaps.len()) > 1e-3);
    // The mean of n such intervals has a standard error of 0.1 / sqrt(3 n): here 0.018 %.
    assert!((observed[100_000].at.as_secs() / (nominal * 1e5) - 1.0).abs() < 1e-3);
}

#[test]
fn cbr_jitter_delays_by_at_most_its_fraction_and_never_reorders() {
    let observed = bursts(Model::Cbr(Cbr { jitter: Fraction(1.0), ..cbr() }), 50_000);
    let nominal = bursts(Model::Cbr(cbr()), 50_000);
    let late: Vec<f64> = observed.iter().zip(&nominal).map(|(a, b)| a.at.since(b.at).0 as f64).collect();
    assert!(observed.iter().zip(&nominal).all(|(a, b)| a.at >= b.at));
    let distance = kolmogorov_statistic(&late, |x| (x / 2_666_666_666.0).clamp(0.0, 1.0));
    assert!(kolmogorov_p_value(distance, late.len()) > 1e-3);
    assert!(observed.windows(2).all(|w| w[0].at <= w[1].at));
}

#[test]
fn cbr_with_jitter_and_wander_never_reorders_and_is_refused_where_it_could() {
    // The shortest interval is (1 - wander) times the nominal one. A packet that is late by up to `jitter` intervals
    // overtakes the next unless jitter is at most 1 - wander.
    let both = |jitter, wander| Cbr { jitter: Fraction(jitter), wander: Fraction(wander), ..cbr() };
    for (jitter, wander) in [(0.5, 0.5), (0.9, 0.1), (0.0, 1.0), (1.0, 0.0)] {
        assert!(both(jitter, wander).check().is_ok());
        let observed = bursts(Model::Cbr(both(jitter, wander)), 50_000);
        assert!(observed.windows(2).all(|w| w[0].at <= w[1].at), "jitter {jitter}, wander {wander}");
    }
    let error = both(0.75, 0.5).check().unwrap_err().to_string();
    assert!(error.contains("`jitter` and `wander` add up to 1.25"), "{error}");
}

#[test]
fn poisson_gaps_are_exponential_and_its_counts_have_a_dispersion_of_one() {
    let model = Poisson { packet: Size(500), sizes: Sizes::Fixed, rate: None, interval: Some(Dur::from_ms(2)) };
    let observed = bursts(Model::Poisson(model), 200_001);
    let gaps = gaps(&observed);
    let distance = kolmogorov_statistic(&gaps, |x| 1.0 - maths::exp(-x / 2e-3));
    assert!(kolmogorov_p_value(distance, gaps.len()) > 1e-3);
    let mut counts = vec![0.0; 3_900];
    for burst in &observed {
        if let Some(count) = counts.get_mut((burst.at.0 / 100_000_000_000) as usize) {
            *count += 1.0;
        }
    }
    assert!((index_of_dispersion(&counts).unwrap() - 1.0).abs() < 0.1);
}

#[test]
fn exponential_sizes_are_exponential_to_the_nearest_byte_and_leave_the_gaps_exponential() {
    let model = Poisson { packet: Size(100_000), sizes: Sizes::Exponential, rate: Some(Rate::mbit(1)), interval: None };
    let observed = bursts(Model::Poisson(model), 200_001);
    let sizes: Vec<f64> = observed.iter().map(|burst| burst.bytes as f64).collect();
    let distance = kolmogorov_statistic(&sizes, |x| 1.0 - maths::exp(-x / 1e5));
    assert!(kolmogorov_p_value(distance, sizes.len()) > 1e-3);
    let gaps = gaps(&observed);
    let distance = kolmogorov_statistic(&gaps, |x| 1.0 - maths::exp(-x / 0.8));
    assert!(kolmogorov_p_value(distance, gaps.len()) > 1e-3);
    assert!(observed.iter().all(|burst| burst.bytes >= 1));
}

#[test]
fn uniform_gaps_have_mean_t_and_a_squared_coefficient_of_variation_of_a_third() {
    let model = UniformFixed { burst: Size(6_000), rate: Rate::mbit(2) };
    let observed = bursts(Model::UniformFixed(model), 200_000);
    let moments: Moments = gaps(&observed).into_iter().collect();
    assert!((moments.mean().unwrap() / 0.024 - 1.0).abs() < 0.005);
    let squared = moments.coefficient_of_variation().unwrap();
    assert!((squared * squared - 1.0 / 3.0).abs() < 0.005);
    assert!(observed.iter().all(|b| b.bytes == 6_000));
    assert!(gaps(&observed).iter().all(|gap| *gap <= 0.048));
}

#[test]
fn uniform_sizes_have_a_mean_32_bytes_above_the_nominal_burst() {
    let model = UniformUniform { burst: Size(6_000), rate: Rate::mbit(2) };
    assert_eq!(Model::UniformUniform(model.clone()).mean_rate_bps(), Some(2e6 * 6_032.0 / 6_000.0));
    let observed = bursts(Model::UniformUniform(model), 1_000_000);
    let sizes: Moments = observed.iter().map(|b| b.bytes as f64).collect();
    // The standard error is (12000 - 64) / sqrt(12) / 1000 = 3.4 bytes.
    assert!((sizes.mean().unwrap() - 6_032.0).abs() < 14.0, "{sizes:?}");
    let (smallest, largest) = observed.iter().fold((u64::MAX, 0), |(l, m), b| (l.min(b.bytes), m.max(b.bytes)));
    assert!((64..80).contains(&smallest) && (11_981..=12_000).contains(&largest));
    // 11,937 sizes in 20 cells, which have 1,000,000 / 20 samples each.
    let mut cells = [0.0; 20];
    for b in &observed {
        cells[((b.bytes - 64) * 20 / 11_937) as usize] += 1.0;
    }
    assert!(chi_square_p_value(&cells, &[50_000.0; 20]) > 1e-3);
}

#[test]
fn an_on_off_source_sends_at_its_rate_or_not_at_all() {
    for distribution in [Distribution::Exponential, Distribution::Pareto] {
        let model = OnOff {
            packet: Size(1_000),
            rate: Rate::mbit(8),
            on: Dur::from_ms(20),
            off: Dur::from_ms(60),
            distribution,
            shape: 2.5,
        };
        let observed = bursts(Model::OnOff(model), 400_000);
        let even = gaps(&observed).iter().filter(|gap| (**gap - 1e-3).abs() < 1e-9).count();
        let shorter = gaps(&observed).iter().filter(|gap| **gap < 0.999_999e-3).count();
        assert_eq!(shorter, 0, "never faster than the rate");
        // A gap includes an off period if an on period ends within it: once in 20 packets.
        assert!((even as f64 / 400_000.0 - 0.95).abs() < 0.01, "{even}");
        let rate = 8_000.0 * observed.len() as f64 / observed.last().unwrap().at.as_secs();
        assert!((rate / 2e6 - 1.0).abs() < 0.03, "{rate}");
    }
}

/// Returns an aggregate of 100 sources with bursts of 24 kB at 10 Mbit/s in total.
fn self_similar(peak: Option<Peak>, truncate: Truncation) -> SelfSimilar {
    SelfSimilar {
        burst: Size(24_000),
        rate: Rate::mbit(10),
        sources: 100,
        peak,
        packet: Size(1_500),
        alpha_size: 1.4,
        alpha_gap: 1.4,
        truncate,
    }
}

#[test]
fn self_similar_sizes_are_pareto_with_the_requested_truncation_and_mean() {
    let sizes = |model: &SelfSimilar| -> Vec<f64> {
        bursts(Model::SelfSimilar(model.clone()), 200_000).iter().map(|b| b.bytes as f64).collect()
    };
    let whole = sizes(&self_similar(Some(Peak::Batch), Truncation::None));
    assert!((hill(&whole, 10_000).unwrap() / 1.4 - 1.0).abs() < 0.05);
    let xm = 24_000.0 * 0.4 / 1.4;
    let mut sorted = whole.clone();
    sorted.sort_by(f64::total_cmp);
    assert!((sorted[100_000] / (xm * maths::pow(2.0, 1.0 / 1.4)) - 1.0).abs() < 0.02);
    assert!((sorted[0] - xm).abs() < 1.0);

    let truncated = self_similar(Some(Peak::Batch), Truncation::At(Size(100_000)));
    let observed = sizes(&truncated);
    assert!(observed.iter().all(|size| *size <= 100_000.0) && observed.contains(&100_000.0));
    assert!((truncated.mean_burst() - 24_000.0).abs() < 1e-6);
    // Standard deviation 26 kB, so the mean of 200 000 is known to 0.25 %.
    assert!((mean(&observed).unwrap() / 24_000.0 - 1.0).abs() < 0.01);
}

#[test]
fn self_similar_load_is_nominal_with_any_truncation_and_either_kind_of_burst() {
    for peak in [None, Some(Peak::Batch), Some(Peak::At(Rate::mbit(1)))] {
        for truncate in [Size(100_000), Size(5_000_000)] {
            // Gaps that vary little isolate the effect of truncation. In 60,000 s there are 3 million bursts.
            let model = SelfSimilar { alpha_gap: 10.0, ..self_similar(peak, Truncation::At(truncate)) };
            let mut rng = Rng::named(5, "load");
            let mut source = Model::SelfSimilar(model).start(Time::ZERO, &mut rng);
            let (mut bytes, end) = (0, Time::ZERO + Dur::from_secs(60_000));
            let mut bursts = 0u64;
            while let Some(burst) = source.next(&mut rng).filter(|burst| burst.at < end) {
                bytes += burst.bytes;
                bursts += 1;
                assert!(bursts < 100_000_000, "the source's time stands still at {:?}", burst.at);
            }
            let rate = 8.0 * bytes as f64 / 60_000.0;
            assert!((rate / 1e7 - 1.0).abs() < 0.01, "{peak:?}, {truncate}: {rate}");
        }
    }
}

#[test]
fn a_source_that_is_on_sends_packet_after_packet_at_the_peak_rate_until_its_burst_is_sent() {
    // One source, so that its periods are visible: packets of 1500 B at 1 Mbit/s are 12 ms apart.
    let model = SelfSimilar {
        sources: 1,
        rate: Rate(100_000),
        alpha_size: 2.5,
        alpha_gap: 2.5,
        ..self_similar(Some(Peak::At(Rate::mbit(1))), Truncation::None)
    };
    let observed = bursts(Model::SelfSimilar(model), 400_000);
    assert!(observed.iter().all(|burst| burst.bytes <= 1_500));
    let (mut sizes, mut size, mut offs) = (Vec::new(), 0, Vec::new());
    for pair in observed.windows(2) {
        size += pair[0].bytes;
        let (gap, sending) = (pair[1].at.since(pair[0].at).0, pair[0].bytes * 8_000_000);
        if pair[0].bytes == 1_500 && gap <= sending + 1 {
            assert_eq!(gap, sending, "never faster than the peak, and no pause within a burst");
            continue;
        }
        sizes.push(size as f64);
        offs.push((gap - sending) as f64 * 1e-12);
        size = 0;
    }
    // A source is on for 8·24000/1e6 = 0.192 s of a cycle of 8·24000/1e5 = 1.92 s; the smallest Pareto length is
    // (2.5 - 1)/2.5 = 0.6 of the mean.
    assert!((mean(&sizes[1..]).unwrap() / 24_000.0 - 1.0).abs() < 0.03, "{:?}", mean(&sizes));
    assert!((mean(&offs).unwrap() / (1.92 - 0.192) - 1.0).abs() < 0.03, "{:?}", mean(&offs));
    assert!(offs.iter().all(|off| *off >= (1.92 - 0.192) * 0.6 - 1e-9), "no shorter than a Pareto length can be");
}

#[test]
fn bernoulli_packets_fall_on_slots_with_geometric_gaps() {
    for load in [0.05, 0.6, 1.0] {
        let model = Bernoulli { packet: Size(1_500), slot: Dur(1_000), load: Fraction(load) };
        let observed = bursts(Model::Bernoulli(model), 100_001);
        assert!(observed.iter().all(|b| b.at.0 % 1_000 == 0));
        let slots: Vec<u64> = observed.windows(2).map(|w| w[1].at.since(w[0].at).0 / 1_000).collect();
        assert!(slots.iter().all(|k| *k >= 1), "at most one packet in a slot");
        for k in 1..=3 {
            let share = slots.iter().filter(|s| **s == k).count() as f64 / slots.len() as f64;
            let expected = load * maths::pow(1.0 - load, (k - 1) as f64);
            assert!((share - expected).abs() < 0.007, "load {load}, gap {k}: {share} for {expected}");
        }
    }
}

/// Returns the frame sizes of ten minutes of video in bytes, from an I frame on.
fn video(seed: u64) -> Vec<f64> {
    let mut rng = Rng::named(seed, "video");
    let mut source = Model::Video(Video::default()).start(Time::ZERO, &mut rng);
    let frames = core::iter::from_fn(|| source.next(&mut rng)).take(18_012);
    let sizes: Vec<f64> = frames.map(|b| b.bytes as f64).collect();
    // I frames are at the offset in the group of 12 at which the bytes are most.
    let bytes_at = |offset: usize| sizes.iter().skip(offset).step_by(12).sum::<f64>();
    let first = (0..12).max_by(|a, b| bytes_at(*a).total_cmp(&bytes_at(*b))).unwrap();
    sizes[first..first + 18_000].to_vec()
}

#[test]
fn video_has_its_mean_rate_within_five_percent_over_ten_minutes() {
    let rate = |seed| mean(&video(seed)).unwrap() * 8.0 * 30.0;
    assert!((rate(1) / 1.5e6 - 1.0).abs() < 0.05, "{}", rate(1));
    let over_seeds: Vec<f64> = (0..40).map(rate).collect();
    assert!((mean(&over_seeds).unwrap() / 1.5e6 - 1.0).abs() < 0.02);
}

#[test]
fn video_frames_have_the_sizes_of_their_types_and_the_coefficient_of_variation_of_published_traces() {
    let sizes = video(2);
    let mean_at = |offsets: &[usize]| {
        let chosen: Vec<f64> =
            sizes.iter().enumerate().filter(|(i, _)| offsets.contains(&(i % 12))).map(|(_, s)| *s).collect();
        mean(&chosen).unwrap()
    };
    let (i, p, b) = (mean_at(&[0]), mean_at(&[3, 6, 9]), mean_at(&[1, 2, 4, 5, 7, 8, 10, 11]));
    assert!(i > p && p > b);
    assert!((i / p - 3.3 / 1.6).abs() < 0.1 && (p / b - 1.6 / 0.49).abs() < 0.1, "{i} {p} {b}");
    let moments: Moments = sizes.iter().copied().collect();
    let variation = moments.coefficient_of_variation().unwrap();
    assert!((0.7..1.1).contains(&variation), "{variation}");
    let peak = sizes.iter().fold(0.0f64, |a, b| a.max(*b)) / moments.mean().unwrap();
    assert!((5.0..12.0).contains(&peak), "{peak}");
}

#[test]
fn video_scenes_last_longer_than_a_group_of_pictures() {
    let groups: Vec<f64> = video(3).chunks_exact(12).map(|g| g.iter().sum()).collect();
    let observed = lag_one(&groups).unwrap();
    assert!((0.5..0.95).contains(&observed), "{observed}");
}

#[test]
fn smooth_video_sends_the_same_bytes_in_packets_spread_over_each_frame() {
    let run = |smooth| {
        let mut rng = Rng::named(4, "smooth");
        let mut source = Model::Video(Video { smooth, ..Video::default() }).start(Time::ZERO, &mut rng);
        let end = Time::ZERO + Dur::from_secs(60);
        core::iter::from_fn(|| source.next(&mut rng)).take_while(|b| b.at < end).collect::<Vec<_>>()
    };
    let (whole, smooth) = (run(false), run(true));
    let sum = |x: &[Burst]| x.iter().map(|b| b.bytes).sum::<u64>();
    assert!(sum(&whole).abs_diff(sum(&smooth)) < 100_000, "all but the last frame are the same");
    assert!(smooth.iter().all(|b| b.bytes <= 1_500));
    assert!(smooth.len() > 3 * whole.len());
    assert!(smooth.windows(2).all(|w| w[0].at < w[1].at), "no two packets at once");
}
