//! In-band telemetry: records that switches add to the packets of flows that collect telemetry. Packets have no field
//! for the records, so they are stored here by flow and sequence number, from the sending of a segment to its
//! acknowledgement.

use crate::plan::Plan;
use std::collections::VecDeque;
use tailback_transport::Hop;

/// Telemetry records of all flows that collect them.
#[derive(Debug)]
pub(crate) struct Telemetry {
    /// Index into `logs` of each flow; [`NONE`]: the flow collects no telemetry.
    of_flow: Vec<u32>,
    logs: Vec<Log>,
    /// Records for reuse, which are cleared at the next use.
    spare: Vec<Vec<Hop>>,
}

/// Entry of `of_flow` for a flow that collects no telemetry.
const NONE: u32 = u32::MAX;

/// Records of the segments of a flow that are not acknowledged yet.
#[derive(Debug, Default)]
struct Log {
    /// Sequence number of the first of these segments.
    first: u32,
    /// Records of consecutive segments, each with an entry for each switch passed, in order.
    records: VecDeque<Vec<Hop>>,
}

impl Telemetry {
    /// Returns the empty records of a plan; `None`: no flow collects telemetry.
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

    /// Returns the records of a flow; `None`: the flow collects no telemetry.
    fn log(&mut self, flow: u32) -> Option<&mut Log> {
        let place = *self.of_flow.get(flow as usize)?;
        self.logs.get_mut(place as usize)
    }

    /// Adds an empty record for a segment that is sent for the first time, or clears the record of one that is
    /// retransmitted.
    #[inline]
    pub fn sent(&mut self, flow: u32, seq: u32) {
        let mut fresh = self.spare.pop().unwrap_or_default();
        fresh.clear();
        let Some(log) = self.log(flow) else { return };
        if log.records.is_empty() {
            log.first = seq;
        }
        let index = seq.wrapping_sub(log.first) as usize;
        if index == log.records.len() {
            log.records.push_back(fresh);
        } else if let Some(record) = log.records.get_mut(index) {
            record.clear();
        }
    }

    /// Adds the entry of a switch to the record of a segment that leaves the switch.
    #[inline]
    pub fn note(&mut self, flow: u32, seq: u32, hop: Hop) {
        let Some(log) = self.log(flow) else { return };
        let index = seq.wrapping_sub(log.first) as usize;
        if let Some(record) = log.records.get_mut(index) {
            record.push(hop);
        }
    }

    /// Removes the records of segments before `next`, which are acknowledged. Returns the record of the last of these
    /// segments; `None`: the acknowledgement covers no new segment, or the flow collects no telemetry.
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

    /// Clears the records of a flow whose connection is reopened.
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
        let retransmitted = telemetry.acknowledged(1, first.wrapping_add(4)).unwrap();
        assert_eq!(retransmitted, [hop(7)], "a retransmission has a new record");
        assert_eq!(telemetry.acknowledged(1, first.wrapping_add(4)), None);
        telemetry.sent(1, 9);
        telemetry.note(1, 9, hop(8));
        assert_eq!(telemetry.acknowledged(1, 10).unwrap(), [hop(8)], "a reused record is empty at first");
    }
}
