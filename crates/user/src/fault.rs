//! Faults of user-defined components.

use core::fmt;
use std::sync::{Arc, OnceLock};
use tailback_units::Time;

/// A call of a component that failed: by an exception, by a crash, or by an answer that is no valid decision. A fault ends
/// the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Name of the component and its place, such as "`MyLaw` of mylaw.py at sw1->sw2".
    pub component: String,
    /// Name of the call, such as "depart".
    pub call: &'static str,
    /// Simulated time of the call.
    pub at: Time,
    /// Description of the failure: a traceback, or the invalid value.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { component, call, at, message } = self;
        write!(f, "{component}, in `{call}` at {at}: {message}")
    }
}

/// The first fault of a run; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<OnceLock<Fault>>);

impl Faults {
    /// Returns the first fault. `None`: there has been no fault.
    pub fn first(&self) -> Option<&Fault> {
        self.0.get()
    }
    /// Records a fault, unless there is one already.
    #[cold]
    pub fn record(&self, fault: Fault) {
        // The first fault is the cause; later ones may follow from it.
        let _ = self.0.set(fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instant_of_a_fault_has_no_more_digits_than_it_needs() {
        let at = |ps| {
            let component = "`Red` of red.so at a->b".to_owned();
            Fault { component, call: "arrive", at: Time(ps), message: "it is odd".to_owned() }.to_string()
        };
        assert_eq!(at(50_000_000_000), "`Red` of red.so at a->b, in `arrive` at 0.05 s: it is odd");
        assert_eq!(at(1_000_000_000_001), "`Red` of red.so at a->b, in `arrive` at 1.000000000001 s: it is odd");
    }
}
