//! The least-squares line.

/// Returns the slope of the least-squares line through the points (x, y); `None`: fewer than two different x.
pub(super) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let xx: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    let xy: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (xx > 0.0).then(|| xy / xx)
}
