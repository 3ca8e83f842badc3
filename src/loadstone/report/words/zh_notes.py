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
    phrase("step {step} is driven again as step {next}", "步骤 {step} 作为步骤 {next} 重新运行"),
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

_PARTS = one_of(
    {
        "file summary": "文件统计",
        "innodb metrics": "InnoDB 指标",
        "settings": "服务器设置",
        "transactions": "事务",
        "connection states": "连接状态",
    }
).phrases

NOTES: tuple[Phrase, ...] = (*_DATA, *_SOURCES, *_CLUSTERS, *_RUNS, *_STEERED, *_PARTS)
"""Notes of runs and steps, and why something was not evaluated."""
