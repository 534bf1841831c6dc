// The program of the guest, in addition to the kernel and iproute2: sources, a sink, and a recorder of packets.
//
//   traffic plain DEV...                    switches off offloads, so that disciplines get the packets of the wire
//   traffic sink PORT [WARM END FILE UDP]   accepts TCP connections and UDP packets at that port, and discards the data; writes the
//                                           counters of the node's network stack at WARM and END to FILE, and until END a record of
//                                           each UDP packet to UDP
//   traffic udp ADDRESS PORT TOS FLOWS BYTES BPS MODEL WANDER SEED START END
//                                           runs FLOWS sources of packets of BYTES (with IP and UDP headers) at BPS bit/s each
//   traffic onoff ADDRESS PORT TOS FLOWS BYTES BPS ON OFF SEED START END
//                                           runs FLOWS sources that send at BPS during periods of ON seconds on average, exponential, and
//                                           pause for periods of OFF seconds on average
//   traffic tcp ADDRESS PORT TOS FLOWS CC MSS SPREAD SEED START END [WARM FILE PROBES]
//                                           runs FLOWS endless transfers that start within SPREAD seconds; writes to FILE the counters of
//                                           the node's network stack and of each transfer at WARM and END, and samples of the first PROBES
//                                           transfers every 50 ms
//   traffic transfers ADDRESS PORT TOS CC MSS MODEL BYTES INTERVAL SEED START END
//                                           starts transfers as a Poisson process with a mean INTERVAL in seconds; their size is BYTES
//                                           (MODEL fixed) or exponential with that mean (exponential)
//   traffic watch DEV HANDLE STEP WARM END FILE
//                                           writes to FILE the counters of the discipline HANDLE, hexadecimal, at WARM and END, and its
//                                           mean backlog from samples every STEP seconds
//   traffic record DEV in|out FILE END      writes a record of each packet with a payload that the device receives or sends to FILE
//   traffic adapt DEV HANDLE                starts the adaptation of the RED discipline HANDLE, hexadecimal
//   traffic halt                            powers the guest off
//
// MODEL is `cbr` (a random phase, then gaps with a uniform random deviation of at most the fraction WANDER) or `poisson`.
// START and END are times of the guest's monotonic clock, which all programs share, in seconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/gen_stats.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
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

// Writes the counters of the network stack of this node: the lines of /proc/net/netstat and snmp.
static void counters(FILE *out, const char *when) {
    static const char *files[] = {"/proc/self/net/netstat", "/proc/self/net/snmp"};
    char line[8192];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        FILE *in = fopen(files[i], "r");
        if (!in) fail(files[i]);
        while (fgets(line, sizeof line, in)) fprintf(out, "counters %s %s", when, line);
        fclose(in);
    }
}

// Read by records.py as `RECORD`.
struct record {
    int64_t time_ns;     // time at which the device sent it, or the device or program received it, guest's monotonic clock
    uint32_t source;     // address of the source
    uint32_t number;     // UDP: number within the flow; TCP: sequence number
    uint16_t port;       // port of the source
    uint16_t id;         // IP identification, which distinguishes a retransmission from the original
    uint16_t bytes;      // length with the IP header
    uint16_t payload;    // length without the headers of IP and of UDP or TCP
};

// Reads all UDP packets that have arrived, and writes their records.
static void datagrams(int udp, FILE *out) {
    struct sockaddr_in from;
    socklen_t length = sizeof from;
    ssize_t got;
    while ((got = recvfrom(udp, buffer, sizeof buffer, MSG_DONTWAIT, (void *)&from, &length)) >= 4) {
        struct record made = {.time_ns = now_ns(), .source = ntohl(from.sin_addr.s_addr), .port = ntohs(from.sin_port),
                              .bytes = got + 28, .payload = got};
        memcpy(&made.number, buffer, sizeof made.number);
        fwrite(&made, sizeof made, 1, out);
        length = sizeof from;
    }
}

// Without a file UDP packets are not read: they fill the socket's buffer. The open socket prevents ICMP messages about a closed port.
static void sink(int port, int64_t warm, int64_t finish, const char *file, const char *udp_file) {
    int64_t times[] = {warm, finish};
    static const char *names[] = {"warm", "end"};
    size_t written = file ? 0 : 2;
    FILE *out = file ? fopen(file, "w") : NULL, *records = udp_file ? fopen(udp_file, "wb") : NULL;
    if (file && (!out || !records)) fail(file);
    struct sockaddr_in own = at(NULL, port);
    int one = 1, tcp = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
    setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(tcp, (void *)&own, sizeof own) || listen(tcp, 4096) || bind(udp, (void *)&own, sizeof own)) fail("bind");
    int poll = epoll_create1(0);
    watch(poll, tcp, EPOLLIN);
    if (records) watch(poll, udp, EPOLLIN);
    for (;;) {
        struct epoll_event ready[64];
        int64_t left = written < 2 ? times[written] - now_ns() : -1;
        if (written < 2 && left <= 0) {
            counters(out, names[written++]);
            if (written == 2) {
                if (fclose(out) || fclose(records)) fail(file);
                records = NULL;
                epoll_ctl(poll, EPOLL_CTL_DEL, udp, NULL);
            }
            continue;
        }
        int count = epoll_wait(poll, ready, 64, written < 2 ? (int)((left + 999999) / 1000000) : -1);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            if (fd == udp) {
                if (records) datagrams(udp, records);
            } else if (fd == tcp) {
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

// A connection of this program; `mss` is the largest segment with its options.
static int connection(struct sockaddr_in *to, int tos, const char *control, int mss) {
    int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), most = 8 << 20, unsent = 1 << 17;
    if (setsockopt(made, IPPROTO_TCP, TCP_CONGESTION, control, strlen(control))) fail(control);
    if (setsockopt(made, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof mss)) fail("TCP_MAXSEG");
    if (setsockopt(made, IPPROTO_IP, IP_TOS, &tos, sizeof tos)) fail("IP_TOS");
    // The last segment of a write asks for an acknowledgement at once (PSH). An endless transfer has data that waits at all times, in
    // large writes, so that such segments are rare; its buffer is never smaller than the window.
    if (setsockopt(made, SOL_SOCKET, SO_SNDBUFFORCE, &most, sizeof most)) fail("SO_SNDBUFFORCE");
    setsockopt(made, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
    if (connect(made, (void *)to, sizeof *to) && errno != EINPROGRESS) fail("connect");
    return made;
}

static struct tcp_info information(int fd) {
    struct tcp_info found = {0};
    socklen_t length = sizeof found;
    if (fd >= 0 && getsockopt(fd, IPPROTO_TCP, TCP_INFO, &found, &length)) fail("TCP_INFO");
    return found;
}

static void tcp(char **v, int64_t warm, const char *file, int probes) {
    struct sockaddr_in to = at(v[0], atoi(v[1]));
    int tos = atoi(v[2]), flows = atoi(v[3]), mss = atoi(v[5]), sockets[flows];
    double begins[flows];
    state = strtoull(v[7], NULL, 10);
    int64_t start = seconds(v[8]), end = seconds(v[9]), sample = start;
    FILE *out = file ? fopen(file, "w") : NULL;
    if (file && !out) fail(file);
    bool warmed = !file;
    int poll = epoll_create1(0);
    for (int i = 0; i < flows; i++) sockets[i] = -1, begins[i] = start + uniform() * atof(v[6]) * 1e9;
    for (;;) {
        int64_t now = now_ns(), next = end;
        if (!warmed && now >= warm) {
            warmed = true;
            counters(out, "warm");
            for (int i = 0; i < flows; i++) {
                struct tcp_info found = information(sockets[i]);
                fprintf(out, "flow warm %d %llu %u\n", i, (unsigned long long)found.tcpi_bytes_acked, found.tcpi_total_retrans);
            }
        }
        if (!warmed && warm < next) next = warm;
        if (file && probes) {
            if (now >= sample) {
                for (int i = 0; i < probes && i < flows; i++)
                    if (sockets[i] >= 0) {
                        struct tcp_info found = information(sockets[i]);
                        fprintf(out, "probe %d %lld %u %u\n", i, (long long)(now - start), found.tcpi_snd_cwnd, found.tcpi_rtt);
                    }
                sample += 50000000;
            }
            if (sample < next) next = sample;
        }
        if (now >= end) break;
        for (int i = 0; i < flows; i++) {
            if (sockets[i] >= 0) continue;
            if (begins[i] > now) {
                if (begins[i] < next) next = begins[i];
                continue;
            }
            sockets[i] = connection(&to, tos, v[4], mss);
            watch(poll, sockets[i], EPOLLOUT);
        }
        struct epoll_event ready[64];
        int count = epoll_wait(poll, ready, 64, (int)((next - now) / 1000000) + 1);
        for (int i = 0; i < count; i++)
            while (write(ready[i].data.fd, buffer, 65536) > 0)
                ;
    }
    if (!file) return;
    counters(out, "end");
    for (int i = 0; i < flows; i++) {
        struct tcp_info found = information(sockets[i]);
        fprintf(out, "flow end %d %llu %u\n", i, (unsigned long long)found.tcpi_bytes_acked, found.tcpi_total_retrans);
    }
    if (fclose(out)) fail(file);
}

// A transfer ends with its connection: the sink closes it when all data has arrived.
static void transfers(char **v) {
    struct sockaddr_in to = at(v[0], atoi(v[1]));
    int tos = atoi(v[2]), mss = atoi(v[4]), poll = epoll_create1(0);
    bool fixed = !strcmp(v[5], "fixed");
    double bytes = atof(v[6]), interval = atof(v[7]) * 1e9;
    state = strtoull(v[8], NULL, 10);
    int64_t start = seconds(v[9]), end = seconds(v[10]);
    static int64_t left[65536]; // bytes to write, by descriptor
    double next = start - log(uniform()) * interval;
    for (;;) {
        int64_t now = now_ns();
        if (now >= end) return;
        if (now >= next) {
            int made = connection(&to, tos, v[3], mss);
            left[made] = fixed ? (int64_t)bytes : (int64_t)ceil(-log(uniform()) * bytes);
            watch(poll, made, EPOLLOUT | EPOLLRDHUP);
            next -= log(uniform()) * interval;
            continue;
        }
        double until = next < end ? next : end;
        struct timespec wait = {(int64_t)(until - now) / BILLION, (int64_t)(until - now) % BILLION};
        struct epoll_event ready[64];
        int count = epoll_pwait2(poll, ready, 64, &wait, NULL);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            if (ready[i].events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) {
                close(fd);
                continue;
            }
            while (left[fd] > 0) {
                ssize_t sent = write(fd, buffer, left[fd] < 65536 ? left[fd] : 65536);
                if (sent < 0) break;
                left[fd] -= sent;
            }
            if (left[fd] == 0) {
                shutdown(fd, SHUT_WR);
                struct epoll_event event = {.events = EPOLLRDHUP, .data.fd = fd};
                if (epoll_ctl(poll, EPOLL_CTL_MOD, fd, &event) < 0) fail("epoll_ctl");
            }
        }
    }
}

static void onoff(char **v) {
    struct sockaddr_in to = at(v[0], atoi(v[1]));
    int tos = atoi(v[2]), flows = atoi(v[3]), payload = atoi(v[4]) - 28, sockets[flows];
    double gap = atoi(v[4]) * 8e9 / atof(v[5]), on = atof(v[6]) * 1e9, off = atof(v[7]) * 1e9, next[flows], until[flows];
    uint32_t numbers[flows];
    state = strtoull(v[8], NULL, 10);
    int64_t start = seconds(v[9]), end = seconds(v[10]);
    if (payload < 4) errno = EINVAL, fail("packets of less than 32 bytes");
    for (int i = 0; i < flows; i++) {
        sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);
        if (setsockopt(sockets[i], IPPROTO_IP, IP_TOS, &tos, sizeof tos)) fail("IP_TOS");
        if (connect(sockets[i], (void *)&to, sizeof to)) fail("connect");
        numbers[i] = 0;
        // Stationary: on with the probability on/(on + off), and the rest of a period is exponential, too.
        double begin = start + (uniform() < on / (on + off) ? 0 : -log(uniform()) * off);
        until[i] = begin - log(uniform()) * on;
        next[i] = begin + gap;
    }
    for (;;) {
        int first = 0;
        for (int i = 0; i < flows; i++) {
            // The rest of an on period counts towards the next packet.
            while (next[i] > until[i]) {
                double rest = next[i] - until[i], begin = until[i] - log(uniform()) * off;
                next[i] = begin + rest;
                until[i] = begin - log(uniform()) * on;
            }
            if (next[i] < next[first]) first = i;
        }
        if (next[first] >= end) return;
        sleep_until((int64_t)next[first]);
        memcpy(buffer, &numbers[first], sizeof *numbers);
        if (send(sockets[first], buffer, payload, 0) != payload) fail("send");
        numbers[first]++;
        next[first] += gap;
    }
}

// Counters of a discipline.
struct queue {
    unsigned backlog, drops, packets;
    unsigned long long bytes;
};

// Calls `use` with the attributes of the discipline `handle` of a device, `rest` bytes from `first` on, and with `own`; returns false if
// the device has no such discipline.
static bool look_up(int netlink, int device, unsigned handle, void (*use)(struct tcmsg *, struct rtattr *first, int rest, void *own), void *own) {
    struct {
        struct nlmsghdr head;
        struct tcmsg message;
    } request = {{sizeof request, RTM_GETQDISC, NLM_F_REQUEST | NLM_F_DUMP, 1, 0}, {.tcm_ifindex = device}};
    static char answer[1 << 16];
    bool any = false;
    if (send(netlink, &request, sizeof request, 0) < 0) fail("netlink");
    for (bool done = false; !done;) {
        int length = recv(netlink, answer, sizeof answer, 0);
        if (length < 0) fail("netlink");
        for (struct nlmsghdr *head = (void *)answer; NLMSG_OK(head, length); head = NLMSG_NEXT(head, length)) {
            if (head->nlmsg_type == NLMSG_ERROR) errno = EPROTO, fail("netlink");
            if (head->nlmsg_type == NLMSG_DONE) {
                done = true;
                break;
            }
            struct tcmsg *message = NLMSG_DATA(head);
            if (message->tcm_ifindex != device || message->tcm_handle != handle) continue;
            any = true;
            use(message, (void *)(message + 1), head->nlmsg_len - NLMSG_LENGTH(sizeof *message), own);
        }
    }
    return any;
}

static void read_queue(struct tcmsg *message, struct rtattr *first, int rest, void *own) {
    struct queue *found = own;
    (void)message;
    for (struct rtattr *a = first; RTA_OK(a, rest); a = RTA_NEXT(a, rest)) {
        if (a->rta_type != TCA_STATS2) continue;
        int inner = RTA_PAYLOAD(a);
        for (struct rtattr *x = RTA_DATA(a); RTA_OK(x, inner); x = RTA_NEXT(x, inner)) {
            if (x->rta_type == TCA_STATS_QUEUE) {
                struct gnet_stats_queue *q = RTA_DATA(x);
                found->backlog = q->backlog, found->drops = q->drops;
            } else if (x->rta_type == TCA_STATS_BASIC) {
                struct gnet_stats_basic *q = RTA_DATA(x);
                found->bytes = q->bytes, found->packets = q->packets;
            }
        }
    }
}

static bool queue_of(int netlink, int device, unsigned handle, struct queue *found) {
    return look_up(netlink, device, handle, read_queue, found);
}

// Parameters of a RED discipline.
struct red {
    unsigned parent, most;
    struct tc_red_qopt options;
};

static void read_red(struct tcmsg *message, struct rtattr *first, int rest, void *own) {
    struct red *found = own;
    found->parent = message->tcm_parent;
    for (struct rtattr *a = first; RTA_OK(a, rest); a = RTA_NEXT(a, rest)) {
        if (a->rta_type != TCA_OPTIONS) continue;
        int inner = RTA_PAYLOAD(a);
        for (struct rtattr *x = RTA_DATA(a); RTA_OK(x, inner); x = RTA_NEXT(x, inner)) {
            if (x->rta_type == TCA_RED_PARMS) memcpy(&found->options, RTA_DATA(x), sizeof found->options);
            if (x->rta_type == TCA_RED_MAX_P) memcpy(&found->most, RTA_DATA(x), sizeof found->most);
        }
    }
}

// Starts the adaptation of a RED discipline. The kernel starts its timer only if the flag is in `tc_red_qopt.flags` (__red_change), and tc
// of iproute2 since 5.7 sets it in TCA_RED_FLAGS only. The table of idle times is left empty, since a discipline below HTB has none.
static void adapt(char **v) {
    int device = if_nametoindex(v[0]), netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    unsigned handle = strtoul(v[1], NULL, 16) << 16;
    struct red red = {0};
    if (!look_up(netlink, device, handle, read_red, &red)) errno = ENOENT, fail("the discipline to adapt");
    red.options.flags |= TC_RED_ADAPTATIVE;
    struct {
        struct nlmsghdr head;
        struct tcmsg message;
        struct rtattr kind;
        char red[4];
        struct rtattr options, parms;
        struct tc_red_qopt qopt;
        struct rtattr stab;
        char table[256];
        struct rtattr max_p;
        unsigned most;
    } request = {
        .head = {sizeof request, RTM_NEWQDISC, NLM_F_REQUEST | NLM_F_ACK, 2, 0},
        .message = {.tcm_ifindex = device, .tcm_handle = handle, .tcm_parent = red.parent},
        .kind = {sizeof(struct rtattr) + 4, TCA_KIND},
        .red = "red",
        .options = {4 * sizeof(struct rtattr) + sizeof red.options + 256 + sizeof red.most, TCA_OPTIONS},
        .parms = {sizeof(struct rtattr) + sizeof red.options, TCA_RED_PARMS},
        .qopt = red.options,
        .stab = {sizeof(struct rtattr) + 256, TCA_RED_STAB},
        .max_p = {sizeof(struct rtattr) + sizeof red.most, TCA_RED_MAX_P},
        .most = red.most,
    };
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
    } answer;
    if (send(netlink, &request, sizeof request, 0) < 0 || recv(netlink, &answer, sizeof answer, 0) < 0) fail("netlink");
    if (answer.head.nlmsg_type == NLMSG_ERROR && answer.error.error) errno = -answer.error.error, fail("the adaptation of RED");
}

static void watch_queue(char **v) {
    int device = if_nametoindex(v[0]), netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    unsigned handle = strtoul(v[1], NULL, 16) << 16;
    int64_t step = seconds(v[2]), warm = seconds(v[3]), end = seconds(v[4]);
    FILE *out = fopen(v[5], "w");
    if (!out) fail(v[5]);
    struct queue first, last;
    double sum = 0;
    long samples = 0;
    sleep_until(warm);
    if (!queue_of(netlink, device, handle, &first)) errno = ENOENT, fail("the discipline to watch");
    for (int64_t at = warm + step / 2; at < end; at += step, samples++) {
        sleep_until(at);
        queue_of(netlink, device, handle, &last);
        sum += last.backlog;
    }
    sleep_until(end);
    queue_of(netlink, device, handle, &last);
    // The counter of sent packets has those that wait, too, in a discipline that counts at arrival; both backlogs are written.
    fprintf(out, "mean_bytes %.3f\nsamples %ld\nbytes %llu\npackets %u\ndrops %u\nbacklog %d\n", sum / samples, samples,
            last.bytes - first.bytes, last.packets - first.packets, last.drops - first.drops, (int)last.backlog - (int)first.backlog);
    if (fclose(out)) fail(v[5]);
}

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
    else if (count == 3 && !strcmp(v[1], "sink")) sink(atoi(v[2]), 0, 0, NULL, NULL);
    else if (count == 7 && !strcmp(v[1], "sink")) sink(atoi(v[2]), seconds(v[3]), seconds(v[4]), v[5], v[6]);
    else if (count == 13 && !strcmp(v[1], "udp")) udp(v + 2);
    else if (count == 13 && !strcmp(v[1], "onoff")) onoff(v + 2);
    else if (count == 12 && !strcmp(v[1], "tcp")) tcp(v + 2, 0, NULL, 0);
    else if (count == 15 && !strcmp(v[1], "tcp")) tcp(v + 2, seconds(v[12]), v[13], atoi(v[14]));
    else if (count == 13 && !strcmp(v[1], "transfers")) transfers(v + 2);
    else if (count == 8 && !strcmp(v[1], "watch")) watch_queue(v + 2);
    else if (count == 6 && !strcmp(v[1], "record")) record(v + 2);
    else if (count == 4 && !strcmp(v[1], "adapt")) adapt(v + 2);
    else if (count == 2 && !strcmp(v[1], "halt")) reboot(RB_POWER_OFF);
    else return fprintf(stderr, "traffic: see the head of traffic.c\n"), 2;
    return 0;
}
