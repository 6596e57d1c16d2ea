// Tables that sort by the column whose heading is pressed; empty cells stay at the end.
"use strict";

function sortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
      const up = heading.getAttribute("aria-sort") !== "ascending";
      const numeric = heading.classList.contains("number");
      const body = table.tBodies[0];
      const rows = [...body.rows].map((row) => ({ row, value: row.cells[column].dataset.value }));
      rows.sort((one, other) => {
        if (one.value === "" || other.value === "") return (one.value === "") - (other.value === "");
        const order = numeric ? one.value - other.value : one.value.localeCompare(other.value, "en", { numeric: true });
        return up ? order : -order;
      });
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows.map(({ row }) => row));
    });
  });
}
