"use strict";
// Draws the panels of the timeline above one axis of time: zooming one zooms all.
(() => {
  const source = document.getElementById("drawn");
  if (!source) return;
  const {seconds, end, training, panels} = JSON.parse(source.textContent);
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const axis = 56, tall = 140, low = 36, bottom = 26;
  const whole = {min: 0, max: end};
  const two = value => String(value).padStart(2, "0");
  const time = (at, digits = 1) => { // 12.5 s, 3:05, 1:02:03
    if (end < 600) return `${+at.toFixed(digits + 1)} s`;
    const all = Math.round(at), hours = Math.floor(all / 3600), rest = `${two(Math.floor(all / 60) % 60)}:${two(all % 60)}`;
    return end < 3600 ? rest : `${hours}:${rest}`;
  };
  const steps = [.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];
  const said = (unit, value) => { // short: an axis has room for six signs
    if (unit === "%") return `${(100 * value).toFixed(0)}%`;
    return unit === "ms" && value >= 1000 ? said("s", value / 1000) : `${+value.toPrecision(3)} ${unit}`;
  };
  const charts = [];

  function stacked(panel) { // what is filled, from the sum of all down to the first alone, so that each covers the next
    const filled = panel.series.filter(one => !one.line);
    let sums = seconds.slice(1).map(() => 0);
    const rows = filled.map(one => (sums = sums.map((sum, at) => sum + (one.values[at] ?? 0))));
    return filled.map((one, at) => ({...one, drawn: rows[at]})).reverse();
  }

  function shape(panel) {
    const filled = panel.stacked ? stacked(panel) : panel.series.filter(one => !one.line);
    const lines = panel.series.filter(one => one.line);
    return [...filled, ...lines].map(one => ({...one, drawn: one.drawn ?? one.values}));
  }

  const step = uPlot.paths.stepped({align: 1});
  function chart(panel, place, isLast) {
    const shapes = shape(panel);
    const ink = () => css("--ink"), faint = () => ({show: true, stroke: css("--grid"), width: 1});
    const options = {
      width: place.clientWidth,
      height: (panel.low ? low : tall) + (isLast ? bottom : 0),
      legend: {show: false},
      padding: [panel.low ? 2 : 10, 24, isLast ? 0 : 6, 0],
      cursor: {y: false, points: {show: false}, drag: {x: true, y: false, setScale: true}, sync: {key: "time"},
        bind: {dblclick: u => () => u.setScale("x", whole)}},
      scales: {
        x: {time: false, min: 0, max: end, range: (u, min, max) => [Math.max(0, min), Math.min(end, max)]},
        y: {range: (u, min, max) => [0, panel.top ?? (max || 1) * 1.1]},
      },
      axes: [
        {show: true, size: isLast ? bottom : 0, stroke: ink, grid: faint(), ticks: {show: isLast}, gap: 2,
          incrs: steps, space: 70,
          values: (u, splits) => splits.map(at => (isLast ? time(at) : ""))},
        {size: axis, stroke: ink, grid: {...faint(), show: !panel.low}, ticks: {show: false}, gap: 4,
          splits: panel.top === null ? undefined : () => (panel.low ? [] : [0, 0.5, 1].map(part => part * panel.top)),
          values: (u, splits) => splits.map(value => said(panel.unit, value))},
      ],
      series: [{}, ...shapes.map(one => ({
        paths: step, points: {show: false}, spanGaps: panel.unit === "%",
        stroke: one.line ? () => css(one.colour) : undefined, width: one.line ? 1.5 : 0,
        fill: one.line ? undefined : () => css(one.colour),
      }))],
      hooks: {
        drawClear: [u => { // behind all: the training that shares are of
          if (!training) return;
          const [from, to] = training.map(at => u.valToPos(Math.max(u.scales.x.min, Math.min(u.scales.x.max, at)), "x", true));
          u.ctx.fillStyle = css("--panel");
          u.ctx.fillRect(from, u.bbox.top, to - from, u.bbox.height);
        }],
        setScale: [(u, name) => name === "x" && zoomed(u.scales.x)],
        setCursor: [u => u.cursor.event && tell(u)],
      },
    };
    const data = [seconds, ...shapes.map(one => [...one.drawn, one.drawn[one.drawn.length - 1]])];
    const made = new uPlot(options, data, place);
    touched(made);
    return made;
  }

  let isZooming = false;
  function zoomed({min, max}) {
    if (isZooming || min === null || min === undefined) return;
    isZooming = true;
    for (const one of charts) if (one.scales.x.min !== min || one.scales.x.max !== max) one.setScale("x", {min, max});
    isZooming = false;
    document.getElementById("shown").textContent = `Shown: ${time(min)} to ${time(max)}.`;
    document.getElementById("all").hidden = min <= whole.min && max >= whole.max;
  }

  function tell(u) { // what all panels show at the cursor
    const {left} = u.cursor, at = document.getElementById("at");
    if (left < 0) return void (at.textContent = "\u00a0");
    const moment = u.posToVal(left, "x"), bin = Math.max(0, seconds.findLastIndex(start => start <= moment));
    const parts = panels.flatMap(panel => panel.series
      .filter(one => one.values[bin]).map(one => `${one.name} ${said(panel.unit, one.values[bin])}`));
    at.textContent = `${time(moment)}: ${parts.join(", ")}`;
  }

  function touched(u) { // a finger drags as a mouse does; up and down it scrolls the page
    let from = null;
    const where = event => Math.max(0, Math.min(u.over.clientWidth, event.clientX - u.over.getBoundingClientRect().left));
    u.over.addEventListener("pointerdown", event => { from = event.pointerType === "touch" ? where(event) : null; });
    u.over.addEventListener("pointermove", event => {
      if (from === null) return;
      const to = where(event);
      u.setSelect({left: Math.min(from, to), width: Math.abs(to - from), top: 0, height: u.over.clientHeight}, false);
    });
    u.over.addEventListener("pointercancel", () => { from = null; });
    u.over.addEventListener("pointerup", event => {
      if (from === null) return;
      const [min, max] = [from, where(event)].sort((a, b) => a - b).map(left => u.posToVal(left, "x"));
      from = null;
      u.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
      if (u.valToPos(max, "x") - u.valToPos(min, "x") > 10) u.setScale("x", {min, max});
    });
  }

  const places = [...document.querySelectorAll("#timeline .plot")];
  panels.forEach((panel, number) => charts.push(chart(panel, places[number], number === panels.length - 1)));
  zoomed(whole);
  document.getElementById("all").addEventListener("click", () => charts[0].setScale("x", whole));
  new ResizeObserver(() => charts.forEach((one, number) => {
    if (places[number].clientWidth !== one.width) one.setSize({width: places[number].clientWidth, height: one.height});
  })).observe(document.getElementById("timeline"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(one => one.redraw()));
  document.addEventListener("click", event => { // a line that a whole function hides is shown again
    const link = event.target.closest("a[href^='#']"), row = link && document.querySelector(link.getAttribute("href"));
    const hiding = row && row.closest(".code")?.querySelector("details[open]");
    if (hiding) hiding.open = false;
  });
})();
