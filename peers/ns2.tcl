# usage: ns ns2.tcl WORKLOAD [count]
# workloads: red64 tcp1000 tcp4000 forward udpqueue dc10g; `count` counts packet-hops
# environment: SCHED=scheduler of ns-2, DC_T=duration of dc10g in s (default 1.0), NS2_END=duration in s
set wl [lindex $argv 0]
set counting [expr {[lindex $argv 1] eq "count"}]
remove-all-packet-headers
add-packet-header IP TCP Flags RTP
set ns [new Simulator]
if {[info exists ::env(SCHED)]} { $ns use-scheduler $::env(SCHED) }
$ns rtproto Manual
set qms {}
proc finish {id0} {
    global ns counting qms sinks wl
    set t0 [$ns now]
    set uid [$ns at [expr $t0+1000] "#"]
    set rx 0
    foreach s $sinks {
        if {$wl eq "forward" || $wl eq "udpqueue"} { incr rx [$s set npkts_] } else { set rx [expr {$rx+[$s set bytes_]/($wl eq "dc10g" ? 1500 : 1040)}] }
    }
    set hops -1
    if {$counting} {
        set hops 0
        foreach q $qms { set hops [expr {$hops + int([$q set pdepartures_])}] }
    }
    puts "RESULT peer=ns2 workload=$wl events=$uid delivered=$rx hops=$hops"
    flush stdout
    exit 0
}
proc mon {a b} {
    global ns counting qms
    if {$counting} { lappend qms [$ns monitor-queue $a $b ""] }
}
proc default_to {n m} { [$n get-module "Manual"] add-route-to-adj-node -default $m }
proc route_to {n dst m} { global ns; [$n get-module "Manual"] add-route [$dst node-addr] [[$ns link $n $m] head] }
set sinks {}
Agent/TCP set packetSize_ 1000
Agent/TCP set window_ 100000
Agent/TCP set windowInit_ 2
Agent/TCP set minrto_ 0.2
Agent/TCP set tcpTick_ 0.001
Agent/TCP set ecn_ 0
proc dumbbell {n bw qtype qlim} {
    global ns sinks
    set r0 [$ns node]; set r1 [$ns node]
    $ns simplex-link $r0 $r1 $bw 10ms $qtype
    $ns simplex-link $r1 $r0 $bw 10ms DropTail
    $ns queue-limit $r0 $r1 $qlim
    $ns queue-limit $r1 $r0 100000
    mon $r0 $r1; mon $r1 $r0
    default_to $r0 $r1; default_to $r1 $r0
    set rng [new RNG]; $rng seed 1
    for {set i 0} {$i < $n} {incr i} {
        set d [expr {9.0 + 20.0*$i/($n-1)}]
        set s [$ns node]; set t [$ns node]
        $ns duplex-link $s $r0 100Mb ${d}ms DropTail
        $ns duplex-link $r1 $t 100Mb 1ms DropTail
        foreach p [list [list $s $r0] [list $r0 $s] [list $r1 $t] [list $t $r1]] {
            $ns queue-limit [lindex $p 0] [lindex $p 1] 100000
            mon [lindex $p 0] [lindex $p 1]
        }
        default_to $s $r0; default_to $t $r1
        route_to $r0 $s $s; route_to $r1 $t $t
        set tcp [new Agent/TCP/Newreno]; set sink [new Agent/TCPSink]
        $ns attach-agent $s $tcp; $ns attach-agent $t $sink
        $ns connect $tcp $sink
        set ftp [new Application/FTP]; $ftp attach-agent $tcp
        $ns at [$rng uniform 0 1] "$ftp start"
        lappend sinks $sink
    }
}
switch $wl {
  red64 {
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ false
    Queue/RED set thresh_ 23
    Queue/RED set maxthresh_ 92
    Queue/RED set linterm_ 10
    Queue/RED set q_weight_ 0.002
    Queue/RED set gentle_ false
    Queue/RED set adaptive_ 0
    Queue/RED set mean_pktsize_ 1040
    dumbbell 64 10Mb RED 115
    set end 200
  }
  tcp1000 { dumbbell 1000 100Mb DropTail 721; set end 100 }
  tcp4000 { dumbbell 4000 400Mb DropTail 2884; set end 100 }
  forward {
    set nn {}
    for {set i 0} {$i <= 5} {incr i} { lappend nn [$ns node] }
    for {set i 0} {$i < 5} {incr i} {
        set a [lindex $nn $i]; set b [lindex $nn [expr $i+1]]
        $ns duplex-link $a $b 10Gb 10us DropTail
        $ns queue-limit $a $b 1000
        mon $a $b
        default_to $a $b
    }
    default_to [lindex $nn 5] [lindex $nn 4]
    set rng [new RNG]; $rng seed 1
    for {set i 0} {$i < 16} {incr i} {
        set u [new Agent/UDP]; $u set packetSize_ 1000
        set k [new Agent/LossMonitor]
        $ns attach-agent [lindex $nn 0] $u; $ns attach-agent [lindex $nn 5] $k
        $ns connect $u $k
        set c [new Application/Traffic/CBR]; $c set packetSize_ 1000; $c set rate_ 100Mb; $c set random_ 0
        $c attach-agent $u
        $ns at [$rng uniform 0 0.00008] "$c start"
        lappend sinks $k
    }
    set end 10
  }
  udpqueue {
    set a [$ns node]; set b [$ns node]
    $ns duplex-link $a $b 10Mb 0ms DropTail
    $ns queue-limit $a $b 1000000
    mon $a $b
    default_to $a $b; default_to $b $a
    set u [new Agent/UDP]; $u set packetSize_ 1000
    set k [new Agent/LossMonitor]
    $ns attach-agent $a $u; $ns attach-agent $b $k; $ns connect $u $k
    # Poisson: exponential idle of mean 1/1125 s, one packet per burst (burst_time_ 0, practically infinite rate)
    set c [new Application/Traffic/Exponential]
    $c set packetSize_ 1000; $c set burst_time_ 0; $c set idle_time_ [expr 1.0/1125]; $c set rate_ 10Gb
    $c attach-agent $u
    $ns at 0 "$c start"
    lappend sinks $k
    set end 8888.9
  }
  dc10g {
    Agent/TCP set packetSize_ 1460
    Agent/TCP set minrto_ 0.01
    Agent/TCP set tcpTick_ 0.000001
    Agent/TCP set ecn_ 1
    Agent/TCP set old_ecn_ 1
    Agent/TCP set dctcp_ true
    Agent/TCP set dctcp_g_ 0.0625
    Queue/RED set bytes_ false
    Queue/RED set queue_in_bytes_ true
    Queue/RED set mean_pktsize_ 1500
    Queue/RED set setbit_ true
    Queue/RED set gentle_ false
    Queue/RED set q_weight_ 1.0
    Queue/RED set mark_p_ 1.0
    Queue/RED set thresh_ 65
    Queue/RED set maxthresh_ 65
    set sw [$ns node]
    set h {}
    for {set i 0} {$i < 16} {incr i} {
        set x [$ns node]; lappend h $x
        $ns simplex-link $x $sw 10Gb 1us DropTail
        $ns simplex-link $sw $x 10Gb 1us RED
        $ns queue-limit $x $sw 100000; $ns queue-limit $sw $x 1000
        mon $x $sw; mon $sw $x
        default_to $x $sw; route_to $sw $x $x
    }
    set rng [new RNG]; $rng seed 1
    proc flow {a b} {
        global ns sinks rng
        set tcp [new Agent/TCP/Newreno]; set sink [new Agent/TCPSink]
        $ns attach-agent $a $tcp; $ns attach-agent $b $sink; $ns connect $tcp $sink
        set ftp [new Application/FTP]; $ftp attach-agent $tcp
        $ns at [$rng uniform 0 0.0001] "$ftp start"
        lappend sinks $sink
    }
    for {set i 0} {$i < 16} {incr i} { flow [lindex $h $i] [lindex $h [expr ($i+1)%16]] }
    for {set i 1} {$i < 16} {incr i} { flow [lindex $h $i] [lindex $h 0] }
    set end [expr {[info exists ::env(DC_T)] ? $::env(DC_T) : 1.0}]
  }
}
if {[info exists ::env(NS2_END)]} { set end $::env(NS2_END) }  ;# 0.001 measures the cost of set-up alone
$ns at $end "finish 0"
$ns run
