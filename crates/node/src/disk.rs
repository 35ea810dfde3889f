//! The store, as this crate calls it: every call goes by way of the [`Platform`].

use std::future::Future;
use std::sync::Arc;

use ostrakon_broadcast::EpochId;
use ostrakon_crypto::{Digest, Signature, VerifyingKey};
use ostrakon_party::PartyId;
use ostrakon_store::{
    AnnouncementRow, Arrivals, AssignmentRow, AuditRow, BatchRow, Change, Database, DecisionKey,
    DecisionRow, EntryRow, EpochRow, Error, FaultRow, Generation, Intake, NewAudit, NewEntry,
    Offer, OneTimeName, Renewed, RoomKey, RoomRow, Seen, Store, SubmissionRow, Taken, View,
};
use zeroize::Zeroizing;

use crate::platform::Platform;

/// A server's store. Clones share it.
#[derive(Clone)]
pub(crate) struct Disk {
    store: Store,
    platform: Arc<dyn Platform>,
}

/// Passes calls on to the store's functions of the same names.
macro_rules! pass_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl Disk {
            $(pub async fn $name(&self, $($argument: $type),*) -> Result<$result, Error> {
                through(&*self.platform, self.store.$name($($argument),*)).await
            })*
        }
    };
}

pass_on! {
    add_stock_keys(owner: &[u8; 32], keys: &[([u8; 16], Vec<u8>)], most: usize) -> u64;
    add_signature(room: &RoomKey, epoch: u64, server: PartyId, signature: &Signature) -> ();
    audit(before: Option<u64>, count: u32) -> Vec<AuditRow>;
    announce(author: PartyId, number: u64, body: &[u8], change: Option<&Change>) -> ();
    announcements(author: PartyId, from: u64) -> Vec<AnnouncementRow>;
    assignments(room: &RoomKey, epoch: u64) -> Vec<AssignmentRow>;
    batch(number: u64) -> Vec<u8>;
    batches(count: u32) -> Vec<BatchRow>;
    bind_opening(id: &DecisionKey, close: &[u8], shares: &[OneTimeName])
        -> Option<Vec<OneTimeName>>;
    board_head(room: &RoomKey) -> (u64, Option<Digest>);
    close_generation() -> ();
    clear_offers(room: &RoomKey, below: u64) -> ();
    conclude_epoch(room: &RoomKey, epoch: u64, conclusion: &[u8]) -> ();
    conclusion_of(room: &RoomKey, epoch: u64) -> Option<Vec<u8>>;
    conclusions_before(room: &RoomKey, time: u64) -> Vec<(u64, Vec<u8>)>;
    count_mail(id: &DecisionKey, person: u16, most: (u32, u32)) -> bool;
    decision_openings(id: &DecisionKey) -> Vec<(PartyId, Vec<u8>)>;
    decision_records(id: &DecisionKey, from: u32, count: u32) -> Vec<Vec<u8>>;
    decisions() -> Vec<DecisionRow>;
    delete_batch(number: u64) -> ();
    delete_room(room: &RoomKey) -> ();
    deliver(author: PartyId, number: u64, change: Option<&Change>) -> ();
    delivered(author: PartyId) -> u64;
    discard_batch(number: u64) -> ();
    entries(room: &RoomKey, from: u64, count: u32) -> Vec<EntryRow>;
    entries_before(room: &RoomKey, day: u32, from: u64, count: u32) -> Vec<EntryRow>;
    entry_of(room: &RoomKey, epoch: u64) -> Option<Vec<u8>>;
    epochs(count: u32) -> Vec<EpochRow>;
    faults() -> Vec<FaultRow>;
    finish_epoch(room: &RoomKey, epoch: u64, kept: u64) -> ();
    forget_announcements(author: PartyId, below: u64) -> ();
    generation() -> Generation;
    forget_presence(before: u64) -> ();
    held_share(name: &OneTimeName) -> Option<Vec<u8>>;
    held_shares() -> u64;
    held_shares_of(owner: &[u8; 32]) -> u64;
    host_actions(room: &RoomKey, from: u64, count: u32) -> Vec<Vec<u8>>;
    keep_announcement(author: PartyId, number: u64, signed: Option<&[u8]>, body: &[u8]) -> ();
    keep_fault(fault: &FaultRow) -> ();
    keep_share(name: &OneTimeName, body: &[u8]) -> Vec<u8>;
    lay_out(room: &RoomKey, epoch: u64, offers: &[Offer]) -> ();
    mark(name: &str) -> Option<Vec<u8>>;
    marks() -> Vec<(String, Vec<u8>)>;
    marks_of(room: &RoomKey, epoch: u64) -> Vec<(String, Vec<u8>)>;
    offer(room: &RoomKey, epoch: u64, key: &VerifyingKey) -> Option<Offer>;
    put_batch(number: u64, bytes: Vec<u8>) -> ();
    record(name: &str, value: &[u8]) -> Vec<u8>;
    record_audit(record: &NewAudit) -> ();
    renew(renewed: &Renewed) -> ();
    rewrite_conclusion(room: &RoomKey, epoch: u64, conclusion: &[u8]) -> ();
    rewrite_entry(room: &RoomKey, epoch: u64, body: &[u8]) -> ();
    rooms() -> Vec<RoomRow>;
    scrub() -> bool;
    seen_since(since: u64) -> Vec<Seen>;
    settle_epoch(room: &RoomKey, epoch: u64, outcome: &[u8], entry: Option<&NewEntry>) -> ();
    show(name: &str, value: &[u8], now: u64) -> bool;
    stock_bytes() -> u64;
    stock_keys(owner: &[u8; 32]) -> Vec<Vec<u8>>;
    submissions(room: &RoomKey, epoch: u64) -> Vec<SubmissionRow>;
    submitted(room: &RoomKey, epoch: u64) -> Vec<u32>;
    take_arrivals() -> Vec<Arrivals>;
    take_in(many: &[Intake]) -> Vec<Taken>;
    views(after: u64) -> Vec<View>;
}

impl Disk {
    /// Opens the store in a directory and a database.
    pub async fn open(
        directory: &std::path::Path,
        database: &Database,
        platform: Arc<dyn Platform>,
    ) -> Result<Self, Error> {
        let store = through(&*platform, Store::open(directory, database)).await?;
        Ok(Self { store, platform })
    }

    /// See [`Store::join`].
    pub async fn join(database: &Database, platform: Arc<dyn Platform>) -> Result<Self, Error> {
        let store = through(&*platform, Store::join(database)).await?;
        Ok(Self { store, platform })
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
    pub fn secret(&self, name: &'static str) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
        self.store.secret(name)
    }

    /// See [`Store::keep_secret`].
    pub fn keep_secret(&self, name: &'static str, bytes: &[u8]) -> Result<(), Error> {
        self.store.keep_secret(name, bytes)
    }

    /// See [`Store::record_in_epoch`]; blocks the thread meanwhile.
    pub fn record_blocking(
        &self,
        epoch: &EpochId,
        name: &str,
        value: &[u8],
    ) -> Result<Vec<u8>, Error> {
        self.blocking(self.store.record_in_epoch(&epoch.room.0, epoch.number, name, value))
    }

    /// Like [`Disk::record`], and blocks the thread meanwhile.
    pub fn record_spent_blocking(&self, name: &str, value: &[u8]) -> Result<Vec<u8>, Error> {
        self.blocking(self.store.record(name, value))
    }

    fn blocking(
        &self,
        call: impl Future<Output = Result<Vec<u8>, Error>> + Send,
    ) -> Result<Vec<u8>, Error> {
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
