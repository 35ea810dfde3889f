//! Permutations, their uses, and who has which role in a use.

use ostrakon_field::ELEMENT_BYTES;
use ostrakon_kernels::gather;
use ostrakon_replicated::pair::Pair;
use serde::{Deserialize, Serialize};

/// A secret permutation of a job. Every pair of servers has a factor of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permutation {
    /// Its number in the job.
    pub id: u32,
    /// How many rows it permutes.
    pub rows: u32,
    /// Whether P1 begins where otherwise P0 does: π = π_02 ∘ π_01 ∘ π_12 instead of π_12 ∘ π_01 ∘
    /// π_02. Consecutive shuffles of different orientation overlap by a round.
    pub mirrored: bool,
}

/// The name of one use of a permutation. R and all masks are derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UseId {
    /// The permutation.
    pub permutation: u32,
    /// Which use of it, counted over both directions.
    pub number: u32,
    /// Whether the inverse is applied.
    pub inverse: bool,
}

impl UseId {
    /// Its parts, for derivations and marks.
    pub fn numbers(&self) -> [u64; 3] {
        [self.permutation.into(), self.number.into(), self.inverse.into()]
    }
}

/// The roles of the servers in a use: X is in the first and the middle pair, Y in the middle and
/// the last one, Z in the first and the last one. P2 is always Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// X.
    pub x: u8,
    /// Y.
    pub y: u8,
    /// Z.
    pub z: u8,
}

impl Roles {
    /// The pairs in the order in which they permute.
    pub fn stages(&self) -> [Pair; 3] {
        [Pair::of(self.x, self.z), Pair::of(self.x, self.y), Pair::of(self.y, self.z)]
    }
}

/// One use of a permutation on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// Its name.
    pub id: UseId,
    /// The permutation.
    pub permutation: Permutation,
    /// Elements of a row.
    pub words: u32,
}

impl Use {
    /// Who has which role. The inverse is the same protocol with P0 and P1 exchanged and inverted
    /// factors.
    pub fn roles(&self) -> Roles {
        if self.permutation.mirrored ^ self.id.inverse {
            Roles { x: 1, y: 0, z: 2 }
        } else {
            Roles { x: 0, y: 1, z: 2 }
        }
    }

    /// Rows of its table.
    pub fn rows(&self) -> usize {
        self.permutation.rows as usize
    }

    /// Elements of its table.
    pub fn elements(&self) -> usize {
        self.rows() * self.words as usize
    }

    /// Bytes of a row.
    pub fn width(&self) -> usize {
        self.words as usize * ELEMENT_BYTES
    }

    /// Bytes of its table.
    pub fn bytes(&self) -> usize {
        self.elements() * ELEMENT_BYTES
    }
}

/// Uses of one permutation in one direction that are prepared side by side, with one column of
/// weights: a row is the uses' rows one after the other, then the weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle(Vec<Use>);

impl Bundle {
    /// Puts uses side by side; `None` if they are none, or of different permutations, directions
    /// or widths.
    pub fn of(uses: Vec<Use>) -> Option<Self> {
        let first = *uses.first()?;
        let alike = |u: &Use| {
            u.permutation == first.permutation
                && u.id.permutation == first.id.permutation
                && u.id.inverse == first.id.inverse
                && u.words == first.words
        };
        uses.iter().all(alike).then_some(Self(uses))
    }

    /// Its uses.
    pub fn uses(&self) -> &[Use] {
        &self.0
    }

    /// What all its uses have in common.
    pub fn first(&self) -> &Use {
        &self.0[0]
    }

    /// Elements of a row, the weight included.
    pub fn columns(&self) -> usize {
        self.0.len() * self.first().words as usize + 1
    }

    /// Bytes of a row, the weight included.
    pub fn width(&self) -> usize {
        self.columns() * ELEMENT_BYTES
    }

    /// Bytes of a table, weights included.
    pub fn bytes(&self) -> usize {
        self.first().rows() * self.width()
    }
}

/// The whole permutation from its three factors: output row i is input row `index[i]`.
pub fn compose(of: &Permutation, factors: &[Vec<u32>; 3]) -> Vec<u32> {
    let id = UseId { permutation: of.id, number: 0, inverse: false };
    let stages = Use { id, permutation: *of, words: 1 }.roles().stages();
    let mut rows: Vec<u32> = (0..of.rows).collect();
    for pair in stages {
        rows = factors[pair.index()].iter().map(|from| rows[*from as usize]).collect();
    }
    rows
}

/// A permuted copy of a table.
pub fn permuted(table: &[u8], width: usize, index: &[u32]) -> Vec<u8> {
    let mut out = ostrakon_kernels::zeroed_table(index.len() * width);
    gather(&mut out, table, width, index);
    out
}
