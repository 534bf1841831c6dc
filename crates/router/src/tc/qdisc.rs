//! `tc qdisc`: disciplines and their parameters.

use super::args::{Args, Trouble};
use super::handle::Handle;
use super::tables::{Kind, Parent, Qdisc, Tables, Verb, exists};
use super::{cake, counting, queues};
use crate::ir::{Counting, Queue};
use crate::{Report, Scope};

/// Default priomap of `prio`: the band, from 0, of each kernel priority 0 to 15.
pub(super) const PRIOMAP: [u16; 16] = [1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];
/// Default `r2q` of HTB: a class's rate in B/s divided by it is the quantum in bytes.
pub(super) const R2Q: u64 = 10;
/// Limit in packets of HTB's direct queue, for packets without a class: the device's `txqueuelen`, by default 1000.
const DIRECT_QLEN: u64 = 1000;
/// Major number of the first discipline without a stated handle.
const FIRST_AUTO_MAJOR: u16 = 0x8001;

/// Executes `tc qdisc add|replace|change|delete …`.
pub(super) fn command(
    verb: Verb,
    args: &mut Args<'_>,
    tables: &mut Tables,
    report: &mut Report,
) -> Result<(), Trouble> {
    let at = args.start();
    let (mut device, mut parent, mut major) = (None, None, None);
    let mut stab = Counting::default();
    let mut kind_word = None;
    while let Some(word) = args.peek() {
        match word.text.as_str() {
            "dev" => {
                let _ = args.take();
                device = Some(args.word("name of the device")?.text.clone());
            }
            "root" => {
                let _ = args.take();
                parent = Some(Parent::Root);
            }
            "ingress" | "clsact" => {
                let _ = args.take();
                parent = Some(Parent::Class(Handle { major: u16::MAX, minor: 0xfff1 }));
                kind_word = Some(word);
                break;
            }
            "parent" => {
                let _ = args.take();
                parent = Some(Parent::Class(args.handle(None)?));
            }
            "handle" => {
                let _ = args.take();
                major = Some(args.handle(None)?.major);
            }
            "stab" => {
                let _ = args.take();
                stab = counting::table(args)?;
            }
            "estimator" | "est" => {
                // A rate estimator does not affect packets.
                let _ = args.take();
                let (_, _) = (args.word("interval")?, args.word("time constant")?);
                report.ignored(word.at, "rate estimators have no effect on queues");
            }
            "ingress_block" | "egress_block" => return Err(Trouble::unsupported(word.at, "shared blocks of filters")),
            _ => {
                kind_word = args.take();
                break;
            }
        }
    }
    let name = device.ok_or_else(|| Trouble::wrong(at, "the device is missing", "write `dev eth0`"))?;
    report.enter(Scope::Port(name.clone()));
    let device = tables.device(&name);
    let old = match (parent, major) {
        (_, Some(major)) if device.qdisc(major).is_some() => device.qdisc(major).cloned(),
        (Some(parent), _) => device.qdiscs.iter().find(|qdisc| qdisc.parent == parent).cloned(),
        _ => None,
    };
    if verb == Verb::Delete {
        match (old, parent) {
            (Some(old), _) => device.remove(old.major),
            // Scripts begin by removing existing disciplines.
            (None, _) => report.ignored(at, "there is nothing to delete"),
        }
        return Ok(());
    }
    let word =
        kind_word.ok_or_else(|| Trouble::wrong(at, "the kind of discipline is missing", "write one, such as htb"))?;
    let is_root =
        parent == Some(Parent::Root) || parent.is_none() && old.as_ref().is_some_and(|old| old.parent == Parent::Root);
    if !stab.is_plain() && !is_root {
        return Err(Trouble::wrong(at, "a size table below the root: the kernel refuses it", "write stab at the root"));
    }
    let parent = parent
        .or(old.as_ref().map(|old| old.parent))
        .ok_or_else(|| Trouble::wrong(at, "the parent is missing", "write `root` or `parent 1:10`"))?;
    if let Parent::Class(class) = parent
        && word.text != "ingress"
        && word.text != "clsact"
        && !exists(device, class)
    {
        return Err(Trouble::wrong(
            at,
            format!("there is no class {class} on {name}"),
            "add it before the disciplines that are attached to it",
        ));
    }
    if verb == Verb::Add && old.is_some() {
        let advice = "delete the old one first, or use `replace`";
        return Err(Trouble::wrong(at, "there is already a discipline at that parent or with that handle", advice));
    }
    if verb == Verb::Change && old.is_none() {
        return Err(Trouble::wrong(at, "there is no discipline to change", "use `add` or `replace`"));
    }
    let kind = kind(word, args, old.as_ref().filter(|_| verb == Verb::Change), report)?;
    if let Some(left) = args.peek() {
        let message = format!("`{}` and the words after it are not known for {}", left.text, word.text);
        report.unsupported(left.at, message, Some("they were left out"));
    }
    if let Some(old) = old {
        if verb == Verb::Change {
            if let Some(own) = device.qdiscs.iter_mut().find(|qdisc| qdisc.major == old.major) {
                own.kind = kind;
            }
            return Ok(());
        }
        device.remove(old.major);
    }
    let unused = (FIRST_AUTO_MAJOR..=u16::MAX).find(|major| device.qdisc(*major).is_none()).unwrap_or(u16::MAX);
    let major =
        if matches!(kind, Kind::Ingress) { u16::MAX } else { major.filter(|major| *major > 0).unwrap_or(unused) };
    if let Parent::Class(class) = parent
        && class.major == major
        && !matches!(kind, Kind::Ingress)
    {
        return Err(Trouble::wrong(
            at,
            format!("{major:x}: cannot be attached to its own class"),
            "give it another handle",
        ));
    }
    device.qdiscs.push(Qdisc { major, parent, kind, stab, at });
    Ok(())
}

/// Parses a discipline by its kind; classless ones are in `queues`.
fn kind(
    word: &super::shell::Word,
    args: &mut Args<'_>,
    old: Option<&Qdisc>,
    report: &mut Report,
) -> Result<Kind, Trouble> {
    Ok(match word.text.as_str() {
        "htb" => htb(args, report)?,
        "prio" => prio(args)?,
        "hfsc" => Kind::Hfsc { default: if args.take_if("default") { args.hexadecimal()? } else { 0 } },
        "drr" => Kind::Drr,
        "ets" => ets(args)?,
        "pfifo_fast" => Kind::Prio { bands: 3, map: PRIOMAP },
        "cake" => Kind::Cake(cake::read(word.at, args, report)?),
        // The disciplines of its transmit queues are compared when the device is built.
        "mq" => Kind::Mq,
        "ingress" | "clsact" => Kind::Ingress,
        "noqueue" => Kind::Leaf { queue: Queue::Fifo, limit: None, shape: None },
        _ => return queues::kind(word, args, old, report),
    })
}

/// Parses `htb` (tc-htb(8)).
fn htb(args: &mut Args<'_>, report: &mut Report) -> Result<Kind, Trouble> {
    let (mut default, mut r2q) = (0, R2Q);
    loop {
        let at = args.at();
        if args.take_if("default") {
            default = args.hexadecimal()?;
        } else if args.take_if("r2q") {
            r2q = args.within("r2q", 1, u64::from(u32::MAX))?;
        } else if args.take_if("direct_qlen") {
            let packets = args.number()?;
            // The engine's direct queue has this limit.
            if packets != DIRECT_QLEN {
                report.unsupported(
                    at,
                    format!("a queue of {packets} packets for packets without a class: it has {DIRECT_QLEN} here"),
                    Some("set `default`, so that each packet has a class"),
                );
            }
        } else if args.take_if("offload") {
            report.unsupported(
                at,
                "classes in hardware (`offload`)",
                Some("they are simulated like classes in software"),
            );
        } else if args.take_if("debug") {
            let _ = args.number()?;
        } else {
            return Ok(Kind::Htb { default, r2q });
        }
    }
}

/// Parses up to 16 bands of a priomap into `map`; further priorities keep theirs.
fn priomap(args: &mut Args<'_>, bands: u16, map: &mut [u16; 16]) -> Result<(), Trouble> {
    for band in map.iter_mut() {
        if args.peek().is_none_or(|word| !word.text.starts_with(|c: char| c.is_ascii_digit())) {
            break;
        }
        *band = args.within("band", 0, u64::from(bands.saturating_sub(1)))? as u16;
    }
    Ok(())
}

/// Parses `prio` (tc-prio(8)).
fn prio(args: &mut Args<'_>) -> Result<Kind, Trouble> {
    let (mut bands, mut map) = (3, PRIOMAP);
    loop {
        if args.take_if("bands") {
            bands = args.within("number of bands", 2, 16)? as u16;
        } else if args.take_if("priomap") {
            priomap(args, bands, &mut map)?;
        } else {
            break;
        }
    }
    let at = args.start();
    if map.iter().any(|band| *band >= bands) {
        return Err(Trouble::wrong(
            at,
            "the priomap names a band that does not exist",
            format!("write bands from 0 to {}", bands - 1),
        ));
    }
    Ok(Kind::Prio { bands, map })
}

/// Parses `ets` (tc-ets(8)).
fn ets(args: &mut Args<'_>) -> Result<Kind, Trouble> {
    let (mut strict, mut quanta, mut bands) = (0, Vec::new(), None);
    // Priorities outside the map go to the last band (`ets_qdisc_change`).
    let mut map = [u16::MAX; 16];
    loop {
        if args.take_if("bands") {
            bands = Some(args.within("number of bands", 1, 16)? as u16);
        } else if args.take_if("strict") {
            strict = args.within("number of strict bands", 0, 16)? as u16;
        } else if args.take_if("quanta") {
            while quanta.len() < 16
                && args.peek().is_some_and(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))
            {
                quanta.push(args.size()?);
            }
        } else if args.take_if("priomap") {
            priomap(args, 16, &mut map)?;
        } else {
            break;
        }
    }
    let needed = strict + quanta.len() as u16;
    let bands = bands.unwrap_or(needed);
    if bands < needed || bands == 0 {
        return Err(Trouble::wrong(
            args.start(),
            "ets needs at least one band, and at least one per strict band and quantum",
            format!("write `bands {}` or more", needed.max(1)),
        ));
    }
    let map = map.map(|band| if band == u16::MAX { bands - 1 } else { band });
    if map.iter().any(|band| *band >= bands) {
        return Err(Trouble::wrong(
            args.start(),
            "the priomap names a band that does not exist",
            format!("write bands from 0 to {}", bands - 1),
        ));
    }
    Ok(Kind::Ets { strict, quanta, bands, map })
}
