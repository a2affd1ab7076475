function (name) {
  "use strict";
  const root = document.getElementById(name);
  const frames = Array.from(root.querySelectorAll(".mg-frames > li"));
  const slider = root.querySelector("input"), said = root.querySelector("output");
  const play = root.querySelector('[data-do="play"]');
  let at = 0, timer = null;

  const node = (id) => root.querySelector('[id="node-' + id + '"]');
  const edge = (k) => root.querySelector('[id="edge-' + k + '"]');

  function show(k) {
    at = Math.max(0, Math.min(frames.length - 1, k));
    frames.forEach((frame, i) => frame.classList.toggle("mg-now", i === at));
    root.querySelectorAll(".node, .edge").forEach((part) => part.classList.remove("mg-now", "mg-done", "mg-flow"));
    frames.slice(0, at).forEach((frame) => { if (frame.dataset.node) node(frame.dataset.node).classList.add("mg-done"); });
    const here = frames[at];
    if (here.dataset.node) {
      const box = node(here.dataset.node), view = root.querySelector(".mg-picture");
      box.classList.add("mg-now");
      // Only the picture scrolls, never the page around it.
      const inner = box.getBoundingClientRect(), outer = view.getBoundingClientRect();
      if (inner.top < outer.top || inner.bottom > outer.bottom) view.scrollTop += inner.top - outer.top - outer.height / 2;
      if (inner.left < outer.left || inner.right > outer.right) view.scrollLeft += inner.left - outer.left - outer.width / 2;
      here.dataset.edges.split(" ").filter(Boolean).forEach((k) => edge(k).classList.add("mg-flow"));
    }
    slider.value = at;
    said.textContent = (at + 1) + " of " + frames.length + ": " + here.querySelector("h4").textContent;
    if (at === frames.length - 1) stop();
  }

  function stop() { clearInterval(timer); timer = null; play.textContent = "play"; }
  function toggle() {
    if (timer !== null) { stop(); return; }
    if (at === frames.length - 1) show(0);
    play.textContent = "pause";
    timer = setInterval(() => show(at + 1), 1500);
  }

  const doing = { first: () => show(0), back: () => show(at - 1), play: toggle, next: () => show(at + 1),
                  last: () => show(frames.length - 1) };
  root.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
    if (button.dataset.do !== "play") stop();
    doing[button.dataset.do]();
  }));
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  const keys = { ArrowLeft: "back", ArrowRight: "next", Home: "first", End: "last", " ": "play" };
  // A page of its own takes keys at once; in a notebook, whose keys mean other things, only what has the focus does.
  const listener = document.body.classList.contains("mg-page") ? document : root;
  listener.addEventListener("keydown", (event) => {
    const name = keys[event.key], here = event.target;
    if (!name || event.ctrlKey || event.metaKey || event.altKey || here.matches("input, summary")) return;
    if (event.key === " " && here.matches("button")) return;
    event.preventDefault();
    event.stopPropagation();  // a notebook has keys of its own
    if (name !== "play") stop();
    doing[name]();
  });

  frames.forEach((frame, k) => {
    if (!frame.dataset.node) return;
    const box = node(frame.dataset.node), jump = () => { stop(); show(k); };
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "button");
    box.addEventListener("click", jump);
    box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();  // a space plays and pauses elsewhere
      jump();
    });
  });
  root.querySelectorAll("details[data-file]").forEach((part) => part.addEventListener("toggle", () => {
    if (part.open && !part.querySelector("pre")) {
      const kept = Array.from(root.querySelectorAll("template")).find((t) => t.dataset.file === part.dataset.file);
      if (kept) part.append(kept.content.cloneNode(true));
    }
  }));

  root.querySelector(".mg-controls").hidden = false;
  root.classList.add("mg-live");
  show(0);
}
