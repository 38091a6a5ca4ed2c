"""Apache Kafka for tests: real brokers (KRaft) of jars from Maven Central, as processes on free ports."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from filelock import FileLock

VERSION: Final = "4.1.1"
CACHE: Final = Path.home() / ".cache" / "tracejury-tests" / f"kafka-{VERSION}"
PATIENCE: Final = 60.0
_POM: Final = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tracejury</groupId><artifactId>broker</artifactId><version>1</version><dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version>
</dependency></dependencies></project>"""


def missing() -> str:
    """Why there can be no broker here; "" where there can. Fetches the jars (43 MB) once."""
    if not shutil.which("java"):
        return "Java, which Apache Kafka runs on, is not installed"
    CACHE.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE / "lock"):
        if (CACHE / "whole").exists():
            return ""
        if not shutil.which("mvn"):
            return "Maven, which fetches Apache Kafka, is not installed"
        (CACHE / "pom.xml").write_text(_POM)
        command = [
            "mvn",
            "-q",
            "-B",
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
            "-DoutputDirectory=jars",
        ]
        done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603  ours
        if done.returncode:
            return f"Apache Kafka cannot be fetched: {done.stdout[-300:]}"
        (CACHE / "whole").touch()
    return ""


def _java(*arguments: str) -> list[str]:
    # One garbage collector thread and the first compiler: a broker of a test lives for seconds.
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
    return ["java", *options, "-cp", f"{CACHE / 'jars'}/*", *arguments]


@dataclass
class Broker:
    """One broker, which is a controller, too. `stop` and `start` keep its port and its data."""

    number: int
    port: int
    controller_port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; `Cluster.until_ready` waits for it."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603  ours
                _java("kafka.Kafka", str(self.folder / "server.properties")), stdout=log, stderr=subprocess.STDOUT
            )

    def kill(self) -> None:
        """SIGKILL; safe to call twice."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)
            self.process = None


@dataclass
class Cluster:
    """Brokers of one cluster."""

    brokers: Sequence[Broker]
    _admin: AdminClient | None = field(default=None, init=False)

    @property
    def addresses(self) -> str:
        """HOST:PORT of each broker, with commas between."""
        return ",".join(f"127.0.0.1:{one.port}" for one in self.brokers)

    @property
    def admin(self) -> AdminClient:
        """A client for topics and groups."""
        if self._admin is None:
            self._admin = AdminClient(self._options())
        return self._admin

    def until_ready(self) -> None:
        """Return once all brokers answer."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if len(AdminClient(self._options()).list_topics(timeout=2).brokers) == len(self.brokers):
                    return
            except KafkaException:
                pass
            if time.monotonic() > deadline:
                raise AssertionError((self.brokers[0].folder / "log").read_text()[-2000:])
            time.sleep(0.1)

    def topic(self, partitions: int = 1, **options: object) -> str:
        """A new topic; `options` are those of the topic with `_` for each dot."""
        name = f"topic-{uuid.uuid4().hex[:12]}"
        settings = {key.replace("_", "."): str(value) for key, value in options.items()}
        new = NewTopic(name, partitions, min(len(self.brokers), 3), config=settings)
        self.admin.create_topics([new])[name].result(PATIENCE)
        return name

    def send(
        self,
        topic: str,
        values: Sequence[bytes],
        *,
        headers: Mapping[str, str | bytes | None] | None = None,
        **options: object,
    ) -> None:
        """Produce messages without keys; `options` are librdkafka's with `_` for each dot."""
        settings = {key.replace("_", "."): value for key, value in options.items()}
        producer = Producer(self._options() | {"message.max.bytes": 64 << 20} | settings)
        for value in values:
            producer.produce(topic, value, headers=list((headers or {}).items()))
            producer.poll(0)
        assert producer.flush(PATIENCE) == 0

    def messages(self, topic: str, count: int, patience: float = PATIENCE) -> list[Message]:
        """The first `count` messages of a topic; fails where there are fewer after `patience` seconds."""
        options = {"group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        consumer = Consumer(self._options() | options)
        partitions = consumer.list_topics(topic, PATIENCE).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: list[Message] = []
        deadline = time.monotonic() + patience
        while len(found) < count and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                found.append(message)
        consumer.close()
        assert len(found) >= count, f"{len(found)} of {count} messages"
        return found

    def committed(self, group: str, topic: str) -> int:
        """The sum of a group's committed offsets over the partitions of a topic."""
        consumer = Consumer(self._options() | {"group.id": group})
        partitions = consumer.list_topics(topic, PATIENCE).topics[topic].partitions
        found = consumer.committed([TopicPartition(topic, number) for number in partitions], PATIENCE)
        consumer.close()
        return sum(max(one.offset, 0) for one in found)

    def _options(self) -> dict[str, str | int | float | bool]:
        return {"bootstrap.servers": self.addresses, "log_level": 0}


@contextmanager
def cluster(folder: Path, count: int = 1, **options: object) -> Iterator[Cluster]:
    """`count` brokers with their data in `folder`, killed at the end; `options` are theirs with `_` for each dot."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2 * count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in sockets]
    brokers = [Broker(n, ports[n], ports[count + n], folder / str(n)) for n in range(count)]
    voters = ",".join(f"{one.number}@127.0.0.1:{one.controller_port}" for one in brokers)
    identity = "dHJhY2VqdXJ5LXRlc3RzLTE"
    for one in brokers:
        one.folder.mkdir(parents=True)
        (one.folder / "server.properties").write_text(_properties(one, voters, count, options))
    try:
        formatting = [
            subprocess.Popen(  # noqa: S603  ours
                _java("kafka.tools.StorageTool", "format", "-t", identity, "-c", str(one.folder / "server.properties")),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for one in brokers
        ]
        assert not any(process.wait(PATIENCE) for process in formatting)
        for one in brokers:
            one.start()
        found = Cluster(brokers)
        found.until_ready()
        yield found
    finally:
        for one in brokers:
            one.kill()


def _properties(broker: Broker, voters: str, count: int, options: dict[str, object]) -> str:
    copies = min(count, 3)
    settings = {
        "process.roles": "broker,controller",
        "node.id": broker.number,
        "controller.quorum.voters": voters,
        "listeners": f"PLAINTEXT://127.0.0.1:{broker.port},CONTROLLER://127.0.0.1:{broker.controller_port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": broker.folder / "data",
        "num.partitions": 1,
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": 2,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": 1,
        "broker.session.timeout.ms": 2000,
        "broker.heartbeat.interval.ms": 400,
        "group.initial.rebalance.delay.ms": 0,
        "group.consumer.heartbeat.interval.ms": 500,
        "group.consumer.min.heartbeat.interval.ms": 500,
        "group.consumer.session.timeout.ms": 6000,
        "group.consumer.min.session.timeout.ms": 3000,
        "log.retention.check.interval.ms": 500,
        "log.initial.task.delay.ms": 500,
        "log.segment.delete.delay.ms": 0,
        "message.max.bytes": 32 << 20,
        "num.network.threads": 1,
        "num.io.threads": 2,
        "background.threads": 1,
        "log.cleaner.enable": "false",
        **{key.replace("_", "."): value for key, value in options.items()},
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())
