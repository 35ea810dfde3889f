//! A server in hostile hands: it runs the honest code, and what it sends is changed on the way out,
//! under its own signature.

use std::sync::Arc;

use bytes::Bytes;
use ostrakon_broadcast::SignedEntry;
use ostrakon_crypto::SigningKey;
use ostrakon_mixing::envelope::Issued;
use ostrakon_party::{Header, InstanceKind, Message, PartyId, Recipient};
use ostrakon_protocol::Status;

use crate::random::Random;

/// What it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vice {
    /// It does not send, now and then. What is asked for again comes in the end.
    Withholds,
    /// It sends what is not signed rightly. What is asked for again comes in the end.
    Garbles,
    /// It signs random bytes.
    SignsGarbage,
    /// It changes a bit, for one of the others or for several.
    Lies,
    /// It repeats, under another address, what it said elsewhere.
    Repeats,
    /// It says to one what is to be said to all, and the other way round.
    Misaddresses,
}

impl Vice {
    pub const ALL: [Vice; 6] = [
        Vice::Withholds,
        Vice::Garbles,
        Vice::SignsGarbage,
        Vice::Lies,
        Vice::Repeats,
        Vice::Misaddresses,
    ];

    /// Whether all is well again when it stops.
    pub fn heals(self) -> bool {
        matches!(self, Vice::Withholds | Vice::Garbles)
    }
}

/// What is done to one server's messages.
pub struct Malice {
    pub key: Arc<SigningKey>,
    pub vice: Vice,
    /// So many messages of a hundred are touched.
    pub percent: u64,
    /// Whether it spares the engine's messages.
    pub control_only: bool,
    pub earlier: Vec<Bytes>,
}

impl Malice {
    fn sign(&self, message: &Message, body: Vec<u8>) -> Message {
        let header = Header {
            length: body.len() as u64,
            digest: Header::digest_of(&body),
            ..message.signed.header
        };
        Message { signed: header.sign(&self.key), body: body.into(), depth: message.depth }
    }

    /// What is sent in a message's place.
    pub fn tamper(&mut self, random: &mut Random, to: PartyId, message: Message) -> Vec<Message> {
        let spared =
            self.control_only && message.signed.header.tag.instance.kind != InstanceKind::Control;
        if self.earlier.len() < 64 {
            self.earlier.push(message.body.clone());
        }
        if spared || !random.chance(self.percent) {
            return vec![message];
        }
        let mut body = message.body.to_vec();
        let changed = match self.vice {
            Vice::Withholds => return Vec::new(),
            Vice::Garbles => {
                flip(random, &mut body);
                Message { body: body.into(), ..message }
            }
            Vice::SignsGarbage => {
                random.fill(&mut body);
                self.sign(&message, body)
            }
            Vice::Lies => {
                flip(random, &mut body);
                self.sign(&message, body)
            }
            Vice::Repeats => {
                let other = self.earlier[random.below(self.earlier.len() as u64) as usize].to_vec();
                self.sign(&message, other)
            }
            Vice::Misaddresses => {
                let header = message.signed.header;
                let to =
                    if header.to == Recipient::All { Recipient::One(to) } else { Recipient::All };
                Message { signed: Header { to, ..header }.sign(&self.key), ..message }
            }
        };
        vec![changed]
    }
}

fn flip(random: &mut Random, body: &mut [u8]) {
    if !body.is_empty() {
        let bit = random.below(body.len() as u64 * 8);
        body[(bit / 8) as usize] ^= 1 << (bit % 8);
    }
}

/// A hostile server's lies to a participant: how its room stands.
pub fn spoil_status(random: &mut Random, status: &mut Status) {
    let number = random.below(3);
    match random.below(5) {
        0 => status.board_length += number,
        1 => {
            status.present.fill(number as u32);
            status.places.fill(number as u32);
        }
        2 => status.last = None,
        3 => status.context = None,
        _ => {
            if let Some(context) = &mut status.context {
                context.epoch.number += number;
                context.batch += random.below(2);
            }
        }
    }
}

/// What is on the board.
pub fn spoil_entries(random: &mut Random, entries: &mut Vec<SignedEntry>) {
    if entries.is_empty() {
        return;
    }
    match random.below(3) {
        0 => drop(entries.pop()),
        1 => drop(entries.remove(0)),
        _ => entries[0].entry.accepted += 1,
    }
}

/// What a slot is, and what it is made from; signed by the server, as it can sign whatever it
/// wants.
pub fn spoil_issued(random: &mut Random, issued: &mut Issued) {
    match random.below(5) {
        0 => issued.slot += 1,
        1 => issued.context.batch += 1,
        2 => issued.context.minimum += 1,
        3 => drop(issued.issue.pop()),
        _ => {
            let length = issued.issue.len().min(8);
            random.fill(&mut issued.issue[..length]);
        }
    }
}
