/* Reno after RFC 5681, with byte counting of two segments (RFC 3465). */

#include "tailback_law.h"

#if defined(__wasm__)
#define new_reno() (&renos[renos_used++])
#else
#include <stdlib.h>
#define new_reno() ((Reno *)calloc(1, sizeof(Reno)))
#endif

typedef struct Reno {
    uint32_t limit; /* Segments by which an acknowledgement in slow start increases the window at most. */
    int after_timeout;
} Reno;

#if defined(__wasm__)
static Reno renos[1];
static uint32_t renos_used;
#endif

void TAILBACK_EXPORT(tailback_Reno_describe)(tailback_description *out) {
    out->abi = TAILBACK_ABI;
    out->role = TAILBACK_CONGESTION_CONTROL;
    out->events = TAILBACK_BIT(TAILBACK_CONGESTION_ACKNOWLEDGED) | TAILBACK_BIT(TAILBACK_CONGESTION_LOST) |
                  TAILBACK_BIT(TAILBACK_CONGESTION_MARKED) | TAILBACK_BIT(TAILBACK_CONGESTION_TIMEOUT);
    out->state_bytes = sizeof(Reno);
}

int32_t TAILBACK_EXPORT(tailback_Reno_create)(const tailback_host *host, Reno **self) {
    Reno *reno = new_reno();
    if (!reno) return tailback_fail(host, "there is no memory");
    reno->limit = (uint32_t)tailback_parameter(host, "limit", TAILBACK_NUMBER, 2);
    *self = reno;
    return 0;
}

/* RFC 5681, section 3.1; RFC 3465, sections 2.1 to 2.3. */
static void acknowledged(Reno *reno, const tailback_congestion_call *call, tailback_congestion_answer *answer) {
    if (!call->window_limited || call->advanced == 0) return;
    if (call->cwnd < call->ssthresh) {
        uint32_t limit = reno->after_timeout ? 1 : reno->limit;
        answer->cwnd += call->advanced < limit ? call->advanced : limit;
        if (answer->cwnd >= call->ssthresh) reno->after_timeout = 0;
    } else {
        answer->cwnd += (reno->limit == 1 ? 1 : call->advanced) / answer->cwnd;
    }
}

static double at_least(double value, double low) { return value > low ? value : low; }

int32_t TAILBACK_EXPORT(tailback_Reno_answer)(Reno *self, const tailback_congestion_call *call,
                                              tailback_congestion_answer *answer, const tailback_host *host) {
    (void)host;
    switch (call->event) {
    case TAILBACK_CONGESTION_ACKNOWLEDGED:
        acknowledged(self, call, answer);
        break;
    case TAILBACK_CONGESTION_MARKED: /* RFC 3168, section 6.1.2. */
        answer->ssthresh = at_least(call->cwnd * 0.5, 2);
        answer->cwnd = at_least(call->cwnd * 0.5, 1);
        break;
    case TAILBACK_CONGESTION_TIMEOUT:
        self->after_timeout = 1;
        /* fall through */
    case TAILBACK_CONGESTION_LOST: /* RFC 5681, equation 4; the sender sets the window. */
        answer->ssthresh = at_least(call->in_flight * 0.5, 2);
        break;
    }
    return 0;
}

#if !defined(__wasm__)
void TAILBACK_EXPORT(tailback_Reno_destroy)(Reno *self) { free(self); }
#endif
