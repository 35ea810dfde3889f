//! Equality with networkx on random multigraphs and public graphs (`fixtures/make.py`).

use ostrakon_graph::asked::{Program, Shown, Terms, Values};
use ostrakon_graph::owner::Edge;
use serde::Deserialize;

use crate::common::{edge, nightly};
use crate::service::{honest, terms};

#[derive(Deserialize)]
struct Case {
    name: String,
    vertices: u32,
    edges: Vec<(u32, u32)>,
    source: u32,
    hops: u32,
    undirected: bool,
    distances: Vec<Option<u64>>,
    in_degrees: Vec<u64>,
    out_degrees: Vec<u64>,
    katz: Vec<u64>,
    lengths: Vec<u32>,
    shortest: Vec<Option<u64>>,
    components: Vec<u64>,
    across: u32,
    ranks: Vec<f64>,
    top: Vec<Option<u64>>,
}

/// As in `fixtures/make.py`.
const WITHIN: u32 = 8;
const TOP: u32 = 3;
const LONGEST: u32 = 4;

impl Case {
    /// The edges of two owners: every other one each.
    fn owners(&self) -> Vec<Vec<Edge>> {
        let of = |parity: usize| {
            let own = self.edges.iter().enumerate().filter(|(i, _)| i % 2 == parity);
            own.map(|(_, (source, target))| edge(*source, *target)).collect()
        };
        vec![of(0), of(1)]
    }

    /// The same, each edge as long as it is.
    fn owners_of_lengths(&self) -> Vec<Vec<Edge>> {
        let mut owners = self.owners();
        for (i, length) in self.lengths.iter().enumerate() {
            let edge = &mut owners[i % 2][i / 2];
            *edge = edge.delayed(*length, self.vertices);
        }
        owners
    }

    fn terms(&self, program: Program, shown: Shown) -> Terms {
        let edges = u32::try_from(self.edges.len()).unwrap().max(1);
        Terms { undirected: self.undirected, ..terms(self.vertices, edges, program, shown) }
    }
}

fn cases() -> Vec<Case> {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../fixtures/networkx.json")).unwrap();
    assert_eq!(cases.len(), 204, "the fixture has all cases");
    cases
}

#[test]
fn results_are_those_of_networkx() {
    for (number, case) in (0u64..).zip(&cases()) {
        if !nightly() && number % 50 > 1 && number < 200 {
            continue;
        }
        let (owners, name) = (case.owners(), &case.name);
        let ask = |program: Program, shown| honest(&case.terms(program, shown), &owners, number).1;
        let distances = Program::Distances { from: vec![case.source], hops: case.hops };
        let want = Values::Vertices(case.distances.clone());
        assert_eq!(ask(distances, Shown::Vertices), want, "{name}: distances");
        let values =
            |degrees: &[u64]| Values::Vertices(degrees.iter().copied().map(Some).collect());
        let got = ask(Program::InDegrees, Shown::Vertices);
        assert_eq!(got, values(&case.in_degrees), "{name}: in-degrees");
        let counts = values(&case.out_degrees).counts();
        let got = ask(Program::OutDegrees, Shown::Counts);
        assert_eq!(got, Values::Counts(counts), "{name}: out-degrees");
        let got = ask(Program::Katz { base: 10, hops: case.hops }, Shown::Vertices);
        assert_eq!(got, values(&case.katz), "{name}: Katz centrality");
        let (from, within, longest) = (vec![case.source], WITHIN, LONGEST);
        let shortest = case.terms(Program::Shortest { from, within, longest }, Shown::Vertices);
        let got = honest(&shortest, &case.owners_of_lengths(), number).1;
        assert_eq!(got, Values::Vertices(case.shortest.clone()), "{name}: shortest ways");
        let components = case.terms(Program::Components { hops: case.across }, Shown::Vertices);
        let components = Terms { undirected: true, ..components };
        let got = honest(&components, &owners, number).1;
        assert_eq!(got, values(&case.components), "{name}: components");
    }
}

#[test]
fn ranks_and_the_highest_degrees_are_those_of_networkx() {
    for (number, case) in (0u64..).zip(&cases()) {
        if !nightly() && number != 1 {
            continue;
        }
        let (owners, name) = (case.owners(), &case.name);
        let ask = |program: Program, shown| honest(&case.terms(program, shown), &owners, number).1;
        let top = ask(Program::InDegrees, Shown::Top(TOP.min(case.vertices)));
        assert_eq!(top, Values::Vertices(case.top.clone()), "{name}: highest degrees");
        let ranks = ask(Program::Pagerank { damping: 500, hops: 20 }, Shown::Vertices);
        let Values::Vertices(ranks) = ranks else { panic!("{name}: no ranks") };
        for (rank, want) in ranks.iter().zip(&case.ranks) {
            let rank = rank.unwrap() as f64 / f64::from(1 << 30);
            assert!((rank - want).abs() < 4e-6, "{name}: {rank} {want}");
        }
    }
}
