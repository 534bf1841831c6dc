//! Waiting times under strict priority.

/// One class of customers: Poisson arrivals and its own distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Arrivals per unit of time.
    pub rate: f64,
    /// Mean service time, in the same unit of time.
    pub mean_service: f64,
    /// Mean of the squared service time, in the square of that unit.
    pub second_moment: f64,
}

impl Class {
    /// Returns the load: the fraction of time that serving all customers of the class takes.
    fn load(&self) -> f64 {
        self.rate * self.mean_service
    }
}

/// Returns the mean waiting times, without service, of non-preemptive priority classes (Cobham 1954): W_k = W₀ / ((1 −
/// s_(k−1))(1 − s_k)), W₀ the mean remaining service time at an arrival, s_k the load of classes 1 to k. Classes and
/// times are in descending order of priority. The time is infinite for a class with s_k ≥ 1.
///
/// `W₀ = Σ pᵢE[Sᵢ²]/2E[Sᵢ]`, pᵢ the fraction of time in which class i is served: its load, as long as s_i < 1. The first
/// class with s_i ≥ 1 always has customers waiting, and gets the time that the higher classes leave, 1 − s_(i−1); lower
/// classes get none.
pub fn cobham_waits(classes: &[Class]) -> Vec<f64> {
    let (mut residual, mut left) = (0.0, 1.0_f64);
    for class in classes {
        let served = class.load().min(left);
        if served > 0.0 {
            residual += 0.5 * served * class.second_moment / class.mean_service;
        }
        left -= served;
    }
    let mut above = 0.0;
    classes
        .iter()
        .map(|class| {
            let with_own = above + class.load();
            let wait = if with_own < 1.0 { residual / ((1.0 - above) * (1.0 - with_own)) } else { f64::INFINITY };
            above = with_own;
            wait
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::mg1_wait;

    const CLASSES: [Class; 3] = [
        Class { rate: 0.1, mean_service: 1.0, second_moment: 1.0 },
        Class { rate: 0.2, mean_service: 2.0, second_moment: 8.0 },
        Class { rate: 0.3, mean_service: 1.0, second_moment: 2.0 },
    ];

    #[test]
    fn one_class_waits_as_in_the_queue_without_priorities() {
        let only = CLASSES[1];
        let wait = cobham_waits(&[only])[0];
        assert!((wait - mg1_wait(only.rate, only.mean_service, only.second_moment)).abs() < 1e-12);
    }

    #[test]
    fn kleinrocks_conservation_law_holds() {
        let waits = cobham_waits(&CLASSES);
        let load: f64 = CLASSES.iter().map(Class::load).sum();
        let residual: f64 = CLASSES.iter().map(|c| 0.5 * c.rate * c.second_moment).sum();
        let weighted: f64 = CLASSES.iter().zip(&waits).map(|(c, w)| c.load() * w).sum();
        assert!((weighted - load * residual / (1.0 - load)).abs() < 1e-12);
        assert!(waits[0] < waits[1] && waits[1] < waits[2]);
    }

    #[test]
    fn a_class_above_an_overloaded_one_waits_as_in_a_queue_with_vacations() {
        // A server that serves the overloaded class whenever the class above it is empty never idles. For that class
        // its services are vacations V: W = λE[S²]/2(1 − ρ) + E[V²]/2E[V] (Doshi, Queueing Systems 1(1), 1986).
        let heavy = Class { rate: 1.5, mean_service: 2.0, second_moment: 6.0 };
        let [high, ..] = CLASSES;
        let expected = mg1_wait(high.rate, high.mean_service, high.second_moment) + 6.0 / (2.0 * 2.0);
        let waits = cobham_waits(&[high, heavy]);
        assert!((waits[0] - expected).abs() < 1e-12, "{waits:?}");
    }

    #[test]
    fn a_class_waits_for_ever_if_its_load_and_that_of_the_classes_above_reach_1() {
        // A load of 0.1 above one of 0.9: exactly 1 in total.
        let full = Class { rate: 0.9, mean_service: 1.0, second_moment: 1.0 };
        let waits = cobham_waits(&[CLASSES[0], full, CLASSES[2]]);
        assert!(waits[0].is_finite(), "{waits:?}");
        assert_eq!(waits[1..], [f64::INFINITY; 2]);
    }

    #[test]
    fn classes_below_an_overloaded_one_do_not_delay_those_above_it() {
        let heavy = Class { rate: 1.0, mean_service: 1.0, second_moment: 1.0 };
        let huge = Class { rate: 0.1, mean_service: 100.0, second_moment: 1e4 };
        assert_eq!(cobham_waits(&[CLASSES[0], heavy, huge])[0], cobham_waits(&[CLASSES[0], heavy])[0]);
    }
}
