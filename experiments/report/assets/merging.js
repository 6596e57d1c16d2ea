// Third demonstration: one graph under two strategies; which operators merge, launches, bytes and cycles over time.
"use strict";

const CELL_WIDE = 128;
const CELL_TALL = 58;
// Columns of a line; a longer graph goes on in the lines below.
const MOST_COLUMNS = 9;
const SIDE_COLUMNS = 5;

function columnsOf(graph) {
  return Math.max(0, ...graph.nodes.map((one) => one.column)) + 1;
}

class Strategy {
  constructor(motion, graph, end) {
    this.motion = motion;
    this.graph = graph;
    this.end = end;
    this.kernelOf = new Map();
    motion.launches.forEach((one, at) => one.operators.forEach((name) => {
      if (!this.kernelOf.has(name)) this.kernelOf.set(name, at);
    }));
    const columns = columnsOf(graph);
    const rows = Math.max(0, ...graph.nodes.map((one) => one.row)) + 1;
    this.rows = rows;
    this.tall = Math.ceil(columns / MOST_COLUMNS) * rows * CELL_TALL + 50;
    this.wide = Math.max(4, Math.min(columns, MOST_COLUMNS)) * CELL_WIDE;
    this.svg = draw("svg", { viewBox: `0 0 ${this.wide} ${this.tall}`, role: "img", class: "graph", "aria-label": this.words() });
    this.dram = new Sums(motion.starts_us, motion.ends_us, motion.starts_us.map((_, at) => motion.links.dram_to_l2[at] + motion.links.l2_to_dram[at]));
    this.l2 = new Sums(motion.starts_us, motion.ends_us, motion.starts_us.map((_, at) => motion.links.l2_to_l1[at] + motion.links.l1_to_l2[at]));
    this.nodes = new Map();
    this.drawGraph();
    this.drawStrip();
    this.facts = make("dl", { class: "facts" });
    this.element = make("div", { class: "side" }, make("p", { class: "name" }, motion.variant),
      make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `graph under ${motion.variant}` }, this.svg), this.facts);
  }

  place(node) {
    const line = Math.floor(node.column / MOST_COLUMNS);
    return [(node.column % MOST_COLUMNS) * CELL_WIDE + 6, (node.row + line * this.rows) * CELL_TALL + 4];
  }

  words() {
    const groups = this.motion.launches.filter((one) => one.operators.length > 1).map((one) => one.operators.join(" + "));
    return `${this.motion.variant}: ${this.motion.launches.length} launches; ${groups.length ? `merged: ${groups.join("; ")}` : "nothing merged"}`;
  }

  drawGraph() {
    const at = new Map(this.graph.nodes.map((one) => [one.name, one]));
    for (const [from, to] of this.graph.edges) {
      const [left, right] = [this.place(at.get(from)), this.place(at.get(to))];
      const [x1, y1, x2, y2] = [left[0] + CELL_WIDE - 20, left[1] + 22, right[0], right[1] + 22];
      const inside = this.kernelOf.get(from) === this.kernelOf.get(to);
      this.svg.append(draw("path", { d: `M${x1},${y1} C${x1 + 20},${y1} ${x2 - 20},${y2} ${x2},${y2}`, class: "edge",
        "stroke-dasharray": inside ? null : "4 3" }, draw("title", {}, inside ? "stays inside a kernel" : "through memory")));
    }
    for (const node of this.graph.nodes) {
      const kernel = this.kernelOf.get(node.name);
      const colour = kernel === undefined ? "var(--line)" : COLOURS[kernel % COLOURS.length];
      const [x, y] = this.place(node);
      const box = draw("rect", { x, y, width: CELL_WIDE - 20, height: 44, rx: 6, class: "box node", stroke: colour, "stroke-width": 4 });
      this.svg.append(box, draw("text", { x: x + 8, y: y + 18, class: "strong" }, short(node.kind, 11)),
        draw("text", { x: x + 8, y: y + 35, class: "soft" },
          `${short(node.name, 9)} · ${kernel === undefined ? "no kernel" : `kernel ${kernel + 1}`}`));
      this.nodes.set(node.name, { box, kernel });
    }
  }

  drawStrip() {
    const y = this.tall - 34;
    const x = (time) => (time / this.end) * this.wide;
    this.motion.launches.forEach((one, at) => {
      this.svg.append(draw("rect", { x: x(one.start_us), y, width: Math.max(1, x(one.end_us - one.start_us)), height: 18,
        fill: COLOURS[at % COLOURS.length], class: "launch" }, draw("title", {}, `${at + 1}: ${one.kernel}`)));
    });
    this.head = draw("line", { y1: y - 6, y2: y + 24, class: "head" });
    this.svg.append(this.head);
    this.x = x;
  }

  show(time) {
    const { motion } = this;
    this.head.setAttribute("x1", this.x(time));
    this.head.setAttribute("x2", this.x(time));
    const begun = motion.launches.filter((one) => one.start_us <= time);
    for (const { box, kernel } of this.nodes.values()) {
      const one = kernel === undefined ? null : motion.launches[kernel];
      const running = one && one.start_us <= time && time < one.end_us;
      const done = one && time >= one.end_us;
      box.style.fill = running ? COLOURS[kernel % COLOURS.length] : "";
      box.style.fillOpacity = running ? "0.35" : "";
      box.style.opacity = done || running || !one ? "1" : "0.55";
    }
    const cycles = Math.min(time, motion.end_us) * 1e9 / motion.sm_period_fs;
    const rows = [
      ["launches", `${begun.length} of ${motion.launches.length}`],
      ["SM cycles", `${whole(cycles)} of ${whole(motion.end_us * 1e9 / motion.sm_period_fs)}`],
      ["between DRAM and L2", `${size(this.dram.at(time))} of ${size(this.dram.total)}`],
      ["between L2 and SMs", `${size(this.l2.at(time))} of ${size(this.l2.total)}`],
    ];
    this.facts.replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }
}

function mergingDemo(root, data) {
  // Strategies on a slice of the card stand among themselves, never beside one on the whole.
  const recorded = data.others.share ? [] : data.motions.filter((one) => one.gpu === data.motions[0].gpu);
  const all = [...recorded, ...data.others.motions];
  const names = all.map((one) => one.variant);
  const find = (wanted, otherwise) => (names.includes(wanted) ? names.indexOf(wanted) : otherwise);
  const chosen = [find("vertical", 0), find("horizontal", find("none", names.length - 1))];
  const stage = make("div");
  const status = make("p", { class: "said", role: "status", "aria-live": "polite" });

  function build() {
    const shown = chosen.map((at) => all[at]);
    const end = Math.max(...shown.map((one) => one.end_us));
    const sides = shown.map((one) => new Strategy(one, data.graph, end));
    const stops = [...new Set(shown.flatMap((one) => one.launches.flatMap((each) => [each.start_us, each.end_us])))].sort((one, other) => one - other);
    const player = new Player({
      end, stops, seconds: 12, name: "Time of both strategies",
      word: (time) => `${microseconds(time)} of ${microseconds(end)}`,
      moved: (time, playing) => {
        sides.forEach((side) => side.show(time));
        if (!playing) status.textContent = sides.map((side) => `${side.words()}. Whole run ${microseconds(side.motion.end_us)}, ${size(side.dram.total)} between DRAM and L2.`).join(" ");
      },
    });
    stage.replaceChildren(make("div", { class: columnsOf(data.graph) > SIDE_COLUMNS ? "stack" : "sides" },
      ...sides.map((side) => side.element)), player.controls);
    player.to(0);
  }

  root.append(make("div", { class: "controls" }, ...[0, 1].map((side) => select(side ? "right" : "left", names, chosen[side], (at) => {
    chosen[side] = at;
    build();
  }))), stage, status);
  if (!data.others.left_out.length && !names.some((one) => one.startsWith("horizontal"))) {
    root.append(make("p", {}, "No horizontal strategy was replayed: name it under `fusion:` in the config, or let the report simulate it."));
  }
  build();
}
