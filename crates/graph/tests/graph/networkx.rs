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

/// A public graph with thousands of edges.
fn routes() -> Case {
    let cases: Vec<Case> = serde_json::from_str(include_str!("../fixtures/routes.json")).unwrap();
    let [case] = <[Case; 1]>::try_from(cases).ok().expect("one graph");
    assert_eq!((case.vertices, case.edges.len()), (305, 5_366));
    case
}

fn values(degrees: &[u64]) -> Values {
    Values::Vertices(degrees.iter().copied().map(Some).collect())
}

impl Case {
    fn ask(&self, number: u64, program: Program, shown: Shown) -> Values {
        honest(&self.terms(program, shown), &self.owners(), number).1
    }

    fn distances_are_right(&self, number: u64) {
        let distances = Program::Distances { from: vec![self.source], hops: self.hops };
        let got = self.ask(number, distances, Shown::Vertices);
        assert_eq!(got, Values::Vertices(self.distances.clone()), "{}: distances", self.name);
    }

    fn linear_programs_are_right(&self, number: u64) {
        let name = &self.name;
        self.distances_are_right(number);
        let got = self.ask(number, Program::InDegrees, Shown::Vertices);
        assert_eq!(got, values(&self.in_degrees), "{name}: in-degrees");
        let counts = values(&self.out_degrees).counts();
        let got = self.ask(number, Program::OutDegrees, Shown::Counts);
        assert_eq!(got, Values::Counts(counts), "{name}: out-degrees");
        let got = self.ask(number, Program::Katz { base: 10, hops: self.hops }, Shown::Vertices);
        assert_eq!(got, values(&self.katz), "{name}: Katz centrality");
        let (from, within, longest) = (vec![self.source], WITHIN, LONGEST);
        let shortest = self.terms(Program::Shortest { from, within, longest }, Shown::Vertices);
        let got = honest(&shortest, &self.owners_of_lengths(), number).1;
        assert_eq!(got, Values::Vertices(self.shortest.clone()), "{name}: shortest ways");
        let components = self.terms(Program::Components { hops: self.across }, Shown::Vertices);
        let components = Terms { undirected: true, ..components };
        let got = honest(&components, &self.owners(), number).1;
        assert_eq!(got, values(&self.components), "{name}: components");
    }

    fn ranks_and_the_highest_are_right(&self, number: u64) {
        let name = &self.name;
        let top = self.ask(number, Program::InDegrees, Shown::Top(TOP.min(self.vertices)));
        assert_eq!(top, Values::Vertices(self.top.clone()), "{name}: highest degrees");
        let ranking = Program::Pagerank { damping: 500, hops: 20 };
        let Values::Vertices(ranks) = self.ask(number, ranking, Shown::Vertices) else {
            panic!("{name}: no ranks")
        };
        for (rank, want) in ranks.iter().zip(&self.ranks) {
            let rank = rank.unwrap() as f64 / f64::from(1 << 30);
            assert!((rank - want).abs() < 4e-6, "{name}: {rank} {want}");
        }
    }
}

#[test]
fn results_are_those_of_networkx() {
    for (number, case) in (0u64..).zip(&cases()) {
        if nightly() || number % 50 <= 1 || number >= 200 {
            case.linear_programs_are_right(number);
        }
    }
}

#[test]
fn ranks_and_the_highest_degrees_are_those_of_networkx() {
    for (number, case) in (0u64..).zip(&cases()) {
        if nightly() || number == 1 {
            case.ranks_and_the_highest_are_right(number);
        }
    }
}

/// All programs at night, distances by day.
#[test]
fn results_on_thousands_of_routes_are_those_of_networkx() {
    let case = routes();
    if !nightly() {
        return case.distances_are_right(300);
    }
    case.linear_programs_are_right(300);
    case.ranks_and_the_highest_are_right(300);
}
