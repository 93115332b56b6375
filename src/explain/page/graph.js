// The graph: a model's nodes as they are in its file, the same as kernels take them, and kernels alone.

const graphBox = document.getElementById('graph');
const drawing = {
  view: null,
  places: new Map(),
  at: {x: 0, y: 0, k: 1},
  size: {width: 1, height: 1}
};

const views = [
  {
    id: 'areas',
    name: 'Kernels as areas',
    note: 'The model’s nodes in the kernels that compute them; a node that several kernels have parts of ' +
        'stands in the one that takes longest, and what is dashed became part of what reads it, or depends on ' +
        'constants alone. The stronger the colour, the more of the time.'
  },
  {
    id: 'kernels',
    name: 'After: kernels',
    note: 'Each box is a kernel or a call; lines are values that one stores and another reads. The stronger' +
        ' the colour, the more of the time.'
  },
  {
    id: 'nodes',
    name: 'Before: nodes',
    note: 'The nodes of the model’s file. Colours are those of their kernels; what is in none became part ' +
        'of others, or depends on constants alone.'
  },
];

const heatOf = (kernel) => `--heat:${(100 * Math.sqrt(kernel.time_ms / mostTime)).toFixed(1)}%`;
const isCall = (kernel) => (kernel.kind === 'call' ? ' call' : '');

function nodeBox(number) {
  const label = nodes[number].op;
  return {w: Math.max(104, 20 + 8 * Math.min(label.length, 24)), h: 34, node: number, isLoose: homeOf[number] < 0};
}

function drawNode(box) {
  const node = nodes[box.node];
  const home = homeOf[box.node];
  const shared = kernelsOfNode[box.node];
  const where = shared.length ? `in kernel ${shared.map((each) => each + 1).join(', ')}` : 'in no kernel';
  const element =
      svg('g', {
        class: 'node' + (home < 0 ? ' loose' : ''),
        transform: `translate(${box.x} ${box.y})`,
        'data-node': box.node,
        'data-kernel': home < 0 ? null : home,
        style: home < 0 ? null : heatOf(kernels[home])
      },
          svg('title', {}, `${node.op} ${node.name}\n${where}`), svg('rect', {width: box.w, height: box.h, rx: 5}),
          svg('text', {x: box.w / 2, y: 14, class: 'op'}, shortened(node.op, 24)),
          svg('text', {x: box.w / 2, y: 27, class: 'name'}, shortened(node.name, Math.floor(box.w / 5.6))),
          shared.length > 1 ? svg('circle', {cx: box.w - 7, cy: 7, r: 3.5, class: 'several'}) : null);
  drawing.places.set(`n${box.node}`, element);
  return element;
}

const widthOf = (kernel) => 18 + 7.8 * Math.min(34, Math.max(18, titleOf(kernel).length + 5));

function drawKernel(box, inner = []) {
  const kernel = kernels[box.kernel];
  const element =
      svg('g', {
        class: 'kernel' + isCall(kernel),
        transform: `translate(${box.x} ${box.y})`,
        'data-kernel': kernel.number,
        style: heatOf(kernel)
      },
          svg('title', {},
              `${kernel.number + 1}: ${titleOf(kernel)}\n${showMs(kernel.time_ms)}, ${
                  showShare(kernel.time_ms / timeTotal)}`),
          svg('rect', {width: box.w, height: box.h, rx: 8}),
          svg('text', {x: 10, y: 16, class: 'op'},
              shortened(`${kernel.number + 1} · ${titleOf(kernel)}`, Math.floor((box.w - 16) / 7.6))),
          svg('text', {x: 10, y: 30, class: 'name'},
              `${showMs(kernel.time_ms)} · ${showShare(kernel.time_ms / timeTotal)}`),
          inner);
  drawing.places.set(`k${kernel.number}`, element);
  return element;
}

const drawLine = (path, from, to) =>
    svg('path', {d: lineThrough(path), class: 'edge', 'data-from': from, 'data-to': to});

const lines = {
  gapX: 22,
  gapY: 30
};
const aspectOf = () => Math.max(0.6, graphBox.clientWidth / Math.max(200, graphBox.clientHeight));

function drawNodesView() {
  const boxes = nodes.map((node, number) => nodeBox(number));
  const edges = nodes.flatMap((node, to) => node.reads.map((from) => [from, to]));
  const drawn = drawLayers(boxes, edges, {...lines, aspect: aspectOf()});
  return {
    ...drawn,
    elements:
        [drawn.paths.map((path, i) => drawLine(path, homeOf[edges[i][0]], homeOf[edges[i][1]])), boxes.map(drawNode)]
  };
}

function drawKernelsView() {
  const boxes = kernels.map((kernel) => ({w: widthOf(kernel), h: 40, kernel: kernel.number}));
  const drawn = drawLayers(boxes, kernelEdges, {...lines, aspect: aspectOf()});
  return {
    ...drawn,
    elements: [drawn.paths.map((path, i) => drawLine(path, ...kernelEdges[i])), boxes.map((box) => drawKernel(box))]
  };
}

// Kernels are drawn as the kernels' graph is, and in each its nodes as theirs.
function drawAreasView() {
  const membersOf = kernels.map(() => []);
  insideOf.forEach((home, node) => home >= 0 && membersOf[home].push(node));
  const inside = kernels.map((kernel) => {
    const members = membersOf[kernel.number];
    const place = new Map(members.map((node, i) => [node, i]));
    const boxes = members.map(nodeBox);
    const edges = members.flatMap(
        (to) => nodes[to].reads.filter((from) => place.has(from)).map((from) => [place.get(from), place.get(to)]));
    const drawn = drawLayers(boxes, edges, {gapX: 12, gapY: 16, aspect: members.length > 6 ? 1.2 : 0});
    return {boxes, ...drawn};
  });
  const title = 38, pad = 10;
  const loose = nodes.map((node, number) => number).filter((node) => insideOf[node] < 0);
  // A loose node goes before the first kernel that reads it, since edges go from earlier boxes to later ones.
  const entries = [
    ...kernels.map((kernel) => ({kernel: kernel.number, at: kernel.number + 0.5})),
    ...loose.map((node) => ({node, at: null}))
  ];
  placeLoose(entries);
  entries.sort((a, b) => a.at - b.at || (a.node ?? 0) - (b.node ?? 0));
  const numbers =
      new Map(entries.map((entry, i) => [entry.kernel !== undefined ? `k${entry.kernel}` : `n${entry.node}`, i]));
  const boxes = entries.map((entry) => entry.kernel === undefined ? nodeBox(entry.node) : {
    kernel: entry.kernel,
    w: Math.max(widthOf(kernels[entry.kernel]), inside[entry.kernel].width + 2 * pad),
    h: title + (membersOf[entry.kernel].length ? inside[entry.kernel].height + pad : 2)
  });
  const edges = edgesOfAreas(numbers);
  const drawn = drawLayers(boxes, edges, {gapX: 26, gapY: 34, aspect: aspectOf()});
  const kernelAt = (i) => (boxes[i].kernel === undefined ? -1 : boxes[i].kernel);
  return {
    ...drawn,
    elements: [
      drawn.paths.map((path, i) => drawLine(path, kernelAt(edges[i][0]), kernelAt(edges[i][1]))), boxes.map((box) => {
        if (box.kernel === undefined) return drawNode(box);
        const {boxes: its, paths, width} = inside[box.kernel];
        const left = (box.w - width) / 2;
        return drawKernel(
            box,
            svg('g', {transform: `translate(${left} ${title})`},
                paths.map((path) => drawLine(path, box.kernel, box.kernel)), its.map(drawNode)));
      })
    ]
  };
}

function placeLoose(entries) {
  const reads = new Map();
  nodes.forEach(
      (node, to) => node.reads.forEach((from) => reads.has(from) ? reads.get(from).push(to) : reads.set(from, [to])));
  const firstReader = new Map();
  for (let node = nodes.length - 1; node >= 0; --node) {
    const readers = reads.get(node) || [];
    const at =
        readers.map((reader) => (insideOf[reader] >= 0 ? insideOf[reader] : firstReader.get(reader) ?? kernels.length));
    firstReader.set(node, at.length ? at.reduce((a, b) => Math.min(a, b)) : kernels.length);
  }
  for (const entry of entries)
    if (entry.at === null) entry.at = firstReader.get(entry.node);
}

// Those between kernels, and those of nodes that are in none.
function edgesOfAreas(numbers) {
  const place = (node) => numbers.get(insideOf[node] < 0 ? `n${node}` : `k${insideOf[node]}`);
  const known = new Set();
  const edges = [];
  const add = (from, to) => {
    const key = `${from} ${to}`;
    if (from === to || known.has(key)) return;
    known.add(key);
    edges.push([from, to]);
  };
  for (const [from, to] of kernelEdges) add(numbers.get(`k${from}`), numbers.get(`k${to}`));
  nodes.forEach((node, to) => node.reads.forEach((from) => {
    if (insideOf[from] < 0 || insideOf[to] < 0) add(place(from), place(to));
  }));
  return edges;
}

const surface = svg('g', {});
const canvas = svg('svg', {width: '100%', height: '100%', 'aria-hidden': 'true'}, surface);

function showView(id) {
  const available = nodes.length ? views : views.filter((view) => view.id === 'kernels');
  const view = available.find((each) => each.id === id) || available[0];
  drawing.view = view.id;
  drawing.places.clear();
  const drawn = view.id === 'nodes' ? drawNodesView() : view.id === 'kernels' ? drawKernelsView() : drawAreasView();
  drawing.size = drawn;
  surface.replaceChildren(...drawn.elements.flat());
  document.getElementById('legend').textContent =
      view.note + (report.graph && report.graph.left_out ? ` ${report.graph.left_out} more nodes are not drawn.` : '');
  document.getElementById('views').replaceChildren(...available.map(
      (each) =>
          el('button',
             {type: 'button', role: 'tab', 'aria-selected': String(each === view), onclick: () => go({view: each.id})},
             each.name)));
  showAll();
}

function applyView() {
  const {x, y, k} = drawing.at;
  surface.setAttribute('transform', `translate(${x} ${y}) scale(${k})`);
  canvas.classList.toggle('far', k < 0.42);
}
function showAll() {
  const {width, height} = drawing.size;
  const k = Math.min(1.3, (graphBox.clientWidth - 32) / (width || 1), (graphBox.clientHeight - 32) / (height || 1));
  drawing.at = {k, x: (graphBox.clientWidth - k * width) / 2, y: (graphBox.clientHeight - k * height) / 2};
  applyView();
}
function zoom(factor, x = graphBox.clientWidth / 2, y = graphBox.clientHeight / 2) {
  const {at} = drawing;
  const k = Math.min(4, Math.max(0.01, at.k * factor));
  drawing.at = {k, x: x - ((x - at.x) * k) / at.k, y: y - ((y - at.y) * k) / at.k};
  applyView();
}
// Brings a box to the middle, near enough to be read.
function center(key) {
  const element = drawing.places.get(key);
  if (!element) return;
  const box = element.getBoundingClientRect(), frame = canvas.getBoundingClientRect();
  const factor = Math.max(
                     drawing.at.k,
                     Math.min(
                         1, (0.8 * frame.width * drawing.at.k) / (box.width || 1),
                         (0.8 * frame.height * drawing.at.k) / (box.height || 1))) /
      drawing.at.k;
  const x = box.left + box.width / 2 - frame.left, y = box.top + box.height / 2 - frame.top;
  zoom(factor, x, y);
  drawing.at.x += frame.width / 2 - x;
  drawing.at.y += frame.height / 2 - y;
  applyView();
}

function markGraph(selected, isHit) {
  for (const element of surface.querySelectorAll('.node, .kernel')) {
    const isNode = element.classList.contains('node');
    const kernel = element.dataset.kernel;
    const its = isNode ? kernelsOfNode[element.dataset.node].includes(selected) : kernel === String(selected);
    element.classList.toggle('selected', its);
    element.classList.toggle(
        'miss', !!isHit && !(isNode ? isHit.nodes.has(+element.dataset.node) : isHit.kernels.has(+kernel)));
  }
  for (const element of surface.querySelectorAll('.edge')) {
    const {from, to} = element.dataset;
    element.classList.toggle(
        'selected', selected !== null && from !== to && (from === String(selected) || to === String(selected)));
  }
}

graphBox.append(
    canvas,
    el('div', {class: 'zoom'}, el('button', {type: 'button', 'aria-label': 'Zoom in', onclick: () => zoom(1.4)}, '+'),
       el('button', {type: 'button', 'aria-label': 'Zoom out', onclick: () => zoom(1 / 1.4)}, '−'),
       el('button', {type: 'button', onclick: showAll}, 'all')));
canvas.addEventListener('wheel', (event) => {
  event.preventDefault();
  const frame = canvas.getBoundingClientRect();
  zoom(
      Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), event.clientX - frame.left,
      event.clientY - frame.top);
}, {passive: false});
{
  let drag = null;
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button === 0)
      drag = {x: event.clientX, y: event.clientY, at: drawing.at, target: event.target, moved: false};
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!drag) return;
    const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    if (!drag.moved) canvas.setPointerCapture(event.pointerId);
    drag.moved = true;
    drawing.at = {...drag.at, x: drag.at.x + dx, y: drag.at.y + dy};
    applyView();
  });
  canvas.addEventListener('pointerup', () => {
    const clicked = drag && !drag.moved ? drag.target.closest('[data-kernel]') : null;
    if (clicked) go({kernel: +clicked.dataset.kernel});
    drag = null;
  });
  canvas.addEventListener('pointercancel', () => (drag = null));
}
