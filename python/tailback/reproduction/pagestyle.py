"""Style sheet of the report."""

__all__ = ["CSS"]

CSS = """
:root { color-scheme: light; --line: #d9dde3; --soft: #f6f7f9; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 1440px; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.3rem; margin: 0 0 .3rem; }
section { border-top: 2px solid #1b1f24; margin-top: 2.5rem; padding-top: 1rem; }
.id { font-family: ui-monospace, monospace; background: var(--soft); padding: 0 .35em; border-radius: 4px; }
.reference { color: #57606a; margin: 0 0 .5rem; }
.page { max-width: 46rem; }
pre { background: var(--soft); padding: .7rem 1rem; overflow-x: auto; font-size: 13px; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; font-size: 13.5px; margin: .6rem 0; }
th, td { border: 1px solid var(--line); padding: .25rem .55rem; text-align: left; vertical-align: top; }
th { background: var(--soft); } .n { text-align: right; font-variant-numeric: tabular-nums; }
tfoot td { font-weight: 600; }
td.reproduced { background: #dff3e4; } td.not-reproduced { background: #ffd9d6; } td.undecided { background: #fff0c2; }
td.none { color: #9aa3ad; }
.block { display: grid; grid-template-columns: minmax(0, 63fr) minmax(0, 37fr); gap: 1.2rem; margin: 1.2rem 0;
  align-items: start; }
.block > figure:only-child { grid-column: 1 / -1; max-width: 860px; }
figure { margin: 0; } figcaption { color: #57606a; font-size: 13.5px; } figure img { width: 100%; height: auto; }
.claim { border: 1px solid var(--line); border-left: 6px solid #9aa3ad; border-radius: 4px; padding: .5rem .7rem;
  margin-bottom: .6rem; background: #fff; break-inside: avoid; }
.claims.alone { columns: 2; column-gap: 1.2rem; }
.claim.reproduced { border-left-color: #1a7f37; } .claim.not-reproduced { border-left-color: #cf222e; }
.claim.undecided { border-left-color: #bf8700; }
.verdict { font-size: 12px; font-weight: 600; padding: .05rem .45rem; border-radius: 9px; background: #eaeef2;
  white-space: nowrap; }
.verdict.reproduced { background: #dff3e4; color: #116329; }
.verdict.not-reproduced { background: #ffd9d6; color: #a40e26; }
.verdict.undecided { background: #fff0c2; color: #7d4e00; }
.headline { margin: .3rem 0 0; font-size: 13px; font-style: italic; } .made { font-size: 12px; color: #6e7781; }
.made code { overflow-wrap: anywhere; } .claim table { font-size: 12.5px; margin: .3rem 0; }
.claim details { margin: .3rem 0 0; font-size: 13px; }
.filters label { margin-left: .8rem; white-space: nowrap; }
body:has(#show-reproduced:not(:checked)) .claim.reproduced, body:has(#show-undecided:not(:checked)) .claim.undecided,
body:has(#show-not-reproduced:not(:checked)) .claim.not-reproduced,
body:has(#show-calibrated:not(:checked)) .claim.calibrated,
body:has(#show-comparison:not(:checked)) .claim.comparison { display: none; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 .7rem; margin: .35rem 0 0; font-size: 13px; }
p.notes { margin: .3rem 0 0; font-size: 12.5px; color: #57606a; }
dt { color: #57606a; } dd { margin: 0; }
details { margin: .8rem 0; } summary { cursor: pointer; } .wide { overflow-x: auto; }
@media (max-width: 800px) { .block { grid-template-columns: 1fr; } .claims.alone { columns: 1; } }
@media print { body { max-width: none; } details { display: none; } }
"""
