// Draws every [data-chart] with uPlot: {times: [unix seconds], series: [{name, values, low?, high?, marks?}], percent,
// stepSeconds, links?: [address of each point]}. `low` and `high` make a band; `marks` are lines of text for the legend.
"use strict";
(() => {
  const colours = ["--chart-1", "--chart-2", "--chart-3", "--chart-4"];
  const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shown = (value, percent) =>
    value == null ? "–" : percent ? `${(value * 100).toFixed(value < 0.1 ? 2 : 1)} %` : value.toLocaleString("en", { maximumFractionDigits: 3 });

  const alone = (values, at) => values[at] != null && values[at - 1] == null && values[at + 1] == null;

  // Where points are too close to be drawn, those that no line leads to are drawn all the same.
  const points = (values) => (_, __, areShown) => {
    const lonely = areShown ? [] : values.flatMap((_, at) => (alone(values, at) ? [at] : []));
    return lonely.length ? lonely : null;
  };

  // A band needs two neighbours: a point that stands alone shows its interval as a line.
  function whiskers(chart, one, colour) {
    const pen = chart.ctx;
    pen.save();
    pen.strokeStyle = `${colour}80`;
    pen.lineWidth = 3 * devicePixelRatio;
    one.values.forEach((_, at) => {
      if (!alone(one.values, at)) return;
      const x = chart.valToPos(chart.data[0][at], "x", true);
      pen.beginPath();
      pen.moveTo(x, chart.valToPos(one.low[at], "y", true));
      pen.lineTo(x, chart.valToPos(one.high[at], "y", true));
      pen.stroke();
    });
    pen.restore();
  }

  function draw(element) {
    const given = JSON.parse(element.dataset.chart);
    const data = [given.times];
    const series = [{ value: (_, at) => (at == null ? "–" : new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ")) }];
    const bands = [];
    given.series.forEach((one, index) => {
      const colour = variable(colours[index % colours.length]);
      series.push({
        label: one.name,
        stroke: colour,
        width: 2,
        points: { size: 5, fill: colour, filter: points(one.values) },
        value: (_, value, __, at) =>
          shown(value, given.percent) +
          (one.low && at != null && one.low[at] != null ? ` (${shown(one.low[at], given.percent)} to ${shown(one.high[at], given.percent)})` : "") +
          (one.marks && at != null && one.marks[at] ? `, ${one.marks[at]}` : ""),
      });
      data.push(one.values);
      if (one.low) {
        const line = { stroke: "transparent", points: { show: false }, label: "", class: "hide" };
        series.push({ ...line }, { ...line });
        data.push(one.high, one.low);
        bands.push({ series: [data.length - 2, data.length - 1], fill: `${colour}2e` });
      }
    });
    const ink = variable("--muted");
    const axis = { stroke: ink, grid: { stroke: variable("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
    element.replaceChildren();
    // Times of the day over 24 hours, dates as they sort.
    const day = 86400;
    const time = (splits) => splits.map((at) => {
      const text = new Date(at * 1000).toISOString();
      return at % day === 0 ? text.slice(5, 10) : text.slice(11, 16);
    });
    const options = {
      width: Math.max(280, element.clientWidth),
      height: 200,
      tzDate: (at) => uPlot.tzDate(new Date(at * 1000), "Etc/UTC"),
      legend: { live: true },
      cursor: { drag: { x: false, y: false } },
      scales: { y: { range: (_, low, high) => [0, given.percent ? Math.min(1, Math.max(0.02, high * 1.1)) : high * 1.1 || 1] } },
      axes: [
        { ...axis, size: 30, values: (_, splits) => time(splits) },
        { ...axis, size: 56, values: (_, ticks) => ticks.map((tick) => (given.percent ? `${+(tick * 100).toFixed(2)} %` : tick)) },
      ],
      series,
      bands,
      hooks: { draw: [(chart) => given.series.forEach((one, index) => one.low && whiskers(chart, one, variable(colours[index % colours.length])))] },
    };
    const plot = new uPlot(options, data, element);
    if (given.links) {
      plot.over.classList.add("linked");
      plot.over.addEventListener("click", () => {
        const to = plot.cursor.idx != null && given.links[plot.cursor.idx];
        if (to) location.assign(to);
      });
    }
    element.plot = plot;
  }

  const all = (root) => root.querySelectorAll("[data-chart]");
  const drawAll = (root) => all(root).forEach((element) => element.plot || draw(element));
  drawAll(document);
  document.addEventListener("htmx:load", (event) => drawAll(event.target));
  document.addEventListener("themechange", () => all(document).forEach(draw));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    all(document).forEach((element) => element.plot?.setSize({ width: Math.max(280, element.clientWidth), height: 200 }));
  });
})();
