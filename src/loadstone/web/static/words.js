// The page's words. English stands in the code; another language has a line for each of its texts.
// What a server, a user or a rule says is shown as it was said.

import { keep, stored } from "./theme.js";

const CHINESE = {
  "Skip to the run": "跳到运行",
  "Language": "语言",
  "Colours": "配色",
  "as the system": "跟随系统",
  "light": "浅色",
  "dark": "深色",
  "Runs": "运行列表",
  "There are no runs yet.": "还没有运行。",
  "Compare the two picked": "对比所选的两个运行",
  "pick {name} to compare": "选择 {name} 进行对比",
  "users at work": "工作中的并发用户",
  "events/s due": "目标速率（事件/秒）",
  "Set users": "修改并发",
  "Set rate": "修改速率",
  "Stop the run": "停止运行",
  "Click again to stop it": "再次点击以确认停止",
  "Ladder": "并发阶梯",
  "Findings": "诊断结论",
  "Second by second": "逐秒数据",
  "Notes": "说明",
  "Choose a run, or start one with loadstone run.": "请选择一个运行，或用 loadstone run 启动新的运行。",
  "The server is not there; trying again.": "服务已断开，正在重连。",
  "Open the report": "打开报告",
  "between two steps": "两个步骤之间",
  "step {number} of {planned}": "第 {number} 步，共 {planned} 步",
  "step {number}": "第 {number} 步",
  "{rate} events/s due": "目标 {rate} 事件/秒",
  "{users} users": "{users} 并发",
  "{now} of {users} users at work": "{users} 并发中 {now} 个在工作",
  "connecting": "正在连接",
  "{tps} at {users} users": "{tps} TPS（{users} 并发）",
  "TPS": "TPS",
  "QPS": "QPS",
  "p95, ms": "p95（毫秒）",
  "p99, ms": "p99（毫秒）",
  "active / all connections": "活动 / 全部连接",
  "waiting": "排队",
  "errors": "错误",
  "warmup": "预热",
  "window": "测量窗口",
  "step": "步骤",
  "variant": "变体",
  "users": "并发",
  "due": "目标速率",
  "state": "状态",
  "not steady": "未稳定",
  "client-bound": "受压测端限制",
  "changed by hand": "手动修改过",
  "running": "运行中",
  "finished": "已完成",
  "stopped": "已停止",
  "failed": "失败",
  "interrupted": "被中断",
  "damaged": "已损坏",
  "They come when a step has ended.": "每个步骤结束后给出。",
  "not evaluated: {causes}": "未评估：{causes}",
  "validity": "数据是否可信",
  "ceiling": "资源用尽",
  "wait": "等待",
  "setting": "参数设置",
  "note": "提示",
  "explains {share}": "可解释 {share}",
  "{share} sure": "把握 {share}",
  "(threshold {value})": "（阈值 {value}）",
  "Remedy:": "处理办法：",
  "Evidence": "依据",
  "Asked for; the run does it within a second.": "已提交，运行将在一秒内执行。",
  "Refused: {why}": "被拒绝：{why}",
  "this second": "当前秒",
  "Events a second at each level that was measured, and in this second.":
    "各级别测得的每秒事件数，以及当前秒的值。",
  "reading both runs": "正在读取两个运行",
  "{b} against {a}": "{b} 对比 {a}",
  "Runs that were made apart differ in more than was meant: an experiment measures both by turns.":
    "分开进行的运行，差异不止所比较的一项；实验会让两者交替测量。",
  "What differs": "差异",
  "Nothing that is known.": "没有已知的差异。",
  "what": "项目",
  "Unfair: they do not lose as much in a crash.": "不公平：两者崩溃时丢失的数据不同（持久性设置不同）。",
  "Levels": "级别",
  "level": "级别",
  "TPS of {run}": "{run} 的 TPS",
  "p99 of {run}, ms": "{run} 的 p99（毫秒）",
  "change": "变化",
  "may be said": "结论",
  "faster": "更快",
  "slower": "更慢",
  "not told apart": "无法区分",
  "Events a second of both runs at each level.": "两个运行在各级别的每秒事件数。",
  "Rates": "吞吐",
  "Events and statements that were answered each second.": "每秒完成的事件数和语句数。",
  "events/s": "事件/秒",
  "statements/s": "语句/秒",
  "events/s (TPS)": "事件/秒（TPS）",
  "statements/s (QPS)": "语句/秒（QPS）",
  "events/s asked for": "目标速率（事件/秒）",
  "Response time": "响应时间",
  "What users waited: percentiles of each second's events.": "用户等待的时间：每秒事件的百分位数。",
  "ms": "毫秒",
  "p50": "p50",
  "p95": "p95",
  "p99": "p99",
  "Connections": "连接",
  "Active connections beside all connections, as the generator and the server count them.":
    "活动连接与全部连接，分别由压测端和服务器统计。",
  "connections": "连接数",
  "all (generator)": "全部（压测端）",
  "active (generator)": "活动（压测端）",
  "all (server)": "全部（服务器）",
  "active (server)": "活动（服务器）",
  "CPU of the server's host": "服务器主机 CPU",
  "Shares of all cores.": "占全部核的比例。",
  "%": "%",
  "user": "用户态",
  "system": "内核态",
  "waiting for a disk": "等待磁盘",
  "taken by the hypervisor": "被虚拟化层占用",
  "Disk": "磁盘",
  "Operations on the disk that holds the server's data.": "服务器数据所在磁盘的操作。",
  "operations/s": "次/秒",
  "MB/s": "MB/秒",
  "reads/s": "读/秒",
  "writes/s": "写/秒",
  "flushes/s": "刷盘/秒",
  "MB/s written": "写入 MB/秒",
  "Network": "网络",
  "What the interface carries that has the target's traffic.": "承载目标流量的网卡的流量。",
  "Mbit/s": "Mbit/秒",
  "received": "接收",
  "sent": "发送",
  "s": "秒",
};

export const WORDS = { en: {}, zh: CHINESE };
const LOCALES = { en: "en-US", zh: "zh-CN" };

export function chosenLanguage() {
  const kept = stored("loadstone-language");
  if (kept in WORDS) return kept;
  return navigator.language?.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function chooseLanguage(language) {
  keep("loadstone-language", language);
}

// A text in the chosen language; `{name}` is filled from `values`.
export function t(text, values = {}) {
  const said = WORDS[chosenLanguage()][text] ?? text;
  return said.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export function applyWords() {
  document.documentElement.lang = { en: "en", zh: "zh-CN" }[chosenLanguage()];
  for (const one of document.querySelectorAll("[data-text]")) one.textContent = t(one.dataset.text);
}

// Three digits that matter, with thousands apart; what is not known is no nought.
export function number(value) {
  if (value === null || value === undefined) return "-";
  const size = Math.abs(value);
  const digits = size === 0 || size >= 99.95 || Number.isInteger(value) ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  return value.toLocaleString(LOCALES[chosenLanguage()],
    { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function percent(share) {
  const value = 100 * share;
  return `${value.toFixed(Math.abs(value) >= 10 ? 0 : 1)} %`;
}

export function duration(seconds) {
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}
