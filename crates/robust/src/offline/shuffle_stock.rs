//! The stock of the dealers' shuffle (spec 10 and 11): each of t + 1 dealers shares the matrices of
//! a permutation of its own and proves that they are permutation matrices; then the matrices are
//! multiplied with random tables that no dealer knows.

use std::sync::Arc;

use ostrakon_crypto::Transcript;
use ostrakon_field::{Fp, Fp2};
use zeroize::{Zeroize, Zeroizing};

use super::Recipe;
use super::clos::{Digit, route, stages, uniform};
use super::proof::{Cut, Query};
use super::recipes::{Doubles, blocks, open_wide};
use crate::algebra::vectors::combine_into;
use crate::committee::Committee;
use crate::message::{ELEMENT, bytes_of, elements};
use crate::opening::Mode;
use crate::phase::Phase;
use crate::program::{Given, Program, Turn};
use crate::tape::Tape;

/// A shuffle of `rows` rows of `width` elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shuffle {
    /// Rows, the product of the radices.
    pub rows: usize,
    /// Elements of a row.
    pub width: usize,
    /// The Clos network's radices, powers of two.
    pub radices: Vec<usize>,
    /// The dealers' positions, ascending: at least t + 1, of whom one is honest.
    dealers: Vec<usize>,
}

/// One stage of one dealer. Usable once: two tables under one matrix show their difference.
pub struct Stage {
    /// The digit whose blocks it permutes.
    pub digit: Digit,
    /// Shares of the mask r that is taken from the stage's input, `rows` × `width`.
    pub mask: Vec<Fp>,
    /// Shares of the matrix: for each row, one entry for each row of its block.
    pub(crate) matrix: Vec<Fp>,
    /// Shares of P·r.
    pub(crate) moved: Vec<Fp>,
}

/// Shares of all that a shuffle needs.
pub struct ShuffleStock {
    /// What was asked for.
    pub shape: Shuffle,
    /// Pads σ, two elements a row.
    pub pads: Vec<Fp>,
    /// The stages, in order; the first one's mask is the clients'.
    pub stages: Vec<Stage>,
}

impl Drop for ShuffleStock {
    fn drop(&mut self) {
        self.pads.zeroize();
        for stage in &mut self.stages {
            stage.mask.zeroize();
            stage.matrix.zeroize();
            stage.moved.zeroize();
        }
    }
}

impl ShuffleStock {
    /// The material, for a disk that only this server reads.
    #[must_use]
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = bytes_of(&self.pads);
        for stage in &self.stages {
            for part in [&stage.mask, &stage.matrix, &stage.moved] {
                bytes.extend(bytes_of(part));
            }
        }
        Zeroizing::new(bytes)
    }

    /// Reads the material of a shuffle; `None` if it is not of this shape.
    #[must_use]
    pub fn from_bytes(shape: &Shuffle, bytes: &[u8]) -> Option<ShuffleStock> {
        let mut rest = bytes;
        let mut take = |count: usize| {
            let (part, after) = rest.split_at_checked(ELEMENT * count)?;
            rest = after;
            elements(part, count)
        };
        let pads = take(2 * shape.rows)?;
        let mut stages = Vec::new();
        for _ in &shape.dealers {
            for digit in shape.digits() {
                let mask = take(shape.elements())?;
                let matrix = take(shape.rows * digit.radix)?;
                stages.push(Stage { digit, mask, matrix, moved: take(shape.elements())? });
            }
        }
        rest.is_empty().then(|| ShuffleStock { shape: shape.clone(), pads, stages })
    }

    /// The member's shares of a slot's masks, r and σ, which the slot's owner is given.
    #[must_use]
    pub fn masks(&self, slot: usize) -> Vec<Fp> {
        let width = self.shape.width;
        let row = &self.stages[0].mask[slot * width..][..width];
        [row, &self.pads[2 * slot..][..2]].concat()
    }
}

impl Shuffle {
    /// A shuffle in which `dealers` of a committee deal, by position; `None` unless they are at
    /// least t + 1 members, ascending and each once (a member that deals twice may be all dealers,
    /// and know the order), and the radices are powers of two with `rows` as their product.
    #[must_use]
    pub fn new(
        committee: &Committee,
        rows: usize,
        width: usize,
        radices: Vec<usize>,
        dealers: Vec<usize>,
    ) -> Option<Shuffle> {
        let product = radices.iter().try_fold(1usize, |rows, radix| rows.checked_mul(*radix));
        let fits = product == Some(rows) && radices.iter().all(|radix| radix.is_power_of_two());
        let shape = Shuffle { rows, width, radices, dealers };
        (fits && shape.is_dealt_in(committee)).then_some(shape)
    }

    /// Whether its dealers are members, and more than may be corrupt.
    fn is_dealt_in(&self, committee: &Committee) -> bool {
        self.dealers.len() > committee.corrupt()
            && self.dealers.is_sorted_by(|a, b| a < b)
            && self.dealers.last().is_some_and(|last| *last < committee.size())
    }

    /// The dealers' positions, ascending.
    #[must_use]
    pub fn dealers(&self) -> &[usize] {
        &self.dealers
    }

    /// The stages' digits of one dealer.
    #[must_use]
    pub fn digits(&self) -> Vec<Digit> {
        stages(&self.radices)
    }

    /// Matrix entries that one dealer shares.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.digits().iter().map(|digit| self.rows * digit.radix).sum()
    }

    /// Stages of all dealers.
    #[must_use]
    pub fn stage_count(&self) -> usize {
        self.digits().len() * self.dealers.len()
    }

    fn cut(&self) -> Cut {
        Cut::of(self.entries())
    }

    /// Elements of a table.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.rows * self.width
    }
}

impl Recipe for Shuffle {
    type Program = ShufflePreparation;

    fn program(&self, committee: &Arc<Committee>, me: usize) -> ShufflePreparation {
        assert_eq!(self.rows, self.radices.iter().product::<usize>(), "rows are all digits");
        assert!(self.is_dealt_in(committee), "one dealer is honest");
        ShufflePreparation {
            committee: Arc::clone(committee),
            shape: self.clone(),
            me,
            step: 0,
            randoms: Vec::new(),
            doubles: Doubles::default(),
            own: None,
            dealt: Vec::new(),
            proofs: Vec::new(),
            chi: Fp2::ZERO,
            query: None,
        }
    }

    fn describe(&self, transcript: &mut Transcript) {
        transcript.field(b"shuffle").number(self.rows as u64).number(self.width as u64);
        for list in [&self.radices, &self.dealers] {
            transcript.number(list.len() as u64);
            list.iter().for_each(|&number| {
                transcript.number(number as u64);
            });
        }
    }
}

/// What a dealer keeps of its dealing until it has proved it.
struct Dealing {
    entries: Vec<Fp>,
    seeds: Vec<Fp2>,
}

impl Drop for Dealing {
    fn drop(&mut self) {
        self.entries.zeroize();
        self.seeds.zeroize();
    }
}

/// [`Shuffle`] at one member.
pub struct ShufflePreparation {
    committee: Arc<Committee>,
    shape: Shuffle,
    me: usize,
    step: usize,
    /// Masks, pads, coins.
    randoms: Vec<Fp>,
    doubles: Doubles,
    own: Option<Dealing>,
    /// Own shares of each dealer's entries and seeds.
    dealt: Vec<Vec<Fp>>,
    /// Own shares of each dealer's proof.
    proofs: Vec<Vec<Fp>>,
    chi: Fp2,
    query: Option<Query>,
}

/// Elements of F_p that are opened as coins: χ, τ and ρ.
const COINS: usize = 6;

impl Program for ShufflePreparation {
    type Output = ShuffleStock;

    fn phases(&self) -> Vec<Phase> {
        let shape = &self.shape;
        let masked = shape.stage_count() * shape.elements();
        let singles = blocks(&self.committee, masked + 2 * shape.rows + COINS);
        let doubles = blocks(&self.committee, masked);
        let deal = |count| Phase::Deal { dealers: shape.dealers.clone(), count };
        let narrow = Mode::Exact(self.committee.corrupt());
        let open = |count| Phase::Open { count, mode: narrow };
        let wires = shape.cut().wires();
        vec![
            Phase::Random { singles, doubles },
            deal(shape.entries() + 2 * wires),
            open(2),
            deal(2 * shape.cut().proof_values()),
            open(4),
            open(shape.dealers.len() * (2 * wires + 4)),
            open_wide(&self.committee, masked),
        ]
    }

    fn next(&mut self, given: Given, tape: &mut Tape) -> Turn<ShuffleStock> {
        self.step += usize::from(!matches!(given, Given::Nothing));
        match (self.step, given) {
            (1, Given::Random { singles, doubles, wide }) => {
                self.randoms = singles;
                self.doubles = Doubles::new(doubles, wide);
                Turn::Deal(self.deal(tape))
            }
            (2, Given::Dealt(dealt)) => {
                self.dealt = dealt;
                Turn::Open(self.coins()[..2].to_vec())
            }
            (3, Given::Opened(chi)) => {
                self.chi = Fp2(chi[0], chi[1]);
                Turn::Deal(
                    self.own.take().map(|own| {
                        flat(&self.shape.cut().prove(&own.entries, &own.seeds, self.chi))
                    }),
                )
            }
            (4, Given::Dealt(proofs)) => {
                self.proofs = proofs;
                Turn::Open(self.coins()[2..].to_vec())
            }
            (5, Given::Opened(coins)) => {
                let [tau, rho] = [Fp2(coins[0], coins[1]), Fp2(coins[2], coins[3])];
                self.query = self.shape.cut().query(tau);
                match &self.query {
                    Some(query) => Turn::Open(self.answers(query, rho)),
                    None => Turn::Refuse,
                }
            }
            (6, Given::Opened(answers)) => {
                if self.proved(&answers) {
                    Turn::Open(self.products())
                } else {
                    Turn::Refuse
                }
            }
            (7, Given::Opened(opened)) => Turn::Done(self.finish(opened)),
            _ => Turn::Draw,
        }
    }
}

impl ShufflePreparation {
    fn coins(&self) -> &[Fp] {
        let shape = &self.shape;
        let before = shape.stage_count() * shape.elements() + 2 * shape.rows;
        &self.randoms[before..before + COINS]
    }

    /// What this member deals, if it is a dealer: the matrices of a uniform permutation's stages,
    /// then a seed of F_p² for each wire.
    fn deal(&mut self, tape: &mut Tape) -> Option<Vec<Fp>> {
        if !self.shape.dealers.contains(&self.me) {
            return None;
        }
        let permutation = uniform(self.shape.rows, tape);
        let entries = matrices(&permutation, &self.shape);
        let wires = self.shape.cut().wires();
        let seeds: Vec<Fp2> = (0..wires).map(|_| Fp2::random(tape)).collect();
        let secrets = [&entries[..], &flat(&seeds)].concat();
        self.own = Some(Dealing { entries, seeds });
        Some(secrets)
    }

    /// For each dealer: the wires and the proof at τ, and the random combinations of what rows and
    /// columns miss to one.
    fn answers(&self, query: &Query, rho: Fp2) -> Vec<Fp> {
        let mut answers = Vec::new();
        for (dealt, proof) in self.dealt.iter().zip(&self.proofs) {
            let (entries, seeds) = dealt.split_at(self.shape.entries());
            answers.extend(query.wires(entries, &pairs(seeds)));
            answers.push(query.proof(&pairs(proof)));
            answers.push(self.sums(entries, rho));
        }
        flat(&answers)
    }

    /// Σ ρ^i · (sum of line i − 1) over the rows, then the columns, of all stages' blocks.
    fn sums(&self, mut entries: &[Fp], rho: Fp2) -> Fp2 {
        let (mut total, mut weight) = (Fp2::ZERO, Fp2::ONE);
        for digit in self.shape.digits() {
            let (matrix, rest) = entries.split_at(self.shape.rows * digit.radix);
            entries = rest;
            // Column j of a row's block is the row of that block with digit j.
            let mut columns = vec![Fp::ZERO; self.shape.rows];
            for (row, line) in matrix.chunks_exact(digit.radix).enumerate() {
                for (j, &entry) in line.iter().enumerate() {
                    columns[digit.with(row, j)] += entry;
                }
            }
            let rows = matrix.chunks_exact(digit.radix).map(|line| line.iter().copied().sum());
            for sum in rows.chain(columns) {
                let sum: Fp = sum;
                total += weight.scale(sum - Fp::ONE);
                weight = weight * rho;
            }
        }
        total
    }

    fn proved(&self, answers: &[Fp]) -> bool {
        let wires = self.shape.cut().wires();
        self.query.as_ref().is_some_and(|query| {
            pairs(answers).chunks_exact(wires + 2).all(|answer| {
                let (wires, rest) = answer.split_at(wires);
                query.holds(wires, rest[0], self.chi) && rest[1] == Fp2::ZERO
            })
        })
    }

    /// The masked products of matrices and masks, of degree 2t, stage after stage.
    fn products(&mut self) -> Vec<Fp> {
        let elements = self.shape.elements();
        let digits = self.shape.digits();
        let mut products = Vec::with_capacity(self.shape.stage_count() * elements);
        let mut masks = self.randoms.chunks_exact(elements);
        for dealt in &self.dealt {
            let mut entries = &dealt[..];
            for digit in &digits {
                let (matrix, rest) = entries.split_at(self.shape.rows * digit.radix);
                entries = rest;
                let mask = masks.next().expect("a mask for each stage");
                products.extend(apply(matrix, *digit, mask, self.shape.width));
            }
        }
        self.doubles.mask(products)
    }

    fn finish(&mut self, opened: Vec<Fp>) -> ShuffleStock {
        let shape = self.shape.clone();
        let elements = shape.elements();
        let moved = self.doubles.reduce(opened);
        let mut masks = self.randoms.chunks_exact(elements).zip(moved.chunks_exact(elements));
        let mut all = Vec::new();
        for dealt in &mut self.dealt {
            let mut entries = &dealt[..];
            for digit in shape.digits() {
                let (matrix, rest) = entries.split_at(shape.rows * digit.radix);
                entries = rest;
                let (mask, moved) = masks.next().expect("a mask for each stage");
                let (mask, moved, matrix) = (mask.to_vec(), moved.to_vec(), matrix.to_vec());
                all.push(Stage { digit, mask, matrix, moved });
            }
        }
        let before = shape.stage_count() * elements;
        let pads = self.randoms[before..before + 2 * shape.rows].to_vec();
        ShuffleStock { shape, pads, stages: all }
    }
}

impl Drop for ShufflePreparation {
    fn drop(&mut self) {
        self.randoms.zeroize();
        self.dealt.zeroize();
        self.proofs.zeroize();
    }
}

/// The 0/1 matrices of a permutation's stages: for each row one entry for each row of its block.
fn matrices(permutation: &[usize], shape: &Shuffle) -> Vec<Fp> {
    let routed = route(permutation, &shape.radices);
    let mut entries = Vec::with_capacity(shape.entries());
    for (stage, digit) in routed.iter().zip(shape.digits()) {
        for &from in stage {
            entries.extend((0..digit.radix).map(|j| Fp::new(u64::from(j == digit.of(from)))));
        }
    }
    entries
}

/// The product of a stage's matrix and a table of rows of `width` elements.
pub(crate) fn apply(matrix: &[Fp], digit: Digit, table: &[Fp], width: usize) -> Vec<Fp> {
    let mut product = vec![Fp::ZERO; table.len()];
    let lines = product.chunks_exact_mut(width).zip(matrix.chunks_exact(digit.radix));
    for (row, (sums, line)) in lines.enumerate() {
        let first = digit.with(row, 0);
        combine_into(sums, line, |j| &table[(first + j * digit.stride) * width..][..width]);
    }
    product
}

fn flat(elements: &[Fp2]) -> Vec<Fp> {
    elements.iter().flat_map(|element| [element.0, element.1]).collect()
}

fn pairs(elements: &[Fp]) -> Vec<Fp2> {
    elements.as_chunks::<2>().0.iter().map(|&[a, b]| Fp2(a, b)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ostrakon_party::PartyId;

    /// What a dealer deals beside its matrices: a seed of F_p² for each wire, both halves of it
    /// random. With a half of zero an opened wire shows entries (`seed_in_base_field` of the
    /// proof).
    #[test]
    fn dealt_seeds_are_of_the_extension() {
        let committee = Arc::new(Committee::new(&[0, 1, 2, 3].map(PartyId), 1).unwrap());
        let shape = Shuffle::new(&committee, 16, 3, vec![4, 4], vec![0, 1]).unwrap();
        let mut tape = Tape::new(&ostrakon_crypto::Secret::new([3; 32]));
        let mut program = shape.program(&committee, 0);
        assert!(matches!(program.next(Given::Nothing, &mut tape), Turn::Draw));
        let Some(Phase::Random { singles, doubles }) = program.phases().into_iter().next() else {
            panic!("it begins with random sharings");
        };
        let drawn = |blocks: usize| vec![Fp::ONE; 2 * blocks];
        let (singles, doubles) = (drawn(singles), drawn(doubles));
        let given = Given::Random { singles, wide: doubles.clone(), doubles };
        let Turn::Deal(Some(secrets)) = program.next(given, &mut tape) else {
            panic!("a dealer deals");
        };
        let seeds = &secrets[shape.entries()..];
        assert_eq!(seeds.len(), 2 * shape.cut().wires());
        let distinct: std::collections::BTreeSet<u64> = seeds.iter().map(|s| s.value()).collect();
        assert!(
            distinct.len() == seeds.len()
                && distinct.iter().all(|seed| *seed > u64::from(u32::MAX))
        );
    }

    /// A beacon that draws with replacement may name a corrupt member twice.
    #[test]
    fn dealers_are_t_plus_1_different_members() {
        let committee = Committee::new(&[0, 1, 2, 3, 4, 5, 6].map(PartyId), 2).unwrap();
        let of = |dealers: &[usize]| {
            Shuffle::new(&committee, 16, 3, vec![4, 4], dealers.to_vec()).is_some()
        };
        assert!(of(&[0, 3, 6]) && of(&[1, 2, 3, 4]));
        assert!(!of(&[1, 1, 1]), "one for all");
        assert!(!of(&[1, 2, 2]), "two are t");
        assert!(!of(&[0, 3]), "t");
        assert!(!of(&[0, 3, 7]), "nobody's position");
        assert!(!of(&[3, 0, 6]), "in no order");
        let with = |rows, radices| Shuffle::new(&committee, rows, 3, radices, vec![0, 1, 2]);
        assert!(with(8, vec![4, 4]).is_none() && with(9, vec![3, 3]).is_none());
        assert!(with(0, vec![usize::MAX, 2]).is_none());
    }
}
