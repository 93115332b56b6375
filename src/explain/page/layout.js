// A layered drawing of a graph (Sugiyama, Tagawa and Toda, 1981): ranks by longest paths, an order within each by
// barycenters, coordinates by what each is joined with. The same graph gives the same drawing. What is deeper than wide
// is folded into columns, as a newspaper is.

const longestWithBends = 12;  // Ranks that an edge may cross and still be led around what is between.

// Boxes have w and h; edges join numbers of boxes. Gives boxes their x and y, and a list of points for each edge.
function drawLayers(boxes, edges, {gapX, gapY, aspect = 0}) {
  const graph = withBends(boxes, edges);
  orderLayers(graph);
  placeLayers(graph, gapX);
  const columns = foldLayers(graph, gapX, gapY, aspect);
  const all = graph.points;
  boxes.forEach((box, number) => {
    box.x = all[number].x - box.w / 2;
    box.y = all[number].y;
  });
  const paths = graph.chains.map((chain) => chain.map((number, place) => {
    const point = all[number];
    return [point.x, place === 0 ? point.y + point.h : point.y];
  }));
  return {...columns, paths};
}

function ranksOf(boxes, edges) {
  const count = boxes.length;
  const above = Array.from({length: count}, () => []);
  const below = Array.from({length: count}, () => []);
  for (const [from, to] of edges)
    if (from < to) {
      below[from].push(to);
      above[to].push(from);
    }
  const rank = new Array(count).fill(0);
  for (let i = 0; i < count; ++i)
    for (const j of above[i]) rank[i] = Math.max(rank[i], rank[j] + 1);
  // What depends on loose boxes alone, such as on constants, stands with its readers, and so does what few read from.
  const isFree = boxes.map(() => false);
  for (let i = 0; i < count; ++i) isFree[i] = !!boxes[i].isLoose && above[i].every((j) => isFree[j]);
  for (let i = count - 1; i >= 0; --i)
    if (below[i].length && (isFree[i] || below[i].length >= above[i].length))
      rank[i] = Math.min(...below[i].map((j) => rank[j])) - 1;
  return rank;
}

// The graph with points where edges bend in ranks that they pass.
function withBends(boxes, edges) {
  const rank = ranksOf(boxes, edges);
  const least = boxes.length ? rank.reduce((a, b) => Math.min(a, b)) : 0;
  const points = boxes.map((box, number) => ({w: box.w, h: box.h, rank: rank[number] - least, up: [], down: []}));
  const join = (from, to) => {
    points[from].down.push(to);
    points[to].up.push(from);
  };
  const chains = edges.map(([from, to]) => {
    const chain = [from];
    const span = points[to].rank - points[from].rank;
    if (span >= 1 && span <= longestWithBends) {
      for (let step = 1; step < span; ++step) {
        points.push({w: 10, h: 0, rank: points[from].rank + step, up: [], down: []});
        join(chain[chain.length - 1], points.length - 1);
        chain.push(points.length - 1);
      }
      join(chain[chain.length - 1], to);
    }
    chain.push(to);
    return chain;
  });
  const layers = [];
  points.forEach((point, number) => (layers[point.rank] ||= []).push(number));
  return {points, chains, layers: Array.from(layers, (layer) => layer || [])};
}

function orderLayers({points, layers}) {
  const sweeps = points.length > 6000 ? 2 : 6;
  const number = (layer) => layer.forEach((id, place) => (points[id].place = place));
  layers.forEach(number);
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    const side = sweep % 2 ? 'down' : 'up';
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      for (const id of layer) {
        const others = points[id][side];
        points[id].wish =
            others.length ? sum(others.map((other) => points[other].place)) / others.length : points[id].place;
      }
      layer.sort((a, b) => points[a].wish - points[b].wish || points[a].place - points[b].place);
      number(layer);
    }
  }
}

// Centers as near to what they are joined with as the order allows.
function placeLayers({points, layers}, gap) {
  const apart = (a, b) => (points[a].w + points[b].w) / 2 + gap;
  for (const layer of layers) {
    let x = 0;
    layer.forEach((id, place) => (points[id].x = x = place ? x + apart(layer[place - 1], id) : 0));
  }
  for (let sweep = 0; sweep < 8; ++sweep) {
    const side = sweep % 2 ? 'down' : 'up';
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const wishes = layer.map((id) => {
        const others = points[id][side];
        return others.length ? sum(others.map((other) => points[other].x)) / others.length : points[id].x;
      });
      const right = [], left = [];
      for (let i = 0; i < layer.length; ++i)
        right[i] = i ? Math.max(wishes[i], right[i - 1] + apart(layer[i - 1], layer[i])) : wishes[i];
      for (let i = layer.length - 1; i >= 0; --i)
        left[i] = i < layer.length - 1 ? Math.min(wishes[i], left[i + 1] - apart(layer[i], layer[i + 1])) : wishes[i];
      layer.forEach((id, i) => (points[id].x = (left[i] + right[i]) / 2));
    }
  }
}

// Layers from top to bottom, in so many columns that the whole is seen largest in a frame of the aspect.
function foldLayers({points, layers}, gapX, gapY, aspect) {
  const heights = layers.map((layer) => Math.max(0, ...layer.map((id) => points[id].h)) + gapY);
  const lows = layers.map((layer) => Math.min(...layer.map((id) => points[id].x - points[id].w / 2)));
  const highs = layers.map((layer) => Math.max(...layer.map((id) => points[id].x + points[id].w / 2)));
  const total = sum(heights);
  const cut = (count) => {
    const columns = [];
    let height = 0, width = 0;
    for (let first = 0, last = 0; first < layers.length; first = last) {
      let column = 0;
      while (last < layers.length && (last === first || column + heights[last] / 2 <= total / count))
        column += heights[last++];
      const low = Math.min(...lows.slice(first, last)), high = Math.max(...highs.slice(first, last));
      columns.push({first, last, shift: width - low});
      width += high - low + 4 * gapX;
      height = Math.max(height, column - gapY);
    }
    return {columns, width: Math.max(0, width - 4 * gapX), height};
  };
  const size = (folded) => Math.min(aspect / folded.width, 1 / folded.height);
  let best = cut(1);
  for (let count = 2; aspect && count <= Math.min(30, layers.length); ++count) {
    const folded = cut(count);
    if (size(folded) > size(best)) best = folded;
  }
  for (const {first, last, shift} of best.columns)
    for (let layer = first, y = 0; layer < last; y += heights[layer++])
      for (const id of layers[layer]) {
        points[id].x += shift;
        points[id].y = y;
      }
  return best;
}

// A smooth line through points, that leaves and arrives upright.
function lineThrough(path) {
  let line = `M${path[0][0].toFixed(1)} ${path[0][1].toFixed(1)}`;
  for (let i = 1; i < path.length; ++i) {
    const [x0, y0] = path[i - 1], [x1, y1] = path[i];
    const bend = y1 > y0 ? (y1 - y0) / 2 : 40;
    line += `C${x0.toFixed(1)} ${(y0 + bend).toFixed(1)} ${x1.toFixed(1)} ${(y1 - bend).toFixed(1)} ${x1.toFixed(1)} ${
        y1.toFixed(1)}`;
  }
  return line;
}
