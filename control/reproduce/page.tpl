{{%AUTOESCAPE context="HTML"}}<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>bfly: what the papers say, and what was measured</title>
<style>
:root {
  {{#LIGHT}}--{{NAME}}: {{COLOUR}};
  {{/LIGHT}}--shade: #f5f6f8;
  --quiet: #59616a;
  --pass: #12703c;
  --fail: #b0142f;
  --invariant: #1a5c99;
  --vacuous: #7a5a00;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    {{#DARK}}--{{NAME}}: {{COLOUR}};
    {{/DARK}}--shade: #1c2126;
    --quiet: #9aa3ad;
    --pass: #5fd08e;
    --fail: #ff8293;
    --invariant: #6db3f2;
    --vacuous: #e0bd55;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto;
  max-width: 68rem;
  padding: 2.5rem 1.5rem 5rem;
  background: var(--paper);
  color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif;
}
h1 { margin: 0 0 .4rem; font-size: 1.9rem; line-height: 1.2; letter-spacing: -.01em; }
h2 { margin: 3.5rem 0 .2rem; padding-top: 1.2rem; border-top: 2px solid var(--ink); font-size: 1.35rem; line-height: 1.3; }
h3 { margin: 2.2rem 0 .5rem; font-size: 1.05rem; }
h4 { margin: 1.8rem 0 .2rem; font-size: 1rem; }
p { margin: .4rem 0; }
a { color: inherit; text-decoration-color: var(--frame); text-underline-offset: .15em; }
code, pre, .id { font-family: ui-monospace, "SFMono-Regular", "Liberation Mono", Menlo, Consolas, monospace; font-size: .84em; }
.quiet { color: var(--quiet); }
.small { font-size: .875rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--quiet); font-size: .8125rem; vertical-align: bottom; }
th, td { padding: .3rem .8rem .3rem 0; }
td { vertical-align: top; }
.number { text-align: right; white-space: nowrap; }
.summary { margin: 1.4rem 0 .6rem; }
.summary td, .summary th { border-bottom: 1px solid var(--faint); padding-top: .45rem; padding-bottom: .45rem; }
.summary .number { width: 6.2rem; }
.summary tr:last-child td { border-bottom: 0; font-weight: 600; }
.summary .none { color: var(--frame); font-weight: 400; }
.points { display: block; color: var(--quiet); font-size: .75rem; font-weight: 400; line-height: 1.2; }
.verdict {
  display: inline-block;
  min-width: 6.6rem;
  padding: .05rem .5rem;
  border: 1px solid currentColor;
  border-radius: .25rem;
  font-size: .71875rem;
  font-weight: 700;
  letter-spacing: .04em;
  text-align: center;
  white-space: nowrap;
}
.PASS { color: var(--pass); } .FAIL { color: var(--fail); } .INVARIANT { color: var(--invariant); }
.VACUOUS { color: var(--vacuous); } .NOT-MEASURED { color: var(--quiet); }
.verdict.NOT-MEASURED { border-style: dashed; }
.verdict.FAIL { background: var(--fail); color: var(--paper); border-color: var(--fail); }
.statements { margin-top: .6rem; font-size: .875rem; }
.statements tbody { border-top: 1px solid var(--faint); }
.statements .says td { padding-top: .7rem; padding-bottom: .15rem; font-size: .9375rem; }
.statements tbody tr:last-child td { padding-bottom: .7rem; }
.statements .first { width: 7.9rem; }
.statements th.number { width: 5.6rem; }
.statements th.interval { width: 10.5rem; }
.statements th.trials { width: 3.6rem; }
.statements .tests { width: 6.5rem; }
.statements .id { color: var(--quiet); }
details { margin: .3rem 0; }
summary { cursor: pointer; color: var(--quiet); font-size: .8125rem; }
details table { margin: .3rem 0 .6rem; font-size: .8125rem; }
details td, details th { padding-top: .1rem; padding-bottom: .1rem; }
pre { margin: .4rem 0; padding: .7rem .9rem; overflow-x: auto; background: var(--shade); border-radius: .3rem; line-height: 1.4; }
figure { margin: .8rem 0 1.2rem; overflow-x: auto; }
figure svg { display: block; max-width: 100%; height: auto; font-family: Arial, "Liberation Sans", Helvetica, sans-serif; }
figcaption { margin-top: .3rem; color: var(--quiet); font-size: .8125rem; }
.notice { margin: 1rem 0; padding: .6rem .9rem; border-left: 4px solid var(--vacuous); background: var(--shade); }
.notice.bad { border-color: var(--fail); }
ol.differences { padding-left: 1.4rem; font-size: .9375rem; }
ol.differences li { margin: .35rem 0; }
{{SVG_RULES:none}}@media (max-width: 46rem) {
  body { padding: 1.2rem .9rem 3rem; font-size: 15px; }
}
@media print {
  @page { size: A4; margin: 16mm 14mm; }
  body { max-width: none; padding: 0; font-size: 9.5pt; }
  h1 { font-size: 17pt; } h2 { font-size: 13pt; } h3 { font-size: 11pt; }
  .statements, .small, .statements .says td { font-size: 8.5pt; }
  h2, h3, h4, .says { break-after: avoid; }
  tbody, figure, tr { break-inside: avoid; }
  section.paper { break-before: page; }
  details, .more { display: none; }
  th, td { padding-right: .5rem; }
  .statements .first { width: 6.6rem; }
  .verdict { min-width: 0; font-size: 7pt; }
  .wide, figure { overflow: visible; }
  a { text-decoration: none; }
  .verdict { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
</style>
</head>
<body>
<header>
<h1>What the papers say, and what bfly measured</h1>
<p class="quiet">bfly {{VERSION}}, {{MODE}}, {{DAY}}. {{EXPERIMENTS}} in {{TIME}} on {{MACHINE}}, built by {{COMPILER}}.</p>
</header>
{{#INCOMPLETE}}<p class="notice"><b>This page is incomplete:</b> {{FINISHED}} of {{PLANNED}} experiments have run. The same command goes on where it stopped: <code>{{COMMAND}}</code></p>
{{/INCOMPLETE}}{{#FAILURES}}<p class="notice bad"><b>{{COUNT}} failed:</b> {{#FAILURE}}<a href="#{{ANCHOR}}">{{SOURCE}}</a>{{#FAILURE_separator}}; {{/FAILURE_separator}}{{/FAILURE}}.</p>
{{/FAILURES}}<div class="wide"><table class="summary">
<thead><tr><th>Paper</th>{{#COLUMN}}<th class="number">{{WORD}}</th>{{/COLUMN}}</tr></thead>
<tbody>
{{#ROW}}<tr><td>{{#LINKED}}<a href="#{{ANCHOR}}">{{NAME}}</a> <span class="quiet id">{{KEY_NAME}}</span>{{/LINKED}}{{#PLAIN}}{{NAME}}{{/PLAIN}}</td>{{#CELL}}<td class="number {{CLASS}}">{{STATEMENTS}}{{#POINTS}}<span class="points">{{POINTS_TEXT}}</span>{{/POINTS}}</td>{{/CELL}}</tr>
{{/ROW}}</tbody>
</table></div>
<p class="small quiet">Each number counts statements; below it, the tests of these statements: one for each point of an experiment. <b>PASS</b> and <b>FAIL</b> are evidence: the
statement was tested and agrees with what was measured, or does not. <b>INVARIANT</b> holds by construction and was checked all the same. <b>VACUOUS</b>: the statement bounds
nothing at the sizes that were run; the measured value is shown. A statement that was tested at several points stands in the column of its most telling test: FAIL, else PASS, INVARIANT, VACUOUS. If all its statements
are true, an experiment has any FAIL with a probability of 0.001 at most.</p>
{{#PAPER}}
<section class="paper" id="{{ANCHOR}}">
<h2>{{TITLE}}</h2>
<p class="quiet">{{AUTHORS}}{{#KEY}} <code>--paper {{NAME}}</code>{{/KEY}}</p>
{{#DIFFERENCES}}<h3>Where bfly differs from the paper, and why</h3>
<ol class="differences">
{{#DIFFERENCE}}<li id="{{ANCHOR}}"><b>{{SOURCE}}.</b> {{TEXT}}</li>
{{/DIFFERENCE}}</ol>
{{/DIFFERENCES}}{{#STATEMENTS}}<h3>Statements</h3>
<p class="small quiet">Where a statement was tested at many points, the line shows the most telling verdict (FAIL, PASS, INVARIANT, VACUOUS) and, among the points that have it, the one whose interval comes closest to contradicting the statement. The interval decides, not the mean.</p>
<div class="wide"><table class="statements">
<thead><tr><th class="first">Verdict</th><th>Statement; measured at</th><th class="number">The paper</th><th class="number">Measured</th><th class="number interval">Interval</th><th class="number trials">Trials</th><th class="tests">Tests</th></tr></thead>
{{#STATEMENT}}<tbody id="{{ANCHOR}}">
<tr class="says"><td class="first"><span class="verdict {{CLASS}}">{{VERDICT}}</span></td><td colspan="6"><b>{{SOURCE}}.</b> {{SAYS}}{{#SEE}} <a class="small" href="#{{DIFFERENCE_ANCHOR}}">See difference {{NUMBER}}.</a>{{/SEE}} <span class="id">{{ID}}</span></td></tr>
{{#REASON}}<tr><td></td><td colspan="6" class="quiet">{{WHY}}</td></tr>
{{/REASON}}{{#EVIDENCE}}<tr><td></td><td><a href="#{{EXPERIMENT_ANCHOR}}">{{EXPERIMENT}}</a> <span class="quiet">{{POINT}}{{#NOTE}}: {{NOTE_TEXT}}{{/NOTE}}</span></td><td class="number">{{THEORY}}</td><td class="number">{{MEASURED}}</td><td class="number">{{INTERVAL}}</td><td class="number">{{TRIALS}}</td><td>{{COUNTS}}</td></tr>
{{#MORE}}<tr class="more"><td></td><td colspan="6"><details><summary>{{MORE_TEXT}}</summary><table><thead><tr><th>Point</th><th class="number">The paper</th><th class="number">Measured</th><th class="number">Interval</th><th class="number">Trials</th><th>Verdict</th></tr></thead><tbody>
{{#POINT_ROW}}<tr><td>{{POINT}}</td><td class="number">{{THEORY}}</td><td class="number">{{MEASURED}}</td><td class="number">{{INTERVAL}}</td><td class="number">{{TRIALS}}</td><td>{{VERDICT}}{{#POINT_NOTE}}: {{NOTE_TEXT}}{{/POINT_NOTE}}</td></tr>
{{/POINT_ROW}}</tbody></table></details></td></tr>
{{/MORE}}{{/EVIDENCE}}</tbody>
{{/STATEMENT}}{{#UNMEASURED}}<tbody>
<tr class="says"><td class="first"><span class="verdict NOT-MEASURED">NOT MEASURED</span></td><td colspan="6"><b>{{SOURCE}}.</b> {{SAYS}}</td></tr>
<tr><td></td><td colspan="6" class="quiet">{{WHY}}</td></tr>
</tbody>
{{/UNMEASURED}}</table></div>
{{/STATEMENTS}}{{#EXPERIMENTS_PART}}<h3>Experiments and figures</h3>
{{#EXPERIMENT_PART}}<section id="{{ANCHOR}}">
<h4>{{TITLE}} <span class="id quiet">{{NAME}}</span></h4>
<p class="small quiet">{{WHAT}}</p>
{{#NOTE}}<p class="small">{{NOTE_TEXT}}</p>
{{/NOTE}}{{#FIGURE}}<figure>{{SVG:none}}</figure>
{{/FIGURE}}<details><summary>Measure it again</summary><pre>{{RERUN}}</pre></details>
<details><summary>Effective configuration</summary><pre>{{CONFIGURATION}}</pre></details>
{{#TEXT}}<details><summary>{{TEXT_NAME}}</summary><pre>{{TEXT_BODY}}</pre></details>
{{/TEXT}}</section>
{{/EXPERIMENT_PART}}{{/EXPERIMENTS_PART}}</section>
{{/PAPER}}
<footer>
<h2>How to read this page, and how to make it again</h2>
<p class="small">Every number on this page was measured by <code>{{COMMAND}}</code> with bfly {{VERSION}}. Under the virtual clock the same experiment with the same seeds gives the same results to
the bit, on every machine. All tests of an experiment share an error of 0.001 (Bonferroni): each test gets its part, and its interval is so wide that it misses the truth with that
probability at most. Intervals of means are Student's t over independent seeds (wider where most seeds agree on 0 or 1, or count no event), those of probabilities Clopper-Pearson; “exact” stands where nothing is random or where one violation
in any trial is a FAIL. The column “The paper” holds the value that the statement gives at the point. In the figures bands and thin lines are the bounds of the paper, rings its exact values,
bars 95 % intervals.</p>
</footer>
</body>
</html>
