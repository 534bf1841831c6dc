// Bare engine for the workloads `forward` and `udpqueue`: an upper bound on the speed of a simulator on a machine.
// gcc -O3 -march=native ceiling.c -o ceiling -lm
// usage: ceiling forward|udpqueue 1|2
// The number is that of events per hop. 2: end of transmission and arrival, as in htsim. 1: arrival only, since a FIFO
// link's departure times are known when a packet is enqueued.
// The heap has one entry for each active link or source, and none for single packets. Packets are 24-byte records in a
// ring for each link. Times are in picoseconds.
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <math.h>
typedef uint64_t u64; typedef uint32_t u32;
typedef struct { u64 t; u32 obj, seq; } E;                 // 16 B
static E h[4096]; static int n; static u32 sq;
static inline int lt(E a, E b) { return a.t < b.t || (a.t == b.t && (int32_t)(a.seq - b.seq) < 0); }
static inline void up(E e, int i) { while (i) { int p = (i - 1) >> 2; if (!lt(e, h[p])) break; h[i] = h[p]; i = p; } h[i] = e; }
static inline void down(E e) { int i = 0; for (;;) { int c = 4 * i + 1; if (c >= n) break; int m = c, z = c + 4 < n ? c + 4 : n; for (int k = c + 1; k < z; k++) if (lt(h[k], h[m])) m = k; if (!lt(h[m], e)) break; h[i] = h[m]; i = m; } h[i] = e; }
static inline void push(u64 t, u32 o) { E e = {t, o, sq++}; n++; up(e, n - 1); }
static inline void retop(u64 t) { E e = {t, h[0].obj, sq++}; down(e); }
static inline void poptop(void) { E e = h[--n]; if (n) down(e); }
typedef struct { u64 t; u32 flow, size; u64 id; } P;
typedef struct { P *r; u32 hd, tl, mask; u64 *dep; u32 dh, dt; u64 free, prop; u32 psb, next, lim; P *q; u32 qh, qt; u64 hops, drops; } L;  // psb = ps per byte
static L ln[8]; static u64 rx; static int mode, NL; static u64 ev;
static u64 s = 88172645463325252ull; static inline u64 rnd() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; }
#define RING 65536
enum { SRC = 1000, PIPE = 100 };
static inline void enq(u32 l, P p, u64 now) { L *x = &ln[l];
  if (mode == 1) {                                         // merged: arrival time known at enqueue
    while (x->dh != x->dt && x->dep[x->dh & x->mask] <= now) x->dh++;      // lazily expire departures -> queue length
    if (x->dt - x->dh >= x->lim) { x->drops++; return; }
    u64 st = x->free > now ? x->free : now; st += (u64)p.size * x->psb; x->free = st; x->dep[x->dt++ & x->mask] = st;
    p.t = st + x->prop; int idle = x->hd == x->tl; x->r[x->tl++ & x->mask] = p; if (idle) push(p.t, l);
  } else { if (x->qt - x->qh >= x->lim) { x->drops++; return; } int idle = x->qh == x->qt; x->q[x->qt++ & x->mask] = p; if (idle) push(now + (u64)p.size * x->psb, l); } }
int main(int c, char **v) { int fw = v[1][0] == 'f'; mode = v[2][0] - '0'; u64 end = fw ? 10ull * 1000000000000ull : 8888900000000000ull; NL = fw ? 5 : 1;
  for (int i = 0; i < NL; i++) { L *x = &ln[i]; x->mask = RING - 1; x->r = malloc(RING * sizeof(P)); x->q = malloc(RING * sizeof(P)); x->dep = malloc(RING * 8); x->psb = fw ? 800 : 800000; x->prop = fw ? 10000000 : 0; x->lim = fw ? 1000 : RING - 1; x->next = i + 1; }
  int NS = fw ? 16 : 1; u64 idc = 0; for (int i = 0; i < NS; i++) push(fw ? rnd() % 80000000 : 0, SRC + i);
  while (n) { u64 now = h[0].t; u32 o = h[0].obj; if (now > end) break; ev++;
    if (o >= SRC) { u64 dt = fw ? 80000000 : (u64)(-log((rnd() >> 11) * 0x1p-53 + 0x1p-54) * 1e12 / 1125); retop(now + dt); P p = {0, o - SRC, 1000, idc++}; enq(0, p, now); }
    else if (mode == 1 || o >= PIPE) { u32 l = o % PIPE; L *x = &ln[l]; P p = x->r[x->hd++ & x->mask]; if (mode == 1) x->hops++; if (x->hd != x->tl) retop(x->r[x->hd & x->mask].t); else poptop(); if (x->next < (u32)NL) enq(x->next, p, now); else rx++; }
    else { L *x = &ln[o]; P p = x->q[x->qh++ & x->mask]; x->hops++; if (x->qh != x->qt) retop(now + (u64)x->q[x->qh & x->mask].size * x->psb); else poptop();
      if (!x->prop) { if (x->next < (u32)NL) enq(x->next, p, now); else rx++; } else { p.t = now + x->prop; int idle = x->hd == x->tl; x->r[x->tl++ & x->mask] = p; if (idle) push(p.t, PIPE + o); } } }
  u64 hops = 0; for (int i = 0; i < NL; i++) hops += ln[i].hops;
  printf("RESULT peer=ceiling%d workload=%s events=%lu delivered=%lu hops=%lu\n", mode, v[1], ev, rx, hops); return 0; }
