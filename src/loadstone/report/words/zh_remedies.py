"""What the rules of `loadstone.diagnosis` advise, in Chinese."""

from __future__ import annotations

from loadstone.report.words.phrases import Phrase, one_of, phrase
from loadstone.report.words.zh_parts import END

_PLAIN = one_of(
    {
        # The generator, and who else drives the server
        "Give the generator cores of its own (another host, or more --shards); loadstone calibrate "
        "measures what it can do.": (
            "给负载发生器独占的 CPU（另一台主机，或更多 --shards）；loadstone calibrate 可测出它的"
            "能力。"
        ),
        "Find them (SHOW PROCESSLIST), and measure without them.": (
            "找出这些客户端（SHOW PROCESSLIST），停掉后重新测试。"
        ),
        "Look at error {code} first: a rate with {total} errors is not the server's.": (
            "先解决错误 {code}：带有 {total} 个错误的吞吐不能代表服务器。"
        ),
        "The server or the session is read-only (read_only): is it the primary?": (
            "服务器或会话是只读的（read_only）：它是主库吗？"
        ),
        "Raise max_prepared_stmt_count above tables × statements × users.": (
            "将 max_prepared_stmt_count 调到大于 表数 × 语句数 × 并发。"
        ),
        "Look at the free space of the server's data and temporary folders.": (
            "检查服务器数据目录与临时目录的剩余空间。"
        ),
        "Raise max_execution_time (MariaDB: max_statement_time), or set it to 0.": (
            "调大 max_execution_time（MariaDB 为 max_statement_time），或设为 0。"
        ),
        "Raise the account's limits (MAX_QUERIES_PER_HOUR and the like).": (
            "放宽该账号的限制（MAX_QUERIES_PER_HOUR 等）。"
        ),
        # Connections
        "Raise max_connections above the number of users.": "将 max_connections 调到大于并发数。",
        "Look at the error numbers; a longer --connect-timeout and a smaller --connect-at-once "
        "help servers that accept slowly (back_log, connect_timeout).": (
            "先看错误号；如果服务器接受连接较慢（back_log、connect_timeout），可加大 "
            "--connect-timeout、减小 --connect-at-once。"
        ),
        "Keep connections open (a connection pool); a larger thread_cache_size.": (
            "使用长连接（连接池）；加大 thread_cache_size。"
        ),
        "See the server's error log: a restart, a kill, a timeout, or the network.": (
            "查看服务器错误日志：重启、KILL、超时或网络问题。"
        ),
        "Raise max_user_connections, or the account's own limit, above the number of users.": (
            "将 max_user_connections 或该账号自身的限制调到大于并发数。"
        ),
        # Cores
        "Spread the interrupts (irqbalance, receive packet steering), let the server use all cores "
        "(taskset, cpuset), look for a single-threaded part with perf top.": (
            "把中断分散到各核（irqbalance、RPS），让服务器使用全部核（taskset、cpuset），用 perf "
            "top 查找单线程瓶颈。"
        ),
        "Find who stops it: a debugger, gcore or pstack, a backup that sends SIGSTOP.": (
            "找出是谁暂停了它：调试器、gcore、pstack，或发送 SIGSTOP 的备份程序。"
        ),
        "Raise the group's CPU limit (cpu.max, cpu.cfs_quota_us, docker --cpus).": (
            "提高 cgroup 的 CPU 限额（cpu.max、cpu.cfs_quota_us、docker --cpus）。"
        ),
        "Let it run on more cores (taskset, cpuset, CPUAffinity of its unit).": (
            "让它使用更多的核（taskset、cpuset、systemd 单元的 CPUAffinity）。"
        ),
        "Stop what else runs on the server's host, or give the server cores of its own.": (
            "停掉服务器主机上的其他程序，或给服务器独占的 CPU。"
        ),
        "Measure on a host without overcommitted cores, of no burstable class.": (
            "换到 CPU 不超卖、非突发型的主机上测试。"
        ),
        "A smaller innodb_buffer_pool_size or fewer connections, or more memory.": (
            "减小 innodb_buffer_pool_size、减少连接，或增加内存。"
        ),
        # Network
        "A faster line or interface, the unix socket where both are on one host, compression, or "
        "rows of fewer bytes.": (
            "更快的线路或网卡；同机时改用 unix socket；启用压缩；减少每行的字节数。"
        ),
        "Look for errors and drops of the interfaces on the way (ip -s link, ethtool -S), for a "
        "full queue, and for a duplex mismatch.": (
            "检查沿途网卡的错误与丢包（ip -s link、ethtool -S）、队列是否溢出、双工模式是否一致。"
        ),
        "A generator nearer to the server, fewer statements an event, or more users.": (
            "让负载发生器靠近服务器，减少每个事件的语句数，或增加并发。"
        ),
        "Where the network is trusted, connect without (tls=disabled in the target's URL) or by "
        "the unix socket; measure both before saying what it costs.": (
            "在可信网络内可以不加密（目标 URL 加 tls=disabled）或走 unix socket；两种方式都测过"
            "再下结论。"
        ),
        # Disk and logs
        "Find them (iotop, pidstat -d), or give the server a disk of its own.": (
            "找出这些程序（iotop、pidstat -d），或给服务器独占的磁盘。"
        ),
        "Set it to 0: it spares syncs where there are many users on a disk with few syncs, and "
        "only costs time elsewhere.": (
            "设为 0：只有在并发很多而磁盘刷盘能力很低时才能省下刷盘，否则只会增加等待。"
        ),
        "Audit logins and changes of rights only, where the rules of the house allow it.": (
            "在制度允许的情况下，只审计登录和权限变更。"
        ),
        "A disk or a volume class with more operations or bandwidth; fewer operations: a larger "
        "buffer pool and redo log, larger commit groups.": (
            "换用 IOPS 或带宽更高的磁盘（云盘规格）；或减少磁盘操作：加大缓冲池与重做日志，扩大"
            "组提交。"
        ),
        "Raise innodb_io_capacity (2000 for a solid-state disk) and innodb_io_capacity_max.": (
            "提高 innodb_io_capacity（固态盘可设 2000）和 innodb_io_capacity_max。"
        ),
        "A log device that syncs faster (flash with power-loss protection), more users so that a "
        "sync carries more commits; less durability only where commits may be lost.": (
            "换用刷盘更快的日志盘（带掉电保护的闪存）；增加并发，让每次刷盘携带更多提交；只有允许"
            "丢失提交时才降低持久性。"
        ),
        "Nothing to do: disk operations are no measure of the work, and their limit is not what "
        "holds this rate (syncs by transaction fell by {share}).": (
            "无需处理：磁盘操作次数不等于工作量，IOPS 上限也不是吞吐的瓶颈（每个事务的刷盘次数"
            "下降了 {share}）。"
        ),
        "Raise {variable} to {size} or more.": "将 {variable} 提高到 {size} 或以上。",
        "Raise innodb_log_buffer_size to 64M.": "将 innodb_log_buffer_size 提高到 64M。",
        "Raise max_binlog_size to 1G.": "将 max_binlog_size 提高到 1G。",
        "Raise binlog_cache_size above the size of a transaction.": (
            "将 binlog_cache_size 提高到大于单个事务的大小。"
        ),
        "SET GLOBAL general_log = OFF.": "执行 SET GLOBAL general_log = OFF。",
        "Raise long_query_time, or switch slow_query_log off.": (
            "提高 long_query_time，或关闭 slow_query_log。"
        ),
        # Replication
        "A nearer or faster replica, more users at once, or asynchronous replication.": (
            "使用更近或更快的从库，增加并发，或改用异步复制。"
        ),
        "Bring the replica back (SHOW REPLICA STATUS): these figures are of neither mode.": (
            "恢复从库（SHOW REPLICA STATUS）：这些数据既不是半同步也不是异步的结果。"
        ),
        # Memory
        "Warm up longer (--warmup auto or a longer time) before the window begins.": (
            "延长预热（--warmup auto 或更长的时间）后再开始测量。"
        ),
        "Raise innodb_buffer_pool_size, as far as the memory goes.": (
            "在内存允许的范围内加大 innodb_buffer_pool_size。"
        ),
        "Raise table_open_cache (and table_definition_cache) above users × tables.": (
            "将 table_open_cache（以及 table_definition_cache）提高到大于 并发 × 表数。"
        ),
        "SET GLOBAL query_cache_type = OFF and query_cache_size = 0.": (
            "执行 SET GLOBAL query_cache_type = OFF，并设 query_cache_size = 0。"
        ),
        "Find who sends FLUSH (backups and monitors do); set flush_time to 0.": (
            "找出谁在执行 FLUSH（通常是备份或监控）；将 flush_time 设为 0。"
        ),
        # Locks
        "End the transaction that has been open for {seconds} s (information_schema.INNODB_TRX, "
        "sys.innodb_lock_waits); commit sooner.": (
            "结束那个已打开 {seconds} 秒的事务（见 information_schema.INNODB_TRX、"
            "sys.innodb_lock_waits）；尽早提交。"
        ),
        "Set innodb_max_purge_lag to 0; look for what holds purge back.": (
            "将 innodb_max_purge_lag 设为 0；查找拖慢 purge 的原因。"
        ),
        "Spread the changes over more rows (a counter in several rows, other key distribution), "
        "change the hot row last in the transaction, keep transactions short; fewer users wait "
        "less and do as much.": (
            "把更新分散到更多行（热点行拆成多行计数，或改变键的分布），在事务最后才更新热点行，"
            "缩短事务；并发少一些等待更少，吞吐不减。"
        ),
        "innodb_deadlock_detect=OFF with a short innodb_lock_wait_timeout (1 s), or fewer users on "
        "the row (a thread pool, a queue before the server).": (
            "设 innodb_deadlock_detect=OFF 并缩短 innodb_lock_wait_timeout（1 秒），或减少争用该行"
            "的并发（线程池，或在服务器前排队）。"
        ),
        "Find the session that holds the lock (performance_schema.metadata_locks, SHOW "
        "PROCESSLIST), end it or move its work away from the load.": (
            "找出持有锁的会话（performance_schema.metadata_locks、SHOW PROCESSLIST），结束它，或把"
            "它的工作移到测试之外。"
        ),
        "End that transaction (information_schema.INNODB_TRX names it).": (
            "结束该事务（在 information_schema.INNODB_TRX 中可以找到）。"
        ),
        "Raise innodb_purge_threads; look for what holds purge back.": (
            "提高 innodb_purge_threads；查找拖慢 purge 的原因。"
        ),
        # Threads
        "A thread pool: MariaDB thread_handling=pool-of-threads with thread_pool_size of 1 to 1.5 "
        "times the cores, MySQL's thread_pool plugin; or fewer connections.": (
            "启用线程池：MariaDB 设 thread_handling=pool-of-threads，thread_pool_size 取核数的 "
            "1 到 1.5 倍；MySQL 用 thread_pool 插件；或减少连接。"
        ),
        "Set thread_pool_max_threads to 500 or more.": (
            "将 thread_pool_max_threads 设为 500 或以上。"
        ),
        "Set thread_pool_size to 1 to 1.5 times the cores.": (
            "将 thread_pool_size 设为核数的 1 到 1.5 倍。"
        ),
        "Set innodb_thread_concurrency to 0 (no limit).": (
            "将 innodb_thread_concurrency 设为 0（不限制）。"
        ),
        # Statements
        "SHOW TRIGGERS, and SHOW EVENTS, on the tables of the load: do without them, or make their "
        "statements cheaper.": (
            "用 SHOW TRIGGERS 和 SHOW EVENTS 查看负载所用的表：去掉它们，或降低其中语句的开销。"
        ),
        "An index on the columns of the WHERE clause; EXPLAIN shows what is read now. Where there "
        "is one: ANALYZE TABLE, and no hint that forces another.": (
            "在 WHERE 条件的列上建索引；用 EXPLAIN 查看当前的读取方式。已有索引时执行 ANALYZE "
            "TABLE，并去掉强制使用其他索引的提示。"
        ),
        "Set sort_buffer_size to 2M (below 32M), or preload jemalloc.": (
            "将 sort_buffer_size 设为 2M（小于 32M），或预加载 jemalloc。"
        ),
        "Raise sort_buffer_size (below 32M) for these sessions, or give the order an index.": (
            "为这些会话加大 sort_buffer_size（小于 32M），或为排序列建索引。"
        ),
        "Raise tmp_table_size and max_heap_table_size, or give the grouping an index.": (
            "加大 tmp_table_size 和 max_heap_table_size，或为分组列建索引。"
        ),
        "Switch off in performance_schema.setup_instruments what nobody reads: UPDATE ... SET "
        "ENABLED='NO' WHERE NAME LIKE 'wait/synch/%' OR NAME LIKE 'stage/%'.": (
            "在 performance_schema.setup_instruments 中关闭没人看的采集项：UPDATE ... SET "
            "ENABLED='NO' WHERE NAME LIKE 'wait/synch/%' OR NAME LIKE 'stage/%'。"
        ),
        # Nothing is used up
        "Try more users: --concurrency auto finds the fewest that reach the peak.": (
            "增加并发：--concurrency auto 会找出达到峰值的最小并发。"
        ),
        "Try a higher --rate, or --slo for the highest that holds an objective.": (
            "提高 --rate，或用 --slo 找出满足目标的最高到达率。"
        ),
        "performance_schema=ON with its wait instruments names more; so does a ladder of users, "
        "and loadstone probe and calibrate for the limits of disk and generator.": (
            "开启 performance_schema 及其等待采集能看到更多原因；测多档并发，以及用 loadstone "
            "probe 和 calibrate 测出磁盘与负载发生器的上限，也有帮助。"
        ),
        "Run without --no-observe; for a host that is not this machine give --host-ssh or "
        "--node-exporter (docs/observing.md).": (
            "去掉 --no-observe；服务器在另一台主机时加 --host-ssh 或 --node-exporter（见 "
            "docs/observing.md）。"
        ),
    }
).phrases

REMEDIES: tuple[Phrase, ...] = (
    *_PLAIN,
    phrase(
        "More or faster cores, or less work for each event: fewer statements, better indexes."
        "{generator}",
        "更多或更快的核，或减少每个事件的工作量：更少的语句、更好的索引。{generator}",
        generator=one_of(
            {"": "", " Move the generator to another host.": "把负载发生器移到另一台主机。"}
        ),
    ),
    phrase(
        "Lock rows in the same order in all transactions, keep them short{level}",
        "让所有事务按相同顺序加锁，缩短事务{level}",
        level=one_of(
            {
                ", or take READ-COMMITTED, which locks no gaps.": (
                    "，或改用不加间隙锁的 READ-COMMITTED。"
                ),
                **END,
            }
        ),
    ),
)
"""In the order of what they are about."""
