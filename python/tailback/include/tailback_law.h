/* Tailback's interface of compiled components: queue laws, schedulers, congestion controls and traffic sources, in machine
 * code in a library, and in WebAssembly.
 *
 * A file defines, for each class NAME of the scenario's key `class`, the functions
 *
 *     void    tailback_NAME_describe(tailback_description *out);
 *     int32_t tailback_NAME_create(const tailback_host *host, NAME **self);
 *     int32_t tailback_NAME_answer(NAME *self, const tailback_ROLE_call *call, tailback_ROLE_answer *answer,
 *                                  const tailback_host *host);
 *     double  tailback_NAME_probe(const NAME *self, uint32_t number);    if the class has probes
 *     void    tailback_NAME_destroy(NAME *self);                         optional; machine code only
 *
 * each marked with TAILBACK_EXPORT(function); ROLE is queue, scheduler, congestion or source. `create` reads the parameters and
 * makes an instance for one queue, port, connection or flow. For a new connection or a new start of the same flow, the
 * instance is freed and made again. Before a call of `answer`, the answer has the values that leave everything as it is; its
 * declaration states them. A status other than 0 ends the run; tailback_fail states the reason. No function throws an exception
 * or unwinds into its caller.
 *
 * A component repeats its results if its decisions depend only on its arguments, on its variables, and on numbers that it draws
 * through `host`. The functions of this header have the same bits on every platform; those of <math.h> do not, except sqrt.
 *
 * Threads: an instance may be made, called and freed on different threads, one at a time; different instances are called at
 * the same time. So variables outside instances are constants.
 *
 * WebAssembly: the same source compiles to a module. `host` is null, and the functions of the host are imports. The module
 * exports its memory as `memory`, and `tailback_space`, which this header defines: in one source file of several, define
 * TAILBACK_NO_SPACE in the others.
 *
 * Times are picoseconds since the start of the run. docs/laws.md describes the calls.
 */
#ifndef TAILBACK_LAW_H
#define TAILBACK_LAW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the interface. */
#define TAILBACK_ABI 1

#if defined(__wasm__)
#define TAILBACK_EXPORT(function) __attribute__((export_name(#function))) function
#elif defined(_WIN32)
#define TAILBACK_EXPORT(function) __declspec(dllexport) function
#else
#define TAILBACK_EXPORT(function) __attribute__((visibility("default"))) function
#endif

/* Roles. */
enum {
    TAILBACK_QUEUE_LAW = 0,
    TAILBACK_SCHEDULER = 1,
    TAILBACK_CONGESTION_CONTROL = 2,
    TAILBACK_SOURCE = 3
};

/* Events of a queue law: numbers in a call, and bits in a description. */
enum {
    TAILBACK_START = 0,  /* The run begins: called once, before the first packet. */
    TAILBACK_ARRIVE = 1, /* A packet arrives. */
    TAILBACK_DEPART = 2, /* A packet has been taken from the head of the queue for transmission. */
    TAILBACK_EMPTY = 3,  /* A packet was wanted for transmission, and none waits. */
    TAILBACK_TIMER = 4,  /* The time of the wake-up has come. */
    TAILBACK_IDLE = 5    /* The transmitter has become free, and the queue is empty. */
};
#define TAILBACK_BIT(event) (1u << (event))

/* Verdicts about a packet. MARK marks an ECN-capable packet and drops any other (RFC 3168, section 7). */
enum { TAILBACK_PASS = 0, TAILBACK_MARK = 1, TAILBACK_DROP = 2 };

/* No wake-up, and no limit. */
#define TAILBACK_NEVER UINT64_MAX

/* Arguments of a call of a queue law. The fields of the packet are 0 unless it arrives or departs. */
typedef struct tailback_queue_call {
    uint64_t now_ps;        /* Current time. */
    uint64_t sojourn_ps;    /* Time that a departing packet has waited. */
    uint64_t queue_packets; /* Waiting packets: without an arriving one, and behind a departing one. */
    uint64_t queue_bytes;   /* Buffer bytes of these packets. */
    uint64_t limit_packets; /* Limit of the queue, packets; TAILBACK_NEVER: none. */
    uint64_t limit_bytes;   /* Limit of the queue, buffer bytes; TAILBACK_NEVER: none. */
    uint64_t rate_bps;      /* Rate of the link, bit/s; it may change during the run. */
    uint32_t event;         /* Event: TAILBACK_START and others. */
    uint32_t size;          /* Buffer bytes of the packet. */
    uint32_t payload;       /* Payload bytes of the packet. */
    uint32_t flow;          /* Index of the packet's flow; each direction of a connection has its own. */
    uint32_t sequence;      /* Number within the flow; in acknowledgements the next one expected. */
    uint8_t traffic_class;  /* Class, 0 (highest) to 7. */
    uint8_t ecn;            /* ECN codepoint: 0 not ECN-capable, 1 ECT(1), 2 ECT(0), 3 CE. */
    uint8_t dscp;           /* Code point, 0 to 63. */
    uint8_t colour;         /* 0 green, 1 yellow, 2 red. */
    uint8_t full;           /* 1: there is no room for the arriving packet, which is dropped whatever the verdict. */
    uint8_t reserved[7];
} tailback_queue_call;

/* Answer of a queue law; before a call PASS and the wake-up of the previous answer. */
typedef struct tailback_queue_answer {
    uint64_t wake_ps; /* Time of the next TAILBACK_TIMER, not before now; TAILBACK_NEVER: none. */
    uint32_t verdict; /* TAILBACK_PASS, TAILBACK_MARK or TAILBACK_DROP. */
    uint32_t reserved;
} tailback_queue_answer;

/* Events of a scheduler. */
enum {
    TAILBACK_SCHEDULER_START = 0,   /* The run begins: called once, before the first packet. */
    TAILBACK_SCHEDULER_ARRIVED = 1, /* A packet has been admitted to a queue. */
    TAILBACK_SCHEDULER_SELECT = 2,  /* The link is free: the scheduler chooses a queue. Every scheduler has this event. */
    TAILBACK_SCHEDULER_SENT = 3,    /* A packet has been taken from the chosen queue for transmission. */
    TAILBACK_SCHEDULER_TIMER = 4,   /* The time of the wake-up has come. */
    TAILBACK_SCHEDULER_IDLE = 5     /* The transmitter has become free, and all queues are empty. */
};

/* Arguments of a call of a scheduler. `queue`, `size`, `wire` and `flow` are those of the packet that has arrived or is sent,
 * else 0. The states of the queues follow the record: see tailback_queues. */
typedef struct tailback_scheduler_call {
    uint64_t now_ps;   /* Current time. */
    uint64_t rate_bps; /* Rate of the link, bit/s; it may change during the run. */
    uint32_t event;    /* Event: TAILBACK_SCHEDULER_SELECT and others. */
    uint32_t queue;    /* Index of the packet's queue. */
    uint32_t size;     /* Buffer bytes of the packet. */
    uint32_t wire;     /* Bytes of the packet on the link. */
    uint32_t flow;     /* Index of the packet's flow. */
    uint32_t queues;   /* Number of queues, at most 250. */
} tailback_scheduler_call;

/* State of a queue. */
typedef struct tailback_queue_state {
    uint64_t packets; /* Waiting packets. */
    uint64_t bytes;   /* Buffer bytes of these packets. */
    uint32_t ready;   /* 1: the queue may be chosen; 0: no packet waits, or no packet may leave now. */
    uint32_t reserved;
} tailback_queue_state;

/* Returns the states of the queues, in the order of the scenario. */
static inline const tailback_queue_state *tailback_queues(const tailback_scheduler_call *call) {
    return (const tailback_queue_state *)(call + 1);
}

/* No queue. */
#define TAILBACK_NO_QUEUE UINT32_MAX

/* Answer of a scheduler; before a call TAILBACK_NO_QUEUE and the wake-up of the previous answer. */
typedef struct tailback_scheduler_answer {
    uint64_t wake_ps; /* Time of the next TAILBACK_SCHEDULER_TIMER, not before now; TAILBACK_NEVER: none. */
    uint32_t queue;   /* Chosen queue, which is ready; TAILBACK_NO_QUEUE: no packet is sent now. Read after SELECT only. */
    uint32_t reserved;
} tailback_scheduler_answer;

/* Events of a congestion control. */
enum {
    TAILBACK_CONGESTION_START = 0,        /* The connection opens, before its first segment. */
    TAILBACK_CONGESTION_ACKNOWLEDGED = 1, /* A segment is acknowledged, outside loss recovery unless OWNS_RECOVERY. */
    TAILBACK_CONGESTION_LOST = 2,         /* Acknowledgements indicate a loss, and recovery begins. */
    TAILBACK_CONGESTION_MARKED = 3,       /* The receiver echoes a mark; once per window. Never with HANDLES_ECHOES. */
    TAILBACK_CONGESTION_TIMEOUT = 4,      /* The retransmission timer has expired for a segment for the first time. */
    TAILBACK_CONGESTION_SENT = 5,         /* A segment is transmitted. */
    TAILBACK_CONGESTION_TIMER = 6,        /* The time of the wake-up has come. */
    TAILBACK_CONGESTION_SPURIOUS = 7      /* The last reduction was spurious; the sender has restored the window. */
};

/* Options of a congestion control: bits in a description. */
enum {
    TAILBACK_PACES = 1,          /* It sets a pacing rate. */
    TAILBACK_OWNS_RECOVERY = 2,  /* It sets the window in loss recovery and after a timeout, too; else the sender does. */
    TAILBACK_HANDLES_ECHOES = 4, /* It responds to `ece` by itself. */
    TAILBACK_SAMPLES_RATE = 8    /* Acknowledgements carry samples of the delivery rate. */
};

/* Arguments of a call of a congestion control. Fields that an event does not have are 0. */
typedef struct tailback_congestion_call {
    uint64_t now_ps;           /* Current time. */
    uint64_t rtt_ps;           /* Sample of the round-trip time; TAILBACK_NEVER: no sample. */
    uint64_t srtt_ps;          /* Smoothed round-trip time (RFC 6298); 0 before the first acknowledgement. */
    uint64_t min_rtt_ps;       /* Minimum round-trip time; 0 before the first acknowledgement. */
    double cwnd;               /* Congestion window, segments. */
    double ssthresh;           /* Slow-start threshold, segments; infinite before the first congestion unless one is set. */
    double delivery_rate;      /* Sample of the delivery rate, segments per second; 0: no sample. */
    uint32_t event;            /* Event: TAILBACK_CONGESTION_ACKNOWLEDGED and others. */
    uint32_t delivered;        /* Segments newly acknowledged, cumulatively or selectively. */
    uint32_t advanced;         /* Segments by which the cumulative acknowledgement advances. */
    uint32_t in_flight_before; /* Segments outstanding before the acknowledgement. */
    uint32_t in_flight;        /* Segments outstanding after it; FlightSize (RFC 5681) for losses, marks and timeouts. */
    uint32_t lost;             /* Segments newly considered lost since the last acknowledgement that was reported. */
    uint32_t payload;          /* Payload of a full segment, bytes. */
    uint8_t window_limited;    /* 1: the window, not the application or the receiver, limits the sender. */
    uint8_t ece;               /* 1: the acknowledgement echoes a mark. */
    uint8_t recovering;        /* 1: the sender is in loss recovery. */
    uint8_t round;             /* 1: the acknowledgement ends a round trip. */
    uint8_t app_limited;       /* 1: the application limited the sample of the delivery rate. */
    uint8_t idle;              /* 1: no segment was outstanding before the transmission. */
    uint8_t reserved[6];
} tailback_congestion_call;

/* Answer of a congestion control; before a call the present values. */
typedef struct tailback_congestion_answer {
    double cwnd;      /* Congestion window, segments, 1 to 1e9. */
    double ssthresh;  /* Slow-start threshold, segments, 1 or more, or infinite. */
    double rate;      /* Pacing rate, segments per second, with TAILBACK_PACES; 0: segments leave as the window allows. */
    uint64_t wake_ps; /* Time of the next TAILBACK_CONGESTION_TIMER, not before now; TAILBACK_NEVER: none. */
} tailback_congestion_answer;

/* Events of a traffic source. */
enum {
    TAILBACK_SOURCE_START = 0, /* The source starts; the answer is ignored. */
    TAILBACK_SOURCE_NEXT = 1   /* The next burst is wanted. Every source has this event. */
};

/* Arguments of a call of a traffic source. */
typedef struct tailback_source_call {
    uint64_t now_ps; /* Time of the last burst; before the first one, of the start. */
    uint64_t bursts; /* Number of bursts so far. */
    uint32_t event;  /* Event: TAILBACK_SOURCE_NEXT or TAILBACK_SOURCE_START. */
    uint32_t reserved;
} tailback_source_call;

/* Answer of a traffic source; before a call TAILBACK_NEVER and 0. */
typedef struct tailback_source_answer {
    uint64_t at_ps; /* Time of the next burst, not before the last one; TAILBACK_NEVER: there is none. */
    uint64_t bytes; /* Payload of the burst, 1 to 2^40 bytes. */
} tailback_source_answer;

/* Properties of a class; zero before the call of `describe`. */
typedef struct tailback_description {
    uint32_t abi;         /* TAILBACK_ABI. */
    uint32_t role;        /* TAILBACK_QUEUE_LAW and others. */
    uint32_t events;      /* Events that the class is called for: TAILBACK_BIT(TAILBACK_DEPART) and others. */
    uint32_t marks;       /* 1 if the class is a queue law that may answer MARK, else 0. */
    uint64_t state_bytes; /* Size of the variables of an instance. */
    char probes[228];     /* Names of state variables for time series, separated by commas, with a zero at the end. */
    uint32_t options;     /* Options of a congestion control: TAILBACK_PACES and others. */
} tailback_description;

/* Units of parameters, with the form in the scenario. */
enum {
    TAILBACK_NUMBER = 0,   /* A number. */
    TAILBACK_DURATION = 1, /* A duration such as "5ms"; the value is picoseconds. */
    TAILBACK_RATE = 2,     /* A rate such as "10Mbit/s"; the value is bit/s. */
    TAILBACK_SIZE = 3,     /* A size such as "9kB"; the value is bytes. */
    TAILBACK_FLAG = 4      /* true or false; the value is 1 or 0. */
};

/* Functions of the host. A component calls the functions below in place of these pointers. */
typedef struct tailback_host {
    void *context;
    void (*fail)(void *, const char *);
    double (*random)(void *);
    uint64_t (*below)(void *, uint64_t);
    double (*exponential)(void *, double);
    double (*normal)(void *);
    double (*parameter)(void *, const char *, uint32_t, double);
    uint32_t (*text)(void *, const char *, char *, uint32_t);
    double (*ln)(double);
    double (*ln_1p)(double);
    double (*log2)(double);
    double (*exp)(double);
    double (*exp_m1)(double);
    double (*sin)(double);
    double (*cos)(double);
    double (*ln_gamma)(double);
    double (*pow)(double, double);
} tailback_host;

#if defined(__wasm__)
#define TAILBACK_IMPORT(name) __attribute__((import_module("tailback"), import_name(#name)))
TAILBACK_IMPORT(fail) void tailback_import_fail(const char *);
TAILBACK_IMPORT(random) double tailback_import_random(void);
TAILBACK_IMPORT(below) uint64_t tailback_import_below(uint64_t);
TAILBACK_IMPORT(exponential) double tailback_import_exponential(double);
TAILBACK_IMPORT(normal) double tailback_import_normal(void);
TAILBACK_IMPORT(parameter) double tailback_import_parameter(const char *, uint32_t, double);
TAILBACK_IMPORT(text) uint32_t tailback_import_text(const char *, char *, uint32_t);
TAILBACK_IMPORT(ln) double tailback_import_ln(double);
TAILBACK_IMPORT(ln_1p) double tailback_import_ln_1p(double);
TAILBACK_IMPORT(log2) double tailback_import_log2(double);
TAILBACK_IMPORT(exp) double tailback_import_exp(double);
TAILBACK_IMPORT(exp_m1) double tailback_import_exp_m1(double);
TAILBACK_IMPORT(sin) double tailback_import_sin(double);
TAILBACK_IMPORT(cos) double tailback_import_cos(double);
TAILBACK_IMPORT(ln_gamma) double tailback_import_ln_gamma(double);
TAILBACK_IMPORT(pow) double tailback_import_pow(double, double);
#define TAILBACK_OF_STATE(host, name) ((void)(host), tailback_import_##name())
#define TAILBACK_WITH_STATE(host, name, ...) ((void)(host), tailback_import_##name(__VA_ARGS__))
#define TAILBACK_PURE(host, name, ...) ((void)(host), tailback_import_##name(__VA_ARGS__))
#else
#define TAILBACK_OF_STATE(host, name) ((host)->name((host)->context))
#define TAILBACK_WITH_STATE(host, name, ...) ((host)->name((host)->context, __VA_ARGS__))
#define TAILBACK_PURE(host, name, ...) ((host)->name(__VA_ARGS__))
#endif

/* States why the call fails, and returns the status 1. */
static inline int32_t tailback_fail(const tailback_host *host, const char *reason) {
    TAILBACK_WITH_STATE(host, fail, reason);
    return 1;
}

/* Draws from the random stream of the port, the connection or the flow, in `answer` only: a uniform number on [0, 1), a uniform
 * integer on [0, n), an exponentially distributed number with this mean, and one with the standard normal distribution. */
static inline double tailback_random(const tailback_host *host) { return TAILBACK_OF_STATE(host, random); }
static inline uint64_t tailback_below(const tailback_host *host, uint64_t n) {
    return TAILBACK_WITH_STATE(host, below, n);
}
static inline double tailback_exponential(const tailback_host *host, double mean) {
    return TAILBACK_WITH_STATE(host, exponential, mean);
}
static inline double tailback_normal(const tailback_host *host) { return TAILBACK_OF_STATE(host, normal); }

/* Returns a parameter, `otherwise` if the scenario does not state it; in `create` only. A parameter of the scenario that
 * `create` does not read is refused. */
static inline double tailback_parameter(const tailback_host *host, const char *name, uint32_t unit, double otherwise) {
    return TAILBACK_WITH_STATE(host, parameter, name, unit, otherwise);
}
/* Copies a parameter that is text, with a zero at the end, and returns its length; UINT32_MAX: the scenario does not state
 * it. A text that does not fit is cut off; in `create` only. */
static inline uint32_t tailback_text(const tailback_host *host, const char *name, char *buffer, uint32_t capacity) {
    return TAILBACK_WITH_STATE(host, text, name, buffer, capacity);
}

/* Functions with the same bits on every platform. */
static inline double tailback_ln(const tailback_host *host, double x) { return TAILBACK_PURE(host, ln, x); }
static inline double tailback_ln_1p(const tailback_host *host, double x) { return TAILBACK_PURE(host, ln_1p, x); }
static inline double tailback_log2(const tailback_host *host, double x) { return TAILBACK_PURE(host, log2, x); }
static inline double tailback_exp(const tailback_host *host, double x) { return TAILBACK_PURE(host, exp, x); }
static inline double tailback_exp_m1(const tailback_host *host, double x) { return TAILBACK_PURE(host, exp_m1, x); }
static inline double tailback_sin(const tailback_host *host, double x) { return TAILBACK_PURE(host, sin, x); }
static inline double tailback_cos(const tailback_host *host, double x) { return TAILBACK_PURE(host, cos, x); }
static inline double tailback_ln_gamma(const tailback_host *host, double x) { return TAILBACK_PURE(host, ln_gamma, x); }
static inline double tailback_pow(const tailback_host *host, double x, double y) {
    return TAILBACK_PURE(host, pow, x, y);
}

/* Writes the names of the probes into a description. */
static inline void tailback_probes(tailback_description *out, const char *names) {
    size_t at = 0;
    for (; names[at] != 0 && at + 1 < sizeof out->probes; at++) out->probes[at] = names[at];
    out->probes[at] = 0;
}

#if defined(__wasm__) && !defined(TAILBACK_NO_SPACE)
/* Returns the address of memory in which the host places the records of a call: 8192 bytes for schedulers, 1024 for other
 * components. */
__attribute__((export_name("tailback_space"))) void *tailback_space(void) {
    static uint64_t space[1024];
    return space;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
