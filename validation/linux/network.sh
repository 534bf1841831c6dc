# The network of a case, for case.sh; sourced by the guest's init.
#
#   source i (eth0) ── (from$i) router (eth1) ── (eth0) sink
#
# The policy under test is on the router's eth1. The round-trip time of a row of the traffic table is a delay at the router's device
# towards the row's source, on the return path, where no other packets queue.

# No timestamps, which would lengthen all headers, and no ECN.
readonly SYSCTLS="tcp_timestamps=0 tcp_ecn=0"

# source_host INDEX RTT: a source for a row of the traffic table; RTT is a delay of netem, such as 40000us, or 0
source_host() {
    node "source$1"
    pair "source$1" eth0 "10.1.$1.2" router "from$1" "10.1.$1.1" "route add default via 10.1.$1.1"
    settings "source$1" "$SYSCTLS" eth0
    if [[ $2 != 0 ]]; then inside router tc qdisc add dev "from$1" root netem delay "$2" limit 1000000; fi
    inbound+=("from$1")
}

# policy FILE: runs the script under test on the router, unchanged; all sources must exist, since their devices are in `inbound`
policy() {
    settings router "$SYSCTLS" eth1 "${inbound[@]}"
    inside router bash "$1" >/run/case/policy.log 2>&1 || failed "the policy's script has exit code $?"
    # tc prints only errors, and the exit code of a script does not show a failure in its middle.
    [[ ! -s /run/case/policy.log ]] || failed "a command of the policy failed: $(cat /run/case/policy.log)"
}

finish() { inspect router eth1; }

node router
node sink
pair sink eth0 10.9.0.2 router eth1 10.9.0.1 "route add default via 10.9.0.1"
settings sink "$SYSCTLS" eth0
inside sink $traffic sink 5001 &
