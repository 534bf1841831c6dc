//! Fair shares of one resource.

/// Returns the weighted max–min fair shares of `capacity` (Bertsekas and Gallager 1992, section 6.5.2). Each claim
/// (demand, weight) gets the minimum of its demand and the water level times its weight; the level is such that either
/// the capacity is used up or all demands are met. Demands are 0 or more and may be infinite, weights are above 0.
/// Shares are in the unit of the capacity and in the order of the claims.
pub fn max_min(capacity: f64, claims: &[(f64, f64)]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    // Water level at which a claim is satisfied.
    let level = |claim: usize| {
        let (demand, weight) = claims[claim];
        demand / weight
    };
    order.sort_by(|&a, &b| level(a).total_cmp(&level(b)));
    let mut shares = vec![0.0; claims.len()];
    let mut remaining = capacity;
    for (i, &claim) in order.iter().enumerate() {
        let (demand, weight) = claims[claim];
        let weights: f64 = order[i..].iter().map(|&c| claims[c].1).sum();
        shares[claim] = demand.min(remaining * weight / weights);
        remaining -= shares[claim];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(result: &[f64], expected: &[f64]) -> bool {
        result.len() == expected.len() && result.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn small_demands_are_met_and_large_ones_share_the_rest() {
        assert!(close(&max_min(10.0, &[(2.0, 1.0), (8.0, 1.0), (10.0, 1.0)]), &[2.0, 4.0, 4.0]));
        assert!(close(&max_min(10.0, &[(f64::INFINITY, 1.0), (1.0, 1.0), (f64::INFINITY, 2.0)]), &[3.0, 1.0, 6.0]));
    }

    #[test]
    fn enough_capacity_meets_every_demand_and_zero_capacity_no_demand() {
        assert!(close(&max_min(100.0, &[(2.0, 1.0), (8.0, 5.0)]), &[2.0, 8.0]));
        assert!(close(&max_min(0.0, &[(2.0, 1.0), (8.0, 5.0)]), &[0.0, 0.0]));
        assert!(max_min(1.0, &[]).is_empty());
    }

    #[test]
    fn no_share_can_grow_without_reducing_one_at_or_below_its_level() {
        let claims = [(5.0, 1.0), (1.0, 3.0), (9.0, 2.0), (4.0, 0.5), (0.0, 1.0)];
        let shares = max_min(8.0, &claims);
        assert!((shares.iter().sum::<f64>() - 8.0).abs() < 1e-12);
        let level = |i: usize| shares[i] / claims[i].1;
        for i in 0..claims.len() {
            if shares[i] < claims[i].0 - 1e-12 {
                assert!((0..claims.len()).all(|j| level(j) <= level(i) + 1e-12), "claim {i}");
            }
        }
    }
}
