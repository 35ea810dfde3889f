//! What participants hand in, and marks of what was given to them, many at a time.
//!
//! A commit costs a write to the disk whatever it holds, so the server collects what arrives within
//! a few milliseconds and records it at once.
//!
//! On PostgreSQL several processes do this at the same time, beside the engine. Each holds the
//! intake's advisory lock, shared with the others, while it does; an epoch leaves the state
//! "collecting" under the same lock, held alone ([`Write::hold_back_intake`]). So whatever was
//! acknowledged is there when the epoch is sealed, and nothing comes later.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_crypto::VerifyingKey;
use sqlx::AnyConnection;

use crate::database::Kind;
use crate::database::rows::{pieces, values};
use crate::database::transaction::{INTAKE_ANSWER, array, from_sql, no_answer, to_sql};
use crate::{EpochState, Error, RoomKey, Seen, Store};

/// Something to be recorded before a participant is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intake {
    /// The issue for a slot is about to be given out.
    Issue {
        /// The room.
        room: RoomKey,
        /// The epoch.
        epoch: u64,
        /// The slot.
        slot: u32,
        /// Its owner, to whom alone it is given.
        key: VerifyingKey,
    },
    /// A submission.
    Submission {
        /// The room.
        room: RoomKey,
        /// The epoch.
        epoch: u64,
        /// What and whose.
        row: SubmissionRow,
    },
    /// That somebody is there, for the engine beside which this process takes in. A crash of the
    /// database may lose it.
    Presence(Seen),
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is on disk, now or since earlier; or noted, if it is somebody's presence.
    Recorded,
    /// The slot or the key has another submission already.
    Different,
    /// The epoch does not collect any more, or the slot is not the key's.
    TooLate,
}

/// A submission on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionRow {
    /// The slot.
    pub slot: u32,
    /// Its owner.
    pub key: VerifyingKey,
    /// What the owner sent.
    pub body: Vec<u8>,
}

/// How often a batch is tried that PostgreSQL gave up in favour of another process's.
const TRIES: u32 = 5;

impl Store {
    /// Records many in one transaction; the results are in the order given. It can be repeated:
    /// what is on record is recorded again.
    ///
    /// # Errors
    /// The disk's; then none is recorded, or, if the connection to PostgreSQL was lost, all may be.
    pub async fn take_in(&self, many: &[Intake]) -> Result<Vec<Taken>, Error> {
        let mut tries = 1;
        loop {
            match self.try_take_in_time(many).await {
                Err(error) if error.is_conflict() && tries < TRIES => {
                    tracing::debug!(tries, %error, "two processes took in the same thing, trying again");
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// Whoever has handed something in is told so in time, or hands it in again.
    async fn try_take_in_time(&self, many: &[Intake]) -> Result<Vec<Taken>, Error> {
        match self.pools.kind {
            Kind::Sqlite => self.try_take_in(many).await,
            Kind::Postgres => {
                match tokio::time::timeout(INTAKE_ANSWER, self.try_take_in(many)).await {
                    Ok(done) => done,
                    Err(_) => Err(no_answer().into()),
                }
            }
        }
    }

    async fn try_take_in(&self, many: &[Intake]) -> Result<Vec<Taken>, Error> {
        let mut transaction = self.begin_intake("take in").await?;
        transaction.join_intake().await?;
        let results = take_in_all(&mut transaction, many).await?;
        if self.pools.beside {
            note_arrivals(&mut transaction, many, &results).await?;
        }
        transaction.commit_repeatable().await?;
        Ok(results)
    }

    /// The submissions of an epoch, by slot.
    ///
    /// # Errors
    /// The disk's.
    pub async fn submissions(
        &self,
        room: &RoomKey,
        epoch: u64,
    ) -> Result<Vec<SubmissionRow>, Error> {
        let query =
            "SELECT slot, key, body FROM submissions WHERE room = $1 AND epoch = $2 ORDER BY slot";
        let query = sqlx::query_as(query).bind(room.as_slice()).bind(to_sql(epoch)?);
        let rows: Vec<(i64, Vec<u8>, Vec<u8>)> = query.fetch_all(&self.pools.readers).await?;
        let read = |(slot, key, body): (i64, Vec<u8>, _)| {
            let key = VerifyingKey(array(&key, "submissions.key")?);
            Ok(SubmissionRow { slot: from_sql(slot, "submissions.slot")?, key, body })
        };
        rows.into_iter().map(read).collect()
    }
}

/// Room, epoch, slot and key.
type Place<'a> = (&'a RoomKey, u64, u32, &'a VerifyingKey);

impl Intake {
    /// What it is for, if that is a slot.
    fn slot(&self) -> Option<Place<'_>> {
        match self {
            Intake::Issue { room, epoch, slot, key } => Some((room, *epoch, *slot, key)),
            Intake::Submission { room, epoch, row } => Some((room, *epoch, row.slot, &row.key)),
            Intake::Presence(_) => None,
        }
    }

    fn presence(&self) -> Option<&Seen> {
        match self {
            Intake::Presence(seen) => Some(seen),
            Intake::Issue { .. } | Intake::Submission { .. } => None,
        }
    }
}

async fn take_in_all(connection: &mut AnyConnection, many: &[Intake]) -> Result<Vec<Taken>, Error> {
    let of = |intake: &Intake| {
        if intake.presence().is_some() { Taken::Recorded } else { Taken::TooLate }
    };
    let mut results: Vec<_> = many.iter().map(of).collect();
    let (mut issues, mut submissions) = (Vec::new(), Vec::new());
    for place in owned(connection, many).await? {
        match many.get(place).ok_or(Error::Corrupt("a place that was not asked for"))? {
            Intake::Issue { room, epoch, slot, .. } => {
                results[place] = Taken::Recorded;
                issues.push((room, *epoch, *slot));
            }
            Intake::Submission { room, epoch, row } => submissions.push((place, room, *epoch, row)),
            Intake::Presence(_) => {}
        }
    }
    let seen: Vec<_> = many.iter().filter_map(Intake::presence).collect();
    crate::rooms::intakes::note_presence(connection, &seen).await?;
    mark_issued(connection, &issues).await?;
    // The first of a slot or key stands, in the order given.
    submissions.sort_unstable_by_key(|(place, ..)| *place);
    submit(connection, &submissions, &mut results).await?;
    Ok(results)
}

fn owned_query(rows: usize) -> String {
    format!(
        "WITH asked (place, room, epoch, slot, key) AS (VALUES {}) SELECT place FROM asked \
         JOIN assignments ON assignments.room = asked.room AND assignments.epoch = asked.epoch \
         AND assignments.slot = asked.slot AND assignments.key = asked.key \
         WHERE (SELECT state FROM epochs WHERE epochs.room = asked.room AND epochs.number = asked.epoch) = {}",
        values(rows, 4, true),
        EpochState::Collecting as i64,
    )
}

/// The places of those whose slot is their key's, in an epoch that collects.
async fn owned(connection: &mut AnyConnection, many: &[Intake]) -> Result<Vec<usize>, Error> {
    let asked: Vec<_> =
        (0..).zip(many).filter_map(|(place, intake)| Some((place, intake.slot()?))).collect();
    let mut places = Vec::with_capacity(asked.len());
    for some in pieces(&asked) {
        let mut query = sqlx::query_scalar(sqlx::AssertSqlSafe(owned_query(some.len())));
        for (_, (room, epoch, slot, key)) in some {
            query = query
                .bind(room.as_slice())
                .bind(to_sql(*epoch)?)
                .bind(i64::from(*slot))
                .bind(key.0.as_slice());
        }
        let found: Vec<i64> = query.fetch_all(&mut *connection).await?;
        for row in found {
            let (place, _) =
                some.get(from_sql::<usize>(row, "a place")?).ok_or(Error::Corrupt("a place"))?;
            places.push(*place);
        }
    }
    Ok(places)
}

/// SQLite looks each row of a joined list up by its key; for `(room, epoch, slot) IN (VALUES …)` it
/// would read the whole table.
fn issued_query(rows: usize) -> String {
    format!(
        "WITH asked (room, epoch, slot) AS (VALUES {}) UPDATE assignments SET issued = 1 FROM asked \
         WHERE assignments.room = asked.room AND assignments.epoch = asked.epoch AND assignments.slot = asked.slot \
         AND assignments.issued = 0",
        values(rows, 3, false)
    )
}

async fn mark_issued(
    connection: &mut AnyConnection,
    issues: &[(&RoomKey, u64, u32)],
) -> Result<(), Error> {
    for some in pieces(issues) {
        let mut query = sqlx::query(sqlx::AssertSqlSafe(issued_query(some.len())));
        for (room, epoch, slot) in some {
            query = query.bind(room.as_slice()).bind(to_sql(*epoch)?).bind(i64::from(*slot));
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

type Submission<'a> = (usize, &'a RoomKey, u64, &'a SubmissionRow);

/// Records submissions of slots' owners, and says in `results` what became of each.
async fn submit(
    connection: &mut AnyConnection,
    submissions: &[Submission<'_>],
    results: &mut [Taken],
) -> Result<(), Error> {
    for some in pieces(submissions) {
        // One per slot and one per key: whichever of the two is taken, the first submission stands.
        let insert = format!(
            "INSERT INTO submissions (room, epoch, slot, key, body) VALUES {} ON CONFLICT DO NOTHING",
            values(some.len(), 5, false)
        );
        let mut insert = sqlx::query(sqlx::AssertSqlSafe(insert));
        for (_, room, epoch, row) in some {
            insert = insert.bind(room.as_slice()).bind(to_sql(*epoch)?).bind(i64::from(row.slot));
            insert = insert.bind(row.key.0.as_slice()).bind(row.body.as_slice());
        }
        let inserted = insert.execute(&mut *connection).await?.rows_affected();
        let recorded = if inserted == some.len() as u64 {
            None
        } else {
            Some(on_record(connection, some).await?)
        };
        for (i, (place, ..)) in some.iter().enumerate() {
            let same = recorded.as_ref().is_none_or(|recorded| recorded.contains(&i));
            results[*place] = if same { Taken::Recorded } else { Taken::Different };
        }
    }
    Ok(())
}

/// Leaves word for the engine of the slots for which something is on record.
async fn note_arrivals(
    connection: &mut AnyConnection,
    many: &[Intake],
    results: &[Taken],
) -> Result<(), Error> {
    let mut slots = BTreeMap::<_, Vec<u8>>::new();
    for (intake, taken) in many.iter().zip(results) {
        if let (Intake::Submission { room, epoch, row }, Taken::Recorded) = (intake, taken) {
            slots.entry((room, *epoch)).or_default().extend(row.slot.to_le_bytes());
        }
    }
    let arrivals: Vec<_> = slots.into_iter().collect();
    crate::rooms::intakes::leave_arrivals(connection, &arrivals).await
}

fn recorded_query(rows: usize) -> String {
    format!(
        "WITH asked (place, room, epoch, slot, key, body) AS (VALUES {}) SELECT place FROM asked \
         JOIN submissions AS s ON s.room = asked.room AND s.epoch = asked.epoch AND s.slot = asked.slot \
         AND s.key = asked.key AND s.body = asked.body",
        values(rows, 5, true)
    )
}

/// Which of the submissions, a piece of a list, are on record as they are.
async fn on_record(
    connection: &mut AnyConnection,
    submissions: &[Submission<'_>],
) -> Result<BTreeSet<usize>, Error> {
    let mut query = sqlx::query_scalar(sqlx::AssertSqlSafe(recorded_query(submissions.len())));
    for (_, room, epoch, row) in submissions {
        query = query.bind(room.as_slice()).bind(to_sql(*epoch)?).bind(i64::from(row.slot));
        query = query.bind(row.key.0.as_slice()).bind(row.body.as_slice());
    }
    let places: Vec<i64> = query.fetch_all(connection).await?;
    places.into_iter().map(|place| from_sql(place, "a place")).collect()
}

/// Forgets what was handed in for an epoch, and by whom.
pub(crate) async fn forget(
    connection: &mut AnyConnection,
    room: &RoomKey,
    epoch: u64,
) -> Result<(), Error> {
    for delete in [
        "DELETE FROM submissions WHERE room = $1 AND epoch = $2",
        "DELETE FROM assignments WHERE room = $1 AND epoch = $2",
    ] {
        sqlx::query(delete)
            .bind(room.as_slice())
            .bind(to_sql(epoch)?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    /// What is handed in is as quickly recorded in an epoch of a hundred thousand slots as in one
    /// of ten.
    #[tokio::test]
    async fn sqlite_reads_no_more_of_a_table_than_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), &Database::Sqlite).await.unwrap();
        let rows = 3;
        for (query, bound) in
            [(owned_query(rows), 4), (issued_query(rows), 3), (recorded_query(rows), 5)]
        {
            let mut explain =
                sqlx::query_as(sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {query}")));
            for _ in 0..rows * bound {
                explain = explain.bind(0_i64);
            }
            let steps: Vec<(i64, i64, i64, String)> =
                explain.fetch_all(&store.pools.writer).await.unwrap();
            let steps: Vec<_> = steps.into_iter().map(|(.., step)| step).collect();
            assert!(steps.iter().any(|step| step.starts_with("SEARCH")), "{query}: {steps:?}");
            for table in ["assignments", "submissions", "epochs", "s"] {
                assert!(
                    !steps.iter().any(|step| *step == format!("SCAN {table}")),
                    "{query}: {steps:?}"
                );
            }
        }
    }
}
