//! The length of a queue in the frames in which BCN and ECM state their thresholds.

use crate::law::Backlog;
use crate::signals::Length;
use tailback_document::Invalid;
use tailback_units::Size;

/// How a queue is measured: in frames as they come, or in so many bytes for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy(Option<f64>);

impl Occupancy {
    /// Frames of `frame` bytes; none counts frames whatever their length.
    pub fn new(frame: Option<Size>) -> Occupancy {
        Occupancy(frame.map(|size| size.0 as f64))
    }
    /// The length of a queue in frames.
    #[inline]
    pub fn of(self, queued: Backlog) -> f64 {
        self.0.map_or(queued.packets as f64, |frame| queued.bytes as f64 / frame)
    }
    /// So many frames, of so many bytes each or as they come, as a length of queue.
    pub fn length(frame: Option<Size>, frames: f64) -> Length {
        frame.map_or(Length::Packets(frames), |size| Length::Bytes(frames * size.0 as f64))
    }
    /// A frame has bytes.
    pub fn check(frame: Option<Size>) -> Result<(), Invalid> {
        frame.map_or(Ok(()), |size| crate::check::packet("frame", size))
    }
}
