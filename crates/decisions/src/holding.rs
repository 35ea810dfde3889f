//! What the servers that do not put records into order do about who is left out: they take what
//! people hand in, say so, and say when a date has passed (spec, steps 13 and 14).

use std::collections::BTreeMap;

use ostrakon_decide::device::receipt;
use ostrakon_decide::vouch::says_due;
use ostrakon_decide::{Acknowledgement, Chain, Content, Date, DecisionId, Held, SignedRecord};
use ostrakon_job::SCHEDULER;
use ostrakon_protocol::ServiceError;
use ostrakon_protocol::decisions::RecordTaken;

use crate::records::busy;
use crate::server::{DecisionServer, no_decision};
use crate::state::{Decision, is_takeable};
use crate::word::{RECORDS, Word};

impl DecisionServer {
    /// Step 13: holds the next record of a decision for somebody whom P0 does not take in, says so,
    /// and so hands it on to P0.
    pub(crate) async fn hold_record(
        &self,
        id: DecisionId,
        bytes: &[u8],
    ) -> Result<RecordTaken, ServiceError> {
        let _place = self.limits.appending.try_acquire().map_err(|_| busy())?;
        let signed = SignedRecord::decode(bytes)?;
        let number = signed.record.number;
        let Some(person) = signed.record.speaks_for() else {
            return Err(self.elsewhere());
        };
        let Some(chain) = self.may_be_held(&id, &signed, person)? else {
            return Ok(RecordTaken { number, held: true });
        };
        if let Some(name) = signed.record.spends() {
            self.is_fresh(&name)?;
        }
        if let Content::Step { .. } = &signed.record.content {
            self.verify_step(chain, signed).await?;
        }
        self.say(id, Word::Held(bytes.to_vec())).await?;
        let now = self.now();
        let mut latest = self.limits.latest.lock().expect("no panic while held");
        latest.entry(id).or_default().insert(person, now);
        Ok(RecordTaken { number, held: true })
    }

    /// The chain that the record comes next in; `None` if it is held already.
    fn may_be_held(
        &self,
        id: &DecisionId,
        signed: &SignedRecord,
        person: u16,
    ) -> Result<Option<Chain>, ServiceError> {
        self.read(|decisions| {
            let decision = decisions.get(id).ok_or_else(no_decision)?;
            decision.check(signed)?;
            let chain = decision.chain().ok_or_else(no_decision)?;
            let vouching = &decision.vouching;
            if chain.awaits().is_some_and(|date| vouching.is_due(self.me(), date)) {
                return Err(late());
            }
            let head = chain.head();
            let mut held = vouching.waiting(&head);
            if held.any(|held| (held.by, held.person) == (self.me(), person)) {
                return Ok(None);
            }
            Ok(Some(chain.clone()))
        })
    }

    /// Step 13: this server's signature that a record stands in the chain that it has
    /// ([`ostrakon_decide::Receipt`]).
    ///
    /// # Errors
    /// `NotFound` if it does not.
    pub async fn acknowledge(
        &self,
        id: DecisionId,
        number: u32,
    ) -> Result<Acknowledgement, ServiceError> {
        let rows = self.filed(&id, RECORDS, (number.into(), 1)).await?;
        let (_, body) = rows.first().ok_or_else(|| {
            ServiceError::NotFound("this server has no such record of this decision yet".into())
        })?;
        let operators = self.operators()?;
        let digest = SignedRecord::decode(body)?.digest(&operators);
        let said = receipt::acknowledged(&operators, &id, number, &digest);
        Ok(Acknowledgement::of(self.port.identity(), self.me(), &said))
    }
}

fn late() -> ServiceError {
    ServiceError::Conflict("the time for this is over: nothing more is taken".into())
}

/// Step 14: says of every decision whose date has passed by this server's clock that it has.
pub(crate) async fn say_what_is_due(server: &DecisionServer) {
    for (id, date) in to_say(server) {
        if let Err(error) = server.say(id, Word::Due(date)).await {
            tracing::debug!(%error, "it cannot be said that a date of a decision has passed");
        }
    }
    let mut latest = server.limits.latest.lock().expect("no panic while held");
    server.read(|decisions| latest.retain(|id, _| !decisions.is_over(id)));
}

fn to_say(server: &DecisionServer) -> Vec<(DecisionId, Date)> {
    let (now, me) = (server.now(), server.me());
    let latest = server.limits.latest.lock().expect("no panic while held");
    let due = |(id, decision): (&DecisionId, &Decision)| {
        let chain = decision.chain()?;
        let date = chain.awaits()?;
        let said = decision.vouching.is_due(me, date);
        let latest = latest.get(id).and_then(|people| awaited(chain, people));
        let says = !said && says_due(chain.draft().date(date), latest, now);
        says.then_some((*id, date))
    };
    server.read(|decisions| decisions.all().filter_map(due).collect())
}

/// When something was last held for somebody who is not in the chain yet.
fn awaited(chain: &Chain, people: &BTreeMap<u16, u64>) -> Option<u64> {
    let missing = match chain.awaits()? {
        Date::Accept => chain.not_accepted(),
        Date::Answer => chain.missing(),
    };
    people.iter().filter(|(person, _)| missing.contains(person)).map(|(_, at)| *at).max()
}

/// Decisions for which something is held that P0 has not taken: it failed, or the process ended
/// between. What P0 has found wrong is not tried again.
pub(crate) fn held_back(server: &DecisionServer) -> Vec<DecisionId> {
    let mut wrong = server.limits.wrong.lock().expect("no panic while held");
    server.read(|decisions| {
        wrong.retain(|(id, ..)| !decisions.is_over(id));
        let waits = |(id, decision): &(&DecisionId, &Decision)| {
            decision.chain().is_some_and(|chain| {
                let head = chain.head();
                let mut waiting = decision.vouching.waiting(&head);
                waiting.any(|held| {
                    is_takeable(held, &decisions.spent)
                        && !wrong.contains(&(**id, held.by, held.announcement))
                })
            })
        };
        decisions.all().filter(waits).map(|(id, _)| *id).collect()
    })
}

/// P0 takes what the others hold, one after another: each comes after what was held before.
pub(crate) async fn take_what_is_held(server: &DecisionServer, id: DecisionId) {
    if server.me() != SCHEDULER {
        return;
    }
    for held in held_now(server, &id) {
        match server.take_record_in(id, &held.record, true).await {
            Ok(_) => return,
            Err(ServiceError::Refused(reason)) => note_wrong(server, id, &held, &reason).await,
            Err(error) => {
                tracing::debug!(%error, "what another server holds was not taken");
            }
        }
    }
}

fn held_now(server: &DecisionServer, id: &DecisionId) -> Vec<Held> {
    let wrong = server.limits.wrong.lock().expect("no panic while held");
    let held = server.read(|decisions| {
        let decision = decisions.get(id)?;
        let head = decision.chain()?.head();
        let waiting = decision.vouching.waiting(&head).cloned();
        Some(waiting.filter(|held| !wrong.contains(&(*id, held.by, held.announcement))).collect())
    });
    held.unwrap_or_default()
}

/// What a server holds and should not: an honest one checks all of it before it says so, as P0
/// does.
async fn note_wrong(server: &DecisionServer, id: DecisionId, held: &Held, reason: &str) {
    let key = (id, held.by, held.announcement);
    if !server.limits.wrong.lock().expect("no panic while held").insert(key) {
        return;
    }
    let detail = format!(
        "{}: what server {} holds for person {} cannot be taken: {reason}",
        id.to_hex(),
        held.by.0,
        held.person
    );
    tracing::error!(detail, "a record that another server holds cannot be taken");
    server.note("server", "refuse held record", &detail).await;
}
