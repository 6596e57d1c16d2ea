// Shared by the demonstrations: elements, numbers in words, and a player with play, step and scrub.
"use strict";

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b3a600", "#777777"];
const SVG = "http://www.w3.org/2000/svg";
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");

function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  // Text is always a text node: names of kernels and operators are strangers' words.
  element.append(...children);
  return element;
}

function whole(value) {
  return Math.round(value).toLocaleString("en");
}

function size(bytes) {
  if (bytes >= 1e6) return `${(bytes / 1e6).toLocaleString("en", { maximumFractionDigits: 2 })} MB`;
  if (bytes >= 1e3) return `${(bytes / 1e3).toLocaleString("en", { maximumFractionDigits: 1 })} kB`;
  return `${whole(bytes)} bytes`;
}

function microseconds(value) {
  return `${value.toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })} µs`;
}

function short(text, most) {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function select(label, options, chosen, changed) {
  const list = make("select");
  options.forEach((text, at) => list.append(make("option", { value: at }, text)));
  list.value = chosen;
  list.addEventListener("change", () => changed(Number(list.value)));
  return make("label", {}, `${label} `, list);
}

// Moves a position between 0 and `end`; `stops` are the positions that stepping visits.
class Player {
  constructor({ end, stops, seconds, word, moved, name }) {
    this.end = end;
    this.stops = stops;
    this.seconds = seconds;
    this.word = word;
    this.moved = moved;
    this.position = 0;
    this.speed = 1;
    this.playing = false;
    this.button = make("button", { type: "button", class: "play" }, "Play");
    this.back = make("button", { type: "button", title: "one step back" }, "◀ Step");
    this.forth = make("button", { type: "button", title: "one step on" }, "Step ▶");
    this.slider = make("input", { type: "range", min: 0, max: 1000, value: 0, step: 1, "aria-label": name });
    this.output = make("output", { "aria-live": "off" });
    const speeds = [0.25, 0.5, 1, 2, 4];
    this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    this.back.addEventListener("click", () => this.step(-1));
    this.forth.addEventListener("click", () => this.step(1));
    this.slider.addEventListener("input", () => {
      this.pause();
      this.to((this.slider.value / 1000) * this.end);
    });
    this.controls = make("div", { class: "controls", role: "group", "aria-label": name }, this.button, this.back,
      this.forth, this.slider, this.output,
      select("speed", speeds.map((one) => `${one}×`), 2, (at) => { this.speed = speeds[at]; }));
  }

  play() {
    if (this.position >= this.end) this.to(0);
    this.playing = true;
    this.button.textContent = "Pause";
    let before = performance.now();
    let waited = 0;
    const tick = (now) => {
      if (!this.playing) return;
      const passed = (now - before) / 1000;
      before = now;
      if (calm.matches) {
        // Without smooth movement: one step at a time, twice a second.
        waited += passed * this.speed;
        if (waited >= 0.5) {
          waited = 0;
          this.move(1);
        }
      } else {
        this.to(this.position + (passed * this.speed * this.end) / this.seconds);
      }
      if (this.position >= this.end) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    const was = this.playing;
    this.playing = false;
    this.button.textContent = "Play";
    if (was) this.to(this.position);
  }

  step(direction) {
    this.pause();
    this.move(direction);
  }

  move(direction) {
    const small = this.end * 1e-9;
    const next = direction > 0
      ? this.stops.find((one) => one > this.position + small)
      : this.stops.findLast((one) => one < this.position - small);
    this.to(next === undefined ? (direction > 0 ? this.end : 0) : next);
  }

  to(position) {
    this.position = Math.min(this.end, Math.max(0, position));
    this.slider.value = this.end ? (1000 * this.position) / this.end : 0;
    const text = this.word(this.position);
    this.output.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.moved(this.position, this.playing);
  }
}

// Running sums of a column, and their value at any time: inside a step bytes are spread evenly.
class Sums {
  constructor(starts, ends, values) {
    this.starts = starts;
    this.ends = ends;
    this.before = [0];
    for (const value of values) this.before.push(this.before[this.before.length - 1] + value);
    this.total = this.before[this.before.length - 1];
  }

  // The step that holds a time, or the last one that began before it; -1 before the first.
  place(time) {
    let low = 0;
    let high = this.starts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.starts[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  at(time) {
    const place = this.place(time);
    if (place < 0) return 0;
    const long = this.ends[place] - this.starts[place];
    const share = long > 0 ? Math.min(1, (time - this.starts[place]) / long) : 1;
    return this.before[place] + share * (this.before[place + 1] - this.before[place]);
  }

  rate(place) {
    if (place < 0) return 0;
    return (this.before[place + 1] - this.before[place]) / (this.ends[place] - this.starts[place]);
  }

  // When the sum reaches each multiple of `unit`, in order.
  times(unit) {
    const found = [];
    for (let place = 0; place < this.starts.length; place += 1) {
      const from = this.before[place];
      const to = this.before[place + 1];
      for (let next = Math.floor(from / unit) + 1; next * unit <= to; next += 1) {
        const share = (next * unit - from) / (to - from);
        found.push(this.starts[place] + share * (this.ends[place] - this.starts[place]));
      }
    }
    return found;
  }
}
