//! Shared-key set-up (F_setup, Ruffle appendix A, Fig. 7) without a dealer.
//!
//! A pairwise key mixes an ephemeral Diffie–Hellman exchange, whose public keys both members
//! broadcast with authentication, with a random contribution of each member, sent over the
//! (post-quantum) channel; both members state its digest. The common key is a joint coin. Its
//! digest with the identity keys names the session, so nothing signed in one deployment is valid in
//! another.

use futures::future::join;
use ostrakon_crypto::{Digest, Secret, Transcript};
use ostrakon_party::{Roster, SessionId, wire};
use serde::{Deserialize, Serialize};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::coin;
use crate::marks::Marks;
use crate::pair::Pair;
use crate::protocol::{Protocol, steps};
use crate::run::Run;
use crate::stop::Stop;

/// What a party keeps of the set-up.
pub struct SharedKeys {
    party: u8,
    common: Digest,
    session: SessionId,
    keys: [Secret; 2],
}

#[derive(Serialize, Deserialize)]
struct Stored {
    party: u8,
    common: Digest,
    session: SessionId,
    keys: [[u8; 32]; 2],
}

impl SharedKeys {
    /// The deployment's session.
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The key common to all three parties. Not a secret from any of them; it makes sessions
    /// differ.
    pub fn common(&self) -> &Digest {
        &self.common
    }

    /// The pairs that the party is in, with their keys.
    pub fn pairs(&self) -> [(Pair, &Secret); 2] {
        let [a, b] = Pair::of_party(self.party);
        [(a, &self.keys[0]), (b, &self.keys[1])]
    }

    /// Bytes for a file that only this server may read.
    pub fn to_bytes(&self) -> Vec<u8> {
        wire::encode(&Stored {
            party: self.party,
            common: self.common,
            session: self.session,
            keys: [*self.keys[0].expose(), *self.keys[1].expose()],
        })
    }

    /// Reads what [`SharedKeys::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`wire::Malformed`] for anything else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, wire::Malformed> {
        let stored: Stored = wire::decode(bytes)?;
        if stored.party > 2 {
            return Err(wire::Malformed);
        }
        Ok(Self {
            party: stored.party,
            common: stored.common,
            session: stored.session,
            keys: stored.keys.map(Secret::new),
        })
    }
}

/// The session in which the set-up itself runs: a digest of the identity keys.
pub fn setup_session(keys: &[ostrakon_crypto::VerifyingKey]) -> SessionId {
    let mut transcript = Transcript::new("ostrakon/v1/threeparty/set-up session");
    for key in keys {
        transcript.field(&key.0);
    }
    SessionId(transcript.finish())
}

/// Runs the set-up. The party must be of the session [`setup_session`], or of one whose servers
/// make keys for another engine. `randomness` is 32 fresh random bytes, and the same ones when the
/// set-up is repeated after a crash; what was heard in it is on record then (`marks`), so that all
/// parties that are honest come to the same, in whichever of their lives.
///
/// # Errors
/// [`Stop::Fault`] with evidence, [`Stop::Disagreement`] if two parties state different common
/// keys, of which one is faulty then, or [`Stop::Marks`].
pub async fn run<P: Protocol>(
    run: &Run<P>,
    randomness: [u8; 32],
    marks: &dyn Marks,
) -> Result<SharedKeys, Stop<P::Fault>> {
    run.with_accusations(exchange(run, Secret::new(randomness), marks)).await
}

/// The same for keys that nobody goes on making after a crash: no word is heard twice, and nothing
/// needs to be on record.
///
/// # Errors
/// As [`run`], but for the marks.
pub async fn run_once<P: Protocol>(
    run: &Run<P>,
    randomness: [u8; 32],
) -> Result<SharedKeys, Stop<P::Fault>> {
    self::run(run, randomness, &Unwritten).await
}

/// Marks of a run that is not gone on with: each is made once.
struct Unwritten;

impl Marks for Unwritten {
    fn record(&self, _: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        Ok(value.to_vec())
    }

    fn record_spent(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, String> {
        self.record(name, value)
    }
}

async fn exchange<P: Protocol>(
    run: &Run<P>,
    randomness: Secret,
    marks: &dyn Marks,
) -> Result<SharedKeys, Stop<P::Fault>> {
    let draw = |purpose: &'static [u8]| {
        *randomness.derive("ostrakon/v1/threeparty/set-up randomness", &[purpose]).expose()
    };
    // S1: ephemeral keys, the same to both peers.
    let ephemeral = StaticSecret::from(draw(b"ephemeral"));
    let own = PublicKey::from(&ephemeral).as_bytes().to_vec();
    let publics = run.broadcast_recorded(steps::SETUP_KEY, own, marks).await?;
    // S2: a contribution for each peer, over the encrypted channel.
    let [a, b] = run.peers();
    let contributions = [(a, draw(b"contribution a")), (b, draw(b"contribution b"))];
    for (peer, contribution) in contributions {
        run.send(peer, steps::SETUP_CONTRIBUTION, contribution.to_vec());
    }
    let received =
        join(run.receive(a, steps::SETUP_CONTRIBUTION), run.receive(b, steps::SETUP_CONTRIBUTION))
            .await;
    let received = [received.0?, received.1?];
    let mut keys = Vec::new();
    for ((peer, own), theirs) in contributions.into_iter().zip(&received) {
        let public: [u8; 32] =
            publics[usize::from(peer)].body[..].try_into().expect("length is checked");
        let agreed = ephemeral.diffie_hellman(&PublicKey::from(public));
        let [lower, higher] =
            if run.me() < peer { [&own[..], &theirs.body] } else { [&theirs.body[..], &own] };
        let mut transcript = Transcript::new("ostrakon/v1/threeparty/pairwise key");
        transcript
            .field(&run.party.roster.session.0.0)
            .number(Pair::of(run.me(), peer).index() as u64);
        for statement in &publics {
            transcript.field(&statement.body);
        }
        transcript.field(agreed.as_bytes()).field(lower).field(higher);
        keys.push(Secret::new(transcript.finish().0));
    }
    // `peers` is in order of the peer, `of_party` in order of the pair: the same for every party.
    let keys: [Secret; 2] = keys.try_into().ok().expect("two peers");
    confirm(run, &keys).await?;
    // S4: the common key by commit and open.
    let both = (steps::COIN_COMMITMENT, steps::COIN_OPENING);
    let committed = coin::commit(run, both, draw(b"nonce"), &draw(b"coin"), marks).await?;
    let openings = committed.open(run, marks).await?;
    let common = coin::joint_coin(openings.iter().map(|opening| &opening.body[..]));
    Ok(SharedKeys { party: run.me(), common, session: session(&run.party.roster, &common), keys })
}

/// S3: both members of every pair state the digest of its key. What an honest party states of the
/// pair that it is in with a cheater may be another thing after a crash, since contributions are
/// not on record; of a pair of two honest ones it is the same, so this needs no mark.
async fn confirm<P: Protocol>(run: &Run<P>, keys: &[Secret; 2]) -> Result<(), Stop<P::Fault>> {
    let own: Vec<u8> = keys.iter().flat_map(|key| coin::seed_digest(key.expose()).0).collect();
    let stated = run.broadcast(steps::SETUP_KEY_DIGESTS, own).await?;
    for pair in Pair::ALL {
        let [x, y] = pair.members().map(|member| {
            let place = 32 * usize::from(Pair::of_party(member)[1] == pair);
            stated[usize::from(member)].body[place..place + 32].to_vec()
        });
        if x != y {
            return Err(Stop::Disagreement(pair));
        }
    }
    Ok(())
}

fn session(roster: &Roster, common: &Digest) -> SessionId {
    let mut transcript = Transcript::new("ostrakon/v1/threeparty/session");
    transcript.field(&common.0);
    for key in &roster.keys {
        transcript.field(&key.0);
    }
    SessionId(transcript.finish())
}
