//! Drop profiles as weighted random early detection.
//!
//! A profile maps the fill level of a queue to a drop probability ("RED Drop Profiles Overview", Junos OS Class of
//! Service User Guide). The discipline `wred` supports one ramp, or one level from which all packets are dropped; other
//! profiles are reported.

use super::builder::Builder;
use super::cos::{DropProfile, LOSS};
use super::queues::OutputQueue;
use crate::Scope;
use crate::ir::{By, Limit, Profile, Unit, Wred};

/// Shape of a drop profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Curve {
    /// All packets are dropped at and above this fill level in percent, none below.
    Tail(u32),
    /// Linear ramp. Fill level in percent with drop probability 0; fill level in percent at its upper end; reciprocal
    /// of the drop probability there. Above it all packets are dropped.
    Ramp(u32, u32, u32),
    /// Several steps or ramps.
    Other,
}

/// Returns the shape of a drop profile.
fn curve(profile: &DropProfile) -> Curve {
    let mut points = profile.points.clone();
    if !profile.interpolate {
        // Segmented: a step at each fill level.
        return match points.iter().find(|(_, drop)| *drop > 0) {
            None => Curve::Tail(100),
            Some((fill, 100)) => Curve::Tail((*fill).max(1)),
            Some(_) => Curve::Other,
        };
    }
    // Interpolated: the curve begins at (0, 0) and ends at (100, 100).
    if points.first().is_none_or(|(fill, _)| *fill > 0) {
        points.insert(0, (0, 0));
    }
    if points.last().is_none_or(|(fill, _)| *fill < 100) {
        points.push((100, 100));
    }
    points.dedup();
    // The ramp extends from the last point with probability 0 to the first one with 100 %.
    let quiet = points.iter().take_while(|(_, drop)| *drop == 0).count();
    let Some(start) = quiet.checked_sub(1).and_then(|index| points.get(index)).copied() else { return Curve::Other };
    let rest = points.get(quiet..).unwrap_or_default();
    let full = rest.iter().position(|(_, drop)| *drop == 100).map_or(rest.len(), |index| index + 1);
    let ramp = rest.get(..full).unwrap_or_default();
    let Some(end) = ramp.last().copied() else { return Curve::Tail(100) };
    if rest.get(full..).unwrap_or_default().iter().any(|(_, drop)| *drop != 100) {
        return Curve::Other;
    }
    let rise = |point: (u32, u32)| {
        (
            u64::from(point.1) * u64::from(end.0.saturating_sub(start.0)),
            u64::from(end.1) * u64::from(point.0.saturating_sub(start.0)),
        )
    };
    if ramp.iter().any(|point| {
        let (own, line) = rise(*point);
        own != line
    }) {
        return Curve::Other;
    }
    match (end.1, 100u32.checked_rem(end.1)) {
        (drop, Some(0)) if drop == 100 || end.0 == 100 => {
            if start.0 == end.0 {
                Curve::Tail(end.0.max(1))
            } else {
                Curve::Ramp(start.0, end.0, 100 / drop)
            }
        }
        _ => Curve::Other,
    }
}

impl Builder<'_> {
    /// Returns the WRED parameters of a queue; `None`: its drop profiles are one step. In that case `limit` becomes the
    /// percentage of the queue limit at which all packets are dropped, or `None` for 100 %.
    pub(super) fn wred(&mut self, queue: &OutputQueue, limit: &mut Option<Limit>) -> Option<Wred> {
        let scheduler = &queue.scheduler;
        let mut curves = [Curve::Tail(100); 4];
        self.report.enter(Scope::Part(format!("queue {}", queue.name)));
        let scope = scheduler.drops.first().map(|(.., profile)| Scope::Part(format!("drop profile {profile}")));
        self.report.enter(scope.unwrap_or_default());
        let mut reported = false;
        for (loss, own) in curves.iter_mut().enumerate() {
            let named = |tcp: bool| {
                let of = scheduler.drops.iter().rev().find(|(level, kind, _)| *level == loss && *kind == tcp);
                of.map(|(.., name)| name.as_str())
            };
            let profile =
                |name: Option<&str>| name.map_or(Some(Curve::Tail(100)), |name| self.cos.drops.get(name).map(curve));
            let (tcp, other) = (profile(named(true)), profile(named(false)));
            for missing in [named(true), named(false)].into_iter().flatten() {
                if !self.cos.drops.contains_key(missing) && !reported {
                    reported = true;
                    let message = format!("there is no drop profile `{missing}`");
                    self.report.error(scheduler.at, message, "define it under `drop-profiles`");
                }
            }
            if tcp != other && !reported {
                reported = true;
                let message = format!(
                    "queue `{}`: the drop profiles differ by protocol; that of `non-tcp` is used for all packets",
                    queue.name
                );
                self.report.unsupported(scheduler.at, message, None);
            }
            *own = other.unwrap_or(Curve::Tail(100));
            if *own == Curve::Other {
                *own = Curve::Tail(100);
                let at = named(false).and_then(|name| self.cos.drops.get(name)).map_or(scheduler.at, |found| found.at);
                let message = format!(
                    "queue `{}`, loss priority {}: a drop profile of several steps or ramps is not simulated: only a full queue drops",
                    queue.name,
                    LOSS.get(loss).copied().unwrap_or_default()
                );
                self.report.unsupported(at, message, Some("write one ramp with `interpolate`"));
            }
        }
        let [low, others @ ..] = curves;
        let alike = others.iter().all(|own| *own == low);
        let known =
            (self.losses.len() == 1 && self.firewall.losses.is_empty()).then(|| self.losses.first().cloned()).flatten();
        let known = known.filter(|losses| losses.iter().all(|loss| *loss < 4));
        if !alike && known.is_none() {
            let message = format!(
                "queue `{}`: the drop profiles differ by loss priority, which the code point does not determine; that of `low` is used for \
                 all packets",
                queue.name
            );
            self.report.unsupported(scheduler.at, message, None);
        }
        let uses_low_only = alike || known.is_none();
        if let (true, Curve::Tail(percent)) = (uses_low_only, low) {
            *limit = (percent < 100).then_some(Limit::Percent(percent));
            return None;
        }
        self.report.warning(
            scheduler.at,
            format!("queue `{}`: the fill level is approximated by an average with a weight of one half", queue.name),
            "the averaging of line cards is not documented",
        );
        let losses = known.unwrap_or_default();
        let profiles = (0..64u8).map(|code| {
            let loss = if uses_low_only { 0 } else { losses.get(usize::from(code)).copied().unwrap_or(0) };
            let (min, max, denominator) = match curves.get(usize::from(loss)).copied().unwrap_or(low) {
                Curve::Ramp(min, max, denominator) => (min, max, denominator),
                Curve::Tail(level) => (level, level, 1),
                Curve::Other => (100, 100, 1),
            };
            Profile { code: Some(code), min, max, unit: Unit::Percent, denominator: Some(denominator) }
        });
        Some(Wred { by: By::Dscp, exponent: Some(1), ecn: scheduler.ecn, profiles: profiles.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(interpolate: bool, points: &[(u32, u32)]) -> Curve {
        curve(&DropProfile { interpolate, points: points.to_vec(), ..DropProfile::default() })
    }

    #[test]
    fn one_ramp_or_one_step_is_supported() {
        // The first two rows have the fill levels and probabilities of "Configuring RED Drop Profiles".
        assert_eq!(of(false, &[(25, 25), (50, 50), (75, 75), (95, 100)]), Curve::Other);
        assert_eq!(of(true, &[(50, 25), (75, 50)]), Curve::Other);
        assert_eq!(of(false, &[(80, 100)]), Curve::Tail(80));
        assert_eq!(of(false, &[(100, 100)]), Curve::Tail(100));
        assert_eq!(of(true, &[(50, 0), (80, 100)]), Curve::Ramp(50, 80, 1));
        assert_eq!(of(true, &[(0, 0), (100, 100)]), Curve::Ramp(0, 100, 1));
        assert_eq!(of(true, &[(40, 0), (70, 50), (100, 100)]), Curve::Ramp(40, 100, 1));
        assert_eq!(of(true, &[(60, 0), (100, 20)]), Curve::Ramp(60, 100, 5));
        assert_eq!(of(true, &[(60, 0), (100, 30)]), Curve::Other);
        assert_eq!(of(true, &[(25, 0), (50, 10), (95, 100)]), Curve::Other);
    }
}
