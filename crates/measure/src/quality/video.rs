//! Video quality by ITU-T G.1070 (2012), "Opinion model for video-telephony applications", section 11.
//!
//! Vq = 1 + Icoding · exp(-Ppl / DPpl), 1 to 5. The coefficients are the examples of appendix I of the Recommendation
//! for one codec and one display; they are fitted to bit rates of 0.1 to 4 Mbit/s, up to 30 frames per second, and up
//! to 10 % of random loss. Outside these ranges, a score is an extrapolation.

use tailback_random::maths::{exp, ln, pow};

/// A video codec and display with its coefficients v1 to v12, in the units of the Recommendation: frames per second,
/// kbit/s and percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VideoCodec {
    /// Name, such as "h.264-vga".
    pub name: &'static str,
    /// Coefficients v1 to v12, in this order.
    pub v: [f64; 12],
}

/// H.264, 640 x 480, 9.2 inches.
const H264_VGA: VideoCodec = VideoCodec {
    name: "h.264-vga",
    v: [5.517, 0.0129, 3.459, 178.53, 1.02, 1.15, 0.000_355, 0.114, 513.77, 0.736, -6.451, 13.684],
};
/// MPEG-4, 320 x 240, 4.2 inches.
const MPEG4_QVGA: VideoCodec = VideoCodec {
    name: "mpeg-4-qvga",
    v: [1.431, 0.022_28, 3.759, 184.1, 1.161, 1.446, 0.000_388_1, 2.116, 467.4, 2.736, 15.28, 4.170],
};

/// Returns all codecs.
pub fn video_codecs() -> &'static [VideoCodec] {
    const ALL: [VideoCodec; 2] = [H264_VGA, MPEG4_QVGA];
    &ALL
}

/// Returns the codec of that name: "h.264-vga" or "mpeg-4-qvga"; `None`: there is no such codec.
pub fn video_codec(name: &str) -> Option<VideoCodec> {
    video_codecs().iter().copied().find(|codec| codec.name == name)
}

/// A video stream and its transmission parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// Bit rate of the stream, bit/s, above 0.
    pub rate_bps: f64,
    /// Frames per second, above 0.
    pub frame_rate: f64,
    /// Fraction of packets lost or too late, 0 to 1.
    pub loss: f64,
    /// Codec and display.
    pub codec: VideoCodec,
}

impl Video {
    /// Returns the score, 1 (bad) to 5 (excellent): 1 + Icoding exp(-Ppl / DPpl) (equation 11-2).
    pub fn score(&self) -> f64 {
        let [_, _, _, _, _, _, _, v8, v9, v10, v11, v12] = self.codec.v;
        let rate = 1e-3 * self.rate_bps;
        // Robustness to loss (11-8), percent.
        let robustness = v10 + v11 * exp(-self.frame_rate / v8) + v12 * exp(-rate / v9);
        1.0 + self.coding() * exp(-100.0 * self.loss / robustness)
    }

    /// Returns the quality after coding, Icoding, 0 to 4 (11-3 to 11-7).
    fn coding(&self) -> f64 {
        let [v1, v2, v3, v4, v5, v6, v7, ..] = self.codec.v;
        let rate = 1e-3 * self.rate_bps;
        let best_frame_rate = (v1 + v2 * rate).clamp(1.0, 30.0);
        let best = (v3 - v3 / (1.0 + pow(rate / v4, v5))).clamp(0.0, 4.0);
        let width = v6 + v7 * rate;
        let distance = ln(self.frame_rate) - ln(best_frame_rate);
        best * exp(-distance * distance / (2.0 * width * width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(rate_bps: f64, loss: f64) -> Video {
        Video { rate_bps, frame_rate: 30.0, loss, codec: H264_VGA }
    }

    #[test]
    fn the_equations_agree_with_a_hand_calculation() {
        // 1 Mbit/s of H.264 at its best frame rate, 5.517 + 12.9 = 18.417 frames a second:
        // Icoding = 3.459 (1 - 1 / (1 + (1000 / 178.53)^1.02)).
        let video = Video { frame_rate: 18.417, ..stream(1e6, 0.0) };
        let ratio = pow(1000.0 / 178.53, 1.02);
        assert!((video.score() - (1.0 + 3.459 * ratio / (1.0 + ratio))).abs() < 1e-9);
        // A loss of DPpl = 0.736 - 6.451 e^-161.6 + 13.684 e^-1.946 percent leaves 1/e of Icoding.
        let robustness = 0.736 + 13.684 * exp(-1000.0 / 513.77) - 6.451 * exp(-18.417 / 0.114);
        let lossy = Video { loss: robustness / 100.0, ..video };
        assert!(((lossy.score() - 1.0) / (video.score() - 1.0) - exp(-1.0)).abs() < 1e-9);
    }

    #[test]
    fn scores_stay_on_the_scale_grow_with_the_rate_and_fall_with_loss() {
        for codec in video_codecs() {
            let score = |rate, loss| Video { codec: *codec, ..stream(rate, loss) }.score();
            for (low, high) in [(2e5, 5e5), (5e5, 1e6), (1e6, 3e6)] {
                assert!(score(low, 0.0) < score(high, 0.0), "{}", codec.name);
            }
            for loss in [0.0, 0.01, 0.05, 0.1] {
                assert!((1.0..=5.0).contains(&score(3e6, loss)));
                assert!(loss == 0.0 || score(3e6, loss) < score(3e6, loss / 2.0));
            }
        }
    }
}
