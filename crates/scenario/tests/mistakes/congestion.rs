//! Semantic errors: congestion notification and back-pressure.

use super::Mistake;

pub const MISTAKES: &[Mistake] = &[
    // congestion notification
    (
        "count = 2",
        "count = 2\n‸rate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }",
        "switches.floor.rate-limiters",
        "no congestion point notifies",
    ),
    (
        "count = 2",
        "count = 2\n‸congestion-notification = { kind = \"bcn\" }",
        "switches.floor.congestion-notification",
        "no rate limiter reacts",
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
        "three ascending numbers",
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
        "congestion points sample output queues",
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
        "does not hold a full frame",
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
        "a tag replaces the DSCP",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\ndiscipline = ‸{ kind = \"priority\", levels = [{ match = { any = [{ class = 1 }, { precedence = 5 }] } }] }",
        "switches.floor.discipline",
        "classifies by `class` or `flows`",
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
        "remove one of the two",
    ),
    (
        "count = 2",
        "count = 2\ncongestion-notification = { kind = \"bcn\" }\nrate-limiters = { law = { kind = \"bcn\" }, buffer = \"99kB\" }\nports = { core = { ‸mpls = { labels = 1 } } }",
        "switches.floor.ports.core.mpls",
        "labels are derived from the DSCP",
    ),
    ("tailback = 1", "tailback = ‸2", "tailback", "this program reads version 1"),
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
        "count = 2\n\n[switches.core]\n",
        "count = 2\nbackpressure = { scope = \"destination\" }\n\n[switches.core]\nmodel = ‸{ kind = \"shared-buffer\", memory = \"9MB\" }\n",
        "switches.core.model",
        "requires FIFO queues, but neighbours require `core`",
    ),
    // A switch whose notifications name destinations also separates them in its own queues, at all ports.
    (
        "count = 2",
        "count = 2\nbackpressure = { scope = \"destination\" }\ndiscipline = ‸{ kind = \"red\" }",
        "switches.floor.discipline",
        "does not separate destinations",
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
    (
        "count = 2",
        "count = 2\nbackpressure = { scope = \"class-destination\" }\nmodel = ‸{ kind = \"virtual-output-queues\", buffer = \"1MB\" }",
        "switches.floor.model",
        "output-buffer = \"50kB\"",
    ),
    (
        "count = 2",
        "count = 2\nbackpressure = { scope = \"destination\", addresses = \"filtering-database\" }\nmodel = ‸{ kind = \"virtual-output-queues\", buffer = \"1MB\" }",
        "switches.floor.model",
        "addresses = \"buffer\"",
    ),
    (
        "count = 2",
        "count = 2\nmodel = { kind = \"virtual-output-queues\", buffer = \"1MB\", output-buffer = ‸\"99B\" }",
        "switches.floor.model.output-buffer",
        "does not hold a full frame",
    ),
];
