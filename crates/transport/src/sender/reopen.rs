//! Reuse of a sender for a new connection.

use super::Sender;
use super::cold::ColdState;
use super::groups::{Echoes, Repair};
use super::sequence::Sequence;
use super::state::RareCounts;
use std::sync::Arc;
use tailback_random::Rng;

impl Sender {
    /// Resets the sender for a new connection with the same parameters. Window, timers and path estimates are reset,
    /// and segments offered but not acknowledged are discarded. Counts continue, and a reservation, which belongs to
    /// the flow, keeps its tokens. `rng` is the random stream of the congestion control.
    ///
    /// Returns the number of the new connection's first segment, for [`Receiver::reopen`]. One number is skipped, so
    /// that segments of the old connection that are still in the network, and the field `next` of its acknowledgements,
    /// are before that first segment.
    ///
    /// [`Receiver::reopen`]: crate::Receiver::reopen
    pub fn reopen(&mut self, rng: Rng) -> u32 {
        let (counts, start) = (self.counts, self.seq.max.wrapping_add(1));
        let tcp = Arc::clone(&self.tcp);
        let mut old = std::mem::replace(self, Sender { counts, ..Sender::new(&tcp, rng) });
        self.take_over(&mut old);
        if let Some(ColdState { counts, reserve, .. }) = old.cold.map(|cold| *cold)
            && (counts != RareCounts::default() || reserve.is_some())
        {
            let cold = self.cold();
            cold.counts = counts;
            cold.reserve = reserve.or(cold.reserve.take());
        }
        self.number_from(start);
        start
    }

    /// Sets the number of the first segment of a connection that has sent none.
    pub(super) fn number_from(&mut self, start: u32) {
        self.seq = Sequence { unsent: self.seq.unsent, ..Sequence::starting_at(start) };
        self.repair = Repair::starting_at(start, self.repair.flavour);
        self.ecn = Echoes::starting_at(start);
        let retransmissions = self.counts.retransmissions;
        if let Some(board) = &mut self.board {
            board.start_at(start);
            board.duplicates = retransmissions;
        }
        if let Some(sampler) = self.sampler() {
            sampler.start_at(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Ack, Block, Ecn, Receiver, Sender, Tcp};
    use std::sync::Arc;
    use tailback_random::Rng;
    use tailback_units::{Dur, Time};

    /// Transfers `segments` segments without loss in rounds of 100 ms; returns the number of segments sent in each
    /// round.
    fn rounds(sender: &mut Sender, receiver: &mut Receiver, now: &mut Time, segments: u64) -> Vec<usize> {
        sender.offer(*now, segments * 1460);
        let mut rounds = Vec::new();
        while !sender.done() {
            let sent: Vec<_> = std::iter::from_fn(|| sender.poll(*now)).collect();
            let sent_at = *now;
            *now += Dur::from_ms(100);
            let acks: Vec<_> = sent
                .iter()
                .filter_map(|s| receiver.on_segment(*now, s.seq, s.payload, sent_at, Ecn::Ect0, s.cwr))
                .collect();
            for ack in &acks {
                sender.on_ack(*now, ack, None);
            }
            if let Some(ack) = receiver.on_timer(receiver.deadline()) {
                sender.on_ack(*now, &ack, None);
            }
            sender.audit();
            rounds.push(sent.len());
        }
        rounds
    }

    /// Returns parameters of Linux's sender with this congestion control, without a handshake.
    fn linux(control: &str) -> Arc<Tcp> {
        let document = serde_json::json!({
            "handshake": false, "initial-window": 10, "congestion-control": { "kind": control, "form": "linux" },
            "recovery": { "kind": "sack", "form": "linux" }, "timers": { "form": "linux" },
        });
        Arc::new(tailback_document::decode(document).expect("parameters decode"))
    }

    /// Linux does not pace the first nine gaps of a connection (`tcp_update_skb_after_send`), so that BBR's initial
    /// window of 10 segments is sent at once, in each connection.
    #[test]
    fn each_connection_of_linux_sends_its_initial_window_at_once() {
        let tcp = linux("bbr");
        let mut sender = Sender::new(&tcp, Rng::named(1, "sender"));
        let (mut receiver, mut now) = (Receiver::new(&tcp), Time::ZERO);
        for connection in 0..3 {
            if connection > 0 {
                let start = sender.reopen(Rng::named(1, "sender"));
                receiver.reopen(&tcp, start);
            }
            assert_eq!(rounds(&mut sender, &mut receiver, &mut now, 30)[0], 10, "connection {connection}");
        }
    }

    /// Linux counts a segment that is reported as a duplicate as delivered, unless more are reported than the connection
    /// has retransmitted (`tcp_dsack_seen`): those of earlier connections do not count. Two segments that are acknowledged
    /// in slow start open the window by two segments.
    #[test]
    fn duplicates_are_compared_with_the_retransmissions_of_their_connection() {
        let tcp = linux("reno");
        let ack = |next, echo, duplicate: Option<u32>| {
            let first = duplicate.map_or(Block::default(), |seq| Block { start: seq, end: seq + 1 });
            let sack = [first, Block::default(), Block::default()];
            Ack { next, ece: false, syn: false, echo, delay: Dur::ZERO, window: Ack::UNLIMITED, sack }
        };
        let mut sender = Sender::new(&tcp, Rng::named(1, "sender"));
        sender.offer(Time::ZERO, 1460);
        sender.poll(Time::ZERO).expect("the segment");
        let expired = sender.deadline();
        sender.on_timer(expired);
        assert!(sender.poll(expired).expect("the segment again").retransmission);
        sender.on_ack(expired + Dur::from_ms(100), &ack(1, expired, None), None);
        assert!(sender.done() && sender.statistics().retransmissions == 1);
        let (start, now) = (sender.reopen(Rng::named(1, "sender")), expired + Dur::from_secs(1));
        sender.offer(now, 20 * 1460);
        assert_eq!(std::iter::from_fn(|| sender.poll(now)).count(), 10);
        sender.on_ack(now + Dur::from_ms(100), &ack(start + 2, now, Some(start)), None);
        assert_eq!(sender.cwnd(), 12.0);
    }

    #[test]
    fn a_reopened_connection_starts_as_slowly_as_the_first_and_counts_continue() {
        for control in ["reno", "cubic", "bbr", "bbr3", "dctcp"] {
            let document = serde_json::json!({ "congestion-control": { "kind": control }, "initial-window": 2 });
            let tcp: Arc<Tcp> = Arc::new(tailback_document::decode(document).expect("parameters decode"));
            let mut sender = Sender::new(&tcp, Rng::named(1, "sender"));
            let (mut receiver, mut now) = (Receiver::new(&tcp), Time::ZERO);
            let first = rounds(&mut sender, &mut receiver, &mut now, 60);
            let last = sender.next();
            let start = sender.reopen(Rng::named(1, "sender"));
            receiver.reopen(&tcp, start);
            assert_eq!(start, last + 1, "{control}: one number is left out");
            assert_eq!(rounds(&mut sender, &mut receiver, &mut now, 60), first, "{control}");
            assert_eq!((sender.statistics().sent, receiver.delivered()), (120, 120 * 1460), "{control}");
        }
    }
}
