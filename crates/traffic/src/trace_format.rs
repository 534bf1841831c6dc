//! Text formats of frame-size traces.

use core::fmt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Format of a trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// One frame per line, in bytes (TU Berlin, Arizona State).
    TerseBytes,
    /// One frame per line, in bits (Rose, Würzburg; Garrett); rounded up to whole bytes.
    TerseBits,
    /// Four columns: frame index, type (I, P or B), time in ms, bytes (TU Berlin, Arizona State).
    Verbose,
}

/// Error of a trace file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceError {
    /// Line number, from 1; 0: the whole file.
    pub line: usize,
    /// Message: the error and its remedy.
    pub message: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.message),
            line => write!(f, "line {line}: {}", self.message),
        }
    }
}
impl std::error::Error for TraceError {}

/// Upper bound on the number of frames of a trace: 77 days at 30 frames per second, 800 MB in memory.
const MAX_FRAMES: usize = 200_000_000;

/// Returns the frame sizes in bytes, in the order of the file. Skips blank lines and comments (`#`), and in verbose
/// files header lines before the first frame; every other line must be a frame, and at least one frame must not be
/// empty.
///
/// # Errors
/// If a line is not a frame, no frame has bytes, or there are more than 200 million frames.
pub fn parse_trace(text: &str, format: Format) -> Result<Vec<u32>, TraceError> {
    let mut frames = Vec::new();
    // Some files begin with a byte-order mark.
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let frame = match format {
            Format::TerseBytes => frame_in_bytes(line),
            Format::TerseBits => frame_in_bits(line),
            // A header can only come before the first frame, and never begins with a number.
            Format::Verbose if frames.is_empty() && !line.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                continue;
            }
            Format::Verbose => verbose_frame(line),
        };
        frames.push(frame.map_err(|message| TraceError { line: number + 1, message })?);
        if frames.len() > MAX_FRAMES {
            return Err(TraceError {
                line: number + 1,
                message: format!("the trace is longer than {MAX_FRAMES} frames; cut it"),
            });
        }
    }
    if frames.is_empty() {
        return Err(TraceError { line: 0, message: "the trace has no frames; is the format right?".to_owned() });
    }
    if frames.iter().all(|&frame| frame == 0) {
        return Err(TraceError {
            line: 0,
            message: "every frame of the trace is empty; is the format right?".to_owned(),
        });
    }
    Ok(frames)
}

/// Parses a line of four columns; returns the size of the frame in bytes.
fn verbose_frame(line: &str) -> Result<u32, String> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let &[index, kind, time, bytes] = columns.as_slice() else {
        let found = columns.len();
        return Err(format!("{found} columns instead of 4; a verbose trace has frame index, type, time in ms, bytes"));
    };
    number(index)?;
    if !kind.chars().all(|c| c.is_ascii_alphabetic()) {
        return Err(format!("the second column is `{kind}` instead of a frame type such as I, P or B"));
    }
    if !time.parse::<f64>().is_ok_and(|t| t.is_finite() && t >= 0.0) {
        return Err(format!("the third column is `{time}` instead of a time in ms"));
    }
    frame_in_bytes(bytes)
}

/// Parses a size in bytes.
fn frame_in_bytes(text: &str) -> Result<u32, String> {
    let bytes = number(text)?;
    u32::try_from(bytes).map_err(|_| format!("a frame of {bytes} bytes is too large; the limit is {}", u32::MAX))
}

/// Parses a size in bits; returns bytes, rounded up.
fn frame_in_bits(text: &str) -> Result<u32, String> {
    let bytes = number(text)?.div_ceil(8);
    u32::try_from(bytes).map_err(|_| format!("a frame of {bytes} bytes is too large; the limit is {}", u32::MAX))
}

/// Parses a non-negative integer.
fn number(text: &str) -> Result<u64, String> {
    // A binary file given by mistake must not fill the screen.
    let shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        let negative = text.strip_prefix('-').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        let fault = if negative { "is negative" } else { "is not a whole number" };
        let columns =
            if text.contains(char::is_whitespace) { "; for four columns the format is \"verbose\"" } else { "" };
        return Err(format!("`{shown}` {fault}{columns}"));
    }
    text.parse().map_err(|_| format!("`{shown}` is too large"))
}
