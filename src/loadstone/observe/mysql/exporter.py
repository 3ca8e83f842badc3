"""A server observed through its Prometheus exporter, with the names of SHOW GLOBAL STATUS."""

from __future__ import annotations

from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.exporters import Choosing
from loadstone.observe.exposition import samples
from loadstone.observe.prometheus import Kind, StoredScrapes
from loadstone.observe.prometheus_api import is_prometheus
from loadstone.observe.scrape import Scraped
from loadstone.observe.source import Source, SourceError

# mysqld_exporter merges some groups of SHOW GLOBAL STATUS; this restores the original names.
_STATUS = "mysql_global_status_"
_FAMILIES = {
    "commands_total": ("command", "com_"),
    "handlers_total": ("handler", "handler_"),
    "connection_errors_total": ("error", "connection_errors_"),
    "buffer_pool_pages": ("state", "innodb_buffer_pool_pages_"),
    "buffer_pool_page_changes_total": ("operation", "innodb_buffer_pool_pages_"),
    "innodb_row_ops_total": ("operation", "innodb_rows_"),
    "performance_schema_lost_total": ("instrumentation", "performance_schema_"),
}
_MYSQLD = Kind(say("mysqld exporters"), "mysql_up", f"mysql_up|{_STATUS}.+")
_RENAMED = {"buffer_pool_dirty_pages": "innodb_buffer_pool_pages_dirty"}


def exporter_source(name: SourceName, url: str) -> Source:
    """A server through its exporter, or through the Prometheus server that scrapes that.

    Args:
        name: the source's name.
        url: such as `http://db1:9104/metrics`, or `http://prometheus:9090?instance=db1:9104`.

    Raises:
        PlaceError: `url` is neither.
    """
    return StoredMysqld(name, url) if is_prometheus(url) else MysqldExporter(name, url)


class StoredMysqld:
    """A mysqld exporter's figures, from the Prometheus server that scrapes it."""

    def __init__(self, name: SourceName, url: str) -> None:
        """Store the place; nothing is requested yet.

        Raises:
            PlaceError: `url` is not a URL of http or https.
        """
        self.name = name
        self._scrapes = StoredScrapes(url, _MYSQLD)

    def read(self) -> Reading:
        """Read the newest scrape; the same values again if there has been none since.

        Raises:
            SourceError: it does not answer, has no such series or those of several servers, or the
                server was down.
        """
        return _reading(self._scrapes.newest(), self._scrapes.place)

    def close(self) -> None:
        """Close the connections."""
        self._scrapes.close()


class MysqldExporter:
    """A server as its mysqld exporter shows it: raw names, as from SHOW GLOBAL STATUS.

    All values are returned as gauges; the table of names knows which ones only grow. The exporter
    leaves out Innodb_buffer_pool_pages_total and values that are not numbers.
    """

    def __init__(self, name: SourceName, url: str) -> None:
        """Store the place; nothing is requested yet.

        Args:
            name: the source's name.
            url: such as `http://db1:9104/metrics`.

        Raises:
            PlaceError: `url` is not the URL of an exporter.
        """
        self.name = name
        self._choosing = Choosing(url, ("global_status",))

    def read(self) -> Reading:
        """Read the current values.

        Raises:
            SourceError: it does not answer, is not a mysqld exporter, or its server is down.
        """
        return _reading(self._choosing.get(), self._choosing.place)

    def close(self) -> None:
        """Close the connection."""
        self._choosing.close()


def _reading(scraped: Scraped, place: str) -> Reading:
    found = status_figures(scraped.text)
    if not found:
        up = [one.value for one in samples(scraped.text, "mysql_up".__eq__)]
        if up == [0.0]:
            raise SourceError(say("{place}: its server does not answer it", place=place))
        raise SourceError(say("{place}: it has no status of a server", place=place))
    return Reading(scraped.at_s, gauges=found)


def status_figures(text: str) -> dict[str, float]:
    """Convert a mysqld exporter's text to the server's own names, such as `status.com_commit`."""
    found = {}
    for sample in samples(text, lambda name: name.startswith(_STATUS)):
        name = sample.name[len(_STATUS) :]
        if name in _FAMILIES:
            label, prefix = _FAMILIES[name]
            rest = sample.labels.get(label)
            if rest is not None:
                found[f"status.{prefix}{rest.lower()}"] = sample.value
        elif not sample.labels:
            found[f"status.{_RENAMED.get(name, name)}"] = sample.value
    return found
