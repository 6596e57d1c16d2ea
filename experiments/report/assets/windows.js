// Second demonstration: a window that slides over a chain of operators and grows, past the point where it spills.
"use strict";

const MEASURES = [
  { key: "registers_per_thread", title: "registers a thread", words: whole },
  { key: "spill_bytes_per_thread", title: "spilled bytes a thread", words: whole },
  { key: "theoretical_occupancy_pct", title: "occupancy [%]", words: (value) => value.toFixed(0), top: 100 },
  { key: "l2_hit_pct", title: "L2 hits [%]", words: (value) => value.toFixed(0), top: 100 },
  { key: "dram_bytes", title: "DRAM bytes of the chain", words: size },
  { key: "cycles", title: "SM cycles of the chain", words: whole },
];

function capWords(cap) {
  return cap === null ? "no cap" : `at most ${cap} registers`;
}

function windowsDemo(root, data) {
  const doc = data.windows;
  const long = doc.operators.length;
  let cap = 0;
  const chain = draw("svg", { viewBox: `0 0 1120 92`, role: "img", "aria-label": "the chain of operators and the window" });
  const charts = make("div", { class: "sides" });
  const said = make("p", { class: "said", role: "status", "aria-live": "polite" });
  const stage = make("div");
  const positions = [];
  for (let first = 0; first < long; first += 1) {
    for (let size1 = first ? 2 : 1; first + size1 <= long; size1 += 1) positions.push([first, size1]);
  }

  function row(first, length) {
    // A window of one operator is the chain without fusion wherever it stands, and why it can't be is said once.
    const found = (at) => doc.windows.find((one) => one.cap === doc.caps[cap] && one.first === at && one.size === length);
    return found(first) || (length === 1 ? found(0) : undefined);
  }

  function drawChain(first, length) {
    const wide = 1120 / long;
    const parts = doc.operators.flatMap((one, at) => [
      draw("rect", { x: at * wide + 8, y: 22, width: wide - 16, height: 44, rx: 6, class: "box",
        stroke: at >= first && at < first + length ? "var(--mark)" : "var(--line)" }),
      draw("text", { x: at * wide + wide / 2, y: 41, class: "strong middle" }, short(one.kind, Math.max(4, wide / 9))),
      draw("text", { x: at * wide + wide / 2, y: 58, class: "soft middle" }, short(one.name, Math.max(4, wide / 8))),
      ...(at ? [draw("line", { x1: at * wide - 8, x2: at * wide + 8, y1: 44, y2: 44, class: "edge" })] : []),
    ]);
    parts.push(draw("rect", { x: first * wide + 2, y: 14, width: length * wide - 4, height: 60, rx: 9, class: "bracket" }));
    parts.push(draw("text", { x: first * wide + 4, y: 90, class: "soft" }, length === 1 ? "no fusion" : `one kernel of ${length} operators`));
    chain.replaceChildren(...parts);
  }

  function chart(measure, first, length) {
    const sizes = Array.from({ length: long - first }, (_, at) => at + 1);
    const rows = sizes.map((one) => row(first, one));
    const values = rows.map((one) => (one && measure.key in one && one[measure.key] !== null ? one[measure.key] : null));
    const everywhere = doc.windows.filter((one) => one.cap === doc.caps[cap]).map((one) => one[measure.key]).filter((one) => typeof one === "number");
    const top = measure.top || Math.max(1, ...everywhere) * 1.05;
    const svg = draw("svg", { viewBox: "0 0 540 150", role: "img",
      "aria-label": `${measure.title} by size of the window: ${values.map((one, at) => `${sizes[at]}: ${one === null ? "none" : measure.words(one)}`).join(", ")}` });
    const wide = 540 / sizes.length;
    const limit = doc.caps[cap] === null ? doc.registers_max : doc.caps[cap];
    const limited = measure.key === "registers_per_thread" && limit <= top;
    svg.append(draw("text", { x: 0, y: 12, class: "strong" }, limited ? `${measure.title} (dashed: at most ${limit})` : measure.title));
    values.forEach((value, at) => {
      const tall = value === null ? 4 : Math.max(1, (value / top) * 92);
      const now = sizes[at] === length;
      svg.append(draw("rect", { x: at * wide + wide * 0.15, y: 126 - tall, width: wide * 0.7, height: tall,
        class: `bar${now ? " now" : ""}${value === null ? " missing" : ""}`, "data-value": value }));
      svg.append(draw("text", { x: at * wide + wide / 2, y: 122 - tall, class: "middle" }, value === null ? "–" : measure.words(value)));
      svg.append(draw("text", { x: at * wide + wide / 2, y: 142, class: "soft middle" }, sizes[at] === 1 ? "1 (none)" : `${sizes[at]}`));
    });
    svg.append(draw("line", { x1: 0, x2: 540, y1: 126, y2: 126, class: "axis" }));
    if (limited) {
      const y = 126 - (limit / top) * 92;
      svg.append(draw("line", { x1: 0, x2: 540, y1: y, y2: y, class: "limit" }));
    }
    const marks = first ? {} : doc.marks[doc.caps[cap] === null ? "None" : String(doc.caps[cap])] || {};
    const from = { spill_bytes_per_thread: ["spills_from", "spilling begins"], cycles: ["loses_from", "growing begins to lose"] }[measure.key];
    if (from && marks[from[0]]) {
      const x = (marks[from[0]] - 1) * wide + wide * 0.08;
      svg.append(draw("line", { x1: x, x2: x, y1: 16, y2: 126, class: "head" }),
        draw("text", { x: 538, y: 12, class: "mark end" }, `${from[1]} at ${marks[from[0]]}`));
    }
    return svg;
  }

  function show(position) {
    const [first, length] = positions[Math.min(positions.length - 1, Math.round(position))];
    drawChain(first, length);
    charts.replaceChildren(...MEASURES.map((one) => make("div", { class: "side" }, chart(one, first, length))));
    said.textContent = sentence(first, length);
  }

  function sentence(first, length) {
    const own = row(first, length);
    const names = doc.operators.slice(first, first + length).map((one) => one.kind).join(" → ");
    const begin = length === 1 ? "No fusion" : `Window of ${length}: ${names}`;
    if (!own) return `${begin}, ${capWords(doc.caps[cap])}: not simulated within the time that the report was given.`;
    if (own.why_not) return `${begin}, ${capWords(doc.caps[cap])}: can't be one kernel – ${own.why_not}.`;
    const alone = row(0, 1);
    const change = alone && alone.cycles ? (100 * (own.cycles - alone.cycles)) / alone.cycles : 0;
    const words = Math.abs(change) < 0.05 ? "as without fusion" : `${Math.abs(change).toFixed(1)} % ${change < 0 ? "fewer" : "more"} than without fusion`;
    return `${begin}, ${capWords(doc.caps[cap])}: ${own.registers_per_thread} registers and ${own.spill_bytes_per_thread} spilled bytes a thread, `
      + `${own.theoretical_occupancy_pct.toFixed(0)} % occupancy by ${own.limiters.replaceAll(";", " and ").replaceAll("_", " ")}; `
      + `the chain of ${own.launches} launch${own.launches === 1 ? "" : "es"} takes ${whole(own.cycles)} SM cycles, ${length === 1 ? "the baseline" : words}.`;
  }

  function build() {
    const player = new Player({
      end: Math.max(1, positions.length - 1), stops: positions.map((_, at) => at), seconds: positions.length * 1.1,
      name: "Position of the window",
      word: (at) => `position ${Math.min(positions.length, Math.round(at) + 1)} of ${positions.length}`,
      moved: show,
    });
    stage.replaceChildren(chain, player.controls, said, charts);
    player.to(0);
  }

  root.append(make("div", { class: "controls" }, select("registers", doc.caps.map(capWords), 0, (at) => {
    cap = at;
    build();
  })), stage);
  build();
}
