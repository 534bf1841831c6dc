//! Components as queue laws.

use crate::abi::{Properties, Record};
use core::fmt::Debug;
use std::sync::Arc;
use tailback_random::Rng;
use tailback_user::{QueueAnswer, QueueCall, QueueEvent, QueueLaw};

/// An instance of a class: a record in, a record out.
pub trait Instance: Debug + Send + Sync {
    /// Notes the name of the component and its place, and the names of its calls by their numbers.
    fn placed(&mut self, _name: &str, _calls: &[&'static str]) {}

    /// Answers a call: `call` has the record of what has happened, `answer` that of the decision, with its present values.
    /// `number` is the number of the call, and `now_ps` its time.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn answer<C: Record, A: Record>(
        &mut self,
        number: u32,
        now_ps: u64,
        call: &C,
        answer: &mut A,
        rng: &mut Rng,
    ) -> Result<(), String>;

    /// Returns the value of a state variable by its number.
    ///
    /// # Errors
    /// If the component fails; the message describes the failure.
    fn probe(&self, number: u32) -> Result<f64, String>;
}

/// An instance in a role.
#[derive(Debug)]
pub struct Component<I> {
    instance: I,
    properties: Arc<Properties>,
}

impl<I: Instance> Component<I> {
    /// Returns an instance whose class has these properties.
    pub fn new(instance: I, properties: Arc<Properties>) -> Component<I> {
        Component { instance, properties }
    }
}

impl<I: Instance> QueueLaw for Component<I> {
    fn placed(&mut self, name: &str) {
        self.instance.placed(name, &QueueEvent::ALL.map(QueueEvent::name));
    }
    fn answer(&mut self, call: &QueueCall, wake_ps: u64, rng: &mut Rng) -> Result<QueueAnswer, String> {
        let mut answer = QueueAnswer { wake_ps, verdict: 0, reserved: 0 };
        self.instance.answer(call.event, call.now_ps, call, &mut answer, rng)?;
        Ok(answer)
    }
    fn probe(&self, f: &mut dyn FnMut(&'static str, f64)) -> Result<(), String> {
        for (number, name) in (0..).zip(&self.properties.probes) {
            f(name, self.instance.probe(number)?);
        }
        Ok(())
    }
    fn state_bytes(&self) -> usize {
        self.properties.state_bytes
    }
}
