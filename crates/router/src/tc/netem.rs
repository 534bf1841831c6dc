//! `tc qdisc … netem`: delay, loss and rate.

use super::args::{Args, Trouble};
use super::tables::Kind;
use super::units;
use crate::Report;
use crate::ir::{Limit, Netem, Queue};

/// Default limit in packets (`q_netem.c`).
const LIMIT: u64 = 1000;
/// Probability 1, in millionths.
const CERTAIN: u32 = 1_000_000;

/// Parses the arguments of `netem` (tc-netem(8)). Unsupported ones are reported with their places.
pub(super) fn read(args: &mut Args<'_>, report: &mut Report) -> Result<Kind, Trouble> {
    let (mut made, mut limit) = (Netem::default(), LIMIT);
    let left_out = "it is left out";
    loop {
        let at = args.at();
        if args.take_if("limit") {
            limit = args.number()?;
        } else if args.take_if("delay") || args.take_if("latency") {
            made.delay = args.time()?;
            if is_number(args) {
                made.jitter = args.time()?;
                correlation(args, "delays", report)?;
            }
        } else if args.take_if("distribution") {
            let name = args.word("distribution")?;
            match name.text.as_str() {
                "uniform" => made.normal = false,
                "normal" => made.normal = true,
                other => report.unsupported(
                    name.at,
                    format!("the delay distribution `{other}`: delays are uniformly distributed here"),
                    Some("write `distribution uniform` or `distribution normal`, which are simulated"),
                ),
            }
        } else if args.take_if("loss") || args.take_if("drop") {
            if args.take_if("gemodel") {
                let enter = probability(args)?;
                // `netem_parse_opt`: defaults are r = 1 - p, 1 - h = 1 and 1 - k = 0.
                let mut found = [enter, CERTAIN - enter, CERTAIN, 0];
                for value in found.iter_mut().skip(1) {
                    if !is_number(args) {
                        break;
                    }
                    *value = probability(args)?;
                }
                (made.bursts, made.loss) = (Some(found), 0);
            } else if args.take_if("state") {
                while is_number(args) {
                    let _ = args.take();
                }
                report.unsupported(
                    at,
                    "the four-state Markov model of loss",
                    Some("write `loss gemodel`, which is simulated"),
                );
            } else {
                let _ = args.take_if("random");
                (made.loss, made.bursts) = (probability(args)?, None);
                correlation(args, "losses", report)?;
            }
        } else if args.take_if("ecn") {
            made.ecn = true;
        } else if args.take_if("rate") {
            made.rate = Some(args.rate()?).filter(|rate| *rate > 0);
            let mut numbers = Vec::new();
            while is_number(args) {
                numbers.push(args.signed()?);
            }
            if numbers.iter().any(|n| *n != 0) {
                report.unsupported(at, "overhead and cells of netem's `rate`", Some(left_out));
            }
        } else if let Some(word) = args
            .peek()
            .filter(|word| matches!(word.text.as_str(), "corrupt" | "duplicate" | "reorder" | "gap" | "slot"))
        {
            let _ = args.take();
            let mut is_zero = true;
            while is_number(args) {
                let value = args.word("value")?;
                is_zero &= value.text.trim_end_matches('%').parse::<f64>() == Ok(0.0);
            }
            if word.text == "slot" {
                while args.take_if("distribution")
                    || args.take_if("packets")
                    || args.take_if("bytes")
                    || is_number(args)
                {
                    let _ = args.take();
                }
                is_zero = false;
            }
            if !is_zero {
                report.unsupported(at, format!("`{}` of netem", word.text), Some(left_out));
            }
        } else if args.take_if("seed") {
            let _ = args.word("seed")?;
            report.ignored(at, "random numbers are seeded by the scenario");
        } else {
            break;
        }
    }
    Ok(Kind::Leaf { queue: Queue::Netem(made), limit: Some(Limit::Packets(limit.max(1))), shape: None })
}

/// `true` if the next word is a number, possibly with a unit.
fn is_number(args: &Args<'_>) -> bool {
    args.peek().is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '-'))
}

/// Parses a percentage, with or without `%`; returns millionths.
fn probability(args: &mut Args<'_>) -> Result<u32, Trouble> {
    let word = args.word("percentage")?;
    let found = units::percent(word.text.trim_end_matches('%'));
    found.ok_or_else(|| {
        Trouble::wrong(
            word.at,
            format!("`{}` is not a valid percentage", word.text),
            "write a percentage from 0% to 100%, such as 1.5%",
        )
    })
}

/// Parses the correlation of successive random numbers; `of` names the quantity.
fn correlation(args: &mut Args<'_>, of: &str, report: &mut Report) -> Result<(), Trouble> {
    if !is_number(args) {
        return Ok(());
    }
    let at = args.at();
    if probability(args)? > 0 {
        report.unsupported(at, format!("correlated {of}: they are drawn independently here"), None);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::shell::Word;
    use super::*;
    use crate::Place;

    /// Parses arguments of netem; `None`: they are invalid.
    fn parsed(text: &str) -> Option<Netem> {
        let words: Vec<Word> =
            text.split(' ').map(|text| Word { text: text.to_owned(), at: Place::default() }).collect();
        match read(&mut Args::new(&words, Place::default()), &mut Report::default()) {
            Ok(Kind::Leaf { queue: Queue::Netem(netem), .. }) => Some(netem),
            _ => None,
        }
    }

    /// `parse_percent` of iproute2's `tc/tc_util.c` refuses only what is below 0 or above 1.
    #[test]
    fn probabilities_of_0_and_100_percent_are_valid_and_higher_ones_are_not() {
        let bursts = |text| parsed(text).and_then(|netem| netem.bursts);
        assert_eq!(bursts("loss gemodel 1% 10% 100% 0%"), Some([10_000, 100_000, CERTAIN, 0]));
        assert_eq!(parsed("loss 0%").map(|netem| netem.loss), Some(0));
        assert_eq!(parsed("delay 10ms 2ms 0%").map(|netem| (netem.delay, netem.jitter)), Some((10_000, 2_000)));
        assert_eq!(parsed("loss 100.1%"), None);
    }
}
