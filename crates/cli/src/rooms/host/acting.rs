//! How an action gets into the host log, once.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};
use ostrakon_broadcast::hosting::{Deed, SignedAction};
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::link::Invitation;
use ostrakon_protocol::ActionTaken;

use super::Target;
use super::pending::{Pending, Pendings};
use crate::client::{CallError, Room, http_client};
use crate::{failure, system};

/// How often another action may come first.
const ATTEMPTS: u32 = 20;
/// Before a server that shows less of the log than the first is asked again.
const PAUSE: Duration = Duration::from_millis(200);

/// A host who acts in a room.
pub struct Host {
    /// The room.
    pub room: Arc<Room>,
    key: SigningKey,
    pendings: Pendings,
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

/// What became of an action that was sent.
enum Delivery {
    /// It is in the log.
    Taken,
    /// Another one has its place in the log.
    Overtaken,
    /// The servers do not want it, now or later.
    Refused(CallError),
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
        Ok(Self { room: Room::open(&http_client()?, target.link.clone()).await?, key, pendings })
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
    pub async fn settle(&self) -> Result<Option<Settled>> {
        let Some(pending) = self.pendings.in_room(&self.room.link) else { return Ok(None) };
        let signed = &pending.signed;
        let delivery = match self.room.host_log_and(signed.action.number).await {
            Ok((_, Some(found))) if found == *signed => Delivery::Taken,
            Ok((_, Some(_))) => Delivery::Overtaken,
            Ok((_, None)) => deliver(&self.room, signed).await,
            Err(error) => Delivery::Unknown(error),
        };
        let path = self.pendings.path().display();
        let taken = match delivery {
            Delivery::Taken => Some(self.taken(pending)),
            Delivery::Overtaken => None,
            // It may have been taken when it was first sent, whatever is said now.
            Delivery::Refused(error) => {
                let refused = format!(
                    "what an earlier command left in {path} is refused; remove that file to give it up"
                );
                return Err(anyhow!(error).context(refused));
            }
            Delivery::Unknown(error) => {
                let unknown = format!(
                    "it is not known whether what an earlier command left in {path} was done"
                );
                return Err(error.context(unknown));
            }
        };
        Ok(Some(Settled { deed: signed.action.deed.clone(), taken }))
    }

    /// Signs the deed for the next place of the host log until it has one. It is to be forgotten
    /// when its result was told.
    ///
    /// # Errors
    /// If the deed is refused, or it cannot be written down, or it is not known whether it was
    /// done; then it stays pending.
    pub async fn act(&mut self, deed: &Deed, seeds: &[Invitation]) -> Result<Taken> {
        for _ in 0..ATTEMPTS {
            let log = self.room.host_log().await?;
            let signed = log.act(&self.key, system::unix_time(), deed.clone());
            log.check(&signed)?;
            let pending = Pending::new(&self.room.link, signed.clone(), seeds);
            self.pendings.keep(&self.room.link, pending.clone())?;
            match deliver(&self.room, &signed).await {
                Delivery::Taken => return Ok(self.taken(&pending)),
                Delivery::Overtaken => self.forget()?,
                Delivery::Refused(error) => {
                    self.forget()?;
                    return Err(error.into());
                }
                Delivery::Unknown(error) => {
                    let unknown =
                        "it is not known whether this was done; the same command again finds out";
                    return Err(error.context(unknown));
                }
            }
        }
        bail!("other actions always come first; try again")
    }

    /// Forgets what is pending. To be called when its result was told.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn forget(&mut self) -> Result<()> {
        self.pendings.forget(&self.room.link)
    }

    fn taken(&self, pending: &Pending) -> Taken {
        Taken { number: pending.signed.action.number, links: pending.links(&self.room.link) }
    }
}

/// Sends an action, the same bytes each time, until it is taken or the log shows another one in its
/// place.
async fn deliver(room: &Room, signed: &SignedAction) -> Delivery {
    for _ in 0..ATTEMPTS {
        match send(room, signed).await {
            Ok(_) => return Delivery::Taken,
            Err(error) if error.status() == Some(409) => {}
            Err(error) if matches!(error.status(), Some(400..500)) && !error.passes() => {
                return Delivery::Refused(error);
            }
            Err(error) => return Delivery::Unknown(failure::call(error)),
        }
        match room.host_log_and(signed.action.number).await {
            Ok((_, Some(found))) if found == *signed => return Delivery::Taken,
            Ok((_, Some(_))) => return Delivery::Overtaken,
            Ok((_, None)) => tokio::time::sleep(PAUSE).await,
            Err(error) => return Delivery::Unknown(error),
        }
    }
    let silent = "the first server says that another action came first, and no server shows it";
    Delivery::Unknown(failure::unreachable(silent))
}

/// Gives an action to the server that puts all of them in order; the others only name it.
async fn send(room: &Room, action: &SignedAction) -> Result<ActionTaken, CallError> {
    let path = format!("rooms/{}/actions", room.link.room.to_hex());
    let (mut silent, mut misdirected) = (None, None);
    for party in room.parties() {
        match room.connection(party).post::<ActionTaken>(&path, action).await {
            Ok(taken) => return Ok(taken),
            Err(error @ CallError::Unreachable { .. }) => drop(silent.get_or_insert(error)),
            Err(error) if error.status() == Some(421) => misdirected = Some(error),
            // What another server has against it says nothing of what the silent one has done.
            Err(error) => return Err(silent.unwrap_or(error)),
        }
    }
    Err(silent.or(misdirected).expect("a room has servers"))
}
