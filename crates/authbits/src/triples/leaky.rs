//! Steps 7 and 8: triples of which a cheater may know some x, and their check.

use ostrakon_kernels::{FixedKeyHash, clmul_mul, zeroed_table};
use ostrakon_party::PartyId;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::abort::Abort;
use crate::bits::{Bits, mask};
use crate::mac::{Coefficients, field_element, sum_vanishes};
use crate::ot::Columns;
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

impl Leaky {
    /// XORs bits and MACs of z, those of word `word`.
    fn add(&mut self, word: usize, hashes: &[u128]) {
        let mut low = 0;
        for (i, (hash, mac)) in hashes.iter().zip(&mut self.z_macs[64 * word..]).enumerate() {
            *mac ^= *hash as u64;
            low |= ((hash >> 64) as u64 & 1) << i;
        }
        self.z.xor_word(word, low);
    }

    /// Step 7 as holder: the strings for one peer.
    fn give(&mut self, hash: &PairHash, hash_key: u128, columns: &Columns, held: &[u8]) -> Vec<u8> {
        let n = self.x.len();
        let mut strings = zeroed_table(message_bytes(n));
        let (macs, bits) = strings.split_at_mut(8 * n);
        let mut last_bits = Bits::zeros(n);
        for (word, macs) in macs.as_chunks_mut::<8>().0.chunks_mut(64).enumerate() {
            let used = macs.len();
            let mut keys = Zeroizing::new(columns.hash_block(held, word));
            let mut others = Zeroizing::new(keys.map(|key| key ^ hash_key));
            hash.apply(&mut keys[..used], 64 * word);
            hash.apply(&mut others[..used], 64 * word);
            self.add(word, &keys[..used]);
            let mut last = self.y.words()[word];
            let hashes = keys.iter().zip(others.iter()).zip(&self.y_macs[64 * word..]);
            for (i, (string, ((key, other), y_mac))) in macs.iter_mut().zip(hashes).enumerate() {
                let both = key ^ other;
                *string = (both as u64 ^ y_mac).to_le_bytes();
                last ^= ((both >> 64) as u64 & 1) << i;
            }
            last_bits.xor_word(word, last);
        }
        bits.copy_from_slice(&last_bits.to_bytes());
        strings
    }

    /// Step 7 as owner: the strings of one peer.
    fn take(&mut self, hash: &PairHash, columns: &Columns, owned: &[u8], macs: &[u8], bits: &Bits) {
        for (word, macs) in macs.as_chunks::<8>().0.chunks(64).enumerate() {
            let used = macs.len();
            let mut rows = Zeroizing::new(columns.hash_block(owned, word));
            hash.apply(&mut rows[..used], 64 * word);
            let x = self.x.words()[word];
            for (i, (row, string)) in rows.iter_mut().zip(macs).enumerate() {
                *row ^= u128::from(u64::from_le_bytes(*string) & mask(x >> i));
            }
            self.add(word, &rows[..used]);
            self.z.xor_word(word, x & bits.words()[word]);
        }
    }
}

/// Step 7: from x under the columns of the hash key and y with its MACs.
///
/// # Errors
/// [`Abort::Malformed`].
pub(crate) async fn multiply(
    run: &mut Run,
    hash_key: u128,
    columns: &Columns,
    (x, x_macs): (Bits, Vec<u64>),
    (y, y_macs): (Bits, Vec<u64>),
) -> Result<Leaky, Abort> {
    let n = x.len();
    let z_macs = y_macs.iter().enumerate().map(|(i, mac)| mac & x.mask(i)).collect();
    let both = x.words().iter().zip(y.words()).map(|(x, y)| x & y).collect();
    let z = Bits::from_words(both, n);
    let mut leaky = Leaky { x, y, z, x_macs, y_macs, z_macs };
    let mut bodies = vec![Vec::new(); run.parties()];
    for peer in run.party.peers() {
        let hash = PairHash::new(run, run.party.id, peer);
        bodies[peer.index()] = leaky.give(&hash, hash_key, columns, &columns.held[peer.index()]);
    }
    let received = run.exchange(Kind::Leaky, bodies, message_bytes(n)).await?;
    for peer in run.party.peers() {
        let hash = PairHash::new(run, peer, run.party.id);
        let (macs, bits) = received[peer.index()].split_at(8 * n);
        let bits = Bits::from_bytes(bits, n).ok_or(Abort::Malformed(peer))?;
        leaky.take(&hash, columns, &columns.owned[peer.index()], macs, &bits);
    }
    Ok(leaky)
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
