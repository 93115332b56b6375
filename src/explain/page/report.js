// The report that the page is about, and what follows from it: which nodes are in which kernels, and which kernels read
// what others store.

const report = JSON.parse(document.getElementById('report').textContent);
const kernels = report.kernels;
const nodes = report.graph ? report.graph.nodes : [];
const decisions = report.decisions || {records: [], summary: [], choices: []};
const choices = decisions.choices || [];
const isMeasured = report.measured_ms !== null;

const sum = (list) => list.reduce((total, each) => total + each, 0);
const unique = (list) => [...new Set(list)];

// What a body holds is its node's, and names of what a function holds have that of the node that calls it, and "/",
// before them.
const nodeByName = new Map();
nodes.forEach((node, number) => {
  if (!nodeByName.has(node.name)) nodeByName.set(node.name, number);
});
nodes.forEach((node, number) => {
  for (const name of node.holds)
    if (!nodeByName.has(name)) nodeByName.set(name, number);
});
function nodeOf(name) {
  for (let end = name.length; end > 0; end = name.lastIndexOf('/', end - 1)) {
    const number = nodeByName.get(name.slice(0, end));
    if (number !== undefined) return number;
  }
  return undefined;
}

kernels.forEach((kernel, number) => {
  kernel.number = number;
  kernel.members = unique(kernel.nodes.map(nodeOf).filter((node) => node !== undefined));
  kernel.time_ms = isMeasured ? kernel.measured_ms : kernel.predicted_ms;
});
const predictedTotal = sum(kernels.map((kernel) => kernel.predicted_ms));
const measuredTotal = sum(kernels.map((kernel) => kernel.measured_ms || 0));
const timeTotal = isMeasured ? measuredTotal : predictedTotal;
const mostTime = Math.max(...kernels.map((kernel) => kernel.time_ms), 1e-300);

const kernelsOfNode = nodes.map(() => []);
for (const kernel of kernels)
  for (const node of kernel.members) kernelsOfNode[node].push(kernel.number);
// A node in several kernels is drawn where most of their time goes.
const homeOf = kernelsOfNode.map(
    (list) =>
        list.length ? list.reduce((best, each) => (kernels[each].time_ms > kernels[best].time_ms ? each : best)) : -1);

// What is in no kernel and is read in one alone became part of that one, or is a constant of it.
const insideOf = [...homeOf];
{
  const readers = nodes.map(() => []);
  nodes.forEach((node, to) => node.reads.forEach((from) => readers[from].push(to)));
  for (let node = nodes.length - 1; node >= 0; --node) {
    const kernelsThatRead = unique(readers[node].map((reader) => insideOf[reader]));
    if (insideOf[node] < 0 && kernelsThatRead.length === 1) insideOf[node] = kernelsThatRead[0];
  }
}

// Edges between kernels, by the buffers that they share.
const kernelEdges = [];
{
  const writers = new Map();
  for (const kernel of kernels) {
    const from = new Set();
    for (const read of kernel.reads)
      if (!read.constant && writers.has(read.buffer)) from.add(writers.get(read.buffer));
    for (const writer of from)
      if (writer !== kernel.number) kernelEdges.push([writer, kernel.number]);
    for (const stored of kernel.stores) writers.set(stored.buffer, kernel.number);
  }
}
const readersOf = kernels.map(() => []);
const writersOf = kernels.map(() => []);
for (const [from, to] of kernelEdges) {
  readersOf[from].push(to);
  writersOf[to].push(from);
}

// "Conv + Relu": what a kernel is of, for people.
function titleOf(kernel) {
  const ops = unique(kernel.members.map((node) => nodes[node].op));
  if (!ops.length)
    return kernel.kind === 'call' ? kernel.name : kernel.stores.map((each) => each.name).join(', ') || kernel.name;
  return ops.slice(0, 3).join(' + ') + (ops.length > 3 ? ' + ' + (ops.length - 3) : '');
}

// The alternatives of each kernel, with the choice that they are from.
const alternativesOf = kernels.map(() => []);
{
  const byValue = new Map();
  for (const kernel of kernels)
    for (const stored of kernel.stores) byValue.set(stored.name, kernel.number);
  const placeOf = (chosen) => {
    for (const name of chosen.stores)
      if (byValue.has(name)) return byValue.get(name);
    const members = chosen.nodes.map(nodeOf).filter((node) => node !== undefined && homeOf[node] >= 0);
    return members.length ? homeOf[members[0]] : undefined;
  };
  for (const choice of choices) {
    const places = choice.chosen.map(placeOf);
    for (const alternative of choice.alternatives) {
      alternative.forms = alternative.forms.map((form) => choice.forms[form]);
      alternative.kernels =
          unique(alternative.instead_of.map((each) => places[each]).filter((each) => each !== undefined));
      for (const number of alternative.kernels) alternativesOf[number].push({choice, alternative});
    }
  }
  // Those whose price is known first, then those of which more is known than nothing.
  const place = ({alternative: {more_ms: more, more_at_least_ms: least}}) => (more !== null ? 0 : least > 0 ? 1 : 2);
  const price = ({alternative}) => alternative.more_ms ?? alternative.more_at_least_ms;
  for (const all of alternativesOf) all.sort((a, b) => place(a) - place(b) || price(a) - price(b));
}

// Figures as people read them, of three digits.
function scaled(value, units) {
  if (value === null || value === undefined || !isFinite(value)) return '-';
  const [size, name] = units.find(([size]) => Math.abs(value) >= size) || units[units.length - 1];
  return `${trimmed(value / size)} ${name}`;
}
function trimmed(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Number.isInteger(value) ? String(value) :
      Math.abs(value) < 0.005    ? value.toPrecision(2) :
                                   value.toFixed(digits);
}
const showMs = (value) => scaled(value, [[1e3, 's'], [1, 'ms'], [1e-3, 'µs'], [1e-6, 'ns']]);
const showBytes = (value) => scaled(value, [[2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]);
const thousands = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
const showCount = (value) => scaled(value, thousands).trim();
const showWhole = (value) => (value === null || value === undefined ? '-' : Math.round(value).toLocaleString('en'));
const showShare = (value) => (isFinite(value) ? `${trimmed(value * 100)} %` : '-');
const showRate = (value, unit) => (value === null || !isFinite(value) ? '-' : `${showCount(value)}${unit}`);

// Of one launch: operations, bytes and seconds, and where that is under the machine's roofs.
const machine = report.machine;
function workOf(kernel, milliseconds) {
  const seconds = milliseconds === null ? null : (milliseconds / Math.max(1, kernel.launches)) * 1e-3;
  const hasWork = kernel.operations > 0 && kernel.bytes > 0;
  const intensity = hasWork ? kernel.operations / kernel.bytes : null;
  const roof = hasWork ? Math.min(peak, machine.bytes_per_s * intensity) : null;
  const flops = hasWork && seconds > 0 ? kernel.operations / seconds : null;
  return {seconds, intensity, roof, flops, bytes: seconds > 0 ? kernel.bytes / seconds : null};
}
const peak =
    report.precision !== 'f32' && machine.matrix_flops_per_s ? machine.matrix_flops_per_s : machine.flops_per_s;
