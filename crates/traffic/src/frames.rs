//! Video frames as bursts: whole at one instant, or spread evenly over the frame period.

use crate::{Burst, burst, check};
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Dur, Size, Time};

/// Emits frames at even intervals.
#[derive(Clone, Debug)]
pub struct Pacer {
    /// Time between frames in picoseconds.
    period: u64,
    /// Payload of the packets into which a frame is spread, bytes; `None`: each frame is one burst.
    packet: Option<u64>,
    /// Start time of the next frame.
    next_frame: Time,
    /// Start time of the current frame.
    frame_start: Time,
    /// Bytes of the current frame.
    frame: u64,
    /// Bytes of the current frame emitted so far.
    sent: u64,
}

/// Checks that the frame rate is 0.01 to 10000 frames per second and the packet size 1 B to 1 GB.
pub fn check(fps: f64, packet: Size) -> Result<(), Invalid> {
    check::within("fps", fps, 0.01, 10_000.0)?;
    check::size("packet", packet, 1)
}

impl Pacer {
    /// Returns a pacer whose first frame starts at `at`, with `fps` frames per second. If `smooth`, each frame is spread
    /// over its period in packets of `packet` bytes.
    pub fn new(at: Time, fps: f64, smooth: bool, packet: Size) -> Pacer {
        let period = Dur::from_secs_f64(1.0 / fps).0;
        Pacer { period, packet: smooth.then_some(packet.0), next_frame: at, frame_start: at, frame: 0, sent: 0 }
    }

    /// Returns the pacer with its first frame at a random instant of the first period.
    pub fn with_random_phase(self, rng: &mut Rng) -> Pacer {
        let next_frame = self.next_frame + Dur(rng.below(self.period));
        Pacer { next_frame, ..self }
    }

    /// Returns the next burst; `None`: there are no further frames, or the end of [`Time`] is reached. `next_frame`
    /// returns the size of the next frame in bytes, and `None` after the last. A frame of 0 bytes takes its period and
    /// sends nothing.
    #[inline]
    pub fn next(&mut self, mut next_frame: impl FnMut() -> Option<u64>) -> Option<Burst> {
        while self.sent == self.frame {
            self.frame = next_frame()?;
            self.sent = 0;
            self.frame_start = self.next_frame;
            self.next_frame += Dur(self.period);
            if self.next_frame == Time::NEVER {
                return None;
            }
        }
        let Some(packet) = self.packet else {
            self.sent = self.frame;
            return burst(self.frame_start, self.frame);
        };
        let (number, packets) = (self.sent / packet, self.frame.div_ceil(packet));
        let offset = u128::from(self.period) * u128::from(number) / u128::from(packets);
        let bytes = packet.min(self.frame - self.sent);
        self.sent += bytes;
        // The offset is below the period, which is a u64.
        burst(self.frame_start + Dur(offset as u64), bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bursts of frames of these sizes at 25 frames per second, from 1000 ps on, in packets of 1500 B.
    fn bursts(smooth: bool, sizes: &[u64]) -> Vec<Burst> {
        let mut pacer = Pacer::new(Time(1_000), 25.0, smooth, Size(1_500));
        let mut sizes = sizes.iter().copied();
        core::iter::from_fn(|| pacer.next(|| sizes.next())).collect()
    }

    #[test]
    fn a_whole_frame_is_one_burst_and_an_empty_one_only_takes_time() {
        let observed = bursts(false, &[6_000, 0, 100]);
        let period = Dur::from_ms(40);
        assert_eq!(observed[0], Burst { at: Time(1_000), bytes: 6_000 });
        assert_eq!(observed[1], Burst { at: Time(1_000) + period * 2, bytes: 100 });
        assert_eq!(observed.len(), 2);
    }

    #[test]
    fn a_smooth_frame_is_spread_evenly_over_its_period() {
        let observed = bursts(true, &[4_000, 1_500]);
        let at: Vec<u64> = observed.iter().map(|b| b.at.0 - 1_000).collect();
        assert_eq!(observed.iter().map(|b| b.bytes).collect::<Vec<_>>(), [1_500, 1_500, 1_000, 1_500]);
        // Three packets in a period of 40 ms, then the next frame.
        assert_eq!(at, [0, 13_333_333_333, 26_666_666_666, 40_000_000_000]);
    }
}
