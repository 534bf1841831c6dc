//! Probes: time series at regular instants. They look and change nothing.

use super::World;
use crate::agenda::Kind;
use crate::port::Queue;
use tailback_units::Time;

/// Samples so far.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub times: Vec<Time>,
    /// By port, then by sample: buffer bytes waiting.
    pub queue: Vec<Vec<u64>>,
    /// By port, then by sample: whether data waits while the transmitter idles.
    pub stopped: Vec<Vec<bool>>,
    /// By port, then by sample: buffer bytes sent since the start.
    pub sent: Vec<Vec<u64>>,
    /// By flow, then by sample: payload bytes delivered since the start.
    pub delivered: Vec<Vec<u64>>,
    /// Packets in the network.
    pub in_network: Vec<u64>,
}

impl World {
    pub(super) fn sample(&mut self) {
        let now = self.now;
        if let Some(interval) = self.plan.sample {
            self.schedule(now + interval, Kind::Sample, 0);
        }
        let Some(recorder) = &mut self.recorder else { return };
        recorder.times.push(now);
        recorder.queue.resize_with(self.ports.len(), Vec::new);
        recorder.stopped.resize_with(self.ports.len(), Vec::new);
        recorder.sent.resize_with(self.ports.len(), Vec::new);
        recorder.delivered.resize_with(self.ledger.flows.len(), Vec::new);
        for (at, port) in self.ports.iter_mut().enumerate() {
            let settled = (0..port.classes.len()).map(|class| port.settled(now, class));
            let (mut sent, mut queued) = (0, 0);
            for class in settled.collect::<Vec<_>>() {
                sent += class.sent.bytes;
            }
            for class in 0..port.classes.len() {
                queued += port.backlog_at(now, class);
            }
            recorder.queue[at].push(queued);
            recorder.sent[at].push(sent);
            let stopped = match &port.queue {
                Queue::Managed(m) => m.blocked_since.is_some(),
                Queue::Fifo(_) => false,
            };
            recorder.stopped[at].push(stopped);
        }
        let mut in_network = 0;
        for (at, flow) in self.ledger.flows.iter().enumerate() {
            recorder.delivered[at].push(flow.delivered[0].bytes + flow.delivered[1].bytes);
            let packets = |count: &[crate::ledger::Count; 2]| count[0].packets + count[1].packets;
            in_network += packets(&flow.offered) - packets(&flow.delivered) - packets(&flow.dropped);
        }
        recorder.in_network.push(in_network);
    }
}
