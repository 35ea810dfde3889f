//! What rooms' hosts did: one chain of signed actions per room.

use sqlx::AnyConnection;

use crate::database::transaction::to_sql;
use crate::{Error, RoomKey, Store};

impl Store {
    /// At most `count` actions of a room's hosts, encoded, from number `from` on, in order.
    ///
    /// # Errors
    /// The disk's.
    pub async fn host_actions(
        &self,
        room: &RoomKey,
        from: u64,
        count: u32,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let query = "SELECT body FROM host_actions WHERE room = $1 AND number >= $2 ORDER BY number LIMIT $3";
        let query = sqlx::query_scalar(query)
            .bind(room.as_slice())
            .bind(to_sql(from)?)
            .bind(i64::from(count));
        Ok(query.fetch_all(&self.pools.readers).await?)
    }
}

/// Adds the next action of a room's hosts.
pub(crate) async fn add(
    connection: &mut AnyConnection,
    room: &RoomKey,
    number: u64,
    body: &[u8],
) -> Result<(), Error> {
    // The chain has no gaps.
    let insert = "INSERT INTO host_actions (room, number, body) \
                  SELECT $1, $2, $3 WHERE (SELECT coalesce(max(number) + 1, 0) FROM host_actions WHERE room = $1) = $2";
    let done = sqlx::query(insert)
        .bind(room.as_slice())
        .bind(to_sql(number)?)
        .bind(body)
        .execute(connection)
        .await?;
    if done.rows_affected() != 1 {
        return Err(Error::State("a host's action is added at the end of the chain"));
    }
    Ok(())
}
