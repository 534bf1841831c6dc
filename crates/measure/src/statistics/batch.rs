//! Batch means: nearly independent observations from one long correlated run.

/// Returns the means of `batches` consecutive batches of equal length; a remainder at the end is dropped. Empty if
/// there are fewer values than batches or `batches` is 0.
pub fn batch_means(values: &[f64], batches: usize) -> Vec<f64> {
    let length = values.len().checked_div(batches).unwrap_or(0);
    if length == 0 {
        return Vec::new();
    }
    values.chunks_exact(length).take(batches).map(|batch| batch.iter().sum::<f64>() / length as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_have_equal_length_and_omit_only_the_end() {
        let values: Vec<f64> = (0..11).map(f64::from).collect();
        assert_eq!(batch_means(&values, 3), [1.0, 4.0, 7.0]);
        assert_eq!(batch_means(&values, 11).len(), 11);
        assert!(batch_means(&values, 12).is_empty());
        assert!(batch_means(&values, 0).is_empty());
    }
}
