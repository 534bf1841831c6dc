//! Frame-size traces: accepted and refused files, and replay.

use tailback_random::Rng;
use tailback_traffic::{Burst, Format, Model, Trace, parse_trace};
use tailback_units::{Dur, Rate, Time};

#[test]
fn terse_files_are_read_in_bytes_or_in_bits() {
    assert_eq!(parse_trace("534\n1542\n134\n", Format::TerseBytes).unwrap(), [534, 1542, 134]);
    assert_eq!(parse_trace("8\n9\n0\n80000", Format::TerseBits).unwrap(), [1, 2, 0, 10_000]);
}

#[test]
fn verbose_files_are_read_past_headers_comments_and_blank_lines() {
    let text = "# from somewhere\n Frame  Type  Time[ms]  Length[byte]\n\n0 I 0 4742\n1\tP\t160\t2306\n2 B 40.0 1 \n";
    assert_eq!(parse_trace(text, Format::Verbose).unwrap(), [4742, 2306, 1]);
}

#[test]
fn line_ends_of_other_systems_and_a_byte_order_mark_are_accepted() {
    assert_eq!(parse_trace("\u{feff}534\r\n1542\r\n", Format::TerseBytes).unwrap(), [534, 1542]);
    assert_eq!(parse_trace("\u{feff}head er s\r\n0 I 0 7\r\n", Format::Verbose).unwrap(), [7]);
}

#[test]
fn malformed_files_are_refused_with_the_line_and_a_message() {
    for (text, format, line, advice) in [
        ("", Format::TerseBytes, 0, "no frames"),
        ("# only\n\n", Format::TerseBits, 0, "no frames"),
        ("0\n0\n", Format::TerseBytes, 0, "every frame"),
        ("12\n-5\n", Format::TerseBytes, 2, "negative"),
        ("12\nx\n", Format::TerseBytes, 2, "not a whole number"),
        ("12\n3.5\n", Format::TerseBytes, 2, "not a whole number"),
        ("1e3\n", Format::TerseBytes, 1, "not a whole number"),
        ("4294967296\n", Format::TerseBytes, 1, "too large"),
        ("99999999999999999999999999\n", Format::TerseBits, 1, "too large"),
        ("0 I 0 4742\n", Format::TerseBytes, 1, "\"verbose\""),
        ("534\n", Format::Verbose, 1, "1 columns instead of 4"),
        ("0 I 0 12\n1 P 40\n", Format::Verbose, 2, "3 columns"),
        ("0 I 0 12\nheader again\n", Format::Verbose, 2, "2 columns"),
        ("0 3 0 12\n", Format::Verbose, 1, "frame type"),
        ("0 I -4 12\n", Format::Verbose, 1, "time in ms"),
        ("0 I NaN 12\n", Format::Verbose, 1, "time in ms"),
        ("0 I 0 -12\n", Format::Verbose, 1, "negative"),
        ("Frame Type Time Length\n", Format::Verbose, 0, "no frames"),
    ] {
        let error = parse_trace(text, format).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.to_string().contains(advice), "{text:?}: {error}");
    }
}

#[test]
fn a_binary_file_is_refused_in_one_short_line() {
    let text: String = (0..200_000).map(|i| char::from((i * 37 % 128) as u8)).filter(|c| *c != '\n').collect();
    let error = parse_trace(&text, Format::TerseBytes).unwrap_err().to_string();
    assert!(error.len() < 400 && !error.contains(char::is_control), "{error}");
}

/// Returns a trace of frame sizes in bytes, at the default 25 frames per second.
fn trace(text: &str) -> Trace {
    let mut trace = Trace::new("movie.txt", Format::TerseBytes);
    trace.load(text).unwrap();
    trace
}

/// Returns the first `n` bursts of a source of the trace.
fn play(trace: Trace, seed: u64, n: usize) -> Vec<Burst> {
    let mut rng = Rng::named(seed, "trace");
    let mut source = Model::Trace(trace).start(Time::ZERO, &mut rng);
    core::iter::from_fn(|| source.next(&mut rng)).take(n).collect()
}

#[test]
fn a_trace_that_is_not_looped_sends_its_frames_at_even_intervals_and_ends() {
    let mut once = trace("100\n0\n300\n");
    (once.repeat, once.fps) = (false, 50.0);
    let observed = play(once, 1, 10);
    let frame = Dur::from_ms(20);
    assert_eq!(observed, [Burst { at: Time::ZERO, bytes: 100 }, Burst { at: Time::ZERO + frame * 2, bytes: 300 }]);
}

#[test]
fn a_looped_trace_begins_at_a_random_frame_and_repeats() {
    let starts: Vec<u64> = (0..200).map(|seed| play(trace("1\n2\n3\n"), seed, 1)[0].bytes).collect();
    for frame in 1..=3 {
        let count = starts.iter().filter(|b| **b == frame).count();
        assert!((40..95).contains(&count), "frame {frame} came first {count} times of 200");
    }
    let observed: Vec<u64> = play(trace("1\n2\n3\n"), 1, 30).iter().map(|b| b.bytes).collect();
    assert!(observed.windows(2).all(|w| w[1] == w[0] % 3 + 1), "{observed:?}");
}

#[test]
fn a_scaled_trace_has_the_requested_rate() {
    let mut model = trace("100\n200\n0\n900\n");
    model.scale_to = Some(Rate(1_500_000));
    let observed = play(model, 1, 3_000);
    // 3000 bursts are 4000 frames, since three of four frames are not empty.
    let seconds = 4_000.0 / 25.0;
    let rate = 8.0 * observed.iter().map(|b| b.bytes).sum::<u64>() as f64 / seconds;
    assert!((rate / 1.5e6 - 1.0).abs() < 1e-3, "{rate}");
}

#[test]
fn a_trace_that_was_never_loaded_sends_nothing() {
    assert!(play(Trace::new("movie.txt", Format::Verbose), 1, 10).is_empty());
    assert_eq!(Model::Trace(Trace::new("movie.txt", Format::Verbose)).mean_rate_bps(), None);
}
