//! What is computed of which graph: the parameters of a draft (`docs/spec/graph.md`, section 12).

use std::collections::BTreeSet;

use ostrakon_computation::{Draft, Parameters};
use ostrakon_crypto::Digest;
use ostrakon_field::P61;
use ostrakon_party::wire;
use serde::{Deserialize, Serialize};

use super::noise::{EPSILON, Noise};
use super::program::{Program, Shown};
use super::{JOB, NotGraphs, ReaderKey, SERVERS};
use crate::blocks::{minima_products, minima_rounds};
use crate::edges::{Names, Third};
use crate::params::{MAX_RANKED_EDGES, MAX_THRESHOLD};
use crate::program::{POINT, number_bits};
use crate::spec::Decoys;

/// Names up to so many bytes stand in the draft itself.
const INLINE: usize = 40_000;
/// Most vertices of a graph.
pub const MOST_VERTICES: u32 = 1 << 20;
/// Most edges of one owner.
pub const MOST_EDGES: u32 = 1 << 20;
/// How many hops may be asked for.
pub const HOPS: std::ops::RangeInclusive<u32> = 1..=32;
/// Words of eight bytes that a server may have in memory of all lists and hops together: what two
/// gigabytes bear.
pub const MOST_WORDS: u64 = 250_000_000;
/// Words of each row of a list for each hop: the uses, what was opened and what was sent for them.
const WORDS_OF_A_HOP: u64 = 20;
/// Words of each row besides, the order check's most of all.
const WORDS_OF_A_ROW: u64 = 105;
/// Words that dividing one number takes: its mask's bits, products and what verifies them.
const WORDS_OF_A_QUOTIENT: u64 = 3500;
/// Words that it takes to find out whether one vertex is among the first.
const WORDS_OF_A_PLACE: u64 = 4000;
/// Most vertices that are ranked, or of which the first are sought: each takes about 250 products
/// in each hop, and 350 in the end.
const MOST_RANKED: u32 = 1 << 13;
/// How long the longest edge may be: a list has as many rows for each vertex.
pub const LENGTHS: std::ops::RangeInclusive<u32> = 1..=16;
/// Most processors of scatter and gather: with as many as there are rows no more help.
const MOST_PROCESSORS: u32 = 1 << 20;
/// Words of eight bytes that a product takes: its element sent and received, which stay until all
/// have signed, and while its batch is computed and verified its factors and what verifies them.
const WORDS_OF_A_PRODUCT: u64 = 2;
const WORDS_OF_A_PRODUCT_AT_WORK: u64 = 24;
/// Most vertices of which it is shown that they are the first.
pub const MOST_SHOWN: u32 = 1000;
/// Most rows of vertices and decoys.
const MOST_DECOYS: u32 = 1 << 20;
/// Most elements of a result for one reader, which everybody gets under masks: 16 MiB.
const MOST_CLOSED: usize = 1 << 21;
/// Most vertices from which distances are counted.
const MOST_SOURCES: usize = 1000;
/// The largest number that the field of Katz centrality tells from all others.
const MOST_KATZ: u128 = P61 as u128 - 1;
/// Most further questions about the same contributions, and longest time that these are kept: what
/// who contributes can survey.
const MOST_QUESTIONS: u32 = 20;
const MOST_DAYS: u32 = 30;
/// With fewer vertices than these besides the sources, counts of distances could be as good as the
/// distances: who chooses the sources knows which vertices are left.
const FEWEST_COUNTED: u32 = 10;

/// How vertices are called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Naming {
    /// By their numbers, from 0.
    Numbers,
    /// By these names, in the vertices' order.
    Names(Vec<String>),
    /// By the names in a file, one a line, that everybody has; its BLAKE3 digest as
    /// [`Names::digest`] makes it.
    File(Digest),
}

impl Naming {
    /// How a draft holds these names: itself, up to 40,000 bytes of them; else it names their file.
    pub fn of(names: &Names) -> Self {
        let list = names.list();
        if list.iter().map(|name| name.len() + 2).sum::<usize>() <= INLINE {
            Self::Names(list)
        } else {
            Self::File(names.digest())
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// How many vertices there are, the same for all owners.
    pub vertices: u32,
    /// How they are called.
    pub naming: Naming,
    /// Most edges of one owner. Everybody hands in as many rows, so nobody's number is seen.
    pub edges: u32,
    /// Whether an edge leads in both directions.
    pub undirected: bool,
    /// Whether a line's third field counts: so many edges, which take as many rows.
    pub weighted: bool,
    /// What is computed.
    pub program: Program,
    /// What is shown of it.
    pub shown: Shown,
    /// The noise on it, if it is not exact.
    pub noise: Option<Noise>,
    /// Who alone can read what is shown; none for everybody with the link.
    pub reader: Option<ReaderKey>,
    /// How long contributions are kept for more questions; none if they are erased when all have
    /// signed the result.
    pub keep: Option<Keep>,
}

/// How long sealed contributions are kept, and for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keep {
    /// So many more questions of who asked, about the same contributions: anything that can be
    /// asked of graphs with lists like these.
    pub questions: u32,
    /// That begin within so many days.
    pub days: u32,
}

/// Why something cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTerms {
    /// The number of vertices.
    #[error("a graph has 1 to {MOST_VERTICES} vertices")]
    Vertices,
    /// The names.
    #[error("there must be one name for each vertex, each once, on one line of its own")]
    Names,
    /// The number of edges.
    #[error("an owner has 1 to {MOST_EDGES} edges")]
    Edges,
    /// The sources.
    #[error("distances are counted from 1 to {MOST_SOURCES} vertices of the graph, each once")]
    Sources,
    /// The hops.
    #[error("hops are {} to {}", HOPS.start(), HOPS.end())]
    Hops,
    /// The attenuation.
    #[error("the attenuation must be 2 or more, and small enough for the hops")]
    Katz,
    /// The walks.
    #[error(
        "this many walks cannot be counted: with this attenuation and {hops} hops the edges of all \
         owners together may be {most}, and of {owners} owners they may be {edges}; ask for fewer \
         hops or edges, a lower attenuation, or fewer owners"
    )]
    Walks {
        /// The hops.
        hops: u32,
        /// The owners.
        owners: usize,
        /// How many edges they may have together.
        edges: u64,
        /// How many can be counted with.
        most: u64,
    },
    /// Counts that are as good as distances.
    #[error(
        "counts of so few would tell the distance of each: the graph must have {FEWEST_COUNTED} or \
         more vertices besides those from which distances are counted"
    )]
    Telling,
    /// Lengths.
    #[error(
        "the longest edge may be {} to {} long, and the graph may have {MOST_VERTICES} vertices \
         divided by that; lengths are no weights", LENGTHS.start(), LENGTHS.end()
    )]
    Lengths,
    /// Processors.
    #[error(
        "scatter and gather have 1 to {MOST_PROCESSORS} processors, and the distance of each \
         vertex is shown: ask without --processors for counts"
    )]
    Processors,
    /// Components.
    #[error(
        "components are of graphs whose edges lead in both directions, and every vertex's is shown \
         to everybody"
    )]
    Components,
    /// The first ones.
    #[error(
        "the first 1 to {MOST_SHOWN} can be shown of degrees and ranks, of up to {MOST_RANKED} \
         vertices"
    )]
    Top,
    /// The number of edges.
    #[error("the number of edges belongs to no vertex: show counts")]
    Total,
    /// The ranking.
    #[error(
        "ranks are of up to {MOST_RANKED} vertices and {MAX_RANKED_EDGES} edges of all owners \
         together, with a damping of 1 to 999 thousandths, and the value of each vertex is shown"
    )]
    Ranks,
    /// The noise.
    #[error(
        "noise hides an edge in the number of edges and in counts of degrees only, with an epsilon \
         of {} to {} thousandths and counts of 1 to {MAX_THRESHOLD} degrees",
        EPSILON.start(), EPSILON.end()
    )]
    Noise,
    /// The keeping.
    #[error(
        "contributions are kept for 1 to {MOST_QUESTIONS} more questions and 1 to {MOST_DAYS} \
         days, and a further question keeps nothing itself"
    )]
    Keep,
    /// The threshold.
    #[error("a threshold is 1 to {MAX_THRESHOLD}, and only for degrees")]
    Threshold,
    /// A result for one reader.
    #[error(
        "a result for one reader has at most {MOST_CLOSED} values, and this one has {0}: ask for \
         fewer vertices or hops"
    )]
    Closed(usize),
    /// Lists of another form.
    #[error(
        "a further question is about lists like those of the first one: the same vertices and \
         names, edges of one contributor, direction, weights and lengths"
    )]
    OtherLists,
    /// All together.
    #[error(
        "this is too much to compute of {0} owners: ask for fewer hops, vertices or edges, or of \
         fewer owners"
    )]
    TooMuch(usize),
    /// The minimum, where anyone may contribute.
    #[error(
        "where anyone may contribute, this can be computed of {most} contributors, and the minimum \
         is {minimum}: lower it, ask for fewer hops, vertices or edges, or invite contributors"
    )]
    Minimum {
        /// The minimum.
        minimum: u32,
        /// How many contributors each server takes.
        most: usize,
    },
}

impl Terms {
    /// Whether this can be asked of so many owners.
    ///
    /// # Errors
    /// [`BadTerms`].
    pub fn validate(&self, owners: usize) -> Result<(), BadTerms> {
        let ensure = |holds: bool, bad: BadTerms| if holds { Ok(()) } else { Err(bad) };
        ensure((1..=MOST_VERTICES).contains(&self.vertices), BadTerms::Vertices)?;
        ensure((1..=MOST_EDGES).contains(&self.edges), BadTerms::Edges)?;
        if let Naming::Names(names) = &self.naming {
            let plain = |name: &String| Names::is_name(name);
            let once = names.iter().collect::<BTreeSet<_>>().len() == names.len();
            let fits = names.len() == self.vertices as usize && names.iter().all(plain);
            ensure(fits && once, BadTerms::Names)?;
        }
        ensure(HOPS.contains(&self.program.asked_hops()), BadTerms::Hops)?;
        match &self.program {
            Program::Distances { from, .. }
            | Program::Reach { from, .. }
            | Program::Shortest { from, .. } => {
                let nodes = u64::from(self.vertices) * u64::from(self.program.delays());
                let third = self.program.third(self.weighted);
                let lengths = match third {
                    Third::Length(longest) => LENGTHS.contains(&longest) && !self.weighted,
                    _ => true,
                };
                ensure(lengths && nodes <= u64::from(MOST_VERTICES), BadTerms::Lengths)?;
                let ascend = from.windows(2).all(|pair| pair[0] < pair[1]);
                let known = from.last().is_some_and(|last| *last < self.vertices);
                ensure(ascend && known && from.len() <= MOST_SOURCES, BadTerms::Sources)?;
                let others = self.vertices - from.len() as u32;
                let tells = self.shown == Shown::Counts && others < FEWEST_COUNTED;
                ensure(!tells, BadTerms::Telling)?;
            }
            Program::Katz { base, hops } => {
                ensure(*base >= 2, BadTerms::Katz)?;
                let most = most_katz_edges(*base, *hops).ok_or(BadTerms::Katz)?;
                let edges = owners as u64 * u64::from(self.cap());
                let rows = if self.undirected { 2 } else { 1 };
                let (hops, edges, most) = (*hops, edges / rows, most / rows);
                ensure(edges <= most, BadTerms::Walks { hops, owners, edges, most })?;
            }
            Program::Pagerank { damping, .. } => {
                let edges = owners as u64 * u64::from(self.cap());
                let fits = self.vertices <= MOST_RANKED && edges <= MAX_RANKED_EDGES;
                let shown = matches!(self.shown, Shown::Vertices | Shown::Top(_));
                ensure(fits && shown && (1..1000).contains(damping), BadTerms::Ranks)?;
            }
            Program::Components { .. } => {
                let all = self.shown == Shown::Vertices && self.reader.is_none();
                ensure(self.undirected && all, BadTerms::Components)?;
            }
            Program::Edges => ensure(self.shown == Shown::Counts, BadTerms::Total)?,
            Program::InDegrees | Program::OutDegrees => {}
        }
        self.validate_modes()?;
        self.validate_noise()?;
        if let Shown::AtLeast(threshold) = self.shown {
            let degrees = self.program.counts_edges();
            let fits = (1..=MAX_THRESHOLD).contains(&threshold);
            ensure(degrees && fits, BadTerms::Threshold)?;
        }
        if let Shown::Top(count) = self.shown {
            let ranks = matches!(self.program, Program::Pagerank { .. });
            let fits = (1..=self.vertices.min(MOST_SHOWN)).contains(&count);
            let few = self.vertices <= MOST_RANKED;
            ensure((ranks || self.program.counts_edges()) && fits && few, BadTerms::Top)?;
        }
        let closed = self.reader.map_or(0, |_| self.closed_words());
        ensure(closed <= MOST_CLOSED, BadTerms::Closed(closed))?;
        ensure(owners <= self.most_owners(), BadTerms::TooMuch(owners))
    }

    /// How it is computed, and how long contributions are kept.
    fn validate_modes(&self) -> Result<(), BadTerms> {
        if let Some(processors) = self.program.processors() {
            let fits = (1..=MOST_PROCESSORS).contains(&processors);
            if !fits || self.shown != Shown::Vertices {
                return Err(BadTerms::Processors);
            }
        }
        match self.keep {
            Some(Keep { questions, days })
                if !(1..=MOST_QUESTIONS).contains(&questions)
                    || !(1..=MOST_DAYS).contains(&days) =>
            {
                Err(BadTerms::Keep)
            }
            _ => Ok(()),
        }
    }

    /// Noise hides what has a sensitivity: one more edge is one more, or moves a vertex by one
    /// degree. How many vertices are reached can change by all of them.
    fn validate_noise(&self) -> Result<(), BadTerms> {
        let Some(noise) = self.noise else { return Ok(()) };
        let counted = match self.program {
            Program::Edges => noise.bins == 0,
            Program::InDegrees | Program::OutDegrees => {
                self.shown == Shown::Counts && (1..=MAX_THRESHOLD).contains(&noise.bins)
            }
            _ => false,
        };
        let fits = || {
            let rows = self.decoys().map_or(0, |decoys| decoys.rows());
            self.vertices + rows <= MOST_DECOYS
        };
        let sound = counted && EPSILON.contains(&noise.epsilon) && fits();
        if sound { Ok(()) } else { Err(BadTerms::Noise) }
    }

    /// Coins of the noise on each number that is shown; 0 without noise.
    pub fn coins(&self) -> u32 {
        self.noise.map_or(0, |noise| noise.coins(&self.program, self.undirected))
    }

    /// The rows that are shuffled among the vertices' values, so that they are counted with noise.
    pub fn decoys(&self) -> Option<Decoys> {
        let noise = self.noise.filter(|_| self.program != Program::Edges)?;
        Some(Decoys { bins: noise.bins, each: self.coins() })
    }

    /// What a contributor's part in the result can tell of it, in thousandths of ε; none if the
    /// result is exact. Noise hides an edge, and a contributor may have as many as the cap: another
    /// list in the place of its own moves their number by the cap at most, and counts of degrees by
    /// all edges that go and all that come.
    pub fn epsilon(&self) -> Option<u64> {
        let changes = if self.program == Program::Edges { 1 } else { 2 };
        self.noise.map(|noise| changes * u64::from(noise.epsilon) * u64::from(self.edges))
    }

    /// Whether this can be asked about so many lists that were made for an earlier question.
    ///
    /// # Errors
    /// Why not.
    pub fn validate_again(&self, earlier: &Self, lists: usize) -> Result<(), BadTerms> {
        let ensure = |holds: bool, bad: BadTerms| if holds { Ok(()) } else { Err(bad) };
        let rows = |terms: &Self| {
            let delays = terms.program.delays();
            (terms.vertices, terms.edges, terms.undirected, terms.weighted, delays)
        };
        let same = rows(self) == rows(earlier) && self.naming == earlier.naming;
        ensure(same, BadTerms::OtherLists)?;
        ensure(self.keep.is_none(), BadTerms::Keep)?;
        self.validate(lists)
    }

    /// Whether this can be asked of whoever wants to contribute: each server takes its part of what
    /// all together can compute on, and the minimum has to fit into it.
    ///
    /// # Errors
    /// [`BadTerms`].
    pub fn validate_for_anyone(&self, minimum: u32) -> Result<(), BadTerms> {
        self.validate(0)?;
        let most = self.most_owners() / SERVERS;
        match minimum as usize <= most {
            true => Ok(()),
            false => Err(BadTerms::Minimum { minimum, most }),
        }
    }

    /// Elements of a result for one reader: whether a vertex was reached is asked after each hop;
    /// a value with a threshold takes two.
    pub fn closed_words(&self) -> usize {
        let each = match (&self.program, self.shown) {
            (Program::Distances { processors: Some(_), .. }, _) => 1,
            (Program::Distances { hops, .. } | Program::Shortest { within: hops, .. }, _) => {
                *hops as usize
            }
            (Program::Edges, _) => return 1,
            (_, Shown::AtLeast(_) | Shown::Top(_)) => 2,
            _ => 1,
        };
        let decoys = self.decoys().map_or(0, |decoys| decoys.rows());
        (self.vertices + decoys) as usize * each
    }

    /// How many hops are computed.
    pub fn hops(&self) -> u32 {
        match &self.program {
            Program::Components { hops } => hops.saturating_mul(number_bits(self.vertices)),
            // One more, backward, counts what ranks are divided by.
            Program::Pagerank { hops, .. } => hops.saturating_add(1),
            program => program.asked_hops(),
        }
    }

    /// Edge rows of a list: an edge in both directions takes two.
    pub fn cap(&self) -> u32 {
        if self.undirected { 2 * self.edges } else { self.edges }
    }

    /// Vertices, the delayed ones included.
    pub fn nodes(&self) -> u32 {
        self.vertices.saturating_mul(self.program.delays())
    }

    /// Rows of a list.
    pub fn rows(&self) -> u32 {
        self.nodes().saturating_add(self.cap())
    }

    /// Bits of the highest value that so many lists can lead to, where the first are sought.
    pub fn value_bits(&self, lists: usize) -> usize {
        let most = match self.program {
            // All ranks together are one.
            Program::Pagerank { .. } => 1 << POINT,
            _ => lists as u64 * u64::from(self.cap()),
        };
        (u64::BITS - most.leading_zeros()) as usize
    }

    /// Words of eight bytes that a server has in memory while it computes on so many lists: what
    /// was measured, rounded up.
    pub fn words(&self, lists: usize) -> u64 {
        let row = WORDS_OF_A_HOP * u64::from(self.hops()) + WORDS_OF_A_ROW;
        // Between hops the vertices' values are kept: what everybody knows, masks, what was
        // shuffled.
        let values = 4 * u64::from(self.hops()) * u64::from(self.nodes());
        let besides = match (&self.program, self.decoys()) {
            (Program::Pagerank { .. }, _) => u64::from(self.vertices) * WORDS_OF_A_QUOTIENT,
            (_, Some(decoys)) => {
                let rows = u64::from(self.vertices) + u64::from(decoys.rows());
                rows * (WORDS_OF_A_ROW + 10 * u64::from(decoys.bins + 1))
            }
            _ => 0,
        };
        let first = match self.shown {
            Shown::Top(_) => u64::from(self.vertices) * WORDS_OF_A_PLACE,
            _ => 0,
        };
        let values = values + besides + first + self.words_of_processors(lists);
        (lists as u64).saturating_mul(u64::from(self.rows()) * row).saturating_add(values)
    }

    /// Words that scatter and gather take besides.
    fn words_of_processors(&self, lists: usize) -> u64 {
        let Some(processors) = self.program.processors() else { return 0 };
        let rows = self.rows() as usize * lists.max(1);
        let products = minima_products(rows, processors, self.hops()) as u64;
        let of_each = WORDS_OF_A_PRODUCT * u64::from(self.hops()) + WORDS_OF_A_PRODUCT_AT_WORK;
        products.saturating_mul(of_each)
    }

    /// How many lists' rows so many processors go through in as many rounds as a batch may have.
    fn most_in_rounds(&self, processors: u32) -> u64 {
        let rows = self.rows() as usize;
        let fits = |lists: &usize| {
            minima_rounds(rows * lists, processors) < crate::params::MAX_PRODUCT_ROUNDS
        };
        (1..=crate::params::MAX_LISTS).take_while(fits).count() as u64
    }

    /// How many owners' lists can be computed on at a time.
    pub fn most_owners(&self) -> usize {
        // Not by one list's share: what scatter and gather take grows with all lists' rows.
        let fit = |lists: &usize| self.words(*lists) <= MOST_WORDS;
        let mut owners = (1..=crate::params::MAX_LISTS).take_while(fit).count() as u64;
        let edges = match self.program {
            Program::Katz { base, hops } => most_katz_edges(base, hops).unwrap_or(0),
            Program::Pagerank { .. } => MAX_RANKED_EDGES,
            _ => u64::MAX,
        };
        owners = owners.min(edges / u64::from(self.cap().max(1)));
        if let Some(processors) = self.program.processors() {
            owners = owners.min(self.most_in_rounds(processors));
        }
        usize::try_from(owners).unwrap_or(usize::MAX)
    }
}

/// How many edge rows a graph may have so that Katz centrality's values are true; none if there is
/// no such number.
///
/// With E edge rows, kₜ₊₁(v) = Σ kₜ(u) + baseᵗ⁺¹ over v's edges is at most E·max kₜ + baseᵗ⁺¹, and
/// where all are one loop at one vertex it is that: owners may have as many parallel edges as rows.
fn most_katz_edges(base: u64, hops: u32) -> Option<u64> {
    let true_with = |edges: u64| {
        let (mut value, mut power) = (1u128, 1u128);
        for _ in 0..hops {
            power *= u128::from(base);
            value = u128::from(edges) * value + power;
            if value > MOST_KATZ {
                return false;
            }
        }
        true
    };
    // Both factors of each product are below 2^64.
    let (mut least, mut beyond) = (0, 1 << 32);
    if !true_with(least) {
        return None;
    }
    while beyond - least > 1 {
        let middle = least + (beyond - least) / 2;
        if true_with(middle) { least = middle } else { beyond = middle }
    }
    Some(least)
}

/// Terms as a draft's parameters.
pub fn parameters(terms: &Terms) -> Parameters {
    Parameters(wire::encode(terms))
}

/// The terms of a draft.
///
/// # Errors
/// [`NotGraphs`].
pub fn terms(draft: &Draft) -> Result<Terms, NotGraphs> {
    if draft.job != JOB {
        return Err(NotGraphs::Job(draft.job.clone()));
    }
    let terms: Terms = wire::decode(&draft.parameters.0).map_err(|_| NotGraphs::Version)?;
    terms.validate(draft.minimum as usize)?;
    Ok(terms)
}

#[cfg(test)]
mod tests;
