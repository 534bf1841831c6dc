//! Loss of single-server queues with Poisson arrivals and room for K customers, including the one in service.

use tailback_random::maths::{exp, pow};

/// Returns the loss probability of M/M/1/K: (1 − ρ)ρ^K / (1 − ρ^(K+1)), and 1/(K + 1) at ρ = 1 (Erlang; Kleinrock 1975,
/// equation 3.43). `load` is ρ ≥ 0, `room` is K.
pub fn mm1k_loss(load: f64, room: u32) -> f64 {
    // Σ ρ^i instead of the quotient, which loses precision near ρ = 1.
    let states: f64 = (0..=room).map(|i| pow(load, f64::from(i))).sum();
    pow(load, f64::from(room)) / states
}

/// Returns the loss probability of M/D/1/K, from the chain embedded at departures (Keilson 1966; Gross and Harris 1998,
/// section 5.1.8): 1 − 1/(π₀ + ρ). `load` is ρ ≥ 0; `room` is K, of which 0 counts as 1. The absolute error is about
/// 1e-14, so that losses below 1e-12 are unreliable.
pub fn md1k_loss(load: f64, room: u32) -> f64 {
    if load <= 0.0 {
        return 0.0;
    }
    let room = room.max(1) as usize;
    let at_least = poisson_tails(load, room + 1);
    // Balance across each cut between {0..j} and {j + 1..}: only a departure without arrivals crosses downwards. All
    // terms are positive, unlike those of the one-step equations.
    let mut weights = vec![1.0];
    for j in 0..room - 1 {
        let from_empty = weights[0] * at_least[j + 1];
        let from_busy: f64 = (1..=j).map(|i| weights[i] * at_least[j + 2 - i]).sum();
        weights.push((from_empty + from_busy) * exp(load));
    }
    let empty = 1.0 / weights.iter().sum::<f64>();
    (1.0 - 1.0 / (empty + load)).max(0.0)
}

/// Returns P(N ≥ k) for k from 0 to `largest`, with N a Poisson variable of mean `load`, summed from the smallest term.
fn poisson_tails(load: f64, largest: usize) -> Vec<f64> {
    let last = largest + 40 + (4.0 * load) as usize;
    let mut probability = exp(-load);
    let probabilities: Vec<f64> = (0..=last)
        .map(|k| {
            let current = probability;
            probability *= load / (k + 1) as f64;
            current
        })
        .collect();
    let mut tails = vec![0.0; last + 2];
    for k in (0..=last).rev() {
        tails[k] = tails[k + 1] + probabilities[k];
    }
    tails.truncate(largest + 1);
    tails
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_random::Rng;

    #[test]
    fn the_markov_queue_has_its_known_losses() {
        assert!((mm1k_loss(1.0, 4) - 0.2).abs() < 1e-12);
        assert!((mm1k_loss(0.5, 2) - 0.25 / 1.75).abs() < 1e-12);
        // K = 1 is Erlang's loss system.
        assert!((mm1k_loss(3.0, 1) - 0.75).abs() < 1e-12);
        assert!((mm1k_loss(0.9, 20) - 0.1 * pow(0.9, 20.0) / (1.0 - pow(0.9, 21.0))).abs() < 1e-15);
    }

    #[test]
    fn with_room_for_one_customer_the_distribution_of_service_times_does_not_matter() {
        for load in [0.1, 0.9, 1.0, 3.0] {
            assert!((md1k_loss(load, 1) - mm1k_loss(load, 1)).abs() < 1e-12, "load {load}");
        }
    }

    #[test]
    fn with_room_for_two_customers_the_loss_is_that_calculated_by_hand() {
        // Of the two states at departures, the empty one has the probability of no arrival: π₀ = e^−ρ.
        for load in [0.3, 1.0, 2.0] {
            assert!((md1k_loss(load, 2) - (1.0 - 1.0 / (exp(-load) + load))).abs() < 1e-12);
        }
    }

    #[test]
    fn with_much_room_the_loss_is_that_of_constant_overload() {
        // 1 − 1/1.25 = 0.2.
        assert!((md1k_loss(1.25, 400) - 0.2).abs() < 1e-9);
        assert!(md1k_loss(0.5, 60) < 1e-12);
    }

    #[test]
    fn a_replay_of_the_finite_queue_has_the_same_loss() {
        let mut rng = Rng::named(1, "md1k");
        let (load, room, n) = (0.9, 5, 2_000_000u32);
        let mut departures = std::collections::VecDeque::new();
        let (mut now, mut lost) = (0.0, 0u32);
        for _ in 0..n {
            now += rng.exponential(1.0 / load);
            while departures.front().is_some_and(|&d| d <= now) {
                departures.pop_front();
            }
            if departures.len() == room as usize {
                lost += 1;
            } else {
                let start = departures.back().copied().unwrap_or(now).max(now);
                departures.push_back(start + 1.0);
            }
        }
        let (result, exact) = (f64::from(lost) / f64::from(n), md1k_loss(load, room));
        assert!((result / exact - 1.0).abs() < 0.03, "{result} for {exact}");
    }
}
