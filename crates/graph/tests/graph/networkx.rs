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
}

impl Case {
    /// The edges of two owners: every other one each.
    fn owners(&self) -> Vec<Vec<Edge>> {
        let of = |parity: usize| {
            let own = self.edges.iter().enumerate().filter(|(i, _)| i % 2 == parity);
            own.map(|(_, (source, target))| edge(*source, *target)).collect()
        };
        vec![of(0), of(1)]
    }

    fn terms(&self, program: Program, shown: Shown) -> Terms {
        let edges = u32::try_from(self.edges.len()).unwrap().max(1);
        Terms { undirected: self.undirected, ..terms(self.vertices, edges, program, shown) }
    }
}

#[test]
fn results_are_those_of_networkx() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../fixtures/networkx.json")).unwrap();
    assert_eq!(cases.len(), 204, "the fixture has all cases");
    for (number, case) in (0u64..).zip(&cases) {
        if !nightly() && number % 40 > 1 && number < 200 {
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
    }
}
