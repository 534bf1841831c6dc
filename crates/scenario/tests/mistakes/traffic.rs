//! Mistakes of meaning: flows, applications and the timeline.

use super::Mistake;

pub const MISTAKES: &[Mistake] = &[
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
