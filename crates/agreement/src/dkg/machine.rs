//! One server's part in one attempt.

use std::sync::Arc;

use curve25519_dalek::ristretto::RistrettoPoint;
use curve25519_dalek::scalar::Scalar;
use ostrakon_crypto::{Digest, Secret, Signature, SigningKey, Stream, VerifyingKey};
use ostrakon_party::{ByParty, PartyId, PartySet, Trust, wire};
use zeroize::Zeroizing;

use crate::coin::{CoinKeys, CoinSecret};

use super::dealing::{
    Context, Dealing, Polynomial, SealedShare, committed_share, decode, random_scalar,
};
use super::message::{Body, Complaint, DkgMessage, Done, Heard, Opening, Word, statement};

/// Why an attempt failed. The next one has the next number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The server's opening does not fit its commitment, its proof fails, or it names commitments
    /// that nobody signed: its signed messages show it to everybody.
    BadOpening(PartyId),
    /// The server sealed a share that does not fit: the receiver's exchange key shows it.
    BadShare(PartyId),
    /// The server complained of a share that does fit.
    FalseComplaint(PartyId),
    /// The server said two things under one name.
    TwoWords(PartyId),
}

impl Failure {
    /// Who is at fault.
    #[must_use]
    pub fn culprit(self) -> PartyId {
        let (Failure::BadOpening(party)
        | Failure::BadShare(party)
        | Failure::FalseComplaint(party)
        | Failure::TwoWords(party)) = self;
        party
    }
}

/// The result of an attempt that all servers signed.
#[derive(Debug)]
pub struct Finished {
    /// The public keys.
    pub keys: CoinKeys,
    /// This server's share.
    pub secret: CoinSecret,
    /// Everything that was said, for [`Dkg::recover`]. It is public: whoever has it and the
    /// identity key has the share.
    pub record: Vec<u8>,
}

/// What an attempt has come to.
#[derive(Debug)]
pub enum Outcome {
    /// All signed: the key is made.
    Finished(Box<Finished>),
    /// Somebody is at fault. A key that others finish all the same counts, if no later attempt has
    /// been signed: [`super::Attempts`] sees to that.
    Failed(Failure),
}

/// What an event leads to.
#[derive(Debug, Default)]
#[must_use]
pub struct DkgStep {
    /// What must be durable before anything is sent: the messages under which this server seals,
    /// and later those that it signs or complains of, for [`Dkg::resume`]; and of which attempt. A
    /// later one of the same attempt replaces it.
    pub write: Option<(u32, Vec<u8>)>,
    /// Messages for all other servers.
    pub sends: Vec<Vec<u8>>,
    /// What it has come to, once.
    pub outcome: Option<Outcome>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Committing,
    Opening,
    Agreeing,
    Failed,
    Finished,
}

/// One server's part in one attempt at the coin's key.
pub struct Dkg {
    context: Context,
    trust: Trust,
    me: PartyId,
    signing: Arc<SigningKey>,
    identities: ByParty<VerifyingKey>,
    exchange: Zeroizing<Scalar>,
    opening: Dealing,
    polynomial: Polynomial,
    randomness: Secret,
    commits: ByParty<Option<DkgMessage>>,
    openings: ByParty<Option<DkgMessage>>,
    agreed: ByParty<Option<Signature>>,
    /// What each server that signed says that it heard.
    heard: ByParty<Vec<Heard>>,
    complaints: ByParty<Option<Complaint>>,
    said: Vec<Vec<u8>>,
    phase: Phase,
}

impl Dkg {
    /// Begins attempt number `attempt` in a session. Everything drawn follows from the identity
    /// key, session, servers and attempt, so a restart says the same, and a copy of the identity
    /// restores the share.
    pub fn new(
        session: Digest,
        attempt: u32,
        trust: Trust,
        me: PartyId,
        signing: Arc<SigningKey>,
        identities: ByParty<VerifyingKey>,
    ) -> (Self, DkgStep) {
        let context = Context::new(session, attempt, &trust, &identities);
        let fields: [&[u8]; 2] = [&context.founding.0, &attempt.to_le_bytes()];
        let stream = |context| Stream::of(signing.derive(context, &fields), context);
        let mut drawn = stream("ostrakon/v1/agreement/dkg polynomial");
        let polynomial = Polynomial::random(trust.believed(), &mut drawn);
        let possession = polynomial.prove(me, &context, &mut drawn);
        let exchange = random_scalar(&mut stream("ostrakon/v1/agreement/dkg exchange"));
        let opening = Dealing { commitments: polynomial.commitments(), possession };
        let parties = trust.parties();
        let mut dkg = Self {
            randomness: signing.derive("ostrakon/v1/agreement/dkg sealing", &fields),
            context,
            trust,
            me,
            signing,
            identities,
            exchange: Zeroizing::new(exchange),
            opening,
            polynomial,
            commits: ByParty::new(parties, |_| None),
            openings: ByParty::new(parties, |_| None),
            agreed: ByParty::new(parties, |_| None),
            heard: ByParty::new(parties, |_| Vec::new()),
            complaints: ByParty::new(parties, |_| None),
            said: Vec::new(),
            phase: Phase::Committing,
        };
        // Step 1: commit.
        let mut step = DkgStep::default();
        let public = RistrettoPoint::mul_base(&dkg.exchange).compress().0;
        let commit = Body::Commit(public, dkg.opening.digest(me, &context));
        dkg.say(commit, &mut step);
        dkg.advance(&mut step);
        (dkg, step)
    }

    /// Takes up an attempt from what this server wrote.
    pub fn resume(mut self, written: &[u8]) -> (Self, DkgStep) {
        let mut step = DkgStep::default();
        let messages: Vec<(PartyId, Vec<u8>)> = wire::decode(written).unwrap_or_default();
        for (from, bytes) in messages {
            let next = self.handle(from, &bytes);
            step.sends.extend(next.sends);
            step.outcome = step.outcome.or(next.outcome);
        }
        (self, step)
    }

    /// The finished key from a [`Finished::record`]; `None` if it is not one of this attempt.
    pub fn recover(self, record: &[u8]) -> Option<Finished> {
        match self.resume(record).1.outcome {
            Some(Outcome::Finished(finished)) => Some(*finished),
            _ => None,
        }
    }

    /// Whether this server has signed the attempt's transcript.
    pub(super) fn has_signed(&self) -> bool {
        self.agreed[self.me].is_some()
    }

    /// Whether all have.
    pub(super) fn has_finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    /// Everything that this server has said, to say it again.
    pub fn said(&self) -> &[Vec<u8>] {
        &self.said
    }

    /// Whom this server still waits for.
    pub fn awaited(&self) -> PartySet {
        let lacks = |party: &PartyId| match self.phase {
            Phase::Committing => self.commits[*party].is_none(),
            Phase::Opening => self.openings[*party].is_none(),
            Phase::Agreeing => self.agreed[*party].is_none(),
            Phase::Failed | Phase::Finished => false,
        };
        PartySet::all(self.trust.parties()).iter().filter(lacks).collect()
    }

    /// Handles a message; whatever is not properly signed is as if it had not arrived.
    pub fn handle(&mut self, from: PartyId, bytes: &[u8]) -> DkgStep {
        let mut step = DkgStep::default();
        let Ok(message) = DkgMessage::decode(bytes) else { return step };
        let signed = |key: &VerifyingKey| message.verifies(&self.context, from, key);
        if self.identities.get(from).is_none_or(|key| !signed(key)) {
            return step;
        }
        match &message.body {
            Body::Commit(..) | Body::Open(_) => self.keep(from, message, &mut step),
            Body::Agree(signature, heard) => self.agree(from, *signature, heard),
            Body::Complain(complaint) => self.complaints[from] = Some(*complaint),
            Body::Done(done) => self.done(done, &mut step),
        }
        self.advance(&mut step);
        step
    }

    fn keep(&mut self, from: PartyId, message: DkgMessage, step: &mut DkgStep) {
        let table = match message.body {
            Body::Commit(..) => &mut self.commits,
            _ => &mut self.openings,
        };
        match &mut table[from] {
            empty @ None => *empty = Some(message),
            Some(here) if here.body != message.body => self.fail(Failure::TwoWords(from), step),
            Some(_) => {}
        }
    }

    fn say(&mut self, body: Body, step: &mut DkgStep) {
        let message = DkgMessage::sign(body, &self.context, self.me, &self.signing);
        let bytes = wire::encode(&message);
        if matches!(message.body, Body::Commit(..) | Body::Open(_)) {
            self.keep(self.me, message, step);
        }
        self.said.push(bytes.clone());
        step.sends.push(bytes);
    }

    fn fail(&mut self, failure: Failure, step: &mut DkgStep) {
        if !matches!(self.phase, Phase::Failed | Phase::Finished) {
            self.phase = Phase::Failed;
            step.outcome = Some(Outcome::Failed(failure));
        }
    }

    fn advance(&mut self, step: &mut DkgStep) {
        let full = |table: &ByParty<Option<DkgMessage>>| table.iter().all(|(_, m)| m.is_some());
        // Step 2: all have committed, so open.
        if self.phase == Phase::Committing && full(&self.commits) {
            self.phase = Phase::Opening;
            self.open(step);
        }
        // Step 3: all have opened, so sign or complain; never both.
        if self.phase == Phase::Opening && full(&self.openings) {
            self.judge(step);
        }
        if self.phase == Phase::Agreeing
            && let Some(party) = self.contradicted()
        {
            self.fail(Failure::TwoWords(party), step);
        }
        if matches!(self.phase, Phase::Opening | Phase::Agreeing) {
            let weigh = |(from, said): (_, &Option<_>)| self.weigh(from, said.as_ref()?);
            let weighed = self.complaints.iter().find_map(weigh);
            if let Some(failure) = weighed {
                self.fail(failure, step);
            }
        }
        // Step 4: all have signed one transcript.
        if self.phase == Phase::Agreeing && self.agreed.iter().all(|(_, s)| s.is_some()) {
            self.finish(step);
        }
    }

    fn exchange_of(&self, party: PartyId) -> Option<(RistrettoPoint, Digest)> {
        match self.commits[party].as_ref()?.body {
            Body::Commit(key, digest) => Some((decode(&key)?, digest)),
            _ => None,
        }
    }

    fn open(&mut self, step: &mut DkgStep) {
        let context = "ostrakon/v1/agreement/dkg sealing of shares";
        let mut rng = Stream::of(self.randomness.clone(), context);
        let mut shares = Vec::new();
        for party in PartySet::all(self.trust.parties()).iter() {
            let Some((key, _)) = self.exchange_of(party) else {
                return self.fail(Failure::BadOpening(party), step);
            };
            let share = Zeroizing::new(self.polynomial.share(party));
            let to = (party, &key);
            shares.push(SealedShare::seal(&share, self.me, to, &self.context, &mut rng));
        }
        let commits = self.commits.iter().filter_map(|(_, commit)| Some(word(commit.as_ref()?)));
        let opening = Opening { dealing: self.opening.clone(), shares, commits: commits.collect() };
        // After a restart it is sealed under the same keys, so it is the same.
        step.write = Some((self.context.attempt, self.transcript_messages()));
        self.say(Body::Open(opening), step);
    }

    fn signed(&self, party: PartyId, kind: u64, (digest, signature): &Word) -> bool {
        let statement = statement(&self.context, party, kind, digest);
        self.identities[party].verifies(&statement, signature)
    }

    /// A dealer's opening with its committed points, if it is what everybody can check.
    fn checked(&self, dealer: PartyId) -> Result<(&Opening, Vec<RistrettoPoint>), Failure> {
        let bad = Failure::BadOpening(dealer);
        let message = self.openings[dealer].as_ref().ok_or(bad)?;
        let Body::Open(opening) = &message.body else { return Err(bad) };
        let parties = self.trust.parties();
        if opening.shares.len() != parties || opening.commits.len() != parties {
            return Err(bad);
        }
        for ((party, commit), named) in self.commits.iter().zip(&opening.commits) {
            let own = word(commit.as_ref().ok_or(bad)?);
            if own != *named && !self.signed(party, 1, named) {
                return Err(bad);
            }
            if own.0 != named.0 {
                return Err(Failure::TwoWords(party));
            }
        }
        let (_, committed) = self.exchange_of(dealer).ok_or(bad)?;
        if opening.dealing.digest(dealer, &self.context) != committed {
            return Err(bad);
        }
        let points = opening.dealing.check(dealer, &self.context, self.trust.believed());
        Ok((opening, points.ok_or(bad)?))
    }

    /// This server's share of a dealing; `None` if it does not fit.
    fn share_of(&self, dealer: PartyId, to: (PartyId, &Scalar)) -> Option<Zeroizing<Scalar>> {
        let (opening, points) = self.checked(dealer).ok()?;
        opening.shares[to.0.index()].open(dealer, to, &self.context, &points)
    }

    fn judge(&mut self, step: &mut DkgStep) {
        let dealers = PartySet::all(self.trust.parties());
        if let Some(failure) = dealers.iter().find_map(|dealer| self.checked(dealer).err()) {
            return self.fail(failure, step);
        }
        // Both words are written down, a complaint like a signature: it gives away a key that a
        // restart derives again, so whoever complained must never sign.
        step.write = Some((self.context.attempt, self.transcript_messages()));
        let own = (self.me, &*self.exchange);
        if let Some(dealer) = dealers.iter().find(|dealer| self.share_of(*dealer, own).is_none()) {
            let [_, opening] = self.heard_of(dealer);
            let complaint = Complaint { dealer, opening, key: self.exchange.to_bytes() };
            self.say(Body::Complain(complaint), step);
            return self.fail(Failure::BadShare(dealer), step);
        }
        self.phase = Phase::Agreeing;
        let signature = self.signing.sign(&self.transcript());
        self.agreed[self.me] = Some(signature);
        let heard = dealers.iter().map(|party| self.heard_of(party)).collect();
        self.say(Body::Agree(signature, heard), step);
    }

    fn heard_of(&self, party: PartyId) -> Heard {
        let of = |table: &ByParty<Option<DkgMessage>>| {
            word(table[party].as_ref().expect("the transcript is whole"))
        };
        [of(&self.commits), of(&self.openings)]
    }

    /// What all sign: every commitment and every opening.
    fn transcript(&self) -> Digest {
        let mut transcript = self.context.transcript("ostrakon/v1/agreement/dkg transcript");
        for party in PartySet::all(self.trust.parties()).iter() {
            for (digest, _) in self.heard_of(party) {
                transcript.field(&digest.0);
            }
        }
        transcript.finish()
    }

    fn transcript_messages(&self) -> Vec<u8> {
        let of = |table: &ByParty<Option<DkgMessage>>| {
            let messages = table.iter().filter_map(|(party, message)| {
                message.as_ref().map(|message| (party, wire::encode(message)))
            });
            messages.collect::<Vec<_>>()
        };
        wire::encode(&[of(&self.commits), of(&self.openings)].concat())
    }

    /// Keeps a signature: the transcript may not be whole yet, so it is checked when it is used.
    fn agree(&mut self, from: PartyId, signature: Signature, heard: &[Heard]) {
        if self.agreed[from].is_none() && heard.len() == self.trust.parties() {
            self.agreed[from] = Some(signature);
            self.heard[from] = heard.to_vec();
        }
    }

    /// Who said to another server something else than to this one, under its signature.
    fn contradicted(&self) -> Option<PartyId> {
        let parties = PartySet::all(self.trust.parties());
        let differs = |party: PartyId, heard: &Heard| {
            let own = self.heard_of(party);
            (0..2).any(|i| own[i].0 != heard[i].0 && self.signed(party, i as u64 + 1, &heard[i]))
        };
        let of = |party: &PartyId| {
            self.heard
                .iter()
                .any(|(_, all)| all.get(party.index()).is_some_and(|h| differs(*party, h)))
        };
        parties.iter().find(of)
    }

    /// What a complaint comes to once the dealing is here: its dealer's fault, or the complainer's.
    /// One with a key that is not the complainer's, or of an opening that its dealer did not sign,
    /// is as if nothing had been said. Only of one and the same opening, sealed under one and the
    /// same key, can it be said who of the two is wrong.
    fn weigh(&self, from: PartyId, complaint: &Complaint) -> Option<Failure> {
        let key = Option::<Scalar>::from(Scalar::from_canonical_bytes(complaint.key));
        let key = Zeroizing::new(key?);
        let dealer = complaint.dealer;
        let (digest, _) = word(self.openings.get(dealer)?.as_ref()?);
        if digest != complaint.opening.0 {
            return self.signed(dealer, 2, &complaint.opening).then_some(Failure::TwoWords(dealer));
        }
        if let Err(failure) = self.checked(dealer) {
            return Some(failure);
        }
        let (own, _) = self.exchange_of(from)?;
        let fits = self.share_of(dealer, (from, &key)).is_some();
        (RistrettoPoint::mul_base(&key) == own).then_some(match fits {
            true => Failure::FalseComplaint(from),
            false => Failure::BadShare(dealer),
        })
    }

    /// All servers' signatures: the key counts, whatever else was said.
    fn done(&mut self, done: &Done, step: &mut DkgStep) {
        let whole = [&self.commits, &self.openings]
            .iter()
            .all(|table| table.iter().all(|(_, message)| message.is_some()));
        if whole && self.phase != Phase::Finished && done.0.len() == self.trust.parties() {
            let transcript = self.transcript();
            let signed = self.identities.iter().zip(&done.0);
            if signed.into_iter().all(|((_, key), signature)| key.verifies(&transcript, signature))
            {
                self.agreed = ByParty::from(done.0.iter().copied().map(Some).collect::<Vec<_>>());
                self.finish(step);
            }
        }
    }

    fn finish(&mut self, step: &mut DkgStep) {
        let transcript = self.transcript();
        // A signature on something else is one that has not arrived.
        for (party, key) in self.identities.iter() {
            let right = |signature: &Signature| key.verifies(&transcript, signature);
            if !self.agreed[party].as_ref().is_some_and(right) {
                self.agreed[party] = None;
                return;
            }
        }
        let mut group = None;
        let mut value = Zeroizing::new(Scalar::ZERO);
        let parties = PartySet::all(self.trust.parties());
        let mut shares = ByParty::new(parties.len(), |_| RistrettoPoint::default());
        for dealer in parties.iter() {
            let own = self.share_of(dealer, (self.me, &self.exchange));
            let (Some(own), Ok((_, points))) = (own, self.checked(dealer)) else { return };
            *value += *own;
            group = Some(group.map_or(points[0], |sum: RistrettoPoint| sum + points[0]));
            for party in parties.iter() {
                shares[party] += committed_share(&points, party);
            }
        }
        let Some(group) = group else { return };
        self.phase = Phase::Finished;
        let signatures = self.agreed.iter().filter_map(|(_, signature)| *signature).collect();
        self.say(Body::Done(Done(signatures)), step);
        let done = (self.me, self.said.last().cloned().unwrap_or_default());
        let mut messages: Vec<(PartyId, Vec<u8>)> =
            wire::decode(&self.transcript_messages()).unwrap_or_default();
        messages.push(done);
        step.outcome = Some(Outcome::Finished(Box::new(Finished {
            keys: CoinKeys::new(group, shares, self.trust.believed()),
            secret: CoinSecret::new(*value),
            record: wire::encode(&messages),
        })));
    }
}

/// A message by its digest and signature.
fn word(message: &DkgMessage) -> Word {
    (message.body.digest(), message.signature)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
