"use strict";
(() => {
  const { beside, el, kinds, number, svg } = parts;
  const source = document.getElementById("data");
  if (!source) return;
  const data = JSON.parse(source.textContent);

  if (data.kind === "pair") {
    const columns = document.getElementById("pair").children;
    document.getElementById("pair").before(kinds());
    beside(data.pair[0], data.pair[1], ["The first text", "The second text"])
      .forEach((nodes, place) => columns[place].append(...nodes));
    return;
  }

  // --- one page: its segments on the picture, their reasons, its main text -------------------
  const { page } = data;
  const segments = new Map(page.segments.map((segment) => [segment.id, segment]));
  const shapes = new Map(), lines = [], rows = new Map();
  const about = document.getElementById("about"), shown = document.getElementById("shown");
  const kindOf = (segment) => `r-${segment.role}`;
  const named = (segment) => `${segment.role}, ${number(segment.words)} words` +
    (segment.templateness === null ? "" : `, templateness ${segment.templateness.toFixed(2)}`);

  // Whether its words are main text, and why, in one sentence.
  const verdict = ({ kept, words, rules }) => !words ? "It has no words."
    : kept === words ? `Kept: all of its ${number(words)} words are main text.`
    : kept ? `Kept in part: ${number(kept)} of its ${number(words)} words are main text.`
    : `Left out: none of its ${number(words)} words are main text` +
      (rules.length ? `, since ${rules.map(([, meaning]) => meaning).join(", and ")}.` : ".");
  // Evidence as a bar to the right (for main text) or to the left (against it).
  const proof = (evidence) => {
    const most = Math.max(1, ...evidence.map(([, worth]) => Math.abs(worth)));
    return el("ul", { class: "proof" }, evidence.map(([kind, worth, meaning]) => {
      const width = 50 * Math.abs(worth) / most, side = worth > 0 ? "for" : "against";
      return el("li", {}, svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none",
        "aria-hidden": "true" }, svg("rect", { class: side, height: 10, width: width.toFixed(1),
        x: (worth > 0 ? 50 : 50 - width).toFixed(1) }), svg("line", { x1: 50, x2: 50, y1: 0,
        y2: 10 })), el("span", {}, el("b", {}, `${worth > 0 ? "+" : ""}${worth.toFixed(2)} ${kind}`),
        meaning ? el("span", { class: "soft" }, `: ${meaning}`) : null));
    }));
  };

  const hidden = (segment) => segment.more_xpaths + Math.max(0, segment.xpaths.length - 5);
  const say = (segment) => {
    const told = el("p", { role: "status" });
    const where = el("div", { class: "tools" });
    const read = (answer) => answer.json().catch(() => ({ error: `status ${answer.status}` }));
    const post = async (kind, border = {}) => {
      const said = await read(await fetch(`${data.root}mark/${data.number}`, { method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ engine: page.engine, method: page.method, segment: segment.id, kind,
          note: note.value, ...border }) }));
      told.textContent = said.written ? `Written to ${said.written}: ${border.should ?? kind}.`
        : `Not written: ${said.error}`;
    };
    // A wrong border has a place: within the segment, or between it and one beside it.
    const askWhere = async () => {
      const query = new URLSearchParams({ engine: page.engine, main_text: page.method,
        segment: segment.id });
      const found = await read(await fetch(`${data.root}border/${data.number}?${query}`));
      if (found.error) { told.textContent = found.error; return; }
      const option = (should) => ([place, ...texts]) =>
        el("option", { value: `${should} ${place}` }, `${place} ${texts.join(": ")}`);
      const choice = el("select", { "aria-label": "Where its border should be" },
        el("option", { value: "" }, "where?"),
        el("optgroup", { label: found.more ? `cut before (${found.more} more are not listed)`
          : "cut before" }, found.cuts.map(option("cut"))),
        el("optgroup", { label: "join with segment" }, found.neighbours.map(option("join"))));
      const write = el("button", { type: "button", on: { click: () => {
        const [should, place] = choice.value.split(" ");
        if (should) post("border", { should, place: Number(place) });
        else told.textContent = "Say where first.";
      } } }, "write it down");
      where.replaceChildren(choice, write);
      choice.focus();
    };
    const note = el("input", { type: "text", maxlength: 500, "aria-label": "Remark",
      placeholder: "remark" });
    about.className = kindOf(segment);
    about.replaceChildren(
      el("h2", {}, `Segment ${segment.id}: ${segment.role}`),
      el("p", { class: "verdict" }, verdict(segment)),
      el("dl", { class: "facts" }, [
        ["templateness", segment.templateness === null ? "not known"
          : `${segment.templateness.toFixed(2)} (0 content, 1 template)`],
        ["words", `${number(segment.words)}, ${number(segment.linked_words)} of them in ` +
          `${number(segment.links)} links`],
        ["place", `${segment.box[2]} × ${segment.box[3]} px at ${segment.box[0]}, ${segment.box[1]}`],
        ["informative", segment.informative ? "presents the page's major information" : null],
        ["left out", segment.left],
        ["rule", segment.rules.length ? `left out whatever its evidence: ${segment.rules
          .map(([rule, meaning]) => `${rule} (${meaning})`).join(", ")}` : null],
      ].filter(([, value]) => value).map(([name, value]) =>
        [el("dt", {}, name), el("dd", {}, value)])),
      segment.evidence.length ? el("div", {}, "Evidence, above 0 for main text:",
        proof(segment.evidence)) : page.method === "learned" ? ""
        : el("p", { class: "soft" }, `The method ${page.method} tells no evidence.`),
      el("p", { class: "said", tabindex: 0 }, segment.text),
      ...segment.xpaths.slice(0, 5).map((path) => el("div", { class: "address" }, path)),
      hidden(segment) > 0 ? el("div", { class: "soft" }, `and ${hidden(segment)} more`) : "",
      el("div", { class: "tools" }, el("span", {}, "This is wrong:"),
        [["content", "it is content"], ["template", "it is template"]].map(([kind, text]) =>
          el("button", { type: "button", on: { click: () => post(kind) } }, text)),
        el("button", { type: "button", on: { click: askWhere } }, "its border is wrong …"), note),
      where, told);
  };

  let current = null;
  const choose = (id, from) => {
    if (!segments.has(id)) return;
    if (current !== id) {
      current = id;
      for (const [other, shape] of shapes) shape.classList.toggle("on", other === id);
      for (const [own, button] of lines) button.classList.toggle("on", own.includes(id));
      for (const [other, row] of rows) row.classList.toggle("on", other === id);
      say(segments.get(id));
    }
    if (from !== "shape") {
      const box = segments.get(id).box, scale = shown.scrollWidth / page.width;
      shown.scrollTop = box[1] * scale - shown.clientHeight / 3;
    }
    if (from !== "line") {
      const line = lines.find(([own]) => own.includes(id));
      const holder = document.getElementById("main");
      if (line) holder.scrollTop = line[1].offsetTop - holder.offsetTop - 20;
    }
  };

  const outline = () => {
    const drawn = svg("svg", { viewBox: `0 0 ${page.width} ${page.height}`,
      preserveAspectRatio: "none", class: data.picture ? null : "alone" });
    const texts = [];
    const order = [...page.segments].sort((a, b) => b.box[2] * b.box[3] - a.box[2] * a.box[3]);
    order.forEach((segment) => {
      const [x, y, width, height] = segment.box;
      const rect = svg("rect", { class: "segment", x, y, width: Math.max(width, 2),
        height: Math.max(height, 2), rx: 3,
        "fill-opacity": (0.04 + 0.3 * (segment.templateness ?? 0)).toFixed(2) });
      const shape = svg("g", { class: kindOf(segment), tabindex: 0, role: "button",
        "aria-label": `Segment ${segment.id}: ${named(segment)}`, on: {
          mouseenter: () => choose(segment.id, "shape"), focus: () => choose(segment.id, "shape"),
          click: () => choose(segment.id, "shape") } }, rect);
      if (!data.picture && height >= 14 && width >= 60) texts.push(svg("text", { x: x + 4,
        y: y + 15, "aria-hidden": "true" },
        segment.text.slice(0, Math.max(1, Math.floor(width / 9)))));
      shapes.set(segment.id, shape);
    });
    // In the order of the page, so that Tab goes through it; small ones lie above large ones.
    drawn.append(...order.map((segment) => shapes.get(segment.id)), ...texts);
    if (data.picture) {
      const picture = el("img", { src: `${data.root}picture/${data.number}`,
        alt: "The page as the browser shows it" });
      const sheet = el("div", { class: "sheet" }, picture, drawn);
      picture.addEventListener("load", () => {
        // The picture may be cut at the bottom: boxes keep the scale of its width.
        const height = page.width ? picture.naturalHeight : page.height;
        drawn.setAttribute("viewBox", `0 0 ${picture.naturalWidth} ${height}`);
      });
      shown.classList.add("pictured");
      shown.append(sheet);
    } else shown.append(drawn);
  };

  const mainText = () => {
    const holder = document.getElementById("main");
    for (const [text, own] of page.paragraphs) {
      const first = segments.get(own.find((id) => segments.has(id)));
      const button = el("button", { type: "button", dir: "auto",
        class: first ? kindOf(first) : null,
        on: { click: () => first && choose(first.id, "line") } }, text);
      lines.push([own, button]);
      holder.append(button);
    }
    if (!page.paragraphs.length) holder.append(el("p", { class: "soft" }, "There is none."));
  };

  const hierarchy = () => {
    const row = (segment) => {
      const button = el("button", { type: "button", class: kindOf(segment),
        on: { click: () => choose(segment.id, "tree") } },
        `${segment.id} ${named(segment)}: ${segment.text.slice(0, 60)}`);
      rows.set(segment.id, button);
      return el("li", {}, button);
    };
    const top = el("ul", {});
    if (!page.groups.length) top.append(...page.segments.map(row));
    else {
      const lists = new Map();
      for (const group of page.groups) {
        const list = el("ul", {});
        lists.set(group.id, list);
        (group.parent === null ? top : lists.get(group.parent) ?? top).append(
          el("li", {}, el("span", { class: "soft" }, `cut: ${group.cut}`), list));
      }
      for (const segment of page.segments)
        (lists.get(segment.parent) ?? top).append(row(segment));
    }
    document.getElementById("tree").append(top);
  };

  document.getElementById("roles").append(...[...new Set(page.segments.map(({ role }) => role))]
    .map((role) => el("li", { class: `r-${role}` }, role)),
    el("li", { class: "soft" }, "the fuller, the more template"));
  document.querySelectorAll("#how select").forEach((select) =>
    select.addEventListener("change", () => document.getElementById("how").submit()));
  outline();
  mainText();
  hierarchy();
})();
