#!/bin/bash
# Init of the guest: lays the network of a case out, runs it, and powers off.
#
# The kernel's command line names the case's folder (`case=FOLDER`): it is mounted as /run/case, the only place of the machine that
# can be written, and holds the program of traffic.c and the case, a script that calls `source_host`, `policy` and `launch`.
#
#   source i (eth0) ── (from$i) router (eth1) ── (eth0) sink
#
# The policy under test is on the router's eth1. Links are veth pairs: no rate, no delay. A row's round trip stands on the way
# back, in front of its source, where nothing else queues. Programs start slowly in such a kernel, so few are started.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mkdir -p /run/netns /run/case
mount -t hostfs none /run/case -o "$(sed 's/.*\<case=\([^ ]*\).*/\1/' /proc/cmdline)"
traffic=/run/case/traffic
exec >/run/case/guest.log 2>&1

# The kernel goes over to timers of a nanosecond a tick after it has booted, and tc takes bursts that a script does not state from
# their resolution, as on a machine that has been up for longer.
sleep 1
[[ $(cut -d' ' -f4 /proc/net/psched) == 3b9aca00 ]] || echo "FAILED: timers are coarse: $(cat /proc/net/psched)" >/run/case/failed

failed() { echo "FAILED: $*" >/run/case/failed; }
inside() { ip netns exec "$@"; }
mac() { printf '02:00:%02x:%02x:%02x:%02x' ${1//./ }; }

# pair LEFT DEVICE ADDRESS RIGHT DEVICE ADDRESS: a link whose ends know each other's addresses, so that nobody asks
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

# settings HOST DEVICE...: once the devices are there
settings() {
    local host=$1
    shift
    # Of what the kernel itself sends, nothing shall pass the policy. Windows that nothing but the network limits; no options of TCP
    # that lengthen its headers; nothing that one connection leaves to the next.
    inside "$host" sh -c 'cd /proc/sys/net
        for off in ipv6/conf/*/disable_ipv6; do [ ! -e $off ] || echo 1 >$off; done
        cd ipv4
        echo 1 >ip_forward
        echo "4096 4000000 64000000" >tcp_rmem; echo "4096 4000000 64000000" >tcp_wmem
        echo 0 >tcp_timestamps; echo 1 >tcp_no_metrics_save; echo 0 >tcp_ecn
        exec "$@"' sh $traffic plain "$@"
}

# source_host INDEX RTT: a host for a row of the traffic table; RTT is a word of netem, or 0
source_host() {
    ip netns add "source$1"
    pair "source$1" eth0 "10.1.$1.2" router "from$1" "10.1.$1.1" "route add default via 10.1.$1.1"
    settings "source$1" eth0
    if [[ $2 != 0 ]]; then inside router tc qdisc add dev "from$1" root netem delay "$2" limit 1000000; fi
    inbound+=("from$1")
}

# policy FILE: runs the script under test as it is, when all hosts are there
policy() {
    settings router eth1 "${inbound[@]}"
    inside router bash "$1" >/run/case/policy.log 2>&1 || failed "the policy's script, code $?"
    # tc is silent unless something is wrong, and what fails in the middle of a script does not show in its code.
    [[ ! -s /run/case/policy.log ]] || failed "a command of the policy: $(cat /run/case/policy.log)"
}

# launch WHERE ARGUMENTS: starts the traffic program in a host
pids=()
launch() {
    local where=$1
    shift
    inside "$where" $traffic "$@" || failed "$where: traffic $*" &
    pids+=($!)
}

ip netns add router
ip netns add sink
pair sink eth0 10.9.0.2 router eth1 10.9.0.1 "route add default via 10.9.0.1"
settings sink eth0
inside sink $traffic sink 5001 &

. /run/case/case.sh
wait "${pids[@]}"
inside router tc -s -d class show dev eth1
inside router tc -s -d qdisc show dev eth1
echo "kernel $(uname -r), $(tc -V), psched $(cat /proc/net/psched), up $(cut -d' ' -f1 /proc/uptime) s"
touch /run/case/done
sync
$traffic halt
