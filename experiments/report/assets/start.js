// Starts everything once the page is there.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
document.querySelectorAll("table.sortable").forEach(sortable);
const demos = { motion: motionDemo, windows: windowsDemo, merging: mergingDemo };
document.querySelectorAll("[data-demo]").forEach((root) => demos[root.dataset.demo](root, data));
// On paper nothing can be opened.
window.addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
