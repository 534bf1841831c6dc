//! Notes of transfers and of changes of senders for the records (`records`).

use super::World;
use super::connections::Write;
use super::records::Completion;

impl World {
    /// Records the start of a transfer over a connection, whose first segment is `start`; `end`: the segment after its
    /// last one. Returns its number among the transfers of the flow.
    pub(super) fn note_transfer(&mut self, connection: u32, bytes: u64, start: u32, end: u32) -> u32 {
        let flow = self.transports.outgoing[connection as usize].flow;
        let transfers = self.records.as_mut().and_then(|records| records.transfers.as_mut());
        match transfers.filter(|_| start != end) {
            Some(transfers) => transfers.begin(self.now, flow, bytes, Some((connection, start, end))),
            None => Write::UNRECORDED,
        }
    }

    /// Records the start of a transfer over a flow without a transport; returns its number among those of the flow.
    pub(super) fn note_message(&mut self, flow: u32, bytes: u64) -> u32 {
        let transfers = self.records.as_mut().and_then(|records| records.transfers.as_mut());
        transfers.map_or(Write::UNRECORDED, |transfers| transfers.begin(self.now, flow, bytes, None))
    }

    /// Records the completion of the writes over a connection that have arrived in full and have not been removed.
    #[cold]
    #[inline(never)]
    pub(super) fn note_completions(&mut self, connection: u32) {
        let flow = self.transports.outgoing[connection as usize].flow;
        let incoming = &self.transports.incoming[connection as usize];
        let next = incoming.receiver.next();
        let writes = incoming.finite.iter().flat_map(|finite| &finite.writes);
        let arrived = writes.take_while(|write| write.has_arrived(next));
        let recorded = arrived.filter(|write| write.number != Write::UNRECORDED).copied();
        for write in recorded.collect::<Vec<_>>() {
            self.note_completion(flow, write.number, write.bytes);
        }
    }

    /// Records the completion of a transfer of `bytes`.
    #[cold]
    pub(super) fn note_completion(&mut self, flow: u32, number: u32, bytes: u64) {
        let idle = self.idle_time(flow, bytes);
        if let Some(transfers) = self.records.as_mut().and_then(|records| records.transfers.as_mut()) {
            transfers.completions.push(Completion { flow, number, at: self.now, idle });
        }
    }

    /// Records that a connection has discarded the segments that it has not transmitted.
    pub(super) fn note_close(&mut self, connection: u32) {
        let sender = &self.transports.outgoing[connection as usize].sender;
        if let Some(transfers) = self.records.as_mut().and_then(|records| records.transfers.as_mut()) {
            transfers.cut(connection, sender.next());
        }
    }

    /// Records that a connection was replaced by a new one, and its transfers abandoned.
    pub(super) fn note_reopening(&mut self, connection: u32) {
        if let Some(transfers) = self.records.as_mut().and_then(|records| records.transfers.as_mut()) {
            transfers.open[connection as usize].clear();
        }
    }

    /// Records the retransmission of a connection's segment.
    pub(super) fn note_retransmission(&mut self, connection: u32, segment: u32) {
        let una = self.transports.outgoing[connection as usize].sender.una();
        if let Some(transfers) = self.records.as_mut().and_then(|records| records.transfers.as_mut()) {
            transfers.retransmitted(connection, segment, una);
        }
    }

    /// Records the state of a connection's sender if it has changed.
    pub(super) fn note_change(&mut self, connection: u32) {
        let out = &self.transports.outgoing[connection as usize];
        if let Some(changes) = self.records.as_mut().and_then(|records| records.changes.as_mut()) {
            changes.note(self.now, connection, out);
        }
    }
}
