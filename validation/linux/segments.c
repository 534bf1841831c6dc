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
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#define PROGRAM "segments"
#include "clock.h"

#define FETCH_NS 50000000LL
#define HEAD 128 // Ethernet, IP and TCP headers with all options: at most 14 + 60 + 60 bytes, without IP options 114

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
    static uint8_t head[HEAD];
    static char control[256];
    // The reading between two others is one step of the clock after the first one and before the second.
    int64_t first = now_ns(CLOCK_MONOTONIC), wall = now_ns(CLOCK_REALTIME), ahead = wall - (first + now_ns(CLOCK_MONOTONIC)) / 2;
    FILE *out = fopen(file, "w");
    if (!out) fail(file);
    int s = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), room = 1 << 28, one = 1;
    struct sockaddr_ll own = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(device)}, from;
    if (s < 0 || !own.sll_ifindex || bind(s, (void *)&own, sizeof own)) fail(device);
    if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) fail("SO_RCVBUFFORCE");
    if (setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one)) fail("SO_TIMESTAMPNS");
    // The kernel stamps each packet, so that packets can be read later, many at once.
    for (int64_t next = now_ns(CLOCK_MONOTONIC); next < end + FETCH_NS; next += FETCH_NS) {
        sleep_until(next);
        for (;;) {
            struct iovec io = {head, sizeof head};
            struct msghdr message = {.msg_name = &from, .msg_namelen = sizeof from, .msg_iov = &io, .msg_iovlen = 1,
                                     .msg_control = control, .msg_controllen = sizeof control};
            ssize_t got = recvmsg(s, &message, MSG_DONTWAIT);
            if (got < 0 && errno == EAGAIN) break;
            if (got < 0) fail("recvmsg");
            int sent = from.sll_pkttype == PACKET_OUTGOING;
            if (ntohs(from.sll_protocol) != ETH_P_IP || (!sent && from.sll_pkttype != PACKET_HOST)) continue;
            int64_t time = -1;
            for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
                if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
                    struct timespec t;
                    memcpy(&t, CMSG_DATA(c), sizeof t);
                    time = t.tv_sec * BILLION + t.tv_nsec - ahead;
                }
            if (time < 0) errno = ENODATA, fail("a packet without a time");
            if (time < end) write_down(out, head + ETH_HLEN, time, sent ? '>' : '<');
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
