//! Video from a trace of frame sizes.
//!
//! This crate opens no files: the reader of the scenario reads the trace and passes its text to [`Trace::load`]. The
//! source of a trace that was not loaded sends nothing.

use crate::frames::Pacer;
use crate::trace_format::{Format, TraceError, parse_trace};
use crate::{Burst, check, frames};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tailback_document::Invalid;
use tailback_random::Rng;
use tailback_units::{Rate, Size, Time};

/// Video frames with the sizes of a trace file, at even intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Trace {
    /// Path of the trace, relative to the scenario.
    pub file: String,
    /// "terse-bytes" (one size per line, in bytes), "terse-bits" (in bits), or "verbose" (frame
    /// index, type, time in ms, bytes).
    pub format: Format,
    /// Frames per second, 0.01 to 10000; times in the file are not used. Default 25 (the Würzburg, Berlin and Arizona
    /// traces).
    #[serde(default = "default_fps")]
    pub fps: f64,
    /// Mean payload rate to which all frames are scaled. Default: the sizes of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale_to: Option<Rate>,
    /// `true` if the trace begins at a random frame and is repeated; `false` if it is sent once, from its first frame.
    /// Default true.
    #[serde(rename = "loop", default = "default_repeat")]
    pub repeat: bool,
    /// `true` if each frame is spread evenly over 1/fps, in packets; `false` if it is one burst. Default false.
    #[serde(default)]
    pub smooth: bool,
    /// Payload of the packets of a smooth frame, 1 B to 1 GB. Default "1500B".
    #[serde(default = "default_packet")]
    pub packet: Size,
    // Frame sizes in bytes, set by `load`; shared by all sources of a model.
    #[serde(skip)]
    frames: Arc<[u32]>,
}

fn default_fps() -> f64 {
    25.0
}
fn default_repeat() -> bool {
    true
}
fn default_packet() -> Size {
    Size(1_500)
}

impl Trace {
    /// Returns a trace with default parameters, not yet loaded.
    pub fn new(file: &str, format: Format) -> Trace {
        Trace {
            file: file.to_owned(),
            format,
            fps: default_fps(),
            scale_to: None,
            repeat: default_repeat(),
            smooth: false,
            packet: default_packet(),
            frames: Arc::default(),
        }
    }

    /// Parses the text of the file; if it is malformed, the frames of an earlier call stay.
    ///
    /// # Errors
    /// Those of [`parse_trace`].
    pub fn load(&mut self, text: &str) -> Result<(), TraceError> {
        self.frames = parse_trace(text, self.format)?.into();
        Ok(())
    }

    /// Returns the frame sizes in bytes before scaling; empty until loaded.
    pub fn frames(&self) -> &[u32] {
        &self.frames
    }

    /// Checks the parameters; the file is checked when it is loaded.
    ///
    /// # Errors
    /// If a parameter is invalid: the error names it and says what to write.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.file.is_empty() {
            return Err(Invalid::new("file", "the path is empty; write the path of a trace file"));
        }
        frames::check(self.fps, self.packet)?;
        match self.scale_to {
            Some(rate) => {
                let frame = rate.0 as f64 / 8.0 / self.fps;
                check::within("scale-to", frame, 1.0, 1e9).map_err(|_| {
                    Invalid::new("scale-to", format!("{rate} is {frame:.0} B per frame; it must be 1 B to 1 GB"))
                })
            }
            None => Ok(()),
        }
    }

    pub(crate) fn mean_rate_bps(&self) -> Option<f64> {
        self.scale_to.map(|rate| rate.0 as f64).or_else(|| self.mean_frame().map(|frame| 8.0 * self.fps * frame))
    }

    pub(crate) fn burst_bytes(&self) -> Option<u64> {
        None
    }

    /// Returns the mean frame in bytes before scaling; `None`: not loaded.
    fn mean_frame(&self) -> Option<f64> {
        let sum: u64 = self.frames.iter().map(|&frame| u64::from(frame)).sum();
        (sum > 0).then(|| sum as f64 / self.frames.len() as f64)
    }

    pub(crate) fn start(&self, at: Time, rng: &mut Rng) -> Source {
        let pacer = Pacer::new(at, self.fps, self.smooth, self.packet);
        let scale = match (self.scale_to, self.mean_frame()) {
            (Some(rate), Some(frame)) => rate.0 as f64 / (8.0 * self.fps * frame),
            _ => 1.0,
        };
        let frames = Arc::clone(&self.frames);
        if self.repeat && !frames.is_empty() {
            let position = rng.below(frames.len() as u64) as usize;
            let pacer = pacer.with_random_phase(rng);
            return Source { pacer, frames, position, repeat: true, scale };
        }
        Source { pacer, frames, position: 0, repeat: false, scale }
    }
}

/// A source that replays a trace.
#[derive(Clone, Debug)]
pub struct Source {
    pacer: Pacer,
    frames: Arc<[u32]>,
    /// Index of the next frame; may be one past the last.
    position: usize,
    repeat: bool,
    /// Factor by which frame sizes are multiplied.
    scale: f64,
}

impl Source {
    #[inline]
    pub(crate) fn next(&mut self, _: &mut Rng) -> Option<Burst> {
        let Source { pacer, frames, position, repeat, scale } = self;
        // A loaded trace has a non-empty frame, so the loop ends.
        pacer.next(|| {
            if *repeat && *position == frames.len() {
                *position = 0;
            }
            let frame = *frames.get(*position)?;
            *position += 1;
            Some(scaled(frame, *scale))
        })
    }
}

/// Returns the size of a frame after scaling, bytes; at least 1 unless the frame is empty.
fn scaled(frame: u32, scale: f64) -> u64 {
    if frame == 0 {
        return 0;
    }
    ((f64::from(frame) * scale + 0.5) as u64).clamp(1, crate::MAX_BURST)
}
