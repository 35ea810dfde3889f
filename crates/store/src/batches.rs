//! The stock: files of preprocessed material and their index.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;

use ostrakon_crypto::{Digest, hash};
use ostrakon_party::{PartyId, PartySet};

use crate::database::transaction::{array, from_sql, to_sql};
use crate::files::{failure, remove, write_whole};
use crate::{Error, Store};

/// What has become of a batch on this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchState {
    /// Being prepared, or to be.
    Planned = 0,
    /// Its file is on disk.
    Stored = 1,
    /// An epoch collects with it.
    Reserved = 2,
    /// An epoch was sealed with it. The file remains until the epoch is finished.
    Spent = 3,
    /// Thrown away.
    Discarded = 4,
}

impl BatchState {
    fn read(number: i64) -> Result<Self, Error> {
        let all = [Self::Planned, Self::Stored, Self::Reserved, Self::Spent, Self::Discarded];
        all.into_iter().find(|state| *state as i64 == number).ok_or(Error::Corrupt("batches.state"))
    }
}

/// A batch on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRow {
    /// Its number.
    pub number: u64,
    /// The number of its engine.
    pub engine: u8,
    /// Rows of its tables.
    pub rows: u32,
    /// Bytes of a row.
    pub width: u32,
    /// What has become of it here.
    pub state: BatchState,
    /// The number of the announcement that planned it.
    pub planned: u64,
    /// Who said to hold it, ascending, and the number of the announcement by which each first did.
    pub said: Vec<(PartyId, u64)>,
    /// Who said not to hold it, and never to do so.
    pub dropped: PartySet,
    /// Whether its file is here.
    pub on_disk: bool,
    /// Whether an epoch was opened with it.
    pub used: bool,
}

type Columns = (i64, i64, i64, i64, i64, i64, i64, i64);

/// Which batches are asked for when a server starts.
const ASKED: &str = "digest IS NOT NULL OR number > (SELECT max(number) FROM batches) - $1";

fn digest(bytes: &[u8]) -> Digest {
    hash::digest("ostrakon/v1/store/batch file", bytes)
}

impl Store {
    /// The newest `count` batches, and all whose file is here, by number.
    ///
    /// # Errors
    /// The disk's.
    pub async fn batches(&self, count: u32) -> Result<Vec<BatchRow>, Error> {
        let query = format!(
            "SELECT number, engine, rows, width, state, planned, CASE WHEN digest IS NULL THEN 0 ELSE 1 END, \
             (SELECT count(*) FROM epochs WHERE batch = batches.number) FROM batches WHERE {ASKED} ORDER BY number"
        );
        let query = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(i64::from(count));
        let rows: Vec<Columns> = query.fetch_all(&self.pools.readers).await?;
        let (mut holders, mut losers) = (self.holders(count).await?, self.losers(count).await?);
        let read = |(number, engine, rows, width, state, planned, on_disk, used): Columns| {
            let number = from_sql(number, "batches.number")?;
            Ok(BatchRow {
                number,
                engine: from_sql(engine, "batches.engine")?,
                rows: from_sql(rows, "batches.rows")?,
                width: from_sql(width, "batches.width")?,
                state: BatchState::read(state)?,
                planned: from_sql(planned, "batches.planned")?,
                said: holders.remove(&number).unwrap_or_default(),
                dropped: losers.remove(&number).unwrap_or_default(),
                on_disk: on_disk != 0,
                used: used != 0,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// By batch: who said to hold it, and by which announcement.
    async fn holders(&self, count: u32) -> Result<BTreeMap<u64, Vec<(PartyId, u64)>>, Error> {
        let query = format!(
            "SELECT batch, party, announcement FROM batch_holders JOIN batches ON number = batch WHERE {ASKED} \
             ORDER BY batch, party"
        );
        let query = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(i64::from(count));
        let rows: Vec<(i64, i64, i64)> = query.fetch_all(&self.pools.readers).await?;
        let mut holders: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (batch, party, announcement) in rows {
            let party = PartyId(from_sql(party, "batch_holders.party")?);
            let said = (party, from_sql(announcement, "batch_holders.announcement")?);
            holders.entry(from_sql(batch, "batch_holders.batch")?).or_default().push(said);
        }
        Ok(holders)
    }

    /// By batch: who said not to hold it.
    async fn losers(&self, count: u32) -> Result<BTreeMap<u64, PartySet>, Error> {
        let query = format!(
            "SELECT batch, party FROM batch_losers JOIN batches ON number = batch WHERE {ASKED}"
        );
        let query = sqlx::query_as(sqlx::AssertSqlSafe(query)).bind(i64::from(count));
        let rows: Vec<(i64, i64)> = query.fetch_all(&self.pools.readers).await?;
        let mut losers: BTreeMap<_, PartySet> = BTreeMap::new();
        for (batch, party) in rows {
            let party = PartyId(from_sql(party, "batch_losers.party")?);
            losers.entry(from_sql(batch, "batch_losers.batch")?).or_default().insert(party);
        }
        Ok(losers)
    }

    /// Writes a planned batch to disk, file first, then the index.
    ///
    /// # Errors
    /// [`Error::State`] if the batch is not planned (any more); then nothing has changed. The
    /// disk's.
    pub async fn put_batch(&self, number: u64, bytes: Vec<u8>) -> Result<(), Error> {
        let not_planned = Error::State("only a planned batch can be put into stock");
        // The file of a batch that is in stock must not be overwritten.
        let query =
            sqlx::query_scalar("SELECT state FROM batches WHERE number = $1").bind(to_sql(number)?);
        let state: Option<i64> = query.fetch_optional(&self.pools.readers).await?;
        if state != Some(BatchState::Planned as i64) {
            return Err(not_planned);
        }
        let path = self.stock_path(number);
        let digest = off_thread(move || {
            write_whole(&path, &bytes)?;
            Ok(digest(&bytes))
        })
        .await?;
        let mut transaction = self.begin("put a batch into stock").await?;
        let done = sqlx::query(
            "UPDATE batches SET state = $1, digest = $2 WHERE number = $3 AND state = $4",
        )
        .bind(BatchState::Stored as i64)
        .bind(digest.0.as_slice())
        .bind(to_sql(number)?)
        .bind(BatchState::Planned as i64)
        .execute(&mut *transaction)
        .await?;
        if done.rows_affected() != 1 {
            drop(transaction);
            remove(&self.stock_path(number))?;
            return Err(not_planned);
        }
        transaction.commit().await
    }

    /// Reads a batch from disk.
    ///
    /// # Errors
    /// [`Error::DamagedStock`] if the file is not what was written; [`Error::State`] if it is not
    /// in the index.
    pub async fn batch(&self, number: u64) -> Result<Vec<u8>, Error> {
        let query = sqlx::query_scalar("SELECT digest FROM batches WHERE number = $1")
            .bind(to_sql(number)?);
        let expected: Option<Option<Vec<u8>>> = query.fetch_optional(&self.pools.readers).await?;
        let expected = expected.flatten().ok_or(Error::State("the batch is not on disk"))?;
        let expected = Digest(array(&expected, "batches.digest")?);
        let path = self.stock_path(number);
        off_thread(move || {
            let bytes = std::fs::read(&path).map_err(failure(&path))?;
            if digest(&bytes) == expected { Ok(bytes) } else { Err(Error::DamagedStock { path }) }
        })
        .await
    }

    /// Throws away a batch that no epoch has reserved, if it is not thrown away yet. Its file stays
    /// until [`Store::delete_batch`].
    ///
    /// # Errors
    /// The disk's.
    pub async fn discard_batch(&self, number: u64) -> Result<(), Error> {
        let mut transaction = self.begin("discard a batch").await?;
        sqlx::query("UPDATE batches SET state = $1 WHERE number = $2 AND state IN ($3, $4)")
            .bind(BatchState::Discarded as i64)
            .bind(to_sql(number)?)
            .bind(BatchState::Planned as i64)
            .bind(BatchState::Stored as i64)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await
    }

    /// Deletes the file of a batch that is spent or thrown away, index first, then the file.
    ///
    /// # Errors
    /// [`Error::State`] if the batch may still be used; the disk's.
    pub async fn delete_batch(&self, number: u64) -> Result<(), Error> {
        let mut transaction = self.begin("delete a batch").await?;
        let done =
            sqlx::query("UPDATE batches SET digest = NULL WHERE number = $1 AND state IN ($2, $3)")
                .bind(to_sql(number)?)
                .bind(BatchState::Spent as i64)
                .bind(BatchState::Discarded as i64)
                .execute(&mut *transaction)
                .await?;
        if done.rows_affected() != 1 {
            return Err(Error::State("only a batch that is spent or discarded can be deleted"));
        }
        transaction.commit().await?;
        remove(&self.stock_path(number))
    }

    /// Bytes of all files in stock.
    ///
    /// # Errors
    /// The disk's.
    pub async fn stock_bytes(&self) -> Result<u64, Error> {
        let directory = self.directory.join("stock");
        off_thread(move || {
            let sum = || {
                let mut sum = 0;
                for file in std::fs::read_dir(&directory)? {
                    sum += file?.metadata()?.len();
                }
                Ok(sum)
            };
            sum().map_err(failure(&directory))
        })
        .await
    }

    /// Deletes files that the index does not name: a crash came between the file and the index.
    pub(crate) async fn delete_unnamed_stock(&self) -> Result<(), Error> {
        let query = sqlx::query_scalar("SELECT number FROM batches WHERE digest IS NOT NULL");
        let named: Vec<i64> = query.fetch_all(&self.pools.readers).await?;
        let named: BTreeSet<_> =
            named.into_iter().map(|number| format!("{number}.batch")).collect();
        let directory = self.directory.join("stock");
        for file in std::fs::read_dir(&directory).map_err(failure(&directory))? {
            let file = file.map_err(failure(&directory))?;
            let path = file.path();
            let ours =
                matches!(path.extension().and_then(OsStr::to_str), Some("batch" | "partial"));
            if ours && !named.contains(&*file.file_name().to_string_lossy()) {
                remove(&path)?;
            }
        }
        Ok(())
    }
}

/// Runs work on files where it may block.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        // The runtime is being shut down, or the work panicked, which is passed on.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(_) => Err(Error::State("the process is shutting down")),
    }
}
