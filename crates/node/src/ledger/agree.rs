//! Agreement on announcements: authenticated broadcast among all servers, one log per server. It is
//! sound however many of them are corrupt, and stops while one is silent.
//!
//! For announcement *n* of server *i*, towards each other server *j*:
//! 1. *i* writes it down together with what it changes, then sends it, signed, to all
//!    ([`Core::announce`]).
//! 2. *j* writes it down, then echoes its signed header to all others ([`follow`]).
//! 3. When *j* has the echo of every other receiver with the same header, it waits for the
//!    announcements that the author knew (`after`), judges it, and records what it changes: it is
//!    *delivered*. Then *j* goes on to *n* + 1.
//!
//! If *i* signed two different announcements *n* for two honest servers, each of these has both
//! headers: that is kept as evidence, and the log of *i* ends there. What is written down before it
//! is said is said again after a restart, in the same words.
//!
//! **Bounds.** An author has at most [`WINDOW`] announcements to which an echo is missing; a server
//! echoes *n* after it delivered *n* − 1. So nobody lags further than that, and [`KEPT`]
//! announcements and echoes are all that is kept.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_party::{
    ByParty, Instance, Length, PartyId, Received, Recipient, Refused, SignedHeader, wire,
};
use ostrakon_store::FaultRow;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::answers::internal;
use crate::core::Core;
use crate::ledger::evidence::Evidence;
use crate::ledger::rollback;
use crate::ledger::steps::{ControlStep, LONGEST_ECHO, instance};
use crate::memory::introduction::About;
use crate::memory::logs::WINDOW;
use crate::provider::trusts;
use crate::state::Invalid;
use crate::state::announcement::{Announcement, Body, LONGEST};
use ostrakon_protocol::ServiceError;

/// How long to wait for the other servers to take notice of what an operator does, before answering
/// all the same.
pub(crate) const NOTICE: Duration = Duration::from_secs(10);
/// Announcements and echoes kept per author. More than twice [`WINDOW`]: see the module's
/// description.
const KEPT: u64 = 40;
/// Why an announcement was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AnnounceError {
    /// The state does not allow it.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The disk does not work.
    #[error(transparent)]
    Store(#[from] ostrakon_store::Error),
    /// The server is being stopped.
    #[error("the server is being stopped")]
    Stopping,
    /// The data are older than what this server has said.
    #[error("{0}")]
    Silent(String),
    /// Another server's release does not know what is to be said.
    #[error(
        "the release that {0} runs does not know this yet: it can be done once that server's operator has upgraded it"
    )]
    NotUnderstood(String),
}

impl From<AnnounceError> for ServiceError {
    fn from(error: AnnounceError) -> Self {
        match error {
            AnnounceError::Invalid(invalid) => ServiceError::Refused(invalid.to_string()),
            AnnounceError::Stopping
            | AnnounceError::Silent(_)
            | AnnounceError::NotUnderstood(_) => ServiceError::Unavailable(error.to_string()),
            AnnounceError::Store(error) => internal(error),
        }
    }
}

impl Core {
    /// Announces something: when this returns it is recorded here and on its way. The receiver
    /// resolves when all others have received it. Waits while too many are on their way, and until
    /// it is known that this server may speak.
    pub(crate) async fn announce(
        self: &Arc<Self>,
        body: Body,
    ) -> Result<oneshot::Receiver<()>, AnnounceError> {
        rollback::allowed(&self.standing).await.map_err(AnnounceError::Silent)?;
        self.is_understood(body.language())?;
        let permit = Arc::clone(&self.logs.window)
            .acquire_owned()
            .await
            .map_err(|_| AnnounceError::Stopping)?;
        let core = Arc::clone(self);
        // On a task of its own: if the caller goes away half-way, disk and memory must not differ.
        let (done, result) = oneshot::channel();
        self.platform
            .spawn(Box::pin(async move { drop(done.send(core.announce_now(body, permit).await)) }));
        result.await.map_err(|_| AnnounceError::Stopping)?
    }

    /// Checks that all others understand what can be said since this language. Of who has not
    /// introduced itself since this server started nothing is known; the first language is
    /// everybody's.
    fn is_understood(&self, language: u32) -> Result<(), AnnounceError> {
        if language == 1 {
            return Ok(());
        }
        let known = self.mesh.acquaintances();
        let speaks = |peer: &PartyId| {
            let about = known.get(peer).and_then(|peer| About::read(&peer.about));
            about.map_or(1, |about| about.language())
        };
        match self.party.peers().find(|peer| speaks(peer) < language) {
            Some(peer) => {
                Err(AnnounceError::NotUnderstood(self.config.servers[peer.index()].name.clone()))
            }
            None => Ok(()),
        }
    }

    async fn announce_now(
        self: Arc<Self>,
        body: Body,
        permit: OwnedSemaphorePermit,
    ) -> Result<oneshot::Receiver<()>, AnnounceError> {
        let (done, seen_by_all) = oneshot::channel();
        let turn = self.logs.turn.lock().await;
        let delivered = self.logs.delivered.borrow().clone();
        let (after, number) = (delivered.as_slice().to_vec(), delivered[self.me()]);
        let announcement = Announcement { after, body };
        let now = self.platform.now_ms();
        let Some(change) = self.world().judge(self.me(), number, &announcement, now)? else {
            // It is so already.
            let _ = done.send(());
            return Ok(seen_by_all);
        };
        let bytes = announcement.encode();
        self.store.announce(self.me(), number, &bytes, Some(&change)).await?;
        let effects = self.apply(number, &change, now);
        self.introduction.kept(self.me(), number);
        let signed =
            self.party.send_all(ControlStep::Announce.of(instance(self.me(), number)), bytes);
        self.logs.delivered.send_modify(|delivered| delivered[self.me()] += 1);
        self.introduction.delivered(self.me(), number);
        drop(turn);
        self.dispatch(effects);
        let core = Arc::clone(&self);
        self.spawn(async move {
            collect_echoes(&core, number, signed).await;
            drop(permit);
            let _ = done.send(());
            core.forget_announcement(core.me(), number).await;
        });
        Ok(seen_by_all)
    }

    /// Forgets what no server can still need once the announcement with this number is echoed.
    async fn forget_announcement(&self, author: PartyId, number: u64) {
        let Some(old) = number.checked_sub(KEPT) else { return };
        self.party.retire(instance(author, old));
        if old.is_multiple_of(KEPT)
            && let Err(error) = self.store.forget_announcements(author, old).await
        {
            tracing::warn!(%error, "old announcements cannot be forgotten");
        }
    }

    /// Says again what was said before the restart.
    pub(crate) async fn repeat_announcements(
        self: &Arc<Self>,
    ) -> Result<(), ostrakon_store::Error> {
        let delivered = self.logs.delivered.borrow().clone();
        for author in self.party.roster.parties() {
            let from = delivered[author].saturating_sub(KEPT);
            for row in self.store.announcements(author, from).await? {
                let at = instance(author, row.number);
                let Some(header) = row.signed else {
                    let signed = self.party.send_all(ControlStep::Announce.of(at), row.body);
                    if row.number + WINDOW as u64 >= delivered[author] {
                        self.resume_echoes(row.number, signed);
                    }
                    continue;
                };
                self.party.send_all(ControlStep::Echo.of(at), header);
            }
        }
        Ok(())
    }

    fn resume_echoes(self: &Arc<Self>, number: u64, signed: SignedHeader) {
        let permit = Arc::clone(&self.logs.window).try_acquire_owned();
        let core = Arc::clone(self);
        self.spawn(async move {
            collect_echoes(&core, number, signed).await;
            drop(permit);
        });
    }
}

/// Waits for all others' echoes of this server's own announcement.
async fn collect_echoes(core: &Core, number: u64, own: SignedHeader) {
    let tag = ControlStep::Echo.of(instance(core.me(), number));
    let vouches = async |peer| {
        core.logs.sent(peer, number, core.platform.now_ms());
        let echo = core.party.receive(peer, tag, Length::AtMost(LONGEST_ECHO)).await;
        let vouched = echo.ok().and_then(|echo| wire::decode::<SignedHeader>(&echo.body).ok());
        if vouched.is_none_or(|header| header.header != own.header) {
            tracing::error!(
                number,
                "a server vouches for an announcement that was not made: was this server's data restored?"
            );
            return;
        }
        core.logs.echoed(peer, number, core.platform.now_ms());
    };
    futures::future::join_all(core.party.peers().map(vouches)).await;
}

/// Delivers the log of another server, for ever, or until that server contradicts itself.
pub(crate) async fn follow(core: Arc<Core>, author: PartyId) {
    loop {
        let number = core.logs.delivered.borrow()[author];
        match follow_one(&core, author, number).await {
            Ok(()) => core.forget_announcement(author, number).await,
            Err(End::Contradiction(what, evidence)) => {
                tracing::error!(%author, number, what, "this server's announcements are not heeded any more");
                core.keep_fault(author, what, evidence).await;
                return;
            }
            Err(End::Store(error)) => {
                core.store.complain(&error, "announcements cannot be recorded; trying again");
                core.platform.sleep(std::time::Duration::from_secs(1)).await;
            }
        }
    }
}

/// Why a log is not followed further.
enum End {
    /// Its author, or who echoed it, is proved to have misbehaved.
    Contradiction(&'static str, Evidence),
    /// The disk does not work.
    Store(ostrakon_store::Error),
}

impl From<ostrakon_store::Error> for End {
    fn from(error: ostrakon_store::Error) -> Self {
        End::Store(error)
    }
}

async fn follow_one(core: &Arc<Core>, author: PartyId, number: u64) -> Result<(), End> {
    let at = instance(author, number);
    let received =
        core.party.receive(author, ControlStep::Announce.of(at), Length::AtMost(LONGEST)).await;
    let received = received.map_err(|Refused(signed)| {
        End::Contradiction(
            "it announced more than an announcement can hold",
            Evidence::TooLong(signed),
        )
    })?;
    if received.signed.header.to != Recipient::All {
        let evidence = Evidence::Private(received.signed);
        return Err(End::Contradiction("it announced something to one server only", evidence));
    }
    keep(core, author, number, &received).await?;
    core.introduction.kept(author, number);
    core.party.send_all(ControlStep::Echo.of(at), wire::encode(&received.signed));
    // All but the author and this server; together they are whom the ledger awaits.
    let receivers = core.party.peers().filter(|peer| *peer != author);
    let echoes = receivers.map(|peer| compare(core, author, peer, at, &received));
    let echoed = futures::future::try_join_all(echoes).await?;
    debug_assert_eq!(echoed.len() + 2, trusts::echo(&core.trusts));
    deliver(core, author, number, &received).await
}

/// Writes the announcement down before vouching for it.
async fn keep(core: &Core, author: PartyId, number: u64, received: &Received) -> Result<(), End> {
    let header = wire::encode(&received.signed);
    match core
        .store
        .announcements(author, number)
        .await?
        .into_iter()
        .find(|row| row.number == number)
    {
        None => {
            Ok(core.store.keep_announcement(author, number, Some(&header), &received.body).await?)
        }
        Some(row) if row.body == received.body => Ok(()),
        Some(row) => {
            let earlier = wire::decode(&row.signed.unwrap_or_default());
            let earlier =
                earlier.map_err(|_| ostrakon_store::Error::Corrupt("announcements.signed"))?;
            let evidence = Evidence::Contradiction(Box::new([earlier, received.signed]));
            Err(End::Contradiction("it announced two different things under one number", evidence))
        }
    }
}

/// Waits for another receiver's echo, and compares.
async fn compare(
    core: &Core,
    author: PartyId,
    third: PartyId,
    at: Instance,
    received: &Received,
) -> Result<(), End> {
    let echo =
        core.party.receive(third, ControlStep::Echo.of(at), Length::AtMost(LONGEST_ECHO)).await;
    let own = received.signed;
    let echoed = echo.as_ref().ok().and_then(|echo| wire::decode::<SignedHeader>(&echo.body).ok());
    // An honest server echoes only what was announced to all, by this author, under this tag.
    let of_this = |header: &SignedHeader| {
        let (theirs, ours) = (&header.header, &own.header);
        theirs.tag == ours.tag && theirs.from == author && theirs.to == Recipient::All
    };
    match echoed.filter(|header| of_this(header) && core.party.roster.vouches(header)) {
        Some(header) if header.contradicts(&own) => {
            let evidence = Evidence::Contradiction(Box::new([own, header]));
            Err(End::Contradiction("it announced two different things under one number", evidence))
        }
        Some(_) => Ok(()),
        // That server has had its say; without it there is no agreement, and the log stands still.
        None => {
            let evidence = match echo {
                Ok(echo) => Evidence::Echo(echo.signed, echo.body.to_vec()),
                Err(Refused(signed)) => Evidence::TooLong(signed),
            };
            tracing::error!(%author, %third, "an echo is of nothing that was announced; this log stands still");
            core.keep_fault(third, "it echoed what was never announced", evidence).await;
            std::future::pending().await
        }
    }
}

async fn deliver(
    core: &Arc<Core>,
    author: PartyId,
    number: u64,
    received: &Received,
) -> Result<(), End> {
    let decoded = Announcement::decode(&received.body, core.trusts.parties());
    if let Ok(announcement) = &decoded {
        let mut delivered = core.logs.delivered.subscribe();
        let known = |delivered: &ByParty<u64>| {
            let mut others = delivered.iter().filter(|(party, _)| *party != author);
            others.all(|(party, count)| *count >= announcement.after[party.index()])
        };
        tokio::select! {
            biased;
            // The sender lives in `core`, so this does not fail.
            _ = delivered.wait_for(known) => {}
            () = accuse(core, author, received, &announcement.after) => {}
        }
    }
    if let Ok(Announcement { body: Body::Job { job, .. }, .. }) = &decoded
        && !core.world().jobs.has_room(author, *job)
    {
        tracing::error!(
            %author, job,
            "a server says more of a job that this release does not know than can be kept; \
             its log stands still until this server is upgraded"
        );
        return std::future::pending().await;
    }
    let turn = core.logs.turn.lock().await;
    let now = core.platform.now_ms();
    let judged = match &decoded {
        Ok(announcement) => core.world().judge(author, number, announcement, now),
        Err(_) => Err(Invalid("an announcement must be well formed")),
    };
    let change = match judged {
        Ok(change) => change,
        Err(Invalid(rule)) => {
            tracing::warn!(%author, number, rule, "an announcement breaks the rules and changes nothing");
            let evidence = Evidence::Announcement(received.signed, received.body.to_vec());
            core.keep_fault(author, rule, evidence).await;
            None
        }
    };
    core.store.deliver(author, number, change.as_ref()).await?;
    let effects = change.map(|change| core.apply(number, &change, now)).unwrap_or_default();
    core.logs.delivered.send_modify(|delivered| delivered[author] = number + 1);
    core.introduction.delivered(author, number);
    drop(turn);
    core.dispatch(effects);
    Ok(())
}

/// Keeps it as a fault if an announcement comes after others that there cannot have been when it
/// was made. Never resolves: the log stands still here as it does at the other servers, until there
/// are as many.
///
/// An author delivers another's announcement only with this server's echo of it, and this server
/// writes down before it echoes. So an honest author has delivered no more than is written down
/// here. (Logs are not followed with an old copy of the data.)
async fn accuse(core: &Core, author: PartyId, received: &Received, after: &[u64]) {
    let kept = ByParty::from(core.introduction.progress().kept);
    let impossible = |other: &PartyId| *other != author && after[other.index()] > kept[*other];
    if let Some(other) = core.party.roster.parties().find(impossible) {
        let (named, kept) = (after[other.index()], kept[other]);
        tracing::error!(
            %author, %other, named, kept,
            "a server claims to have heard announcements that were never made; its log stands still"
        );
        let evidence = Evidence::Announcement(received.signed, received.body.to_vec());
        core.keep_fault(
            author,
            "it claims to have heard announcements that were never made",
            evidence,
        )
        .await;
    }
    std::future::pending().await
}

impl Core {
    pub(crate) async fn keep_fault(&self, culprit: PartyId, what: &str, evidence: Evidence) {
        let evidence = wire::encode(&evidence);
        let row =
            FaultRow { seen_at: self.platform.now_ms(), culprit, what: what.to_owned(), evidence };
        if let Err(error) = self.store.keep_fault(&row).await {
            tracing::error!(%error, %culprit, what, "a fault cannot be recorded");
        }
    }
}
