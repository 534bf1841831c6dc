//! What a user is told for each kind of mistake: the place, and what to change.

#[path = "common/right.rs"]
mod right;

use right::RIGHT;
use tailback_scenario::{Scenario, ScenarioError};

/// A mistake: text of the right scenario and what stands there instead, with `‸` where the error must point; then the
/// path and a phrase of the message or the advice.
type Mistake = (&'static str, &'static str, &'static str, &'static str);

/// Mistakes that are seen in the tree: syntax, keys, types, units.
const WRITTEN: &[Mistake] = &[
    // TOML itself
    ("rate = \"10Mbit/s\"", "rate = ‸10Mbit/s", "", "write \"10Mbit/s\" in quotes"),
    ("warmup = \"10s\"", "warmup = \"10s\"\n‸warmup = \"11s\"", "", "`warmup` stands here for the second time"),
    ("[network]", "[network‸\n", "", "expected `]`"),
    ("between = [\"h[12]\", \"floor1\"]", "between = [\"h[12]\", \"floor1\"", "", "missing comma"),
    ("scope = \"class\"", "scope = ‸class", "", "write \"class\" in quotes"),
    ("classes = 3", "classes = ‸nan", "network.classes", "finite number"),
    ("duration = \"60s\"", "duration = ‸2026-01-01", "run.duration", "no dates"),
    // keys
    ("duration = \"60s\"", "‸durration = \"60s\"", "run.durration", "did you mean `duration`?"),
    ("[network]", "[‸netwrok]", "netwrok", "did you mean `network`?"),
    ("sample = \"100ms\"", "‸colour = \"red\"", "run.colour", "the keys here are"),
    ("count = 2", "‸cuont = 2", "switches.floor.cuont", "did you mean `count`?"),
    ("burst = \"24kB\"", "‸brust = \"24kB\"", "flows[0].source.brust", "did you mean `burst`?"),
    ("high = 0.8", "‸hihg = 0.8", "backpressure.detection.hihg", "did you mean `high`?"),
    ("tailback = 1\n", "‸", "", "add `tailback = 1` at the top"),
    ("duration = \"60s\"\n", "", "run", "add `duration = \"20ms\"`"),
    ("scope = \"class\"\n", "", "backpressure", "add `scope = \"none\"`"),
    ("rate = \"1Gbit/s\"\n", "", "links[2]", "add `rate = \"10Mbit/s\"`"),
    (
        "source = { kind = \"cbr\", packet = \"200B\", rate = \"64kbit/s\" }\n",
        "",
        "flows[1]",
        "add `source = { kind = \"cbr\"",
    ),
    (", burst = \"24kB\"", "", "flows[0].source", "add `burst = "),
    (
        "sample = \"100ms\"",
        "‸switches = { x = {} }",
        "run.switches",
        "write [switches], or put it before the first heading",
    ),
    ("sample = \"100ms\"", "‸delay-varation = true", "run.delay-varation", "did you mean `delay-variation`?"),
    (
        "buffer = \"100kB\" }",
        "mpls = { mode = ‸\"short\" } }",
        "switches.core.ports.server.mpls.mode",
        "did you mean `short-pipe`?",
    ),
    (
        "buffer = \"100kB\" }",
        "mpls = { exp = ‸8 } }",
        "switches.core.ports.server.mpls.exp",
        "write a number from 0 to 7",
    ),
    (
        "buffer = \"100kB\" }",
        "mpls = { exp = { ef = ‸9 } } }",
        "switches.core.ports.server.mpls.exp.ef",
        "write a number from 0 to 7",
    ),
    (
        "buffer = \"100kB\" }",
        "shaper = { rate = \"5Mbit/s\", accounting = ‸\"8\" } }",
        "switches.core.ports.server.shaper.accounting",
        "such as \"18B\" or \"-8B\"",
    ),
    // choices
    ("scope = \"class\"", "scope = ‸\"clas\"", "backpressure.scope", "did you mean `class`?"),
    ("scope = \"class\"", "scope = ‸\"everything\"", "backpressure.scope", "the choices here are `none`, `plain`"),
    ("kind = \"cbr\"", "kind = ‸\"crb\"", "flows[1].source.kind", "did you mean `cbr`?"),
    (
        "detection = { kind = \"watermark\",",
        "detection = ‸{",
        "backpressure.detection",
        "the kinds are `watermark` and `fill-rate`",
    ),
    ("classes = 3", "classes = 3\ndiscipline = ‸\"drop-tail\"", "network.discipline", "write { kind = \"drop-tail\" }"),
    ("classes = 3", "classes = 3\ndiscipline = { kind = ‸\"red-green\" }", "network.discipline.kind", "the kinds are"),
    ("classes = 3", "classes = 3\nframing = ‸\"ethernt\"", "network.framing", "did you mean \"ethernet\"?"),
    ("classes = 3", "classes = 3\nframing = { ‸mut = \"9000B\" }", "network.framing.mut", "did you mean `mtu`?"),
    // types and units
    ("rate = \"10Mbit/s\"", "rate = ‸10", "links[0].rate", "a rate is written such as \"10Mbit/s\""),
    ("rate = \"10Mbit/s\"", "rate = ‸\"10Mbps\"", "links[0].rate", "did you mean Mbit/s"),
    ("rate = \"10Mbit/s\"", "rate = ‸\"-10Mbit/s\"", "links[0].rate", "at least zero"),
    ("rate = \"10Mbit/s\"", "rate = ‸\"0Mbit/s\"", "links[0].rate", "above zero"),
    ("rate = \"10Mbit/s\"", "rate = ‸\"99Tbit/s\"", "links[0].rate", "10Tbit/s"),
    ("rate = \"10Mbit/s\"", "rate = ‸[\"1Mbit/s\"]", "links[0].rate", "[forward, backward]"),
    ("rate = \"10Mbit/s\"", "rate = [\"1Mbit/s\", ‸2]", "links[0].rate[1]", "`2` has no unit"),
    ("warmup = \"10s\"", "warmup = ‸\"10\"", "run.warmup", "or \"auto\""),
    ("warmup = \"10s\"", "warmup = ‸\"5m\"", "run.warmup", "min or ms"),
    ("buffer = \"50kB\"", "buffer = ‸\"50KB\"", "network.buffer", "kB (1000 bytes) or KiB (1024 bytes)"),
    ("buffer = \"50kB\"", "buffer = ‸\"infinite\"", "network.buffer", "write \"unlimited\""),
    ("length = \"100m\"", "length = ‸100", "links[2].length", "\"200m\""),
    ("length = \"100m\"", "length = ‸\"100 feet\"", "links[2].length", "mm, m or km"),
    ("class = 2", "class = ‸-1", "flows[0].class", "a whole number from 0 to 255"),
    ("class = 2", "class = ‸\"2\"", "flows[0].class", "found the text \"2\""),
    ("class = 2", "class = ‸1.5", "flows[0].class", "found `1.5`"),
    ("count = 2", "count = ‸1e9", "switches.floor.count", "whole number"),
    ("high = 0.8", "high = ‸80", "backpressure.detection.high", "write \"80%\" if you mean per cent"),
    ("high = 0.8", "high = ‸-0.1", "backpressure.detection.high", "a number from 0 to 1"),
    ("length = \"100m\"", "loss = ‸1.5", "links[2].loss", "a fraction is from 0 to 1"),
    ("length = \"100m\"", "loss = ‸\"x\"", "links[2].loss", "or \"80%\""),
    ("between = [\"h[12]\", \"floor1\"]", "between = ‸\"floor1\"", "links[0].between", "the names of two nodes"),
    ("between = [\"h[12]\", \"floor1\"]", "between = ‸[\"a\", \"b\", \"c\"]", "links[0].between", "found a list of 3"),
    ("from = \"h*\"", "from = ‸[\"h1\", \"h2\"]", "flows[0].from", "expected text in quotes"),
    ("h = { count = 4 }", "h = ‸[4]", "hosts.h", "expected a table, found a list"),
    ("h = { count = 4 }", "h = ‸4", "hosts.h", "expected a table"),
];

/// Mistakes that are seen in the document as a whole.
const MEANT: &[Mistake] = &[
    // the customer edge
    ("class = 2", "class = 2\ndscp = ‸\"af44\"", "flows[0].dscp", "af11 to af43"),
    ("[hosts]", "[class-maps]\nvoice = { dscp = ‸\"eff\" }\n\n[hosts]", "class-maps.voice.dscp", "write af11 to af43"),
    ("[hosts]", "[class-maps]\nvoice = { ‸dcsp = \"ef\" }\n\n[hosts]", "class-maps.voice.dcsp", "did you mean `dscp`?"),
    ("[hosts]", "[class-maps]\nvoice = { precedence = ‸8 }\n\n[hosts]", "class-maps.voice.precedence", "write 0 to 7"),
    ("[hosts]", "[class-maps]\nvoice = { any = ‸[] }\n\n[hosts]", "class-maps.voice.any", "name what to match"),
    ("[hosts]", "[class-maps]\na = ‸{ not = \"a\" }\n\n[hosts]", "class-maps.a", "contains itself"),
    (
        "[hosts]",
        "[class-maps]\na = { flows = ‸\"dta\" }\n\n[hosts]",
        "class-maps.a.flows",
        "the groups are `data` and `voice`",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"priority\", levels = [{ match = ‸\"voice\" }] }",
        "switches.core.ports.server.discipline.levels[0].match",
        "add [class-maps]",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"priority\", levels = [{ name = \"a\" }], default = ‸\"b\" }",
        "switches.core.ports.server.discipline.default",
        "no level is named `b`",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"priority\", levels = [{ limit = ‸\"0packets\" }] }",
        "switches.core.ports.server.discipline.levels[0].limit",
        "1packet",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"class-based\", classes = [‸{ match = {} }] }",
        "switches.core.ports.server.discipline.classes[0]",
        "what the class gets is not said",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"class-based\", classes = [{ match = {}, bandwidth = ‸\"0%\" }] }",
        "switches.core.ports.server.discipline.classes[0].bandwidth",
        "above 0",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"class-based\", classes = [{ match = {}, bandwidth = \"20%\", priority = ‸{} }] }",
        "switches.core.ports.server.discipline.classes[0].priority",
        "remove one of the two",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"class-based\", classes = ‸[{ match = {}, bandwidth = \"70%\" }, { match = {}, bandwidth = \"40%\" }] }",
        "switches.core.ports.server.discipline.classes",
        "110 %",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"class-based\", classes = [{ match = {}, priority = {}, discipline = ‸{ kind = \"red\" } }] }",
        "switches.core.ports.server.discipline.classes[0].discipline",
        "a priority class is a FIFO",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"class-based\", classes = [{ match = {}, priority = { burst = ‸\"1kB\" } }] }",
        "switches.core.ports.server.discipline.classes[0].priority.burst",
        "write the rate",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"class-based\", classes = [{ match = {}, priority = { level = ‸3 } }] }",
        "switches.core.ports.server.discipline.classes[0].priority.level",
        "from 1 to 2",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"wred\", by = \"dscp\", profiles = { af44 = ‸{ min = 3 } } }",
        "switches.core.ports.server.discipline.profiles.af44",
        "names no packets",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"wred\", profiles = { 3 = { min = 50, max = ‸42 } } }",
        "switches.core.ports.server.discipline.profiles.3.max",
        "is below `min`",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"wred\", exponent = ‸17 }",
        "switches.core.ports.server.discipline.exponent",
        "from 1 to 16",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"htb\", classes = [{ name = \"a\", rate = \"1Mbit/s\", parent = ‸\"root\" }] }",
        "switches.core.ports.server.discipline.classes[0].parent",
        "no class above is named `root`",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"htb\", classes = [{ name = \"a\", rate = \"2Mbit/s\", ceil = ‸\"1Mbit/s\" }] }",
        "switches.core.ports.server.discipline.classes[0].ceil",
        "is below the rate",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"htb\", default = ‸\"a\", classes = [{ name = \"a\", rate = \"2Mbit/s\" }, { name = \"b\", parent = \"a\", rate = \"1Mbit/s\" }] }",
        "switches.core.ports.server.discipline.default",
        "name a leaf",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"wrr\", classes = [{ match = {}, weight = ‸0 }] }",
        "switches.core.ports.server.discipline.classes[0].weight",
        "from 1 to 1000000",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"fair-queue\", aggregate = ‸\"40packets\" }",
        "switches.core.ports.server.discipline.aggregate",
        "write `individual`, too",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"fair-queue\", threshold = ‸\"64kB\" }",
        "switches.core.ports.server.discipline.threshold",
        "this limit counts packets",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"shaper\", rate = ‸\"0bit/s\" }",
        "switches.core.ports.server.discipline.rate",
        "a rate is above zero",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", discipline = { kind = \"shaper\", discipline = { kind = \"red\", max-p = ‸0.0 } }",
        "switches.core.ports.server.discipline.discipline.max-p",
        "above 0",
    ),
    ("buffer = \"100kB\"", "buffer = \"100kB\", ring = ‸0", "switches.core.ports.server.ring", "write 1 to 10000"),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", shaper = { rate = \"1Mbit/s\", burst = ‸\"0B\" }",
        "switches.core.ports.server.shaper.burst",
        "write 1B to 1000GB",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", shaper = { rate = \"1Mbit/s\", accounting = ‸\"5kB\" }",
        "switches.core.ports.server.shaper.accounting",
        "0B, 18B",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", conditioners = [{ match = { flows = ‸\"dta\" } }]",
        "switches.core.ports.server.conditioners[0].match.flows",
        "the groups are `data` and `voice`",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", conditioners = [{ conform = { class = ‸3 } }]",
        "switches.core.ports.server.conditioners[0].conform.class",
        "raise that, or choose another",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", conditioners = [{ exceed = { precedence = ‸9 } }]",
        "switches.core.ports.server.conditioners[0].exceed.precedence",
        "write 0 to 7",
    ),
    (
        "buffer = \"100kB\"",
        "buffer = \"100kB\", conditioners = [{ violate = { dscp = \"ef\", ‸precedence = 5 } }]",
        "switches.core.ports.server.conditioners[0].violate.precedence",
        "remove one",
    ),
    // congestion notification
    (
        "count = 2",
        "count = 2\n‸rate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }",
        "switches.floor.rate-limiters",
        "no congestion point would tell",
    ),
    (
        "count = 2",
        "count = 2\n‸congestion-notification = { kind = \"bcn\" }",
        "switches.floor.congestion-notification",
        "no rate limiters would hear",
    ),
    (
        "count = 2",
        "count = 2\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\ncongestion-notification = { kind = \"bcn\", full = ‸10 }",
        "switches.floor.congestion-notification.full",
        "above 16",
    ),
    (
        "count = 2",
        "count = 2\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\ncongestion-notification = { kind = \"bcn\", above = ‸[60, 40, 70] }",
        "switches.floor.congestion-notification.above",
        "three numbers in order",
    ),
    (
        "count = 2",
        "count = 2\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\ncongestion-notification = { kind = \"bcn\", sampling = ‸0.0 }",
        "switches.floor.congestion-notification.sampling",
        "out of range",
    ),
    (
        "count = 2",
        "count = 2\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\ncongestion-notification = { kind = ‸\"bnc\" }",
        "switches.floor.congestion-notification.kind",
        "did you mean `bcn`?",
    ),
    (
        "count = 2",
        "count = 2\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\ncongestion-notification = { kind = \"bcn\" }\nbackpressure = { scope = \"none\" }\nmodel = ‸{ kind = \"input-fifo\", buffer = \"50kB\" }",
        "switches.floor.model",
        "congestion points watch output queues",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\", decrease = ‸0.5 }, buffer = \"99kB\" }",
        "switches.floor.rate-limiters.law.decrease",
        "at most 0.25",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"ecm\", increase = ‸\"0bit/s\" }, buffer = \"99kB\" }",
        "switches.floor.rate-limiters.law.increase",
        "above zero",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = ‸\"99B\" }",
        "switches.floor.rate-limiters.buffer",
        "does not hold a single full frame",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\", queues = ‸0 }",
        "switches.floor.rate-limiters.queues",
        "from 1 to 65536",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\", aqm = { kind = \"simple\", threshold = ‸0 } }",
        "switches.floor.rate-limiters.aqm.threshold",
        "1 or more",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\ndiscipline = ‸{ kind = \"wred\" }",
        "switches.floor.discipline",
        "a tag takes the place of the code point",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\ndiscipline = ‸{ kind = \"priority\", levels = [{ match = { any = [{ class = 1 }, { precedence = 5 }] } }] }",
        "switches.floor.discipline",
        "goes by `class` or `flows`",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\n\n[class-maps]\nvoice = ‸{ dscp = \"ef\" }\n",
        "class-maps.voice",
        "match `class` or `flows` instead",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\n\n[[flows]]\nname = \"ef\"\nfrom = \"h1\"\nto = \"h2\"\ndscp = ‸\"ef\"\nsource = { kind = \"bulk\", size = \"1kB\" }\n",
        "flows[0].dscp",
        "leave out one of the two",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\nports = { core = { ‸mpls = { labels = 1 } } }",
        "switches.floor.ports.core.mpls",
        "labels are made from code points",
    ),
    ("tailback = 1", "tailback = ‸2", "tailback", "this program reads format 1"),
    // run
    ("duration = \"60s\"", "duration = ‸\"0s\"", "run.duration", "how long to simulate"),
    ("warmup = \"10s\"", "warmup = ‸\"60s\"", "run.warmup", "shorten the warm-up to below 60s"),
    ("warmup = \"10s\"", "replications = ‸0", "run.replications", "from 1 to 100000"),
    ("warmup = \"10s\"", "replications = ‸4000000000", "run.replications", "from 1 to 100000"),
    ("warmup = \"10s\"", "confidence = ‸1.0", "run.confidence", "between 0 and 1"),
    ("sample = \"100ms\"", "sample = ‸\"0s\"", "run.sample", "above zero"),
    ("sample = \"100ms\"", "sample = ‸\"61us\"", "run.sample", "no more often than every 85us"),
    ("sample = \"100ms\"", "sample = ‸\"1ns\"", "run.sample", "no more often than every 60us"),
    ("warmup = \"10s\"", "precision = { metric = \"loss\", relative = ‸0.0 }", "run.precision.relative", "above 0"),
    ("warmup = \"10s\"", "precision = { metric = \"loss\", absolute = ‸-1 }", "run.precision.absolute", "0 or more"),
    (
        "warmup = \"10s\"",
        "precision = { metric = \"loss\", max-replications = ‸2 }",
        "run.precision.max-replications",
        "`replications` (5)",
    ),
    // network
    ("classes = 3", "classes = ‸9", "network.classes", "1 to 8"),
    ("buffer = \"50kB\"", "buffer = ‸\"1kB\"", "network.buffer", "make it \"1518B\" or more"),
    ("buffer = \"50kB\"", "buffer = [\"50kB\", ‸\"0B\", \"50kB\"]", "network.buffer[1]", "make it \"1518B\" or more"),
    ("buffer = \"50kB\"", "buffer = ‸[\"50kB\", \"20kB\"]", "network.buffer", "2 limits for 3 classes"),
    ("buffer = \"50kB\"", "buffer = ‸\"unlimited\"", "network.buffer", "a fraction of \"unlimited\" is never reached"),
    ("classes = 3", "classes = 3\nframing = { mtu = ‸\"0B\" }", "network.framing.mtu", "from \"1B\" to \"65535B\""),
    (
        "classes = 3",
        "classes = 3\nframing = { overhead = ‸\"5GB\" }",
        "network.framing.overhead",
        "from \"0B\" to \"65535B\"",
    ),
    ("classes = 3", "classes = 3\nframing = { mtu = \"60kB\" }", "network.buffer", "make it \"60.018kB\" or more"),
    (
        "classes = 3",
        "classes = 3\nframing = { mtu = ‸\"40kB\", overhead = \"30kB\" }",
        "network.framing.mtu",
        "lower `mtu` by 4483B or more",
    ),
    (
        "classes = 3",
        "classes = 3\nframing = { overhead = ‸\"300B\" }",
        "network.framing.overhead",
        "or a smaller header and overhead",
    ),
    // back-pressure
    ("high = 0.8, low = 0.7", "high = 0.6, low = ‸0.7", "backpressure.detection.low", "lower `low` or raise `high`"),
    (
        "kind = \"watermark\", high = 0.8, low = 0.7",
        "kind = \"fill-rate\", window = ‸\"0s\"",
        "backpressure.detection.window",
        "a few frame times",
    ),
    (
        "scope = \"class\"",
        "scope = \"class\"\nsignal = { kind = \"mac\", quanta = ‸0 }",
        "backpressure.signal.quanta",
        "1 to 65535 quanta",
    ),
    (
        "scope = \"class\"",
        "scope = \"destination\"\nsignal = ‸{ kind = \"mac\" }",
        "backpressure.signal",
        "use scope \"plain\" (802.3x)",
    ),
    (
        "scope = \"class\"",
        "scope = \"class\"\nresponse = { kind = \"rate\", decrease = ‸1.0 }",
        "backpressure.response.decrease",
        "such as 0.5",
    ),
    (
        "scope = \"class\"",
        "scope = \"class\"\nresponse = { kind = \"rate\", floor = ‸0 }",
        "backpressure.response.floor",
        "above 0",
    ),
    (
        "scope = \"class\"",
        "scope = \"class\"\nresponse = { kind = \"rate\", interval = ‸\"0s\" }",
        "backpressure.response.interval",
        "\"5ms\"",
    ),
    (
        "buffer = \"50kB\"\n\n[backpressure]\nscope = \"class\"",
        "discipline = ‸{ kind = \"drop-head\" }\n\n[backpressure]\nscope = \"destination\"",
        "network.discipline",
        "use `drop-tail` here",
    ),
    (
        "scope = \"class\"",
        "scope = \"class\"\nresponse = ‸{ kind = \"rate\" }\nsignal = { kind = \"mac\" }",
        "backpressure.response",
        "kind = \"block\"",
    ),
    (
        "count = 2",
        "count = 2\nmodel = ‸{ kind = \"input-fifo\", buffer = \"1MB\" }",
        "switches.floor.model",
        "scope = \"none\"",
    ),
    // nodes
    ("h = { count = 4 }", "h = { count = ‸0 }", "hosts.h.count", "1 or more"),
    ("h = { count = 4 }", "h = { count = ‸4000000 }", "hosts.h.count", "at most 60000"),
    ("server = {}", "server = {}\n‸h1 = {}", "hosts.h1", "rename one"),
    ("[switches.core]", "[switches.‸server]\n[switches.core]", "switches.server", "the name of a host and of a switch"),
    ("server = {}", "server = {}\n‸\"a b\" = {}", "hosts[\"a b\"]", "letters, digits"),
    ("server = {}", "server = {}\n‸spare = {}", "hosts.spare", "`spare` has no link"),
    (
        "count = 2",
        "count = 2\nmodel = { kind = \"shared-memory\", memory = ‸\"1kB\" }",
        "switches.floor.model.memory",
        "1518B",
    ),
    (
        "count = 2",
        "count = 2\nmodel = { kind = \"shared-memory\", memory = \"1MB\", alpha = ‸0 }",
        "switches.floor.model.alpha",
        "above 0",
    ),
    (
        "count = 2",
        "count = 2\nbackpressure = { scope = \"none\" }\nmodel = { kind = \"virtual-output-queues\", buffer = \"1MB\", speedup = ‸1e300 }",
        "switches.floor.model.speedup",
        "1 (as fast as the output) to 1000",
    ),
    (
        "count = 2",
        "count = 2\nmodel = { kind = \"cut-through\", header = ‸\"0B\" }",
        "switches.floor.model.header",
        "from \"1B\"",
    ),
    (
        "ports = { server =",
        "ports = { ‸h1 =",
        "switches.core.ports.h1",
        "its neighbours are `floor1`, `floor2` and `server`",
    ),
    ("ports = { server =", "ports = { ‸\"s[\" =", "switches.core.ports[\"s[\"]", "is not closed"),
    (
        "ports = { server =",
        "ports = { \"s*\" = {}, ‸\"ser*\" =",
        "switches.core.ports.ser*",
        "narrow one of the patterns",
    ),
    // links
    (
        "between = [\"core\", \"server\"]",
        "between = [\"core\", ‸\"sever\"]",
        "links[3].between[1]",
        "did you mean `server`?",
    ),
    ("between = [\"core\", \"server\"]", "between = [\"core\", ‸\"printer\"]", "links[3].between[1]", "the names are"),
    (
        "between = [\"h[12]\", \"floor1\"]",
        "between = [‸\"h\", \"floor1\"]",
        "links[0].between[0]",
        "write `h*` for all of them",
    ),
    (
        "between = [\"h[12]\", \"floor1\"]",
        "between = [‸\"x*\", \"floor1\"]",
        "links[0].between[0]",
        "matches no host or switch",
    ),
    ("between = [\"h[12]\", \"floor1\"]", "between = [‸\"h[12\", \"floor1\"]", "links[0].between[0]", "is not closed"),
    ("between = [\"core\", \"server\"]", "between = ‸[\"core\", \"core\"]", "links[3].between", "two different nodes"),
    ("between = [\"floor*\", \"core\"]", "between = ‸[\"*o*r*\", \"core\"]", "links[2].between", "leaves out `core`"),
    (
        "between = [\"h[12]\", \"floor1\"]",
        "between = ‸[\"h*\", \"floor?\"]",
        "links[0].between",
        "must match equally many",
    ),
    (
        "length = \"100m\"",
        "length = \"100m\"\n[[links]]\nrate = \"1Gbit/s\"\nbetween = ‸[\"floor1\", \"floor2\"]",
        "links[3].between",
        "this link closes a cycle: floor1 – core – floor2 – floor1",
    ),
    (
        "length = \"100m\"",
        "length = \"100m\"\n[[links]]\nrate = \"1Gbit/s\"\nbetween = ‸[\"core\", \"floor2\"]",
        "links[3].between",
        "`core` and `floor2` are linked twice",
    ),
    ("length = \"100m\"", "delay = \"1us\"\n‸length = \"100m\"", "links[2].length", "remove one of the two"),
    ("length = \"100m\"", "delay = ‸\"2h\"", "links[2].delay", "shorten it"),
    ("length = \"100m\"", "jitter = ‸\"60s\"", "links[2].jitter", "shorten it"),
    // flows
    ("to = \"server\"", "to = ‸\"sever\"", "flows[0].to", "did you mean `server`?"),
    ("to = \"server\"", "to = ‸\"core\"", "flows[0].to", "neither sends nor receives"),
    ("from = \"h*\"", "from = ‸\"h\"", "flows[0].from", "`h` has `count = 4`"),
    ("from = \"h*\"", "from = ‸\"floor*\"", "flows[0].from", "matches no host"),
    ("to = \"h1\"", "to = ‸\"server\"", "flows[1].to", "would send to itself"),
    ("to = \"server\"", "to = ‸\"h*\"", "flows[0].to", "write `pair = \"all\"`"),
    ("to = \"server\"", "to = ‸\"h[12]\"", "flows[0].to", "`pair = \"all\"`"),
    ("to = \"server\"", "to = \"server\"\npair = ‸\"zip\"", "flows[0].pair", "`pair = \"all\"`"),
    ("class = 2", "class = ‸3", "flows[0].class", "the classes are 0 to 2"),
    ("name = \"voice\"", "name = ‸\"data\"", "flows[1].name", "give each group its own"),
    ("name = \"voice\"", "name = ‸\"\"", "flows[1].name", "1 to 64 letters"),
    ("class = 2", "start = ‸\"60s\"", "flows[0].start", "lengthen `run.duration`"),
    ("class = 2", "start = \"20s\"\nstop = ‸\"10s\"", "flows[0].stop", "stop it later"),
    ("burst = \"24kB\"", "burst = ‸\"0B\"", "flows[0].source.burst", ""),
    (
        "class = 2",
        "marking = { meter = { kind = \"fixed\", colour = \"yellow\" }, police = ‸\"green\" }",
        "flows[0].marking.police",
        "the first colour that is dropped",
    ),
    (
        "class = 2",
        "marking = { meter = { kind = \"tr-tcm\", cir = \"2Mbit/s\", cbs = \"1kB\", pir = ‸\"1Mbit/s\", pbs = \"1kB\" } }",
        "flows[0].marking.meter.pir",
        "is below `cir`",
    ),
    (
        "buffer = \"100kB\" }",
        "conditioners = [{ meter = { kind = \"fixed\", colour = \"red\" }, flows = ‸\"dat\" }] }",
        "switches.core.ports.server.conditioners[0].flows",
        "the groups are",
    ),
    // labels
    (
        "buffer = \"100kB\" }",
        "mpls = { labels = ‸9 } }",
        "switches.core.ports.server.mpls.labels",
        "write a number from 1 to 8",
    ),
    (
        "buffer = \"100kB\" }",
        "mpls = { labels = ‸0 } }",
        "switches.core.ports.server.mpls.labels",
        "a virtual private network takes 2",
    ),
    (
        "buffer = \"100kB\" }",
        "shaper = { rate = \"5Mbit/s\", accounting = ‸\"-2kB\" } }",
        "switches.core.ports.server.shaper.accounting",
        "-8B (without two labels)",
    ),
    ("packet = \"200B\"", "wander = ‸1.5, packet = \"200B\"", "flows[1].source.wander", ""),
    // applications
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "application = ‸{ kind = \"request-response\", request = { kind = \"fixed\", size = \"300B\" }, response = { kind = \"fixed\", size = \"3kB\" } }",
        "flows[0].application",
        "add a `timeout`",
    ),
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "application = ‸{ kind = \"transfers\", size = { kind = \"fixed\", size = \"3kB\" }, rate = \"1Mbit/s\" }",
        "flows[0].application",
        "add `transport = { kind = \"tcp\" }`",
    ),
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "application = { kind = \"web\", timeout = \"1s\", parallel = ‸0 }",
        "flows[0].application.parallel",
        "write 1 to 32",
    ),
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "transport = { kind = \"tcp\" }\napplication = { kind = \"transfers\", size = { kind = \"pareto\", mean = \"3kB\", shape = ‸1.0 }, rate = \"1Mbit/s\" }",
        "flows[0].application.size.shape",
        "above 1 and at most 100",
    ),
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "transport = { kind = \"tcp\" }\napplication = { kind = \"transfers\", size = { kind = \"web-search\" }, bins = ‸[\"1MB\", \"10kB\"], rate = \"1Mbit/s\" }",
        "flows[0].application.bins",
        "write at most 64 in order",
    ),
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "transport = { kind = \"tcp\" }\napplication = { kind = \"transfers\", size = { kind = \"empirical\", points = [{ size = \"1kB\", share = 0.5 }, { size = ‸\"1kB\", share = 1 }] }, rate = \"1Mbit/s\" }",
        "flows[0].application.size.points[1].size",
        "sizes rise",
    ),
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "transport = { kind = \"tcp\" }\napplication = { kind = \"transfers\", size = { kind = \"empirical\", points = [{ size = \"1kB\", share = 0.5 }, { size = \"2kB\", share = ‸0.4 }] }, rate = \"1Mbit/s\" }",
        "flows[0].application.size.points[1].share",
        "write a larger one",
    ),
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "transport = { kind = \"tcp\" }\napplication = { kind = \"transfers\", size = { kind = \"empirical\", points = [{ size = \"1kB\", share = 0.5 }, { size = \"2kB\", share = ‸0.9 }] }, rate = \"1Mbit/s\" }",
        "flows[0].application.size.points[1].share",
        "write 1",
    ),
    (
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }",
        "source = { kind = \"uniform-uniform\", burst = \"24kB\", rate = \"3Mbit/s\" }\n‸application = { kind = \"web\", timeout = \"1s\" }",
        "flows[0].application",
        "a source or an application, not both",
    ),
    // timeline
    ("at = \"30s\"", "at = ‸\"61s\"", "timeline[0].at", "the run ends at 60s"),
    ("flow = \"voice\"", "flow = ‸\"vioce\"", "timeline[0].flow", "did you mean `voice`?"),
    ("flow = \"voice\"", "link = [‸\"coer\", \"server\"]", "timeline[0].link[0]", "did you mean `core`?"),
    (
        "flow = \"voice\"\nstate = \"stop\"",
        "link = ‸[\"h1\", \"core\"]\nstate = \"down\"",
        "timeline[0].link",
        "`h1` is linked to `floor1`",
    ),
    ("state = \"stop\"", "state = ‸\"down\"", "timeline[0].state", "\"start\" or \"stop\""),
    ("flow = \"voice\"", "link = [\"core\", \"server\"]", "timeline[0].state", "\"up\" or \"down\""),
    ("state = \"stop\"", "‸rate = \"1Mbit/s\"", "timeline[0].rate", "of a flow one changes `state`"),
    ("state = \"stop\"\n", "", "timeline[0]", "add `state`"),
    ("flow = \"voice\"\n", "", "timeline[0]", "exactly one of"),
    ("switch = \"core\"", "switch = ‸\"server\"", "timeline[1].switch", "is a host"),
    ("low = 0.5", "low = ‸0.9", "timeline[1].low", "not below `high`"),
    ("high = 0.9\n", "", "timeline[1]", "change together"),
    (
        "buffer = \"500kB\"",
        "buffer = \"500kB\"\nbackpressure = { scope = \"none\" }",
        "timeline[1].switch",
        "has no back-pressure",
    ),
];

/// The right scenario with the mistake made, and where the error must point.
fn made((old, new, ..): &Mistake) -> (String, Option<(usize, usize)>) {
    assert!(RIGHT.contains(old), "{old} is not in the scenario");
    let text = RIGHT.replacen(old, new, 1);
    let at = text.find('‸').map(|at| {
        let before = &text[..at];
        (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1)
    });
    (text.replace('‸', ""), at)
}

/// What is wrong with what the user is told, if anything.
fn fault(mistake: &Mistake) -> Option<String> {
    let (text, at) = made(mistake);
    let (_, new, path, phrase) = mistake;
    let Err(e) = Scenario::from_toml(&text, "lan.toml") else { return Some("was accepted".to_owned()) };
    let first = e.first();
    let (line, column) = (first.line?, first.column?);
    let complaint = if e.problems().len() != 1 {
        "is one mistake".to_owned()
    } else if first.path != *path {
        format!("is at `{path}`, not `{}`", first.path)
    } else if !first.rendered.contains(phrase) {
        format!("should say {phrase:?}")
    } else if !first.rendered.contains(&format!("--> lan.toml:{line}:{column}\n"))
        || at.is_some_and(|at| at != (line, column))
    {
        format!("is in another place, {at:?}")
    } else if first.suggestion.is_none() && !path.is_empty() {
        "comes without advice".to_owned()
    } else {
        return None;
    };
    Some(format!("`{new}` {complaint}:\n{e}"))
}

fn check(mistakes: &[Mistake]) {
    let faults: Vec<String> = mistakes.iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), mistakes.len(), faults.join("\n"));
}

#[test]
fn the_right_scenario_is_accepted() {
    Scenario::from_toml(RIGHT, "lan.toml").unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn each_mistake_in_writing_is_shown_with_advice() {
    check(WRITTEN);
}

#[test]
fn each_mistake_in_meaning_is_shown_with_advice() {
    check(MEANT);
}

fn error(text: &str) -> ScenarioError {
    Scenario::from_toml(text, "lan.toml").unwrap_err()
}

#[test]
fn an_error_shows_the_line_the_place_and_the_advice() {
    let text = RIGHT.replacen("rate = \"10Mbit/s\"", "rate = \"10Mbps\"", 1);
    let expected = "\
error: `Mbps` is not a unit of a rate here
  --> lan.toml:30:8
   |
30 | rate = \"10Mbps\"
   |        ^^^^^^^^
   = help: did you mean Mbit/s (or MB/s if you mean bytes)?
";
    assert_eq!(error(&text).rendered(), expected);
}

#[test]
fn several_mistakes_are_shown_at_once_in_the_order_of_the_file() {
    let text = RIGHT
        .replace("scope = \"class\"", "scope = \"clas\"")
        .replace("duration = \"60s\"", "durration = 60")
        .replace("rate = \"1Gbit/s\"", "rates = \"1Gbit/s\"")
        .replace("kind = \"cbr\"", "kind = \"crb\"");
    let e = error(&text);
    let paths: Vec<&str> = e.problems().iter().map(|p| p.path.as_str()).collect();
    assert_eq!(
        paths,
        ["run.durration", "run.durration", "backpressure.scope", "links[2].rates", "flows[1].source.kind"],
        "{e}"
    );
    assert!(e.rendered().ends_with("5 problems\n"));

    let text =
        RIGHT.replace("class = 2", "class = 7").replace("to = \"h1\"", "to = \"h9\"").replace("\"10s\"", "\"70s\"");
    let e = error(&text);
    let paths: Vec<&str> = e.problems().iter().map(|p| p.path.as_str()).collect();
    assert_eq!(paths, ["run.warmup", "flows[0].class", "flows[1].to"], "{e}");
}

#[test]
fn a_host_that_would_have_to_forward_is_named() {
    let text = RIGHT
        .replace("[switches.floor]\ncount = 2\n", "")
        .replace("h = { count = 4 }", "h = { count = 4 }\nfloor = { count = 2 }");
    let e = error(&text);
    assert_eq!(e.first().path, "flows[0].to", "{e}");
    assert!(e.rendered().contains("a host never forwards: make `floor1` a switch"), "{e}");
}

#[test]
fn parts_that_are_not_connected_are_named() {
    let text = RIGHT.replace("between = [\"floor*\", \"core\"]", "between = [\"floor1\", \"core\"]");
    let e = error(&text);
    assert!(e.rendered().contains("there is no way from `h3` to `server`"), "{e}");
}

#[test]
fn an_empty_document_is_told_what_it_needs() {
    let e = error("");
    let paths: Vec<String> = e.problems().iter().map(|p| format!("{}:{}", p.line.unwrap(), p.message)).collect();
    assert_eq!(paths, ["1:`tailback` is missing", "1:`run` is missing"], "{e}");
    assert!(e.rendered().contains("add a section [run] with duration = \"20ms\""), "{e}");
    let e = error("tailback = 1\n[run]\nduration = \"1s\"\n");
    assert!(e.rendered().contains("add a table [[links]]") && e.rendered().contains("add a table [[flows]]"), "{e}");
}

#[test]
fn a_table_in_place_of_a_list_is_told_apart() {
    let e = error("tailback = 1\n[[run]]\nduration = \"1s\"\n[links]\nrate = \"1Mbit/s\"\n");
    assert!(e.rendered().contains("there is one such table: write [run]"), "{e}");
    assert!(e.rendered().contains("write [[links]]"), "{e}");
}

#[test]
fn json_errors_have_a_path_and_syntax_errors_a_line() {
    let e = Scenario::from_json(r#"{"tailback": 1, "run": {"duration": 60}}"#).unwrap_err();
    assert_eq!((e.first().path.as_str(), e.first().line), ("run.duration", None));
    assert!(e.rendered().contains("<scenario>, run.duration"), "{e}");
    let e = Scenario::from_json("{\n  \"tailback\": 1,\n}").unwrap_err();
    assert_eq!(e.first().line, Some(3), "{e}");
}

#[test]
fn a_value_set_inside_a_table_that_is_not_written_finds_its_default_kind() {
    let bare = Scenario::from_toml(
        &RIGHT.replacen("detection = { kind = \"watermark\", high = 0.8, low = 0.7 }\n", "", 1),
        "lan.toml",
    );
    let set = bare.unwrap().with_set(&[("backpressure.detection.high", "0.9")]).unwrap();
    assert!(set.to_toml().contains("high = 0.9"), "{}", set.to_toml());
}

#[test]
fn an_error_in_a_set_value_points_into_what_was_set() {
    let right = Scenario::from_toml(RIGHT, "lan.toml").unwrap();
    let e = right.with_set(&[("links[*].rate", "10Mbps")]).unwrap_err();
    assert!(e.first().rendered.contains("--> --set:1:15\n"), "{e}");
    assert!(e.first().rendered.contains("links[*].rate=10Mbps\n"), "{e}");
    let e = right.with_set(&[("run.durration", "10s")]).unwrap_err();
    assert_eq!((e.first().column, e.first().suggestion.as_deref()), (Some(1), Some("did you mean `duration`?")), "{e}");
    let e = right.with_set(&[("flows[vioce].class", "1")]).unwrap_err();
    assert!(e.rendered().contains("did you mean `voice`?"), "{e}");
    // What was not set is still shown in its file.
    let e = right.with_set(&[("network.classes", "2")]).unwrap_err();
    assert!(e.rendered().contains("--> lan.toml:49:9"), "{e}");
}
