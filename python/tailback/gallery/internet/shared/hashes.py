"""The hashes that a run of stochastic fair Blue has drawn, which determine the flows that it misclassifies.

A port's random stream is xoshiro256++ (Blackman and Vigna 2019), seeded with SipHash-1-3 of the port's name under the
run's seed. Its first draw is the seed of the first set of bins, its second that of the next set. A level's hash is the
finaliser of SplitMix64 over flow and salt. This implementation is independent of the engine's and serves as an oracle.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["covered", "draws", "formula", "mean_covered", "place"]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def formula(m: int, levels: int = 2, bins: int = 23) -> float:
    """Return the probability that a flow shares each of its bins with any of m others: [1 - (1 - 1/bins)^m]^levels."""
    return float((1 - (1 - 1 / bins) ** m) ** levels)


def covered(seed: int, flows: Sequence[int], others: Sequence[int], levels: int = 2, bins: int = 23) -> list[int]:
    """Return those of `flows` whose bin at every level also holds a flow of `others`, under the hashes of `seed`.

    Flows are numbers; `bins` is the number of bins of each level.
    """
    taken = [{place(seed, other, level, bins) for other in others} for level in range(levels)]
    return [flow for flow in flows if all(place(seed, flow, k, bins) in taken[k] for k in range(levels))]


def mean_covered(seeds: Sequence[int], flows: int, others: int, levels: int = 2, bins: int = 23) -> float:
    """Return the mean over seeds of the number of flows that `covered` finds.

    The `flows` are numbered from 0, the `others` from `flows`. Raises ZeroDivisionError without seeds.
    """
    import numpy as np

    def mix(x: np.ndarray) -> np.ndarray:
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))

    numbers = mix(np.arange(flows + others, dtype=np.uint64) + np.uint64(_GOLDEN))
    total = 0
    for start in range(0, len(seeds), 1000):
        some = np.array(seeds[start : start + 1000], dtype=np.uint64)
        hit = np.ones((len(some), flows), dtype=bool)
        for level in range(levels):
            salts = mix(some + np.uint64((level + 1) * _GOLDEN & _MASK))
            places = mix(numbers[None, :] ^ salts[:, None]) % np.uint64(bins)
            taken = np.zeros((len(some), bins), dtype=bool)
            np.put_along_axis(taken, places[:, flows:].astype(np.int64), values=True, axis=1)
            hit &= np.take_along_axis(taken, places[:, :flows].astype(np.int64), axis=1)
        total += int(hit.sum())
    return total / len(seeds)


def place(seed: int, flow: int, level: int, bins: int = 23) -> int:
    """Return the number of a flow's bin at a level; bins, flows and levels are numbered from 0."""
    salt = _mix((seed + (level + 1) * _GOLDEN) & _MASK)
    return _mix(_mix((flow + _GOLDEN) & _MASK) ^ salt) % bins


def draws(run_seed: int, port: str, count: int = 1) -> list[int]:
    """Return the first `count` draws of 64 bits from the random stream of a port, such as `a->b`."""
    name = f"port {port}".encode()
    first, second = _siphash13(run_seed, 0, name), _siphash13(run_seed, 1, name)
    state = [*first, *second]
    out = []
    for _ in range(count):
        out.append((_rotate((state[0] + state[3]) & _MASK, 23) + state[0]) & _MASK)
        shifted = (state[1] << 17) & _MASK
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = _rotate(state[3], 45)
    return out


def _mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _rotate(x: int, by: int) -> int:
    return ((x << by) | (x >> (64 - by))) & _MASK


def _siphash13(k0: int, k1: int, data: bytes) -> tuple[int, int]:
    """Return SipHash-1-3 with a result of 128 bits (Aumasson and Bernstein 2012), the low half first."""
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(times: int) -> None:
        for _ in range(times):
            v[0] = (v[0] + v[1]) & _MASK
            v[1] = _rotate(v[1], 13) ^ v[0]
            v[0] = _rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & _MASK
            v[3] = _rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & _MASK
            v[3] = _rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & _MASK
            v[1] = _rotate(v[1], 17) ^ v[2]
            v[2] = _rotate(v[2], 32)

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 0xFF])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(1)
        v[0] ^= word
    v[2] ^= 0xEE
    rounds(3)
    low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v[1] ^= 0xDD
    rounds(3)
    return low, v[0] ^ v[1] ^ v[2] ^ v[3]
