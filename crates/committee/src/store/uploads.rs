//! Inputs that come in pieces.

use ostrakon_computation::{ComputationId, Entry};
use ostrakon_crypto::Digest;
use ostrakon_party::wire;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::{Done, Store};

/// An input of which pieces are here.
pub(crate) struct Begun {
    /// Its random name.
    pub id: Digest,
    /// Whose and what it is to be.
    pub entry: Entry,
    /// Bytes of its body.
    pub bytes: u64,
    /// Bytes of it that are on disk.
    pub held: u64,
}

fn begun(row: &SqliteRow) -> Done<Begun> {
    let entry = [row.get::<&[u8], _>(1), row.get(2), row.get(3)].concat();
    let number = |at| u64::try_from(row.get::<i64, _>(at)).map_err(|_| wire::Malformed);
    let id = wire::decode(row.get::<&[u8], _>(0))?;
    Ok(Begun { id, entry: wire::decode(&entry)?, bytes: number(4)?, held: number(5)? })
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Store {
    /// What has been begun in a computation.
    pub(crate) async fn uploads(&self, computation: &ComputationId) -> Done<Vec<Begun>> {
        let rows = sqlx::query(
            "SELECT id, contributor, body_digest, signature, bytes, \
             (SELECT COALESCE(SUM(LENGTH(piece)), 0) FROM pieces WHERE upload = id) \
             FROM uploads WHERE computation = ?",
        )
        .bind(&computation.0.0[..])
        .fetch_all(&self.0)
        .await?;
        rows.iter().map(begun).collect()
    }

    /// Begins one, in place of another one of the same contributor, and of those that nobody has
    /// gone on with since `stale`.
    pub(crate) async fn begin_upload(
        &self,
        computation: &ComputationId,
        of: &Begun,
        (now, stale): (u64, u64),
    ) -> Done<()> {
        let Entry { contributor, body, signature } = &of.entry;
        let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query(
            "DELETE FROM uploads WHERE computation = ? AND (contributor = ? OR touched < ?)",
        )
        .bind(&computation.0.0[..])
        .bind(&contributor.0[..])
        .bind(signed(stale))
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO uploads \
             (id, computation, contributor, body_digest, signature, bytes, touched) \
             VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&of.id.0[..])
        .bind(&computation.0.0[..])
        .bind(&contributor.0[..])
        .bind(&body.0[..])
        .bind(&signature.0.0[..])
        .bind(signed(of.bytes))
        .bind(signed(now))
        .execute(&mut *transaction)
        .await?;
        Ok(transaction.commit().await?)
    }

    /// Whether there is one that nobody has gone on with since `stale`.
    pub(crate) async fn has_stale_upload(
        &self,
        computation: &ComputationId,
        stale: u64,
    ) -> Done<bool> {
        let row = sqlx::query("SELECT 1 FROM uploads WHERE computation = ? AND touched < ?")
            .bind(&computation.0.0[..])
            .bind(signed(stale))
            .fetch_optional(&self.0)
            .await?;
        Ok(row.is_some())
    }

    /// Keeps a piece, on disk when this returns.
    pub(crate) async fn keep_piece(&self, of: &Begun, piece: &[u8], now: u64) -> Done<()> {
        let mut transaction = self.0.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query("INSERT INTO pieces (upload, place, piece) VALUES (?, ?, ?)")
            .bind(&of.id.0[..])
            .bind(signed(of.held))
            .bind(piece)
            .execute(&mut *transaction)
            .await?;
        sqlx::query("UPDATE uploads SET touched = ? WHERE id = ?")
            .bind(signed(now))
            .bind(&of.id.0[..])
            .execute(&mut *transaction)
            .await?;
        Ok(transaction.commit().await?)
    }

    /// All pieces, one after the other.
    pub(crate) async fn pieces(&self, of: &Begun) -> Done<Vec<u8>> {
        let mut body = Vec::with_capacity(usize::try_from(of.held).unwrap_or(0));
        let mut place = 0;
        while place < of.held {
            let row = sqlx::query("SELECT piece FROM pieces WHERE upload = ? AND place = ?")
                .bind(&of.id.0[..])
                .bind(signed(place))
                .fetch_optional(&self.0)
                .await?;
            let row = row.ok_or(wire::Malformed)?;
            let piece: &[u8] = row.get(0);
            if piece.is_empty() {
                return Err(wire::Malformed.into());
            }
            body.extend_from_slice(piece);
            place += piece.len() as u64;
        }
        Ok(body)
    }

    /// Forgets one.
    pub(crate) async fn drop_upload(&self, id: &Digest) -> Done<()> {
        sqlx::query("DELETE FROM uploads WHERE id = ?").bind(&id.0[..]).execute(&self.0).await?;
        Ok(())
    }

    /// Forgets all of a computation: it has closed.
    pub(crate) async fn drop_uploads(&self, computation: &ComputationId) -> Done<()> {
        sqlx::query("DELETE FROM uploads WHERE computation = ?")
            .bind(&computation.0.0[..])
            .execute(&self.0)
            .await?;
        Ok(())
    }
}
