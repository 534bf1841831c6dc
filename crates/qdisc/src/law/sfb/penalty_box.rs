//! The penalty box: limits the rate of flows that do not respond to congestion signals.

use super::bins::Bins;
use super::params::{Form, Scope, Settings};
use crate::retune::Retune;
use crate::state::INDEX;
use std::collections::BTreeMap;
use tailback_units::{Dur, Time};

/// Lets boxed packets pass at a limited rate.
#[derive(Clone, Debug)]
pub struct Limiter {
    kind: Kind,
    interval: Dur,
}

/// State of the rate limit.
#[derive(Clone, Debug)]
enum Kind {
    /// Time of the last boxed packet that passed. `None`: no packet has passed.
    Global(Option<Time>),
    /// The same for each bin.
    PerBin(Vec<Option<Time>>),
    /// The same for each flow of which a boxed packet has passed.
    PerFlow(BTreeMap<u32, Time>),
    /// Linux's token bucket: a token is a packet, `rate` is in tokens per second, `filled` the time of the last refill.
    Bucket { rate: f64, burst: u64, tokens: u64, filled: Time },
}

/// Keeps the times of the last packets; keeps the tokens, limited to the new depth.
impl Retune for Limiter {
    fn adopt(&mut self, _now: Time, fresh: Limiter) {
        self.interval = fresh.interval;
        if let (Kind::Bucket { rate, burst, tokens, .. }, Kind::Bucket { rate: to_rate, burst: to_burst, .. }) =
            (&mut self.kind, fresh.kind)
        {
            (*rate, *burst, *tokens) = (to_rate, to_burst, (*tokens).min(to_burst));
        }
    }
}

impl Limiter {
    /// Returns a limiter that has let no packet pass yet; `bins` is the number of bins on all levels together.
    pub(super) fn new(settings: &Settings, bins: usize) -> Limiter {
        let kind = match (settings.form, settings.scope) {
            (Form::Linux, _) => {
                let rate = 1.0 / settings.penalty_interval.as_secs();
                Kind::Bucket { rate, burst: settings.burst, tokens: settings.burst, filled: Time::ZERO }
            }
            (Form::Thesis, Scope::Global) => Kind::Global(None),
            (Form::Thesis, Scope::PerBin) => Kind::PerBin(vec![None; bins]),
            (Form::Thesis, Scope::PerFlow) => Kind::PerFlow(BTreeMap::new()),
        };
        Limiter { kind, interval: settings.penalty_interval }
    }

    /// Returns `true` if a boxed packet of `flow` may pass, and counts it as passed.
    pub(super) fn admit(&mut self, now: Time, flow: u32, bins: &Bins) -> bool {
        let interval = self.interval;
        let due = |last: Option<Time>| last.is_none_or(|last| now.since(last) >= interval);
        match &mut self.kind {
            Kind::Global(last) => {
                let pass = due(*last);
                if pass {
                    *last = Some(now);
                }
                pass
            }
            Kind::PerBin(last) => {
                let pass = bins.indices(flow).all(|i| due(last[i]));
                if pass {
                    bins.indices(flow).for_each(|i| last[i] = Some(now));
                }
                pass
            }
            Kind::PerFlow(last) => {
                let pass = due(last.get(&flow).copied());
                if pass {
                    last.insert(flow, now);
                }
                pass
            }
            Kind::Bucket { rate, burst, tokens, filled } => {
                if *tokens < 1 {
                    // As in the kernel, the fraction of a token that has accumulated since the last refill is
                    // discarded.
                    let age = now.since(*filled).min(Dur::from_secs(10));
                    *tokens = ((age.as_secs() * *rate) as u64).min(*burst);
                    *filled = now;
                }
                let pass = *tokens > 0;
                *tokens -= u64::from(pass);
                pass
            }
        }
    }

    /// Returns the size of the variables in bytes.
    pub fn state_bytes(&self) -> usize {
        match &self.kind {
            Kind::Global(last) => size_of_val(last),
            Kind::PerBin(last) => size_of_val(last.as_slice()),
            Kind::PerFlow(last) => last.len() * (INDEX + size_of::<Time>()),
            Kind::Bucket { tokens, filled, .. } => size_of_val(tokens) + size_of_val(filled),
        }
    }

    /// Removes the times of the bins, after a change of the hashes.
    pub(super) fn forget_bins(&mut self) {
        if let Kind::PerBin(last) = &mut self.kind {
            last.fill(None);
        }
    }
}
