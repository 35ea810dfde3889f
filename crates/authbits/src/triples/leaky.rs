//! Steps 7 and 8: triples of which a cheater may know some x, and their check.

use ostrakon_kernels::{FixedKeyHash, clmul_mul, wipe, xor_into, zeroed_table};
use ostrakon_party::PartyId;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::abort::Abort;
use crate::bits::{Bits, bytes_of};
use crate::mac::{Coefficients, field_element, sum_vanishes};
use crate::ot::Block;
use crate::run::{Kind, Run};

/// What a party holds of N leaky triples: bits, and shares of MACs.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Leaky {
    pub(crate) x: Bits,
    pub(crate) y: Bits,
    pub(crate) z: Bits,
    pub(crate) x_macs: Vec<u64>,
    pub(crate) y_macs: Vec<u64>,
    pub(crate) z_macs: Vec<u64>,
}

/// The 64 bits that hide the combination of step 8.
pub(crate) struct Mask {
    pub(crate) bits: Bits,
    pub(crate) macs: Vec<u64>,
}

/// Bytes of the strings U of `n` triples: 64 bits each, then one bit each.
pub(crate) fn message_bytes(n: usize) -> usize {
    8 * n + n.div_ceil(8)
}

/// The hash of a run, for ordered pairs of parties.
struct PairHash {
    hash: FixedKeyHash,
    tweak: u128,
}

impl PairHash {
    fn new(run: &Run, holder: PartyId, owner: PartyId) -> Self {
        let key = run.transcript("ostrakon/v1/authbits/leaky triple key").finish();
        let key = key.0[..16].try_into().expect("half of 32 bytes");
        let tweak = u128::from(holder.0) << 120 | u128::from(owner.0) << 112;
        Self { hash: FixedKeyHash::new(&key), tweak }
    }

    fn apply(&self, rows: &mut [u128], first: usize) {
        self.hash.hash(rows, |i| self.tweak | (first + i) as u128);
    }
}

/// Step 7 as far as it can be done before anything is known but columns: the hashes' part of z, and
/// of the strings for the peers. Wiped when dropped.
pub(crate) struct Multiplying {
    hash_key: u128,
    /// By peer, as owner and as holder.
    hashes: Vec<[PairHash; 2]>,
    z: Bits,
    z_macs: Vec<u64>,
    strings: Vec<Strings>,
}

/// The strings U for a peer: 64 bits of each, and the last bit of each.
struct Strings {
    bytes: Vec<u8>,
    last: Bits,
}

impl Drop for Multiplying {
    fn drop(&mut self) {
        self.hash_key.zeroize();
        self.z_macs.zeroize();
        self.strings.iter_mut().for_each(|strings| wipe(&mut strings.bytes));
    }
}

impl Multiplying {
    /// Of `n` triples, under this hash key.
    pub(crate) fn new(run: &Run, hash_key: u128, n: usize) -> Self {
        let me = run.party.id;
        let of_pair = |peer| [PairHash::new(run, peer, me), PairHash::new(run, me, peer)];
        let room = |peer| match peer == me {
            true => Strings { bytes: Vec::new(), last: Bits::zeros(0) },
            false => Strings { bytes: zeroed_table(message_bytes(n)), last: Bits::zeros(n) },
        };
        Self {
            hash_key,
            hashes: run.party.roster.parties().map(of_pair).collect(),
            z: Bits::zeros(n),
            z_macs: vec![0; n],
            strings: run.party.roster.parties().map(room).collect(),
        }
    }

    /// Takes in a part of the columns with a peer.
    pub(crate) fn take(&mut self, block: &Block<'_>) {
        let words = self.z.len().div_ceil(64);
        for word in block.first..words.min(block.first + block.words) {
            let mut rows = Zeroizing::new(block.hash_rows(word - block.first));
            match block.held {
                true => self.give(block.peer, word, &mut rows),
                false => self.owe(block.peer, word, &mut rows),
            }
        }
    }

    /// As owner: the hashes of M.
    fn owe(&mut self, peer: usize, word: usize, rows: &mut [u128; 64]) {
        let used = (self.z.len() - 64 * word).min(64);
        self.hashes[peer][0].apply(&mut rows[..used], 64 * word);
        add(&mut self.z, &mut self.z_macs, word, &rows[..used]);
    }

    /// As holder: the hashes of K, and of K and K ⊕ Δ together the strings' masks.
    fn give(&mut self, peer: usize, word: usize, keys: &mut [u128; 64]) {
        let used = (self.z.len() - 64 * word).min(64);
        let mut others = Zeroizing::new(keys.map(|key| key ^ self.hash_key));
        self.hashes[peer][1].apply(&mut keys[..used], 64 * word);
        self.hashes[peer][1].apply(&mut others[..used], 64 * word);
        add(&mut self.z, &mut self.z_macs, word, &keys[..used]);
        let Strings { bytes, last } = &mut self.strings[peer];
        let strings = bytes[512 * word..].as_chunks_mut::<8>().0;
        let mut low = 0;
        for (i, (string, (key, other))) in
            strings.iter_mut().zip(keys[..used].iter().zip(others.iter())).enumerate()
        {
            let both = key ^ other;
            *string = (both as u64).to_le_bytes();
            low |= ((both >> 64) as u64 & 1) << i;
        }
        last.xor_word(word, low);
    }

    /// Step 7, once the columns are checked: from x and y with their MACs.
    ///
    /// # Errors
    /// [`Abort::Malformed`].
    pub(crate) async fn multiply(
        mut self,
        run: &mut Run,
        (x, x_macs): (Bits, Vec<u64>),
        (y, y_macs): (Bits, Vec<u64>),
    ) -> Result<Leaky, Abort> {
        let n = x.len();
        let own = Zeroizing::new(bytes_of(&y_macs));
        let string = |Strings { mut bytes, mut last }: Strings| {
            if !bytes.is_empty() {
                xor_into(&mut bytes[..8 * n], &own);
                last.xor(&y);
                bytes[8 * n..].copy_from_slice(&last.to_bytes());
            }
            bytes
        };
        let bodies = std::mem::take(&mut self.strings).into_iter().map(string).collect();
        let received = run.exchange(Kind::Leaky, bodies, message_bytes(n)).await?;
        let mut z_macs = std::mem::take(&mut self.z_macs);
        let mut z = std::mem::take(&mut self.z);
        let both = x.words().iter().zip(y.words()).map(|(x, y)| x & y).collect();
        z.xor(&Bits::from_words(both, n));
        for (i, (mac, own)) in z_macs.iter_mut().zip(&y_macs).enumerate() {
            *mac ^= own & x.mask(i);
        }
        let mut leaky = Leaky { x, y, z, x_macs, y_macs, z_macs };
        for peer in run.party.peers() {
            let (macs, bits) = received[peer.index()].split_at(8 * n);
            let bits = Bits::from_bytes(bits, n).ok_or(Abort::Malformed(peer))?;
            leaky.take(macs, &bits);
        }
        Ok(leaky)
    }
}

/// XORs bits and MACs of z, those of word `word`.
fn add(z: &mut Bits, z_macs: &mut [u64], word: usize, hashes: &[u128]) {
    let mut low = 0;
    for (i, (hash, mac)) in hashes.iter().zip(&mut z_macs[64 * word..]).enumerate() {
        *mac ^= *hash as u64;
        low |= ((hash >> 64) as u64 & 1) << i;
    }
    z.xor_word(word, low);
}

impl Leaky {
    /// Step 7 as owner: the strings of one peer, where x is one.
    fn take(&mut self, macs: &[u8], bits: &Bits) {
        for (i, (mac, string)) in self.z_macs.iter_mut().zip(macs.as_chunks::<8>().0).enumerate() {
            *mac ^= u64::from_le_bytes(*string) & self.x.mask(i);
        }
        for (word, (x, last)) in self.x.words().iter().zip(bits.words()).enumerate() {
            self.z.xor_word(word, x & last);
        }
    }
}

/// Step 8, after all strings have arrived.
///
/// # Errors
/// [`Abort::MacCheck`]; as [`Run::commit_open`].
pub(crate) async fn check(
    run: &mut Run,
    delta: u64,
    leaky: &Leaky,
    mask: Mask,
) -> Result<(), Abort> {
    let combination = combine(run, leaky, mask).await?;
    sum_vanishes(run, combination.sigma(delta)).await
}

/// What step 8 comes to before its sum.
pub(crate) struct Combination {
    /// The parties' shares of the opened value.
    pub(crate) shares: Vec<u64>,
    /// The own share of its MAC.
    mac: u64,
}

impl Combination {
    /// The own part of the sum that must vanish.
    pub(crate) fn sigma(&self, delta: u64) -> u64 {
        let value = self.shares.iter().fold(0, |sum, share| sum ^ share);
        self.mac ^ clmul_mul(value, delta)
    }
}

/// Coin 1, and the opened combination. Only the bits of z keep a holder with another Δ_i for one
/// peer from knowing what its lie adds to the sum (7.3).
///
/// # Errors
/// As [`Run::commit_open`].
pub(crate) async fn combine(
    run: &mut Run,
    leaky: &Leaky,
    mask: Mask,
) -> Result<Combination, Abort> {
    let coin = run.toss().await?;
    let mut coefficients = Coefficients::new(coin.stream(0));
    let mut sums = field_element(&mask.bits, &mask.macs);
    sums ^= coefficients.combine(&leaky.x, &leaky.x_macs);
    sums ^= coefficients.combine(&leaky.y, &leaky.y_macs);
    sums ^= coefficients.combine(&leaky.z, &leaky.z_macs);
    let all = run.broadcast(Kind::Combination, sums.bits.to_le_bytes().to_vec()).await?;
    run.note(Kind::Combination, &all.concat());
    let word =
        |share: &bytes::Bytes| u64::from_le_bytes(share[..].try_into().expect("eight bytes"));
    let shares = all.iter().map(word).collect();
    Ok(Combination { shares, mac: sums.macs })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ostrakon_crypto::Secret;
    use ostrakon_testkit::{Network, World};

    use super::*;
    use crate::ot::KEY_BITS;
    use crate::spec::SegmentSpec;

    /// Equal rows are hashed differently in every place: by index, ordered pair, and run. A tweak
    /// that served twice would hide two strings by the same bits.
    #[test]
    fn no_tweak_repeats() {
        let (n, words) = (130, 3);
        let columns = vec![0; 8 * words * KEY_BITS];
        let mut seen = BTreeSet::new();
        let mut expected = 0;
        let worlds = [5, 6].map(|seed| World::new(seed, 3));
        for (world, number) in [(&worlds[0], 1), (&worlds[0], 2), (&worlds[1], 1)] {
            let spec = SegmentSpec { number, triples: n, bucket: 1, security: 0 };
            let party = world.party(&Network::default(), PartyId(1));
            let run = Run::new(party, spec.instance(), Secret::new([7; 32]));
            for (peer, held) in [(0, false), (0, true), (2, false), (2, true)] {
                let mut multiplying = Multiplying::new(&run, 1 << 77, n);
                let (lot, first) = (0, 0);
                multiplying.take(&Block { lot, peer, held, first, words, columns: &columns });
                // Of z the hashes of the rows; of a string that of the row with the key beside it.
                seen.extend(multiplying.z_macs.iter().copied());
                let strings = multiplying.strings[peer].bytes[..8 * n].as_chunks::<8>().0;
                if held {
                    seen.extend(strings.iter().map(|string| u64::from_le_bytes(*string)));
                }
                expected += if held { 2 * n } else { n };
            }
        }
        assert_eq!(seen.len(), expected);
    }
}
