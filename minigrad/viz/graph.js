function (name) {
  "use strict";
  const root = document.getElementById(name);
  const groups = JSON.parse(root.dataset.groups);
  const stage = root.querySelector(".mg-drawing"), bar = root.querySelector(".mg-scopes");
  const drawings = new Map([[stage.dataset.open, stage.innerHTML]]);
  root.querySelectorAll("template").forEach((part) => drawings.set(part.dataset.open, part.innerHTML));
  const all = groups.map((group) => group.id).sort().join(" ");
  let state = stage.dataset.open;

  const parts = (text) => text.split(" ").filter(Boolean);
  const isOpen = (id) => parts(state).includes(id);
  const node = (id) => stage.querySelector('[id="node-' + id + '"]');

  // The state that a click leads to: where there is no drawing of it, the scope alone, or all closed.
  function next(id) {
    const opens = !isOpen(id);
    const wanted = opens ? parts(state).concat(id).sort().join(" ") : parts(state).filter((other) => other !== id).join(" ");
    return [wanted, opens ? id : ""].find((found) => drawings.has(found));
  }

  // The box of a closed scope, the ops of an open one; the first of them can be reached by keys.
  function nodesOf(group) {
    const ids = isOpen(group.id) ? group.inside : [group.id];
    return ids.map(node).filter(Boolean);
  }

  function go(wanted, id) {
    if (wanted === undefined) return;
    state = wanted;
    stage.innerHTML = drawings.get(state);
    mark();
    const group = groups.find((other) => other.id === id);
    if (group && nodesOf(group).length) nodesOf(group)[0].focus({ preventScroll: true });
  }

  function mark() {
    groups.forEach((group, k) => {
      const toggle = () => go(next(group.id), group.id), open = isOpen(group.id);
      const button = bar.children[k + 1];
      button.hidden = next(group.id) === undefined;
      if (button.hidden) return;
      nodesOf(group).forEach((box, place) => {
        box.classList.add("mg-folds");
        box.addEventListener("click", toggle);
        if (place) return;
        box.setAttribute("tabindex", "0");
        box.setAttribute("role", "button");
        box.setAttribute("aria-expanded", String(open));
        box.setAttribute("aria-label", group.title);
        box.addEventListener("keydown", (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          event.stopPropagation();  // a notebook has keys of its own
          toggle();
        });
      });
      button.setAttribute("aria-expanded", String(open));
      button.textContent = (open ? "\u25be " : "\u25b8 ") + group.title;
    });
    const whole = bar.children[0];
    whole.textContent = state ? "close all" : "open all";
    whole.disabled = !drawings.has(state ? "" : all);
  }

  const whole = document.createElement("button");
  whole.type = "button";
  whole.addEventListener("click", () => { go(state ? "" : all); });
  bar.append(whole);
  groups.forEach((group) => {
    const button = document.createElement("button");
    button.type = "button";
    button.addEventListener("click", () => { go(next(group.id)); });
    const show = (on) => () => nodesOf(group).forEach((box) => box.classList.toggle("mg-shown", on));
    button.addEventListener("mouseenter", show(true));
    button.addEventListener("mouseleave", show(false));
    bar.append(button);
  });
  bar.hidden = false;
  mark();
}
