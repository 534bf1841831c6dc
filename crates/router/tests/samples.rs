//! Sample configurations: supported and reported lines, and round trips through export and import.
//!
//! `TAILBACK_UPDATE=1 cargo test -p tailback-router --test samples` rewrites the expectations.

#![allow(clippy::disallowed_methods, reason = "settings of the test come from the environment")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use tailback_router::ir::{Class, Config};
use tailback_router::{Exported, Imported, Traffic, junos, lower, mqc, routeros, sonic, tc};

/// Returns the samples of a folder, sorted: the files with an `ending`, or, if it is empty, all but the expectations.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|own| own == ending || (ending.is_empty() && own != "expected")));
    found.sort();
    let minimum = match ending {
        "rsc" | "json" => 5,
        "" => 8,
        _ => 40,
    };
    assert!(found.len() >= minimum, "only {} samples", found.len());
    found
}

/// Returns the fields of a class that differ from their defaults, as one line.
fn class_line(class: &Class) -> String {
    let mut value = serde_json::to_value(class).unwrap();
    let table = value.as_object_mut().unwrap();
    let name = table.remove("name").map_or_else(String::new, |name| name.as_str().unwrap().to_owned());
    if table.get("queue").is_some_and(|queue| queue == "fifo") {
        let _ = table.remove("queue");
    }
    let fields: Vec<String> = table.iter().map(|(key, value)| format!("{key} {value}")).collect();
    format!("{name}: {}", fields.join(", ").replace('"', ""))
}

/// Returns the supported part of a configuration, one line per object, and the report.
fn snapshot(imported: &Imported) -> String {
    let (mut out, config) = (String::new(), &imported.config);
    if let Some(name) = &config.arrival {
        let _ = writeln!(out, "default input policy {name}");
    }
    if let Some(class) = &config.departure {
        let _ = writeln!(out, "default output {}", class_line(class));
    }
    for port in &config.ports {
        let _ = writeln!(
            out,
            "port {} {:?} rate {:?} bandwidth {:?} ring {:?} hold {:?} input {:?}",
            port.name, port.medium, port.rate, port.bandwidth, port.ring, port.hold, port.input
        );
        let _ = writeln!(out, "  {}", class_line(&port.root));
    }
    for policy in &config.policies {
        let _ = writeln!(out, "policy {} {:?} default {:?}", policy.name, policy.scheduler, policy.default);
        for rule in &policy.rules {
            let _ = writeln!(
                out,
                "  {:?} -> {}{}",
                rule.when,
                rule.class,
                if rule.police.is_some() { " policed" } else { "" }
            );
        }
        for class in &policy.classes {
            let _ = writeln!(out, "  {}", class_line(class));
        }
    }
    for map in &config.class_maps {
        let _ = writeln!(out, "map {} {} {:?}", map.name, if map.all { "all" } else { "any" }, map.conditions);
    }
    for list in &config.access_lists {
        let _ = writeln!(out, "list {}", list.name);
        for entry in &list.entries {
            let _ = writeln!(
                out,
                "  {} {} {:?}",
                entry.sequence,
                if entry.permit { "permit" } else { "deny" },
                entry.conditions
            );
        }
    }
    let _ = writeln!(out, "report");
    for notice in imported.report.notices() {
        let _ = writeln!(out, "  {notice}");
    }
    out
}

/// Compares the snapshot of each sample with its expectation.
fn expectations(folder: &str, ending: &str, import: fn(&str) -> Imported) {
    let mut wrong = Vec::new();
    for file in files(folder, ending) {
        let found = snapshot(&import(&fs::read_to_string(&file).unwrap()));
        // `a.conf` and `a.set` may both exist.
        let expected = match ending {
            "" => PathBuf::from(format!("{}.expected", file.display())),
            _ => file.with_extension("expected"),
        };
        if std::env::var_os("TAILBACK_UPDATE").is_some() {
            fs::write(&expected, &found).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{}\n{found}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{} samples differ from their expectations:\n{}", wrong.len(), wrong.join("\n"));
}

/// Compares the configuration of each sample without errors with itself after export and import, irrespective of the
/// order of names.
fn round_trip(folder: &str, ending: &str, import: fn(&str) -> Imported, export: fn(&Config) -> Exported) {
    for file in files(folder, ending) {
        let first = import(&fs::read_to_string(&file).unwrap());
        if first.report.has_errors() {
            continue;
        }
        let written = export(&first.config);
        let second = import(&written.text);
        assert!(!second.report.has_errors(), "{}: {:?}\n{}", file.display(), second.report, written.text);
        let mut again = second.config.clone();
        // A writer may write policies, class maps and access lists in another order.
        let by_name = |config: &mut Config| {
            config.class_maps.sort_by(|a, b| a.name.cmp(&b.name));
            config.policies.sort_by(|a, b| a.name.cmp(&b.name));
            config.access_lists.sort_by(|a, b| a.name.cmp(&b.name));
        };
        let mut before = first.config.clone();
        by_name(&mut before);
        by_name(&mut again);
        assert_eq!(before, again, "{}\n{}", file.display(), written.text);
    }
}

#[test]
fn each_cisco_sample_is_imported_and_reported_as_expected() {
    expectations("mqc", "txt", mqc::import);
}

#[test]
fn each_tc_sample_is_imported_and_reported_as_expected() {
    expectations("tc", "sh", tc::import);
}

/// Sources of the samples, listed here since JSON has no comments: `default-azure` from the template of SONiC
/// (`files/build_templates/qos_config.j2` of sonic-buildimage), `old-references` from the test of the management
/// framework that loads it (`sonic-mgmt-framework`), `manual-shapers`, `manual-buffers` from the Configuration Database
/// Manual of SONiC (`src/sonic-yang-models/doc/Configuration.md`), `test-plan-shares` from the test plan of DWRR
/// scheduling (sonic-mgmt), `storage-dot1p` from the same template for storage.
#[test]
fn each_sonic_sample_is_imported_and_reported_as_expected() {
    expectations("sonic", "json", sonic::import);
}

/// Each sample names its public source in its first lines.
#[test]
fn each_routeros_sample_is_imported_and_reported_as_expected() {
    expectations("routeros", "rsc", routeros::import);
}

#[test]
fn each_junos_sample_is_imported_and_reported_as_expected() {
    expectations("junos", "", junos::import);
}

#[test]
fn a_cisco_sample_round_trips() {
    round_trip("mqc", "txt", mqc::import, mqc::export);
}

#[test]
fn a_tc_sample_round_trips() {
    round_trip("tc", "sh", tc::import, tc::export);
}

#[test]
fn a_sample_translated_into_the_other_language_is_imported_without_errors_and_is_stable() {
    for (folder, ending, import, there, back) in [
        (
            "mqc",
            "txt",
            mqc::import as fn(&str) -> Imported,
            tc::export as fn(&Config) -> Exported,
            tc::import as fn(&str) -> Imported,
        ),
        ("tc", "sh", tc::import, mqc::export, mqc::import),
    ] {
        for file in files(folder, ending) {
            let first = import(&fs::read_to_string(&file).unwrap());
            if first.report.has_errors() {
                continue;
            }
            let written = there(&first.config);
            let second = back(&written.text);
            let errors: Vec<String> = second
                .report
                .notices()
                .iter()
                .filter(|notice| notice.level == tailback_router::Level::Error)
                .map(ToString::to_string)
                .collect();
            assert!(errors.is_empty(), "{}\n{}\n{}", file.display(), errors.join("\n"), written.text);
        }
    }
}

#[test]
fn every_sample_without_errors_becomes_a_document_or_reports_the_reason() {
    let mut made = 0;
    let languages = [
        ("mqc", "txt", mqc::import as fn(&str) -> Imported, None),
        ("tc", "sh", tc::import, None),
        ("sonic", "json", sonic::import, Some("Ethernet")),
        ("junos", "", junos::import, None),
        ("routeros", "rsc", routeros::import, Some("")),
    ];
    for (folder, ending, import, interface) in languages {
        for file in files(folder, ending) {
            let imported = import(&fs::read_to_string(&file).unwrap());
            if imported.report.has_errors() {
                continue;
            }
            let mut ports = imported.config.ports.iter().map(|port| port.name.clone());
            let interface = interface.and_then(|start| ports.rfind(|name| name.starts_with(start)));
            let options = tailback_router::Options { rate: Some(10_000_000), interface, ..Default::default() };
            let lowered = lower(&imported.config, &Traffic::default(), &options);
            match &lowered.document {
                None => assert!(lowered.report.has_errors(), "{}: no document, and no reason", file.display()),
                // Python's tests run all documents. Here it is checked that each has flows.
                Some(document) => {
                    assert!(document["flows"].as_array().is_some_and(|flows| !flows.is_empty()), "{}", file.display());
                    made += 1;
                }
            }
        }
    }
    assert!(made >= 50, "only {made} samples become documents");
}
