// First demonstration: dots are bytes on their way between levels, driven by the counters of each interval.
"use strict";

const LEVELS = [
  { name: "Registers", colour: "var(--registers)" },
  { name: "L1 and shared memory", colour: "var(--l1)" },
  { name: "L2", colour: "var(--l2)" },
  { name: "DRAM", colour: "var(--dram)" },
];
// Each link: the level above it (0: registers), whether it goes up, and the colour of where bytes come from.
const LINKS = [
  { key: "l1_to_registers", above: 0, up: true, colour: "var(--l1)" },
  { key: "registers_to_l1", above: 0, up: false, colour: "var(--registers)" },
  { key: "l2_to_l1", above: 1, up: true, colour: "var(--l2)" },
  { key: "l1_to_l2", above: 1, up: false, colour: "var(--l1)" },
  { key: "dram_to_l2", above: 2, up: true, colour: "var(--dram)" },
  { key: "l2_to_dram", above: 2, up: false, colour: "var(--l2)" },
];
const TALL = 54;
const GAP = 66;
const WIDE = 560;
const DOTS = 600;
const TRAVEL = 0.03;
const ROW = 72;

function totalOf(motion, key) {
  return motion.links[key].reduce((sum, one) => sum + one, 0);
}

// One size of dot for all, so that half the dots are half the bytes: a power of two that keeps dots countable.
function dotBytes(motions) {
  const most = Math.max(1, ...motions.flatMap((one) => LINKS.map((link) => totalOf(one, link.key))));
  return 2 ** Math.max(5, Math.ceil(Math.log2(most / DOTS)));
}

class Hierarchy {
  constructor(motion, unit, end) {
    this.motion = motion;
    this.travel = TRAVEL * end;
    this.svg = draw("svg", { viewBox: `0 0 ${WIDE} ${4 * TALL + 3 * GAP + 72}`, role: "img",
      "aria-label": `${motion.variant} on ${motion.gpu}: levels of the memory with what moves between them` });
    this.links = LINKS.map((link) => this.link(link, unit));
    this.boxes = LEVELS.map((level, at) => this.box(level, at));
    this.now = draw("text", { x: 0, y: 14, class: "strong" });
    this.bars = draw("g");
    this.svg.append(this.now, this.bars);
    const accesses = motion.sums;
    this.count = new Sums(motion.starts_us, motion.ends_us, accesses.access_count);
    this.spent = new Sums(motion.starts_us, motion.ends_us, accesses.access_fs);
    this.facts = make("dl", { class: "facts" });
    this.element = make("div", { class: "side" }, this.svg, this.facts);
  }

  top(level) {
    return 24 + level * (TALL + GAP);
  }

  box(level, at) {
    const y = this.top(at);
    const words = draw("text", { x: 14, y: y + 42, class: "soft" });
    this.svg.append(draw("rect", { x: 1, y, width: WIDE - 2, height: TALL, rx: 6, class: "box", stroke: level.colour }),
      draw("text", { x: 14, y: y + 22, class: "strong" }, level.name), words);
    return words;
  }

  link(link, unit) {
    const x = link.up ? 0.22 * WIDE : 0.72 * WIDE;
    const from = this.top(link.above) + TALL;
    const group = draw("g");
    const words = draw("text", { x: x + 16, y: from + GAP / 2 - 4 });
    const rate = draw("text", { x: x + 16, y: from + GAP / 2 + 12, class: "soft" });
    const arrow = draw("text", { x: x - 24, y: from + GAP / 2 + 4, class: "soft" }, link.up ? "▲" : "▼");
    this.svg.append(draw("line", { x1: x, x2: x, y1: from + 2, y2: from + GAP - 2, class: "lane" }), group, words, rate, arrow);
    const sums = new Sums(this.motion.starts_us, this.motion.ends_us, this.motion.links[link.key]);
    const begin = link.up ? from + GAP : from;
    const stop = link.up ? from : from + GAP;
    return { ...link, x, begin, stop, group, words, rate, sums, times: sums.times(unit), circles: [] };
  }

  show(time, end) {
    const { motion } = this;
    const place = this.links[0].sums.place(time);
    const inside = place >= 0 && time <= motion.ends_us[place];
    for (const link of this.links) this.move(link, time, inside ? place : -1);
    this.label(time, inside ? place : -1);
    this.states(inside ? place : -1);
    const accesses = this.count.at(time);
    const mean = accesses ? this.spent.at(time) / accesses / motion.sm_period_fs : null;
    const dram = this.sum(["dram_to_l2", "l2_to_dram"], time);
    const l2 = this.sum(["l2_to_l1", "l1_to_l2"], time);
    const rows = [
      ["between DRAM and L2", size(dram)],
      ["between L2 and SMs", size(l2)],
      ["an operator's access to an input", mean === null ? "none yet" : `${whole(mean)} cycles on average so far`],
      ["done", time >= motion.end_us ? `at ${microseconds(motion.end_us)}` : `${whole((100 * time) / motion.end_us)} %`],
    ];
    this.facts.replaceChildren(...rows.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }

  sum(keys, time) {
    return this.links.filter((link) => keys.includes(link.key)).reduce((all, link) => all + link.sums.at(time), 0);
  }

  move(link, time, place) {
    // In flight are the dots that arrive within the next `travel`.
    let shown = 0;
    let low = 0;
    let high = link.times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (link.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    for (let at = low; at < link.times.length && link.times[at] - time < this.travel; at += 1) {
      if (!link.circles[shown]) {
        link.circles.push(link.group.appendChild(draw("circle", { r: 5, fill: link.colour })));
      }
      const share = 1 - (link.times[at] - time) / this.travel;
      const circle = link.circles[shown];
      circle.setAttribute("cx", link.x + ((at * 7) % 13) - 6);
      circle.setAttribute("cy", link.begin + share * (link.stop - link.begin));
      circle.style.display = "";
      shown += 1;
    }
    for (const circle of link.circles.slice(shown)) circle.style.display = "none";
    link.words.textContent = size(link.sums.at(time));
    link.rate.textContent = `${whole(link.sums.rate(place) / 1e3)} GB/s now`;
  }

  label(time, interval) {
    const { motion } = this;
    const running = motion.launches.map((one, at) => ({ ...one, at }))
      .filter((one) => one.start_us <= time && time < one.end_us);
    const names = running.map((one) => `${one.at + 1} of ${motion.launches.length}: ${one.kernel}`).join(", ");
    // An interval may begin in a launch gap; its mean is not what happens before the kernel does.
    const place = running.length ? interval : -1;
    const waiting = time >= motion.end_us ? "done" : "launch gap";
    this.now.textContent = `${short(motion.variant, 26)} – ${short(names || waiting, 48)}`;
    const dram = place < 0 ? 0 : (this.links[4].sums.rate(place) + this.links[5].sums.rate(place)) * 1e6;
    const reads = place < 0 ? 0 : this.motion.sums.l2_read_sectors[place];
    const hits = this.motion.sums.l2_read_hits[place];
    this.boxes[3].textContent = `${whole((100 * dram) / motion.peaks.dram)} % of its peak now`;
    this.boxes[2].textContent = reads ? `${whole((100 * hits) / reads)} % of sectors read here were here` : "not read now";
    const loads = place < 0 ? 0 : motion.sums.l1_global_load_sectors[place];
    const found = motion.sums.l1_global_load_hits[place];
    this.boxes[1].textContent = loads ? `${whole((100 * found) / loads)} % of loaded sectors were here` : "no loads now";
    const warps = place < 0 ? 0 : motion.states[place].reduce((all, one) => all + one, 0);
    this.boxes[0].textContent = `${warps.toFixed(1)} of ${motion.warp_slots} warps of an SM resident`;
  }

  // What the resident warps of an SM do now, as one stacked bar below the levels.
  states(place) {
    const { motion } = this;
    const y = this.top(3) + TALL + 12;
    const parts = place < 0 ? [] : motion.states[place].map((warps, at) => ({ warps, name: motion.state_names[at], at }));
    let left = 0;
    const marks = [draw("rect", { x: 0, y, width: WIDE, height: 12, fill: "none", stroke: "var(--line)" })];
    for (const part of parts.filter((one) => one.warps > 0)) {
      const width = (part.warps / motion.warp_slots) * WIDE;
      marks.push(draw("rect", { x: left, y, width, height: 12, fill: motion.state_colours[part.at] },
        draw("title", {}, `${part.name}: ${part.warps.toFixed(1)} warps`)));
      left += width;
    }
    const top = [...parts].sort((one, other) => other.warps - one.warps).slice(0, 3).filter((one) => one.warps > 0);
    const words = top.map((one) => `${one.name} ${one.warps.toFixed(1)}`).join(", ");
    marks.push(draw("text", { x: 0, y: y + 28, class: "soft" }, words ? `warps: ${words}` : "no warp resident"));
    this.bars.replaceChildren(...marks);
  }
}

// The clock of both sides: bandwidth of DRAM over time, with kernels, and where the player stands.
class Strip {
  constructor(motions, end) {
    this.end = end;
    this.element = draw("svg", { viewBox: `0 0 ${2 * WIDE} ${motions.length * ROW}`, role: "img", "aria-label": "DRAM bandwidth over time" });
    motions.forEach((motion, row) => this.row(motion, row));
    this.head = draw("line", { y1: 0, y2: motions.length * ROW, class: "head" });
    this.element.append(this.head);
  }

  x(time) {
    return (time / this.end) * 2 * WIDE;
  }

  row(motion, row) {
    const y = row * ROW;
    const peak = motion.peaks.dram / 1e6;
    motion.starts_us.forEach((start, at) => {
      const wide = motion.ends_us[at] - start;
      const rate = (motion.links.dram_to_l2[at] + motion.links.l2_to_dram[at]) / wide;
      const tall = Math.min(1, rate / peak) * 34;
      this.element.append(draw("rect", { x: this.x(start), y: y + 54 - tall, width: Math.max(0.5, this.x(wide)), height: tall,
        fill: "var(--dram)", class: "rate" }));
    });
    motion.launches.forEach((one, at) => {
      this.element.append(draw("rect", { x: this.x(one.start_us), y: y + 56, width: Math.max(1, this.x(one.end_us - one.start_us)),
        height: 6, fill: COLOURS[at % COLOURS.length] }, draw("title", {}, one.kernel)));
    });
    this.element.append(draw("text", { x: 2, y: y + 12, class: "soft" }, `${motion.variant}: DRAM, full height is its peak; kernels below`));
  }

  show(time) {
    this.head.setAttribute("x1", this.x(time));
    this.head.setAttribute("x2", this.x(time));
  }
}

function motionDemo(root, data) {
  const { motions } = data;
  const unit = dotBytes(motions);
  // The first variant beside the fastest one on its card.
  const fastest = motions.reduce((best, one, at) => (one.gpu === motions[0].gpu && one.end_us < motions[best].end_us ? at : best), 0);
  const chosen = [0, fastest || motions.length - 1];
  const labels = motions.map((one) => `${one.variant} (${one.gpu})`);
  const stage = make("div");
  const status = make("p", { class: "said", role: "status", "aria-live": "polite" });
  const pickers = make("div", { class: "controls" });

  function build() {
    const shown = motions.length > 1 ? chosen.map((at) => motions[at]) : [motions[0]];
    const end = Math.max(...shown.map((one) => one.end_us));
    const sides = shown.map((one) => new Hierarchy(one, unit, end));
    const strip = new Strip(shown, end);
    const stops = [...new Set(shown.flatMap((one) => [...one.starts_us, ...one.ends_us]))].sort((one, other) => one - other);
    const player = new Player({
      end, stops, seconds: 16, name: "Time of the replay",
      word: (time) => `${microseconds(time)} of ${microseconds(end)}`,
      moved: (time, playing) => {
        sides.forEach((side) => side.show(time, end));
        strip.show(time);
        if (!playing) {
          status.textContent = sides.map((side) => `${side.motion.variant} at ${microseconds(time)}: `
            + `${size(side.sum(["dram_to_l2", "l2_to_dram"], time))} between DRAM and L2`).join("; ") + ".";
        }
      },
    });
    stage.replaceChildren(make("div", { class: "sides" }, ...sides.map((side) => side.element)), player.controls, strip.element);
    player.to(0);
  }

  if (motions.length > 1) {
    pickers.append(...[0, 1].map((side) => select(side ? "right" : "left", labels, chosen[side], (at) => {
      chosen[side] = at;
      build();
    })));
  }
  root.append(pickers, stage, status, make("p", {}, make("small", {}, `One dot is ${size(unit)}. A dot arrives when the counters say so; `
    + "how long it is under way is drawn longer than it takes. Bytes to registers are the sectors that loads touched.")));
  build();
}
