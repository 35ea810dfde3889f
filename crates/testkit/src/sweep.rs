//! A sabotage sweep: what the corrupt party posts in an honest run, and the ways to change it.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use ostrakon_party::{PartyId, Step};

use crate::{Mutation, Network, Saboteur, Target, World};

/// One case of a sweep.
#[derive(Clone, Debug)]
pub struct Case {
    /// What the changes are drawn from.
    pub seed: u64,
    /// Whose messages are changed.
    pub corrupt: PartyId,
    /// Which of them.
    pub target: Target,
    /// How.
    pub mutation: Mutation,
}

impl Case {
    /// A network in which the corrupt party's messages are changed. `other_session` is what it
    /// posted in another session.
    pub fn network(&self, world: &World, other_session: &Script) -> Network {
        let network = Network::default();
        network.corrupt(Saboteur::new(
            self.corrupt,
            world.key(self.corrupt),
            self.seed,
            self.target.clone(),
            self.mutation,
            other_session.bodies.clone(),
        ));
        network
    }
}

/// What a party posted in an honest run: the bodies in order, and the steps that there are.
pub struct Script {
    party: PartyId,
    bodies: Arc<Vec<Bytes>>,
    steps: BTreeSet<Step>,
}

impl Script {
    /// What `party` posted in this network.
    pub fn of(network: &Network, party: PartyId) -> Self {
        let own: Vec<_> =
            network.sent().into_iter().filter(|(_, m)| m.signed.header.from == party).collect();
        Self {
            party,
            bodies: Arc::new(own.iter().map(|(_, m)| m.body.clone()).collect()),
            steps: own.iter().map(|(_, m)| m.signed.header.tag.step).collect(),
        }
    }

    /// Every message in every way; every step in every way, alike to all peers; every link cut and
    /// delayed.
    pub fn cases(&self, seed: u64, parties: u8) -> Vec<Case> {
        let each = self.targets().flat_map(|target| Mutation::ALL.map(|way| (target.clone(), way)));
        self.with_links(seed, parties, each)
    }

    /// As [`Script::cases`], with `draws` ways for each message and step, so that each way meets
    /// every tenth target for each draw.
    pub fn drawn_cases(&self, seed: u64, parties: u8, draws: u64) -> Vec<Case> {
        let ways = Mutation::ALL.len() as u64;
        let each = (0u64..).zip(self.targets()).flat_map(move |(at, target)| {
            // 3 and 7 are prime to the number of ways.
            (0..draws).map(move |draw| {
                let way = (seed * 7 + at * 3 + draw * 7) % ways;
                (target.clone(), Mutation::ALL[way as usize])
            })
        });
        self.with_links(seed, parties, each)
    }

    fn targets(&self) -> impl Iterator<Item = Target> {
        let each = (0..self.bodies.len()).map(Target::Nth);
        each.chain(self.steps.iter().copied().map(Target::Step))
    }

    fn with_links(
        &self,
        seed: u64,
        parties: u8,
        each: impl Iterator<Item = (Target, Mutation)>,
    ) -> Vec<Case> {
        let peers = (0..parties).map(PartyId).filter(|peer| *peer != self.party);
        let links = peers.flat_map(|peer| {
            [Mutation::Drop, Mutation::Delay].map(|mutation| (Target::To(peer), mutation))
        });
        each.chain(links)
            .map(|(target, mutation)| Case { seed, corrupt: self.party, target, mutation })
            .collect()
    }
}
