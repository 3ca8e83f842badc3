"""What the trial of a finding showed, in Chinese, and why one was not carried out."""

from __future__ import annotations

from loadstone.report.words.phrases import Each, Phrase, Phrasebook, one_of, phrase
from loadstone.report.words.zh_parts import USERS

SUBJECTS = {
    "TLS": "TLS",
    "a thread for each connection": "每连接一个线程",
    "beginning new files of the binary log": "binlog 频繁切换文件",
    "changing the same rows": "更新相同的行",
    "checking for deadlocks": "死锁检测",
    "connecting many at once": "同时建立大量连接",
    "flushing at so low a capacity": "过低的刷脏能力",
    "having so few users": "过少的并发",
    "holding changes back for purge": "为 purge 延迟修改",
    "locking gaps": "间隙锁",
    "making a thread for each connection": "为每个连接新建线程",
    "mapping and unmapping the sort buffer": "反复映射排序缓冲区",
    "performance_schema": "performance_schema",
    "queueing before InnoDB": "在 InnoDB 外排队",
    "refusing connections": "拒绝连接",
    "sending so many bytes": "传输过多的字节",
    "so few event loops": "过少的事件循环",
    "so small a buffer pool": "过小的缓冲池",
    "so small a redo log": "过小的重做日志",
    "so small a table cache": "过小的表缓存",
    "so small a thread pool": "过小的线程池",
    "sorting by temporary files": "用临时文件排序",
    "TCP": "TCP",
    "temporary tables on the disk": "磁盘临时表",
    "the audit log": "审计日志",
    "the cold buffer pool": "未预热的缓冲池",
    "the general log": "general log",
    "the line": "网络线路",
    "the query cache": "查询缓存",
    "the slow log": "慢查询日志",
    "the text protocol": "文本协议",
    "waiting for a replica": "等待从库",
    "waiting for more commits": "等待更多提交",
    "waiting for room in the log buffer": "等待日志缓冲区",
    "waiting for the log's syncs": "等待日志刷盘",
    "writing transactions to a temporary file": "事务写入临时文件",
}
"""What a trial takes away, as the subject of a sentence."""

COSTS = {
    "a crash of the host loses up to a second of commits, and the binary log may lack some": (
        "主机崩溃会丢失最多一秒的提交，binlog 也可能缺失一部分"
    ),
    "a commit that was acknowledged may be on the source alone, and be lost with it": (
        "已确认的提交可能只存在于主库，主库损坏时会丢失"
    ),
    "deadlocks last until innodb_lock_wait_timeout=1 (s) ends a statement of theirs": (
        "死锁要等到 innodb_lock_wait_timeout=1（秒）超时才会解除"
    ),
}
"""What keeping the change would cost."""

_CHANGE = Each(one_of({"{setting} in place of {before}": "{setting}（原为 {before}）"}))
_UNITS = one_of(
    {
        "1 pair of blocks": "1 对区组",
        "{number} pairs of blocks": "{number} 对区组",
        "1 round": "1 轮",
        "{number} rounds": "{number} 轮",
        "1 window": "1 个窗口",
        "{number} windows": "{number} 个窗口",
    }
)
_TRIED = Phrasebook(
    (
        phrase(
            "{units} after the run's own, not by turns",
            "测试之后另测 {units}，未交替",
            units=_UNITS,
        ),
        *_UNITS.phrases,
    )
)
_MEASURED = Phrasebook(
    (
        phrase("{effect}, {units}", "{effect}，{units}", units=_TRIED),
        phrase(
            "{effect}; {sure}: {low} to {high}, {units}",
            "{effect}；{sure} 区间 {low} 至 {high}，{units}",
            units=_TRIED,
        ),
    )
)
_STANDS = one_of(
    {"": "", " That is no remedy; the cause stands.": "这个办法无效，但原因依然成立。"}
)
_SUBJECT = one_of(
    SUBJECTS | {said[:1].upper() + said[1:]: other for said, other in SUBJECTS.items()}
)
_KEPT = Phrasebook(
    (phrase("", ""), phrase(" Kept so, {costs}.", "保持这样的代价：{costs}。", costs=one_of(COSTS)))
)
_WHO = Phrasebook(
    (
        phrase("there are ", ""),
        phrase("{users} do ", "{users}", users=USERS),
    )
)

_SENTENCES: tuple[Phrase, ...] = (
    phrase(
        "{subject} costs {cost}{half} of the rate: with {change} {who}{changed} events a second "
        "rather than {before} ({measured}).{kept}",
        "{subject}使吞吐损失 {cost}{half}：改为 {change} 后，{who}每秒完成 {changed} 个事件，"
        "此前为 {before} 个（{measured}）。{kept}",
        subject=_SUBJECT,
        half=one_of({"": "", " ± {half}": " ± {half}"}),
        change=_CHANGE,
        who=_WHO,
        measured=_MEASURED,
        kept=_KEPT,
    ),
    phrase(
        "with {change} the rate falls ({measured}).{stands}",
        "改为 {change} 后吞吐下降（{measured}）。{stands}",
        change=_CHANGE,
        measured=_MEASURED,
        stands=_STANDS,
    ),
    phrase(
        "{change} has no effect within {within} ({measured}).{stands}",
        "改为 {change} 没有影响，差异在 {within} 以内（{measured}）。{stands}",
        change=_CHANGE,
        measured=_MEASURED,
        stands=_STANDS,
    ),
    phrase(
        "{change} may change the rate or not ({measured}{wanted}).",
        "改为 {change} 是否有影响尚不能确定（{measured}{wanted}）。",
        change=_CHANGE,
        measured=_MEASURED,
        wanted=Phrasebook(
            (
                phrase("", ""),
                phrase(
                    "; they differ too much among each other: a quieter machine",
                    "；各次结果差异过大：需要更安静的机器",
                ),
                phrase("; {units} more would do", "；再测 {units}即可判断", units=_UNITS),
            )
        ),
    ),
    phrase("nothing was measured by turns to its end.", "没有一轮交替测量完整结束。"),
    phrase(
        "no unit counts ({why}).",
        "没有可用的测量单元（{why}）。",
        why=Each(
            one_of(
                {
                    "{number} client-bound": "{number} 个受限于客户端",
                    "{number} steal": "{number} 个被虚拟化层抢占 CPU",
                    "{number} throttled": "{number} 个被限流",
                    "{number} unsteady": "{number} 个未稳定",
                    "{number} incomplete": "{number} 个未完成",
                    "{number} nothing done": "{number} 个没有完成任何事件",
                }
            )
        ),
    ),
)

_NOT_TRIED = one_of(
    {
        "interrupted": "已中断",
        "the workload fills its tables anew, and no two of its steps are alike": (
            "该负载会重新填充表，没有两个步骤是相同的"
        ),
        "it changes what is measured: run again with --{option}": (
            "这会改变被测内容：请用 --{option} 重新测试"
        ),
        "it takes a restart, and only throwaway servers without a replica are restarted: {command} "
        "tries it on one": (
            "需要重启，而只有没有从库的临时服务器才会被重启：可用 {command} 在临时服务器上试验"
        ),
        "commits made meanwhile might be lost: {command} tries it on one": (
            "期间的提交可能丢失：可用 {command} 在临时服务器上试验"
        ),
        "the run's server is gone": "测试时的服务器已不存在",
        "the run's server is gone, and another one has another buffer pool": (
            "测试时的服务器已不存在，另一台服务器的缓冲池内容不同"
        ),
        "no step shows it": "没有步骤显示该现象",
        "it would set {names} for all on {place}, which is no sandbox: --yes": (
            "将在 {place} 上为所有会话设置 {names}，而它不是沙箱：需要 --yes"
        ),
        "it would speak to {place} without encryption: --yes": (
            "将以不加密的方式访问 {place}：需要 --yes"
        ),
        "{name} is {now} now, and was {before} in the run": (
            "{name} 现在是 {now}，测试时是 {before}"
        ),
        "no time is left for it, and it takes {needs}: a longer --prove-time": (
            "剩余时间不够，需要 {needs}：请加大 --prove-time"
        ),
    }
).phrases

_BY_HAND = one_of(
    {
        "not by --prove: what it would change is so already, or this server has no such variable": (
            "不能用 --prove：要改的设置已经如此，或该服务器没有这个变量"
        ),
        "not by --prove: mend what the errors say, and run again": (
            "不能用 --prove：先解决错误，再重新测试"
        ),
        "not by --prove: read the server's error log, and run again": (
            "不能用 --prove：查看服务器错误日志后重新测试"
        ),
        "not by --prove: bring the replica back, and run again": (
            "不能用 --prove：恢复从库后重新测试"
        ),
        "not by --prove, which changes nothing of a host: give it memory or take some from the "
        "pool, and run again": ("不能用 --prove（它不改动主机）：增加内存或减小缓冲池后重新测试"),
        "not by --prove, which ends nobody else's work: run again once it has ended, or on a host "
        "of its own": "不能用 --prove（它不终止别人的工作）：等它结束后，或换到独占的主机重新测试",
        "not by --prove, which ends nobody else's work: run again without them": (
            "不能用 --prove（它不终止别人的工作）：停掉它们后重新测试"
        ),
        "not by --prove, which changes nothing of a host: run again on one without overcommitted "
        "cores": "不能用 --prove（它不改动主机）：换到 CPU 不超卖的主机重新测试",
        "not by --prove: who set the limit had a reason: raise it by hand, and run again": (
            "不能用 --prove（限额是有人有意设的）：手工提高后重新测试"
        ),
        "not by --prove: who set the limit had a reason: give the process more cores by hand "
        "(taskset), and run again": (
            "不能用 --prove（限制是有人有意设的）：手工（taskset）给进程更多的核后重新测试"
        ),
        "not by --prove, which changes nothing of a host: spread interrupts over its cores by "
        "hand, and run again": "不能用 --prove（它不改动主机）：手工把中断分散到各核后重新测试",
        "not by --prove, which changes nothing of a host: run again on a faster volume; fio tells "
        "what one gives": (
            "不能用 --prove（它不改动主机）：换更快的卷重新测试；可用 fio 测出卷的能力"
        ),
        "not by --prove, which changes nothing of a host: mend the way, and run again": (
            "不能用 --prove（它不改动主机）：修好网络后重新测试"
        ),
        "not by --prove, which ends nobody else's work: run again without the session that holds "
        "the lock": "不能用 --prove（它不终止别人的工作）：结束持有锁的会话后重新测试",
        "not by --prove, which ends nobody else's work: run again once it has ended": (
            "不能用 --prove（它不终止别人的工作）：等它结束后重新测试"
        ),
        "not by --prove: what has piled up takes longer to go than a trial may last": (
            "不能用 --prove：积压的版本要清理很久，超过一次试验的时间"
        ),
        "not by --prove, which changes no table: make the index by hand, run again, and set both "
        "runs side by side with loadstone compare": (
            "不能用 --prove（它不改动表）：手工建索引后重新测试，再用 loadstone compare 对比"
        ),
        "not by --prove, which changes no table: take them away by hand, run again, and set both "
        "runs side by side with loadstone compare": (
            "不能用 --prove（它不改动表）：手工去掉它们后重新测试，再用 loadstone compare 对比"
        ),
        "not by --prove: statements are prepared already, and the way is the shortest there is; "
        "cheaper statements or more cores are left": (
            "不能用 --prove：已使用预处理语句，链路也已最短；只剩下优化语句或增加核"
        ),
        "not by --prove: what is sent is compressed already; run again over a faster line": (
            "不能用 --prove：传输已压缩；换更快的线路重新测试"
        ),
        "not by --prove: no gaps are locked, and the order of locking is the load's own": (
            "不能用 --prove：没有间隙锁，加锁顺序由负载决定"
        ),
        "not by --prove: the host's free memory is too small for a larger pool, or not known": (
            "不能用 --prove：主机空闲内存不足以加大缓冲池，或空闲内存未知"
        ),
        "not by --prove: this server has no thread pool (MariaDB and Percona Server have one built "
        "in, MySQL has a plugin from 9.7 on)": (
            "不能用 --prove：该服务器没有线程池（MariaDB 和 Percona Server 自带，MySQL 自 9.7 起有"
            "插件）"
        ),
    }
).phrases

PROOFS: tuple[Phrase, ...] = (
    *_SENTENCES,
    *one_of(SUBJECTS).phrases,
    *one_of(COSTS).phrases,
    *_NOT_TRIED,
    *_BY_HAND,
)
"""Sentences of proofs, and their parts."""
