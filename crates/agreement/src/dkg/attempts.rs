//! Attempts one after another, and which of their keys counts (spec D).

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_crypto::{Digest, SigningKey, VerifyingKey};
use ostrakon_party::{ByParty, PartyId, Trust};

use super::machine::{Dkg, DkgStep, Outcome};
use super::message::DkgMessage;

/// Among whom a key is made, and this server's part in it.
#[derive(Clone)]
pub struct Founding {
    /// The session; another one if a server has lost what it wrote before it had the key.
    pub session: Digest,
    /// How many servers there are, and how many may be corrupt.
    pub trust: Trust,
    /// This server.
    pub me: PartyId,
    /// Its identity key.
    pub signing: Arc<SigningKey>,
    /// Everybody's.
    pub identities: ByParty<VerifyingKey>,
}

impl Founding {
    fn machine(&self, attempt: u32) -> (Dkg, DkgStep) {
        let (signing, identities) = (Arc::clone(&self.signing), self.identities.clone());
        Dkg::new(self.session, attempt, self.trust, self.me, signing, identities)
    }
}

/// All of one server's attempts at one key. Of all keys at most one is finished, at whichever
/// honest servers: a key needs everybody's signature, whoever finished one signs none after it, and
/// for whoever signed a later one the earlier ones are void.
pub struct Attempts {
    founding: Founding,
    machines: Vec<Dkg>,
}

impl Attempts {
    /// Begins with attempt 0.
    pub fn new(founding: Founding) -> (Self, DkgStep) {
        let (machine, step) = founding.machine(0);
        (Self { founding, machines: vec![machine] }, step)
    }

    /// Goes on with what was written, by attempt: the last [`DkgStep::write`] of each, or the
    /// record of a finished key in its place, which is to be durable before the key is used.
    pub fn resume(founding: Founding, written: &BTreeMap<u32, Vec<u8>>) -> (Self, DkgStep) {
        let (mut attempts, mut step) = Self::new(founding);
        let last = written.keys().next_back().copied().unwrap_or(0);
        for attempt in 0..=last {
            let (machine, begun) = attempts.founding.machine(attempt);
            let nothing = Vec::new();
            let (machine, resumed) = machine.resume(written.get(&attempt).unwrap_or(&nothing));
            step.write = begun.write;
            step.sends = [begun.sends, resumed.sends].concat();
            if !matches!(step.outcome, Some(Outcome::Finished(_))) {
                step.outcome = resumed.outcome.or(begun.outcome);
            }
            attempts.machines.truncate(attempt as usize);
            attempts.machines.push(machine);
        }
        (attempts, step)
    }

    /// The attempt under way.
    pub fn current(&self) -> &Dkg {
        self.machines.last().expect("there is always an attempt")
    }

    /// Gives the attempt under way up and begins the next one; `None` once a key is finished. An
    /// attempt that was given up may still be finished, until the next one is signed.
    pub fn next_attempt(&mut self) -> Option<DkgStep> {
        if self.machines.iter().any(Dkg::has_finished) {
            return None;
        }
        let (machine, step) = self.founding.machine(u32::try_from(self.machines.len()).ok()?);
        self.machines.push(machine);
        Some(step)
    }

    /// Handles a message of any attempt that this server has begun. A failure is told of the
    /// attempt under way only.
    pub fn handle(&mut self, from: PartyId, bytes: &[u8]) -> DkgStep {
        let Ok(message) = DkgMessage::decode(bytes) else { return DkgStep::default() };
        let at = message.attempt() as usize;
        let void = |(i, other): (usize, &Dkg)| {
            (i != at && other.has_finished()) || (i > at && other.has_signed())
        };
        if at >= self.machines.len() || self.machines.iter().enumerate().any(void) {
            return DkgStep::default();
        }
        let mut step = self.machines[at].handle(from, bytes);
        let late = at + 1 < self.machines.len();
        step.outcome =
            step.outcome.filter(|outcome| !late || matches!(outcome, Outcome::Finished(_)));
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dkg::message::Body;
    use ostrakon_crypto::hash::digest;

    const N: usize = 4;

    fn id(i: usize) -> PartyId {
        PartyId(i as u8)
    }

    fn founding(i: usize) -> Founding {
        founding_of(N, i)
    }

    fn founding_of(n: usize, i: usize) -> Founding {
        let signing = |i: usize| SigningKey::from_seed(&digest("attempts", &[i as u8]).0);
        let identities = ByParty::new(n, |party| signing(party.index()).verifying_key());
        let trust = Trust::under_a_third(n).unwrap();
        let session = Digest([3; 32]);
        Founding { session, trust, me: id(i), signing: Arc::new(signing(i)), identities }
    }

    #[derive(Default)]
    struct World {
        servers: Vec<Attempts>,
        pool: Vec<(usize, usize, Vec<u8>)>,
        finished: Vec<Vec<[u8; 32]>>,
        written: BTreeMap<u32, Vec<u8>>,
        done: Vec<Vec<u8>>,
    }

    impl World {
        fn new() -> Self {
            let mut world = World { finished: vec![Vec::new(); N], ..World::default() };
            for i in 0..N {
                let (server, step) = Attempts::new(founding(i));
                world.servers.push(server);
                world.take(i, step);
            }
            world
        }

        fn take(&mut self, i: usize, step: DkgStep) {
            for bytes in step.sends {
                if matches!(DkgMessage::decode(&bytes).unwrap().body, Body::Done(_)) {
                    self.done.push(bytes.clone());
                }
                self.pool.extend((0..N).filter(|to| *to != i).map(|to| (i, to, bytes.clone())));
            }
            if i == 0
                && let Some((attempt, written)) = step.write
            {
                self.written.insert(attempt, written);
            }
            if let Some(Outcome::Finished(finished)) = step.outcome {
                self.finished[i].push(finished.keys.group());
            }
        }

        /// Delivers everything but what `held` names, which is lost.
        fn run(&mut self, held: impl Fn(usize, usize, u32, &Body) -> bool) {
            while let Some((from, to, bytes)) = self.pool.pop() {
                let message = DkgMessage::decode(&bytes).unwrap();
                if !held(from, to, message.attempt(), &message.body) {
                    self.give(from, to, &bytes);
                }
            }
        }

        fn give(&mut self, from: usize, to: usize, bytes: &[u8]) {
            let step = self.servers[to].handle(id(from), bytes);
            self.take(to, step);
        }

        fn next(&mut self) {
            for i in 0..N {
                if let Some(step) = self.servers[i].next_attempt() {
                    self.take(i, step);
                }
            }
        }
    }

    /// Server 3 has everybody's signature on attempt 0 and keeps its own: it alone can finish it.
    fn with_an_attempt_kept_back() -> (World, Vec<u8>) {
        let mut world = World::new();
        world.run(|from, _, _, body| {
            matches!(body, Body::Done(_)) || (from == 3 && matches!(body, Body::Agree(..)))
        });
        assert_eq!(world.finished.iter().map(Vec::len).collect::<Vec<_>>(), [0, 0, 0, 1]);
        // What follows is played by a server that forgets that it has finished.
        world.servers[3] = Attempts::new(founding(3)).0;
        world.finished[3].clear();
        let done = world.done.pop().unwrap();
        (world, done)
    }

    #[test]
    fn key_of_an_earlier_attempt_is_void_once_a_later_one_is_signed() {
        let (mut world, done) = with_an_attempt_kept_back();
        world.next();
        // Server 0 signs attempt 1, and waits for server 3's signature.
        world.run(|from, to, _, body| {
            to == 0
                && (from == 3 && matches!(body, Body::Agree(..)) || matches!(body, Body::Done(_)))
        });
        assert_eq!(world.finished[1].len(), 1);
        assert!(world.finished[0].is_empty());
        let finished = world.done.last().cloned().unwrap();
        // It restarts, too: what it signed is on its disk.
        let (again, _) = Attempts::resume(founding(0), &world.written);
        world.give(3, 0, &done);
        world.servers[0] = again;
        world.give(3, 0, &done);
        assert!(world.finished[0].is_empty(), "two keys were in use");
        world.give(1, 0, &finished);
        assert_eq!(world.finished[0], world.finished[1]);
    }

    #[test]
    fn server_alone_finishes_also_after_a_restart() {
        let (_, step) = Attempts::new(founding_of(1, 0));
        assert!(matches!(step.outcome, Some(Outcome::Finished(_))));
        let written = step.write.into_iter().collect();
        let (_, step) = Attempts::resume(founding_of(1, 0), &written);
        assert!(matches!(step.outcome, Some(Outcome::Finished(_))));
    }

    #[test]
    fn nothing_is_signed_after_a_finished_key() {
        let (mut world, done) = with_an_attempt_kept_back();
        world.next();
        world.give(3, 0, &done);
        assert_eq!(world.finished[0].len(), 1, "nothing later is signed: the earlier key counts");
        world.run(|from, _, attempt, _| from == 0 && attempt == 0);
        assert!((1..3).all(|i| world.finished[i].is_empty()), "server 0 does not sign another");
        assert!(world.servers[0].next_attempt().is_none());
        assert_eq!(world.finished[0].len(), 1);
    }
}
