"use strict";
// Shows the rules whose documentation has all words, as `tflint-gpu rule --search` finds them.
const form = document.getElementById("search");
const box = document.getElementById("words");
const count = document.getElementById("count");

function show() {
  const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const theme of document.querySelectorAll(".theme")) {
    let any = false;
    for (const item of theme.querySelectorAll("li")) {
      const text = SEARCH_INDEX[item.dataset.code];
      item.hidden = !words.every((word) => text.includes(word));
      any = any || !item.hidden;
      found += item.hidden ? 0 : 1;
    }
    theme.hidden = !any;
  }
  const all = Object.keys(SEARCH_INDEX).length;
  count.textContent = words.length ? `${found} of ${all}` : `${all} entries`;
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
box.addEventListener("input", show);
window.addEventListener("pageshow", show); // whoever comes back finds the words still there
