//! Rooms.

pub(crate) mod board;
pub(crate) mod epochs;
mod erasure;
pub(crate) mod hosting;
pub(crate) mod intakes;
mod journal;
pub(crate) mod state;
pub(crate) mod submissions;

use ostrakon_party::PartyId;

use crate::database::transaction::{array, from_sql};
use crate::{Error, RoomKey, Store};

/// A room on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomRow {
    /// Its id.
    pub room: RoomKey,
    /// Its encoded descriptor.
    pub descriptor: Vec<u8>,
    /// The server whose operator made it.
    pub author: PartyId,
    /// The number of the announcement by which it did.
    pub announcement: u64,
    /// Whether it is open.
    pub open: bool,
    /// Epochs below this number belong to earlier generations.
    pub first_epoch: u64,
    /// Whether this server's operator has deleted it.
    pub deleted: bool,
}

type Columns = (Vec<u8>, Vec<u8>, i64, i64, i64, i64, i64);

impl Store {
    /// Every room.
    ///
    /// # Errors
    /// The disk's.
    pub async fn rooms(&self) -> Result<Vec<RoomRow>, Error> {
        let query = sqlx::query_as(
            "SELECT id, descriptor, author, announcement, open, first_epoch, deleted FROM rooms",
        );
        let rows: Vec<Columns> = query.fetch_all(&self.pools.readers).await?;
        let read = |(id, descriptor, author, announcement, open, first, deleted): Columns| {
            Ok(RoomRow {
                room: array(&id, "rooms.id")?,
                descriptor,
                author: PartyId(from_sql(author, "rooms.author")?),
                announcement: from_sql(announcement, "rooms.announcement")?,
                open: open != 0,
                first_epoch: from_sql(first, "rooms.first_epoch")?,
                deleted: deleted != 0,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// Marks a room as deleted by this server's operator. On disk on return.
    ///
    /// # Errors
    /// The disk's.
    pub async fn delete_room(&self, room: &RoomKey) -> Result<(), Error> {
        let mut transaction = self.begin("delete a room").await?;
        sqlx::query("UPDATE rooms SET deleted = 1 WHERE id = $1")
            .bind(room.as_slice())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }
}
