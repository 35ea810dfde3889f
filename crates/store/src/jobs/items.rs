//! What a server keeps of jobs for itself: items in drawers.

use sqlx::AnyConnection;

use crate::database::transaction::{from_sql, to_sql};
use crate::{Error, Store};

/// The name of an item: its drawer and its key, as the job counts them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemName(pub u8, pub Vec<u8>);

/// An item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobItem {
    /// Its name.
    pub name: ItemName,
    /// Whose it is, or of what: items of a drawer are listed and counted by this.
    pub family: Vec<u8>,
    /// What it holds; nothing if it was erased.
    pub body: Vec<u8>,
    /// What it is used for, once and for ever.
    pub bound: Option<Vec<u8>>,
    /// Until when it is kept if it is not used, in seconds since 1970; for ever if not given.
    pub until: Option<u64>,
}

/// What must hold for items to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemCondition {
    /// There is no such item.
    Absent(ItemName),
    /// There is one, with this body.
    Holds(ItemName, Vec<u8>),
    /// There is one, and it is bound to nothing else than this.
    FreeFor(ItemName, Vec<u8>),
    /// A drawer has fewer items than so many.
    Fewer(u8, u64),
    /// A drawer has fewer items of a family than so many.
    FewerOf(u8, Vec<u8>, u64),
}

/// A change of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemWrite {
    /// Keeps an item, in place of what has its name.
    Put(JobItem),
    /// Binds an item to what it is used for.
    Bind(ItemName, Vec<u8>),
    /// Erases an item's body and binds it, if it is bound to nothing else than this.
    Erase(ItemName, Vec<u8>),
    /// Takes an item away.
    Delete(ItemName),
    /// Puts an item into another drawer, where it is kept for ever.
    Move(ItemName, u8),
}

type Columns = (i64, Vec<u8>, Vec<u8>, Vec<u8>, Option<Vec<u8>>, Option<i64>);

fn read((drawer, key, family, body, bound, until): Columns) -> Result<JobItem, Error> {
    let name = ItemName(from_sql(drawer, "job_items.drawer")?, key);
    let until = until.map(|until| from_sql(until, "job_items.until")).transpose()?;
    Ok(JobItem { name, family, body, bound, until })
}

impl Store {
    /// An item of a job.
    ///
    /// # Errors
    /// The disk's.
    pub async fn job_item(&self, job: u8, name: &ItemName) -> Result<Option<JobItem>, Error> {
        let query = "SELECT drawer, key, family, body, bound, until FROM job_items \
                     WHERE job = $1 AND drawer = $2 AND key = $3";
        let query = sqlx::query_as(query).bind(i64::from(job)).bind(i64::from(name.0));
        let row = query.bind(name.1.as_slice()).fetch_optional(&self.pools.readers).await?;
        row.map(read).transpose()
    }

    /// The items of a family, in the order in which they came.
    ///
    /// # Errors
    /// The disk's.
    pub async fn job_items(
        &self,
        job: u8,
        drawer: u8,
        family: &[u8],
    ) -> Result<Vec<JobItem>, Error> {
        let query = "SELECT drawer, key, family, body, bound, until FROM job_items \
                     WHERE job = $1 AND drawer = $2 AND family = $3 ORDER BY id";
        let query = sqlx::query_as(query).bind(i64::from(job)).bind(i64::from(drawer));
        let rows: Vec<Columns> = query.bind(family).fetch_all(&self.pools.readers).await?;
        rows.into_iter().map(read).collect()
    }

    /// How many items a drawer has, or a family of it.
    ///
    /// # Errors
    /// The disk's.
    pub async fn count_job_items(
        &self,
        job: u8,
        drawer: u8,
        family: Option<&[u8]>,
    ) -> Result<u64, Error> {
        let mut connection = self.pools.readers.acquire().await?;
        count(&mut connection, job, drawer, family).await
    }

    /// Makes all changes of items, or none. Whether all that must hold does.
    ///
    /// # Errors
    /// The disk's.
    pub async fn change_job_items(
        &self,
        job: u8,
        conditions: &[ItemCondition],
        writes: &[ItemWrite],
    ) -> Result<bool, Error> {
        let mut transaction = self.begin("change items of a job").await?;
        for condition in conditions {
            if !holds(&mut transaction, job, condition).await? {
                return Ok(false);
            }
        }
        for one in writes {
            write(&mut transaction, job, one).await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    /// Deletes the items of a drawer that were to be kept until before this time and that are not
    /// used, or erased by now. Returns how many.
    ///
    /// # Errors
    /// The disk's.
    pub async fn forget_job_items(&self, job: u8, drawer: u8, before: u64) -> Result<u64, Error> {
        let mut transaction = self.begin("forget items of a job").await?;
        let delete = "DELETE FROM job_items WHERE job = $1 AND drawer = $2 AND until < $3 \
                      AND (bound IS NULL OR length(body) = 0)";
        let query = sqlx::query(delete).bind(i64::from(job)).bind(i64::from(drawer));
        let done = query.bind(to_sql(before)?).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(done.rows_affected())
    }
}

async fn count(
    connection: &mut AnyConnection,
    job: u8,
    drawer: u8,
    family: Option<&[u8]>,
) -> Result<u64, Error> {
    let count: i64 = match family {
        None => {
            let query = "SELECT count(*) FROM job_items WHERE job = $1 AND drawer = $2";
            let query = sqlx::query_scalar(query).bind(i64::from(job)).bind(i64::from(drawer));
            query.fetch_one(connection).await?
        }
        Some(family) => {
            let query =
                "SELECT count(*) FROM job_items WHERE job = $1 AND drawer = $2 AND family = $3";
            let query = sqlx::query_scalar(query).bind(i64::from(job)).bind(i64::from(drawer));
            query.bind(family).fetch_one(connection).await?
        }
    };
    from_sql(count, "job_items")
}

async fn holds(
    connection: &mut AnyConnection,
    job: u8,
    condition: &ItemCondition,
) -> Result<bool, Error> {
    let (name, wanted) = match condition {
        ItemCondition::Fewer(drawer, most) => {
            return Ok(count(connection, job, *drawer, None).await? < *most);
        }
        ItemCondition::FewerOf(drawer, family, most) => {
            return Ok(count(connection, job, *drawer, Some(family)).await? < *most);
        }
        ItemCondition::Absent(name)
        | ItemCondition::Holds(name, _)
        | ItemCondition::FreeFor(name, _) => (name, condition),
    };
    let query = "SELECT body, bound FROM job_items WHERE job = $1 AND drawer = $2 AND key = $3";
    let query = sqlx::query_as(query).bind(i64::from(job)).bind(i64::from(name.0));
    let item: Option<(Vec<u8>, Option<Vec<u8>>)> =
        query.bind(name.1.as_slice()).fetch_optional(connection).await?;
    Ok(match (wanted, item) {
        (ItemCondition::Holds(_, wanted), Some((body, _))) => body == *wanted,
        (ItemCondition::FreeFor(_, used), Some((_, bound))) => {
            bound.is_none_or(|bound| bound == *used)
        }
        (ItemCondition::Absent(_), item) => item.is_none(),
        _ => false,
    })
}

/// Changes an item of a job.
pub(super) async fn write(
    connection: &mut AnyConnection,
    job: u8,
    write: &ItemWrite,
) -> Result<(), Error> {
    let job = i64::from(job);
    let query = match write {
        ItemWrite::Put(item) => {
            let put = "INSERT INTO job_items (job, drawer, key, family, body, bound, until) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (job, drawer, key) DO UPDATE \
                       SET family = $4, body = $5, bound = $6, until = $7";
            let query = sqlx::query(put).bind(job).bind(i64::from(item.name.0));
            let query = query.bind(item.name.1.as_slice()).bind(item.family.as_slice());
            let query = query.bind(item.body.as_slice()).bind(item.bound.as_deref());
            query.bind(item.until.map(to_sql).transpose()?)
        }
        ItemWrite::Bind(ItemName(drawer, key), to) => {
            let bind =
                "UPDATE job_items SET bound = $4 WHERE job = $1 AND drawer = $2 AND key = $3";
            let query = sqlx::query(bind).bind(job).bind(i64::from(*drawer));
            query.bind(key.as_slice()).bind(to.as_slice())
        }
        ItemWrite::Erase(ItemName(drawer, key), to) => {
            let erase = "UPDATE job_items SET body = $5, bound = $4 \
                         WHERE job = $1 AND drawer = $2 AND key = $3 AND (bound IS NULL OR bound = $4)";
            let query = sqlx::query(erase).bind(job).bind(i64::from(*drawer));
            query.bind(key.as_slice()).bind(to.as_slice()).bind(&[][..])
        }
        ItemWrite::Delete(ItemName(drawer, key)) => {
            let delete = "DELETE FROM job_items WHERE job = $1 AND drawer = $2 AND key = $3";
            sqlx::query(delete).bind(job).bind(i64::from(*drawer)).bind(key.as_slice())
        }
        ItemWrite::Move(ItemName(from, key), to) => {
            let put = "UPDATE job_items SET drawer = $4, until = NULL WHERE job = $1 AND drawer = $2 AND key = $3";
            let query = sqlx::query(put).bind(job).bind(i64::from(*from));
            query.bind(key.as_slice()).bind(i64::from(*to))
        }
    };
    query.execute(connection).await?;
    Ok(())
}
