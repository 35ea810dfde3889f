//! Committees in one process.

pub use ostrakon_testkit::nightly;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use ostrakon_authbits::ot::{Delta, KEY_BITS, base::BaseKey};
use ostrakon_authbits::{
    BaseKeys, Bits, Journal, Segment, SegmentSpec, Shares, Ticket, Unprepared, prepare_with,
};
use ostrakon_crypto::{Digest, Secret};
use ostrakon_kernels::Prg;
use ostrakon_party::{Message, Party, PartyId};
use ostrakon_testkit::{Network, Saboteur, World};

/// 40 bits of security at the least size of a bucket of five.
pub const SPEC: SegmentSpec = SegmentSpec { number: 1, triples: 322, bucket: 5, security: 40 };

/// A small segment. Its bound is what it is: about 2^-bucket.
pub fn small(triples: usize) -> SegmentSpec {
    SegmentSpec { number: 1, triples, bucket: 3, security: 3 }
}

/// What a party has written down. A clone of it is the same disk.
#[derive(Clone, Default)]
pub struct Disk(pub Arc<Mutex<Vec<Entry>>>);

pub type Entry = (Digest, Vec<u8>);

impl Journal for Disk {
    fn keep(&mut self, entries: &[(Digest, Vec<u8>)]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let mut used = self.0.lock().map_err(|error| error.to_string())?;
        let mut keep = |(name, bytes): &(Digest, Vec<u8>)| {
            let before = used.iter().find(|(used, _)| used == name).map(|(_, bytes)| bytes.clone());
            used.push((*name, bytes.clone()));
            before
        };
        Ok(entries.iter().map(&mut keep).collect())
    }
}

/// A ticket of a party that has used no number yet.
pub fn ticket(party: &Party, spec: SegmentSpec) -> Ticket {
    Ticket::take(&mut Disk::default(), party, spec).unwrap()
}

fn stream(seed: u64, names: &[u64]) -> Prg {
    let mut secret = Secret::new([0x66; 32]).derive("test", &[&seed.to_le_bytes()]);
    for name in names {
        secret = secret.derive("test", &[&name.to_le_bytes()]);
    }
    Prg::new(secret.expose())
}

fn draw<const N: usize>(prg: &Prg, index: usize) -> [u8; N] {
    let mut out = [0; N];
    prg.fill_at((index * N) as u64, &mut out);
    out
}

pub fn delta(seed: u64, number: u64, party: usize) -> Delta {
    let prg = stream(seed, &[number, 1, party as u64]);
    let hash = u128::from_le_bytes(draw(&prg, 1));
    Delta { mac: u64::from_le_bytes(draw(&prg, 0)), hash }
}

/// What step 1 would make, dealt by a dealer whom only tests trust: most tests are about what comes
/// after it.
pub fn dealt(seed: u64, number: u64, parties: usize, party: usize) -> BaseKeys {
    let pair = |owner: usize, holder: usize| -> Vec<[BaseKey; 2]> {
        let prg = stream(seed, &[number, 2, owner as u64, holder as u64]);
        (0..KEY_BITS).map(|k| [draw(&prg, 2 * k), draw(&prg, 2 * k + 1)]).collect()
    };
    let delta = delta(seed, number, party);
    let choices: Vec<_> = (0..KEY_BITS).map(|k| usize::from(1 ^ delta.bit(k))).collect();
    let others = |of: &dyn Fn(usize) -> usize| (0..parties).map(of).collect::<Vec<_>>();
    let peers = others(&|i| i);
    BaseKeys {
        delta,
        sent: peers.iter().map(|&i| if i == party { Vec::new() } else { pair(party, i) }).collect(),
        received: peers
            .iter()
            .map(|&i| {
                let keys = if i == party { Vec::new() } else { pair(i, party) };
                keys.iter().enumerate().map(|(k, keys)| keys[choices[k]]).collect()
            })
            .collect(),
    }
}

/// A committee, whose base transfers are dealt unless it makes them itself.
pub struct Committee {
    pub world: World,
    pub parties: usize,
    dealt: bool,
}

impl Committee {
    pub fn new(seed: u64, parties: usize) -> Self {
        Self { world: World::new(seed, parties as u8), parties, dealt: true }
    }

    /// One that runs step 1, too.
    pub fn from_nothing(seed: u64, parties: usize) -> Self {
        Self { dealt: false, ..Self::new(seed, parties) }
    }

    pub async fn prepare(&self, party: &Party, spec: SegmentSpec) -> Result<Segment, Unprepared> {
        self.prepare_for(party, ticket(party, spec), spec).await
    }

    pub async fn prepare_for(
        &self,
        party: &Party,
        ticket: Ticket,
        spec: SegmentSpec,
    ) -> Result<Segment, Unprepared> {
        let seed = self.world.randomness(party.id, &format!("segment {}", spec.number));
        let deal = || dealt(self.world.seed, spec.number, self.parties, party.id.index());
        prepare_with(party, ticket, Secret::new(seed), self.dealt.then(deal)).await
    }

    /// Every party prepares a segment and goes on with it.
    pub fn run<T>(
        &self,
        network: &Network,
        spec: SegmentSpec,
        main: impl AsyncFn(Segment) -> T,
    ) -> Vec<Option<Result<T, Unprepared>>> {
        let main = &main;
        self.world.run(network, |party| {
            async move {
                let segment = self.prepare(&party, spec).await?;
                Ok(main(segment).await)
            }
            .boxed_local()
        })
    }

    /// A network on which `party`'s messages pass through `rewrite`.
    pub fn corrupt(
        &self,
        party: usize,
        rewrite: impl Fn(PartyId, &Message) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Network {
        let network = Network::default();
        let party = PartyId(party as u8);
        network.corrupt(Saboteur::rewriting(party, self.world.key(party), rewrite));
        network
    }
}

/// All parties' results, of which none may be missing.
pub fn all<T, E: std::fmt::Debug>(results: Vec<Option<Result<T, E>>>) -> Vec<T> {
    results.into_iter().map(|result| result.expect("waiting").expect("stopped")).collect()
}

/// The parties' Δ.
pub fn whole_key(shares: impl Iterator<Item = u64>) -> u64 {
    shares.fold(0, |sum, share| sum ^ share)
}

/// Puts shares together; every MAC must be right.
pub fn reconstruct(shares: &[Shares], key: u64) -> Vec<bool> {
    (0..shares[0].len())
        .map(|i| {
            let bit = shares.iter().fold(false, |sum, share| sum ^ share.bits().get(i));
            let mac = shares.iter().fold(0, |sum, share| sum ^ share.macs()[i]);
            assert_eq!(mac, if bit { key } else { 0 }, "the MAC of bit {i}");
            bit
        })
        .collect()
}

/// Additive shares of bits: one party's.
pub fn deal(seed: u64, parties: usize, party: usize, bits: &[bool]) -> Bits {
    let share = |party: usize| {
        let mut bytes = vec![0; bits.len()];
        stream(seed, &[99, party as u64]).fill(&mut bytes);
        bytes
    };
    let others: Vec<Vec<u8>> = (1..parties).map(share).collect();
    (0..bits.len())
        .map(|i| match party {
            0 => others.iter().fold(bits[i], |sum, share| sum ^ (share[i] & 1 == 1)),
            _ => others[party - 1][i] & 1 == 1,
        })
        .collect()
}

/// Pseudorandom bits.
pub fn bits(seed: u64, len: usize) -> Vec<bool> {
    let mut bytes = vec![0; len];
    stream(seed, &[98]).fill(&mut bytes);
    bytes.iter().map(|byte| byte & 1 == 1).collect()
}
