//! The words of jobs, in the order in which they were delivered here.

use ostrakon_party::PartyId;
use sqlx::AnyConnection;

use crate::database::transaction::{array, from_sql, to_sql};
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
    /// If it was not judged yet, of how many announcements of each server its author had heard.
    pub unjudged: Option<Vec<u64>>,
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

type Columns = (i64, i64, Vec<u8>, i64, i64, Vec<u8>, Option<Vec<u8>>);

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
        let query = "SELECT id, job, subject, author, announcement, word, unjudged FROM job_words \
                     WHERE id > $1 ORDER BY id LIMIT $2";
        let query = sqlx::query_as(query).bind(to_sql(after)?).bind(i64::from(count));
        let rows: Vec<Columns> = query.fetch_all(&self.pools.readers).await?;
        let read = |(id, job, subject, author, announcement, word, unjudged): Columns| {
            let said = JobWord {
                job: from_sql(job, "job_words.job")?,
                subject: array(&subject, "job_words.subject")?,
                author: PartyId(from_sql(author, "job_words.author")?),
                word,
                unjudged: unjudged.as_deref().map(counts).transpose()?,
            };
            let announcement = from_sql(announcement, "job_words.announcement")?;
            Ok(JobWordRow { id: from_sql(id, "job_words.id")?, announcement, said })
        };
        rows.into_iter().map(read).collect()
    }
}

/// Adds a word that is being delivered.
pub(crate) async fn add(
    connection: &mut AnyConnection,
    said: &JobWord,
    announcement: u64,
) -> Result<(), Error> {
    let insert = "INSERT INTO job_words (job, subject, author, announcement, word, unjudged) \
                  VALUES ($1, $2, $3, $4, $5, $6)";
    let query = sqlx::query(insert).bind(i64::from(said.job)).bind(said.subject.as_slice());
    let query = query.bind(i64::from(said.author.0)).bind(to_sql(announcement)?);
    let bytes = |counts: &Vec<u64>| counts.iter().flat_map(|count| count.to_le_bytes()).collect();
    let unjudged: Option<Vec<u8>> = said.unjudged.as_ref().map(bytes);
    query.bind(said.word.as_slice()).bind(unjudged).execute(connection).await?;
    Ok(())
}
