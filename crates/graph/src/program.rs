//! Vertex programs: what travels along edges, and what becomes of it at a vertex
//! (`docs/spec/graph.md`, section 7).
//!
//! Programs are linear. Everything else (which vertices were reached, which counts are large
//! enough) is decided on the results, in [`crate::output`].

use ostrakon_field::{Fp61, Gf64, WordField};
use ostrakon_party::wire;

/// What an edge does to the value that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along<F> {
    /// Multiplies it by an element of its own, which is tossed once all lists are sealed: what
    /// arrives over several edges then does not cancel. The rows of vertices do the same, so a
    /// value also stays where it is.
    Coin,
    /// Multiplies it by this. What the rows of vertices carry is taken away again.
    Times(F),
}

/// The value of a vertex after a hop: `gathered`·(sum over its edges) + `kept`·(value before) +
/// `added`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next<F> {
    /// Coefficient of what arrived.
    pub gathered: F,
    /// Coefficient of the value before.
    pub kept: F,
    /// What is added.
    pub added: F,
}

/// A linear computation on a graph.
pub trait VertexProgram {
    /// The field of the values.
    type F: WordField;

    /// The program's name and parameters, as they stand in the job's descriptor.
    fn describe(&self) -> Vec<u8>;

    /// The public value of a vertex before the first hop. A secret input is added to it.
    fn start(&self, vertex: u32) -> Self::F;

    /// What edges do in a hop; nothing if not said otherwise.
    fn along(&self, _hop: u32) -> Along<Self::F> {
        Along::Times(Self::F::ONE)
    }

    /// What becomes of a vertex after a hop: what arrived, if not said otherwise.
    fn next(&self, _hop: u32) -> Next<Self::F> {
        Next { gathered: Self::F::ONE, kept: Self::F::ZERO, added: Self::F::ZERO }
    }

    /// What a hop begins with.
    fn begins(&self, _hop: u32) -> Begin {
        Begin::GoesOn
    }
}

/// What a hop begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// What the hop before has made.
    GoesOn,
    /// Values under masks of their own, since something that is not linear stands between the hops
    /// ([`crate::ranking`]).
    Masked,
    /// Values that everybody knows ([`crate::components`]).
    Public,
    /// Every use of the hop begins with an opening under its own masks, since what stands between
    /// uses is not linear either ([`crate::graphsc`]). A program has such hops only.
    EachUse,
}

/// Which vertices can be reached: breadth-first search from known vertices, or from those of a
/// secret input (contact tracing). A value of zero after t hops means "not within t hops", up to
/// t/(2^64 − 1).
pub struct Reach {
    /// Where it begins, in ascending order.
    pub sources: Vec<u32>,
}

impl VertexProgram for Reach {
    type F = Gf64;

    fn describe(&self) -> Vec<u8> {
        wire::encode(&("reach", &self.sources))
    }

    fn start(&self, vertex: u32) -> Gf64 {
        if self.sources.binary_search(&vertex).is_ok() { Gf64::ONE } else { Gf64::ZERO }
    }

    fn along(&self, _hop: u32) -> Along<Gf64> {
        Along::Coin
    }
}

/// Bits of the numbers of so many vertices, and at least one.
pub fn number_bits(vertices: u32) -> u32 {
    (u32::BITS - vertices.saturating_sub(1).leading_zeros()).max(1)
}

/// Bits of ranks behind the point: all ranks together are 2^30 ([`crate::ranking`]).
pub const POINT: usize = 30;

/// The bits of numbers up to this one: the word of zero.
pub(crate) fn numbers(most: u32) -> u64 {
    (1 << (most + 1)) - 1
}

/// The number that a word of numbers up to `most` is; none if it is larger.
#[must_use]
pub fn number(word: Gf64, most: u32) -> Option<u64> {
    let at_most = word.0 & numbers(most);
    (at_most != 0).then(|| u64::from(at_most.trailing_zeros()))
}

/// After how many hops each of so many vertices was reached for the first time, from 1, of bits
/// that
/// say it hop after hop.
pub fn first_hops(reached: &[bool], vertices: usize) -> Vec<Option<u32>> {
    let hops = || (1..).zip(reached.chunks_exact(vertices));
    let first = |vertex: usize| hops().find(|(_, bits)| bits[vertex]).map(|(hop, _)| hop);
    (0..vertices).map(first).collect()
}

/// How many edges lead to each vertex; with a backward job, from each vertex. Edges without source
/// or target count in neither. One hop.
pub struct Degree;

impl VertexProgram for Degree {
    type F = Fp61;

    fn describe(&self) -> Vec<u8> {
        wire::encode(&"degree")
    }

    fn start(&self, _vertex: u32) -> Fp61 {
        Fp61::ONE
    }
}

/// Katz centrality with attenuation 1/`base`, cut off after the job's hops and scaled to integers:
/// after D hops the value of v is Σ_{t ≤ D} base^{D−t} · (walks of length t that end at v). The
/// results are true as long as they are below 2^61 − 1.
pub struct Katz {
    /// The inverse of the attenuation.
    pub base: u64,
}

impl VertexProgram for Katz {
    type F = Fp61;

    fn describe(&self) -> Vec<u8> {
        wire::encode(&("katz", self.base))
    }

    fn start(&self, _vertex: u32) -> Fp61 {
        Fp61::ONE
    }

    // k_{t+1} = A·k_t + base^{t+1}, from k_0 = 1.
    fn next(&self, hop: u32) -> Next<Fp61> {
        let added = Fp61::new(self.base).pow_vartime(u64::from(hop) + 1);
        Next { gathered: Fp61::ONE, kept: Fp61::ZERO, added }
    }
}
