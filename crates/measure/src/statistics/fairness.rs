//! Fairness of shares.

/// Returns Jain's fairness index (Σx)²/(n·Σx²) (Jain, Chiu and Hawe 1984), from 1/n if all shares but one are zero to 1
/// if all are equal. Shares must be finite and at least 0. `None`: there are no shares, or all are zero.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_runs_from_one_over_n_to_one() {
        assert_eq!(jain(&[5.0; 4]), Some(1.0));
        assert_eq!(jain(&[9.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain(&[0.0, 0.0]), None);
    }
}
