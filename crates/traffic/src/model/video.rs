//! MPEG-1 video of variable bit rate from a calibrated generator.

use crate::frames::Pacer;
use crate::{Burst, check, frames};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_document::Invalid;
use tailback_random::{Rng, maths};
use tailback_units::{Rate, Size, Time};

/// Frames in a group of pictures: IBBPBBPBBPBB.
const GROUP: u32 = 12;
/// Weight of an I frame: its mean size relative to the mean frame, before division by [`NORMAL`].
const I: f64 = 3.3;
/// Weight of a P frame.
const P: f64 = 1.6;
/// Weight of a B frame.
const B: f64 = 0.49;
/// Mean weight of a group's frames, one I, three P and eight B; division by it makes the mean rate exact.
const NORMAL: f64 = (I + 3.0 * P + 8.0 * B) / GROUP as f64;

/// MPEG-1 video of variable bit rate. Frames come in groups of twelve (one I frame, a P frame at each third position,
/// else B) of relative sizes 3.3, 1.6 and 0.49; each is multiplied by a scene factor per group, exp(s·z − s²/2) with z
/// an autoregressive process of order 1, and by a factor per frame, exp(j·e − j²/2); z and e are standard normal. The
/// defaults give a coefficient of variation of frame sizes of about 0.9 and a peak of 6 to 8 times the mean, as in
/// published MPEG-1 traces (Rose 1995; Garrett and Willinger 1994). A source begins at a random frame of the group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Video {
    /// Mean payload rate. Default "1.5Mbit/s" (Tobagi, Fraleigh and Noureddine).
    #[serde(default = "default_rate")]
    pub rate: Rate,
    /// Frames per second, 0.01 to 10000. Default 30.
    #[serde(default = "default_fps")]
    pub fps: f64,
    /// `true` if each frame is spread evenly over 1/fps, in packets; `false` if it is one burst. Default false.
    #[serde(default)]
    pub smooth: bool,
    /// Payload of the packets of a smooth frame, 1 B to 1 GB. Default "1500B".
    #[serde(default = "default_packet")]
    pub packet: Size,
    /// Standard deviation s of the logarithm of the scene factor, 0 to 2. Default 0.25.
    #[serde(default = "default_scene")]
    pub scene: f64,
    /// Correlation of z from one group to the next, 0 to 0.9999. Default 0.9.
    #[serde(default = "default_scene_memory")]
    pub scene_memory: f64,
    /// Standard deviation j of the logarithm of the factor per frame, 0 to 2. Default 0.2.
    #[serde(default = "default_variation")]
    pub variation: f64,
}

fn default_rate() -> Rate {
    Rate(1_500_000)
}
fn default_fps() -> f64 {
    30.0
}
fn default_packet() -> Size {
    Size(1_500)
}
fn default_scene() -> f64 {
    0.25
}
fn default_scene_memory() -> f64 {
    0.9
}
fn default_variation() -> f64 {
    0.2
}

impl Default for Video {
    fn default() -> Video {
        Video {
            rate: default_rate(),
            fps: default_fps(),
            smooth: false,
            packet: default_packet(),
            scene: default_scene(),
            scene_memory: default_scene_memory(),
            variation: default_variation(),
        }
    }
}

impl Video {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        frames::check(self.fps, self.packet)?;
        let frame = self.mean_frame();
        if !(64.0..=1e9).contains(&frame) {
            let advice = format!(
                "{} at {} frames per second is {frame:.0} B per frame; it must be 64 B to 1 GB",
                self.rate, self.fps
            );
            return Err(Invalid::new("rate", advice));
        }
        check::within("scene", self.scene, 0.0, 2.0)?;
        check::within("scene-memory", self.scene_memory, 0.0, 0.9999)?;
        check::within("variation", self.variation, 0.0, 2.0)
    }

    /// Returns the mean frame in bytes.
    fn mean_frame(&self) -> f64 {
        self.rate.0 as f64 / 8.0 / self.fps
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        Some(self.rate.0 as f64)
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        None
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let pacer = Pacer::new(at, self.fps, self.smooth, self.packet).with_random_phase(rng);
        let mut generator = Generator {
            mean: self.mean_frame() / NORMAL,
            scene: self.scene,
            memory: self.scene_memory,
            innovation: (1.0 - self.scene_memory * self.scene_memory).sqrt(),
            variation: self.variation,
            z: rng.normal(),
            factor: 1.0,
            position: rng.below(u64::from(GROUP)) as u32,
        };
        generator.set_factor();
        Source { pacer, generator }
    }
}

/// A video source.
#[derive(Clone, Debug)]
pub struct Source {
    pacer: Pacer,
    generator: Generator,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, rng: &mut Rng) -> Option<Burst> {
        self.pacer.next(|| Some(self.generator.frame(rng)))
    }
}

/// Generator of frame sizes.
#[derive(Clone, Debug)]
struct Generator {
    /// Mean frame in bytes, divided by [`NORMAL`].
    mean: f64,
    scene: f64,
    memory: f64,
    /// Factor of the innovations, √(1 − memory²), which keeps the variance of z at 1.
    innovation: f64,
    variation: f64,
    /// State of the autoregressive process.
    z: f64,
    /// Scene factor of the current group.
    factor: f64,
    /// Position of the next frame in the group.
    position: u32,
}

impl Generator {
    /// Draws the size of the next frame in bytes.
    fn frame(&mut self, rng: &mut Rng) -> u64 {
        let weight = match self.position {
            0 => {
                self.z = self.memory * self.z + self.innovation * rng.normal();
                self.set_factor();
                I
            }
            p if p.is_multiple_of(3) => P,
            _ => B,
        };
        self.position = (self.position + 1) % GROUP;
        let frame_factor = maths::exp(self.variation * rng.normal() - 0.5 * self.variation * self.variation);
        ((self.mean * weight * self.factor * frame_factor + 0.5) as u64).clamp(1, crate::MAX_BURST)
    }

    /// Computes the scene factor from z.
    fn set_factor(&mut self) {
        self.factor = maths::exp(self.scene * self.z - 0.5 * self.scene * self.scene);
    }
}
