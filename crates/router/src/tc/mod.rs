//! Linux traffic control: scripts of `tc qdisc`, `tc class` and `tc filter`.
//!
//! A script is executed command by command (`shell`), each command changes the tables of a device (`qdisc`, `class`,
//! `filter`) as in the kernel, and at the end the tables are compiled into policies (`build`).

pub(crate) mod action;
mod adapt;
mod args;
mod arithmetic;
mod build;
mod cake;
mod class;
mod counting;
mod export;
mod filter;
mod filters;
pub(crate) mod handle;
mod hfsc;
pub(crate) mod marking;
mod netem;
pub(crate) mod netfilter;
mod qdisc;
mod queues;
mod rules;
mod script;
mod shell;
mod tables;
pub(crate) mod u32;
mod units;

use crate::{Imported, Report, Scope};
use args::{Args, Trouble};
use script::Script;
use shell::Word;
use tables::{Tables, Verb};

pub use export::{export, name_device};

/// Reads a script. It never fails: unsupported commands are in the report with their lines.
pub fn import(text: &str) -> Imported {
    let mut tables = Tables::default();
    let mut report = Report::default();
    let mut script = Script::new(text);
    while let Some(words) = script.command(&mut report) {
        command(&words, &mut tables, &mut script, &mut report);
        report.enter(Scope::Everything);
    }
    script.end(&mut report);
    let config = build::build(&tables, &mut report);
    report.quote(text);
    Imported { config, report }
}

/// Commands without effect on queues. Those that set the length of a device's queue are handled before.
const NO_EFFECT: [&str; 21] = [
    "ip", "ifconfig", "ethtool", "echo", "modprobe", "set", "exit", "sleep", "true", ":", "printf", "return", "shift",
    "cd", "test", "[", "[[", "lsmod", "depmod", "trap", "unset",
];

/// Executes a command of the script, if it is one of `tc` or of the firewall.
fn command(words: &[Word], tables: &mut Tables, script: &mut Script<'_>, report: &mut Report) {
    let Some((first, rest)) = words.split_first() else { return };
    let name = first.text.rsplit('/').next().unwrap_or_default();
    let is_batch = ["qdisc", "class", "filter"].contains(&name);
    let is_query = rest.iter().any(|word| matches!(word.text.as_str(), "show" | "list" | "ls" | "-L" | "-S"));
    if (name == "tc" || is_batch || name.starts_with("iptables") || name == "nft") && !is_query {
        script.matters();
    }
    if name == "tc" || is_batch {
        let mut args = Args::new(if is_batch { words } else { rest }, first.at);
        if let Err(trouble) = object(&mut args, tables, report) {
            let Trouble { at, message, advice, unsupported } = trouble;
            if unsupported {
                report.unsupported(at, message, advice.as_deref());
            } else {
                report.error(at, message, advice.as_deref().unwrap_or("see tc(8)"));
            }
        }
    } else if name.starts_with("iptables") {
        tables.firewall.iptables(4, rest, first.at, report);
    } else if name.starts_with("ip6tables") {
        tables.firewall.iptables(6, rest, first.at, report);
    } else if name == "nft" {
        tables.firewall.nft(rest, first.at, report);
    } else if rest.iter().any(|word| word.text == "txqueuelen" || word.text == "qlen") {
        if let Some(device) = named_device(name, rest) {
            report.enter(Scope::Port(device.to_owned()));
        }
        report.unsupported(
            first.at,
            "the queue length of a device: 1000 packets are used",
            Some("write `limit` of a discipline"),
        );
    } else if NO_EFFECT.contains(&name) {
        report.ignored(first.at, format!("`{name}` has no effect on queues"));
    } else {
        report.unsupported(first.at, format!("the command `{name}` is not executed"), None);
    }
}

/// Returns the device of `ip link set [dev] DEVICE …` or `ifconfig DEVICE …`.
fn named_device<'w>(name: &str, rest: &'w [Word]) -> Option<&'w str> {
    let after = |key: &str| rest.iter().skip_while(|word| word.text != key).nth(1);
    let found = after("dev").or_else(|| if name == "ifconfig" { rest.first() } else { after("set") })?;
    Some(found.text.as_str())
}

/// `tc [OPTIONS] qdisc|class|filter …`
fn object(args: &mut Args<'_>, tables: &mut Tables, report: &mut Report) -> Result<(), Trouble> {
    while let Some(word) = args.peek().filter(|word| word.text.starts_with('-')) {
        if word.text.starts_with("-b") {
            return Err(Trouble::unsupported(word.at, "commands in another file"));
        }
        let _ = args.take();
    }
    let object = args.prefix_of(&["qdisc", "class", "filter", "actions", "monitor", "chain"])?;
    if !matches!(object, "qdisc" | "class" | "filter") {
        return Err(Trouble::unsupported(args.start(), format!("`tc {object}`")));
    }
    if args.is_done() {
        report.ignored(args.start(), "a command that only shows the configuration");
        return Ok(());
    }
    match args.prefix_of(&["add", "replace", "change", "delete", "del", "link", "show", "list", "ls", "get"])? {
        "show" | "list" | "ls" | "get" => {
            report.ignored(args.start(), "a command that only shows the configuration");
            Ok(())
        }
        verb => {
            let verb = match verb {
                "add" => Verb::Add,
                "change" => Verb::Change,
                "delete" | "del" => Verb::Delete,
                _ => Verb::Replace,
            };
            match object {
                "qdisc" => qdisc::command(verb, args, tables, report),
                "class" => class::command(verb, args, tables, report),
                _ => filter::command(verb, args, tables, report),
            }
        }
    }
}
