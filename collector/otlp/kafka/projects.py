"""The project of a message: its topic's, or what a trusted producer says in a header."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.collector.auth.key_file import a_project
from tracejury.schemas.errors import ConfigError, PermanentError, RetryableError

from .client import filled
from .config import KafkaConfig, TopicConfig

SIGNATURE: Final = "-signature"
"""Ends the name of the header with the signature: HMAC-SHA256 of topic, project and value, in hex."""

Headers = Sequence[tuple[str, bytes | None]]


class MessageProjects:
    """Chooses topics by projects and reads projects of messages."""

    def __init__(self, config: KafkaConfig, environ: Mapping[str, str] = os.environ) -> None:
        """Raises ConfigError where the variable with the secret is not set."""
        self.topics = {topic.name: topic for topic in config.topics}
        self._secret = filled(config.header_secret, "kafka.header_secret", environ).encode()

    def topic_of(self, signal: str, project: str) -> TopicConfig:
        """The topic that a project's messages go to: its own one, else the first with a header for projects.

        Raises:
            RetryableError: there is none.
        """
        fitting = [topic for topic in self.topics.values() if topic.signal == signal]
        own = (topic for topic in fitting if topic.project == project)
        found = next(own, next((topic for topic in fitting if topic.trusted_header), None))
        if found is None:
            of = f"project {project}" if project else "the default project"
            raise RetryableError(f"kafka.topics has no topic for {signal} of {of}")
        return found

    def headers(self, topic: TopicConfig, project: str, value: bytes) -> Headers:
        """What tells a message's project."""
        name = topic.trusted_header
        if not name:
            return ()
        told = (name, project.encode())
        return (told, (name + SIGNATURE, self._signature(topic, project, value))) if self._secret else (told,)

    def project_of(self, topic: TopicConfig, headers: Headers, value: bytes) -> str:
        """The project of a message.

        Raises:
            PermanentError: its header names none, or is not signed as it should be.
        """
        given = dict(headers)
        told = given.get(topic.trusted_header) if topic.trusted_header else None
        if told is None:
            return topic.project
        project = told.decode("utf-8", "replace")
        try:
            a_project(project)
        except ConfigError as error:
            raise PermanentError(f"the header {topic.trusted_header}: {error}") from None
        signature = given.get(topic.trusted_header + SIGNATURE) or b""
        if self._secret and not hmac.compare_digest(signature, self._signature(topic, project, value)):
            raise PermanentError(f"the header {topic.trusted_header} is not signed with kafka.header_secret")
        return project

    def _signature(self, topic: TopicConfig, project: str, value: bytes) -> bytes:
        signed = hmac.new(self._secret, f"{topic.name}\0{project}\0".encode(), hashlib.sha256)
        signed.update(value)
        return signed.hexdigest().encode()
