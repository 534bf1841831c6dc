"""The figures of the documentation, by subject. A new figure is a function here."""

from drawings import datacentre, edge, lan, marking, notification, queues, sweeps, traffic, transports
from drawings.common import FIGURES

__all__ = [
    "FIGURES",
    "datacentre",
    "edge",
    "lan",
    "marking",
    "notification",
    "queues",
    "sweeps",
    "traffic",
    "transports",
]
