"""The figures of the documentation, by what they are about. A new figure is a function here."""

from drawings import edge, lan, marking, queues, sweeps, traffic, transports
from drawings.common import FIGURES

__all__ = ["FIGURES", "edge", "lan", "marking", "queues", "sweeps", "traffic", "transports"]
