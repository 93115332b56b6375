// The parts of the page below the graph.

function showFacts() {
  const facts = [
    [report.target, report.level, report.precision].filter(Boolean).join(', '),
    nodes.length ? `${nodes.length + report.graph.left_out} nodes, ${kernels.length} kernels` :
                   `${kernels.length} kernels`,
  ];
  replaceIn(
      document.getElementById('facts'), facts.join(' · '), ' · predicted ', figure(report.predicted_ms, showMs),
      ' · measured ', figure(report.measured_ms, showMs), ` · kintsugi ${report.compiler}`);
  for (const note of report.notes || []) document.querySelector('header').append(el('p', {class: 'warning'}, note));
}

const columns = [
  {name: 'kernel', of: (kernel) => kernel.number, show: (kernel) => kernelLink(kernel.number)},
  {
    name: 'predicted',
    right: true,
    of: (kernel) => kernel.predicted_ms,
    show: (kernel) => figure(kernel.predicted_ms, showMs)
  },
  {
    name: 'measured',
    right: true,
    of: (kernel) => kernel.measured_ms,
    show: (kernel) => figure(kernel.measured_ms, showMs)
  },
  {name: 'share', right: true, of: (kernel) => kernel.time_ms, show: (kernel) => showShare(kernel.time_ms / timeTotal)},
  {
    name: 'measured / predicted',
    right: true,
    of: (kernel) => (kernel.measured_ms || 0) / kernel.predicted_ms,
    show: (kernel) => (kernel.measured_ms ? trimmed(kernel.measured_ms / kernel.predicted_ms) : '-')
  },
  {name: 'bytes', right: true, of: (kernel) => kernel.bytes, show: (kernel) => figure(kernel.bytes, showBytes)},
  {
    name: 'operations',
    right: true,
    of: (kernel) => kernel.operations || 0,
    show: (kernel) => figure(kernel.operations, showCount)
  },
  {
    name: 'of the roof',
    right: true,
    of: (kernel) => {
      const work = workOf(kernel, kernel.time_ms);
      return work.roof ? work.flops / work.roof : -1;
    },
    show: (kernel) => {
      const work = workOf(kernel, kernel.time_ms);
      return work.roof ? showShare(work.flops / work.roof) : '-';
    }
  },
  {name: 'nodes', right: true, of: (kernel) => kernel.nodes.length, show: (kernel) => String(kernel.nodes.length)},
];
let sorting = {column: 0, down: false};

function showKernels() {
  const {column, down} = sorting;
  const order = [...kernels].sort(
      (a, b) => (columns[column].of(a) - columns[column].of(b)) * (down ? -1 : 1) || a.number - b.number);
  const heads = columns.map(
      (each, i) =>
          el('th', {
            scope: 'col',
            class: each.right ? 'right' : null,
            'aria-sort': i === column ? (down ? 'descending' : 'ascending') : 'none'
          },
             el('button', {
               type: 'button',
               onclick: () => {
                 sorting = {column: i, down: i === column ? !down : i > 0};
                 showKernels();
               }
             },
                each.name, i === column ? (down ? ' ↓' : ' ↑') : '')));
  const rows = order.map(
      (kernel) =>
          el('tr', {'data-kernel': kernel.number},
             columns.map((each) => el('td', {class: each.right ? 'right' : null}, each.show(kernel)))));
  const place = document.getElementById('kernels');
  place.querySelector('.scroll')?.remove();
  place.append(
      el('div', {class: 'scroll tall'}, el('table', {}, el('thead', {}, el('tr', {}, heads)), el('tbody', {}, rows))));
  markRows(state.kernel);
}
function markRows(selected) {
  for (const row of document.querySelectorAll('#kernels tbody tr'))
    row.classList.toggle('selected', row.dataset.kernel === String(selected));
}

function choicePart(choice) {
  const priced = choice.alternatives.filter((each) => each.more_ms !== null);
  const isForms = choice.among === 'forms';
  return el(
      'article', {}, el('h3', {}, isForms ? 'Among equal forms of the program' : 'Among kernels of the chosen form'),
      el('p', {},
         isForms ? 'Rules and formats make equal programs of a program, its forms. The solver chooses among the ' +
                 'kernels of all of them at once, part by part.' :
                   'Groups of definitions that have a schedule are candidates. The solver chooses those that compute' +
                 ' every definition once in the least time.'),
      definitionList([
        ['definitions', figure(choice.definitions, showWhole), ', each to be computed once, or to be done without'],
        ['candidates', figure(choice.candidates, showWhole)],
        choice.forms.length > 0 &&
            [
              'forms', figure(choice.forms.length, String), el('ol', {}, choice.forms.map((form) => el('li', {}, form)))
            ],
        [
          'objective', figure(choice.objective_ms, showMs),
          isForms ? ` as the choice counts it: kernels that only other forms than that of the rules have count for ${
                        showShare(choice.margin)} more, by which they have to win` :
                    ''
        ],
        ['bound', figure(choice.bound_ms, showMs), ': no plan of these candidates takes less'],
        [
          'gap', figure(choice.gap, showShare),
          choice.gap === 0 ? ', the plan is proven to be the best of these candidates' : ''
        ],
        [
          'alternatives',
          `${choice.alternatives.length} are shown beside their kernels, and ${choice.not_told} more were looked at; ${
              priced.length} were solved for again`
        ],
      ]),
      priced.length ? el('div', {class: 'priced'},
                         table(
                             ['solved again with a kernel for', {text: 'price', right: true}, 'made by', 'instead of'],
                             pricedRows(choice, priced))) :
                      '');
}
function pricedRows(choice, priced) {
  return [...priced]
      .sort((a, b) => a.more_ms - b.more_ms)
      .map(
          (each) =>
              el('tr', {}, el('td', {class: 'mono'}, shortened(each.stores.join(', '), 60)),
                 el('td', {class: 'right price', title: priceNote(each)}, priceOf(each)),
                 el('td', {title: each.forms.join('; ')}, madeBy(choice, each)),
                 el('td', {}, each.kernels.map((kernel) => [kernelLink(kernel), ' ']))));
}

function showChoice() {
  const told = document.getElementById('choice');
  if (report.objective_seconds !== undefined)
    fill(told, {}, [el('p', {}, 'The plan that ships takes ', figure(report.objective_seconds * 1e3, showMs),
                       ' as predicted, with a gap of ', figure(report.gap, showShare), ' in all. It is made of ',
                       figure(report.definitions, showWhole), ' definitions, of which there were ',
                       figure(report.candidates, showWhole), ' candidates for kernels.')]);
  if (choices.length)
    fill(told, {}, [
      el('p', {},
         'The price of an alternative is by how much the best plan that has it takes longer than the best ' +
             'plan, by the same predictions. ' +
             'For some it was found by solving the problem again without all that the alternative excludes. ' +
             'For the others there is a bound: the reduced cost of the problem’s linear relaxation, which the ' +
             'price is never below.'),
      el('div', {class: 'plots'}, choices.map(choicePart))
    ]);
  else
    fill(told, {}, [el('p', {class: 'note'},
                       report.decisions ?
                           'No alternatives were asked for.' :
                           'An artifact does not say what was decided; explain the model that it was made of.')]);
}

const isFormOf = (rule) => (form) => form.split(/: |; |, then /).includes(rule.name);

function recordItem(record) {
  const numbers = Object.entries(record.numbers)
                      .map(
                          ([name, number]) => `${name} ${
                              number.unit === 's'         ? showMs(number.value === null ? null : number.value * 1e3) :
                                  number.unit === 'bytes' ? showBytes(number.value) :
                                                            `${number.value} ${number.unit}`.trim()}`);
  return el(
      'li', {}, el('b', {}, record.subject), ': ', record.decision,
      record.reasons.length ? el('span', {class: 'note'}, `, because ${record.reasons.join('; ')}`) : '',
      numbers.length ? el('span', {class: 'note'}, ` (${numbers.join(', ')})`) : '');
}

function showRules() {
  const place = document.getElementById('rules');
  const forms = unique(choices.flatMap((choice) => choice.forms));
  const all = report.rules.filter((rule) => rule.kind === 'rule');
  const told = all.map((rule) => ({
                         rule,
                         records: decisions.records.filter((record) => record.rule === rule.name),
                         forms: forms.filter(isFormOf(rule))
                       }));
  const used = told.filter((each) => each.records.length || each.forms.length);
  place.append(
      el('p', {},
         `A rule says that some expressions equal others. ${used.length} of ${
             all.length} found something to change in this model or said why not.`));
  for (const {rule, records, forms: made} of [...used, ...told.filter((each) => !used.includes(each))])
    place.append(
        el('details', {class: 'rule' + (records.length || made.length ? '' : ' unused')},
           el('summary', {}, el('b', {}, rule.name),
              ` ${made.length ? `changed ${made.length} form${made.length > 1 ? 's' : ''}` : ''}${
                  records.length ? `${made.length ? ', ' : ''}${records.length} decision${
                                       records.length > 1 ? 's' : ''} in what was chosen` :
                                   ''}${records.length || made.length ? '' : 'nothing to tell'}`),
           el('p', {class: 'equation'}, rule.what), definitionList([
             ['in numbers', rule.exactness], rule.assumes && ['assumed to be finite', rule.assumes],
             rule.source && ['from', rule.source], ['for targets', [].concat(rule.targets).join(', ')],
             made.length > 0 && ['forms', made.join('; ')]
           ]),
           records.length ? el('ul', {}, records.slice(0, 200).map(recordItem)) : '',
           records.length > 200 ? el('p', {class: 'note'}, `and ${records.length - 200} more`) : ''));
}

function showDecisions() {
  const place = document.getElementById('decisions');
  if (!report.decisions) {
    place.append(el('p', {class: 'note'}, 'An artifact does not say what was decided.'));
    return;
  }
  const whole = decisions.records.filter((record) => !record.rule);
  if (whole.length)
    place.append(el('h3', {}, 'Of the program as a whole'), el('ul', {}, whole.slice(0, 60).map(recordItem)));
  const phases = unique(decisions.summary.map((kind) => kind.phase));
  fill(place, {}, [
    el('h3', {}, 'By kind'),
    phases.map(
        (phase) =>
            el('details', {}, el('summary', {}, el('b', {}, phase)),
               el('ul', {},
                  decisions.summary.filter((kind) => kind.phase === phase)
                      .slice(0, 100)
                      .map(
                          (kind) =>
                              el('li', {}, kind.count > 1 ? `${kind.count} times, ` : '', el('b', {}, kind.subject),
                                 ': ', kind.decision,
                                 kind.reasons.length ?
                                     el('ul', {},
                                        kind.reasons.slice(0, 12).map(
                                            (each) => el(
                                                'li', {class: 'note'},
                                                kind.count > 1 ? `${each.count} because ` : 'because ', each.reason))) :
                                     '')))))
  ]);
}
