//! Network performance objectives of ITU-T Y.1541 (2011), table 1, classes 0 to 5.

/// A class of service of Y.1541, 0 (real-time, highly interactive) to 5 (unspecified).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QosClass(u8);

/// Upper bounds of a class; `None`: unspecified.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Mean of the one-way delay (IPTD), seconds.
    pub delay_s: Option<f64>,
    /// The 99.9th percentile of the delay minus the minimum delay (IPDV), seconds.
    pub variation_s: Option<f64>,
    /// Packets lost per packet sent (IPLR).
    pub loss: Option<f64>,
}

/// A missed objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The mean delay is too large.
    Delay,
    /// The delay variation is too large.
    Variation,
    /// The loss is too large.
    Loss,
}

impl QosClass {
    /// Returns the class of that number, 0 to 5; `None`: above 5.
    pub fn new(number: u8) -> Option<QosClass> {
        (number <= 5).then_some(QosClass(number))
    }
    /// Returns all classes, 0 to 5; 2 and 3 are for signalling and transactions.
    pub fn all() -> impl Iterator<Item = QosClass> {
        (0..=5).map(QosClass)
    }
    /// Returns the number of the class, 0 to 5.
    pub fn number(self) -> u8 {
        self.0
    }
    /// Returns the objectives of the class.
    pub fn limits(self) -> Limits {
        let (delay_s, variation_s, loss) = match self.0 {
            0 => (Some(0.1), Some(0.05), Some(1e-3)),
            1 => (Some(0.4), Some(0.05), Some(1e-3)),
            2 => (Some(0.1), None, Some(1e-3)),
            3 => (Some(0.4), None, Some(1e-3)),
            4 => (Some(1.0), None, Some(1e-3)),
            _ => (None, None, None),
        };
        Limits { delay_s, variation_s, loss }
    }

    /// Returns the objectives that a stream misses, in the order delay, variation, loss; empty if it meets the class.
    /// `delay_s` is the mean delay in seconds, `variation_s` the 99.9th percentile of the delay minus its minimum,
    /// `loss` a fraction.
    pub fn violations(self, delay_s: f64, variation_s: f64, loss: f64) -> Vec<Violation> {
        let limits = self.limits();
        let found = [
            (limits.delay_s, delay_s, Violation::Delay),
            (limits.variation_s, variation_s, Violation::Variation),
            (limits.loss, loss, Violation::Loss),
        ];
        found
            .into_iter()
            .filter(|(limit, value, _)| limit.is_some_and(|limit| *value > limit))
            .map(|(.., violation)| violation)
            .collect()
    }

    /// Returns the class with the lowest number whose objectives a stream meets; class 5 has no objectives. The
    /// arguments are those of [`QosClass::violations`].
    pub fn met_by(delay_s: f64, variation_s: f64, loss: f64) -> QosClass {
        QosClass::all().find(|class| class.violations(delay_s, variation_s, loss).is_empty()).unwrap_or(QosClass(5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_gets_the_strictest_class_that_it_meets() {
        let met = |delay, variation, loss| QosClass::met_by(delay, variation, loss).number();
        assert_eq!(met(0.1, 0.05, 1e-3), 0, "at its limits");
        assert_eq!(met(0.15, 0.05, 1e-3), 1, "a delay above 100 ms");
        assert_eq!(met(0.05, 0.06, 0.0), 2, "a variation above 50 ms");
        assert_eq!(met(0.3, 0.2, 0.0), 3, "a variation above 50 ms and a delay above 100 ms");
        assert_eq!(met(0.9, 0.2, 0.0), 4, "a delay above 400 ms");
        assert_eq!(met(0.01, 0.0, 0.002), 5, "a loss above 0.1 %");
    }

    #[test]
    fn violations_name_each_objective_that_is_missed() {
        let class = QosClass::new(0).expect("a class");
        assert_eq!(class.violations(0.2, 0.1, 0.1), [Violation::Delay, Violation::Variation, Violation::Loss]);
        assert_eq!(class.violations(0.02, 0.1, 0.0), [Violation::Variation]);
        assert_eq!(QosClass::new(6), None);
    }
}
