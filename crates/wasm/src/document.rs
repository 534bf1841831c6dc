//! Exports for editors: the schema of the document, checks of a text, and changes of values in it.

use crate::laws;
use crate::memory::text_at;
use crate::stepping::{answer, pairs};
use serde_json::{Value, json};
use tailback_scenario::{Problem, build, network, schema};

/// Answers with the JSON Schema of a scenario document.
#[unsafe(no_mangle)]
pub extern "C" fn tailback_schema() -> u32 {
    answer(Ok(schema().to_string()))
}

/// Checks the scenario in the `len` bytes at `at`, TOML in UTF-8. The answer is JSON: the lists `errors` and `warnings`, each
/// entry with `message`, `path`, `line`, `column`, `help` and `text`; and, if there is no error, `title`, `seed`, `warmup`,
/// `declared` (`run.tunable`), `network` (as the plan of that seed has it) and `tunable`, the values that can change during a run.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_check(at: *const u8, len: usize) -> u32 {
    // SAFETY: by the contract above.
    let text = unsafe { text_at(at, len) };
    answer(text.map(|text| checked(text).to_string()))
}

/// Returns the answer of [`tailback_check`].
fn checked(text: &str) -> Value {
    let scenario = match laws::scenario(text) {
        Ok(scenario) => scenario,
        Err(error) => {
            let errors: Vec<Value> = error.problems().iter().map(described).collect();
            return json!({ "errors": errors, "warnings": [] });
        }
    };
    let warnings: Vec<Value> = scenario.warnings().iter().map(|warning| described(&warning.problem)).collect();
    let run: Value = serde_json::from_str(&scenario.run_config()).unwrap_or_default();
    json!({
        "errors": [],
        "warnings": warnings,
        "title": scenario.title(),
        "seed": run["seed"],
        "warmup": run["warmup"],
        "declared": run["tunable"],
        "network": network(&build(&scenario, scenario.run().seed, None)),
        "tunable": scenario.tunable_values(),
    })
}

/// Returns an error or warning as JSON.
fn described(problem: &Problem) -> Value {
    json!({
        "message": problem.message,
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "help": problem.suggestion,
        "text": problem.rendered,
    })
}

/// Replaces values of a scenario. The `len` bytes at `at` are `pairs_len` bytes of lines `path=value`, and then the document in
/// TOML. The answer is the changed document in TOML with defaults filled in.
///
/// # Safety
///
/// `at` is not null, and the `len` bytes at `at` are initialised memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailback_set(at: *const u8, len: usize, pairs_len: usize) -> u32 {
    // SAFETY: by the contract above.
    let text = unsafe { text_at(at, len) };
    answer(text.and_then(|text| {
        let (lines, toml) = text.split_at_checked(pairs_len).ok_or("the text is shorter than its pairs")?;
        let pairs = pairs(lines)?;
        let scenario = laws::scenario(toml).and_then(|scenario| scenario.with_set(&pairs));
        scenario.map(|scenario| scenario.to_toml()).map_err(|error| error.rendered())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{tailback_result_len, tailback_result_ptr};

    const SCENARIO: &str = r#"tailback = 1
[run]
duration = "10ms"
seed = 7
[hosts]
a = {}
b = {}
[[links]]
between = ["a", "b"]
rate = "10Mbit/s"
[[flows]]
name = "data"
from = "a"
to = "b"
source = { kind = "cbr", rate = "20Mbit/s", packet = "1000B" }
"#;

    /// Returns the last result.
    fn result() -> String {
        // SAFETY: the answer is kept until the next call.
        let answer = unsafe { std::slice::from_raw_parts(tailback_result_ptr(), tailback_result_len()) };
        String::from_utf8(answer.to_vec()).expect("answers are UTF-8")
    }

    /// Returns the answer of a check.
    fn check(text: &str) -> Value {
        // SAFETY: the text is initialised memory.
        assert_eq!(unsafe { tailback_check(text.as_ptr(), text.len()) }, 0);
        serde_json::from_str(&result()).expect("the answer is JSON")
    }

    #[test]
    fn a_check_has_the_network_the_warnings_and_the_values_that_can_change() {
        let found = check(SCENARIO);
        assert_eq!(found["errors"], json!([]));
        assert_eq!(found["seed"], 7);
        assert_eq!(found["network"]["nodes"], json!([["a", "host"], ["b", "host"]]));
        // 20 Mbit/s into a link of 10 Mbit/s.
        assert!(found["warnings"][0]["message"].as_str().is_some_and(|text| text.contains("Mbit/s")), "{found}");
        let tunable = found["tunable"].as_array().expect("a list");
        assert!(tunable.iter().any(|value| value["path"] == "links[0].rate"), "{found}");
    }

    #[test]
    fn errors_have_line_column_and_cure() {
        let found = check(&SCENARIO.replace("rate = \"10Mbit/s\"", "rat = \"10Mbit/s\""));
        let error = &found["errors"][0];
        let unknown = |error: &&Value| error["line"] == 10 && error["column"] == 1;
        let error = found["errors"].as_array().into_iter().flatten().find(unknown).unwrap_or(error);
        assert!(error["message"].as_str().is_some_and(|text| text.contains("rat")), "{found}");
        assert!(error["help"].as_str().is_some_and(|text| text.contains("rate")), "{found}");
    }

    #[test]
    fn values_are_set_and_a_wrong_path_is_refused() {
        let set = |pairs: &str| {
            let text = format!("{pairs}{SCENARIO}");
            // SAFETY: the text is initialised memory.
            let status = unsafe { tailback_set(text.as_ptr(), text.len(), pairs.len()) };
            (status, result())
        };
        let (status, toml) = set("run.tunable=[\"links[0].rate\"]\nlinks[0].rate=5Mbit/s\n");
        assert_eq!(status, 0, "{toml}");
        let found = check(&toml);
        let is_set = |value: &Value| {
            value["path"] == "links[0].rate" && value["value"] == "5Mbit/s" && value["declared"] == true
        };
        assert!(found["tunable"].as_array().is_some_and(|values| values.iter().any(is_set)), "{found}");
        assert_eq!(found["declared"], json!(["links[0].rate"]));
        assert_eq!(set("links[3].rate=5Mbit/s\n").0, 1);
        assert_eq!(set("nonsense\n").0, 1);
    }

    #[test]
    fn the_schema_is_that_of_a_scenario() {
        assert_eq!(tailback_schema(), 0);
        let schema: Value = serde_json::from_str(&result()).expect("the schema is JSON");
        assert_eq!(schema["title"], "Tailback scenario");
    }
}
