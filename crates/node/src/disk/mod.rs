//! The store, as this crate calls it: every call goes by way of the [`Platform`].

pub mod audit;
pub(crate) mod journal;

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostrakon_crypto::{Digest, Signature, VerifyingKey};
use ostrakon_mixing::EpochId;
use ostrakon_party::PartyId;
use ostrakon_store::{
    AnnouncementRow, Arrivals, AssignmentRow, AuditRow, BatchRow, Change, Database, EntryRow,
    EpochRow, Error, FaultRow, Generation, Intake, ItemCondition, ItemName, ItemWrite, JobItem,
    JobWord, JobWordRow, NewAudit, NewEntry, Offer, Renewed, RoomKey, RoomRow, Seen, Store,
    SubmissionRow, Taken, View,
};
use zeroize::Zeroizing;

use crate::platform::Platform;

/// A server's store. Clones share it.
#[derive(Clone)]
pub(crate) struct Disk {
    store: Store,
    platform: Arc<dyn Platform>,
    writing: Arc<Mutex<Writing>>,
    /// The database is another process, which may be gone although nothing is to be written.
    remote: bool,
}

/// Whether the store can be written, and what was logged of it.
#[derive(Default)]
struct Writing {
    /// Why a write failed, until one succeeds that needs the disk.
    trouble: Option<String>,
    /// Whether it was logged that there is trouble, and not yet that there is none any more.
    told: bool,
    /// When trouble was last logged, in milliseconds since 1970.
    logged: Option<u64>,
}

impl Writing {
    /// A write has failed. Whether to log it.
    fn failed(&mut self, why: String, now: u64) -> bool {
        self.trouble = Some(why);
        self.is_due(now)
    }

    /// Whether to log that something has failed: some calls may fail while others succeed, many
    /// times a second.
    fn is_due(&mut self, now: u64) -> bool {
        let due = self.logged.is_none_or(|logged| now >= logged + LOG_EVERY_MS);
        if due {
            (self.told, self.logged) = (true, Some(now));
        }
        due
    }

    /// A write has succeeded. Whether to log that there is no trouble any more.
    fn succeeded(&mut self) -> bool {
        self.trouble = None;
        std::mem::take(&mut self.told)
    }
}

/// How often trouble is logged, in milliseconds.
const LOG_EVERY_MS: u64 = 60_000;
/// How long is waited between two tries while nothing can be written.
pub(crate) const TRY_EVERY: Duration = Duration::from_secs(2);

/// Passes calls that only read on to the store's functions of the same names, and logs if the store
/// fails them.
macro_rules! reads {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Disk {
            $(pub async fn $name(&self, $($argument: $type),*) -> Result<$result, Error> {
                let result = through(&*self.platform, self.store.$name($($argument),*)).await;
                self.log_unread(&result);
                result
            })*
        }
    };
}

/// Passes calls that may change something on to the store's functions of the same names, and notes
/// if the store cannot be written. That they succeed says nothing: they may find nothing to change,
/// or change tables that PostgreSQL does not log, which works on a full disk, too.
macro_rules! touches {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Disk {
            $(pub async fn $name(&self, $($argument: $type),*) -> Result<$result, Error> {
                let result = through(&*self.platform, self.store.$name($($argument),*)).await;
                self.note_failure(&result);
                result
            })*
        }
    };
}

/// Passes calls that write on to the store's functions of the same names, and notes whether the
/// store can be written.
macro_rules! writes {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Disk {
            $(pub async fn $name(&self, $($argument: $type),*) -> Result<$result, Error> {
                let result = through(&*self.platform, self.store.$name($($argument),*)).await;
                self.note(&result);
                result
            })*
        }
    };
}

reads! {
    audit(before: Option<u64>, count: u32) -> Vec<AuditRow>;
    announcements(author: PartyId, from: u64) -> Vec<AnnouncementRow>;
    assignments(room: &RoomKey, epoch: u64) -> Vec<AssignmentRow>;
    batch(number: u64) -> Vec<u8>;
    batches(count: u32) -> Vec<BatchRow>;
    board_head(room: &RoomKey) -> (u64, Option<Digest>);
    conclusion_of(room: &RoomKey, epoch: u64) -> Option<Vec<u8>>;
    conclusions_before(room: &RoomKey, time: u64) -> Vec<(u64, Vec<u8>)>;
    delivered(author: PartyId) -> u64;
    damaged(room: &RoomKey, from: u64) -> Option<u64>;
    entries(room: &RoomKey, from: u64, count: u32) -> Vec<EntryRow>;
    entries_before(room: &RoomKey, day: u32, from: u64, count: u32) -> Vec<EntryRow>;
    entry_of(room: &RoomKey, epoch: u64) -> Option<Vec<u8>>;
    epochs(count: u32) -> Vec<EpochRow>;
    faults() -> Vec<FaultRow>;
    generation() -> Generation;
    host_actions(room: &RoomKey, from: u64, count: u32) -> Vec<Vec<u8>>;
    filed_words(of: (u8, &[u8; 16]), kind: u8, page: (u64, u32)) -> Vec<(PartyId, Vec<u8>)>;
    count_job_items(job: u8, drawer: u8, family: Option<&[u8]>) -> u64;
    job_item(job: u8, name: &ItemName) -> Option<JobItem>;
    job_items(job: u8, drawer: u8, family: &[u8]) -> Vec<JobItem>;
    job_subjects(job: u8) -> Vec<[u8; 16]>;
    job_words(after: u64, count: u32) -> Vec<JobWordRow>;
    mark(name: &str) -> Option<Vec<u8>>;
    marks() -> Vec<(String, Vec<u8>)>;
    marks_of(room: &RoomKey, epoch: u64) -> Vec<(String, Vec<u8>)>;
    offer(room: &RoomKey, epoch: u64, key: &VerifyingKey) -> Option<Offer>;
    rooms() -> Vec<RoomRow>;
    seen_since(since: u64) -> Vec<Seen>;
    stock_bytes() -> u64;
    submissions(room: &RoomKey, epoch: u64) -> Vec<SubmissionRow>;
    submitted(room: &RoomKey, epoch: u64) -> Vec<u32>;
    unpublished() -> Vec<(RoomKey, Vec<u8>)>;
    views(after: u64) -> Vec<View>;
}

touches! {
    clear_offers(room: &RoomKey, below: u64) -> ();
    forget_damaged() -> ();
    forget_announcements(author: PartyId, below: u64) -> ();
    forget_job_items(job: u8, drawer: u8, before: u64) -> u64;
    forget_presence(before: u64) -> ();
    lay_out(room: &RoomKey, epoch: u64, offers: &[Offer]) -> ();
    scrub() -> bool;
    show(name: &str, value: &[u8], now: u64) -> bool;
    take_arrivals() -> Vec<Arrivals>;
}

writes! {
    add_signature(room: &RoomKey, epoch: u64, server: PartyId, signature: &Signature) -> ();
    announce(author: PartyId, number: u64, body: &[u8], change: Option<&Change>) -> ();
    change_job_items(job: u8, conditions: &[ItemCondition], writes: &[ItemWrite]) -> bool;
    close_generation() -> ();
    conclude_epoch(room: &RoomKey, epoch: u64, conclusion: &[u8]) -> ();
    delete_batch(number: u64) -> ();
    delete_room(room: &RoomKey) -> ();
    deliver(author: PartyId, number: u64, change: Option<&Change>) -> ();
    discard_batch(number: u64) -> ();
    file_word(id: u64, valid: Option<&JobWord>) -> ();
    finish_epoch(room: &RoomKey, epoch: u64, kept: u64) -> ();
    mend_entry(room: &RoomKey, position: u64, epoch: u64, entry: &NewEntry) -> ();
    keep_announcement(author: PartyId, number: u64, signed: Option<&[u8]>, body: &[u8]) -> ();
    keep_fault(fault: &FaultRow) -> ();
    note_damaged(room: &RoomKey, position: u64) -> ();
    put_batch(number: u64, bytes: Vec<u8>) -> ();
    record(name: &str, value: &[u8]) -> Vec<u8>;
    record_audit(record: &NewAudit) -> ();
    renew(renewed: &Renewed) -> ();
    rewrite_conclusion(room: &RoomKey, epoch: u64, conclusion: &[u8]) -> ();
    rewrite_entry(room: &RoomKey, epoch: u64, body: &[u8]) -> ();
    settle_epoch(room: &RoomKey, epoch: u64, outcome: &[u8], entry: Option<&NewEntry>) -> ();
    take_in(many: &[Intake]) -> Vec<Taken>;
}

impl Disk {
    /// Opens the store in a directory and a database.
    pub async fn open(
        directory: &std::path::Path,
        database: &Database,
        platform: Arc<dyn Platform>,
    ) -> Result<Self, Error> {
        let store = through(&*platform, Store::open(directory, database)).await?;
        let remote = *database != Database::Sqlite;
        Ok(Self { store, platform, writing: Arc::default(), remote })
    }

    /// See [`Store::join`].
    pub async fn join(database: &Database, platform: Arc<dyn Platform>) -> Result<Self, Error> {
        let store = through(&*platform, Store::join(database)).await?;
        Ok(Self { store, platform, writing: Arc::default(), remote: true })
    }

    /// Why nothing can be written: what a write came to, if none has succeeded since.
    pub fn trouble(&self) -> Option<String> {
        self.writing.lock().expect("no panic while held").trouble.clone()
    }

    /// Takes notice of what a write came to.
    fn note<T>(&self, result: &Result<T, Error>) {
        if result.is_ok() && self.writing.lock().expect("no panic while held").succeeded() {
            tracing::info!("the store can be written again");
        }
        self.note_failure(result);
    }

    fn note_failure<T>(&self, result: &Result<T, Error>) {
        let Err(error) = result else { return };
        let mut writing = self.writing.lock().expect("no panic while held");
        if error.may_pass() && writing.failed(error.to_string(), self.platform.now_ms()) {
            tracing::error!(%error, "nothing can be written; trying again");
        }
    }

    fn log_unread<T>(&self, result: &Result<T, Error>) {
        let Err(error) = result else { return };
        let mut writing = self.writing.lock().expect("no panic while held");
        if error.may_pass() && writing.is_due(self.platform.now_ms()) {
            tracing::error!(%error, "the store cannot be read");
        }
    }

    /// Logs that something could not be done, unless it is known that nothing can be written: that
    /// is logged already, and what is tried again every second would fill the log.
    pub fn complain(&self, error: &Error, what: &str) {
        if !error.may_pass() || self.trouble().is_none() {
            tracing::error!(%error, "{what}");
        }
    }

    /// While nothing can be written, tries to, every few seconds: what was asked of this server
    /// meanwhile was refused, and may not be asked again. The first success is a record of it.
    /// Otherwise looks whether a database that is another process is there.
    pub async fn keep_trying(self) {
        loop {
            self.platform.sleep(TRY_EVERY).await;
            let Some(why) = self.trouble() else {
                if self.remote {
                    self.note_failure(&self.generation().await);
                }
                continue;
            };
            let record = NewAudit {
                at: self.platform.now_ms(),
                actor: "server".to_owned(),
                action: "writes again".to_owned(),
                detail: why,
            };
            // Its failure has been noted.
            drop(self.record_audit(&record).await);
        }
    }

    /// See [`Store::close`].
    pub async fn close(&self) {
        through(&*self.platform, self.store.close()).await;
    }

    /// See [`Store::end_of_writing`].
    pub fn end_of_writing(&self) -> Option<Error> {
        self.store.end_of_writing()
    }

    /// See [`Store::secret`].
    pub fn secret(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        self.store.secret(name)
    }

    /// See [`Store::keep_secret`].
    pub fn keep_secret(&self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.store.keep_secret(name, bytes)
    }

    /// See [`Store::record_in_epoch`]; blocks the thread meanwhile.
    pub fn record_blocking(
        &self,
        epoch: &EpochId,
        name: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let call = self.store.record_in_epoch(&epoch.room.0, epoch.number, name, value);
        let result = self.blocking(call);
        self.note(&result);
        result
    }

    /// See [`Store::mark_in_epoch`]; blocks the thread meanwhile.
    pub fn standing_blocking(&self, epoch: &EpochId, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.blocking(self.store.mark_in_epoch(&epoch.room.0, epoch.number, name))
    }

    /// Like [`Disk::record`], and blocks the thread meanwhile.
    pub fn record_spent_blocking(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        let result = self.blocking(self.store.record(name, value));
        self.note(&result);
        result
    }

    fn blocking<T: Send>(
        &self,
        call: impl Future<Output = Result<T, Error>> + Send,
    ) -> Result<T, Error> {
        let mut result = None;
        self.platform.disk_blocking(Box::pin(async { result = Some(call.await) }));
        result.unwrap_or(Err(Error::State("the process is shutting down")))
    }
}

async fn through<T: Send>(platform: &dyn Platform, call: impl Future<Output = T> + Send) -> T {
    let mut result = None;
    platform.disk(Box::pin(async { result = Some(call.await) })).await;
    result.expect("a platform carries out what it is called for")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_is_logged_once_a_minute_whether_it_lasts_or_comes_and_goes() {
        let (mut lasting, mut passing) = (Writing::default(), Writing::default());
        let (mut logged, mut coming, mut going) = (Vec::new(), Vec::new(), 0);
        // Ten writes fail each second, for three minutes.
        for now in (5_000..185_000).step_by(100) {
            let why = format!("full at {now}");
            logged.extend(lasting.failed(why.clone(), now).then_some(now));
            assert_eq!(lasting.trouble, Some(why.clone()), "what is told is the latest");
            // Beside each that fails there is one that succeeds.
            coming.extend(passing.failed(why, now).then_some(now));
            going += usize::from(passing.succeeded());
            assert_eq!(passing.trouble, None);
        }
        assert_eq!(logged, [5_000, 65_000, 125_000]);
        assert_eq!((coming, going), (logged, 3));
    }
}
