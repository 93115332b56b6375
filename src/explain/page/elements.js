// Elements of the page. Whatever comes from a model is a text node or an attribute, never markup.

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on'))
      node.addEventListener(name.slice(2), value);
    else
      node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
function replaceIn(node, ...children) {
  node.replaceChildren();
  return fill(node, {}, children);
}
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

// A figure of the report: its text is for people, its value that of the report.
const figure = (value, show) => el('data', {value: value === null || value === undefined ? '' : value}, show(value));

const shortened = (text, most) => text.length <= most ?
    text :
    `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(text.length - Math.floor(most / 2))}`;

function definitionList(rows) {
  return el('dl', {}, rows.filter(Boolean).map(([name, ...value]) => [el('dt', {}, name), el('dd', {}, value)]));
}

function table(heads, rows) {
  return el(
      'div', {class: 'scroll'},
      el('table', {},
         el('thead', {},
            el('tr', {},
               heads.map((head) => el('th', {scope: 'col', class: head.right ? 'right' : null}, head.text || head)))),
         el('tbody', {}, rows)));
}
