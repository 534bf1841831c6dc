//! A source that the user has written.

use crate::{Burst, burst};
use std::sync::{Arc, Mutex, PoisonError};
use tailback_random::Rng;
use tailback_units::Time;
use tailback_user::{Installed, SourceAnswer, SourceCall, SourceEvent, SourceLaw};

pub use tailback_user::Code as User;

/// A user's source in its place, which outlives the stops and starts of a flow.
pub type Shared = Arc<Mutex<Installed<dyn SourceLaw>>>;

/// Maximum number of bursts at one instant; a source that emits more would never advance the time.
const MAX_AT_ONCE: u32 = 1_000_000;

/// Methods that the registry calls for every model.
pub(crate) trait Start {
    fn start(&self, at: Time, rng: &mut Rng) -> Source;
    fn mean_rate_bps(&self) -> Option<f64>;
    fn burst_bytes(&self) -> Option<u64>;
}

/// Rate and sizes are known to the user's code only.
impl Start for User {
    fn start(&self, at: Time, _: &mut Rng) -> Source {
        Source { law: None, now: at, bursts: 0, at_once: 0 }
    }
    fn mean_rate_bps(&self) -> Option<f64> {
        None
    }
    fn burst_bytes(&self) -> Option<u64> {
        None
    }
}

/// A running source.
#[derive(Clone, Debug)]
pub struct Source {
    /// The user's source; `None` before [`Source::install`] and after a fault, when there is no further burst.
    law: Option<Shared>,
    /// Time of the last burst; before the first burst the start.
    now: Time,
    bursts: u64,
    /// Number of bursts at `now`.
    at_once: u32,
}

impl Source {
    /// Gives the source its law; `used`: the law has been called before, for an earlier start.
    pub fn install(&mut self, law: &Shared, used: bool, rng: &mut Rng) {
        self.law = Some(Arc::clone(law));
        if used {
            self.with_law("start", |law| law.renew());
        }
        let call = self.arguments(SourceEvent::Start);
        self.with_law("start", |law| law.answer(&call, rng).map(|_| ()));
    }

    fn arguments(&self, event: SourceEvent) -> SourceCall {
        SourceCall { now_ps: self.now.0, bursts: self.bursts, event: event as u32, reserved: 0 }
    }

    /// Calls the law; returns its result. `None`: the call has failed, and the law is removed.
    fn with_law<R>(
        &mut self,
        call: &'static str,
        f: impl FnOnce(&mut dyn SourceLaw) -> Result<R, String>,
    ) -> Option<R> {
        let shared = self.law.as_ref()?;
        let mut installed = shared.lock().unwrap_or_else(PoisonError::into_inner);
        installed.called = self.now;
        match f(&mut *installed.law) {
            Ok(result) => Some(result),
            Err(message) => {
                installed.fail(call, message);
                drop(installed);
                self.law = None;
                None
            }
        }
    }

    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        let call = self.arguments(SourceEvent::Next);
        let at_once = self.at_once;
        let (at, bytes) = self.with_law(SourceEvent::Next.name(), |law| {
            let answer: SourceAnswer = law.answer(&call, rng)?;
            let at = answer.checked(&call)?;
            if at.0 == call.now_ps && at_once >= MAX_AT_ONCE {
                return Err(format!("more than {MAX_AT_ONCE} bursts at one instant; let the time advance"));
            }
            Ok((at, answer.bytes))
        })?;
        self.at_once = if at == self.now { at_once + 1 } else { 0 };
        (self.now, self.bursts) = (at, self.bursts + 1);
        burst(at, bytes)
    }
}
