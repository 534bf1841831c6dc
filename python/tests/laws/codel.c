/* CoDel from the pseudo-code of RFC 8289, section 5. */

#include "tailback_law.h"

#if defined(__wasm__)
#define new_codel() (&codels[codels_used++])
#else
#include <stdlib.h>
#define new_codel() ((Codel *)calloc(1, sizeof(Codel)))
#endif

/* What the dequeue has done with the packet before: one dequeue of the RFC may take several packets. */
enum after { NOTHING, FIRST_DROP, DROP };

typedef struct Codel {
    uint64_t target_ps, interval_ps, mtu;
    uint64_t first_above_ps; /* 0: the delay is not above the target. */
    uint64_t drop_next_ps;
    uint32_t count, lastcount;
    int dropping;
    enum after after;
} Codel;

#if defined(__wasm__)
static Codel codels[1];
static uint32_t codels_used;
#endif

void TAILBACK_EXPORT(tailback_Codel_describe)(tailback_description *out) {
    out->abi = TAILBACK_ABI;
    out->role = TAILBACK_QUEUE_LAW;
    out->events = TAILBACK_BIT(TAILBACK_DEPART) | TAILBACK_BIT(TAILBACK_EMPTY);
    /* As the built-in law counts: two times, a flag for one of them, two counters, a state and what was done before. */
    out->state_bytes = 34;
    tailback_probes(out, "dropping,count");
}

int32_t TAILBACK_EXPORT(tailback_Codel_create)(const tailback_host *host, Codel **self) {
    Codel *codel = new_codel();
    if (!codel) return tailback_fail(host, "there is no memory");
    codel->target_ps = (uint64_t)tailback_parameter(host, "target", TAILBACK_DURATION, 5e9);
    codel->interval_ps = (uint64_t)tailback_parameter(host, "interval", TAILBACK_DURATION, 100e9);
    codel->mtu = (uint64_t)tailback_parameter(host, "mtu", TAILBACK_NUMBER, 1514);
    *self = codel;
    return 0;
}

static uint64_t control_law(const Codel *codel, uint64_t t) {
    return t + (uint64_t)((double)codel->interval_ps / __builtin_sqrt(codel->count));
}

static int ok_to_drop(Codel *codel, const tailback_queue_call *call) {
    if (call->sojourn_ps < codel->target_ps || call->queue_bytes <= codel->mtu) {
        codel->first_above_ps = 0;
        return 0;
    }
    if (codel->first_above_ps == 0) {
        codel->first_above_ps = call->now_ps + codel->interval_ps;
        return 0;
    }
    return call->now_ps > codel->first_above_ps;
}

static void begin(Codel *codel, uint64_t now) {
    uint32_t delta = codel->count - codel->lastcount;
    int recent = now < codel->drop_next_ps + 16 * codel->interval_ps;
    codel->dropping = 1;
    codel->count = (int32_t)delta > 1 && recent ? delta : 1;
    codel->drop_next_ps = control_law(codel, now);
    codel->lastcount = codel->count;
}

static uint32_t depart(Codel *codel, const tailback_queue_call *call) {
    int ok = ok_to_drop(codel, call);
    enum after after = codel->after;
    codel->after = NOTHING;
    if (after == FIRST_DROP) {
        begin(codel, call->now_ps);
        return TAILBACK_PASS;
    }
    if (after == DROP) {
        if (ok) codel->drop_next_ps = control_law(codel, codel->drop_next_ps);
    } else if (!codel->dropping) {
        if (!ok) return TAILBACK_PASS;
        codel->after = FIRST_DROP;
        return TAILBACK_DROP;
    }
    codel->dropping = codel->dropping && ok;
    if (codel->dropping && call->now_ps >= codel->drop_next_ps) {
        codel->count++;
        codel->after = DROP;
        return TAILBACK_DROP;
    }
    return TAILBACK_PASS;
}

static void empty(Codel *codel, uint64_t now) {
    enum after after = codel->after;
    codel->after = NOTHING;
    codel->first_above_ps = 0;
    if (after == FIRST_DROP) {
        begin(codel, now);
    } else {
        codel->dropping = 0;
    }
}

int32_t TAILBACK_EXPORT(tailback_Codel_answer)(Codel *self, const tailback_queue_call *call, tailback_queue_answer *answer,
                                               const tailback_host *host) {
    (void)host;
    if (call->event == TAILBACK_DEPART) {
        answer->verdict = depart(self, call);
    } else {
        empty(self, call->now_ps);
    }
    return 0;
}

double TAILBACK_EXPORT(tailback_Codel_probe)(const Codel *self, uint32_t number) {
    return number == 0 ? (double)self->dropping : (double)self->count;
}

#if !defined(__wasm__)
void TAILBACK_EXPORT(tailback_Codel_destroy)(Codel *self) { free(self); }
#endif
