//! Perceived quality of network performance: speech by the E-model (ITU-T G.107), video by ITU-T G.1070, and the
//! classes of ITU-T Y.1541.
//!
//! Pure functions: of the one-way delay from mouth to ear, loss, its burstiness and the codec for speech; of bit rate,
//! frame rate, loss and the codec for video; of the network's delay, delay variation and loss for the classes. Delays are
//! in seconds, losses are fractions from 0 to 1.

mod e_model;
mod video;
mod y1541;

pub use e_model::{Codec, Speech, speech_codec, speech_codecs, speech_mos};
pub use video::{Video, VideoCodec, video_codec, video_codecs};
pub use y1541::{Limits, QosClass, Violation};
