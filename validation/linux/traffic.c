// The program of the guest, in addition to the kernel and iproute2: sources, a sink, and a recorder of packets.
//
//   traffic plain DEV...                    switches off offloads, so that disciplines get the packets of the wire
//   traffic sink PORT                       accepts TCP connections and UDP packets at that port, and discards the data
//   traffic udp ADDRESS PORT TOS FLOWS BYTES BPS MODEL WANDER SEED START END
//                                           runs FLOWS sources of packets of BYTES (with IP and UDP headers) at BPS bit/s each
//   traffic tcp ADDRESS PORT TOS FLOWS CC MSS SPREAD SEED START END
//                                           runs FLOWS endless transfers that start within SPREAD seconds
//   traffic record DEV in|out FILE END      writes a record of each packet with a payload that the device receives or sends to FILE
//   traffic halt                            powers the guest off
//
// MODEL is `cbr` (a random phase, then gaps with a uniform random deviation of at most the fraction WANDER) or `poisson`.
// START and END are times of the guest's monotonic clock, which all programs share, in seconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BILLION 1000000000LL
// Number of packets that a recorder reads at once, bytes of each, and interval between reads.
#define BATCH 256
#define HEAD 128
#define FETCH_NS 50000000LL

static char buffer[1 << 17];

static void fail(const char *what) {
    fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * BILLION + t.tv_nsec;
}

static int64_t seconds(const char *text) { return (int64_t)llround(atof(text) * 1e9); }

static void sleep_until(int64_t at) {
    struct timespec t = {at / BILLION, at % BILLION};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

// SplitMix64 (Steele, Lea and Flood 2014).
static uint64_t state;
static uint64_t next_random(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}
// Uniform in (0, 1).
static double uniform(void) { return ((next_random() >> 11) + 0.5) / 9007199254740992.0; }

static void plain(int count, char **devices) {
    static const unsigned commands[] = {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO, ETHTOOL_SSG, ETHTOOL_STXCSUM};
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    for (int d = 0; d < count; d++)
        for (size_t k = 0; k < sizeof commands / sizeof *commands; k++) {
            struct ethtool_value value = {.cmd = commands[k], .data = 0};
            struct ifreq request = {0};
            strncpy(request.ifr_name, devices[d], IFNAMSIZ - 1);
            request.ifr_data = (void *)&value;
            if (ioctl(s, SIOCETHTOOL, &request) < 0) fail(devices[d]);
        }
}

static struct sockaddr_in at(const char *address, int port) {
    struct sockaddr_in made = {.sin_family = AF_INET, .sin_port = htons(port)};
    made.sin_addr.s_addr = address ? inet_addr(address) : htonl(INADDR_ANY);
    return made;
}

static void watch(int poll, int fd, uint32_t events) {
    struct epoll_event event = {.events = events, .data.fd = fd};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) < 0) fail("epoll_ctl");
}

// UDP packets are not read: they fill the socket's buffer. The open socket prevents ICMP messages about a closed port.
static void sink(int port) {
    struct sockaddr_in own = at(NULL, port);
    int one = 1, tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
    setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(tcp, (void *)&own, sizeof own) || listen(tcp, 4096) || bind(udp, (void *)&own, sizeof own)) fail("bind");
    int poll = epoll_create1(0);
    watch(poll, tcp, EPOLLIN);
    for (;;) {
        struct epoll_event ready[64];
        int count = epoll_wait(poll, ready, 64, -1);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            if (fd == tcp) {
                int made = accept4(tcp, NULL, NULL, SOCK_NONBLOCK);
                if (made >= 0) watch(poll, made, EPOLLIN);
            } else {
                ssize_t got = read(fd, buffer, sizeof buffer);
                if (got == 0 || (got < 0 && errno != EAGAIN)) close(fd);
            }
        }
    }
}

// Each flow has a port of its own, and each packet has its number within the flow.
static void udp(char **v) {
    struct sockaddr_in to = at(v[0], atoi(v[1]));
    int tos = atoi(v[2]), flows = atoi(v[3]), bytes = atoi(v[4]), poisson = !strcmp(v[6], "poisson");
    double gap = bytes * 8e9 / atof(v[5]), wander = atof(v[7]);
    state = strtoull(v[8], NULL, 10);
    int64_t start = seconds(v[9]), end = seconds(v[10]);
    int payload = bytes - 28, sockets[flows];
    uint32_t numbers[flows];
    double next[flows];
    if (payload < 4) errno = EINVAL, fail("packets of less than 32 bytes");
    for (int i = 0; i < flows; i++) {
        sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (setsockopt(sockets[i], IPPROTO_IP, IP_TOS, &tos, sizeof tos)) fail("IP_TOS");
        if (connect(sockets[i], (void *)&to, sizeof to)) fail("connect");
        numbers[i] = 0;
        next[i] = start + (poisson ? -log(uniform()) : uniform()) * gap;
    }
    for (;;) {
        int first = 0;
        for (int i = 1; i < flows; i++)
            if (next[i] < next[first]) first = i;
        if (next[first] >= end) return;
        sleep_until((int64_t)next[first]);
        memcpy(buffer, &numbers[first], sizeof *numbers);
        if (send(sockets[first], buffer, payload, 0) != payload) fail("send");
        numbers[first]++;
        next[first] += poisson ? -log(uniform()) * gap : gap * (1 + wander * (2 * uniform() - 1));
    }
}

static void tcp(char **v) {
    struct sockaddr_in to = at(v[0], atoi(v[1]));
    int tos = atoi(v[2]), flows = atoi(v[3]), mss = atoi(v[5]), sockets[flows], backlog = 16384;
    double begins[flows];
    state = strtoull(v[7], NULL, 10);
    int64_t start = seconds(v[8]), end = seconds(v[9]);
    int poll = epoll_create1(0);
    for (int i = 0; i < flows; i++) sockets[i] = -1, begins[i] = start + uniform() * atof(v[6]) * 1e9;
    for (;;) {
        int64_t now = now_ns(), next = end;
        if (now >= end) return;
        for (int i = 0; i < flows; i++) {
            if (sockets[i] >= 0) continue;
            if (begins[i] > now) {
                if (begins[i] < next) next = begins[i];
                continue;
            }
            int made = sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
            if (setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, v[4], strlen(v[4]))) fail(v[4]);
            if (setsockopt(made, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss)) fail("TCP_MAXSEG");
            if (setsockopt(made, IPPROTO_IP, IP_TOS, &tos, sizeof tos)) fail("IP_TOS");
            // A small send buffer, so that data is sent soon after it is written.
            setsockopt(made, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &backlog, sizeof backlog);
            if (connect(made, (void *)&to, sizeof to) && errno != EINPROGRESS) fail("connect");
            watch(poll, made, EPOLLOUT);
        }
        struct epoll_event ready[64];
        int count = epoll_wait(poll, ready, 64, (int)((next - now) / 1000000) + 1);
        for (int i = 0; i < count; i++)
            while (write(ready[i].data.fd, buffer, 16384) > 0)
                ;
    }
}

// Read by guest.py as `RECORD`.
struct record {
    int64_t time_ns;     // time at which the device sent or received it, guest's monotonic clock
    uint32_t source;     // address of the source
    uint32_t number;     // UDP: number within the flow; TCP: sequence number
    uint16_t port;       // port of the source
    uint16_t id;         // IP identification, which distinguishes a retransmission from the original
    uint16_t bytes;      // length with the IP header
    uint16_t payload;    // length without the headers of IP and of UDP or TCP
};

// Offset of the wall clock, which packets are stamped with and no program sets, from the monotonic clock.
static int64_t wall_ahead_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * BILLION + t.tv_nsec - now_ns();
}

static void write_down(FILE *out, const uint8_t *ip, struct msghdr *message, int64_t ahead) {
    int header = (ip[0] & 15) * 4, protocol = ip[9];
    const uint8_t *inner = ip + header;
    if (protocol != IPPROTO_UDP && protocol != IPPROTO_TCP) return;
    struct record made = {.bytes = ip[2] << 8 | ip[3], .id = ip[4] << 8 | ip[5], .port = inner[0] << 8 | inner[1]};
    memcpy(&made.source, ip + 12, 4);
    made.source = ntohl(made.source);
    if (protocol == IPPROTO_UDP) {
        memcpy(&made.number, inner + 8, 4);
        made.id = 0; // not needed: UDP packets have numbers
        made.payload = made.bytes - header - 8;
    } else {
        memcpy(&made.number, inner + 4, 4);
        made.number = ntohl(made.number);
        made.payload = made.bytes - header - (inner[12] >> 4) * 4;
    }
    if (made.payload == 0) return;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS) {
            struct timespec t;
            memcpy(&t, CMSG_DATA(c), sizeof t);
            made.time_ns = t.tv_sec * BILLION + t.tv_nsec - ahead;
        }
    fwrite(&made, sizeof made, 1, out);
}

static void record(char **v) {
    int64_t ahead = wall_ahead_ns();
    int wanted = !strcmp(v[1], "out") ? PACKET_OUTGOING : PACKET_HOST, room = 1 << 28, one = 1;
    FILE *out = fopen(v[2], "wb");
    if (!out) fail(v[2]);
    int64_t end = seconds(v[3]);
    int s = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    struct sockaddr_ll own = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = if_nametoindex(v[0])};
    if (s < 0 || bind(s, (void *)&own, sizeof own)) fail(v[0]);
    if (setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room)) fail("SO_RCVBUFFORCE");
    if (setsockopt(s, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one)) fail("SO_TIMESTAMPNS");
    struct mmsghdr messages[BATCH];
    struct iovec io[BATCH];
    struct sockaddr_ll from[BATCH];
    static char control[BATCH][128];
    // The kernel stamps each packet, so that packets can be read later, many at once.
    for (int64_t next = now_ns(); next < end + FETCH_NS; next += FETCH_NS) {
        sleep_until(next);
        for (int got = BATCH; got == BATCH;) {
            for (int i = 0; i < BATCH; i++) {
                io[i] = (struct iovec){buffer + i * HEAD, HEAD};
                messages[i].msg_hdr = (struct msghdr){.msg_name = &from[i], .msg_namelen = sizeof *from, .msg_iov = &io[i],
                                                      .msg_iovlen = 1, .msg_control = control[i], .msg_controllen = sizeof *control};
            }
            got = recvmmsg(s, messages, BATCH, MSG_DONTWAIT, NULL);
            for (int i = 0; i < got; i++)
                if (from[i].sll_pkttype == wanted && ntohs(from[i].sll_protocol) == ETH_P_IP)
                    write_down(out, (uint8_t *)buffer + i * HEAD + ETH_HLEN, &messages[i].msg_hdr, ahead);
        }
    }
    struct tpacket_stats missed;
    socklen_t length = sizeof missed;
    getsockopt(s, SOL_PACKET, PACKET_STATISTICS, &missed, &length);
    if (missed.tp_drops) errno = ENOBUFS, fail("packets that were not recorded");
    if (fclose(out)) fail(v[2]);
}

int main(int count, char **v) {
    struct rlimit most = {65536, 65536};
    signal(SIGPIPE, SIG_IGN);
    setrlimit(RLIMIT_NOFILE, &most);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); // 1 ns; with the default, wake-ups are up to 50 us late
    if (count > 2 && !strcmp(v[1], "plain")) plain(count - 2, v + 2);
    else if (count == 3 && !strcmp(v[1], "sink")) sink(atoi(v[2]));
    else if (count == 13 && !strcmp(v[1], "udp")) udp(v + 2);
    else if (count == 12 && !strcmp(v[1], "tcp")) tcp(v + 2);
    else if (count == 6 && !strcmp(v[1], "record")) record(v + 2);
    else if (count == 2 && !strcmp(v[1], "halt")) reboot(RB_POWER_OFF);
    else return fprintf(stderr, "traffic: see the head of traffic.c\n"), 2;
    return 0;
}
