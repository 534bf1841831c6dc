//! Names of protocols, ports and applications in configurations.

/// IANA protocol numbers by name.
const PROTOCOLS: [(&str, u8); 13] = [
    ("icmp", 1),
    ("igmp", 2),
    ("ipinip", 4),
    ("tcp", 6),
    ("egp", 8),
    ("igrp", 9),
    ("udp", 17),
    ("gre", 47),
    ("esp", 50),
    ("ahp", 51),
    ("eigrp", 88),
    ("ospf", 89),
    ("pim", 103),
];

/// IANA port numbers by the names that routers use; the first name of a number is the one exported.
const PORTS: [(&str, u16); 42] = [
    ("echo", 7),
    ("discard", 9),
    ("daytime", 13),
    ("chargen", 19),
    ("ftp-data", 20),
    ("ftp", 21),
    ("ssh", 22),
    ("telnet", 23),
    ("smtp", 25),
    ("time", 37),
    ("whois", 43),
    ("tacacs", 49),
    ("domain", 53),
    ("bootps", 67),
    ("bootpc", 68),
    ("tftp", 69),
    ("gopher", 70),
    ("finger", 79),
    ("www", 80),
    ("http", 80),
    ("pop2", 109),
    ("pop3", 110),
    ("sunrpc", 111),
    ("ident", 113),
    ("nntp", 119),
    ("ntp", 123),
    ("netbios-ns", 137),
    ("netbios-dgm", 138),
    ("netbios-ss", 139),
    ("imap", 143),
    ("snmp", 161),
    ("snmptrap", 162),
    ("xdmcp", 177),
    ("bgp", 179),
    ("irc", 194),
    ("https", 443),
    ("isakmp", 500),
    ("exec", 512),
    ("syslog", 514),
    ("lpd", 515),
    ("rip", 520),
    ("non500-isakmp", 4500),
];

/// Applications of `match protocol NAME` that are identified by port: (name, IP protocol, lowest port, highest port).
/// Deeper inspection is not supported.
const APPLICATIONS: [(&str, u8, u16, u16); 22] = [
    ("http", 6, 80, 80),
    ("secure-http", 6, 443, 443),
    ("ssl", 6, 443, 443),
    ("https", 6, 443, 443),
    ("ftp", 6, 20, 21),
    ("ssh", 6, 22, 22),
    ("telnet", 6, 23, 23),
    ("smtp", 6, 25, 25),
    ("dns", 17, 53, 53),
    ("dhcp", 17, 67, 68),
    ("tftp", 17, 69, 69),
    ("pop3", 6, 110, 110),
    ("ntp", 17, 123, 123),
    ("imap", 6, 143, 143),
    ("snmp", 17, 161, 162),
    ("bgp", 6, 179, 179),
    ("syslog", 17, 514, 514),
    ("sqlnet", 6, 1521, 1521),
    ("h323", 6, 1720, 1720),
    ("skinny", 6, 2000, 2002),
    ("sip", 17, 5060, 5061),
    ("rtp", 17, 16384, 32767),
];

/// Returns the number of an IP protocol given by name, ignoring case, or by decimal number, 0 to 255; `None`: neither.
pub fn protocol_named(word: &str) -> Option<u8> {
    let named = PROTOCOLS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, number)| *number);
    named.or_else(|| word.parse().ok())
}

/// Returns the name of an IP protocol, or its decimal number if it has no name here.
pub fn protocol_name(number: u8) -> String {
    let named = PROTOCOLS.iter().find(|(_, n)| *n == number).map(|(name, _)| (*name).to_owned());
    named.unwrap_or_else(|| number.to_string())
}

/// Returns the number of a port given by name, ignoring case, or by decimal number, 0 to 65535; `None`: neither.
pub fn port_named(word: &str) -> Option<u16> {
    service_port(word).or_else(|| word.parse().ok())
}

/// Returns the number of the port of that name, ignoring case; `None`: unknown.
pub fn service_port(name: &str) -> Option<u16> {
    PORTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, number)| *number)
}

/// Returns IP protocol, lowest and highest port of an application; `None`: it is not identified by port.
pub fn application_ports(name: &str) -> Option<(u8, u16, u16)> {
    let known = APPLICATIONS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    known.map(|(_, protocol, low, high)| (*protocol, *low, *high))
}
