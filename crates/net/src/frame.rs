//! The frames that two linked parties exchange inside TLS, and their strict decoding.
//!
//! A frame is an 8-byte prefix and at most [`MAX_LENGTH`] bytes. Prefix: kind (1 byte), length of
//! what follows (3 bytes, little-endian), argument (4 bytes, little-endian). What the argument
//! means, and how long a frame may be, depends on the kind; the length is checked before anything
//! is read or allocated. Structures are postcard, canonical, nothing trailing
//! ([`ostrakon_party::wire`]).

use bytes::Bytes;
use ostrakon_crypto::Digest;
use ostrakon_party::{Instance, Message, PartyId, SessionId, SignedHeader, Tag, wire};
use serde::{Deserialize, Serialize};

use crate::probe::{MAX_ABOUT, Probe};

/// Bytes before every frame.
pub const PREFIX: usize = 8;
/// The longest message body that travels in one frame; longer ones travel in chunks.
pub const SMALL: usize = 64 * 1024;
/// The most bytes of a long body in one frame: with the prefix, sixteen full TLS records.
pub const CHUNK: usize = 256 * 1024 - PREFIX;
/// The longest frame, prefix apart.
pub const MAX_LENGTH: usize = CHUNK;
/// The most tunnelled bytes in one frame.
pub const RELAYED: usize = SMALL;
/// The version of what servers say to each other, of this format and of all that it carries; a peer
/// that speaks another is refused. To be raised with every change after which two releases no
/// longer understand each other.
pub const VERSION: u16 = 6;

/// An encoded header, depth and length are shorter than this.
const MAX_HEAD: usize = 256;
/// An encoded tag with limit and digest is shorter than this.
const MAX_SHORT: usize = 96;
/// The greeting of another version may be longer than ours.
const MAX_HELLO: usize = 256;
/// Two times, an answer and what is said about the sender.
const MAX_PROBE: usize = MAX_ABOUT + 48;
/// Peer and leg, before what is relayed.
const RELAY_HEAD: usize = 2;

/// Bytes that are not a frame. The connection that they came by is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the peer sent bytes that are not a frame of this version; check that both servers run the same release"
)]
pub struct Malformed;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// First frame of both sides.
    Hello = 1,
    /// Nothing, to show that the sender lives.
    Ping = 2,
    /// Asks for a message.
    Want = 3,
    /// A short message. Argument: length of the encoded header.
    Whole = 4,
    /// The announcement of a long message. Argument: number of the transfer.
    Head = 5,
    /// A piece of a long message. Argument: number of the transfer.
    Chunk = 6,
    /// Opens a tunnel. Argument of this and the following: the circuit.
    RelayOpen = 7,
    /// Tunnelled bytes.
    RelayData = 8,
    /// Lets the other end send more.
    RelayCredit = 9,
    /// Closes a tunnel.
    RelayEnd = 10,
    /// See [`Probe`].
    Probe = 11,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        use Kind::{
            Chunk, Head, Hello, Ping, Probe, RelayCredit, RelayData, RelayEnd, RelayOpen, Want,
            Whole,
        };
        [Hello, Ping, Want, Whole, Head, Chunk, RelayOpen, RelayData, RelayCredit, RelayEnd, Probe]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }

    /// How long a frame of this kind may be, and whether its argument means something.
    fn rule(self) -> (std::ops::RangeInclusive<usize>, bool) {
        match self {
            Kind::Hello => (1..=MAX_HELLO, false),
            Kind::Want => (1..=MAX_SHORT, false),
            Kind::Probe => (1..=MAX_PROBE, false),
            Kind::Ping => (0..=0, false),
            Kind::Whole => (1..=MAX_HEAD + SMALL, true),
            Kind::Head => (1..=MAX_HEAD, true),
            Kind::Chunk => (1..=CHUNK, true),
            Kind::RelayOpen | Kind::RelayEnd => (RELAY_HEAD..=RELAY_HEAD, true),
            Kind::RelayData => (RELAY_HEAD + 1..=RELAY_HEAD + RELAYED, true),
            Kind::RelayCredit => (RELAY_HEAD + 4..=RELAY_HEAD + 4, true),
        }
    }
}

/// A frame's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// What follows.
    pub kind: Kind,
    /// How many bytes follow; within what the kind allows.
    pub length: usize,
    /// See [`Kind`].
    pub argument: u32,
}

impl Prefix {
    /// Reads a prefix.
    ///
    /// # Errors
    /// [`Malformed`] for an unknown kind, a length that the kind does not allow, or an argument
    /// where there is none.
    pub fn decode(bytes: &[u8; PREFIX]) -> Result<Self, Malformed> {
        let [kind, l0, l1, l2, a0, a1, a2, a3] = *bytes;
        let kind = Kind::from_byte(kind).ok_or(Malformed)?;
        let length = u32::from_le_bytes([l0, l1, l2, 0]) as usize;
        let argument = u32::from_le_bytes([a0, a1, a2, a3]);
        let (allowed, takes_argument) = kind.rule();
        if !allowed.contains(&length) || (!takes_argument && argument != 0) {
            return Err(Malformed);
        }
        Ok(Self { kind, length, argument })
    }

    /// Writes the prefix.
    pub fn encode(&self) -> [u8; PREFIX] {
        let length =
            u32::try_from(self.length).expect("frames are shorter than 2^24 bytes").to_le_bytes();
        let argument = self.argument.to_le_bytes();
        let [a0, a1, a2, a3] = argument;
        [self.kind as u8, length[0], length[1], length[2], a0, a1, a2, a3]
    }
}

/// The prefix of `length` bytes of a long message.
pub fn chunk_prefix(transfer: u32, length: usize) -> [u8; PREFIX] {
    Prefix { kind: Kind::Chunk, length, argument: transfer }.encode()
}

/// The first frame of both sides. In every version the version comes first, so that it can be read
/// by every other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`].
    pub version: u16,
    /// The session that the sender is in.
    pub session: SessionId,
}

impl Hello {
    /// The version that the bytes of a greeting name, be they of this version or of another.
    pub fn version_of(bytes: &[u8]) -> Option<u16> {
        let length = bytes.iter().take(3).position(|byte| byte & 0x80 == 0)? + 1;
        decode(&bytes[..length]).ok()
    }
}

/// Asks the peer for the message that it posted, or will post, under a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Want {
    /// Which message.
    pub tag: Tag,
    /// The longest body that the asker takes, in bytes; of a longer one it wants the header alone.
    pub limit: u64,
    /// Whether the message is asked for even if it was already sent on this connection.
    pub again: bool,
    /// The digest of a body that the asker has: of a message with that body it wants the header
    /// alone.
    pub known: Option<Digest>,
}

/// What relaying needs said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A new tunnel.
    Open,
    /// Bytes of the tunnelled connection, 1 to [`RELAYED`].
    Data(Bytes),
    /// So many more bytes may be sent.
    Credit(u32),
    /// The tunnel is closed.
    End,
}

/// Which leg of its way a relayed frame is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Leg {
    /// From an end of the tunnel to the relaying party: pass it on to `peer`.
    Onward = 0,
    /// From the relaying party to an end of the tunnel: it is from `peer`.
    Arrived = 1,
}

/// A frame of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    /// The far end.
    pub peer: PartyId,
    /// Which leg of its way the frame is on.
    pub leg: Leg,
    /// Tells a tunnel from earlier ones between the same parties.
    pub circuit: u32,
    /// What is said.
    pub part: Part,
}

/// A frame other than a chunk. (Chunks are read straight into the message that they belong to.)
#[derive(Clone, Debug)]
pub enum Frame {
    /// See [`Hello`].
    Hello(Hello),
    /// Nothing, to show that the sender lives.
    Ping,
    /// See [`Want`].
    Want(Want),
    /// A message whose body has at most [`SMALL`] bytes; or the header of one whose body is over
    /// the asked-for limit, or is known to who asked.
    Whole(Message),
    /// Announces a message whose body follows in chunks.
    Head {
        /// The number that its chunks carry.
        transfer: u32,
        /// Header and signature.
        signed: SignedHeader,
        /// See [`Message::depth`].
        depth: u32,
        /// How many bytes the chunks have in all; more than [`SMALL`].
        length: u64,
    },
    /// See [`Relay`].
    Relay(Relay),
    /// See [`Probe`].
    Probe(Probe),
}

impl Frame {
    /// Reads the bytes after a prefix, of which there must be `prefix.length`.
    ///
    /// # Errors
    /// [`Malformed`] for anything but what [`Frame::encode`] writes.
    pub fn decode(prefix: Prefix, bytes: Bytes) -> Result<Self, Malformed> {
        if bytes.len() != prefix.length {
            return Err(Malformed);
        }
        Ok(match prefix.kind {
            Kind::Hello => Frame::Hello(decode(&bytes)?),
            Kind::Ping => Frame::Ping,
            Kind::Want => Frame::Want(decode(&bytes)?),
            Kind::Probe => Frame::Probe(decode_probe(&bytes)?),
            Kind::Whole => {
                let head = prefix.argument as usize;
                if head > bytes.len() || head > MAX_HEAD || bytes.len() - head > SMALL {
                    return Err(Malformed);
                }
                let (signed, depth) = decode(&bytes[..head])?;
                Frame::Whole(Message { signed, body: bytes.slice(head..), depth })
            }
            Kind::Head => {
                let (signed, depth, length) = decode(&bytes)?;
                if length <= SMALL as u64 {
                    return Err(Malformed);
                }
                Frame::Head { transfer: prefix.argument, signed, depth, length }
            }
            Kind::Chunk => return Err(Malformed),
            Kind::RelayOpen | Kind::RelayData | Kind::RelayCredit | Kind::RelayEnd => {
                Frame::Relay(decode_relay(prefix, bytes)?)
            }
        })
    }

    /// Appends the frame, prefix included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Hello(hello) => put(out, Kind::Hello, 0, &[&wire::encode(hello)]),
            Frame::Ping => put(out, Kind::Ping, 0, &[]),
            Frame::Want(want) => put(out, Kind::Want, 0, &[&wire::encode(want)]),
            Frame::Probe(probe) => put(out, Kind::Probe, 0, &[&wire::encode(probe)]),
            Frame::Whole(message) => {
                let head = wire::encode(&(message.signed, message.depth));
                put(
                    out,
                    Kind::Whole,
                    u32::try_from(head.len()).expect("a short header"),
                    &[&head, &message.body],
                );
            }
            Frame::Head { transfer, signed, depth, length } => {
                put(out, Kind::Head, *transfer, &[&wire::encode(&(*signed, *depth, *length))]);
            }
            Frame::Relay(Relay { peer, leg, circuit, part }) => {
                let head = [peer.0, *leg as u8];
                match part {
                    Part::Open => put(out, Kind::RelayOpen, *circuit, &[&head]),
                    Part::Data(bytes) => put(out, Kind::RelayData, *circuit, &[&head, bytes]),
                    Part::Credit(more) => {
                        put(out, Kind::RelayCredit, *circuit, &[&head, &more.to_le_bytes()])
                    }
                    Part::End => put(out, Kind::RelayEnd, *circuit, &[&head]),
                }
            }
        }
    }

    /// The instance that the frame belongs to, if it carries or asks for a message.
    pub(crate) fn instance(&self) -> Option<Instance> {
        match self {
            Frame::Want(want) => Some(want.tag.instance),
            Frame::Whole(message) => Some(message.signed.header.tag.instance),
            Frame::Head { signed, .. } => Some(signed.header.tag.instance),
            Frame::Hello(_) | Frame::Ping | Frame::Relay(_) | Frame::Probe(_) => None,
        }
    }
}

fn put(out: &mut Vec<u8>, kind: Kind, argument: u32, parts: &[&[u8]]) {
    let length = parts.iter().map(|part| part.len()).sum();
    out.extend_from_slice(&Prefix { kind, length, argument }.encode());
    for part in parts {
        out.extend_from_slice(part);
    }
}

fn decode<T: Serialize + serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    wire::decode(bytes).map_err(|_| Malformed)
}

fn decode_probe(bytes: &[u8]) -> Result<Probe, Malformed> {
    let probe: Probe = decode(bytes)?;
    if probe.about.len() > MAX_ABOUT { Err(Malformed) } else { Ok(probe) }
}

fn decode_relay(prefix: Prefix, bytes: Bytes) -> Result<Relay, Malformed> {
    let peer = PartyId(bytes[0]);
    let leg = match bytes[1] {
        0 => Leg::Onward,
        1 => Leg::Arrived,
        _ => return Err(Malformed),
    };
    let rest = bytes.slice(RELAY_HEAD..);
    let part = match prefix.kind {
        Kind::RelayOpen => Part::Open,
        Kind::RelayData => Part::Data(rest),
        Kind::RelayCredit => {
            let more: [u8; 4] = rest[..].try_into().map_err(|_| Malformed)?;
            Part::Credit(u32::from_le_bytes(more))
        }
        _ => Part::End,
    };
    Ok(Relay { peer, leg, circuit: prefix.argument, part })
}

#[cfg(test)]
mod tests {
    use ostrakon_crypto::Signature;
    use ostrakon_party::{Header, InstanceKind, Recipient, Step};
    use proptest::prelude::*;

    use super::*;

    fn tags() -> impl Strategy<Value = Tag> {
        (any::<[u8; 16]>(), any::<u64>(), any::<u16>(), any::<u32>()).prop_map(
            |(scope, number, step, sequence)| Tag {
                instance: Instance { kind: InstanceKind::Epoch, scope, number },
                step: Step(step),
                sequence,
            },
        )
    }

    fn headers() -> impl Strategy<Value = SignedHeader> {
        let to = prop_oneof![
            any::<u8>().prop_map(|id| Recipient::One(PartyId(id))),
            Just(Recipient::All)
        ];
        (tags(), any::<[u8; 32]>(), any::<u8>(), to, any::<u64>(), any::<[u8; 32]>()).prop_map(
            |(tag, session, from, to, length, digest)| SignedHeader {
                header: Header {
                    session: SessionId(Digest(session)),
                    tag,
                    from: PartyId(from),
                    to,
                    length,
                    digest: Digest(digest),
                },
                signature: Signature([digest[0]; 64]),
            },
        )
    }

    fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
        proptest::collection::vec(any::<u8>(), 1..max).prop_map(Bytes::from)
    }

    fn frames() -> impl Strategy<Value = Frame> {
        let part = prop_oneof![
            Just(Part::Open),
            bytes(300).prop_map(Part::Data),
            any::<u32>().prop_map(Part::Credit),
            Just(Part::End)
        ];
        let leg = prop_oneof![Just(Leg::Onward), Just(Leg::Arrived)];
        prop_oneof![
            (any::<u16>(), any::<[u8; 32]>()).prop_map(|(version, s)| Frame::Hello(Hello {
                version,
                session: SessionId(Digest(s))
            })),
            Just(Frame::Ping),
            (any::<u64>(), any::<Option<(u64, u64)>>(), bytes(MAX_ABOUT)).prop_map(
                |(sent, answers, about)| {
                    Frame::Probe(Probe { sent, answers, about: about.to_vec() })
                }
            ),
            (tags(), any::<u64>(), any::<bool>(), any::<Option<[u8; 32]>>()).prop_map(
                |(tag, limit, again, known)| {
                    let known = known.map(Digest);
                    Frame::Want(Want { tag, limit, again, known })
                }
            ),
            (headers(), any::<u32>(), bytes(2000))
                .prop_map(|(signed, depth, body)| Frame::Whole(Message { signed, body, depth })),
            (any::<u32>(), headers(), any::<u32>(), SMALL as u64 + 1..).prop_map(
                |(transfer, signed, depth, length)| Frame::Head { transfer, signed, depth, length }
            ),
            (any::<u8>(), leg, any::<u32>(), part).prop_map(|(peer, leg, circuit, part)| {
                Frame::Relay(Relay { peer: PartyId(peer), leg, circuit, part })
            }),
        ]
    }

    fn encoded(frame: &Frame) -> Vec<u8> {
        let mut out = Vec::new();
        frame.encode(&mut out);
        out
    }

    /// Reads one frame that is all of `bytes`.
    fn read(bytes: &[u8]) -> Result<Frame, Malformed> {
        let (prefix, body) = bytes.split_first_chunk::<PREFIX>().ok_or(Malformed)?;
        let prefix = Prefix::decode(prefix)?;
        assert!(prefix.length <= MAX_LENGTH, "no frame is longer than the longest");
        Frame::decode(prefix, Bytes::copy_from_slice(body))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(frame in frames()) {
            let bytes = encoded(&frame);
            let read = read(&bytes).expect("a frame");
            prop_assert_eq!(encoded(&read), bytes);
            prop_assert_eq!(format!("{read:?}"), format!("{frame:?}"));
        }

        #[test]
        fn what_is_read_is_what_would_be_written(
            frame in frames(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut in any::<prop::sample::Index>(),
            keep in any::<bool>(),
        ) {
            let mut bytes = encoded(&frame);
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if !keep {
                bytes.truncate(cut.index(bytes.len()));
            }
            if let Ok(frame) = read(&bytes) {
                prop_assert_eq!(encoded(&frame), bytes);
            }
        }

        #[test]
        fn noise_does_no_harm(
            kind in 0u8..13,
            argument in any::<u32>(),
            body in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let length = u32::try_from(body.len()).unwrap().to_le_bytes();
            let head = [kind, length[0], length[1], length[2]];
            let bytes = [&head[..], &argument.to_le_bytes(), &body].concat();
            if let Ok(frame) = read(&bytes) {
                prop_assert_eq!(encoded(&frame), bytes);
            }
        }
    }

    #[test]
    fn the_longest_of_each_kind_fit_their_bounds() {
        let tag = Tag {
            instance: Instance { kind: InstanceKind::Epoch, scope: [255; 16], number: u64::MAX },
            step: Step(u16::MAX),
            sequence: u32::MAX,
        };
        let header = Header {
            session: SessionId(Digest([255; 32])),
            tag,
            from: PartyId(255),
            to: Recipient::One(PartyId(255)),
            length: u64::MAX,
            digest: Digest([255; 32]),
        };
        let signed = SignedHeader { header, signature: Signature([255; 64]) };
        let whole = Message { signed, body: vec![1; SMALL].into(), depth: u32::MAX };
        let data = Part::Data(vec![1; RELAYED].into());
        for frame in [
            Frame::Want(Want { tag, limit: u64::MAX, again: true, known: Some(Digest([255; 32])) }),
            Frame::Probe(Probe {
                sent: u64::MAX,
                answers: Some((u64::MAX, u64::MAX)),
                about: vec![1; MAX_ABOUT],
            }),
            Frame::Whole(whole),
            Frame::Head { transfer: u32::MAX, signed, depth: u32::MAX, length: u64::MAX },
            Frame::Relay(Relay {
                peer: PartyId(255),
                leg: Leg::Arrived,
                circuit: u32::MAX,
                part: data,
            }),
        ] {
            assert!(read(&encoded(&frame)).is_ok());
        }
        let talkative =
            Frame::Probe(Probe { sent: 0, answers: None, about: vec![1; MAX_ABOUT + 1] });
        assert!(read(&encoded(&talkative)).is_err());
        let too_long = Prefix { kind: Kind::Chunk, length: CHUNK + 1, argument: 0 };
        assert_eq!(Prefix::decode(&too_long.encode()), Err(Malformed));
    }

    #[test]
    fn the_version_of_any_greeting_can_be_read() {
        for version in [0, 1, 127, 128, 300, u16::MAX] {
            let hello = Hello { version, session: SessionId(Digest([9; 32])) };
            assert_eq!(Hello::version_of(&wire::encode(&hello)), Some(version));
            assert_eq!(
                Hello::version_of(&wire::encode(&(version, "something else"))),
                Some(version)
            );
        }
        for noise in [&[][..], &[0x80], &[0xff; 9], &[0x80, 0x00, 1]] {
            assert_eq!(Hello::version_of(noise), None);
        }
    }
}
