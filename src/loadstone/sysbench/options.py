"""The options that sysbench 1.0.20 has, and those that only its 1.1 has.

Names are written as the help writes them; on the command line `-` and `_` are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Kind(Enum):
    """What an option takes."""

    BOOL = "bool"
    INT = "int"
    DOUBLE = "double"
    SIZE = "size"
    STRING = "string"
    LIST = "list"
    FILE = "file"


BOOL, INT, DOUBLE, SIZE = Kind.BOOL, Kind.INT, Kind.DOUBLE, Kind.SIZE
STRING, LIST, FILE = Kind.STRING, Kind.LIST, Kind.FILE

_TAKES = {
    BOOL: "[=on|off]",
    INT: "=N",
    DOUBLE: "=N",
    SIZE: "=SIZE",
    STRING: "=STRING",
    LIST: "=[LIST,...]",
    FILE: "=FILENAME",
}


@dataclass(frozen=True)
class Option:
    """An option, its line in the help, and the text of its default; `None`: it has none."""

    name: str
    kind: Kind
    about: str
    default: str | None = None

    @property
    def usage(self) -> str:
        """The option as the help writes it, from the dashes on."""
        return f"--{self.name}{_TAKES[self.kind]}"

    @property
    def key(self) -> str:
        """The name with which values are looked up."""
        return key_of(self.name)


def key_of(name: str) -> str:
    """`table-size` and `table_size` are the same option."""
    return name.replace("-", "_")


GENERAL = (
    Option("threads", INT, "number of threads to use", default="1"),
    Option("events", INT, "limit for total number of events", default="0"),
    Option("time", INT, "limit for total execution time in seconds", default="10"),
    Option(
        "forced-shutdown",
        STRING,
        "number of seconds to wait after the --time limit before forcing shutdown, or "
        "'off' to disable",
        default="off",
    ),
    Option("thread-stack-size", SIZE, "size of stack per thread", default="64K"),
    Option("rate", INT, "average transactions rate. 0 for unlimited rate", default="0"),
    Option(
        "report-interval",
        INT,
        "periodically report intermediate statistics with a specified interval in "
        "seconds. 0 disables intermediate reports",
        default="0",
    ),
    Option(
        "report-checkpoints",
        LIST,
        "dump full statistics and reset all counters at specified points in time. The "
        "argument is a list of comma-separated values representing the amount of time in "
        "seconds elapsed from start of test when report checkpoint(s) must be performed. "
        "Report checkpoints are off by default.",
        default="",
    ),
    Option("debug", BOOL, "print more debugging info", default="off"),
    Option("validate", BOOL, "perform validation checks where possible", default="off"),
    Option("help", BOOL, "print help and exit", default="off"),
    Option("version", BOOL, "print version and exit", default="off"),
    Option("config-file", FILE, "File containing command line options"),
    Option("tx-rate", INT, "deprecated alias for --rate", default="0"),
    Option("max-requests", INT, "deprecated alias for --events", default="0"),
    Option("max-time", INT, "deprecated alias for --time", default="0"),
    Option("num-threads", INT, "deprecated alias for --threads", default="1"),
)

RANDOM = (
    Option(
        "rand-type",
        STRING,
        "random numbers distribution {uniform,gaussian,special,pareto}",
        default="special",
    ),
    Option("rand-spec-iter", INT, "number of iterations used for numbers generation", default="12"),
    Option(
        "rand-spec-pct",
        INT,
        "percentage of values to be treated as 'special' (for special distribution)",
        default="1",
    ),
    Option(
        "rand-spec-res",
        INT,
        "percentage of 'special' values to use (for special distribution)",
        default="75",
    ),
    Option(
        "rand-seed",
        INT,
        "seed for random number generator. When 0, the current time is used as a RNG seed.",
        default="0",
    ),
    Option("rand-pareto-h", DOUBLE, "parameter h for pareto distribution", default="0.2"),
)

LOG = (
    Option(
        "verbosity",
        INT,
        "verbosity level {5 - debug, 0 - only critical messages}",
        default="3",
    ),
    Option(
        "percentile",
        INT,
        "percentile to calculate in latency statistics (1-100). Use the special value of "
        "0 to disable percentile calculations",
        default="95",
    ),
    Option("histogram", BOOL, "print latency histogram in report", default="off"),
)

DATABASE = (
    Option(
        "db-driver",
        STRING,
        "specifies database driver to use ('help' to get list of available drivers)",
        default="mysql",
    ),
    Option("db-ps-mode", STRING, "prepared statements usage mode {auto, disable}", default="auto"),
    Option("db-debug", BOOL, "print database-specific debug information", default="off"),
)

MYSQL = (
    Option("mysql-host", LIST, "MySQL server host", default="localhost"),
    Option("mysql-port", LIST, "MySQL server port", default="3306"),
    Option("mysql-socket", LIST, "MySQL socket"),
    Option("mysql-user", STRING, "MySQL user", default="sbtest"),
    Option("mysql-password", STRING, "MySQL password", default=""),
    Option("mysql-db", STRING, "MySQL database name", default="sbtest"),
    Option(
        "mysql-ssl",
        BOOL,
        "use SSL connections, if available in the client library",
        default="off",
    ),
    Option("mysql-ssl-cipher", STRING, "use specific cipher for SSL connections", default=""),
    Option(
        "mysql-compression",
        BOOL,
        "use compression, if available in the client library",
        default="off",
    ),
    Option("mysql-debug", BOOL, "trace all client library calls", default="off"),
    Option(
        "mysql-ignore-errors",
        LIST,
        'list of errors to ignore, or "all"',
        default="1213,1020,1205",
    ),
    Option(
        "mysql-dry-run",
        BOOL,
        "Dry run, pretend that all MySQL client API calls are successful without executing them",
        default="off",
    ),
)

PGSQL = (
    Option("pgsql-host", STRING, "PostgreSQL server host", default="localhost"),
    Option("pgsql-port", INT, "PostgreSQL server port", default="5432"),
    Option("pgsql-user", STRING, "PostgreSQL user", default="sbtest"),
    Option("pgsql-password", STRING, "PostgreSQL password", default=""),
    Option("pgsql-db", STRING, "PostgreSQL database name", default="sbtest"),
)

OLTP = (
    Option(
        "auto_inc",
        BOOL,
        "Use AUTO_INCREMENT column as Primary Key (for MySQL), or its alternatives in "
        "other DBMS. When disabled, use client-generated IDs",
        default="on",
    ),
    Option(
        "create_secondary",
        BOOL,
        "Create a secondary index in addition to the PRIMARY KEY",
        default="on",
    ),
    Option(
        "delete_inserts",
        INT,
        "Number of DELETE/INSERT combinations per transaction",
        default="1",
    ),
    Option(
        "distinct_ranges",
        INT,
        "Number of SELECT DISTINCT queries per transaction",
        default="1",
    ),
    Option("index_updates", INT, "Number of UPDATE index queries per transaction", default="1"),
    Option("mysql_storage_engine", STRING, "Storage engine, if MySQL is used", default="innodb"),
    Option(
        "non_index_updates",
        INT,
        "Number of UPDATE non-index queries per transaction",
        default="1",
    ),
    Option("order_ranges", INT, "Number of SELECT ORDER BY queries per transaction", default="1"),
    Option(
        "pgsql_variant",
        STRING,
        "Use this PostgreSQL variant when running with the PostgreSQL driver. The only "
        "currently supported variant is 'redshift'. When enabled, create_secondary is "
        "automatically disabled, and delete_inserts is set to 0",
    ),
    Option("point_selects", INT, "Number of point SELECT queries per transaction", default="10"),
    Option("range_selects", BOOL, "Enable/disable all range SELECT queries", default="on"),
    Option("range_size", INT, "Range size for range SELECT queries", default="100"),
    Option("secondary", BOOL, "Use a secondary index in place of the PRIMARY KEY", default="off"),
    Option(
        "simple_ranges",
        INT,
        "Number of simple range SELECT queries per transaction",
        default="1",
    ),
    Option(
        "skip_trx",
        BOOL,
        "Don't start explicit transactions and execute all queries in the AUTOCOMMIT mode",
        default="off",
    ),
    Option("sum_ranges", INT, "Number of SELECT SUM() queries per transaction", default="1"),
    Option("table_size", INT, "Number of rows per table", default="10000"),
    Option("tables", INT, "Number of tables", default="1"),
)

# Beside those of all OLTP tests.
RANDOM_POINTS = (
    Option(
        "random_points",
        INT,
        "Number of random points in the IN() clause in generated SELECTs",
        default="10",
    ),
)

RANDOM_RANGES = (
    Option("delta", INT, "Size of BETWEEN ranges", default="5"),
    Option("number_of_ranges", INT, "Number of random BETWEEN ranges per SELECT", default="10"),
)

# 1.0.20 does not know these. They are taken in either version, and stand in no help of 1.0.
ONLY_IN_1_1 = (
    Option("warmup-time", INT, "seconds of load before statistics begin", default="0"),
    Option("thread-init-timeout", INT, "seconds to wait for the threads", default="30"),
    Option("luajit-cmd", STRING, "command for LuaJIT", default=""),
    Option("rand-zipfian-exp", DOUBLE, "exponent of the zipfian distribution", default="0.8"),
    Option("mysql-ssl-key", FILE, "the client's key"),
    Option("mysql-ssl-cert", FILE, "the client's certificate"),
    Option("mysql-ssl-ca", FILE, "authorities that may sign the server's certificate"),
    Option("mysql-compression-algorithms", STRING, "algorithms to offer", default="zlib"),
    Option("pgsql-sslmode", STRING, "TLS mode of PostgreSQL", default="prefer"),
)

# Of 0.4 and 0.5: the first are given to the options of 1.0 by `dialect`, the others had no effect
# on the tests of 0.5 and have none here.
LEGACY = (
    Option("oltp-table-size", INT, "rows of a table"),
    Option("oltp-tables-count", INT, "tables"),
    Option("oltp-num-tables", INT, "tables"),
    Option("oltp-test-mode", STRING, "simple, complex or nontrx"),
    Option("oltp-nontrx-mode", STRING, "select, update_key, update_nokey, insert or delete"),
    Option("oltp-read-only", BOOL, "no writes", default="off"),
    Option("oltp-write-only", BOOL, "no reads", default="off"),
    Option("oltp-skip-trx", BOOL, "no BEGIN and COMMIT"),
    Option("oltp-auto-inc", BOOL, "the server chooses ids"),
    Option("oltp-secondary", BOOL, "a secondary index in place of the primary key"),
    Option("oltp-create-secondary", BOOL, "the index on k"),
    Option("oltp-range-size", INT, "ids of a range"),
    Option("oltp-range-selects", BOOL, "selects of ranges"),
    Option("oltp-point-selects", INT, "selects by primary key"),
    Option("oltp-simple-ranges", INT, "simple selects of ranges"),
    Option("oltp-sum-ranges", INT, "sums over ranges"),
    Option("oltp-order-ranges", INT, "sorted ranges"),
    Option("oltp-distinct-ranges", INT, "distinct ranges"),
    Option("oltp-index-updates", INT, "updates of k"),
    Option("oltp-non-index-updates", INT, "updates of c"),
    Option("oltp-delete-inserts", INT, "pairs of delete and insert"),
    Option("mysql-table-engine", STRING, "the storage engine"),
    Option("oltp-dist-type", STRING, "the distribution of ids"),
    Option("oltp-dist-pct", INT, "share of special ids"),
    Option("oltp-dist-res", INT, "hits on special ids"),
    Option("oltp-dist-iter", INT, "iterations of the distribution"),
    Option("mysql-engine-trx", STRING, "no effect"),
    Option("myisam-max-rows", INT, "no effect"),
    Option("oltp-connect-delay", INT, "no effect"),
    Option("oltp-reconnect", BOOL, "no effect"),
    Option("oltp-reconnect-mode", STRING, "no effect"),
    Option("oltp-sp-name", STRING, "no effect"),
    Option("oltp-user-delay-min", INT, "no effect"),
    Option("oltp-user-delay-max", INT, "no effect"),
    Option("oltp-table-name", STRING, "no effect"),
    Option("init-rng", BOOL, "no effect"),
    Option("rand-init", BOOL, "no effect"),
    Option("rand-max-iterations", INT, "no effect"),
    Option("batch", BOOL, "no effect"),
)

OURS = (
    Option("compat", STRING, "which sysbench to be: 1.0, or 1.1 (its defaults and report)", "1.0"),
    Option("loadstone-out", STRING, "keep the run's folder below this one"),
    Option(
        "lua-threads",
        BOOL,
        "a thread for each user of a script, for scripts that wait in C functions",
        "off",
    ),
    Option("help-loadstone", BOOL, "print this and exit", "off"),
)


def for_all_tests() -> dict[str, Option]:
    """The options that any command line may have, by key."""
    blocks = (GENERAL, RANDOM, LOG, DATABASE, MYSQL, PGSQL, ONLY_IN_1_1, OURS)
    return {option.key: option for block in blocks for option in block}


def with_defaults_of_1_1(options: dict[str, Option]) -> dict[str, Option]:
    """The same, where 1.1 has other defaults."""
    uniform = replace(options["rand_type"], default="uniform")
    return options | {"rand_type": uniform}
