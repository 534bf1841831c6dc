//! A valid scenario, into which tests insert mistakes.

/// Two floors and a server; it has every section except `fabric` and `class-maps`.
pub const RIGHT: &str = r#"tailback = 1
title = "Two floors and a server"

[run]
duration = "60s"
warmup = "10s"
sample = "100ms"

[network]
classes = 3
buffer = "50kB"

[backpressure]
scope = "class"
detection = { kind = "watermark", high = 0.8, low = 0.7 }

[hosts]
h = { count = 4 }
server = {}

[switches.floor]
count = 2

[switches.core]
buffer = "500kB"
ports = { server = { buffer = "100kB" } }

[[links]]
between = ["h[12]", "floor1"]
rate = "10Mbit/s"

[[links]]
between = ["h[34]", "floor2"]
rate = "100Mbit/s"

[[links]]
between = ["floor*", "core"]
rate = "1Gbit/s"
length = "100m"

[[links]]
between = ["core", "server"]
rate = "100Mbit/s"

[[flows]]
name = "data"
from = "h*"
to = "server"
class = 2
source = { kind = "uniform-uniform", burst = "24kB", rate = "3Mbit/s" }

[[flows]]
name = "voice"
from = "server"
to = "h1"
source = { kind = "cbr", packet = "200B", rate = "64kbit/s" }

[[timeline]]
at = "30s"
flow = "voice"
state = "stop"

[[timeline]]
at = "40s"
switch = "core"
high = 0.9
low = 0.5
"#;
