/*
 * Reads the layout of a loaded page and returns its HTML with the layout in it; the format is
 * described in capture.py.
 *
 * One function expression, called with {settle: milliseconds, mark: text, limit: characters} in an
 * isolated world: the page's own scripts, whatever they did to JSON, Map or Array.prototype, cannot
 * reach it. After the wait everything happens in one go, so that HTML and layout are of the same
 * moment: attributes with the mark in their names are written, the document is serialised, the
 * attributes are removed. No script of the page runs meanwhile, and none knows the mark.
 *
 * Returns {html, bare, bytes, western}: `bare` if the document has no head of its own (is it HTML at
 * all?), `bytes` the length of the document that the server sent, `western` if it was read as
 * windows-1252 and says nothing, or too late that it is UTF-8. Instead of html: {boxes: -1} when the document is not HTML,
 * {length} when it is longer than the limit.
 */
async (options) => {
  /* DOM members are taken from their prototypes: a form field or an image named "attributes",
     "head" or "parentNode" would hide them. */
  const getter = (proto, name) => {
    const property = Object.getOwnPropertyDescriptor(proto, name);
    return (node) => property.get.call(node);
  };
  const method = (proto, name) => {
    const original = proto[name];
    return (node, ...args) => original.call(node, ...args);
  };
  const nodeType = getter(Node.prototype, "nodeType");
  const firstChild = getter(Node.prototype, "firstChild");
  const nextSibling = getter(Node.prototype, "nextSibling");
  const textOf = getter(CharacterData.prototype, "data");
  const localName = getter(Element.prototype, "localName");
  const scrollWidth = getter(Element.prototype, "scrollWidth");
  const scrollHeight = getter(Element.prototype, "scrollHeight");
  const normalize = method(Node.prototype, "normalize");
  const rectOf = method(Element.prototype, "getBoundingClientRect");
  const rectsOf = method(Element.prototype, "getClientRects");
  const setAttribute = method(Element.prototype, "setAttribute");
  const removeAttribute = method(Element.prototype, "removeAttribute");
  const checkVisibility = Element.prototype.checkVisibility
    ? method(Element.prototype, "checkVisibility")
    : () => true;
  const outerHTML = getter(Element.prototype, "outerHTML");
  const rootOf = getter(Document.prototype, "documentElement");
  const bodyOf = getter(Document.prototype, "body");
  const headOf = getter(Document.prototype, "head");
  const doctypeOf = getter(Document.prototype, "doctype");
  const encodingOf = getter(Document.prototype, "characterSet");
  const find = method(Document.prototype, "querySelector");
  const styleOf = window.getComputedStyle;

  const PAGE = "data-ws-" + options.mark + "-page";
  const BOX = "data-ws-" + options.mark + "-box";
  const TEXT = "data-ws-" + options.mark + "-text";
  const LIMIT = 10000000; // no page is larger; keeps broken geometry readable as integers
  const BLANK = /^[ \t\n\r\f\v\u00a0\u200b\ufeff]*$/;

  /* Wait until the content has not changed for `settle` ms, at most ten times as long. The style
     attribute is not watched: animations write it for ever. */
  const settle = async (quiet) => {
    const start = performance.now();
    let changed = start;
    let observer = null;
    try {
      observer = new MutationObserver(() => {
        changed = performance.now();
      });
      observer.observe(document, {
        childList: true,
        subtree: true,
        characterData: true,
        attributes: true,
        attributeFilter: ["class", "hidden", "src"],
      });
      for (;;) {
        const now = performance.now();
        const left = Math.min(changed + quiet, start + 10 * quiet) - now;
        if (left <= 0) break;
        await new Promise((resolve) => setTimeout(resolve, Math.ceil(left)));
      }
    } finally {
      if (observer) observer.disconnect();
    }
  };
  const quiet = options && +options.settle;
  if (quiet > 0) await settle(quiet);

  const root = rootOf(document);
  if (!root || !(root instanceof HTMLElement) || localName(root) !== "html") return { boxes: -1 };
  normalize(document);

  const whole = (value) => Math.round(Math.max(-LIMIT, Math.min(LIMIT, +value || 0))) + 0;
  const left = +window.scrollX || 0;
  const top = +window.scrollY || 0;
  const place = (rect) =>
    whole(rect.left + left) + " " + whole(rect.top + top) + " " + whole(rect.width) + " " + whole(rect.height);

  /* Colours: "rrggbb", a translucent colour as it looks on white, "" when fully transparent. */
  const colours = { __proto__: null };
  const channels = (value) => {
    const match = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(value);
    if (match) return [+match[1], +match[2], +match[3], match[4] === undefined ? 1 : +match[4]];
    try {
      const pen = new OffscreenCanvas(1, 1).getContext("2d");
      pen.fillStyle = value;
      pen.fillRect(0, 0, 1, 1);
      const pixel = pen.getImageData(0, 0, 1, 1).data;
      return [pixel[0], pixel[1], pixel[2], pixel[3] / 255];
    } catch {
      return [0, 0, 0, 0];
    }
  };
  const hex = (value, alpha) => {
    const byte = Math.round(value * alpha + 255 * (1 - alpha));
    return (byte < 16 ? "0" : "") + byte.toString(16);
  };
  const colour = (value) => {
    const known = colours[value];
    if (known !== undefined) return known;
    const [red, green, blue, alpha] = channels(value);
    return (colours[value] = alpha > 0 ? hex(red, alpha) + hex(green, alpha) + hex(blue, alpha) : "");
  };

  /* The first font family, lower case, as the inside of an ASCII JSON string. */
  const families = { __proto__: null };
  const family = (value) => {
    const known = families[value];
    if (known !== undefined) return known;
    const match = /^\s*(?:"([^"]*)"|'([^']*)'|([^,]*))/.exec(value);
    const name = (match[1] || match[2] || match[3] || "").trim().toLowerCase();
    let text = "";
    for (let i = 0; i < name.length && i < 100; i++) {
      const code = name.charCodeAt(i);
      if (code > 126) text += "\\u" + (code + 65536).toString(16).slice(1);
      else if (code > 31 && '"&<>\\`'.indexOf(name[i]) < 0) text += name[i];
    }
    return (families[value] = text);
  };

  const border = (style) => {
    if (style.borderStyle === "none") return 0;
    const shown = (kind, width, edge) =>
      kind !== "none" && kind !== "hidden" && parseFloat(width) > 0 && colour(edge) !== "";
    return shown(style.borderTopStyle, style.borderTopWidth, style.borderTopColor) ||
      shown(style.borderRightStyle, style.borderRightWidth, style.borderRightColor) ||
      shown(style.borderBottomStyle, style.borderBottomWidth, style.borderBottomColor) ||
      shown(style.borderLeftStyle, style.borderLeftWidth, style.borderLeftColor)
      ? 1
      : 0;
  };

  /* clip and clip-path as "visually hidden" classes use them: nothing, or one pixel, is left. */
  const clippedAway = (style, position) => {
    if ((position === "absolute" || position === "fixed") && style.clip !== "auto") {
      const n = style.clip.match(/-?[\d.]+/g);
      if (n && n.length === 4 && (n[1] - n[3] <= 1 || n[2] - n[0] <= 1)) return true;
    }
    if (style.clipPath === "none") return false;
    const inset = /^inset\(([\d.]+)%\)/.exec(style.clipPath);
    return inset !== null && +inset[1] >= 50;
  };

  /* What an element hands down to its children. Clips are [left, top, right, bottom] in the
     viewport or null; `clip` holds for content in flow, `outer` for absolutely positioned
     descendants, which only the box of a positioned ancestor can clip. */
  const NOTHING = { element: document, faded: false, underlined: false, clip: null, outer: null };
  const UNCLIPPED = [-Infinity, -Infinity, Infinity, Infinity];
  const clips = (overflow) => overflow === "hidden" || overflow === "clip";
  const shrink = (clip, rect, style) => {
    const [x0, y0, x1, y1] = clip || UNCLIPPED;
    const across = clips(style.overflowX);
    const down = clips(style.overflowY);
    return [
      across ? Math.max(x0, rect.left) : x0,
      down ? Math.max(y0, rect.top) : y0,
      across ? Math.min(x1, rect.right) : x1,
      down ? Math.min(y1, rect.bottom) : y1,
    ];
  };
  const empty = (clip) => clip[2] - clip[0] <= 1 || clip[3] - clip[1] <= 1;
  const beside = (clip, rect) =>
    rect.left >= clip[2] ||
    rect.top >= clip[3] ||
    rect.right < clip[0] ||
    rect.bottom < clip[1];
  /* The middle counts: text moved far to the left is as wide as the way back to the page. */
  const offPage = (rect) =>
    rect.left + rect.right + 2 * left < 0 || rect.top + rect.bottom + 2 * top < 0;

  /* Whether a style is set to move: a hidden element that is will be shown when it is scrolled to,
     pointed at or opened. */
  const moves = (style) =>
    style.animationName !== "none" ||
    /[1-9]/.test(style.transitionDuration) ||
    !/^(all|none)$/.test(style.transitionProperty);

  const elements = []; // elements with a box or with text, in document order
  const boxes = []; // the beginning of their box attribute, "" without a box
  const styleIds = [];
  const texts = []; // their text attribute, "" without text
  const table = { __proto__: null };
  const rows = [];
  const body = bodyOf(document);
  const range = new Range();
  let count = 0;

  const inherit = (element, parent) => {
    const style = styleOf(element);
    const display = style.display;
    if (display === "none") return null;
    const rect = rectOf(element);
    const boxed = rect.width > 0 || rect.height > 0 || rectsOf(element).length > 0;
    const line = style.textDecorationLine;
    const inline = display === "inline" || display === "contents";
    const own = {
      element,
      index: -1,
      missed: "", // entries of texts without a box, while the element has none either
      faded: parent.faded || style.opacity === "0",
      underlined: line.indexOf("underline") >= 0 || (inline && parent.underlined),
      clip: parent.clip,
      outer: parent.outer,
    };
    if (!boxed) return own;
    const position = style.position;
    const base = position === "fixed" ? null : position === "absolute" ? parent.outer : parent.clip;
    let hidden = own.faded || style.visibility !== "visible" || !checkVisibility(element);
    let cut = false; // away by a box that shows other things: a slide, the rest of a long text
    own.clip = base;
    if (element !== root && element !== body) {
      // overflow of html and body is the viewport's: consent walls lock it, nothing is cut off
      if (style.overflow !== "visible") {
        own.clip = shrink(base, rect, style);
        if (firstChild(element) !== null && empty(own.clip)) hidden = true;
      }
      if (base !== null && empty(base)) hidden = true;
      else if (base !== null && beside(base, rect)) cut = true;
      if (offPage(rect)) hidden = true;
      if (clippedAway(style, position)) {
        hidden = true;
        own.clip = [0, 0, 0, 0];
      }
    }
    if (own.clip !== own.outer && (position !== "static" || style.transform !== "none")) {
      own.outer = own.clip;
    }
    const key =
      '["' + display + '",' +
      (hidden || cut ? 0 : 1) + ',"' +
      (colour(style.color) || "ffffff") + '","' +
      colour(style.backgroundColor) + '",' +
      (Math.round(parseFloat(style.fontSize) * 10) / 10 || 0) + "," +
      (Math.round(style.fontWeight) || 400) + ',"' +
      family(style.fontFamily) + '",' +
      (style.fontStyle === "normal" ? 0 : 1) + "," +
      (own.underlined ? 1 : 0) + "," +
      border(style) + ',"' +
      position + '","' +
      style.cssFloat + '",' +
      (hidden ? (moves(style) ? 1 : 0) : cut ? 1 : 0) + "," +
      (style.cursor === "pointer" ? 1 : 0) + "]";
    let id = table[key];
    if (id === undefined) {
      id = table[key] = rows.length;
      rows[id] = key;
    }
    own.index = count;
    elements[count] = element;
    boxes[count] = place(rect) + " ";
    styleIds[count] = id;
    texts[count] = "";
    count++;
    return own;
  };

  const readText = (node, own) => {
    if (BLANK.test(textOf(node))) return;
    range.selectNodeContents(node);
    const rect = range.getBoundingClientRect();
    // Indented out of its box, as for an image in its place; below the box is the rest of a text.
    const away = own.clip !== null && (rect.left >= own.clip[2] || rect.right < own.clip[0]);
    const shown = (rect.width > 0 || rect.height > 0) && !offPage(rect) && !away;
    if (own.index < 0) {
      if (!shown) {
        own.missed += own.missed === "" ? "-" : ";-";
        return;
      }
      own.index = count;
      elements[count] = own.element;
      boxes[count] = "";
      texts[count] = own.missed;
      count++;
    }
    const before = texts[own.index];
    texts[own.index] = (before === "" ? "" : before + ";") + (shown ? place(rect) : "-");
  };

  const stack = [NOTHING];
  let depth = 0;
  let node = root;
  while (node !== null) {
    const type = nodeType(node);
    let child = null;
    if (type === 1) {
      const own = inherit(node, stack[depth]);
      if (own !== null) {
        child = firstChild(node);
        if (child !== null) stack[++depth] = own;
      }
    } else if (type === 3) {
      readText(node, stack[depth]);
    }
    if (child === null) {
      child = nextSibling(node);
      while (child === null && depth > 0) {
        node = stack[depth].element;
        depth--;
        child = node === root ? null : nextSibling(node);
      }
    }
    node = child;
  }

  const page =
    '{"v":3,"width":' + whole(window.innerWidth) +
    ',"height":' + whole(window.innerHeight) +
    ',"page_width":' + whole(scrollWidth(root)) +
    ',"page_height":' + whole(scrollHeight(root));
  let list = "";
  for (let i = 0; i < rows.length; i++) list += (i ? "," : "") + rows[i];
  const head = headOf(document);
  const doctype = doctypeOf(document);
  const bare = head === null || firstChild(head) === null;
  const [loaded] = performance.getEntriesByType("navigation");
  const declared =
    "meta[charset]:not([charset='utf-8' i]), " +
    "meta[http-equiv='content-type' i]:not([content*='utf-8' i])";
  const western = encodingOf(document) === "windows-1252" && find(document, declared) === null;
  const answer = { bare, western, bytes: loaded ? loaded.decodedBodySize : 0 };
  const start = doctype === null ? "" : new XMLSerializer().serializeToString(doctype);
  try {
    setAttribute(root, PAGE, page + ',"styles":[' + list + "]}");
    for (let i = 0; i < count; i++) {
      if (boxes[i] !== "") setAttribute(elements[i], BOX, boxes[i] + styleIds[i]);
      if (texts[i] !== "") setAttribute(elements[i], TEXT, texts[i]);
    }
    const html = start + outerHTML(root);
    if (html.length > options.limit) answer.length = html.length;
    else answer.html = html;
  } finally {
    removeAttribute(root, PAGE);
    for (let i = 0; i < count; i++) {
      removeAttribute(elements[i], BOX);
      removeAttribute(elements[i], TEXT);
    }
  }
  return answer;
}
