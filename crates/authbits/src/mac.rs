//! MAC checks (steps 8, 10, 13, 14): random combinations, of which the sum of all parties' shares
//! must vanish.

use ostrakon_kernels::{Prg, inner_product};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::abort::Abort;
use crate::bits::{Bits, mask, words_of};
use crate::run::Run;

/// Coefficients that are expanded together, a multiple of 64.
const CHUNK: usize = 1 << 12;

/// A stream of coefficients of GF(2^64), read in order and never twice.
pub(crate) struct Coefficients {
    stream: Prg,
    position: u64,
}

/// Sums of one list of bits and MACs: Σg·bit and Σg·MAC.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) bits: u64,
    pub(crate) macs: u64,
}

impl std::ops::BitXorAssign for Sums {
    fn bitxor_assign(&mut self, other: Self) {
        self.bits ^= other.bits;
        self.macs ^= other.macs;
    }
}

impl Coefficients {
    pub(crate) fn new(stream: Prg) -> Self {
        Self { stream, position: 0 }
    }

    /// The next coefficients.
    pub(crate) fn words(&mut self, count: usize) -> Vec<u64> {
        let mut bytes = vec![0; 8 * count];
        self.stream.fill_at(self.position, &mut bytes);
        self.position += bytes.len() as u64;
        words_of(&bytes)
    }

    /// Combines bits and MACs with coefficients of their own.
    pub(crate) fn combine(&mut self, bits: &Bits, macs: &[u64]) -> Sums {
        let mut sums = Sums::default();
        for (words, macs) in bits.words().chunks(CHUNK / 64).zip(macs.chunks(CHUNK)) {
            let g = self.words(macs.len());
            sums.macs ^= inner_product(&g, macs);
            for (word, g) in words.iter().zip(g.chunks(64)) {
                let terms = g.iter().enumerate();
                sums.bits ^= terms.fold(0, |sum, (i, g)| sum ^ (g & mask(word >> i)));
            }
        }
        sums
    }
}

/// Σ x^i·f_i of 64 bits with their MACs: a field element that is known to nobody.
pub(crate) fn field_element(bits: &Bits, macs: &[u64]) -> Sums {
    let powers: Vec<u64> = (0..64).map(|i| 1 << i).collect();
    Sums { bits: bits.words()[0], macs: inner_product(&powers, macs) }
}

/// The last part of every check: the parties' σ are committed to and opened; their sum must vanish.
/// Whoever sees a sum that does not may know the key: the caller burns it.
///
/// # Errors
/// [`Abort::MacCheck`]; as [`Run::commit_open`].
pub(crate) async fn sum_vanishes(run: &mut Run, sigma: u64) -> Result<(), Abort> {
    let all = run.commit_open(&sigma.to_le_bytes()).await?;
    let sum = all
        .iter()
        .fold(0, |sum, sigma| sum ^ u64::from_le_bytes(sigma[..].try_into().expect("eight bytes")));
    if sum == 0 { Ok(()) } else { Err(Abort::MacCheck) }
}

/// Bits that were opened, with the own shares of their MACs, waiting for their check. Wiped when
/// dropped.
#[derive(Default, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Opened {
    bits: Bits,
    macs: Vec<u64>,
}

impl Opened {
    pub(crate) fn push(&mut self, bits: &Bits, macs: &[u64]) {
        self.bits.append(bits);
        self.macs.extend_from_slice(macs);
    }

    /// Step 13: a coin, and the combination of everything that waits.
    ///
    /// # Errors
    /// [`Abort::MacCheck`], or [`Abort::View`] if not all parties have opened the same.
    pub(crate) async fn check(&mut self, run: &mut Run, delta: u64) -> Result<(), Abort> {
        let coin = run.toss().await?;
        let sums = Coefficients::new(coin.stream(0)).combine(&self.bits, &self.macs);
        *self = Self::default();
        sum_vanishes(run, sums.macs ^ ostrakon_kernels::clmul_mul(sums.bits, delta)).await
    }
}
