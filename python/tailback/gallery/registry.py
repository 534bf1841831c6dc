"""Registry of the experiments: ids with their folders, and selection by id or group."""

from __future__ import annotations

import re
from difflib import get_close_matches
from importlib import import_module

from tailback.errors import UsageError
from tailback.study.experiment.design import Experiment

__all__ = ["EVERY", "EXPERIMENTS", "FOLDERS", "GROUPS", "ON_REQUEST", "experiment", "folder", "select"]

GROUPS = {
    "lan": "Congestion control in switched Ethernet LANs",
    "internet": "TCP and active queue management",
    "edge": "Quality of service at the customer edge",
    "datacentre": "Congestion control in data-centre Ethernet",
}

FOLDERS = {
    "lan-traffic": "traffic_models",
    "lan-a1": "merging_traffic",
    "lan-a2": "rate_mismatch",
    "lan-b1": "video_and_bursty_data",
    "lan-thresholds": "high_and_low_threshold",
    "lan-buffers": "distributed_buffers",
    "lan-models": "switch_models",
    "lan-queues": "queue_structures",
    "lan-alternatives": "fill_rate_detection_and_rate_control",
    "lan-c1": "independent_flows",
    "lan-c2": "merging_over_backbone",
    "lan-c3": "controlling_the_source",
    "lan-a1-tcp": "merging_traffic_tcp",
    "lan-c2-tcp": "merging_over_backbone_tcp",
    "lan-class-destination": "stops_by_class_and_destination",
    "lan-notify": "notification_targets",
    "lan-mac": "mac_control_frames",
    "lan-headroom": "pause_headroom",
    "lan-extended": "extended_lan_300_hosts",
    "internet-e01": "drop_tail_global_synchronisation",
    "internet-e02": "red_packet_loss",
    "internet-e03": "tcp_loss_model",
    "internet-e04": "red_with_ecn",
    "internet-e05": "static_early_detection",
    "internet-e06": "conservative_detection_larger_buffer",
    "internet-e07": "adaptive_red_changing_load",
    "internet-e08": "adaptive_red_testbed",
    "internet-e09": "window_growth_one_round_trip",
    "internet-e10": "subtcp_t1_link",
    "internet-e11": "approaches_compared",
    "internet-e12": "blue_loss_and_buffer_size",
    "internet-e13": "blue_dynamics",
    "internet-e14": "blue_testbed",
    "internet-e15": "sfb_non_responsive_flow",
    "internet-e16": "sfb_misclassified_flows",
    "internet-e17": "sfb_moving_hash",
    "internet-e18": "tcp_with_reservation",
    "internet-e19": "marking_outside_host",
    "internet-e20": "marking_in_sender",
    "internet-rivals": "non_responsive_flow_every_discipline",
    "internet-scoreboard": "heavy_load_every_discipline",
    "internet-collapse": "congestion_collapse",
    "edge-configs": "five_configurations",
    "edge-wfq": "weighted_fair_queueing_readings",
    "edge-ramp": "supplementary_traffic_ramp",
    "edge-tcp": "tcp_tail_drop_and_wred",
    "edge-priority": "strict_priority_starvation",
    "edge-hard": "hard_sub_bands",
    "edge-red-udp": "red_unresponsive_traffic",
    "edge-intserv": "metered_reservations_wred",
    "edge-slm": "service_level_management",
    "datacentre-seed": "bcn_tcp_limiter_policies",
    "datacentre-derivative": "bcn_derivative_rule",
    "datacentre-solicit": "bcn_solicit_recovery",
    "datacentre-loop": "bcn_control_loop",
    "datacentre-ecm": "ecm_parking_lot",
    "datacentre-blocking": "limiter_queue_blocking",
    "datacentre-red": "red_in_limiter_queues",
    "datacentre-udp": "bcn_tcp_udp_limiter_policies",
    "datacentre-bench": "congestion_controls_compared",
    "datacentre-fct": "flow_completion_times",
    "datacentre-pfc": "pfc_failure_modes",
    "internet-1999": "thesis_headlines_1999",
}
"""Folder of each experiment below that of its group, by id, in the order of the reports. Ids begin with their group."""

ON_REQUEST = ("internet-1999",)
"""Ids of the experiments that take too long to be part of `all` or of their group; they are run by their id only."""
EVERY = tuple(FOLDERS)
"""All ids."""
EXPERIMENTS = tuple(id for id in FOLDERS if id not in ON_REQUEST)  # noqa: A001
"""Ids that `all` selects: those that are not in `ON_REQUEST`."""


def folder(id: str) -> str:  # noqa: A002
    """Return the folder of an experiment below the gallery, such as `lan/merging_traffic` for `lan-a1`.

    Raises KeyError for an unknown id.
    """
    return f"{id.split('-', 1)[0]}/{FOLDERS[id]}"


def experiment(id: str) -> Experiment:  # noqa: A002
    """Import the experiment of an id and return an instance; raises KeyError for an unknown id."""
    module = import_module(f"tailback.gallery.{folder(id).replace('/', '.')}.experiment")
    found = [
        c
        for c in vars(module).values()
        if isinstance(c, type) and issubclass(c, Experiment) and c.__module__ == module.__name__
    ]
    (only,) = found
    made: Experiment = only()
    assert made.id == id, f"{module.__name__} says that it is {made.id}"
    return made


def select(what: str) -> list[Experiment]:
    """Return the experiment of an id, those of a group, or all (`all`), in the order of `FOLDERS`.

    Those in `ON_REQUEST` belong to neither a group nor `all`. Raises UsageError for an unknown name or an empty group.
    """
    if what == "all":
        chosen = list(EXPERIMENTS)
    elif what in GROUPS:
        chosen = [id for id in EXPERIMENTS if id.startswith(f"{what}-")]  # noqa: A001
        if not chosen:
            raise UsageError(f"the group {what} has no experiment yet")
    elif what in EVERY:
        chosen = [what]
    else:
        # Numbers have two digits in some groups: internet-e1 means internet-e01 and not internet-e19.
        written_out = re.sub(r"\d+$", lambda number: f"{int(number[0]):02}", what)
        near = [written_out] if written_out in EVERY else get_close_matches(what, [*EVERY, *GROUPS, "all"], n=1)
        advice = f"; did you mean {near[0]}?" if near else "; see `tailback list`"
        raise UsageError(f"there is no experiment or group {what!r}{advice}")
    return [experiment(id) for id in chosen]  # noqa: A001
