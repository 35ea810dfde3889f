//! What stopped servers have on record.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_broadcast::Archive;
use ostrakon_decide::DecisionId;
use ostrakon_decisions::{NUMBER, OPENINGS};
use ostrakon_store::{Database, Store};

use crate::common::servers::Servers;

/// What one server did with its batches.
struct Records {
    /// The table that each batch was spent on.
    spent: BTreeMap<u64, Vec<u8>>,
    /// The batch of each epoch.
    batches: BTreeMap<u64, u64>,
}

impl Records {
    async fn read(servers: &Servers, n: usize) -> Self {
        let store =
            Store::open(&servers.data(n), &Database::Sqlite).await.expect("the store opens");
        assert_eq!(store.faults().await.expect("faults"), [], "nobody has done anything wrong");
        let mut spent = BTreeMap::new();
        for (name, table) in store.marks().await.expect("marks") {
            if let Some(number) =
                name.strip_prefix("batch ").and_then(|rest| rest.strip_suffix(" spent on"))
            {
                let another = spent.insert(number.parse().expect("a number"), table);
                assert_eq!(another, None, "server {n} spent batch {number} on two tables");
            }
        }
        let epochs = store.epochs(u32::MAX).await.expect("epochs");
        let batches: BTreeMap<_, _> =
            epochs.iter().map(|epoch| (epoch.number, epoch.batch)).collect();
        assert_eq!(batches.len(), epochs.len(), "there is one room");
        store.close().await;
        Self { spent, batches }
    }
}

/// Checks that a server holds one opening of each server for each decision, and accuses nobody.
pub async fn check_decisions(servers: &Servers, n: usize, decisions: &[DecisionId]) {
    let store = Store::open(&servers.data(n), &Database::Sqlite).await.expect("the store opens");
    assert_eq!(store.faults().await.expect("faults"), [], "nobody has done anything wrong");
    for id in decisions {
        let openings = store.filed_words((NUMBER, &id.0), OPENINGS, (0, 9)).await;
        let openings = openings.expect("openings");
        let parties: Vec<_> = openings.iter().map(|(party, _)| party.0).collect();
        assert_eq!(parties, [0, 1, 2], "server {n}");
    }
    store.close().await;
}

/// Checks that no batch was used for two tables or two epochs, by anybody, and that the boards are
/// of the epochs on record.
pub async fn check(servers: &Servers, boards: &[Archive; 3]) {
    let mut tables: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut batches: BTreeMap<u64, u64> = BTreeMap::new();
    for (n, board) in boards.iter().enumerate() {
        let records = Records::read(servers, n).await;
        let used: BTreeSet<_> = records.batches.values().collect();
        assert_eq!(used.len(), records.batches.len(), "server {n} used a batch for two epochs");
        for (epoch, batch) in &records.batches {
            assert_eq!(
                batches.entry(*epoch).or_insert(*batch),
                batch,
                "epoch {epoch} has two batches"
            );
        }
        for (batch, table) in &records.spent {
            assert!(used.contains(batch), "server {n} spent batch {batch} in no epoch");
            assert_eq!(
                tables.entry(*batch).or_insert(table.clone()),
                table,
                "batch {batch} was spent on two tables"
            );
        }
        check_board(&records, board, &boards[0]);
    }
    let different: BTreeSet<_> = tables.values().collect();
    assert_eq!(different.len(), tables.len(), "every epoch has a table of its own");
}

fn check_board(records: &Records, board: &Archive, first: &Archive) {
    assert_eq!(board.head, first.head);
    let mut epochs = BTreeSet::new();
    for (signed, other) in board.entries.iter().zip(&first.entries) {
        assert_eq!(signed.entry, other.entry);
        let number = signed.entry.epoch.number;
        assert!(epochs.insert(number), "epoch {number} is on the board twice");
        // No server's shuffle ends without the others', and each marks before it begins.
        assert!(
            records.spent.contains_key(&records.batches[&number]),
            "epoch {number} left no mark"
        );
    }
}
