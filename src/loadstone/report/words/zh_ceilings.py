"""How ceilings are reckoned, and why one is not, in Chinese; the scalability law's refusals too."""

from __future__ import annotations

from loadstone.report.words.phrases import Phrase, Phrasebook, one_of, phrase
from loadstone.report.words.zh_parts import USERS

_COUNTED = one_of(
    {"{number} writes": "{number} 次写", "{number} reads": "{number} 次读", "{size}": "{size}"}
)

_RECKONED: tuple[Phrase, ...] = (
    phrase("{limit} cores by {cost} of the server's", "{limit} 个核 ÷ 服务器每事件 CPU {cost}"),
    phrase(
        "{capacity} cores{others} by {cost} of the {whose}",
        "{capacity} 个核{others} ÷ {whose}每事件 CPU {cost}",
        others=one_of({"": "", ", of which others use {others},": "（其他程序占用 {others} 个）"}),
        whose=one_of(
            {
                "server's and generator's": "服务器与负载发生器",
                "server host's": "服务器主机",
            }
        ),
    ),
    phrase(
        "the busiest core is at {busiest}, all together at {all}",
        "最忙的核使用率 {busiest}，全部核平均 {all}",
    ),
    phrase(
        "{limit} {what}/s by {cost} an event",
        "每秒 {limit} 次{what} ÷ 每事件 {cost} 次",
        what=one_of({"syncs": "日志刷盘", "flushes": "设备刷盘"}),
    ),
    phrase(
        "{limit}/s by {cost} an event",
        "每秒 {limit} ÷ 每事件 {cost}",
        limit=_COUNTED,
        cost=_COUNTED,
    ),
    phrase("{mbit} Mbit/s by {cost} an event", "{mbit} Mbit/s ÷ 每事件 {cost}"),
    phrase("{held} of the writes found their row locked", "{held} 的写语句遇到行已被锁"),
    phrase(
        "{rate} statements/s (calibrated) by {statements} an event",
        "每秒 {rate} 条语句（已校准）÷ 每事件 {statements} 条",
    ),
    phrase("its event loops are at {used}", "其事件循环使用率 {used}"),
    phrase(
        "{users} by {time} ms, the shortest response time",
        "{users} ÷ 最短响应时间 {time} 毫秒",
        users=USERS,
    ),
)

RECKONED = Phrasebook(_RECKONED)
"""What a ceiling was reckoned from."""

_WHY_NOT = one_of(
    {
        "several targets share the load": "负载由多个目标分担",
        "the server's host was not observed": "没有观察服务器主机",
        "the host does not tell how busy it is": "主机没有提供 CPU 使用率",
        "the host's cores were at work for others only": "主机的 CPU 只在为其他程序工作",
        "cores were not counted apart": "没有逐核统计",
        "no core is much busier than the others": "没有明显更忙的核",
        "next to none were needed": "几乎不需要",
        "next to none was needed": "几乎不需要",
        "none was needed": "不需要",
        "the device's sync rate is not known: loadstone probe measures it": (
            "不知道设备的刷盘能力：可用 loadstone probe 测量"
        ),
        "no syncs were counted": "没有刷盘计数",
        "what the device can do is not known: loadstone probe measures it": (
            "不知道设备的能力：可用 loadstone probe 测量"
        ),
        "the server's disk was not observed": "没有观察服务器的磁盘",
        "the line's speed is not known: none told, or a virtual one's": (
            "不知道链路带宽：网卡没有提供，或是虚拟网卡"
        ),
        "no bytes were counted": "没有流量计数",
        "the server does not count waits for rows": "服务器没有行锁等待计数",
        "nothing was written": "没有写操作",
        "{held} % of the writes waited for a row": "只有 {held} % 的写语句等待行锁",
        "its CPU was not measured": "没有测量其 CPU",
        "events are due by a schedule": "事件按到达率发起（开环）",
        "no response time was measured": "没有测得响应时间",
        "a step of fewer users is needed to know the shortest response": (
            "需要并发更少的步骤才能得到最短响应时间"
        ),
    }
).phrases

_LAW: tuple[Phrase, ...] = (
    phrase(
        "{levels} levels, at least {fewest} different ones are needed",
        "只有 {levels} 档并发，至少需要 {fewest} 档",
    ),
    phrase("a level without a rate", "有一档没有吞吐数据"),
    phrase("an open loop: its rates were asked for, not found", "开环：到达率是给定的，不是测得的"),
    phrase(
        "it explains {explained} of the levels' differences (R squared), not 90 %",
        "只能解释各档差异的 {explained}（R²），不到 90 %",
    ),
    phrase(
        "it misses levels by {missed} of the highest rate", "与各档的偏差达到最高吞吐的 {missed}"
    ),
    phrase(
        "no contention: up to the last level, users add as much as the first, or more",
        "没有竞争：直到最后一档，新增并发的收益都不低于第一个",
    ),
    phrase(
        "contention came out at its bound of 1: more users add nothing from the first on",
        "竞争系数达到上界 1：从第一个并发起，增加并发就没有收益",
    ),
    phrase(
        "coherency may be zero: the rate need not fall beyond any level",
        "一致性开销可能为零：吞吐不一定会下降",
    ),
    phrase(
        "the curve is highest at {users} users, beyond the last level ({highest})",
        "曲线的最高点在 {users} 并发，超出最后一档（{highest}）",
    ),
)

CEILINGS: tuple[Phrase, ...] = (*_RECKONED, *_WHY_NOT, *_LAW)
"""`how` and `why_not` of a ceiling, and why the Universal Scalability Law was not fitted."""
