"use strict";
// What pages are built of. Texts of strangers become text nodes: nothing here parses HTML.
const parts = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  const add = (node, attributes, children) => {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "on") for (const [kind, does] of Object.entries(value))
        node.addEventListener(kind, does);
      else node.setAttribute(name, value === true ? "" : value);
    }
    for (const child of children.flat(Infinity))
      if (child !== null && child !== undefined && child !== "") node.append(child);
    return node;
  };
  const el = (name, attributes, ...children) =>
    add(document.createElement(name), attributes, children);
  const svg = (name, attributes, ...children) =>
    add(document.createElementNS(SVG, name), attributes, children);

  const number = (value) =>
    value === null || value === undefined ? "" : value.toLocaleString("en-GB");
  const share = (value) =>
    value === null || value === undefined ? "" : `${(100 * value).toFixed(value < 0.1 ? 1 : 0)} %`;
  const many = (count, name) => `${number(count)} ${name}${count === 1 ? "" : "s"}`;
  const time = (seconds) => seconds === null || seconds === undefined ? "" :
    new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ");

  // A bar of several kinds, or of one against the largest.
  const bar = (counts, total, said) => {
    const drawn = svg("svg", { class: "bar", viewBox: "0 0 100 10", role: "img",
      preserveAspectRatio: "none", "aria-label": said });
    drawn.append(svg("rect", { class: "back", width: 100, height: 10 }));
    let from = 0;
    for (const [kind, count] of counts) {
      const width = total ? 100 * count / total : 0;
      if (width > 0) drawn.append(svg("rect", { class: kind, x: from.toFixed(2),
        width: width.toFixed(2), height: 10 }));
      from += width;
    }
    return drawn;
  };

  // Ten columns from 0 to 1; what stands at their edges is told by `edge`.
  const histogram = (counts, kind, said, edge) => {
    const most = Math.max(1, ...counts), step = 31, high = 90, top = 16;
    const at = (place) => 12 + step * place;
    const brief = new Intl.NumberFormat("en", { notation: "compact" });
    const drawn = svg("svg", { viewBox: "0 0 334 128", width: 334, height: 128, role: "img",
      "aria-label": `${said}: ${counts.map((count, place) =>
        `${edge(place)} to ${edge(place + 1)}: ${count}`).join(", ")}` });
    counts.forEach((count, place) => {
      if (!count) return;
      const height = Math.max(1, high * count / most);
      drawn.append(svg("rect", { class: kind, x: at(place) + 2, width: step - 4,
        y: (top + high - height).toFixed(1), height: height.toFixed(1) }),
      svg("text", { x: at(place) + step / 2, y: (top - 4 + high - height).toFixed(1),
        "text-anchor": "middle" }, brief.format(count)));
    });
    drawn.append(svg("line", { x1: at(0), x2: at(10), y1: top + high, y2: top + high }));
    for (let place = 0; place <= 10; place += 2) drawn.append(svg("text", { x: at(place),
      y: top + high + 16, "text-anchor": "middle" }, edge(place)));
    return el("div", { class: "plot", tabindex: 0, role: "region", "aria-label": said }, drawn);
  };

  // A table that is sorted, filtered and shown a page at a time.
  // columns: name, value(row) to sort and filter by, cell(row), number, wide, plain, time; less and
  // least are left out of narrow and of less wide windows
  const table = (said, columns, rows, options) => {
    const size = options?.size || 12;
    let order = options?.order ?? null, down = options?.down ?? false, page = 0, wanted = "";
    const head = el("tr", {}), body = el("tbody", {}), told = el("span", { "aria-live": "polite" });
    const input = el("input", { type: "search", placeholder: "filter" });
    const back = el("button", { type: "button" }, "‹ back");
    const on = el("button", { type: "button" }, "more ›");
    const text = (row) => columns.map((column) => column.value?.(row) ?? "").join("\u0001")
      .toLowerCase();
    const heads = columns.map((column, place) => {
      const kind = [column.number && "number", column.less && "less", column.least && "least",
        column.plain && "plain"].filter(Boolean).join(" ") || null;
      if (column.plain) return el("th", { scope: "col", class: kind }, column.name);
      return el("th", { scope: "col", class: kind, "aria-sort": "none" },
        el("button", { type: "button", on: { click: () => {
          down = order === place ? !down : Boolean(column.number);
          order = place; page = 0; show();
        } } }, column.name));
    });
    head.append(...heads);
    const show = () => {
      let chosen = wanted ? rows.filter((row) => text(row).includes(wanted)) : rows;
      if (order !== null) {
        const value = columns[order].value, way = down ? -1 : 1;
        chosen = [...chosen].sort((a, b) => {
          const one = value(a), other = value(b);
          if (one === other) return 0;
          if (one === null || one === undefined || one === "") return 1;
          if (other === null || other === undefined || other === "") return -1;
          return way * (typeof one === "string" ? one.localeCompare(other) : one - other);
        });
      }
      const last = Math.max(0, Math.ceil(chosen.length / size) - 1);
      page = Math.min(page, last);
      heads.forEach((th, place) => th.hasAttribute("aria-sort") && th.setAttribute("aria-sort",
        place !== order ? "none" : down ? "descending" : "ascending"));
      body.replaceChildren(...chosen.slice(page * size, (page + 1) * size).map((row) =>
        el("tr", {}, columns.map((column) => el("td", { class: [column.number && "number",
          column.wide && "wide", column.name_ && "name", column.less && "less", column.least && "least",
          column.time && "time"].filter(Boolean).join(" ") || null, "data-name": column.name },
          column.cell ? column.cell(row) : String(column.value(row) ?? ""))))));
      const first = chosen.length ? page * size + 1 : 0;
      told.textContent = `${number(first)}–${number(Math.min((page + 1) * size, chosen.length))}` +
        ` of ${number(chosen.length)}` + (options?.all > rows.length ?
        ` (${number(rows.length)} of ${number(options.all)} are in this file)` : "");
      back.disabled = page === 0; on.disabled = page === last;
    };
    input.addEventListener("input", () => { wanted = input.value.toLowerCase(); page = 0; show(); });
    back.addEventListener("click", () => { page -= 1; show(); });
    on.addEventListener("click", () => { page += 1; show(); });
    show();
    const few = rows.length <= size;
    return el("div", { class: "table" },
      rows.length > 5 ? el("div", { class: "tools" },
        el("label", {}, el("span", { class: "hidden" }, `Filter: ${said}`), input), told,
        few ? null : [back, on]) : null,
      el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": said },
        el("table", { class: "rows" }, el("caption", { class: "hidden" }, said), el("thead", {}, head), body)));
  };

  // A text in pieces: text, number of its passage (-1: only here), text, number, …
  const marked = (pieces, said, touch) => {
    const box = el("div", { class: "text", tabindex: 0, role: "region", "aria-label": said });
    let line = el("p", { dir: "auto" });
    for (let place = 0; place < pieces.length; place += 2) {
      const passage = pieces[place + 1];
      pieces[place].split("\n").forEach((part, count) => {
        if (count) { if (line.hasChildNodes()) box.append(line); line = el("p", { dir: "auto" }); }
        if (!part.trim()) { if (part) line.append(part); return; }
        line.append(passage >= 0
          ? el("mark", { "data-passage": passage, on: { click: () => touch(passage) } }, part)
          : el("span", { class: "only" }, part));
      });
    }
    if (line.hasChildNodes()) box.append(line);
    return box;
  };

  // How much of a text stands in the other one too, by its characters.
  const common = (pieces) => {
    let both = 0, all = 0;
    for (let place = 0; place < pieces.length; place += 2) {
      const size = pieces[place].replace(/\s+/g, "").length;
      all += size;
      if (pieces[place + 1] >= 0) both += size;
    }
    return el("p", { class: "soft" }, all ? `${share(both / all)} of it stands in the other text.`
      : "There is no text.");
  };

  // Two texts beside each other; they scroll together, a click leads to the same passage.
  const beside = (first, second, names) => {
    const boxes = [];
    let leading = null;
    const light = (passage) => boxes.forEach((box) => {
      box.querySelectorAll("mark.on").forEach((mark) => mark.classList.remove("on"));
      const own = box.querySelectorAll(`mark[data-passage="${passage}"]`);
      own.forEach((mark) => mark.classList.add("on"));
      if (own.length) box.scrollTop = own[0].offsetTop - box.offsetTop - box.clientHeight / 3;
    });
    boxes.push(marked(first, names[0], light), marked(second, names[1], light));
    boxes.forEach((box, place) => box.addEventListener("scroll", () => {
      if (leading !== null && leading !== box) return;
      leading = box;
      const other = boxes[1 - place];
      const share = box.scrollTop / Math.max(1, box.scrollHeight - box.clientHeight);
      other.scrollTop = share * (other.scrollHeight - other.clientHeight);
      clearTimeout(beside.timer);
      beside.timer = setTimeout(() => { leading = null; }, 120);
    }));
    return [[common(first), boxes[0]], [common(second), boxes[1]]];
  };

  const kinds = () => el("ul", { class: "legend" }, el("li", { class: "both" }, "in both texts"),
    el("li", { class: "single" }, "in one of them only"),
    el("li", { class: "soft" }, "A click on a passage shows it in the other text."));

  return { add, bar, beside, el, histogram, kinds, many, marked, number, share, svg, table, time };
})();
