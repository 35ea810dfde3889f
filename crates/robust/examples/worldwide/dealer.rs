//! Stock from a dealer who knows all of it. **Only a simulation may have one**: a hundred servers
//! would prepare it together, and preparing is not what is measured here.

use std::sync::Arc;

use ostrakon_crypto::Secret;
use ostrakon_field::{Fp, batch_inverse};
use ostrakon_robust::offline::recipes::{Powers, PowersStock};
use ostrakon_robust::offline::switches::{SwitchStock, Switches};
use ostrakon_robust::{Committee, Tape};
use rand_core::Rng;

/// Deals shares to a committee.
pub struct Dealer {
    committee: Arc<Committee>,
    pub tape: Tape,
}

impl Dealer {
    pub fn new(committee: &Arc<Committee>, seed: u64) -> Dealer {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Dealer { committee: Arc::clone(committee), tape: Tape::new(&Secret::new(bytes)) }
    }

    fn randoms(&mut self, count: usize) -> Vec<Fp> {
        (0..count).map(|_| Fp::random(&mut self.tape)).collect()
    }

    /// Shares of each secret, by server: values of polynomials of degree t, of which only the first
    /// and the last coefficient are not zero. Servers do the same with them as with any others,
    /// and dealing takes a t-th of the time.
    fn share(&mut self, secrets: &[Fp]) -> Vec<Vec<Fp>> {
        let last = self.randoms(secrets.len());
        let degree = self.committee.corrupt() as u64;
        let share = |point: Fp| {
            let power = point.pow_vartime(degree);
            secrets.iter().zip(&last).map(|(&secret, &last)| secret + last * power).collect()
        };
        self.committee.points().into_iter().map(share).collect()
    }

    /// The butterfly's stock, by server.
    pub fn switches(&mut self, shape: Switches) -> Vec<SwitchStock> {
        let Switches { rows, width, count } = shape;
        let bits: Vec<Fp> = (0..count).map(|_| Fp::new(self.tape.next_u64() & 1)).collect();
        let differences = self.randoms(count * width);
        let products = bits.iter().zip(differences.chunks(width));
        let products: Vec<Fp> =
            products.flat_map(|(&b, us)| us.iter().map(move |&u| b * u)).collect();
        let [masks, pads] = [rows * width, rows * 2].map(|count| self.randoms(count));
        let [masks, pads, bits, differences, products] =
            [masks, pads, bits, differences, products].map(|secrets| self.share(&secrets));
        let shares = masks.into_iter().zip(pads).zip(bits).zip(differences).zip(products);
        shares
            .map(|((((masks, pads), bits), differences), products)| SwitchStock {
                shape,
                masks,
                pads,
                bits,
                differences,
                products,
            })
            .collect()
    }

    /// PowerMix's stock, by server.
    pub fn powers(&mut self, shape: Powers) -> Vec<PowersStock> {
        let Powers { slots, powers, columns } = shape;
        let numbers: Vec<Fp> = (1..=powers as u64).map(Fp::new).collect();
        let inverses = batch_inverse(&numbers);
        let [mut keys, mut payloads] = [Vec::new(), Vec::new()];
        for _ in 0..slots {
            let b = Fp::random(&mut self.tape);
            // b^l/l! from l = 0 on.
            let divided: Vec<Fp> = std::iter::once(Fp::ONE)
                .chain(inverses.iter().scan(Fp::ONE, |power, &inverse| {
                    *power *= b * inverse;
                    Some(*power)
                }))
                .collect();
            keys.extend(&divided[1..]);
            for _ in 0..columns {
                let a = Fp::random(&mut self.tape);
                payloads.extend(divided[..powers].iter().map(|&power| a * power));
            }
        }
        let [keys, payloads] = [keys, payloads].map(|secrets| self.share(&secrets));
        let shares = keys.into_iter().zip(payloads);
        shares.map(|(keys, payloads)| PowersStock { shape, keys, payloads }).collect()
    }
}
