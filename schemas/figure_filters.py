"""The filters of figures: of error rates, of latency and cost, of measures."""

from __future__ import annotations

from typing import Final

from .behaviours import Behaviour
from .filters import OF_ERRORS, ROLES, SEVERITIES, STATED, Filter, named
from .taxonomy import Dimension, Severity

RATE_FILTERS: Final = (
    Filter("service", "Only of this service."),
    Filter("version", "Only of this version of the service.", "The service's version"),
    Filter("agent", "Only runs of this agent."),
    Filter("role", "Only runs in this role.", choices=ROLES, option_choices=ROLES),
    Filter("model", "Only runs with this model."),
    Filter("session", "Only of this session."),
    Filter("behaviour", "Only of users who behave so (pack rut).", choices=Behaviour, metavar="NAME"),
    Filter("judge", "Only errors found by this detector or judge, in what it looked at."),
    Filter(
        "dimension",
        "Only errors in this dimension.",
        choices=Dimension,
        option_choices=(),
        metavar=OF_ERRORS[3].metavar,
    ),
    Filter("taxonomy", "Only errors of this taxonomy."),
    Filter(
        "category",
        'Only errors of this category, e.g. "Formatting Errors".',
        "Of TRAIL, or with its taxonomy as in answers: own/My Category",
    ),
    Filter(
        "severity",
        "Only errors this severe or more.",
        "This severe or more",
        choices=Severity,
        option_choices=(),
        metavar=SEVERITIES,
    ),
    Filter("tool", "Only errors at this tool."),
    *STATED,
)
"""Of error rates: of runs and of errors."""

PERFORMANCE_FILTERS: Final = (
    *named(RATE_FILTERS, "service", "version"),
    Filter("agent", "Only of this agent."),
    Filter("model", "Only of this model.", "Of a tool call: the model that asked for it"),
    Filter("tool", "Only calls of this tool."),
    Filter("prompt", "Only with this prompt, e.g. greeting@3.", "The name of a managed prompt, with its version"),
)
"""Of latency, tokens, cost and failures."""

MEASURE_FILTERS: Final = (
    Filter("pack", "Only of this pack."),
    Filter("service", "Only of this service."),
    Filter("version", "Only of this version of the service.", "The service's version"),
    Filter("agent", "Only sessions with this agent."),
    Filter("model", "Only sessions with this model."),
    Filter("task", "Only sessions of this task.", "The id of a task that sessions name"),
)
"""Of measures: of sessions, which have the names of their first trace that has one."""
