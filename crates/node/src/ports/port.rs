//! A server as the driver of one of its jobs sees it.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use ostrakon_crypto::SigningKey;
use ostrakon_job::{
    Condition, Creator, Failed, Holds, Item, ItemName, Letter, OnDisk, Port, State, Storage,
    Subject, Write,
};
use ostrakon_party::{PartyId, Servers};
use ostrakon_protocol::ServiceError;

use crate::core::Core;
use crate::disk::audit;
use crate::jobs::filing;
use crate::ledger::agree::AnnounceError;
use crate::ledger::rollback;
use crate::state::announcement::Body;

pub(super) struct OfJob {
    pub core: Arc<Core>,
    pub job: u8,
}

fn failed(error: ostrakon_store::Error) -> Failed {
    Failed(error.to_string())
}

impl Storage for OfJob {
    fn words<'a>(
        &'a self,
        subject: &'a Subject,
        kind: u8,
        page: (u64, u32),
    ) -> OnDisk<'a, Vec<(PartyId, Vec<u8>)>> {
        let words = self.core.store.filed_words((self.job, subject), kind, page);
        words.map(|words| words.map_err(failed)).boxed()
    }

    fn item(&self, name: ItemName) -> OnDisk<'_, Option<Item>> {
        async move {
            let item = self.core.store.job_item(self.job, &filing::name(name)).await;
            Ok(item.map_err(failed)?.map(filing::item))
        }
        .boxed()
    }

    fn items<'a>(&'a self, drawer: u8, family: &'a [u8]) -> OnDisk<'a, Vec<Item>> {
        async move {
            let items = self.core.store.job_items(self.job, drawer, family).await;
            Ok(items.map_err(failed)?.into_iter().map(filing::item).collect())
        }
        .boxed()
    }

    fn count_items<'a>(&'a self, drawer: u8, family: Option<&'a [u8]>) -> OnDisk<'a, u64> {
        let count = self.core.store.count_job_items(self.job, drawer, family);
        count.map(|count| count.map_err(failed)).boxed()
    }

    fn change_items(&self, conditions: Vec<Condition>, writes: Vec<Write>) -> OnDisk<'_, bool> {
        async move {
            let (conditions, writes) = (filing::conditions(conditions), filing::changes(writes));
            let changed = self.core.store.change_job_items(self.job, &conditions, &writes).await;
            changed.map_err(failed)
        }
        .boxed()
    }

    fn forget_items(&self, drawer: u8, before: u64) -> OnDisk<'_, u64> {
        let forgotten = self.core.store.forget_job_items(self.job, drawer, before);
        forgotten.map(|forgotten| forgotten.map_err(failed)).boxed()
    }
}

impl Port for OfJob {
    fn me(&self) -> PartyId {
        self.core.me()
    }

    fn servers(&self) -> &Servers {
        &self.core.servers
    }

    fn urls(&self) -> Vec<String> {
        self.core.config.servers.iter().map(|server| server.url.clone()).collect()
    }

    fn identity(&self) -> &SigningKey {
        &self.core.identity
    }

    fn now_ms(&self) -> u64 {
        self.core.platform.now_ms()
    }

    fn fill(&self, bytes: &mut [u8]) {
        self.core.platform.fill(bytes);
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.core.platform.sleep(time)
    }

    fn spawn(&self, work: BoxFuture<'static, ()>) {
        self.core.spawn(work);
    }

    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>) {
        self.core.platform.spawn_blocking(work);
    }

    fn look(&self, at: &mut dyn FnMut(&dyn State)) {
        at(self.core.world().jobs.look(self.job).expect("this job is done here"));
    }

    fn wait<'a>(&'a self, subject: &'a Subject, mut holds: Holds<'a>) -> BoxFuture<'a, ()> {
        async move {
            let holds = || holds(self.core.world().jobs.look(self.job).expect("it is done here"));
            self.core.subjects.wait(&(self.job, *subject), holds).await;
        }
        .boxed()
    }

    fn touch(&self, subject: &Subject) {
        self.core.change(|world| {
            world.version += 1;
            world.jobs.touch(self.job, subject, world.version);
        });
    }

    fn may_speak(&self) -> BoxFuture<'_, Result<(), ServiceError>> {
        async move {
            let standing = rollback::allowed(&self.core.standing).await;
            Ok(standing.map_err(AnnounceError::Silent)?)
        }
        .boxed()
    }

    fn say(&self, subject: Subject, word: Vec<u8>) -> BoxFuture<'_, Result<(), ServiceError>> {
        async move {
            self.core.announce(Body::Job { job: self.job, subject, word }).await?;
            Ok(())
        }
        .boxed()
    }

    fn note<'a>(&'a self, actor: &'a str, action: &'a str, detail: &'a str) -> BoxFuture<'a, ()> {
        audit::note(&self.core.store, self.now_ms(), actor, action, detail).boxed()
    }

    fn count_creation(&self, creator: Creator) -> Result<(), ServiceError> {
        let Creator::Guest(origin) = creator else { return Ok(()) };
        let mut creations = self.core.under_way.creations.lock().expect("no panic while held");
        creations.note(&self.core.config.rooms, origin, self.now_ms())
    }

    fn per_hour_and_address(&self) -> u32 {
        self.core.config.rooms.per_hour_and_address
    }

    fn sends_mail(&self) -> bool {
        self.core.mailer.is_some()
    }

    fn mail(
        &self,
        letter: Letter,
    ) -> Result<BoxFuture<'static, Result<(), ServiceError>>, ServiceError> {
        let none = || ServiceError::NotFound("this server sends no e-mail".into());
        let mailer = self.core.mailer.as_ref().ok_or_else(none)?;
        let (id, now) = (self.core.platform.random(), Duration::from_millis(self.now_ms()));
        mailer.send(letter, id, now)
    }
}
