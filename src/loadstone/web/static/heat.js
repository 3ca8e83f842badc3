// The heat map of response times: a column for each second, as the server sends them.

import { t } from "./words.js";

const KEPT = 240;

export class Heat {
  constructor(charts) {
    this.charts = charts;
    this.columns = [];
    this.option = null;
  }

  draw({ option, about, columns }) {
    this.option = option;
    this.columns = columns;
    this.charts.draw("heat", this.shown(), about);
  }

  add(columns) {
    if (!this.option || !columns.length) return;
    this.columns = [...this.columns, ...columns];
    this.charts.update("heat", this.shown());
  }

  // A column for each of the last seconds, also for those in which no event ended; only the rows that have events,
  // and one more at each end.
  shown() {
    const last = this.columns.at(-1)?.at ?? 0;
    this.columns = this.columns.filter(({ at }) => at > last - KEPT);
    const first = this.columns[0]?.at ?? last;
    const { xAxis, yAxis: [yAxis], series: [series] } = this.option;
    const rows = this.columns.flatMap((column) => column.rows.map(([row]) => row));
    const top = yAxis.data.length - 1;
    return {
      ...this.option,
      xAxis: { ...xAxis, data: Array.from({ length: last - first + 1 }, (_, at) => String(first + at)) },
      yAxis: [{ ...yAxis, min: Math.max(0, Math.min(top, ...rows) - 1), max: Math.min(top, Math.max(0, ...rows) + 1) }],
      visualMap: this.shades(),
      series: [{
        ...series,
        data: this.columns.flatMap(({ at, rows: ofColumn }) =>
          ofColumn.map(([row, times]) => [at - first, row, Number(Math.log10(times).toFixed(2)), times])),
      }],
    };
  }

  shades() {
    const most = Math.max(2, ...this.columns.flatMap(({ rows }) => rows.map(([, times]) => times)));
    const { visualMap } = this.option;
    return { ...visualMap, max: Math.log10(most), text: visualMap.text.map((text) => t(text)) };
  }
}
