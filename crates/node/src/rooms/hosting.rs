//! What the hosts of rooms do, at a server: how an action enters the host log, and what every
//! server then does about it. `docs/spec/hosting.md` is the specification; its steps are named
//! here.
//!
//! The rule by which an action is accepted is [`HostLog::check`], the same as in the page. The
//! scheduler's log of announcements puts the actions into one order, so it holds or fails alike at
//! every server.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_broadcast::hosting::{Claim, Deed, HostLog, Refused, SignedAction};
use ostrakon_mixing::room::RoomId;
use ostrakon_party::wire;

use crate::answers::{internal, no_room};
use crate::boards::erasure;
use crate::core::Core;
use crate::disk::{Disk, audit};
use crate::ledger::agree::{AnnounceError, NOTICE};
use crate::state::announcement::Body;
use crate::state::hosting::{Sequenced, read};
use crate::state::{Collecting, SCHEDULER, World};
use ostrakon_protocol::{Accepted, ActionTaken, ActionsPage, ServiceError};

/// Times that a claim is put into its place before its sender is asked to come back: each time a
/// host was faster.
const PLACINGS: usize = 16;
/// Actions that the store is asked for at once, and the bytes of an answer, roughly.
const READ_ACTIONS: u32 = 64;
const PAGE_BYTES: usize = 1 << 20;

fn damaged() -> ostrakon_store::Error {
    ostrakon_store::Error::Corrupt("host_actions.body")
}

impl Core {
    /// Step 2: the scheduler takes an action, and announces it.
    pub(crate) async fn act(
        self: &Arc<Self>,
        id: RoomId,
        action: SignedAction,
    ) -> Result<ActionTaken, ServiceError> {
        self.schedules()?;
        let busy = |_| {
            ServiceError::Busy("too many hosts act at the same time; try again in a moment".into())
        };
        let _turn = self.under_way.acting.try_acquire().map_err(busy)?;
        let number = action.action.number;
        let taken = Ok(ActionTaken { number });
        match self.may_follow(&id, &action)? {
            Ok(()) => {}
            // The answer to the first attempt was lost.
            Err(Refused::NotNext { .. }) if self.holds(&id, &action).await? => return taken,
            Err(refused) => return Err(refused.into()),
        }
        let body = Body::Hosted { room: id, action: action.clone() };
        let late = || {
            ServiceError::Unavailable(
                "the other servers do not answer; try again when they do".into(),
            )
        };
        match self.platform.timeout(NOTICE, self.announce(body)).await.ok_or_else(late)? {
            Ok(_) => taken,
            // Another action came in between.
            Err(error) => match self.may_follow(&id, &action)? {
                Err(refused) => Err(refused.into()),
                Ok(()) => Err(error.into()),
            },
        }
    }

    /// Only the scheduler puts anything into the host log.
    fn schedules(&self) -> Result<(), ServiceError> {
        if self.me() == SCHEDULER {
            return Ok(());
        }
        let url = &self.config.servers[SCHEDULER.index()].url;
        Err(ServiceError::Elsewhere(format!(
            "the first server keeps the host log in order: send this to {url}"
        )))
    }

    /// Step 5: the scheduler puts a claim into the host log, and announces it. Answers when the
    /// others have it too, or after a while anyway.
    pub(crate) async fn claim(
        self: &Arc<Self>,
        id: RoomId,
        claim: Claim,
    ) -> Result<Accepted, ServiceError> {
        self.schedules()?;
        // What is refused anyway, or done, is so before it waits for others.
        if self.placed(&id, &claim)?.is_none() {
            return Ok(Accepted { accepted: true });
        }
        let busy = || {
            ServiceError::Busy(
                "too many invitations are claimed at the same time; try again soon".into(),
            )
        };
        let turn = self
            .platform
            .timeout(NOTICE, self.under_way.claiming.acquire())
            .await
            .ok_or_else(busy)?;
        let _turn = turn.map_err(|_| ServiceError::Unavailable("the server is stopping".into()))?;
        for _ in 0..PLACINGS {
            let placing = self.under_way.placing.lock().await;
            let Some(action) = self.placed(&id, &claim)? else {
                return Ok(Accepted { accepted: true });
            };
            let announced = self
                .platform
                .timeout(NOTICE, self.announce(Body::Hosted { room: id, action }))
                .await;
            drop(placing);
            match announced {
                None => {
                    let late = "the other servers do not answer; try again when they do";
                    return Err(ServiceError::Unavailable(late.into()));
                }
                Some(Ok(noticed)) => {
                    self.platform.timeout(NOTICE, noticed).await;
                    return Ok(Accepted { accepted: true });
                }
                // A host was faster.
                Some(Err(AnnounceError::Invalid(_))) => {}
                Some(Err(error)) => return Err(error.into()),
            }
        }
        Err(busy())
    }

    /// A claim in the next place of the host log; `None` if it is there already.
    fn placed(&self, id: &RoomId, claim: &Claim) -> Result<Option<SignedAction>, ServiceError> {
        let world = self.world();
        let log = &world.rooms.get(id).ok_or_else(no_room)?.log;
        let known = log.invitations().get(&claim.invitation).filter(|invitation| invitation.active);
        let is_there = known.is_some_and(|invitation| invitation.claimed == Some(claim.key));
        match log.check_claim(claim) {
            Ok(()) => Ok(Some(log.place(claim))),
            Err(refused) if is_there && refused != Refused::Signature => Ok(None),
            Err(refused) => Err(refused.into()),
        }
    }

    fn may_follow(
        &self,
        id: &RoomId,
        action: &SignedAction,
    ) -> Result<Result<(), Refused>, ServiceError> {
        let world = self.world();
        Ok(world.rooms.get(id).ok_or_else(no_room)?.log.check(action))
    }

    /// Whether exactly this action is in the host log already.
    async fn holds(&self, id: &RoomId, action: &SignedAction) -> Result<bool, ServiceError> {
        let rows =
            self.store.host_actions(&id.0, action.action.number, 1).await.map_err(internal)?;
        Ok(rows.first().and_then(|row| read(row)).is_some_and(|kept| kept.action == *action))
    }

    pub(crate) async fn actions_reach(
        &self,
        id: RoomId,
        from: u64,
        wait: Duration,
    ) -> Result<(), ServiceError> {
        drop(self.room(id)?);
        let longer =
            |world: &World| world.rooms.get(&id).is_none_or(|room| room.log.length() > from);
        self.platform.timeout(wait, self.wait_until_in(&id, longer)).await;
        Ok(())
    }

    /// The host log from action `from` on.
    pub(crate) async fn actions(&self, id: RoomId, from: u64) -> Result<ActionsPage, ServiceError> {
        drop(self.room(id)?);
        read_actions(&self.store, &id, from).await
    }
}

/// A room's host log.
pub(crate) async fn all_actions(
    store: &Disk,
    id: &RoomId,
) -> Result<Vec<SignedAction>, ostrakon_store::Error> {
    let mut actions = Vec::new();
    loop {
        let rows = store.host_actions(&id.0, actions.len() as u64, READ_ACTIONS).await?;
        if rows.is_empty() {
            return Ok(actions);
        }
        for row in rows {
            actions.push(read(&row).ok_or_else(damaged)?.action);
        }
    }
}

/// An action as it is on disk, with no announcement of this generation.
pub(crate) fn of_earlier_generation(action: &SignedAction) -> Vec<u8> {
    wire::encode(&Sequenced { announcement: 0, action: action.clone() })
}

/// A page of a room's host log, from action `from` on.
pub(crate) async fn read_actions(
    store: &Disk,
    id: &RoomId,
    from: u64,
) -> Result<ActionsPage, ServiceError> {
    let mut actions: Vec<SignedAction> = Vec::new();
    let mut bytes = 0;
    while bytes < PAGE_BYTES {
        let next = from.saturating_add(actions.len() as u64);
        let rows = store.host_actions(&id.0, next, READ_ACTIONS).await.map_err(internal)?;
        if rows.is_empty() {
            break;
        }
        bytes += rows.iter().map(Vec::len).sum::<usize>();
        for row in rows {
            let kept = read(&row).ok_or_else(|| internal(damaged()))?;
            actions.push(kept.action);
        }
    }
    Ok(ActionsPage { actions })
}

/// Does what an action asks of every server: puts it on the operator's record, and erases.
pub(crate) async fn follow_up(core: Arc<Core>, id: RoomId, number: u64) {
    let rows = core.store.host_actions(&id.0, number, 1).await;
    let kept = rows.ok().and_then(|rows| read(rows.first()?));
    let Some(Sequenced { action: SignedAction { action, .. }, .. }) = kept else {
        tracing::error!("what a host did cannot be read; it is done at the next start");
        return;
    };
    if let Some((what, detail)) = on_record(&action.deed) {
        let actor = format!("host of {}", id.to_hex());
        audit::note(&core.store, core.platform.now_ms(), &actor, what, &detail).await;
    }
    match action.deed {
        Deed::Erase { target } => erasure::erase_epoch(&core, id, target.epoch).await,
        Deed::EraseAll => erasure::erase_room(&core, id).await,
        _ => {}
    }
}

/// What the audit log says of a deed; nothing of those that change neither who may act nor what is
/// to be seen.
fn on_record(deed: &Deed) -> Option<(&'static str, String)> {
    let message = || {
        let target = deed.target();
        target.map_or_else(String::new, |target| {
            format!("message {} of epoch {}", target.index, target.epoch)
        })
    };
    Some(match deed {
        Deed::Hide { hidden: true, .. } => ("hide", message()),
        Deed::Hide { hidden: false, .. } => ("show again", message()),
        Deed::Approve { approved: true, .. } => ("approve", message()),
        Deed::Approve { approved: false, .. } => ("take approval back", message()),
        Deed::Erase { .. } => ("erase", message()),
        Deed::Host { key, active: true, .. } => ("name a co-host", key.to_hex()),
        Deed::Host { key, active: false, .. } => ("dismiss a co-host", key.to_hex()),
        Deed::Admit { keys } => ("admit", format!("{} keys", keys.len())),
        Deed::Invite { keys } => ("invite", format!("{} keys", keys.len())),
        Deed::Dismiss { keys } => ("dismiss", format!("{} keys", keys.len())),
        Deed::Minimum { minimum } => ("lower the minimum", minimum.to_string()),
        Deed::Moderate { on } => ("moderate", if *on { "on" } else { "off" }.into()),
        Deed::Close => ("close", String::new()),
        Deed::EraseAll => ("erase all", String::new()),
        // What participants do is not on record.
        Deed::Claim { .. } => return None,
        Deed::Pin { .. } | Deed::Answer { .. } | Deed::Group { .. } | Deed::Spotlight { .. } => {
            return None;
        }
        Deed::Poll { .. } | Deed::Withdraw { .. } | Deed::Reveal { .. } => return None,
    })
}

/// The host log of a room as the disk has it. An epoch that collects, with how many actions there
/// were when it was opened, gets back who was admitted to it.
pub(crate) async fn restore(
    store: &crate::disk::Disk,
    room: &RoomId,
    mut log: HostLog,
    mut epoch: Option<(u64, &mut Collecting)>,
) -> Result<HostLog, ostrakon_store::Error> {
    if let Some((_, collecting)) = &mut epoch {
        collecting.members = log.roster();
    }
    loop {
        let rows = store.host_actions(&room.0, log.length(), READ_ACTIONS).await?;
        if rows.is_empty() {
            return Ok(log);
        }
        for row in rows {
            let Sequenced { announcement, action } = read(&row).ok_or_else(damaged)?;
            log.apply(&action).map_err(|_| damaged())?;
            let Some((actions, collecting)) = &mut epoch else { continue };
            if log.length() <= *actions {
                collecting.members = log.roster();
            } else {
                collecting.admit(
                    &log.admitted_by(&action.action.author, &action.action.deed),
                    announcement,
                );
            }
        }
    }
}
