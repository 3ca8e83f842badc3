"use strict";
// Draws a report's figures. They, and the library that draws them, stand in the page compressed.
(function () {
  const root = document.documentElement;
  const wantsDark = window.matchMedia("(prefers-color-scheme: dark)");
  const charts = new Map();
  let data = null;

  // Formats that figures name (loadstone.report.figures.figure.Figure).
  const digits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  const FORMATS = {
    number: function (value) { return digits.format(value); },
    share: function (value) { return digits.format(100 * value) + " %"; },
    percentile: function (value) {
      const places = Math.max(0, Math.round(Math.log10(value)) - 2);
      return (100 * (1 - 1 / value)).toFixed(places) + " %";
    },
    clock: function (value) {
      const whole = Math.round(value);
      if (whole < 120) { return whole + " s"; }
      const pad = function (part) { return String(part).padStart(2, "0"); };
      const hours = Math.floor(whole / 3600);
      const minutes = Math.floor(whole / 60) % 60;
      return (hours ? hours + ":" + pad(minutes) : minutes) + ":" + pad(whole % 60);
    },
  };

  async function unpack(name) {
    const packed = atob(document.getElementById(name).textContent);
    const bytes = Uint8Array.from(packed, function (mark) { return mark.charCodeAt(0); });
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function load(source) {
    const script = document.createElement("script");
    script.textContent = source;
    document.head.append(script);
  }

  function theme() {
    return root.dataset.theme || (wantsDark.matches ? "dark" : "light");
  }

  function inPlaceOfNames(parts) {
    [].concat(parts || []).forEach(function (part) {
      [part.axisLabel, part.axisPointer && part.axisPointer.label].forEach(function (label) {
        if (label && FORMATS.hasOwnProperty(label.formatter)) {
          const format = FORMATS[label.formatter];
          label.formatter = function (value) {
            return format(typeof value === "object" ? value.value : value);
          };
        }
      });
    });
  }

  function figureOf(place) {
    return data.figures[Number(place.id.slice("figure-".length))];
  }

  function isNarrow(place) {
    const narrow = figureOf(place).narrow;
    return Boolean(narrow) && place.clientWidth < narrow.below_px;
  }

  function draw(place, renderer) {
    if (charts.has(place) || !place.clientWidth) { return; }
    const figure = figureOf(place);
    inPlaceOfNames(figure.option.xAxis);
    inPlaceOfNames(figure.option.yAxis);
    const layout = isNarrow(place) ? figure.narrow : figure;
    if (figure.narrow) { place.style.height = layout.height_px + "px"; }
    const chart = echarts.init(place, theme(), { renderer: renderer || figure.renderer });
    chart.setOption(Object.assign({ animation: false, aria: { enabled: true } }, figure.option));
    if (isNarrow(place)) { chart.setOption(figure.narrow.option); }
    // The library writes a description of its own; ours says what the figure is for.
    place.setAttribute("aria-label", place.dataset.about);
    if (figure.group) {
      chart.group = figure.group;
      echarts.connect(figure.group);
    }
    charts.set(place, chart);
    place.dataset.drawn = isNarrow(place) ? "narrow" : "wide";
  }

  function repaint() {
    charts.forEach(function (chart) { chart.setTheme(theme()); });
  }

  function zoom(place, event) {
    const chart = charts.get(place);
    const zooms = chart && chart.getOption().dataZoom;
    if (!zooms || !zooms.length) { return; }
    let start = zooms[0].start;
    let end = zooms[0].end;
    const width = end - start;
    switch (event.key) {
      case "ArrowLeft": start -= width / 4; end -= width / 4; break;
      case "ArrowRight": start += width / 4; end += width / 4; break;
      case "+": start += width / 4; end -= width / 4; break;
      case "-": start -= width / 2; end += width / 2; break;
      case "0": start = 0; end = 100; break;
      default: return;
    }
    event.preventDefault();
    const shift = Math.max(0, -start) - Math.max(0, end - 100);
    const bounded = function (share) { return Math.min(100, Math.max(0, share + shift)); };
    chart.dispatchAction({ type: "dataZoom", start: bounded(start), end: bounded(end) });
  }

  function watch() {
    const places = Array.from(document.querySelectorAll(".figure"));
    const seen = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) { if (entry.isIntersecting) { draw(entry.target); } });
    }, { rootMargin: "600px" });
    places.forEach(function (place) {
      place.dataset.about = place.getAttribute("aria-label");
      seen.observe(place);
      place.addEventListener("keydown", function (event) { zoom(place, event); });
    });
    window.addEventListener("resize", fit);
    window.addEventListener("beforeprint", function () { toPaper(places); });
    window.addEventListener("afterprint", toScreen);
  }

  // Paper is white, has one width, shows what is folded, and cuts what is longer than a page.

  const PAGE_MM = 235; // A4 without its margins, and without a chart's heading
  const FIRST_PAGE_MM = 258; // A4 without its margins, and without a line's rounding
  const LEAST_SHARE = 0.3;
  const undo = [];

  function change(object, name, value) {
    const before = object[name];
    undo.push(function () { object[name] = before; });
    object[name] = value;
  }

  function toPaper(places) {
    if (undo.length) { return; }
    change(document.getElementById("print"), "media", "all");
    const before = root.dataset.theme;
    undo.push(function () {
      if (before === undefined) { delete root.dataset.theme; } else { root.dataset.theme = before; }
    });
    root.dataset.theme = "light";
    document.querySelectorAll("details:not([open])").forEach(function (part) {
      change(part, "open", true);
    });
    document.querySelectorAll(".scrolls > table").forEach(function (table) {
      const room = table.parentNode.clientWidth;
      if (table.scrollWidth > room) { change(table.style, "zoom", room / table.scrollWidth); }
    });
    const longest = PAGE_MM * 96 / 25.4;
    places.forEach(function (place) {
      const share = longest / place.clientHeight;
      if (share < 1) { change(place.style, "zoom", share); }
      // Chromium prints nothing of a canvas that was drawn just before.
      if (isCanvas(place)) { drop(place); undo.push(function () { drop(place); draw(place); }); }
      draw(place, "svg");
      openLegend(charts.get(place));
    });
    fit();
    repaint();
    if (places.length) { fitFirstPage(places[0]); }
    // What is drawn in the next frame only is too late for the print.
    charts.forEach(function (chart) { chart.getZr().flush(); });
  }

  // The first figure follows the answer. If it is too long for the rest of that page, its pictures
  // are made lower, which keeps its texts legible, unless too little would be left of them.
  function fitFirstPage(place) {
    const chart = charts.get(place);
    const grids = chart ? chart.getOption().grid || [] : [];
    if (!grids.length || !grids.every(isMeasured)) { return; }
    const top = place.getBoundingClientRect().top - root.getBoundingClientRect().top;
    const excess = top + place.clientHeight - FIRST_PAGE_MM * 96 / 25.4;
    const total = grids.reduce(function (sum, grid) { return sum + grid.height; }, 0);
    const share = 1 - excess / total;
    if (excess <= 0 || share < LEAST_SHARE) { return; }
    let above = 0;
    const lower = grids.map(function (grid) {
      const moved = { top: grid.top - above * (1 - share), height: grid.height * share };
      above += grid.height;
      return moved;
    });
    change(place.style, "height", place.clientHeight - excess + "px");
    chart.setOption({ grid: lower });
    const before = grids.map(function (grid) { return { top: grid.top, height: grid.height }; });
    undo.push(function () { chart.setOption({ grid: before }); });
    chart.resize();
  }

  function isMeasured(grid) {
    return typeof grid.top === "number" && typeof grid.height === "number";
  }

  // Paper has no pages of a legend to turn.
  function openLegend(chart) {
    const legend = chart && (chart.getOption().legend || [])[0];
    if (!legend || legend.type !== "scroll") { return; }
    chart.setOption({ legend: Object.assign({}, legend, { type: "plain", itemGap: 6 }) });
    undo.push(function () { chart.setOption({ legend: legend }); });
  }

  function isCanvas(place) {
    return figureOf(place).renderer === "canvas";
  }

  function drop(place) {
    const chart = charts.get(place);
    if (chart) { chart.dispose(); charts.delete(place); }
  }

  function toScreen() {
    while (undo.length) { undo.pop()(); }
    fit();
    repaint();
  }

  function fit() {
    charts.forEach(function (chart, place) {
      const shape = isNarrow(place) ? "narrow" : "wide";
      if (place.dataset.drawn !== shape) { reshape(chart, place, shape); }
      chart.resize();
    });
  }

  function reshape(chart, place, shape) {
    const figure = figureOf(place);
    const now = shape === "narrow" ? figure.narrow : figure;
    place.style.height = now.height_px + "px";
    const changed = {};
    Object.keys(figure.narrow.option).forEach(function (part) { changed[part] = now.option[part]; });
    chart.setOption(changed);
    place.dataset.drawn = shape;
  }

  function offerThemes() {
    const choice = document.getElementById("theme");
    if (!choice) { return; }
    choice.closest(".switches").hidden = false;
    choice.addEventListener("change", function () {
      if (choice.value === "auto") { delete root.dataset.theme; }
      else { root.dataset.theme = choice.value; }
      repaint();
    });
    wantsDark.addEventListener("change", repaint);
  }

  async function begin() {
    offerThemes();
    if (!document.getElementById("figures")) { return; }
    try {
      load(await unpack("library"));
      data = JSON.parse(await unpack("figures"));
      Object.keys(data.themes).forEach(function (name) {
        echarts.registerTheme(name, data.themes[name]);
      });
      watch();
    } catch (error) {
      // The tables hold the figures; say why there is nothing to see, and keep the reason.
      document.querySelector(".no-charts").hidden = false;
      console.error(error);
    }
  }

  begin();
})();
