//! Sets of time spans.

/// Disjoint spans of time in ascending order, picoseconds; each includes its start and not its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spans(Vec<(u64, u64)>);

impl Spans {
    /// Returns the union of the parts of `spans` within `from..until`.
    pub fn within(from: u64, until: u64, spans: impl IntoIterator<Item = (u64, u64)>) -> Spans {
        let mut all: Vec<(u64, u64)> = (spans.into_iter())
            .map(|(start, end)| (start.max(from), end.min(until)))
            .filter(|(start, end)| start < end)
            .collect();
        all.sort_unstable();
        let mut union: Vec<(u64, u64)> = Vec::new();
        for (start, end) in all {
            match union.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => union.push((start, end)),
            }
        }
        Spans(union)
    }

    /// Returns the times that are in these spans and not in `other`.
    pub fn minus(&self, other: &Spans) -> Spans {
        let mut kept = Vec::new();
        let mut holes = other.0.iter().peekable();
        for &(mut start, end) in &self.0 {
            while holes.peek().is_some_and(|hole| hole.1 <= start) {
                holes.next();
            }
            let mut inner = holes.clone();
            while let Some(&&(from, until)) = inner.peek()
                && from < end
            {
                if start < from {
                    kept.push((start, from));
                }
                start = until;
                inner.next();
            }
            if start < end {
                kept.push((start, end));
            }
        }
        Spans(kept)
    }

    /// Returns the total length, picoseconds.
    pub fn length(&self) -> u64 {
        self.0.iter().map(|(start, end)| end - start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_united_clipped_and_subtracted() {
        let all = Spans::within(10, 100, [(50, 60), (0, 20), (55, 70), (90, 200)]);
        assert_eq!(all, Spans(vec![(10, 20), (50, 70), (90, 100)]));
        let remaining = all.minus(&Spans(vec![(0, 12), (52, 53), (60, 95)]));
        assert_eq!(remaining, Spans(vec![(12, 20), (50, 52), (53, 60), (95, 100)]));
        assert_eq!((all.length(), remaining.length()), (40, 8 + 2 + 7 + 5));
        // One span of the subtrahend covers parts of several spans.
        assert_eq!(all.minus(&Spans(vec![(15, 92)])), Spans(vec![(10, 15), (92, 100)]));
    }
}
