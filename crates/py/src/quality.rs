//! Perceived quality of speech and video.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tailback_measure::quality::{self, QosClass, Speech, Video, Violation};

/// Returns `value` if it is from 0 to 1; otherwise raises `ValueError`.
fn fraction(name: &str, value: f64) -> PyResult<f64> {
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!("{name} is from 0 to 1, not {value}")))
}

/// Returns `value` if it is finite and at least `least`; otherwise raises `ValueError`.
fn at_least(name: &str, value: f64, least: f64) -> PyResult<f64> {
    if value >= least && value.is_finite() {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!("{name} is {least} or more, not {value}")))
}

/// Returns the error of an unknown codec, with the known ones.
fn unknown<'a>(codec: &str, known: impl Iterator<Item = &'a str>) -> PyErr {
    PyValueError::new_err(format!("no codec is named {codec:?}; there are {}", known.collect::<Vec<_>>().join(", ")))
}

/// Returns the rating R of a call by the E-model (ITU-T G.107). Raises `ValueError` for an unknown codec or a value out
/// of range.
#[pyfunction]
pub fn speech_rating(delay_s: f64, loss: f64, burst_ratio: f64, codec: &str) -> PyResult<f64> {
    let known = || unknown(codec, quality::speech_codecs().iter().map(|c| c.name));
    let speech = Speech {
        delay_s: at_least("the delay", delay_s, 0.0)?,
        loss: fraction("a loss", loss)?,
        burst_ratio: at_least("a burst ratio", burst_ratio, f64::MIN_POSITIVE)?,
        codec: quality::speech_codec(codec).ok_or_else(known)?,
    };
    Ok(speech.rating())
}

/// Returns the mean opinion score of a rating, 1 to 4.5.
#[pyfunction]
pub fn mos(rating: f64) -> f64 {
    quality::speech_mos(rating)
}

/// Returns the video quality by ITU-T G.1070, 1 to 5. Raises `ValueError` for an unknown codec or a value out of range.
#[pyfunction]
pub fn video_score(rate_bps: f64, loss: f64, frame_rate: f64, codec: &str) -> PyResult<f64> {
    let known = || unknown(codec, quality::video_codecs().iter().map(|c| c.name));
    let video = Video {
        rate_bps: at_least("a bit rate", rate_bps, 1.0)?,
        frame_rate: at_least("a frame rate", frame_rate, 0.1)?,
        loss: fraction("a loss", loss)?,
        codec: quality::video_codec(codec).ok_or_else(known)?,
    };
    Ok(video.score())
}

/// Returns the objectives of a class of ITU-T Y.1541: mean delay, delay variation (both in seconds) and loss ratio;
/// `None`: the class has no such objective. Raises `ValueError` for a class above 5.
#[pyfunction]
pub fn y1541_limits(class_: u8) -> PyResult<(Option<f64>, Option<f64>, Option<f64>)> {
    let limits = class(class_)?.limits();
    Ok((limits.delay_s, limits.variation_s, limits.loss))
}

/// Returns the objectives of a class that a stream does not meet, of "delay", "variation" and "loss". Raises
/// `ValueError` for a class above 5.
#[pyfunction]
pub fn y1541_violations(class_: u8, delay_s: f64, variation_s: f64, loss: f64) -> PyResult<Vec<&'static str>> {
    let name = |violation| match violation {
        Violation::Delay => "delay",
        Violation::Variation => "variation",
        Violation::Loss => "loss",
    };
    Ok(class(class_)?.violations(delay_s, variation_s, loss).into_iter().map(name).collect())
}

/// Returns the number of the strictest class whose objectives a stream meets, 0 to 5.
#[pyfunction]
pub fn y1541_class(delay_s: f64, variation_s: f64, loss: f64) -> u8 {
    QosClass::met_by(delay_s, variation_s, loss).number()
}

/// Returns the class of that number, 0 to 5; otherwise raises `ValueError`.
fn class(number: u8) -> PyResult<QosClass> {
    QosClass::new(number)
        .ok_or_else(|| PyValueError::new_err(format!("{number} is not a class; the classes are 0 to 5")))
}
