//! All parties in one process, one thread, no clock: the same seed gives the same run.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use futures::future::LocalBoxFuture;
use ostrakon_crypto::{Digest, Secret, SigningKey, own};
use ostrakon_party::{Party, PartyId, Roster, SessionId};

use crate::network::Network;

/// A set of parties with identity keys drawn from a seed.
pub struct World {
    /// The seed, to be printed when a test fails.
    pub seed: u64,
    /// The parties' keys and the session.
    pub roster: Arc<Roster>,
    keys: Vec<Arc<SigningKey>>,
}

impl World {
    /// `count` parties, which all sign in this process. The session is a function of the seed until
    /// [`World::with_session`] sets another.
    pub fn new(seed: u64, count: u8) -> Self {
        own::remember();
        let secret =
            Secret::new([0x42; 32]).derive("ostrakon/testkit/world", &[&seed.to_le_bytes()]);
        let keys: Vec<Arc<SigningKey>> = (0..count)
            .map(|i| {
                Arc::new(SigningKey::from_seed(
                    secret.derive("ostrakon/testkit/identity", &[&[i]]).expose(),
                ))
            })
            .collect();
        let session = SessionId(Digest(*secret.derive("ostrakon/testkit/session", &[]).expose()));
        let roster = Arc::new(Roster {
            session,
            keys: keys.iter().map(|key| key.verifying_key()).collect(),
        });
        Self { seed, roster, keys }
    }

    /// The same parties in another session.
    pub fn with_session(&self, session: SessionId) -> Self {
        let roster = Arc::new(Roster { session, keys: self.roster.keys.clone() });
        Self { seed: self.seed, roster, keys: self.keys.clone() }
    }

    /// A party's signing key, for whoever plays it.
    pub fn key(&self, party: PartyId) -> Arc<SigningKey> {
        self.keys[party.index()].clone()
    }

    /// 32 bytes for one party and one purpose.
    pub fn randomness(&self, party: PartyId, purpose: &str) -> [u8; 32] {
        let fields: [&[u8]; 3] = [&self.seed.to_le_bytes(), &[party.0], purpose.as_bytes()];
        *Secret::new([0x17; 32]).derive("ostrakon/testkit/randomness", &fields).expose()
    }

    /// A party on a network.
    pub fn party(&self, network: &Network, id: PartyId) -> Party {
        Party::new(id, self.roster.clone(), self.key(id), network.channel(id))
    }

    /// Runs one future per party until all are done or nothing moves any more. `None`: that party
    /// is still waiting.
    pub fn run<'a, T: 'a>(
        &self,
        network: &Network,
        start: impl Fn(Party) -> LocalBoxFuture<'a, T>,
    ) -> Vec<Option<T>> {
        let results: Vec<Rc<RefCell<Option<T>>>> =
            self.keys.iter().map(|_| Rc::default()).collect();
        let parties = self.roster.parties().map(|id| self.party(network, id));
        let futures: Vec<LocalBoxFuture<'a, ()>> = parties
            .zip(&results)
            .map(|(party, result)| {
                let (future, result) = (start(party), result.clone());
                Box::pin(async move {
                    let value = future.await;
                    *result.borrow_mut() = Some(value);
                }) as LocalBoxFuture<'a, ()>
            })
            .collect();
        drive(network, futures);
        results.into_iter().map(|result| result.borrow_mut().take()).collect()
    }
}

/// Polls until all futures are done, or nothing moves although delayed messages have arrived and
/// patience has run out.
fn drive(network: &Network, futures: Vec<LocalBoxFuture<'_, ()>>) {
    let mut all = Box::pin(futures::future::join_all(futures));
    let (flag, waker) = crate::wake::flag();
    let mut context = std::task::Context::from_waker(&waker);
    loop {
        flag.clear();
        if all.as_mut().poll(&mut context).is_ready() {
            return;
        }
        if !flag.is_set() && !network.nudge() && !flag.is_set() {
            return;
        }
    }
}
