//! Trace files: the first byte selects the format and the source's options, and a flow sends the frames of an accepted
//! trace.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use tailback_scenario::{Files, Scenario};
use tailback_traffic::{Format, parse_trace};

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let (format, name) = match first % 3 {
        0 => (Format::TerseBytes, "terse-bytes"),
        1 => (Format::TerseBits, "terse-bits"),
        _ => (Format::Verbose, "verbose"),
    };
    let frames = parse_trace(text, format);
    if let Err(error) = &frames {
        assert!(error.line <= text.lines().count() && !error.message.is_empty(), "{error}");
    }
    let source = json!({ "kind": "trace", "file": "t.txt", "format": name, "smooth": first & 64 != 0, "loop": first & 32 != 0 });
    let document = json!({
        "tailback": 1, "run": { "duration": "1s" }, "hosts": { "a": {}, "b": {} }, "switches": { "s": {} },
        "links": [{ "between": ["[ab]", "s"], "rate": "100Mbit/s" }],
        "flows": [{ "name": "f", "from": "a", "to": "b", "source": source }],
    });
    let owned = text.to_owned();
    let read = Scenario::from_json_with(&document.to_string(), Files::read_by(move |_| Ok(owned.clone())));
    match (read, frames) {
        // A frame of gigabytes becomes millions of packets at one instant: that needs memory, but is not an error.
        (Ok(_), Ok(frames)) if frames.iter().any(|frame| *frame > 10_000_000) => {}
        (Ok(scenario), Ok(_)) => {
            let mut world = tailback_sim::World::new(tailback_scenario::build(&scenario, 1, None));
            world.run(20_000);
            world.report();
        }
        (Err(_), _) => {}
        (Ok(_), Err(error)) => panic!("a scenario accepts a trace that the reader refuses: {error}"),
    }
});
