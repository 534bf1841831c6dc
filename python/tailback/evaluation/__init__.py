"""Characterisation of a queue discipline by RFC 7928: scenarios of its sections, comparisons, and the report card."""
