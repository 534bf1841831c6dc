//! Sampling of exponential variables without a logarithm, for sources that draw one per packet.

use std::sync::OnceLock;
use tailback_random::{Rng, maths};

/// Number of layers of the ziggurat; the low byte of a draw selects one.
const LAYERS: usize = 256;
/// Start of the tail for 256 layers (Marsaglia and Tsang 2000, section 2).
const TAIL: f64 = 7.697_117_470_131_05;
/// Area of every layer; the lowest one includes the tail.
const AREA: f64 = 0.003_949_659_822_581_557;

/// Draws exponential variables of mean 1 by the ziggurat method (Marsaglia and Tsang, Journal of Statistical Software 5,
/// 2000). The area under e^−x is covered by 256 layers of equal area; nearly every point of a layer is accepted after
/// one multiplication and one comparison.
#[derive(Clone, Copy, Debug)]
pub struct Exponential(&'static Layers);

/// Layers of the ziggurat, the lowest first.
#[derive(Debug)]
struct Layers {
    /// Right end of layer i; for the lowest layer, which includes the tail, the width of a rectangle of equal area. The
    /// last entry is 0, the top.
    x: [f64; LAYERS + 1],
    /// e^−x at each entry of `x`.
    density: [f64; LAYERS + 1],
}

impl Layers {
    fn new() -> Layers {
        let mut x = [0.0; LAYERS + 1];
        x[0] = AREA * maths::exp(TAIL);
        x[1] = TAIL;
        for i in 1..LAYERS - 1 {
            x[i + 1] = -maths::ln(maths::exp(-x[i]) + AREA / x[i]);
        }
        Layers { x, density: x.map(|x| maths::exp(-x)) }
    }
}

impl Exponential {
    /// Returns a sampler; all share one table, computed on first use.
    pub fn new() -> Exponential {
        static LAYERS: OnceLock<Layers> = OnceLock::new();
        Exponential(LAYERS.get_or_init(Layers::new))
    }

    /// Returns a sample of mean 1, at least 0.
    #[inline]
    pub fn draw(self, rng: &mut Rng) -> f64 {
        let bits = rng.bits();
        let layer = (bits & 0xff) as usize;
        // The upper 53 bits, which are independent of the 8 bits that select the layer.
        let x = (bits >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0) * self.0.x[layer];
        if x < self.0.x[layer + 1] {
            return x;
        }
        self.edge(layer, x, rng)
    }

    /// Returns the sample for the 1 in 90 draws that fall into the tail or between the layer's edge and the curve.
    #[cold]
    #[inline(never)]
    fn edge(self, layer: usize, x: f64, rng: &mut Rng) -> f64 {
        if layer == 0 {
            // The distribution is memoryless: its excess over the start of the tail is exponential again.
            return TAIL + rng.exponential(1.0);
        }
        let (below, above) = (self.0.density[layer], self.0.density[layer + 1]);
        if below + (above - below) * rng.uniform() < maths::exp(-x) {
            return x;
        }
        self.draw(rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailback_measure::statistics::{Moments, chi_square_p_value, kolmogorov_p_value, kolmogorov_statistic};

    #[test]
    fn the_layers_have_equal_areas_and_meet_at_the_top() {
        let Layers { x, density } = Layers::new();
        for i in 1..LAYERS {
            assert!((x[i] * (density[i + 1] - density[i]) / AREA - 1.0).abs() < 1e-9, "layer {i}");
        }
        assert!((TAIL * density[1] + density[1] - AREA).abs() < 1e-15, "the lowest layer with the tail");
        assert_eq!((x[LAYERS], density[LAYERS]), (0.0, 1.0));
    }

    #[test]
    fn draws_are_exponential_in_the_body_and_in_the_tail() {
        let (mut rng, sampler) = (Rng::named(1, "ziggurat"), Exponential::new());
        let values: Vec<f64> = (0..2_000_000).map(|_| sampler.draw(&mut rng)).collect();
        let distance = kolmogorov_statistic(&values, |x| 1.0 - maths::exp(-x));
        assert!(kolmogorov_p_value(distance, values.len()) > 1e-3);
        let moments: Moments = values.iter().copied().collect();
        // At least four standard errors: 1/√2,000,000 = 0.0007 of the mean, √(8/2,000,000) = 0.002 of the variance.
        assert!((moments.mean().unwrap() - 1.0).abs() < 0.003 && (moments.variance().unwrap() - 1.0).abs() < 0.01);
        // Cells of width 1 up to 9; the last one has all larger values (247 expected).
        let mut observed = [0.0; 10];
        for x in &values {
            observed[(*x as usize).min(9)] += 1.0;
        }
        let beyond = |k: usize| 2e6 * maths::exp(-(k as f64));
        let mut expected: Vec<f64> = (0..9).map(|k| beyond(k) - beyond(k + 1)).collect();
        expected.push(beyond(9));
        assert!(chi_square_p_value(&observed, &expected) > 1e-3, "{observed:?} {expected:?}");
    }
}
