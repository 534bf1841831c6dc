//! Router configurations, imported and exported as text.

use crate::panics::whole;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use tailback_router::{
    Imported, LANGUAGES, Language, Options, Overhead, Platform, Report, Syntax, Traffic, Writer, lift, lower, mqc,
    patch,
};

fn language(name: &str) -> PyResult<&'static Language> {
    Language::named(name).ok_or_else(|| {
        let names: Vec<_> = LANGUAGES.iter().map(|language| language.name).collect();
        PyValueError::new_err(format!("there is no language `{name}`; use {}", names.join(", ")))
    })
}

fn writer(name: &str) -> PyResult<Writer> {
    language(name)?.writer.ok_or_else(|| {
        let names: Vec<_> = LANGUAGES.iter().filter(|language| language.writer.is_some()).map(|l| l.name).collect();
        PyValueError::new_err(format!("`{name}` can only be imported, not exported; use {}", names.join(" or ")))
    })
}

fn overhead(text: &str) -> PyResult<Overhead> {
    Overhead::named(text).ok_or_else(|| {
        PyValueError::new_err(format!(
            "`{text}` is not an overhead; use none, ethernet, dot1q, mpls, ppp, pppoe, atm, atm-vc, or a number \
             of bytes from 0 to 255, such as 18"
        ))
    })
}

/// Imports a configuration as a scenario. `traffic` is the CSV text of a traffic table, `overhead` a name or a number of
/// bytes such as "18", `duration` a time with its unit such as "20s"; `None`: the default of [`Options`], and without
/// `traffic` an example.
///
/// Returns a JSON object: `config`, `configuration_report`, `traffic_report`, `scenario_report`, `document`, `classes`,
/// `targets` (objective by name of the traffic row, for rows that have one), `interface` and `link`. After an error in
/// configuration or traffic table there is no scenario: `document`, `interface` and `link` are null, and `classes` and
/// `scenario_report` are empty. After an error in `scenario_report`, `document` is null.
///
/// Raises `ValueError` for an unknown language, overhead or platform.
#[pyfunction]
#[pyo3(signature = (language, text, traffic = None, interface = None, policy = None, rate_bps = None, overhead = None, title = None, duration = None, platform = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn import_router(
    language: &str,
    text: &str,
    traffic: Option<&str>,
    interface: Option<String>,
    policy: Option<String>,
    rate_bps: Option<u64>,
    overhead: Option<&str>,
    title: Option<String>,
    duration: Option<String>,
    platform: Option<&str>,
) -> PyResult<String> {
    whole(|| {
        let import = self::language(language)?.import;
        let overhead = overhead.map(self::overhead).transpose()?;
        let platform = platform
            .map(|text| {
                Platform::named(text).ok_or_else(|| {
                    PyValueError::new_err(format!(
                        "`{text}` is not a platform; use classic, hqf, xe, xr, nxos or arista"
                    ))
                })
            })
            .transpose()?;
        let Imported { config, mut report } = import(text);
        let (traffic, traffic_report) =
            traffic.map_or_else(|| (Traffic::default(), Report::default()), Traffic::from_csv);
        let options = Options { interface, policy, rate: rate_bps, overhead, title, duration, platform };
        // A configuration with errors gives no scenario, since its behaviour is not known.
        let lowered = (!report.has_errors() && !traffic_report.has_errors()).then(|| {
            let mut lowered = lower(&config, &traffic, &options);
            lowered.report.quote(text);
            report.settle(&lowered.reached);
            lowered
        });
        let value = json!({
            "config": config,
            "configuration_report": report,
            "traffic_report": traffic_report,
            "scenario_report": lowered.as_ref().map_or_else(Report::default, |lowered| lowered.report.clone()),
            "document": lowered.as_ref().and_then(|lowered| lowered.document.clone()),
            "classes": lowered.as_ref().map_or_else(Vec::new, |lowered| lowered.classes.clone()),
            "targets": traffic
                .rows
                .iter()
                .filter_map(|row| Some((row.name.clone(), row.target.clone()?)))
                .collect::<std::collections::BTreeMap<_, _>>(),
            "interface": lowered.as_ref().map(|lowered| lowered.interface.clone()),
            "link": lowered.as_ref().and_then(|lowered| lowered.link.clone()),
        });
        Ok(value.to_string())
    })
}

/// Translates a configuration from one language to another. Returns a JSON object: `text`, `configuration_report` and
/// `export_report`. The supported part is exported even if the configuration has errors: `text` may be incomplete then.
///
/// Raises `ValueError` for an unknown language, and if `to` can only be imported.
#[pyfunction]
pub fn translate_router(from_: &str, text: &str, to: &str) -> PyResult<String> {
    whole(|| {
        let (from, to) = (language(from_)?, writer(to)?);
        let Imported { config, report } = (from.import)(text);
        let exported = (to.export)(&config);
        Ok(json!({ "text": exported.text, "configuration_report": report, "export_report": exported.report })
            .to_string())
    })
}

/// Exports the policy of a port of a scenario, which is given as its canonical JSON. `port` is `NODE:NEIGHBOUR` or either
/// of them; `None`: the only port with a policy. `name` is that of the interface or device in the exported text; `None`:
/// a default name, which is reported.
///
/// Returns a JSON object: `text`, empty after an error such as an unknown port, and `export_report`. Raises `ValueError`
/// for an unknown language, one that can only be imported, and a `document` that is not JSON.
#[pyfunction]
#[pyo3(signature = (language, document, port = None, name = None))]
pub fn export_router(language: &str, document: &str, port: Option<&str>, name: Option<&str>) -> PyResult<String> {
    whole(|| {
        let writer = writer(language)?;
        let document =
            serde_json::from_str(document).map_err(|e| PyValueError::new_err(format!("this is not JSON: {e}")))?;
        let Imported { mut config, mut report } = lift(&document, port);
        let name_port = writer.name;
        report.append(name_port(&mut config, name));
        if report.has_errors() {
            return Ok(json!({ "text": "", "export_report": report }).to_string());
        }
        let exported = (writer.export)(&config);
        report.append(exported.report);
        Ok(json!({ "text": exported.text, "export_report": report }).to_string())
    })
}

/// Writes the values of a scenario, which is given as its canonical JSON, into the text from which it was imported. The
/// other arguments are those of the import.
///
/// Returns a JSON object: `text`, the new text; `changes`, the replaced words; `paste`, the commands that make the changes
/// in a session of a router, empty except for mqc; and the reports `traffic_report` and `export_report`. After an error in
/// a report, `text` is empty.
///
/// Raises `ValueError` for an unknown language, one that can only be imported, an unknown overhead, and a `document` that
/// is not JSON.
#[pyfunction]
#[pyo3(signature = (language, original, document, traffic = None, interface = None, policy = None, rate_bps = None, overhead = None))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub fn patch_router(
    language: &str,
    original: &str,
    document: &str,
    traffic: Option<&str>,
    interface: Option<String>,
    policy: Option<String>,
    rate_bps: Option<u64>,
    overhead: Option<&str>,
) -> PyResult<String> {
    whole(|| {
        let syntax = writer(language)?.syntax;
        let scenario =
            serde_json::from_str(document).map_err(|e| PyValueError::new_err(format!("this is not JSON: {e}")))?;
        let (traffic, traffic_report) = match traffic.map(Traffic::from_csv) {
            Some((traffic, report)) => (Some(traffic), report),
            None => (None, Report::default()),
        };
        let overhead = overhead.map(self::overhead).transpose()?;
        let options = Options { interface, policy, rate: rate_bps, overhead, ..Options::default() };
        let canonical = |document: &serde_json::Value| {
            let scenario = tailback_scenario::Scenario::from_json(&document.to_string()).ok()?;
            serde_json::from_str(&scenario.to_json()).ok()
        };
        let patched = if traffic_report.has_errors() {
            tailback_router::Patched::default()
        } else {
            patch(syntax, original, &scenario, traffic.as_ref(), &options, &canonical)
        };
        let changed_lines = patched.changes.iter().map(|change| change.line).collect();
        let paste = if syntax == Syntax::Mqc { mqc::paste(&patched.text, &changed_lines) } else { String::new() };
        Ok(json!({
            "text": patched.text,
            "changes": patched.changes,
            "paste": paste,
            "traffic_report": traffic_report,
            "export_report": patched.report,
        })
        .to_string())
    })
}
