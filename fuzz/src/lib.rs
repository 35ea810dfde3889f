//! Every decoder of bytes that a stranger can send, and what must hold of it.
//!
//! The fuzzer calls [`exercise`] with inputs that it evolves; a test of the workspace includes this
//! file and calls it with pseudorandom ones.

mod computations;
mod decisions;
mod evidence;
mod graphs;
mod hosts;
mod messages;
mod mixing;
mod onepass;
mod requests;

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use bytes::Bytes;
use ostrakon_broadcast::board::{Archive, Entry, Published, SignedEntry};
use ostrakon_crypto::{Digest, Secret, SigningKey};
use ostrakon_mixing::engine::{EpochContext, Shape};
use ostrakon_mixing::engines;
use ostrakon_mixing::envelope;
use ostrakon_mixing::envelope::{Exchange, IssueName, Issued};
use ostrakon_mixing::link::{Invitation, Link};
use ostrakon_mixing::room::{EpochId, Mode, RoomDescriptor, Servers};
use ostrakon_mixing::row::{Content, RowFormat};
use ostrakon_net::frame::{Frame, MAX_LENGTH, Prefix};
use ostrakon_party::wire::{decode, encode};
use ostrakon_party::{
    Header, Instance, InstanceKind, Message, PartyId, Recipient, SessionId, SignedHeader, Step, Tag,
};
use ostrakon_replicated::client::{self, Submission, verify_submission};
use ostrakon_replicated::pair::Pair;
use ostrakon_replicated::slots::{Issue, SlotSeeds};

/// A decoder under test.
pub struct Decoder {
    /// The name of its fuzz target.
    pub name: &'static str,
    /// Inputs that it accepts, one of each kind; mutations of them reach deeper than noise.
    pub valid: &'static [fn() -> Vec<u8>],
    /// Decodes, checks what must hold if the input is accepted, and returns whether it is.
    pub read: fn(&[u8]) -> bool,
}

/// All decoders.
pub const DECODERS: [Decoder; 60] = [
    Decoder { name: "message_header", valid: &[valid_header], read: read_header },
    Decoder { name: "frame", valid: &[valid_frame], read: read_frame },
    Decoder {
        name: "board_entry",
        valid: &[|| encode(&VALID_ARCHIVE.entries[0])],
        read: read_entry,
    },
    Decoder {
        name: "archive",
        valid: &[|| VALID_ARCHIVE.to_text().into_bytes()],
        read: read_archive,
    },
    Decoder { name: "row", valid: &[valid_row], read: read_row },
    Decoder { name: "room", valid: &[valid_room], read: read_room },
    Decoder {
        name: "evidence",
        valid: &[
            evidence::valid_equivocation,
            evidence::valid_malformed,
            evidence::valid_wrong_opening,
        ],
        read: evidence::read_fault,
    },
    Decoder {
        name: "run_evidence",
        valid: &[
            evidence::batch_evidence,
            evidence::pads_evidence,
            evidence::shuffle_evidence,
            evidence::last_evidence,
        ],
        read: evidence::read_of_run,
    },
    Decoder {
        name: "kept_evidence",
        valid: &[
            evidence::valid_kept_fault,
            evidence::valid_contradiction,
            evidence::valid_too_long,
            evidence::valid_private,
            evidence::valid_announcement,
            evidence::valid_echo,
        ],
        read: evidence::read_kept,
    },
    Decoder { name: "fault_file", valid: &[evidence::valid_file], read: evidence::read_file },
    Decoder { name: "submission", valid: &[valid_submission], read: read_submission },
    Decoder { name: "issue", valid: &[|| encode(&valid_issue())], read: read_issue },
    Decoder { name: "envelope", valid: &[valid_envelope], read: read_envelope },
    Decoder { name: "link", valid: &[|| valid_link().to_string().into_bytes()], read: read_link },
    Decoder { name: "host_action", valid: &[hosts::valid_action], read: hosts::read_action },
    Decoder { name: "deed", valid: &[hosts::valid_deed], read: hosts::read_deed },
    Decoder { name: "ballot", valid: &[hosts::valid_ballot], read: hosts::read_ballot },
    Decoder { name: "short_code", valid: &[hosts::valid_code], read: hosts::read_code },
    Decoder { name: "invitation", valid: &[hosts::valid_invitation], read: hosts::read_invitation },
    Decoder { name: "claim", valid: &[hosts::valid_claim], read: hosts::read_claim },
    Decoder { name: "presence", valid: &[requests::valid_presence], read: requests::read_presence },
    Decoder {
        name: "issue_request",
        valid: &[requests::valid_issue_request],
        read: requests::read_issue_request,
    },
    Decoder {
        name: "submission_request",
        valid: &[requests::valid_submission_request],
        read: requests::read_submission_request,
    },
    Decoder { name: "new_room", valid: &[requests::valid_new_room], read: requests::read_new_room },
    Decoder {
        name: "announcement",
        valid: &[requests::valid_announcement],
        read: requests::read_announcement,
    },
    Decoder {
        name: "decision_record",
        valid: &[decisions::valid_record],
        read: decisions::read_record,
    },
    Decoder {
        name: "decision_draft",
        valid: &[decisions::valid_draft],
        read: decisions::read_draft,
    },
    Decoder {
        name: "decision_deposit",
        valid: &[decisions::valid_deposit],
        read: decisions::read_deposit,
    },
    Decoder { name: "decision_word", valid: &[decisions::valid_word], read: decisions::read_word },
    Decoder {
        name: "decision_opening",
        valid: &[decisions::valid_opening],
        read: decisions::read_opening,
    },
    Decoder {
        name: "computation_draft",
        valid: &[computations::valid_draft],
        read: computations::read_draft,
    },
    Decoder {
        name: "computation_input",
        valid: &[computations::valid_input],
        read: computations::read_input,
    },
    Decoder {
        name: "computation_statement",
        valid: &[computations::valid_statement],
        read: computations::read_statement,
    },
    Decoder {
        name: "computation_archive",
        valid: &[computations::valid_archive],
        read: computations::read_archive,
    },
    Decoder {
        name: "circuit",
        valid: &[computations::valid_circuit],
        read: computations::read_circuit,
    },
    Decoder {
        name: "graph_terms",
        valid: &[
            graphs::valid_distances,
            graphs::valid_noisy,
            graphs::valid_ranks,
            graphs::valid_shortest,
        ],
        read: graphs::read_terms,
    },
    Decoder {
        name: "graph_contribution",
        valid: &[graphs::valid_contribution],
        read: graphs::read_contribution,
    },
    Decoder {
        name: "graph_result",
        valid: &[graphs::valid_vertices, graphs::valid_counts, graphs::valid_closed],
        read: graphs::read_result,
    },
    Decoder {
        name: "graph_evidence",
        valid: &[graphs::valid_equivocation, graphs::valid_conflict],
        read: graphs::read_evidence,
    },
    Decoder { name: "onepass_step", valid: &[onepass::valid_step], read: onepass::read_step },
    Decoder { name: "onepass_key", valid: &[onepass::valid_key], read: onepass::read_key },
    Decoder { name: "onepass_share", valid: &[onepass::valid_share], read: onepass::read_share },
    Decoder {
        name: "onepass_part",
        valid: &[onepass::valid_operator_part, onepass::valid_helper_part],
        read: onepass::read_part,
    },
    Decoder { name: "onepass_table", valid: &[onepass::valid_table], read: onepass::read_table },
    Decoder { name: "decision_link", valid: &[decisions::valid_link], read: decisions::read_link },
    Decoder {
        name: "contact_link",
        valid: &[messages::valid_contact_link],
        read: messages::read_contact_link,
    },
    Decoder { name: "messages_call", valid: &[messages::valid_call], read: messages::read_call },
    Decoder { name: "messages_said", valid: &[messages::valid_said], read: messages::read_said },
    Decoder { name: "messages_rows", valid: &[messages::valid_rows], read: messages::read_rows },
    Decoder {
        name: "mix_description",
        valid: &[mixing::valid_description],
        read: mixing::read_description,
    },
    Decoder {
        name: "mix_message",
        valid: &[mixing::valid_run, mixing::valid_again, mixing::valid_later, mixing::valid_entry],
        read: mixing::read_message,
    },
    Decoder { name: "mix_ask", valid: &[mixing::valid_ask], read: mixing::read_ask },
    Decoder { name: "mix_answer", valid: &[mixing::valid_answer], read: mixing::read_answer },
    Decoder {
        name: "mix_record",
        valid: &[mixing::valid_complaint, mixing::valid_reveal],
        read: mixing::read_record,
    },
    Decoder {
        name: "mix_word",
        valid: &[mixing::valid_show, mixing::valid_assign, mixing::valid_declare],
        read: mixing::read_word,
    },
    Decoder { name: "mix_evidence", valid: &[mixing::valid_evidence], read: mixing::read_evidence },
    Decoder { name: "mix_evidence_file", valid: &[mixing::valid_file], read: mixing::read_file },
    Decoder { name: "mix_run", valid: &[mixing::valid_signed], read: mixing::read_signed },
    Decoder {
        name: "ledger_message",
        valid: &[mixing::valid_status, mixing::valid_hello],
        read: mixing::read_ledger,
    },
    Decoder {
        name: "key_message",
        valid: &[mixing::valid_commitment],
        read: mixing::read_key_message,
    },
];

/// Gives `data` to the named decoder, once as it stands and once as a list of changes to an input
/// that is valid, which the first byte chooses.
///
/// # Panics
/// If the decoder does, if it accepts what it must not, or if it has no such name.
pub fn exercise(name: &str, data: &[u8]) {
    let decoder = DECODERS.iter().find(|decoder| decoder.name == name).expect("a decoder's name");
    (decoder.read)(data);
    let Some((which, changes)) = data.split_first() else { return };
    let valid = valid(decoder, usize::from(*which) % decoder.valid.len());
    (decoder.read)(&changed(valid, changes));
}

/// A valid input of a decoder. Making one takes longer than decoding it: each is made once.
fn valid(decoder: &Decoder, which: usize) -> Vec<u8> {
    static MADE: Mutex<BTreeMap<(&str, usize), Vec<u8>>> = Mutex::new(BTreeMap::new());
    let known = MADE.lock().expect("no panic while held").get(&(decoder.name, which)).cloned();
    known.unwrap_or_else(|| {
        let input = decoder.valid[which]();
        MADE.lock().expect("no panic while held").insert((decoder.name, which), input.clone());
        input
    })
}

/// Each four bytes of `changes` name a place and a change: cut here, insert a byte, or flip bits.
fn changed(mut input: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(4) {
        let at = usize::from(u16::from_be_bytes([change[0], change[1]])) % (input.len() + 1);
        match change[2] {
            0 => input.truncate(at),
            1..16 => input.insert(at, change[3]),
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= change[3];
                }
            }
        }
    }
    input
}

/// Expanding a seed takes longer than decoding: it is done once.
fn key(server: u8) -> &'static SigningKey {
    static KEYS: LazyLock<[SigningKey; 10]> =
        LazyLock::new(|| std::array::from_fn(|i| SigningKey::from_seed(&[i as u8 + 1; 32])));
    &KEYS[usize::from(server)]
}

fn valid_header() -> Vec<u8> {
    let header = Header {
        session: SessionId(Digest([7; 32])),
        tag: Tag {
            instance: Instance { kind: InstanceKind::Epoch, scope: [3; 16], number: 300 },
            step: Step(5),
            sequence: 70_000,
        },
        from: PartyId(1),
        to: Recipient::One(PartyId(2)),
        length: 1 << 20,
        digest: Digest([9; 32]),
    };
    encode(&header.sign(key(1)))
}

fn read_header(bytes: &[u8]) -> bool {
    let Ok(signed) = decode::<SignedHeader>(bytes) else { return false };
    assert_eq!(encode(&signed), bytes, "only one encoding is accepted");
    let verifies = signed.verifies(&key(1).verifying_key());
    assert!(!verifies || bytes == valid_header(), "the key has signed one header only");
    verifies
}

fn valid_frame() -> Vec<u8> {
    let signed = decode(&valid_header()).expect("it is valid");
    let mut bytes = Vec::new();
    Frame::Whole(Message { signed, body: Bytes::from_static(b"a body"), depth: 3 })
        .encode(&mut bytes);
    bytes
}

fn read_frame(bytes: &[u8]) -> bool {
    let Some((prefix, rest)) = bytes.split_first_chunk() else { return false };
    let Ok(prefix) = Prefix::decode(prefix) else { return false };
    assert!(prefix.length <= MAX_LENGTH, "every length is bounded before anything is read");
    let Ok(frame) = Frame::decode(prefix, Bytes::copy_from_slice(rest)) else { return false };
    let mut again = Vec::new();
    frame.encode(&mut again);
    assert_eq!(again, bytes, "only one encoding is accepted");
    true
}

fn room() -> RoomDescriptor {
    RoomDescriptor {
        payload: 64,
        capacity: 12,
        minimum: 3,
        nonce: [4; 16],
        ..RoomDescriptor::new("A room")
    }
}

/// Signing takes longer than decoding: it is done once.
static VALID_ARCHIVE: LazyLock<Archive> = LazyLock::new(valid_archive);

fn valid_archive() -> Archive {
    let servers = servers();
    let mut head = Digest([0; 32]);
    let mut entries = Vec::new();
    for number in 0..2 {
        let entry = Entry {
            epoch: EpochId { room: room().id(), number },
            previous: head,
            accepted: 5,
            messages: vec![
                Published::Kept { salt: [1; 16], body: b"first".to_vec() },
                Published::Kept { salt: [2; 16], body: "zweite \u{e4}".as_bytes().to_vec() }
                    .erased(),
            ],
        };
        head = entry.digest(&servers);
        let signatures =
            (0..3).map(|server| (PartyId(server), entry.sign(&servers, key(server)))).collect();
        entries.push(SignedEntry { entry, signatures });
    }
    Archive { servers, room: room(), entries, head }
}

fn read_entry(bytes: &[u8]) -> bool {
    let Ok(signed) = decode::<SignedEntry>(bytes) else { return false };
    assert_eq!(encode(&signed), bytes, "only one encoding is accepted");
    let Archive { servers, room, .. } = &*VALID_ARCHIVE;
    let trust = engines::trust(room.engine, servers.keys.len()).expect("three servers bear it");
    let verifies = signed.verify(servers, &trust, 0).is_ok();
    // Two of three signatures are enough, so an entry may have lost one.
    let known = VALID_ARCHIVE.entries.iter().any(|known| known.entry == signed.entry);
    assert!(!verifies || known, "signed, but by nobody");
    verifies
}

fn read_archive(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(archive) = Archive::verify(text, None) else { return false };
    assert_eq!(archive.to_text(), text, "only one form is accepted");
    true
}

fn valid_row() -> Vec<u8> {
    RowFormat::new(&room(), 1)
        .encode(&Content::Message(b"a message".to_vec()), &Secret::new([6; 32]))
        .expect("it is short")
}

fn read_row(bytes: &[u8]) -> bool {
    let format = RowFormat::new(&room(), 1);
    let Some(content) = format.decode(bytes) else { return false };
    let again = format.encode(&content, &Secret::new([7; 32])).expect("what was read fits");
    assert_eq!(format.decode(&again), Some(content), "what is read is what is written");
    true
}

fn valid_room() -> Vec<u8> {
    serde_json::to_vec(&room()).expect("plain data")
}

fn read_room(bytes: &[u8]) -> bool {
    let Ok(room) = serde_json::from_slice::<RoomDescriptor>(bytes) else { return false };
    if room.validate().is_err() {
        return false;
    }
    let format = RowFormat::new(&room, 0);
    let cover = format.encode(&Content::Cover, &Secret::new([8; 32])).expect("a cover is empty");
    assert_eq!(cover.len(), format.width());
    assert_eq!(format.decode(&cover), Some(Content::Cover), "every valid room has rows");
    true
}

fn valid_link() -> Link {
    Link {
        origin: "https://one.example:8443".to_owned(),
        room: room().id(),
        servers: VALID_ARCHIVE.servers.digest(),
        invitation: Some(Invitation([3; 32])),
    }
}

fn read_link(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let Ok(link) = text.parse::<Link>() else { return false };
    assert_eq!(link.to_string(), text.trim(), "only one spelling of a link is accepted");
    true
}

fn servers() -> Servers {
    Servers {
        session: SessionId(Digest([7; 32])),
        keys: (0..3).map(|server| key(server).verifying_key()).collect(),
    }
}

fn valid_submission() -> Vec<u8> {
    let masked = vec![5; 48];
    let owner = key(8);
    let digest = ostrakon_replicated::slots::submission_digest(
        &Digest([4; 32]),
        2,
        &owner.verifying_key().0,
        &masked,
    );
    Submission::new(&masked, &owner.sign(&digest)).into_bytes()
}

fn read_submission(bytes: &[u8]) -> bool {
    // As servers hand them on to each other.
    if let Ok(several) = decode::<Vec<(u32, Submission)>>(bytes) {
        assert_eq!(encode(&several), bytes, "submissions have one encoding");
    }
    let Some(submission) = Submission::of(bytes) else { return false };
    let verifies = verify_submission(&Digest([4; 32]), 2, &key(8).verifying_key(), &submission);
    assert!(!verifies || bytes == valid_submission(), "the owner has signed one submission only");
    verifies
}

fn valid_issue() -> Issue {
    let seeds = || SlotSeeds { mask: [1; 16], pad: [2; 16] };
    let path = vec![Digest([3; 32]); 3];
    Issue { roots: [Digest([6; 32]); 3], seeds: [(seeds(), path.clone()), (seeds(), path)] }
}

/// Whatever one server gives is harmless: alone it never makes the masks of a slot.
fn read_issue(bytes: &[u8]) -> bool {
    let Ok(issue) = decode::<Issue>(bytes) else { return false };
    assert_eq!(encode(&issue), bytes, "only one encoding is accepted");
    let (session, context) = (Digest([7; 32]), Digest([4; 32]));
    let name =
        client::SlotName { session: &session, batch: 1, context: &context, rows: 6, slot: 2 };
    for place in 0..3 {
        let mut issues = [None; 3];
        issues[place] = Some(&issue);
        assert_eq!(
            client::combine(name, issues).err(),
            Some(client::MaskError::Incomplete(Pair::P01))
        );
    }
    true
}

fn issue_name() -> IssueName {
    IssueName { room: room().id(), number: 4, party: PartyId(1) }
}

fn valid_envelope() -> Vec<u8> {
    let context = EpochContext {
        epoch: EpochId { room: room().id(), number: 4 },
        batch: 9,
        engine: room().engine,
        shape: Shape::of(&room()),
        mode: Mode::Fair,
        minimum: 3,
    };
    let issued = Issued { context, slot: 1, issue: encode(&valid_issue()) };
    let exchange = Exchange::new(key(8), &issue_name()).public();
    let owner = key(8).verifying_key();
    let offer =
        envelope::offer(&servers(), &issue_name(), &owner, issued, |digest| key(1).sign(digest));
    envelope::close(&servers(), &issue_name(), &owner, &exchange, &offer, [6; 32])
}

fn read_envelope(bytes: &[u8]) -> bool {
    let opened = envelope::open(&servers(), &issue_name(), key(8), bytes).is_ok();
    assert!(!opened || bytes == valid_envelope(), "the server has closed one envelope only");
    opened
}
