/* Constant bit rate: equal packets at even intervals with a random phase, each late by a random time. */

#include "tailback_law.h"

#if defined(__wasm__)
#define new_cbr() (&sources[sources_used++])
#else
#include <stdlib.h>
#define new_cbr() ((Cbr *)calloc(1, sizeof(Cbr)))
#endif

typedef struct Cbr {
    uint64_t interval_ps, bytes;
    uint64_t jitter_ps; /* Upper bound of the lateness; 0: none. */
    uint64_t next_ps;   /* Nominal time of the next packet. */
} Cbr;

#if defined(__wasm__)
static Cbr sources[1];
static uint32_t sources_used;
#endif

void TAILBACK_EXPORT(tailback_Cbr_describe)(tailback_description *out) {
    out->abi = TAILBACK_ABI;
    out->role = TAILBACK_SOURCE;
    out->events = TAILBACK_BIT(TAILBACK_SOURCE_START) | TAILBACK_BIT(TAILBACK_SOURCE_NEXT);
    out->state_bytes = sizeof(Cbr);
}

int32_t TAILBACK_EXPORT(tailback_Cbr_create)(const tailback_host *host, Cbr **self) {
    Cbr *cbr = new_cbr();
    if (!cbr) return tailback_fail(host, "there is no memory");
    cbr->interval_ps = (uint64_t)tailback_parameter(host, "interval", TAILBACK_DURATION, 1e9);
    cbr->bytes = (uint64_t)tailback_parameter(host, "packet", TAILBACK_SIZE, 1000);
    cbr->jitter_ps = (uint64_t)(tailback_parameter(host, "jitter", TAILBACK_NUMBER, 0) * (double)cbr->interval_ps);
    *self = cbr;
    return 0;
}

int32_t TAILBACK_EXPORT(tailback_Cbr_answer)(Cbr *self, const tailback_source_call *call, tailback_source_answer *answer,
                                             const tailback_host *host) {
    if (call->event == TAILBACK_SOURCE_START) {
        self->next_ps = call->now_ps + tailback_below(host, self->interval_ps);
        return 0;
    }
    answer->at_ps = self->next_ps;
    answer->bytes = self->bytes;
    if (self->jitter_ps > 0) answer->at_ps += tailback_below(host, self->jitter_ps + 1);
    self->next_ps += self->interval_ps;
    return 0;
}

#if !defined(__wasm__)
void TAILBACK_EXPORT(tailback_Cbr_destroy)(Cbr *self) { free(self); }
#endif
