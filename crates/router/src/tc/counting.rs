//! Bytes per packet for which token buckets account: `overhead`, `mpu`, `linklayer`, and size tables (`stab`).

use super::args::{Args, Trouble};
use crate::ir::Counting;
use core::fmt::Write as _;

/// Accounting parameters of a rate in HTB and TBF, or of a size table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Bytes per packet.
    pub made: Counting,
    /// Maximum packet length of a rate table in bytes, which is HTB's default burst.
    pub mtu: Option<u64>,
}

/// Maximum overhead in bytes. The kernel, which stores 16 bits, permits more.
const MAX_OVERHEAD: i64 = 1_000;
/// Minimum overhead in bytes.
const MIN_OVERHEAD: i64 = -255;

impl Counts {
    /// Takes one of the parameters; `false`: another word follows, which is not taken. `negative`: a negative overhead
    /// is valid, as in a size table.
    pub fn take(&mut self, args: &mut Args<'_>, negative: bool) -> Result<bool, Trouble> {
        let at = args.at();
        if args.take_if("overhead") {
            let bytes = args.signed()?;
            if bytes < 0 && !negative {
                return Err(Trouble::wrong(
                    at,
                    "the overhead of a rate is negative",
                    "write 0 to 1000 bytes, or use stab",
                ));
            }
            if !(MIN_OVERHEAD..=MAX_OVERHEAD).contains(&bytes) {
                return Err(Trouble::unsupported(
                    at,
                    format!("an overhead of {bytes} B, outside {MIN_OVERHEAD} to {MAX_OVERHEAD}"),
                ));
            }
            self.made.overhead = i32::try_from(bytes).unwrap_or(0);
        } else if args.take_if("mpu") {
            self.made.least = args.within("minimum length in bytes", 0, 65_535)? as u16;
        } else if args.take_if("mtu") {
            self.mtu = Some(args.size()?);
        } else if args.take_if("linklayer") {
            let word = args.word("link layer")?;
            // tc_util.c, get_linklayer: adsl is an alias of atm.
            self.made.cells = match word.text.as_str() {
                "ethernet" => false,
                "atm" | "adsl" => true,
                other => {
                    let message = format!("`{other}` is not a known link layer");
                    return Err(Trouble::wrong(word.at, message, "write ethernet, atm or adsl"));
                }
            };
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// Parses the arguments of `stab` (tc-stab(8)): the kernel replaces the length of each packet for the discipline and
/// its whole subtree (`__qdisc_calculate_pkt_len`, `net/sched/sch_api.c`).
pub(super) fn table(args: &mut Args<'_>) -> Result<Counting, Trouble> {
    let mut counts = Counts::default();
    loop {
        if args.take_if("tsize") {
            // The size sets the granularity of the table, which is not simulated. By default it is 4 B, which divides
            // the 48 B of a cell's payload.
            let _ = args.number()?;
        } else if !counts.take(args, true)? {
            return Ok(counts.made);
        }
    }
}

/// Composes two accountings: the size table of the root, then the parameters of a rate. `None`: no single accounting, a
/// sum followed by one minimum and one rounding to cells, has their effect.
pub(super) fn both(outer: Counting, inner: Counting) -> Option<Counting> {
    if outer.is_plain() {
        return Some(inner);
    }
    if inner.is_plain() {
        return Some(outer);
    }
    let overhead = outer.overhead.checked_add(inner.overhead)?;
    (outer.least == 0 && !outer.cells && (MIN_OVERHEAD..=MAX_OVERHEAD).contains(&i64::from(overhead)))
        .then_some(Counting { overhead, ..inner })
}

/// Formats an accounting as options of `tc`, each with a leading space.
pub(super) fn words(counts: Counting) -> String {
    let mut made = String::new();
    for (word, value) in [("overhead", counts.overhead), ("mpu", i32::from(counts.least))] {
        if value != 0 {
            let _ = write!(made, " {word} {value}");
        }
    }
    if counts.cells {
        made.push_str(" linklayer atm");
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_table_and_an_overhead_add_up_unless_the_table_has_cells() {
        let plain = |overhead| Counting { overhead, ..Counting::default() };
        let cells = Counting { overhead: 10, cells: true, ..Counting::default() };
        assert_eq!(both(plain(4), plain(-2)), Some(plain(2)));
        assert_eq!(both(plain(34), cells), Some(Counting { overhead: 44, ..cells }));
        assert_eq!(both(cells, Counting::default()), Some(cells));
        // Cells first, then additional bytes: no single formula.
        assert_eq!(both(cells, plain(4)), None);
    }
}
