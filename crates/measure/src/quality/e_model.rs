//! The E-model (ITU-T G.107, 2015): a transmission rating R of a telephone call. Quantities have the names of the
//! Recommendation.
//!
//! R = Ro - Is - Id - Ie,eff + A. All parameters have their default values (table 2 of the Recommendation) except those
//! that a packet network changes: delay, loss and its burstiness, and the codec.

use tailback_random::maths::{exp, ln, pow};

/// Equipment impairment of a codec and its robustness to loss (ITU-T G.113, appendix I).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Name, such as "g.711".
    pub name: &'static str,
    /// Equipment impairment factor without loss, Ie.
    pub ie: f64,
    /// Packet-loss robustness factor, Bpl: the loss in percent that takes half of the remaining rating.
    pub bpl: f64,
}

/// Codecs for which G.113 has both numbers. Plain "g.711" has no packet-loss concealment, the others have it.
const CODECS: [Codec; 5] = [
    Codec { name: "g.711", ie: 0.0, bpl: 4.3 },
    Codec { name: "g.711-plc", ie: 0.0, bpl: 25.1 },
    Codec { name: "g.723.1", ie: 15.0, bpl: 16.1 },
    Codec { name: "g.729a", ie: 11.0, bpl: 19.0 },
    Codec { name: "gsm-efr", ie: 5.0, bpl: 10.0 },
];

/// Returns all codecs, in the order of their names.
pub fn speech_codecs() -> &'static [Codec] {
    &CODECS
}

/// Returns the codec of that name: "g.711", "g.711-plc", "g.723.1", "g.729a" or "gsm-efr"; `None`: there is no such
/// codec.
pub fn speech_codec(name: &str) -> Option<Codec> {
    CODECS.into_iter().find(|codec| codec.name == name)
}

/// Transmission parameters of a call between mouth and ear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speech {
    /// One-way delay from mouth to ear, seconds, 0 or more, including packetisation and play-out buffer.
    pub delay_s: f64,
    /// Fraction of packets lost or too late, 0 to 1.
    pub loss: f64,
    /// Mean length of a burst of losses relative to that of independent loss (BurstR): 1 for independent loss, above 1
    /// for bursty loss.
    pub burst_ratio: f64,
    /// Codec.
    pub codec: Codec,
}

// Default values of table 2 of G.107; all are in dB, dBm or dB(A) except QDU, a number of quantising distortion units.
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
const STMR: f64 = 15.0;
const DS: f64 = 3.0;
const DR: f64 = 3.0;
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
const QDU: f64 = 1.0;
const NC: f64 = -70.0;
const NFOR: f64 = -64.0;
const PS: f64 = 35.0;
const PR: f64 = 35.0;
const LSTR: f64 = STMR + DR;

impl Speech {
    /// Returns a call over a network without delay and loss.
    pub fn undisturbed(codec: Codec) -> Speech {
        Speech { delay_s: 0.0, loss: 0.0, burst_ratio: 1.0, codec }
    }

    /// Returns the rating R: 93.2 without impairments; above 90 all users are very satisfied, below 60 nearly all are
    /// dissatisfied (G.107, annex B). It may be negative.
    pub fn rating(&self) -> f64 {
        let noise = Noise::default();
        let ro = 15.0 - 1.5 * (SLR + noise.total);
        let delay = 1e3 * self.delay_s;
        ro - simultaneous(ro, noise.total, delay) - delayed(ro, noise.total, delay) - self.equipment()
    }

    /// Returns the mean opinion score of the rating, 1 to 4.5.
    pub fn mos(&self) -> f64 {
        speech_mos(self.rating())
    }

    /// Returns the effective equipment impairment factor Ie,eff (7-29).
    fn equipment(&self) -> f64 {
        let (loss, Codec { ie, bpl, .. }) = (100.0 * self.loss, self.codec);
        ie + (95.0 - ie) * loss / (loss / self.burst_ratio + bpl)
    }
}

/// Returns the mean opinion score of a rating (annex B): 1 at 0 and below, 4.5 at 100 and above.
pub fn speech_mos(rating: f64) -> f64 {
    let r = rating.clamp(0.0, 100.0);
    // The cubic dips below 1 for ratings up to 6.5.
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

/// Sum of all noise sources at the 0 dBr point, No (equations 7-3 to 7-7).
struct Noise {
    total: f64,
}

impl Default for Noise {
    fn default() -> Noise {
        let olr = SLR + RLR;
        let nos = PS - SLR - DS - 100.0 + 0.004 * pow(PS - olr - DS - 14.0, 2.0);
        let pre = PR + 10.0 * lg(1.0 + ten((10.0 - LSTR) / 10.0));
        let nor = RLR - 121.0 + pre + 0.008 * pow(pre - 35.0, 2.0);
        let nfo = NFOR + RLR;
        Noise { total: 10.0 * lg([NC, nos, nor, nfo].into_iter().map(|n| ten(n / 10.0)).sum()) }
    }
}

/// Returns the simultaneous impairments Is: loudness, sidetone, quantisation (7-8 to 7-17). The sidetone depends on the
/// echo; `delay` is its delay T, the one-way delay in milliseconds.
fn simultaneous(ro: f64, no: f64, delay: f64) -> f64 {
    let xolr = SLR + RLR + 0.2 * (64.0 + no - RLR);
    let iolr = 20.0 * (root(1.0 + pow(xolr / 8.0, 8.0), 8.0) - xolr / 8.0);
    let q = 37.0 - 15.0 * lg(QDU);
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let (y, z) = ((ro - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0, 46.0 / 30.0 - g / 40.0);
    iolr + sidetone(delay) + 15.0 * lg(1.0 + ten(y) + ten(z))
}

/// Returns the impairment by sidetone, Ist (7-11, 7-12), at a one-way delay in milliseconds.
fn sidetone(delay: f64) -> f64 {
    let stmro = -10.0 * lg(ten(-STMR / 10.0) + exp(-delay / 4.0) * ten(-TELR / 10.0));
    12.0 * root(1.0 + pow((stmro - 13.0) / 6.0, 8.0), 8.0)
        - 28.0 * root(1.0 + pow((stmro + 1.0) / 19.4, 35.0), 35.0)
        - 13.0 * root(1.0 + pow((stmro - 3.0) / 33.0, 13.0), 13.0)
        + 29.0
}

/// Returns the delay impairments, Id = Idte + Idle + Idd (7-18 to 7-28): talker echo, listener echo, and absolute
/// delay. Ta = T = Tr / 2 = `delay`, in milliseconds.
fn delayed(ro: f64, no: f64, delay: f64) -> f64 {
    let roe = -1.5 * (no - RLR);
    let terv = TELR - 40.0 * lg((1.0 + delay / 10.0) / (1.0 + delay / 150.0)) + 6.0 * exp(-0.3 * delay * delay);
    let re = 80.0 + 2.5 * (terv - 14.0);
    let half = (roe - re) / 2.0;
    let talker = (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - exp(-delay));
    let rle = 10.5 * (WEPL + 7.0) * pow(2.0 * delay + 1.0, -0.25);
    let half = (ro - rle) / 2.0;
    talker + half + (half * half + 169.0).sqrt() + pure_delay(delay)
}

/// Returns the impairment by absolute delay, Idd, which is 0 up to 100 ms (7-27, 7-28); `delay` in milliseconds.
fn pure_delay(delay: f64) -> f64 {
    if delay <= 100.0 {
        return 0.0;
    }
    let x = ln(delay / 100.0) / ln(2.0);
    25.0 * (root(1.0 + pow(x, 6.0), 6.0) - 3.0 * root(1.0 + pow(x / 3.0, 6.0), 6.0) + 2.0)
}

/// Returns the base-10 logarithm.
fn lg(x: f64) -> f64 {
    ln(x) / std::f64::consts::LN_10
}
/// Returns ten to the power of x.
fn ten(x: f64) -> f64 {
    pow(10.0, x)
}
/// Returns the n-th root.
fn root(x: f64, n: f64) -> f64 {
    pow(x, 1.0 / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a call with independent loss, a fraction, over the codec of that name.
    fn call(delay_ms: f64, loss: f64, codec: &str) -> Speech {
        let codec = speech_codec(codec).expect("a codec of the table");
        Speech { delay_s: 1e-3 * delay_ms, loss, ..Speech::undisturbed(codec) }
    }

    #[test]
    fn all_defaults_give_the_rating_93_2_that_the_recommendation_states() {
        let speech = call(0.0, 0.0, "g.711");
        assert!((speech.rating() - 93.2).abs() < 0.05, "R = {}", speech.rating());
        assert!((speech.mos() - 4.41).abs() < 0.005, "MOS = {}", speech.mos());
    }

    #[test]
    fn ratings_and_scores_correspond_as_in_table_b_1() {
        // The lower limits of R for the five categories of speech quality and their scores.
        for (rating, score) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            assert!((speech_mos(rating) - score).abs() < 0.007, "R {rating}: {}", speech_mos(rating));
        }
        assert_eq!([speech_mos(-5.0), speech_mos(3.0), speech_mos(100.0), speech_mos(120.0)], [1.0, 1.0, 4.5, 4.5]);
    }

    #[test]
    fn delay_impairment_differs_by_at_most_3_2_from_the_reduced_model_of_cole_and_rosenbluth() {
        // Id = 0.024 d + 0.11 (d - 177.3) H(d - 177.3), fitted to G.107 up to 400 ms (CCR 31(2), 2001); near the kink
        // and at the end the difference is up to 3.2 points.
        let undelayed = call(0.0, 0.0, "g.711").rating();
        for delay in [20.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0, 400.0] {
            let reduced = 0.024 * delay + 0.11 * f64::max(delay - 177.3, 0.0);
            let cost = undelayed - call(delay, 0.0, "g.711").rating();
            assert!((cost - reduced).abs() < 3.2, "{delay} ms: {cost} against {reduced}");
        }
        assert!(pure_delay(100.0) == 0.0 && pure_delay(101.0) >= 0.0 && pure_delay(150.0) > 0.1);
    }

    #[test]
    fn loss_equal_to_the_codecs_robustness_takes_half_of_the_remaining_rating() {
        let codec = speech_codec("g.729a").expect("known");
        let speech = Speech { loss: 0.19, ..Speech::undisturbed(codec) };
        assert!((speech.equipment() - (11.0 + 84.0 / 2.0)).abs() < 1e-9);
        let bursty = Speech { burst_ratio: 2.0, ..speech };
        assert!((bursty.equipment() - (11.0 + 84.0 * 19.0 / (9.5 + 19.0))).abs() < 1e-9);
    }

    #[test]
    fn a_rating_never_rises_with_delay_or_loss() {
        for codec in speech_codecs() {
            let mut last = f64::INFINITY;
            for step in 0..50 {
                let r = call(f64::from(step) * 10.0, 0.0, codec.name).rating();
                assert!(r <= last + 1e-9, "{} at {} ms: {r} above {last}", codec.name, step * 10);
                last = r;
            }
            assert!(call(50.0, 0.01, codec.name).rating() < call(50.0, 0.0, codec.name).rating());
        }
    }
}
