//! A server as one job's driver sees it, and a driver as its server sees it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{BoxFuture, Either, select};
use ostrakon_crypto::SigningKey;
use ostrakon_party::{PartyId, Servers};
use ostrakon_protocol::ServiceError;

use crate::{Deed, State, Storage, Subject};

/// As whom somebody creates something at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creator {
    /// The operator: no quota applies.
    Administrator,
    /// Somebody else, within the server's quotas; who comes from the same address, if limits by
    /// address hold.
    Guest(Option<u64>),
}

/// An e-mail to be sent.
#[derive(Clone, Debug)]
pub struct Letter {
    /// To which address, as somebody has typed it.
    pub to: String,
    /// What it is about.
    pub subject: &'static str,
    /// Plain text.
    pub body: String,
}

/// What somebody waits for: whether the state is so.
pub type Holds<'a> = Box<dyn FnMut(&dyn State) -> bool + Send + 'a>;

/// A server, as one job's driver sees it. Whatever is under way ends when the server stops.
pub trait Port: Storage {
    /// The server.
    fn me(&self) -> PartyId;

    /// All servers.
    fn servers(&self) -> &Servers;

    /// The public addresses of all servers, by number.
    fn urls(&self) -> Vec<String>;

    /// The key by which the server signs, each time under a purpose of its own.
    fn identity(&self) -> &SigningKey;

    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// Fills `bytes` with fresh randomness.
    fn fill(&self, bytes: &mut [u8]);

    /// Resolves after `time`.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// Runs something to its end.
    fn spawn(&self, work: BoxFuture<'static, ()>);

    /// Runs work that takes long away from the tasks.
    fn spawn_blocking(&self, work: Box<dyn FnOnce() + Send>);

    /// Looks at the job's state, while nobody changes it.
    fn look(&self, at: &mut dyn FnMut(&dyn State));

    /// Waits until a subject is as `holds` asks for. It is asked again when there is news of it.
    fn wait<'a>(&'a self, subject: &'a Subject, holds: Holds<'a>) -> BoxFuture<'a, ()>;

    /// There is news of a subject that is not in the state.
    fn touch(&self, subject: &Subject);

    /// Resolves when this server may say anything, and keep what it is given: what goes into an old
    /// copy of its data is lost when the newest is put back.
    fn may_speak(&self) -> BoxFuture<'_, Result<(), ServiceError>>;

    /// Says a word. It is judged first, and not said if it changes nothing. It is on disk when this
    /// returns, and comes to the others as soon as they are there.
    ///
    /// # Errors
    /// `Refused` if it is invalid by what this server has heard; `Internal` if the disk does not
    /// work; `Unavailable` if the server is being stopped, or its data are older than what it has
    /// said. What must be said all the same, [`State::undone`] asks for after the next start.
    fn say(&self, subject: Subject, word: Vec<u8>) -> BoxFuture<'_, Result<(), ServiceError>>;

    /// Puts something on the operator's record: who did what, and to what. Nothing of what people
    /// do, but create and call off.
    fn note<'a>(&'a self, actor: &'a str, action: &'a str, detail: &'a str) -> BoxFuture<'a, ()>;

    /// Counts that somebody creates something, as much as a room, within the server's quotas.
    ///
    /// # Errors
    /// `Busy` names the quota.
    fn count_creation(&self, creator: Creator) -> Result<(), ServiceError>;

    /// How much one address may create within an hour.
    fn per_hour_and_address(&self) -> u32;

    /// Whether the server sends e-mail.
    fn sends_mail(&self) -> bool;

    /// Makes an e-mail ready. It is sent while what this returns is awaited, which resolves when
    /// the mail server has taken it.
    ///
    /// # Errors
    /// `Refused` if that is no address; `Busy`; `NotFound` if the server sends no e-mail.
    fn mail(
        &self,
        letter: Letter,
    ) -> Result<BoxFuture<'static, Result<(), ServiceError>>, ServiceError>;
}

impl dyn Port {
    /// Fresh random bytes.
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    /// What `work` yields, or `None` if it takes longer than `time`.
    pub async fn timeout<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        match select(Box::pin(work), self.sleep(time)).await {
            Either::Left((result, _)) => Some(result),
            Either::Right(_) => None,
        }
    }

    /// What work yields that takes long; `None` if it panicked or the server stops.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, result) = oneshot::channel();
        self.spawn_blocking(Box::new(move || drop(done.send(work()))));
        result.await.ok()
    }

    /// Waits until a subject is as `holds` asks for, which is asked at first and whenever there is
    /// news of it.
    ///
    /// # Panics
    /// If `S` is not the type of the job's state.
    pub async fn wait_for<S: State>(
        &self,
        subject: &Subject,
        mut holds: impl FnMut(&S) -> bool + Send,
    ) {
        self.wait(subject, Box::new(move |state: &dyn State| holds(of_type(state)))).await;
    }

    /// What there is to see in the job's state.
    ///
    /// # Panics
    /// If `S` is not the type of the job's state.
    pub fn read<S: State, T>(&self, look: impl FnOnce(&S) -> T) -> T {
        let (mut look, mut seen) = (Some(look), None);
        self.look(&mut |state| {
            seen = look.take().map(|look| look(of_type(state)));
        });
        seen.expect("whoever lets look does so once")
    }
}

fn of_type<S: State>(state: &dyn State) -> &S {
    (state as &dyn Any).downcast_ref().expect("the state of this job")
}

/// A number that a server's metrics show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// Its name, after the program's.
    pub name: &'static str,
    /// What it counts. Nothing that changes with a single participant.
    pub help: &'static str,
    /// How many.
    pub value: u64,
}

/// What works for a job at a server. Whoever serves its paths finds it by its type.
pub trait Driver: Any + Send + Sync {
    /// Does what a word asks of this server, now or, if it was stopped before, after its next start
    /// ([`State::undone`]).
    fn follow(self: Arc<Self>, deed: Deed) -> BoxFuture<'static, ()> {
        drop(deed);
        async {}.boxed()
    }

    /// What the server does by itself, from when it may speak until it stops.
    fn run(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async {}.boxed()
    }

    /// What the server's metrics show.
    fn gauges(&self) -> Vec<Gauge> {
        Vec::new()
    }
}

/// The driver of a job whose words ask for nothing.
pub struct Idle;

impl Driver for Idle {}
