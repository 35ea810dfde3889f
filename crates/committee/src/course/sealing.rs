//! What the others say, and the list that counts (C6, C7).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures::future::join_all;
use ostrakon_computation::{
    CONTRIBUTORS, Contributors, Entry, Equivocation, Incomplete, Input, Said, Seal, Statement, Told,
};
use ostrakon_crypto::Digest;

use super::looking::{Looking, first_shown};
use super::{Course, Trouble};
use crate::job::Price;
use crate::member::Member;
use crate::store::{Charged, StoreError};

/// Bodies that are fetched of one member at a time.
const FETCHED: usize = 64;

/// Bytes of JSON that an entry in a list of inputs takes at most, and all else in the statements of
/// a member together: its reason for stopping may be escaped.
const ENTRY_BYTES: usize = 400;
const OTHER_BYTES: usize = 8 << 10;

/// Bytes of JSON in which an honest member's statements are told: two inputs of each contributor,
/// which are evidence, and the rest.
fn statement_bytes(contributors: usize) -> usize {
    2 * contributors * ENTRY_BYTES + OTHER_BYTES
}

/// How many contributors entries in ascending order are of.
pub(super) fn contributors<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> usize {
    let mut last = None;
    entries.into_iter().filter(|e| last.replace(e.contributor) != Some(e.contributor)).count()
}

impl Course {
    /// Reads the others' statements.
    pub(super) async fn hear(&self, here: &Member, looking: &mut Looking) -> Result<(), Trouble> {
        let others = (0..here.config.committee.members.len()).filter(|m| *m != here.number);
        let limit = statement_bytes(match &self.draft.draft.contributors {
            Contributors::Anyone | Contributors::Earlier(_) => CONTRIBUTORS,
            Contributors::Keys(keys) => keys.len(),
        });
        let ask = |member| {
            let (peers, id) = (Arc::clone(&here.config.peers), self.id);
            async move { peers.statements(member, &id, limit).await }
        };
        // Who contradicts itself does not keep from this member what others say.
        let mut contradiction = Ok(());
        for (member, answer) in looking.look(others, ask).await {
            let statements = answer.unwrap_or_else(|error| {
                tracing::debug!(%error, member, "a member does not answer");
                Vec::new()
            });
            for statement in statements {
                if !self.is_news(here, member, &statement) {
                    continue;
                }
                match self.take(here, member, statement).await {
                    Err(stop @ Trouble::Stop(_)) => contradiction = contradiction.and(Err(stop)),
                    taken => taken?,
                }
            }
        }
        contradiction
    }

    /// Whether a member has said this of the computation, and it is not known.
    fn is_news(&self, here: &Member, member: usize, statement: &Statement) -> bool {
        let known = self.state().told[member].statements().any(|known| known == statement);
        let creators = match &statement.said {
            Said::Cancelled { order, .. } => order.verifies(&self.draft.draft),
            _ => true,
        };
        let key = &here.config.committee.members[member].key;
        !known && statement.computation == self.id && creators && statement.verifies(key)
    }

    /// Waits until a member that was slow has said something new.
    pub(super) async fn hear_late(&self, looking: &mut Looking) {
        let has_news = |member: usize, statements: &[Statement]| {
            let Some(here) = self.member.upgrade() else { return false };
            statements.iter().any(|statement| self.is_news(&here, member, statement))
        };
        looking.late_news(has_news).await;
    }

    /// Reads the others' statements, and passes the creator's order on to who has not closed.
    pub(super) async fn listen(&self, here: &Member, looking: &mut Looking) -> Result<(), Trouble> {
        self.hear(here, looking).await?;
        if self.cancellation().is_some() {
            return Ok(());
        }
        let order = self.state().order;
        let waits = |m: &usize| *m != here.number && self.state().told[*m].holdings.is_none();
        let slow: Vec<usize> = (0..here.config.committee.members.len()).filter(waits).collect();
        if let Some(order) = order {
            for member in slow {
                let peers = Arc::clone(&here.config.peers);
                // Who has not heard it is told again after the next look.
                looking.pass(member, async move { drop(peers.order(member, order).await) });
            }
        }
        let stopped = {
            let state = self.state();
            let stopped = |told: &Told| told.stopped.is_some();
            let other = |m: &usize| *m != here.number && stopped(&state.told[*m]);
            (0..state.told.len()).find(other)
        };
        // What it says is its own word, and is signed by nobody else.
        let name = |member: usize| &here.config.committee.members[member].name;
        stopped.map_or(Ok(()), |member| Err(Trouble::Stop(format!("{} has stopped", name(member)))))
    }

    async fn take(
        &self,
        here: &Member,
        member: usize,
        statement: Statement,
    ) -> Result<(), Trouble> {
        let taken = self.state().told[member].take(statement.clone());
        match taken {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.state().changes += 1;
                Ok(here.config.store.state(member, &statement).await?)
            }
            Err(one) => {
                let evidence = Equivocation { member, one: *one, other: statement };
                here.config.store.convict(&evidence).await?;
                {
                    let mut state = self.state();
                    if state.equivocations.iter().all(|known| known.member != member) {
                        state.equivocations.push(evidence);
                    }
                }
                let name = &here.config.committee.members[member].name;
                Err(Trouble::Stop(format!(
                    "{name} has signed two statements that contradict each other"
                )))
            }
        }
    }

    /// C6 and C7: has all inputs at hand, and signs the seal. False if something is still lacking.
    pub(super) async fn seal(
        self: &Arc<Self>,
        here: &Arc<Member>,
        looking: &mut Looking,
    ) -> Result<bool, Trouble> {
        let (told, sound, mut founded) = {
            let state = self.state();
            (state.told.clone(), state.sound.clone(), state.founded.clone())
        };
        if told.iter().any(|told| told.holdings.is_none()) {
            return Ok(false);
        }
        // Where anyone may contribute a member can invent keys. Honest ones list no more of them
        // than this, so that all lists together can be kept and computed on.
        let long = |told: &Told| told.held().is_some_and(|l| contributors(l) > self.most_inputs);
        if let Some(member) = told.iter().position(long) {
            let name = &here.config.committee.members[member].name;
            return Err(Trouble::Stop(format!("{name} lists more inputs than can be computed on")));
        }
        let other = |told: &Told| told.held().is_some_and(|held| !self.lists_the_same(held));
        if let Some(member) = told.iter().position(other) {
            let name = &here.config.committee.members[member].name;
            return Err(Trouble::Stop(format!(
                "{name} lists other inputs than those of the first question"
            )));
        }
        // Thousands of signatures are checked apart from what answers people.
        let course = Arc::clone(self);
        let sealing = here.runtime.spawn_blocking(move || {
            let holdings: Vec<&[Entry]> = told.iter().filter_map(Told::held).collect();
            let sound = |entry: &Entry| sound.get(&entry.input()).copied();
            let draft = &course.draft.draft;
            let before = founded.verified();
            let sealed = Seal::of(&course.id, draft, &holdings, &mut founded, sound);
            let mut state = course.state();
            state.verified += founded.verified() - before;
            state.founded = founded;
            sealed
        });
        let Ok(sealed) = sealing.await else { return Ok(false) };
        match sealed {
            Ok(seal) => {
                let keys: Vec<_> = seal.inputs.iter().map(|entry| entry.contributor).collect();
                let charged = self.charge(here, &keys).await?;
                if let Some(Charged { short: short @ 1.., .. }) = charged {
                    return Err(Trouble::Stop(format!(
                        "of {short} contributors answers have told as much as is let"
                    )));
                }
                // An exact answer says itself that there is no measure of it.
                let exact = self.job.price(&self.draft.draft) == Price::Exact;
                let spent = charged.map(|charged| charged.spent).filter(|_| !exact);
                let digest = seal.digest(&self.id);
                here.config.store.seal(&self.id, &seal).await?;
                self.state().seal = Some(seal);
                let said = self.state().told[here.number].seal();
                match said {
                    None => self.say(here, Said::Sealed { seal: digest, spent }).await?,
                    Some(before) if before == digest => {}
                    Some(_) => {
                        return Err(Trouble::Stop("the list of inputs is not what it was".into()));
                    }
                }
                Ok(true)
            }
            Err(Incomplete::Unfounded(member)) => {
                let name = &here.config.committee.members[member].name;
                Err(Trouble::Stop(format!("{name} lists inputs that nobody has signed")))
            }
            Err(Incomplete::Lacking(lacking)) => {
                let (course, running) = (Arc::clone(self), Arc::clone(here));
                looking.fetch(async move {
                    match course.fetch(&running, lacking).await {
                        Ok(true) => course.news.notify_one(),
                        // Who lists an input and shows it to nobody does not make others look more
                        // often.
                        Ok(false) => {}
                        Err(error) => tracing::error!(%error, "an input cannot be written"),
                    }
                });
                Ok(false)
            }
        }
    }

    /// An input that others list: from the disk if it was fetched before a restart, else from
    /// whichever of them shows it.
    async fn found(
        &self,
        here: &Member,
        (listing, entry): &(Vec<usize>, Entry),
        slow: &Mutex<BTreeSet<usize>>,
    ) -> Option<Input> {
        let (contributor, body) = entry.input();
        if let Ok(Some(input)) = here.config.store.input(&self.id, &contributor, &body).await {
            return Some(input);
        }
        let (peers, limit) = (&here.config.peers, self.input_bytes());
        let others = listing.iter().copied().filter(|member| *member != here.number);
        first_shown(others, slow, |member| async move {
            let shown = peers.input(member, &self.id, (contributor, body), limit).await;
            shown.ok().and_then(|bytes| Input::decode(&bytes)).filter(|input| {
                input.entry.input() == (contributor, body)
                    && input.entry.verifies(&self.id, &self.draft.draft)
            })
        })
        .await
    }

    /// Asks those who list inputs that are not here for them; whether any of them came.
    async fn fetch(
        &self,
        here: &Arc<Member>,
        lacking: Vec<(Vec<usize>, Entry)>,
    ) -> Result<bool, StoreError> {
        let (mut got, slow) = (false, Mutex::default());
        for part in lacking.chunks(FETCHED) {
            let asked = part.iter().map(|listed| self.found(here, listed, &slow));
            for input in join_all(asked).await.into_iter().flatten() {
                let sound = self.job.check(self.about(here), &input).is_ok()
                    && input.body.len() <= self.body_bytes;
                // Whoever erases what was handed in comes before this input or after it.
                let _turn = self.intake.lock().await;
                if self.cancellation().is_some() || self.state().buried {
                    return Ok(false);
                }
                here.config.store.keep(&self.id, &input, false).await?;
                self.state().sound.insert(input.entry.input(), sound);
                got = true;
            }
        }
        Ok(got)
    }

    /// The seal's digest, when all members have signed it.
    pub(super) fn agreed_seal(&self, here: &Member) -> Result<Option<Digest>, Trouble> {
        let state = self.state();
        let own = state.told[here.number].seal();
        for told in &state.told {
            match told.seal() {
                None => return Ok(None),
                seal if seal == own => {}
                Some(_) => {
                    return Err(Trouble::Stop(
                        "the servers were shown different lists of inputs by one of them".into(),
                    ));
                }
            }
        }
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_computation::{Cancellation, ComputationId, Spent};
    use ostrakon_crypto::SigningKey;

    use super::*;

    /// Attack: a member answers with statements that fill the others' memory.
    #[test]
    fn statements_are_read_as_far_as_an_honest_member_makes_them_and_no_further() {
        let id = ComputationId(Digest([255; 32]));
        let key = SigningKey::from_seed(&[1; 32]);
        let told = |entries: usize| {
            let entry = Input::sign(&id, vec![1], &key).entry;
            let spent = Some(Spent { most: Some(u64::MAX), budget: Some(u64::MAX) });
            let (seal, generation) = (id.0, u32::MAX);
            let all = [
                Said::Holdings(vec![entry; entries]),
                Said::Sealed { seal, spent },
                Said::Ready { seal, generation },
                Said::Cancelled { order: Cancellation::sign(id, &key), opened: false },
                // Every character of it is escaped.
                Said::stopped(&"\"".repeat(1000)),
            ];
            let all = all.map(|said| Statement::sign(id, said, &key));
            serde_json::to_vec(&all).unwrap().len()
        };
        for contributors in [1, 5, 300] {
            let limit = statement_bytes(contributors);
            assert!(told(2 * contributors) <= limit, "{contributors}");
            assert!(told(3 * contributors + 30) > limit, "{contributors}");
        }
    }
}
