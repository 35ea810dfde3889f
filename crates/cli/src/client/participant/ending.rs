//! When a participation ends without its message on the board.

use anyhow::{Result, bail, ensure};

use super::Participant;

impl Participant {
    /// Ends a participation that can bring nothing more: in a room that is `closed`, once the
    /// message's epoch is over, or when the message may have been read and is not said again.
    pub(super) fn go_on(&mut self, closed: bool) -> Result<()> {
        let over = self.over;
        let closed = closed && self.outbox.undecided().is_none_or(|epoch| over >= Some(epoch));
        if let Some(epoch) = self.outbox.undecided().filter(|_| closed) {
            self.outbox.ended_without_board(epoch);
        }
        if let Some(epoch) = self.outbox.held() {
            bail!(
                "epoch {epoch} was given up after its opening may have begun: the message is not on the board, but somebody may \
                 have read it. It is not said again by itself"
            );
        }
        ensure!(!closed, "the room is closed: it takes no more messages");
        Ok(())
    }

    /// Hears whose messages may have been read without being published.
    pub(super) fn doubt(&mut self) {
        let statuses = self.room.statuses();
        let statuses = statuses.borrow();
        let doubted = statuses.iter().flatten().flat_map(|word| &word.0.may_have_opened);
        doubted.for_each(|epoch| self.outbox.doubt(*epoch));
    }
}
