// The program of the guest for the segment-by-segment comparison (segments.py): a recorder of a host's TCP segments.
//
//   segments DEVICE FILE END      writes a line for each TCP segment over IPv4 that the device sends or receives until END to FILE:
//                                 "time direction own-port other-port sequence acknowledgement flags window tos bytes payload tsval tsecr start end ..."
//
// The time is that of the monotonic clock, nanoseconds, and END in seconds. The direction is `>` for a segment that the device sends, at the
// start of its transmission, after the disciplines, and `<` for one that it receives, before the disciplines of the ingress. Flags are those of
// byte 13 of the header, the window is that of the header without its scale, and bytes are those of the packet with its IP header. The pairs
// at the end are the blocks of a selective acknowledgement.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#define PROGRAM "segments"
#include "clock.h"

#define FETCH_NS 50000000LL
#define HEAD 94 // Ethernet, IP and TCP headers with all options of TCP: 14 + 20 + 60 bytes
#define FRAME 256 // A head, and the kernel's own before it
#define FRAMES 16384
#define BLOCK 65536

static uint16_t two(const uint8_t *at) { return at[0] << 8 | at[1]; }
static uint32_t four(const uint8_t *at) { return (uint32_t)two(at) << 16 | two(at + 2); }

static void write_down(FILE *out, const uint8_t *ip, int64_t time_ns, char direction) {
    if (ip[9] != IPPROTO_TCP) return;
    if ((ip[0] & 15) != 5) errno = EPROTO, fail("a packet with IP options");
    const uint8_t *tcp = ip + 20;
    int bytes = two(ip + 2), length = (tcp[12] >> 4) * 4, out_going = direction == '>';
    uint32_t value = 0, echo = 0;
    fprintf(out, "%" PRId64 " %c %u %u %u %u %u %u %u %d %d", time_ns, direction, two(tcp + (out_going ? 0 : 2)), two(tcp + (out_going ? 2 : 0)),
            four(tcp + 4), four(tcp + 8), tcp[13], two(tcp + 14), ip[1], bytes, bytes - 20 - length);
    const uint8_t *blocks = NULL;
    int count = 0;
    for (int i = 20; i + 1 < length && tcp[i] != 0;) {
        if (tcp[i] == 1) {
            i++;
            continue;
        }
        int size = tcp[i + 1];
        if (size < 2 || i + size > length) errno = EPROTO, fail("options of a segment");
        if (tcp[i] == 8 && size == 10) value = four(tcp + i + 2), echo = four(tcp + i + 6);
        if (tcp[i] == 5) blocks = tcp + i + 2, count = (size - 2) / 8;
        i += size;
    }
    fprintf(out, " %u %u", value, echo);
    for (int i = 0; i < count; i++) fprintf(out, " %u %u", four(blocks + 8 * i), four(blocks + 8 * i + 4));
    fputc('\n', out);
}

static void record(const char *device, const char *file, int64_t end) {
    // The reading between two others is one step of the clock after the first one and before the second.
    int64_t first = now_ns(CLOCK_MONOTONIC), wall = now_ns(CLOCK_REALTIME), ahead = wall - (first + now_ns(CLOCK_MONOTONIC)) / 2;
    FILE *out = fopen(file, "w");
    if (!out) fail(file);
    // The kernel copies heads and times into a ring, which can be read later. A socket without one would keep a copy of each packet, and TCP
    // does not put other data into a packet that has a copy (skb_cloned in skb_try_coalesce).
    int s = socket(AF_PACKET, SOCK_RAW, 0), version = TPACKET_V2;
    struct tpacket_req ring = {.tp_block_size = BLOCK, .tp_block_nr = FRAMES / (BLOCK / FRAME), .tp_frame_size = FRAME, .tp_frame_nr = FRAMES};
    if (s < 0 || setsockopt(s, SOL_PACKET, PACKET_VERSION, &version, sizeof version)) fail("PACKET_VERSION");
    if (setsockopt(s, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring)) fail("PACKET_RX_RING");
    uint8_t *frames = mmap(NULL, (size_t)FRAMES * FRAME, PROT_READ | PROT_WRITE, MAP_SHARED, s, 0);
    if (frames == MAP_FAILED) fail("mmap");
    struct sockaddr_ll own = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(device)};
    if (!own.sll_ifindex || bind(s, (void *)&own, sizeof own)) fail(device);
    int at = 0;
    for (int64_t next = now_ns(CLOCK_MONOTONIC); next < end + FETCH_NS; next += FETCH_NS) {
        sleep_until(next);
        for (;; at = (at + 1) % FRAMES) {
            struct tpacket2_hdr *frame = (void *)(frames + (size_t)at * FRAME);
            if (!(__atomic_load_n(&frame->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) break;
            struct sockaddr_ll *from = (void *)((uint8_t *)frame + TPACKET_ALIGN(sizeof *frame));
            int sent = from->sll_pkttype == PACKET_OUTGOING;
            int64_t time = frame->tp_sec * BILLION + frame->tp_nsec - ahead;
            if (frame->tp_mac + HEAD > FRAME) errno = EPROTO, fail("a head that does not fit");
            if (ntohs(from->sll_protocol) == ETH_P_IP && (sent || from->sll_pkttype == PACKET_HOST) && time < end)
                write_down(out, (uint8_t *)frame + frame->tp_mac + ETH_HLEN, time, sent ? '>' : '<');
            __atomic_store_n(&frame->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        }
    }
    struct tpacket_stats missed;
    socklen_t length = sizeof missed;
    if (getsockopt(s, SOL_PACKET, PACKET_STATISTICS, &missed, &length)) fail("PACKET_STATISTICS");
    if (missed.tp_drops) errno = ENOBUFS, fail("packets that were not recorded");
    if (fclose(out)) fail(file);
}

int main(int count, char **v) {
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); // 1 ns; with the default, wake-ups are up to 50 us late
    if (count != 4) return fprintf(stderr, "segments: see the head of segments.c\n"), 2;
    record(v[1], v[2], (int64_t)(atof(v[3]) * 1e9));
    return 0;
}
