//! People with their devices, who decide something at three servers.

use std::time::Duration;

use data_encoding::BASE64URL_NOPAD;
use ostrakon_crypto::{Secret, SigningKey, Stream};
use ostrakon_decide::keys::certify;
use ostrakon_decide::keys::shares::new_key;
use ostrakon_decide::record::create;
use ostrakon_decide::*;
use ostrakon_node::Creator;
use ostrakon_node::Service;
use ostrakon_party::{PartyId, wire};
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::{DecisionInfo, DecisionStage};
use rand_core::Rng;

use super::asking::Asking;
use crate::common::{Deployment, key, now};

/// Seconds from the creation to the deadline.
pub const TIME: u64 = 3600;

/// Seconds until the shares of a key expire.
pub const EXPIRES: u64 = 30 * 24 * 3600;

/// Random numbers that a seed decides.
pub fn seeded(seed: u8) -> Stream {
    Stream::of(Secret::new([seed; 32]), "test/randomness")
}

/// Random bytes.
pub fn draw<const N: usize>(rng: &mut Stream) -> [u8; N] {
    let mut bytes = [0; N];
    rng.fill_bytes(&mut bytes);
    bytes
}

pub fn creator() -> SigningKey {
    key(100)
}

pub fn account(person: u8) -> SigningKey {
    key(110 + person)
}

pub fn invitation(person: u8) -> Invitation {
    Invitation([130 + person; 32])
}

/// As many people; the first is named by the account, the others by invitations. A tally of two
/// options, of which the second is assumed of who stays away. Three must answer, or all of two.
pub fn draft_of(people: u8, operators: &Operators, threshold: u8, nonce: u8) -> Draft {
    let person = |n: u8| {
        let seat = match n {
            0 => Seat::Account(account(0).verifying_key()),
            _ => Seat::Invitation(invitation(n).key().verifying_key()),
        };
        Person { name: format!("person {n}"), seat }
    };
    let options = vec!["no".into(), "yes".into()];
    Draft {
        question: "Shall we?".into(),
        ballots: vec![Ballot {
            label: String::new(),
            options,
            function: Function::Tally,
            assumed: 1,
        }],
        people: (0..people).map(person).collect(),
        accept_by: now() + TIME / 2,
        all_needed: false,
        deadline: now() + TIME,
        quorum: u16::from(people.min(3)),
        threshold,
        creator: creator().verifying_key(),
        gathering: None,
        nonce: [nonce; 16],
        servers: operators.digest,
    }
}

/// The same of three people.
pub fn draft(operators: &Operators, threshold: u8, nonce: u8) -> Draft {
    draft_of(3, operators, threshold, nonce)
}

/// A decision of some people.
pub struct Group {
    pub operators: Operators,
    pub id: DecisionId,
    pub threshold: u8,
    pub rng: Stream,
    memories: Vec<Memory>,
}

impl Group {
    pub async fn create(deployment: &Deployment, threshold: u8, nonce: u8) -> Self {
        Self::create_of(3, deployment, threshold, nonce).await
    }

    pub async fn create_of(people: u8, deployment: &Deployment, threshold: u8, nonce: u8) -> Self {
        let operators = Operators::new(&deployment.pinned().await).unwrap();
        let draft = draft_of(people, &operators, threshold, nonce);
        let mut rng = seeded(nonce);
        let first = first_record(deployment, &operators, &draft).await;
        let p0 = &deployment.servers[0];
        let made = p0
            .create_decision(Creator::Guest(Some(1)), &first.encode())
            .await
            .expect("it is created");
        assert_eq!(made.id, draft.id().to_hex());
        let again = p0.create_decision(Creator::Guest(Some(1)), &first.encode()).await;
        assert_eq!(again.unwrap(), made, "the same again");
        draw::<1>(&mut rng);
        let memories = draft.people.iter().map(|_| Memory::default()).collect();
        Self { operators, id: draft.id(), threshold, rng, memories }
    }

    /// With everybody accepted.
    pub async fn answering(deployment: &Deployment, threshold: u8, nonce: u8) -> Self {
        Self::answering_of(3, deployment, threshold, nonce).await
    }

    pub async fn answering_of(
        people: u8,
        deployment: &Deployment,
        threshold: u8,
        nonce: u8,
    ) -> Self {
        let mut group = Self::create_of(people, deployment, threshold, nonce).await;
        for person in 0..people {
            group.accept(deployment, person).await;
        }
        group
    }

    pub async fn certified(&mut self, deployment: &Deployment, person: u8) -> CertifiedKey {
        certified(deployment, &self.operators, &account(person), self.threshold, &mut self.rng)
            .await
    }

    /// Reads and verifies everything that a server has.
    pub async fn visit(&mut self, server: &Service) -> Visit {
        let mut visit = Visit::new(self.operators, self.id);
        for record in records(server, self.id).await {
            visit.read(&record, &mut self.rng).expect("an honest history");
        }
        visit.verify(&mut self.rng).expect("honest steps");
        visit
    }

    pub async fn accept(&mut self, deployment: &Deployment, person: u8) {
        let key = self.certified(deployment, person).await;
        let p0 = &deployment.servers[0];
        let visit = self.visit(p0).await;
        let invitation = (person > 0).then(|| invitation(person));
        let signed = visit.accept(&account(person), key, invitation.as_ref(), now()).unwrap();
        p0.append_record(self.id, &signed.encode()).await.expect("accepted");
    }

    /// The person's step after what P0 has now.
    pub async fn step(&mut self, deployment: &Deployment, person: u8, answer: u8) -> SignedRecord {
        let visit = self.visit(&deployment.servers[0]).await;
        let memory = &mut self.memories[usize::from(person)];
        visit.answer(&account(person), &[answer], memory, now(), &mut self.rng).expect("a step")
    }

    pub async fn answer(&mut self, deployment: &Deployment, person: u8, answer: u8) {
        let step = self.step(deployment, person, answer).await;
        let taken =
            deployment.servers[0].append_record(self.id, &step.encode()).await.expect("taken");
        assert_eq!(taken.number, step.record.number);
    }

    pub async fn until(
        &self,
        deployment: &Deployment,
        server: usize,
        mut condition: impl FnMut(&DecisionInfo) -> bool,
    ) -> DecisionInfo {
        let id = self.id;
        deployment
            .until(server, |service| service.decision(id).is_ok_and(|info| condition(&info)))
            .await;
        deployment.servers[server].decision(id).unwrap()
    }

    pub async fn everywhere(&self, deployment: &Deployment, stage: DecisionStage) {
        for server in 0..3 {
            self.until(deployment, server, |info| info.stage == stage).await;
        }
    }

    /// The result as anybody computes it from what a server shows.
    pub async fn result(&mut self, server: &Service) -> Vec<Meaning> {
        let page = server.records(self.id, 0).await.unwrap();
        let examined = examine(self.operators, records(server, self.id).await, &mut self.rng)
            .expect("it holds");
        let opening = |text: &str| {
            Opening::decode(&BASE64URL_NOPAD.decode(text.as_bytes()).unwrap()).unwrap()
        };
        let openings: Vec<_> = page
            .openings
            .iter()
            .map(|info| (PartyId(info.party), opening(&info.opening)))
            .collect();
        examined.result(&openings).expect("a result").meanings
    }
}

/// The first record, with each server's layer.
pub async fn first_record(
    deployment: &Deployment,
    operators: &Operators,
    draft: &Draft,
) -> SignedRecord {
    let mut layers = Vec::new();
    for server in &deployment.servers {
        let info = server.layer(None, &wire::encode(draft)).await.expect("a layer");
        let bytes = BASE64URL_NOPAD.decode(info.layer.as_bytes()).unwrap();
        layers.push(wire::decode::<Layer>(&bytes).unwrap());
    }
    create(draft.clone(), layers.try_into().unwrap(), operators, &creator(), now())
}

/// A fresh one-time key of which the servers hold the shares.
pub async fn certified(
    deployment: &Deployment,
    operators: &Operators,
    account: &SigningKey,
    threshold: u8,
    rng: &mut Stream,
) -> CertifiedKey {
    let helpers: Vec<_> =
        deployment.servers.iter().map(|server| server.helper_key().unwrap()).collect();
    let serial = Serial(draw(rng));
    let terms = (threshold, now() + EXPIRES);
    let new = new_key(account, serial, terms, operators, &helpers, rng).expect("a key");
    let mut receipts = Vec::new();
    for (server, deposit) in deployment.servers.iter().zip(&new.deposits) {
        receipts
            .push(server.deposit(None, &wire::encode(deposit)).await.expect("a receipt").receipt);
    }
    certify(account, new.statement, receipts, operators).expect("certified")
}

/// All records that a server has.
pub async fn records(server: &Service, id: DecisionId) -> Vec<Vec<u8>> {
    let mut records: Vec<Vec<u8>> = Vec::new();
    loop {
        let page = server.records(id, records.len() as u32).await.unwrap();
        if page.records.is_empty() {
            return records;
        }
        records.extend(
            page.records.iter().map(|record| BASE64URL_NOPAD.decode(record.as_bytes()).unwrap()),
        );
    }
}

/// Whether it was refused for a reason that has these words.
pub fn refused<T: std::fmt::Debug>(answer: Result<T, ServiceError>, words: &str) {
    match answer {
        Err(ServiceError::Refused(text)) => assert!(text.contains(words), "{text}"),
        other => panic!("not refused: {other:?}"),
    }
}

/// Puts a server's clock behind the deadline.
pub fn put_forward(deployment: &Deployment, server: usize) {
    put_forward_by(deployment, server, 2 * TIME);
}

/// Puts a server's clock forward by so many seconds.
pub fn put_forward_by(deployment: &Deployment, server: usize, seconds: u64) {
    let ahead = Duration::from_secs(seconds).as_millis() as u64;
    deployment.ahead[server].store(ahead, std::sync::atomic::Ordering::Relaxed);
}
