//! PowerMix in carrier form (spec 13; the paper's Fig. 8): power sums are opened, and everybody
//! computes the messages from them.

use std::sync::Arc;

use ostrakon_field::ntt::{Domain, powers};
use ostrakon_field::{Fp, batch_inverse, dot, poly};
use rand_core::Rng;
use zeroize::Zeroize;

use crate::client::Masked;
use crate::offline::Spent;
use crate::offline::recipes::{Powers, PowersStock, factorials, inverse_factorials};
use crate::opening::Mode;
use crate::phase::Phase;
use crate::program::{Given, Program, Turn};
use crate::tape::Tape;

/// Stock as a mix uses it: transforms of each slot's [b^l/l!] and [a·b^l/l!], l below `powers`, and
/// the last power of b. They depend on nothing that is said, so they are computed beforehand.
pub struct Transforms {
    shape: Powers,
    domain: Domain,
    /// Slot after slot.
    keys: Vec<Fp>,
    /// Slot after slot, column after column.
    payloads: Vec<Fp>,
    /// b^l/l! with l = `powers`, by slot.
    last: Vec<Fp>,
}

impl From<PowersStock> for Transforms {
    fn from(stock: PowersStock) -> Transforms {
        let shape = stock.shape;
        let Powers { slots, powers, columns } = shape;
        // Two series of `powers` terms have a product of fewer than twice as many.
        let domain = Domain::for_length(2 * powers);
        let length = domain.length();
        let mut keys = vec![Fp::ZERO; slots * length];
        for (to, from) in keys.chunks_mut(length).zip(stock.keys.chunks(powers)) {
            to[0] = Fp::ONE;
            to[1..powers].copy_from_slice(&from[..powers - 1]);
            domain.evaluate(to);
        }
        let mut payloads = vec![Fp::ZERO; slots * columns * length];
        for (to, from) in payloads.chunks_mut(length).zip(stock.payloads.chunks(powers)) {
            to[..powers].copy_from_slice(from);
            domain.evaluate(to);
        }
        let last = stock.keys.chunks(powers).map(|keys| keys[powers - 1]).collect();
        Transforms { shape, domain, keys, payloads, last }
    }
}

impl Drop for Transforms {
    fn drop(&mut self) {
        self.keys.zeroize();
        self.payloads.zeroize();
        self.last.zeroize();
    }
}

/// A mix of sealed submissions.
pub struct PowerMix {
    /// Until the sums are computed.
    stock: Option<Transforms>,
    columns: usize,
    /// Sealed slots' C and D, by slot.
    submissions: Vec<Option<Masked>>,
}

/// The opened sums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sums {
    /// S_1, …, S_k: Σ m^i.
    pub keys: Vec<Fp>,
    /// For each payload element, W_0, …, W_(k−1): Σ y·m^i.
    pub payloads: Vec<Vec<Fp>>,
}

/// A key that was sent, how often, and the sum of the payloads that came with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// The key.
    pub key: Fp,
    /// By how many.
    pub count: usize,
    /// The payload, if `count` is 1; else a sum of payloads, which must be sent anew.
    pub payload: Vec<Fp>,
}

/// The opened sums are no power sums of elements: the stock was faulty, which checked stock is not.
/// The same rows must not be mixed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the opened sums are no sums of powers")]
pub struct NoPowerSums;

impl PowerMix {
    /// Mixes the sealed rows. Slots without one do not take part. Stock is transformed here unless
    /// that was done before ([`crate::offline::Checked::map`]).
    ///
    /// # Panics
    /// If there are more or fewer slots than the stock has, more sealed ones than powers, or a
    /// submission of another length.
    pub fn new<S: Into<Transforms>>(stock: Spent<S>, submissions: Vec<Option<Masked>>) -> PowerMix {
        let stock: Transforms = stock.into_stock().into();
        let Powers { slots, powers, columns } = stock.shape;
        assert_eq!(submissions.len(), slots, "a place for each slot");
        assert!(submissions.iter().flatten().count() <= powers, "a power for each message");
        let wide = |s: &Masked| s.0.len() == 1 + columns;
        assert!(submissions.iter().flatten().all(wide), "rows of one width");
        PowerMix { stock: Some(stock), columns, submissions }
    }

    fn sealed(&self) -> usize {
        self.submissions.iter().flatten().count()
    }

    /// Own shares of S_1..S_k and of each column's W_0..W_(k−1).
    ///
    /// With C = m − b, m^i/i! = Σ_j C^(i−j)/(i−j)! · b^j/j! is a convolution: transforms are
    /// multiplied, added up over messages and taken back once. Of the result only the coefficients
    /// up to k may be opened; the others belong to no power sum and depend on single masks. Series
    /// end below k, so that a domain of 2k points is enough; the terms of S_k with C^k and with b^k
    /// are added by themselves.
    fn sums(&self, stock: &Transforms) -> Vec<Fp> {
        let k = self.sealed();
        let Transforms { shape, domain, keys, payloads, last } = stock;
        let (columns, length) = (shape.columns, domain.length());
        let inverses = inverse_factorials(k + 1);
        let mut sums = vec![vec![Fp::ZERO; length]; 1 + columns];
        let mut ends = Fp::ZERO;
        let mut c = vec![Fp::ZERO; length];
        for (slot, masked) in self.submissions.iter().enumerate() {
            let Some(Masked(masked)) = masked else {
                continue;
            };
            let powers = powers(masked[0], k + 1);
            ends += powers[k] * inverses[k];
            if k == shape.powers {
                ends += last[slot];
            }
            c.fill(Fp::ZERO);
            for ((c, &power), &inverse) in c.iter_mut().zip(&powers[..k]).zip(&inverses) {
                *c = power * inverse;
            }
            domain.evaluate(&mut c);
            let b = &keys[slot * length..][..length];
            for ((sum, &c), &b) in sums[0].iter_mut().zip(&c).zip(b) {
                *sum += c * b;
            }
            for column in 0..columns {
                let a = &payloads[(slot * columns + column) * length..][..length];
                let d = masked[1 + column];
                // y·b^l = a·b^l + D·b^l.
                for (((sum, &c), &a), &b) in sums[1 + column].iter_mut().zip(&c).zip(a).zip(b) {
                    *sum += c * (a + d * b);
                }
            }
        }
        let factorials = factorials(k + 1);
        let mut opened = Vec::with_capacity(k * (1 + columns));
        for (place, mut sum) in sums.into_iter().enumerate() {
            domain.interpolate(&mut sum);
            let from = usize::from(place == 0);
            if place == 0 {
                sum[k] += ends;
            }
            opened.extend((from..from + k).map(|i| sum[i] * factorials[i]));
        }
        opened
    }
}

impl Program for PowerMix {
    type Output = Arc<Sums>;

    fn phases(&self) -> Vec<Phase> {
        let count = self.sealed() * (1 + self.columns);
        if count == 0 { vec![] } else { vec![Phase::Open { count, mode: Mode::Robust }] }
    }

    fn next(&mut self, given: Given, _tape: &mut Tape) -> Turn<Arc<Sums>> {
        let k = self.sealed();
        match given {
            Given::Nothing if k > 0 => {
                let stock = self.stock.take().expect("a program begins once");
                Turn::Open(self.sums(&stock))
            }
            Given::Opened(values) => {
                let (keys, payloads) = values.split_at(k);
                let payloads = payloads.chunks(k).map(<[Fp]>::to_vec).collect();
                Turn::Done(Arc::new(Sums { keys: keys.to_vec(), payloads }))
            }
            _ => Turn::Done(Arc::new(Sums { keys: vec![], payloads: vec![] })),
        }
    }
}

impl Sums {
    /// The messages, by key: a canonical order, the same whoever sent what.
    ///
    /// # Errors
    /// [`NoPowerSums`] if there are none with these sums.
    pub fn solve(&self, rng: &mut impl Rng) -> Result<Vec<Carrier>, NoPowerSums> {
        let f = polynomial_of(&self.keys);
        // Repeated roots never come apart by splitting: find each once, then count it.
        let repeated = poly::gcd(&f, &poly::derivative(&f));
        let squarefree = if f.len() > 1 { poly::divide(&f, &repeated).0 } else { f.clone() };
        let roots = poly::roots(&squarefree, rng).ok_or(NoPowerSums)?;
        let slope = poly::derivative(&squarefree);
        let slopes: Vec<Fp> = roots.iter().map(|&root| poly::evaluate(&slope, root)).collect();
        let slopes = batch_inverse(&slopes);
        let numerators: Vec<Vec<Fp>> =
            self.payloads.iter().map(|sums| numerator(&squarefree, sums)).collect();
        let mut rest = f;
        let mut carriers = Vec::with_capacity(roots.len());
        for (&key, &slope) in roots.iter().zip(&slopes) {
            let mut count = 0;
            while rest.len() > 1 && poly::evaluate(&rest, key) == Fp::ZERO {
                rest = poly::divide(&rest, &[-key, Fp::ONE]).0;
                count += 1;
            }
            let powers = powers(key, squarefree.len());
            let payload = numerators.iter().map(|n| dot(n, &powers) * slope).collect();
            carriers.push(Carrier { key, count, payload });
        }
        if self.agrees_with(&carriers) { Ok(carriers) } else { Err(NoPowerSums) }
    }

    /// Whether the messages have these sums.
    fn agrees_with(&self, carriers: &[Carrier]) -> bool {
        let mut keys: Vec<Fp> = carriers.iter().map(|c| c.key * Fp::new(c.count as u64)).collect();
        let mut payloads: Vec<Vec<Fp>> = carriers.iter().map(|c| c.payload.clone()).collect();
        for place in 0..self.keys.len() {
            let column = |e: usize| payloads.iter().map(move |payload| payload[e]).sum::<Fp>();
            let payloads_agree =
                self.payloads.iter().enumerate().all(|(e, sums)| sums[place] == column(e));
            if keys.iter().copied().sum::<Fp>() != self.keys[place] || !payloads_agree {
                return false;
            }
            for (i, carrier) in carriers.iter().enumerate() {
                keys[i] *= carrier.key;
                payloads[i].iter_mut().for_each(|y| *y *= carrier.key);
            }
        }
        true
    }
}

/// The monic polynomial whose roots have these power sums (Newton's identities). Below p of them
/// determine it.
fn polynomial_of(sums: &[Fp]) -> Vec<Fp> {
    let k = sums.len();
    // e_j = (1/j) Σ_{i=1..j} (−1)^(i−1) e_(j−i) S_i; here `f[j]` = (−1)^j e_j, highest power first.
    let inverses = batch_inverse(&(1..=k as u64).map(Fp::new).collect::<Vec<_>>());
    let mut f = vec![Fp::ONE];
    for j in 1..=k {
        let sum: Fp = (1..=j).map(|i| f[j - i] * sums[i - 1]).sum();
        f.push(-sum * inverses[j - 1]);
    }
    f.reverse();
    f
}

/// N with Σ y/(1 − m·z) = N(z)/Q(z), Q the reversed polynomial of the keys; reversed again, so that
/// its value at a key m is y·f̃′(m), also for m = 0.
fn numerator(squarefree: &[Fp], sums: &[Fp]) -> Vec<Fp> {
    let degree = squarefree.len() - 1;
    let q: Vec<Fp> = squarefree.iter().rev().copied().collect();
    let mut numerator: Vec<Fp> =
        (0..degree).map(|i| (0..=i).map(|j| q[j] * sums[i - j]).sum()).collect();
    numerator.reverse();
    numerator
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Secret;

    use super::*;

    fn sums_of(messages: &[(Fp, Vec<Fp>)]) -> Sums {
        let k = messages.len() as u64;
        let columns = messages.first().map_or(0, |m| m.1.len());
        let keys = (1..=k).map(|i| messages.iter().map(|m| m.0.pow_vartime(i)).sum()).collect();
        let column = |e: usize| {
            (0..k).map(|i| messages.iter().map(|m| m.1[e] * m.0.pow_vartime(i)).sum()).collect()
        };
        Sums { keys, payloads: (0..columns).map(column).collect() }
    }

    fn message(key: u64, payload: &[u64]) -> (Fp, Vec<Fp>) {
        (Fp::new(key), payload.iter().copied().map(Fp::new).collect())
    }

    #[test]
    fn messages_come_out_of_their_sums() {
        let mut tape = Tape::new(&Secret::new([9; 32]));
        for k in [0usize, 1, 2, 9, 40] {
            let messages: Vec<_> = (0..k)
                .map(|i| (Fp::random(&mut tape), vec![Fp::new(7), Fp::new(i as u64)]))
                .collect();
            let mut found = sums_of(&messages).solve(&mut tape).unwrap();
            assert!(found.iter().all(|carrier| carrier.count == 1));
            let mut wanted = messages.clone();
            wanted.sort_unstable();
            assert!(found.is_sorted_by_key(|carrier| carrier.key));
            let found: Vec<_> = found.drain(..).map(|c| (c.key, c.payload)).collect();
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn repeated_keys_keep_their_number_and_zero_is_a_key() {
        let mut tape = Tape::new(&Secret::new([8; 32]));
        let messages = [message(5, &[1]), message(0, &[2]), message(5, &[30]), message(9, &[4])];
        let found = sums_of(&messages).solve(&mut tape).unwrap();
        let carrier = |key, count, payload: u64| Carrier {
            key: Fp::new(key),
            count,
            payload: vec![Fp::new(payload)],
        };
        assert_eq!(found, [carrier(0, 1, 2), carrier(5, 2, 31), carrier(9, 1, 4)]);
    }

    #[test]
    fn sums_of_nothing_are_refused() {
        let mut tape = Tape::new(&Secret::new([7; 32]));
        let messages = [message(5, &[1]), message(6, &[2]), message(7, &[3])];
        let mut sums = sums_of(&messages);
        // Keys ±√7 outside the field, and 3: sums that look innocent.
        sums.keys = [3, 9 + 14, 27].map(Fp::new).to_vec();
        assert_eq!(sums.solve(&mut tape), Err(NoPowerSums));
        let mut sums = sums_of(&[message(5, &[1]), message(5, &[2]), message(7, &[3])]);
        sums.payloads[0][2] += Fp::ONE;
        assert_eq!(sums.solve(&mut tape), Err(NoPowerSums), "payloads that no repeated key has");
    }
}
