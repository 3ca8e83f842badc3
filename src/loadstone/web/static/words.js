// The page's words. English stands in the code; another language has a line here for each text that
// the report does not have as well. What a server, a user or a rule says is shown as it was said.

import { element } from "./elements.js";
import { names, texts } from "./shared.js";
import { keep, stored } from "./theme.js";

const CHINESE = {
  "Skip to the run": "跳到测试",
  "Language": "语言",
  "Colours": "配色",
  "as the system": "跟随系统",
  "light": "浅色",
  "dark": "深色",
  "Runs": "测试列表",
  "There are no runs yet.": "还没有测试。",
  "Compare the two picked": "对比所选的两个测试",
  "pick {name} to compare": "选择 {name} 进行对比",
  "users who may work": "参与工作的并发",
  "events/s due": "到达率（事件/秒）",
  "Set users": "修改并发",
  "Set rate": "修改到达率",
  "Stop the run": "停止测试",
  "Click again to stop it": "再次点击以确认停止",
  "Choose a run, or start one with loadstone run.": "请选择一个测试，或用 loadstone run 启动新的测试。",
  "The server is not there; trying again.": "服务已断开，正在重连。",
  "The server wants its link again: open the one that it has printed.": "访问凭证已失效：请重新打开服务输出的链接。",
  "Open the report": "打开报告",
  "between two steps": "两个步骤之间",
  "step {number} of {planned}": "步骤 {number}，共 {planned} 步",
  "{now} of {users} at work": "{users}中 {now} 个在工作",
  "connecting": "正在连接",
  "{tps} at {users}": "{users} 时 {tps} TPS",
  "active / all connections": "活跃 / 全部连接",
  "waiting": "排队",
  "window": "测量窗口",
  "step": "步骤",
  "due": "到达率",
  "not steady": "未稳定",
  "client-bound": "受限于客户端",
  "changed by hand": "手动修改过",
  "running": "运行中",
  "damaged": "已损坏",
  "They come when a step has ended.": "每个步骤结束后给出。",
  "not evaluated: {causes}": "未评估：{causes}",
  "Asked for; the run does it within a second, or as its next step begins.":
    "已提交，测试将在一秒内或下一步骤开始时执行。",
  "Refused: {why}": "被拒绝：{why}",
  "this second": "当前秒",
  "Events a second at each level that was measured, and in this second.":
    "各档测得的每秒事件数，以及当前秒的值。",
  "reading both runs": "正在读取两个测试",
  "Runs that were made apart differ in more than was meant: an experiment measures both by turns.":
    "分开进行的测试，差异不止所比较的一项；实验会让两者交替测量。",
  "What differs": "差异",
  "Nothing that is known.": "没有已知的差异。",
  "Open the whole comparison": "打开完整对比",
  "what it means": "含义",
  "work": "负载",
  "setting": "参数",
  "server": "服务器",
  "host": "主机",
  "generator": "负载发生器",
  "Unfair: what is marked makes the figures no match.": "不公平：标出的差异使两者的数据不可直接比较。",
  "Levels": "各场景",
  "level": "场景",
  "TPS of {run}": "{run} 的 TPS",
  "p99 of {run}, ms": "{run} 的 p99（毫秒）",
  "change": "变化",
  "may be said": "结论",
  "Events a second of both runs at each level.": "两个测试在各档的每秒事件数。",
  "Rates": "吞吐",
  "Events and statements that were answered each second.": "每秒完成的事件数和语句数。",
  "events/s (TPS)": "事件/秒（TPS）",
  "statements/s (QPS)": "语句/秒（QPS）",
  "events/s asked for": "到达率（事件/秒）",
  "Response time": "响应时间",
  "What users waited: percentiles of each second's events.": "用户等待的时间：每秒事件的百分位数。",
  "ms": "毫秒",
  "p50": "p50",
  "Connections": "连接",
  "Active connections beside all connections, as the generator and the server count them.":
    "活跃连接与全部连接，分别由负载发生器和服务器统计。",
  "all (generator)": "全部（负载发生器）",
  "active (generator)": "活跃（负载发生器）",
  "all (server)": "全部（服务器）",
  "active (server)": "活跃（服务器）",
  "CPU of the server's host": "服务器主机 CPU",
  "Shares of all cores.": "占全部核的比例。",
  "%": "%",
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

// What the program says in English beside a run, by language, as the server tells it.
const heard = new Map();

export function hear(told) {
  for (const [english, others] of Object.entries(told ?? {})) heard.set(english, others);
}

// A sentence of the program's; what nobody translated is marked as English.
export function speech(tag, english) {
  const other = own(heard.get(english) ?? {}, chosenLanguage());
  return element(tag, { lang: other === undefined ? "en" : null }, other ?? english);
}

// A text in the chosen language; `{name}` is filled from `values`.
export function t(text, values = {}) {
  const language = chosenLanguage();
  const said = own(WORDS[language], text) ?? own(texts[language], text) ?? text;
  return said.replace(/\{(\w+)\}/g, (whole, name) => own(values, name) ?? whole);
}

// A workload may be called "constructor", which every object has.
function own(table, name) {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

// What the report calls something of such a name; what a newer version has is shown by its name.
export function named(table, name) {
  return own(names[chosenLanguage()][table], name) ?? name;
}

export function users(count) {
  return count === 1 ? t("1 user") : t("{number} users", { number: number(count) });
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
