//! Whether everything that was accepted was published, once, and nothing else.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use ostrakon_broadcast::Entry;
use ostrakon_broadcast::board::Published;
use ostrakon_broadcast::reader::BoardReader;
use ostrakon_crypto::Secret;
use ostrakon_mixing::RoomDescriptor;
use ostrakon_protocol::BoardPage;

use super::http::{Connection, Request};
use super::participant::{Participant, Room};
use super::{PATIENCE, PAUSE, now};

/// Reads all three boards, and compares them with each other and with what was accepted: in each of
/// these epochs everybody's message. Returns how many messages there are.
///
/// # Errors
/// If a message is missing, or there is one too many, or the boards differ.
pub async fn check(
    room: &Room,
    ports: [u16; 3],
    epochs: &[u64],
    clients: u32,
    run: &Secret,
) -> Result<usize> {
    let mut boards = Vec::new();
    for port in ports {
        boards.push(read(room, port, epochs.len()).await?);
    }
    ensure!(boards.iter().all(|board| board == &boards[0]), "the servers' boards differ");
    let said_by: Vec<_> = (0..clients).map(|number| Participant::new(run, number)).collect();
    let mut published = 0;
    for entry in &boards[0] {
        let number = entry.epoch.number;
        ensure!(
            epochs.contains(&number),
            "there is an entry of epoch {number}, in which nobody took part"
        );
        let mut missing: BTreeMap<Vec<u8>, ()> =
            said_by.iter().map(|participant| (participant.message(number), ())).collect();
        for message in texts(entry) {
            ensure!(
                missing.remove(message).is_some(),
                "epoch {number} holds a message twice, or one that nobody said"
            );
            published += 1;
        }
        ensure!(missing.is_empty(), "{} messages of epoch {number} are lost", missing.len());
    }
    Ok(published)
}

/// The messages of an entry.
fn texts(entry: &Entry) -> impl Iterator<Item = &[u8]> {
    entry.messages.iter().filter_map(Published::body)
}

/// Reads a board as soon as it has so many entries.
async fn read(room: &Room, port: u16, length: usize) -> Result<Vec<Entry>> {
    let mut connection = Connection::open(port).await?;
    let descriptor: RoomDescriptor = room.descriptor.clone();
    let mut reader = BoardReader::new(room.servers.clone(), descriptor);
    let mut entries = Vec::new();
    let deadline = now() + PATIENCE;
    while entries.len() < length {
        ensure!(
            now() < deadline,
            "the board has {} of {length} entries and gets no more",
            entries.len()
        );
        let path = format!("/api/v1/rooms/{}/board?from={}", room.id.to_hex(), entries.len());
        let page: BoardPage = connection.call(&Request::get(&path)).await?.json()?;
        reader.read(&page.entries).context("the board does not verify")?;
        if page.entries.is_empty() {
            tokio::time::sleep(PAUSE).await;
        }
        entries.extend(page.entries.into_iter().map(|signed| signed.entry));
    }
    Ok(entries)
}
