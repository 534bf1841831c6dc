//! The same scripts on a kernel, by the program packetdrill.

use crate::{name, scripts};
use std::process::Command;

/// Mark of a script that a kernel does not pass, followed by the reason.
pub const NOT_ON_LINUX: &str = "// not on linux:";

/// Tolerance of times on a kernel, whose timers up to 512 ms expire up to some 10 ms late.
const TOLERANCE: &str = "--tolerance_usecs=20000";

/// Runs `PACKETDRILL` (the path of packetdrill) with each script that is not marked [`NOT_ON_LINUX`]; the program needs
/// root. `PACKETDRILL=/path cargo test -p tailback-transport --test packetdrill -- --include-ignored --nocapture`.
#[test]
#[ignore = "needs packetdrill and a kernel: PACKETDRILL=/path … -- --include-ignored"]
fn scripts_pass_on_the_witness() {
    #[expect(clippy::disallowed_methods, reason = "the path of another program, which is not part of a run")]
    let Ok(program) = std::env::var("PACKETDRILL") else {
        println!("skipped: scripts_pass_on_the_witness, since PACKETDRILL is not set");
        return;
    };
    let mut failures = Vec::new();
    for (path, text) in scripts() {
        if text.contains(NOT_ON_LINUX) {
            println!("{} not for Linux", name(&path));
            continue;
        }
        let output = Command::new(&program).arg(TOLERANCE).arg(&path).output().expect("PACKETDRILL can be executed");
        println!("{} {}", name(&path), if output.status.success() { "passes" } else { "fails" });
        if !output.status.success() {
            failures.push(format!("{} {}", name(&path), String::from_utf8_lossy(&output.stderr)));
        }
    }
    assert!(failures.is_empty(), "{} scripts fail on the witness:\n{}", failures.len(), failures.join("\n"));
}
