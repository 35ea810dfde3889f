//! What hosts do, in the state that the servers agree on (`docs/spec/hosting.md`, whose steps are
//! named here).

use ostrakon_broadcast::hosting::SignedAction;
use ostrakon_mixing::room::RoomId;
use ostrakon_party::{PartyId, wire};
use ostrakon_store::Change;
use serde::{Deserialize, Serialize};

use super::{Effect, Invalid, SCHEDULER, World};

/// An action as it is on disk: with the number of the scheduler's announcement that brought it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Sequenced {
    pub announcement: u64,
    pub action: SignedAction,
}

pub(crate) fn read(row: &[u8]) -> Option<Sequenced> {
    wire::decode(row).ok()
}

impl World {
    /// Step 3: what an announced action changes.
    pub(crate) fn judge_action(
        &self,
        author: PartyId,
        after: &[u64],
        room: &RoomId,
        action: &SignedAction,
    ) -> Result<Option<Change>, Invalid> {
        if author != SCHEDULER {
            return Err(Invalid("only the scheduler puts what hosts do into order"));
        }
        // Nothing but earlier announcements of the scheduler changes the host log.
        let broken = |_| {
            Invalid(
                "what a host does is the next action of the room's host log, and signed by a host",
            )
        };
        self.known_room(room, after)?.log.check(action).map_err(broken)?;
        let number = action.action.number;
        let announcement = after[author.index()];
        let body = wire::encode(&Sequenced { announcement, action: action.clone() });
        Ok(Some(Change::HostAction { room: room.0, number, body }))
    }

    /// Takes an action that was judged into the room's host log.
    pub(crate) fn act(&mut self, id: &RoomId, body: &[u8]) -> Option<Effect> {
        let room = self.rooms.get_mut(id)?;
        let Sequenced { announcement, action } =
            wire::decode(body).expect("encoded when it was judged");
        room.log.apply(&action).expect("checked when it was judged");
        let action = action.action;
        if let Some(collecting) = &mut room.collecting {
            // Step 4.
            collecting.admit(&room.log.admitted_by(&action.author, &action.deed), announcement);
        }
        // Step 7: a room is closed for good, by whomever.
        room.open &= !room.log.closed();
        Some(Effect::Hosted(*id, action.number))
    }
}
