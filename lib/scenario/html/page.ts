/** Markup of a page: text that cannot become markup, tables, style. */
import type { TableData } from '../result/table.js'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns text as it may stand in markup and in attributes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, one => ENTITIES[one]!)
}

/** A table that scrolls by itself where the window is narrower. */
export function htmlTable({ head, rows, leftColumns }: TableData): string {
  const cells = (tag: 'th' | 'td', row: readonly string[]) =>
    row.map((cell, i) => `<${tag}${i < leftColumns ? '' : ' class="n"'}>${escaped(cell)}</${tag}>`).join('')
  const body = rows.map(row => `<tr>${cells('td', row)}</tr>`).join('\n')
  return `<div class="scroll"><table><thead><tr>${cells('th', head)}</tr></thead>\n<tbody>\n${body}\n</tbody></table></div>\n`
}

export function htmlSection(title: string, content: string): string {
  return content === '' ? '' : `<section><h2>${escaped(title)}</h2>\n${content}</section>\n`
}

/** Lines as they stand in a terminal. */
export function htmlLines(text: string): string {
  return text === '' ? '' : `<pre>${escaped(text.trimEnd())}</pre>\n`
}

export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}</main>
</body>
</html>
`
}

/** Colours 1 to 8 are those of lines, and distinct for people who do not see all colours (Okabe and Ito, 2008). */
const STYLE = `
:root { color-scheme: light dark; --text: #1b1f24; --dim: #5b6572; --back: #fff; --plot: #f5f7f9; --rule: #d5dbe1;
  --c1: #0072b2; --c2: #d55e00; --c3: #009e73; --c4: #cc79a7; --c5: #b58900; --c6: #56b4e9; --c7: #7a5195; --c8: #6b7280 }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ec; --dim: #9aa5b1; --back: #15181c; --plot: #1d2228; --rule: #343b44;
  --c1: #4aa8e0; --c2: #f08c3f; --c3: #2bc79a; --c4: #dd9cc0; --c5: #e0b030; --c6: #8fd0f5; --c7: #b08ad0; --c8: #9ca3af } }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif }
main { max-width: 72rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem } h3 { font-size: .95rem; margin: 1.4rem 0 .2rem }
p { margin: .3rem 0; color: var(--dim) } code, pre { font: 13px/1.4 ui-monospace, monospace }
pre { overflow-x: auto; background: var(--plot); padding: .6rem; margin: .5rem 0 } details pre { max-height: 30rem }
.scroll { overflow: auto; max-height: 32rem; margin-bottom: 1rem } table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem .2rem 0; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--rule) }
th { position: sticky; top: 0; background: var(--back); color: var(--dim); font-weight: 600 } .n { text-align: right }
.figures { display: flex; flex-wrap: wrap; gap: .4rem 2rem; margin: 1rem 0 } .figures b { display: block; font-size: 1.2rem; font-weight: 600 }
.figures span { color: var(--dim); font-size: 13px }
.chart { display: grid; grid-template-columns: 4.6rem 1fr; column-gap: .4rem; font-size: 12px; color: var(--dim) }
.y { position: relative } .y span { position: absolute; right: 0; transform: translateY(-50%); white-space: nowrap }
.chart svg { width: 100%; height: 100%; display: block; background: var(--plot) }
.x { grid-column: 2; display: flex; justify-content: space-between } .x span { white-space: nowrap }
svg path { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; stroke: currentColor } svg path.dashed { stroke-dasharray: 6 4 } svg path.area { stroke: none; fill: currentColor; fill-opacity: .18 }
svg line { vector-effect: non-scaling-stroke; stroke: var(--rule); stroke-width: 1 } svg line.mark { stroke: currentColor; stroke-opacity: .55 }
.event { color: var(--text) } svg line.event { stroke: currentColor; stroke-dasharray: 4 3 } svg line.band { stroke-dasharray: none; stroke-opacity: .8 }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; font-size: 12.5px; margin: .2rem 0 .6rem } .legend i { display: inline-block; width: 1.1em; height: .22em; margin-right: .4em; vertical-align: middle; background: currentColor }
.legend span span { color: var(--text) }
${Array.from({ length: 8 }, (_, i) => `.c${i + 1} { color: var(--c${i + 1}) }`).join(' ')}
@media (max-width: 40rem) { .chart { grid-template-columns: 3.6rem 1fr } .x span:nth-child(even) { display: none } }
`
