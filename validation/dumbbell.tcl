# A TCP dumbbell on ns-2, for comparison. usage: ns dumbbell.tcl key=value ...
#
# N senders and N receivers, each behind a link of its own; the access links' delays are spread evenly from d0 to d1.
# Prints one JSON object: what happened at the bottleneck from t0 to t1, and what each flow delivered.
array set o {
    flows 16 rate 10e6 delay 10e-3 d0 9e-3 d1 29e-3 access 100e6 queue 100 aqm DropTail ecn 0
    min 20 max 80 maxp 0.1 weight 0.002 tcp Newreno segment 1000 window 10000 tick 0.01 minrto 0.2 t0 20 t1 120 seed 1 overhead 0
}
foreach a $argv {
    set at [string first = $a]
    set key [string range $a 0 [expr {$at - 1}]]
    if {![info exists o($key)]} { error "no such key: $key" }
    set o($key) [string range $a [expr {$at + 1}] end]
}
ns-random [expr {$o(seed) + 1000}]
remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
$ns rtproto Manual

Agent/TCP set packetSize_ $o(segment)
Agent/TCP set window_ $o(window)
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ $o(minrto)
Agent/TCP set tcpTick_ $o(tick)
Agent/TCP set ecn_ $o(ecn)
Agent/TCP set overhead_ $o(overhead)
Queue/RED set bytes_ false
Queue/RED set queue_in_bytes_ false
Queue/RED set thresh_ $o(min)
Queue/RED set maxthresh_ $o(max)
Queue/RED set linterm_ [expr {1.0 / $o(maxp)}]
Queue/RED set q_weight_ $o(weight)
Queue/RED set gentle_ false
Queue/RED set adaptive_ 0
Queue/RED set wait_ true
Queue/RED set setbit_ [expr {$o(ecn) ? "true" : "false"}]
Queue/RED set use_mark_p_ false
Queue/RED set mean_pktsize_ [expr {$o(segment) + 40}]

proc default_to {n m} { [$n get-module "Manual"] add-route-to-adj-node -default $m }
proc route_to {n dst m} { global ns; [$n get-module "Manual"] add-route [$dst node-addr] [[$ns link $n $m] head] }

set r0 [$ns node]
set r1 [$ns node]
$ns simplex-link $r0 $r1 $o(rate) $o(delay) $o(aqm)
$ns simplex-link $r1 $r0 $o(rate) $o(delay) DropTail
$ns queue-limit $r0 $r1 $o(queue)
$ns queue-limit $r1 $r0 1000000
default_to $r0 $r1
default_to $r1 $r0
set qm [$ns monitor-queue $r0 $r1 ""]

set rng [new RNG]
$rng seed [expr {$o(seed) + 2000}]
set sinks {}
for {set i 0} {$i < $o(flows)} {incr i} {
    set d [expr {$o(flows) > 1 ? $o(d0) + ($o(d1) - $o(d0)) * $i / ($o(flows) - 1) : $o(d0)}]
    set s [$ns node]
    set t [$ns node]
    $ns duplex-link $s $r0 $o(access) $d DropTail
    $ns duplex-link $r1 $t $o(access) 1ms DropTail
    foreach p [list [list $s $r0] [list $r0 $s] [list $r1 $t] [list $t $r1]] {
        $ns queue-limit [lindex $p 0] [lindex $p 1] 1000000
    }
    default_to $s $r0
    default_to $t $r1
    route_to $r0 $s $s
    route_to $r1 $t $t
    set tcp [new Agent/TCP/$o(tcp)]
    set sink [new [expr {$o(tcp) eq "Sack1" ? "Agent/TCPSink/Sack1" : "Agent/TCPSink"}]]
    $ns attach-agent $s $tcp
    $ns attach-agent $t $sink
    $ns connect $tcp $sink
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    $ns at [$rng uniform 0 1] "$ftp start"
    lappend tcps $tcp
}

array set before {}
array set after {}
proc snap {to} {
    global qm tcps
    upvar #0 $to v
    set integ [$qm get-pkts-integrator]
    set now [[Simulator instance] now]
    $integ newpoint $now [$integ set lasty_]
    set v(arrived) [$qm set parrivals_]
    set v(dropped) [$qm set pdrops_]
    set v(sent) [$qm set bdepartures_]
    set v(area) [$integ set sum_]
    set v(acked) {}
    foreach tcp $tcps { lappend v(acked) [$tcp set ack_] }
}
proc finish {} {
    global o before after
    snap after
    set dt [expr {$o(t1) - $o(t0)}]
    set acked {}
    foreach x $before(acked) y $after(acked) { lappend acked [expr {$y - $x}] }
    puts "{\"arrived\": [expr {$after(arrived) - $before(arrived)}], \"dropped\": [expr {$after(dropped) - $before(dropped)}],\
        \"utilisation\": [expr {($after(sent) - $before(sent)) * 8.0 / $dt / $o(rate)}],\
        \"queue\": [expr {($after(area) - $before(area)) / $dt}], \"acked\": \[[join $acked {, }]\]}"
    exit 0
}
$ns at $o(t0) "snap before"
$ns at $o(t1) "finish"
$ns run
