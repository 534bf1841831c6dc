from dataclasses import replace

from tailback.evaluation.aqm.guide import AQM
from tailback.evaluation.subject import TRANSPORT

CONGESTION = replace(AQM, role=TRANSPORT)
