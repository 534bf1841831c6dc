//! What is written into packets before a discipline looks at them, put into its conditions: a filter by a firewall mark becomes
//! a condition on what the mark was set by.

use super::Handle;
use super::action::Edit;
use crate::ir::Match;
use std::rc::Rc;

/// Something is written into the packets that meet a condition. The condition is about the packet as the steps before have
/// left it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub when: Match,
    pub edit: Edit,
    /// What was asked on the way here, when fewer steps had been made.
    pub asked: Vec<Rc<Asked>>,
}

/// A condition that was asked earlier: a packet that has been sent to a chain stays in it, whatever the chain writes into it.
#[derive(Debug)]
pub(crate) enum Asked {
    /// On the packet after so many steps.
    At(Match, usize),
    Not(Rc<Asked>),
    All(Vec<Rc<Asked>>),
}

impl Step {
    /// A step that depends on the packet as it is alone.
    pub fn new(when: Match, edit: Edit) -> Step {
        Step { when, edit, asked: Vec::new() }
    }
}

/// Steps in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marking {
    pub steps: Vec<Step>,
    /// Whether packets come without a mark, so that those have one that the steps give one; else the traffic table tells it.
    unmarked: bool,
    /// Parts of conditions that may still be made.
    left: usize,
}

/// Most parts of conditions that are made of one discipline's filters: each step may stand in the condition of each filter.
const MOST: usize = 20_000;

fn never() -> Match {
    Match::AnyOf(Vec::new())
}

/// Packets that meet `when` meet it now; others if they did.
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

/// Packets that meet `when` do not meet it any longer.
fn and_not(when: Match, before: Match) -> Match {
    match (when, before) {
        (Match::Any, _) => never(),
        (_, before) if before == never() => never(),
        (when, Match::Any) => Match::Not(Box::new(when)),
        (when, before) => Match::All(vec![before, Match::Not(Box::new(when))]),
    }
}

/// Packets that meet both.
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
    /// These steps. Marks are given by them alone if any of them, or another rule of the script (`elsewhere`), gives one.
    pub fn new(steps: Vec<Step>, elsewhere: bool) -> Marking {
        let unmarked = elsewhere || steps.iter().any(|step| matches!(step.edit, Edit::Mark { .. }));
        Marking { steps, unmarked, left: MOST }
    }
    /// The same steps, with parts of conditions of its own.
    pub fn again(&self) -> Marking {
        Marking { left: MOST, ..self.clone() }
    }
    /// One more step.
    pub fn push(&mut self, step: Step) {
        self.unmarked |= matches!(step.edit, Edit::Mark { .. });
        self.steps.push(step);
    }

    /// A condition on a packet after all steps, as one on the packet before them; none if that cannot be said, or is too long.
    pub fn resolve(&mut self, when: &Match) -> Option<Match> {
        self.at(when, self.steps.len())
    }

    /// Which packets have that priority after all steps.
    pub fn priority(&mut self, class: Handle) -> Option<Match> {
        self.after(never(), self.steps.len(), |edit| match edit {
            Edit::Priority(own) => Some(own == class),
            _ => None,
        })
    }

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

    /// Which packets have these bits of a mark after so many steps, where `first` have them before all.
    fn mark(&mut self, first: Match, value: u32, mask: u32, steps: usize) -> Option<Match> {
        let mut made = first;
        for index in 0..steps {
            let Some(step) = self.steps.get(index).cloned() else { break };
            let Edit::Mark { value: own, mask: under } = step.edit else { continue };
            if under & mask == 0 {
                continue;
            }
            let when = self.met(&step, index)?;
            // Bits that it does not write are as they were.
            let rest = mask & !under;
            made = if (own ^ value) & under & mask != 0 {
                and_not(when, made)
            } else if rest == 0 {
                or(when, made)
            } else {
                let others = self.at(&Match::FirewallMark { value: value & rest, mask: rest }, index)?;
                or(both(when.clone(), others), and_not(when, made))
            };
        }
        Some(made)
    }

    /// Which packets a step is about.
    fn met(&mut self, step: &Step, index: usize) -> Option<Match> {
        let mut made = self.at(&step.when, index)?;
        for asked in &step.asked {
            let asked = self.asked(asked)?;
            made = both(asked, made);
        }
        Some(made)
    }

    fn asked(&mut self, asked: &Asked) -> Option<Match> {
        Some(match asked {
            Asked::At(when, steps) => self.at(when, *steps)?,
            Asked::Not(inner) => Match::Not(Box::new(self.asked(inner)?)),
            Asked::All(all) => {
                self.left = self.left.checked_sub(1)?;
                Match::All(all.iter().map(|one| self.asked(one)).collect::<Option<_>>()?)
            }
        })
    }

    fn code(&mut self, when: &Match, steps: usize, holds: impl Fn(u8) -> bool) -> Option<Match> {
        self.after(when.clone(), steps, |edit| match edit {
            Edit::Dscp(code) => Some(holds(code)),
            _ => None,
        })
    }

    /// What `first` is about after so many steps; `says` tells of a step whether it writes the thing at all, and then whether
    /// what it writes meets the condition.
    fn after(&mut self, first: Match, steps: usize, says: impl Fn(Edit) -> Option<bool>) -> Option<Match> {
        let mut made = first;
        for index in 0..steps {
            let Some(step) = self.steps.get(index).cloned() else { break };
            let Some(meets) = says(step.edit) else { continue };
            let when = self.met(&step, index)?;
            made = if meets { or(when, made) } else { and_not(when, made) };
        }
        Some(made)
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
    fn the_last_line_that_sets_a_mark_decides_and_a_line_may_ask_for_the_mark_so_far() {
        // Ports 1 and 2 get mark 1, then port 2 mark 2, then what has no mark gets 3.
        let steps = vec![sets(Match::AnyOf(vec![port(1), port(2)]), 1), sets(port(2), 2), sets(mark(0), 3)];
        let mut marking = Marking::new(steps, false);
        for (number, expected) in [(1, 1), (2, 2), (9, 3)] {
            let header = Header { destination_port: Some(number), ..Header::default() };
            for value in 0..4 {
                let when = marking.resolve(&mark(value)).expect("it can be said");
                assert_eq!(
                    when.holds(&header, &Config::default()),
                    Some(value == expected),
                    "port {number}, mark {value}"
                );
            }
        }
    }

    #[test]
    fn a_code_point_that_is_written_is_what_filters_see() {
        let mut marking = Marking::new(vec![Step::new(port(5060), Edit::Dscp(46))], false);
        let ef = marking.resolve(&Match::Dscp(vec![46])).expect("it can be said");
        let of = |port, dscp| Header { destination_port: Some(port), dscp, ..Header::default() };
        let holds = |port, dscp| ef.holds(&of(port, dscp), &Config::default());
        assert_eq!([holds(5060, 0), holds(80, 0), holds(80, 46)], [Some(true), Some(false), Some(true)]);
    }

    #[test]
    fn bits_of_a_mark_that_a_line_does_not_write_are_as_they_were() {
        let high = Step::new(port(1), Edit::Mark { value: 0x10, mask: 0xf0 });
        let low = Step::new(port(2), Edit::Mark { value: 0x01, mask: 0x0f });
        let both = Step::new(port(3), Edit::Mark { value: 0x10, mask: 0xf0 });
        let mut marking = Marking::new(vec![high, low, Step { when: port(3), ..sets(Match::Any, 1) }, both], false);
        let mut of = |value: u32, mask: u32, number: u16| {
            let when = marking.resolve(&Match::FirewallMark { value, mask }).expect("it can be said");
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
    fn many_lines_that_ask_for_the_mark_so_far_end_without_an_answer() {
        let steps = (1..200).map(|value| sets(mark(value - 1), value)).collect();
        let mut marking = Marking::new(steps, false);
        let _ = marking.resolve(&mark(199));
        assert!(marking.left < MOST);
    }
}
