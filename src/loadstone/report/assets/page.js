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

  function draw(place) {
    if (charts.has(place) || !place.clientWidth) { return; }
    const figure = data.figures[Number(place.id.slice("figure-".length))];
    inPlaceOfNames(figure.option.xAxis);
    inPlaceOfNames(figure.option.yAxis);
    const chart = echarts.init(place, theme(), { renderer: figure.renderer });
    chart.setOption(Object.assign({ animation: false, aria: { enabled: true } }, figure.option));
    // The library writes a description of its own; ours says what the figure is for.
    place.setAttribute("aria-label", place.dataset.about);
    if (figure.group) {
      chart.group = figure.group;
      echarts.connect(figure.group);
    }
    charts.set(place, chart);
    place.dataset.drawn = "yes";
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
    window.addEventListener("resize", function () {
      charts.forEach(function (chart) { chart.resize(); });
    });
    // Paper is white, whatever the screen is.
    let before = null;
    window.addEventListener("beforeprint", function () {
      before = root.dataset.theme;
      root.dataset.theme = "light";
      places.forEach(draw);
      repaint();
    });
    window.addEventListener("afterprint", function () {
      if (before === undefined) { delete root.dataset.theme; } else { root.dataset.theme = before; }
      repaint();
    });
  }

  function offerThemes() {
    const button = document.getElementById("theme");
    if (!button) { return; }
    button.hidden = false;
    button.addEventListener("click", function () {
      root.dataset.theme = theme() === "dark" ? "light" : "dark";
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
