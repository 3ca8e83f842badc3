"""What the review of a server's settings says, in Chinese."""

from __future__ import annotations

from loadstone.report.words.phrases import Phrase, Phrasebook, one_of, phrase

_BIG_SORTS = "glibc maps and unmaps requests of 32 MiB and more each time: page faults for each use"
_POOL_SIZE = "data that does not fit is read from the disk"

_MEANINGS = one_of(
    {
        "0 loses up to a second of commits with a crash of the server; compare only with servers "
        "that lose as much": (
            "设为 0 时服务器崩溃会丢失最多一秒的提交；只能与持久性相同的服务器比较"
        ),
        "2 loses up to a second of commits with a power cut; compare only with servers that lose "
        "as much": "设为 2 时断电会丢失最多一秒的提交；只能与持久性相同的服务器比较",
        "a power cut loses transactions of the binary log, and replicas with them": (
            "断电会丢失 binlog 中的事务，从库也随之不一致"
        ),
        "a page that was half written when the power went is lost; without it writes are halved": (
            "断电时写到一半的页会损坏；关闭它写入量减半"
        ),
        "a server with replicas or backups has one: each commit is flushed twice there": (
            "有从库或备份的服务器都开启 binlog：每次提交要刷盘两次"
        ),
        "the log is changed for a new one often; commits wait meanwhile, and the rate swings": (
            "日志文件频繁切换，期间提交要等待，吞吐会波动"
        ),
        "when it is full, pages are flushed in a hurry and writes wait: the rate saw-tooths": (
            "写满时会集中刷脏页，写入随之等待：吞吐呈锯齿状"
        ),
        "large transactions write the log before they commit": "大事务在提交前就要写日志",
        "what one turning disk can do: dirty pages pile up on anything faster": (
            "这是一块机械盘的能力：在更快的盘上脏页会堆积"
        ),
        "pages beside dirty ones are written too, which helps turning disks only": (
            "会连同相邻页一起刷，只对机械盘有益"
        ),
        "pages go through the system's cache too: they stand in memory twice": (
            "页还会经过系统缓存：在内存中存两份"
        ),
        "each statement is written to it, under a lock": "每条语句都要加锁写入",
        "nearly each statement is written to the slow log": "几乎每条语句都写入慢查询日志",
        "costs some percent of the rate; off or on, let it be the same on both sides": (
            "会损失百分之几的吞吐；无论开关，比较的双方应一致"
        ),
        "one lock for all connections; each write throws entries away": (
            "所有连接共用一把锁；每次写入都使缓存失效"
        ),
        "with thousands of connections at work a thread pool keeps the rate; MariaDB has one "
        "(thread_handling=pool-of-threads), MySQL 9.7 a plugin": (
            "数千连接同时工作时线程池能保持吞吐；MariaDB 自带（thread_handling=pool-of-threads），"
            "MySQL 9.7 有插件"
        ),
        "fewer open tables than max_connections ({most}): tables are opened anew": (
            "小于 max_connections（{most}）：表会被反复打开"
        ),
        "with hundreds of tables their definitions are read anew": (
            "有数百张表时，表定义会被反复读取"
        ),
        "without detection a deadlock lasts until the timeout of a lock wait": (
            "关闭死锁检测后，死锁要等到锁等待超时才解除"
        ),
        "its maker's support ended on {day}": "厂商支持已于 {day} 结束",
    }
).phrases

_POOL = Phrasebook((phrase(_POOL_SIZE, "放不下的数据要从磁盘读取"),))

SETTINGS: tuple[Phrase, ...] = (
    *_MEANINGS,
    phrase(
        "the machine has {memory}: with connections and sorts it may swap",
        "机器内存为 {memory}：加上连接与排序可能用到交换区",
    ),
    phrase("the machine has {memory}; {why}", "机器内存为 {memory}；{why}", why=_POOL),
    phrase("the default, made for a laptop: {why}", "默认值，只适合笔记本：{why}", why=_POOL),
    phrase(
        _BIG_SORTS + "{version}",
        "glibc 对 32 MiB 及以上的申请每次都重新映射并释放：每次使用都产生缺页{version}",
        version=one_of(
            {
                "": "",
                "; MySQL takes it in pieces since 8.0.12, so look whether it matters": (
                    "；MySQL 自 8.0.12 起按需分块申请，请先确认是否有影响"
                ),
            }
        ),
    ),
)
"""Why a setting matters for a benchmark."""
