//! Parts of the language that a model of TCP cannot run are refused by name, with line and column; expectations that do
//! not hold are named.

use crate::run;

/// A connection opened by the host, up to the first transmission of data, on 7 lines.
const OPENED: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0.1 connect(3, ..., ...) = 0
+0 > S 0:0(0) <...>
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1000,sackOK,nop,wscale 8>
+0 > . 1:1(0) ack 1
+0 write(3, ..., 2000) = 2000
+0 > . 1:2001(2000) ack 1
";

/// Runs `OPENED` and more lines; returns line, column and text of the failure.
fn failure(more: &str) -> (usize, usize, String) {
    let failure = run(&format!("{OPENED}{more}\n")).expect_err(more);
    (failure.place.line, failure.place.column, failure.message)
}

#[test]
fn the_opening_alone_passes() {
    assert_eq!(run(OPENED), Ok(()));
}

/// Column and a part of the message, by the eighth line.
#[test]
fn each_part_of_the_language_that_the_model_lacks_is_refused_at_its_place() {
    let mut wrong = Vec::new();
    for (line, column, part) in [
        ("+0 > F. 1:1(0) ack 1", 6, "flag F"),
        ("+0 < R. 1:1(0) ack 1 win 0", 6, "flag R"),
        ("+0 < U. 1:1(0) ack 1 win 9 urg 1", 6, "flag U"),
        ("+0 < icmp unreachable host_unreachable", 6, "`icmp` are not flags"),
        ("+0 < . 1:1(0) ack 1001 win 9 <FO 1>", 31, "option `FO`"),
        ("+0 < . 1:1(0) ack 1 win 9 <nop,nop,sack 1:2 3:4 5:6 7:8>", 53, "a fourth SACK block"),
        ("+0 < . 1:1(0) ack 1 win 9 <nop,sack 3:3>", 37, "is empty"),
        ("+0 < [flowlabel] . 1:1(0) ack 1 win 9", 7, "`flowlabel`"),
        ("+0 < . 1:11(9) ack 1 win 9", 12, "are not 9 bytes"),
        ("+0 < . 1:1(0) ack 4294967296 win 9", 19, "not a whole number"),
        ("+0 < . 1:1(0) win 9", 6, "`ack` must be given together"),
        ("+0 sendmsg(3, {msg_name(...)=...}, 0) = 9", 15, "a structure"),
        ("+0 shutdown(3, SHUT_WR) = 0", 1, "`shutdown` has no meaning"),
        ("+0 close(3) = 0", 1, "before all data are acknowledged"),
        ("+0 write(3, ..., 10) = -1 EAGAIN", 27, "do not fail"),
        ("+0 write(4, ..., 10) = 10", 1, "a descriptor"),
        ("+0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [1], 4) = 0", 1, "`SO_SNDBUF`"),
        ("+0 setsockopt(3, IPPROTO_TCP, TCP_CONGESTION, \"cubic\", 5) = 0", 1, "congestion-control is \"reno\""),
        ("+0 `sleep 1`", 4, "a command during the script"),
        ("`tc qdisc add`", 1, "only `sysctl` has a meaning"),
        ("`sysctl -q net.ipv4.tcp_sack=0`", 1, "net.ipv4.tcp_sack=1"),
        ("`sysctl -q net.ipv4.tcp_mem=0`", 1, "`net.ipv4.tcp_mem` has no meaning"),
        ("--ip_version=ipv6", 1, "`--ip_version`"),
        ("+0~+1 < . 1:1(0) ack 1 win 9", 1, "are times of transmissions"),
        ("0.05 < . 1:1(0) ack 1 win 9", 1, "before the event above"),
        ("+0 %{ print tcpi_rto }%", 7, "only `assert`"),
        ("+0 %{ assert tcpi_rto == 0 or 1 }%", 28, "`or`"),
        ("+0 %{ assert tcpi_rto + 1 == 0 }%", 23, "only names and numbers"),
        ("+0 %{ assert tcpi_pmtu == 0 }%", 27, "`tcpi_pmtu` is not a value of the model"),
        ("+0 %{ }%", 6, "asserts nothing"),
        ("/* without end", 1, "`*/` is missing"),
        ("// tailback: {\"mtu\": 9}", 1, "mtu"),
        ("// tailback: {\"segment\": \"9B\"}", 1, "follows from the packets"),
        ("// tailback: 7", 1, "a table"),
        ("+0 < P. 1:1001(1000) ack 1 win 9", 1, "the model's opener sends"),
        ("+0 < . 1:1(0) ack 501 win 9", 1, "byte 501 is not the first one"),
        ("+0 < . 1:1(0) ack 1001 win 9 <nop,nop,TS val 1 ecr 1>", 1, "has timestamps: false"),
        ("+0 < . 1:1(0) ack 1001", 1, "needs `win`"),
        ("+0 < . 1:1(0) ack 1 win 255", 1, "by its window it is no duplicate"),
        ("+0 > . 2001:3001(1000) ack 1 win 9", 1, "no window on the wire"),
    ] {
        let (at, found, message) = failure(line);
        if (at, found) != (8, column) || !message.contains(part) {
            wrong.push(format!("{line}\n  is at line {at} column {found}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The timeout is 300 ms after the handshake's sample of 100 ms, and the probe leaves after two round trips of 100 ms.
#[test]
fn an_expectation_that_does_not_hold_is_named_with_what_was_seen() {
    for (lines, line, part) in [
        ("+0 > . 2001:3001(1000) ack 1", 8, "transmitted nothing by 0.1"),
        ("+.1 > . 1001:2001(1000) ack 1", 8, "next is a timer at 0.3"),
        ("+.2 > . 1:1001(1000) ack 1", 8, "transmitted [noecn] . 1001:2001(1000) ack 1 at 0.3"),
        ("+.25 > . 1001:2001(1000) ack 1", 8, "at 0.3"),
        ("+.2 > W. 1001:2001(1000) ack 1", 8, "not W. 1001:2001(1000) ack 1"),
        ("+.2 > [ect0] . 1001:2001(1000) ack 1", 8, "not [ect0] ."),
        ("+.2 > . 1001:2001(1000) ack 1 <nop,nop,sack 1:2>", 8, "sack 1:2"),
        ("+.3 < . 1:1(0) ack 2001 win 9", 8, "no line before this one expects it"),
        ("+0 %{ assert tcpi_snd_cwnd == 9 }%", 8, "tcpi_snd_cwnd (10) == 9 does not hold"),
        ("+0 %{ assert 1 == 1 and (tcpi_snd_cwnd < 10) }%", 8, "tcpi_snd_cwnd (10) < 10 does not hold"),
        ("+.2 > . 1001:2001(1000) ack 1\n+.1 %{ assert 2 <= 1 }%", 9, "2 <= 1 does not hold"),
    ] {
        let (at, _, message) = failure(lines);
        assert_eq!(at, line, "{lines}: {message}");
        assert!(message.contains(part), "{lines}: {message}");
    }
}

/// Forms of time, each of which fits the probe at 0.3 s.
#[test]
fn a_transmission_may_have_any_time_a_range_or_a_tolerance() {
    for line in ["* >", "+0~+.2 >", "0.2~0.3 >", "0.3 >", "+.2 >", "--tolerance_usecs=5000\n+.196 >"] {
        assert_eq!(run(&format!("{OPENED}{line} . 1001:2001(1000) ack 1\n")), Ok(()), "{line}");
    }
    for line in ["+0~+.1 >", "0.31 >", "--tolerance_usecs=5000\n+.194 >"] {
        assert!(run(&format!("{OPENED}{line} . 1001:2001(1000) ack 1\n")).is_err(), "{line}");
    }
}

/// RFC 7323: the host's clock of 1 kHz begins at 100; the echo of 200 is that of the data, sent 100 ms after the SYN. The
/// acknowledgement 60 ms later gives a sample of 60 ms: SRTT = (7 * 100 + 60) / 8 = 95 ms.
#[test]
fn timestamps_are_compared_and_give_samples() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0.1 connect(3, ..., ...) = 0
+0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 8>
+.1 < S. 0:0(0) ack 1 win 65535 <mss 1012,sackOK,TS val 700 ecr 100,nop,wscale 8>
+0 > . 1:1(0) ack 1 <nop,nop,TS val 200 ecr 700>
+0 write(3, ..., 2000) = 2000
+0 > . 1:2001(2000) ack 1 <nop,nop,TS val 200 ecr 700>
+.06 < . 1:1(0) ack 2001 win 1024 <nop,nop,TS val 760 ecr 200>
+0 %{ assert tcpi_rtt == 95000 }%
+0 write(3, ..., 1000) = 1000
+0 > . 2001:3001(1000) ack 1 <nop,nop,TS val 260 ecr 760>
";
    assert_eq!(run(text), Ok(()));
    let failure = run(&text.replace("TS val 760 ecr 200", "TS val 760 ecr 201")).expect_err("no such timestamp");
    assert_eq!((failure.place.line, failure.message.contains("with the timestamp 201")), (8, true));
}

/// The window of the peer: as large as `receive-window` says, and without it never exceeded.
#[test]
fn a_window_that_the_model_does_not_have_is_refused() {
    let small = OPENED.replace("win 65535", "win 1500");
    let failure = run(&small).expect_err("two segments do not fit");
    assert!((failure.place.line, failure.message.contains("beyond the peer's window")) == (6, true), "{failure}");
    let failure = run(&format!("// tailback: {{\"receive-window\": 2}}\n{OPENED}+.1 < . 1:1(0) ack 2001 win 9\n"));
    assert!(failure.is_ok(), "2304 bytes are two segments: {failure:?}");
    let failure = run(&format!("// tailback: {{\"receive-window\": 3}}\n{OPENED}+.1 < . 1:1(0) ack 2001 win 9\n"));
    assert!(failure.expect_err("two segments").message.contains("receive-window is 3"));
}
