//! Which author leads a round: the coin, from shares in blocks two rounds later (spec 3).

use std::collections::BTreeMap;

use ostrakon_crypto::Digest;
use ostrakon_party::PartyId;

use crate::coin::CoinShare;
use crate::keys::Keys;
use crate::params::{Params, Round};

/// Verified shares and known leaders, for rounds above the last committed leader.
#[derive(Clone, Debug, Default)]
pub(super) struct Coins {
    shares: BTreeMap<Round, BTreeMap<PartyId, CoinShare>>,
    leaders: BTreeMap<Round, PartyId>,
}

/// The author that a coin chooses. The bias of the remainder is below 2^-56.
fn chosen(coin: &Digest, parties: usize) -> PartyId {
    let bytes = coin.0.first_chunk().expect("a digest has 32 bytes");
    let index = u64::from_le_bytes(*bytes) % parties as u64;
    PartyId(u8::try_from(index).expect("parties are numbered by bytes"))
}

impl Coins {
    /// Takes a verified share of the coin for leaders of `round`.
    pub fn add(
        &mut self,
        round: Round,
        party: PartyId,
        share: CoinShare,
        params: &Params,
        keys: &impl Keys,
    ) {
        if self.leaders.contains_key(&round) {
            return;
        }
        let shares = self.shares.entry(round).or_default();
        shares.insert(party, share);
        if shares.len() < params.believed() {
            return;
        }
        let shares: Vec<_> = shares.iter().map(|(party, share)| (*party, *share)).collect();
        if let Some(coin) = keys.combine(&params.coin_label(round), &shares) {
            self.leaders.insert(round, chosen(&coin, params.parties()));
            self.shares.remove(&round);
        }
    }

    /// The author that leads `round`, once t + 1 shares are here.
    pub fn leader(&self, round: Round) -> Option<PartyId> {
        self.leaders.get(&round).copied()
    }

    /// Forgets the rounds up to `last`.
    pub fn forget(&mut self, last: Round) {
        self.shares = self.shares.split_off(&(last + 1));
        self.leaders = self.leaders.split_off(&(last + 1));
    }
}
