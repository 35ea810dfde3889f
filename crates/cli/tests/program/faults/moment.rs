//! Moments of an epoch, read off a running server's database.
//!
//! A server writes down what it is about to do before it does it. So whoever sees a record appear
//! sees the server at that very step.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ostrakon_decisions::{NUMBER, OPENINGS, OPENS, RECORDS, SHARES};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};

use crate::common::servers::PAUSE;

/// Between two looks at the database.
const LOOK: Duration = Duration::from_millis(1);
/// After so many looks at which nothing seemed to be written the database is asked all the same.
const UNASKED: u32 = 20;
/// The system's time of a file is that of its last tick, of which there are a hundred a second at
/// least: what is written within one of them changes it once.
const TICK: Duration = Duration::from_millis(10);

/// A step of an epoch, or of the preparation of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// A batch begins to be prepared.
    Preparing,
    /// A batch is put into stock, which the others are not told yet.
    Stored,
    /// An epoch opens.
    Opened,
    /// A slot is given to somebody.
    Assigned,
    /// A submission is accepted.
    Submitted,
    /// An epoch is sealed.
    Sealed,
    /// This server votes for the list of submissions.
    Voted,
    /// The batch is spent; the shuffle begins.
    Spent,
    /// The shuffle is done, and this server is ready to open.
    Ready,
    /// All are ready, and the last shares go out.
    Opening,
    /// The board's entry is made; this server is about to sign it.
    Signing,
    /// The outcome stands.
    Settled,
    /// All servers have settled.
    Finished,
}

impl Moment {
    pub const ALL: [Self; 13] = [
        Self::Preparing,
        Self::Stored,
        Self::Opened,
        Self::Assigned,
        Self::Submitted,
        Self::Sealed,
        Self::Voted,
        Self::Spent,
        Self::Ready,
        Self::Opening,
        Self::Signing,
        Self::Settled,
        Self::Finished,
    ];

    /// A number that grows when the moment comes.
    fn query(self) -> &'static str {
        match self {
            Self::Preparing => "SELECT coalesce(max(number), -1) FROM batches",
            Self::Stored => {
                "SELECT coalesce(max(number), -1) FROM batches WHERE digest IS NOT NULL"
            }
            Self::Opened => "SELECT coalesce(max(number), -1) FROM epochs",
            Self::Assigned => "SELECT coalesce(max(epoch), -1) FROM assignments",
            Self::Submitted => "SELECT coalesce(max(epoch), -1) FROM submissions",
            Self::Sealed => "SELECT coalesce(max(number), -1) FROM epochs WHERE state >= 1",
            Self::Voted => {
                "SELECT coalesce(max(epoch), -1) FROM epoch_marks WHERE name LIKE '% sealed'"
            }
            Self::Spent => "SELECT count(*) FROM journal WHERE name LIKE 'batch % spent on'",
            Self::Ready => {
                "SELECT coalesce(max(epoch), -1) FROM epoch_marks WHERE name LIKE '% outcome'"
            }
            Self::Opening => {
                "SELECT coalesce(max(epoch), -1) FROM epoch_marks WHERE name LIKE '% certificate'"
            }
            Self::Signing => "SELECT coalesce(max(epoch), -1) FROM conclusions",
            Self::Settled => "SELECT coalesce(max(number), -1) FROM epochs WHERE state >= 2",
            Self::Finished => "SELECT coalesce(max(number), -1) FROM epochs WHERE state >= 3",
        }
    }

    /// Waits until the moment comes at the server with this data directory.
    pub async fn comes(self, data: &Path) {
        let mut connection = open(data).await;
        let mut written = Written::new(data);
        let mut before = None;
        loop {
            // A busy database is looked at again.
            let number: Result<i64, _> =
                sqlx::query_scalar(self.query()).fetch_one(&mut connection).await;
            if let Ok(number) = number
                && number > *before.get_or_insert(number)
            {
                break;
            }
            written.again().await;
        }
        // What matters is the moment, not how the connection ends.
        drop(connection.close().await);
    }
}

/// A step of a decision of four people, as the database of one server shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionMoment {
    /// The server holds a share; its receipt is about to leave.
    Shared,
    /// Somebody has accepted.
    Accepted,
    /// Somebody has answered.
    Answered,
    /// No more answers are taken.
    Closed,
    /// The server is bound to open this close, and has not said so.
    Bound,
    /// Somebody has opened.
    Opened,
}

impl DecisionMoment {
    pub const ALL: [Self; 6] =
        [Self::Shared, Self::Accepted, Self::Answered, Self::Closed, Self::Bound, Self::Opened];

    /// A number, and by how much it has grown when the moment comes in a decision that so many
    /// answer.
    fn query(self, answers: usize) -> (String, i64) {
        let items = |drawer| format!("job_items WHERE job = {NUMBER} AND drawer = {drawer}");
        let words = |kind| format!("job_words WHERE job = {NUMBER} AND kind = {kind}");
        let (of, grown) = match self {
            Self::Shared => (items(SHARES), 1),
            Self::Accepted => (words(RECORDS), 2),
            // The record that creates it, four acceptances and a step.
            Self::Answered => (words(RECORDS), 6),
            // The same, all steps, and the close.
            Self::Closed => (words(RECORDS), 6 + answers as i64),
            Self::Bound => (items(OPENS), 1),
            Self::Opened => (words(OPENINGS), 1),
        };
        (format!("SELECT count(*) FROM {of}"), grown)
    }

    /// The numbers of all moments as they stand.
    pub async fn numbers(data: &Path) -> [i64; Self::ALL.len()] {
        let mut connection = open(data).await;
        let mut numbers = [0; Self::ALL.len()];
        for (number, moment) in numbers.iter_mut().zip(Self::ALL) {
            *number = moment.number(&mut connection).await;
        }
        numbers
    }

    async fn number(self, connection: &mut SqliteConnection) -> i64 {
        loop {
            // A busy database is looked at again.
            let query = sqlx::query_scalar(sqlx::AssertSqlSafe(self.query(0).0));
            if let Ok(number) = query.fetch_one(&mut *connection).await {
                return number;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits until the moment comes, or is over, where the numbers stood so at the beginning, of a
    /// decision that so many answer.
    pub async fn comes(self, data: &Path, numbers: &[i64; Self::ALL.len()], answers: usize) {
        let mut connection = open(data).await;
        let mut written = Written::new(data);
        let grown = self.query(answers).1;
        while self.number(&mut connection).await < numbers[self as usize] + grown {
            written.again().await;
        }
        drop(connection.close().await);
    }
}

/// Whether anything may have been written to a database since it was asked last. To ask the file
/// system is a thousand times cheaper than to ask the database.
struct Written {
    log: PathBuf,
    before: Option<SystemTime>,
}

impl Written {
    fn new(data: &Path) -> Self {
        Self { log: data.join("ostrakon.db-wal"), before: None }
    }

    /// Waits until it is worth asking the database again.
    async fn again(&mut self) {
        for _ in 0..UNASKED {
            tokio::time::sleep(LOOK).await;
            let changed = std::fs::metadata(&self.log).and_then(|log| log.modified()).ok();
            let fresh = changed.is_some_and(|at| at.elapsed().is_ok_and(|age| age < TICK));
            if fresh || changed != self.before {
                self.before = changed;
                return;
            }
        }
    }
}

/// Opens a running server's database for reading, as soon as there is one.
async fn open(data: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(data.join("ostrakon.db")).read_only(true);
    loop {
        match options.connect().await {
            Ok(connection) => return connection,
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
