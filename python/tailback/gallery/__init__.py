"""Experiments that reproduce published figures, one folder for each. README.md explains how to add one."""
