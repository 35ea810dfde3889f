//! Equality with networkx on random multigraphs and public graphs (`fixtures/make.py`).

use ostrakon_graph::asked::{Program, Shown, Terms, Values};
use ostrakon_graph::owner::Edge;
use serde::Deserialize;

use crate::common::{edge, nightly};
use crate::graphsc::minima_of;
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
    reached: Vec<bool>,
    total: u64,
    weights: Vec<usize>,
    strength: Vec<u64>,
    attenuation: u64,
    steps: u32,
    centrality: Vec<f64>,
}

/// As in `fixtures/make.py`.
const WITHIN: u32 = 8;
const TOP: u32 = 3;
const LONGEST: u32 = 4;
/// Degrees below it are not shown.
const THRESHOLD: u32 = 3;

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

    /// The same, each edge as often as its weight says.
    fn owners_of_weights(&self) -> Vec<Vec<Edge>> {
        let owners = self.owners();
        let mut weighted = vec![Vec::new(), Vec::new()];
        for (i, weight) in self.weights.iter().enumerate() {
            weighted[i % 2].extend(std::iter::repeat_n(owners[i % 2][i / 2], *weight));
        }
        weighted
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
        let distances =
            Program::Distances { from: vec![self.source], hops: self.hops, processors: None };
        let got = self.ask(number, distances, Shown::Vertices);
        assert_eq!(got, Values::Vertices(self.distances.clone()), "{}: distances", self.name);
    }

    /// What is decided on results, and what counts edges.
    fn reach_edges_and_degrees_are_right(&self, number: u64) {
        let name = &self.name;
        let reach = Program::Reach { from: vec![self.source], hops: self.hops };
        let reached = self.reached.iter().map(|reached| reached.then_some(1)).collect();
        let got = self.ask(number, reach, Shown::Vertices);
        assert_eq!(got, Values::Vertices(reached), "{name}: reach");
        let got = self.ask(number, Program::Edges, Shown::Counts);
        assert_eq!(got, Values::Total(self.total), "{name}: edges");
        let large = self.in_degrees.iter().map(|d| Some(*d).filter(|d| *d >= THRESHOLD.into()));
        let got = self.ask(number, Program::InDegrees, Shown::AtLeast(THRESHOLD));
        assert_eq!(got, Values::Vertices(large.collect()), "{name}: degrees from a number on");
        let weighted = self.terms(Program::InDegrees, Shown::Vertices);
        let most = self.weights.iter().sum::<usize>().max(1);
        let weighted = Terms { weighted: true, edges: u32::try_from(most).unwrap(), ..weighted };
        let got = honest(&weighted, &self.owners_of_weights(), number).1;
        assert_eq!(got, values(&self.strength), "{name}: strength");
    }

    /// Walks of so many steps, scaled back, are the limit but for a part of 4^-steps.
    fn katz_is_right(&self, number: u64) {
        let (base, hops) = (self.attenuation, self.steps);
        let Values::Vertices(walks) =
            self.ask(number, Program::Katz { base, hops }, Shown::Vertices)
        else {
            panic!("{}: no centralities", self.name)
        };
        let scale = (base as f64).powi(i32::try_from(hops).unwrap());
        for (walks, want) in walks.iter().zip(&self.centrality) {
            let got = walks.unwrap() as f64 / scale;
            let near = want * 4f64.powi(-i32::try_from(hops).unwrap()) + 1e-8;
            assert!((got - want).abs() < near, "{}: {got} {want}", self.name);
        }
    }

    fn minima_are_right(&self, number: u64) {
        let mut graphs = self.owners();
        if self.undirected {
            for list in &mut graphs {
                list.extend(list.clone().into_iter().map(|edge| edge.back(self.vertices)));
            }
        }
        // Rounds are few where there are about as many processors as rows.
        let processors = if number < 200 { 1 + number as u32 % 5 } else { 64 };
        let got = minima_of(number, (self.vertices, self.hops), self.source, processors, &graphs);
        assert_eq!(got, self.distances, "{}: minima, {processors} processors", self.name);
    }

    fn linear_programs_are_right(&self, number: u64) {
        let name = &self.name;
        self.distances_are_right(number);
        self.reach_edges_and_degrees_are_right(number);
        self.katz_is_right(number);
        self.minima_are_right(number);
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

/// Random ones by day: three directed, three undirected, with loops and with parallel edges.
const BY_DAY: [u64; 6] = [0, 1, 51, 100, 150, 151];

#[test]
fn results_are_those_of_networkx() {
    let cases = cases();
    let undirected = BY_DAY.iter().filter(|number| cases[**number as usize].undirected).count();
    assert_eq!(undirected, 3);
    for (number, case) in (0u64..).zip(&cases) {
        if nightly() || BY_DAY.contains(&number) || number >= 200 {
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
