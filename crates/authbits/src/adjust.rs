//! Bits that others have dealt, for a layer that checks itself what came of them: steps 16 to 20.
//!
//! What a party puts in is fixed by its mask and by the difference that it has said. If the layer
//! above finds that somebody has put in what it was not dealt, the parties show their masks, each
//! held against the correlations that its peers have had since the masks were made: a party that
//! has said a wrong difference is known to every honest one.

#[cfg(test)]
mod tests;

use bytes::Bytes;
use futures::future::FutureExt;
use ostrakon_kernels::{clmul_mul, inner_product};

use crate::abort::{Abort, Refused};
use crate::bits::Bits;
use crate::mac::Coefficients;
use crate::ot::Columns;
use crate::run::{Kind, guarded};
use crate::segment::Segment;
use crate::shares::{KeyId, Shares};

/// Random bits that serve one adjustment.
pub struct Masks {
    shares: Shares,
    columns: Columns,
}

impl Masks {
    /// What the own part of dealt bits differs by from the own part of the masks: the bytes that
    /// are written down before [`Segment::adjust`] says them.
    ///
    /// # Panics
    /// If the dealt bits are not as many as the masks.
    pub fn difference(&self, dealt: &Bits) -> Bits {
        let mut difference = dealt.clone();
        difference.xor(self.shares.bits());
        difference
    }
}

/// Dealt bits under the segment's key, and what is needed to find out who put in something else.
pub struct Adjusted {
    shares: Shares,
    masks: Bits,
    columns: Columns,
    said: Vec<Bits>,
}

impl Adjusted {
    /// The dealt bits.
    pub fn shares(&self) -> &Shares {
        &self.shares
    }

    /// What each party has said that its part differs by from its mask.
    pub fn said(&self) -> &[Bits] {
        &self.said
    }
}

/// Sums of dealt bits with public coefficients in GF(2^64).
pub struct Elements {
    key: KeyId,
    terms: Vec<(usize, Vec<u64>)>,
    values: Vec<u64>,
    macs: Vec<u64>,
}

impl Elements {
    /// None yet.
    pub fn new(adjusted: &Adjusted) -> Self {
        let key = adjusted.shares.key();
        Self { key, terms: Vec::new(), values: Vec::new(), macs: Vec::new() }
    }

    /// Adds Σ coefficient·bit over the bits from `start` on.
    ///
    /// # Panics
    /// If there are not so many bits.
    pub fn push(&mut self, adjusted: &Adjusted, start: usize, coefficients: Vec<u64>) {
        let bits = adjusted.shares.bits();
        let value = combined(bits, start, &coefficients);
        let macs = &adjusted.shares.macs()[start..start + coefficients.len()];
        self.values.push(value);
        self.macs.push(inner_product(&coefficients, macs));
        self.terms.push((start, coefficients));
    }

    /// One coefficient for each of `len` dealt bits: the terms', each weighed with its element's.
    fn coefficients(&self, weights: &[u64], len: usize) -> Vec<u64> {
        let mut all = vec![0; len];
        for ((start, coefficients), weight) in self.terms.iter().zip(weights) {
            for (sum, coefficient) in all[*start..].iter_mut().zip(coefficients) {
                *sum ^= clmul_mul(*coefficient, *weight);
            }
        }
        all
    }
}

/// Σ coefficient·bit.
fn combined(bits: &Bits, start: usize, coefficients: &[u64]) -> u64 {
    let terms = coefficients.iter().enumerate();
    terms.fold(0, |sum, (i, coefficient)| sum ^ (coefficient & bits.mask(start + i)))
}

/// What came of opening [`Elements`].
pub struct OpenedElements {
    /// The elements.
    pub values: Vec<u64>,
    /// Whether their MACs hold. If not, the segment is burnt.
    pub passed: bool,
    /// The parties' shares of the elements, by party.
    shares: Vec<Vec<u64>>,
    sigmas: Vec<u64>,
    weights: Vec<u64>,
}

/// What parties have shown of themselves after a failed check ([`Segment::settle`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// This one's part of the check's sum was not what it holds.
    Liar(usize),
    /// These two hold different correlations: one of them lies. To an honest one of the two it is
    /// the other, and it says so.
    Dispute(usize, usize),
}

fn word(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl Segment {
    /// Step 16: masks for `len` dealt bits.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn masks(&mut self, len: usize) -> Result<Masks, Refused> {
        self.call(async |segment| {
            let (shares, columns) = segment.fresh_with_columns(len).await?;
            Ok(Masks { shares, columns })
        })
        .await
    }

    /// Step 16: says the difference, and puts the dealt bits under the key. What others have been
    /// told is not compared yet: [`Segment::compare`].
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn adjust(&mut self, masks: Masks, difference: &Bits) -> Result<Adjusted, Refused> {
        let Masks { mut shares, columns } = masks;
        self.accept(&shares)?;
        self.call(async |segment| {
            let own = shares.bits().clone();
            let body = difference.to_bytes();
            let all = segment.run.broadcast(Kind::Opening, body).await?;
            segment.run.note(Kind::Opening, &all.concat());
            let mut sum = Bits::zeros(difference.len());
            let mut said = Vec::with_capacity(all.len());
            for (party, bytes) in segment.run.party.roster.parties().zip(&all) {
                let bits = Bits::from_bytes(bytes, difference.len());
                let bits = bits.ok_or(Abort::Malformed(party))?;
                sum.xor(&bits);
                said.push(bits);
            }
            segment.add_public(&mut shares, &sum);
            Ok(Adjusted { shares, masks: own, columns, said })
        })
        .await
    }

    /// Compares the views: afterwards all honest parties have heard the same.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn compare(&mut self) -> Result<(), Refused> {
        self.call(async |segment| segment.run.toss().await.map(drop)).await
    }

    /// Step 17: a statement of the layer above, of one length at all parties. Returns all parties'
    /// statements, by party. Views contain them.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn state(&mut self, body: Vec<u8>) -> Result<Vec<Bytes>, Refused> {
        self.call(async |segment| segment.said(body).await).await
    }

    async fn said(&mut self, body: Vec<u8>) -> Result<Vec<Bytes>, Abort> {
        let all = self.run.broadcast(Kind::Statement, body).await?;
        self.run.note(Kind::Statement, &all.concat());
        Ok(all)
    }

    /// Tells the peers that this party stops. What they have not got by then they do not get.
    pub fn stop(self) {
        let sequence = 0;
        let tag =
            ostrakon_party::Tag { instance: self.run.instance, step: Kind::Stop.step(), sequence };
        self.run.party.send_all(tag, Vec::new());
    }

    /// Step 18: opens elements and checks their MACs, all at once. A check that fails burns the
    /// segment, which only [`Segment::account`] and [`Segment::settle`] take then.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn open_elements(&mut self, elements: &Elements) -> Result<OpenedElements, Refused> {
        if elements.key != self.key_id() {
            return Err(Refused::ForeignKey);
        }
        let opened = self.call(async |segment| segment.opened_elements(elements).await).await?;
        // The sum has given the key away (N1).
        self.burnt |= !opened.passed;
        Ok(opened)
    }

    async fn opened_elements(&mut self, elements: &Elements) -> Result<OpenedElements, Abort> {
        let body = elements.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let all = self.run.broadcast(Kind::Elements, body).await?;
        self.run.note(Kind::Elements, &all.concat());
        let shares: Vec<Vec<u64>> =
            all.iter().map(|bytes| bytes.chunks_exact(8).map(word).collect()).collect();
        let mut values = vec![0; elements.values.len()];
        for share in &shares {
            values.iter_mut().zip(share).for_each(|(sum, share)| *sum ^= share);
        }
        // Tossed after all shares are there; it compares the views.
        let coin = self.run.toss().await?;
        let weights = Coefficients::new(coin.stream(0)).words(values.len());
        let sum = inner_product(&weights, &values);
        let sigma = inner_product(&weights, &elements.macs) ^ clmul_mul(sum, self.delta());
        let sigmas = self.run.commit_open(&sigma.to_le_bytes()).await?;
        let sigmas: Vec<u64> = sigmas.iter().map(|sigma| word(sigma)).collect();
        let passed = sigmas.iter().fold(0, |sum, sigma| sum ^ sigma) == 0;
        Ok(OpenedElements { values, passed, shares, sigmas, weights })
    }

    /// Runs what comes after a failure: the segment stays burnt.
    async fn burning<T>(
        &mut self,
        main: impl AsyncFnOnce(&mut Self) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        self.burnt = true;
        let (party, instance) = (self.run.party.clone(), self.run.instance);
        guarded(&party, &[instance], main(self)).boxed_local().await
    }

    /// Step 19, and the end of the segment: the parties show their masks of the bits in `which`,
    /// each held against what this party has had since they were made. Returns them by party;
    /// `None` for who has shown others than it made.
    ///
    /// The sum of a mask and what was said is the dealt bit: the caller has made sure that these
    /// may be known.
    ///
    /// # Errors
    /// [`Abort`].
    pub async fn account(
        &mut self,
        adjusted: &Adjusted,
        which: &[std::ops::Range<usize>],
    ) -> Result<Vec<Option<Bits>>, Abort> {
        self.burning(async |segment| segment.accounted(adjusted, which).await).await
    }

    async fn accounted(
        &mut self,
        adjusted: &Adjusted,
        which: &[std::ops::Range<usize>],
    ) -> Result<Vec<Option<Bits>>, Abort> {
        let places: Vec<usize> = which.iter().cloned().flatten().collect();
        let own: Bits = places.iter().map(|i| adjusted.masks.get(*i)).collect();
        let all = self.said(own.to_bytes()).await?;
        let mut shown = Vec::with_capacity(all.len());
        for (party, bytes) in self.run.party.roster.parties().zip(&all) {
            let bits = Bits::from_bytes(bytes, own.len());
            shown.push(Some(bits.ok_or(Abort::Malformed(party))?));
        }
        let coin = self.run.toss().await?;
        let drawn = Coefficients::new(coin.stream(0)).words(places.len());
        let mut coefficients = vec![0; adjusted.masks.len()];
        places.iter().zip(&drawn).for_each(|(place, drawn)| coefficients[*place] = *drawn);
        let columns = &adjusted.columns;
        let of_peer = |columns_of: &[u8]| columns.row_sum(columns_of, &coefficients);
        let bodies = columns.owned.iter().map(|owned| of_peer(owned).to_le_bytes().to_vec());
        let received = self.run.exchange(Kind::Account, bodies.collect(), 8).await?;
        for peer in self.run.party.peers() {
            let i = peer.index();
            let bits = shown[i].as_ref().map_or(0, |bits| combined(bits, 0, &drawn));
            // M = K ⊕ r·Δ, row by row.
            let expected = of_peer(&columns.held[i]) ^ clmul_mul(bits, self.delta());
            if word(&received[i]) != expected {
                shown[i] = None;
            }
        }
        Ok(shown)
    }

    /// Step 20, after [`Segment::account`] of all masks: who has opened a wrong share of an
    /// element, or else has lied about its part of the sum.
    ///
    /// # Errors
    /// [`Abort`].
    pub async fn settle(
        &mut self,
        adjusted: &Adjusted,
        elements: &Elements,
        opened: &OpenedElements,
        masks: &[Bits],
    ) -> Result<Settled, Abort> {
        if let Some(liar) = wrong_share(adjusted, elements, opened, masks) {
            return Ok(Settled::Liar(liar));
        }
        self.burning(async |segment| segment.settled(adjusted, elements, opened, masks).await).await
    }

    async fn settled(
        &mut self,
        adjusted: &Adjusted,
        elements: &Elements,
        opened: &OpenedElements,
        masks: &[Bits],
    ) -> Result<Settled, Abort> {
        let (parties, me) = (self.run.parties(), self.run.me());
        let coefficients = elements.coefficients(&opened.weights, adjusted.masks.len());
        let columns = &adjusted.columns;
        let mut body = self.delta().to_le_bytes().to_vec();
        for peer in 0..parties {
            for of_peer in [&columns.held[peer], &columns.owned[peer]] {
                let sum = columns.row_sum(of_peer, &coefficients);
                body.extend_from_slice(&sum.to_le_bytes());
            }
        }
        let all = self.said(body).await?;
        let stated = |i: usize, at: usize| word(&all[i][8 * at..8 * at + 8]);
        let (held, owned) = (|i, k| stated(i, 1 + 2 * k), |i, k| stated(i, 2 + 2 * k));
        let mask = |i: usize| combined(&masks[i], 0, &coefficients);
        let mut difference = Bits::zeros(adjusted.masks.len());
        adjusted.said.iter().for_each(|said| difference.xor(said));
        let public = combined(&difference, 0, &coefficients)
            ^ inner_product(&opened.weights, &opened.values);
        let mut disputes = Vec::new();
        for i in 0..parties {
            let own = (0..parties).filter(|k| *k != i);
            let sum = own.fold(0, |sum, k| sum ^ held(i, k) ^ owned(i, k));
            if opened.sigmas[i] != sum ^ clmul_mul(mask(i) ^ public, stated(i, 0)) {
                return Ok(Settled::Liar(i));
            }
            for k in (0..parties).filter(|k| *k != i) {
                if owned(k, i) != held(i, k) ^ clmul_mul(mask(k), stated(i, 0)) {
                    disputes.push((i, k));
                }
            }
        }
        // Of one's own disputes one knows who lies.
        let own = disputes.iter().find(|(i, k)| *i == me || *k == me);
        Ok(match (own, disputes.first()) {
            (Some((i, k)), _) => Settled::Liar(if *i == me { *k } else { *i }),
            (None, Some((i, k))) => Settled::Dispute(*i, *k),
            // The parts add up to what the check has found not to vanish.
            (None, None) => return Err(Abort::MacCheck),
        })
    }
}

/// Who has opened another share of an element than its mask makes it.
fn wrong_share(
    adjusted: &Adjusted,
    elements: &Elements,
    opened: &OpenedElements,
    masks: &[Bits],
) -> Option<usize> {
    let mut difference = Bits::zeros(adjusted.masks.len());
    adjusted.said.iter().for_each(|said| difference.xor(said));
    masks.iter().zip(&opened.shares).enumerate().position(|(i, (mask, shares))| {
        let mut bits = mask.clone();
        if i == 0 {
            bits.xor(&difference);
        }
        elements
            .terms
            .iter()
            .zip(shares)
            .any(|((start, coefficients), share)| combined(&bits, *start, coefficients) != *share)
    })
}
