//! Report of the tables of CONFIG_DB that are not read: those without effect on output queues, and those with a
//! possible effect.

use super::json::Entry;
use crate::Report;
use crate::ir::Config;

/// Tables that [`super`] reads.
pub(super) const READ: [&str; 12] = [
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
    "BUFFER_PORT_EGRESS_PROFILE_LIST",
];

/// Tables of names, addresses, routes, management and counters, which have no effect on queues (Configuration Database
/// Manual of SONiC).
const WITHOUT_EFFECT: [&str; 92] = [
    "AAA",
    "ACL_TABLE_TYPE",
    "ASIC_SENSORS",
    "AUTO_TECHSUPPORT",
    "AUTO_TECHSUPPORT_FEATURE",
    "BANNER_MESSAGE",
    "BGP_AGGREGATE_ADDRESS",
    "BGP_ALLOWED_PREFIXES",
    "BGP_BBR",
    "BGP_DEVICE_GLOBAL",
    "BGP_GLOBALS",
    "BGP_INTERNAL_NEIGHBOR",
    "BGP_MONITORS",
    "BGP_NEIGHBOR",
    "BGP_PEER_GROUP",
    "BGP_PEER_RANGE",
    "BGP_SENTINELS",
    "BGP_VOQ_CHASSIS_NEIGHBOR",
    "BMP",
    "CHASSIS_MODULE",
    "CONSOLE_PORT",
    "CONSOLE_SWITCH",
    "COPP_GROUP",
    "COPP_TABLE",
    "COPP_TRAP",
    "CRM",
    "DEBUG_COUNTER",
    "DEBUG_COUNTER_DROP_REASON",
    "DEFAULT_LOSSLESS_BUFFER_PARAMETER",
    "DEVICE_METADATA",
    "DEVICE_NEIGHBOR",
    "DEVICE_NEIGHBOR_METADATA",
    "DHCP_RELAY",
    "DHCP_SERVER",
    "DHCP_SERVER_IPV4",
    "DNS_NAMESERVER",
    "FEATURE",
    "FG_NHG",
    "FG_NHG_MEMBER",
    "FG_NHG_PREFIX",
    "FLEX_COUNTER_TABLE",
    "GNMI",
    "INTERFACE",
    "KDUMP",
    "KUBERNETES_MASTER",
    "LLDP",
    "LOGGER",
    "LOOPBACK_INTERFACE",
    "LOSSLESS_TRAFFIC_PATTERN",
    "MGMT_INTERFACE",
    "MGMT_PORT",
    "MGMT_VRF_CONFIG",
    "MUX_CABLE",
    "MUX_LINKMGR",
    "NAT_GLOBAL",
    "NEIGH",
    "NTP",
    "NTP_KEY",
    "NTP_SERVER",
    "PASSW_HARDENING",
    "PEER_SWITCH",
    "PORTCHANNEL",
    "PORTCHANNEL_INTERFACE",
    "PORTCHANNEL_MEMBER",
    "PREFIX_LIST",
    "RADIUS",
    "RADIUS_SERVER",
    "RESTAPI",
    "ROUTE_MAP",
    "SERIAL_CONSOLE",
    "SFLOW",
    "SFLOW_COLLECTOR",
    "SFLOW_SESSION",
    "SNMP",
    "SNMP_COMMUNITY",
    "SSH_SERVER",
    "STATIC_ROUTE",
    "SYSLOG_CONFIG",
    "SYSLOG_CONFIG_FEATURE",
    "SYSLOG_SERVER",
    "SYSTEM_DEFAULTS",
    "TACPLUS",
    "TACPLUS_SERVER",
    "TELEMETRY",
    "TELEMETRY_CLIENT",
    "VERSIONS",
    "VLAN",
    "VLAN_INTERFACE",
    "VLAN_MEMBER",
    "VRF",
    "XCVRD_LOG",
    "ZTP",
];

/// Tables about priority-based flow control (PFC, IEEE 802.1Qbb) at inputs. Ports with PFC are reported with their
/// queues (`build`).
const PAUSES: [&str; 7] = [
    "CABLE_LENGTH",
    "MAP_PFC_PRIORITY_TO_QUEUE",
    "PFC_PRIORITY_TO_QUEUE_MAP",
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP",
    "PFC_WD",
    "PFC_WD_TABLE",
    "TC_TO_PRIORITY_GROUP_MAP",
];

/// Reports a table that is not read, by its effect on output queues.
pub(super) fn report_table(table: &Entry, config: &Config, report: &mut Report) {
    let name = table.key.as_str();
    if READ.contains(&name) {
        return;
    }
    let rows = table.node.entries();
    if WITHOUT_EFFECT.contains(&name) {
        report.ignored(table.at, format!("the table {name} has no effect on queues"));
    } else if PAUSES.contains(&name) {
        report.ignored(
            table.at,
            format!("the table {name} is about priority-based flow control (PFC), which is not simulated"),
        );
    } else {
        match name {
            "TC_TO_DSCP_MAP" | "TC_TO_DOT1P_MAP" => {
                report
                    .ignored(table.at, format!("{name} remarks packets after the queues, which has no effect on them"));
            }
            "DSCP_TO_FC_MAP" | "EXP_TO_FC_MAP" | "FC_TO_NHG_INDEX_MAP" => {
                report.ignored(table.at, format!("{name} selects the path, not the queue"));
            }
            "BUFFER_PG" | "BUFFER_PORT_INGRESS_PROFILE_LIST" => report.unsupported(
                table.at,
                format!(
                    "{name}: limits on the buffer of each input are not simulated; packets may be lost or paused there"
                ),
                Some("the limits of output queues (BUFFER_QUEUE) are simulated"),
            ),
            "POLICER" => {
                // A policer applies only where a rule of an access list, a mirror session or storm control names it.
                report.ignored(table.at, "a policer has an effect only where another table names it");
            }
            "PORT_STORM_CONTROL" => rows.iter().for_each(|row| storm(row, config, report)),
            "ACL_TABLE" => report.ignored(table.at, "access lists have an effect only through their rules (ACL_RULE)"),
            "ACL_RULE" => rows.iter().for_each(|row| rule(row, report)),
            "MIRROR_SESSION" => report.assumed(
                table.at,
                "copies of packets (MIRROR_SESSION) are assumed to leave by other ports",
                "add a row to the traffic table if they leave by the simulated port",
            ),
            _ => report.unsupported(table.at, format!("unknown table {name}"), None),
        }
    }
}

/// Reports a limit on broadcast, unknown unicast or multicast packets that arrive at a port.
fn storm(row: &Entry, config: &Config, report: &mut Report) {
    let (port, kind) = row.key.split_once('|').unwrap_or((&row.key, "storm"));
    if config.port(port).is_none() {
        report.ignored(row.at, format!("there is no port `{port}`"));
        return;
    }
    report.assumed(
        row.at,
        format!("{kind} packets that arrive at {port} are limited, which is not simulated: the traffic table is assumed to have none"),
        "leave such packets out of the traffic table, or state their rate after the limit",
    );
}

/// Reports a rule of an access list. Packets of the traffic table are assumed to pass filters; other actions are
/// unsupported.
fn rule(row: &Entry, report: &mut Report) {
    // The action of a rule is in the field whose name ends with ACTION.
    let actions = row.node.entries().iter().filter(|field| field.key.to_ascii_uppercase().ends_with("ACTION"));
    for action in actions {
        let what = action.node.scalar().unwrap_or_default().to_ascii_uppercase();
        match what.as_str() {
            "FORWARD" | "ACCEPT" => report.ignored(action.at, "a rule that forwards packets has no effect on queues"),
            "DROP" => report.assumed(
                action.at,
                format!("`{}` drops packets: the traffic table is assumed to hold only packets that pass", row.key),
                "leave dropped packets out of the traffic table",
            ),
            _ if action.key.to_ascii_uppercase().starts_with("MIRROR") => {
                report.ignored(action.at, "a rule that mirrors packets has no effect on their queues");
            }
            _ => report.unsupported(
                action.at,
                format!("`{}`: the action {} {what} is not simulated", row.key, action.key),
                None,
            ),
        }
    }
}
