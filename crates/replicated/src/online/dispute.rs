//! Deciding a dispute about a table of the online phase.
//!
//! The receiver of a table shows the two contradictory statements to everybody. The members of the
//! pair that computes the table then open their common permutation and mask (one of them is honest
//! and does), and everybody computes the table.
//!
//! Only the receiver may raise a dispute: whoever computes the table knows then that the receiver,
//! not being the other member who must have lied, is honest. It has marked the dispute before, as
//! it does only if it has signed no Ready, and never signs one after, restarted or not. So the
//! batch's output is never opened if its seeds are shown, and the permutation links nothing. This
//! needs that both members had the same input. For δ_12 P2 does not know that while it computes, so
//! P1 and P2 answer a dispute about it only after their part of the shuffle, and only if P2's
//! digest is of the δ_01 that P1 stated.
//!
//! A corrupt server may provoke several disputes at once; each is answered, and the first to be
//! decided counts.

use std::collections::BTreeMap;
use std::mem::{replace, take};
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use futures::future::{pending, select_all};
use ostrakon_kernels::Prg;
use ostrakon_party::{Body, PartyId, Received, Tag, wire};
use serde::{Deserialize, Serialize};

use crate::accusation::blame::{Conflict, Delta, ShuffleEvidence, permute};
use crate::accusation::fault::{Evidence, Fault, Statement};
use crate::batch::seeds::Purpose;
use crate::coin::seed_digest;
use crate::messages::{self, Kind};
use crate::online::outcome::Outcome;
use crate::preparation::stock::Stock;
use crate::run::Run;

/// The tables and statements of the online phase that a party has seen or made.
pub struct Known(Mutex<Seen>);

/// The table that another one is computed from.
struct Kept {
    table: Bytes,
    /// Whether it is masked for that with the mask of the other one's pair: it serves as the room
    /// for this, since memory that was not touched before costs more.
    masked: bool,
}

struct Seen {
    /// By what is computed from them.
    inputs: BTreeMap<u8, Kept>,
    own: BTreeMap<u8, Statement>,
    tables: BTreeMap<u8, Statement>,
    digests: BTreeMap<u8, Statement>,
    conflicts: BTreeMap<u8, Conflict>,
}

fn key(delta: Delta) -> u8 {
    delta.pair().index() as u8
}

/// What the table that δ is computed from is masked with.
fn mask(delta: Delta, stock: &Stock) -> Prg {
    stock.seeds.of(delta.pair()).prg(Purpose::Mask)
}

impl Known {
    /// Of a party that holds β and nothing else yet.
    pub fn new(beta: Bytes) -> Self {
        let (inputs, own, tables, digests, conflicts) = Default::default();
        let known = Self(Mutex::new(Seen { inputs, own, tables, digests, conflicts }));
        known.keep(Delta::D02, beta);
        known
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().expect("no panic while noting")
    }

    /// Keeps the table that δ is computed from.
    pub fn keep(&self, delta: Delta, table: Bytes) {
        self.seen().inputs.insert(key(delta), Kept { table, masked: false });
    }

    /// δ, by a member of its pair, of the table that is kept for it.
    pub fn compute(&self, delta: Delta, stock: &Stock) -> Body {
        let mut seen = self.seen();
        let kept = seen.inputs.get_mut(&key(delta)).expect("its table is kept before");
        assert!(!replace(&mut kept.masked, true), "a table is computed once");
        let mut table = Vec::from(take(&mut kept.table));
        let index = stock.permutation(delta.pair());
        let permuted = permute(stock.spec.shape, index, &mask(delta, stock), &mut table);
        kept.table = table.into();
        Body::new(permuted)
    }

    /// The memory of β, once there is nothing to dispute about any more.
    pub fn into_room(self) -> Vec<u8> {
        let mut seen = self.0.into_inner().expect("no panic while noting");
        seen.inputs.remove(&key(Delta::D02)).map_or_else(Vec::new, |kept| kept.table.into())
    }

    /// Notes what this party said about a table.
    pub fn say(&self, delta: Delta, statement: Statement) {
        self.seen().own.insert(key(delta), statement.clone());
        self.learn(delta, statement);
    }

    /// Notes both senders' matching statements about a table.
    pub fn hear(&self, delta: Delta, table: Statement, digest: Statement) {
        self.learn(delta, table);
        self.learn(delta, digest);
    }

    fn learn(&self, delta: Delta, statement: Statement) {
        let mut seen = self.seen();
        let is_table = statement.signed.header.from.0 == delta.senders().0;
        let statements = if is_table { &mut seen.tables } else { &mut seen.digests };
        statements.entry(key(delta)).or_insert(statement);
    }

    /// What was said to be the digest of a table.
    fn digest(&self, delta: Delta) -> Option<Statement> {
        self.seen().digests.get(&key(delta)).cloned()
    }

    fn own(&self, delta: Delta) -> Option<Statement> {
        self.seen().own.get(&key(delta)).cloned()
    }

    /// The input of a table, and what was said about it by those who had to, if all is known.
    fn input(
        &self,
        delta: Delta,
        stock: &Stock,
        votes: &[Statement; 3],
    ) -> Option<(Vec<u8>, Vec<Statement>)> {
        let seen = self.seen();
        let said = match delta.before().map(key) {
            None => votes.to_vec(),
            Some(before) => {
                vec![seen.tables.get(&before)?.clone(), seen.digests.get(&before)?.clone()]
            }
        };
        let kept = seen.inputs.get(&key(delta))?;
        let mut table = kept.table.to_vec();
        if kept.masked {
            mask(delta, stock).xor_at(0, &mut table);
        }
        Some((table, said))
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

/// One party's part in disputes.
pub struct Disputes<'a> {
    /// The run.
    pub run: &'a Run,
    /// The batch that the epoch uses.
    pub stock: &'a Stock,
    /// What has been seen so far.
    pub known: &'a Known,
    /// The three votes on β's digest.
    pub votes: &'a [Statement; 3],
    /// What this party has committed itself to. Whoever raises a dispute has marked it.
    pub outcome: Outcome<'a>,
}

impl Disputes<'_> {
    /// While this party shuffles: takes part in the disputes that receivers raise until one is
    /// decided. Returns the fault of whoever made the false statement.
    pub async fn shown_during(&self) -> Fault {
        self.decide(vec![Delta::D02, Delta::D01]).await
    }

    /// The same for a party whose shuffle is done.
    pub async fn shown_after(&self) -> Fault {
        self.decide(vec![Delta::D02, Delta::D01, Delta::D12]).await
    }

    /// Raises a dispute that is marked ([`Outcome::disputing`]), and takes part in others, until
    /// one is decided.
    pub async fn raise(&self, conflict: Conflict) -> Fault {
        self.run.send_all(Kind::Dispute, wire::encode(&conflict));
        let mut deltas = vec![Delta::D02, Delta::D01];
        if conflict.delta == Delta::D12 {
            deltas.push(Delta::D12);
        }
        self.known.seen().conflicts.insert(key(conflict.delta), conflict);
        self.decide(deltas).await
    }

    async fn decide(&self, deltas: Vec<Delta>) -> Fault {
        select_all(deltas.into_iter().map(|delta| Box::pin(self.decide_about(delta)))).await.0
    }

    async fn decide_about(&self, delta: Delta) -> Fault {
        let conflict = self.conflict_about(delta).await;
        let mut seeds = self.contribute(delta);
        if let Some(fault) = self.assemble(&conflict, seeds.as_deref()) {
            return fault;
        }
        let mut waiting: Vec<_> =
            self.run.peers().map(|peer| Box::pin(self.material(peer, delta))).into();
        while !waiting.is_empty() {
            let (received, _, rest) = select_all(waiting).await;
            waiting = rest;
            match received {
                Ok(received) => self.take(delta, &mut seeds, &received),
                Err(fault) => return fault,
            }
            if let Some(fault) = self.assemble(&conflict, seeds.as_deref()) {
                return fault;
            }
        }
        // The evidence is then complete at the other honest party, which shows it.
        pending().await
    }

    /// Waits until the receiver of a table shows a conflict about it that holds. It is kept: what
    /// has been heard is not said again.
    async fn conflict_about(&self, delta: Delta) -> Conflict {
        let kept = self.known.seen().conflicts.get(&key(delta)).cloned();
        if let Some(conflict) = kept {
            return conflict;
        }
        let receiver = delta.pair().outsider();
        if receiver != self.run.me()
            && let Ok(received) = self.run.receive(receiver, Kind::Dispute).await
            && let Ok(conflict) = wire::decode::<Conflict>(&received.body)
            && conflict.delta == delta
            && conflict.holds(&self.run.party.roster, &self.run.subject)
            && self.is_about_the_true_input(&conflict)
        {
            self.known.seen().conflicts.insert(key(delta), conflict.clone());
            return conflict;
        }
        pending().await
    }

    /// P2 makes its digest of δ_12 before it can know whether the δ_01 that P0 sent it is true. If
    /// P0 sent another one than P1 knows, the dispute is about δ_01, and P2 raises it.
    fn is_about_the_true_input(&self, conflict: &Conflict) -> bool {
        if conflict.delta != Delta::D12 {
            return true;
        }
        let named = messages::decode_digest_12(
            &self.run.party.roster,
            &self.run.subject,
            &conflict.digest.body,
        );
        let stated = self.known.digest(Delta::D01);
        named
            .ok()
            .zip(stated)
            .is_some_and(|(named, stated)| named.header.digest.0[..] == stated.body)
    }

    fn tag(&self, delta: Delta) -> Tag {
        Tag { sequence: u32::from(key(delta)), ..self.run.tag(Kind::DisputeMaterial) }
    }

    async fn material(&self, peer: u8, delta: Delta) -> Result<Received, Fault> {
        self.run.receive_tag(PartyId(peer), self.tag(delta)).await
    }

    /// Gives the peers what this party can contribute; returns the seeds if they were among it.
    /// They are not if by its marks this party opens the output, or cannot tell.
    fn contribute(&self, delta: Delta) -> Option<Vec<u8>> {
        let opens = self.outcome.is_certified().unwrap_or(true);
        let seeds = (!opens && delta.pair().contains(self.run.me())).then(|| {
            let seed = self.stock.seeds.of(delta.pair());
            [Purpose::Permutation, Purpose::Mask].map(|p| *seed.purpose(p).expose()).concat()
        });
        let before = delta.before().and_then(|before| self.known.own(before));
        let body = wire::encode(&Material { before, seeds: seeds.clone() });
        self.run.party.send_all(self.tag(delta), body);
        seeds
    }

    fn take(&self, delta: Delta, seeds: &mut Option<Vec<u8>>, received: &Received) {
        let Ok(material) = wire::decode::<Material>(&received.body) else { return };
        if let (Some(before), Some(statement)) = (delta.before(), material.before) {
            let ((table_from, digest_from), (table, digest)) = (before.senders(), before.kinds());
            let roster = &self.run.party.roster;
            let header = &statement.signed.header;
            let own =
                header.from == received.signed.header.from && roster.vouches(&statement.signed);
            let is = |from, kind: Kind| header.from.0 == from && header.tag == self.run.tag(kind);
            if own
                && (is(table_from, table) || (is(digest_from, digest) && statement.holds(roster)))
            {
                self.known.learn(before, statement);
            }
        }
        let stated = self.stock.stated(delta.pair());
        let right = |seeds: &Vec<u8>| {
            seeds.len() == 64
                && seed_digest(&seeds[..32]) == stated.permutation
                && seed_digest(&seeds[32..]) == stated.mask
        };
        if seeds.is_none() {
            *seeds = material.seeds.filter(right);
        }
    }

    /// The finished evidence, once everything for it is there.
    fn assemble(&self, conflict: &Conflict, seeds: Option<&[u8]>) -> Option<Fault> {
        let seeds = seeds?.to_vec();
        let (input, agreed) = self.known.input(conflict.delta, self.stock, self.votes)?;
        let members = conflict.delta.pair().members();
        let statement = self.stock.statements[usize::from(members[0])].clone();
        let mut evidence =
            ShuffleEvidence { conflict: conflict.clone(), input, agreed, seeds, statement };
        // Both members have stated the same seeds; the evidence takes the culprit's statement.
        members.into_iter().find_map(|member| {
            evidence.statement = self.stock.statements[usize::from(member)].clone();
            let culprit = evidence.proven(&self.run.party.roster, &self.run.subject)?;
            Some(self.run.fault(culprit, Evidence::Shuffle(Box::new(evidence.clone()))))
        })
    }
}
