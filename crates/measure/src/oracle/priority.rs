//! Waiting times under strict priority.

/// One class of customers: Poisson arrivals and its own distribution of service times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// Arrivals per unit of time.
    pub rate: f64,
    /// Mean service time.
    pub mean: f64,
    /// Mean of the squared service time.
    pub second_moment: f64,
}

/// Returns the mean waiting times, without service, of non-preemptive priority classes (Cobham 1954): W_k = W₀ / ((1 −
/// s_(k−1))(1 − s_k)), `W₀ = Σ λᵢE[Sᵢ²]/2`, s_k the load of classes 1 to k. Classes and times are in descending order of
/// priority. All times are infinite if the total load is 1 or more, where the formula does not hold.
pub fn cobham_waits(classes: &[Class]) -> Vec<f64> {
    // Under overload a low class occupies the server for less time than λᵢE[Sᵢ], so that W₀ would be wrong for the
    // higher classes, too.
    let total: f64 = classes.iter().map(|c| c.rate * c.mean).sum();
    if total >= 1.0 {
        return vec![f64::INFINITY; classes.len()];
    }
    let residual: f64 = classes.iter().map(|c| 0.5 * c.rate * c.second_moment).sum();
    let mut above = 0.0;
    classes
        .iter()
        .map(|c| {
            let with_own = above + c.rate * c.mean;
            let wait = residual / ((1.0 - above) * (1.0 - with_own));
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
        Class { rate: 0.1, mean: 1.0, second_moment: 1.0 },
        Class { rate: 0.2, mean: 2.0, second_moment: 8.0 },
        Class { rate: 0.3, mean: 1.0, second_moment: 2.0 },
    ];

    #[test]
    fn one_class_waits_as_in_the_queue_without_priorities() {
        let only = CLASSES[1];
        let wait = cobham_waits(&[only])[0];
        assert!((wait - mg1_wait(only.rate, only.mean, only.second_moment)).abs() < 1e-12);
    }

    #[test]
    fn kleinrocks_conservation_law_holds() {
        let waits = cobham_waits(&CLASSES);
        let load: f64 = CLASSES.iter().map(|c| c.rate * c.mean).sum();
        let residual: f64 = CLASSES.iter().map(|c| 0.5 * c.rate * c.second_moment).sum();
        let weighted: f64 = CLASSES.iter().zip(&waits).map(|(c, w)| c.rate * c.mean * w).sum();
        assert!((weighted - load * residual / (1.0 - load)).abs() < 1e-12);
        assert!(waits[0] < waits[1] && waits[1] < waits[2]);
    }

    #[test]
    fn under_overload_all_mean_waits_are_infinite() {
        let heavy = Class { rate: 1.0, mean: 1.0, second_moment: 1.0 };
        assert!(cobham_waits(&[CLASSES[0], heavy]).iter().all(|w| w.is_infinite()));
    }
}
