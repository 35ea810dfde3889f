//! The board: what was published, in order, hash-chained and signed by the servers.

use ostrakon_crypto::{Digest, Signature, SigningKey, Transcript, many};
use ostrakon_party::{PartyId, Trust};
use serde::{Deserialize, Serialize};

use ostrakon_mixing::engines;
use ostrakon_mixing::room::{EngineKind, EpochId, RoomDescriptor, Servers};

/// Bytes of the salt of a published message.
pub const SALT: usize = 16;

/// A published message, or what remains of it.
///
/// Entries are chained by digests of their messages, so that a body can be erased and the chain
/// still verifies. The salt goes with the body: without it the digest tells nothing of a message
/// that could be guessed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Published {
    /// The message is there.
    Kept {
        /// The same at every server, and known to nobody who has not seen the epoch's rows
        /// ([`salts`]).
        salt: [u8; SALT],
        /// What was said.
        body: Vec<u8>,
    },
    /// Its body was erased, by the host or because its time was over.
    Erased(Digest),
}

impl Published {
    /// What the entry's digest holds of the message.
    pub fn digest(&self) -> Digest {
        Self::digests(std::slice::from_ref(self))[0]
    }

    /// [`Published::digest`] of each message.
    fn digests(messages: &[Self]) -> Vec<Digest> {
        let fields = |message: usize, fields: &mut many::Fields| {
            if let Published::Kept { salt, body } = &messages[message] {
                fields.field(salt).field(body);
            }
        };
        let mut digests =
            many::digests("ostrakon/v1/broadcast/published message", messages.len(), fields);
        for (digest, message) in digests.iter_mut().zip(messages) {
            if let Published::Erased(erased) = message {
                *digest = *erased;
            }
        }
        digests
    }

    /// The message, unless it was erased.
    pub fn body(&self) -> Option<&[u8]> {
        match self {
            Published::Kept { body, .. } => Some(body),
            Published::Erased(_) => None,
        }
    }

    /// The message without its body.
    #[must_use]
    pub fn erased(&self) -> Self {
        Published::Erased(self.digest())
    }
}

/// The salts of the first `count` messages of an epoch whose readable rows, in mixed order, have
/// the digest `rows`.
pub fn salts(rows: &Digest, count: usize) -> impl Iterator<Item = [u8; SALT]> + use<> {
    let salts = many::digests("ostrakon/v1/broadcast/message salt", count, |index, fields| {
        fields.field(&rows.0).number(index as u64);
    });
    salts.into_iter().map(|salt| salt.0[..SALT].try_into().expect("half of 32 bytes"))
}

/// What one epoch published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The room and the epoch.
    pub epoch: EpochId,
    /// The digest of the entry before; all zeros for the first.
    pub previous: Digest,
    /// How many submissions were mixed, covers included: the anonymity set.
    pub accepted: u32,
    /// The messages in the order in which they came out of the mix.
    pub messages: Vec<Published>,
}

impl Entry {
    /// The entry's digest, which the servers sign and the next entry names.
    pub fn digest(&self, servers: &Servers) -> Digest {
        let mut transcript = Transcript::new("ostrakon/v1/broadcast/board entry");
        transcript
            .field(&servers.digest().0)
            .field(&self.epoch.room.0)
            .number(self.epoch.number)
            .field(&self.previous.0)
            .number(u64::from(self.accepted))
            .number(self.messages.len() as u64);
        let messages = Published::digests(&self.messages);
        transcript.fields(messages.iter().map(|digest| &digest.0[..])).finish()
    }

    /// The messages that were not erased.
    pub fn bodies(&self) -> impl Iterator<Item = &[u8]> {
        self.messages.iter().filter_map(Published::body)
    }

    /// A server's signature on the entry.
    pub fn sign(&self, servers: &Servers, key: &SigningKey) -> Signature {
        key.sign(&self.digest(servers))
    }
}

/// An entry with the servers' signatures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedEntry {
    /// What was published.
    pub entry: Entry,
    /// Signatures by party, in ascending order, each at most once.
    pub signatures: Vec<(PartyId, Signature)>,
}

/// Why a board is not to be believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// Not the file that was exported.
    #[error(
        "the archive is not in the form in which archives are written: it was changed after export"
    )]
    Form,
    /// Written by a release with another format.
    #[error(
        "the archive is of another version ({0}; this release reads {ARCHIVE_FORMAT}): read it with the release that wrote it, or export the board again"
    )]
    Version(String),
    /// Other servers than the ones pinned.
    #[error("the archive is of other servers than the given link names")]
    Servers,
    /// The descriptor does not have the name that the entries bear.
    #[error("entry {0} is of another room")]
    Room(usize),
    /// An entry is missing, doubled or out of order.
    #[error("entry {0} does not continue the entry before it")]
    Chain(usize),
    /// A signature that its server did not make, or not in order.
    #[error("entry {0} bears a signature that server {1} did not make")]
    Signature(usize, u8),
    /// Fewer signatures than the quorum.
    #[error("entry {0} is signed by {1} servers; {2} are needed")]
    Quorum(usize, usize, usize),
    /// The room's engine does not exist among so many servers, so nobody knows whom to believe.
    #[error("the room's engine is not one for {0} servers")]
    Trust(usize),
}

impl SignedEntry {
    /// Checks order, authenticity and number of the signatures: by `trust`, which is the room's
    /// engine's, one of the signers is honest. `index` is for the error.
    ///
    /// # Errors
    /// [`Unproven::Signature`] or [`Unproven::Quorum`].
    pub fn verify(&self, servers: &Servers, trust: &Trust, index: usize) -> Result<(), Unproven> {
        let digest = self.entry.digest(servers);
        let mut last = None;
        for (id, signature) in &self.signatures {
            let key = servers.keys.get(id.index());
            let valid = last < Some(*id) && key.is_some_and(|key| key.verifies(&digest, signature));
            if !valid {
                return Err(Unproven::Signature(index, id.0));
            }
            last = Some(*id);
        }
        if self.signatures.len() < trust.believed() {
            return Err(Unproven::Quorum(index, self.signatures.len(), trust.believed()));
        }
        Ok(())
    }
}

/// Checks that entries continue each other from `previous` on and are signed by as many servers as
/// are believed by the engine's `trust`. Returns the digest of the last.
///
/// # Errors
/// The first entry that is not as it must be, counted from 0, and why.
pub fn verify_chain(
    servers: &Servers,
    trust: &Trust,
    room: &RoomDescriptor,
    mut previous: Digest,
    entries: &[SignedEntry],
) -> Result<Digest, Unproven> {
    let id = room.id();
    let mut last = None;
    for (index, signed) in entries.iter().enumerate() {
        let entry = &signed.entry;
        if entry.epoch.room != id {
            return Err(Unproven::Room(index));
        }
        if entry.previous != previous || last.is_some_and(|last| entry.epoch.number <= last) {
            return Err(Unproven::Chain(index));
        }
        signed.verify(servers, trust, index)?;
        previous = entry.digest(servers);
        last = Some(entry.epoch.number);
    }
    Ok(previous)
}

/// The format of archives. It grows with every change of what is in them.
pub const ARCHIVE_FORMAT: &str = "ostrakon-board-1";

/// An archive as it is in a file.
#[derive(Serialize)]
struct Written<'a> {
    format: &'a str,
    servers: &'a Servers,
    room: &'a RoomDescriptor,
    entries: &'a [SignedEntry],
    head: Digest,
}

#[derive(Deserialize)]
struct Read {
    servers: Servers,
    room: RoomDescriptor,
    entries: Vec<SignedEntry>,
    head: Digest,
}

/// What any version's file says of itself.
#[derive(Deserialize)]
struct Named {
    format: Option<String>,
    #[serde(rename = "entries")]
    _entries: serde::de::IgnoredAny,
    #[serde(rename = "servers")]
    _servers: serde::de::IgnoredAny,
}

/// An exported board: everything needed to check it offline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// Whose board it is.
    pub servers: Servers,
    /// The room.
    pub room: RoomDescriptor,
    /// All entries from the first.
    pub entries: Vec<SignedEntry>,
    /// The digest of the last entry (all zeros if there is none).
    pub head: Digest,
}

impl Archive {
    /// The file's text: JSON, always written in the same way.
    pub fn to_text(&self) -> String {
        let Self { servers, room, entries, head } = self;
        let written = Written { format: ARCHIVE_FORMAT, servers, room, entries, head: *head };
        let mut text = serde_json::to_string_pretty(&written)
            .expect("writing plain data into memory does not fail");
        text.push('\n');
        text
    }

    /// The text's beginning, up to where the entries come, and its end.
    fn frame(servers: &Servers, room: &RoomDescriptor, head: Digest) -> (String, String) {
        const ENTRIES: &str = "\"entries\": [";
        let whole =
            Archive { servers: servers.clone(), room: room.clone(), entries: Vec::new(), head }
                .to_text();
        // Within a text, quotes are escaped, so this stands in one place only.
        let at = whole.rfind(ENTRIES).expect("an archive has entries") + ENTRIES.len();
        (whole[..at].to_owned(), whole[at..].to_owned())
    }

    /// Reads and checks an archive. `pinned` is the digest of the servers from the room's link, if
    /// the reader has it; without it the archive is only shown to be what *some* servers
    /// signed.
    ///
    /// # Errors
    /// [`Unproven`] says what does not hold. Every change of a single byte is an error.
    pub fn verify(text: &str, pinned: Option<&Digest>) -> Result<Archive, Unproven> {
        Self::verify_under(text, pinned, |engine, servers| engines::trust(engine, servers).ok())
    }

    /// The same, where `trust` says what an engine bears among so many servers.
    ///
    /// # Errors
    /// [`Unproven`].
    pub fn verify_under(
        text: &str,
        pinned: Option<&Digest>,
        trust: impl FnOnce(EngineKind, usize) -> Option<Trust>,
    ) -> Result<Archive, Unproven> {
        // A file of another version is not one that was changed.
        let named: Named = serde_json::from_str(text).map_err(|_| Unproven::Form)?;
        match named.format {
            Some(format) if format == ARCHIVE_FORMAT => {}
            Some(format) => return Err(Unproven::Version(format.chars().take(40).collect())),
            None => return Err(Unproven::Version("an early one without a name".into())),
        }
        let read: Read = serde_json::from_str(text).map_err(|_| Unproven::Form)?;
        let Read { servers, room, entries, head } = read;
        let archive = Archive { servers, room, entries, head };
        if archive.to_text() != text {
            return Err(Unproven::Form);
        }
        if pinned.is_some_and(|digest| *digest != archive.servers.digest()) {
            return Err(Unproven::Servers);
        }
        let Archive { servers, room, entries, .. } = &archive;
        let parties = servers.keys.len();
        let trust = trust(room.engine, parties).ok_or(Unproven::Trust(parties))?;
        let head = verify_chain(servers, &trust, room, Digest([0; 32]), entries)?;
        if head != archive.head {
            return Err(Unproven::Chain(archive.entries.len()));
        }
        Ok(archive)
    }
}

/// Writes an archive's text piece by piece, as [`Archive::to_text`] would write it whole. So nobody
/// holds a whole board in memory who has it on disk.
#[derive(Debug)]
pub struct ArchiveWriter {
    servers: Servers,
    room: RoomDescriptor,
    /// The digest of the last entry written; zeros before the first.
    head: Digest,
    written: bool,
}

impl ArchiveWriter {
    /// Begins an archive; the text is its first piece.
    pub fn begin(servers: Servers, room: RoomDescriptor) -> (Self, String) {
        let head = Digest([0; 32]);
        let (beginning, _) = Archive::frame(&servers, &room, head);
        (Self { servers, room, head, written: false }, beginning)
    }

    /// The piece with the next entry of the board.
    pub fn entry(&mut self, signed: &SignedEntry) -> String {
        let text = serde_json::to_string_pretty(signed)
            .expect("writing plain data into memory does not fail");
        let comma = if self.written { "," } else { "" };
        self.head = signed.entry.digest(&self.servers);
        self.written = true;
        // Line ends within a text are escaped, so those that there are belong to the form.
        format!("{comma}\n    {}", text.replace('\n', "\n    "))
    }

    /// The last piece.
    pub fn end(self) -> String {
        let (_, end) = Archive::frame(&self.servers, &self.room, self.head);
        if self.written { format!("\n  {end}") } else { end }
    }
}

#[cfg(test)]
mod tests {
    use ostrakon_party::SessionId;

    use super::*;

    /// A board with texts that could be taken for parts of the form.
    fn archive(count: u64) -> Archive {
        let keys: Vec<_> = (1..4).map(|seed| SigningKey::from_seed(&[seed; 32])).collect();
        let servers = Servers {
            session: SessionId(Digest([9; 32])),
            keys: keys.iter().map(SigningKey::verifying_key).collect(),
        };
        let room = RoomDescriptor::new("\"entries\": [],\n  \"head\"");
        let mut archive = Archive { servers, room, entries: Vec::new(), head: Digest([0; 32]) };
        for number in 0..count {
            let kept = |body: &[u8]| Published::Kept { salt: [7; SALT], body: body.to_vec() };
            let messages = [kept(b""), kept(b"a\n  \"b\"]"), kept(b"c").erased()];
            let messages = messages[..(number as usize).min(3)].to_vec();
            let epoch = EpochId { room: archive.room.id(), number };
            let entry = Entry { epoch, previous: archive.head, accepted: 3, messages };
            archive.head = entry.digest(&archive.servers);
            let sign = |party: u8| {
                (PartyId(party), entry.sign(&archive.servers, &keys[usize::from(party)]))
            };
            archive.entries.push(SignedEntry { signatures: vec![sign(0), sign(2)], entry });
        }
        archive
    }

    #[test]
    fn an_archive_of_another_version_is_not_called_changed() {
        let text = archive(2).to_text();
        let name = format!("  \"format\": \"{ARCHIVE_FORMAT}\",\n");
        assert!(text.contains(&name), "{text}");
        for (other, said) in [("", "early"), ("  \"format\": \"ostrakon-board-7\",\n", "board-7")] {
            let other = Archive::verify(&text.replace(&name, other), None).unwrap_err().to_string();
            assert!(other.contains("another version") && other.contains(said), "{other}");
        }
        let changed = Archive::verify(&text.replace("\"accepted\": 3", "\"accepted\":  3"), None);
        assert_eq!(changed, Err(Unproven::Form));
        assert_eq!(Archive::verify("{}", None), Err(Unproven::Form), "no archive at all");
    }

    #[test]
    fn an_archive_written_piece_by_piece_is_the_one_written_whole() {
        for count in [0, 1, 2, 5] {
            let whole = archive(count);
            let (mut writer, mut text) =
                ArchiveWriter::begin(whole.servers.clone(), whole.room.clone());
            whole.entries.iter().for_each(|entry| text.push_str(&writer.entry(entry)));
            text.push_str(&writer.end());
            assert_eq!(text, whole.to_text());
            assert_eq!(Archive::verify(&text, Some(&whole.servers.digest())), Ok(whole));
        }
    }

    #[test]
    fn as_many_signatures_are_needed_as_one_of_which_is_honest() {
        let keys: Vec<_> = (1..=5).map(|n| SigningKey::from_seed(&[n; 32])).collect();
        let session = SessionId(Digest([0; 32]));
        let servers =
            Servers { session, keys: keys.iter().map(SigningKey::verifying_key).collect() };
        let epoch = EpochId { room: RoomDescriptor::new("r").id(), number: 0 };
        let previous = Digest([0; 32]);
        let entry = Entry { epoch, previous, accepted: 3, messages: Vec::new() };
        let sign = |n: u8| (PartyId(n), entry.sign(&servers, &keys[usize::from(n)]));
        for corrupt in 0..5 {
            let trust = Trust::new(5, corrupt, ostrakon_party::Delivery::Stoppable).unwrap();
            for signers in 0..=5u8 {
                let signatures = (0..signers).map(sign).collect();
                let signed = SignedEntry { entry: entry.clone(), signatures };
                let enough = usize::from(signers) > corrupt;
                assert_eq!(signed.verify(&servers, &trust, 0).is_ok(), enough, "{trust:?}");
            }
        }
    }
}
