//! Virtual queues by destination in one buffer.

use tailback_qdisc::discipline::by_destination::ByDestination;
use tailback_qdisc::{Cx, Gate, Packet, Qdisc, Reason, Traits};
use tailback_random::Rng;
use tailback_units::Time;

/// Offers a packet of 1000 B with this number.
fn put(q: &mut ByDestination, cx: &mut Cx<'_>, seq: u32, dst: u16) {
    let mut packet = Packet::new(0, Traits::data(0, true), Time::ZERO, seq, dst);
    packet.set_lengths(1000, 1020);
    q.enqueue(Time::ZERO, packet, cx);
}

#[test]
fn the_oldest_packet_to_an_open_destination_leaves_first() {
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    let mut q = ByDestination::new(u64::MAX, false);
    for (seq, dst) in [(0, 7), (1, 3), (2, 7), (3, 5), (4, 3)] {
        put(&mut q, cx, seq, dst);
    }
    let (open, mut stopped) = (Gate::default(), Gate::default());
    stopped.close_destination(7, None);
    let mut order = Vec::new();
    for gate in [&stopped, &stopped, &open, &stopped, &stopped, &open, &open] {
        order.push(q.dequeue(Time::ZERO, gate, cx).map(|packet| packet.seq));
        assert_eq!(q.packets(), 5 - order.iter().flatten().count() as u64);
    }
    assert_eq!(order, [Some(1), Some(3), Some(0), Some(4), None, Some(2), None]);
}

#[test]
fn the_limit_holds_for_all_destinations_or_for_each() {
    for (partition, accepted) in [(false, [2, 0]), (true, [2, 2])] {
        let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
        let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
        // The limit is that of exactly two packets.
        let mut q = ByDestination::new(2_000, partition);
        for seq in 0..6 {
            put(&mut q, cx, seq, if seq < 3 { 1 } else { 2 });
        }
        assert_eq!([1, 2].map(|dst| q.bytes_to(dst) / 1000), accepted);
        assert_eq!(dropped.len() as u64, 6 - accepted.iter().sum::<u64>());
        assert!(dropped.iter().all(|d| d.why == Reason::BufferFull));
    }
}

#[test]
fn a_new_limit_drops_no_waiting_packet_and_admits_none_until_there_is_room() {
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    let mut q = ByDestination::new(2_000, false);
    (0..2).for_each(|seq| put(&mut q, cx, seq, 1));
    q.set_limit(1_000);
    assert_eq!((q.packets(), cx.dropped.len()), (2, 0));
    for (seq, waiting, lost) in [(2, 2, 1), (3, 1, 2), (4, 1, 2)] {
        put(&mut q, cx, seq, 1);
        assert_eq!((q.packets(), cx.dropped.len()), (waiting, lost));
        assert!(q.dequeue(Time::ZERO, &Gate::default(), cx).is_some());
    }
}

#[test]
fn counts_destinations_and_state_follow_each_arrival_and_departure() {
    let (mut rng, mut dropped, mut marked) = (Rng::named(1, "port"), Vec::new(), 0);
    let cx = &mut Cx { rng: &mut rng, dropped: &mut dropped, marked: &mut marked };
    let mut q = ByDestination::new(u64::MAX, true);
    assert!(q.is_partitioned() && !ByDestination::new(1, false).is_partitioned());
    // The number of arrivals, the bytes and the packets, 8 bytes each.
    assert_eq!((q.state_bytes(), q.bytes_to(7)), (24, 0));
    for (seq, dst) in [(0, 7), (1, 3), (2, 7)] {
        put(&mut q, cx, seq, dst);
    }
    // Two queues of 24 bytes with their destination, 2 bytes; the table up to destination 7 and the list of the two
    // queues with packets, 4 bytes per entry.
    assert_eq!(q.state_bytes(), 24 + 2 * (24 + 2) + (8 + 2) * 4);
    let (open, mut stopped) = (Gate::default(), Gate::default());
    stopped.close_destination(7, None);
    assert_eq!((q.packets_not_selected(&open), q.packets_not_selected(&stopped)), (3, 1));
    assert_eq!(q.destinations().collect::<Vec<_>>(), [7, 3]);
    let visited = |q: &ByDestination| {
        let mut seen = Vec::new();
        q.visit(&mut |packet| seen.push(packet.seq));
        seen.sort_unstable();
        seen
    };
    assert_eq!(visited(&q), [0, 1, 2]);
    assert_eq!(q.dequeue(Time::ZERO, &stopped, cx).map(|packet| packet.seq), Some(1));
    assert_eq!([7, 3, 5].map(|dst| q.bytes_to(dst)), [2_000, 0, 0]);
    assert_eq!((q.packets_not_selected(&open), q.packets_not_selected(&stopped)), (2, 0));
    assert_eq!((visited(&q), q.destinations().collect::<Vec<_>>()), (vec![0, 2], vec![7]));
    assert_eq!(q.state_bytes(), 24 + 2 * (24 + 2) + (8 + 1) * 4);
}
