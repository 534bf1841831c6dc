"""Router policies: import, export and translation, objectives, verdicts and capacity."""

from __future__ import annotations

from tailback.router.policy import (
    Change,
    Configuration,
    ConfigurationError,
    Imported,
    Language,
    Link,
    Notice,
    export_configuration,
    import_configuration,
    translate_configuration,
)

__all__ = [
    "Change",
    "Configuration",
    "ConfigurationError",
    "Imported",
    "Language",
    "Link",
    "Notice",
    "export_configuration",
    "import_configuration",
    "translate_configuration",
]
