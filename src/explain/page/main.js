// What is selected, which the address after # says: #view=kernels&kernel=3&search=conv&theme=dark.

const state = {
  view: 'areas',
  kernel: null,
  search: '',
  theme: ''
};

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (location.hash.includes('=') || !location.hash) {
    const number = Number(given.get('kernel'));
    state.view = given.get('view') || 'areas';
    state.kernel =
        given.has('kernel') && Number.isInteger(number) && number >= 0 && number < kernels.length ? number : null;
    state.search = given.get('search') || '';
    state.theme = given.get('theme') || '';
  }
}
function writeAddress() {
  const said = new URLSearchParams();
  if (state.view !== 'areas') said.set('view', state.view);
  if (state.kernel !== null) said.set('kernel', state.kernel);
  if (state.search) said.set('search', state.search);
  if (state.theme) said.set('theme', state.theme);
  history.replaceState(null, '', `#${said}`);
}

// What the page shows of the state; `before` is what it shows now.
function show(before) {
  document.documentElement.dataset.theme = state.theme;
  if (before.view !== state.view || drawing.view === null) showView(state.view);
  if (before.kernel !== state.kernel) {
    showKernel(state.kernel);
    markPlots(state.kernel);
    markRows(state.kernel);
  }
  const hits = state.search ? findHits(state.search.toLowerCase()) : null;
  markGraph(state.kernel, hits);
  const box = document.getElementById('search');
  if (box.value !== state.search) box.value = state.search;
  document.getElementById('hits').textContent = hits ? `${hits.order.length} found` : '';
}
function go(change) {
  const before = {...state};
  Object.assign(state, change);
  writeAddress();
  show(before);
  if (change.kernel !== undefined && change.kernel !== null && change.kernel !== before.kernel)
    reveal(`k${change.kernel}`);
}
function reveal(key) {
  const element = drawing.places.get(key);
  if (!element) return;
  const box = element.getBoundingClientRect(), frame = canvas.getBoundingClientRect();
  const isInside =
      box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
  if (!isInside || drawing.at.k < 0.42) center(key);
}
function step(by) {
  const last = kernels.length - 1;
  if (last >= 0)
    go({kernel: state.kernel === null ? (by > 0 ? 0 : last) : Math.min(last, Math.max(0, state.kernel + by))});
}

// Nodes and kernels of which a name holds the text: of nodes, operators, values and definitions.
const textOfNode = nodes.map((node) => [node.name, node.op, ...node.outputs].join('\n').toLowerCase());
const textOfKernel = kernels.map(
    (kernel) => [kernel.name, ...kernel.nodes, ...kernel.stores.map((each) => each.name), kernel.expressions]
                    .join('\n')
                    .toLowerCase());
function findHits(text) {
  const found = {nodes: new Set(), kernels: new Set(), order: []};
  textOfNode.forEach((its, number) => its.includes(text) && found.nodes.add(number));
  textOfKernel.forEach((its, number) => its.includes(text) && found.kernels.add(number));
  for (const node of found.nodes)
    if (homeOf[node] >= 0) found.kernels.add(homeOf[node]);
  const shown = drawing.view === 'kernels' ? [] : [...found.nodes];
  found.order = shown.length ? shown.map((node) => `n${node}`) :
                               [...found.kernels].sort((a, b) => a - b).map((kernel) => `k${kernel}`);
  return found;
}
let hitShown = -1;
function nextHit() {
  const {order} = findHits(state.search.toLowerCase());
  if (!order.length) return;
  hitShown = (hitShown + 1) % order.length;
  const key = order[hitShown];
  const kernel = key[0] === 'k' ? +key.slice(1) : homeOf[+key.slice(1)];
  go({kernel: kernel >= 0 ? kernel : state.kernel});
  center(drawing.places.has(key) ? key : `k${kernel}`);
  document.getElementById('hits').textContent = `${hitShown + 1} of ${order.length}`;
}

document.getElementById('search').addEventListener('input', (event) => {
  hitShown = -1;
  go({search: event.target.value});
});
document.getElementById('search-form').addEventListener('submit', (event) => {
  event.preventDefault();
  if (state.search) nextHit();
});
document.getElementById('theme').addEventListener('click', () => {
  const isDark = state.theme ? state.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  go({theme: isDark ? 'light' : 'dark'});
});
for (const id of ['timeline', 'roofline', 'scatter'])
  document.getElementById(id).addEventListener('click', (event) => {
    const clicked = event.target.closest('[data-kernel]');
    if (clicked) go({kernel: +clicked.dataset.kernel});
  });
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.matches('input');
  if (event.key === 'Escape') go({kernel: null, search: ''});
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const isOnGraph = event.target.closest('#graph, #timeline') || event.target === document.body;
  const does = {
    ArrowRight: () => step(1),
    ArrowDown: () => step(1),
    ArrowLeft: () => step(-1),
    ArrowUp: () => step(-1),
    '+': () => zoom(1.4),
    '-': () => zoom(1 / 1.4),
    0: showAll
  }[event.key];
  if (event.key === '/')
    document.getElementById('search').focus();
  else if (!does || !isOnGraph)
    return;
  else
    does();
  event.preventDefault();
});
addEventListener('hashchange', () => {
  const before = {...state};
  readAddress();
  show(before);
});
addEventListener('resize', () => {
  showAll();
  if (state.kernel !== null) reveal(`k${state.kernel}`);
});

readAddress();
showFacts();
drawTimeline();
showKernels();
showChoice();
showRules();
showDecisions();
show({view: null, kernel: undefined});
if (state.kernel !== null) reveal(`k${state.kernel}`);
