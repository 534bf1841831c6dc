//! Substitution of marks: a condition on a field that earlier rules set is replaced by an equivalent condition on the
//! packet as it arrived.

use super::action::Edit;
use super::handle::Handle;
use crate::ir::Match;
use std::rc::Rc;

/// A modification of the packets that meet a condition, which is evaluated on the packet as modified by the earlier
/// steps.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub when: Match,
    pub edit: Edit,
    /// Further conditions, which were evaluated before some of those steps: that the packet was sent to the step's
    /// chain, and did not leave the chain before the step.
    pub earlier: Vec<Rc<Earlier>>,
}

/// A condition that was evaluated before some of the steps. A packet that was sent to a chain because of a condition
/// remains in the chain, even if the chain modifies the packet so that it no longer meets the condition.
#[derive(Debug)]
pub(crate) enum Earlier {
    /// A condition on the packet as modified by the first steps, and the number of these steps.
    At(Match, usize),
    Not(Rc<Earlier>),
    All(Vec<Rc<Earlier>>),
}

impl Step {
    /// Returns a step that depends only on the packet as modified so far.
    pub fn new(when: Match, edit: Edit) -> Step {
        Step { when, edit, earlier: Vec::new() }
    }
}

/// Steps in the order of their application.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marking {
    pub steps: Vec<Step>,
    /// `true` if packets arrive with mark 0, since the script sets marks. If `false`, the traffic table states the mark
    /// with which they arrive.
    unmarked: bool,
    /// Number of terms of conditions that may still be generated.
    left: usize,
}

/// Maximum number of terms in the conditions of one discipline's filters. It bounds the time, since each step may
/// contribute to the condition of each filter.
const MAX_TERMS: usize = 20_000;

/// Returns the condition that no packet meets.
fn never() -> Match {
    Match::AnyOf(Vec::new())
}

/// Returns the condition of the packets that meet `when` or `before`.
fn or(when: Match, before: Match) -> Match {
    match before {
        Match::AnyOf(mut any) => {
            if any.is_empty() {
                return when;
            }
            any.push(when);
            Match::AnyOf(any)
        }
        Match::Any => Match::Any,
        other => Match::AnyOf(vec![other, when]),
    }
}

/// Returns the condition of the packets that meet `before` but not `when`.
fn and_not(when: Match, before: Match) -> Match {
    match (when, before) {
        (Match::Any, _) => never(),
        (_, before) if before == never() => never(),
        (when, Match::Any) => Match::Not(Box::new(when)),
        (when, before) => Match::All(vec![before, Match::Not(Box::new(when))]),
    }
}

/// Returns the condition of the packets that meet both conditions.
fn both(one: Match, other: Match) -> Match {
    match (one, other) {
        (Match::Any, other) | (other, Match::Any) => other,
        (Match::All(mut all), other) if !all.is_empty() => {
            all.push(other);
            Match::All(all)
        }
        (one, other) => Match::All(vec![one, other]),
    }
}

impl Marking {
    /// Returns a marking of these steps. Packets arrive with mark 0 if a step, or another rule of the script
    /// (`elsewhere`), sets a mark.
    pub fn new(steps: Vec<Step>, elsewhere: bool) -> Marking {
        let unmarked = elsewhere || steps.iter().any(|step| matches!(step.edit, Edit::Mark { .. }));
        Marking { steps, unmarked, left: MAX_TERMS }
    }
    /// Returns the same steps with a new budget.
    pub fn again(&self) -> Marking {
        Marking { left: MAX_TERMS, ..self.clone() }
    }
    /// Appends a step.
    pub fn push(&mut self, step: Step) {
        self.unmarked |= matches!(step.edit, Edit::Mark { .. });
        self.steps.push(step);
    }

    /// Converts a condition on a packet after all steps into one on the packet before them; `None`: it has too many
    /// terms.
    pub fn resolve(&mut self, when: &Match) -> Option<Match> {
        self.at(when, self.steps.len())
    }

    /// Returns the condition under which a packet has that priority after all steps; `None`: it has too many terms.
    pub fn priority(&mut self, class: Handle) -> Option<Match> {
        self.after(never(), self.steps.len(), |edit| match edit {
            Edit::Priority(own) => Some(own == class),
            _ => None,
        })
    }

    /// Converts a condition on a packet after the first `steps` steps into one on the packet before all steps; `None`:
    /// it has too many terms.
    fn at(&mut self, when: &Match, steps: usize) -> Option<Match> {
        self.left = self.left.checked_sub(1)?;
        Some(match when {
            Match::FirewallMark { value, mask } => {
                let first = if !self.unmarked {
                    when.clone()
                } else if *value == 0 {
                    Match::Any
                } else {
                    never()
                };
                return self.mark(first, *value, *mask, steps);
            }
            Match::Dscp(values) => return self.code(when, steps, |code| values.contains(&code)),
            Match::Precedence(values) => return self.code(when, steps, |code| values.contains(&(code >> 3))),
            Match::DsField { value, mask } => return self.code(when, steps, |code| code << 2 & mask == *value),
            Match::Not(inner) => Match::Not(Box::new(self.at(inner, steps)?)),
            Match::All(all) => Match::All(all.iter().map(|one| self.at(one, steps)).collect::<Option<_>>()?),
            Match::AnyOf(any) => Match::AnyOf(any.iter().map(|one| self.at(one, steps)).collect::<Option<_>>()?),
            other => other.clone(),
        })
    }

    /// Returns the condition under which the mark of a packet equals `value` in the bits of `mask` after the first
    /// `steps` steps; `first` is the condition under which it does so before all steps. `None`: too many terms.
    fn mark(&mut self, first: Match, value: u32, mask: u32, steps: usize) -> Option<Match> {
        let mut condition = first;
        for index in 0..steps {
            let Some(step) = self.steps.get(index).cloned() else { break };
            let Edit::Mark { value: own, mask: under } = step.edit else { continue };
            if under & mask == 0 {
                continue;
            }
            let when = self.met(&step, index)?;
            // The step leaves these bits unchanged.
            let unchanged = mask & !under;
            condition = if (own ^ value) & under & mask != 0 {
                and_not(when, condition)
            } else if unchanged == 0 {
                or(when, condition)
            } else {
                let others = self.at(&Match::FirewallMark { value: value & unchanged, mask: unchanged }, index)?;
                or(both(when.clone(), others), and_not(when, condition))
            };
        }
        Some(condition)
    }

    /// Returns the condition, on the packet before all steps, under which the step with that index is applied; `None`:
    /// too many terms.
    fn met(&mut self, step: &Step, index: usize) -> Option<Match> {
        let mut condition = self.at(&step.when, index)?;
        for earlier in &step.earlier {
            let earlier = self.earlier(earlier)?;
            condition = both(earlier, condition);
        }
        Some(condition)
    }

    /// Converts an earlier condition into one on the packet before all steps; `None`: too many terms.
    fn earlier(&mut self, earlier: &Earlier) -> Option<Match> {
        Some(match earlier {
            Earlier::At(when, steps) => self.at(when, *steps)?,
            Earlier::Not(inner) => Match::Not(Box::new(self.earlier(inner)?)),
            Earlier::All(all) => {
                self.left = self.left.checked_sub(1)?;
                Match::All(all.iter().map(|one| self.earlier(one)).collect::<Option<_>>()?)
            }
        })
    }

    /// Converts a condition on the DSCP after the first `steps` steps; `holds` returns whether a DSCP meets it. `None`:
    /// too many terms.
    fn code(&mut self, when: &Match, steps: usize, holds: impl Fn(u8) -> bool) -> Option<Match> {
        self.after(when.clone(), steps, |edit| match edit {
            Edit::Dscp(code) => Some(holds(code)),
            _ => None,
        })
    }

    /// Converts a condition on one field after the first `steps` steps; `first` is the condition before all steps.
    /// `outcome` returns whether the value that a step sets meets the condition, or `None` if the step does not set the
    /// field. The result is `None` if there are too many terms.
    fn after(&mut self, first: Match, steps: usize, outcome: impl Fn(Edit) -> Option<bool>) -> Option<Match> {
        let mut condition = first;
        for index in 0..steps {
            let Some(step) = self.steps.get(index).cloned() else { break };
            let Some(meets) = outcome(step.edit) else { continue };
            let when = self.met(&step, index)?;
            condition = if meets { or(when, condition) } else { and_not(when, condition) };
        }
        Some(condition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Config, Header, PortRange};

    fn port(port: u16) -> Match {
        Match::DestinationPort(PortRange { low: port, high: port })
    }
    fn mark(value: u32) -> Match {
        Match::FirewallMark { value, mask: u32::MAX }
    }
    fn sets(when: Match, value: u32) -> Step {
        Step::new(when, Edit::Mark { value, mask: u32::MAX })
    }

    #[test]
    fn the_last_step_that_sets_a_mark_decides_and_a_step_may_depend_on_the_mark() {
        // Ports 1 and 2 get mark 1, then port 2 gets mark 2, then packets with mark 0 get mark 3.
        let steps = vec![sets(Match::AnyOf(vec![port(1), port(2)]), 1), sets(port(2), 2), sets(mark(0), 3)];
        let mut marking = Marking::new(steps, false);
        for (number, expected) in [(1, 1), (2, 2), (9, 3)] {
            let header = Header { destination_port: Some(number), ..Header::default() };
            for value in 0..4 {
                let when = marking.resolve(&mark(value)).expect("it has few terms");
                assert_eq!(
                    when.holds(&header, &Config::default()),
                    Some(value == expected),
                    "port {number}, mark {value}"
                );
            }
        }
    }

    #[test]
    fn filters_see_a_dscp_that_was_set() {
        let mut marking = Marking::new(vec![Step::new(port(5060), Edit::Dscp(46))], false);
        let ef = marking.resolve(&Match::Dscp(vec![46])).expect("it has few terms");
        let header = |port, dscp| Header { destination_port: Some(port), dscp, ..Header::default() };
        let holds = |port, dscp| ef.holds(&header(port, dscp), &Config::default());
        assert_eq!([holds(5060, 0), holds(80, 0), holds(80, 46)], [Some(true), Some(false), Some(true)]);
    }

    #[test]
    fn bits_of_a_mark_outside_the_mask_are_unchanged() {
        let high = Step::new(port(1), Edit::Mark { value: 0x10, mask: 0xf0 });
        let low = Step::new(port(2), Edit::Mark { value: 0x01, mask: 0x0f });
        let both = Step::new(port(3), Edit::Mark { value: 0x10, mask: 0xf0 });
        let mut marking = Marking::new(vec![high, low, Step { when: port(3), ..sets(Match::Any, 1) }, both], false);
        let mut of = |value: u32, mask: u32, number: u16| {
            let when = marking.resolve(&Match::FirewallMark { value, mask }).expect("it has few terms");
            when.holds(&Header { destination_port: Some(number), ..Header::default() }, &Config::default())
        };
        // Unmarked packets have 0 in all bits: port 1 gets 0x10, port 2 gets 0x01, port 3 first 0x01, then 0x11.
        for (number, expected) in [(1, 0x10), (2, 0x01), (3, 0x11), (9, 0)] {
            for value in [0, 0x01, 0x10, 0x11] {
                assert_eq!(of(value, 0xff, number), Some(value == expected), "port {number}, mark {value:#x}");
            }
        }
        assert_eq!(of(0x10, 0xf0, 1), Some(true));
    }

    #[test]
    fn many_steps_that_depend_on_the_mark_exhaust_the_budget() {
        let steps = (1..200).map(|value| sets(mark(value - 1), value)).collect();
        let mut marking = Marking::new(steps, false);
        assert_eq!(marking.resolve(&mark(199)), None);
    }
}
