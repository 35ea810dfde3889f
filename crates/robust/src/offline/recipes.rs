//! Recipes for random values, triples, bits and powers (spec 6).

use std::sync::Arc;

use ostrakon_crypto::Transcript;
use ostrakon_field::{Fp, batch_inverse};
use zeroize::Zeroize;

use super::Recipe;
use super::roots::Roots;
use crate::committee::Committee;
use crate::opening::Mode;
use crate::phase::Phase;
use crate::program::{Given, Program, Triple, Turn};
use crate::tape::Tape;

/// Blocks of t + 1 that hold `count` values.
pub(crate) fn blocks(committee: &Committee, count: usize) -> usize {
    count.div_ceil(committee.corrupt() + 1)
}

/// An opening of sharings of degree 2t by all members.
pub(crate) fn open_wide(committee: &Committee, count: usize) -> Phase {
    Phase::Open { count, mode: Mode::Exact(2 * committee.corrupt()) }
}

/// Double sharings, each good for bringing one product down to degree t: v = x·y + r is opened in
/// degree 2t, and \[x·y\] = v − \[r\].
#[derive(Default)]
pub(crate) struct Doubles {
    narrow: Vec<Fp>,
    wide: Vec<Fp>,
    opening: usize,
}

impl Drop for Doubles {
    fn drop(&mut self) {
        self.narrow.zeroize();
        self.wide.zeroize();
    }
}

impl Doubles {
    pub(crate) fn new(narrow: Vec<Fp>, wide: Vec<Fp>) -> Doubles {
        Doubles { narrow, wide, opening: 0 }
    }

    /// Masks own products, of degree 2t, for opening.
    pub(crate) fn mask(&mut self, mut products: Vec<Fp>) -> Vec<Fp> {
        self.opening = products.len();
        let masks = self.wide.drain(..self.opening);
        products.iter_mut().zip(masks).for_each(|(product, mask)| *product += mask);
        products
    }

    /// The shares of degree t of what was masked last, given what was opened.
    pub(crate) fn reduce(&mut self, opened: Vec<Fp>) -> Vec<Fp> {
        let masks = self.narrow.drain(..self.opening);
        opened.into_iter().zip(masks).map(|(value, mask)| value - mask).collect()
    }
}

/// `count` random values, unknown to all.
#[derive(Clone, Copy, Debug)]
pub struct Randoms {
    /// How many.
    pub count: usize,
}

/// [`Randoms`] at one member.
pub struct RandomsProgram(Arc<Committee>, usize);

impl Recipe for Randoms {
    type Program = RandomsProgram;

    fn program(&self, committee: &Arc<Committee>, _me: usize) -> RandomsProgram {
        RandomsProgram(Arc::clone(committee), self.count)
    }

    fn describe(&self, transcript: &mut Transcript) {
        transcript.field(b"randoms").number(self.count as u64);
    }
}

impl Program for RandomsProgram {
    /// Shares of the values.
    type Output = Vec<Fp>;

    fn phases(&self) -> Vec<Phase> {
        vec![Phase::Random { singles: blocks(&self.0, self.1), doubles: 0 }]
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<Vec<Fp>> {
        match given {
            Given::Random { mut singles, .. } => {
                singles.truncate(self.1);
                Turn::Done(singles)
            }
            _ => Turn::Draw,
        }
    }
}

/// `count` multiplication triples.
#[derive(Clone, Copy, Debug)]
pub struct Triples {
    /// How many.
    pub count: usize,
}

/// [`Triples`] at one member.
pub struct TriplesProgram {
    committee: Arc<Committee>,
    count: usize,
    factors: Vec<Fp>,
    doubles: Doubles,
}

impl Recipe for Triples {
    type Program = TriplesProgram;

    fn program(&self, committee: &Arc<Committee>, _me: usize) -> TriplesProgram {
        let committee = Arc::clone(committee);
        let doubles = Doubles::default();
        TriplesProgram { committee, count: self.count, factors: Vec::new(), doubles }
    }

    fn describe(&self, transcript: &mut Transcript) {
        transcript.field(b"triples").number(self.count as u64);
    }
}

impl Program for TriplesProgram {
    /// The triples.
    type Output = Vec<Triple>;

    fn phases(&self) -> Vec<Phase> {
        let doubles = blocks(&self.committee, self.count);
        let draw = Phase::Random { singles: 2 * doubles, doubles };
        vec![draw, open_wide(&self.committee, self.count)]
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<Vec<Triple>> {
        match given {
            Given::Random { singles, doubles, wide } => {
                self.doubles = Doubles::new(doubles, wide);
                self.factors = singles;
                let (a, b) = self.factors.split_at(self.factors.len() / 2);
                let products = a.iter().zip(b).take(self.count).map(|(&a, &b)| a * b);
                let products = products.collect();
                Turn::Open(self.doubles.mask(products))
            }
            Given::Opened(opened) => {
                let (a, b) = self.factors.split_at(self.factors.len() / 2);
                let products = self.doubles.reduce(opened);
                let factors = a.iter().zip(b).zip(products);
                let triple = |((&a, &b), product)| Triple { a, b, product };
                Turn::Done(factors.map(triple).collect())
            }
            _ => Turn::Draw,
        }
    }
}

/// The shares of random bits, given those of random values and their opened squares: b = (a/√a² +
/// 1)/2, where every member takes the same root. `None` if a value is zero.
pub(crate) fn bits_of(values: &[Fp], squares: &[Fp]) -> Option<Vec<Fp>> {
    let roots = Roots::new();
    let roots: Option<Vec<Fp>> = squares.iter().map(|&square| roots.of(square)).collect();
    let half = Fp::new(2).inverse().expect("p is odd");
    let inverses = batch_inverse(&roots?);
    Some(values.iter().zip(inverses).map(|(&a, root)| (a * root + Fp::ONE) * half).collect())
}

/// Own shares of squares to be opened: degree 2t, masked by sharings of zero.
pub(crate) fn masked_squares(values: &[Fp], narrow: &[Fp], wide: &[Fp]) -> Vec<Fp> {
    values.iter().zip(narrow.iter().zip(wide)).map(|(&a, (&r, &w))| a * a + w - r).collect()
}

/// `count` random bits.
#[derive(Clone, Copy, Debug)]
pub struct Bits {
    /// How many.
    pub count: usize,
}

/// [`Bits`] at one member.
pub struct BitsProgram {
    committee: Arc<Committee>,
    count: usize,
    values: Vec<Fp>,
}

impl Recipe for Bits {
    type Program = BitsProgram;

    fn program(&self, committee: &Arc<Committee>, _me: usize) -> BitsProgram {
        let committee = Arc::clone(committee);
        BitsProgram { committee, count: self.count, values: Vec::new() }
    }

    fn describe(&self, transcript: &mut Transcript) {
        transcript.field(b"bits").number(self.count as u64);
    }
}

impl Program for BitsProgram {
    /// Shares of the bits.
    type Output = Vec<Fp>;

    fn phases(&self) -> Vec<Phase> {
        let blocks = blocks(&self.committee, self.count);
        let draw = Phase::Random { singles: blocks, doubles: blocks };
        vec![draw, open_wide(&self.committee, self.count)]
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<Vec<Fp>> {
        match given {
            Given::Random { singles, doubles, wide } => {
                self.values = singles;
                self.values.truncate(self.count);
                Turn::Open(masked_squares(&self.values, &doubles, &wide))
            }
            Given::Opened(squares) => match bits_of(&self.values, &squares) {
                Some(bits) => Turn::Done(bits),
                None => Turn::Refuse,
            },
            _ => Turn::Draw,
        }
    }
}

/// For each of `slots`: a random b with b^l/l! for l = 1, …, `powers`, and for each of `columns` a
/// random a with a·b^l/l! for l = 0, …, `powers` − 1: the stock of PowerMix.
#[derive(Clone, Copy, Debug)]
pub struct Powers {
    /// Slots, each with randomness of its own.
    pub slots: usize,
    /// The highest power.
    pub powers: usize,
    /// Payload elements.
    pub columns: usize,
}

/// Shares of what [`Powers`] makes.
pub struct PowersStock {
    /// What was asked for.
    pub shape: Powers,
    /// Slot after slot, `powers` elements each: b^l/l! from l = 1 on.
    pub keys: Vec<Fp>,
    /// Slot after slot, column after column, `powers` elements each: a·b^l/l! from l = 0 on.
    pub payloads: Vec<Fp>,
}

impl Drop for PowersStock {
    fn drop(&mut self) {
        self.keys.zeroize();
        self.payloads.zeroize();
    }
}

impl PowersStock {
    /// The member's shares of a slot's masks, b and the a of each column, which the slot's owner is
    /// given.
    #[must_use]
    pub fn masks(&self, slot: usize) -> Vec<Fp> {
        let Powers { powers, columns, .. } = self.shape;
        let payloads = (0..columns).map(|c| self.payloads[(slot * columns + c) * powers]);
        std::iter::once(self.keys[slot * powers]).chain(payloads).collect()
    }
}

/// [`Powers`] at one member.
pub struct PowersProgram {
    committee: Arc<Committee>,
    shape: Powers,
    /// Per slot: the powers from b^1 on that are there.
    keys: Vec<Vec<Fp>>,
    payload_masks: Vec<Fp>,
    doubles: Doubles,
}

impl Recipe for Powers {
    type Program = PowersProgram;

    fn program(&self, committee: &Arc<Committee>, _me: usize) -> PowersProgram {
        assert!(self.slots > 0 && self.powers > 0, "a mix of at least one");
        PowersProgram {
            committee: Arc::clone(committee),
            shape: *self,
            keys: Vec::new(),
            payload_masks: Vec::new(),
            doubles: Doubles::default(),
        }
    }

    fn describe(&self, transcript: &mut Transcript) {
        transcript.field(b"powers").number(self.slots as u64);
        transcript.number(self.powers as u64).number(self.columns as u64);
    }
}

impl PowersProgram {
    /// Numbers of powers that there are before each round of doubling.
    fn rounds(&self) -> impl Iterator<Item = usize> + use<> {
        let powers = self.shape.powers;
        std::iter::successors(Some(1), |have| Some(2 * have)).take_while(move |have| *have < powers)
    }

    fn has_payload_products(&self) -> bool {
        self.shape.columns > 0 && self.shape.powers > 1
    }

    /// Masked products that the next opening is of, if there is one.
    fn products(&mut self) -> Option<Vec<Fp>> {
        let Powers { powers, columns, .. } = self.shape;
        let have = self.keys[0].len();
        let products: Vec<Fp> = if have < powers {
            // b^(have + i) = b^have · b^i.
            let more = have.min(powers - have);
            let slots = self.keys.iter();
            slots.flat_map(|keys| keys[..more].iter().map(|&key| keys[have - 1] * key)).collect()
        } else if self.has_payload_products() {
            let masks = self.payload_masks.chunks(columns);
            let slots = self.keys.iter().zip(masks);
            slots
                .flat_map(|(keys, masks)| {
                    masks.iter().flat_map(|&a| keys[..powers - 1].iter().map(move |&b| a * b))
                })
                .collect()
        } else {
            return None;
        };
        Some(self.doubles.mask(products))
    }

    /// Divides by factorials.
    fn finish(&mut self, payload_products: &[Fp]) -> PowersStock {
        let powers = self.shape.powers;
        let inverses = inverse_factorials(powers + 1);
        let keys = self.keys.iter().flat_map(|keys| keys.iter().zip(&inverses[1..]));
        let keys = keys.map(|(&key, &inverse)| key * inverse).collect();
        let mut products = payload_products.iter();
        let mut payloads = Vec::with_capacity(self.payload_masks.len() * powers);
        for &mask in &self.payload_masks {
            payloads.push(mask);
            let rest = products.by_ref().take(powers - 1);
            payloads.extend(rest.zip(&inverses[1..]).map(|(&product, &i)| product * i));
        }
        PowersStock { shape: self.shape, keys, payloads }
    }
}

/// 1/l! for l below `count`.
pub(crate) fn inverse_factorials(count: usize) -> Vec<Fp> {
    batch_inverse(&factorials(count))
}

/// l! for l below `count`.
pub(crate) fn factorials(count: usize) -> Vec<Fp> {
    let numbers = (1..count).map(|l| Fp::new(l as u64));
    std::iter::once(Fp::ONE)
        .chain(numbers.scan(Fp::ONE, |factorial, l| {
            *factorial *= l;
            Some(*factorial)
        }))
        .collect()
}

impl Program for PowersProgram {
    type Output = PowersStock;

    fn phases(&self) -> Vec<Phase> {
        let Powers { slots, powers, columns } = self.shape;
        let payload = if self.has_payload_products() { columns * (powers - 1) } else { 0 };
        let doubles = blocks(&self.committee, slots * (powers - 1 + payload));
        let singles = blocks(&self.committee, slots * (1 + columns));
        let rounds = self.rounds().map(|have| slots * have.min(powers - have));
        let last = Some(slots * payload).filter(|count| *count > 0);
        let openings = rounds.chain(last).map(|count| open_wide(&self.committee, count));
        std::iter::once(Phase::Random { singles, doubles }).chain(openings).collect()
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<PowersStock> {
        let Powers { slots, powers, columns } = self.shape;
        match given {
            Given::Random { singles, doubles, wide } => {
                self.doubles = Doubles::new(doubles, wide);
                self.keys = singles[..slots].iter().map(|&b| vec![b]).collect();
                self.payload_masks = singles[slots..slots * (1 + columns)].to_vec();
            }
            Given::Opened(opened) => {
                let reduced = self.doubles.reduce(opened);
                if self.keys[0].len() == powers {
                    return Turn::Done(self.finish(&reduced));
                }
                let more = reduced.len() / slots;
                let slots = self.keys.iter_mut().zip(reduced.chunks(more));
                slots.for_each(|(keys, new)| keys.extend(new));
            }
            _ => return Turn::Draw,
        }
        match self.products() {
            Some(products) => Turn::Open(products),
            None => Turn::Done(self.finish(&[])),
        }
    }
}
