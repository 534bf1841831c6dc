//! Checks of the interpreter.

use super::data::Data;
use super::imports::linker;
use crate::Parameters;
use wasmi::{Config, Engine, Module, Store};

/// Returns the result of the function `f` of a module for two arguments.
fn call(text: &str, arguments: (i32, i32)) -> f64 {
    let mut config = Config::default();
    config.consume_fuel(true);
    let engine = Engine::new(&config);
    let module = Module::new(&engine, super::binary(text.as_bytes()).expect("the text is valid")).expect("it is valid");
    let mut store = Store::new(&engine, Data::new(Parameters::default()));
    store.set_fuel(1_000_000).expect("fuel is consumed");
    let linker = linker(&engine).expect("the names differ");
    let instance = linker.instantiate_and_start(&mut store, &module).expect("it imports the host's functions");
    let function = instance.get_typed_func(&store, "f").expect("it exports the function");
    function.call(&mut store, arguments).expect("it does not trap")
}

/// Expectations are those of the specification of WebAssembly: `select` has its first operand unless the condition is 0.
#[test]
fn a_selection_by_a_comparison_has_the_operand_of_its_case() {
    let conditions = [
        ("i32.eqz (local.get 1)", [true, false]),
        ("i32.eq (local.get 1) (i32.const 0)", [true, false]),
        ("i32.ne (local.get 1) (i32.const 0)", [false, true]),
        ("i32.eqz (i32.eqz (local.get 1))", [false, true]),
        ("i64.eqz (i64.extend_i32_u (local.get 1))", [true, false]),
        ("i32.lt_s (local.get 1) (i32.const 1)", [true, false]),
        ("f64.gt (f64.convert_i32_s (local.get 1)) (f64.const 0)", [false, true]),
        ("i32.and (local.get 1) (i32.const 1)", [false, true]),
    ];
    for (condition, expected) in conditions {
        let select = format!("(select (f64.const 1) (f64.const 7) ({condition}))");
        let either = format!("(if (result f64) ({condition}) (then (f64.const 1)) (else (f64.const 7)))");
        for body in [select, either] {
            let text = format!(r#"(module (func (export "f") (param i32 i32) (result f64) {body}))"#);
            let found = [0, 1].map(|argument| call(&text, (3, argument)));
            assert_eq!(found, expected.map(|first| if first { 1.0 } else { 7.0 }), "{body}");
        }
    }
}

#[test]
fn the_functions_of_the_host_are_those_that_a_module_may_import() {
    for (name, arguments, results) in super::module::FUNCTIONS {
        let types = |list: &[wasmi::ValType]| {
            list.iter().map(|kind| format!("{kind:?}").to_lowercase()).collect::<Vec<_>>().join(" ")
        };
        let kind = format!("(param {}) (result {})", types(arguments), types(results));
        let import = format!(r#"(import "tailback" "{name}" (func {kind}))"#);
        let text = format!(r#"(module {import} (func (export "f") (param i32 i32) (result f64) (f64.const 2)))"#);
        assert_eq!(call(&text, (0, 0)), 2.0, "{name}");
    }
}
