"""What the rules find, in Chinese: a phrase for each of their sentences."""

from __future__ import annotations

from loadstone.report.words.phrases import Each, Phrase, Phrasebook, one_of, phrase
from loadstone.report.words.zh_ceilings import RECKONED
from loadstone.report.words.zh_parts import END, RESOURCES, USERS

_GENERATOR: tuple[Phrase, ...] = (
    phrase(
        "The load generator is the limit, not the server: its event loops work {cpu} of the time "
        "and wait for a core {delay} of it, and answers that have come lie for up to {held} of the "
        "latency{away}",
        "瓶颈是负载发生器，不是服务器：它的事件循环有 {cpu} 的时间在工作、{delay} 的时间在等待 "
        "CPU，应答到达后未被处理的时间最多占延迟的 {held}{away}",
        away=one_of(
            {
                ", while {share} of the users' time is spent outside the server.": (
                    "；用户有 {share} 的时间不在服务器内。"
                ),
                **END,
            }
        ),
    ),
    phrase(
        "{part} of the attempts fail, mostly with error {code}{message}",
        "{part} 的尝试失败，最多的是错误 {code}{message}",
        message=one_of({"": "", ": {text}": "：{text}"}),
    ),
    phrase(
        "Others use the server: of {all} statements a second that it was sent, {others} ({part}) "
        "are not of this load: do not compare these figures.",
        "服务器上还有其他客户端：每秒收到的 {all} 条语句中有 {others} 条（{part}）不属于本次负载"
        "，这些数据不可用于比较。",
    ),
    phrase(
        "Others use the server: a statement has been at work for {seconds} s, longer than any of "
        "this load takes: do not compare these figures.",
        "服务器上还有其他客户端：有一条语句已执行 {seconds} 秒，比本次负载的任何语句都长，这些数据"
        "不可用于比较。",
    ),
    phrase(
        "Others use the server: of {all} MB a second that it sends, {others} ({part}) do not come "
        "to this load: do not compare these figures.",
        "服务器上还有其他客户端：每秒发出的 {all} MB 中有 {others} MB（{part}）不是发给本次负载的，"
        "这些数据不可用于比较。",
    ),
    phrase(
        "The server carries out more than it is sent: beside {sent} statements a second there are "
        "{inside} ({part} of all) inside triggers, routines or events.",
        "服务器执行的语句多于收到的：每秒收到 {sent} 条，另有 {inside} 条（占全部的 {part}）在"
        "触发器、存储过程或事件中执行。",
    ),
)

_CONNECTIONS: tuple[Phrase, ...] = (
    phrase(
        "{failed} connection attempts failed{numbers}{missing}{limit}",
        "{failed} 次连接尝试失败{numbers}{missing}{limit}",
        numbers=one_of({"": "", " ({list})": "（{list}）"}),
        missing=one_of(
            {
                "": "",
                "; {missing} of {users} users had none at the end": (
                    "；结束时 {users} 个并发中有 {missing} 个没有连接"
                ),
            }
        ),
        limit=one_of({": max_connections is {limit}.": "：max_connections 为 {limit}。", **END}),
    ),
    phrase(
        "{reconnects} connections were lost and opened again, first with: {reason}.",
        "{reconnects} 个连接断开后重连，首次的原因：{reason}。",
    ),
    phrase(
        "{opened} connections a second are opened for {events} events{tls}: each costs a thread, "
        "a login and its session.",
        "每秒 {events} 个事件却要新建 {opened} 个连接{tls}：每个连接都有创建线程、登录和初始化"
        "会话的开销。",
        tls=one_of(
            {"": "", ", {part} of them with a TLS handshake": "，其中 {part} 要做 TLS 握手"}
        ),
    ),
)

_CPU: tuple[Phrase, ...] = (
    phrase(
        "The server host's {cores} cores are used up ({busy} busy{gap}{whose}): {cost}.",
        "服务器主机的 {cores} 个核已用尽（使用率 {busy}{gap}{whose}）：{cost}。",
        gap=one_of({"": "", "; ": "；"}),
        whose=Each(
            one_of(
                {
                    "the server {part}": "服务器 {part}",
                    "the generator {part}": "负载发生器 {part}",
                    "others {part}": "其他程序 {part}",
                }
            )
        ),
        cost=one_of(
            {
                "no event succeeded meanwhile": "期间没有事件成功",
                "each event takes {time} of the server's CPU": "每个事件消耗服务器 CPU {time}",
            }
        ),
    ),
    phrase(
        "One core is at {busiest} while all together are at {all}: a single thread or the "
        "interrupts of one queue hold the rest back.",
        "最忙的核使用率为 {busiest}，全部核平均为 {all}：单个线程或单个队列的中断成了瓶颈。",
    ),
    phrase(
        "The server's control group allows {limit} cores and stopped it in {often} of its "
        "periods{used}",
        "服务器所在的 cgroup 限制为 {limit} 个核，有 {often} 的调度周期被限流{used}",
        used=one_of({"; it uses {cores} of them.": "；实际使用 {cores} 个核。", **END}),
    ),
    phrase(
        "The server's process is stopped (state T) {share} of the time: whoever sends it a "
        "statement then waits until it is let go on.",
        "服务器进程有 {share} 的时间处于停止状态（T）：其间发来的语句要等到它恢复运行。",
    ),
    phrase(
        "The server may run on {allowed} of the host's {cores} cores and uses {used} of them.",
        "主机有 {cores} 个核，服务器进程只能使用其中 {allowed} 个，已用 {used} 个。",
    ),
    phrase(
        "Other processes use {others} of the server host's {cores} cores, and none is free ({busy} "
        "busy; the server has {own}): do not compare these figures.",
        "服务器主机的 {cores} 个核中有 {others} 个被其他进程占用，已没有空闲（使用率 {busy}，"
        "服务器只得到 {own} 个）：这些数据不可用于比较。",
    ),
    phrase(
        "The hypervisor gave {steal} of the server host's cores to other guests: the figures are "
        "those of a smaller machine, and change with its neighbours.",
        "虚拟化层把服务器主机 {steal} 的 CPU 给了其他虚拟机：这些数据相当于一台更小的机器，并"
        "随邻居的负载变化。",
    ),
    phrase(
        "The server has too little memory{within}: it waits for {faults} page faults a second that "
        "read a disk.",
        "服务器内存不足{within}：每秒有 {faults} 次缺页要读磁盘。",
        within=one_of({"": "", " within its control group's {size}": "（cgroup 限制为 {size}）"}),
    ),
    phrase(
        "The server's host swaps: {back} pages/s come back, {out} go{own}: the figures are those "
        "of a machine with too little memory.",
        "服务器主机在使用交换区：每秒换入 {back} 页、换出 {out} 页{own}：这些数据反映的是内存"
        "不足的机器。",
        own=one_of(
            {
                "": "",
                ", and the server itself waits for {faults} a second": (
                    "，服务器进程自身每秒等待 {faults} 次换入"
                ),
            }
        ),
    ),
)

_FASTER = Each(
    one_of(
        {
            "{name} ({speed} Mbit/s": "{name}（{speed} Mbit/s",
            "{name} ({speed} Mbit/s)": "{name}（{speed} Mbit/s）",
            "which would carry {events} events a second of {size})": (
                "按每个事件 {size} 计每秒可承载 {events} 个事件）"
            ),
        }
    )
)
_ADVICE = Phrasebook(
    (
        phrase("", ""),
        phrase(" The host has a faster interface: {faster}.", "主机上有更快的网卡：{faster}。",
               faster=_FASTER),
    )
)  # fmt: skip

_NETWORK: tuple[Phrase, ...] = (
    phrase(
        "The {line} is full: {used} of {reckoned}, with the server's cores at {busy}.{advice}",
        "{line}带宽已用满：达到上限（{reckoned}）的 {used}，而服务器 CPU 使用率只有 {busy}。"
        "{advice}",
        line=one_of({"line from the server": "服务器出方向", "line to the server": "服务器入方向"}),
        reckoned=RECKONED,
        advice=_ADVICE,
    ),
    phrase(
        "The network is full: {mbit} Mbit/s{since}, while the server's cores are at {busy} and "
        "users spend {waiting} of their time on the way.{advice}",
        "网络已用满：{mbit} Mbit/s{since}，而服务器 CPU 使用率为 {busy}，用户有 {waiting} 的时间"
        "花在网络上。{advice}",
        since=Phrasebook(
            (
                phrase("", ""),
                phrase(", the same as with {users}", "（与 {users}时相同）", users=USERS),
            )
        ),
        advice=_ADVICE,
    ),
    phrase(
        "The network loses packets: {whose} sends {again} segments a second again ({part} of all), "
        "and each time a user waits {timer} s or more, which is {share} of the users' time.",
        "网络丢包：{whose}每秒重传 {again} 个报文段（占全部的 {part}），每次重传至少让一个用户等待 "
        "{timer} 秒，合计占用户时间的 {share}。",
        whose=one_of({"the server's host": "服务器主机", "the generator's host": "负载发生器主机"}),
    ),
    phrase(
        "The server is far away: no statement takes less than {least} ms, and an event of "
        "{statements} of them spends {share} of its {mean} ms on the way, while users are in the "
        "server {inside} of their time.",
        "服务器距离较远：没有一条语句快于 {least} 毫秒；一个事件有 {statements} 条语句，在 {mean} "
        "毫秒中有 {share} 花在网络往返上，用户只有 {inside} 的时间在服务器内。",
    ),
    phrase(
        "All {users} connections are encrypted ({version}): that takes about {share} of the CPU "
        "that the load uses, reckoned from {statements} statements and {traffic} MB a second.",
        "全部 {users} 个连接都已加密（{version}）：按每秒 {statements} 条语句、{traffic} MB 流量"
        "估算，约占本次负载 CPU 的 {share}。",
    ),
)

_DISK: tuple[Phrase, ...] = (
    phrase(
        "The server's control group allows {limit} {unit} of {disk}; with what others do the disk "
        "does {used}, and the server's own work leaves cores free.",
        "服务器所在的 cgroup 对磁盘 {disk} 的限制为 {limit} {unit}；连同其他程序，该磁盘已达到 "
        "{used}，而服务器自身的工作并未用满 CPU。",
        unit=one_of(
            {
                "writes/s": "次写/秒",
                "reads/s": "次读/秒",
                "bytes written/s": "字节写/秒",
                "bytes read/s": "字节读/秒",
            }
        ),
    ),
    phrase(
        "The disk does no more: {resource} are at {used} of what loadstone probe measured "
        "({reckoned}).",
        "磁盘已到极限：{resource}达到 loadstone probe 实测能力的 {used}（{reckoned}）。",
        resource=one_of(RESOURCES),
        reckoned=RECKONED,
    ),
    phrase(
        "The disk is busy {busy} of the time with {queue} requests on their way: it does "
        "{operations} a second, each in {each} ms{flat}",
        "磁盘有 {busy} 的时间处于忙碌，平均有 {queue} 个请求在途：每秒完成 {operations} 次，每次 "
        "{each} 毫秒{flat}",
        flat=one_of({", no more than with fewer users.": "，并不比更少并发时多。", **END}),
    ),
    phrase(
        "Others use the server's disk: of {moved} MB a second on {disk} the server moves {own}, "
        "and the disk is busy {busy} of the time: do not compare these figures.",
        "其他程序占用服务器的磁盘：{disk} 每秒 {moved} MB 中服务器只占 {own} MB，而磁盘有 {busy} "
        "的时间在忙：这些数据不可用于比较。",
    ),
    phrase(
        "innodb_io_capacity={capacity} holds flushing back: {flushed} pages are flushed a second, "
        "{dirty} of the pool is dirty, and the disk is busy {busy} of the time.",
        "innodb_io_capacity={capacity} 限制了刷脏页：每秒只刷 {flushed} 页，脏页占缓冲池的 {dirty}"
        "，而磁盘只有 {busy} 的时间在忙。",
    ),
)

_LOGS: tuple[Phrase, ...] = (
    phrase(
        "Users wait for the log's flush {share} of their time: {each} ms a commit, with {syncs} "
        "syncs of the log a second for {commits} commits.",
        "用户有 {share} 的时间在等待日志刷盘：每次提交 {each} 毫秒，每秒刷盘 {syncs} 次、提交 "
        "{commits} 次。",
    ),
    phrase(
        "Commits wait on purpose: {name}={value} makes each group wait up to {most} ms for more "
        "commits, and a commit takes {each} ms; that is {part} of the users' time.",
        "提交被有意延迟：{name}={value} 让每组提交最多等待 {most} 毫秒以凑齐更多提交，一次提交需要 "
        "{each} 毫秒，占用户时间的 {part}。",
    ),
    phrase(
        "Group commit: from {first} to {best} the rate goes from {before} to {after} tps while "
        "syncs of the log {moved} from {syncs} to {now} a second{binlog}: one sync carries "
        "{carried} transactions instead of {alone}{bytes}{disk}{beyond}.",
        "组提交：从 {first}到 {best}，吞吐从 {before} 升至 {after} TPS，而日志刷盘从每秒 {syncs} 次"
        "{moved} {now} 次{binlog}：每次刷盘携带 {carried} 个事务（此前 {alone} 个）{bytes}{disk}"
        "{beyond}。",
        first=USERS,
        best=USERS,
        moved=one_of({"fall": "降至", "grow only": "仅增至"}),
        binlog=one_of({"": "", " (binary log {a} to {b})": "（binlog 从 {a} 到 {b}）"}),
        bytes=one_of(
            {"": "", ", and {a} KB of log instead of {b}": "，写 {a} KB 日志（此前 {b} KB）"}
        ),
        disk=one_of(
            {
                "": "",
                "; the disk writes {a} and {b} times a second": (
                    "；磁盘写分别为每秒 {a} 次和 {b} 次"
                ),
            }
        ),
        beyond=Phrasebook(
            (
                phrase("", ""),
                phrase(
                    "; with {users} it is {rate} tps with {carried} transactions a sync{writes}: "
                    "beyond the peak users bring no more",
                    "；{users}时为 {rate} TPS、每次刷盘 {carried} 个事务{writes}：过了峰值，增加"
                    "并发不再有收益",
                    users=USERS,
                    writes=one_of(
                        {
                            "": "",
                            " and {writes} writes of the disk a second": "、磁盘写每秒 {writes} 次",
                        }
                    ),
                ),
            )
        ),
    ),
    phrase(
        "The redo log is too small: {written}/s of redo fill its {limit} in {seconds} s, so that "
        "pages are flushed as fast as they are changed.",
        "重做日志过小：写入量 {written}/秒，{seconds} 秒就写满 {limit}，脏页一产生就得刷盘。",
    ),
    phrase(
        "The redo log is too small: the checkpoint's age is {age} of at most {limit}, near its "
        "limit {near} of the time, so that changes wait for pages to be flushed; {written}/s of "
        "redo fill it in {seconds} s.",
        "重做日志过小：checkpoint age 为 {age}，上限 {limit}，有 {near} 的时间接近上限，写入因此要"
        "等待刷脏页；按 {written}/秒 的写入量，{seconds} 秒就会写满。",
    ),
    phrase(
        "Changes waited {waits} times a second for room in the log buffer{size}",
        "每秒有 {waits} 次写入在等待日志缓冲区腾出空间{size}",
        size=one_of({" of {size}.": "（{size}）。", **END}),
    ),
    phrase(
        "The binary log begins a new file {rotations} times a second: max_binlog_size is {most} "
        "and {written}/s are written; all commits wait meanwhile.",
        "binlog 每秒切换 {rotations} 次文件：max_binlog_size 为 {most}，写入量为 {written}/秒；"
        "切换期间所有提交都要等待。",
    ),
    phrase(
        "{part} of the transactions did not fit the binary log's cache{size} and went through a "
        "temporary file.",
        "{part} 的事务超出了 binlog 缓存{size}，只能经由临时文件。",
        size=one_of({"": "", " of {size}": "（{size}）"}),
    ),
    phrase(
        "The general log is on: {statements} statements a second are written to {where}, one "
        "after the other.",
        "general log 已开启：每秒有 {statements} 条语句依次写入{where}。",
        where=one_of({"a table": "表中", "its file": "文件"}),
    ),
    phrase(
        "The audit log is on: {statements} statements a second are written down, one after the "
        "other.",
        "审计日志已开启：每秒有 {statements} 条语句被依次记录。",
    ),
    phrase(
        "{part} of the statements are written to the slow log (long_query_time={limit}): {slow} a "
        "second.",
        "{part} 的语句被写入慢查询日志（long_query_time={limit}）：每秒 {slow} 条。",
    ),
    phrase(
        "Commits wait for a replica's acknowledgement {share} of the users' time{each}",
        "用户有 {share} 的时间在等待从库确认（半同步复制）{each}",
        each=one_of({", {each} ms each.": "，每次提交 {each} 毫秒。", **END}),
    ),
    phrase(
        "Semi-synchronous replication fell back to asynchronous: {part} of the transactions were "
        "committed without a replica's acknowledgement{after}",
        "半同步复制已退化为异步：{part} 的事务未经从库确认就已提交{after}",
        after=one_of(
            {", after waiting {timeout} s for it.": "（等待 {timeout} 秒后超时）。", **END}
        ),
    ),
)

_POOL: tuple[Phrase, ...] = (
    phrase(
        "The buffer pool was cold: pages read by event went from {first} to {last} within the "
        "window, and {kept} of those read stay in it; reading is {share} of an event's work.",
        "缓冲池尚未预热：测量窗口内每个事件的磁盘读从 {first} 页变为 {last} 页，读入的页有 {kept} "
        "留在池中；读盘占每个事件开销的 {share}。",
    ),
    phrase(
        "The data in use does not fit the buffer pool{size}: each event reads {reads} pages from "
        "the disk{misses}{share}",
        "热数据超出了缓冲池{size}：每个事件要从磁盘读 {reads} 页{misses}{share}",
        size=one_of({"": "", " of {size}": "（{size}）"}),
        misses=one_of({"": "", " ({misses} of all page requests)": "（占全部页请求的 {misses}）"}),
        share=one_of({", which is {share} of its work.": "，占其开销的 {share}。", **END}),
    ),
    phrase(
        "{opened} tables a second are opened anew, {each} a statement: table_open_cache={size} "
        "does not hold those in use.",
        "每秒重新打开 {opened} 张表，平均每条语句 {each} 张：table_open_cache={size} 容纳不下正在"
        "使用的表。",
    ),
    phrase(
        "All tables are closed {closings} times a second (FLUSH TABLES, or flush_time), and "
        "{opened} a second are opened anew.",
        "所有表每秒被关闭 {closings} 次（FLUSH TABLES 或 flush_time），每秒要重新打开 "
        "{opened} 张。",
    ),
    phrase(
        "The query cache (query_cache_type={kind}) takes in {stored} answers a second and gives "
        "{answered}: about {cost} of the server's CPU for nothing, under one lock for all.",
        "查询缓存（query_cache_type={kind}）每秒存入 {stored} 个结果，只命中 {answered} 个：约 "
        "{cost} 的服务器 CPU 白白消耗，而且共用一把全局锁。",
    ),
    phrase(
        "{at} of {users} users ({share}) stand at any moment at the query cache "
        "(query_cache_type={kind}), which has one lock for all and throws out a table's answers "
        "with each change.",
        "任一时刻 {users} 个并发中有 {at} 个（{share}）停在查询缓存上（query_cache_type={kind}）："
        "它只有一把全局锁，表一有修改，该表的缓存就全部失效。",
    ),
)

_LOCKS: tuple[Phrase, ...] = (
    phrase(
        "Users wait for locked rows {share} of their time: {waiting} of {users} wait at any "
        "moment{waits}{each}",
        "用户有 {share} 的时间在等待行锁：任一时刻 {users} 个并发中有 {waiting} 个在等待{waits}"
        "{each}",
        waits=one_of({"": "", ", {waits} waits an event": "，平均每个事件等待 {waits} 次"}),
        each=one_of({" of {each} ms each.": "、每次 {each} 毫秒。", **END}),
    ),
    phrase(
        "{deadlocks} deadlocks a second, {share} of the events: their transactions were rolled "
        "back and begun anew{gaps}",
        "每秒 {deadlocks} 次死锁，占事件的 {share}：相应事务被回滚并重新执行{gaps}",
        gaps=one_of(
            {
                " ({level} also locks the gaps between rows).": "（{level} 还会加间隙锁）。",
                **END,
            }
        ),
    ),
    phrase(
        "With {users} the rate is {lost} below that of {peak}, {share} of the users wait for a "
        "row, and an event takes {times} times the CPU: each waiter is checked for deadlocks "
        "against all others.",
        "{users}时的吞吐比 {peak}时低 {lost}，{share} 的用户在等待行锁，每个事件的 CPU 开销增至 "
        "{times} 倍：每个等待者都要与其他所有等待者逐一做死锁检测。",
        users=USERS,
        peak=USERS,
    ),
    phrase(
        '{waiting} of {users} users ({share}) wait at any moment for {what} (state "{state}").',
        "任一时刻 {users} 个并发中有 {waiting} 个（{share}）在等待{what}（状态“{state}”）。",
        what=one_of(
            {
                "a table's metadata lock: LOCK TABLES, DDL, or a transaction left open": (
                    "表的元数据锁（MDL）：LOCK TABLES、DDL 或未结束的事务"
                ),
                "a table's lock: LOCK TABLES, or an engine that locks whole tables": (
                    "表锁：LOCK TABLES，或只支持表锁的存储引擎"
                ),
                "the global read lock: FLUSH TABLES WITH READ LOCK, or read_only": (
                    "全局读锁：FLUSH TABLES WITH READ LOCK 或 read_only"
                ),
                "the global read lock: FLUSH TABLES WITH READ LOCK": (
                    "全局读锁：FLUSH TABLES WITH READ LOCK"
                ),
                "the backup lock: a backup, or BACKUP STAGE": "备份锁：正在备份，或 BACKUP STAGE",
                "FLUSH TABLES: somebody still uses the old table": (
                    "FLUSH TABLES：仍有会话在使用旧的表"
                ),
            }
        ),
    ),
    phrase(
        "Changes are held back on purpose: innodb_max_purge_lag={lag}, and the history has "
        "{history} entries, so that each changed row waits {delay} ms, {share} of the users' time.",
        "修改被有意延迟：innodb_max_purge_lag={lag}，undo 历史链表有 {history} 条，每修改一行要"
        "等待 {delay} 毫秒，占用户时间的 {share}。",
    ),
    phrase(
        "Old row versions pile up: {who}; the history has {history} entries{grows}, through which "
        "each read of a changed row goes{fell}",
        "旧行版本堆积：{who}；undo 历史链表有 {history} 条{grows}，读取被修改过的行都要遍历这些"
        "版本{fell}",
        who=one_of(
            {
                "a transaction is open for {seconds} s": "有一个事务已打开 {seconds} 秒",
                "purge does not keep up": "purge 跟不上",
            }
        ),
        grows=one_of({"": "", " and grows by {rate} a second": "，每秒增加 {rate} 条"}),
        fell=one_of({"; the rate fell by {fall} meanwhile.": "；期间吞吐下降了 {fall}。", **END}),
    ),
)

_THREADS: tuple[Phrase, ...] = (
    phrase(
        "{beyond}: {running} connections are at work at once on {cores} cores, since each has a "
        "thread (thread_handling={handling}).",
        "{beyond}：{cores} 个核上同时有 {running} 个连接在工作，因为每个连接占用一个线程"
        "（thread_handling={handling}）。",
        beyond=Phrasebook(
            (
                phrase(
                    "With {users} the rate is {lost} below that of {peak}, and an event takes "
                    "{times} times the server's CPU",
                    "{users}时的吞吐比 {peak}时低 {lost}，每个事件消耗的服务器 CPU 增至 {times} 倍",
                    users=USERS,
                    peak=USERS,
                ),
                phrase("{users} have a thread each", "{users}", users=USERS),
            )
        ),
    ),
    phrase(
        "The thread pool {limit}: the server uses {used} cores while {idle} of all are idle.",
        "线程池{limit}：服务器只用了 {used} 个核，而 {idle} 的 CPU 空闲。",
        limit=one_of(
            {
                "may have {threads} threads (thread_pool_max_threads) for {users} users": (
                    "最多只有 {threads} 个线程（thread_pool_max_threads），却有 {users} 个并发"
                ),
                "has {groups} groups for {cores} cores": (
                    "只有 {groups} 个组，而主机有 {cores} 个核"
                ),
            }
        ),
    ),
    phrase(
        "innodb_thread_concurrency={limit} lets {allowed} of {users} users work in InnoDB at once, "
        "while {idle} of the cores are idle.",
        "innodb_thread_concurrency={limit}：{users} 个并发中同时只有 {allowed} 个能进入 InnoDB，而 "
        "{idle} 的 CPU 空闲。",
    ),
)

_STATEMENTS: tuple[Phrase, ...] = (
    phrase(
        "An index is missing or not used: {rows} rows a second are read {how} for {useful} that "
        "are given back or changed, {each} for one{worst}",
        "缺少索引或没有用上索引：每秒{how}读取 {rows} 行，只为返回或修改 {useful} 行，即每行要读 "
        "{each} 行{worst}",
        how=one_of(
            {
                "through an index that tells too little": "通过选择性差的索引",
                "in table scans": "以全表扫描",
            }
        ),
        worst=one_of({". Most by: {statement}": "。最多的语句：{statement}", **END}),
    ),
    phrase(
        "sort_buffer_size={size} is at glibc's mmap threshold: {faults} page faults a sort{kernel}"
        "{pieces}",
        "sort_buffer_size={size} 达到 glibc 的 mmap 阈值：每次排序 {faults} 次缺页{kernel}{pieces}",
        kernel=one_of(
            {
                "": "",
                " and {share} of the server's CPU in the kernel": (
                    "，服务器 CPU 有 {share} 花在内核态"
                ),
            }
        ),
        pieces=one_of(
            {
                ". This version takes the buffer in pieces, so try it first.": (
                    "。该版本按需分块申请，请先试验。"
                ),
                ": the buffer is mapped and unmapped for each.": (
                    "：每次排序都要重新映射并释放缓冲区。"
                ),
            }
        ),
    ),
    phrase(
        "Sorts do not fit sort_buffer_size={size}: {passes} merge passes an event go through "
        "temporary files.",
        "排序超出 sort_buffer_size={size}：平均每个事件有 {passes} 次归并要经由临时文件。",
    ),
    phrase(
        "{part} of the temporary tables go to the disk, {each} an event{size}",
        "{part} 的临时表落到磁盘，平均每个事件 {each} 张{size}",
        size=one_of({" (tmp_table_size={size}).": "（tmp_table_size={size}）。", **END}),
    ),
    phrase(
        "performance_schema times {events} events of locks and stages a second, which takes about "
        "{share} of the server's CPU; most are {most}.",
        "performance_schema 每秒为 {events} 个锁与阶段事件计时，约占服务器 CPU 的 {share}；最多的"
        "是 {most}。",
        most=one_of({"{event} ({count} in all)": "{event}（共 {count} 次）"}),
    ),
)

_NOTHING_FULL: tuple[Phrase, ...] = (
    phrase(
        "No resource is used up ({busy} of the cores) and {still}: {users} with {mean} ms an event "
        "can do no more than {rate} a second.",
        "没有资源用尽（CPU 使用率 {busy}），{still}：{users}、每个事件 {mean} 毫秒，每秒最多只能"
        "完成 {rate} 个。",
        still=one_of(
            {
                "the rate still rises with users": "且吞吐仍随并发上升",
                "only one level was tried": "但只测了一档并发",
            }
        ),
        users=USERS,
    ),
    phrase(
        "The rate that was asked for was met: {rate} events a second, {share} of those due; a "
        "higher one was not tried.",
        "达到了要求的到达率：每秒 {rate} 个事件，为应到事件的 {share}；没有测更高的到达率。",
    ),
    phrase(
        "Unexplained: no resource is used up and no known cause fits.{nearest}{wait}",
        "尚无解释：没有资源用尽，也没有符合的已知原因。{nearest}{wait}",
        nearest=Phrasebook(
            (
                phrase("", ""),
                phrase(
                    " Of what is known {resource} is used most, to {used}.",
                    "已知资源中使用率最高的是{resource}（{used}）。",
                    resource=one_of(RESOURCES),
                ),
            )
        ),
        wait=Phrasebook(
            (
                phrase(" No wait was seen at all.", "没有观察到任何等待。"),
                phrase(
                    " The largest wait is {wait}.",
                    "最大的等待：{wait}。",
                    wait=one_of(
                        {
                            'the state "{state}", {share} of the users\' time': (
                                "状态“{state}”，占用户时间的 {share}"
                            ),
                            "stalls: the slowest {part} of the events take at least {share} of the "
                            "users' time ({quantile} {slow} ms, median {median} ms)": (
                                "停顿：最慢的 {part} 事件至少占用户时间的 {share}"
                                "（{quantile} 为 {slow} 毫秒，中位数 {median} 毫秒）"
                            ),
                            "{event}, {seconds} s in all": "{event}，合计 {seconds} 秒",
                            "inside statements that wait for something without a name, {share} of "
                            "the users' time": (
                                "语句执行中等待某种没有名称的资源，占用户时间的 {share}"
                            ),
                            "outside the server, {share} of the users' time": (
                                "在服务器之外，占用户时间的 {share}"
                            ),
                        }
                    ),
                ),
            )
        ),
    ),
    phrase(
        "Not evaluated: {what} {seen}.",
        "未评估：{what}{seen}。",
        what=one_of(
            {
                "the server's host was": "服务器所在主机",
                "neither server nor host was": "服务器及其主机都",
            }
        ),
        seen=one_of({"not observed": "没有被观察", "observed": "没有被观察"}),
    ),
)

FINDINGS: tuple[Phrase, ...] = (
    *_GENERATOR,
    *_CONNECTIONS,
    *_CPU,
    *_NETWORK,
    *_DISK,
    *_LOGS,
    *_POOL,
    *_LOCKS,
    *_THREADS,
    *_STATEMENTS,
    *_NOTHING_FULL,
)
"""By what they are about; unexplained results at the end."""
