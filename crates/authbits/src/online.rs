//! Computing with a segment: steps 11 to 15.

use crate::abort::{Abort, Refused};
use crate::bits::Bits;
use crate::circuit::{Circuit, Gate, Layer};
use crate::mac::Opened;
use crate::ot::extension::{Lane, Lot, extend};
use crate::ot::{Columns, Width, words_of_lot};
use crate::run::Kind;
use crate::segment::{Segment, random_bits};
use crate::shares::Shares;
use crate::triples::Triples;
use crate::triples::bucket::open;

/// The shares of all wires of a circuit.
struct Wires {
    bits: Vec<u8>,
    macs: Vec<u64>,
}

impl Segment {
    /// Step 11: random bits that nobody knows.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn random(&mut self, len: usize) -> Result<Shares, Refused> {
        self.call(async |segment| segment.fresh(len).await).await
    }

    async fn fresh(&mut self, len: usize) -> Result<Shares, Abort> {
        Ok(self.fresh_with_columns(len).await?.0)
    }

    /// The same, with the correlations that the MACs are made of.
    pub(crate) async fn fresh_with_columns(
        &mut self,
        len: usize,
    ) -> Result<(Shares, Columns), Abort> {
        self.run.note(Kind::Corrections, &(len as u64).to_le_bytes());
        let bits = random_bits(&mut self.run, len);
        let position = self.setup.reserve(words_of_lot(len));
        let lane = Lane { setup: &self.setup, trees: Width::Narrow.trees(), position };
        let lot = Lot::new(&mut self.run, &bits, vec![lane]);
        let columns = extend(&mut self.run, vec![lot]).await?.swap_remove(0);
        let macs = columns.macs(&bits, self.delta(), 0);
        Ok((Shares::new(self.key_id(), bits, macs), columns))
    }

    /// Step 11: bits of which every party has an additive share come under the key. Any sharing
    /// will do: a party puts in bits of its own as its share, and the others put in zeros. A party
    /// can change what it was dealt: whoever deals must check what comes of it.
    ///
    /// # Errors
    /// [`Refused`].
    pub async fn authenticate(&mut self, dealt: &Bits) -> Result<Shares, Refused> {
        self.call(async |segment| {
            let mut shares = segment.fresh(dealt.len()).await?;
            let mut difference = dealt.clone();
            difference.xor(shares.bits());
            let public = open(&mut segment.run, Kind::Opening, &difference).await?;
            segment.add_public(&mut shares, &public);
            Ok(shares)
        })
        .await
    }

    pub(crate) fn add_public(&self, shares: &mut Shares, public: &Bits) {
        shares.xor_public(public, self.delta(), self.run.me() == 0);
    }

    /// Adds public bits to shares.
    ///
    /// # Errors
    /// [`Refused::ForeignKey`].
    pub fn xor_public(&self, shares: &mut Shares, public: &Bits) -> Result<(), Refused> {
        self.accept(shares)?;
        self.add_public(shares, public);
        Ok(())
    }

    /// Step 12: the circuit's outputs, still shared. They are right only if a later check passes;
    /// [`Segment::reveal`] makes it, and finds parties that hold different circuits. Where layers
    /// of these have different sizes, an honest party is blamed for a length.
    ///
    /// # Errors
    /// [`Refused`]; foreign shares, a wrong number of inputs and a lack of triples burn nothing.
    pub async fn evaluate(
        &mut self,
        circuit: &Circuit,
        inputs: &Shares,
    ) -> Result<Shares, Refused> {
        self.accept(inputs)?;
        if inputs.len() != circuit.inputs() {
            return Err(Refused::Inputs);
        }
        let triples = self.take(circuit.ands())?;
        self.call(async |segment| segment.layers(circuit, inputs, triples).await).await
    }

    async fn layers(
        &mut self,
        circuit: &Circuit,
        inputs: &Shares,
        triples: Triples,
    ) -> Result<Shares, Abort> {
        self.run.note(Kind::Opening, &circuit.digest().0);
        let layers = circuit.layers();
        let mut wires = Wires::new(circuit, inputs, &layers);
        let mut used = 0;
        for layer in &layers {
            if !layer.ands.is_empty() {
                self.and_layer(&mut wires, layer, &triples, used).await?;
                used += layer.ands.len();
            }
            wires.free(layer, self.delta(), self.run.me() == 0);
        }
        Ok(wires.outputs(circuit, self.key_id()))
    }

    /// All AND gates of one depth: e = x ⊕ a and f = y ⊕ b are opened, first all e, then all f.
    async fn and_layer(
        &mut self,
        wires: &mut Wires,
        layer: &Layer,
        triples: &Triples,
        first: usize,
    ) -> Result<(), Abort> {
        let gates = || layer.ands.iter().enumerate().map(|(i, gate)| (first + i, gate));
        let e = gates().map(|(k, &(_, x, _))| wires.bit(x) ^ triples.x.bits().get(k));
        let f = gates().map(|(k, &(_, _, y))| wires.bit(y) ^ triples.y.bits().get(k));
        let share: Bits = e.chain(f).collect();
        let opened = open(&mut self.run, Kind::Opening, &share).await?;
        let e = gates().map(|(k, &(_, x, _))| wires.macs[x as usize] ^ triples.x.macs()[k]);
        let f = gates().map(|(k, &(_, _, y))| wires.macs[y as usize] ^ triples.y.macs()[k]);
        self.opened.push(&opened, &e.chain(f).collect::<Vec<_>>());
        let (delta, is_first, count) = (self.delta(), self.run.me() == 0, layer.ands.len());
        for (i, &(out, _, _)) in layer.ands.iter().enumerate() {
            let (e, f, k) = (opened.mask(i), opened.mask(count + i), first + i);
            let bit = |shares: &Shares| u64::from(shares.bits().get(k));
            let z = bit(&triples.z) ^ (e & bit(&triples.y)) ^ (f & bit(&triples.x));
            let public = e & f;
            wires.bits[out as usize] = ((z ^ (public & u64::from(is_first))) & 1) as u8;
            wires.macs[out as usize] = triples.z.macs()[k]
                ^ (e & triples.y.macs()[k])
                ^ (f & triples.x.macs()[k])
                ^ (public & delta);
        }
        Ok(())
    }

    /// Steps 13 and 14: checks everything that was opened, opens the shares, and checks them too.
    ///
    /// # Errors
    /// [`Refused`]. After [`Abort::MacCheck`] the key counts as known.
    pub async fn reveal(&mut self, shares: &Shares) -> Result<Bits, Refused> {
        self.accept(shares)?;
        self.call(async |segment| segment.checked_opening(shares).await).await
    }

    async fn checked_opening(&mut self, shares: &Shares) -> Result<Bits, Abort> {
        let delta = self.delta();
        self.run.note(Kind::Decommitment, &(shares.len() as u64).to_le_bytes());
        self.opened.check(&mut self.run, delta).await?;
        // A share may still be what a party has put in or was dealt, so only the sum is shown.
        let mut share = shares.bits().clone();
        share.xor(&self.setup.cancelling(shares.len()));
        let all = self.run.commit_open(&share.to_bytes()).await?;
        let mut sum = Bits::zeros(shares.len());
        for (party, said) in self.run.party.roster.parties().zip(&all) {
            let share = Bits::from_bytes(said, shares.len()).ok_or(Abort::Malformed(party))?;
            sum.xor(&share);
        }
        self.run.note(Kind::Decommitment, &sum.to_bytes());
        let mut opened = Opened::default();
        opened.push(&sum, shares.macs());
        opened.check(&mut self.run, delta).await?;
        Ok(sum)
    }

    /// Step 15: bits under the key of `source` come under the key of this segment.
    ///
    /// # Errors
    /// [`Refused`]; a failure burns both segments.
    pub async fn import(
        &mut self,
        source: &mut Segment,
        shares: &Shares,
    ) -> Result<Shares, Refused> {
        source.accept(shares)?;
        self.call_both(source, async |segment, source| segment.carry(source, shares).await).await
    }

    /// Masks with MACs under both keys: under the source's, and under the own.
    async fn dual_masks(
        &mut self,
        source: &mut Segment,
        len: usize,
    ) -> Result<(Shares, Shares), Abort> {
        let bits = random_bits(&mut self.run, len);
        let trees = Width::Narrow.trees();
        let words = words_of_lot(len);
        let positions = (source.setup.reserve(words), self.setup.reserve(words));
        let lanes = vec![
            Lane { setup: &source.setup, trees, position: positions.0 },
            Lane { setup: &self.setup, trees, position: positions.1 },
        ];
        let lot = Lot::new(&mut self.run, &bits, lanes);
        let columns = extend(&mut self.run, vec![lot]).await?;
        let theirs = columns[0].macs(&bits, source.delta(), 0);
        let own = columns[0].macs(&bits, self.delta(), 64);
        Ok((
            Shares::new(source.key_id(), bits.clone(), theirs),
            Shares::new(self.key_id(), bits, own),
        ))
    }

    async fn carry(&mut self, source: &mut Segment, shares: &Shares) -> Result<Shares, Abort> {
        // The coin that follows compares what was said in the source's run, and which run it is.
        self.run.note_run(Kind::Opening, &source.run);
        // What was opened under the source's key is checked first: nothing goes on from a wrong
        // bit.
        let source_delta = source.delta();
        source.opened.check(&mut self.run, source_delta).await?;
        let (theirs, mut own) = self.dual_masks(source, shares.len()).await?;
        let mut sum = shares.clone();
        sum.xor(&theirs);
        let public = open(&mut self.run, Kind::Opening, sum.bits()).await?;
        let mut opened = Opened::default();
        opened.push(&public, sum.macs());
        opened.check(&mut self.run, source_delta).await?;
        self.add_public(&mut own, &public);
        Ok(own)
    }
}

impl Wires {
    fn new(circuit: &Circuit, inputs: &Shares, layers: &[Layer]) -> Self {
        let gates: usize = layers.iter().map(|layer| layer.ands.len() + layer.free.len()).sum();
        let mut wires = Self {
            bits: (0..inputs.len()).map(|i| u8::from(inputs.bits().get(i))).collect(),
            macs: inputs.macs().to_vec(),
        };
        wires.bits.resize(circuit.inputs() + gates, 0);
        wires.macs.resize(circuit.inputs() + gates, 0);
        wires
    }

    fn bit(&self, wire: u32) -> bool {
        self.bits[wire as usize] == 1
    }

    fn free(&mut self, layer: &Layer, delta: u64, is_first: bool) {
        for &(out, gate) in &layer.free {
            let share = |wire: u32| (self.bits[wire as usize], self.macs[wire as usize]);
            let ((a, mac_a), (b, mac_b)) = match gate {
                Gate::Xor(a, b) => (share(a), share(b)),
                Gate::Not(a) => (share(a), (u8::from(is_first), delta)),
                Gate::Constant(bit) => {
                    let one = if bit { (u8::from(is_first), delta) } else { (0, 0) };
                    (one, (0, 0))
                }
                Gate::And(..) => unreachable!("AND gates are not free"),
            };
            (self.bits[out as usize], self.macs[out as usize]) = (a ^ b, mac_a ^ mac_b);
        }
    }

    fn outputs(&self, circuit: &Circuit, key: crate::shares::KeyId) -> Shares {
        let wires = circuit.output_wires();
        let bits = wires.iter().map(|&wire| self.bit(wire)).collect();
        let macs = wires.iter().map(|&wire| self.macs[wire as usize]).collect();
        Shares::new(key, bits, macs)
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.bits);
        zeroize::Zeroize::zeroize(&mut self.macs);
    }
}
