//! Deciding a dispute about a table of the online phase.
//!
//! The receiver shows the two contradictory statements to everybody. The members of the pair that computes the table then open their
//! common permutation and mask (one of them is honest and does), and everybody computes the table. This shows nothing about
//! messages: the batch's output is never opened after a dispute, so nobody can place the permutation between senders and messages.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostrakon_party::{Received, wire};
use serde::{Deserialize, Serialize};

use crate::blame::{Conflict, Delta, ShuffleEvidence};
use crate::coin::seed_digest;
use crate::fault::{Evidence, Fault, Statement};
use crate::messages::Kind;
use crate::run::{Run, either};
use crate::seeds::Purpose;
use crate::stock::Stock;

/// The tables and statements of the online phase that a party has seen or made.
#[derive(Default)]
pub struct Known {
    /// β.
    pub beta: Option<Bytes>,
    /// δ_02.
    pub d02: Option<Bytes>,
    /// δ_01.
    pub d01: Option<Bytes>,
    own: BTreeMap<u8, Statement>,
    tables: BTreeMap<u8, Statement>,
    digests: BTreeMap<u8, Statement>,
}

fn key(delta: Delta) -> u8 {
    delta.pair().index() as u8
}

impl Known {
    /// Of a party that holds β and nothing else yet.
    pub fn new(beta: Bytes) -> Self {
        Self { beta: Some(beta), ..Self::default() }
    }

    /// Notes what this party said about a table.
    pub fn say(&mut self, delta: Delta, statement: Statement) {
        self.own.insert(key(delta), statement.clone());
        self.learn(delta, statement);
    }

    /// Notes both senders' matching statements about a table.
    pub fn hear(&mut self, delta: Delta, table: Statement, digest: Statement) {
        self.learn(delta, table);
        self.learn(delta, digest);
    }

    fn learn(&mut self, delta: Delta, statement: Statement) {
        let is_table = statement.signed.header.from.0 == delta.senders().0;
        let statements = if is_table { &mut self.tables } else { &mut self.digests };
        statements.insert(key(delta), statement);
    }

    fn table(&self, delta: Option<Delta>) -> Option<&Bytes> {
        match delta {
            None => self.beta.as_ref(),
            Some(Delta::D02) => self.d02.as_ref(),
            Some(_) => self.d01.as_ref(),
        }
    }
}

/// What a party contributes to a dispute.
#[derive(Serialize, Deserialize)]
struct Material {
    /// Its own statement about the table that the disputed one is computed from.
    before: Option<Statement>,
    /// If it is in the disputed table's pair: the seeds of the pair's permutation and mask.
    seeds: Option<Vec<u8>>,
}

/// Waits until either peer shows a conflict that holds.
pub async fn conflict_shown(run: &Run) -> Conflict {
    let [a, b] = run.peers();
    either(conflict_shown_by(run, a), conflict_shown_by(run, b)).await
}

async fn conflict_shown_by(run: &Run, by: u8) -> Conflict {
    if let Ok(received) = run.receive(by, Kind::Dispute).await
        && let Ok(conflict) = wire::decode::<Conflict>(&received.body)
        && conflict.holds(&run.party.roster, &run.subject)
    {
        return conflict;
    }
    futures::future::pending().await
}

/// Decides a conflict: returns the fault of whoever made the false statement. `votes` are the three votes on β's digest.
pub async fn decide(run: &Run, stock: &Stock, conflict: Conflict, known: &mut Known, votes: &[Statement; 3]) -> Fault {
    run.send_all(Kind::Dispute, wire::encode(&conflict));
    let delta = conflict.delta;
    let seeds = delta.pair().contains(run.me()).then(|| {
        let seed = stock.seeds.of(delta.pair());
        [Purpose::Permutation, Purpose::Mask].map(|p| *seed.purpose(p).expose()).concat()
    });
    let before = delta.before().and_then(|before| known.own.get(&key(before)).cloned());
    run.send_all(Kind::DisputeMaterial, wire::encode(&Material { before, seeds: seeds.clone() }));
    let mut seeds = seeds;
    if let Some(fault) = assemble(run, stock, &conflict, known, votes, seeds.as_deref()) {
        return fault;
    }
    let [a, b] = run.peers();
    let pending = [a, b].map(|peer| Box::pin(run.receive(peer, Kind::DisputeMaterial)));
    let mut pending: Vec<_> = pending.into_iter().collect();
    while !pending.is_empty() {
        let (received, _, rest) = futures::future::select_all(pending).await;
        pending = rest;
        match received {
            Ok(received) => take_material(run, stock, delta, known, &mut seeds, &received),
            Err(fault) => return fault,
        }
        if let Some(fault) = assemble(run, stock, &conflict, known, votes, seeds.as_deref()) {
            return fault;
        }
    }
    // The evidence is then complete at the other honest party, which shows it.
    futures::future::pending().await
}

fn take_material(
    run: &Run,
    stock: &Stock,
    delta: Delta,
    known: &mut Known,
    seeds: &mut Option<Vec<u8>>,
    received: &Received,
) {
    let Ok(material) = wire::decode::<Material>(&received.body) else { return };
    if let (Some(before), Some(statement)) = (delta.before(), material.before) {
        let ((table_from, digest_from), (table, digest)) = (before.senders(), before.kinds());
        let header = &statement.signed.header;
        let own = header.from == received.signed.header.from && run.party.roster.vouches(&statement.signed);
        let is = |from, kind: Kind| header.from.0 == from && header.tag == run.tag(kind);
        if own && (is(table_from, table) || (is(digest_from, digest) && statement.holds(&run.party.roster))) {
            known.learn(before, statement);
        }
    }
    let statement = stock.stated(delta.pair());
    let right = |seeds: &Vec<u8>| {
        seeds.len() == 64
            && seed_digest(&seeds[..32]) == statement.permutation
            && seed_digest(&seeds[32..]) == statement.mask
    };
    if seeds.is_none() {
        *seeds = material.seeds.filter(right);
    }
}

/// The finished evidence, once everything for it is there.
fn assemble(
    run: &Run,
    stock: &Stock,
    conflict: &Conflict,
    known: &Known,
    votes: &[Statement; 3],
    seeds: Option<&[u8]>,
) -> Option<Fault> {
    let delta = conflict.delta;
    let agreed = match delta.before() {
        None => votes.to_vec(),
        Some(before) => vec![known.tables.get(&key(before))?.clone(), known.digests.get(&key(before))?.clone()],
    };
    let input = known.table(delta.before())?.to_vec();
    let member = delta.pair().members()[0];
    let evidence = ShuffleEvidence {
        conflict: conflict.clone(),
        input,
        agreed,
        seeds: seeds?.to_vec(),
        statement: stock.statements[usize::from(member)].clone(),
    };
    let culprit = evidence.proven(&run.party.roster, &run.subject)?;
    Some(run.fault(culprit, Evidence::Shuffle(Box::new(evidence))))
}
