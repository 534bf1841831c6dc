"""The variance-time estimator of the experiment on traffic models, on series with a known Hurst parameter."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tailback.gallery.lan.traffic_models.memory import fitted_slope, hurst, variance_time

BLOCKS = (10, 20, 50, 100, 200, 500)


def _fractional_noise(h: float, count: int, seed: int) -> list[float]:
    """Return fractional Gaussian noise of mean 10 and variance 1 by circulant embedding (Davies and Harte 1987)."""
    lag = np.arange(count + 1, dtype=float)
    covariance = 0.5 * ((lag + 1) ** (2 * h) - 2 * lag ** (2 * h) + np.abs(lag - 1) ** (2 * h))
    spectrum = np.fft.fft(np.concatenate([covariance, covariance[-2:0:-1]])).real
    assert spectrum.min() > -1e-9
    draw = np.random.default_rng(seed)
    size = len(spectrum)
    noise = draw.standard_normal(size) + 1j * draw.standard_normal(size)
    values = np.fft.fft(np.sqrt(np.maximum(spectrum, 0) / size) * noise).real[:count]
    return [10.0 + float(value) for value in values]


@pytest.mark.parametrize("h", [0.5, 0.7, 0.8])
def test_the_estimator_finds_the_hurst_parameter_of_fractional_noise(h: float) -> None:
    # The standard deviation of the estimate from a single series of 2^17 values is about 0.03.
    found = [hurst(_fractional_noise(h, 1 << 17, seed), BLOCKS) for seed in range(4)]
    assert sum(found) / len(found) == pytest.approx(h, abs=0.05)


def test_the_variance_of_means_of_independent_values_is_inversely_proportional_to_their_number() -> None:
    draw = random.Random(1)
    series = [draw.uniform(0, 2) for _ in range(200_000)]
    found = variance_time(series, [1, 10, 100])
    # Uniform on 0 to 2 has a squared coefficient of variation of 1/3.
    assert found == [pytest.approx(1 / 3 / m, rel=0.1) for m in (1, 10, 100)]


def test_the_fitted_slope_of_a_power_law_is_its_exponent() -> None:
    assert fitted_slope([1.0, 10.0, 100.0], [5.0, 0.5, 0.05]) == pytest.approx(-1.0)
