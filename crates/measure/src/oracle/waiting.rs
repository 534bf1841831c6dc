//! Mean waiting times in single-server queues with Poisson arrivals and unlimited room.

/// Returns the mean waiting time, without service, of M/G/1 in FIFO order (Pollaczek 1930, Khinchin 1932): `λ·E[S²] /
/// (2(1 − ρ))`. `rate` is λ, `mean` and `second_moment` those of the service time; infinite if `ρ = λ·E[S]` is 1 or
/// more.
pub fn mg1_wait(rate: f64, mean: f64, second_moment: f64) -> f64 {
    let load = rate * mean;
    if load >= 1.0 { f64::INFINITY } else { rate * second_moment / (2.0 * (1.0 - load)) }
}

/// Returns the mean waiting time of M/D/1, without service: ρ·S / (2(1 − ρ)). `load` is ρ, 0 to 1; `service` is the
/// constant service time S.
pub fn md1_wait(load: f64, service: f64) -> f64 {
    mg1_wait(load / service, service, service * service)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{batch_means, mean_interval};
    use tailback_random::Rng;

    #[test]
    fn the_waits_are_those_of_the_textbook() {
        assert!((md1_wait(0.5, 1.0) - 0.5).abs() < 1e-12);
        assert!((md1_wait(0.9, 2.0) - 9.0).abs() < 1e-12);
        // M/M/1: ρ/(μ − λ) = 0.8/0.2 with unit service.
        assert!((mg1_wait(0.8, 1.0, 2.0) - 4.0).abs() < 1e-12);
        assert_eq!(md1_wait(1.0, 1.0), f64::INFINITY);
    }

    #[test]
    fn lindleys_recursion_agrees_with_the_formula() {
        // Service takes 1, and arrivals have a rate of 0.7.
        let mut rng = Rng::named(1, "lindley");
        let mut wait = 0.0f64;
        let waits: Vec<f64> = (0..2_000_000)
            .map(|_| {
                wait = (wait + 1.0 - rng.exponential(1.0 / 0.7)).max(0.0);
                wait
            })
            .collect();
        let result = mean_interval(&batch_means(&waits, 20), 0.999).unwrap();
        assert!(result.contains(md1_wait(0.7, 1.0)) && result.half_width < 0.03 * result.mean, "{result:?}");
    }
}
