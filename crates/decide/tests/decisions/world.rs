//! A deployment in memory.

use ostrakon_crypto::{Digest, Secret, SigningKey, Stream};
use ostrakon_decide::draft::least_quorum;
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::keys::{certify, receipt_digest};
use ostrakon_decide::record::create;
use ostrakon_decide::*;
use ostrakon_party::{PartyId, Servers, SessionId};

pub const DEADLINE: u64 = 1_000_000;
pub const BEFORE: u64 = DEADLINE - 1;
pub const ACCEPT_BY: u64 = DEADLINE - 1_000;
pub const NOW: u64 = 1_000;
pub const EXPIRES: u64 = DEADLINE + ostrakon_decide::keys::GRACE;

/// What a server drew for the layer of a decision.
pub fn drawn(party: PartyId) -> Secret {
    Secret::new([party.0 + 77; 32])
}

/// Random numbers that a seed decides.
pub fn seeded(seed: u8) -> Stream {
    Stream::of(Secret::new([seed; 32]), "ostrakon/v1/decide/test randomness")
}

/// Three servers, and what they hold.
pub struct World {
    pub rng: Stream,
    pub identities: Vec<SigningKey>,
    pub servers: Servers,
    pub operators: Operators,
    /// By server.
    pub shares: Vec<Vec<HeldShare>>,
    serials: u8,
}

impl World {
    pub fn new(seed: u8) -> Self {
        let identities: Vec<_> = (1..=3).map(|i| SigningKey::from_seed(&[200 + i; 32])).collect();
        let keys = identities.iter().map(SigningKey::verifying_key).collect();
        let servers = Servers { session: SessionId(Digest([9; 32])), keys };
        let operators = Operators::new(&servers).unwrap();
        let shares = (0..3).map(|_| Vec::new()).collect();
        Self { rng: seeded(seed), identities, servers, operators, shares, serials: 0 }
    }

    pub fn parties(&self) -> Vec<(PartyId, SigningKey)> {
        (0..3).map(|i| (PartyId(i), SigningKey::from_seed(&[201 + i; 32]))).collect()
    }

    pub fn helpers(&self) -> Vec<HelperKey> {
        self.parties()
            .iter()
            .map(|(party, key)| HelperKey::of(key, *party, &self.operators))
            .collect()
    }

    /// A fresh one-time key, not handed in yet.
    pub fn new_key(&mut self, account: &SigningKey, threshold: u8) -> NewKey {
        self.serials += 1;
        let helpers = self.helpers();
        new_key(
            account,
            Serial([self.serials; 16]),
            (threshold, EXPIRES),
            &self.operators,
            &helpers,
            &mut self.rng,
        )
        .unwrap()
    }

    /// A certified key whose shares the servers hold.
    pub fn certified(&mut self, account: &SigningKey, threshold: u8) -> CertifiedKey {
        let new = self.new_key(account, threshold);
        let mut receipts = Vec::new();
        for ((party, identity), deposit) in self.parties().into_iter().zip(&new.deposits) {
            let sent = Deposit::decode(&ostrakon_party::wire::encode(deposit)).unwrap();
            let held = sent.open(&identity, party, &self.operators, NOW).unwrap();
            receipts.push(identity.sign(&receipt_digest(&self.operators, party, held.statement())));
            self.shares[party.index()].push(HeldShare::from_bytes(&held.to_bytes()).unwrap());
        }
        certify(account, new.statement, receipts, &self.operators).unwrap()
    }

    pub fn create(&mut self, draft: &Draft) -> SignedRecord {
        let (operators, rng) = (self.operators, &mut self.rng);
        let layer = |(party, identity): &(PartyId, SigningKey)| {
            Layer::of((&drawn(*party), 5), identity, *party, &operators, draft, rng).unwrap()
        };
        let parties: Vec<_> =
            (0..3).map(|i| (PartyId(i), SigningKey::from_seed(&[201 + i; 32]))).collect();
        let layers: Vec<Layer> = parties.iter().map(layer).collect();
        create(draft.clone(), layers.try_into().unwrap(), &self.operators, &creator(), 5)
    }
}

pub fn creator() -> SigningKey {
    SigningKey::from_seed(&[100; 32])
}

pub fn account(person: usize) -> SigningKey {
    SigningKey::from_seed(&[u8::try_from(person).unwrap() + 1; 32])
}

pub fn invitation(person: usize) -> Invitation {
    Invitation([u8::try_from(person).unwrap() + 50; 32])
}

pub fn ballot(function: Function, options: usize) -> Ballot {
    let options = (0..options).map(|i| format!("option {i}")).collect();
    Ballot { label: String::new(), options, function, assumed: 0 }
}

/// People take part by invitations; the first one by an account.
pub fn draft(world: &World, people: usize, threshold: u8, ballots: Vec<Ballot>) -> Draft {
    let person = |i: usize| {
        let seat = match i {
            0 => Seat::Account(account(0).verifying_key()),
            _ => Seat::Invitation(invitation(i).key().verifying_key()),
        };
        Person { name: format!("person {i}"), seat }
    };
    let mut ballots = ballots;
    if ballots.len() > 1 {
        (0..).zip(&mut ballots).for_each(|(i, ballot)| ballot.label = format!("ballot {i}"));
    }
    Draft {
        question: "Shall we?".into(),
        ballots,
        people: (0..people).map(person).collect(),
        accept_by: ACCEPT_BY,
        all_needed: false,
        deadline: DEADLINE,
        quorum: u16::try_from(least_quorum(people)).unwrap(),
        threshold,
        creator: creator().verifying_key(),
        gathering: None,
        nonce: [3; 16],
        servers: world.operators.digest,
    }
}

/// A decision, with P0's chain and records.
pub struct Decision {
    pub world: World,
    pub chain: Chain,
    pub records: Vec<Vec<u8>>,
    pub memories: Vec<Memory>,
}

impl Decision {
    pub fn new(mut world: World, draft: &Draft) -> Self {
        let first = world.create(draft);
        let chain = Chain::begin(world.operators, &first).unwrap();
        let memories = draft.people.iter().map(|_| Memory::default()).collect();
        Self { world, chain, records: vec![first.encode()], memories }
    }

    /// With everybody accepted.
    pub fn answering(people: usize, threshold: u8, ballots: Vec<Ballot>) -> Self {
        let world = World::new(1);
        let draft = draft(&world, people, threshold, ballots);
        let mut decision = Self::new(world, &draft);
        for person in 0..people {
            decision.accept(person);
        }
        assert_eq!(decision.chain.stage(), Stage::Answering);
        decision
    }

    /// P0 takes a record.
    pub fn take(&mut self, signed: &SignedRecord) -> Result<(), Refused> {
        let sent = SignedRecord::decode(&signed.encode())?;
        self.chain.check(&sent)?;
        if matches!(sent.record.content, Content::Step { .. }) {
            let before = self.chain.last_step().map(|number| self.record(number));
            self.chain.verify_step(before.as_ref(), &sent, &mut self.world.rng)?;
        }
        self.force(&sent);
        Ok(())
    }

    /// P0 takes a record without looking at its step.
    pub fn force(&mut self, signed: &SignedRecord) {
        self.chain.apply(signed).unwrap();
        self.records.push(signed.encode());
    }

    pub fn record(&self, number: u32) -> SignedRecord {
        SignedRecord::decode(&self.records[number as usize]).unwrap()
    }

    /// A device reads everything.
    pub fn visit(&mut self) -> Result<Visit, Refused> {
        let mut visit = Visit::new(self.world.operators, self.chain.id());
        for record in &self.records {
            visit.read(record, &mut self.world.rng)?;
        }
        visit.verify(&mut self.world.rng)?;
        Ok(visit)
    }

    pub fn acceptance(&mut self, person: usize) -> SignedRecord {
        let key = self.world.certified(&account(person), self.chain.draft().threshold);
        let visit = self.visit().unwrap();
        let invitation = (person > 0).then(|| invitation(person));
        visit.accept(&account(person), key, invitation.as_ref(), 6).unwrap()
    }

    pub fn accept(&mut self, person: usize) {
        let signed = self.acceptance(person);
        self.take(&signed).unwrap();
    }

    /// The person's step, made on its device with its memory.
    pub fn step(&mut self, person: usize, answers: &[u8]) -> Result<SignedRecord, Refused> {
        let visit = self.visit()?;
        let (memory, rng) = (&mut self.memories[person], &mut self.world.rng);
        visit.answer(&account(person), answers, memory, 7, rng)
    }

    pub fn answer(&mut self, person: usize, answers: &[u8]) {
        let signed = self.step(person, answers).unwrap();
        self.take(&signed).unwrap();
    }

    /// P0 does what is due.
    pub fn beat(&mut self, now: u64) {
        if let Some(content) = self.chain.due(now) {
            let signed = self.chain.next(&self.world.identities[0], now, content);
            self.take(&signed).unwrap();
        }
    }

    pub fn examine(&mut self) -> Result<Examined, Refused> {
        examine(self.world.operators, &self.records, &mut self.world.rng)
    }

    /// All servers open.
    pub fn openings(&mut self) -> Vec<(PartyId, Opening)> {
        let examined = self.examine().unwrap();
        let mut openings = Vec::new();
        for (party, _) in self.world.parties() {
            let shares = &self.world.shares[party.index()];
            let opening = examined.open(&drawn(party), party, shares, &mut self.world.rng).unwrap();
            let opening = Opening::decode(&opening.encode()).unwrap();
            examined.check_opening(party, &opening).unwrap();
            openings.push((party, opening));
        }
        openings
    }

    pub fn result(&mut self) -> Result<Outcome, Refused> {
        let openings = self.openings();
        self.examine()?.result(&openings)
    }
}
