//! The words of jobs, in the order in which they were delivered here.

use ostrakon_party::PartyId;
use sqlx::AnyConnection;

use crate::database::transaction::{array, from_sql, to_sql};
use crate::jobs::items::{self, ItemWrite};
use crate::{Error, Store};

/// A word of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobWord {
    /// The job's number.
    pub job: u8,
    /// What it is about.
    pub subject: [u8; 16],
    /// The server that said it.
    pub author: PartyId,
    /// What it said.
    pub word: Vec<u8>,
    /// How it is filed.
    pub filed: Filed,
    /// If it was not judged yet, of how many announcements of each server its author had heard.
    pub unjudged: Option<Vec<u64>>,
}

/// How a word is filed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filed {
    /// Of which kind it is.
    pub kind: u8,
    /// Its place among those of its kind and subject.
    pub place: u64,
    /// Whether its subject begins with it.
    pub begins: bool,
    /// Kinds of earlier words of the subject that go. Not read again.
    pub drops: Vec<u8>,
    /// What changes with it of what this server keeps for itself. Not read again.
    pub writes: Vec<ItemWrite>,
}

/// A word on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobWordRow {
    /// Words that were delivered later have higher ones.
    pub id: u64,
    /// The number of its announcement.
    pub announcement: u64,
    /// The word.
    pub said: JobWord,
}

type Columns = (i64, i64, Vec<u8>, i64, i64, Vec<u8>, i64, i64, Option<Vec<u8>>);

fn counts(bytes: &[u8]) -> Result<Vec<u64>, Error> {
    let (counts, []) = bytes.as_chunks::<8>() else {
        return Err(Error::Corrupt("job_words.unjudged"));
    };
    Ok(counts.iter().map(|count| u64::from_le_bytes(*count)).collect())
}

impl Store {
    /// At most `count` words of jobs, after the one with this id, in the order in which they were
    /// delivered: the order of their numbers, author by author, would not be that of causes and
    /// effects.
    ///
    /// # Errors
    /// The disk's.
    pub async fn job_words(&self, after: u64, count: u32) -> Result<Vec<JobWordRow>, Error> {
        let query = "SELECT id, job, subject, author, announcement, word, kind, place, unjudged \
                     FROM job_words WHERE id > $1 ORDER BY id LIMIT $2";
        let query = sqlx::query_as(query).bind(to_sql(after)?).bind(i64::from(count));
        let rows: Vec<Columns> = query.fetch_all(&self.pools.readers).await?;
        let read =
            |(id, job, subject, author, announcement, word, kind, place, unjudged): Columns| {
                let kind = from_sql(kind, "job_words.kind")?;
                let place = from_sql(place, "job_words.place")?;
                let said = JobWord {
                    job: from_sql(job, "job_words.job")?,
                    subject: array(&subject, "job_words.subject")?,
                    author: PartyId(from_sql(author, "job_words.author")?),
                    word,
                    filed: Filed { kind, place, ..Filed::default() },
                    unjudged: unjudged.as_deref().map(counts).transpose()?,
                };
                let announcement = from_sql(announcement, "job_words.announcement")?;
                Ok(JobWordRow { id: from_sql(id, "job_words.id")?, announcement, said })
            };
        rows.into_iter().map(read).collect()
    }

    /// At most `most` words of a kind about a job's subject, with who said them, from a place on,
    /// in the order of their places.
    ///
    /// # Errors
    /// The disk's.
    pub async fn filed_words(
        &self,
        (job, subject): (u8, &[u8; 16]),
        kind: u8,
        (from, most): (u64, u32),
    ) -> Result<Vec<(PartyId, Vec<u8>)>, Error> {
        let query = "SELECT author, word FROM job_words WHERE job = $1 AND subject = $2 AND kind = $3 \
                     AND place >= $4 ORDER BY place, id LIMIT $5";
        let query = sqlx::query_as(query).bind(i64::from(job)).bind(subject.as_slice());
        let query = query.bind(i64::from(kind)).bind(to_sql(from)?).bind(i64::from(most));
        let rows: Vec<(i64, Vec<u8>)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(author, word)| Ok((PartyId(from_sql(author, "job_words.author")?), word));
        rows.into_iter().map(read).collect()
    }

    /// The subjects of a job that began here, in any generation.
    ///
    /// # Errors
    /// The disk's.
    pub async fn job_subjects(&self, job: u8) -> Result<Vec<[u8; 16]>, Error> {
        let query = sqlx::query_scalar("SELECT subject FROM job_subjects WHERE job = $1");
        let rows: Vec<Vec<u8>> = query.bind(i64::from(job)).fetch_all(&self.pools.readers).await?;
        rows.iter().map(|subject| array(subject, "job_subjects.subject")).collect()
    }

    /// Files a word that was delivered before it could be judged, and is valid; or deletes it if it
    /// is not.
    ///
    /// # Errors
    /// The disk's.
    pub async fn file_word(&self, id: u64, valid: Option<&JobWord>) -> Result<(), Error> {
        let mut transaction = self.begin("file a word of a job").await?;
        let Some(said) = valid else {
            let delete = sqlx::query("DELETE FROM job_words WHERE id = $1").bind(to_sql(id)?);
            delete.execute(&mut *transaction).await?;
            return transaction.commit().await;
        };
        let update = "UPDATE job_words SET kind = $1, place = $2, unjudged = NULL WHERE id = $3";
        let query = sqlx::query(update).bind(i64::from(said.filed.kind));
        let query = query.bind(to_sql(said.filed.place)?).bind(to_sql(id)?);
        query.execute(&mut *transaction).await?;
        file(&mut transaction, said, Some(id)).await?;
        transaction.commit().await
    }
}

/// Adds a word that is being delivered.
pub(crate) async fn add(
    connection: &mut AnyConnection,
    said: &JobWord,
    announcement: u64,
) -> Result<(), Error> {
    file(connection, said, None).await?;
    let insert = "INSERT INTO job_words (job, subject, author, announcement, word, kind, place, unjudged) \
                  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let query = sqlx::query(insert).bind(i64::from(said.job)).bind(said.subject.as_slice());
    let query = query.bind(i64::from(said.author.0)).bind(to_sql(announcement)?);
    let query = query.bind(said.word.as_slice()).bind(i64::from(said.filed.kind));
    let bytes = |counts: &Vec<u64>| counts.iter().flat_map(|count| count.to_le_bytes()).collect();
    let unjudged: Option<Vec<u8>> = said.unjudged.as_ref().map(bytes);
    query.bind(to_sql(said.filed.place)?).bind(unjudged).execute(connection).await?;
    Ok(())
}

/// What a word changes beside being there; of words with higher ids, if it has one, nothing.
async fn file(
    connection: &mut AnyConnection,
    said: &JobWord,
    id: Option<u64>,
) -> Result<(), Error> {
    let (job, subject) = (i64::from(said.job), said.subject.as_slice());
    if said.filed.begins {
        let insert =
            "INSERT INTO job_subjects (job, subject) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        sqlx::query(insert).bind(job).bind(subject).execute(&mut *connection).await?;
    }
    for kind in &said.filed.drops {
        let delete =
            "DELETE FROM job_words WHERE job = $1 AND subject = $2 AND kind = $3 AND id < $4";
        let query = sqlx::query(delete).bind(job).bind(subject).bind(i64::from(*kind));
        let query = query.bind(id.map_or(Ok(i64::MAX), to_sql)?);
        query.execute(&mut *connection).await?;
    }
    for write in &said.filed.writes {
        items::write(connection, said.job, write).await?;
    }
    Ok(())
}
