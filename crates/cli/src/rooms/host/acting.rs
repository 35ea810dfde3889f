//! How an action gets into the host log, once: by the state machine that the page has, too
//! (`docs/spec/hosting.md`, H1 to H4).

use std::sync::Arc;

use anyhow::{Result, anyhow, ensure};
use ostrakon_broadcast::hosting::{Deed, HostLog, SignedAction};
use ostrakon_client::host::{self, Action, Failure, News, Refusal, SCHEDULER};
use ostrakon_crypto::Secret;
use ostrakon_mixing::link::Invitation;

use super::Target;
use super::pending::{Pending, Pendings};
use crate::client::connection::driver::Driver;
use crate::client::room::unshown;
use crate::client::{Room, http_client};
use crate::failure::{self, CallError};
use crate::system;

/// A host who acts in a room.
pub struct Host {
    /// The room.
    pub room: Arc<Room>,
    driver: Driver<host::Host<HostLog>, Room>,
    pendings: Pendings,
    /// What was wrong with the log that a server has shown last.
    forged: Option<String>,
}

/// An action that is in the host log.
pub struct Taken {
    /// Its number.
    pub number: u64,
    /// The links of the invitations that it made.
    pub links: Vec<String>,
}

/// What became of an action that an earlier command left pending.
pub struct Settled {
    /// What was to be done.
    pub deed: Deed,
    /// If it was done.
    pub taken: Option<Taken>,
}

/// What became of a deed.
enum End {
    Taken(u64),
    /// Another action has the place of the one that an earlier command left.
    Overtaken,
    /// The first server does not want it, now or later.
    Refused(CallError),
    /// The host log does not take it, so it was not sent.
    Declined(anyhow::Error),
    /// It was not sent, for another reason.
    Unsent(anyhow::Error),
    /// Others were always faster.
    Busy,
    /// Nobody says.
    Unknown(anyhow::Error),
}

impl Host {
    /// Goes to the room, alone with the key.
    ///
    /// # Errors
    /// If the key or what is pending cannot be read, or the room cannot be opened.
    pub async fn open(target: &Target) -> Result<Self> {
        ensure!(target.key.exists(), "--key: there is no file {}", target.key.display());
        let key = super::key_in(&target.key)?;
        let pendings = Pendings::beside(&target.key)?;
        let room = Room::open(&http_client()?, target.link.clone()).await?;
        let log = HostLog::new(&room.servers, &room.descriptor);
        let seed = Secret::new(system::random());
        let machine = host::Host::new(room.scene.clone(), key, log, false, seed);
        let driver = Driver::new(machine, Arc::clone(&room));
        Ok(Self { room, driver, pendings, forged: None })
    }

    /// Whether an earlier command left an action pending.
    pub fn has_pending(&self) -> bool {
        self.pendings.in_room(&self.room.link).is_some()
    }

    /// Finds out what became of the action that an earlier command left pending, and sends it again
    /// if nothing has its place. It is to be forgotten when that was told.
    ///
    /// # Errors
    /// If that cannot be found out now.
    pub async fn settle(&mut self) -> Result<Option<Settled>> {
        let Some(pending) = self.pendings.in_room(&self.room.link).cloned() else {
            return Ok(None);
        };
        let left = pending.signed.clone();
        self.driver.happen(|host, now| host.resume(now, left));
        let deed = pending.signed.action.deed.clone();
        let end = self.end(&deed, &[]).await;
        let path = self.pendings.path().display();
        let taken = match end {
            End::Taken(number) => Some(self.taken(&pending, number)),
            End::Overtaken => None,
            // It may have been taken when it was first sent, whatever is said now.
            End::Refused(error) => {
                let refused = format!(
                    "what an earlier command left in {path} is refused; remove that file to give it up"
                );
                return Err(anyhow!(error).context(refused));
            }
            End::Unknown(error) | End::Unsent(error) => {
                let unknown = format!(
                    "it is not known whether what an earlier command left in {path} was done"
                );
                return Err(error.context(unknown));
            }
            End::Busy | End::Declined(_) => unreachable!("what is left is not signed anew"),
        };
        Ok(Some(Settled { deed, taken }))
    }

    /// Signs the deed for the next place of the host log until it has one. It is to be forgotten
    /// when its result was told.
    ///
    /// # Errors
    /// If the deed is refused, or it cannot be written down, or it is not known whether it was
    /// done; then it stays pending.
    pub async fn act(&mut self, deed: &Deed, seeds: &[Invitation]) -> Result<Taken> {
        self.driver.happen(|host, now| host.act(now));
        match self.end(deed, seeds).await {
            End::Taken(number) => {
                let pending = self.pendings.in_room(&self.room.link).expect("it was written down");
                Ok(self.taken(pending, number))
            }
            End::Refused(error) => {
                self.forget()?;
                Err(error.into())
            }
            End::Declined(error) => {
                // What was signed before, if anything, was overtaken.
                self.forget()?;
                Err(error)
            }
            End::Busy => {
                self.forget()?;
                Err(anyhow!("other actions always come first; try again"))
            }
            End::Unsent(error) => Err(error),
            End::Unknown(error) => {
                let unknown =
                    "it is not known whether this was done; the same command again finds out";
                Err(error.context(unknown))
            }
            End::Overtaken => unreachable!("what is new is signed anew"),
        }
    }

    /// Drives the machine until the deed has come to an end. What it signs is written down with the
    /// seeds of the invitations that it makes.
    async fn end(&mut self, deed: &Deed, seeds: &[Invitation]) -> End {
        loop {
            while let Some(action) = self.driver.next_other() {
                match action {
                    Action::Decide { .. } => {
                        self.driver.happen(|host, now| host.decided(now, Some(deed.clone())));
                    }
                    Action::Keep(signed) => {
                        if let Err(error) = self.keep(*signed, seeds) {
                            return End::Unsent(error);
                        }
                    }
                    Action::Tell(news) => {
                        if let Some(end) = self.told(news) {
                            return end;
                        }
                    }
                    Action::Ask(_) => unreachable!("the driver asks"),
                }
            }
            self.driver.turn().await;
        }
    }

    fn keep(&mut self, signed: SignedAction, seeds: &[Invitation]) -> Result<()> {
        let pending = Pending::new(&self.room.link, signed, seeds);
        self.pendings.keep(&self.room.link, pending)?;
        self.driver.happen(|host, now| host.kept(now, true));
        Ok(())
    }

    /// What ends a deed. A command does not wait for servers that are away.
    fn told(&mut self, news: News) -> Option<End> {
        match news {
            News::Taken { number, .. } => Some(End::Taken(number)),
            News::Unanswered { said, .. } => Some(End::Unknown(failure::call(self.said(said)))),
            News::Unshown => Some(End::Unsent(unshown(self.forged.clone()))),
            News::Forged { party, why } => {
                self.forged = Some(format!("P{} shows a forged host log: {why}", party.0));
                None
            }
            News::Failed { failure, .. } => Some(match failure {
                Failure::Declined(refused) => End::Declined(refused.into()),
                Failure::Server(refusal) => End::Refused(self.said(Some(refusal))),
                Failure::Overtaken => End::Overtaken,
                Failure::Busy => End::Busy,
                Failure::Unknown(_) => End::Unknown(failure::unreachable(
                    "the first server says that another action came first, and no server shows it",
                )),
                Failure::Unshown => End::Unsent(unshown(self.forged.clone())),
                Failure::NotKept | Failure::GivenUp => unreachable!("it ends before"),
            }),
        }
    }

    fn said(&self, said: Option<Refusal>) -> CallError {
        CallError::of(self.room.connection(SCHEDULER).origin(), said)
    }

    /// Forgets what is pending. To be called when its result was told.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn forget(&mut self) -> Result<()> {
        self.pendings.forget(&self.room.link)
    }

    fn taken(&self, pending: &Pending, number: u64) -> Taken {
        Taken { number, links: pending.links(&self.room.link) }
    }
}

#[cfg(test)]
mod tests;
