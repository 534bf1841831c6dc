"""Figures of the documentation: a function for each, in modules by subject."""

from drawings import datacentre, edge, explanations, lan, marking, notification, queues, sweeps, traffic, transports
from drawings.common import FIGURES

__all__ = [
    "FIGURES",
    "datacentre",
    "edge",
    "explanations",
    "lan",
    "marking",
    "notification",
    "queues",
    "sweeps",
    "traffic",
    "transports",
]
