//! What the others say, and the list that counts (C6, C7).

use std::sync::Arc;

use futures::future::join_all;
use ostrakon_computation::{Entry, Equivocation, Incomplete, Input, Said, Seal, Statement, Told};
use ostrakon_crypto::Digest;

use super::{Course, Trouble};
use crate::service::Inner;

/// Bodies that are fetched of one member at a time.
const FETCHED: usize = 64;

impl Course {
    /// Reads the others' statements, and passes the creator's order on to who has not closed.
    pub(super) async fn listen(&self, inner: &Inner) -> Result<(), Trouble> {
        let peers = &inner.config.peers;
        let others = (0..inner.config.committee.members.len()).filter(|m| *m != inner.number);
        let asked = others.map(async |member| (member, peers.statements(member, &self.id).await));
        let mut news = Vec::new();
        for (member, answer) in join_all(asked).await {
            let key = &inner.config.committee.members[member].key;
            let of_this = |s: &Statement| s.computation == self.id && s.verifies(key);
            let known = |s: &Statement| self.state().told[member].statements().any(|k| k == s);
            match answer {
                Ok(statements) => news.extend(
                    statements
                        .into_iter()
                        .filter(|s| !known(s) && of_this(s))
                        .map(|statement| (member, statement)),
                ),
                Err(error) => tracing::debug!(%error, member, "a member does not answer"),
            }
        }
        for (member, statement) in news {
            self.take(inner, member, statement).await?;
        }
        let order = self.state().order;
        let waits = |m: &usize| *m != inner.number && self.state().told[*m].holdings.is_none();
        let slow: Vec<usize> = (0..inner.config.committee.members.len()).filter(waits).collect();
        if let Some(order) = order {
            join_all(slow.into_iter().map(|member| peers.order(member, order))).await;
        }
        let stopped = {
            let state = self.state();
            let why = |(m, told): (usize, &Told)| Some((m, told.why()?.to_owned()));
            let other = |(m, _): &(usize, &Told)| *m != inner.number;
            state.told.iter().enumerate().filter(other).find_map(why)
        };
        match stopped {
            Some((member, why)) => Err(Trouble::Stop(self.stopped_by(inner, member, &why))),
            None => Ok(()),
        }
    }

    fn stopped_by(&self, inner: &Inner, member: usize, why: &str) -> String {
        let name = &inner.config.committee.members[member].name;
        if why.contains(": ") { why.to_owned() } else { format!("{name}: {why}") }
    }

    async fn take(
        &self,
        inner: &Inner,
        member: usize,
        statement: Statement,
    ) -> Result<(), Trouble> {
        let taken = self.state().told[member].take(statement.clone());
        match taken {
            Ok(false) => Ok(()),
            Ok(true) => Ok(inner.config.store.state(member, &statement).await?),
            Err(one) => {
                let evidence = Equivocation { member, one: *one, other: statement };
                inner.config.store.convict(&evidence).await?;
                self.state().equivocations.push(evidence);
                let name = &inner.config.committee.members[member].name;
                Err(Trouble::Stop(format!(
                    "{name} has signed two statements that contradict each other"
                )))
            }
        }
    }

    /// C6 and C7: has all inputs at hand, and signs the seal. False if something is still lacking.
    pub(super) async fn seal(&self, inner: &Arc<Inner>) -> Result<bool, Trouble> {
        let sealed = {
            let state = self.state();
            let holdings: Option<Vec<&[Entry]>> = state.told.iter().map(Told::held).collect();
            let Some(holdings) = holdings else { return Ok(false) };
            let sound = |entry: &Entry| state.sound.get(&entry.body).copied();
            Seal::of(&self.id, &self.draft.draft, &holdings, sound)
        };
        match sealed {
            Ok(seal) => {
                let digest = seal.digest(&self.id);
                inner.config.store.seal(&self.id, &seal).await?;
                self.state().seal = Some(seal);
                let said = self.state().told[inner.number].seal();
                match said {
                    None => self.say(inner, Said::Sealed(digest)).await?,
                    Some(before) if before == digest => {}
                    Some(_) => {
                        return Err(Trouble::Stop("the list of inputs is not what it was".into()));
                    }
                }
                Ok(true)
            }
            Err(Incomplete::Unfounded(member)) => {
                let name = &inner.config.committee.members[member].name;
                Err(Trouble::Stop(format!("{name} lists inputs that nobody has signed")))
            }
            Err(Incomplete::Lacking(lacking)) => {
                self.fetch(inner, lacking).await?;
                self.news.notify_one();
                Ok(false)
            }
        }
    }

    /// Asks those who list inputs that are not here for them.
    async fn fetch(
        &self,
        inner: &Arc<Inner>,
        lacking: Vec<(usize, Digest)>,
    ) -> Result<(), Trouble> {
        let limit = 200 + self.job.body_bytes(&self.draft.draft);
        let mut got = 0;
        for part in lacking.chunks(FETCHED) {
            let asked = part.iter().map(async |(member, body)| {
                // What was fetched before a restart is on disk.
                if let Ok(Some(input)) = inner.config.store.input(&self.id, body).await {
                    return Some(input);
                }
                let bytes = inner.config.peers.input(*member, &self.id, body, limit).await.ok()?;
                Input::decode(&bytes).filter(|input| input.entry.body == *body)
            });
            for input in join_all(asked).await.into_iter().flatten() {
                if !input.entry.verifies(&self.id, &self.draft.draft) {
                    continue;
                }
                let sound = self.job.check(self.about(inner), &input).is_ok()
                    && input.body.len() <= self.job.body_bytes(&self.draft.draft);
                inner.config.store.keep(&self.id, &input, false).await?;
                self.state().sound.insert(input.entry.body, sound);
                got += 1;
            }
        }
        if got == 0 {
            tokio::time::sleep(inner.config.pause).await;
        }
        Ok(())
    }

    /// The seal's digest, when all members have signed it.
    pub(super) fn agreed_seal(&self, inner: &Inner) -> Result<Option<Digest>, Trouble> {
        let state = self.state();
        let own = state.told[inner.number].seal();
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
