"""Learns a control law for a queue: an environment in the style of Gymnasium, and a search of two weights.

    python docs/examples/control_law.py

Every 20 ms the law sees the queueing delay at a bottleneck and sets the target of CoDel there. The reward of a step is
the utilisation minus a price for delay. The environment has the methods of `gymnasium.Env` and needs no library; to use
it with one, derive the class from `gymnasium.Env` and add its two spaces.
"""

from __future__ import annotations

import tailback

STEP_S = 0.02
BOTTLENECK = "s->b"
RATE = 10e6
PRICE_S = 0.1
"""Delay that costs as much as the whole utilisation is worth."""
TARGET = "switches.s.ports.b.discipline.target"

Observation = tuple[float, float]
"""Queueing delay and its change since the last step, in units of 10 ms."""


def scenario(duration: str = "5s") -> tailback.Scenario:
    """Return four TCP connections that share 10 Mbit/s, joined by four more after 600 ms."""
    return tailback.Scenario.from_toml(
        f"""
        tailback = 1
        run = {{ duration = "{duration}", tunable = ["{TARGET}"] }}
        hosts = {{ a = {{ count = 8 }}, b = {{}} }}
        links = [
          {{ between = ["a*", "s"], rate = "100Mbit/s" }},
          {{ between = ["s", "b"], rate = "10Mbit/s", delay = "15ms" }},
        ]
        [switches.s.ports.b]
        buffer = "300kB"
        discipline = {{ kind = "codel" }}
        [[flows]]
        name = "early"
        from = "a[1-4]"
        to = "b"
        start-spread = "300ms"
        source = {{ kind = "bulk" }}
        transport = {{ kind = "tcp" }}
        [[flows]]
        name = "late"
        from = "a[5-8]"
        to = "b"
        start = "600ms"
        start-spread = "300ms"
        source = {{ kind = "bulk" }}
        transport = {{ kind = "tcp" }}
        """
    )


class Environment:
    """A bottleneck whose CoDel target is the action, in milliseconds from 0.5 to 50."""

    def __init__(self, base: tailback.Scenario) -> None:
        """Take a scenario in which `TARGET` is tunable."""
        self._base = base
        self._simulation: tailback.Simulation | None = None
        self._delay = 0.0
        self._sent = 0

    def reset(self, *, seed: int | None = None) -> tuple[Observation, dict[str, float]]:
        """Begin an episode; return the first observation and further values."""
        self.close()
        self._simulation = tailback.Simulation(self._base, seed)
        self._delay, self._sent = 0.0, 0
        return (0.0, 0.0), {}

    def step(self, action: float) -> tuple[Observation, float, bool, bool, dict[str, float]]:
        """Set the target and run for a step: observation, reward, terminated, truncated, further values."""
        simulation = self._simulation
        assert simulation is not None, "call reset first"
        simulation.change(TARGET, f"{min(max(action, 0.5), 50.0):.3f}ms")
        simulation.step(STEP_S)
        port = simulation.port(BOTTLENECK)
        delay = port["queue_bytes"] * 8 / RATE
        utilisation = (port["sent_bytes"] - self._sent) * 8 / RATE / STEP_S
        seen = (delay / 0.01, (delay - self._delay) / 0.01)
        self._delay, self._sent = delay, port["sent_bytes"]
        return seen, utilisation - delay / PRICE_S, False, simulation.done, {"delay_s": delay, "time_s": simulation.now}

    def close(self) -> None:
        """End the episode."""
        if self._simulation is not None:
            self._simulation.close()
            self._simulation = None

    def scenario(self) -> tailback.Scenario:
        """Return the scenario of the episode so far, with every action in its timeline."""
        assert self._simulation is not None, "call reset first"
        return self._simulation.scenario()


def episode(environment: Environment, weights: tuple[float, float], seed: int) -> float:
    """Return the mean reward of a law: target = 5 ms plus the weighted observation."""
    seen, _ = environment.reset(seed=seed)
    total, steps, over = 0.0, 0, False
    while not over:
        action = 5.0 + weights[0] * seen[0] + weights[1] * seen[1]
        seen, reward, terminated, truncated, _ = environment.step(action)
        total, steps, over = total + reward, steps + 1, terminated or truncated
    return total / steps


def learn(environment: Environment, rounds: int = 2, seed: int = 1) -> tuple[tuple[float, float], float]:
    """Search the weights one after the other with halving steps; return them and their reward."""
    best, width = (0.0, 0.0), 4.0
    value = episode(environment, best, seed)
    for _ in range(rounds):
        for index in (0, 1):
            for change in (-width, width):
                trial = (best[0] + change, best[1]) if index == 0 else (best[0], best[1] + change)
                reward = episode(environment, trial, seed)
                if reward > value:
                    best, value = trial, reward
        width /= 2
    return best, value


if __name__ == "__main__":
    bottleneck = Environment(scenario())
    fixed = episode(bottleneck, (0.0, 0.0), seed=1)
    weights, learned = learn(bottleneck)
    print(f"reward with the target of 5 ms: {fixed:.4f}; with weights {weights}: {learned:.4f}")
    others = [episode(bottleneck, law, seed=2) for law in ((0.0, 0.0), weights)]
    print(f"the same laws on another seed: {others[0]:.4f} and {others[1]:.4f}")
