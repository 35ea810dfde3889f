//! The picture of the crates and of a message's way, `docs/architecture.svg`, drawn from what cargo
//! says of the workspace.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result, bail};

use crate::layers::graph::{Graph, Kind};
use crate::layers::{LAYERS, TESTKIT};
use crate::shell;

const FILE: &str = "docs/architecture.svg";
const WIDTH: usize = 1480;
const BOX: (usize, usize) = (148, 44);
const ROW: usize = 92;
const MARGIN: usize = 20;
/// Height of the title above each half.
const TITLE: usize = 54;

/// What each crate is, in a few words, and the colour of its kind.
const CRATES: [(&str, &str, &str); 32] = [
    ("kernels", "base", "bulk operations"),
    ("field", "base", "arithmetic"),
    ("crypto", "base", "hashes, keys, seals"),
    ("party", "base", "who talks to whom"),
    ("threeparty", "base", "three, one malicious"),
    ("net", "base", "TLS between servers"),
    ("store", "base", "SQLite, PostgreSQL"),
    ("agreement", "base", "asynchronous ledger"),
    ("computation", "base", "documents, seals"),
    ("replicated", "engine", "Ruffle"),
    ("additive", "engine", "Clarion"),
    ("authbits", "engine", "Stormy"),
    ("robust", "engine", "HoneyBadgerMPC"),
    ("onepass", "engine", "Canon-MPC"),
    ("mixing", "base", "rooms, engines' interface"),
    ("broadcast", "job", "boards, hosts, polls"),
    ("asynchromix", "job", "boards in spite of t"),
    ("decide", "job", "decisions"),
    ("stats", "job", "statistics"),
    ("graph", "job", "graphs"),
    ("messaging", "job", "two people talk"),
    ("protocol", "base", "requests and answers"),
    ("client", "job", "a room's participant"),
    ("job", "base", "the interface of jobs"),
    ("decisions", "job", "three servers decide"),
    ("node", "server", "three servers' rooms"),
    ("mixer", "server", "n servers' rooms"),
    ("committee", "server", "computations"),
    ("api", "server", "HTTP"),
    ("wasm", "front", "the page's part"),
    ("bench", "front", "against the limits"),
    ("", "front", "the program"),
];

/// Who takes part in a message's way.
const LANES: [&str; 5] =
    ["page or program", "api", "node", "engine (Ruffle, Clarion)", "the other two servers"];

/// A message's way through a room: from which lane to which, and what happens.
const WAY: [(usize, usize, &str); 11] = [
    (0, 1, "1  link: who the servers are, which room; checked against the link's digests"),
    (0, 2, "2  presence, signed: a place of the next epoch, please"),
    (2, 4, "3  the place is announced, echoed and written down"),
    (2, 0, "4  each server seals its seeds for this place to this person"),
    (0, 2, "5  the row under the masks of all three; the same bytes to each"),
    (2, 4, "6  collecting ends: by each server's own clock, and then by announcement"),
    (2, 3, "7  the sealed list of rows goes into the engine"),
    (3, 4, "   shuffled twice, checked, opened only when all three are content"),
    (3, 2, "8  rows in an order that nobody chose or knows"),
    (2, 4, "   signed with the digest of the board before"),
    (1, 0, "9  the board; signatures and chain are checked by who reads it"),
];

/// Draws the picture and writes it.
///
/// # Errors
/// If cargo cannot be asked, a crate has no words, or the file cannot be written.
pub fn write() -> Result<()> {
    let path = shell::root().join(FILE);
    fs::write(&path, draw(&Graph::of_workspace()?)?)
        .with_context(|| format!("{FILE} cannot be written"))
}

/// Checks that the picture shows the workspace as it is.
///
/// # Errors
/// If it does not; the error says what to run.
pub fn check() -> Result<()> {
    let kept = fs::read_to_string(shell::root().join(FILE)).unwrap_or_default();
    if kept != draw(&Graph::of_workspace()?)? {
        bail!("{FILE} shows an earlier state; `cargo xtask picture` draws it anew");
    }
    Ok(())
}

/// A crate's name as people say it.
fn short(name: &str) -> &str {
    name.strip_prefix("ostrakon").map_or(name, |rest| rest.trim_start_matches('-'))
}

/// What a crate of the workspace is directly built from, within the workspace, without what it
/// would reach through another one of these.
fn reduced(graph: &Graph) -> BTreeMap<&str, Vec<&str>> {
    let direct: BTreeMap<&str, Vec<&str>> = graph
        .crates
        .iter()
        .map(|of| {
            let edges =
                of.edges.iter().filter(|(to, kind)| *kind == Kind::Normal && graph.has_crate(to));
            (of.name.as_str(), edges.map(|(to, _)| to.as_str()).collect())
        })
        .collect();
    let through = |from: &str, to: &str| {
        let mut waiting: Vec<&str> =
            direct[from].iter().filter(|next| **next != to).copied().collect();
        while let Some(next) = waiting.pop() {
            if next == to {
                return true;
            }
            waiting.extend(&direct[next]);
        }
        false
    };
    direct
        .iter()
        .map(|(of, all)| (*of, all.iter().filter(|to| !through(of, to)).copied().collect()))
        .collect()
}

/// Where the middle of each crate's box is: programs above, foundations below; within a layer in
/// the order of what they are built from.
fn places<'a>(
    graph: &'a Graph,
    edges: &BTreeMap<&str, Vec<&str>>,
) -> BTreeMap<&'a str, (usize, usize)> {
    let shown: Vec<Vec<&str>> = LAYERS
        .iter()
        .map(|layer| {
            let there = |name: &&str| graph.has_crate(name) && *name != TESTKIT && *name != "xtask";
            layer.iter().copied().filter(there).collect::<Vec<_>>()
        })
        .filter(|layer| !layer.is_empty())
        .collect();
    let mut found = BTreeMap::new();
    for (row, layer) in shown.iter().enumerate() {
        let wish = |name: &str| {
            let below: Vec<usize> = edges[name]
                .iter()
                .filter_map(|to| found.get(to))
                .map(|place: &(usize, usize)| place.0)
                .collect();
            below.iter().sum::<usize>() / below.len().max(1)
        };
        let mut order: Vec<&str> = layer.clone();
        order.sort_by_key(|name| (wish(name), *name));
        let y = TITLE + (shown.len() - 1 - row) * ROW + BOX.1 / 2;
        let step = (WIDTH - 2 * MARGIN) / order.len();
        let placed: Vec<(&str, (usize, usize))> = order
            .iter()
            .enumerate()
            .map(|(at, name)| (*name, (MARGIN + step / 2 + at * step, y)))
            .collect();
        for (name, place) in placed {
            if let Some(of) = graph.crates.iter().find(|of| of.name == name) {
                found.insert(of.name.as_str(), place);
            }
        }
    }
    found
}

fn draw(graph: &Graph) -> Result<String> {
    let edges = reduced(graph);
    let places = places(graph, &edges);
    let bottom = places.values().map(|place| place.1).max().unwrap_or(0) + ROW;
    let height = bottom + TITLE + (WAY.len() + 1) * 38 + MARGIN;
    let mut svg = String::new();
    head(&mut svg, height)?;
    writeln!(
        svg,
        r#"<text class="title" x="{MARGIN}" y="30">The crates: each is built from those below that a line leads to</text>"#
    )?;
    for (of, all) in &edges {
        for to in all {
            if let (Some((x, y)), Some((to_x, to_y))) = (places.get(of), places.get(to)) {
                let (y, to_y) = (y + BOX.1 / 2, to_y - BOX.1 / 2);
                let middle = usize::midpoint(y, to_y);
                writeln!(
                    svg,
                    r#"<path class="edge" d="M{x},{y} C{x},{middle} {to_x},{middle} {to_x},{to_y}"/>"#
                )?;
            }
        }
    }
    for (name, (x, y)) in &places {
        let name = short(name);
        let Some((_, kind, words)) = CRATES.iter().find(|(of, ..)| *of == name) else {
            bail!("xtask/src/picture.rs has no words for the crate {name}");
        };
        let (left, top) = (x - BOX.0 / 2, y - BOX.1 / 2);
        let shown = if name.is_empty() { "ostrakon" } else { name };
        writeln!(
            svg,
            r#"<rect class="{kind}" x="{left}" y="{top}" width="{}" height="{}" rx="7"/>"#,
            BOX.0, BOX.1
        )?;
        writeln!(svg, r#"<text class="name" x="{x}" y="{}">{shown}</text>"#, y - 3)?;
        writeln!(svg, r#"<text class="words" x="{x}" y="{}">{words}</text>"#, y + 14)?;
    }
    way(&mut svg, bottom)?;
    svg.push_str("</svg>\n");
    Ok(svg)
}

fn head(svg: &mut String, height: usize) -> Result<()> {
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="The crates of Ostrakon, and the way of a message through a room">"#
    )?;
    svg.push_str(
        "<style>
text { font: 13px system-ui, sans-serif; fill: #1d1d1b; text-anchor: middle }
.title { font-size: 19px; font-weight: 600; text-anchor: start }
.name { font-weight: 600 }
.words, .step { font-size: 12px }
.step { text-anchor: start }
rect { stroke: #1d1d1b; fill: #f1efe9 }
.engine { fill: #cfe3f5 } .job { fill: #d9edcf } .server { fill: #f7e2bd } .front { fill: #f3d3cc }
.edge { fill: none; stroke: #8b8679 }
.lane { stroke: #b9b4a6 } .arrow { stroke: #7c2d12; stroke-width: 1.6; marker-end: url(#tip) }
.paper { fill: #fffdf8; stroke: none }
</style>
<defs><marker id=\"tip\" markerWidth=\"9\" markerHeight=\"9\" refX=\"8\" refY=\"4\" orient=\"auto\"><path d=\"M0,0 L9,4 L0,8 z\" fill=\"#7c2d12\"/></marker></defs>
<rect class=\"paper\" width=\"100%\" height=\"100%\"/>
",
    );
    Ok(())
}

/// The lower half: who says what to whom until a message stands on the board.
fn way(svg: &mut String, top: usize) -> Result<()> {
    writeln!(
        svg,
        r#"<text class="title" x="{MARGIN}" y="{top}">The way of a message through a room</text>"#
    )?;
    let step = (WIDTH - 2 * MARGIN) / LANES.len();
    let x = |lane: usize| MARGIN + step / 2 + lane * step;
    let foot = top + TITLE + WAY.len() * 38;
    for (lane, name) in LANES.iter().enumerate() {
        let x = x(lane);
        writeln!(svg, r#"<text class="name" x="{x}" y="{}">{name}</text>"#, top + 34)?;
        writeln!(svg, r#"<line class="lane" x1="{x}" y1="{}" x2="{x}" y2="{foot}"/>"#, top + 42)?;
    }
    for (at, (from, to, words)) in WAY.iter().enumerate() {
        let y = top + TITLE + 26 + at * 38;
        let left = x(*from.min(to)) + 8;
        writeln!(
            svg,
            r#"<line class="arrow" x1="{}" y1="{y}" x2="{}" y2="{y}"/>"#,
            x(*from),
            x(*to)
        )?;
        writeln!(svg, r#"<text class="step" x="{left}" y="{}">{words}</text>"#, y - 6)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::reduced;
    use crate::layers::graph::Graph;

    #[test]
    fn what_is_reached_through_another_has_no_line_of_its_own() {
        let graph = Graph::of_workspace().unwrap();
        let edges = reduced(&graph);
        assert!(!edges["ostrakon-api"].contains(&"ostrakon-kernels"));
        assert!(edges["ostrakon-field"].contains(&"ostrakon-kernels"));
    }
}
