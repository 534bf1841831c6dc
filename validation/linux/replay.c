// The programs of the guest for the packet-by-packet comparison (replay.py): a sender of packets at given times, and their receiver.
//
//   replay send ADDRESS PORT START HANDLE ARRIVALS SENT TOS...
//                                  sends a UDP packet at START plus the time of each line of ARRIVALS ("time-in-ns flow bytes", ascending);
//                                  flow k has the TOS byte of its place in the list and, if HANDLE is not 0, the priority HANDLE:k+1, by
//                                  which a discipline of that handle finds its class; writes the time of each packet to SENT
//   replay receive PORT END FILE   writes "number time bytes tos" of each packet until END to FILE
//
// Times are those of the monotonic clock, END in seconds, others in nanoseconds. HANDLE is the hexadecimal number before the colon.
//
// The clock of virtual time shows steps of TICK (timer_read in arch/um/kernel/time.c divides by TIMER_MULTIPLIER), and a reading in a process
// takes a step. The sender sleeps until AHEAD before the time of a packet, and then reads the clock until it shows that time, which must be a
// multiple of 2 TICK. Packets that wait leave a TICK after such a multiple, as the sender wakes: a timer that is followed by another one in less
// than 500 ns (TIMER_MIN_DELTA) makes that one late.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#define PROGRAM "replay"
#include "clock.h"

#define TICK 256
#define AHEAD (15 * TICK)
#define HEADERS 28
#define FLOWS 64

static char buffer[65536];

static FILE *opened(const char *name, const char *mode) {
    FILE *file = fopen(name, mode);
    if (!file) fail(name);
    return file;
}

static void send_all(int count, char **v) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(atoi(v[1])), .sin_addr.s_addr = inet_addr(v[0])};
    int64_t start = atoll(v[2]), time;
    unsigned handle = strtoul(v[3], NULL, 16), flow, bytes, number = 0;
    FILE *in = opened(v[4], "r"), *out = opened(v[5], "w");
    int sockets[FLOWS], flows = count - 6, room = 1 << 28;
    if (flows > FLOWS) errno = EINVAL, fail("too many flows");
    for (int i = 0; i < flows; i++) {
        int tos = atoi(v[6 + i]), priority = handle << 16 | (unsigned)(i + 1);
        sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);
        // Setting the TOS sets a priority, too, so it comes first.
        if (setsockopt(sockets[i], IPPROTO_IP, IP_TOS, &tos, sizeof tos)) fail("IP_TOS");
        if (handle && setsockopt(sockets[i], SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority)) fail("SO_PRIORITY");
        if (setsockopt(sockets[i], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room)) fail("SO_SNDBUFFORCE");
        if (connect(sockets[i], (void *)&to, sizeof to)) fail("connect");
    }
    while (fscanf(in, "%ld %u %u", &time, &flow, &bytes) == 3) {
        if (flow >= (unsigned)flows || bytes < HEADERS + sizeof number) errno = EINVAL, fail("arrival");
        memcpy(buffer, &number, sizeof number);
        int64_t now = now_ns(CLOCK_MONOTONIC);
        if (now < start + time - AHEAD) sleep_until(start + time - AHEAD);
        while (now < start + time) now = now_ns(CLOCK_MONOTONIC);
        // A packet that the discipline drops is no error here.
        if (send(sockets[flow], buffer, bytes - HEADERS, 0) < 0) fail("send");
        fprintf(out, "%ld\n", now - start);
        number++;
    }
    if (!feof(in)) errno = EINVAL, fail(v[4]);
    if (fclose(out)) fail(v[5]);
}

static void receive_all(char **v) {
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(atoi(v[0]))};
    int64_t end = atoll(v[1]) * BILLION;
    // The reading between two others is one step after the first one and before the second.
    int64_t first = now_ns(CLOCK_MONOTONIC), wall = now_ns(CLOCK_REALTIME), ahead = wall - (first + now_ns(CLOCK_MONOTONIC)) / 2;
    FILE *out = opened(v[2], "w");
    int s = socket(AF_INET, SOCK_DGRAM, 0), room = 1 << 28, one = 1;
    if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) fail("SO_RCVBUFFORCE");
    if (setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one)) fail("SO_TIMESTAMPNS");
    if (setsockopt(s, IPPROTO_IP, IP_RECVTOS, &one, sizeof one)) fail("IP_RECVTOS");
    if (bind(s, (void *)&own, sizeof own)) fail("bind");
    // The kernel stamps each packet. All are read at the end, so that this program does not advance the time before.
    sleep_until(end);
    for (;;) {
        char control[256];
        struct iovec io = {buffer, sizeof buffer};
        struct msghdr message = {.msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        ssize_t length = recvmsg(s, &message, MSG_DONTWAIT);
        if (length < 0 && errno == EAGAIN) break;
        if (length < (ssize_t)sizeof(unsigned)) fail("recvmsg");
        unsigned number, tos = 0;
        int64_t time = -1;
        memcpy(&number, buffer, sizeof number);
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
                struct timespec t;
                memcpy(&t, CMSG_DATA(c), sizeof t);
                time = t.tv_sec * BILLION + t.tv_nsec - ahead;
            } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
                tos = *(unsigned char *)CMSG_DATA(c);
            }
        }
        fprintf(out, "%u %ld %zd %u\n", number, time, length + HEADERS, tos);
    }
    if (fclose(out)) fail(v[2]);
}

int main(int count, char **v) {
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); // 1 ns; with the default, wake-ups are up to 50 us late
    if (count > 8 && !strcmp(v[1], "send")) send_all(count - 2, v + 2);
    else if (count == 5 && !strcmp(v[1], "receive")) receive_all(v + 2);
    else return fprintf(stderr, "replay: see the head of replay.c\n"), 2;
    return 0;
}
