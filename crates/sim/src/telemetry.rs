//! What switches write into the packets of flows that ask for it. A packet has no room for that, so it
//! is kept aside, by flow and number, from the sending of a segment to its acknowledgement.

use crate::plan::Plan;
use std::collections::VecDeque;
use tailback_transport::Hop;

/// The records of all flows that collect any.
#[derive(Debug)]
pub(crate) struct Telemetry {
    /// By flow, its place in `logs`; [`NONE`] if it collects nothing.
    of_flow: Vec<u32>,
    logs: Vec<Log>,
    /// Records to be used again, cleared when they are.
    spare: Vec<Vec<Hop>>,
}

const NONE: u32 = u32::MAX;

/// The records of a flow's segments under way.
#[derive(Debug, Default)]
struct Log {
    /// The number of the first segment.
    first: u32,
    records: VecDeque<Vec<Hop>>,
}

impl Telemetry {
    /// For a plan; none if no flow collects anything.
    pub fn new(plan: &Plan) -> Option<Box<Telemetry>> {
        let mut logs = Vec::new();
        let of_flow = plan.flows.iter().map(|flow| {
            if !flow.transport.as_ref().is_some_and(|tcp| tcp.congestion_control.needs().telemetry) {
                return NONE;
            }
            logs.push(Log::default());
            (logs.len() - 1) as u32
        });
        let of_flow = of_flow.collect();
        (!logs.is_empty()).then(|| Box::new(Telemetry { of_flow, logs, spare: Vec::new() }))
    }

    fn log(&mut self, flow: u32) -> Option<&mut Log> {
        let place = *self.of_flow.get(flow as usize)?;
        self.logs.get_mut(place as usize)
    }

    /// A segment is sent, perhaps again: nothing is written into it yet.
    pub fn sent(&mut self, flow: u32, seq: u32) {
        let mut fresh = self.spare.pop().unwrap_or_default();
        fresh.clear();
        let Some(log) = self.log(flow) else { return };
        if log.records.is_empty() {
            log.first = seq;
        }
        let place = seq.wrapping_sub(log.first) as usize;
        if place == log.records.len() {
            log.records.push_back(fresh);
        } else if let Some(record) = log.records.get_mut(place) {
            record.clear();
        }
    }

    /// A switch writes into the segment that leaves it.
    pub fn note(&mut self, flow: u32, seq: u32, hop: Hop) {
        let Some(log) = self.log(flow) else { return };
        let place = seq.wrapping_sub(log.first) as usize;
        if let Some(record) = log.records.get_mut(place) {
            record.push(hop);
        }
    }

    /// All before `next` is acknowledged: what the last segment of these has collected, if anything new
    /// is acknowledged.
    pub fn acknowledged(&mut self, flow: u32, next: u32) -> Option<&[Hop]> {
        let place = *self.of_flow.get(flow as usize)?;
        let log = self.logs.get_mut(place as usize)?;
        let count = next.wrapping_sub(log.first) as usize;
        if count == 0 || count > log.records.len() {
            return None;
        }
        log.first = next;
        let mut last = Vec::new();
        for mut record in log.records.drain(..count) {
            std::mem::swap(&mut last, &mut record);
            self.spare.push(record);
        }
        self.spare.push(last);
        self.spare.last().map(Vec::as_slice)
    }

    /// A flow begins anew.
    pub fn forget(&mut self, flow: u32) {
        if let Some(log) = self.log(flow) {
            log.records.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_units::{Dur, Rate, Time};

    fn hop(port: u32) -> Hop {
        Hop { port, queue: 0, at: Time::ZERO, busy: Dur::ZERO, rate: Rate::mbit(1) }
    }

    #[test]
    fn a_cumulative_acknowledgement_has_the_record_of_its_last_segment() {
        let log = Log::default();
        let mut telemetry = Telemetry { of_flow: vec![NONE, 0], logs: vec![log], spare: Vec::new() };
        let first = u32::MAX - 1;
        for i in 0..4u32 {
            telemetry.sent(1, first.wrapping_add(i));
            telemetry.note(1, first.wrapping_add(i), hop(i));
        }
        telemetry.note(1, first, hop(9));
        telemetry.sent(0, 5);
        assert_eq!(telemetry.acknowledged(0, 6), None, "a flow that collects nothing");
        assert_eq!(telemetry.acknowledged(1, first), None, "nothing new");
        assert_eq!(telemetry.acknowledged(1, first.wrapping_add(3)).unwrap(), [hop(2)]);
        telemetry.sent(1, first.wrapping_add(3));
        telemetry.note(1, first.wrapping_add(3), hop(7));
        assert_eq!(telemetry.acknowledged(1, first.wrapping_add(4)).unwrap(), [hop(7)], "sent again, written anew");
        assert_eq!(telemetry.acknowledged(1, first.wrapping_add(4)), None);
        telemetry.sent(1, 9);
        telemetry.note(1, 9, hop(8));
        assert_eq!(telemetry.acknowledged(1, 10).unwrap(), [hop(8)], "what is used again is empty");
    }
}
