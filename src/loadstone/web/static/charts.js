// Figures: the server sends the options (report/figures/live.py), and points are added here.
/* global echarts */

import { byId } from "./elements.js";
import { number, t } from "./words.js";
import { chartTheme, onTheme } from "./theme.js";

const KEPT = 900;

// Figures over the run's seconds show the same moment: that of the pointer over one of them.
const CLOCK = "clock";
const isOfClock = (id) => id.startsWith("timeline-");

export class Charts {
  constructor() {
    this.drawn = new Map();
    this.waiting = []; // figures that have no chart yet: one is made in each frame, so that the first is seen at once
    this.isMaking = false;
    // It also reports a figure when watching it begins, and when a hidden one is shown.
    this.sizes = new ResizeObserver((changes) => changes.forEach(({ target }) => this.fit(target)));
    onTheme(() => this.redraw());
  }

  // Screen readers read `about` instead of the figure.
  draw(id, option, about) {
    this.drop(id);
    const place = byId(id);
    if (!place) return;
    place.setAttribute("aria-label", t(about));
    this.drawn.set(id, { place, chart: null, option, about, changed: false });
    this.sizes.observe(place);
    this.queue(id);
  }

  queue(id) {
    if (!this.waiting.includes(id)) this.waiting.push(id);
    if (!this.isMaking) this.makeNext();
  }

  makeNext() {
    this.isMaking = this.waiting.length > 0;
    if (!this.isMaking) return;
    if (globalThis.echarts) this.make(this.waiting.shift());
    requestAnimationFrame(() => this.makeNext());
  }

  make(id) {
    const shown = this.drawn.get(id);
    // One that has no size is made when it has one.
    if (!shown || shown.chart || !shown.place.clientWidth) return;
    shown.chart = echarts.init(shown.place, chartTheme(), { renderer: "canvas" });
    if (isOfClock(id)) {
      echarts.connect(CLOCK);
      shown.chart.group = CLOCK;
    }
    shown.chart.setOption(translated(shown.option, shown.about));
    shown.changed = false;
  }

  fit(place) {
    const shown = this.drawn.get(place.id);
    if (shown?.place !== place || !place.clientWidth) return;
    const { chart } = shown;
    if (!chart) this.queue(place.id);
    else if (chart.getWidth() !== place.clientWidth || chart.getHeight() !== place.clientHeight) chart.resize();
  }

  // Changes of a figure's option, its data among them.
  update(id, changes) {
    const shown = this.drawn.get(id);
    if (!shown) return;
    shown.option = { ...shown.option, ...changes };
    shown.chart?.setOption(translated(shown.option, shown.about));
  }

  // Points by the series' id; the next `refresh` shows them.
  add(points) {
    for (const shown of this.drawn.values()) {
      for (const series of shown.option.series) {
        const point = points[series.id];
        if (!point) continue;
        series.data.push(point);
        if (series.data.length > KEPT) series.data.shift();
        shown.changed = true;
      }
    }
  }

  hasPoints(id) {
    return this.drawn.get(id)?.option.series.some((series) => series.data.length > 0) ?? false;
  }

  // Sets all points of one series; does nothing if the figure has no such series.
  put(id, series, data) {
    const shown = this.drawn.get(id);
    const its = shown?.option.series.find((one) => one.id === series);
    if (!its) return;
    its.data = data;
    shown.chart?.setOption({ series: [{ id: series, data }] });
  }

  refresh() {
    for (const shown of this.drawn.values()) {
      if (!shown.changed || !shown.chart) continue;
      shown.changed = false;
      const series = shown.option.series.map(({ id, data }) => ({ id, data }));
      shown.chart.setOption({ series });
    }
  }

  redraw() {
    for (const [id, { option, about }] of [...this.drawn]) this.draw(id, option, about);
  }

  drop(id) {
    const shown = this.drawn.get(id);
    if (!shown) return;
    shown.chart?.dispose();
    this.sizes.unobserve(shown.place);
    this.drawn.delete(id);
    this.waiting = this.waiting.filter((one) => one !== id);
  }

  clear() {
    for (const id of [...this.drawn.keys()]) this.drop(id);
  }
}

function translated(option, about) {
  // The report's figures give their format by name, as a function cannot be sent.
  const axis = (one) => ({ ...one, name: t(one.name), axisLabel: { ...one.axisLabel, ...shownBy(one) } });
  return {
    ...option,
    aria: { enabled: true, label: { description: t(about) } },
    xAxis: axis(option.xAxis),
    yAxis: [option.yAxis].flat().map(axis),
    series: option.series.map((one) => ({ ...one, name: t(one.name), ...dimensions(one) })),
  };
}

function dimensions(series) {
  return series.dimensions ? { dimensions: series.dimensions.map((name) => t(name)) } : {};
}

// Names of categories are shown as they are.
function shownBy(axis) {
  return axis.type === "category" ? { formatter: null } : { formatter: number };
}
