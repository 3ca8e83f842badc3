"""Names of figures in evidence, their units, and what a rule misses, in Chinese.

Counters of servers and systems, and figures of result.json, keep their names: those can be looked
up.
"""

from __future__ import annotations

from loadstone.report.words.phrases import Phrase, one_of, phrase
from loadstone.report.words.zh_parts import RESOURCES

_COUNTERS = one_of(
    {
        "users in commit": "处于提交阶段的用户",
        "users outside the server": "不在服务器内的用户",
        "users on the way": "在网络上的用户",
        "users blocked in statements": "在语句中阻塞的用户",
        "users' time in the slowest events": "最慢事件所占的用户时间",
        "CPU busy": "CPU 使用率",
        "busiest core": "最忙的核",
        "CPU of others": "其他程序的 CPU",
        "CPU of the server": "服务器的 CPU",
        "transactions by sync": "每次刷盘的事务数",
        "binlog files": "binlog 文件切换",
        "statements of others": "其他客户端的语句",
        "segments sent again": "重传的报文段",
        "rate below the peak": "吞吐低于峰值",
        "CPU by event against the peak's": "每事件 CPU（相对峰值）",
        "context switches by core": "每核上下文切换",
        "buffer_pool_reads by event": "每事件 buffer_pool_reads",
        "buffer_pool_reads by event, first third": "每事件 buffer_pool_reads（前三分之一）",
        "buffer_pool_reads by event, last third": "每事件 buffer_pool_reads（后三分之一）",
        "pages read that stay": "读入后留在池中的页",
        "error {number}": "错误 {number}",
        "errors": "错误",
        "events timed": "被计时的事件",
        "instruments' part of the server's CPU (estimate)": "采集占服务器 CPU（估算）",
        "encryption's part of the CPU (estimate)": "加密占 CPU（估算）",
        "kernel's part of the server's CPU": "服务器 CPU 的内核态部分",
        "statements' least time": "语句最短时间",
        "a statement's median time by its least": "语句时间的中位数 ÷ 最短",
        "bytes on the line": "链路流量",
        "minor faults by sort": "每次排序的缺页",
        "created_tmp_disk_tables by event": "每事件 created_tmp_disk_tables",
        "states with query cache": "与查询缓存有关的状态",
        "time of a commit": "提交耗时",
        "bytes of others on the disk": "其他程序的磁盘流量",
        "bytes to others": "发给其他客户端的流量",
        "rows changed": "修改的行",
        "the query cache's part of the server's CPU (estimate)": "查询缓存占服务器 CPU（估算）",
        "statements inside stored programs": "存储程序内的语句",
        "users waiting for FLUSH": "等待 FLUSH 的用户",
        "seconds of redo": "写满重做日志所需时间",
        "disk": "磁盘",
    }
).phrases

_RESOURCES = one_of(RESOURCES).phrases

_UNITS = one_of(
    {
        "/s": "/秒",
        "B": " 字节",
        "B/s": " 字节/秒",
        "s": " 秒",
        "ms": " 毫秒",
        "µs": " 微秒",
        "pages": " 页",
        "pages/s": " 页/秒",
        "entries": " 条",
        "transactions": " 个事务",
        "replicas": " 个从库",
        "connections": " 个连接",
        "threads": " 个线程",
        "groups": " 个组",
        "cores": " 个核",
        "times": " 倍",
        "statements": " 条语句",
        "requests": " 个请求",
        "attempts": " 次尝试",
        "events": " 个事件",
        "writes/s": " 次写/秒",
        "reads/s": " 次读/秒",
        "bytes written/s": " 字节写/秒",
        "bytes read/s": " 字节读/秒",
        "by event": "/事件",
        "by commit": "/提交",
        "by statement": "/语句",
        "of the users' time": "（占用户时间）",
        "of their time": "（占用户时间）",
        "of the users": "（占用户）",
        "of the cores": "（占全部核）",
        "of its time": "（占时间）",
        "of the time": "（占时间）",
        "of the periods": "（占周期）",
        "of those read": "（占读入页）",
        "of the pool": "（占缓冲池）",
        "of the line": "（占带宽）",
        "of the limit": "（占上限）",
        "of all": "（占全部）",
        "of transactions": "（占事务）",
        "of statements": "（占语句）",
    }
).phrases

_NEEDS: tuple[Phrase, ...] = (
    phrase("a figure", "某项数据"),
    phrase("a measured window", "测量窗口"),
    phrase("latency of events", "事件的延迟"),
    phrase("states of the connections", "各连接的状态"),
    phrase("server counter {name}", "服务器计数器 {name}"),
    phrase("server value {name}", "服务器指标 {name}"),
    phrase("host counter {name}", "主机计数器 {name}"),
    phrase("host value {name}", "主机指标 {name}"),
    phrase("host fact {name}", "主机信息 {name}"),
    phrase("host's {name}", "主机的 {name}"),
    phrase("generator's {name}", "负载发生器的 {name}"),
    phrase("variable {name}", "变量 {name}"),
    phrase("ceiling of {resource}", "{resource}的上限", resource=one_of(RESOURCES)),
    phrase("{source}.parquet's {column}", "{source}.parquet 中的 {column}"),
    phrase("whether connections are encrypted", "连接是否加密"),
    phrase("users in the thread pool's queue", "线程池队列中的用户"),
    phrase("performance_schema's waits", "performance_schema 的等待事件"),
)

EVIDENCE: tuple[Phrase, ...] = (*_COUNTERS, *_RESOURCES, *_UNITS, *_NEEDS)
"""Counters, units, and figures that a cause could not be judged without."""
