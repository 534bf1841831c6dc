//! Perceived quality of network performance: speech by the E-model (ITU-T G.107), video by ITU-T G.1070, and the
//! classes of ITU-T Y.1541.
//!
//! Pure functions of delay, loss and delay variation; times are in seconds, losses are fractions.

mod e_model;
mod video;
mod y1541;

pub use e_model::{Codec, Speech, mos, speech_codec, speech_codecs};
pub use video::{Video, VideoCodec, video_codec, video_codecs};
pub use y1541::{Limits, QosClass, Violation};
