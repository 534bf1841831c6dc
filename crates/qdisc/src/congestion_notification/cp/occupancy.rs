//! The length of a queue in frames, the unit of the thresholds of BCN and ECM.

use crate::law::Backlog;
use crate::signals::Length;
use tailback_document::Invalid;
use tailback_units::Size;

/// Unit of the queue length: frames of any length, or frames of a fixed number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Occupancy(Option<f64>);

impl Occupancy {
    /// Returns a measure in frames of `frame` bytes. `None`: frames of any length are counted.
    pub fn new(frame: Option<Size>) -> Occupancy {
        Occupancy(frame.map(|size| size.0 as f64))
    }
    /// Returns the length of a queue in frames.
    #[inline]
    pub fn of(self, queued: Backlog) -> f64 {
        self.0.map_or(queued.packets as f64, |frame| queued.bytes as f64 / frame)
    }
    /// Returns a queue length of `frames` frames as a threshold; `frame` as in [`Occupancy::new`].
    pub fn length(frame: Option<Size>, frames: f64) -> Length {
        frame.map_or(Length::Packets(frames), |size| Length::Bytes(frames * size.0 as f64))
    }
    /// Refuses a frame size outside 1 B to 65535 B.
    ///
    /// # Errors
    /// If the size is out of range: the error names the parameter `frame` and says what to write.
    pub fn check(frame: Option<Size>) -> Result<(), Invalid> {
        frame.map_or(Ok(()), |size| crate::check::packet("frame", size))
    }
}
