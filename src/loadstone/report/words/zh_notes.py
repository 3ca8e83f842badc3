"""What was noted while a run went on, in Chinese: the words of the lab, the samplers, the store.

What a server said (an error message, a host's name) stays as it was said.
"""

from __future__ import annotations

from loadstone.report.words.phrases import Each, Phrase, one_of, phrase

_TABLES = one_of({"1 table": "1 张表", "{number} tables": "{number} 张表"})
_USERS = one_of({"1 user": "1 个并发", "{number} users": "{number} 个并发"})

_DATA: tuple[Phrase, ...] = (
    phrase("server: a throwaway {server} on this machine, {durable}",
           "服务器：本机上的临时 {server}，{durable}"),
    phrase(
        "tables differ in size: {smallest} has {fewest} rows, {largest} has {most}",
        "各表大小不同：{smallest} 有 {fewest} 行，{largest} 有 {most} 行",
    ),
    phrase(
        "--table-size {asked}, and {table} has {rows} rows{beyond}",
        "指定了 --table-size {asked}，而 {table} 有 {rows} 行{beyond}",
        beyond=one_of({"": "", "; keys beyond find nothing": "；超出的键查不到数据"}),
    ),
    phrase(
        "--tables {asked}, and schema {schema} has {there} of them",
        "指定了 --tables {asked}，而库 {schema} 中有 {there} 张",
    ),
    phrase(
        "{table} has no index on k: its selects by k read the whole table, and updates of k have "
        "no index to keep",
        "{table} 在 k 上没有索引：按 k 查询会全表扫描，更新 k 时也没有索引需要维护",
    ),
    phrase(
        "{table} and {number} more have no index on k: their selects by k read the whole table, "
        "and updates of k have no index to keep",
        "{table} 等表（另有 {number} 张）在 k 上没有索引：按 k 查询会全表扫描，更新 k 时也没有索引"
        "需要维护",
    ),
    phrase(
        "the targets differ in tables or rows; the smallest numbers of all are used",
        "各目标的表数或行数不同，取其中最小的",
    ),
    phrase(
        "up to {most} prepared statements ({each} × {tables} × {users}) may pass "
        "max_prepared_stmt_count {limit} (error 1461): raise it, or take --text",
        "最多会有 {most} 个预处理语句（{each} × {tables} × {users}），可能超过 "
        "max_prepared_stmt_count {limit}（错误 1461）：请调大，或用 --text",
        tables=_TABLES,
        users=_USERS,
    ),
    phrase(
        "up to {most} prepared statements may pass max_prepared_stmt_count {limit} (error 1461): "
        "raise it, or take --text",
        "最多会有 {most} 个预处理语句，可能超过 max_prepared_stmt_count {limit}（错误 1461）："
        "请调大，或用 --text",
    ),
)  # fmt: skip

_SOURCES: tuple[Phrase, ...] = (
    phrase(
        "the host of {place} is not evaluated: the server's process is not on this machine; "
        "--host-ssh or --node-exporter reads another",
        "未评估 {place} 的主机：服务器进程不在本机；可用 --host-ssh 或 --node-exporter 读取",
    ),
    phrase(
        "{source} was lost at {at} s of the run: {why}",
        "测试进行到 {at} 秒时失去 {source}：{why}",
    ),
    phrase(
        "{source} answers again at {at} s of the run: {why}",
        "测试进行到 {at} 秒时 {source} 恢复应答：{why}",
    ),
    phrase(
        "performance_schema is off: it is set at the server's start",
        "performance_schema 已关闭：只能在服务器启动时设置",
    ),
)

_WITH_IT = one_of(
    {"1 virtual user": "1 个虚拟用户", "{number} virtual users": "{number} 个虚拟用户"}
)

_CLUSTERS: tuple[Phrase, ...] = (
    phrase(
        "generator {number} on {node} was lost {at} s after the load's begin, and {users} with it: "
        "{why}",
        "负载开始 {at} 秒后失去 {node} 上的发生器 {number}，连同它的 {users}：{why}",
        users=_WITH_IT,
    ),
    phrase(
        "step {step} is measured anew{why}",
        "步骤 {step} 重新测量{why}",
        why=one_of({"": "", ": {message}": "：{message}"}),
    ),
)

_RUNS: tuple[Phrase, ...] = (
    phrase(
        "error: the counters of the generator do not add up ({what})",
        "错误：负载发生器的计数器对不上（{what}）",
    ),
    phrase(
        "latency.hlog holds {kept} of the window's {all} response times; the percentiles are of "
        "those",
        "latency.hlog 只有窗口内 {all} 个响应时间中的 {kept} 个；百分位数以这些为准",
    ),
    phrase("interrupted before its first record was written", "在写下第一条记录之前就中断了"),
    phrase("interrupted at {when}, step {step} not finished", "在 {when} 中断，步骤 {step} 未完成"),
    phrase(
        "interrupted at {when}, after {done}{planned} steps",
        "在 {when} 中断，已完成 {done}{planned} 个步骤",
        planned=one_of({"": "", " of {number}": " / {number}"}),
    ),
    phrase(
        "taken up after {done} steps{again}",
        "在完成 {done} 个步骤后继续{again}",
        again=one_of(
            {
                "": "",
                "; step {step}, which was not finished, is measured anew": (
                    "；未完成的步骤 {step} 重新测量"
                ),
            }
        ),
    ),
    phrase("ended early: {why}", "提前结束：{why}"),
    phrase(
        "{place}: set by somebody else since, and left: {names}",
        "{place}：期间被他人修改，保持不动：{names}",
    ),
    phrase(
        "{place}: made to outlive a restart as the run had set it, and left: {names}",
        "{place}：测试所设的值已被持久化，重启后仍然有效，保持不动：{names}",
    ),
    phrase(
        "{place} was restarted while its variables were set, which ended that",
        "{place} 在变量被修改期间重启，修改随之失效",
    ),
    phrase(
        "{place}: it keeps no locks, so others may set variables too",
        "{place}：它不提供锁，他人也可能同时修改变量",
    ),
    phrase(
        "{place}: for a while somebody else could have set its variables as well",
        "{place}：有一段时间他人也可能修改其变量",
    ),
    phrase(
        "{source} was {before} when the step began, and is {after} at its end: its figures are of "
        "both",
        "{source} 在步骤开始时为 {before}，结束时为 {after}：其数据来自两者",
    ),
    phrase(
        "{short} of {all} cells measured once more, as units were left out: {why}",
        "{all} 个场景中的 {short} 个因有单元被排除而加测：{why}",
        why=Each(
            one_of(
                {
                    "client-bound": "受限于客户端",
                    "steal": "CPU 被其他虚拟机占用",
                    "throttled": "CPU 被限流",
                    "unsteady": "未稳定",
                    "incomplete": "未完成",
                    "nothing done": "没有完成任何事件",
                    "objective missed": "未达到目标",
                }
            )
        ),
    ),
)

_STEERED: tuple[Phrase, ...] = (
    phrase(
        "{what} set to {value} by hand at {at} s",
        "{at} 秒时手动将{what}改为 {value}",
        what=one_of({"users": "并发", "rate": "到达率"}),
    ),
    phrase(
        "changed by hand at {at} s: {value} {what} from then on; the figures are of the seconds "
        "before",
        "{at} 秒时手动修改：此后{what}为 {value}；数据只取修改之前的各秒",
        what=one_of({"users": "并发", "events/s due": "到达率（事件/秒）"}),
    ),
    phrase("stopped from the live page at {at} s", "在 {at} 秒时从实时页面停止"),
    phrase(
        "not changed at {at} s: {why}",
        "{at} 秒时的修改未执行：{why}",
        why=one_of(
            {
                "the levels of a search or an experiment are its own": (
                    "搜索或实验的并发与到达率由其自身决定"
                ),
                "that was meant for step {step}": "该修改是针对步骤 {step} 的",
                "concurrency: {fewest} to {most} in this step": (
                    "本步骤的并发只能为 {fewest} 至 {most}"
                ),
                "rate: a closed loop has none": "闭环没有到达率",
            }
        ),
    ),
    phrase("{users} users were without connection: {reason}", "{users} 个并发失去连接：{reason}"),
    phrase("{source} was lost: {why}", "失去 {source}：{why}"),
    phrase("{source} answers again: {why}", "{source} 恢复应答：{why}"),
)
"""What somebody did on the live page, and what that page tells of a second."""

_CONDITIONS = one_of({"condition": "条件", "default condition": "默认条件"})

_PLACES = one_of(
    {
        "the load": "负载",
        "the data's disk of {server}": "{server} 的数据盘",
        "the replica {server}": "从库 {server}",
        "{server}": "{server} ",
    }
)

_SPARED: tuple[Phrase, ...] = (
    phrase(
        "aborted at {at} s by the {unasked} '{condition}': {place} had {value}",
        "在 {at} 秒时因{unasked} '{condition}' 成立而中止：{place}为 {value}",
        unasked=_CONDITIONS,
        place=_PLACES,
    ),
    phrase(
        "aborted at {at} s by the {unasked} '{condition}': {place} said nothing for {value} s",
        "在 {at} 秒时因无法判断{unasked} '{condition}' 而中止：{place}已 {value} 秒没有应答",
        unasked=_CONDITIONS,
        place=_PLACES,
    ),
    phrase(
        "held back from {at} s on by --max-load '{condition}'",
        "从 {at} 秒起因 --max-load '{condition}' 暂停负载",
    ),
    phrase("let go on at {at} s", "在 {at} 秒时恢复负载"),
    phrase(
        "held back for {seconds} s of the load by --max-load '{conditions}': these seconds are in "
        "no figure, and what the server did between them is not its capacity",
        "负载因 --max-load '{conditions}' 共暂停 {seconds} 秒：这些秒不计入任何数据，其间服务器的"
        "表现也不代表其能力",
    ),
    phrase(
        "{place} is not watched for harm: {why}",
        "未监视 {place} 是否受影响：{why}",
    ),
    phrase(
        "{place} is not watched for now: {why}",
        "暂时无法监视 {place}：{why}",
    ),
    phrase(
        "the replica {place} does not replicate: it falls behind",
        "从库 {place} 未在复制：延迟会不断增加",
    ),
    phrase(
        "the replica {name} is not watched: it does not run",
        "未监视从库 {name}：它没有运行",
    ),
)
"""What ended a load, or held it back, before it did harm."""

_FED = one_of(
    {"feeds 1 replica": "带有 1 个从库", "feeds {number} replicas": "带有 {number} 个从库"}
)
_HIDDEN = one_of({"a connection": "1 个连接", "{number} connections": "{number} 个连接"})

_COMPANY: tuple[Phrase, ...] = (
    phrase(
        "beside it in schema {schema} of {place}: a run of {who}",
        "{place} 的库 {schema} 中同时还有测试在运行：{who}",
    ),
    phrase(
        "{place} has connections of {who} and {feeds}",
        "{place} 有其他客户端的连接：{who}；并{feeds}",
        feeds=_FED,
    ),
    phrase("{place} has connections of {who}", "{place} 有其他客户端的连接：{who}"),
    phrase(
        "{place} has {some} that this user may not see (PROCESS) and {feeds}",
        "{place} 有当前用户无权查看的 {some}（需要 PROCESS 权限），并{feeds}",
        some=_HIDDEN,
        feeds=_FED,
    ),
    phrase(
        "{place} has {some} that this user may not see (PROCESS)",
        "{place} 有当前用户无权查看的 {some}（需要 PROCESS 权限）",
        some=_HIDDEN,
    ),
    phrase("{place} {feeds}", "{place} {feeds}", feeds=_FED),
    phrase(
        "{place} is one of {number} servers of a cluster",
        "{place} 是由 {number} 台服务器组成的集群的成员",
    ),
    phrase("who else uses {place} is not known: {why}", "无法得知 {place} 还有谁在使用：{why}"),
    phrase(
        "{file} may write to more than the tables of its file: {what}",
        "{file} 可能写入其文件所列之外的表：{what}",
    ),
    phrase(
        "this machine was suspended for {seconds} s: do not compare this step",
        "本机在此期间休眠了 {seconds} 秒：此步骤不可用于比较",
    ),
)
"""Who else uses a server, and what else is not as it should be."""

_PARTS = one_of(
    {
        "file summary": "文件统计",
        "innodb metrics": "InnoDB 指标",
        "settings": "服务器设置",
        "transactions": "事务",
        "connection states": "连接状态",
    }
).phrases

NOTES: tuple[Phrase, ...] = (
    *_DATA,
    *_SOURCES,
    *_CLUSTERS,
    *_RUNS,
    *_STEERED,
    *_SPARED,
    *_COMPANY,
    *_PARTS,
)
"""Notes of runs and steps, and why something was not evaluated."""
