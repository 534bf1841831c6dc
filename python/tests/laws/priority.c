/* Strict priority: the first queue that is ready sends. */

#include "tailback_law.h"

/* There are no variables, and all ports share one instance. */
typedef struct Priority { char unused; } Priority;

void TAILBACK_EXPORT(tailback_Priority_describe)(tailback_description *out) {
    out->abi = TAILBACK_ABI;
    out->role = TAILBACK_SCHEDULER;
    out->events = TAILBACK_BIT(TAILBACK_SCHEDULER_SELECT);
}

int32_t TAILBACK_EXPORT(tailback_Priority_create)(const tailback_host *host, Priority **self) {
    static Priority priority;
    (void)host;
    *self = &priority;
    return 0;
}

int32_t TAILBACK_EXPORT(tailback_Priority_answer)(Priority *self, const tailback_scheduler_call *call,
                                                  tailback_scheduler_answer *answer, const tailback_host *host) {
    const tailback_queue_state *queues = tailback_queues(call);
    (void)self;
    (void)host;
    if (call->event != TAILBACK_SCHEDULER_SELECT) return 0;
    for (uint32_t queue = 0; queue < call->queues; queue++) {
        if (queues[queue].ready) {
            answer->queue = queue;
            return 0;
        }
    }
    return 0;
}
