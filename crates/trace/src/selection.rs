//! Selection of the rows of a trace by patterns and names.

use crate::network::Network;
use std::collections::BTreeSet;
use tailback_document::{listed, suggest};
use tailback_scenario::Glob;
use tailback_sim::plan::{EventKind, FrameKind, TracePlan};
use tailback_units::Time;

/// Selected rows: those that meet all conditions. An empty list selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Names of flows or of their groups, or patterns of them.
    pub flows: Vec<String>,
    /// Names of ports, or patterns of them.
    pub ports: Vec<String>,
    /// Names of kinds of events.
    pub events: Vec<String>,
    /// Names of kinds of frames.
    pub frames: Vec<String>,
    /// First instant; `None`: the start of the run.
    pub from: Option<Time>,
    /// Last instant; `None`: the end of the run.
    pub until: Option<Time>,
}

impl Selection {
    /// Returns the selection by indices.
    ///
    /// # Errors
    /// If a name or pattern matches nothing, or there is no instant between both times: a message with advice.
    pub fn plan(&self, network: &Network) -> Result<TracePlan, String> {
        let flows: Vec<Vec<&str>> =
            network.flows.iter().map(|flow| vec![flow.name.as_str(), flow.group.as_str()]).collect();
        let ports: Vec<Vec<&str>> = network.ports.iter().map(|port| vec![port.name.as_str()]).collect();
        let all = TracePlan::default();
        let plan = TracePlan {
            flows: chosen(&self.flows, &flows, "flow")?,
            ports: chosen(&self.ports, &ports, "port")?,
            events: mask(&self.events, &EventKind::ALL.map(EventKind::name), "event")?,
            frames: mask(&self.frames, &FrameKind::ALL.map(FrameKind::name), "frame")?,
            from: self.from.unwrap_or(all.from),
            until: self.until.unwrap_or(all.until),
        };
        if plan.from > plan.until {
            return Err("its last instant is before its first".to_owned());
        }
        if plan.from > network.end {
            return Err("its first instant is after the end of the run".to_owned());
        }
        Ok(plan)
    }
}

/// Returns the entries that a name or pattern matches; `names`: the names of each entry. `None`: all.
fn chosen(patterns: &[String], names: &[Vec<&str>], what: &str) -> Result<Option<Vec<bool>>, String> {
    let mut found = vec![false; names.len()];
    for pattern in patterns {
        let glob = Glob::new(pattern)?;
        // `data[2]` names a flow but is also a pattern: names take precedence.
        let is_name = names.iter().flatten().any(|name| name == pattern);
        let fits = |name: &&str| if is_name { *name == pattern } else { glob.matches(name) };
        let mut any = false;
        for (own, found) in names.iter().zip(&mut found) {
            if own.iter().any(fits) {
                (any, *found) = (true, true);
            }
        }
        if !any {
            return Err(unknown(pattern, names.iter().flatten().copied(), what));
        }
    }
    Ok((!patterns.is_empty()).then_some(found))
}

/// Returns the set of the kinds with these names as bits; all without names.
fn mask(chosen: &[String], names: &[&str], what: &str) -> Result<u16, String> {
    let mut mask = 0;
    for name in chosen {
        let index = names.iter().position(|own| own == name);
        mask |= 1 << index.ok_or_else(|| unknown(name, names.iter().copied(), &format!("kind of {what}")))?;
    }
    Ok(if chosen.is_empty() { u16::MAX } else { mask })
}

fn unknown<'a>(name: &str, names: impl Iterator<Item = &'a str>, what: &str) -> String {
    let mut seen = BTreeSet::new();
    let names: Vec<&str> = names.filter(|name| seen.insert(*name)).collect();
    let advice = match suggest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", listed(names)),
    };
    format!("no {what} is named `{name}`; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Flow, Memory, Port};
    use tailback_units::{Dur, Rate};

    fn network() -> Network {
        let port = |name: &str| Port {
            name: name.to_owned(),
            from: 0,
            to: 1,
            rate: Rate(1),
            delay: Dur(0),
            state: Vec::new(),
            law: "drop-tail",
            thresholds: Vec::new(),
            limits: Vec::new(),
            places: Vec::new(),
            shapes: false,
            rates: Vec::new(),
            states: Vec::new(),
            loss: 0.0,
            accounting: None,
            header: None,
            notices: None,
            watchdog: None,
            conditioners: Vec::new(),
        };
        let flow = |name: &str, group: &str| Flow {
            name: name.to_owned(),
            group: group.to_owned(),
            from: 0,
            to: 1,
            class: 0,
            has_transport: false,
            header: 0,
            conditioners: Vec::new(),
        };
        Network {
            nodes: vec!["a".to_owned(), "b".to_owned()],
            hosts: vec![true, true],
            memories: vec![Memory::Queues; 2],
            ports: ["a->b", "b->a"].map(port).into(),
            flows: vec![flow("web[0]", "web"), flow("web[1]", "web"), flow("bulk", "bulk")],
            classes: 1,
            header: 0,
            warmup: Time::ZERO,
            end: Time(100),
        }
    }

    fn of(flows: &[&str], events: &[&str]) -> Result<TracePlan, String> {
        let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect();
        Selection { flows: texts(flows), events: texts(events), ..Selection::default() }.plan(&network())
    }

    #[test]
    fn a_name_with_brackets_is_that_flow_and_a_group_is_all_of_its_flows() {
        let flows = |chosen: &[&str]| of(chosen, &[]).expect("the names exist").flows;
        assert_eq!(flows(&["web[1]"]), Some(vec![false, true, false]));
        assert_eq!(flows(&["web"]), Some(vec![true, true, false]));
        assert_eq!(flows(&["b*", "web[0]"]), Some(vec![true, false, true]));
        assert_eq!(flows(&[]), None);
    }

    #[test]
    fn kinds_of_events_are_bits_and_none_are_all() {
        assert_eq!(of(&[], &["enqueue", "drop"]).expect("these exist").events, 0b1_0001);
        assert_eq!(of(&[], &[]).expect("nothing is named").events, u16::MAX);
    }

    #[test]
    fn what_matches_nothing_is_refused_with_the_nearest_name() {
        assert_eq!(of(&["wep"], &[]), Err("no flow is named `wep`; did you mean `web`?".to_owned()));
        assert!(of(&[], &["enque"]).is_err_and(|message| message.contains("did you mean `enqueue`?")));
        let all = "there are `web[0]`, `web`, `web[1]` and `bulk`";
        assert!(of(&["zzzzzz*"], &[]).is_err_and(|message| message.ends_with(all)));
    }

    #[test]
    fn times_without_an_instant_between_them_are_refused() {
        let plan = |from, until| {
            Selection { from: Some(Time(from)), until: Some(Time(until)), ..Selection::default() }.plan(&network())
        };
        assert!(plan(5, 5).is_ok_and(|plan| (plan.from, plan.until) == (Time(5), Time(5))));
        assert!(plan(6, 5).is_err());
        assert!(plan(101, 200).is_err());
    }
}
