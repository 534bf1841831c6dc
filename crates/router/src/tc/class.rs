//! `tc class`: classes of HTB, HFSC and DRR.

use super::args::{Args, Rate, Trouble};
use super::counting::Counts;
use super::tables::{Class, Kind, Parent, Tables, Verb};
use crate::ir::HtbClass;
use crate::{Place, Report, Scope};

/// Executes `tc class add|replace|change|delete …`.
pub(super) fn command(
    verb: Verb,
    args: &mut Args<'_>,
    tables: &mut Tables,
    report: &mut Report,
) -> Result<(), Trouble> {
    let at = args.start();
    let (mut device, mut parent, mut id) = (None, None, None);
    let mut kind = None;
    while let Some(word) = args.peek() {
        match word.text.as_str() {
            "dev" => {
                let _ = args.take();
                device = Some(args.word("name of the device")?.text.clone());
            }
            "root" => {
                let _ = args.take();
            }
            "parent" => {
                let _ = args.take();
                parent = Some(args.handle(None)?);
            }
            "classid" | "handle" => {
                let _ = args.take();
                id = Some(args.handle(parent.map(|parent| parent.major))?);
            }
            "estimator" | "est" => return Err(Trouble::unsupported(word.at, "rate estimators")),
            _ => {
                kind = args.take();
                break;
            }
        }
    }
    let name = device.ok_or_else(|| Trouble::wrong(at, "the device is missing", "write `dev eth0`"))?;
    let id = id.ok_or_else(|| Trouble::wrong(at, "the class's handle is missing", "write `classid 1:10`"))?;
    report.enter(Scope::Port(name.clone()));
    let device = tables.device(&name);
    let old = device.classes.iter().position(|class| class.id == id);
    if verb == Verb::Delete {
        let Some(old) = old else {
            return Err(Trouble::wrong(at, format!("there is no class {id}"), "remove the command"));
        };
        if device.classes.iter().any(|class| class.id.major == id.major && class.parent == Some(id.minor)) {
            return Err(Trouble::wrong(at, format!("class {id} has child classes"), "delete those first"));
        }
        let _ = device.classes.remove(old);
        device.filters.retain(|filter| filter.target != Some(id));
        let below: Vec<u16> =
            device.qdiscs.iter().filter(|qdisc| qdisc.parent == Parent::Class(id)).map(|qdisc| qdisc.major).collect();
        for major in below {
            device.remove(major);
        }
        return Ok(());
    }
    let kind = kind.ok_or_else(|| Trouble::wrong(at, "the kind of class is missing", "write htb, hfsc or drr"))?;
    let own = device.qdisc(id.major).map(|qdisc| &qdisc.kind);
    let mut class = match (old.and_then(|old| device.classes.get(old)), parent) {
        (Some(old), _) if verb == Verb::Change => old.clone(),
        (_, None) => return Err(Trouble::wrong(at, "the parent is missing", "write `parent 1:`")),
        (_, Some(parent)) => {
            let within = Some(parent.minor).filter(|minor| *minor > 0);
            Class { id, parent: within, htb: None, hfsc: None, quantum: None, at }
        }
    };
    match (kind.text.as_str(), own) {
        // The unsupported discipline has been reported.
        (_, Some(Kind::Opaque)) => return Ok(()),
        ("htb", Some(Kind::Htb { .. })) => class.htb = Some(htb(kind.at, args)?),
        ("hfsc", Some(Kind::Hfsc { .. })) => class.hfsc = Some(super::hfsc::class(kind.at, args)?),
        ("drr", Some(Kind::Drr)) => {
            if args.take_if("quantum") {
                class.quantum = Some(args.size()?);
            }
        }
        ("htb" | "hfsc" | "drr", _) => {
            let message = format!("there is no {} with the handle {:x}:", kind.text, id.major);
            return Err(Trouble::wrong(at, message, "add the discipline before its classes"));
        }
        (other, _) => {
            return Err(Trouble {
                advice: Some("use htb".to_owned()),
                ..Trouble::unsupported(kind.at, format!("classes of `{other}` have no counterpart"))
            });
        }
    }
    if let Some(parent) = parent {
        let missing = parent.minor > 0 && !device.classes.iter().any(|class| class.id == parent);
        if parent.major != id.major || missing || parent == id {
            return Err(Trouble::wrong(
                at,
                format!("there is no parent class {parent}"),
                "add the parent before its child classes",
            ));
        }
    }
    if let Some(word) = args.peek() {
        report.unsupported(
            word.at,
            format!("`{}` and the words after it are not known for a class", word.text),
            Some("they were left out"),
        );
    }
    match old {
        Some(_) if verb == Verb::Add => {
            return Err(Trouble::wrong(at, format!("there is a class {id} already"), "use `change` or `replace`"));
        }
        Some(old) => {
            if let Some(own) = device.classes.get_mut(old) {
                // A class keeps its place in the tree: the kernel does not move classes.
                *own = Class { parent: own.parent, ..class };
            }
        }
        None if verb == Verb::Change => {
            return Err(Trouble::wrong(at, format!("there is no class {id} to change"), "use `add`"));
        }
        None => device.classes.push(class),
    }
    Ok(())
}

/// Default burst of a class in bytes: `rate / get_hz() + mtu` of iproute2's `q_htb.c`, where the first term is below a
/// byte with the kernel's clock in nanoseconds.
const DEFAULT_MTU: u64 = 1600;

/// Parses the arguments of `htb` in a class (tc-htb(8)).
fn htb(at: Place, args: &mut Args<'_>) -> Result<HtbClass, Trouble> {
    let mut rate = None;
    let mut made = HtbClass::default();
    let mut counts = Counts::default();
    loop {
        if args.take_if("rate") {
            rate = Some(args.rate_or_part()?);
        } else if args.take_if("ceil") {
            match args.rate_or_part()? {
                Rate::Bits(bits) => (made.ceil, made.ceil_percent) = (Some(bits), None),
                Rate::Part(part) => (made.ceil, made.ceil_percent) = (None, Some(part)),
            }
        } else if args.take_if("burst") || args.take_if("buffer") || args.take_if("maxburst") {
            made.burst = Some(args.size()?);
        } else if args.take_if("cburst") || args.take_if("cbuffer") || args.take_if("cmaxburst") {
            made.cburst = Some(args.size()?);
        } else if args.take_if("prio") {
            made.prio = Some(args.within("priority", 0, 7)? as u32);
        } else if args.take_if("quantum") {
            made.quantum = Some(args.size()?);
        } else if !counts.take(args, false)? {
            break;
        }
    }
    made.counts = counts.made;
    if let Some(mtu) = counts.mtu.filter(|mtu| *mtu != DEFAULT_MTU) {
        made.burst = made.burst.or(Some(mtu));
        made.cburst = made.cburst.or(Some(mtu));
    }
    match rate.ok_or_else(|| Trouble::wrong(at, "an htb class needs a rate", "write `htb rate 1mbit`"))? {
        Rate::Bits(bits) => made.rate = bits,
        Rate::Part(part) => made.percent = Some(part),
    }
    Ok(made)
}
