//! How rooms are created at this server, closed and deleted, and found by their codes.

use ostrakon_mixing::room::{RoomDescriptor, RoomId};

use crate::core::Core;
use crate::state::Room;
use ostrakon_protocol::{CodeInfo, ServiceError};

impl Core {
    /// Whether somebody who is not the administrator may create this room now.
    pub(crate) fn admit_guest_room(
        &self,
        room: &RoomDescriptor,
        origin: Option<u64>,
    ) -> Result<(), ServiceError> {
        let policy = &self.config.rooms;
        policy.admits(room)?;
        let of_this_server = |room: &&Room| room.open && room.author == self.me();
        if self.world().rooms.values().filter(of_this_server).count() >= policy.most as usize {
            return Err(ServiceError::Busy(format!(
                "this server keeps {} open rooms and takes no more (most); close one, or try another server",
                policy.most
            )));
        }
        let mut creations = self.under_way.creations.lock().expect("no panic while held");
        creations.note(policy, origin, self.platform.now_ms())
    }

    /// Where a short code leads. Codes are short: whoever makes many rooms can make two of one
    /// code. Then it leads nowhere.
    pub(crate) fn code(&self, code: &str) -> Result<CodeInfo, ServiceError> {
        let not_found = |text: &str| ServiceError::NotFound(text.into());
        let code = RoomId::tidy_code(code)
            .ok_or_else(|| not_found("a room's code has eight letters and digits"))?;
        let world = self.world();
        let of_code = world.rooms.iter().filter(|(id, room)| !room.deleted && id.code() == code);
        let (open, closed): (Vec<_>, Vec<_>) = of_code.partition(|(_, room)| room.open);
        match (&open[..], &closed[..]) {
            ([(room, _)], _) | ([], [(room, _)]) => {
                Ok(CodeInfo { room: room.to_hex(), servers: self.servers.digest().to_hex() })
            }
            ([], []) => Err(not_found("no room has this code here; ask for the room's link")),
            _ => Err(not_found("more than one room has this code; ask for the room's link")),
        }
    }
}
