//! The connections of a flow: their openings, and the bytes before each segment.

use std::collections::VecDeque;

/// Number of openings of which the numbers of segments are remembered. Packets of earlier ones have left the network.
const OPENINGS: usize = 8;
/// Number of short segments of an opening that are remembered; segments before them have left the network.
const SHORT: usize = 1 << 16;

/// Connections of a flow with a transport.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    /// The latest openings, in order.
    openings: VecDeque<Opening>,
    /// Number of openings so far.
    opened: u32,
    /// Time stamp of the last acknowledgement that has reached the sender, us.
    pub heard: u32,
}

/// A connection.
#[derive(Clone, Debug, Default)]
struct Opening {
    /// Number of the opening, from 0.
    number: u32,
    /// First segment; `None`: no segment of it is known yet.
    first: Option<u32>,
    /// Segment after the last one that has been sent.
    next: u32,
    /// Segments that are not full, each with the bytes that are missing up to its end.
    short: VecDeque<(u32, u64)>,
    /// `true` if the capture has a packet of the connection.
    shown: bool,
}

/// Returns `true` if segment `a` is before segment `b` (RFC 1982).
pub(super) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Opening {
    /// Returns the bytes before a segment, of which `full` have the size of a full one.
    fn offset(&self, segment: u32, full: u16) -> u64 {
        let first = self.first.unwrap_or(segment);
        let segments = u64::from(segment.wrapping_sub(first));
        let earlier = self.short.partition_point(|(short, _)| before(*short, segment));
        let missing = earlier.checked_sub(1).map_or(0, |last| self.short[last].1);
        (u64::from(full) * segments).saturating_sub(missing)
    }
}

impl Conversation {
    /// Notes a SYN that is sent, and returns the number of its opening. A SYN before any other segment of the last
    /// opening is a retransmission.
    pub fn syn(&mut self) -> u32 {
        match self.openings.back() {
            Some(last) if last.first.is_none() => last.number,
            _ => self.open(None),
        }
    }

    /// Notes a segment of data that is sent with `payload` bytes of `full`, and returns the number of its opening and
    /// the bytes before it. First transmissions are noted in order; a number that is skipped begins a new connection.
    pub fn data(&mut self, segment: u32, payload: u16, full: u16) -> (u32, u64) {
        match self.openings.back_mut() {
            Some(last) if last.first.is_none() => {
                last.first = Some(segment);
                last.next = segment;
            }
            Some(last) if !before(last.next, segment) => {}
            _ => {
                self.open(Some(segment));
            }
        }
        if let Some(last) = self.openings.back_mut().filter(|last| last.next == segment) {
            last.next = segment.wrapping_add(1);
            if payload < full {
                let missing = last.short.back().map_or(0, |(_, missing)| *missing) + u64::from(full - payload);
                last.short.push_back((segment, missing));
                if last.short.len() > SHORT {
                    last.short.pop_front();
                }
            }
        }
        self.place(segment, full)
    }

    /// Notes a SYN-ACK that is sent, which expects this segment, and returns the number of its opening.
    pub fn syn_ack(&mut self, segment: u32) -> u32 {
        if let Some(last) = self.openings.back_mut().filter(|last| last.first.is_none()) {
            last.first = Some(segment);
            last.next = segment;
        }
        self.place(segment, 0).0
    }

    /// Returns the number of the opening to which a segment belongs, and the bytes before it.
    pub fn place(&self, segment: u32, full: u16) -> (u32, u64) {
        let holds = |opening: &&Opening| opening.first.is_some_and(|first| !before(segment, first));
        let found = self.openings.iter().rev().find(holds);
        found.map_or((0, 0), |opening| (opening.number, opening.offset(segment, full)))
    }

    /// Returns the bytes before a segment of the opening with this number.
    pub fn offset(&self, opening: u32, segment: u32, full: u16) -> u64 {
        let found = self.openings.iter().find(|one| one.number == opening);
        found.map_or(0, |opening| opening.offset(segment, full))
    }

    /// Notes that the capture shows a packet of an opening; returns `true` if it is the first one.
    pub fn show(&mut self, opening: u32) -> bool {
        let found = self.openings.iter_mut().find(|one| one.number == opening);
        found.is_some_and(|opening| !std::mem::replace(&mut opening.shown, true))
    }

    fn open(&mut self, first: Option<u32>) -> u32 {
        let number = self.opened;
        self.opened += 1;
        self.openings.push_back(Opening { number, first, next: first.unwrap_or(0), ..Opening::default() });
        if self.openings.len() > OPENINGS {
            self.openings.pop_front();
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_before_a_segment_are_the_payloads_of_the_first_transmissions_before_it() {
        let mut made = Conversation::default();
        let payloads = [1000, 400, 1000, 1, 1000];
        let offsets: Vec<u64> =
            (0..).zip(payloads).map(|(segment, payload)| made.data(segment, payload, 1000).1).collect();
        assert_eq!(offsets, [0, 1000, 1400, 2400, 2401]);
        // A retransmission, and the segment that an acknowledgement expects.
        assert_eq!((made.data(1, 400, 1000), made.place(5, 1000)), ((0, 1000), (0, 3401)));
    }

    #[test]
    fn a_number_that_is_skipped_begins_a_connection_at_its_first_byte() {
        let mut made = Conversation::default();
        made.data(0, 1000, 1000);
        made.data(1, 10, 1000);
        assert_eq!(made.data(3, 1000, 1000), (1, 0));
        assert_eq!(made.data(4, 1000, 1000), (1, 1000));
        // Late packets of the first connection.
        assert_eq!((made.data(1, 10, 1000), made.place(2, 1000)), ((0, 1000), (0, 1010)));
    }

    #[test]
    fn a_syn_is_repeated_until_the_connection_has_a_segment() {
        let mut made = Conversation::default();
        assert_eq!((made.syn(), made.syn(), made.syn_ack(0)), (0, 0, 0));
        assert_eq!(made.data(0, 5, 10), (0, 0));
        assert_eq!((made.syn(), made.syn_ack(2), made.data(2, 10, 10)), (1, 1, (1, 0)));
        assert!(made.show(1) && !made.show(1) && made.show(0));
    }

    #[test]
    fn segment_numbers_wrap_around() {
        let mut made = Conversation::default();
        made.data(u32::MAX, 7, 10);
        assert_eq!((made.data(0, 10, 10), made.place(1, 10)), ((0, 7), (0, 17)));
    }
}
