//! Random texts: lines of each language in random order, and samples with mutated bytes. Reading a text must not panic,
//! nor must exporting the result, importing the export, and compiling the result into a scenario.
//!
//! A failure prints the seed; `TAILBACK_FUZZ_SEED=n cargo test -p tailback-router --test fuzz` repeats it.

#![allow(clippy::disallowed_methods, reason = "settings of the test come from the environment")]

use core::fmt::Write as _;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tailback_random::Rng;
use tailback_router::{LANGUAGES, Options, Traffic, lift, lower, mqc, patch, tc};

/// Lines of Cisco's language for [`grammatical`]: `@` stands for a name, `#` for a number.
const CISCO: &[&str] = &[
    "class-map match-any @",
    "class-map match-all @",
    "no class-map @",
    "match dscp ef af41",
    "match precedence ipv4 #",
    "class-map type queuing @",
    "class-map type qos @",
    "policy-map type queuing @",
    "service-policy type queuing output @",
    "system qos",
    "match not class-map @",
    "match class-map @",
    "match access-group 101",
    "match access-group name @",
    "match protocol http",
    "match precedence # #",
    "match any",
    "no match dscp ef af41",
    "policy-map @",
    "no policy-map @",
    "class @",
    "class class-default",
    "no class @",
    "priority percent #",
    "priority # #",
    "priority level 2",
    "bandwidth percent #",
    "bandwidth #",
    "bandwidth remaining percent #",
    "bandwidth remaining ratio #",
    "fair-queue #",
    "queue-limit # bytes",
    "queue-limit dscp ef #",
    "random-detect dscp-based",
    "random-detect dscp af11 # # #",
    "random-detect",
    "no random-detect",
    "random-detect exponential-weighting-constant #",
    "shape average # # #",
    "shape peak percent #",
    "police # # #",
    "police cir # bc # pir # be # conform-action set-dscp-transmit af11 violate-action drop",
    "exceed-action set-prec-transmit #",
    "set dscp af21",
    "set mpls experimental imposition #",
    "service-policy @",
    "service-policy output @",
    "service-policy input @",
    "interface Serial0/#",
    "interface @",
    "hold-queue # out",
    "tx-ring-limit #",
    "max-reserved-bandwidth #",
    "priority-group #",
    "speed #",
    "access-list 101 permit tcp any range # # host 10.0.0.# eq www",
    "access-list # permit 10.0.0.0 0.0.0.255",
    "ip access-list extended @",
    "no # ",
    "# deny udp any any gt # dscp ef log",
    "permit ip 10.0.0.0 0.255.#.255 any",
    "priority-list # protocol ip high list 101",
    "priority-list # queue-limit # # # #",
    "shape average # mbps # ms",
    "shape average #m account user-defined #",
    "bandwidth # gbps",
    "priority level # percent #",
    "police rate # mbps burst # kbytes",
    "police cir percent # bc # ms",
    "queue-limit # kbytes",
    "queue-limit # ms",
    "queue-limit percent #",
    "queue-limit dscp values ef af41 percent #",
    "queue-limit precedence # # packets",
    "random-detect dscp af11,af12 # ms # ms",
    "random-detect dscp # percent # #",
    "random-detect # us # us",
    "random-detect minimum-threshold # kbytes maximum-threshold # kbytes drop-probability # weight # ecn",
    "random-detect precedence # # bytes # bytes",
    "match vlan # #-#",
    "match qos-group #",
    "match traffic-class #",
    "match input-interface Serial0/#",
    "match protocol rtp audio",
    "match protocol attribute @ @",
    "match mpls experimental topmost # #",
    "match access-group name v6",
    "ipv6 access-list v6",
    "sequence # permit udp 2001:db8::/# any eq #",
    "permit ipv6 any host ::#",
    "class-map type queuing match-any c-out-8q-q#",
    "class type queuing c-out-8q-q#",
    "class-map type control-plane @",
    "policy-map type qos @",
    "policy-map type network-qos @",
    "service-policy type qos input @",
    "system qos",
    " service-policy type queuing output @",
    "end-policy-map",
    "set qos-group #",
    "set cos #",
    "set traffic-class #",
    "police cir # conform-action set-qos-transmit # exceed-action set-dscp-transmit af12",
    "ip address 10.0.0.# 255.255.255.#",
    "ip address 10.0.0.0/#",
    "bandwidth qos-reference #",
    "ip rtp priority # # #",
    "ppp multilink fragment delay #",
    "tx-queue #",
    "router bgp #",
    " neighbor 10.0.0.1",
    "route-map @ permit #",
    " set ip precedence #",
    "map-class frame-relay @",
    "banner motd ^C",
    "^C",
    "! comment",
    "end",
    "exit",
    "R1(config)# conf t",
    "no",
    "",
    "é ü 漢",
];
const TC: &[&str] = &[
    "tc qdisc add dev d@ root handle #: htb default #",
    "tc qdisc replace dev d@ root handle #: prio bands #",
    "tc qdisc del dev d@ root",
    "tc qdisc add dev d@ parent #:# handle #: sfq perturb # limit #",
    "tc qdisc add dev d@ parent #:# handle #: tbf rate #kbit burst #k latency #ms",
    "tc qdisc add dev d@ parent #:# handle #: htb",
    "tc qdisc add dev d@ root gred setup DPs # default #",
    "tc qdisc change dev d@ root gred limit #k min # max # avpkt # burst # DP #",
    "tc qdisc add dev d@ parent #:# red limit #m min #k max #k avpkt # burst # probability 0.#",
    "tc qdisc add dev d@ root ets strict # quanta # # #",
    "tc class add dev d@ parent #: classid #:# htb rate #mbit ceil #mbit burst #k prio # quantum #",
    "tc class add dev d@ parent #:# classid #:# htb rate #kbit",
    "tc class add dev d@ parent #: classid #:# drr quantum #",
    "tc class del dev d@ classid #:#",
    "tc qdisc add dev d@ root handle #: drr",
    "tc filter add dev d@ parent #: protocol ip prio # u32 match ip dsfield # 0xfc match ip dport # 0xffff flowid #:#",
    "tc filter add dev d@ parent #: protocol ip u32 match u32 0 0 police rate #kbit burst #k conform-exceed drop/pass flowid #:#",
    "tc filter add dev d@ parent #: protocol ip prio # flower ip_proto udp dst_port #-# ip_tos 0x#/0xfc classid #:#",
    "tc filter add dev d@ parent #: protocol ip prio # matchall flowid #:#",
    "tc filter del dev d@ parent #:",
    "tc qdisc add dev d@ root fq_codel limit # target #ms noecn",
    "A@=$B@$B@",
    "B@=\"tc qdisc add $A@\"",
    "$B@ dev d@ root pfifo limit $((# * (# - #) / #))",
    "for i in 1 2; do",
    "for r in # {1..4} $(seq 1 3); do",
    "if tc qdisc show; then",
    "fi",
    "case $A@ in",
    "esac",
    "tc class add dev d@ parent #: classid #:# htb rate #% ceil #% overhead # linklayer atm mpu # mtu #",
    "tc qdisc add dev d@ root handle #: stab overhead -# linklayer adsl mpu # mtu # tsize # htb default # r2q #",
    "tc qdisc add dev d@ root tbf rate #mbit burst #k limit #m peakrate #mbit minburst # overhead #",
    "tc qdisc add dev d@ root cake bandwidth #mbit diffserv4 pppoe-vcmux overhead # mpu # rtt #ms memlimit #k",
    "tc qdisc add dev d@ parent #:# cake unlimited diffserv8 flowblind ptm autorate-ingress",
    "tc qdisc add dev d@ root handle #: mq",
    "tc qdisc add dev d@ root handle #: hfsc default #",
    "tc class add dev d@ parent #: classid #:# hfsc rt umax #b dmax #ms rate #kbit ls m1 #kbit d #ms m2 #kbit ul rate #",
    "tc class add dev d@ parent #:# classid #:# hfsc sc m2 #kbit",
    "tc qdisc add dev d@ parent #:# netem delay #ms #ms #% loss gemodel #% #% limit # rate #kbit # # #",
    "tc qdisc add dev d@ root fq limit # flow_limit # quantum # initial_quantum # refill_delay #ms orphan_mask # maxrate #",
    "tc filter add dev d@ parent #: protocol ipv6 u32 match ip6 dst 2001:db8::/# match ip6 dport # 0xffff flowid #:#",
    "tc qdisc add dev d@ parent #:# fq quantum # limit #",
    "tc qdisc add dev d@ root handle #: ets bands # strict # quanta # # priomap # # #",
    "tc qdisc add dev d@ clsact",
    "tc filter add dev d@ egress protocol ip u32 match ip dport # ffff action skbedit mark #/# priority #:# continue",
    "tc filter add dev d@ ingress protocol ip matchall action mirred egress redirect dev da",
    "tc filter add dev d@ parent #: protocol ip basic match 'cmp(u16 at # layer transport mask # eq #) and cmp(u8 at 1 layer 1 eq #)' flowid #:#",
    "tc filter add dev d@ parent #: protocol ip u32 match u32 # # at # match mark # # action pedit ex munge ip dsfield set # pipe",
    "tc filter add dev d@ parent #: protocol ipv6 u32 match ip6 priority # 0xfc flowid #:#",
    "tc filter add dev d@ parent #: handle #/# fw flowid #:# action drop",
    "iptables -t mangle -A @ -o d@ -p udp -m multiport --dports #,#:# -m mark --mark #/# -j MARK --set-xmark #/#",
    "iptables -t mangle -A POSTROUTING ! -s 10.0.0.#/# -m dscp --dscp-class EF -j @",
    "iptables -t mangle -I @ # -j DSCP --set-dscp #",
    "iptables -t mangle -A FORWARD -j CLASSIFY --set-class #:#",
    "iptables -t mangle -F",
    "iptables -t mangle -A @ -m mark --mark #/# -g @",
    "iptables -t mangle -A @ -j MARK --set-mark #/#",
    "nft add rule inet t @ goto @",
    "A=`expr # / # \\* #` B=$(expr $A - #)",
    "ip link set dev d@ txqueuelen #",
    "nft add rule inet t forward oifname d@ udp dport { #, #-# } ip dscp { ef, # } meta mark set # counter accept",
    "done",
    "echo `x` $(y) ${Z:-#} '",
    "\\",
    "# comment",
    ";;&&|",
];

const JUNOS: &[&str] = &[
    "class-of-service {",
    "firewall {",
    "interfaces {",
    "groups { @ {",
    "}",
    "} }",
    "apply-groups @;",
    "classifiers { dscp @ { import default; forwarding-class @ { loss-priority high code-points [ af11 101110 # ]; } } }",
    "forwarding-classes { queue # @; class @ queue-num # priority high; }",
    "code-point-aliases { dscp { @ 10111#; } }",
    "schedulers { @ { transmit-rate percent # exact; buffer-size temporal #; priority strict-high; } }",
    "schedulers { @ { transmit-rate remainder; shaping-rate #m; buffer-size remainder; priority high; } }",
    "schedulers { @ { transmit-rate #k rate-limit; buffer-size percent #; drop-profile-map loss-priority any protocol any drop-profile @; } }",
    "drop-profiles { @ { interpolate { fill-level [ # # ]; drop-probability [ # # ]; } } }",
    "drop-profiles { @ { fill-level # drop-probability #; } }",
    "scheduler-maps { @ { forwarding-class @ scheduler @; forwarding-class best-effort scheduler @; } }",
    "traffic-control-profiles { @ { scheduler-map @; shaping-rate #m burst-size #k; guaranteed-rate #; } }",
    "interfaces { ge-0/0/# { scheduler-map @; shaping-rate #m; unit # { classifiers { dscp @; exp default; } } } }",
    "interfaces { ge-* { unit * { classifiers { inet-precedence default; } output-traffic-control-profile @; } } }",
    "ge-0/0/# { vlan-tagging; speed #m; unit # { family inet { filter { input @; output @; } address 10.0.0.#/24; } } }",
    "family inet { filter @ { term @ { from { protocol udp; destination-port #-#; dscp ef; } then { forwarding-class @; policer @; next term; } } } }",
    "filter @ { term @ { from { source-address { 10.0.0.0/8 except; 10.#.0.0/16; } forwarding-class @; } then { loss-priority high; discard; } } }",
    "policer @ { if-exceeding { bandwidth-limit #m; burst-size-limit #k; } then { forwarding-class @; loss-priority high; } }",
    "policer @ { if-exceeding bandwidth-percent #; then discard; filter-specific; }",
    "three-color-policer @ { two-rate { color-blind; committed-information-rate #m; committed-burst-size #; peak-information-rate #m; peak-burst-size #; } }",
    "inactive: @ { # ; }",
    "set class-of-service schedulers @ transmit-rate percent # priority high",
    "set class-of-service interfaces ge-0/0/# unit # shaping-rate #m scheduler-map @",
    "set class-of-service scheduler-maps @ forwarding-class expedited-forwarding scheduler @",
    "set class-of-service drop-profiles @ interpolate fill-level [ # # # ] drop-probability [ # # # ]",
    "set firewall family inet filter @ term @ then policer @",
    "set interfaces ge-0/0/# unit 0 family inet filter input @",
    "set groups @ interfaces <ge-*> unit <*> family inet filter output @",
    "delete class-of-service schedulers @",
    "deactivate interfaces ge-0/0/#",
    "edit class-of-service",
    "user@r# top edit firewall",
    "[edit class-of-service]",
    "user@r# show schedulers | display set",
    "/* comment",
    "*/ # comment",
    "\"a; {",
    "[ a b ] c d;",
];

const ROUTEROS: &[&str] = &[
    "/queue tree",
    "/queue simple",
    "/queue type",
    "/ip firewall mangle",
    "/queue tree add name=@ parent=@ packet-mark=@,no-mark limit-at=#k max-limit=#M priority=# queue=@ bucket-size=0.#",
    "add name=@ parent=ether1 max-limit=#k burst-limit=#M burst-threshold=#k burst-time=#s",
    "add name=\"@ @\" parent=\\",
    "    global packet-mark=@",
    "/queue simple add name=@ target=10.0.0.#/# dst=@ max-limit=#M/#k limit-at=#/# parent=@ queue=@/default",
    "/queue type add name=@ kind=pcq pcq-rate=#k pcq-limit=#KiB pcq-classifier=dst-address",
    "/queue type add name=@ kind=red red-min-threshold=# red-max-threshold=# red-limit=# red-avg-packet=# red-burst=#",
    "/queue type add name=@ kind=fq-codel fq-codel-limit=# fq-codel-target=#ms fq-codel-ecn=yes fq-codel-quantum=#",
    "/queue/type/add name=@ kind=bfifo bfifo-limit=#; /queue type set @ kind=sfq sfq-allot=# sfq-perturb=#s",
    "add chain=forward action=mark-packet new-packet-mark=@ protocol=udp dst-port=#,#-# passthrough=no",
    "add chain=prerouting action=mark-connection connection-mark=no-mark new-connection-mark=@ src-address=!10.0.0.#-10.0.1.#",
    "/ip firewall mangle add chain=postrouting action=mark-packet connection-mark=@ packet-mark=!@ new-packet-mark=@ out-interface=!ether1",
    "/ip firewall mangle add chain=@ action=jump jump-target=@ in-interface-list=@",
    "/ip firewall mangle add chain=@ action=return dscp=#",
    "/ip firewall mangle add chain=forward action=change-dscp new-dscp=# src-address-list=@ passthrough=no",
    "/ip firewall address-list add list=@ address=10.0.#.0/#",
    "/interface list member add list=@ interface=ether1",
    "/interface ethernet set [ find default-name=ether1 ] name=@ speed=#Gbps",
    "[admin@MikroTik] /queue tree> add name=@ parent=@",
    ":for i from=1 to=# do={ /queue tree add name=$i }",
    "# comment \\",
    "\"\\",
];

/// Returns tables of CONFIG_DB with rows that refer to each other.
fn database(rng: &mut Rng) -> String {
    let name = |rng: &mut Rng| ["a", "b", "[SCHEDULER|a]", "global"][below(rng, 4)].to_owned();
    let value = |rng: &mut Rng| match below(rng, 6) {
        0 => json!(name(rng)),
        1 => json!(["STRICT", "DWRR", "WRR", "packets", "ecn_all", "true", "3,4", "-3"][below(rng, 8)]),
        2 => json!(below(rng, 100)),
        3 => json!(["a", "b"]),
        _ => json!(number(rng)),
    };
    let fields = [
        "speed",
        "type",
        "weight",
        "pir",
        "cir",
        "pbs",
        "cbs",
        "meter_type",
        "scheduler",
        "wred_profile",
        "profile",
        "pool",
        "size",
        "static_th",
        "dynamic_th",
        "green_min_threshold",
        "green_max_threshold",
        "green_drop_probability",
        "wred_green_enable",
        "ecn",
        "dscp_to_tc_map",
        "dot1p_to_tc_map",
        "tc_to_queue_map",
        "pfc_enable",
        "0",
        "1",
        "46",
        "ACTION",
    ];
    let tables = [
        "PORT",
        "QUEUE",
        "SCHEDULER",
        "WRED_PROFILE",
        "DSCP_TO_TC_MAP",
        "DOT1P_TO_TC_MAP",
        "TC_TO_QUEUE_MAP",
        "PORT_QOS_MAP",
        "BUFFER_POOL",
        "BUFFER_PROFILE",
        "BUFFER_QUEUE",
        "ACL_RULE",
        "PORT_STORM_CONTROL",
        "X",
    ];
    let keys = [
        "a",
        "b",
        "global",
        "Ethernet0",
        "Ethernet0,Ethernet4",
        "Ethernet0|3-4",
        "Ethernet0,Ethernet4|0-7",
        "CPU|0",
        "a|b|c",
    ];
    let mut database = json!({});
    for table in tables {
        for _ in 0..below(rng, 4) {
            let key = keys[below(rng, keys.len())];
            for _ in 0..below(rng, 6) {
                let field = fields[below(rng, fields.len())];
                database[table][key][field] = value(rng);
            }
        }
    }
    serde_json::to_string_pretty(&database).unwrap()
}

/// Returns a random number below `n`.
fn below(rng: &mut Rng, n: usize) -> usize {
    rng.below(n as u64) as usize
}

/// Returns a random number as text: often small, sometimes at or beyond the limits of integer types.
fn number(rng: &mut Rng) -> String {
    match below(rng, 12) {
        0 => "0".to_owned(),
        1 => u64::MAX.to_string(),
        2 => "4294967296".to_owned(),
        3 => "99999999999999999999999".to_owned(),
        4..=7 => below(rng, 8).to_string(),
        _ => below(rng, 1000).to_string(),
    }
}

/// Returns random lines of a grammar, with a name for `@` and a number for `#`. Names come from a small set, so that
/// lines refer to each other.
fn grammatical(rng: &mut Rng, lines: &[&str]) -> String {
    let mut text = String::new();
    for _ in 0..below(rng, 60) {
        for character in lines[below(rng, lines.len())].chars() {
            match character {
                '@' => text.push(['a', 'b', 'c'][below(rng, 3)]),
                '#' => text.push_str(&number(rng)),
                other => text.push(other),
            }
        }
        text.push('\n');
    }
    text
}

/// Returns a sample with one to eight random edits, some of which insert text of `other`.
fn mutated(rng: &mut Rng, sample: &str, other: &str) -> String {
    let mut bytes = sample.as_bytes().to_vec();
    for _ in 0..=below(rng, 8) {
        if bytes.is_empty() {
            break;
        }
        let at = below(rng, bytes.len());
        match below(rng, 6) {
            0 => bytes[at] = rng.below(256) as u8,
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, b" \n!#$\"'\\:(){}-9"[below(rng, 15)]),
            3 => bytes.truncate(at),
            4 => {
                let end = (at + below(rng, 40)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = below(rng, bytes.len());
                drop(bytes.splice(to..to, piece));
            }
            _ => {
                let from = below(rng, other.len().max(1)).min(other.len());
                let end = (from + 60).min(other.len());
                drop(bytes.splice(at..at, other.as_bytes()[from..end].iter().copied()));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the texts of the samples in a folder of the tests, sorted by file name: of the files with an `ending`, or, if
/// it is empty, of all files but the expectations.
fn samples(folder: &str, ending: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|own| own == ending || (ending.is_empty() && own != "expected")));
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// Reads a text in each language, then exports, compiles, lifts and patches the result; panics if one of them does.
fn process(text: &str) {
    for language in LANGUAGES {
        let imported = (language.import)(text);
        for notice in imported.report.notices() {
            assert!(notice.line as usize <= text.lines().count() + 1, "{notice}");
        }
        let written = [mqc::export(&imported.config), tc::export(&imported.config)];
        let _ = (mqc::import(&written[0].text), tc::import(&written[1].text));
        let options = Options { rate: Some(1_000_000), ..Options::default() };
        if let Some(document) = lower(&imported.config, &Traffic::default(), &options).document {
            let lifted = lift(&document, None);
            let _ = (mqc::export(&lifted.config), tc::export(&lifted.config));
            let Some(writer) = language.writer else { continue };
            let same = |document: &Value| Some(document.clone());
            let written = patch(writer.syntax, text, &document, None, &options, &same);
            assert!(written.report.has_errors() || written.text == text, "{}", written.text);
            // A patch tries words one by one, which takes long, so only some short texts are patched with a change.
            if text.len().is_multiple_of(64) && text.len() < 4_000 {
                let mut tuned = document.clone();
                tuned["switches"]["ce"]["ports"]["sink"]["buffer"] = json!("33packets");
                let _ = patch(writer.syntax, text, &tuned, None, &options, &same);
            }
        }
    }
    let _ = Traffic::from_csv(text);
}

/// Processes `rounds` random texts, or that of `TAILBACK_FUZZ_SEED` alone.
fn fuzz(rounds: u64) {
    let (cisco, tc, junos) = (samples("mqc", "txt"), samples("tc", "sh"), samples("junos", ""));
    let (sonic, routeros) = (samples("sonic", "json"), samples("routeros", "rsc"));
    let only = std::env::var("TAILBACK_FUZZ_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(0..rounds, |seed: u64| seed..seed + 1) {
        let outcome = std::panic::catch_unwind(|| {
            let mut rng = Rng::named(seed, "router-fuzz");
            let mutated_sample = |rng: &mut Rng, own: &[String], other: &[String]| {
                let (i, j) = (below(rng, own.len()), below(rng, other.len()));
                mutated(rng, &own[i], &other[j])
            };
            let text = match seed % 10 {
                0 => grammatical(&mut rng, CISCO),
                1 => grammatical(&mut rng, TC),
                2 => grammatical(&mut rng, JUNOS),
                3 => mutated_sample(&mut rng, &junos, &junos),
                4 => mutated_sample(&mut rng, &cisco, &tc),
                5 => mutated_sample(&mut rng, &tc, &tc),
                6 => database(&mut rng),
                7 => grammatical(&mut rng, ROUTEROS),
                8 => mutated_sample(&mut rng, &sonic, &tc),
                _ => mutated_sample(&mut rng, &routeros, &tc),
            };
            process(&text);
        });
        assert!(outcome.is_ok(), "TAILBACK_FUZZ_SEED={seed}");
    }
}

#[test]
fn no_text_makes_a_reader_or_a_writer_panic() {
    fuzz(8_000);
}

#[test]
#[ignore = "takes ten minutes in an optimised build; `make validate` runs it"]
fn no_text_of_ten_million_makes_a_reader_or_a_writer_panic() {
    fuzz(10_000_000);
}

#[test]
fn deep_nesting_and_long_lines_take_bounded_stack_and_time() {
    let deep = 20_000;
    let mut maps = String::new();
    let mut policies = String::new();
    for i in 0..deep / 10 {
        let _ = writeln!(maps, "class-map match-any m{i}\n match class-map m{}\n match class-map m{}", i + 1, i + 1);
        let _ = writeln!(policies, "policy-map p{i}\n class class-default\n  service-policy p{}", i + 1);
    }
    policies.push_str("interface Serial0/0\n service-policy output p0\n");
    for text in [
        maps,
        policies,
        "match not ".repeat(deep),
        format!("class-map a\n match dscp {}", "ef ".repeat(deep)),
        format!("echo {}", "$((".repeat(deep)),
        format!("A={}\nB=$A$A$A$A\nC=$B$B$B$B\nD=$C$C$C$C\n{}", "x".repeat(2000), "echo $D\n".repeat(100)),
        format!(
            "tc qdisc add dev e root handle 1: htb\n{}",
            "tc class add dev e parent 1: classid 1:1 htb rate 1mbit\n".repeat(500)
        ),
        "\"".repeat(deep),
        "\\\n".repeat(deep),
        "a { ".repeat(deep),
        "} ".repeat(deep),
        format!("set class-of-service {}", "a ".repeat(deep)),
        format!("class-of-service {{ classifiers {{ dscp a {{ forwarding-class b {{ loss-priority low code-points [ {} ]; }} }} }} }}", "1 ".repeat(deep)),
        (0..deep / 10).map(|i| format!("set firewall family inet filter a term t{i} then next term\n")).collect::<Vec<_>>().concat(),
        (0..deep / 40)
            .map(|i| format!("set firewall family inet filter a term t{i} from dscp {i}\nset interfaces ge-0/0/{i} unit 0 family inet filter output a\n"))
            .collect::<Vec<_>>()
            .concat(),
        (0..deep / 200).map(|i| format!("set interfaces ge-0/0/{i} apply-groups a\nset groups a interfaces <*> unit {i} vlan-id {i}\n")).collect::<Vec<_>>().concat(),
        (0..deep / 100).map(|i| format!("set class-of-service interfaces ge-0/0/{i} shaping-rate {i}k\n")).collect::<Vec<_>>().concat(),
        // Chains, each of which jumps to the next one 24 times.
        (0..20).fold("tc qdisc add dev e root handle 1: htb\n".to_owned(), |text, i| {
            let name = if i == 0 { "POSTROUTING".to_owned() } else { format!("c{i}") };
            text + &format!("iptables -t mangle -A {name} -g c{}\niptables -t mangle -A {name} -j c{}\n", i + 1, i + 1)
                .repeat(12)
        }),
        "{\"a\":".repeat(deep),
        format!("{{\"QUEUE\": {{{}}}}}", "\"a|0-63\": {}, ".repeat(2)),
        format!("/queue tree\n{}", (0..deep / 20).map(|i| format!("add name=q{} parent=q{i}\n", i + 1)).collect::<Vec<_>>().concat()),
        format!(
            "/ip firewall mangle\n{}/queue tree add name=q parent=e packet-mark=m7",
            (0..400)
                .map(|i| format!("add chain=forward connection-mark=c{i} action=mark-connection new-connection-mark=c{}\nadd chain=forward connection-mark=c{i} packet-mark=m{i} action=mark-packet new-packet-mark=m{}\n", i + 1, i + 1))
                .collect::<Vec<_>>()
                .concat()
        ),
    ] {
        process(&text);
    }
}
