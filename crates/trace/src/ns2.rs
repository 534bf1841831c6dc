//! Text format of ns-2 (`trace-all`), as described in The ns Manual, chapter "Trace and Monitoring Support", and
//! written by `trace/trace.cc`.

use crate::places::{Numbering, Places, seconds};
use std::fmt::Write;
use tailback_qdisc::Ecn;
use tailback_sim::plan::{EventKind, FrameKind};
use tailback_sim::trace::Row;

/// Writer of the text format of ns-2. It numbers packets in the order of their first rows over all calls.
#[derive(Clone, Debug)]
pub struct Ns2 {
    places: Places,
    numbers: Numbering,
}

impl Ns2 {
    /// Returns a writer for the traces of a network.
    pub fn new(places: Places) -> Ns2 {
        Ns2 { places, numbers: Numbering::default() }
    }

    /// Returns the lines of the rows, in their order. Rows of events and frames that ns-2 does not have, and of unknown
    /// ports and flows, have no line.
    pub fn lines(&mut self, rows: &[Row]) -> String {
        let mut text = String::new();
        for row in rows {
            self.line(row, &mut text);
        }
        text
    }

    fn line(&mut self, row: &Row, text: &mut String) {
        let event = match row.event {
            EventKind::Enqueue => '+',
            EventKind::Dequeue => '-',
            EventKind::Receive | EventKind::Deliver => 'r',
            EventKind::Drop => 'd',
            _ => return,
        };
        let is_ack = matches!(row.frame, FrameKind::Ack | FrameKind::SynAck);
        if !row.frame.is_packet() {
            return;
        }
        let Some((ends, from, to)) = self.places.ends(row, is_ack) else { return };
        let kind = match (is_ack, ends.has_transport) {
            (true, _) => "ack",
            (false, true) => "tcp",
            (false, false) => "udp",
        };
        let (from_node, to_node) = self.places.ports[row.port as usize];
        // In ns-2 an acknowledgement has the number of the last segment received in order, not of the next one
        // expected.
        let sequence = i64::from(row.sequence) - i64::from(is_ack);
        let number = self.numbers.of(row.packet);
        let (time, size, flow) = (seconds(row.time), row.size, row.flow);
        let flags = flags(row, is_ack);
        let _ = writeln!(
            text,
            "{event} {time} {from_node} {to_node} {kind} {size} {flags} {flow} {from}.{flow} {to}.{flow} {sequence} {number}"
        );
    }
}

/// Returns the seven flags: `C` ECN echo, `A` congestion action (window reduced), `E` congestion experienced, `N`
/// ECN-capable, `-` not set.
fn flags(row: &Row, is_ack: bool) -> String {
    let flag = |set: bool, letter: char| if set { letter } else { '-' };
    let places = [
        flag(row.echo && is_ack, 'C'),
        '-',
        '-',
        flag(row.echo && !is_ack, 'A'),
        flag(row.ecn == Ecn::Ce, 'E'),
        '-',
        flag(row.ecn != Ecn::NotEct, 'N'),
    ];
    places.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{acknowledgement, lost_segment, mark, places};

    // Flags as in `trace/trace.cc` of ns-2.35: C echo, A window reduced, E congestion experienced, N ECN-capable.
    #[test]
    fn segments_and_acknowledgements_have_the_lines_written_by_hand() {
        let mut ns2 = Ns2::new(places());
        let rows = [mark(), lost_segment(), acknowledgement(), lost_segment()];
        assert_eq!(
            ns2.lines(&rows),
            "d 0.5 0 1 tcp 1500 ---AE-N 0 0.0 1.0 3 0\n\
             r 1.25 1 0 ack 40 C------ 0 1.0 0.0 4 1\n\
             d 0.5 0 1 tcp 1500 ---AE-N 0 0.0 1.0 3 0\n"
        );
        assert_eq!(
            ns2.lines(&rows[2..3]),
            "r 1.25 1 0 ack 40 C------ 0 1.0 0.0 4 1\n",
            "packets keep their numbers in later calls"
        );
    }

    #[test]
    fn rows_of_unknown_flows_and_ports_have_no_line() {
        let rows = [Row { flow: 1, ..lost_segment() }, Row { port: 2, ..lost_segment() }];
        assert_eq!(Ns2::new(places()).lines(&rows), "");
    }
}
