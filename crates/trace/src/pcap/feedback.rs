//! Messages of congestion points: BCN and IEEE 802.1Qau ([`tailback_qdisc::congestion_notification::wire`]).

use super::address::{mac, point_mac};
use super::frame::Synthetic;
use tailback_qdisc::congestion_notification::wire::{BcnMessage, CN_TAG_LENGTH, COPIED, Cnm, Format, MAX_MSDU, Mac};
use tailback_sim::plan::NodeId;

/// Bytes of a check sequence, which captures leave out.
const FCS: usize = 4;
/// Bytes of a congestion notification message without the part of the sampled frame that it holds and without a tag.
const EMPTY: usize = 46;
/// Bytes of addresses and EtherType.
const ETHERNET: usize = 14;

/// A message.
#[derive(Clone, Debug)]
pub(super) struct Message<'a> {
    pub format: Format,
    /// Number of the congestion point.
    pub point: u16,
    /// Host that sent the sampled frame.
    pub source: NodeId,
    /// Change of the rate in the law's unit; `None`: the source stops.
    pub change: Option<f64>,
    /// Priority of the message and of the sampled frame.
    pub priority: u8,
    /// Length of the message's frame in the model, check sequence included, bytes.
    pub length: u16,
    /// First bytes of a frame like the sampled one.
    pub sampled: &'a [u8],
    /// Time of the message, us.
    pub time: u64,
}

impl Message<'_> {
    /// Returns the frame, without its check sequence.
    pub fn frame(&self) -> Synthetic {
        let (destination, source) = (mac(self.source), point_mac(self.point));
        let control = u16::from(self.priority) << 13;
        let mut head = match self.format {
            Format::Bcn => {
                let mut copied = [0; COPIED];
                let length = self.sampled.len().min(COPIED);
                copied[..length].copy_from_slice(&self.sampled[..length]);
                let (point, timestamp) = (self.point, self.time as u16);
                // Both fields 0 are BCN(0,0), which stops the source.
                let offset = self.change.map_or(0, |change| change as i16);
                let message = BcnMessage {
                    destination,
                    source,
                    control,
                    version: 0,
                    point,
                    offset,
                    growth: 0,
                    timestamp,
                    copied,
                };
                message.encode().to_vec()
            }
            Format::Cnm => {
                let excess = usize::from(self.length).saturating_sub(EMPTY);
                let (flow, held) = if excess > MAX_MSDU { (Some(0), excess - CN_TAG_LENGTH) } else { (None, excess) };
                let mut msdu = self.sampled.get(ETHERNET..).unwrap_or_default().to_vec();
                msdu.resize(held.min(MAX_MSDU), 0);
                let sampled_destination: Mac = self.sampled.first_chunk().copied().unwrap_or_default();
                let (feedback, point) = (self.change.map_or(63.0, f64::abs).min(63.0) as u8, u64::from(self.point));
                let message = Cnm {
                    destination,
                    source,
                    control,
                    flow,
                    version: 0,
                    feedback,
                    point,
                    offset: 0,
                    growth: 0,
                    priority: self.priority,
                    sampled_destination,
                    msdu,
                };
                message.encode()
            }
        };
        head.truncate(head.len() - FCS);
        Synthetic { head, ..Synthetic::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(format: Format, change: Option<f64>, length: u16) -> Vec<u8> {
        let sampled = [7; 40];
        let message =
            Message { format, point: 3, source: 1, change, priority: 5, length, sampled: &sampled, time: 0x1_0004 };
        message.frame().head
    }

    #[test]
    fn a_bcn_message_holds_the_level_and_the_start_of_the_sampled_frame() {
        let found = message(Format::Bcn, Some(-3.0), 64);
        assert_eq!(found.len(), 60);
        let expected =
            [2, 0, 0, 0, 0, 2, 6, 0, 0, 0, 0, 3, 0x81, 0, 0xa0, 0, 0x88, 0xb5, 0, 0, 0, 3, 0xff, 0xfd, 0, 0, 0, 4, 7];
        assert_eq!(found[..29], expected);
        assert_eq!(message(Format::Bcn, None, 64)[22..26], [0; 4]);
    }

    #[test]
    fn a_qcn_message_has_the_length_of_the_model_and_the_size_of_the_feedback() {
        // 64 B of the sampled frame without a tag, and with one.
        for (length, kind) in [(110, [0x22, 0xe7]), (114, [0x22, 0xe9])] {
            let found = message(Format::Cnm, Some(-40.0), length);
            assert_eq!((found.len() + FCS, &found[16..18]), (usize::from(length), kind.as_slice()));
        }
        assert_eq!(message(Format::Cnm, Some(-40.0), 110)[18..20], [0, 40]);
    }
}
