/* Charts. A figure[data-chart] has a table with the numbers (templates/components/_chart.html); this draws them above it
   with d3, and folds the table away. Without scripts the table stands there, and on paper it does too.
   All looks are in css/charts.css. */
"use strict";

/* global d3 -- of vendor/d3.min.js, which a page with charts has */

(() => {
  const HEIGHT = 240;
  const [TOP, BOTTOM] = [18, 26];
  const CHARACTER = 7; // the width of one, about
  const MOST_LINES = 5; // of the grid, about
  const NARROWEST = 9; // of a category's bars; a chart that gets wider scrolls
  const WIDEST = 140; // for a category: few of them do not fill the page
  const LONGEST = 14; // characters of a label below the axis,
  const LONGEST_NAME = 20; // and of a name, which may stand aslant
  const SLANT = 0.62; // at 45 degrees, of letters that are narrower than most
  const CLOSEST = 14; // names aslant
  // How series are told apart without colours: patterns in bars, symbols on lines. The first pattern is a plain area.
  const PATTERNS = [null, "M-1 1l2-2M0 6l6-6M5 7l2-2", "M2 2h.01M5 5h.01", "M0 3h6", "M3 0v6", "M0 0l6 6M-1 5l2 2M5-1l2 2"];
  const SYMBOLS = [d3.symbolCircle, d3.symbolSquare, d3.symbolTriangle, d3.symbolDiamond, d3.symbolCross, d3.symbolStar];
  // Steps of a grid of seconds; beyond, whole days.
  const DAY = 86400;
  const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, DAY];

  /* ---- Reading the table ----------------------------------------------------------------------------------- */

  /** The number of a cell; null where it has none. */
  function valueOf(cell) {
    const said = cell.dataset.value ?? cell.textContent.trim();
    return said === "" || Number.isNaN(Number(said)) ? null : Number(said);
  }

  const textOf = (cell) => cell.textContent.trim();

  function read(figure, table) {
    const columns = [...table.tHead.rows[0].cells].slice(1).map((cell, index) => ({
      index, name: textOf(cell), isCompare: "compare" in cell.dataset, isTotal: "total" in cell.dataset,
    }));
    const rows = [...table.tBodies[0].rows].map(({ cells: [head, ...cells] }) => ({
      label: textOf(head), short: head.dataset.short || textOf(head), isNamed: !head.dataset.short, values: cells.map(valueOf), texts: cells.map(textOf),
    }));
    const { chart: kind, unit } = figure.dataset;
    return {
      id: figure.id, kind, unit, caption: textOf(figure.querySelector("figcaption")),
      rows: ("newestFirst" in figure.dataset ? rows.reverse() : rows).map((row, index) => ({ ...row, index })),
      isNamed: kind !== "lines" && rows.every((each) => each.isNamed),
      series: columns.filter((each) => !each.isCompare && !each.isTotal).map((each, mark) => ({ ...each, mark })),
      compared: columns.filter((each) => each.isCompare),
    };
  }

  /* ---- Numbers along the axis ------------------------------------------------------------------------------ */

  function stepOf(unit, highest) {
    const seconds = unit === "seconds" && STEPS.find((step) => highest / step <= MOST_LINES);
    if (seconds) return seconds;
    if (unit === "seconds") return DAY * Math.ceil(d3.tickStep(0, highest / DAY, MOST_LINES));
    return Math.max(d3.tickStep(0, highest, MOST_LINES), unit === "count" ? 1 : 0);
  }

  /** Words for a span of seconds that is a step of the grid: "30 s", "15 min", "1 h 30 min", "2 d". */
  function spanInWords(seconds) {
    const parts = [[Math.floor(seconds / DAY), "d"], [Math.floor(seconds % DAY / 3600), "h"],
      [Math.floor(seconds % 3600 / 60), "min"], [seconds % 60, "s"]].filter(([count]) => count);
    return parts.map(([count, word]) => `${count} ${word}`).join(" ") || "0";
  }

  function formatOf(unit, step) {
    if (unit === "seconds") return spanInWords;
    if (unit === "money") return d3.format(`$,.${step < 1 ? Math.max(2, d3.precisionFixed(step)) : 0}f`);
    const plain = d3.format(`,.${d3.precisionFixed(step)}f`);
    return unit === "percent" ? (value) => `${plain(value)}%` : plain;
  }

  /** The numbers of the grid, from 0 to above everything that is drawn, and how they are written. */
  function gridOf({ kind, unit, rows, series, compared }) {
    const sum = kind === "stacked" ? d3.sum : d3.max;
    const highest = d3.max(rows, ({ values }) =>
      Math.max(sum(series, (each) => values[each.index]) ?? 0, d3.max(compared, (each) => values[each.index]) ?? 0)) || 1;
    const step = stepOf(unit, highest);
    const ticks = d3.range(Math.ceil(highest / step - 1e-9) + 1).map((number) => number * step);
    return { ticks, format: formatOf(unit, step) };
  }

  /* ---- Drawing --------------------------------------------------------------------------------------------- */

  const patternOf = (chart, mark) => (PATTERNS[mark] ? `url(#${chart.id}-pattern-${mark})` : null);
  const symbolOf = (mark) => d3.symbol(SYMBOLS[mark], 44)();
  const lookOf = ({ mark, isCompare }) => (isCompare ? "compare" : `s${mark}`);

  function drawPatterns(svg, chart) {
    const patterns = svg.append("defs").selectAll().data(chart.series.filter(({ mark }) => PATTERNS[mark])).join("pattern")
      .attr("id", ({ mark }) => `${chart.id}-pattern-${mark}`).attr("class", ({ mark }) => `s${mark}`)
      .attr("width", 6).attr("height", 6).attr("patternUnits", "userSpaceOnUse");
    patterns.append("rect").attr("width", 6).attr("height", 6);
    patterns.append("path").attr("d", ({ mark }) => PATTERNS[mark]);
  }

  const shortened = (text, longest) => ([...text].length > longest ? `${[...text].slice(0, longest - 1).join("")}…` : text);
  const widthOf = (texts) => d3.max(texts, ({ length }) => length) * CHARACTER;

  /** The two axes and the grid; how many categories one label below the axis stands for. */
  function drawAxes(svg, labels, { x, y, left, right, width, grid, isWide, isAslant }) {
    const indices = x.domain();
    const every = isAslant ? 1 : Math.max(Math.ceil((widthOf(labels) + 8) / x.step()), 1);
    const scale = (axis) => axis.tickValues(grid.ticks).tickFormat(grid.format);
    svg.append("g").attr("class", "grid").attr("transform", `translate(${left},0)`)
      .call(scale(d3.axisLeft(y)).tickSize(left + right - width).tickPadding(8)).select(".domain").remove();
    // A small screen shows one end only.
    if (isWide) {
      svg.append("g").attr("transform", `translate(${width - right},0)`)
        .call(scale(d3.axisRight(y)).tickSize(0).tickPadding(8)).select(".domain").remove();
    }
    // As many labels as fit, back from the newest.
    const shown = indices.filter((index) => (indices.length - 1 - index) % every === 0);
    svg.append("g").attr("class", "base").attr("transform", `translate(0,${HEIGHT - BOTTOM})`)
      .call(d3.axisBottom(x).tickValues(shown).tickFormat((index) => labels[index]).tickSize(0).tickPadding(9))
      .selectAll(isAslant ? "text" : null).attr("text-anchor", "end").attr("transform", "translate(3,-2) rotate(-45)");
    return every;
  }

  /** The bars of each category, as boxes in the chart's own units; one for each cell of a series, empty ones too. */
  function boxesOf({ kind, rows, series }, { x, y }) {
    const box = (mark, from, to, left, width) => ({ mark, x: left, y: y(to), width, height: y(from) - y(to) });
    if (kind === "stacked") {
      const stacks = d3.stack().keys(d3.range(series.length)).value((row, mark) => row.values[series[mark].index] ?? 0)(rows);
      return rows.map((_, index) => stacks.map((stack, mark) => box(mark, ...stack[index], x(index), x.bandwidth())));
    }
    const inner = d3.scaleBand(d3.range(series.length), [0, x.bandwidth()]).paddingInner(series.length > 1 ? 0.08 : 0);
    return rows.map(({ values }, index) => series.map((each, mark) =>
      box(mark, 0, values[each.index] ?? 0, x(index) + inner(mark), inner.bandwidth())));
  }

  function drawBars(slots, chart, scales) {
    const boxes = boxesOf(chart, scales);
    slots.selectAll("rect.column").data((_, index) => boxes[index]).join("rect")
      .attr("class", ({ mark }) => `column s${mark}`).attr("fill", ({ mark }) => patternOf(chart, mark))
      .attr("x", (box) => box.x).attr("y", (box) => box.y).attr("width", (box) => box.width).attr("height", (box) => box.height);
  }

  /** The number of each bar or stack above it, where there is room. */
  function drawSums(svg, { kind, rows, series }, { x, y, middle }, grid) {
    if (kind === "lines" || (kind === "bars" && series.length > 1)) return;
    const sumOf = ({ values }) => d3.sum(series, ({ index }) => values[index]);
    const wordsOf = (row) => (series.length > 1 ? grid.format(sumOf(row)) : row.texts[series[0].index]);
    const shown = rows.filter((row) => sumOf(row) && wordsOf(row).length * CHARACTER <= x.step());
    svg.append("g").selectAll("text").data(shown).join("text").attr("class", "sum").attr("text-anchor", "middle")
      .attr("x", middle).attr("y", (row) => y(sumOf(row)) - 5).text(wordsOf);
  }

  /** One series as a line with gaps where there is no number; points where there is room, and beside gaps. */
  function drawLine(svg, slots, chart, { index, mark, isCompare }, { x, y, middle }, every) {
    const has = (row) => Boolean(row) && row.values[index] !== null;
    const line = d3.line().defined(has).x(middle).y((row) => y(row.values[index]));
    if (isCompare) svg.append("path").attr("class", "halo").attr("d", line(chart.rows)); // seen on bars too
    svg.append("path").attr("class", `line ${lookOf({ mark, isCompare })}`).attr("d", line(chart.rows));
    if (isCompare) return;
    const isMarked = (row) => x.step() >= 14 || (chart.rows.length - 1 - row.index) % every === 0
      || !has(chart.rows[row.index - 1]) && !has(chart.rows[row.index + 1]);
    slots.filter((row) => has(row) && isMarked(row)).append("path").attr("class", `point s${mark}`)
      .attr("transform", (row) => `translate(${middle(row)},${y(row.values[index])})`).attr("d", symbolOf(mark));
  }

  function draw(chart, scroller) {
    const grid = gridOf(chart);
    const labels = chart.rows.map(({ short }) => shortened(short, chart.isNamed ? LONGEST_NAME : LONGEST));
    const beside = widthOf(grid.ticks.map(grid.format)) + 14;
    // Days may be left out below the axis, names may not: where these are too long, they stand aslant.
    const step = Math.min((scroller.clientWidth - beside - widthOf(labels) / 2) / chart.rows.length, WIDEST);
    const isAslant = chart.isNamed && widthOf(labels) + 8 > step && step >= CLOSEST;
    const depth = isAslant ? widthOf(labels) * SLANT : 0;
    const below = Math.max(depth - BOTTOM / 2, 0);
    const left = Math.max(beside, depth - step / 2);
    const needed = chart.kind === "lines" ? 0 : left * 2 + chart.rows.length * NARROWEST;
    const isWide = needed > scroller.clientWidth;
    const right = Math.max(isAslant ? 8 : widthOf(labels) / 2, isWide ? left : 0);
    const width = isWide ? needed : scroller.clientWidth;
    const end = Math.min(width - right, left + chart.rows.length * WIDEST);
    const x = d3.scaleBand(d3.range(chart.rows.length), [left, end]).paddingInner(0.28).paddingOuter(0.14);
    const y = d3.scaleLinear([0, grid.ticks.at(-1)], [HEIGHT - BOTTOM, TOP]);
    const scales = { x, y, middle: (row) => x(row.index) + x.bandwidth() / 2 };

    // Its parts are for the eyes; what it says stands in the table.
    const svg = d3.create("svg").attr("role", "img")
      .attr("aria-label", `Chart: ${chart.caption}. The numbers are in the table below.`)
      .attr("width", width).attr("height", HEIGHT + below).attr("viewBox", `0 0 ${width} ${HEIGHT + below}`);
    drawPatterns(svg, chart);
    const every = drawAxes(svg, labels, { ...scales, left, right, width, grid, isWide, isAslant });
    // The categories lie above the lines: each says its numbers wherever it is pointed at.
    const lines = svg.append("g");
    const slots = svg.append("g").selectAll("g").data(chart.rows).join("g").attr("class", "slot");
    slots.append("title").text(({ label, texts }) =>
      [label, ...[...chart.series, ...chart.compared].map(({ name, index }) => `${name}: ${texts[index]}`)].join("\n"));
    slots.append("rect").attr("class", "band").attr("x", ({ index }) => x(index) - x.step() * 0.14).attr("y", TOP)
      .attr("width", x.step()).attr("height", HEIGHT - BOTTOM - TOP);
    if (chart.kind !== "lines") drawBars(slots, chart, scales);
    for (const each of chart.kind === "lines" ? [...chart.compared, ...chart.series] : chart.compared) {
      drawLine(chart.kind === "lines" ? lines : svg, slots, chart, each, scales, every);
    }
    drawSums(svg, chart, scales, grid);
    scroller.replaceChildren(svg.node());
    // What can be scrolled can be reached by keyboard, and shows the newest first.
    d3.select(scroller).attr("tabindex", isWide ? 0 : null).attr("role", isWide ? "region" : null)
      .attr("aria-label", isWide ? chart.caption : null);
    scroller.scrollLeft = scroller.scrollWidth;
  }

  /** Each series with its mark; a single one needs no words but the caption. */
  function legendOf(chart) {
    if (chart.series.length + chart.compared.length < 2) return null;
    const items = d3.create("ul").attr("class", "legend").selectAll("li").data([...chart.series, ...chart.compared])
      .join("li");
    const isLine = ({ isCompare }) => isCompare || chart.kind === "lines";
    const marks = items.append("svg").attr("aria-hidden", "true")
      .attr("width", (each) => (isLine(each) ? 24 : 13)).attr("height", 13);
    marks.filter((each) => !isLine(each)).append("rect").attr("class", ({ mark }) => `column s${mark}`)
      .attr("fill", ({ mark }) => patternOf(chart, mark)).attr("x", 0.5).attr("y", 0.5).attr("width", 12).attr("height", 12);
    marks.filter(isLine).append("path").attr("class", (each) => `line ${lookOf(each)}`).attr("d", "M0 6.5h24");
    marks.filter((each) => isLine(each) && !each.isCompare).append("path").attr("class", (each) => `point ${lookOf(each)}`)
      .attr("transform", "translate(12,6.5)").attr("d", ({ mark }) => symbolOf(mark));
    items.append("bdi").text(({ name }) => name);
    return items.node().parentNode;
  }

  function show(figure) {
    if (figure.querySelector("details")) return; // it is shown already
    const table = figure.querySelector("table");
    if (!table) return;
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Show the numbers";
    const numbers = table.parentNode;
    numbers.before(details);
    details.append(summary, numbers);
    if ("empty" in figure.dataset) return;
    const chart = read(figure, table);
    const scroller = document.createElement("div");
    scroller.className = "plot scroll";
    details.before(...[scroller, legendOf(chart)].filter(Boolean));
    let drawn = 0;
    new ResizeObserver(() => {
      if (!scroller.clientWidth || scroller.clientWidth === drawn) return;
      drawn = scroller.clientWidth;
      draw(chart, scroller);
    }).observe(scroller);
  }

  const showAll = () => document.querySelectorAll("figure[data-chart]").forEach(show);
  showAll();
  document.addEventListener("htmx:afterSettle", showAll); // what htmx put in
})();
