"use strict";
const root = document.documentElement;
document.querySelector(".tools").hidden = false;
const dark = window.matchMedia("(prefers-color-scheme: dark)");
document.getElementById("theme").addEventListener("click", () => {
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  root.dataset.theme = isDark ? "light" : "dark";
});
document.getElementById("tables").addEventListener("click", (event) => {
  const all = [...document.querySelectorAll("details.data")];
  const open = !all.every((one) => one.open);
  all.forEach((one) => { one.open = open; });
  event.currentTarget.setAttribute("aria-expanded", String(open));
});
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  table.querySelectorAll("thead th").forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => {
      const rising = heading.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("thead th").forEach((one) => one.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const value = (row) => row.cells[column].textContent.trim().replace("−", "-");
      const sign = rising ? 1 : -1;
      const compare = (a, b) => {
        const [x, y] = [parseFloat(value(a)), parseFloat(value(b))];
        if (column && (isNaN(x) || isNaN(y))) return isNaN(x) - isNaN(y);
        return sign * (column ? x - y : value(a).localeCompare(value(b)));
      };
      body.append(...[...body.rows].sort(compare));
    });
  });
}
const hint = document.querySelector(".swipe");
const wide = hint.nextElementSibling;
const showHint = () => { hint.hidden = wide.scrollWidth <= wide.clientWidth; };
window.addEventListener("resize", showHint);
showHint();
