//! Exports the table of functions of the WebAssembly module, in which a host of laws places its function.

#[allow(clippy::disallowed_methods, reason = "cargo passes the target by the environment")]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=--export-table");
        println!("cargo::rustc-link-arg-cdylib=--growable-table");
    }
}
