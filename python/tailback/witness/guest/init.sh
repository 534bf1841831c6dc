#!/bin/bash
# Init of the guest: sets up the network of a case, runs the case, and powers off.
#
# The kernel's command line names the folder of the case (`case=FOLDER`). It is mounted as /run/case, the only folder outside the
# guest that the guest can write, and contains the program of traffic.c and case.sh, which calls the functions below.
#
# Each node is a network namespace. Links are veth pairs, without rate and delay. Programs start slowly in this kernel, so few are used.
#
# Results in /run/case: `done` if the case has run to its end, `failed` with the reason if any part of it has failed; both may exist.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /run/netns /run/case
mount -t hostfs none /run/case -o "$(sed 's/.*\<case=\([^ ]*\).*/\1/' /proc/cmdline)"
traffic=/run/case/traffic
exec >/run/case/guest.log 2>&1

# failed REASON: notes a failure and goes on; only the last reason is kept
failed() { echo "FAILED: $*" >/run/case/failed; }

# The kernel switches to timers with a resolution of 1 ns some time after it has booted. tc derives bursts that a script does not state
# from the resolution, so the case starts a second later, and fails if the resolution is then still another one. Field 4 of
# /proc/net/psched is the number of ticks per second, hexadecimal.
readonly BILLION=3b9aca00
sleep 1
[[ $(cut -d' ' -f4 /proc/net/psched) == "$BILLION" ]] || failed "timers do not have 1 ns: $(cat /proc/net/psched)"

# inside NODE COMMAND...: runs a command on a node
inside() { ip netns exec "$@"; }
# mac ADDRESS: prints a locally administered MAC address that contains the IPv4 address
mac() { printf '02:00:%02x:%02x:%02x:%02x' ${1//./ }; }

# node NAME: makes a node
node() { ip netns add "$1"; }

# pair LEFT DEVICE ADDRESS RIGHT DEVICE ADDRESS [ROUTE]: a link between two nodes, with permanent neighbour entries, so that there are
# no ARP packets. ROUTE is a command of `ip` for LEFT.
pair() {
    local left right
    left=$(mac "$3") right=$(mac "$6")
    ip link add name "$2" netns "$1" address "$left" type veth peer name "$5" netns "$4" address "$right"
    ip -n "$1" -batch - <<END
addr add $3/24 dev $2
link set $2 up
neigh replace $6 lladdr $right dev $2 nud permanent
${7:-}
END
    ip -n "$4" -batch - <<END
addr add $6/24 dev $5
link set $5 up
neigh replace $3 lladdr $left dev $5 nud permanent
END
}

# settings NODE SYSCTLS DEVICE...: settings of a node's network stack and of its devices, which must exist; SYSCTLS is a list such as
# "tcp_ecn=1 tcp_sack=0" of files in /proc/sys/net/ipv4
settings() {
    local node=$1 sysctls=$2
    shift 2
    # IPv6 is off, since its kernel sends packets that would pass the discipline. TCP has buffers that grow until only the network limits
    # its windows, and no metrics that a connection saves for the next one. The receive buffer begins with Linux's default: while the window
    # grows to the size of the buffer, the receiver acknowledges each segment at once (tcp_grow_window).
    inside "$node" sh -c 'cd /proc/sys/net
        for off in ipv6/conf/*/disable_ipv6; do [ ! -e $off ] || echo 1 >$off; done
        cd ipv4
        echo 1 >ip_forward
        echo "4096 131072 64000000" >tcp_rmem; echo "4096 4000000 64000000" >tcp_wmem
        echo 1 >tcp_no_metrics_save
        for setting in $1; do echo "${setting#*=}" >"${setting%%=*}" || exit 1; done
        shift
        exec "$@"' sh "$sysctls" $traffic plain "$@" || failed "$node: settings $sysctls"
}

# inspect NODE DEVICE: prints the disciplines and classes of a device into the log
inspect() {
    inside "$1" tc -s -d class show dev "$2"
    inside "$1" tc -s -d qdisc show dev "$2"
}

# launch NODE ARGUMENTS...: starts the traffic program on a node, in the background
pids=()
launch() {
    local node=$1
    shift
    inside "$node" $traffic "$@" || failed "$node: traffic $*" &
    pids+=($!)
}

. /run/case/case.sh
wait "${pids[@]}"
# A sink writes its counters and its last records up to a millisecond after the end, and is not waited for.
sleep 0.1
if declare -F finish >/dev/null; then finish; fi
echo "kernel $(uname -r), $(tc -V), psched $(cat /proc/net/psched), up $(cut -d' ' -f1 /proc/uptime) s"
touch /run/case/done
sync
$traffic halt
