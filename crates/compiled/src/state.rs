//! Services of the host for one instance of a component.

use crate::Parameters;
use core::fmt;
use tailback_random::Rng;

/// A service was refused; the reason is the failure of the [`State`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a function of the host was refused")
    }
}

impl std::error::Error for Failed {}

/// Record of the host about an instance: the random stream during a call, its parameters while it is made, and the reason of a
/// failure.
#[derive(Debug)]
pub struct State {
    /// The stream that is lent; a stream without use outside calls.
    rng: Rng,
    lent: bool,
    /// `None` once the instance is made.
    parameters: Option<Parameters>,
    failure: Option<String>,
}

impl State {
    /// Returns the state of an instance that is about to be made with these parameters.
    pub fn new(parameters: Parameters) -> State {
        State { rng: Rng::named(0, ""), lent: false, parameters: Some(parameters), failure: None }
    }

    /// Exchanges the stream with `rng`: before a call, which lends it, and after the call.
    pub fn exchange(&mut self, rng: &mut Rng) {
        std::mem::swap(&mut self.rng, rng);
        self.lent = !self.lent;
    }

    /// Notes the reason of a failure, unless there is one.
    #[cold]
    pub fn fail(&mut self, reason: impl Into<String>) -> Failed {
        self.failure.get_or_insert_with(|| reason.into());
        Failed
    }
    /// Returns the reason of a failure. `None`: there has been none.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }
    /// Removes and returns the reason of a failure; an error if there is one, or if the status of the call is not 0.
    ///
    /// # Errors
    /// The reason of the failure.
    #[inline]
    pub fn outcome(&mut self, status: i32) -> Result<(), String> {
        if status == 0 && self.failure.is_none() {
            return Ok(());
        }
        Err(self.failure.take().unwrap_or_else(|| format!("the component returned the status {status}")))
    }

    /// Ends the making of the instance, which returned `status`.
    ///
    /// # Errors
    /// If it failed, or if it did not read one of the parameters in the table.
    pub fn made(&mut self, status: i32) -> Result<(), String> {
        self.outcome(status)?;
        self.parameters.take().map_or(Ok(()), |parameters| parameters.check_known())
    }

    /// Returns the stream.
    fn rng(&mut self) -> Result<&mut Rng, Failed> {
        if self.lent {
            return Ok(&mut self.rng);
        }
        Err(self.fail("a component draws random numbers only in its calls: outside them it has no stream"))
    }
    /// Draws a uniform number on [0, 1).
    ///
    /// # Errors
    /// Outside a call.
    pub fn random(&mut self) -> Result<f64, Failed> {
        Ok(self.rng()?.uniform())
    }
    /// Draws a uniform integer on [0, n).
    ///
    /// # Errors
    /// Outside a call, and if n is 0.
    pub fn below(&mut self, n: u64) -> Result<u64, Failed> {
        if n == 0 {
            return Err(self.fail("`below` was called with 0; write 1 or more"));
        }
        Ok(self.rng()?.below(n))
    }
    /// Draws an exponentially distributed number with this mean.
    ///
    /// # Errors
    /// Outside a call, and if the mean is negative or not finite.
    pub fn exponential(&mut self, mean: f64) -> Result<f64, Failed> {
        if !(mean.is_finite() && mean >= 0.0) {
            return Err(self.fail(format!("`exponential` was called with the mean {mean}; write 0 or more")));
        }
        Ok(self.rng()?.exponential(mean))
    }
    /// Draws a number with the standard normal distribution.
    ///
    /// # Errors
    /// Outside a call.
    pub fn normal(&mut self) -> Result<f64, Failed> {
        Ok(self.rng()?.normal())
    }

    /// Returns the parameters.
    fn parameters(&mut self) -> Result<&mut Parameters, Failed> {
        if self.parameters.is_none() {
            return Err(self.fail("a component reads its parameters only when it is made"));
        }
        self.parameters.as_mut().ok_or(Failed)
    }
    /// Returns the value of a parameter: see [`Parameters::number`].
    ///
    /// # Errors
    /// Once the instance is made, and if the value is of another kind.
    pub fn parameter(&mut self, name: &str, unit: u32, default: f64) -> Result<f64, Failed> {
        let found = self.parameters()?.number(name, unit, default);
        found.map_err(|message| self.fail(message))
    }
    /// Returns a parameter that is text; `None`: the table does not have it.
    ///
    /// # Errors
    /// Once the instance is made, and if the value is no text.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Failed> {
        let found = self.parameters()?.text(name);
        found.map_err(|message| self.fail(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_the_lent_stream_and_are_refused_outside_a_call() {
        let mut state = State::new(Parameters::default());
        let (mut ours, mut theirs) = (Rng::named(3, "a"), Rng::named(3, "a"));
        state.exchange(&mut ours);
        assert_eq!(state.random(), Ok(theirs.uniform()));
        assert_eq!(state.below(10), Ok(theirs.below(10)));
        assert_eq!(state.exponential(2.0), Ok(theirs.exponential(2.0)));
        assert_eq!(state.normal(), Ok(theirs.normal()));
        assert_eq!(state.outcome(0), Ok(()));
        state.exchange(&mut ours);
        assert_eq!(ours.bits(), theirs.bits());
        assert_eq!(state.normal(), Err(Failed));
        assert!(state.outcome(0).expect_err("it failed").contains("only in its calls"));
    }

    #[test]
    fn the_first_failure_is_the_reason_and_a_status_alone_is_named() {
        let mut state = State::new(Parameters::default());
        assert_eq!(state.below(0), Err(Failed));
        assert_eq!(state.exponential(f64::NAN), Err(Failed));
        assert!(state.outcome(1).expect_err("it failed").contains("`below` was called with 0"));
        assert_eq!(state.outcome(3), Err("the component returned the status 3".to_owned()));
        assert_eq!(state.exponential(-1.0), Err(Failed));
        assert!(state.outcome(0).expect_err("it failed").contains("the mean -1"));
    }

    #[test]
    fn parameters_are_read_only_while_the_instance_is_made() {
        let mut state = State::new(Parameters::default());
        assert_eq!(state.parameter("gain", 0, 2.0), Ok(2.0));
        assert_eq!(state.made(0), Ok(()));
        assert_eq!(state.text("gain"), Err(Failed));
        assert!(state.outcome(0).expect_err("it failed").contains("only when it is made"));
    }
}
