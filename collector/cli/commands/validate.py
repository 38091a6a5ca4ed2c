"""`tracejury validate FILE`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("validate")
@click.argument("file", type=click.Path(path_type=Path))
def validate_command(*, file: Path) -> None:
    """Check a configuration file: prints ok, or a line a problem with its place in the file."""
    from tracejury.collector.app.endpoints import check_certificates, check_loopback
    from tracejury.collector.auth.keyring import Keyring
    from tracejury.collector.config import Role, load_config
    from tracejury.collector.judging.llm.build import check_judges
    from tracejury.collector.otlp.kafka.client import check_kafka
    from tracejury.collector.otlp.redaction.build import build_redactor
    from tracejury.collector.outbound.channels.build import build_channels
    from tracejury.collector.outbound.otlp.backend_connection import check_exports
    from tracejury.collector.outbound.webhooks.build import check_webhooks

    config = load_config(file)
    check_loopback(config, has_keys=Keyring(Path(config.keys.file)).asks)
    if config.role.receives or config.role.works:
        build_redactor(config.redaction)
    check_certificates(config)
    if config.kafka is not None and config.role is not Role.WEB:
        check_kafka(config.kafka)
    if config.role.works:
        check_judges(config.judges)
        check_exports(config.export)
        check_webhooks(config.webhooks)
        build_channels(config.channels)
    click.echo(f"ok (role {config.role} ignores {', '.join(config.ignored)})" if config.ignored else "ok")
