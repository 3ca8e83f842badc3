// Colours of figures on light and on dark ground. M. Okabe and K. Ito, "Color Universal Design",
// 2008: told apart by people with any kind of colour vision. Lines differ in their dashes as well.

const LIGHT = {
  colours: ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A6FBE", "#8C6D31"],
  ink: "#1b1f24", quiet: "#57606a", line: "#d0d7de", ground: "#ffffff",
};
const DARK = {
  colours: ["#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#A9A1DD", "#C5A86A"],
  ink: "#e6edf3", quiet: "#9aa4ae", line: "#3d444d", ground: "#161b22",
};

const system = window.matchMedia("(prefers-color-scheme: dark)");
const heard = [];

export function chosenTheme() {
  const kept = stored("loadstone-theme");
  return ["light", "dark"].includes(kept) ? kept : "auto";
}

export function chooseTheme(theme) {
  keep("loadstone-theme", theme);
  applyTheme();
  heard.forEach((tell) => tell());
}

export function applyTheme() {
  const theme = chosenTheme();
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
}

export function onTheme(tell) {
  heard.push(tell);
}

system.addEventListener("change", () => heard.forEach((tell) => tell()));

export function chartTheme() {
  const theme = chosenTheme();
  const isDark = theme === "dark" || (theme === "auto" && system.matches);
  const { colours, ink, quiet, line, ground } = isDark ? DARK : LIGHT;
  const axis = {
    axisLine: { lineStyle: { color: quiet } },
    axisTick: { lineStyle: { color: quiet } },
    axisLabel: { color: quiet },
    nameTextStyle: { color: quiet },
    splitLine: { lineStyle: { color: line } },
  };
  return {
    color: colours,
    backgroundColor: "transparent",
    textStyle: { color: ink, fontFamily: getComputedStyle(document.body).fontFamily },
    legend: { textStyle: { color: ink }, pageTextStyle: { color: quiet }, pageIconColor: ink,
      pageIconInactiveColor: line },
    tooltip: { backgroundColor: ground, borderColor: quiet, textStyle: { color: ink },
      axisPointer: { lineStyle: { color: quiet } } },
    valueAxis: axis,
    logAxis: axis,
  };
}

// What a browser keeps may be forbidden: then the choice lasts as long as the page.
const lasting = {};

export function stored(name) {
  try {
    return window.localStorage.getItem(name) ?? lasting[name] ?? null;
  } catch {
    return lasting[name] ?? null;
  }
}

export function keep(name, value) {
  lasting[name] = value;
  try {
    window.localStorage.setItem(name, value);
  } catch {
    // Kept above.
  }
}
